"""memory_summary.md without a model: who works here and how, what they want, what helps nearly always, and where the rest is."""

from __future__ import annotations

import re
from collections import Counter
from datetime import UTC
from typing import TYPE_CHECKING

from byheart.domain.handbook import MEMORY, NOTHING_YET, Group, Overview, Skill, Topic
from byheart.domain.values import dataclass
from byheart.handbook.phrases import keywords, one_line
from byheart.learning.consolidate.grouping import Blocks
from byheart.learning.earning import advice, earned, in_order
from byheart.learning.extract.knowledge import HOSTS, SET_UP
from byheart.sessions.facts.commands import is_script
from byheart.sessions.facts.differences import is_file
from byheart.text.similarity import content_words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from byheart.handbook.lessons import Lesson
    from byheart.learning.consolidate.wishes import Wish
    from byheart.learning.earning import Trouble
    from byheart.sessions.facts.differences import Change

# Days with memory that count as recent.
RECENT_DAYS = 3
_COMMAND = re.compile(
    r"^`(?P<form>[^`]+)`(?: in `(?P<folder>[^`]+)`)? (?P<what>runs the tests|lints|checks types|builds|formats|starts it|installs dependencies|is used) here \(worked (?P<ok>\d+) of (?P<all>\d+)"
)
# Where in the code a checker points to.
_WHERE = re.compile(r"^\S+?[(:]\d+(?:[,:]\d+)?\)?:?\s+(?:- )?")
# Calls that only show what there is.
_ASKS_WHAT = re.compile(r"^\S+ (?:version|status|list|ls|help|info|show|whoami)\b")
_NEVER_FAILS = ("formats", "starts it", "installs dependencies")
_PURPOSES = ("runs the tests", "lints", "checks types", "builds", "formats", "starts it", "installs dependencies")
_SPOKEN = {
    "runs the tests": "Tests", "lints": "Checks", "checks types": "Types", "builds": "Build", "formats": "Format", "starts it": "Start",
    "installs dependencies": "Dependencies",
}  # fmt: skip
_FINDING = "agent's finding: "
_QUOTED = re.compile(r"`([^`]+)`")
# Folders, as agents name them.
_PLACE = re.compile(r"(?<![\w/.~])([\w.-]+(?:/[\w.-]+)*/)(?=[`\s),.;:]|$)")
_MOST_TROUBLES, _MOST_STUCK, _MOST_RULES, _STUCK, _NAMES, _AGAIN = 24, 2, 4, 3, 4, 4
# In so few sessions once is as good as often; a command that so many of them run is one of the project's.
_FEW, _OFTEN_USED, _MOST_USED, _MOST_SET_UP = 5, 0.05, 5, 3
_POINTED, _LONG_CALL = " FILE", 70
# So many words say what a command does.
_SAYING = 2


def overview(made: Blocks, skills: Sequence[Skill], project: str, notes: Sequence[tuple[str, str]]) -> Overview:
    """The summary of these blocks. `notes` are what people wrote down themselves: (text, file)."""
    tips = [*_notes(notes), *_tips(made, skills)]
    known = "\n".join(tips)
    days = sorted({_day(made, group) for group in made.groups}, reverse=True)[:RECENT_DAYS]
    scope = _scope(made, project)
    recent = []
    # What many tasks are called to the letter is what a client or a script put before each request.
    titles = Counter(title for _, extract in made.extracts for title in {task.name for task in extract.tasks})
    wrapped = frozenset(title for title, times in titles.items() if times >= _STUCK)
    for day in days:
        topics = tuple(
            _topic(group, wrapped, is_recent=True, known=known) for group in made.groups if _day(made, group) == day
        )
        if topics:
            recent.append((day, topics))
    older = tuple(_topic(group, wrapped, is_recent=False) for group in made.groups if _day(made, group) not in days)
    return Overview(
        profile=tuple(_profile(made, project)),
        preferences=tuple(_preferences(made.wishes)),
        tips=tuple(tips),
        recent=((scope, tuple(recent)),) if recent else (),
        older=((scope, older),) if older else (),
    )


def _day(made: Blocks, group: Group) -> str:
    return f"{made.newest[group.name].astimezone(UTC):%Y-%m-%d}"


def _scope(made: Blocks, project: str) -> str:
    folders = Counter(each.thread.cwd for each, _ in made.extracts if each.thread.cwd not in ("", "unknown"))
    return f"{project} (cwd={folders.most_common(1)[0][0]})" if folders else project


