"""Which project a folder belongs to, found by reading what git left on disk; git itself is never run."""

from __future__ import annotations

import os
import re
import stat
from typing import TYPE_CHECKING

from byheart.domain.documents import Project
from byheart.storage.project_root import MARKER as MARKER
from byheart.storage.project_root import top_of
from byheart.text.deferred import deferred
from byheart.text.slugs import short_digest, slug

if TYPE_CHECKING:
    from collections.abc import Callable

_SECTION = deferred(r'^\s*\[\s*remote\s+"([^"]*)"\s*\](.*)', re.IGNORECASE)
_URL = deferred(r"^\s*url\s*=\s*(.*?)\s*(?:[#;].*)?$", re.IGNORECASE)
_SCP = deferred(r"^(?:[^@/\s]+@)?([^:/\s]+):(?!//)(.+)$")
# A user's name and password end at the last @ before the path, whatever they hold.
_SCHEME = deferred(r"^[a-z][a-z0-9+.-]*://(?:[^/]*@)?([^/:@?#]+)(?::(\d+))?(/[^?#]*)?(?:[?#].*)?$", re.IGNORECASE)
# Hosts whose paths do not distinguish case.
_FOLDED = ("github.com", "gitlab.com", "bitbucket.org")
_WORKTREE = deferred(r"^\s*worktree\s*=\s*(.+?)\s*$", re.IGNORECASE | re.MULTILINE)
_PORTS = {"22", "80", "443", "9418"}


def find(folder: str, known: Callable[[str], bool]) -> Project:
    """The project that holds a folder.

    Worktrees share their repository's identity, and clones of one remote share theirs; a repository that had memory
    before it got a remote keeps it. `known` says whether an identity has memory already.
    """
    start = os.path.realpath(folder)
    top = top_of(start)
    if top is None:
        return Project(
            id=_named(start, short_digest("path", start)), name=os.path.basename(start) or "root", folder=start
        )
    common = _common(top)
    remote = _remote(common) if common else None
    by_path = _named(common_name(top, common), short_digest("path", common or top))
    by_remote = _named(remote.rsplit("/", 1)[-1], short_digest("remote", remote)) if remote else by_path
    chosen = by_path if known(by_path) and not known(by_remote) else by_remote
    return Project(id=chosen, name=chosen.rsplit("-", 1)[0], folder=top, remote=remote, common_folder=common)


def identity(cwd: str | None, remote: str | None, known: Callable[[str], bool]) -> str | None:
    """The project that a session belonged to: by its folder where that still is, else by its remote, else by its path."""
    if cwd:
        # Worktrees that agents make for themselves go when they are done; their work was about what they lie in.
        cwd = (
            re.sub(r"[\\/]\.(?:claude|codex|cursor)[\\/]worktrees[\\/][^\\/]+(?=[\\/]|$)", "", cwd)
            if not os.path.isdir(cwd)
            else cwd
        )
    if cwd and os.path.isdir(cwd):
        return find(cwd, known).id
    normalised = normalised_remote(remote) if remote and "\0" not in remote else None
    if normalised:
        return _named(normalised.rsplit("/", 1)[-1], short_digest("remote", normalised))
    if not cwd:
        return None
    return _named(cwd.replace("\\", "/"), short_digest("path", cwd))


def common_name(top: str, common: str | None) -> str:
    """The repository's own folder, also when asked from one of its worktrees."""
    if common and os.path.basename(common) == ".git":
        return os.path.dirname(common)
    return common or top


def _named(path: str, digest: str) -> str:
    name = os.path.basename(path.rstrip("/")) or "root"
    return f"{slug(name.removesuffix('.git'), most=32)}-{digest}"


def _common(top: str) -> str | None:
    """The repository's common folder: `.git` itself, or what a worktree's `.git` file leads to."""
    dot_git = os.path.join(top, ".git")
    if os.path.islink(dot_git):
        # It may lead into another project, whose memory is not this one's.
        return None
    if os.path.isdir(dot_git):
        return os.path.realpath(dot_git)
    pointer = _small(dot_git)
    if not pointer.startswith("gitdir:"):
        return None
    folder = os.path.realpath(os.path.join(top, pointer.removeprefix("gitdir:").strip()))
    shared = _small(os.path.join(folder, "commondir")).strip()
    if not shared:
        # A submodule's folder says where its files lie; a git folder that says nothing of us is not ours to claim.
        worktree = _WORKTREE.search(_small(os.path.join(folder, "config")))
        lies_in = os.path.realpath(os.path.join(folder, worktree[1].strip('"'))) if worktree else None
        return folder if lies_in == os.path.realpath(top) else None
    back = _small(os.path.join(folder, "gitdir")).strip()
    if os.path.realpath(os.path.join(folder, back)) != os.path.realpath(dot_git):
        return None
    common = os.path.realpath(os.path.join(folder, shared))
    # git keeps what it knows of a worktree inside of its repository; a folder elsewhere may claim any.
    return common if os.path.dirname(folder) == os.path.join(common, "worktrees") else None


def _remote(common: str) -> str | None:
    """The normalised URL of `origin`, else of the first remote."""
    urls: dict[str, str] = {}
    section = None
    for row in _small(os.path.join(common, "config")).splitlines():
        header = _SECTION.match(row)
        if header or row.lstrip().startswith("["):
            section = header.group(1) if header else None
        url = _URL.match(header.group(2) if header else row)
        if section is not None and url:
            urls.setdefault(section, url.group(1).strip('"'))
    chosen = urls.get("origin") or next(iter(urls.values()), None)
    return normalised_remote(chosen) if chosen else None


def normalised_remote(url: str) -> str | None:
    """One spelling for all ways to write a remote: host/path, without scheme, user, password, port and `.git`."""
    url = url.strip()
    scheme = _SCHEME.match(url)
    if scheme:
        host, port, path = scheme.group(1).casefold(), scheme.group(2), scheme.group(3) or ""
        host = host if port is None or port in _PORTS else f"{host}:{port}"
    else:
        scp = _SCP.match(url)
        if scp is None:
            return os.path.realpath(url) if os.path.isabs(url) else None
        host, path = scp.group(1).casefold(), scp.group(2)
    path = path.strip("/").removesuffix(".git").strip("/")
    if any(host == known or host.endswith("." + known) for known in _FOLDED):
        path = path.casefold()
    return f"{host}/{path}" if path else None


def _small(path: str) -> str:
    """A small text file's content; nothing where it cannot be read."""
    try:
        # A link could lead to what another project says of itself.
        opened = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW)
    except (OSError, ValueError):
        return ""
    try:
        ordinary = stat.S_ISREG(os.fstat(opened).st_mode)
        return os.read(opened, 200_000).decode("utf-8", "replace") if ordinary else ""
    finally:
        os.close(opened)
