"""Taking away what was learnt: all of a project, or one line of it."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from byheart.domain.documents import Place
from byheart.domain.errors import Ambiguous, NothingFound
from byheart.domain.handbook import MEMORY, RAW, ROLLOUTS, SKILLS
from byheart.domain.records import Scope
from byheart.domain.results import Receipt
from byheart.handbook import lines as indexed
from byheart.handbook.memory import core_of
from byheart.handbook.phrases import signal_of
from byheart.language.sentences import sentences
from byheart.learning import capture, handbook_files, judgement, publish, review
from byheart.learning.model_calls import WORDING
from byheart.notebooks import forget as records
from byheart.text.deferred import module
from byheart.text.similarity import content_words, normalised
from byheart.workspace import ledger, tombstones
from byheart.workspace.context import NOTEBOOKS, every, hits

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from byheart.domain.learning import LearningQueue
    from byheart.domain.results import Hit
    from byheart.journal import purge
    from byheart.learning import linking
    from byheart.learning.handbook_files import HandbookFiles
    from byheart.learning.targets import ForgetTarget
    from byheart.sessions.sessions import Sessions
    from byheart.workspace.context import Context
else:
    purge = module("byheart.journal.purge")
    # It stands on consolidation, which few commands need.
    linking = module("byheart.learning.linking")

# A text as long as this is not in another line by chance; and how much of what was asked for a line has to say.
_TELLING, _MEANT = 12, 0.8
# Shorter than this, words stand in many places by chance; and how many transcripts are named.
_WORTH_HIDING, _NAMED = 8, 3
# Lines that give a raw memory and a summary their shape: they stay, and only what they say goes.
_KEYWORDS = re.compile(r"^([ \t]*(?:- )?keywords: ?)(.*)$", re.MULTILINE)
_HEAD = re.compile(r"(?:description|task|task_group|keywords): |#{2,3} Task \d+: |# ")


def clear(
    own: HandbookFiles, queue: LearningQueue, context_of: Callable[[str, Sequence[str]], Context | None]
) -> tuple[int, int]:
    """Take away everything that was learnt of one project: (extracts, files)."""
    files = own.context.files
    threads = [kept.written.thread for kept in queue.extracts(own.project)]
    context = context_of(own.project, list(dict.fromkeys(thread.cwd for thread in threads)))
    capture.unsummarised(context or own.context, frozenset(thread.id for thread in threads))
    if context is not None:
        # What sessions had put into a notebook goes with them.
        capture.cleared(context, own)
    with files.locked(own.root):
        every = [*handbook_files.paths(files, own.folder), *_archived(own)]
        gone = sum(publish.removed(files, own.place(path)) for path in every if not path.startswith("extensions/"))
        kept = (
            handbook_files.STATE,
            publish.UNDER_WAY,
            review.INBOX,
            WORDING,
            judgement.WAITING,
            judgement.JUDGED,
            *(f"{handbook_files.BASELINE}/{name}" for name in (*handbook_files.MAIN, RAW)),
        )
        for name in (*kept, *(f"{publish.BACKUP}/{each}" for each in publish.backups(own))):
            publish.removed(files, own.root.own(name))
    for folder in (SKILLS, ROLLOUTS, handbook_files.ARCHIVE):
        files.prune(own.place(folder))
    own.context.drop_briefs()
    return queue.clear(own.project), gone


def _archived(own: HandbookFiles) -> list[str]:
    files = own.context.files
    names = files.names(own.place(f"{handbook_files.ARCHIVE}/{ROLLOUTS}"))
    whole = f"{handbook_files.ARCHIVE}/{RAW}"
    found = [f"{handbook_files.ARCHIVE}/{ROLLOUTS}/{name}" for name in names]
    return [*found, whole] if files.size(own.place(whole)) is not None else found


def bury_line(own: HandbookFiles, line: Hit) -> list[str]:
    """Make sure that a learnt line never comes back: tombstones first, then out of the note that it is. All that was buried."""
    text = line.record.text
    parts = signal_of(text)
    told = list(dict.fromkeys([text, indexed.essence(text), *([parts["default"], parts["quote"]] if parts else [])]))
    salt, today = own.context.salt(), own.context.clock().date().isoformat()
    for each in told:
        ledger.bury(own.context, own.root, tombstones.stone(salt, each, today, "forgotten in the handbook"))
    if "note" in line.record.tags:
        _out_of_note(own, line)
    return told


def rewritten(own: HandbookFiles, queue: LearningQueue, told: Sequence[str]) -> bool:
    """Take these things out of what the handbook is made from; whether anything of it said one."""
    changed = set()
    for kept in queue.extracts(own.project):
        written = kept.written
        raw_memory, summary = (_less(each, told) for each in (written.raw_memory, written.rollout_summary))
        candidates = _undecided(kept.candidates, told)
        if (raw_memory, summary, candidates) != (written.raw_memory, written.rollout_summary, kept.candidates):
            queue.rewrite(written.thread.id, raw_memory, summary, candidates, _named_without(written.slug, told))
            changed.add(written.thread.id)
    capture.unsummarised(own.context, changed, told)
    return bool(changed)


def forget(
    own: HandbookFiles, sessions: Sessions, target: ForgetTarget, scope: Scope | None, reason: str
) -> tuple[Receipt, list[str]]:
    """Forget one thing where it stands; what it said, which may stand elsewhere, too."""
    told = [target.text]
    if target.learnt is not None:
        told = bury_line(own, target.learnt)
        receipt = gone(target.learnt.path, target.learnt.id, ("it is not learnt again",), line=target.learnt.line)
    elif target.hit is not None:
        receipt = records.forget(own.context, target.hit.id, target.hit.scope, reason)
    elif target.question is not None:
        review.reject(own, target.question)
        told.append(target.question.quote)
        receipt = gone(str(own.root.own(review.INBOX)), target.question.id, ("it is not asked about again",))
    elif target.prose is not None:
        receipt = _without_prose(own, target, reason)
    elif target.is_said:
        _bury(own, [target.text], reason)
        receipt = gone(target.where, "", ())
    elif target.turn is not None:
        receipt, told = _without_turn(own, sessions, *target.turn)
    else:
        receipt = records.forget(own.context, target.text, scope, reason)
    # What sessions taught stands in the handbook and in the notebook that is kept: one of them is both.
    for row in capture.let_go(own, told):
        told += [row.text, row.stored]
        try:
            if row.handle != receipt.handle:
                records.forget(own.context, row.handle, Scope(row.scope), reason)
        except NothingFound:
            continue
    # What an agent's own handbook says of it comes in no more.
    linking.taken_in(own)
    own.context.drop_briefs()
    return receipt, told


def _without_prose(own: HandbookFiles, target: ForgetTarget, reason: str) -> Receipt:
    assert target.prose is not None
    root, line = target.prose
    with own.context.files.locked(root):
        _bury(own, [line.text], reason)
        purge.drop_prose(own.context, root, line)
    return gone(str(line.place), line.id, (), line=line.line)


def _without_turn(own: HandbookFiles, sessions: Sessions, session: str, number: int) -> tuple[Receipt, list[str]]:
    listed = sessions.find(session)
    turn = next((each for each in sessions.turns(listed.session) if each.number == number), None)
    if turn is None:
        raise NothingFound(f"{session} has no turn {number}; byheart sessions show {session} lists them")
    texts = [part for part in (turn.text, turn.command or "", turn.output or "") if part.strip()]
    lines = [line.strip() for text in texts for line in text.split("\n") if line.strip()]
    said = [*lines, *(piece for line in lines for piece in sentences(line))]
    _bury(own, said, "forgotten in a session")
    sessions.drop_session(listed.session)
    note = "the agent's own transcript still has it; byheart does not tell it, and neither recall nor session search finds it"
    return gone(listed.session.path, f"{session}#{number}", (note,)), said


def _bury(own: HandbookFiles, texts: Sequence[str], reason: str) -> None:
    salt, today = own.context.salt(), own.context.clock().date().isoformat()
    for text in dict.fromkeys(each.strip() for each in texts if len(each.strip()) >= _WORTH_HIDING):
        ledger.bury(own.context, own.root, tombstones.stone(salt, text, today, reason))


def hidden(
    own: HandbookFiles, sessions: Sessions, texts: Sequence[str], *, is_said: bool = False
) -> tuple[list[str], list[str]]:
    """Keep words that agents' own transcripts still have out of every answer; which transcripts those are, and how they say it.
    A sentence that says more is another one, and stays; unless these words are what was asked for (`is_said`)."""
    found: dict[str, str] = {}
    said, longer = list[str](), dict[str, None]()
    for text in dict.fromkeys(each for each in texts if len(each) >= _WORTH_HIDING):
        every_place = sessions.saying(text)
        places = [place for place in every_place if is_said or tombstones.says_no_more(place[2], text)]
        longer |= {f"{place[0].agent}:{place[0].id}#{place[1]}": None for place in every_place if place not in places}
        if places:
            said += [piece for _, _, piece in places]
            _bury(own, [piece for _, _, piece in places], "stands in a session")
            found |= {
                session.path: f"{session.agent} session {session.id[:12]}, turn {number}"
                for session, number, _ in places
            }
            sessions.unread(text)
    notes = []
    if found:
        names = _some([f"{path} ({what})" for path, what in found.items()], "; ")
        notes.append(
            f"the agent's own transcript still has the words: {names}; byheart does not tell them, and neither recall nor session search finds them"
        )
    if longer:
        notes.append(
            f"sentences that say more than this stay: {_some(list(longer), ', ')}; byheart forget takes each of these turns away"
        )
    return notes, said


def forgotten_elsewhere(own: HandbookFiles, sessions: Sessions, is_forgotten: Callable[[str], bool]) -> list[str]:
    """What another machine forgot and this one's handbook still says, taken out of the notebook and of what sessions show; its words."""
    told: list[str] = []
    for hit in indexed.learnt(own.context, own.root):
        if is_forgotten(hit.record.text):
            told += bury_line(own, hit)
    for row in capture.let_go(own, told):
        told += [row.text, row.stored]
    if told:
        told += hidden(own, sessions, told)[1]
        own.context.drop_briefs()
    return told


