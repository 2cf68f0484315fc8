"""Opening files and folders below a chosen base without ever leaving it."""

from __future__ import annotations

import errno
import os
import stat
from typing import TYPE_CHECKING

from byheart.domain.errors import Unnatural, Unreadable, Unwritable

if TYPE_CHECKING:
    from byheart.domain.documents import Place

FOLDER_MODE, FILE_MODE = 0o700, 0o600
# Names that are devices on Windows: a repository that holds one cannot be checked out there.
_DEVICES = frozenset({"con", "prn", "aux", "nul", *(f"{port}{n}" for port in ("com", "lpt") for n in range(1, 10))})
_FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_FULL = (errno.ENOSPC, errno.EDQUOT)


def parts(place: Place) -> list[str]:
    """The path's names, each checked: no step upwards, no NUL or control character, no device name."""
    names = place.path.split("/")
    for name in names:
        if name in ("", ".", ".."):
            raise Unnatural(
                str(place), "the path has an empty, '.' or '..' step", "name a file below the chosen folder"
            )
        if "\\" in name or any(ord(character) < 32 or ord(character) == 127 for character in name):
            problem = "the path has a backslash or a control character"
            raise Unnatural(ascii(str(place)), problem, "use plain names separated by '/'")
        if name.split(".")[0].rstrip(" ").casefold() in _DEVICES:
            raise Unnatural(str(place), f"{name!r} is a device name", "choose another name")
    return names


def open_folder(place: Place, names: list[str], *, create: bool) -> int | None:
    """A descriptor of the folder that these names lead to from the base, or None where it does not exist.

    The base itself may be reached through links, since the user chose it; nothing below it may be one.
    """
    try:
        if create:
            os.makedirs(place.base, mode=FOLDER_MODE, exist_ok=True)
        folder = os.open(place.base, _FOLDER_FLAGS)
    except OSError as error:
        if isinstance(error, FileNotFoundError) and not create:
            return None
        raise explained(place, error, writing=create) from None
    for name in names:
        try:
            below = _step(place, folder, name, create=create)
        finally:
            os.close(folder)
        if below is None:
            return None
        folder = below
    return folder


def _step(place: Place, folder: int, name: str, *, create: bool) -> int | None:
    flags = _FOLDER_FLAGS | os.O_NOFOLLOW
    try:
        return os.open(name, flags, dir_fd=folder)
    except FileNotFoundError:
        if not create:
            return None
    except OSError as error:
        raise _unnatural_step(place, folder, name, error) from None
    try:
        os.mkdir(name, FOLDER_MODE, dir_fd=folder)
    except FileExistsError:
        pass
    except OSError as error:
        raise explained(place, error, writing=True) from None
    os.fsync(folder)
    try:
        return os.open(name, flags, dir_fd=folder)
    except OSError as error:
        raise _unnatural_step(place, folder, name, error) from None


def _unnatural_step(place: Place, folder: int, name: str, error: OSError) -> Unnatural | Unreadable:
    if error.errno in (errno.ELOOP, errno.ENOTDIR):
        found = os.stat(name, dir_fd=folder, follow_symlinks=False)
        kind = "a symbolic link" if stat.S_ISLNK(found.st_mode) else "not a folder"
        return Unnatural(str(place), f"{name!r} is {kind}", "put a real folder there; links are not followed")
    return explained(place, error, writing=False)


def check_regular(place: Place, found: os.stat_result) -> None:
    """Refuse everything that is not an ordinary file with one name."""
    if stat.S_ISDIR(found.st_mode):
        raise Unnatural(str(place), "a folder stands where a file is expected", "move it away")
    if not stat.S_ISREG(found.st_mode):
        raise Unnatural(str(place), "not an ordinary file", "put a plain text file there")
    if found.st_nlink > 1:
        problem = f"the file has {found.st_nlink} names (hard links), so a write could reach outside this folder"
        raise Unnatural(str(place), problem, "replace it by a copy of its own")


def open_file(place: Place, folder: int, name: str, flags: int) -> int:
    """A descriptor of an ordinary file; links are refused, and FIFOs do not block."""
    try:
        opened = os.open(name, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, FILE_MODE, dir_fd=folder)
    except FileNotFoundError:
        raise
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise Unnatural(
                str(place), "the file is a symbolic link", "put the file itself there; links are not followed"
            ) from None
        if error.errno in (errno.EISDIR, errno.ENXIO):
            check_regular(place, os.stat(name, dir_fd=folder, follow_symlinks=False))
        raise explained(place, error, writing=bool(flags & (os.O_WRONLY | os.O_RDWR))) from None
    try:
        check_regular(place, os.fstat(opened))
    except BaseException:
        os.close(opened)
        raise
    return opened


def explained(place: Place, error: OSError, *, writing: bool) -> Unreadable:
    """An operating system's refusal in words, with what to do about it."""
    kind = Unwritable if writing else Unreadable
    if error.errno in _FULL:
        return kind(str(place), "the disk is full; the old file is unchanged", "free some space and try again")
    if error.errno == errno.EROFS:
        return kind(str(place), "the disk is read-only", "make it writable, or set BYHEART_HOME to another folder")
    if error.errno in (errno.EACCES, errno.EPERM):
        verb = "written" if writing else "read"
        return kind(
            str(place), f"permission denied; it cannot be {verb}", "check the owner and mode of file and folder"
        )
    if error.errno == errno.ENOTDIR:
        return kind(str(place), "a file stands where a folder is expected", "move it away")
    return kind(str(place), os.strerror(error.errno or 0), "check the disk and try again")
