"""What a person changed in a file that byheart writes, carried over into the next one it writes.

The last text that was written is known, so whatever differs from it is a person's. Their lines stay, the lines they took out
stay out, and headings they reworded keep that wording. A line is known again by what it says: the tasks and turns behind
it, and counts in it, may change. Lines whose place is gone are handed back, to be kept elsewhere.
"""

from __future__ import annotations

import difflib
import re
from typing import TYPE_CHECKING

from byheart.domain.values import dataclass, field
from byheart.handbook.memory import Part, core_of, outlined

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_TASK = re.compile(r"^Task \d+: *(.*?)(?:, (?:success|partial|fail|uncertain))?$")
_FIELD = re.compile(r"^(scope|applies_to):")
_DETAIL = re.compile(r"^\s+- (desc|learnings):")
_FILE = re.compile(r"^- <?(rollout_summaries/\S+?\.md)")
# Counts that grow while a line stays the same one.
_COUNTS = re.compile(
    r"\bworked \d+ of \d+(?: in \d+ sessions)?(?:; last: [^)]*)?|\b\d+(?= sessions?\b)|(?<=\bfrom )\d{4}-\d\d-\d\d to \d{4}-\d\d-\d\d|(?<=\band )\d+(?= more\b)|\(\d+\)"
)
_SAME = 0.6
Path = tuple[str, ...]


@dataclass(slots=True)
class MergedText:
    """A new text with a person's changes in it; how many lines of theirs it has, and those that have no place in it."""

    text: str
    kept: list[str] = field(default_factory=list)
    homeless: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)


@dataclass(slots=True)
class _Section:
    """A heading with its lines, and where it stands."""

    path: Path
    heading: str
    lines: list[str]


def merged(base: str, theirs: str, fresh: str) -> MergedText:
    """`fresh` with what a person changed between `base`, which was written last, and `theirs`, which is there now."""
    if theirs == base:
        return MergedText(fresh)
    before, now, new = (_sections(text) for text in (base, theirs, fresh))
    renamed = _renamed(before, now)
    result = MergedText("")
    sections = {section.path: section for section in new}
    order = [section.path for section in new]
    old = {section.path: section for section in before}
    fresh_paths = set(sections)
    _headings(old, now, renamed, sections, order, result)
    for section in now:
        path = renamed.get(section.path, section.path)
        if path in old:
            _lines(old[path], section, sections.get(path), result)
        elif path in fresh_paths:
            # They wrote a section that was not there, and now it is there anyway: both belong in it.
            _lines(_Section(path, section.heading, []), section, sections[path], result)
    for path in list(old):
        if path not in {renamed.get(section.path, section.path) for section in now}:
            _took_out(old[path], sections, order, result)
    _reworded(renamed, now, sections, result)
    result.text = _text([sections[path] for path in order if path in sections])
    result.homeless += _left_behind(base, theirs, result)
    return result


def _left_behind(base: str, theirs: str, result: MergedText) -> list[str]:
    """Lines of theirs that are nowhere, however that came about: edits can be combined in more ways than there are rules."""
    there = {_bare(line) for line in (*base.split("\n"), *result.text.split("\n"), *result.homeless)}
    return [line.lstrip("# ") for line in theirs.split("\n") if line.strip() and _bare(line) not in there]


def _bare(line: str) -> str:
    return re.sub(r"^Task \d+: *", "", line.strip().lstrip("# "))


def _sections(text: str) -> list[_Section]:
    found: list[_Section] = []

    def walk(part: Part, above: Path) -> None:
        path = (*above, _name(part.title)) if part.level else ()
        # Two of one name are told apart by their order.
        times = sum(_plain_path(section.path) == path for section in found if len(section.path) == len(path))
        path = (*path[:-1], f"{path[-1]}\x00{times}") if times and path else path
        heading = f"{'#' * part.level} {part.title}" if part.level else ""
        found.append(_Section(path, heading, [line for _, line in part.lines]))
        for below in part.parts:
            walk(below, path)

    walk(outlined(text), ())
    return found


def _plain_path(path: Path) -> Path:
    """A path without what tells its last heading from another of that name."""
    return (*path[:-1], path[-1].partition("\x00")[0]) if path else path


def _name(title: str) -> str:
    """A heading as it is known again: a task's number and outcome may change."""
    task = _TASK.match(title)
    return f"Task: {task[1]}" if task else title


def _renamed(before: Sequence[_Section], now: Sequence[_Section]) -> dict[Path, Path]:
    """Headings that a person reworded: new path → old path, where what stands below is mostly the same."""
    old, new = {section.path for section in before}, {section.path for section in now}
    found: dict[Path, Path] = {}
    for section in now:
        if section.path in old or not section.path:
            continue
        above = found.get(section.path[:-1], section.path[:-1])
        if (*above, section.path[-1]) in old:
            found[section.path] = (*above, section.path[-1])
            continue
        mine = _below(section.path, now)
        for other in before:
            if other.path in new or other.path in found.values() or other.path[:-1] != above or not other.path:
                continue
            theirs = _below(other.path, before)
            if mine and theirs and len(mine & theirs) >= _SAME * max(len(mine), len(theirs)):
                found[section.path] = other.path
                break
    return found


def _below(path: Path, sections: Sequence[_Section]) -> set[str]:
    return {
        line.strip()
        for section in sections
        if section.path[: len(path)] == path
        for line in section.lines
        if line.strip()
    }