def _some(names: Sequence[str], between: str) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return between.join(names[:_NAMED]) + more


def gone(path: str, handle: str, notes: tuple[str, ...], line: int | None = None) -> Receipt:
    """What forgetting something that is no record of a notebook came to."""
    return Receipt(
        id="", action="forgotten", scope=Scope.LOCAL, dialect=indexed.DIALECT, path=path, record=None, handle=handle, line=line,
        notes=(*notes, records.CANNOT_UNDO),
    )  # fmt: skip


def _named_without(slug: str | None, told: Sequence[str]) -> str | None:
    """The name of a session's summary; another where it was made of what is forgotten."""
    words = set(re.split(r"[_-]", slug or ""))
    is_said = any(len(words) > 1 and words <= {*re.findall(r"\w+", normalised(each))} for each in told)
    return "a_line_forgotten" if is_said else slug


def _undecided(candidates: str, told: Sequence[str]) -> str:
    """What waits for a decision, without what says one of these things."""
    wanted = {normalised(each) for each in told if each.strip()}
    try:
        every = json.loads(candidates)
    except ValueError:
        return "[]"
    kept = [
        each
        for each in every
        if not {normalised(str(each.get("default", ""))), normalised(str(each.get("quote", "")))} & wanted
    ]
    # When it was said is told by a task's name, which may be the very words.
    changed = [{**each, "situation": ""} if _repeats(str(each.get("situation", "")), told) else each for each in kept]
    return candidates if changed == every else json.dumps(changed)


