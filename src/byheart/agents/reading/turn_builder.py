"""What all readers share: numbering turns, joining calls with their results, keeping a session's facts."""

from __future__ import annotations

import hashlib
import re
import zlib
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from byheart.agents.reading import tools
from byheart.agents.reading.tools import arguments_of
from byheart.agents.reading.values import flat, listed, listing, mapping, string
from byheart.domain.sessions import (
    Answered,
    Began,
    Event,
    Restood,
    Said,
    Session,
    Speaker,
    Standing,
    Tally,
    Touch,
    Turn,
)
from byheart.domain.values import replace
from byheart.text.client_text import parted, printed

# Calls whose result has not come; a file that never answers must not fill the memory.
_OPEN_CALLS = 2_000
_LONGEST_FACT = 20_000
# What a reader decides by, and which is kept between two readings. The others stand in the index, cleaned, and stay
# there until better ones are known.
_FACTS = ("id", "parent", "closed")
_TELLING = ("cwd", "version", "title", "branch", "commit", "remote")


class TurnBuilder:
    """Collects what a reader finds as events."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.number = 0
        self.standing = Standing.LIVE
        self._told: Session | None = None
        self._events: list[Event] = []
        self._calls: dict[str, tuple[int, bool]] = {}
        self._first: datetime | None = None
        self._last: datetime | None = None
        self._origin: tuple[object, ...] = ()
        self._turns_of = 0

    def at_line(self, *origin: object) -> None:
        """The client's own id of what comes next, in parts; empty where it has none. Most lines tell nothing, so it is put
        together only when a turn asks for it."""
        self._origin, self._turns_of = origin, 0

    def _mark(self) -> int | None:
        origin = ":".join(map(str, self._origin))
        if not origin:
            return None
        self._turns_of += 1
        name = f"{origin}/{self._turns_of}".encode("utf-8", "replace")
        return int.from_bytes(hashlib.blake2b(name, digest_size=8).digest(), "big", signed=True)

    def know(self, **facts: Any) -> None:
        """Better knowledge of the session; what is None or empty changes nothing."""
        session = self.session
        fresh = {key: value for key, value in facts.items() if value and getattr(session, key) != value}
        for key, value in fresh.items():
            if isinstance(value, str) and len(value) > _LONGEST_FACT:
                fresh[key] = value[:_LONGEST_FACT]
        if fresh:
            self.session = replace(session, **fresh)

    def know_first(self, **facts: Any) -> None:
        """The same, for facts that the beginning of a file settles."""
        self.know(**{key: value for key, value in facts.items() if not getattr(self.session, key)})

    def begin(self, session: Session) -> None:
        """Another session starts in the same file."""
        self._settle()
        self.session, self._told = session, None
        self.number, self._calls = 0, {}
        self._first = self._last = None

    def seen(self, at: datetime | None) -> None:
        """Something happened at this time."""
        if at is None:
            return
        if self._first is None or self._last is None:
            self._first = self._last = at
        elif at > self._last:
            self._last = at
        elif at < self._first:
            self._first = at

    @property
    def started(self) -> datetime | None:
        return self._first

    def say(
        self,
        role: str,
        speaker: Speaker,
        text: str,
        at: datetime | None,
        *,
        synthetic: str | None = None,
        side: str | None = None,
    ) -> int | None:
        """A turn that is only text; an empty one is none."""
        text = text.strip()
        if not text:
            return None
        if synthetic is not None and not _REASON.fullmatch(synthetic):
            synthetic = "added by the client"
        if role not in _ROLES:
            role = "other"
        self._begun()
        self.number += 1
        self._events.append(
            Said(
                Turn(
                    number=self.number,
                    role=role,
                    speaker=speaker,
                    origin=self._mark(),
                    text=text,
                    at=at,
                    synthetic=synthetic,
                    side=side,
                    standing=self.standing,
                )
            )
        )
        return self.number

    def hear(
        self,
        text: str,
        at: datetime | None,
        *,
        role: str = "user",
        side: str | None = None,
        wrappers: Sequence[str] = (),
    ) -> int | None:
        """A message under the user's role: the person's words as one turn, what the client added as others. The number of
        the person's own turn, if there is one."""
        parts = parted(text, wrappers)
        for reason, added in parts.added:
            self.say(role, Speaker.SYSTEM, added, at, synthetic=reason, side=side)
        if side is not None:
            self.say(role, Speaker.ASSISTANT, parts.own, at, synthetic="task for a sub-agent", side=side)
            return None
        return self.say(role, Speaker.USER, parts.own, at)

    def call(
        self,
        call: str | None,
        tool: str,
        arguments: Any,
        at: datetime | None,
        *,
        side: str | None = None,
        command: str | None = None,
    ) -> int:
        """A tool call, whose result may follow."""
        self._begun()
        self.number += 1
        command = command or tools.command_of(tool, arguments)
        if call:
            if len(self._calls) >= _OPEN_CALLS:
                self._calls.pop(next(iter(self._calls)))
            self._calls[_call_name(call)] = (self.number, command is not None)
        self._events.append(
            Said(
                Turn(
                    number=self.number,
                    role="assistant",
                    speaker=Speaker.TOOL,
                    origin=self._mark(),
                    at=at,
                    side=side,
                    standing=self.standing,
                    tool=_NAME.sub("?", tool)[:200] or "tool",
                    call=call,
                    arguments=listed(_besides(arguments) if command else arguments),
                    command=command,
                    touches=tools.touches_of(tool, arguments, command),
                )
            )
        )
        return self.number

    def answer(
        self,
        call: str | None,
        output: str | None,
        at: datetime | None,
        *,
        status: int | None = None,
        failed: bool | None = None,
        touches: Iterable[Touch] = (),
        tool: str = "tool",
        well: bool = False,
    ) -> None:
        """A call's result. One without a call stands by itself, so that nothing is lost; `well` says that a command ended
        with 0."""
        self._begun()
        name = _call_name(call) if call else ""
        known = self._calls.pop(name, None)
        if known is None:
            number, ran = self.call(call, tool, None, at), False
            self._calls.pop(name, None)
        else:
            number, ran = known
        if status is None and ran:
            status = 0 if well else tools.exit_of(output)
        if ran and output:
            output = printed(output)
        self._events.append(
            Answered(number=number, output=output, exit=status, failed=failed, at=at, touches=tuple(touches))
        )

    def amend(self, number: int, output: str, status: int, at: datetime | None) -> None:
        """The true end of a call that had been answered before it was over."""
        self._begun()
        self._events.append(Answered(number=number, output=output, exit=status, at=at, more=True))

    def is_open(self, call: str) -> bool:
        return _call_name(call) in self._calls

    def stand(self, numbers: Iterable[int], standing: Standing) -> None:
        """Turns that count no longer, or again."""
        changed = tuple(numbers)
        if changed:
            self._begun()
            self._events.append(Restood(changed, standing))

    def take(self) -> Sequence[Event]:
        """What was found since the last time. Most lines tell nothing, and cost nothing then."""
        events = self._events
        if events:
            self._events = []
        return events

    def end(self) -> Sequence[Event]:
        """What is left at the end of the file."""
        self._settle()
        return self.take()

    def _begun(self) -> None:
        if self._told is None:
            self._told = self.session
            self._events.append(Began(self.session))

    def _settle(self) -> None:
        self.session = replace(self.session, started=self._first, ended=self._last)
        # A header alone is worth telling too: the turns that follow may be read another time.
        if self._told != self.session and (self.number or any(getattr(self.session, name) for name in _TELLING)):
            self._told = self.session
            self._events.append(Began(self.session))

    def state(self) -> dict[str, Any]:
        """What has to be remembered to go on later."""
        session = self.session
        return {
            "number": self.number,
            "standing": self.standing.value,
            "calls": [[call, number, ran] for call, (number, ran) in self._calls.items()],
            "facts": {name: getattr(session, name) for name in _FACTS},
            "times": [each.isoformat() if each else None for each in (self._first, self._last)],
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from there. Raises KeyError, TypeError or ValueError for a state that is not one."""
        self._first, self._last = [datetime.fromisoformat(each) if each else None for each in state["times"]]
        self.session = replace(self.session, **state["facts"], started=self._first, ended=self._last)
        # Told again with the first thing that is found, so that what follows has a session to belong to.
        self._told = None
        self.number = int(state["number"])
        self.standing = Standing(state["standing"])
        self._calls = {call: (int(number), bool(ran)) for call, number, ran in state["calls"]}


# What is kept as it stands; a role that could be anything is not.
_ROLES = frozenset({"user", "assistant", "system", "developer", "tool", "custom", "hookMessage"}) | {
    "branchSummary",
    "compactionSummary",
}
_REASON = re.compile(r"[a-z][a-z -]{0,40}")
_NAME = re.compile(r"[^\w.:/@ +-]")


def _call_name(call: str) -> str:
    """A call's id for keeping: short as it is, a digest where it could hold anything."""
    return call if len(call) <= 16 else f"{len(call)}:{zlib.crc32(call.encode('utf-8', 'replace')):08x}"


_COMMANDS = frozenset(
    {"command", "cmd", "commands", "script", "description", "timeout", "yield_time_ms", "max_output_tokens"}
)


def _besides(arguments: Any) -> Any:
    """A command's arguments without the command itself, which stands in a place of its own."""
    if isinstance(arguments, str):
        return None
    if not isinstance(arguments, dict):
        return arguments
    return {key: value for key, value in arguments.items() if key not in _COMMANDS} or None


def counted(tally: Tally, unknown: str | None, size: int) -> None:
    """Count a line: known, or unknown under its type's name."""
    tally.lines += 1
    if unknown is None:
        tally.known_lines += 1
        tally.known_bytes += size
    else:
        tally.unknown[unknown[:2_000]] += 1


def chat_message(builder: TurnBuilder, message: dict[str, Any], at: Any) -> str | None:
    """A message in the shape of OpenAI's chat API."""
    role, content = message.get("role"), message.get("content")
    if role == "user":
        builder.hear(flat(content), at)
    elif role == "assistant":
        builder.say("assistant", Speaker.ASSISTANT, flat(content), at)
        for each in map(mapping, listing(message.get("tool_calls"))):
            function = mapping(each.get("function"))
            builder.call(
                string(each.get("id")) or None,
                string(function.get("name")),
                arguments_of(function.get("arguments")),
                at,
            )
    elif role == "tool":
        builder.answer(
            string(message.get("tool_call_id")) or None, flat(content), at, tool=string(message.get("name")) or "tool"
        )
    elif role in ("system", "developer"):
        builder.say(str(role), Speaker.SYSTEM, flat(content), at, synthetic="instructions")
    else:
        return f"message/{role}"
    return None
