"""Our own plain form, for agents that nobody knows: JSON lines with a role and a text. docs/formats.md describes it."""

from __future__ import annotations

import os
from typing import Any

from byheart.agents.agent import Agent
from byheart.agents.reading.turn_builder import TurnBuilder, chat_message
from byheart.agents.reading.values import flat, mapping, number, string, when
from byheart.domain.sessions import Found, Session, Speaker

NAME = "generic"
_NAMES = {"human": "user", "ai": "assistant", "model": "assistant", "agent": "assistant", "function": "tool"}
_FACTS = ("id", "version", "cwd", "branch", "commit", "remote", "parent", "title", "model", "memory_mode")


class GenericReader:
    """Reads the lines of one session."""

    def __init__(self, found: Found) -> None:
        stem = os.path.basename(found.path).rsplit(".", 1)[0]
        self.builder = TurnBuilder(Session(id=stem, agent=NAME, path=found.path))

    def line(self, value: dict[str, Any]) -> str | None:
        """Take one line in; the name of its type where that is unknown."""
        builder = self.builder
        if isinstance(value.get("session"), dict):
            facts = value["session"]
            builder.know(**{name: string(facts.get(name)) for name in _FACTS})
            builder.know(agent=string(facts.get("agent")))
            builder.seen(when(facts.get("started")))
            if value.get("role") is None:
                return None
        role = string(value.get("role"))
        role = _NAMES.get(role, role)
        at = when(value.get("time")) or when(value.get("timestamp"))
        builder.seen(at)
        builder.know_first(cwd=string(value.get("cwd")))
        content = value.get("text", value.get("content"))
        tool = string(value.get("tool"))
        if role == "tool" and tool:
            call = string(value.get("call")) or f"call-{builder.number}"
            builder.call(call, tool, value.get("arguments"), at, command=string(value.get("command")) or None)
            if "output" in value or content is not None:
                failed = value.get("failed")
                builder.answer(
                    call,
                    flat(value.get("output")) or flat(content),
                    at,
                    status=number(value.get("exit")),
                    failed=failed if isinstance(failed, bool) else None,
                )
            return None
        if value.get("synthetic") and role == "user":
            builder.say(
                "user", Speaker.SYSTEM, flat(content), at, synthetic=string(value["synthetic"]) or "added by the client"
            )
            return None
        return (
            chat_message(builder, {**value, "role": role, "content": content}, at)
            if role
            else "?" + ",".join(sorted(mapping(value))[:4])
        )

    def finish(self) -> None:
        """Nothing is left to say."""

    def state(self) -> dict[str, Any]:
        """What has to be remembered to go on later."""
        return {"scribe": self.builder.state(), "agent": self.builder.session.agent}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from there."""
        self.builder.know(agent=state["agent"])
        self.builder.restore(state["scribe"])


def is_line(value: dict[str, Any], path: str) -> bool:
    """Whether a line has a role, or says what session it is of."""
    del path
    return "role" in value or isinstance(value.get("session"), dict)


AGENTS = (Agent(name=NAME, lines=GenericReader, is_line=is_line),)
