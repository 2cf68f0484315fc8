"""Checkups: what the machine says about itself."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

from byheart.app.open import OpenMemory
from byheart.domain.documents import Place
from byheart.domain.errors import ByheartError
from byheart.domain.reports import Checkup
from byheart.search.models import USE, noted
from byheart.storage.embedders import shipped
from byheart.storage.index.records import NotebookIndex
from byheart.storage.queue.sqlite import SqliteQueue


def checkups(opened: OpenMemory, versions: Sequence[tuple[str, str]]) -> list[Checkup]:
    """What the machine says about itself: versions, the home folder, its modes and whether it can be written."""
    found = [Checkup(subject=name, state="ok", detail=version) for name, version in versions]
    home = opened.home
    if not os.path.isdir(home):
        found.append(Checkup(subject="home", state="ok", detail=f"{home} (not there yet)"))
    else:
        loose = [
            os.path.join(folder, name)
            for folder, _, names in os.walk(home)
            for name in names
            if os.lstat(os.path.join(folder, name)).st_mode & 0o077
        ]
        state, detail = ("warning", f"{home}: other users can read {loose[0]}") if loose else ("ok", home)
        if not os.access(home, os.W_OK):
            state, detail = "failure", f"{home} cannot be written"
        found.append(Checkup(subject="home", state=state, detail=detail))
    found += [
        Checkup(
            subject="unused notebook",
            state="warning",
            detail=f"{path} is not read here; byheart import can bring it over",
        )
        for path in opened.shadowed
    ]
    found += _learning_checkups(opened)
    project = opened.project
    identity = project.remote or project.common_folder or project.folder
    found.append(Checkup(subject="project", state="ok", detail=f"{project.id} ({identity})"))
    return [*found, *_recall_checkups(opened)]


def _learning_checkups(opened: OpenMemory) -> Iterator[Checkup]:
    """How learning stands: whether it runs by itself, what it knows, and what failed for good."""
    path = os.path.join(opened.home, "state", "state.db")
    way = "by itself" if opened.config.flag("learning.enabled") else "when byheart learn is run"
    if not os.path.exists(path):
        yield Checkup(subject="learning", state="ok", detail=f"{way}; nothing was learnt yet")
        return
    try:
        queue = SqliteQueue(path, lambda: datetime.now(UTC))
        known = {project: len(queue.threads(project)) for project in queue.projects()}
        dead = sum(job.state == "dead" for job in queue.jobs())
    except ByheartError as error:
        yield Checkup(subject="learning", state="warning", detail=str(error))
        return
    told = f"{way}; {sum(known.values()):,} sessions of {len(known)} projects learnt from"
    problem = f"; {dead} failed for good (byheart jobs)" if dead else ""
    yield Checkup(subject="learning", state="warning" if dead else "ok", detail=told + problem)


def _recall_checkups(opened: OpenMemory) -> Iterator[Checkup]:
    """How recall stands: the index, the models, and the caches of a process that lives long."""
    path = os.path.join(opened.home, "state", "index.db")
    if not os.path.exists(path):
        yield Checkup(subject="index", state="ok", detail=f"{path} (not there yet)")
    else:
        try:
            told = ", ".join(f"{count:,} {name}" for name, count in NotebookIndex(path).counts().items())
            yield Checkup(subject="index", state="ok", detail=f"{path}: {told}, {os.path.getsize(path) / 1e6:.1f} MB")
        except ByheartError as error:
            yield Checkup(subject="index", state="warning", detail=str(error))

    if opened.config.text("recall.embedder") == "builtin":
        model = shipped.EMBEDDER
        is_there = shipped.is_there(model, os.path.join(opened.home, "models"))
        detail = model.name if is_there else f"{model.name} is not installed; get it with: byheart model install"
        yield Checkup(subject="model", state="ok" if is_there else "warning", detail=detail)
    use = noted(opened.files, Place(opened.home, USE))
    for name, counts in use[1].items() if use else ():
        shown = ", ".join(f"{value:,} {key}" for key, value in counts.items())
        yield Checkup(subject=f"{name} cache", state="ok", detail=f"{shown} (as of {_moment(use[0]) if use else ''})")


def _moment(at: int) -> str:

    return f"{datetime.fromtimestamp(at).astimezone():%Y-%m-%d %H:%M}"
