"""A folder of notes that an agent keeps for itself, behind the six commands of a memory tool: view, create, str_replace, insert,
delete, rename. Paths begin with /memories and never leave the folder; texts are scanned before they are stored."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any

from byheart.app.open import Surroundings, open_memory
from byheart.domain.documents import Place
from byheart.domain.errors import BadInput, ByheartError, Conflict, NothingFound, Refused, Unsafe, Unwanted
from byheart.domain.records import Scope
from byheart.text.unicode import visible
from byheart.workspace.context import is_enabled

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from byheart.domain.ports import Files, Scanner
    from byheart.workspace.context import Context

ROOT = "/memories"
_LARGEST, _MOST_FILES, _DEPTH, _SHOWN = 256_000, 500, 6, 2
_NAME = re.compile(r"[^\x00-\x1f\x7f/\\]{1,120}")


class NotesFolder:
    """Notes in one folder. Every command answers with a text for the model; what cannot be done is raised."""

    def __init__(self, files: Files, scanner: Scanner, folder: Place) -> None:
        self._files, self._scanner, self._folder = files, scanner, folder

    def execute(self, given: Mapping[str, Any]) -> str:
        """Do what a memory tool was called with. Raises BadInput, NothingFound, Refused or Conflict."""
        match given.get("command"):
            case "view":
                return self.view(str(given.get("path") or ROOT), given.get("view_range"))
            case "create":
                return self.create(_text(given, "path"), _text(given, "file_text"))
            case "str_replace":
                return self.str_replace(_text(given, "path"), _text(given, "old_str"), str(given.get("new_str") or ""))
            case "insert":
                line = given.get("insert_line")
                if not isinstance(line, int) or isinstance(line, bool):
                    raise BadInput("insert_line must be a number: 0 is before the first line")
                return self.insert(_text(given, "path"), line, _text(given, "insert_text"))
            case "delete":
                return self.delete(_text(given, "path"))
            case "rename":
                return self.rename(_text(given, "old_path"), _text(given, "new_path"))
            case other:
                raise BadInput(
                    f"there is no command {other!r}; there are view, create, str_replace, insert, delete, rename"
                )

    def view(self, path: str, view_range: object = None) -> str:
        """A file with its line numbers, or what a folder holds, two levels deep."""
        place = self._place(path)
        kind = self._kind(place)
        if kind == "folder" or (not kind and place == self._folder):
            return "\n".join([f"Files below {path.rstrip('/') or ROOT}:", *self._listed(place, _SHOWN)])
        text = visible(self._scanner.redacted(self._read(place, path)))
        lines = text.split("\n")
        first, last = _range(view_range, len(lines))
        shown = (f"{number:6}\t{lines[number - 1]}" for number in range(first, last + 1))
        return f"{path}, with line numbers:\n" + "\n".join(shown)

    def create(self, path: str, file_text: str) -> str:
        """A new file with this text."""
        place = self._place(path)
        if place == self._folder or self._kind(place) == "folder":
            raise BadInput(f"{path} is a folder")
        if self._kind(place):
            raise Conflict(f"{path} already exists; change it with str_replace or insert, or delete it first")
        if sum(1 for _ in self._every(self._folder, _DEPTH)) >= _MOST_FILES:
            raise Refused(f"the folder holds {_MOST_FILES} files already; delete one first")
        self._write(place, path, file_text)
        return f"{path} is written."

    def str_replace(self, path: str, old_str: str, new_str: str) -> str:
        """Another text in the place of one that stands in the file once."""
        place = self._place(path)
        text = self._read(place, path)
        places = [text.count("\n", 0, found.start()) + 1 for found in re.finditer(re.escape(old_str), text)]
        if len(places) != 1:
            where = f" (lines {', '.join(map(str, places[:8]))})" if places else ""
            raise BadInput(f"old_str stands in {path} {len(places)} times{where}; it must stand there exactly once")
        self._write(place, path, text.replace(old_str, new_str, 1))
        return f"{path} is changed."

    def insert(self, path: str, insert_line: int, insert_text: str) -> str:
        """A text behind a line; 0 is the beginning."""
        place = self._place(path)
        text = self._read(place, path)
        lines = text.split("\n")
        if not 0 <= insert_line <= len(lines):
            raise BadInput(f"{path} has {len(lines)} lines; insert_line must be from 0 to {len(lines)}")
        lines[insert_line:insert_line] = insert_text.removesuffix("\n").split("\n")
        self._write(place, path, "\n".join(lines))
        return f"{path} is changed."

    def delete(self, path: str) -> str:
        """Take a file away, or a folder with all that is in it."""
        place = self._place(path)
        if place == self._folder:
            raise Refused(f"{ROOT} itself is not deleted; delete what is in it")
        kind = self._kind(place)
        if not kind:
            raise NothingFound(f"{path} does not exist")
        if kind == "folder":
            for each in list(self._every(place, _DEPTH)):
                self._files.remove(each, self._files.read(each).digest)
            self._files.prune(place)
        else:
            self._files.remove(place, self._files.read(place).digest)
        return f"{path} is deleted."

    def rename(self, old_path: str, new_path: str) -> str:
        """Another name for a file or a folder; what has that name already stays."""
        old, new = self._place(old_path), self._place(new_path)
        kind = self._kind(old)
        if old == self._folder or new == self._folder:
            raise Refused(f"{ROOT} itself has no other name")
        if not kind:
            raise NothingFound(f"{old_path} does not exist")
        if self._kind(new):
            raise Conflict(f"{new_path} already exists; nothing was changed")
        if new.path.startswith(f"{old.path}/"):
            raise BadInput(f"{new_path} lies in {old_path}")
        for each in list(self._every(old, _DEPTH)) if kind == "folder" else [old]:
            found = self._files.read(each)
            self._files.write(Place(new.base, new.path + each.path[len(old.path) :]), found.text or "", "")
            self._files.remove(each, found.digest)
        if kind == "folder":
            self._files.prune(old)
        return f"{old_path} is {new_path} now."

    def _place(self, path: str) -> Place:
        """The file that a path names. Raises BadInput for one that is not below /memories."""
        if path != ROOT and not path.startswith(f"{ROOT}/"):
            raise BadInput(f"{path!r} is not below {ROOT}")
        names = [name for name in path[len(ROOT) :].split("/") if name]
        for name in names:
            if name in (".", "..") or name.startswith(".") or not _NAME.fullmatch(name) or "%2e" in name.casefold():
                raise BadInput(f"{path!r} has a part that no file here may have: {name!r}")
        if names and any(found.severity not in ("command", "weak") for found in self._scanner.findings(path)):
            raise Refused("a name that holds a secret or hidden characters is no name for a file")
        if len(names) > _DEPTH:
            raise BadInput(f"{path!r} is nested too deeply; at most {_DEPTH} levels")
        return Place(self._folder.base, "/".join([self._folder.path, *names]))

    def _kind(self, place: Place) -> str:
        """file, folder, other; empty where there is nothing."""
        if self._files.size(place) is None:
            return ""
        try:
            self._files.read(place)
        except ByheartError:
            try:
                self._files.names(place)
            except (ByheartError, OSError):
                return "other"
            return "folder"
        return "file"

    def _read(self, place: Place, path: str) -> str:
        kind = self._kind(place)
        if kind != "file":
            raise NothingFound(f"{path} does not exist") if not kind else BadInput(f"{path} is no file")
        return self._files.read(place).text or ""

    def _write(self, place: Place, path: str, text: str) -> None:
        if len(text.encode("utf-8", "surrogatepass")) > _LARGEST:
            raise Refused(f"{path} would be larger than {_LARGEST:,} bytes; keep notes short")
        findings = [each for each in self._scanner.findings(text) if each.severity not in ("command", "weak")]
        if findings:
            raise Unsafe(findings, f"the text for {path}")
        self._files.write(place, text, self._files.read(place).digest)

    def _every(self, place: Place, depth: int) -> Iterator[Place]:
        """Every file below a folder."""
        for name in self._files.names(place):
            each = Place(place.base, f"{place.path}/{name}")
            kind = self._kind(each)
            if kind == "file":
                yield each
            elif kind == "folder" and depth:
                yield from self._every(each, depth - 1)

    def _listed(self, place: Place, depth: int, above: str = "") -> list[str]:
        found = []
        for name in self._files.names(place):
            each = Place(place.base, f"{place.path}/{name}")
            kind = self._kind(each)
            if name.startswith(".") or kind == "other" or self._scanner.secrets(name):
                continue
            found.append(f"- {above}{name}{'/' if kind == 'folder' else ''}")
            if kind == "folder" and depth > 1:
                found += self._listed(each, depth - 1, f"{above}{name}/")
        return found or (["(nothing)"] if not above else [])


def _text(given: Mapping[str, Any], name: str) -> str:
    value = given.get(name)
    if not isinstance(value, str) or (not value and name != "file_text"):
        raise BadInput(f"{name} is missing")
    return value


def _range(given: object, count: int) -> tuple[int, int]:
    if given is None:
        return 1, count
    numbers = [each for each in given if isinstance(each, int)] if isinstance(given, list) else []
    if len(numbers) != 2:
        raise BadInput("view_range must be two numbers: the first and the last line")
    first, last = numbers[0], count if numbers[1] == -1 else numbers[1]
    if not 1 <= first <= last:
        raise BadInput(f"view_range must be from 1 to {count}, the first before the last")
    return first, min(last, count)


def memory_folder(folder: str, environment: Mapping[str, str] | None = None) -> NotesFolder:
    """The notes that agents keep of the project that holds this folder."""
    around = Surroundings(folder=folder, environment=os.environ if environment is None else environment)
    return of_context(open_memory(around).memory.context)


def of_context(context: Context) -> NotesFolder:
    """The notes of the project that a memory was opened for. Raises Unwanted while memory is off."""
    if not is_enabled(context, context.roots[Scope.LOCAL]):
        raise Unwanted("memory is off; byheart settings shows where")
    own = context.roots[Scope.LOCAL].folder
    return NotesFolder(context.files, context.scanner, Place(own.base, f"{own.path}/memories"))
