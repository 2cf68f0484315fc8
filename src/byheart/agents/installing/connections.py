"""Connecting and disconnecting: plans, writes with backups, and a record of what was done."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

from byheart.agents.installing.pieces import FileChange, Installed, Piece, PieceKind, put_in, take_out
from byheart.domain.documents import Place
from byheart.domain.errors import ByheartError, Conflict
from byheart.domain.values import replace
from byheart.text.slugs import content_digest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from byheart.agents.installing.pieces import Recipe
    from byheart.domain.ports import Files

RECORD = "state/installed.json"
_BACKUP = ".byheart-backup"
_TRIES = 3


class Connections:
    """What of ours is in agents' files. The record of it lies in byheart's own folder."""

    def __init__(self, files: Files, home: str, exists: Callable[[str], bool], prune: Callable[[str], None]) -> None:
        self._files, self._home, self._exists, self._prune = files, home, exists, prune

    def record(self) -> dict[str, Any]:
        """What was put in, by agent and scope."""
        try:
            found = json.loads(self._files.read(Place(self._home, RECORD)).text or "{}")
        except ValueError:
            return {}
        return found if isinstance(found, dict) else {}

    def planned(self, recipe: Recipe, scope: str) -> Installed:
        """What connecting would change. Raises nothing: what is in the way is told."""
        done = Installed(agent=recipe.agent, scope=scope, notes=list(recipe.notes))
        known = self.record().get(f"{recipe.agent} {scope}", {}).get("files", {})
        for path, pieces in _by_file(recipe).items():
            try:
                before = self._text(path)
                if path not in known and _is_theirs(before, pieces):
                    done.notes.append(f"{path} is there and not byheart's, so it is left alone")
                    continue
                start = self._original(path, before, known.get(path), pieces)
                # What is in place is left in its place, whatever was written around it.
                same = path not in known or known[path].get("pieces") == [_told(piece) for piece in pieces]
                after = before if same and put_in(before, pieces) == before else put_in(start, pieces)
            except ByheartError as error:
                done.problem = str(error)
                return done
            done.changes.append(FileChange(path=path, before=before, after=after, whys=[piece.why for piece in pieces]))
        return done

    def _original(
        self, path: str, now: str | None, known: dict[str, Any] | None, wanted: Sequence[Piece] = ()
    ) -> str | None:
        """A file's text as it would be without us: what we put in before may be another version's, and the record of it may be
        lost."""
        if known is None:
            return take_out(
                now, wanted, was_there=now is not None and not all(piece.kind is PieceKind.FILE for piece in wanted)
            )
        pieces = [_piece(path, each) for each in known.get("pieces", [])]
        if now is not None and content_digest(now) == known.get("after"):
            if known.get("created"):
                return None
            kept = self._text(known["backup"]) if known.get("backup") else None
            if kept is not None:
                return kept
        return take_out(now, pieces, was_there=not known.get("created"))

    def with_recorded(self, recipe: Recipe, scope: str) -> Recipe:
        """A recipe with the blocks that only connecting could find out."""
        files = self.record().get(f"{recipe.agent} {scope}", {}).get("files", {})
        more = [_piece(path, told) for path, known in files.items() for told in known.get("pieces", []) if told["kind"] == PieceKind.BLOCK and told["at"]]  # fmt: skip
        return replace(recipe, pieces=(*recipe.pieces, *more))

    def connect(self, recipe: Recipe, scope: str) -> Installed:
        """Put everything in, or nothing: what was written before something went wrong is taken back."""
        for attempt in range(_TRIES):
            done = self.planned(recipe, scope)
            if done.problem or not recipe.pieces:
                # Nothing is written, so nothing is connected.
                return done
            written: list[FileChange] = []
            made = [{"folders": self._missing_folders(change.path)} for change in done.changes]
            try:
                self._written(recipe, scope, done, written)
                return done
            except ByheartError as error:
                for change in reversed(written):
                    self._put(change.path, change.before, change.after)
                self._pruned(made)
                if not isinstance(error, Conflict) or attempt == _TRIES - 1:
                    done.problem = str(error)
                    return done
        return done

    def _written(self, recipe: Recipe, scope: str, done: Installed, written: list[FileChange]) -> None:
        """Write what is planned, backups first; everything that is written is in `written`, so that it can be taken back."""
        record = self.record()
        name = f"{recipe.agent} {scope}"
        entry = record.get(name, {}).get("files", {})
        by_file = _by_file(recipe)
        for change in done.changes:
            known = entry.get(change.path)
            # A file that is in no recipe's record was there before us, or was not.
            start = self._original(change.path, change.before, known, by_file[change.path])
            told: dict[str, Any] = {
                "created": start is None,
                "after": content_digest(change.after or ""),
                "pieces": [_told(piece) for piece in by_file[change.path]],
                "folders": (known or {}).get("folders") or self._missing_folders(change.path),
                "backup": (known or {}).get("backup") or "",
            }
            if start is not None and not told["backup"]:
                backup = f"{change.path}{_BACKUP}"
                there = self._text(backup)
                # One of a record that is lost holds what was there before; it is not ours to write over.
                if there is None:
                    self._put(backup, start, None)
                    written.append(FileChange(path=backup, before=None, after=start))
                told["backup"] = backup if there in (None, start) else ""
            entry[change.path] = told
            if change.is_change:
                self._put(change.path, change.after, change.before)
                written.append(change)
        # Files that an earlier version had and this one has not.
        old = [entry.pop(path) | {"path": path} for path in list(entry) if path not in by_file]
        for known in old:
            self._taken_back(known["path"], known, done)
        self._pruned(old)
        record[name] = {"agent": recipe.agent, "scope": scope, "files": entry}
        self._save(record)

    def disconnect(self, agent: str, scope: str, *, dry: bool = False) -> Installed:
        """Take out what is recorded as ours; a file that nobody touched since is as it was, byte for byte."""
        done = Installed(agent=agent, scope=scope)
        record = self.record()
        entry = record.get(f"{agent} {scope}", {}).get("files", {})
        every = list(entry.values())
        for path, known in list(entry.items()):
            before = self._text(path)
            after = self._original(path, before, known)
            done.changes.append(
                FileChange(
                    path=path,
                    before=before,
                    after=after,
                    whys=["restored as it was"] if after is not None else ["created by byheart"],
                )
            )
            if not dry:
                try:
                    self._taken_back(path, known, done)
                    del entry[path]
                except ByheartError as error:
                    done.problem = done.problem or str(error)
        if not dry:
            self._pruned(every)
            if entry:
                record[f"{agent} {scope}"]["files"] = entry
            else:
                record.pop(f"{agent} {scope}", None)
            self._save(record)
        return done

    def _taken_back(self, path: str, known: dict[str, Any], done: Installed) -> None:
        now = self._text(path)
        after = self._original(path, now, known)
        if (
            after is not None
            and known.get("created")
            and any(each["kind"] == PieceKind.FILE for each in known.get("pieces", []))
        ):
            done.notes.append(f"{path} was changed since byheart wrote it, so it stays")
        elif now != after:
            self._put(path, after, now)
        backup = known.get("backup")
        if backup and self._text(backup) is not None:
            # What was put in came out, so nobody needs the copy, which may hold what is private.
            self._put(backup, None, self._text(backup))

    def _pruned(self, entries: Iterable[dict[str, Any]]) -> None:
        """Take away the folders that we made and nobody else has put anything into."""
        made = {folder for known in entries for folder in known.get("folders", [])}
        for folder in sorted(made, key=len, reverse=True):
            self._prune(folder)

    def _missing_folders(self, path: str) -> list[str]:
        found: list[str] = []
        folder = os.path.dirname(path)
        while folder and not self._exists(folder) and os.path.dirname(folder) != folder:
            found.insert(0, folder)
            folder = os.path.dirname(folder)
        return found

    def _text(self, path: str) -> str | None:
        return self._files.read(_place(path)).text

    def _put(self, path: str, text: str | None, expected: str | None) -> None:
        """Write or remove a file that still says what we think it says."""
        place = _place(path)
        now = self._files.read(place)
        if now.text != expected:
            raise Conflict(f"{path} changed in the meantime and was left alone")
        if text is None:
            if now.text is not None:
                self._files.remove(place, now.digest)
        elif text != now.text:
            self._files.write(place, text, now.digest)

    def _save(self, record: dict[str, Any]) -> None:
        place = Place(self._home, RECORD)
        known = self._files.read(place)
        if record:
            self._files.write(place, json.dumps(record, indent=1) + "\n", known.digest)
        elif known.text is not None:
            self._files.remove(place, known.digest)


def _by_file(recipe: Recipe) -> dict[str, list[Piece]]:
    found: dict[str, list[Piece]] = {}
    for piece in recipe.pieces:
        found.setdefault(piece.path, []).append(piece)
    return found


def _is_theirs(text: str | None, pieces: Sequence[Piece]) -> bool:
    """Whether a file that we would write whole is somebody else's."""
    whole = [piece for piece in pieces if piece.kind is PieceKind.FILE]
    return bool(whole) and text is not None and all(text != piece.text for piece in whole) and "byheart" not in text


def _place(path: str) -> Place:
    """A file of an agent's. People link these from elsewhere: what is behind the link is meant."""
    real = os.path.realpath(path)
    base = os.path.dirname(real)
    below = os.path.basename(real)
    # Folders that are not there yet are made below the first that is.
    while not os.path.isdir(base):
        base, name = os.path.split(base)
        below = f"{name}/{below}"
    return Place(base, below)


def _told(piece: Piece) -> dict[str, Any]:
    return {
        "kind": piece.kind.value,
        "at": list(piece.at),
        "value": piece.value,
        "text": piece.text,
        "keeps": piece.keeps,
    }


def _piece(path: str, told: dict[str, Any]) -> Piece:
    return Piece(
        kind=PieceKind(told["kind"]),
        path=path,
        why="",
        at=tuple(told["at"]),
        value=told["value"],
        text=told["text"],
        keeps=bool(told.get("keeps")),
    )
