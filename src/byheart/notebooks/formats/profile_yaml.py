"""memories.md: one fenced YAML block of preferences and lessons, with any prose around it."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Sequence
from datetime import date

from byheart.domain.documents import (
    SEVERAL_BLOCKS,
    Add,
    Change,
    Deletion,
    Document,
    Drop,
    Problem,
    Replace,
    Setting,
    Settings,
    Splice,
)
from byheart.domain.records import Confidence, Kind, Placed, Record, Value, spoken
from byheart.domain.values import dataclass, replace
from byheart.text import lines, yamledit
from byheart.text.deferred import deferred
from byheart.text.yamledit import Bare, BrokenYaml, Node, flag_of, tree, value_of

NAME = "yaml-block"
LESSONS = "lessons."
NOTES_HEADING = "## Non-authoritative notes"
_BLANK = """```yaml
saved_memory:
  version: 1
  updated: 1970-01-01
  settings:
    enabled: true
    announce_writes: true
  items: []
deletions: []
```
"""
_OFF = deferred(r"^\s*enabled:\s*(?:false|off|no)\b", re.MULTILINE | re.IGNORECASE)
_MEMORY = deferred(r"^[ \t]*saved_memory:", re.MULTILINE)
_NAMED = deferred(r"\w+:")
_SET_ASIDE = deferred(r"^\d+ entr(?:y|ies) could not be read and (?:is|are) told no more\.", re.MULTILINE)
_FIELDS = ("key", "value", "added", "source", "confidence", "tags")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Layout:
    """Where the block stands, and its tree with offsets counted in the whole text."""

    body: str
    offset: int
    newline: str
    top: Node
    memory: Node


class YamlBlock:
    """The dialect of memories.md."""

    name = NAME
    keeps = frozenset({"text", "kind", "key", "value", "confidence", "tags", "source", "added"})

    def blank(self) -> str:
        return _BLANK

    def key_of(self, record: Record) -> str | None:
        return record.key

    def parse(self, text: str) -> Document:
        """All items of the first block that holds a saved_memory; what cannot be read becomes a problem."""
        found = lines.yaml_fences(text)
        if not found:
            missing = Problem(line=1, rule="no-block", message="there is no fenced yaml block")
            return Document(text=text, problems=(missing,), intact=False)
        problems: list[Problem] = []
        for position, fence in enumerate(found):
            body = text[fence.start : fence.end]
            try:
                top = tree(body)
            except BrokenYaml as broken:
                if (merging := _unfinished_merge(body)) >= 0:
                    line = fence.line + body.count("\n", 0, merging) + 1
                    problems.append(
                        Problem(line=line, rule="unfinished-merge", message="git has not finished a merge here")
                    )
                    continue
                rule = "unsupported-yaml" if broken.refused else "broken-yaml"
                # A parser that ran out of text points behind the block; its last line is where to look.
                line = fence.line + max(1, min(broken.line, body.count("\n")))
                problems.append(Problem(line=line, rule=rule, message=broken.message))
                continue
            memory = top.get("saved_memory") if top else None
            if top is None or memory is None or memory.pairs is None:
                continue
            layout = _Layout(body=body, offset=fence.start, newline=lines.break_style(text), top=top, memory=memory)
            others = [each for index, each in enumerate(found) if index != position]
            problems += [
                Problem(line=each.line, rule=SEVERAL_BLOCKS, message="another yaml block; only one is read")
                for each in others
            ]
            if aside := _SET_ASIDE.search(text, fence.end):
                line = text.count("\n", 0, aside.start()) + 1
                problems.append(Problem(line=line, rule="set-aside", message=aside[0]))
            if not fence.closed:
                problems.append(Problem(line=fence.line, rule="unclosed-block", message="the block is never closed"))
            return _document(text, fence.line, layout, problems)
        if not problems:
            problems.append(Problem(line=found[0].line, rule="no-memory", message="no block holds a saved_memory map"))
        # A block that cannot be read may still say that memory is off, and that is heeded.
        settings = Settings(enabled=not _OFF.search(text))
        return Document(text=text, problems=tuple(problems), intact=False, settings=settings)

    def reparse(self, before: Document, text: str, first: int) -> Document:
        """The same as parsing `text`; a block is one piece, so nothing is saved here."""
        del before, first
        return self.parse(text)

    def plan(self, document: Document, changes: Sequence[Change], today: date) -> list[Splice]:
        """The splices for these changes; `updated` is set whenever there is any."""
        layout = document.layout
        assert isinstance(layout, _Layout)
        if not changes:
            return []
        body, newline = layout.body, layout.newline
        splices: list[Splice] = []
        adds = [_fields(change.record) for change in changes if isinstance(change, Add)]
        if adds:
            splices += yamledit.append_entries(body, layout.memory, "items", adds, newline)
        gone = [_item_at(layout, change.old) for change in changes if isinstance(change, Drop)]
        splices += yamledit.drop_entries(body, layout.memory, "items", gone)
        for change in changes:
            if isinstance(change, Replace):
                splices += _replaced(layout, change)
            elif isinstance(change, Setting):
                splices += _switched(layout, change)
        splices += _dated(layout, today)
        # Last, since a new list at the top level has to follow what is added inside saved_memory at the same place.
        splices += _buried(layout, changes, today)
        return [Splice(each.start + layout.offset, each.end + layout.offset, each.text) for each in splices]

    def _with_one_block(self, document: Document) -> str:
        """The text with every further yaml block below the notes that nothing reads, as it was."""
        layout, text = document.layout, document.text
        assert isinstance(layout, _Layout)
        newline, moved = layout.newline, []
        for fence in reversed(lines.yaml_fences(text)):
            if fence.start == layout.offset:
                continue
            start = text.rfind("\n", 0, max(0, fence.start - 1)) + 1
            end = lines.after_break(text, lines.line_end(text, fence.end)) if fence.closed else len(text)
            moved.append(text[start:end])
            text = text[:start] + text[end:]
        old = "".join(each if each.endswith(("\n", "\r")) else each + newline for each in reversed(moved))
        marker = lines.safe_marker(old)
        tail = "" if text.endswith(("\n", "\r")) else newline
        heading = "" if NOTES_HEADING in text else f"{newline}{NOTES_HEADING}{newline}"
        return f"{text}{tail}{heading}{newline}{marker}text{newline}{old}{marker}{newline}"

    def recovered(self, text: str) -> str:
        """A new block with the entries that can be read, and everything that was in the file below it as notes that nothing
        reads. How many entries only stand there now is said there, and is a problem of the file until somebody takes it out. Of a
        file with a sound block, only what other yaml blocks it has goes there."""
        known = self.parse(text)
        if known.intact:
            return self._with_one_block(known) if known.has(SEVERAL_BLOCKS) else text
        newline = lines.break_style(text)
        bom = lines.BOM if text.startswith(lines.BOM) else ""
        old = text.removeprefix(lines.BOM)
        template = _BLANK
        if _OFF.search(old):
            # Whoever switched memory off and then broke the block still wants it off.
            template = template.replace("enabled: true", "enabled: false")
        block, lost = _salvaged(template, old.replace("\r\n", "\n").replace("\r", "\n"))
        block = bom + block.replace("\n", newline)
        if not old.strip():
            return block
        marker = lines.safe_marker(old)
        tail = "" if old.endswith(("\n", "\r")) else newline
        heading = f"{newline}{NOTES_HEADING}{newline}{newline}"
        aside = f"{_entries(lost)} could not be read and {'is' if lost == 1 else 'are'} told no more.{newline}{newline}"
        # A fence keeps every old line as it was, and keeps an old yaml block from counting as a second one.
        return f"{block}{heading}{aside if lost else ''}{marker}text{newline}{old}{tail}{marker}{newline}"


def _unfinished_merge(body: str) -> int:
    """Where git's marks of a merge begin, in their order; -1 where they are not all there."""
    text = f"\n{body}"
    first = text.find("\n<<<<<<< ")
    middle = text.find("\n=======", first) if first >= 0 else -1
    return first if middle >= 0 and text.find("\n>>>>>>> ", middle) >= 0 else -1


