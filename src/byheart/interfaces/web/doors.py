"""Memory asked by one thread, which keeps it open, since databases belong to a thread; and what errors come to over HTTP."""

from __future__ import annotations

import asyncio
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from byheart.app.gateway import Gateway
from byheart.app.gateway_rows import plain
from byheart.app.open import redacted
from byheart.domain.errors import BadInput, Busy, ByheartError, Conflict, Environment, NothingFound, NotUndoable

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from byheart.interfaces.mcp.protocol import Message

Answer = TypeVar("Answer")


class Problem(Exception):
    """What cannot be done, as it is answered: a status, a name and a sentence."""

    def __init__(self, status: int, name: str, message: str) -> None:
        self.status, self.name, self.message = status, name, message
        super().__init__(message)


class Doors:
    """The gateway of one folder, for any number of callers at once."""

    def __init__(self, folder: str, environment: Mapping[str, str] | None = None) -> None:
        self._folder, self._environment = folder, dict(environment or os.environ)
        self._worker = ThreadPoolExecutor(max_workers=1, thread_name_prefix="memory")
        self._gateway: Gateway | None = None
        self._tools: Any = None

    async def ask(self, what: Callable[[Gateway], Answer], project: str | None = None) -> Any:
        """What the gateway gives, in plain values. Raises Problem."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._worker, partial(self._asked, what, project))

    def _asked(self, what: Callable[[Gateway], Answer], project: str | None) -> Any:
        try:
            if self._gateway is None:
                self._gateway = Gateway(self._folder, self._environment)
            return plain(what(self._gateway.at(project)))
        except ByheartError as error:
            raise Problem(_status(error), type(error).__name__, redacted(str(error))) from None
        except (RecursionError, OSError, ValueError, LookupError, TypeError, AttributeError, ArithmeticError, AssertionError, StopIteration, RuntimeError) as error:  # fmt: skip
            # The next request is another's; what went wrong may quote somebody's words, so only its name is told.
            sys.stderr.write(f"byheart: internal error ({type(error).__name__})\n")
            if os.environ.get("BYHEART_DEBUG") == "1":
                raise
            name = type(error).__name__
            raise Problem(500, "Internal", f"internal error ({name}); nothing was lost") from None

    async def mcp(self, message: Message) -> Message | None:
        """A message of the Model Context Protocol."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._worker, partial(self._mcp, message))

    def _mcp(self, message: Message) -> Message | None:
        from byheart.interfaces.faults import guarded
        from byheart.interfaces.mcp import protocol
        from byheart.interfaces.mcp.tools import MemoryTools

        if self._tools is None:
            self._tools = MemoryTools(self._folder, self._environment)
        return guarded(lambda: protocol.answer(message, self._tools), lambda text: protocol.error(message.get("id"), protocol.INTERNAL, text))  # fmt: skip

    def close(self) -> None:
        """Let go of memory."""
        self._worker.shutdown(wait=False, cancel_futures=True)


def _status(error: ByheartError) -> int:
    if isinstance(error, NothingFound):
        return 404
    if isinstance(error, BadInput):
        return 400
    if isinstance(error, Busy):
        return 503
    if isinstance(error, Conflict | NotUndoable):
        return 409
    # Text that may not be stored, and a value that a setting does not take.
    return 503 if isinstance(error, Environment) else 403
