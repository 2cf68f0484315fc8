"""Which agents there are, and how each takes a text from a hook. The hook loads this, so it imports nothing."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# The modules of this package that know agents: each has `AGENTS`. A file that two of them would take is the earlier one's.
MODULES = (
    "claude_code",
    "codex",
    "droid",
    "pi",
    "openclaw",
    "gemini",
    "opencode",
    "copilot",
    "qwen",
    "cursor",
    "vscode",
    "aider",
    "goose",
    "cline",
    "specstory",
    "trajectories",
    "hermes",
    "by_mcp",
    "generic",
)

START, PROMPT, TOOL, DONE = "session-start", "prompt", "pre-tool", "post-tool"
SUBAGENT, COMPACT, STOP, END = "subagent-start", "pre-compact", "stop", "session-end"
EVENTS = (START, PROMPT, TOOL, DONE, SUBAGENT, COMPACT, STOP, END)
# Moments within a session.
DURING = (PROMPT, TOOL, DONE, SUBAGENT)
# Agents that want an object with the event's name in it, and what they call our events.
_NAMED = {
    "claude-code": {
        START: "SessionStart",
        PROMPT: "UserPromptSubmit",
        TOOL: "PreToolUse",
        DONE: "PostToolUse",
        SUBAGENT: "SubagentStart",
    },
    "codex": {START: "SessionStart", PROMPT: "UserPromptSubmit", TOOL: "PreToolUse", DONE: "PostToolUse"},
    "gemini-cli": {START: "SessionStart", PROMPT: "BeforeAgent", TOOL: "BeforeTool", DONE: "AfterTool"},
    "qwen-code": {START: "SessionStart", PROMPT: "UserPromptSubmit", TOOL: "PreToolUse", DONE: "PostToolUse"},
    "droid": {START: "SessionStart", PROMPT: "UserPromptSubmit", TOOL: "PreToolUse", DONE: "PostToolUse"},
}
# Agents that want one key with the text.
_KEYED = {"copilot-cli": "additionalContext", "cursor": "additional_context"}
# Extensions of ours that take the text as it is.
_PLAIN = ("pi", "oh-my-pi", "opencode", "openclaw", "text")
CLIENTS = (*_NAMED, *_KEYED, *_PLAIN)
# Those that hand their model no more than the beginning of a long text.
_NARROW = ("claude-code", "cursor")


def envelope(client: str, event: str, told: dict[str, Any], text: str, seen: str = "") -> dict[str, Any] | str:
    """A text as this agent takes it from a hook, with a line that it shows to its user where it can show one."""
    if event == TOOL and client in _DECIDES:
        return _decision(client, "deny", text)
    if client in _NAMED:
        name = told.get("hook_event_name")
        event_name = name if isinstance(name, str) and name.isalnum() else _NAMED[client].get(event, "SessionStart")
        output = {"hookSpecificOutput": {"hookEventName": event_name, "additionalContext": text}}
        return {**output, "systemMessage": seen} if seen else output
    if client in _KEYED:
        return {_KEYED[client]: text}
    return text


# Agents whose hook can have the user asked before a call.
_ASKS = ("claude-code", "qwen-code", "droid", "cursor", "copilot-cli", "gemini-cli")
# Agents whose hook takes a decision before a call and hands no text on: what is to be said is the reason why the call was held back.
_DECIDES = ("gemini-cli", "qwen-code", "copilot-cli")


def can_ask(client: str) -> bool:
    """Whether this agent's hook can have its user asked before a call."""
    return client in _ASKS


def only_decides(client: str) -> bool:
    """Whether this agent can be told something before a call only as the reason why the call was held back."""
    return client in _DECIDES


def asking(client: str, text: str) -> dict[str, Any]:
    """A text as an agent that can ask puts it to its user before it calls a tool."""
    why = f"byheart: {text}"
    if client == "cursor":
        return {"permission": "ask", "user_message": why, "agent_message": text}
    return _decision(client, "ask", why)


def _decision(client: str, decision: str, why: str) -> dict[str, Any]:
    """What becomes of a call, as this agent's hook says it."""
    if client == "gemini-cli":
        # Its user is shown the one, its model the other.
        return {"decision": decision, "reason": why, "systemMessage": why if decision == "ask" else ""}
    told = {"permissionDecision": decision, "permissionDecisionReason": why}
    return told if client == "copilot-cli" else {"hookSpecificOutput": {"hookEventName": "PreToolUse", **told}}


def is_narrow(client: str) -> bool:
    """Whether this agent cuts a long text."""
    return client in _NARROW


def words(told: dict[str, Any], *names: str) -> str:
    """The first of these fields that holds a text: agents spell them differently."""
    for name in names:
        value = told.get(name)
        if isinstance(value, str) and value:
            return value
    return ""
