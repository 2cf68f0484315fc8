"""Bringing two edited copies of a memory file together: by entries, not by lines, and the same whichever copy comes first."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from byheart.domain.values import dataclass
from byheart.text.similarity import normalised

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

_FENCE = re.compile(r"^\s*(```|~~~)")
_YAML = re.compile(r"^\s*(```|~~~)\s*ya?ml\b", re.IGNORECASE)
_FIELD = re.compile(r"^(\s*)([A-Za-z_][\w.-]*):(?:\s|$)")
_ENTRY = re.compile(r"^(\s*)- ")
_KEY = re.compile(r"^\s*(?:- )?\s*key:\s*(.+?)\s*$", re.MULTILINE)
_SAYS = re.compile(r"^\s*(?:- )?\s*(?:value|text|n):\s*(.+?)\s*$", re.MULTILINE)
_LIST = re.compile(r"^(\s*(?:items|deletions))(:)[ \t]*(?:\[[ \t]*\])?[ \t]*(\r?\n|\Z)")
_STAMP = re.compile(r"\d{4}-\d{2}-\d{2}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """A part of a file that is kept or goes as a whole. `name` tells which entry it is, "" for a person's own lines; `says` is what the
    entry means, without what only tells how sure or how often."""

    text: str
    name: str = ""
    says: str = ""
    rank: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Merged:
    """Two copies as one. `beaten` are entries that both copies changed to different things: what was kept, and what was not. `gone` are
    entries of the first or the second copy that the other had deleted."""

    text: str
    beaten: tuple[tuple[Unit, Unit], ...] = ()


def merged(base: str, one: str, other: str) -> Merged:
    """Two texts that were made from a third, as one text: what either added is in it, what either deleted is not, and of an entry that
    both changed the later one counts. The two may change places."""
    return merged_units(units(base), one, other)


def merged_units(before: Sequence[Unit], one: str, other: str) -> Merged:
    """The same, with the third text as its parts."""
    if one == other:
        return Merged(text=one)
    first, second = sorted((one, other))
    left, right = units(first), units(second)
    kept_left, new_left = _edits(before, left)
    kept_right, new_right = _edits(before, right)
    found: list[Unit] = []
    for place in range(len(before) + 1):
        found += _both(new_left.get(place, []), new_right.get(place, []))
        if place < len(before) and place in kept_left and place in kept_right:
            found.append(before[place])
    found = _without_deleted(found, before, left, right)
    once, beaten = _one_of_each(found, left, right)
    return Merged(text=tidied(once), beaten=tuple(beaten))


def tidied(every: Sequence[Unit]) -> str:
    """Parts as a text; a list in YAML that lost its last entry, or got its first one, is spelled so."""
    found = []
    for place, each in enumerate(every):
        text = each.text
        if opened := _LIST.match(text):
            behind = next((one for one in every[place + 1 :] if one.text.strip()), None)
            is_empty = behind is None or not behind.name.startswith(("item ", "deletion "))
            text = f"{opened[1]}:{' []' if is_empty else ''}{opened[3]}"
        found.append(text)
    return "".join(found)


def digests_of(text: str, digest: Callable[[str], str]) -> str:
    """What a text was, part by part, without a word of it: enough to tell later what was added, changed and deleted since."""
    rows = (
        [digest(each.text), digest(each.name) if each.name else "", digest(each.says) if each.says else ""]
        for each in units(text)
    )
    return "".join(json.dumps(row) + "\n" for row in rows)


def remembered(rows: str, digest: Callable[[str], str], *texts: str) -> list[Unit]:
    """The parts that digests stand for, as far as these texts still have them; of the others it is only known that they were there."""
    known = [each for text in texts for each in units(text)]
    by_text = {digest(each.text): each for each in known}
    words = {digest(word): word for each in known for word in (each.name, each.says) if word}
    found = []
    for row in rows.split("\n"):
        try:
            text, name, says = json.loads(row) if row else ("", "", "")
        except (ValueError, TypeError):
            continue
        if text:
            gone = Unit(text=f"\0{text}", name=words.get(name, ""), says=words.get(says, ""))
            found.append(by_text.get(text, gone))
    return found


def units(text: str) -> list[Unit]:
    """A file's parts: each entry of a list in a YAML block, each line elsewhere."""
    found: list[Unit] = []
    lines = text.splitlines(keepends=True)
    at, fence = 0, ""
    while at < len(lines):
        line = lines[at]
        opens = _FENCE.match(line)
        if fence:
            if line.strip() == fence:
                fence = ""
            elif entry := _ENTRY.match(line):
                end = _end_of_entry(lines, at, len(entry[1]))
                found.append(_entry("".join(lines[at:end])))
                at = end
                continue
            elif field := _FIELD.match(line):
                # Of two values nobody knows the order of, the one that switches something off wins: it is asked for, not assumed.
                is_off = bool(re.search(r":\s*false\b", line))
                found.append(Unit(text=line, name=f"field {field[2]}", rank=("1" if is_off else "0", line)))
                at += 1
                continue
        elif opens and _YAML.match(line):
            fence = opens[1]
        elif line.lstrip().startswith(("{", "- {")):
            found.append(_row(line))
            at += 1
            continue
        found.append(Unit(text=line))
        at += 1
    return found


