"""From an error to an exit code and a message, once for all interfaces."""

from __future__ import annotations

import json
import sys
import traceback
from typing import TYPE_CHECKING, TypeVar

from byheart.domain.errors import Ambiguous, ByheartError, Unsafe
from byheart.domain.records import Record
from byheart.domain.values import replace
from byheart.interfaces.render import as_json, short, width, wrapped
from byheart.text.deferred import module
from byheart.text.unicode import visible

if TYPE_CHECKING:
    from collections.abc import Callable

    from byheart.app import open as app_open
else:
    app_open = module("byheart.app.open")

INTERNAL = 5
Answer = TypeVar("Answer")


def told(error: ByheartError, *, as_object: bool) -> int:
    """Say on stderr what went wrong, as a sentence or as JSON; the exit code. What a person typed is quoted, so it is
    looked through for secrets first."""
    message = _safe(error)
    if as_object:
        body: dict[str, object] = {"error": type(error).__name__, "message": message, "exit_code": error.exit_code}
        if isinstance(error, Ambiguous):
            hidden = [
                replace(hit, record=Record(text="(labelled secret)")) if hit.record.is_secret else hit
                for hit in error.matches
            ]
            body["matches"] = as_json(hidden)
        if isinstance(error, Unsafe):
            body["findings"] = as_json(error.findings)
        sys.stderr.write(app_open.redacted(json.dumps(body, ensure_ascii=False)) + "\n")
    else:
        sys.stderr.write(wrapped(short(f"byheart: {visible(message)}"), width(sys.stderr)) + "\n")
        if isinstance(error, Ambiguous):
            for hit in error.matches:
                sys.stderr.write(short(f"  {hit.id}  {hit.path}:{hit.line}") + "\n")
    return error.exit_code


def _safe(error: ByheartError) -> str:
    """What an error says, without secrets that somebody typed; the name of the rule that found one is none itself."""
    message = str(error)
    rules = [f"[{each.rule}]" for each in error.findings] if isinstance(error, Unsafe) else []
    for place, rule in enumerate(rules):
        message = message.replace(rule, f"[\x00{place}]")
    message = app_open.redacted(message)
    for place, rule in enumerate(rules):
        message = message.replace(f"[\x00{place}]", rule)
    return message


def unexpected(error: Exception, *, debug: bool) -> int:
    """A fault of ours. The traceback may hold memory text, so it is shown only on request."""
    if debug:
        traceback.print_exc(file=sys.stderr)
    else:
        name = type(error).__name__
        sys.stderr.write(f"byheart: internal error ({name}); nothing was lost. Set BYHEART_DEBUG=1 to see where\n")
    return INTERNAL


def guarded(do: Callable[[], Answer], otherwise: Callable[[str], Answer]) -> Answer:
    """What something comes to where one fault must not end everything: an answer that says so, with no more than its name."""
    try:
        return do()
    except Exception as error:  # noqa: BLE001 - the boundary of a server: the next request is another's
        name = type(error).__name__
        sys.stderr.write(f"byheart: internal error ({name})\n")
        return otherwise(f"internal error ({name}); nothing was lost")
