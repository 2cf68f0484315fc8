"""The memory files that a checkout holds: which there are, and whether they count as the user's."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from byheart.app.open import (
    IN_CHECKOUT,
    JOURNAL_FILE,
    PROFILE_FILE,
    REPO_RULES,
    SETTINGS_FILE,
    is_journal,
    project_of,
    trust_of,
)
from byheart.domain.documents import Place
from byheart.domain.errors import ByheartError
from byheart.domain.values import dataclass
from byheart.text.deferred import module
from byheart.workspace.context import JOURNAL, PROFILE, RULES, vouched
from byheart.workspace.trust import FILES_OF

if TYPE_CHECKING:
    from collections.abc import Iterator

    from byheart.app import open as app_open
    from byheart.app.open import OpenMemory, Surroundings
else:
    app_open = module("byheart.app.open")

_BESIDE = ("USER.md", "LONGMEMORY.md")
_MOST_FOLDERS = 20_000
_SETTINGS = {"paths.profile": PROFILE, "paths.rules": RULES, "paths.journal": JOURNAL}


@dataclass(frozen=True, slots=True, kw_only=True)
class InCheckout:
    """A memory file of a checkout: how many entries it has, and how many of them somebody else's commits brought."""

    name: str
    entries: int
    strange: int = 0


def survey(opened: OpenMemory) -> list[InCheckout]:
    """Every memory file of the checkout that a memory was opened for."""
    trust = opened.memory.context.trust
    found = []
    for name, texts in _files(opened):
        found.append(InCheckout(name=name, entries=len(texts), strange=sum(map(trust.is_strange, texts))))
    folder = opened.project.folder
    for name in IN_CHECKOUT:
        path = os.path.join(folder, name)
        if os.path.lexists(path):
            found.append(InCheckout(name=name, entries=len(os.listdir(path)) if os.path.isdir(path) else 1))
    return found


def unused(opened: OpenMemory) -> list[str]:
    """The memory files of a checkout that nobody trusts, by their names; none where all count."""
    trust = opened.memory.context.trust
    if trust.is_trusted:
        return []
    folder = opened.project.folder
    names = [PROFILE_FILE, REPO_RULES]
    if is_journal(Place(folder, JOURNAL_FILE)):
        names += [JOURNAL_FILE, *_BESIDE]
    there = [name for name in names if os.path.lexists(os.path.join(folder, name))]
    found = [name for name in there if not trust.allows(Place(folder, name))]
    return found + [name for name in IN_CHECKOUT if os.path.lexists(os.path.join(folder, name))]


def accept(opened: OpenMemory) -> None:
    """Count what the checkout's memory files say now as the user's."""
    texts = [text for _, texts in _files(opened) for text in texts]
    # Where memory lies is said there, so a line that somebody adds to it later counts no more than one in a notebook.
    texts += (_text(opened, SETTINGS_FILE) or "").split("\n")
    everywhere = [unit for folder in _folders(opened.project.folder) for _, unit in _transcripts(folder)]
    opened.memory.context.trust.accept([*texts, *everywhere])
    opened.memory.context.drop_briefs()


def withdraw(opened: OpenMemory) -> bool:
    """Stop counting them; whether they counted."""
    trust = opened.memory.context.trust
    was = trust.is_trusted
    trust.decline()
    opened.memory.context.drop_briefs()
    return was


def is_trusted(around: Surroundings, folder: str) -> bool:
    """Whether the user trusts the checkout that holds a folder."""
    project = project_of(folder, around.home)
    try:
        return trust_of(around.home, project, app_open.disk(), around.clock).is_trusted
    except ByheartError:
        return False


