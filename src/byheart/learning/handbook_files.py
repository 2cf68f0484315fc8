"""Where a project's handbook lies, and what is in it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from byheart.domain.documents import Place, Root
from byheart.domain.errors import ByheartError
from byheart.domain.handbook import EXTENSIONS, MEMORY, NOTES, RAW, ROLLOUTS, SKILLS, SUMMARY, Thread, Written
from byheart.domain.learning import Kept
from byheart.domain.records import Scope
from byheart.domain.results import Finding
from byheart.domain.values import dataclass, replace
from byheart.handbook import raw
from byheart.text.deferred import module
from byheart.text.slugs import content_digest
from byheart.text.timewords import moment
from byheart.workspace.context import JOURNAL, PROFILE, RULES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from byheart.domain.ports import Files
    from byheart.handbook import phrases
    from byheart.workspace.context import Context
else:
    phrases = module("byheart.handbook.phrases")

HANDBOOK, ARCHIVE = "handbook", "archive"
# What was last written, so that whatever differs from it is a person's.
BASELINE, STATE = "baseline", "handbook.json"
MAIN = (MEMORY, SUMMARY)
_SUPPORT = ("scripts", "templates", "examples")


@dataclass(frozen=True, slots=True, kw_only=True)
class HandbookFiles:
    """One project's handbook, with the tools of a context that sees that project's own root and the global one."""

    context: Context
    root: Root
    project: str

    @property
    def name(self) -> str:
        """What the project is called."""
        return self.project.rsplit("-", 1)[0]

    @property
    def folder(self) -> Place:
        return Place(self.root.folder.base, f"{self.root.folder.path}/{HANDBOOK}")

    def place(self, path: str) -> Place:
        """A file of the handbook."""
        return Place(self.root.folder.base, f"{self.root.folder.path}/{HANDBOOK}/{path}")


def handbook_files_of(context: Context, home: str, project: str) -> HandbookFiles:
    """The handbook of a project, whichever one the context was opened for."""
    folder = f"projects/{project}"
    kept = Place(home, f"{folder}/{HANDBOOK}/{MEMORY}")
    # Named so that leftovers of a killed writer are swept in these folders, too.
    documents = {
        "handbook": kept,
        "rollouts": Place(home, f"{folder}/{HANDBOOK}/{ROLLOUTS}/any"),
        BASELINE: Place(home, f"{folder}/.byheart/{BASELINE}/any"),
    }
    root = Root(scope=Scope.LOCAL, folder=Place(home, folder), documents=documents)
    if context.project.id == project:
        return HandbookFiles(context=context, root=root, project=project)
    usual = {
        PROFILE: Place(home, f"{folder}/memories.md"),
        RULES: Place(home, f"{folder}/memories.ndjson"),
        JOURNAL: Place(home, f"{folder}/journal/{MEMORY}"),
    }
    local = Root(scope=Scope.LOCAL, folder=root.folder, documents=usual)
    return HandbookFiles(
        context=replace(context, roots={**context.roots, Scope.LOCAL: local}), root=root, project=project
    )


def paths(files: Files, folder: Place) -> Iterator[str]:
    """Every file of a handbook, by its path in it: those that its layout has a place for."""
    top = set(files.names(folder))
    yield from (name for name in (MEMORY, SUMMARY, RAW) if name in top)
    if ROLLOUTS in top:
        yield from (f"{ROLLOUTS}/{name}" for name in _plain(files, folder, ROLLOUTS))
    for skill in _plain(files, folder, SKILLS) if SKILLS in top else ():
        yield from _skill(files, folder, f"{SKILLS}/{skill}")
    for name in _plain(files, folder, EXTENSIONS) if EXTENSIONS in top else ():
        yield from _extension(files, folder, f"{EXTENSIONS}/{name}")


def _plain(files: Files, folder: Place, path: str) -> list[str]:
    try:
        return [name for name in files.names(Place(folder.base, f"{folder.path}/{path}")) if not name.startswith(".")]
    except (ByheartError, OSError):
        # A file where a folder is looked for.
        return []


def _skill(files: Files, folder: Place, path: str) -> Iterator[str]:
    for name in _plain(files, folder, path):
        if name in _SUPPORT:
            yield from (f"{path}/{name}/{each}" for each in _plain(files, folder, f"{path}/{name}"))
        else:
            yield f"{path}/{name}"


def _extension(files: Files, folder: Place, path: str) -> Iterator[str]:
    for name in _plain(files, folder, path):
        if name in ("notes", "resources"):
            yield from (f"{path}/{name}/{each}" for each in _plain(files, folder, f"{path}/{name}"))
        else:
            yield f"{path}/{name}"


def texts(files: Files, folder: Place) -> tuple[dict[str, str], list[Finding]]:
    """The texts of a handbook by path, and what could not be read."""
    found: dict[str, str] = {}
    wrong: list[Finding] = []
    for path in paths(files, folder):
        try:
            text = files.read(Place(folder.base, f"{folder.path}/{path}")).text
        except ByheartError as error:
            wrong.append(Finding(rule="unreadable", message=str(error), place=path))
            continue
        if text is not None:
            found[path] = text
    return found, wrong


def notes(own_handbook: HandbookFiles) -> list[tuple[str, str]]:
    """What people wrote down for the handbook: (text, file), the oldest first. They are data, and no line of them is left
    out."""
    found = []
    for name in own_handbook.context.files.names(own_handbook.place(NOTES)):
        if not name.endswith(".md") or name.startswith("."):
            continue
        text = own_handbook.context.files.read(own_handbook.place(f"{NOTES}/{name}")).text or ""
        for line in text.split("\n"):
            plain = line.strip().lstrip("-*# ").strip()
            if plain and plain != "---":
                found.append((plain, f"{NOTES}/{name}"))
    return [*found, *_extensions(own_handbook)]


def _extensions(own_handbook: HandbookFiles) -> Iterator[tuple[str, str]]:
    """A pointer to each extension that says what it is for: (text, file). What its instructions say is data like all the rest."""
    files, folder = own_handbook.context.files, own_handbook.folder
    for name in _plain(files, folder, EXTENSIONS):
        path = f"{EXTENSIONS}/{name}/instructions.md"
        text = files.read(own_handbook.place(path)).text if "instructions.md" in _plain(files, folder, f"{EXTENSIONS}/{name}") else None  # fmt: skip
        if text is None:
            continue
        first = next((plain for line in text.split("\n") if (plain := line.strip().lstrip("-*# ").strip())), "")
        resources = ", ".join(_plain(files, folder, f"{EXTENSIONS}/{name}/resources")[:8])
        yield f"extension {name}: {first}" + (f"; resources: {resources}" if resources else ""), path


def restored(own_handbook: HandbookFiles) -> list[Kept]:
    """The extracts that a handbook's files hold, as when the queue was deleted: from raw_memories.md and the summaries, and
    from the archive."""
    found: list[Kept] = []
    rows = _state(own_handbook).get("extracts")
    every = rows if isinstance(rows, list) else []
    known = {each["thread"]: each for each in every if isinstance(each, dict) and "thread" in each}
    for prefix, archived in (("", False), (f"{ARCHIVE}/", True)):
        text = own_handbook.context.files.read(own_handbook.place(f"{prefix}{RAW}")).text or ""
        for thread in raw.parsed_merge(text):
            file = thread.head.get("rollout_summary_file", "")
            if not file or "/" in file:
                continue
            _, summary = raw.parsed_rollout(
                own_handbook.context.files.read(own_handbook.place(f"{prefix}{ROLLOUTS}/{file}")).text or ""
            )
            updated = moment(thread.head.get("updated_at", ""), own_handbook.context.clock())
            if not summary or updated is None:
                continue
            told = known.get(thread.id, {})
            found.append(_kept(own_handbook, thread, summary + "\n", file, told, archived=archived))
    return found


def _kept(
    own_handbook: HandbookFiles, thread: raw.RawThread, summary: str, file: str, told: dict[str, str], *, archived: bool
) -> Kept:
    updated = moment(thread.head.get("updated_at", ""), own_handbook.context.clock()) or own_handbook.context.clock()
    stem = phrases.STEM.match(file.removesuffix(".md"))
    written = Written(
        thread=Thread(
            id=thread.id,
            agent=told.get("agent", "unknown"),
            project=own_handbook.project,
            cwd=thread.head.get("cwd", "unknown"),
            path=thread.head.get("rollout_path", ""),
            updated=updated,
            branch=told.get("branch") or None,
        ),
        raw_memory=thread.raw_memory.rstrip("\n") + "\n",
        rollout_summary=summary,
        slug=stem["slug"] if stem else None,
    )
    revision = told.get("revision", "")
    return Kept(
        written=written,
        revision=revision,
        made=own_handbook.context.clock(),
        selected="" if archived else revision,
        archived=archived,
        candidates=told.get("candidates", "[]"),
    )


def _state(own_handbook: HandbookFiles) -> dict[str, object]:
    try:
        raw_state = json.loads(own_handbook.context.files.read(own_handbook.root.own(STATE)).text or "{}")
    except ValueError:
        return {}
    return raw_state if isinstance(raw_state, dict) else {}


def baseline(own_handbook: HandbookFiles) -> dict[str, str]:
    """What was last written to each of the main files; nothing for one that never was."""
    found = {}
    for name in (*MAIN, RAW):
        text = own_handbook.context.files.read(own_handbook.root.own(f"{BASELINE}/{name}")).text
        if text is not None:
            found[name] = text
    return found


def digests(own_handbook: HandbookFiles) -> dict[str, str]:
    """The digests of all other files as they were last written."""
    told = _state(own_handbook).get("digests", {})
    return {str(path): str(value) for path, value in told.items()} if isinstance(told, dict) else {}


def state_text(kept: list[Kept], digest_of: dict[str, str]) -> str:
    """What is kept beside a handbook so that it can be told apart from a person's work, and read again without the queue."""
    rows = [
        {
            "thread": each.written.thread.id,
            "agent": each.written.thread.agent,
            "branch": each.written.thread.branch or "",
            "revision": each.revision,
            "candidates": each.candidates,
        }
        for each in kept
    ]
    return json.dumps({"version": 1, "extracts": rows, "digests": digest_of}, indent=1, sort_keys=True) + "\n"


def digest_of(text: str) -> str:
    """What a written file is compared by."""
    return content_digest(text)
