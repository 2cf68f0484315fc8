"""Where several machines of one person meet: a folder, or a git repository of theirs. Texts by path; nothing in it is run."""

from __future__ import annotations

import os
import re
import subprocess
from typing import TYPE_CHECKING, Protocol

from byheart.domain.documents import Place
from byheart.domain.errors import BadInput, Conflict, Environment
from byheart.storage.files.disk import DiskFiles

if TYPE_CHECKING:
    from collections.abc import Mapping

# A path that we wrote: plain names, no step up, no hidden file.
_PATH = re.compile(r"[A-Za-z0-9_][\w.-]*(?:/[A-Za-z0-9_][\w.-]*){0,6}")
_TOP = "byheart"
_MOST_FILES, _SECONDS = 20_000, 120.0
# What a repository or its settings could have run is switched off.
_SAFE = (
    "-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "core.symlinks=false", "-c", "commit.gpgsign=false",
    "-c", "protocol.ext.allow=never", "-c", "core.autocrlf=false", "-c", "core.attributesFile=/dev/null",
    "-c", "user.name=byheart", "-c", "user.email=byheart@localhost", "-c", "submodule.recurse=false", "-c", "gc.auto=0",
)  # fmt: skip


class SyncStore(Protocol):
    """Texts that several machines share. `put` is refused with Conflict where somebody else has put something since `texts`."""

    def texts(self) -> dict[str, str]: ...

    def put(self, changes: Mapping[str, str | None]) -> None: ...


def opened(target: str, work: str, environment: Mapping[str, str]) -> SyncStore:
    """The store that a person named: an existing folder, a bare repository in one, or the address of a git remote. `work` is where the
    copy of a remote is kept."""
    folder = os.path.abspath(os.path.expanduser(target))
    if os.path.isdir(folder):
        is_git = os.path.isfile(os.path.join(folder, "HEAD")) or os.path.exists(os.path.join(folder, ".git"))
        return GitStore(folder, work, environment) if is_git else FolderStore(folder)
    if re.match(r"(?:https?|ssh|git|file)://|[\w.-]+@[\w.-]+:", target):
        return GitStore(target, work, environment)
    raise BadInput(
        f"{target!r} is neither a folder nor the address of a git repository. Create the folder first, or check the address"
    )


class FolderStore:
    """A folder that the machines share, such as one that a program keeps in step."""

    def __init__(self, folder: str) -> None:
        self._folder = os.path.join(folder, _TOP)
        self._files = DiskFiles(file_bytes=64_000_000)
        self._seen: dict[str, str] = {}

    def texts(self) -> dict[str, str]:
        """Every text of the store by its path."""
        found: dict[str, str] = {}
        self._seen = {}
        for path in _paths(self._folder):
            held = self._files.read(Place(self._folder, path))
            if held.text is not None:
                found[path], self._seen[path] = held.text, held.digest
        return found

    def put(self, changes: Mapping[str, str | None]) -> None:
        """Write texts, and take away those that are None."""
        os.makedirs(self._folder, mode=0o700, exist_ok=True)
        for path, text in sorted(changes.items()):
            place = Place(self._folder, path)
            if text is not None:
                self._files.write(place, text, self._seen.get(path, ""))
            elif path in self._seen:
                self._files.remove(place, self._seen[path])