def _files(opened: OpenMemory) -> Iterator[tuple[str, list[str]]]:
    """The checkout's notebooks with their entries, as they are vouched for; one that cannot be read has none."""
    context, folder = opened.memory.context, opened.project.folder
    places = {PROFILE: {PROFILE_FILE}, RULES: {REPO_RULES}, JOURNAL: {JOURNAL_FILE}}
    for key, name in _SETTINGS.items():
        chosen = opened.config.asked.get(key)
        if chosen:
            places[name].add(str(chosen))
    for name, paths in places.items():
        for path in sorted(paths):
            text = _text(opened, path)
            if text is None or (name == JOURNAL and not is_journal(Place(folder, path))):
                continue
            document = context.dialects[name].parse(text)
            yield path, vouched(name, document)
            if name == JOURNAL:
                yield from _beside(opened, path)


def _beside(opened: OpenMemory, journal: str) -> Iterator[tuple[str, list[str]]]:
    above = os.path.dirname(journal)
    for name in _BESIDE:
        text = _text(opened, os.path.join(above, name))
        if text is not None:
            yield os.path.join(above, name), [line for line in text.split("\n") if line.strip()]
    days = Place(opened.project.folder, os.path.join(above, "memory"))
    lines: list[str] = []
    for day in _names(opened, days):
        lines += (_text(opened, os.path.join(above, "memory", day)) or "").split("\n")
    if lines:
        yield os.path.join(above, "memory"), [line for line in lines if line.strip()]


def _names(opened: OpenMemory, folder: Place) -> list[str]:
    try:
        return [name for name in opened.files.names(folder) if name.endswith(".md")]
    except (ByheartError, OSError):
        return []


def _text(opened: OpenMemory, path: str) -> str | None:
    try:
        return opened.files.read(Place(opened.project.folder, path), opened.memory.context.journal.file_bytes).text
    except ByheartError:
        return None


def _folders(top: str) -> Iterator[str]:
    """The folders of a checkout, as far as agents may have been started in them."""
    for number, (above, names, _) in enumerate(os.walk(top)):
        if number == _MOST_FOLDERS:
            return
        names[:] = sorted(name for name in names if name not in (".git", "node_modules", ".venv"))
        yield above


def _transcripts(folder: str, *others: str) -> list[tuple[str, str]]:
    """Files that agents keep in a folder of a checkout: (path, as it is vouched for). One that changed is another."""
    found = []
    for name in (*IN_CHECKOUT, *others):
        top = os.path.join(folder, name)
        paths = (
            [os.path.join(above, each) for above, _, names in os.walk(top) for each in names]
            if os.path.isdir(top)
            else [top]
        )
        for path in paths:
            try:
                status = os.stat(path)
            except OSError:
                continue
            found.append((path, f"{path} {status.st_size} {status.st_mtime_ns}"))
    return found


def strange_transcripts(around: Surroundings, folder: str) -> set[str]:
    """Transcripts of a trusted checkout that somebody else's commits brought."""
    project = project_of(folder, around.home)
    trust = trust_of(around.home, project, app_open.disk(), around.clock)
    chosen = around.environment.get("AIDER_CHAT_HISTORY_FILE") or ""
    every = _transcripts(folder, *([chosen] if chosen and not os.path.isabs(chosen) else []))
    theirs = trust.strangers(Place(folder, "transcripts"), [unit for _, unit in every], FILES_OF)
    return {path for at, (path, _) in enumerate(every) if at in theirs}


def is_withdrawn(around: Surroundings, path: str) -> bool:
    """Whether a transcript lies in a checkout that its user no longer trusts, so that it counts as taken away."""
    inside = any(f"/{name}" in path for name in IN_CHECKOUT)
    return inside and os.path.isfile(path) and not is_trusted(around, os.path.dirname(path))


def may_read(around: Surroundings, folder: str) -> bool:
    """Whether transcripts in a checkout are the user's own: a clone may bring anybody's."""
    names = (*IN_CHECKOUT, around.environment.get("AIDER_CHAT_HISTORY_FILE") or IN_CHECKOUT[0])
    return any(os.path.lexists(os.path.join(folder, name)) for name in names) and is_trusted(around, folder)
