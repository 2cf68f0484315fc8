"""Which sessions are learnt from, and which extracts the next handbook is made of."""

from __future__ import annotations

import fnmatch
import re
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from byheart.domain.handbook import ROLLOUTS, Thread
from byheart.domain.learning import DueSession, Kept, LearningSettings, Skip
from byheart.domain.values import dataclass
from byheart.text.slugs import short_digest

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from byheart.domain.sessions import Listed


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What a run is to do: by itself or for somebody who asked, for which projects, and whether only to show it."""

    is_automatic: bool = False
    projects: tuple[str, ...] = ()
    most: int | None = None
    dry: bool = False
    forgets_gone: bool = False
    # Only extract, as one of several that do; whoever started it does the rest.
    is_hand: bool = False
    # Sessions that their agent said have ended, by id or by file: nobody need wait to see whether they go on.
    ended: frozenset[str] = frozenset()


_UNIQUE = re.compile(r"(?=[0-9A-Za-z]*[0-9])(?=[0-9A-Za-z]*[A-Za-z])[0-9A-Za-z]{12,}")
# Agents clear up when they are started, so a transcript may be a little older or younger than it should be.
_MARGIN = timedelta(days=2)
_ODD = re.compile(r"[^0-9A-Za-z_.:-]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """What holds for one run: None where nothing is bounded. Whoever asks for a run themselves is not held to the defaults."""

    oldest: timedelta | None
    idle: timedelta | None
    most: int | None
    exclude: tuple[str, ...] = ()


def bounds(settings: LearningSettings, *, is_automatic: bool, chosen: Callable[[str], bool]) -> Bounds:
    """The bounds of a run: what runs by itself is held to every setting, what a person asks for to those they chose."""

    def held(name: str) -> bool:
        return is_automatic or chosen(name)

    idle = timedelta(hours=settings.min_idle_hours) if held("min_idle_hours") else None
    if is_automatic and settings.quiet_minutes and not chosen("min_idle_hours"):
        # What was solved an hour ago helps the next session only if it is learnt by then.
        idle = timedelta(minutes=settings.quiet_minutes)
    return Bounds(
        oldest=timedelta(days=settings.max_session_age_days) if held("max_session_age_days") else None,
        idle=idle,
        most=settings.sessions_per_start if held("sessions_per_start") else None,
        exclude=tuple(each.strip() for each in settings.exclude.split(",") if each.strip()),
    )


def thread_id(listed: Listed) -> str:
    """A session's id as memory names it; ids that others may have too get something of their own."""
    session = listed.session
    plain = _ODD.sub("_", session.id)
    if _UNIQUE.search(plain.replace("-", "")) and len(plain) >= 16:
        return plain
    return f"{plain}-{short_digest(session.agent, session.path)}"


def revision(listed: Listed, learner: str) -> str:
    """What changes when more was said in a session, or another learner is at work. A file that was only touched is no other."""
    session = listed.session
    ended = int(session.ended.timestamp() * 1000) if session.ended else 0
    return f"{learner}.{ended}.{listed.turns}.{listed.prompts}.{listed.commands}.{listed.failures}"


def with_mark(text: str, mark: str) -> str:
    """A revision of which a model had a part: what was learnt offline can still be asked of one."""
    return f"{text}+{mark}" if mark else text


def without_mark(text: str) -> str:
    """A revision, whoever made it."""
    return text.partition("+")[0]


def reason_against(listed: Listed, within: Bounds, now: datetime, *, is_active: bool, is_known: bool) -> Skip | None:
    """Why a session is not learnt from now; None where it is."""
    session = listed.session
    if session.parent:
        return Skip.SUBAGENT
    if session.memory_mode not in (None, "", "enabled"):
        return Skip.MODE
    if listed.prompts == 0 and listed.commands == 0:
        return Skip.EMPTY
    if not session.project:
        return Skip.NO_PROJECT
    if is_excluded(session.project, session.cwd, within.exclude):
        return Skip.PROJECT
    if session.ended is None:
        return Skip.UNDATED
    if is_active:
        return Skip.ACTIVE
    if is_known:
        return Skip.UNCHANGED
    age = now - session.ended
    if within.idle is not None and age < within.idle:
        return Skip.TOO_RECENT
    if within.oldest is not None and age > within.oldest:
        return Skip.TOO_OLD
    return None


