"""JSON over HTTP, asked of a server that the user named. No redirect is followed: the key and the texts are for that server alone."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping


class BadStatus(Exception):
    """The server answered with a status that is no answer."""

    def __init__(self, code: int, reason: str, wait: float | None = None) -> None:
        self.code = code
        # How long the server wants to be left alone, in seconds, where it says so.
        self.wait = wait
        super().__init__(f"{code} {reason}")


class TooLarge(ValueError):
    """The answer is larger than was allowed."""


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: object) -> None:
        return None


def post(url: str, body: object, headers: Mapping[str, str], *, seconds: float, largest: int) -> Any:
    """The answer as JSON. Raises BadStatus for a status of the server's, OSError where there is no answer, TooLarge beyond `largest` bytes,
    and ValueError for what is no JSON or no address of the web."""
    if not url.startswith(("http://", "https://")):
        raise ValueError(f"{url!r} must begin with http:// or https://")
    told = {"Content-Type": "application/json", **headers}
    request = urllib.request.Request(url, json.dumps(body).encode(), told)  # noqa: S310 - checked above
    try:
        with urllib.request.build_opener(_NoRedirect).open(request, timeout=seconds) as answer:
            content = answer.read(largest + 1)
    except urllib.error.HTTPError as error:
        with error:
            raise BadStatus(error.code, str(error.reason), _wait_of(error.headers.get("Retry-After"))) from None
    if len(content) > largest:
        raise TooLarge(f"answered with more than {largest:,} bytes")
    try:
        return json.loads(content)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def _wait_of(text: str | None) -> float | None:
    """Seconds that a server asks for; a date is none that is waited for."""
    try:
        return max(0.0, float(text)) if text else None
    except ValueError:
        return None
