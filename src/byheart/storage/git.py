"""What git keeps, read as data: objects, and what moved HEAD. git itself is never run."""

from __future__ import annotations

import contextlib
import os
import re
import stat
import struct
import zlib
from typing import TYPE_CHECKING

from byheart.text.deferred import deferred

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Set

_ID = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_TREE = re.compile(rb"tree ([0-9a-f]{40,64})\n")
_MODE = re.compile(rb"[0-7]{5,6} [^/\x00]")
_PARENT = re.compile(rb"^parent ([0-9a-f]{40,64})$", re.MULTILINE)
_TAGGED = re.compile(rb"object ([0-9a-f]{40,64})\ntype commit\n")
_LARGEST = 32_000_000
_LARGEST_INDEX = 512_000_000
_MOST_REFS = 2_000
_DEEPEST_DELTA = 100
_DEEPEST_TREE = 60
# Kinds of entries in a pack: whole objects, and changes against one further up or one that is named.
_WHOLE, _OFFSET_DELTA, _NAME_DELTA = (1, 2, 3, 4), 6, 7
_LONGEST_HEAD = 64
# What packing adds to bytes that cannot be packed.
_SPARE = 1_024


class Objects:
    """The objects of a repository: `folder` is a checkout's own git folder, `common` the one that all its checkouts share."""

    def __init__(self, folder: str, common: str) -> None:
        self._folder, self._common = folder, common
        self._packs: list[_Pack] | None = None

    def file(self, commit: str, path: str) -> bytes | None:
        """A file as a commit has it; None where it has none, or where that cannot be read."""
        try:
            return self._file(commit, path)
        except (OSError, ValueError, IndexError, zlib.error):
            # Broken objects, or a pack that git has just replaced.
            return None

    def _file(self, commit: str, path: str) -> bytes | None:
        name = self._entry_of(commit, path)
        return self._object(name) if name else None

    def _entry_of(self, commit: str, path: str) -> str | None:
        content = self._object(commit) or b""
        if tagged := _TAGGED.match(content):
            content = self._object(tagged[1].decode()) or b""
        found = _TREE.match(content)
        name = found[1].decode() if found else None
        parts = path.split("/")
        for part in parts if len(parts) <= _DEEPEST_TREE else ():
            name = _entry(self._object(name) or b"", part, len(name) // 2) if name else None
        return name

    def holds(self, commit: str, path: str) -> bool:
        """Whether a commit has a file, or anything that is no folder on the way to it: a link or another repository there could
        lead to whatever it likes."""
        parts = path.split("/")
        return any(self._is_leaf(commit, "/".join(parts[:count])) for count in range(1, len(parts) + 1))

    def _is_leaf(self, commit: str, path: str) -> bool:
        try:
            name = self._entry_of(commit, path)
            # What is not there is a repository of its own, whose commits lie elsewhere.
            content = self._object(name) if name else None
            return name is not None and (content is None or not self._is_tree(content, len(name) // 2))
        except (OSError, ValueError, IndexError, zlib.error):
            return True

    @staticmethod
    def _is_tree(content: bytes, width: int) -> bool:
        end = content.find(b"\x00")
        return _MODE.match(content) is not None and 0 < end < 300 and len(content) >= end + 1 + width

    def tips(self) -> set[str]:
        """The commits that branches, tags, remotes and what was fetched last point at."""
        found: set[str] = set()
        for text in self._reference_texts():
            found.update(_ID.findall(text))
            if len(found) > _MOST_REFS:
                break
        return found

    def ancestors(self, commits: Iterable[str], most: int) -> Iterator[str]:
        """Commits and those that they came from, the nearest first."""
        seen = dict.fromkeys(sorted(commits))
        waiting = list(seen)
        for commit in waiting:
            yield commit
            if len(seen) < most:
                fresh = [each for each in self.parents(commit) if each not in seen]
                seen.update(dict.fromkeys(fresh))
                waiting += fresh

    def parents(self, commit: str) -> list[str]:
        """The commits that a commit was made from; none where that cannot be read."""
        try:
            head = (self._object(commit) or b"").partition(b"\n\n")[0]
        except (OSError, ValueError, IndexError, zlib.error):
            return []
        return [each.decode() for each in _PARENT.findall(head)]

    def _reference_texts(self) -> Iterator[str]:
        for name in ("FETCH_HEAD", "ORIG_HEAD", "MERGE_HEAD", "CHERRY_PICK_HEAD"):
            yield read_plain(os.path.join(self._folder, name)).decode("utf-8", "replace")
        yield read_plain(os.path.join(self._folder, "HEAD"), 200).decode("utf-8", "replace")
        packed = read_plain(os.path.join(self._common, "packed-refs")).decode("utf-8", "replace")
        # What is stashed was typed here.
        yield "\n".join(row for row in packed.split("\n") if not row.endswith(" refs/stash"))
        for above, _, names in os.walk(os.path.join(self._common, "refs")):
            for name in names:
                if name == "stash" and os.path.basename(above) == "refs":
                    continue
                yield read_plain(os.path.join(above, name), 200).decode("utf-8", "replace")

    def _object(self, name: str | None, depth: int = 0) -> bytes | None:
        if name is None or depth > _DEEPEST_DELTA:
            return None
        for folder in self._folders():
            packed = read_plain(os.path.join(folder, name[:2], name[2:]))
            if packed:
                head, _, content = _inflated(packed).partition(b"\x00")
                return content if head else None
        for pack in self._all_packs():
            at = pack.offset(bytes.fromhex(name))
            if at is not None:
                return pack.read(at, len(name) // 2, lambda base: self._object(base, depth + 1))
        return None

    def _all_packs(self) -> list[_Pack]:
        if self._packs is None:
            paths = [
                os.path.join(folder, "pack", name)
                for folder in self._folders()
                for name in _names(os.path.join(folder, "pack"))
                if name.endswith(".idx")
            ]
            self._packs = [_Pack(path) for path in paths]
        return self._packs

    def _folders(self) -> list[str]:
        """Where objects lie: the repository's own folder, and those that it borrows from."""
        own = os.path.join(self._common, "objects")
        rows = read_plain(os.path.join(own, "info", "alternates")).decode("utf-8", "replace").split("\n")
        return [own, *(os.path.join(own, row) for row in rows if row and not row.startswith("#"))]


class _Pack:
    """One pack and its index, of version 2, which is what git has written since 2008."""

    def __init__(self, index: str) -> None:
        self._path = index.removesuffix(".idx") + ".pack"
        self._index = read_plain(index, _LARGEST_INDEX)
        is_known = self._index[:8] == b"\xfftOc\x00\x00\x00\x02" and len(self._index) >= 8 + 1024
        self._count = struct.unpack_from(">I", self._index, 8 + 255 * 4)[0] if is_known else 0

    def offset(self, name: bytes) -> int | None:
        """Where an object lies in the pack."""
        width = len(name)
        first, last = self._between(name[0])
        base = 8 + 1024
        while first < last:
            middle = (first + last) // 2
            found = self._index[base + middle * width : base + (middle + 1) * width]
            if found == name:
                return self._offset_at(base + self._count * (width + 4), middle)
            first, last = (middle + 1, last) if found < name else (first, middle)
        return None

    def _between(self, byte: int) -> tuple[int, int]:
        if not self._count:
            return 0, 0
        fan = struct.unpack_from(">256I", self._index, 8)
        return (fan[byte - 1] if byte else 0), min(fan[byte], self._count)

    def _offset_at(self, table: int, number: int) -> int | None:
        try:
            (small,) = struct.unpack_from(">I", self._index, table + number * 4)
            if small & 0x80000000:
                large = table + self._count * 4 + (small & 0x7FFFFFFF) * 8
                return int(struct.unpack_from(">Q", self._index, large)[0])
        except struct.error:
            return None
        return int(small)

    def read(self, at: int, width: int, other: Callable[[str], bytes | None]) -> bytes | None:
        """The object at an offset; `other` finds one by its name of `width` bytes, against which a change may be told."""
        changes: list[bytes] = []
        with contextlib.closing(open(self._path, "rb")) as pack:
            while len(changes) < _DEEPEST_DELTA:
                pack.seek(at)
                head = pack.read(_LONGEST_HEAD)
                kind, size, used = _header(head)
                if kind not in (*_WHOLE, _OFFSET_DELTA, _NAME_DELTA) or size > _LARGEST:
                    return None
                back, base = 0, None
                if kind == _OFFSET_DELTA:
                    back, more = _distance(head, used)
                    used += more
                elif kind == _NAME_DELTA:
                    base = other(head[used : used + width].hex())
                    used += width
                pack.seek(at + used)
                content = _inflated(pack.read(size + _SPARE), size)
                if kind == _OFFSET_DELTA and 0 < back <= at:
                    changes.append(content)
                    at -= back
                    continue
                if kind in _WHOLE:
                    base = content
                else:
                    changes.append(content)
                for change in reversed(changes):
                    base = _applied(base, change) if base is not None else None
                return base
        return None


def _header(head: bytes) -> tuple[int, int, int]:
    """An entry's kind and size, and how many bytes told them."""
    kind, size, shift, used = head[0] >> 4 & 7, head[0] & 15, 4, 1
    while head[used - 1] & 0x80:
        size |= (head[used] & 0x7F) << shift
        shift, used = shift + 7, used + 1
    return kind, size, used


def _distance(head: bytes, at: int) -> tuple[int, int]:
    """How far back the base of a change lies, and how many bytes told that."""
    back, used = head[at] & 0x7F, 1
    while head[at + used - 1] & 0x80:
        back = (back + 1) << 7 | head[at + used] & 0x7F
        used += 1
    return back, used


def _applied(base: bytes, change: bytes) -> bytes | None:
    """A file made from another: stretches copied from that, and new bytes."""
    before, at = _size(change, 0)
    after, at = _size(change, at)
    if before != len(base) or after > _LARGEST:
        return None
    made = bytearray()
    while at < len(change) and len(made) <= after:
        order, at = change[at], at + 1
        if order & 0x80:
            numbers = []
            for bits in (range(4), range(4, 7)):
                number = 0
                for place, bit in enumerate(bits):
                    if order >> bit & 1:
                        number, at = number | change[at] << 8 * place, at + 1
                numbers.append(number)
            start, count = numbers[0], numbers[1] or 0x10000
            made += base[start : start + count]
        else:
            made += change[at : at + order]
            at += order
    return bytes(made) if len(made) == after else None


def _size(change: bytes, at: int) -> tuple[int, int]:
    size, shift = 0, 0
    while True:
        byte, at = change[at], at + 1
        size |= (byte & 0x7F) << shift
        shift += 7
        if not byte & 0x80:
            return size, at


def _entry(tree: bytes, name: str, width: int) -> str | None:
    """The object that a tree has under a name."""
    at, wanted = 0, name.encode("utf-8", "surrogateescape")
    while at < len(tree):
        end = tree.find(b"\x00", at)
        if end < 0:
            return None
        if tree[at:end].partition(b" ")[2] == wanted:
            return tree[end + 1 : end + 1 + width].hex()
        at = end + 1 + width
    return None


def _inflated(packed: bytes, size: int = _LARGEST) -> bytes:
    return zlib.decompressobj().decompress(packed, size)


def _names(folder: str) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []


def read_plain(path: str, most: int = _LARGEST) -> bytes:
    """A plain file's bytes, as far as they are wanted; none where it is no plain file or cannot be read."""
    try:
        opened = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError):
        return b""
    try:
        if not stat.S_ISREG(os.fstat(opened).st_mode):
            return b""
        with open(opened, "rb", closefd=False) as stream:
            return stream.read(most)
    finally:
        os.close(opened)


# Old and new commit, who and when, and what was done.
_ENTRY = deferred(r"^([0-9a-f]{40,64}) ([0-9a-f]{40,64}) [^\t]*\t(.*)$")
# Commits that whoever sits at this machine made. A merge, a cherry-pick and a rebase bring in somebody else's.
_OWN = deferred(r"commit(?: \((?:initial|amend)\))?: ")
# While one of these is there, git is in the middle of changing files, or waits for somebody to finish a merge.
_UNDER_WAY = ("index.lock", "MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "REBASE_HEAD", "SQUASH_MSG", "rebase-merge", "rebase-apply")  # fmt: skip
_LARGEST_LOG = 64_000_000
# Attributes by which a file on disk is another than the one in git.
_RESPELLS = deferred(r"working-tree-encoding|\bfilter=")
_MOST_COMMITS = 400


class Moves:
    """The moves of one checkout. `folder` is its own git folder; None where it is no checkout, so that nothing moves."""

    def __init__(self, folder: str | None) -> None:
        self._folder = folder

    def mark(self) -> str:
        """The last move, as one word; empty where there was none."""
        lines = self._lines()
        return lines[-1] if lines else ""

    def brought(self, mark: str) -> bool:
        """Whether anything but the user's own commits has moved this checkout since `mark`, as far as anybody can tell: what
        cannot be read counts as moved."""
        if self._folder is None:
            return False
        if any(os.path.lexists(os.path.join(self._folder, name)) for name in _UNDER_WAY):
            return True
        lines = self._lines()
        if not lines:
            return bool(mark) or self._has_commit()
        if mark and mark not in lines:
            # Git lets go of old entries; nobody can say what happened in between.
            return True
        since = lines[len(lines) - lines[::-1].index(mark) :] if mark else lines
        return any(not _is_own(line) for line in since)

    def offered(self, path: str) -> list[str]:
        """The texts that a file of this checkout has in other people's commits, as far as branches, tags, remotes or the last fetch
        lead to them within some hundred steps. Files can come out of those without HEAD's moving."""
        if self._folder is None:
            return []
        objects = Objects(self._folder, self._common())
        contents = {objects.file(commit, path) for commit in self._others(objects)}
        return [content.decode("utf-8", "replace") for content in contents if content is not None]

    def is_disguised(self, checkout: str, path: str) -> bool:
        """Whether other people's commits have a file in a spelling that its lines cannot be compared with: git is told to write it in
        another encoding or through a filter, or its object cannot be read."""
        if self._folder is None:
            return False
        objects = Objects(self._folder, self._common())
        others = self._others(objects)
        if not any(objects.holds(commit, path) for commit in others):
            return False
        parts = path.split("/")
        for name in ("/".join((*parts[:depth], ".gitattributes")) for depth in range(len(parts))):
            contents = {read_plain(os.path.join(checkout, name)), *(objects.file(each, name) or b"" for each in others)}
            if any(_RESPELLS.search(content.decode("latin-1")) for content in contents):
                return True
        return any(objects.holds(commit, path) and objects.file(commit, path) is None for commit in others)

    def introduced(self, path: str) -> set[str]:
        """The lines that other people's commits put into a file of this checkout: what none of the commits had that each was made
        from."""
        if self._folder is None:
            return set()
        objects = Objects(self._folder, self._common())
        known: dict[str, frozenset[str]] = {}

        def lines_of(commit: str) -> frozenset[str]:
            if commit not in known:
                text = (objects.file(commit, path) or b"").decode("utf-8", "replace")
                known[commit] = frozenset(line.strip() for line in text.split("\n") if line.strip())
            return known[commit]

        found: set[str] = set()
        for commit in self._others(objects):
            if fresh := lines_of(commit):
                found |= fresh.difference(*(lines_of(each) for each in objects.parents(commit)))
        return found

    def _others(self, objects: Objects) -> list[str]:
        """Commits that were not made here, as far as references lead to them."""
        entries = [entry for line in self._lines() if (entry := _ENTRY.match(line))]
        own = {entry[2] for entry in entries if _OWN.match(entry[3])}
        return [commit for commit in objects.ancestors(objects.tips(), _MOST_COMMITS) if commit not in own]

    def is_nested(self, checkout: str, path: str) -> bool:
        """Whether a file of a checkout lies in another repository within it, such as a submodule."""
        above = os.path.dirname(path)
        while len(above) > max(1, len(checkout.rstrip("/"))):
            if os.path.lexists(os.path.join(above, ".git")):
                return True
            above = os.path.dirname(above)
        return False

    def is_tracked(self, path: str) -> bool:
        """Whether the commit that is checked out has a file, and no commit of the user's own brought it in."""
        if self._folder is None:
            return False
        lines = self._lines()
        head = _ENTRY.match(lines[-1]) if lines else None
        if head is None:
            return self._has_commit()
        objects = Objects(self._folder, self._common())
        if not objects.holds(head[2], path):
            return False
        own = [entry for line in lines[-_MOST_COMMITS:] if (entry := _ENTRY.match(line)) and _OWN.match(entry[3])]
        return not any(objects.holds(entry[2], path) and not objects.holds(entry[1], path) for entry in own)

    def is_same(self, marks: Set[str]) -> bool:
        """Whether this is the checkout that these moves were seen in: one of them is known, or there were none and it is no clone."""
        lines = self._lines()
        if any(marks):
            return not marks.isdisjoint(lines)
        return not lines or not lines[0].partition("\t")[2].startswith("clone:")

    def _common(self) -> str:
        assert self._folder is not None
        return os.path.join(self._folder, _text(os.path.join(self._folder, "commondir")).strip() or ".")

    def _lines(self) -> list[str]:
        if self._folder is None:
            return []
        return [line for line in _text(os.path.join(self._folder, "logs", "HEAD")).split("\n") if line]

    def _has_commit(self) -> bool:
        """Whether HEAD names a commit although nothing was logged: then anything may have happened."""
        assert self._folder is not None
        head = _text(os.path.join(self._folder, "HEAD")).strip()
        if not head:
            return False
        if not head.startswith("ref:"):
            return True
        name = head.removeprefix("ref:").strip()
        common = self._common()
        packed = _text(os.path.join(common, "packed-refs"))
        return os.path.lexists(os.path.join(common, name)) or f" {name}\n" in packed or os.path.isdir(os.path.join(common, "reftable"))  # fmt: skip


def _is_own(line: str) -> bool:
    entry = _ENTRY.match(line)
    # A new branch at the same commit brings nothing.
    return entry is not None and (entry[1] == entry[2] or bool(_OWN.match(entry[3])))


def git_folder(top: str) -> str | None:
    """A checkout's own git folder: `.git`, or what a worktree's or submodule's `.git` file leads to; None where there is none."""
    dot_git = os.path.join(top, ".git")
    if os.path.isdir(dot_git):
        return dot_git
    pointer = re.match(r"gitdir:\s*(.+?)\s*$", _text(dot_git))
    return os.path.realpath(os.path.join(top, pointer[1])) if pointer else None


def _text(path: str) -> str:
    return read_plain(path, _LARGEST_LOG).decode("utf-8", "replace")
