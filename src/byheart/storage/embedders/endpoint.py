"""An embeddings server that speaks as OpenAI's does: Ollama, llama.cpp, vLLM, or a hosted one that the user chose."""

from __future__ import annotations

import json
import math
import struct
import urllib.error
import urllib.request
from collections.abc import Sequence

from byheart.domain.recall import NoModel

_AT_ONCE, _SECONDS, _LARGEST = 64, 20, 64_000_000


class _Straight(urllib.request.HTTPRedirectHandler):
    """Follows no redirect: the key and the texts are for the server that the user named."""

    def redirect_request(self, *_: object) -> None:
        return None


class EndpointEmbedder:
    """Asks `<address>/embeddings`. Texts that get here have been cleaned of secrets."""

    scale = (0.2, 0.5)

    def __init__(self, address: str, model: str, key: str | None = None) -> None:
        if not address.startswith(("http://", "https://")):
            raise NoModel(f"recall.endpoint is {address!r}; it must begin with http:// or https://")
        self._address, self._model, self._key = address.rstrip("/"), model, key
        self._opener = urllib.request.build_opener(_Straight)
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
        headers = {"Content-Type": "application/json"}
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        body = json.dumps({"model": self._model, "input": texts}).encode()
        request = urllib.request.Request(f"{self._address}/embeddings", body, headers)  # noqa: S310 - http(s) alone, checked above
        try:
            with self._opener.open(request, timeout=_SECONDS) as answer:
                told = json.loads(answer.read(_LARGEST))
            rows = sorted(told["data"], key=lambda row: row.get("index", 0))
            vectors = [_unit([float(each) for each in row["embedding"]]) for row in rows]
        except (urllib.error.URLError, OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise NoModel(f"{self._address}/embeddings did not answer as expected ({str(error)[:120]})") from None
        if len(vectors) != len(texts) or len({len(each) for each in vectors}) != 1 or not vectors[0]:
            raise NoModel(f"{self._address}/embeddings gave {len(vectors)} vectors for {len(texts)} texts")
        return vectors


def _unit(values: list[float]) -> bytes:
    length = math.sqrt(sum(each * each for each in values)) or 1.0
    return struct.pack(f"<{len(values)}f", *(each / length for each in values))
