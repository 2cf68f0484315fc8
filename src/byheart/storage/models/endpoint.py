"""A server that speaks as OpenAI's chat does: Ollama, llama.cpp, vLLM, or a hosted one that the user chose."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from typing import Any

from byheart.domain.models import NoAnswer

_LARGEST = 4_000_000
# What a server says where it does not like the question itself; anything else may pass.
_QUESTION = (400, 413, 422)


class _Straight(urllib.request.HTTPRedirectHandler):
    """Follows no redirect: the key and the transcript are for the server that the user named."""

    def redirect_request(self, *_: object) -> None:
        return None


class EndpointModel:
    """Asks `<address>/chat/completions`. What gets here has been cleaned of secrets."""

    def __init__(self, address: str, model: str, key: str | None, seconds: float) -> None:
        self._url = f"{address.rstrip('/')}/chat/completions"
        self._model, self._key, self._seconds = model, key, seconds
        self.id = f"endpoint:{address}:{model}"
        self._opener = urllib.request.build_opener(_Straight)

    def answer(self, system: str, prompt: str) -> str:
        """What the model says. Raises NoAnswer."""
        headers = {"Content-Type": "application/json"}
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        messages = [{"role": "system", "content": system}, {"role": "user", "content": prompt}]
        body = json.dumps({"model": self._model, "messages": messages, "stream": False}).encode()
        request = urllib.request.Request(self._url, body, headers)  # noqa: S310 - http(s) alone, checked where it is set
        try:
            with self._opener.open(request, timeout=self._seconds) as told:
                content = told.read(_LARGEST + 1)
        except urllib.error.HTTPError as error:
            with error:
                alone = error.code in _QUESTION
                raise NoAnswer(f"{self._url} answered {error.code} {error.reason}", for_this_alone=alone) from None
        except (OSError, ValueError) as error:
            raise NoAnswer(f"{self._url} did not answer ({str(error)[:120]})") from None
        return self._said(content)

    def _said(self, content: bytes) -> str:
        if len(content) > _LARGEST:
            raise NoAnswer(f"{self._url} answered with more than {_LARGEST:,} bytes", for_this_alone=True)
        try:
            told: Any = json.loads(content)
            text = told["choices"][0]["message"]["content"]
        except (ValueError, LookupError, TypeError, RecursionError):
            raise NoAnswer(f"{self._url} did not answer as a chat server does") from None
        if not isinstance(text, str):
            raise NoAnswer(f"{self._url} answered without a text", for_this_alone=True)
        return text
