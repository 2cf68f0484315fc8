"""Files on a local disk: compare-and-swap, written beside and renamed, flushed before they count."""

from __future__ import annotations

import os
import stat
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from byheart.domain.documents import Place, Root
from byheart.domain.errors import Busy, Conflict, Unreadable, Unwritable
from byheart.domain.ports import Extent, Snapshot
from byheart.storage.files import locks
from byheart.storage.files.containment import FILE_MODE, check_regular, explained, open_file, open_folder, parts
from byheart.text import slugs

if TYPE_CHECKING:
    from collections.abc import Iterator

TEMPORARY = ".byheart-"
_SMALL = 1 << 16
_SUFFIX = ".tmp"
# Our own log and tombstones have a limit of their own, which no setting lowers.
_OWN_BYTES = 500_000_000


class DiskFiles:
    """The Files port on a POSIX disk."""

    def __init__(self, *, file_bytes: int = 16_000_000, lock_seconds: float = 20.0) -> None:
        self._file_bytes = file_bytes
        self._lock_seconds = lock_seconds

    def read(self, place: Place, most: int | None = None) -> Snapshot:
        """The file's text and digest; an absent file is a snapshot without text. `most` is the limit in bytes."""
        names = parts(place)
        folder = open_folder(place, names[:-1], create=False)
        if folder is None:
            return Snapshot(None, "")
        try:
            content = self._content(place, folder, names[-1], most)
        finally:
            os.close(folder)
        if content is None:
            return Snapshot(None, "")
        return Snapshot(_decoded(place, content), digest(content))

    def behind(self, place: Place, known: Extent, most: int | None = None) -> tuple[str, Extent] | None:
        """What stands behind the part of a file that is known, and how far the file goes now; None where that part is another
        by now, or has ended within a line."""
        names = parts(place)
        folder = open_folder(place, names[:-1], create=False)
        if folder is None:
            return None
        try:
            content = self._content(place, folder, names[-1], most)
        finally:
            os.close(folder)
        if content is None or content[known.size - 1 : known.size] != b"\n":
            return None
        found = _sha256(memoryview(content)[: known.size])
        if found.hexdigest() != known.digest:
            return None
        rest = content[known.size :]
        found.update(rest)
        try:
            text = rest.decode("utf-8")
        except UnicodeDecodeError:
            # Whoever reads all of it will say in which line.
            return None
        return text, Extent(len(content), found.hexdigest(), known.lines + text.count("\n"))

    def size(self, place: Place) -> int | None:
        """How many bytes the file has; None where there is none."""
        found = self._status(place)
        return found.st_size if found else None

    def stamp(self, place: Place) -> str:
        """What tells whether the file changed; empty where there is none."""
        found = self._status(place)
        # A time of modification can be set back; that of the last change cannot.
        return f"{found.st_size}:{found.st_mtime_ns}:{found.st_ctime_ns}:{found.st_ino}" if found else ""

    def _status(self, place: Place) -> os.stat_result | None:
        names = parts(place)
        folder = open_folder(place, names[:-1], create=False)
        if folder is None:
            return None
        try:
            return os.stat(names[-1], dir_fd=folder, follow_symlinks=False)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise explained(place, error, writing=False) from None
        finally:
            os.close(folder)

    def write(self, place: Place, text: str, base: str) -> Snapshot:
        """Replace the file's text if it still has the digest `base` (empty: if it does not exist)."""
        names = parts(place)
        content = _encoded(place, text)
        folder = open_folder(place, names[:-1], create=True)
        assert folder is not None
        temporary = f"{TEMPORARY}{os.urandom(8).hex()}{_SUFFIX}"
        try:
            mode = _mode(place, folder, names[-1])
            self._write_whole(place, folder, temporary, content, mode)
            # Checked after the slow flush, so that a person's save has the least time to slip in between.
            self._expect(place, folder, names[-1], base)
            os.replace(temporary, names[-1], src_dir_fd=folder, dst_dir_fd=folder)
            os.fsync(folder)
        except OSError as error:
            raise explained(place, error, writing=True) from None
        finally:
            with suppress(FileNotFoundError, OSError):
                os.unlink(temporary, dir_fd=folder)
            os.close(folder)
        return Snapshot(text, digest(content))

    def append(self, place: Place, text: str, base: str | None) -> None:
        """Add text at the end in one system call; with `base`, only to a file that has that digest."""
        names = parts(place)
        content = _encoded(place, text)
        folder = open_folder(place, names[:-1], create=True)
        assert folder is not None
        try:
            if base is not None:
                self._expect(place, folder, names[-1], base)
            # A file that should be there and is not must not be made anew with only its end in it.
            flags = os.O_RDWR | os.O_APPEND | (0 if base else os.O_CREAT)
            opened = open_file(place, folder, names[-1], flags)
            try:
                size = os.fstat(opened).st_size
                if base is None and size:
                    content = _continuing(os.pread(opened, 2, max(0, size - 2)), content)
                if os.write(opened, content) != len(content):
                    os.ftruncate(opened, size)
                    raise Unwritable(str(place), "the disk is full; the old file is unchanged", "free some space")
                os.fsync(opened)
                # An editor that saves by renaming has put another file in place: our line went to the old one.
                current = os.stat(names[-1], dir_fd=folder, follow_symlinks=False)
                if not os.path.samestat(os.fstat(opened), current):
                    raise Conflict(f"{place} was replaced while byheart added to it")
            finally:
                os.close(opened)
            if size == 0:
                os.fsync(folder)
        except FileNotFoundError:
            raise Conflict(f"{place} was removed while byheart added to it") from None
        except OSError as error:
            raise explained(place, error, writing=True) from None
        finally:
            os.close(folder)

    def remove(self, place: Place, base: str) -> None:
        """Delete the file if it still has the digest `base`."""
        names = parts(place)
        folder = open_folder(place, names[:-1], create=False)
        if folder is None:
            return
        try:
            self._expect(place, folder, names[-1], base)
            os.unlink(names[-1], dir_fd=folder)
            os.fsync(folder)
        except OSError as error:
            raise explained(place, error, writing=True) from None
        finally:
            os.close(folder)

    def names(self, folder: Place) -> list[str]:
        """The names in a folder, sorted; none where it does not exist."""
        opened = open_folder(folder, parts(folder), create=False)
        if opened is None:
            return []
        try:
            return sorted(os.listdir(opened))
        finally:
            os.close(opened)

    def prune(self, folder: Place) -> None:
        """Remove the folders below this one that hold nothing, and this one itself where nothing is left."""
        opened = open_folder(folder, parts(folder), create=False)
        if opened is None:
            return
        try:
            below = [name for name in os.listdir(opened) if stat.S_ISDIR(os.lstat(name, dir_fd=opened).st_mode)]
        finally:
            os.close(opened)
        for name in below:
            self.prune(Place(folder.base, f"{folder.path}/{name}"))
        # It goes only if it is empty.
        with suppress(OSError):
            os.rmdir(str(folder))

    @contextmanager
    def locked(self, root: Root) -> Iterator[None]:
        """Hold the root against every other writer; leftovers of one that was killed are swept first."""
        lock, died = locks.acquire(root.own("lock"), self._lock_seconds)
        held: list[int] = []
        try:
            outside = {
                os.path.dirname(str(place)): place
                for place in root.documents.values()
                if place.base != root.folder.base
            }
            for _, place in sorted(outside.items()):
                folder = locks.hold_folder(place, self._lock_seconds)
                if folder is not None:
                    held.append(folder)
            if died:
                self._sweep(root)
            yield
        finally:
            for folder in held:
                os.close(folder)
            locks.release(lock)

    @contextmanager
    def claimed(self, root: Root, task: str) -> Iterator[bool]:
        """Hold one task of a root, without waiting: False when somebody else is at it. A crash does not leave it held."""
        try:
            lock, died = locks.acquire(root.own(f"{task}.lock"), 0)
        except Busy:
            yield False
            return
        try:
            if died:
                with self.locked(root):
                    self._sweep(root)
            yield True
        finally:
            locks.release(lock)

    def _sweep(self, root: Root) -> None:
        # The last is the home itself, where the first command of all puts its salt.
        every = (root.own("lock"), root.own("backup/any"), *root.documents.values(), Place(root.folder.base, "any"))
        for place in every:
            names = parts(place)
            folder = open_folder(place, names[:-1], create=False)
            if folder is None:
                continue
            try:
                for name in os.listdir(folder):
                    if name.startswith(TEMPORARY) and name.endswith(_SUFFIX):
                        with suppress(OSError):
                            os.unlink(name, dir_fd=folder)
            finally:
                os.close(folder)

    def _content(self, place: Place, folder: int, name: str, most: int | None = None) -> bytes | None:
        try:
            opened = open_file(place, folder, name, os.O_RDONLY)
        except FileNotFoundError:
            return None
        try:
            size = os.fstat(opened).st_size
            limit = most or (_OWN_BYTES if "/.byheart/" in f"/{place.path}" else self._file_bytes)
            if size > limit:
                problem = f"{size:,} bytes is more than the limit of {limit:,}"
                key = "journal.file_bytes" if most else "store.file_bytes"
                raise Unreadable(str(place), problem, f"split the file, or raise {key} in config.toml")
            pieces = []
            while piece := os.read(opened, 1 << 20):
                pieces.append(piece)
            return b"".join(pieces)
        except OSError as error:
            raise explained(place, error, writing=False) from None
        finally:
            os.close(opened)

    def _expect(self, place: Place, folder: int, name: str, base: str) -> None:
        try:
            opened = open_file(place, folder, name, os.O_RDONLY)
        except FileNotFoundError:
            current = ""
        else:
            # Piece by piece, so that a file larger than any limit can still be compared.
            found = _sha256()
            try:
                while piece := os.read(opened, 1 << 20):
                    found.update(piece)
            finally:
                os.close(opened)
            current = found.hexdigest()
        if current != base:
            raise Conflict(f"{place} changed in the meantime; nothing was written")

    @staticmethod
    def _write_whole(place: Place, folder: int, name: str, content: bytes, mode: int) -> None:
        opened = open_file(place, folder, name, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
        try:
            view = memoryview(content)
            while view:
                view = view[os.write(opened, view) :]
            os.fchmod(opened, mode)
            os.fsync(opened)
        finally:
            os.close(opened)


def _sha256(content: bytes | memoryview = b"") -> Any:
    if 0 < len(content) < _SMALL:
        return slugs.sha256()(content)
    # Faster, but for a small file not by what it takes to load.
    import hashlib

    return hashlib.sha256(content)


def digest(content: bytes) -> str:
    """What compare-and-swap compares."""
    found: str = _sha256(content).hexdigest()
    return found


def _continuing(end: bytes, content: bytes) -> bytes:
    """What to add behind a file's last two bytes: with its line breaks, and not glued to half a line."""
    if end.endswith(b"\r\n"):
        return content.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")
    # Somebody was killed in the middle of the last line, or a person's editor ends files without a line break.
    return content if end.endswith(b"\n") else b"\n" + content


def _mode(place: Place, folder: int, name: str) -> int:
    """A new file is the owner's alone; one that exists keeps the mode its owner gave it."""
    try:
        found = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return FILE_MODE
    if stat.S_ISLNK(found.st_mode):
        open_file(place, folder, name, os.O_RDONLY)
    check_regular(place, found)
    mode = stat.S_IMODE(found.st_mode) & 0o777
    if not mode & stat.S_IWUSR:
        # Renaming over it would work, but the owner has said not to write it.
        raise Unwritable(str(place), "the file is marked read-only", "make it writable (chmod u+w) and try again")
    return mode


def _decoded(place: Place, content: bytes) -> str:
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        problem = f"line {line} is not valid UTF-8 (byte {error.start})"
        raise Unreadable(str(place), problem, "save the file as UTF-8 and try again") from None


def _encoded(place: Place, text: str) -> bytes:
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError as error:
        problem = f"the text has a lone surrogate (character {error.start}) that UTF-8 cannot hold"
        raise Unwritable(str(place), problem, "remove it and try again") from None