def _headings(
    old: dict[Path, _Section], now: Sequence[_Section], renamed: dict[Path, Path],
    sections: dict[Path, _Section], order: list[Path], result: MergedText,
) -> None:  # fmt: skip
    """Headings that a person added, with everything below them."""
    previous: Path = ()
    for section in now:
        path = renamed.get(section.path, section.path)
        if path in old or path in sections:
            previous = path if path in sections else previous
            continue
        above = renamed.get(path[:-1], path[:-1])
        lines = [line for line in section.lines if line.strip()]
        if len(path) > 1 and above not in sections:
            # What it stood below is gone.
            result.homeless += [section.heading.lstrip("# "), *lines]
            continue
        sections[path] = _Section(path, section.heading, list(section.lines))
        order.insert(_end_of(previous, path, order), path)
        result.kept += [section.heading, *lines]
        previous = path


def _end_of(previous: Path, path: Path, order: Sequence[Path]) -> int:
    """Where to insert a heading that followed `previous`: after everything below that."""
    if previous not in order:
        return len(order)
    anchor = previous[: len(path)] if len(previous) >= len(path) else previous
    place = order.index(previous)
    while place + 1 < len(order) and order[place + 1][: len(anchor)] == anchor and anchor:
        place += 1
    return place + 1


def _lines(base: _Section, theirs: _Section, fresh: _Section | None, result: MergedText) -> None:
    """The lines of one section: what a person added, changed or took out."""
    mine, other = [_told(line) for line in base.lines], [_told(line) for line in theirs.lines]
    matcher = difflib.SequenceMatcher(None, mine, other, autojunk=False)
    for kind, start, end, first, last in matcher.get_opcodes():
        if kind == "equal":
            continue
        gone = [line for line in base.lines[start:end] if line.strip()]
        new = [line for line in theirs.lines[first:last] if line.strip()]
        if not gone and not new:
            continue
        if fresh is None:
            result.homeless += new
            continue
        place = _without(fresh, gone, result)
        if new:
            anchor = next((line for line in reversed(theirs.lines[:first]) if line.strip()), None)
            _insert(fresh, new, place, anchor)
            result.kept += new


def _told(line: str) -> str:
    return line.rstrip()


def _known(line: str) -> str:
    """What a line is known again by."""
    if found := _FIELD.match(line):
        return found[1]
    if found := _FILE.match(line):
        return found[1]
    if found := _DETAIL.match(line):
        return line.strip()
    return _COUNTS.sub("0", core_of(line)).strip().casefold()


def _without(fresh: _Section, gone: Sequence[str], result: MergedText) -> int | None:
    """Leave these lines out; where the first of them stood."""
    place = None
    for line in gone:
        known = _known(line)
        at = next((number for number, each in enumerate(fresh.lines) if each.strip() and _known(each) == known), None)
        if at is not None:
            del fresh.lines[at]
            place = at if place is None else place
        result.removed.append(line)
    return place


def _insert(fresh: _Section, new: Sequence[str], place: int | None, anchor: str | None) -> None:
    there = {each.strip() for each in fresh.lines}
    lines = [line for line in new if line.strip() not in there]
    if place is None:
        place = _behind(fresh, anchor)
    fresh.lines[place:place] = lines


def _behind(fresh: _Section, anchor: str | None) -> int:
    if anchor is None:
        return next((number for number, line in enumerate(fresh.lines) if line.strip()), len(fresh.lines))
    known = _known(anchor)
    for number, line in enumerate(fresh.lines):
        if line.strip() and _known(line) == known:
            return number + 1
    end = len(fresh.lines)
    while end and not fresh.lines[end - 1].strip():
        end -= 1
    return end


def _took_out(gone: _Section, sections: dict[Path, _Section], order: list[Path], result: MergedText) -> None:
    """A whole section that a person took out: what it held stays out, what is new since then stays."""
    fresh = sections.get(gone.path)
    if fresh is None:
        return
    held = [line for line in gone.lines if line.strip()]
    _without(fresh, held, result)
    result.removed.append(gone.heading)
    below = any(path[: len(gone.path)] == gone.path and path != gone.path and path in sections for path in order)
    if not any(line.strip() for line in fresh.lines) and not below:
        del sections[gone.path]
        order.remove(gone.path)
        above = gone.path[:-1]
        # A heading that was left with nothing below it goes too.
        while above and above in sections and not _has_more(above, sections):
            del sections[above]
            order.remove(above)
            above = above[:-1]


def _has_more(path: Path, sections: dict[Path, _Section]) -> bool:
    return any(line.strip() for line in sections[path].lines) or any(
        other[: len(path)] == path and other != path for other in sections
    )


def _reworded(
    renamed: dict[Path, Path], now: Sequence[_Section], sections: dict[Path, _Section], result: MergedText
) -> None:
    """Headings keep the words that a person gave them; a task keeps its number, which is not theirs to choose."""
    for section in now:
        old = renamed.get(section.path)
        if old is None or old[-1] == section.path[-1]:
            continue
        if old not in sections:
            result.homeless.append(section.heading.lstrip("# "))
            continue
        number = re.match(r"#+ Task \d+:", sections[old].heading)
        theirs = re.sub(r"^#+ Task \d+: *", "", section.heading)
        sections[old].heading = f"{number.group()} {theirs}" if number else section.heading
        result.kept.append(sections[old].heading)


def _text(sections: Sequence[_Section]) -> str:
    return "\n".join(_rendered(sections)).rstrip("\n") + "\n"


def _rendered(sections: Sequence[_Section]) -> Iterator[str]:
    for section in sections:
        if section.heading:
            yield section.heading
        yield from section.lines