def _end_of_entry(lines: Sequence[str], at: int, indent: int) -> int:
    end = at + 1
    while end < len(lines):
        line = lines[end]
        inner = len(line) - len(line.lstrip())
        if line.strip() and inner <= indent:
            break
        if not line.strip() and not any(
            len(each) - len(each.lstrip()) > indent for each in lines[end + 1 : end + 2] if each.strip()
        ):
            break
        end += 1
    return end


def _entry(text: str) -> Unit:
    key, says = _KEY.search(text), _SAYS.search(text)
    kind = "deletion" if re.search(r"^\s*(?:- )?\s*removed:", text, re.MULTILINE) else "item"
    named = key[1].strip("\"'") if key else normalised(text)
    # A value that goes on below its first line is all of the entry.
    is_short = says is not None and not says[1].startswith(("|", ">", "{", "[", "&", "*")) and says[1] != ""
    return Unit(
        text=text,
        name=f"{kind} {named}",
        says=normalised(says[1]) if says and is_short else normalised(text),
        rank=_rank(text),
    )


def _row(line: str) -> Unit:
    """A record that is one line of JSON; one that cannot be read is a line like any other."""
    try:
        raw = json.loads(line.strip().removeprefix("- "))
    except (ValueError, RecursionError):
        return Unit(text=line)
    if not isinstance(raw, dict):
        return Unit(text=line)
    if isinstance(raw.get("t"), list):
        says = normalised(str(raw.get("n") or " ".join(map(str, raw["t"]))))
        weight = raw.get("w") if isinstance(raw.get("w"), int | float) else 0
        return Unit(text=line, name=f"rule {'|'.join(map(str, raw['t']))}", says=says, rank=(f"{weight:012.3f}", line))
    if raw.get("id"):
        return Unit(text=line, name=f"record {raw['id']}", says=normalised(str(raw.get("text", ""))), rank=_rank(line))
    return Unit(text=line)


def _rank(text: str) -> tuple[str, ...]:
    """The later date wins, then the surer, then whatever comes last in the alphabet: the same on every machine."""
    stamps = _STAMP.findall(text)
    sure = next((level for level in ("high", "medium") if re.search(rf"confidence:\s*{level}", text)), "")
    return (max(stamps, default=""), {"high": "2", "medium": "1"}.get(sure, "0"), text)


def _edits(before: Sequence[Unit], after: Sequence[Unit]) -> tuple[set[int], dict[int, list[Unit]]]:
    """Which parts of a text an edited copy still has, and what it added in front of which."""
    kept: set[int] = set()
    added: dict[int, list[Unit]] = {}
    for tag, low, high, start, end in _steps(before, after):
        if tag == "equal":
            kept.update(range(low, high))
        elif end > start:
            added.setdefault(low, []).extend(after[start:end])
    return kept, added


def _steps(one: Sequence[Unit], other: Sequence[Unit]) -> Iterator[tuple[str, int, int, int, int]]:
    import difflib

    texts = [each.text for each in one], [each.text for each in other]
    yield from difflib.SequenceMatcher(None, *texts, autojunk=False).get_opcodes()


def _both(one: list[Unit], other: list[Unit]) -> list[Unit]:
    """What two copies put in the same place: what both have once, the rest beside each other in an order of its own."""
    if not one or not other:
        return [*one, *other]
    first, second = sorted((one, other), key=lambda run: [each.text for each in run])
    found: list[Unit] = []
    for tag, low, high, start, end in _steps(first, second):
        runs = [first[low:high]] if tag == "equal" else sorted((first[low:high], second[start:end]), key=_text)
        for run in runs:
            found += run
    return found


def _text(run: Sequence[Unit]) -> str:
    return "".join(each.text for each in run)


def _without_deleted(
    found: list[Unit], before: Sequence[Unit], left: Sequence[Unit], right: Sequence[Unit]
) -> list[Unit]:
    """Without entries that one copy deleted while the other only noted that they were said again: forgotten is forgotten. An entry that
    the other copy gave another meaning stays."""
    meant = {each.name: each.says for each in before if each.name}
    names = [{each.name for each in copy} for copy in (left, right)]

    def is_deleted(each: Unit) -> bool:
        known = meant.get(each.name)
        return known is not None and known == each.says and not all(each.name in copy for copy in names)

    return [each for each in found if not (each.name and is_deleted(each))]


def _one_of_each(
    found: Sequence[Unit], left: Sequence[Unit], right: Sequence[Unit]
) -> tuple[list[Unit], list[tuple[Unit, Unit]]]:
    """Each entry once, where neither copy has it twice by itself; and which were beaten by which."""
    counts = [_counted(copy) for copy in (left, right)]
    best: dict[str, Unit] = {}
    beaten: list[tuple[Unit, Unit]] = []
    for each in found:
        if each.name and all(count.get(each.name, 0) <= 1 for count in counts):
            known = best.get(each.name)
            best[each.name] = each if known is None or each.rank > known.rank else known
    once: list[Unit] = []
    seen: set[str] = set()
    for each in found:
        winner = best.get(each.name)
        if winner is None:
            once.append(each)
            continue
        if each.name not in seen:
            seen.add(each.name)
            once.append(winner)
        if each.text != winner.text and each.says and each.says != winner.says:
            beaten.append((winner, each))
    return once, beaten


def _counted(copy: Sequence[Unit]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for each in copy:
        counts[each.name] = counts.get(each.name, 0) + 1
    return counts