def _entries(count: int) -> str:
    return "1 entry" if count == 1 else f"{count} entries"


def _salvaged(template: str, old: str) -> tuple[str, int]:
    """The template with the entries of a broken block that can be read by themselves, and how many cannot."""
    block, lost = template, 0
    # What an earlier recovery set aside may have been forgotten since.
    current = old.partition(f"\n{NOTES_HEADING}")[0]
    if not _MEMORY.search(current):
        return template, 0
    for section, indent in (("items", "    "), ("deletions", "  ")):
        kept = []
        for entry in _pieces(current, section):
            whole = textwrap.indent(textwrap.dedent(entry), indent)
            if _is_sound(whole):
                kept.append(whole)
            else:
                lost += 1
        if kept:
            margin = indent[2:]
            block = block.replace(f"\n{margin}{section}: []", f"\n{margin}{section}:\n" + "\n".join(kept), 1)
    if YamlBlock().parse(block).intact:
        return block, lost
    return template, lost + sum(1 for section in ("items", "deletions") for _ in _pieces(current, section))


def _pieces(text: str, section: str) -> Iterator[str]:
    """The entries of a list as they are written, whatever else of the block is wrong."""
    head = re.search(rf"^[ \t]*{section}:[ \t]*$", text, re.MULTILINE)
    entry: list[str] = []
    margin: int | None = None
    for line in text[head.end() + 1 :].split("\n") if head else ():
        bare = line.strip()
        indent = len(line) - len(line.lstrip())
        if margin is None and bare.startswith("- "):
            margin = indent
        if margin is None:
            continue
        if bare.startswith("```") or (bare and indent < margin) or (indent == margin and _NAMED.match(bare)):
            break
        if indent == margin and bare.startswith("- "):
            if entry:
                yield "\n".join(entry)
            entry = []
        if bare:
            entry.append(line)
    if entry:
        yield "\n".join(entry)