class GitStore:
    """A branch of a git repository, by a copy of it in our own folder."""

    def __init__(self, url: str, work: str, environment: Mapping[str, str]) -> None:
        self._url, self._work = url, work
        self._environment = {**environment, "GIT_TERMINAL_PROMPT": "0", "GIT_OPTIONAL_LOCKS": "0"}
        self._branch = "main"

    def texts(self) -> dict[str, str]:
        """Every text of the branch as the remote has it now."""
        if not os.path.isdir(os.path.join(self._work, ".git")):
            os.makedirs(self._work, mode=0o700, exist_ok=True)
            self._git("init", "-q")
            self._git("remote", "add", "origin", self._url)
        self._git("remote", "set-url", "origin", self._url)
        heads = self._git("ls-remote", "--symref", "origin", "HEAD", "refs/heads/main")
        named = re.search(r"^ref: refs/heads/(\S+)\tHEAD", heads, re.MULTILINE)
        is_there = bool(re.search(r"^[0-9a-f]{40,64}\t", heads, re.MULTILINE))
        self._branch = named[1] if named and is_there else "main"
        if is_there:
            self._git(
                "fetch",
                "-q",
                "--no-tags",
                "--depth",
                "1",
                "origin",
                f"+refs/heads/{self._branch}:refs/remotes/origin/byheart",
            )
            self._git("checkout", "-q", "-f", "-B", "byheart", "refs/remotes/origin/byheart")
            self._git("clean", "-qfdx")
        else:
            # An empty remote: begin a history of our own.
            self._git("symbolic-ref", "HEAD", "refs/heads/byheart")
        top = os.path.join(self._work, _TOP)
        files = DiskFiles(file_bytes=64_000_000)
        found = {path: files.read(Place(top, path)).text for path in _paths(top)} if is_there else {}
        return {path: text for path, text in found.items() if text is not None}

    def put(self, changes: Mapping[str, str | None]) -> None:
        """Commit and push. Raises Conflict where the remote has moved on."""
        files, top = DiskFiles(file_bytes=64_000_000), os.path.join(self._work, _TOP)
        os.makedirs(top, mode=0o700, exist_ok=True)
        for path, text in changes.items():
            place = Place(top, path)
            held = files.read(place)
            if text is not None:
                files.write(place, text, held.digest)
            elif held.text is not None:
                files.remove(place, held.digest)
        self._git("add", "-A", "--", _TOP)
        if not self._git("status", "--porcelain", "--", _TOP).strip():
            return
        self._git("commit", "-q", "-m", "byheart sync")
        done = self._ran("push", "-q", "origin", f"HEAD:refs/heads/{self._branch}")
        if done.returncode:
            if re.search(r"rejected|fetch first|non-fast-forward|failed to update ref|cannot lock ref", done.stderr):
                raise Conflict(f"another machine has just synced with {self._url}; try again")
            raise _failed("push", self._url, done.stderr)

    def _git(self, *words: str) -> str:
        done = self._ran(*words)
        if done.returncode:
            raise _failed(words[0], self._url, done.stderr)
        return done.stdout

    def _ran(self, *words: str) -> subprocess.CompletedProcess[str]:
        try:
            return subprocess.run(
                ["git", *_SAFE, "-C", self._work, *words], env=self._environment, capture_output=True, text=True, encoding="utf-8",
                errors="replace", timeout=_SECONDS, check=False, stdin=subprocess.DEVNULL,
            )  # fmt: skip
        except FileNotFoundError:
            raise Environment("git is not installed; install it, or sync with a folder") from None
        except subprocess.TimeoutExpired:
            raise Environment(
                f"git {words[0]} took longer than {_SECONDS:g} seconds with {self._url}; try again"
            ) from None


def _failed(what: str, url: str, told: str) -> Environment:
    last = next((line for line in reversed(told.strip().split("\n")) if line.strip()), "no reason given")
    return Environment(f"git {what} failed for {url}: {last[:300]}")


def _paths(top: str) -> list[str]:
    """Relative paths of plain files below a folder, as far as they are names that we would give."""
    found = []
    for folder, below, names in os.walk(top):
        below[:] = sorted(
            name for name in below if not name.startswith(".") and not os.path.islink(os.path.join(folder, name))
        )
        for name in names:
            path = os.path.relpath(os.path.join(folder, name), top).replace(os.sep, "/")
            if _PATH.fullmatch(path) and not os.path.islink(os.path.join(folder, name)):
                found.append(path)
        if len(found) > _MOST_FILES:
            raise BadInput(f"{top} has more than {_MOST_FILES:,} files; it is not a byheart sync folder")
    return sorted(found)
