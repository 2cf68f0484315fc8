"""Files of a project as sessions name them: shown from the project's folder, told apart by what they say about the work."""

from __future__ import annotations

import posixpath
import re
from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

# Files that every piece of work touches and that say nothing about it.
_COMMON = re.compile(
    r"(?:^|/)(?:CHANGELOG[^/]*|README[^/]*|package(?:-lock)?\.json|bun\.lockb?|yarn\.lock|pnpm-lock\.yaml|Cargo\.lock|go\.sum|uv\.lock|poetry\.lock|\.gitignore)$",
    re.IGNORECASE,
)
_OUTSIDE = ("/tmp/", "/private/tmp/", "/var/folders/", "/dev/")  # noqa: S108 - told apart, never written
_WORKTREE = re.compile(r"/\.(?:claude|codex|cursor)/worktrees/[^/]+/")
ABSOLUTE = re.compile(r"[/~]|\.\.|[A-Za-z]:/")
# Folders that are made, not written.
_MADE = re.compile(
    r"^(?:tmp|temp|node_modules|dist|build|out|target|coverage|\.git|\.venv|venv|__pycache__)/|/node_modules/"
)
_BARE = re.compile(
    r"(?:Makefile|Dockerfile|LICENSE|Justfile|justfile|Procfile|Gemfile|Rakefile|Jenkinsfile|Vagrantfile|CODEOWNERS|\..*|.*[./].*)\Z"
)
DRIVE = re.compile(r"([A-Za-z]):/(.+)\Z")


def shown_path(path: str, cwd: str) -> str:
    """A path as seen from the session's folder; empty for files outside that say nothing."""
    plain = path.replace("\\", "/")
    base = cwd.replace("\\", "/").rstrip("/")
    plain = _WORKTREE.sub("/", plain)
    if base and plain.casefold().startswith(base.casefold() + "/"):
        plain = plain[len(base) + 1 :]
    drive = DRIVE.match(base)
    if drive and plain.casefold().startswith(f"/{drive[1]}/{drive[2]}/".casefold()):
        # As the shells of Windows spell it.
        plain = plain[len(drive[2]) + 4 :]
    if (
        plain.startswith(_OUTSIDE)
        or "/AppData/Local/Temp/" in plain
        or "/scratchpad/" in plain
        or "/.claude/" in plain
        or "/.codex/" in plain
        or not plain.strip("./")
    ):
        return ""
    if _MADE.search(plain) or not _BARE.match(plain):
        return ""
    return posixpath.normpath(plain)


def is_common(path: str) -> bool:
    """Whether a file is one that any piece of work may touch."""
    return bool(_COMMON.search(path))


def area_of(paths: Iterable[tuple[str, int]]) -> str:
    """The part of a project that most of these files lie in: at most three folders deep; empty where there is none."""
    weights: Counter[str] = Counter()
    for path, times in paths:
        if is_common(path) or ABSOLUTE.match(path):
            continue
        folders = path.split("/")[:-1][:3]
        weights["/".join(folders)] += min(times, 3)
    if not weights:
        return ""
    whole = sum(weights.values())
    # The deepest folder that holds most of it.
    best, depth = "", 0
    totals: Counter[str] = Counter()
    for folder, weight in weights.items():
        parts = folder.split("/") if folder else []
        for end in range(1, len(parts) + 1):
            totals["/".join(parts[:end])] += weight
    for folder, weight in sorted(totals.items(), key=lambda each: (-each[1], each[0])):
        deep = folder.count("/") + 1
        if weight * 5 >= whole * 3 and deep > depth:
            best, depth = folder, deep
    if not best and totals:
        best = max((folder for folder in totals if "/" not in folder), key=lambda each: (totals[each], each))
    return best