def _profile(made: Blocks, project: str) -> list[str]:
    """What is known of how somebody works, from what they did."""
    if not made.extracts:
        return [NOTHING_YET]
    threads = [each.thread for each, _ in made.extracts]
    agents = Counter(thread.agent for thread in threads)
    first, last = min(thread.updated for thread in threads), max(thread.updated for thread in threads)
    used = ", ".join(f"{agent} ({times})" for agent, times in agents.most_common())
    lines = [
        f"Works on {project}; {len(threads)} session{'s' if len(threads) > 1 else ''} taught something, from {first:%Y-%m-%d} to {last:%Y-%m-%d}, with {used}.",
    ]
    areas = [group.name.partition(": ")[2] or group.name for group in made.groups]
    lines.append(f"Worked on of late, the newest first: {', '.join(areas[:8])}.")
    checks = [f"{command} ({what})" for command, what in _commands(made).items()]
    if checks:
        lines.append(f"Checks work with {', '.join(checks[:4])}.")
    strong = [wish for wish in made.wishes if wish.sessions > 1]
    if strong:
        lines.append(
            "Said or asked for more than once: " + "; ".join(one_line(wish.default, 100) for wish in strong[:5]) + "."
        )
    return lines


def _commands(made: Blocks) -> dict[str, str]:
    """For each purpose the command that sessions really use: command → purpose. Calls that differ only in what they are pointed at are
    one command, told without that."""
    seen: dict[str, dict[tuple[str, str], set[str]]] = {}
    failed = Counter[tuple[str, str]]()
    for each, extract in made.extracts:
        for line in (line for task in extract.tasks for line in task.knowledge):
            if found := _COMMAND.match(line.text):
                own = (found["form"], found["folder"] or "")
                seen.setdefault(found["what"], {}).setdefault(own, set()).add(each.thread.id)
                failed[own] += 2 * int(found["all"]) - 3 * int(found["ok"])
    for what in _NEVER_FAILS:
        # A check may fail for its good reasons; what only does something and fails a third of the time is not the way.
        seen[what] = {own: threads for own, threads in seen.get(what, {}).items() if failed[own] <= 0}
    best: dict[str, str] = {}
    # What few of many sessions ran is not how things are done here.
    least = 1 if len(made.extracts) <= _FEW else max(2, _OFTEN_USED * len(made.extracts))
    for what in _PURPOSES:
        if seen.get(what):
            ranked = _families(seen[what])
            # Some work is checked in two ways.
            most = ranked[0].sessions
            for family in ranked[:1] + [each for each in ranked[1:2] if what == _PURPOSES[0] and each.sessions >= max(_STUCK, most / 2)]:  # fmt: skip
                form = family.form
                bare = form.removesuffix(_POINTED)
                if family.sessions < least or (what == "starts it" and bare != form):
                    # What one of many sessions ran is no way of doing things here, and how a program begins is nothing to start.
                    continue
                told = f"`{bare}` with a file or a name" if bare != form else f"`{form}`"
                best[f"{told} in `{family.folder}`" if family.folder else told] = what
    return best


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandFamily:
    """Calls that differ only in what they are pointed at, in one folder: the form to tell, and in how many sessions they worked."""

    form: str
    folder: str
    sessions: int


def _families(forms: dict[tuple[str, str], set[str]]) -> list[CommandFamily]:
    """The commands for one purpose, the one that is used most first."""
    found: dict[tuple[str, str], dict[str, set[str]]] = {}
    for (form, folder), threads in forms.items():
        found.setdefault((_told_to_do(form), folder), {})[form] = threads
    ranked = []
    for (told, folder), family in found.items():
        sessions = len(set().union(*family.values()))
        top = max(family, key=lambda form: (len(family[form]), -len(form), form))
        shared = _shared_start(list(family))
        if len(family[top]) * 2 <= sessions and len(shared.split()) >= _SAYING:
            # Where nobody ran it by itself, it may not work so.
            top = shared if shared in family else f"{shared}{_POINTED}"
        # A script that the project has a name for is its way, where several sessions know it.
        weight = sessions * (2 if _is_own_way(told) and sessions > 1 else 1)
        ranked.append((-weight, len(told), told, CommandFamily(form=top, folder=folder, sessions=sessions)))
    return [each[3] for each in sorted(ranked, key=lambda each: each[:3])]