def _repeats(text: str, told: Sequence[str]) -> bool:
    return any(len(each) >= _TELLING and normalised(each) in normalised(text) for each in told)


def _out_of_note(own: HandbookFiles, line: Hit) -> None:
    """Take a line out of the note that a person wrote it in."""
    folder = own.folder
    place = Place(folder.base, line.path.removeprefix(folder.base.rstrip("/") + "/"))
    snapshot = own.context.files.read(place)
    lines = (snapshot.text or "").split("\n")
    kept = [each for each in lines if indexed.handle(each.strip().lstrip("-*# ").strip()) != line.id]
    own.context.files.write(place, "\n".join(kept), snapshot.digest)


def meant(own: HandbookFiles, what: str) -> tuple[Hit, bool]:
    """The one record or learnt line that a person asked to forget in their own words, and whether it was learnt. Raises
    NothingFound or Ambiguous, and then nothing is changed."""
    wanted = set(content_words(what))
    documents, _ = every(own.context, list(own.context.roots), NOTEBOOKS)
    place = own.place(MEMORY)
    learnt = indexed.hits(place, own.context.files.read(place).text or "", Scope.LOCAL)
    found = [(hit, False) for each in documents for hit in hits(each)] + [(hit, True) for hit in learnt]
    fitting: dict[str, tuple[Hit, bool]] = {}
    for hit, is_learnt in found:
        said = set(content_words(f"{hit.record.key or ''} {hit.record.text}"))
        if wanted and len(wanted & said) / len(wanted) >= _MEANT:
            fitting.setdefault(normalised(hit.record.text), (hit, is_learnt))
    # What sessions taught and what was written of it are one thing.
    for row in capture.written(own):
        if normalised(row.stored) in fitting and len(fitting) > 1:
            fitting = {text: each for text, each in fitting.items() if not each[1] or not _says(each[0], row.text)}
    if not fitting:
        raise NothingFound(f"nothing in memory says {what!r}; reject it to stop being asked about it")
    if len(fitting) > 1:
        raise Ambiguous(what, [hit for hit, _ in fitting.values()])
    return next(iter(fitting.values()))


