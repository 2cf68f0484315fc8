"""pi, oh-my-pi and OpenClaw: a tree of entries by `parentId`, of which the branch that ends in the last entry counts."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any

from byheart.agents.reading.turn_builder import TurnBuilder
from byheart.agents.reading.values import blocks_of, flat, mapping, named_uuid, number, string, when
from byheart.domain.sessions import Found, How, Session, Speaker, Standing, Touch
from byheart.text.deferred import module

if TYPE_CHECKING:
    from byheart.domain import values
else:
    values = module("byheart.domain.values")

_QUIET = frozenset(
    """thinking_level_change model_change service_tier_change label ttsr_injection credential_pin session_init mode_change
    reset_boundary custom todo_state session_info leaf link active_tools_change tool_set_change title_change memory
    fast_mode_change permission_change context_edit""".split()
)
_NESTED = re.compile(r"_[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{22}$")
# Entries whose place in the tree is remembered; a longer session is read with its oldest entries taken as settled.
_NODES = 60_000


class PiReader:
    """Reads the entries of one session."""

    def __init__(self, found: Found, agent: str = "pi") -> None:
        name = os.path.basename(found.path).removesuffix(".jsonl")
        own = found.part or named_uuid(name) or name.rsplit("_", 1)[-1]
        self.builder = TurnBuilder(Session(id=own, agent=agent, path=found.path))
        self._parents: dict[str, str] = {}
        self._numbers: dict[str, list[int]] = {}
        self._off: set[str] = set()
        self._tip = ""
        self._straight = True
        # A sub-agent's file lies in a folder named after its session.
        self._side = name if _NESTED.search(os.path.basename(os.path.dirname(found.path))) else None

    def line(self, value: dict[str, Any]) -> str | None:
        """Take one entry in; the name of its type where that is unknown."""
        kind, at = string(value.get("type")), when(value.get("timestamp"))
        self.builder.seen(at)
        self.builder.at_line(f"{value['id']}@{value.get('timestamp')}" if value.get("id") else "")
        if kind == "session":
            self._session(value)
            return None
        if kind in ("title", "title_change", "session_info"):
            self.builder.know(title=string(value.get("title")) or string(value.get("name")))
            if kind == "title":
                return None
        before = self.builder.number
        unknown = self._entry(value, string(kind), at)
        self._node(value, before)
        return unknown

    def _session(self, value: dict[str, Any]) -> None:
        parent = string(value.get("parentSession"))
        name = os.path.basename(parent).removesuffix(".jsonl")
        self.builder.know(
            id=string(value.get("id")),
            cwd=string(value.get("cwd")),
            parent=named_uuid(name) or name.rsplit("_", 1)[-1] or None,
        )

    def _entry(self, value: dict[str, Any], kind: str, at: Any) -> str | None:
        builder = self.builder
        if kind == "message" or (not kind and isinstance(value.get("message"), dict)):
            return self._message(mapping(value.get("message")), at)
        if kind == "compaction" or kind == "branch_summary":
            builder.say("system", Speaker.SYSTEM, string(value.get("summary")), at, synthetic="summary")
        elif kind in ("custom_message", "hookMessage"):
            builder.say("user", Speaker.SYSTEM, flat(value.get("content")), at, synthetic="extension")
        elif kind == "custom":
            if value.get("customType") == "session_exit":
                builder.know(closed=True)
        elif kind not in _QUIET:
            return kind or "?" + ",".join(sorted(value)[:4])
        return None

    def _message(self, message: dict[str, Any], at: Any) -> str | None:
        role, content = message.get("role"), message.get("content")
        builder = self.builder
        if role in ("user", "assistant") and builder.session.closed:
            builder.session = _reopened(builder.session)
        at = at or when(message.get("timestamp"))
        if role == "user":
            if message.get("attribution") not in (None, "user"):
                builder.say(
                    "user",
                    Speaker.SYSTEM,
                    flat(content),
                    at,
                    synthetic=string(message.get("attribution")) or "extension",
                )
            else:
                builder.hear(flat(content), at, side=self._side)
        elif role == "assistant":
            builder.know(model=string(message.get("model")))
            for block in blocks_of(content):
                if string(mapping(block).get("type")) in ("toolCall", "tool_use"):
                    given = block.get("arguments", block.get("input"))
                    builder.call(string(block.get("id")) or None, string(block.get("name")), given, at, side=self._side)
                else:
                    builder.say("assistant", Speaker.ASSISTANT, flat(block), at, side=self._side)
            error = string(message.get("errorMessage"))
            builder.say("assistant", Speaker.SYSTEM, error, at, synthetic="notice")
        elif role in ("toolResult", "tool"):
            self._result(message, at)
        elif role == "bashExecution":
            # Run by the person with "!"; the output is theirs to see, and a command all the same.
            call = f"user-{builder.number}"
            builder.call(call, "bash", {"command": message.get("command")}, at)
            builder.answer(call, string(message.get("output")), at, status=number(message.get("exitCode")))
        elif role in ("custom", "hookMessage", "branchSummary", "compactionSummary", "system", "developer"):
            builder.say(
                str(role), Speaker.SYSTEM, flat(content) or string(message.get("summary")), at, synthetic="extension"
            )
        else:
            return f"message/{role}"
        return None

    def _result(self, message: dict[str, Any], at: Any) -> None:
        details = mapping(message.get("details"))
        status = number(details.get("exitCode"))
        failed = message.get("isError")
        tool = string(message.get("toolName"))
        if status is None and tool in ("bash", "exec") and failed is False and not details.get("async"):
            status = 0
        path = string(details.get("path")) or string(details.get("filePath"))
        touches = (Touch(path, How.EDIT),) if path and ("diff" in details or "patch" in details) else ()
        self.builder.answer(
            string(message.get("toolCallId")) or None,
            flat(message.get("content")),
            at,
            status=status,
            failed=failed if isinstance(failed, bool) else None,
            touches=touches,
            tool=tool or "tool",
        )

    def _node(self, value: dict[str, Any], before: int) -> None:
        own = string(value.get("id"))
        if not own:
            return
        parent = string(value.get("parentId")) if "parentId" in value else self._tip
        if parent != self._tip and self._tip:
            self._straight = False
        if own not in self._parents and len(self._parents) < _NODES:
            self._parents[own] = parent
        fresh = list(range(before + 1, self.builder.number + 1))
        if fresh:
            self._numbers[own] = fresh
        self._tip = own

    def finish(self) -> None:
        """Follow the branch back from the last entry; what is on no step of it was abandoned."""
        if self._straight:
            return
        order = {own: place for place, own in enumerate(self._parents)}
        names = list(self._parents)
        on, step = set[str](), self._tip
        while step and step not in on:
            on.add(step)
            above = self._parents.get(step, "")
            if above and above not in self._parents:
                # A line is missing: what stood before it in the file is taken for what it hung on.
                place = order.get(step, 0)
                above = names[place - 1] if place else ""
            step = above
        gone = {own for own in self._numbers if own in self._parents and own not in on}
        self.builder.stand(sorted(n for own in gone - self._off for n in self._numbers[own]), Standing.ROLLED_BACK)
        self.builder.stand(sorted(n for own in self._off - gone for n in self._numbers[own]), Standing.LIVE)
        self._off = gone

    def state(self) -> dict[str, Any]:
        """What has to be remembered to go on later."""
        return {
            "scribe": self.builder.state(),
            "parents": self._parents,
            "numbers": self._numbers,
            "off": sorted(self._off),
            "tip": self._tip,
            "straight": self._straight,
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from there."""
        self.builder.restore(state["scribe"])
        self._parents = dict(state["parents"])
        self._numbers = {own: list(numbers) for own, numbers in state["numbers"].items()}
        self._off = set(state["off"])
        self._tip, self._straight = state["tip"], state["straight"]


def _reopened(session: Session) -> Session:
    return values.replace(session, closed=None)


def is_entry_of(agent: str, value: dict[str, Any], path: str) -> bool:
    """Whether a line is an entry of such a tree, and the path speaks for this agent."""
    kind = value.get("type")
    if kind == "title" and "v" in value:
        return agent == "oh-my-pi"
    begins = kind == "session" and "cwd" in value
    if not begins and not ("parentId" in value and kind in ("message", "model_change", "custom")):
        return False
    wrote = "openclaw" if "openclaw" in path.lower() else "oh-my-pi" if f"{os.sep}.omp{os.sep}" in path else "pi"
    return agent == wrote