def _others(made: Blocks, known: Sequence[str]) -> list[str]:
    """Commands without a purpose of a name that many sessions run, as one line; none where there are none."""
    used: dict[str, set[int]] = {}
    for place, (_, extract) in enumerate(in_order(made.extracts)):
        for line in (line for task in extract.tasks for line in task.knowledge):
            if (
                (found := _COMMAND.match(line.text))
                and found["what"] == "is used"
                and not _ASKS_WHAT.search(found["form"])
            ):
                used.setdefault(found["form"], set()).add(place)
    # What nobody ran in the last third may be gone.
    least, fresh = max(_AGAIN, _OFTEN_USED * len(made.extracts)), len(made.extracts) * 2 // 3
    often = sorted(
        (-len(places), form) for form, places in used.items() if len(places) >= least and max(places) >= fresh
    )
    told = [f"`{form}` ({-times} sessions)" for times, form in often if not any(f"`{form}`" in line for line in known)]
    return [f"Also run here: {', '.join(told[:_MOST_USED])}"] if told else []


def _is_own_way(told: str) -> bool:
    """Whether a script has a plain name: one for a part of the work has more to it."""
    return is_script(told) and told.rsplit(" ", 1)[-1].isalpha()


def _told_to_do(form: str) -> str:
    """The program with what it is told to do, without what it is pointed at."""
    words = [word for word in form.split() if not re.match(r"\w+=", word)]
    named = [word for word in words[1:] if re.fullmatch(r"[a-z][a-z:_-]*", word)]
    return " ".join([words[0], *named[: 2 if named[:1] == ["run"] else 1]]) if words else form


def _shared_start(forms: Sequence[str]) -> str:
    """The words with which all of these begin."""
    split = [form.split() for form in forms]
    count = next((at for at, each in enumerate(zip(*split, strict=False)) if len(set(each)) > 1), min(map(len, split)))
    words = split[0][:count]
    while words and words[-1].startswith("-"):
        words.pop()
    return " ".join(words)


def _preferences(wishes: Sequence[Wish]) -> list[str]:
    ranked = sorted(wishes, key=lambda wish: (wish.is_inferred, -wish.sessions, -wish.newest.timestamp(), wish.text))
    lines = []
    for wish in ranked:
        times = f", in {wish.sessions} sessions" if wish.sessions > 1 and not wish.is_inferred else ""
        marked = f" ({wish.replaces})" if wish.replaces else ""
        lines.append(f"{wish.text}{marked} ({wish.places[0].cite}{times})")
    return lines


def _notes(notes: Sequence[tuple[str, str]]) -> list[str]:
    return [f"[ad-hoc note] {one_line(text, 400)} ({file})" for text, file in notes]


def _tips(made: Blocks, skills: Sequence[Skill]) -> list[str]:
    lines = [f"{_SPOKEN[what]}: {command}" for command, what in _commands(made).items()]
    lines += _others(made, lines)
    lines += _set_up(made)
    lines += [f"Related skill: skills/{skill.name}/SKILL.md: {one_line(skill.description, 160)}" for skill in skills]
    lines += _troubles(made)
    lines += _returning(made)
    if made.groups:
        lines.append(
            f"Search {MEMORY} for a file, a command or an error first; each block names the sessions it rests on."
        )
    return lines


def _set_up(made: Blocks) -> list[str]:
    """What people told of machines and networks, the newest first, each once."""
    told = {
        line.text: None
        for _, extract in sorted(made.extracts, key=lambda each: each[0].thread.updated, reverse=True)
        for task in extract.tasks
        for line in task.knowledge
        if line.text.startswith(SET_UP)
    }
    # Of two that name the same machine, the one that says more about it.
    kept: list[str] = []
    for text in sorted(told, key=lambda each: -len(content_words(HOSTS.sub("", each)))):
        hosts = set(HOSTS.findall(text))
        if not hosts <= {host for other in kept for host in HOSTS.findall(other)}:
            kept.append(text)
    return [f"The user said: {text.removeprefix(SET_UP)}" for text in told if text in kept][:_MOST_SET_UP]


