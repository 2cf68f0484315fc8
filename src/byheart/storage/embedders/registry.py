"""Which embedder a configuration means."""

from __future__ import annotations

from byheart.domain.recall import Embedder, NoModel, Reranker
from byheart.domain.values import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelChoice:
    """What the user chose: a kind, and what that kind needs."""

    kind: str
    store: str
    folder: str = ""
    address: str = ""
    model: str = ""
    key: str | None = None


def embedder(choice: ModelChoice) -> Embedder:
    """The embedder that was chosen. Raises NoModel with what is missing."""
    match choice.kind:
        case "builtin":
            try:
                from byheart.storage.embedders.builtin import BuiltinEmbedder
            except ImportError:
                raise NoModel("vectors need numpy, which is not installed; pip install numpy gets it") from None
            return BuiltinEmbedder(choice.store)
        case "onnx":
            from byheart.storage.embedders.onnx import OnnxEmbedder

            return OnnxEmbedder(choice.folder)
        case "endpoint":
            from byheart.storage.embedders.endpoint import EndpointEmbedder

            return EndpointEmbedder(choice.address, choice.model, choice.key)
        case "sha1":
            from byheart.storage.embedders.hashed import HashedEmbedder

            return HashedEmbedder()
        case "static":
            from byheart.storage.embedders.static import StaticEmbedder

            return StaticEmbedder(choice.folder)
    raise NoModel("vectors are switched off (recall.embedder is none)")


def reranker(choice: ModelChoice) -> Reranker:
    """The model for reading closely. Raises NoModel."""
    try:
        from byheart.storage.embedders.builtin import BuiltinReranker
    except ImportError:
        raise NoModel("--deep needs numpy, which is not installed; pip install numpy gets it") from None
    return BuiltinReranker(choice.store)
