"""Messages in the shape of OpenAI's chat API, which several agents keep."""

from __future__ import annotations

from typing import Any

from byheart.agents.reading.tools import arguments_of
from byheart.agents.reading.turn_builder import TurnBuilder
from byheart.agents.reading.values import flat, listing, mapping, string
from byheart.domain.sessions import Speaker


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