def _is_sound(entry: str) -> bool:
    """Whether an entry can be read by itself."""
    try:
        top = tree(f"saved_memory:\n  items:\n{entry}\n")
    except BrokenYaml:
        return False
    memory = top.get("saved_memory") if top else None
    items = memory.get("items") if memory else None
    return bool(items and items.parts and len(items.parts) == 1 and items.parts[0].pairs is not None)


def _document(text: str, first_line: int, layout: _Layout, problems: list[Problem]) -> Document:
    placed = []
    items = layout.memory.get("items")
    intact = True
    if items is not None and items.parts is None and not items.is_null:
        problems.append(Problem(line=first_line + items.line + 1, rule="bad-items", message="items is not a list"))
        intact = False
    for node in (items.parts or []) if items else []:
        line = first_line + node.line + 1
        found = _record(node, line, problems)
        if found is not None:
            start, end = node.start + layout.offset, node.end + layout.offset
            placed.append(Placed(record=found, line=line, start=start, end=end))
    settings = _settings(layout.memory, first_line, problems)
    seen: dict[str, int] = {}
    for each in placed:
        key = each.record.key
        if key is not None and key in seen:
            message = f"the key {key!r} stands at line {seen[key]} already; the later entry counts"
            problems.append(Problem(line=each.line, rule="duplicate-key", message=message))
        if key is not None:
            seen[key] = each.line
    return Document(
        text=text,
        placed=tuple(placed),
        problems=tuple(problems + list(_duplicates(layout.top, first_line))),
        settings=settings,
        deletions=tuple(_deletions(layout)),
        intact=intact,
        layout=layout,
    )


def _duplicates(node: Node, first_line: int) -> Iterator[Problem]:
    names: set[str] = set()
    for key, value in node.pairs or ():
        name = key.scalar or ""
        if name in names:
            message = f"{name!r} is given twice in one map; the last one counts"
            yield Problem(line=first_line + key.line + 1, rule="duplicate-field", message=message)
        names.add(name)
        yield from _duplicates(value, first_line)
    for part in node.parts or ():
        yield from _duplicates(part, first_line)


def _settings(memory: Node, first_line: int, problems: list[Problem]) -> Settings:
    node = memory.get("settings")
    if node is None or node.pairs is None:
        return Settings()
    flags = {}
    for name in ("enabled", "announce_writes"):
        flag = flag_of(node.get(name), default=True)
        if flag is None:
            # A switch that says something unreadable is treated as off: silence is the safe reading.
            message = f"settings.{name} is neither true nor false; taken as false"
            problems.append(Problem(line=first_line + node.line + 1, rule="bad-setting", message=message))
        flags[name] = bool(flag)
    return Settings(enabled=flags["enabled"], announce_writes=flags["announce_writes"])


def _deletions(layout: _Layout) -> Iterator[Deletion]:
    for owner in (layout.top, layout.memory):
        node = owner.get("deletions")
        for part in (node.parts or []) if node else []:
            if part.pairs is None:
                continue
            key, value, removed, reason = (part.get(name) for name in ("key", "value", "removed", "reason"))
            yield Deletion(
                key=key.scalar if key else None,
                value=spoken(value_of(value)) if value else None,
                removed=_date(removed),
                reason=reason.scalar if reason else None,
            )


def _record(node: Node, line: int, problems: list[Problem]) -> Record | None:
    if node.pairs is None:
        problems.append(Problem(line=line, rule="bad-item", message="an item is not a map of key and value"))
        return None
    key, value = node.get("key"), node.get("value")
    name = key.scalar if key is not None and key.scalar else None
    if name is None:
        problems.append(Problem(line=line, rule="no-key", message="an item has no key"))
    if value is None:
        problems.append(Problem(line=line, rule="no-value", message="an item has no value"))
    content = value_of(value) if value is not None else None
    said = node.get("confidence")
    confidence = None
    if said is not None and not said.is_null:
        try:
            confidence = Confidence((said.scalar or "").casefold())
        except ValueError:
            message = "confidence is none of low, medium, high"
            problems.append(Problem(line=line, rule="bad-confidence", message=message))
    tags, source = node.get("tags"), node.get("source")
    return Record(
        text=spoken(content),
        kind=Kind.LESSON if name is not None and name.startswith(LESSONS) else Kind.PREFERENCE,
        key=name,
        value=content,
        confidence=confidence,
        tags=_tags(tags),
        source=source.scalar if source is not None and not source.is_null else None,
        added=_date(node.get("added")),
    )


