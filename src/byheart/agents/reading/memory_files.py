"""What agents remembered themselves, taken apart: each format's entries as short texts with where they come from."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from byheart.domain.journal import LEARNED, NOTE, USER_PREFERENCE
from byheart.domain.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

# Longer entries are split where a paragraph or a point of a list ends.
_LONGEST = 560
_FIELD = re.compile(r"^(?P<indent>\s*)(?P<name>[A-Za-z_]+):\s*(?P<value>.*?)\s*$")
_BULLET = re.compile(r"^\s*(?:[-*+]|\d+[.)])\s+")
_NOTE = re.compile(r"\s*<!--.*?-->\s*", re.DOTALL)
_CONTEXT = re.compile(r"\s*_\(context: (.*?)\)_\s*$")
_LINK = re.compile(r"\[\[([^\]]+)\]\]|\[([^\]]+)\]\([^)]+\)")
_CATEGORIES = {"user": USER_PREFERENCE, "feedback": USER_PREFERENCE, "project": NOTE, "reference": NOTE}


@dataclass(frozen=True, slots=True, kw_only=True)
class Native:
    """One entry: what it says, what kind it is, and where in its file it stands. `at` and `session` where the file says."""

    text: str
    category: str = NOTE
    name: str = ""
    at: str = ""
    session: str = ""


def topic(text: str, name: str) -> Iterator[Native]:
    """A file of Claude Code's or Qwen's: front matter of either form, then what it says."""
    front, body = _front(text)
    category = _CATEGORIES.get(front.get("type", ""), NOTE)
    title = front.get("description") or front.get("name") or name
    for number, part in enumerate(_parts(body)):
        said = part if number or _starts_so(part, title) else f"{title}: {part}"
        yield Native(text=said, category=category, name=f"{name}#{number}", at=front.get("modified", ""), session=front.get("originSessionId", ""))  # fmt: skip


def _starts_so(part: str, title: str) -> bool:
    return part.casefold().startswith(title.casefold()[:40])


def _front(text: str) -> tuple[dict[str, str], str]:
    """The fields of a front matter, of whichever depth, and what follows it."""
    lines = text.replace("\r\n", "\n").lstrip("\ufeff").split("\n")
    if not lines or lines[0].strip() != "---":
        return {}, text
    found: dict[str, str] = {}
    for number, line in enumerate(lines[1:], 1):
        if line.strip() == "---":
            return found, "\n".join(lines[number + 1 :])
        field = _FIELD.match(line)
        if field and field["value"]:
            found[field["name"]] = field["value"].strip("\"'")
    return {}, text


def _parts(text: str) -> Iterator[str]:
    """A text in pieces of a readable size: paragraphs, and points of lists where a paragraph is long."""
    for paragraph in re.split(r"\n\s*\n", _NOTE.sub(" ", text)):
        lines = [line for line in paragraph.split("\n") if line.strip() and not line.lstrip().startswith("#")]
        whole = " ".join(_plain(line) for line in lines)
        if len(whole) <= _LONGEST:
            if whole:
                yield whole
            continue
        held = ""
        for line in lines:
            plain = _plain(line)
            if held and len(held) + len(plain) + 1 > _LONGEST:
                yield from _cut(held)
                held = ""
            held = f"{held} {plain}".strip()
        yield from _cut(held)


def _cut(text: str) -> Iterator[str]:
    while len(text) > _LONGEST:
        ends = (text.rfind(". ", 0, _LONGEST) + 1, text.rfind(" ", 0, _LONGEST))
        at = next((end for end in ends if end > _LONGEST // 2), _LONGEST)
        yield text[:at].strip()
        text = text[at:].strip()
    if text:
        yield text


def _plain(line: str) -> str:
    bare = _LINK.sub(lambda found: found[1] or found[2], _BULLET.sub("", line))
    return " ".join(bare.replace("**", "").split())


def bullets(text: str, name: str, category: str = NOTE, heading: str = "") -> Iterator[Native]:
    """The points of a Markdown file's lists; with a heading, only those below it."""
    inside = not heading
    for number, line in enumerate(_NOTE.sub(" ", text.replace("\r\n", "\n")).split("\n"), 1):
        if line.startswith("#"):
            inside = not heading or line.strip() == heading
        elif inside and _BULLET.match(line):
            context = _CONTEXT.search(line)
            plain = _plain(_CONTEXT.sub("", line))
            if len(plain) > 2:
                said = f"{plain} ({context[1]})" if context else plain
                for part, piece in enumerate(_cut(said)):
                    yield Native(text=piece, category=category, name=f"{name}#{number}.{part}")