def is_excluded(project: str, cwd: str | None, exclude: Sequence[str]) -> bool:
    """Whether a project is one of those that nothing is to be learnt from: by its name, its id, or its folder."""
    name = project.rsplit("-", 1)[0]
    folder = (cwd or "").replace("\\", "/").rstrip("/")
    for pattern in exclude:
        if any(fnmatch.fnmatchcase(each, pattern) for each in (project, name)):
            return True
        if folder and (
            fnmatch.fnmatchcase(folder, pattern.rstrip("/")) or folder.startswith(pattern.rstrip("/") + "/")
        ):
            return True
    return False


def due_of(listed: Listed, learner: str, mark: str = "") -> DueSession:
    """A session as work to do; `mark` where a model is to be asked about it."""
    session = listed.session
    assert session.ended is not None and session.project is not None
    thread = Thread(
        id=thread_id(listed),
        agent=session.agent,
        project=session.project,
        cwd=session.cwd or "unknown",
        path=session.path,
        updated=session.ended,
        branch=session.branch,
    )
    return DueSession(thread=thread, revision=with_mark(revision(listed, learner), mark))


@dataclass(frozen=True, slots=True, kw_only=True)
class SelectedExtracts:
    """The extracts of the next handbook, and how they differ from those of the last."""

    selected: tuple[Kept, ...]
    added: tuple[Kept, ...]
    retained: tuple[Kept, ...]
    removed: tuple[Kept, ...]
    archived: tuple[Kept, ...]


def chosen(every: Sequence[Kept], settings: LearningSettings, now: datetime) -> SelectedExtracts:
    """Which extracts make the next handbook: those that are used, and a share for new ones whatever is used. What nobody
    used for long rests in the archive, and comes back when it is used."""
    limit = timedelta(days=settings.unused_days)
    alive = [each for each in every if settings.unused_days <= 0 or now - _last_sign(each) <= limit]
    ranked = sorted(alive, key=lambda each: (-each.written.uses, -_last_sign(each).timestamp(), each.written.thread.id))
    newest = sorted(alive, key=lambda each: (-each.written.thread.updated.timestamp(), each.written.thread.id))
    share = min(settings.extracts, max(1, round(settings.extracts * settings.new_share)))
    taken = {each.written.thread.id: each for each in newest[:share]}
    for each in ranked:
        if len(taken) >= settings.extracts:
            break
        taken.setdefault(each.written.thread.id, each)
    selected = tuple(each for each in every if each.written.thread.id in taken)
    out = tuple(each for each in every if each.written.thread.id not in taken)
    return SelectedExtracts(
        selected=selected,
        added=tuple(each for each in selected if each.selected != each.revision),
        retained=tuple(each for each in selected if each.selected == each.revision),
        removed=tuple(each for each in out if each.selected),
        archived=out,
    )


def _last_sign(each: Kept) -> datetime:
    """When an extract was last of use: used, or else learnt."""
    return max(each.written.last_use or each.made, each.made)


def selection_text(
    choice: SelectedExtracts, file_of: Callable[[Kept], str], gone: Sequence[tuple[str, str]] = ()
) -> str:
    """What phase 2 is told about its input: what is new, what stays, what is gone. `gone` are threads that are no longer
    there at all, with the names of their files."""
    removed = [(each.written.thread.id, file_of(each)) for each in choice.removed] + list(gone)
    lines = [
        f"- selected inputs this run: {len(choice.selected)}",
        f"- newly added since the last successful Phase 2 run: {len(choice.added)}",
        f"- retained from the last successful Phase 2 run: {len(choice.retained)}",
        f"- removed from the last successful Phase 2 run: {len(removed)}",
        "",
        "Current selected Phase 1 inputs:",
    ]
    added = {each.written.thread.id for each in choice.added}
    lines += [
        f"- [{'added' if each.written.thread.id in added else 'retained'}] thread_id={each.written.thread.id}, rollout_summary_file={ROLLOUTS}/{file_of(each)}"
        for each in choice.selected
    ] or ["- none"]
    lines += ["", "Removed from the last successful Phase 2 selection:"]
    lines += [f"- thread_id={thread}, rollout_summary_file={ROLLOUTS}/{file}" for thread, file in removed] or ["- none"]
    return "\n".join(lines) + "\n"


def is_expired(thread: Thread, days: float | None, oldest_left: float | None, now: datetime) -> bool:
    """Whether a transcript that is gone was cleared away by its agent for its age, rather than taken away by somebody: the
    agent clears what is older than so many days, this was, and nothing as old is left."""
    if days is None or now - thread.updated < timedelta(days=days) - _MARGIN:
        return False
    return oldest_left is None or now.timestamp() - oldest_left <= (timedelta(days=days) + _MARGIN).total_seconds()