def _troubles(made: Blocks) -> list[str]:
    """Errors that sessions met and got over, what is worth most first; what none got over, and rules that checks keep reporting."""
    found = earned(made.extracts)
    told = [
        f"{_met(trouble)}, not solved in any: {_failed(trouble.stuck)}"
        for trouble in found.stuck[:_MOST_STUCK]
        if trouble.stuck
    ]
    told += [
        f"{_met(each.trouble)}: {_failed(each.lesson, each.also, each.shared)}; {advice(each)}" for each in found.help
    ]
    rules = [
        f"{_met(rule.trouble)}, reported by `{rule.lesson.command}`: {_bare(rule.lesson.error)}; run `{rule.first}` first"
        for rule in found.rules[:_MOST_RULES]
        if rule.first
    ]
    # An error without what to do about it helps nobody at the start; whoever meets it is told, or can ask.
    return [*told[: _MOST_TROUBLES - len(rules)], *rules]


def _met(trouble: Trouble) -> str:
    return f"Met in {trouble.sessions} sessions" if trouble.sessions > 1 else "Met once"


def _failed(lesson: Lesson, also: str = "", shared: Sequence[Change] = ()) -> str:
    more = f" and `{one_line(also, 100)}`" if also else ""
    return f"`{_told_short(lesson.command, shared)}` failed with `{one_line(lesson.error, 160)}`{more}"


def _told_short(command: str, shared: Sequence[Change]) -> str:
    """A long call by what it begins with and the words that were wrong."""
    if len(command) <= _LONG_CALL or not shared:
        return command
    words = command.split()[:2]
    wrong = [change.old for change in shared if change.old and change.old not in words]
    if any(is_file(word) for word in words[1:]):
        words = words[:1]
    return " ".join([*words, "…", *wrong])


def _bare(error: str) -> str:
    """What a checker reports, without where."""
    return one_line(f"`{_WHERE.sub('', error).strip()}`", 200)


def _returning(made: Blocks) -> list[str]:
    """Places that agents kept running into without working on them, each with the shortest finding that tells why."""
    told: dict[str, tuple[set[str], list[str]]] = {}
    worked: set[str] = set()
    for each, extract in made.extracts:
        for line in (line for task in extract.tasks for line in task.knowledge):
            if line.text.startswith("the changes for this are in "):
                folders = (path.split("/") for path in _QUOTED.findall(line.text))
                worked |= {"/".join(parts[:depth]) for parts in folders for depth in (1, 2, 3, 4)}
            elif line.text.startswith(_FINDING):
                named = [place.strip("/").split("/") for place in _PLACE.findall(line.text)]
                for place in {"/".join(parts[:depth]) for parts in named for depth in range(2, len(parts) + 1)}:
                    known = told.setdefault(place, (set(), []))
                    known[0].add(each.thread.id)
                    known[1].append(line.text.removeprefix(_FINDING))
    found = [
        (len(threads), place, min(lines, key=len)) for place, (threads, lines) in told.items() if place not in worked
    ]
    often = sorted((each for each in found if each[0] >= _AGAIN), key=lambda each: (-each[0], each[1]))
    return [f"In {times} sessions, about `{place}`: {one_line(line, 240)}" for times, place, line in often[:3]]


def _topic(group: Group, wrapped: frozenset[str], *, is_recent: bool, known: str = "") -> Topic:
    named = [task for task in group.tasks if task.title not in wrapped]
    names = "; ".join(one_line(task.title, 70) for task in named[:_NAMES]) or "tasks without a name of their own"
    more = f" and {len(group.tasks) - _NAMES} more" if named and len(group.tasks) > _NAMES else ""
    words = [word for task in group.tasks[: 2 * _NAMES] for word in task.keywords[:4]]
    depth = [
        name
        for name, lines in (
            ("preferences", group.preferences),
            ("commands and findings", group.knowledge),
            ("failures with fixes", group.failures),
        )
        if lines
    ]
    about = f"{names}{more}; search it first for work on {group.name.partition(': ')[2] or group.name}; has {', '.join(depth) or 'tasks only'}; cwd={group.cwd}"
    return Topic(
        label=group.name.replace(":", " -"),
        keywords=keywords(words, 10 if is_recent else 6) or ("untitled",),
        description=one_line(about, 600 if is_recent else 300),
        learnings=_learnings(group, known) if is_recent else "",
    )


def _learnings(group: Group, known: str) -> str:
    """The newest takeaways of a block that are no preferences."""
    told = [line.text for line in group.knowledge if line.text.startswith("decided by the user: ")][:1]
    told += [line.text for line in group.knowledge if line.text.startswith("agent's finding: ")][: 2 - len(told)]
    fixed = [line.text for line in group.failures if " passed" in line.text and line.text not in known]
    told += fixed[: 3 - len(told)]
    return "; ".join(one_line(text, 220) for text in told) or "nothing beyond what its tasks say"