def unlinked(text: str, name: str) -> Iterator[Native]:
    """Claude Code's own index: the points that say something themselves, rather than name a file that does."""
    plain = re.sub(r"^\s*[-*+]\s+\[[^\]]+\]\([^)]+\.md\).*$", "", text, flags=re.MULTILINE)
    yield from bullets(plain, name, USER_PREFERENCE)


def lessons(text: str, name: str) -> Iterator[Native]:
    """oh-my-pi's learned.md."""
    yield from bullets(text, name, LEARNED)


def sections(text: str, name: str) -> Iterator[Native]:
    """Hermes' files: entries between lines with a paragraph sign."""
    category = USER_PREFERENCE if name.endswith("USER.md") else NOTE
    for number, entry in enumerate(re.split(r"\n§\n", text.replace("\r\n", "\n").strip())):
        for part, piece in enumerate(_cut(" ".join(_plain(line) for line in entry.split("\n") if line.strip()))):
            yield Native(text=piece, category=category, name=f"{name}#{number}.{part}")


def tagged(text: str, name: str) -> Iterator[Native]:
    """Goose's files: a line of tags, what is remembered, an empty line."""
    for number, entry in enumerate(re.split(r"\n\s*\n", text.replace("\r\n", "\n").strip())):
        lines = entry.split("\n")
        if lines and lines[0].startswith("#"):
            lines = lines[1:]
        for part, piece in enumerate(_cut(" ".join(_plain(line) for line in lines if line.strip()))):
            yield Native(text=piece, name=f"{name}#{number}.{part}")


def prose(text: str, name: str) -> Iterator[Native]:
    """OpenClaw's files and others': paragraphs and points of lists."""
    category = USER_PREFERENCE if name.endswith("USER.md") else NOTE
    for number, part in enumerate(_parts(text)):
        yield Native(text=part, category=category, name=f"{name}#{number}")


_GENERAL = ("## User preferences", "## General Tips")
_SECTION = {
    "## User preferences": USER_PREFERENCE,
    "## Reusable knowledge": LEARNED,
    "## Failures and how to do differently": LEARNED,
}
_APPLIES = re.compile(r"^applies_to:\s*cwd=(?P<cwd>[^;]+?)(?:;|\s*$)")


def general(text: str, name: str, handbook: str) -> Iterator[Native]:
    """Of a memory_summary.md of Codex's what holds for all projects: what its handbook has learnt in more than one folder. All else
    is one project's, and comes with that."""
    folders: dict[str, set[str]] = {}
    cwd = ""
    for line in handbook.replace("\r\n", "\n").split("\n"):
        applies = _APPLIES.match(line)
        if line.startswith("# "):
            cwd = ""
        elif applies:
            cwd = applies["cwd"].strip()
        elif cwd and _BULLET.match(line):
            folders.setdefault(_said(_plain(line)), set()).add(cwd)
    for heading, category in zip(_GENERAL, (USER_PREFERENCE, LEARNED), strict=True):
        for each in bullets(text, name, category, heading):
            if len(folders.get(_said(each.text), ())) > 1:
                yield each


def _said(text: str) -> str:
    return " ".join(re.sub(r"\s*(?:\[Task \d+\])+|\s*\([^()]*#\d+[^()]*\)", "", text).casefold().split()).rstrip(".")


def blocks(text: str, name: str, is_here: Callable[[str], bool]) -> Iterator[Native]:
    """The blocks of a MEMORY.md of Codex's that are about this project's folder. `is_here` tells by a path."""
    here, category = False, ""
    for number, line in enumerate(text.replace("\r\n", "\n").split("\n"), 1):
        applies = _APPLIES.match(line)
        if line.startswith("# "):
            here, category = False, ""
        elif applies:
            here = is_here(applies["cwd"].strip())
        elif line.startswith("## "):
            category = _SECTION.get(line.strip(), "")
        elif here and category and _BULLET.match(line):
            for part, piece in enumerate(_cut(_plain(line))):
                yield Native(text=piece, category=category, name=f"{name}#{number}.{part}")
