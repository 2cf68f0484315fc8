"""Answers from work that was done: how a thing is run here, what fixed an error, who touched a file and why."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from byheart.domain.ports import SessionIndex
from byheart.domain.sessions import CommandUse, FileVisit, KnownFix, Which
from byheart.policies import evidence

_KIND_WORDS = {
    "test": "test", "tests": "test", "testing": "test", "tested": "test", "lint": "lint", "linter": "lint", "linting": "lint",
    "build": "build", "builds": "build", "compile": "build", "install": "install", "dependencies": "install", "setup": "install",
    "format": "format", "formatter": "format", "typecheck": "types", "types": "types", "start": "run", "serve": "run", "dev": "run",
    "commit": "commit", "push": "commit",
}  # fmt: skip
_FILLER = frozenset(
    "how do does did we i you run runs running the a an to is are it this that here in of for with can what command use used".split()
)
_WORD = re.compile(r"[^\W_]+(?:[._-][^\W_]+)*", re.UNICODE)
_DAY = 86_400.0


def how(index: SessionIndex, question: str, which: Which, most: int, now: datetime) -> list[CommandUse]:
    """Commands that do what is asked, those that work and were used of late first."""
    words = [word for word in _WORD.findall(question.casefold()) if word not in _FILLER]
    literal = question.strip()
    kinds = [_KIND_WORDS[word] for word in words if word in _KIND_WORDS]
    rest = [word for word in words if word not in _KIND_WORDS]
    # What is typed like a command is one; words about it are looked for by what they mean.
    found = index.uses([literal], None, which, 200) if " " in literal or not kinds else []
    if not found and kinds:
        found = index.uses([], kinds[0], which, 400)
        if rest:
            found = [
                use
                for use in found
                if all(word in use.form.casefold() or word in (use.cwd or "").casefold() for word in rest)
            ] or found
    if not found and words:
        found = index.uses(words, None, which, 200)
    return _merged(found, now)[:most]


def _merged(uses: Sequence[CommandUse], now: datetime) -> list[CommandUse]:
    """Each command once, whatever files it was pointed at, in its best-proven form."""
    groups: dict[str, list[CommandUse]] = {}
    for use in uses:
        groups.setdefault(_stem(use.form), []).append(use)
    merged = []
    for group in groups.values():
        best = max(group, key=lambda use: (use.succeeded, use.runs, -len(use.form)))
        merged.append(
            replace(
                best,
                runs=sum(use.runs for use in group),
                succeeded=sum(use.succeeded for use in group),
                failed=sum(use.failed for use in group),
                last=max((use.last for use in group if use.last), default=None),
                cites=tuple(dict.fromkeys(cite for use in [best, *group] for cite in use.cites))[:3],
            )
        )
    return sorted(merged, key=lambda use: _worth(use, now), reverse=True)


def _stem(form: str) -> str:
    """A command without the files and texts it was given."""
    kept: list[str] = []
    for word in form.split()[:12]:
        if word in ("&&", ";", "||", "|"):
            break
        if kept and (
            word.startswith(("'", '"', "/", "./", "~", "$")) or "/" in word or re.search(r"\.\w{1,5}$|::|^\d+$", word)
        ):
            continue
        kept.append(word)
    return " ".join(kept)


def _worth(use: CommandUse, now: datetime) -> float:
    """Lower bound of how often it works, more for being used often and lately."""
    known = use.succeeded + use.failed
    share = use.succeeded / known if known else 0.4
    sure = share - 0.8 * math.sqrt(share * (1 - share) / known + 0.25 / known) if known else 0.1
    age = max(0.0, (now - use.last).total_seconds() / _DAY) if use.last else 365.0
    return sure + 0.12 * math.log1p(use.runs) + 0.3 * math.exp(-age / 60) - 0.002 * len(use.form)


def fixes(index: SessionIndex, question: str, which: Which, most: int) -> list[KnownFix]:
    """What helped when this error came up before; nothing where no error is like it."""
    asked = evidence.errors_in(question, most=4) or [" ".join(question.split())[:500]]
    best: dict[tuple[str, str], KnownFix] = {}
    for line in asked:
        signature = evidence.signature_of(line)
        wanted = _terms(signature)
        if not wanted:
            continue
        candidates = [(fix, evidence.signature_of(fix.error)) for fix in index.known_fixes(" ".join(wanted), which, 80)]
        terms = [_terms(each) for _, each in candidates]
        weight = {word: math.log1p(len(terms) / (0.5 + sum(word in each for each in terms))) for word in wanted}
        whole = sum(weight.values())
        for (fix, seen), have in zip(candidates, terms, strict=True):
            shared = wanted & have
            covered = sum(weight[word] for word in shared) / whole
            likeness = 1.0 if seen == signature else covered * (0.6 + 0.4 * len(shared) / max(1, len(have)))
            if likeness < 0.4:
                continue
            score = likeness + 0.05 * min(fix.seen, 5) + (0.1 if fix.commands or fix.edited else 0.0)
            steps = (evidence.form_of(each) for each in fix.commands)
            files = (path.replace("\\", "/").rsplit("/", 1)[-1] for path in fix.edited)
            key = (seen, " | ".join((*steps, *files)))
            if key not in best or best[key].score < score:
                best[key] = replace(fix, score=round(score, 3))
    return sorted(best.values(), key=lambda fix: (fix.score, fix.at.timestamp() if fix.at else 0.0), reverse=True)[
        :most
    ]


_COMMON = frozenset(
    "the a an of to in is not no be at on for and or by with from error errors file line failed # it was".split()
)


def _terms(signature: str) -> set[str]:
    found = {word for word in re.findall(r"[^\W_]+", signature, re.UNICODE) if len(word) > 1 or not word.isascii()}
    return (found - _COMMON) or found


def visits(index: SessionIndex, path: str, which: Which, most: int, *, reads: bool) -> list[FileVisit]:
    """Sessions that changed a file, and with `reads` those that only read it."""
    found = index.visits(path, which, most * 3)
    return [visit for visit in found if reads or visit.how != "read"][:most]
