"""What moved a checkout's HEAD, read from the log that git keeps beside it; git itself is never run."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from byheart.storage.git.objects import Objects, read_plain
from byheart.text.patterns import deferred

if TYPE_CHECKING:
    from collections.abc import Set

# Old and new commit, who and when, and what was done.
_ENTRY = deferred(r"^([0-9a-f]{40,64}) ([0-9a-f]{40,64}) [^\t]*\t(.*)$")
# Commits that whoever sits at this machine made. A merge, a cherry-pick and a rebase bring in somebody else's.
_OWN = deferred(r"commit(?: \((?:initial|amend)\))?: ")
# While one of these is there, git is in the middle of changing files, or waits for somebody to finish a merge.
_UNDER_WAY = ("index.lock", "MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "REBASE_HEAD", "SQUASH_MSG", "rebase-merge", "rebase-apply")  # fmt: skip
_LARGEST = 64_000_000
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
        while len(above) > len(checkout.rstrip("/")):
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
    return read_plain(path, _LARGEST).decode("utf-8", "replace")
