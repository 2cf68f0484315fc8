"""memory:// addresses, and what a session is handed of the handbook."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from byheart.dialects.handbook.summary import without_version
from byheart.domain.errors import BadInput, ByheartError, NothingFound
from byheart.domain.handbook import NOTHING_YET, SUMMARY
from byheart.domain.values import dataclass
from byheart.flows.learning.shelf import Shelf, paths
from byheart.prompts import filled, template
from byheart.text.tokens import fitting, tokens

if TYPE_CHECKING:
    from collections.abc import Sequence

SCHEME = "memory://"
_ESCAPE = re.compile(r"%([0-9A-Fa-f]{2})")


@dataclass(frozen=True, slots=True, kw_only=True)
class Payload:
    """What a session is handed: the text, its tokens, and how many lines of the summary did not fit."""

    text: str
    tokens: int
    left_out: int


def read(shelf: Shelf, address: str) -> str:
    """What an address names. It is decoded once; nothing outside the handbook is read, whatever it spells."""
    if not address.casefold().startswith(SCHEME):
        raise BadInput(f"{address!r} is no memory address; they begin with {SCHEME}root")
    rest = address[len(SCHEME) :]
    for mark in "?#":
        rest = rest.split(mark, 1)[0]
    host, _, path = rest.partition("/")
    if host.casefold() != "root":
        raise BadInput(f"unknown memory namespace {host!r}; {SCHEME}root is the only one")
    path = _decoded(path)
    names = [name for name in re.split(r"[/\\]", path) if name not in ("", ".")]
    if ".." in names:
        raise BadInput(f"{address!r} goes up a folder (..), which memory addresses cannot")
    if "\x00" in path or any(name.startswith(".") for name in names) or re.match(r"[A-Za-z]:", path):
        raise BadInput(f"{address!r} names no file of memory")
    if path.startswith(("/", "\\")):
        raise BadInput(f"{address!r} is an absolute path, which memory addresses cannot be")
    return _text(shelf, "/".join(names) or SUMMARY, address)


def _decoded(path: str) -> str:
    if "%" not in path:
        return path
    raw = _ESCAPE.sub(lambda found: f"\x00{found[1]}", path).encode("utf-8", "surrogatepass")
    plain = re.sub(rb"\x00([0-9A-Fa-f]{2})", lambda found: bytes([int(found[1], 16)]), raw)
    try:
        return plain.decode("utf-8")
    except UnicodeDecodeError:
        raise BadInput(f"{path!r} is not spelled in UTF-8") from None


def _text(shelf: Shelf, path: str, address: str) -> str:
    files = shelf.desk.files
    try:
        found = files.read(shelf.place(path)).text
    except ByheartError:
        found = None
    if found is not None:
        return found
    known = list(paths(files, shelf.folder))
    below = sorted({each[len(path) + 1 :].split("/")[0] for each in known if each.startswith(f"{path}/")})
    if below:
        return "".join(f"{name}\n" for name in below)
    if not known:
        raise NothingFound(f"there is no memory for {shelf.name} yet; byheart learn makes it")
    raise NothingFound(f"{address}: memory has no such file; {SCHEME}root/MEMORY.md is the whole of it")


def payload(shelf: Shelf, most: int) -> Payload | None:
    """What a session of this project is handed within so many tokens; None where there is nothing to hand over. The beginning
    of the summary matters most, so what does not fit is left off at its end."""
    summary = without_version(shelf.desk.files.read(shelf.place(SUMMARY)).text or "")
    if not summary.strip() or NOTHING_YET in summary:
        return None
    ending = f"(cut to fit; {SCHEME}root has all of it)"
    used = tokens(template("read_path")) + tokens(ending + "\n")
    lines = shelf.desk.scanner.redacted(summary).rstrip("\n").split("\n")
    kept, left = fitting(lines, max(0, most - used))
    shown = "\n".join([*_whole(kept, left), *([ending] if left else [])])
    text = filled("read_path", memory_summary=shown)
    return Payload(text=text, tokens=tokens(text), left_out=left)


def _whole(lines: Sequence[str], left: int) -> list[str]:
    """Lines without headings at their end that have nothing below them any more."""
    kept = list(lines)
    while left and kept and (not kept[-1].strip() or kept[-1].startswith("#")):
        kept.pop()
    return kept
