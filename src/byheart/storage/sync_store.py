"""Where several machines of one person meet: a folder, or a git repository of theirs. Texts by path; nothing in it is run."""

from __future__ import annotations

import glob
import os
import re
import shutil
import subprocess
from typing import TYPE_CHECKING, Protocol

from byheart.domain.documents import Place
from byheart.domain.errors import BadInput, ByheartError, Conflict, Environment
from byheart.storage.files.disk import DiskFiles

if TYPE_CHECKING:
    from collections.abc import Mapping

# A path that we wrote: plain names, no step up, no hidden file.
_PATH = re.compile(r"[A-Za-z0-9_][\w. -]*(?:/[A-Za-z0-9_][\w. -]*){0,6}")
_TOP = "byheart"
_MOST_FILES, _LARGEST, _SECONDS = 20_000, 64_000_000, 120.0
# What a repository or somebody's settings could have run is switched off. Nothing is checked out, so no filter runs either.
_SAFE = (
    "-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "commit.gpgsign=false", "-c", "protocol.ext.allow=never",
    "-c", "user.name=byheart", "-c", "user.email=byheart@localhost", "-c", "gc.auto=0", "-c", "maintenance.auto=false",
)  # fmt: skip
# A repository on this machine receives in a process of ours, whose hooks are its own.
_RECEIVE = "git -c core.hooksPath=/dev/null receive-pack"
_REMOTE = re.compile(r"(?:https?|ssh|git|file)://|[\w.-]+@[\w.-]+:")


class SyncStore(Protocol):
    """Texts that several machines share. `put` is refused with Conflict where somebody else has put something since `texts`."""

    def texts(self) -> dict[str, str]:
        """Every text by its path; what cannot be read is in `problems`."""
        ...

    def put(self, changes: Mapping[str, str]) -> None:
        """Write these texts."""
        ...

    @property
    def problems(self) -> list[str]: ...


def opened(target: str, work: str, environment: Mapping[str, str]) -> SyncStore:
    """The store that a person named: an existing folder, a bare repository in one, or the address of a git remote. `work` is where the
    copy of a remote is kept."""
    folder = os.path.abspath(os.path.expanduser(target))
    if os.path.isdir(folder):
        is_git = os.path.isfile(os.path.join(folder, "HEAD")) or os.path.exists(os.path.join(folder, ".git"))
        return GitStore(folder, work, environment, is_here=True) if is_git else FolderStore(folder)
    if _REMOTE.match(target):
        return GitStore(target, work, environment, is_here=target.startswith("file://"))
    raise BadInput(
        f"{target!r} is neither a folder nor the address of a git repository. Create the folder first, or check the address"
    )


def drop_copies(home: str) -> None:
    """Remove the copies of repositories that machines meet in: they would hold what was forgotten, and are fetched again."""
    for work in glob.glob(os.path.join(glob.escape(home), "state", "sync", "*", "work.git")):
        shutil.rmtree(work, ignore_errors=True)


class FolderStore:
    """A folder that the machines share, such as one that a program keeps in step."""

    def __init__(self, folder: str) -> None:
        self._folder = os.path.join(folder, _TOP)
        self._files = DiskFiles(file_bytes=_LARGEST)
        self._seen: dict[str, str] = {}
        self.problems: list[str] = []

    def texts(self) -> dict[str, str]:
        """Every text of the store by its path."""
        found: dict[str, str] = {}
        self._seen, self.problems = {}, []
        for path in _paths(self._folder):
            try:
                held = self._files.read(Place(self._folder, path))
            except ByheartError as error:
                self.problems.append(f"{path} there: {error}")
                continue
            if held.text is not None:
                found[path], self._seen[path] = held.text, held.digest
        return found

    def put(self, changes: Mapping[str, str]) -> None:
        """Write texts."""
        os.makedirs(self._folder, mode=0o700, exist_ok=True)
        for path, text in sorted(changes.items()):
            self._files.write(Place(self._folder, path), text, self._seen.get(path, ""))


