"""memory:// addresses of the handbook."""

from __future__ import annotations

import re

from byheart.domain.errors import BadInput, ByheartError, NothingFound
from byheart.domain.handbook import SUMMARY
from byheart.learning.handbook_files import HandbookFiles, paths

SCHEME = "memory://"
_ESCAPE = re.compile(r"%([0-9A-Fa-f]{2})")


def read(own_handbook: HandbookFiles, address: str) -> str:
    """What an address names. It is decoded once; nothing outside the handbook is read, whatever it spells."""
    if not address.casefold().startswith(SCHEME):
        raise BadInput(f"{address!r} is no memory address; they begin with {SCHEME}root")
    rest = address[len(SCHEME) :]
    for mark in "?#":
        rest = rest.split(mark, 1)[0]
    host, _, path = rest.partition("/")
    if host.casefold() != "root":
        raise BadInput(
            f"unknown memory namespace {host!r}; known are root, profile, rules, journal, experiences and record"
        )
    path = _decoded(path)
    names = [name for name in re.split(r"[/\\]", path) if name not in ("", ".")]
    if ".." in names:
        raise BadInput(f"{address!r} goes up a folder (..), which memory addresses cannot")
    if "\x00" in path or any(name.startswith(".") for name in names) or re.match(r"[A-Za-z]:", path):
        raise BadInput(f"{address!r} names no file of memory")
    if path.startswith(("/", "\\")):
        raise BadInput(f"{address!r} is an absolute path, which memory addresses cannot be")
    return _text(own_handbook, "/".join(names) or SUMMARY, address)


def _decoded(path: str) -> str:
    if "%" not in path:
        return path
    raw = _ESCAPE.sub(lambda found: f"\x00{found[1]}", path).encode("utf-8", "surrogatepass")
    plain = re.sub(rb"\x00([0-9A-Fa-f]{2})", lambda found: bytes([int(found[1], 16)]), raw)
    try:
        return plain.decode("utf-8")
    except UnicodeDecodeError:
        raise BadInput(f"{path!r} is not spelled in UTF-8") from None


def _text(own_handbook: HandbookFiles, path: str, address: str) -> str:
    files = own_handbook.context.files
    try:
        found = files.read(own_handbook.place(path)).text
    except ByheartError:
        found = None
    if found is not None:
        return found
    known = list(paths(files, own_handbook.folder))
    below = sorted({each[len(path) + 1 :].split("/")[0] for each in known if each.startswith(f"{path}/")})
    if below:
        return "".join(f"{name}\n" for name in below)
    if not known:
        raise NothingFound(f"there is no memory for {own_handbook.name} yet; byheart learn makes it")
    raise NothingFound(f"{address}: memory has no such file; {SCHEME}root/MEMORY.md is the whole of it")
