"""Searching sessions by words and by meaning, and answers from work that was done: how a thing is run here, what fixed an error, who
touched a file and why."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Sequence
from datetime import datetime

from byheart.domain.journal import stamped
from byheart.domain.ports import SessionIndex
from byheart.domain.recall import PossibleExperience
from byheart.domain.sessions import CommandUse, FileVisit, FoundTurn, KnownFix, Session, Turn, Which
from byheart.domain.values import dataclass, replace
from byheart.search import order
from byheart.search.models import RecallModels
from byheart.search.order import RankedTurn
from byheart.sessions.facts import commands, errors
from byheart.sessions.facts import fixes as fixes_of
from byheart.sessions.facts.files import ABSOLUTE, shown_path
from byheart.sessions.refresh import Progress, SessionTools
from byheart.text.questions import question
from byheart.text.timewords import hint

# Vectors are made a few at a time: what is done stays done.
_AT_ONCE = 32
_READ_CLOSELY = 20
_DEEP_SHARE = 0.6
# Of so many turns of a session the best are shown.
_LOOKED_AT = 8
_SNIPPET = 200
_READ = 500


@dataclass(frozen=True, slots=True)
class SessionHits:
    """A session with the turns in it that fit, best first. `fits` is False where it is only the nearest of what there is."""

    session: Session
    score: float
    turns: tuple[FoundTurn, ...]
    fits: bool = True


def ranked(
    tools: SessionTools, recall_models: RecallModels, words: str, which: Which, now: datetime, *, deep: bool = False
) -> list[RankedTurn]:
    """Turns that fit, best first, each with what speaks for it."""
    asked = question(words)
    if not asked.terms:
        return []
    meaning = recall_models.meaning(words)
    with tools.index.reading():
        candidates = tools.index.candidates(asked, which, meaning)
    found = order.judged_turns(asked, hint(words, now.date()), candidates)
    if deep and recall_models.reranker is not None:
        first = found[:_READ_CLOSELY]
        texts = [_read_as(each.candidate.turn) for each in first]
        found = order.reranked_turns(found, recall_models.reranker.scores(words, texts), _DEEP_SHARE)
    return found


def _read_as(turn: Turn) -> str:
    text = turn.text or f"{turn.command or ''} {turn.output or ''}"
    return f"{turn.name or turn.speaker.value}: {text[:_READ]}"


def search(
    tools: SessionTools,
    recall_models: RecallModels,
    words: str,
    which: Which,
    most: int,
    now: datetime,
    *,
    deep: bool = False,
) -> Sequence[SessionHits]:
    """Sessions that fit, each with its best turns."""
    terms = [term.strip('" *') for term in question(words).terms]
    found = []
    for group in order.grouped(ranked(tools, recall_models, words, which, now, deep=deep))[:most]:
        turns = tuple(
            FoundTurn(
                session=each.candidate.session,
                turn=each.candidate.turn,
                score=round(each.score, 4),
                snippet=snippet(each.candidate.turn, terms),
                factors={name: round(value, 4) for name, value in each.factors.items()},
            )
            # What somebody said tells more than what a tool printed.
            for each in sorted(group.turns[:_LOOKED_AT], key=lambda each: each.candidate.turn.tool is not None)[:3]
        )
        scale = recall_models.embedder.scale if recall_models.embedder is not None else None
        fits = any(order.fits(each, scale) for each in group.turns[:3])
        found.append(SessionHits(turns[0].session, round(group.score, 4), turns, fits))
    return found


def snippet(turn: Turn, terms: Sequence[str]) -> str:
    """The part of a turn that has most of the words."""
    whole = " ".join(" ".join(part for part in (turn.text, turn.command, turn.arguments, turn.output) if part).split())
    if len(whole) <= _SNIPPET:
        return whole
    stems = [re.escape(term[: max(3, len(term) - 2)]) for term in terms if term]
    places = [match.start() for match in re.finditer("|".join(stems), whole, re.IGNORECASE)] if stems else []
    if not places:
        return f"{whole[:_SNIPPET].rstrip()} …"
    start = max(places, key=lambda at: (sum(at <= each < at + _SNIPPET for each in places), -at))
    start = max(0, min(start - 20, len(whole) - _SNIPPET))
    if start:
        start = whole.find(" ", start) + 1 or start
    end = start + _SNIPPET
    return f"{'… ' if start else ''}{whole[start:end].strip()}{' …' if end < len(whole) else ''}"


def embed(tools: SessionTools, recall_models: RecallModels, seconds: float, progress: Progress | None = None) -> int:
    """Give turns their vectors, the newest first, for so long; how many are known to be left."""
    embedder = recall_models.embedder
    if embedder is None:
        return 0
    until, done = time.monotonic() + seconds, 0
    while some := tools.index.unembedded(embedder.id, 20_000):
        for start in range(0, len(some), _AT_ONCE):
            if progress:
                progress(done, done + len(some) - start, embedder.id)
            part = some[start : start + _AT_ONCE]
            vectors = recall_models.vectors([text for _, text in part])
            if vectors is None:
                return len(some) - start
            tools.index.embedded(
                embedder.id, embedder.width, [(row, vector) for (row, _), vector in zip(part, vectors, strict=True)]
            )
            done += len(part)
            if time.monotonic() > until:
                return len(some) - start - len(part)
    tools.index.all_embedded(embedder.id)
    return 0


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
        for (found, seen), have in zip(candidates, terms, strict=True):
            fix = replace(found, is_workaround=fixes_of.is_workaround(found.commands, found.proof))
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
                - 0.3 * fix.is_workaround
            )
            steps = (commands.core_of(each) for each in fix.commands)
            files = (path.replace("\\", "/").rsplit("/", 1)[-1] for path in fix.edited)
            key = (seen, " | ".join((*steps, *files)))
            if key not in best or best[key].score < score:
                best[key] = replace(fix, score=round(score, 3))
    ranked = sorted(best.values(), key=lambda fix: (fix.score, fix.at.timestamp() if fix.at else 0.0), reverse=True)
    # Several lines of one failure are one answer.
    once = {(fix.failed_cite, fix.fixed_cite): fix for fix in reversed(ranked)}
    return [fix for fix in ranked if once[fix.failed_cite, fix.fixed_cite] is fix][:most]


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


def leads_to(tools: SessionTools, found: Sequence[SessionHits], most: int) -> list[tuple[str, str]]:
    """The files that these sessions, the most alike first, went on to change, each with the id of the most alike one that did; first
    those that most of them, and the most alike, changed most."""
    worth: dict[str, float] = {}
    first: dict[str, str] = {}
    for place, hits in enumerate(found):
        cwd = hits.session.cwd or ""
        for path, times in tools.index.edited(hits.session):
            shown = shown_path(path, cwd)
            if shown and not ABSOLUTE.match(shown):
                worth[shown] = worth.get(shown, 0.0) + math.log2(1 + times) / (1 + place)
                first.setdefault(shown, hits.session.id)
    return [(path, first[path]) for path in sorted(worth, key=lambda path: (-worth[path], path))[:most]]


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
