"""MCP over standard streams: one message a line. Handshakes and lists are answered at once; what needs memory is done by a
thread of its own, in order, so that nobody waits for it who need not."""

from __future__ import annotations

import json
import os
import sys
import threading

from byheart.interfaces.mcp import protocol

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, BinaryIO

    from byheart.interfaces.mcp.protocol import Message
    from byheart.interfaces.mcp.tools import MemoryTools

_LARGEST = 8_000_000
# How long a first call waits for the client to say where it is, in seconds.
_PATIENCE = 2.0
_ROOTS = "byheart-roots"


class StreamClient:
    """One client on the other end of two streams."""

    def __init__(self, incoming: BinaryIO, outgoing: BinaryIO, folder: str) -> None:
        self._incoming, self._outgoing, self._folder = incoming, outgoing, folder
        self._writing = threading.Lock()
        self._waiting: list[Message] = []
        self._there = threading.Condition()
        self._cancelled: set[object] = set()
        self._doing: object = None
        self._has_roots = False
        self._located = threading.Event()
        self._located.set()
        self._tools: MemoryTools | None = None
        self._ended = False

    def run(self) -> int:
        """Answer until the client has gone."""
        worker = threading.Thread(target=self._work, daemon=True)
        worker.start()
        while line := self._incoming.readline(_LARGEST + 1):
            if len(line) > _LARGEST and not line.endswith(b"\n"):
                while (rest := self._incoming.readline(_LARGEST)) and not rest.endswith(b"\n"):
                    pass
                self._send(protocol.error(None, protocol.INVALID_REQUEST, f"a message may have {_LARGEST:,} bytes"))
            elif line.strip():
                self._hear(line)
        with self._there:
            self._ended = True
            self._there.notify()
        worker.join()
        return 0

    def _hear(self, line: bytes) -> None:
        try:
            message: Any = json.loads(line)
        except (ValueError, RecursionError):
            self._send(protocol.error(None, protocol.PARSE_ERROR, "not valid JSON"))
            return
        for each in message if isinstance(message, list) and message else [message]:
            self._take(each)

    def _take(self, message: Any) -> None:
        if isinstance(message, dict):
            if "method" not in message and message.get("id") == _ROOTS:
                self._told_roots(message.get("result"))
                return
            self._notice(message)
            if protocol.is_slow(message):
                with self._there:
                    # An id that was cancelled is free again once somebody asks under it.
                    self._cancelled.discard(message.get("id"))
                    self._waiting.append(message)
                    self._there.notify()
                return
        # Only what is answered from plain values gets here.
        found = protocol.answer(message, None)
        if found is not None:
            self._send(found)

    def _notice(self, message: Message) -> None:
        """What a message says beside what it asks."""
        method, params = message.get("method"), message.get("params")
        given = params if isinstance(params, dict) else {}
        if method == "initialize":
            capabilities = given.get("capabilities")
            self._has_roots = isinstance(capabilities, dict) and "roots" in capabilities
            if self._has_roots:
                self._located.clear()
        elif method in ("notifications/initialized", "notifications/roots/list_changed") and self._has_roots:
            self._located.clear()
            self._send({"jsonrpc": "2.0", "id": _ROOTS, "method": "roots/list"})
        elif method == "notifications/cancelled" and protocol.is_id(given.get("requestId")):
            with self._there:
                # What was answered long ago cannot be cancelled, and need not be remembered.
                if given.get("requestId") in (self._doing, *(each.get("id") for each in self._waiting)):
                    self._cancelled.add(given.get("requestId"))

    def _told_roots(self, result: object) -> None:
        roots = result.get("roots") if isinstance(result, dict) else None
        named = [each.get("uri") for each in roots if isinstance(each, dict)] if isinstance(roots, list) else []
        if named:
            from byheart.interfaces.mcp.tools import folder_of

            folder = folder_of([each for each in named if isinstance(each, str)], os.getcwd())
            with self._there:
                if folder != self._folder:
                    self._folder, self._tools = folder, None
        self._located.set()

    def _work(self) -> None:
        """Do what needs memory, one after the other: databases belong to one thread."""
        while True:
            with self._there:
                while not self._waiting and not self._ended:
                    self._there.wait()
                if not self._waiting:
                    return
                message = self._waiting.pop(0)
                id_ = self._doing = message.get("id")
                is_wanted = id_ not in self._cancelled
            found = self._done(message, id_) if is_wanted else None
            with self._there:
                is_wanted = id_ not in self._cancelled
                self._cancelled.discard(id_)
                self._doing = None
            if found is not None and is_wanted:
                self._send(found)

    def _done(self, message: Message, id_: object) -> Message | None:
        # A client that never says where it is has been started somewhere.
        self._located.wait(_PATIENCE)
        self._located.set()
        from byheart.interfaces.faults import guarded

        return guarded(lambda: protocol.answer(message, self._made()), lambda text: protocol.error(id_, protocol.INTERNAL, text))  # fmt: skip

    def _made(self) -> MemoryTools:
        from byheart.interfaces.mcp.tools import MemoryTools

        with self._there:
            folder, tools = self._folder, self._tools
        if tools is None:
            tools = MemoryTools(folder, dict(os.environ))
            with self._there:
                if folder == self._folder:
                    self._tools = tools
        return tools

    def _send(self, message: Message) -> None:
        line = json.dumps(message, ensure_ascii=False).encode("utf-8", "replace") + b"\n"
        with self._writing:
            self._outgoing.write(line)
            self._outgoing.flush()


def main(arguments: list[str]) -> int:
    """`byheart mcp` over standard streams; -1 where it is called in any other way, which the command line sees to."""
    plain = not arguments or (len(arguments) == 2 and arguments[0] == "-C")
    if not plain:
        return -1
    return serve(arguments[1] if arguments else os.getcwd())


def serve(folder: str) -> int:
    """Serve a client on the other end of the standard streams until it has gone."""
    # Whatever prints must not get between messages.
    outgoing = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    try:
        return StreamClient(sys.stdin.buffer, outgoing, os.path.realpath(folder)).run()
    except (BrokenPipeError, KeyboardInterrupt):
        return 0
