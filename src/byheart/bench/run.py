"""What the bench command measures, each with the models that this machine has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from byheart.app.open import recall_models
from byheart.bench import latency, learning, replay, retrieval
from byheart.bench.retrieval import installed
from byheart.domain.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from byheart.app.open import OpenMemory, Surroundings


def measured_retrieval(
    opened: OpenMemory,
    around: Surroundings,
    data: str,
    sets: Sequence[str],
    modes: Sequence[str],
    progress: Callable[[str], None],
    most: int | None,
    peers: Sequence[str] = (),
) -> list[dict[str, Any]]:
    """How well recall finds on labelled sets, in a folder of its own."""
    others = installed([] if "all" in peers else peers) if peers else []
    for name, known in ((name, retrieval.MODES) for name in modes):
        if name not in known:
            raise BadInput(f"{name!r} is no way of searching; known: {', '.join(known)}")
    mind = recall_models(around, opened.config, opened.home, str)
    if mind.embedder is None and mind.missing:
        progress(mind.missing)
    return retrieval.measured(data, sets or retrieval.SETS, modes or retrieval.MODES, mind, progress, most, others)


def measured_learning(
    opened: OpenMemory, around: Surroundings, data: str, sizes: Sequence[int], progress: Callable[[str], None]
) -> dict[str, Any]:
    """How well and how fast learning works, on data that somebody names."""
    mind = recall_models(around, opened.config, opened.home, str)
    if mind.embedder is None and mind.missing:
        progress(mind.missing)
    return learning.measured(data, sizes, mind, progress)


def measured_latency(sizes: Sequence[int], progress: Callable[[str], None]) -> list[dict[str, Any]]:
    """How fast recall is on made-up memories of these sizes."""
    return latency.measured(sizes, progress)


def measured_replay(data: str, only: Sequence[str], progress: Callable[[str], None]) -> dict[str, Any]:
    """What memory would have known, project by project, in a home that is thrown away."""
    return replay.measured(data, only, progress)
