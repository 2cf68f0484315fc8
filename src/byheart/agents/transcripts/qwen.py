"""Qwen Code: Claude-like lines around Gemini's parts, with the client's own word for who said what."""

from __future__ import annotations

import os
from typing import Any

from byheart.agents.reading.turn_builder import Scribe
from byheart.agents.reading.values import flat, listing, mapping, number, string, when
from byheart.domain.sessions import Found, Session, Speaker

AGENT = "qwen"


class QwenReader:
    """Reads the lines of one session."""

    def __init__(self, found: Found) -> None:
        stem = os.path.basename(found.path).removesuffix(".jsonl")
        folder = os.path.dirname(found.path)
        nested = os.path.basename(os.path.dirname(folder)) == "subagents"
        parent = os.path.basename(folder) if nested else None
        self.scribe = Scribe(Session(id=stem, agent=AGENT, path=found.path, parent=parent))
        self._side = stem if nested else None

    def line(self, value: dict[str, Any]) -> str | None:
        """Take one line in; the name of its type where that is unknown."""
        kind, at, scribe = string(value.get("type")), when(value.get("timestamp")), self.scribe
        scribe.seen(at)
        scribe.at_line(string(value.get("uuid")))
        scribe.know_first(cwd=string(value.get("cwd")))
        scribe.know(version=string(value.get("version")), branch=string(value.get("gitBranch")))
        parts = listing(mapping(value.get("message")).get("parts"))
        if kind == "user":
            self._user(value, parts, at)
        elif kind == "assistant":
            scribe.know(model=string(value.get("model")))
            for part in parts:
                call = mapping(mapping(part).get("functionCall"))
                if call:
                    scribe.call(
                        string(call.get("id")) or None, string(call.get("name")), call.get("args"), at, side=self._side
                    )
                else:
                    scribe.say("assistant", Speaker.ASSISTANT, flat(part), at, side=self._side)
        elif kind == "tool_result":
            self._result(value, parts, at)
        elif kind == "system":
            if value.get("subtype") in ("chat_compression", "compression"):
                scribe.say("system", Speaker.SYSTEM, "[the conversation was compacted here]", at, synthetic="summary")
        else:
            return string(kind) or "?"
        return None

    def _user(self, value: dict[str, Any], parts: list[Any], at: Any) -> None:
        text = "\n".join(filter(None, (flat(part) for part in parts))) or flat(
            mapping(value.get("message")).get("content")
        )
        if value.get("provenance") not in (None, "real_user"):
            self.scribe.say(
                "user", Speaker.SYSTEM, text, at, synthetic=string(value["provenance"]) or "notice", side=self._side
            )
        else:
            self.scribe.hear(text, at, side=self._side)

    def _result(self, value: dict[str, Any], parts: list[Any], at: Any) -> None:
        outcome = mapping(value.get("toolCallResult"))
        shown = mapping(outcome.get("resultDisplay"))
        for part in parts:
            response = mapping(mapping(part).get("functionResponse"))
            body = mapping(response.get("response"))
            status = string(outcome.get("status"))
            self.scribe.answer(
                string(response.get("id")) or string(outcome.get("callId")) or None,
                flat(body.get("output") or body.get("error")),
                at,
                status=number(shown.get("exitCode")),
                failed={"success": False, "error": True, "cancelled": True}.get(status),
                tool=string(response.get("name")) or "tool",
            )

    def finish(self) -> None:
        """Nothing is left to say."""

    def state(self) -> dict[str, Any]:
        """What has to be remembered to go on later."""
        return {"scribe": self.scribe.state()}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from there."""
        self.scribe.restore(state["scribe"])