def _says(hit: Hit, text: str) -> bool:
    parts = signal_of(hit.record.text)
    return normalised(text) in {normalised(hit.record.text), *([normalised(parts["default"])] if parts else [])}


def _less(text: str, told: Sequence[str]) -> str:
    """A text without the lines that say one of these things, and without the sentences and quotations that do in lines that say
    more. The head of a raw memory keeps its shape: only what it says of them goes."""
    wanted = {normalised(each) for each in told if each.strip()}
    kept = []
    for line in text.split("\n"):
        bare = line.strip().removeprefix("- ")
        parts = signal_of(core_of(bare)) or {"default": "", "quote": ""}
        says = {
            normalised(each)
            for each in (bare, core_of(bare), indexed.essence(bare), parts["default"], parts["quote"])
            if each
        }
        head = _HEAD.match(line)
        # A title that repeats it says nothing else.
        if says & wanted or (
            head and any(len(each) >= _TELLING and normalised(each) in normalised(line) for each in told)
        ):
            if head:
                kept.append(f"{head[0]}a session of which a line was forgotten")
            continue
        for each in told:
            if len(each) >= _TELLING and normalised(each) in normalised(line):
                for piece in tombstones.pieces_with(line, each):
                    if normalised(piece) == normalised(each):
                        line = line.replace(piece, "(forgotten)")  # noqa: PLW2901 - what is kept is the rest of it
        kept.append(line)
    return _keywords_less("\n".join(kept), told)


def _keywords_less(text: str, told: Sequence[str]) -> str:
    """A text without the keywords that only what is forgotten had."""
    gone = {word for each in told for word in re.findall(r"\w+", normalised(each))}
    rest = set(re.findall(r"\w+", normalised(_KEYWORDS.sub("", text))))

    def fewer(found: re.Match[str]) -> str:
        words = [each.strip() for each in found[2].split(",")]
        left = [each for each in words if normalised(each) not in gone or normalised(each) in rest]
        return f"{found[1]}{', '.join(left or ['session'])}"

    return _KEYWORDS.sub(fewer, text) if gone - rest else text
