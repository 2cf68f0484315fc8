"""JSON over HTTP, asked of a server that the user named. No redirect is followed: the key and the texts are for that server alone."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from typing import Any


class BadStatus(Exception):
    """The server answered with a status that is no answer."""

    def __init__(self, code: int, reason: str) -> None:
        self.code = code
        super().__init__(f"{code} {reason}")


class TooLarge(ValueError):
    """The answer is larger than was allowed."""


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: object) -> None:
        return None


def post(url: str, body: object, key: str | None, *, seconds: float, largest: int) -> Any:
    """The answer as JSON. Raises BadStatus for a status of the server's, OSError where there is no answer, TooLarge beyond `largest` bytes,
    and ValueError for what is no JSON or no address of the web."""
    if not url.startswith(("http://", "https://")):
        raise ValueError(f"{url!r} must begin with http:// or https://")
    headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {key}"} if key else {})
    request = urllib.request.Request(url, json.dumps(body).encode(), headers)  # noqa: S310 - checked above
    try:
        with urllib.request.build_opener(_NoRedirect).open(request, timeout=seconds) as answer:
            content = answer.read(largest + 1)
    except urllib.error.HTTPError as error:
        with error:
            raise BadStatus(error.code, str(error.reason)) from None
    if len(content) > largest:
        raise TooLarge(f"answered with more than {largest:,} bytes")
    try:
        return json.loads(content)
    except RecursionError:
        raise ValueError("nested too deeply") from None
