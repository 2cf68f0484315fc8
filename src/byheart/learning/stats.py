"""What memory holds of a project in numbers, and what of it sessions were told."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from byheart.domain.errors import NothingFound
from byheart.domain.learning import JobState
from byheart.domain.results import Finding
from byheart.domain.values import replace
from byheart.handbook.checking_files import check
from byheart.learning import handbook_files, inbox, publish

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from byheart.domain.learning import LearningQueue
    from byheart.domain.roots import Place
    from byheart.learning.handbook_files import HandbookFiles
    from byheart.workspace.context import Context

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
        "inbox": len(inbox.waiting(own)),
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
