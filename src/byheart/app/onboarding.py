"""The first five minutes: what is on this machine, what would be read and changed, and doing it."""

from __future__ import annotations

import os
import re
import tomllib
from typing import TYPE_CHECKING

from byheart.app import briefs, connecting, moments
from byheart.app.gain import gain, sentence
from byheart.app.open import open_memory
from byheart.app.sessions import open_learning, open_sessions, start_embedding
from byheart.brief.collect import wish
from byheart.domain.documents import Place
from byheart.domain.errors import ByheartError, Refused
from byheart.domain.values import dataclass, field, replace
from byheart.learning.learning import Wanted
from byheart.text.deferred import module

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from byheart.agents import own_memories
    from byheart.agents.installing.pieces import Installed
    from byheart.agents.own_memories import Taken
    from byheart.app.open import OpenMemory, Surroundings
    from byheart.domain import sessions
    from byheart.domain.brief import Brief
    from byheart.domain.learning import LearnReport
else:
    own_memories = module("byheart.agents.own_memories")
    sessions = module("byheart.domain.sessions")

# How many weeks back it is counted what memory would have spared.
_WEEKS = 8
_MOST_FOLDERS, _SHOWN, _OF_ONE = 60, 7, 3
_CITE = re.compile(r"\s*\((?P<cite>[0-9A-Za-z_.-]{4,}#\d+[^()]*)\)\s*$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Survey:
    """What is here: agents with the files that connecting would change, and transcripts by agent (count, bytes)."""

    agents: tuple[Installed, ...]
    transcripts: dict[str, tuple[int, int]]
    learns_already: bool


@dataclass(slots=True, kw_only=True)
class Begun:
    """What came of beginning."""

    connected: list[Installed] = field(default_factory=list)
    taken: list[Taken] = field(default_factory=list)
    report: LearnReport | None = None
    highlights: list[tuple[str, str, str]] = field(default_factory=list)
    brief: Brief | None = None
    brief_of: str = ""
    gain: str = ""
    problems: list[str] = field(default_factory=list)


def survey(opened: OpenMemory, around: Surroundings) -> Survey:
    """Look around; nothing is read but names and sizes, and nothing is changed."""
    planned = [connecting.install(opened, around, name, None, dry=True) for name in connecting.here(opened, around)]
    found = open_sessions(opened, around).transcripts()
    return Survey(agents=tuple(planned), transcripts=found, learns_already=opened.config.flag("learning.enabled"))


def switch_on(opened: OpenMemory) -> bool:
    """Have sessions learnt from by themselves, in the user's own settings; whether that changed anything. What else is in the file
    stays as it is."""
    place = Place(opened.home, "config.toml")
    known = opened.files.read(place)
    text = known.text or ""
    if opened.config.flag("learning.enabled"):
        return False
    said = tomllib.loads(text).get("learning", {})
    if isinstance(said, dict) and "enabled" in said:
        # They said no; asking twice is no way to a yes.
        raise Refused(
            f"{place} sets learning.enabled to false; change it there if sessions shall be learnt from by themselves"
        )
    for new in _switched(text):
        if _says_only(text, new):
            opened.files.write(place, new, known.digest)
            return True
    raise Refused(
        f"{place} could not be changed without touching what else it says; add to it: learning.enabled = true"
    )


_HEADER = re.compile(r"^[ \t]*\[[ \t]*(?:learning|\"learning\"|'learning')[ \t]*\][ \t]*(?:#.*)?$", re.MULTILINE)
_INLINE = re.compile(r"^([ \t]*(?:learning|\"learning\"|'learning')[ \t]*=[ \t]*\{)([ \t]*)(?=(.))", re.MULTILINE)
_DOTTED = re.compile(r"^[ \t]*(?:learning|\"learning\"|'learning')[ \t]*\.[^\n]*$", re.MULTILINE)


def _switched(text: str) -> Iterator[str]:
    """The ways to say in a settings file that sessions are learnt from, for whichever way it has of naming tables."""
    newline = "\r\n" if "\r\n" in text else "\n"
    if header := _HEADER.search(text):
        yield f"{text[: header.end()]}{newline}enabled = true{text[header.end() :]}"
    if inline := _INLINE.search(text):
        joint = " " if inline[3] == "}" else ", "
        yield f"{text[: inline.end(1)]} enabled = true{joint}{text[inline.end() :]}"
    if dotted := _DOTTED.search(text):
        yield f"{text[: dotted.end()]}{newline}learning.enabled = true{text[dotted.end() :]}"
    joint = "" if not text or text.endswith(("\n\n", "\r\n\r\n")) else newline if text.endswith("\n") else 2 * newline
    yield f"{text}{joint}[learning]{newline}enabled = true{newline}"


def _says_only(before: str, after: str) -> bool:
    """Whether a text says what another one does, and that sessions are learnt from, and nothing else."""
    try:
        old, new = tomllib.loads(before), tomllib.loads(after)
    except tomllib.TOMLDecodeError:
        return False
    table = old.get("learning", {})
    return isinstance(table, dict) and new == {**old, "learning": {**table, "enabled": True}}


def begin(
    around: Surroundings,
    *,
    connects: bool,
    learns: bool,
    progress: Callable[[str, float, str], Callable[[int, int, str], None] | None],
) -> Begun:
    """Connect agents, take over what they remembered, learn from their sessions, and make briefs ready."""
    done = Begun()
    opened = open_memory(around)
    _take_over(opened, around, done)
    if learns:
        _learn(around, done, progress)
    if connects:
        # Last, and all of them or none: who stops this midway has no agent half connected.
        _connect(opened, around, done)
    _briefed(around, done)
    if learns:
        opened = open_memory(around)
        every = open_sessions(opened, around)
        counted = gain(open_learning(opened, around, every), every, opened.home, _WEEKS, around.clock())
        done.gain = sentence(counted)
    return done


def connected(opened: OpenMemory) -> list[str]:
    """The agents that are connected for this user."""
    return [name for name, scope in connecting.installed(opened) if scope == connecting.USER]


def _connect(opened: OpenMemory, around: Surroundings, done: Begun) -> None:
    before = connected(opened)
    try:
        for name in connecting.here(opened, around):
            done.connected.append(connecting.install(opened, around, name, None, dry=False))
        switch_on(opened)
    except KeyboardInterrupt:
        # By the record, not by what came back: the one that was under way when it was pressed is connected, too.
        for name, scope in connecting.installed(opened):
            if scope == connecting.USER and name not in before:
                connecting.uninstall(opened, name, scope, dry=False)
        raise
    except ByheartError as error:
        done.problems.append(str(error))
    done.problems += [f"{each.agent}: {each.problem}" for each in done.connected if each.problem]


def _take_over(opened: OpenMemory, around: Surroundings, done: Begun) -> None:
    home = around.environment.get("HOME") or os.path.expanduser("~")
    try:
        done.taken = own_memories.take_over(opened.memory.context, home, dict(around.environment), (), dry_run=False)
    except ByheartError as error:
        done.problems.append(f"agents' own memory: {error}")


def _learn(
    around: Surroundings, done: Begun, progress: Callable[[str, float, str], Callable[[int, int, str], None] | None]
) -> None:
    opened = open_memory(around)
    every = open_sessions(opened, around)
    every.refresh(progress("reading transcripts", 1e6, " MB"))
    learning = open_learning(opened, around, every)
    done.report = learning.learn(Wanted(), progress("learning", 1, " sessions"))
    opened.memory.caught_up()
    done.problems += [f"{key}: {error}" for key, error in done.report.failed]
    folders: dict[str, None] = {}
    for listed in every.list(sessions.Which(), 5_000):
        cwd = listed.session.cwd
        if cwd and os.path.isdir(cwd) and len(folders) < _MOST_FOLDERS:
            folders[briefs.folder_of(cwd)] = None
    briefs.refresh(around, folders)
    if opened.config.moments.enabled:
        moments.refresh(around, learning, every)
    start_embedding(opened, around, every)
    done.highlights = _highlights(done.report)


def _highlights(report: LearnReport) -> list[tuple[str, str, str]]:
    """The few most useful things: (project, what, where it comes from). What somebody said comes before what was inferred, what was
    said often before what was said once, and no project has all of the places."""
    found: list[tuple[tuple[bool, int, int], tuple[str, str, str]]] = []
    for project in report.projects:
        for order, line in enumerate(project.preferences[:_OF_ONE]):
            cite = _CITE.search(line)
            again = re.search(r"in (\d+) sessions", line)
            rank = ("(inferred)" in line, -(int(again[1]) if again else 1), order)
            found.append((rank, (project.name, wish(line), cite["cite"] if cite else "")))
        for name in project.skills[:1]:
            found.append(((True, 0, 0), (project.name, "a repeated procedure", f"skills/{name}/SKILL.md")))
    return [each for _, each in sorted(found, key=lambda pair: pair[0])][:_SHOWN]


def _briefed(around: Surroundings, done: Begun) -> None:
    """The brief of the project we stand in, else of the one that taught most."""
    opened = open_memory(around)
    done.brief, done.brief_of = briefs.brief(opened, around), opened.project.name
    if (done.brief is None or not done.brief.told) and done.report and done.report.projects:
        best = max(done.report.projects, key=lambda each: (len(each.preferences), each.tasks))
        if best.groups:
            learning = open_learning(opened, replace(around))
            done.brief, done.brief_of = briefs.brief_of(opened, around, learning.handbook(best.project)), best.name