class GitStore:
    """A branch of a git repository, by its objects in a bare copy of our own: no work tree, no filter, no hook."""

    def __init__(self, url: str, work: str, environment: Mapping[str, str], *, is_here: bool) -> None:
        self._url, self._work, self._is_here = url, work, is_here
        # Where git is called from must not say which repository is meant.
        plain = {name: value for name, value in environment.items() if not name.startswith("GIT_")}
        self._environment = {**plain, "GIT_TERMINAL_PROMPT": "0", "GIT_INDEX_FILE": os.path.join(work, "sync-index")}
        self._branch, self._tip = "main", ""
        self.problems: list[str] = []

    def texts(self) -> dict[str, str]:
        """Every text of the branch as the remote has it now. The copy is made anew where it is broken."""
        try:
            self._fetch()
        except Environment:
            shutil.rmtree(self._work, ignore_errors=True)
            self._fetch()
        self.problems = []
        return self._blobs() if self._tip else {}

    def _fetch(self) -> None:
        if not os.path.isfile(os.path.join(self._work, "HEAD")):
            os.makedirs(self._work, mode=0o700, exist_ok=True)
            self._git("init", "-q", "--bare")
        heads = self._git("ls-remote", "--symref", "--", self._url, "HEAD", "refs/heads/*")
        named = re.search(r"^ref: refs/heads/(\S+)\tHEAD", heads, re.MULTILINE)
        known = re.findall(r"^[0-9a-f]{40,64}\trefs/heads/(\S+)$", heads, re.MULTILINE)
        wanted = named[1] if named and named[1] in known else "main"
        self._branch, self._tip = wanted, ""
        if wanted in known:
            self._git(
                "fetch", "-q", "--no-tags", "--depth", "1", "--", self._url, f"+refs/heads/{wanted}:refs/byheart/there"
            )
            self._tip = self._git("rev-parse", "refs/byheart/there").strip()

    def _blobs(self) -> dict[str, str]:
        rows = self._git("ls-tree", "-r", "-l", "-z", "--full-tree", self._tip, "--", f"{_TOP}/").split("\0")
        found: dict[str, str] = {}
        for row in rows[:_MOST_FILES]:
            head, _, path = row.partition("\t")
            mode, kind, name, size = (*head.split(), "", "", "", "")[:4]
            inner = path.removeprefix(f"{_TOP}/")
            if kind != "blob" or not mode.startswith("100") or not _PATH.fullmatch(inner) or int(size) > _LARGEST:
                continue
            content = self._ran("cat-file", "blob", name).stdout
            try:
                found[inner] = content.decode("utf-8")
            except UnicodeDecodeError:
                self.problems.append(f"{inner} there is not UTF-8")
        return found

    def put(self, changes: Mapping[str, str]) -> None:
        """Commit and push. Raises Conflict where the remote has moved on."""
        self._git("read-tree", *([self._tip] if self._tip else ["--empty"]))
        for path, text in changes.items():
            name = self._git("hash-object", "-w", "--stdin", given=text.encode("utf-8", "replace")).strip()
            self._git("update-index", "--add", "--cacheinfo", f"100644,{name},{_TOP}/{path}")
        tree = self._git("write-tree").strip()
        made = self._git("commit-tree", tree, *(["-p", self._tip] if self._tip else []), "-m", "byheart sync").strip()
        receive = [f"--receive-pack={_RECEIVE}"] if self._is_here else []
        done = self._ran("push", "-q", *receive, "--", self._url, f"{made}:refs/heads/{self._branch}")
        if done.returncode:
            told = done.stderr.decode("utf-8", "replace")
            if re.search(r"rejected|fetch first|non-fast-forward|failed to update ref|cannot lock ref", told):
                raise Conflict(f"another machine has just synced with {self._url}; try again")
            raise _failed("push", self._url, told)

    def _git(self, *words: str, given: bytes = b"") -> str:
        done = self._ran(*words, given=given)
        if done.returncode:
            raise _failed(words[0], self._url, done.stderr.decode("utf-8", "replace"))
        return done.stdout.decode("utf-8", "replace")

    def _ran(self, *words: str, given: bytes = b"") -> subprocess.CompletedProcess[bytes]:
        try:
            return subprocess.run(
                ["git", *_SAFE, f"--git-dir={self._work}", *words], env=self._environment, cwd=self._work, capture_output=True,
                timeout=_SECONDS, check=False, input=given,
            )  # fmt: skip
        except FileNotFoundError:
            raise Environment("git is not installed; install it, or sync with a folder") from None
        except subprocess.TimeoutExpired:
            raise Environment(
                f"git {words[0]} took longer than {_SECONDS:g} seconds with {self._url}; try again"
            ) from None


def _failed(what: str, url: str, told: str) -> Environment:
    lines = [line.strip() for line in told.strip().split("\n") if line.strip()]
    # What went wrong stands first; advice follows it.
    why = next(
        (line for line in lines if re.match(r"(?:fatal|error|ERROR|ssh|remote):", line)),
        lines[-1] if lines else "no reason given",
    )
    return Environment(f"git {what} failed for {url}: {why[:300]}")


def _paths(top: str) -> list[str]:
    """Relative paths of plain files below a folder, as far as they are names that we would give."""
    found = []
    for folder, below, names in os.walk(top):
        below[:] = sorted(
            name for name in below if not name.startswith(".") and not os.path.islink(os.path.join(folder, name))
        )
        for name in names:
            full = os.path.join(folder, name)
            path = os.path.relpath(full, top).replace(os.sep, "/")
            if _PATH.fullmatch(path) and os.path.isfile(full) and not os.path.islink(full):
                found.append(path)
        if len(found) > _MOST_FILES:
            raise BadInput(f"{top} has more than {_MOST_FILES:,} files; it is not a byheart sync folder")
    return sorted(found)
