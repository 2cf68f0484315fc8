"""Which embedder a configuration means, and those without weights: a server that speaks as OpenAI's does, and hashed words."""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from typing import TYPE_CHECKING

from byheart.domain.recall import Embedder, NoModel, Reranker
from byheart.domain.values import dataclass
from byheart.text.deferred import module
from byheart.text.similarity import WIDTH, hashed

if TYPE_CHECKING:
    from byheart.storage import json_client
    from byheart.storage.embedders import local
else:
    local = module("byheart.storage.embedders.local")
    json_client = module("byheart.storage.json_client")


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
                from byheart.storage.embedders.local import BuiltinEmbedder
            except ImportError:
                raise NoModel(
                    "vectors need numpy, which is not installed; install it with: pip install numpy"
                ) from None
            return BuiltinEmbedder(choice.store)
        case "onnx":
            return local.OnnxEmbedder(choice.folder)
        case "endpoint":
            return EndpointEmbedder(choice.address, choice.model, choice.key)
        case "sha1":
            return HashedEmbedder()
        case "static":
            return local.StaticEmbedder(choice.folder)
    raise NoModel("vectors are off (recall.embedder is none)")


def reranker(choice: ModelChoice) -> Reranker:
    """The model for reading closely. Raises NoModel."""
    try:
        from byheart.storage.embedders.local import BuiltinReranker
    except ImportError:
        raise NoModel("--deep needs numpy, which is not installed; install it with: pip install numpy") from None
    return BuiltinReranker(choice.store)


_AT_ONCE, _SECONDS, _LARGEST = 64, 20, 64_000_000


class EndpointEmbedder:
    """Asks `<address>/embeddings`. Texts that get here have been cleaned of secrets."""

    scale = (0.2, 0.5)

    def __init__(self, address: str, model: str, key: str | None = None) -> None:
        if not address.startswith(("http://", "https://")):
            raise NoModel(f"recall.endpoint is {address!r}; it must begin with http:// or https://")
        self._address, self._model, self._key = address.rstrip("/"), model, key
        self.id = f"endpoint:{model}"
        self.width = len(self.embed(["width"])[0]) // 4

    def embed(self, texts: Sequence[str]) -> list[bytes]:
        """A vector of length one for each text, as float32. Raises NoModel where the server does not answer."""
        found: list[bytes] = []
        for start in range(0, len(texts), _AT_ONCE):
            some = [text or " " for text in texts[start : start + _AT_ONCE]]
            found += self._asked(some)
        return found

    def _asked(self, texts: list[str]) -> list[bytes]:
        # The web's modules take longer to load than a short answer takes, and most users have no server.
        body = {"model": self._model, "input": texts}
        headers = {"Authorization": f"Bearer {self._key}"} if self._key else {}
        try:
            told = json_client.post(f"{self._address}/embeddings", body, headers, seconds=_SECONDS, largest=_LARGEST)
            rows = sorted(told["data"], key=lambda row: row.get("index", 0))
            vectors = [_unit([float(each) for each in row["embedding"]]) for row in rows]
        except (json_client.BadStatus, OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise NoModel(f"{self._address}/embeddings did not answer as expected ({str(error)[:120]})") from None
        if len(vectors) != len(texts) or len({len(each) for each in vectors}) != 1 or not vectors[0]:
            raise NoModel(f"{self._address}/embeddings gave {len(vectors)} vectors for {len(texts)} texts")
        return vectors


def _unit(values: list[float]) -> bytes:
    length = math.sqrt(sum(each * each for each in values)) or 1.0
    return struct.pack(f"<{len(values)}f", *(each / length for each in values))


class HashedEmbedder:
    """For vectors that another program compares with its own."""

    id = "sha1-128"
    width = WIDTH
    scale = (0.1, 0.5)

    def embed(self, texts: Sequence[str]) -> list[bytes]:
        """A vector of length one for each text, as float32; all zeros where a text has no word in it."""
        return [struct.pack(f"<{WIDTH}f", *hashed(text)) for text in texts]
