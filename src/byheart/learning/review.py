"""What a person looks at of what was learnt: how much there is and what sessions were told of it; and what waits for a yes, to be
accepted, reworded or rejected."""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import TYPE_CHECKING

from byheart.domain.errors import BadInput, NothingFound
from byheart.domain.learning import JobState
from byheart.domain.records import Kind, Signal
from byheart.domain.results import Finding
from byheart.domain.values import asdict, dataclass, fields, replace
from byheart.handbook.checking_summary import check
from byheart.handbook.phrases import short_id
from byheart.learning import handbook_files, publish
from byheart.text.deferred import module
from byheart.text.slugs import short_digest
from byheart.workspace import ledger, tombstones

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from byheart.domain import records
    from byheart.domain.documents import Place
    from byheart.domain.learning import JobView, Kept, LearningQueue, LearningSettings, LearnReport
    from byheart.domain.results import Receipt
    from byheart.learning.handbook_files import HandbookFiles
    from byheart.notebooks import remember
    from byheart.workspace.context import Context
else:
    records = module("byheart.domain.records")
    remember = module("byheart.notebooks.remember")

INBOX, DECIDED = "inbox.ndjson", "decided.ndjson"


@dataclass(frozen=True, slots=True, kw_only=True)
class InboxItem:
    """Something that a session may have meant to last."""

    id: str
    text: str
    project: str
    quote: str
    situation: str
    cite: str
    thread: str
    turn: int
    score: float
    reasons: tuple[str, ...] = ()


_NAMES = {each.name for each in fields(InboxItem)}


def questions(own_handbook: HandbookFiles, kept: Kept) -> list[InboxItem]:
    """What one extract was not sure of."""
    thread = kept.written.thread
    return [
        InboxItem(
            id=short_digest(own_handbook.project, str(raw.get("default", "")).casefold()),
            text=str(raw.get("default", "")),
            project=own_handbook.name,
            quote=str(raw.get("quote", "")),
            situation=str(raw.get("situation", "")),
            cite=f"{short_id(thread.id)}#{raw.get('turn', 1)}",
            thread=thread.id,
            turn=int(raw.get("turn", 1)),
            score=float(raw.get("score", 0)),
            reasons=tuple(str(reason) for reason in raw.get("reasons", ())),
        )
        for raw in _candidates(kept)
        if raw.get("default")
    ]


def refreshed(own_handbook: HandbookFiles, kept: Sequence[Kept], is_known: Callable[[str], bool]) -> None:
    """Bring the inbox up to date with the extracts: what is known, was decided or forgotten is not asked about."""
    known = decided(own_handbook)
    stones = ledger.tombstones(own_handbook.context)
    salt = own_handbook.context.salt() if stones else b""
    found: dict[str, InboxItem] = {}
    for each in kept:
        for question in questions(own_handbook, each):
            told = (question.text, question.quote)
            if (
                question.id not in known
                and not is_known(question.text)
                and not tombstones.blocks(stones, salt, None, told)
            ):
                found.setdefault(question.id, question)
    text = "".join(json.dumps(asdict(each), ensure_ascii=False) + "\n" for each in found.values())
    place = own_handbook.root.own(INBOX)
    old = own_handbook.context.files.read(place)
    if (old.text or "") != text:
        own_handbook.context.files.write(place, text, old.digest)


def _candidates(each: Kept) -> list[dict]:  # type: ignore[type-arg]
    try:
        told = json.loads(each.candidates)
    except ValueError:
        return []
    return [raw for raw in told if isinstance(raw, dict)] if isinstance(told, list) else []


def waiting(own_handbook: HandbookFiles) -> list[InboxItem]:
    """What waits for a decision, the surest first."""
    found = []
    for row in (own_handbook.context.files.read(own_handbook.root.own(INBOX)).text or "").split("\n"):
        try:
            raw = json.loads(row)
            raw["reasons"] = tuple(raw.get("reasons", ()))
            found.append(InboxItem(**{name: value for name, value in raw.items() if name in _NAMES}))
        except (ValueError, TypeError, AttributeError, KeyError):
            continue
    return sorted(found, key=lambda each: (-each.score, each.id))


def decided(own_handbook: HandbookFiles) -> set[str]:
    """What a person has decided about already."""
    found = set()
    for row in (own_handbook.context.files.read(own_handbook.root.own(DECIDED)).text or "").split("\n"):
        try:
            found.add(str(json.loads(row)["id"]))
        except (ValueError, KeyError, TypeError):
            continue
    return found


def named(own_handbook: HandbookFiles, name: str) -> InboxItem:
    """One of them, by its id or how that begins."""
    found = [each for each in waiting(own_handbook) if each.id.startswith(name.strip())] if name.strip() else []
    if not found:
        raise NothingFound(f"no inbox item {name!r}; list them with: byheart inbox")
    if len(found) > 1:
        raise BadInput(f"{name!r} matches {len(found)}: {', '.join(each.id for each in found)}")
    return found[0]


def accept(own_handbook: HandbookFiles, question: InboxItem, text: str | None) -> Receipt:
    """Store it as a record, in a person's own words where they gave some."""
    request = records.Request(
        text=text or question.text, kind=Kind.PREFERENCE, signal=Signal.CONFIRMED, source=f"session {question.cite}"
    )
    receipt = remember.remember(own_handbook.context, request)
    _decide(own_handbook, question, "accepted")
    return receipt