def _tags(node: Node | None) -> tuple[str, ...]:
    """A list of tags, or a single one written without brackets."""
    if node is None or node.is_null:
        return ()
    return (node.scalar,) if node.scalar else tuple(part.scalar for part in node.parts or [] if part.scalar)


def _date(node: Node | None) -> date | None:
    try:
        return date.fromisoformat((node.scalar or "")[:10]) if node is not None else None
    except ValueError:
        return None


def _fields(record: Record) -> dict[str, Value]:
    """A record as the map that the file holds; what is absent is left out."""
    fields: dict[str, Value] = {
        "key": record.key,
        "value": record.value if record.value is not None else record.text,
        "added": Bare(record.added.isoformat()) if record.added else None,
        "source": record.source,
        "confidence": record.confidence.value if record.confidence else None,
        "tags": list(record.tags) or None,
    }
    return {name: value for name, value in fields.items() if value is not None}


def _dated(layout: _Layout, today: date) -> list[Splice]:
    """`updated` set to the day. Where it is missing it becomes the first field: at the end, other changes may add lines
    to the list that stands there, and they belong to that list."""
    memory, day = layout.memory, Bare(today.isoformat())
    if memory.get("updated") is not None or memory.flow or not memory.pairs:
        return yamledit.set_field(layout.body, memory, "updated", day, layout.newline)
    first = memory.pairs[0][0]
    return [Splice(first.start, first.start, f"updated: {day}{layout.newline}{' ' * memory.column}")]


def _buried(layout: _Layout, changes: Sequence[Change], today: date) -> list[Splice]:
    """The tombstones of dropped items, where the file keeps them: at the top level, or where somebody misplaced them."""
    tombstones = [
        _tombstone(change.old.record if change.named else replace(change.old.record, key=None), change.reason, today)
        for change in changes
        if isinstance(change, Drop) and change.reason is not None
    ]
    if not tombstones:
        return []
    owner = layout.top
    if owner.get("deletions") is None and layout.memory.get("deletions") is not None:
        owner = layout.memory
    return yamledit.append_entries(layout.body, owner, "deletions", tombstones, layout.newline)


def _tombstone(record: Record, reason: str, today: date) -> dict[str, Value]:
    # The value is left out on purpose: a tombstone that repeats the text would not have forgotten it.
    fields: dict[str, Value] = {"key": record.key} if record.key else {}
    return {**fields, "removed": Bare(today.isoformat()), "reason": reason}


def _item_at(layout: _Layout, old: Placed) -> Node:
    items = layout.memory.get("items")
    start = old.start - layout.offset
    return next(node for node in (items.parts or [] if items else []) if node.start == start)


def _replaced(layout: _Layout, change: Replace) -> list[Splice]:
    node = _item_at(layout, change.old)
    before, after = _fields(change.old.record), _fields(change.new)
    splices: list[Splice] = []
    fresh: list[Splice] = []
    for name in _FIELDS:
        if before.get(name) == after.get(name):
            continue
        if name not in after:
            splices += yamledit.drop_field(layout.body, node, name)
        elif name == "tags" and _only_fewer(node, change.new.tags):
            gone = [part for part in (node.get("tags") or node).parts or [] if part.scalar not in change.new.tags]
            splices += yamledit.drop_entries(layout.body, node, "tags", gone)
        else:
            made = yamledit.set_field(layout.body, node, name, after[name], layout.newline)
            (splices if node.get(name) is not None else fresh).extend(made)
    return splices + fresh


def _only_fewer(node: Node, tags: tuple[str, ...]) -> bool:
    """Whether tags that stand a line each only lose some: then the others keep their comments."""
    old = node.get("tags")
    if old is None or old.flow or not old.parts or not tags:
        return False
    return tuple(part.scalar for part in old.parts if part.scalar in tags) == tags


def _switched(layout: _Layout, change: Setting) -> list[Splice]:
    owner = layout.memory.get("settings")
    if owner is None or owner.pairs is None:
        field: Value = {change.name: change.on}
        return yamledit.set_field(layout.body, layout.memory, "settings", field, layout.newline)
    return yamledit.set_field(layout.body, owner, change.name, change.on, layout.newline)


__all__ = ["LESSONS", "NAME", "NOTES_HEADING", "YamlBlock"]
