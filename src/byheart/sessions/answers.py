"""Answers from work that was done: how a thing is run here, what fixed an error, who touched a file and why."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from datetime import datetime

from byheart.domain.experiences import PossibleExperience
from byheart.domain.journal import stamped
from byheart.domain.ports import SessionIndex
from byheart.domain.sessions import CommandUse, FileVisit, KnownFix, Which
from byheart.domain.values import replace
from byheart.sessions.facts import commands, errors

_KIND_WORDS = {
    "test": "test", "tests": "test", "testing": "test", "tested": "test", "lint": "lint", "linter": "lint", "linting": "lint",
    "build": "build", "builds": "build", "compile": "build", "install": "install", "dependencies": "install", "setup": "install",
    "format": "format", "formatter": "format", "formatting": "format", "typecheck": "types", "types": "types", "start": "run",
    "serve": "run", "dev": "run", "server": "run", "commit": "commit", "push": "commit",
}  # fmt: skip
_FILLER = frozenset(
    "how do does did we i you run runs running the a an to is are it this that here in of for with can what command use used my our".split()
)
_WORD = re.compile(r"[^\W_]+(?:[._-][^\W_]+)*", re.UNICODE)
_MEANINGS = {"pr": ("pr",), "pull": ("pr",), "request": ()}
_DAY = 86_400.0


def how(index: SessionIndex, question: str, which: Which, most: int, now: datetime) -> list[CommandUse]:
    """Commands that do what is asked, those that work and were used of late first."""
    literal = " ".join(question.split())
    words = _WORD.findall(question.casefold())
    told = [word for word in words if word not in _FILLER]
    kinds = [_KIND_WORDS[word] for word in told if word in _KIND_WORDS]
    rest = [word for word in told if word not in _KIND_WORDS]
    if not told and "run" in words:
        kinds = ["run"]
    found: list[CommandUse] = []
    if len(words) > 1 or not kinds:
        # What is typed like a command is one.
        found = [use for use in index.uses([literal], None, which, 400) if _calls(use.example, literal)]
    if not found and kinds:
        found = index.uses([], kinds[0], which, 400)
        if rest:
            found = [use for use in found if all(_mentions(use, word) for word in rest)]
    if not found and told:
        meant = [each for word in told for each in _MEANINGS.get(word, (word,))]
        found = [use for use in index.uses(meant, None, which, 400) if all(_says(use.form, word) for word in meant)]
        # Looking at a file is no way to do something, unless the program that looks was asked for.
        found = [use for use in found if not commands.only_looks(use.form) or commands.program_of(use.form) in told]
    return _merged(found, now)[:most]


def _calls(command: str, wanted: str) -> bool:
    """Whether one of a line's commands begins with these words."""
    start = wanted.split()
    return any(
        part.split()[: len(start)] == start or _bare(part)[: len(start)] == start for part in commands.parts_of(command)
    )


def _bare(part: str) -> list[str]:
    words = part.split()
    return [words[0].rsplit("/", 1)[-1], *words[1:]] if words else []


def _says(form: str, word: str) -> bool:
    """Whether a word stands in a command outside of quotes."""
    bare = re.sub(r"\"[^\"]*\"|'[^']*'", " ", form).casefold()
    return re.search(rf"(?<![^\W_]){re.escape(word)}(?![^\W_])", bare) is not None


def _mentions(use: CommandUse, word: str) -> bool:
    return _says(use.form, word) or word in (use.cwd or "").casefold()


def _merged(uses: Sequence[CommandUse], now: datetime) -> list[CommandUse]:
    """Each command once, whatever files it was pointed at, in its best-proven form."""
    groups: dict[str, list[CommandUse]] = {}
    for use in uses:
        groups.setdefault(commands.stem_of(use.form), []).append(use)
    merged = []
    for stem, group in groups.items():
        best = max(group, key=lambda use: (use.succeeded, use.runs, -len(use.form)))
        merged.append(
            replace(
                best,
                form=best.form if len(group) == 1 else stem,
                runs=sum(use.runs for use in group),
                succeeded=sum(use.succeeded for use in group),
                failed=sum(use.failed for use in group),
                last=max((use.last for use in group if use.last), default=None),
                cites=tuple(dict.fromkeys(cite for use in [best, *group] for cite in use.cites))[:3],
            )
        )
    return sorted(merged, key=lambda use: _worth(use, now), reverse=True)


def _worth(use: CommandUse, now: datetime) -> float:
    """Lower bound of how often it works, more for being used often and lately."""
    known = use.succeeded + use.failed
    share = use.succeeded / known if known else 0.4
    sure = share - 0.8 * math.sqrt(share * (1 - share) / known + 0.25 / known) if known else 0.1
    age = max(0.0, (now - use.last).total_seconds() / _DAY) if use.last else 365.0
    return sure + 0.12 * math.log1p(use.runs) + 0.3 * math.exp(-age / 60) - 0.002 * len(use.form)


def fixes(index: SessionIndex, question: str, which: Which, most: int) -> list[KnownFix]:
    """What helped when this error came up before; nothing where no error is like it."""
    asked = errors.errors_in(question, most=4) or [" ".join(question.split())[:500]]
    best: dict[tuple[str, str], KnownFix] = {}
    for line in asked:
        signature = errors.signature_of(line)
        wanted = _terms(signature)
        if not wanted:
            continue
        candidates = [(fix, errors.signature_of(fix.error)) for fix in index.known_fixes(" ".join(wanted), which, 80)]
        terms = [_terms(each) for _, each in candidates]
        weight = {word: math.log1p(len(terms) / (0.5 + sum(word in each for each in terms))) for word in wanted}
        whole = sum(weight.values())
        for (fix, seen), have in zip(candidates, terms, strict=True):
            shared = wanted & have
            covered = sum(weight[word] for word in shared) / whole
            likeness = 1.0 if seen == signature else covered * (0.6 + 0.4 * len(shared) / max(1, len(have)))
            if likeness < 0.4:
                continue
            helped = 0.1 if fix.commands or fix.edited else 0.0
            # The shorter the way from failure to success, the surer what was on it.
            steps_taken = len(fix.commands) + len(fix.edited)
            score = (
                likeness
                - 0.03 * max(0, steps_taken - 1)
                + 0.05 * min(fix.seen, 5)
                + helped
                + 0.004 * errors.telling(fix.error)
                + 0.05 * fix.passed
            )
            steps = (commands.core_of(each) for each in fix.commands)
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


def learnt(index: SessionIndex, which: Which, most: int) -> list[PossibleExperience]:
    """Failures that were overcome, each as a sentence that stands by itself."""
    found = []
    for fix in index.recent_fixes(which, most):
        steps = [f"ran `{each}`" for each in fix.commands[:3]] + [f"changed {each}" for each in fix.edited[:3]]
        if not steps:
            continue
        text = f"`{fix.failed_command}` failed with: {fix.error.removeprefix('E ').rstrip('.')}. What helped: {'; '.join(steps)}. Then `{fix.proof}` passed."
        stamp = stamped(fix.at) if fix.at else ""
        found.append(
            PossibleExperience(
                text=text,
                category="learned",
                session=fix.fixed_cite.rsplit("#", 1)[0],
                record=fix.fixed_cite,
                timestamp=stamp,
            )
        )
    return found