def settled(own_handbook: HandbookFiles, question: InboxItem) -> None:
    """It was done; it is not asked about again."""
    _decide(own_handbook, question, "accepted")


def reject(own_handbook: HandbookFiles, question: InboxItem) -> None:
    """Never ask again, and never learn it."""
    salt = own_handbook.context.salt()
    today = own_handbook.context.clock().date().isoformat()
    for text in dict.fromkeys((question.text, question.quote)):
        ledger.bury(
            own_handbook.context, own_handbook.root, tombstones.stone(salt, text, today, "rejected in the inbox")
        )
    _decide(own_handbook, question, "rejected")


def _decide(own_handbook: HandbookFiles, question: InboxItem, how: str) -> None:
    # Only the id: what was rejected is to be found nowhere.
    own_handbook.context.files.append(
        own_handbook.root.own(DECIDED), json.dumps({"id": question.id, "how": how}) + "\n", None
    )
    place = own_handbook.root.own(INBOX)
    with own_handbook.context.files.locked(own_handbook.root):
        old = own_handbook.context.files.read(place)
        rows = [row for row in (old.text or "").split("\n") if row and json.loads(row).get("id") != question.id]
        own_handbook.context.files.write(place, "".join(f"{row}\n" for row in rows), old.digest)


def named_job(jobs: Sequence[JobView], name: str) -> JobView:
    """One of the jobs, by its session or project, or how that begins."""
    found = [job for job in jobs if job.key.startswith(name)] if name else []
    exact = [job for job in found if job.key == name]
    if not found:
        raise NothingFound(f"no job {name!r}; list them with: byheart jobs list")
    if len(exact or found) > 1:
        raise BadInput(f"{name!r} matches {len(found)} jobs; name one: {', '.join(job.key for job in found[:5])}")
    return (exact or found)[0]


def diagnosis(
    settings: LearningSettings, report: LearnReport, due: int, jobs: Sequence[JobView]
) -> list[tuple[str, str]]:
    """How learning stands, line by line: whether it runs by itself, what is due, why the rest is not, and which jobs failed."""
    is_on = "on" if settings.enabled else "off (learning.enabled is false; byheart learn works all the same)"
    lines = [("learning by itself", is_on), ("sessions", f"{report.sessions} of this project, {due} due")]
    lines += [(f"skipped: {reason}", str(times)) for reason, times in sorted(report.skipped.items())]
    return lines + [
        (f"job {job.kind} {job.key[:40]}", f"{job.state.value}: {job.error}; byheart jobs retry {job.key}")
        for job in jobs
        if job.state is JobState.DEAD or job.error
    ]


_CITE = re.compile(r"\(([0-9A-Za-z_.-]{4,})#\d+")


def stats(own: HandbookFiles, queue: LearningQueue) -> dict[str, object]:
    """What memory holds of a project, and what waits."""
    found, _ = handbook_files.texts(own.context.files, own.folder)
    kept = queue.extracts(own.project)
    jobs = list(queue.jobs(own.project))
    return {
        "project": own.project,
        "folder": str(own.folder),
        "files": len(found),
        "bytes": sum(len(text.encode("utf-8", "surrogatepass")) for text in found.values()),
        "groups": found.get("MEMORY.md", "").count("# Task Group:"),
        "skills": sum(path.endswith("/SKILL.md") for path in found),
        "extracts": sum(bool(each.written.raw_memory) for each in kept),
        "archived": sum(each.archived for each in kept),
        "uses": sum(each.written.uses for each in kept),
        "inbox": len(waiting(own)),
        "jobs": {state.value: sum(job.state is state for job in jobs) for state in JobState},
        "backups": len(publish.backups(own)),
    }


def findings(context: Context, where: Place) -> list[Finding]:
    """What is wrong with a handbook in a folder, secrets among it; none of them is shown."""
    found, wrong = handbook_files.texts(context.files, where)
    if not found and not wrong:
        raise NothingFound(f"{where} holds no handbook")
    secrets = [
        Finding(rule=each.rule, message=f"the text {each.message}", place=path, line=each.line, column=each.column)
        for path, text in found.items()
        for each in context.scanner.secrets(text)
        if each.severity != "weak"
    ]
    clean = context.scanner.redacted
    return [
        replace(each, message=clean(each.message), place=f"{where}/{each.place}" if each.place else str(where))
        for each in [*wrong, *check(found), *secrets]
    ]


def count_briefed(context: Context, place: Place, queue: LearningQueue, sent: Sequence[Mapping[str, object]]) -> None:
    """Count what sessions were told as a use of the sessions that it comes from, each brief once. `place` is where it is kept
    until when they were counted."""
    known = context.files.read(place)
    last = (known.text or "").strip()
    fresh = [each for each in sent if str(each.get("at", "")) > last]
    if not fresh:
        return
    cites = Counter(cite for each in fresh for cite in _cites(each))
    for project in queue.projects() if cites else ():
        threads = queue.threads(project)
        used = {thread: times for cite, times in cites.items() for thread in threads if thread.startswith(cite)}
        if used:
            queue.used(used, context.clock())
    context.files.write(place, max(str(each.get("at", "")) for each in fresh) + "\n", known.digest)


def _cites(told: Mapping[str, object]) -> Iterator[str]:
    """The sessions that the lines of a brief rest on."""
    lines = told.get("told")
    for line in lines if isinstance(lines, list) else ():
        if isinstance(line, list) and line:
            yield from _CITE.findall(str(line[-1]))
