"""Claude Code: one JSONL file a session, sub-agents in files of their own, a tree of lines by `parentUuid`."""

from __future__ import annotations

import os
import re
from collections import OrderedDict
from collections.abc import Iterator
from typing import Any

from byheart.agents.reading.turn_builder import TurnBuilder
from byheart.agents.reading.values import flat, listing, mapping, named_uuid, string, when
from byheart.domain.sessions import Found, How, Session, Speaker, Standing, Touch
from byheart.text.slugs import short_digest

NAME = "claude-code"
# Known, and nothing a session is evidence for: the client's own bookkeeping.
_QUIET = frozenset(
    """file-history-snapshot file-history-delta last-prompt mode permission-mode pr-link worktree-state frame-link bridge-session
    progress cost-state prompt_snapshot api-request-blob api-request-meta api-request-delta api-request
    content-replacement result tool_use tool_result rate_limit_event control_request control_response
    marble-origami-commit marble-origami-snapshot attribution-snapshot speculation-accept tag stream_event
    atis-latch tools-used history-suppression session-meta turn_duration session-lock sessionEnd turn_end task-summary tool_use_summary auth_status keep_alive agent-setting agent-color
    streamlined_text streamlined_tool_use_summary context-collapse relocated started init""".split()
)
_PREFIXES = (
    "api-request",
    "prompt",
    "marble-",
    "file-history",
    "cost",
    "bridge-",
    "frame-",
    "worktree",
    "agent-",
    "attribution",
    "artifact-",
)
_TITLES = {"custom-title": "customTitle", "ai-title": "aiTitle", "summary": "summary", "agent-name": "agentName"}
# Attachments whose text a hook wrote; shown, and never taken for the person's.
_HOOKS = frozenset(
    {
        "hook_additional_context",
        "hook_success",
        "hook_system_message",
        "hook_blocking_error",
        "hook_non_blocking_error",
        "hook_stopped_continuation",
        "async_hook_response",
        "hook_permission_decision",
        "hook_error_during_execution",
        "hook_cancelled",
    }
)
_BLOCKS = frozenset(
    {
        "thinking",
        "redacted_thinking",
        "fallback",
        "server_tool_use",
        "web_search_tool_result",
        "container_upload",
        "code_execution_tool_result",
        "mcp_tool_result",
        "mcp_tool_use",
        "text_editor_code_execution_tool_result",
        "bash_code_execution_tool_result",
        "compaction",
        "connector_text",
        "advisor_tool_result",
        "tool_search_tool_result",
    }
)
_COMMAND = re.compile(r"<command-name>([^<\n]{1,200})</command-name>")
_GIVEN = re.compile(r"<command-args>(.{0,20000}?)</command-args>", re.DOTALL)
# Commands that steer the client; others are prompts that somebody saved.
_OWN_COMMANDS = frozenset(
    """/add-dir /agents /allowed-tools /bashes /bug /clear /compact /config /context /continue /copy /cost /doctor /effort /exit /export
    /extra-usage /fast /feedback /help /hooks /ide /insights /install-github-app /keybindings /login /logout /mcp /memory /mobile
    /model /output-style /permissions /plan /plugin /plugins /privacy-settings /quit /rate-limit-options /reload-plugins
    /release-notes /remote-control /remote-env /rename /reset /resume /rewind /sandbox /skills /stats /status /statusline /stickers
    /tasks /terminal-setup /theme /todos /upgrade /usage /vim /voice""".split()
)
_REJECTED = "The user doesn't want to"
_SAID = re.compile(r"the user said:\s*(.+?)(?:\n\nNote: The user's next message|\Z)", re.DOTALL)
# How far back a rewound conversation is followed.
_NODES = 10_000
_SOFT = 200
# In the queue, what is no turn: a command, a notice.
_NOBODYS = 0


def session_of(found: Found) -> Session:
    """What the file's name says. A sub-agent's file lies below its session's."""
    stem = os.path.basename(found.path).removesuffix(".jsonl")
    folder = os.path.dirname(found.path)
    if os.path.basename(folder) == "subagents" or (stem.startswith("agent-") and len(stem) < 40):
        owner = os.path.basename(os.path.dirname(folder)) if os.path.basename(folder) == "subagents" else None
        return Session(id=stem, agent=NAME, path=found.path, parent=owner)
    return Session(id=named_uuid(stem) or stem, agent=NAME, path=found.path)


class ClaudeReader:
    """Reads the lines of one file."""

    def __init__(self, found: Found) -> None:
        self.builder = TurnBuilder(session_of(found))
        self._is_agent = self.builder.session.id.startswith("agent-")
        self._is_named = self._is_agent or named_uuid(self.builder.session.id) is not None
        self._parents: OrderedDict[int, int] = OrderedDict()
        self._prompts: dict[int, int] = {}
        self._tip = 0
        self._soft: dict[int, None] = {}
        self._is_titled = False
        self._queued: list[tuple[str, int]] = []
        self._waiting: list[int] = []
        # Open calls of tools that are not the client's own.
        self._foreign: dict[int, None] = {}

    def line(self, value: dict[str, Any]) -> str | None:
        """Take one line in; the name of its type where that is unknown."""
        kind = string(value.get("type"))
        at = when(value.get("timestamp"))
        self.builder.at_line(string(value.get("uuid")))
        self._facts(value, at)
        if kind == "user":
            self._user(value, at)
        elif kind == "assistant":
            self._assistant(value, at)
        elif kind == "attachment":
            self._attachment(mapping(value.get("attachment")), at, self._side(value))
        elif kind == "system":
            self._system(value, at)
        elif kind == "queue-operation":
            self._queue(value, at)
        elif kind in _TITLES:
            if kind == "custom-title" or not self._is_titled:
                self.builder.know(title=string(value.get(_TITLES[kind])))
            self._is_titled = self._is_titled or kind == "custom-title"
        elif kind not in _QUIET and not (isinstance(kind, str) and kind.startswith(_PREFIXES)):
            return string(kind) or ("?" + ",".join(sorted(value)[:4]))
        self._node(value)
        return None

    def _facts(self, value: dict[str, Any], at: Any) -> None:
        builder, branch = self.builder, string(value.get("gitBranch"))
        builder.seen(at)
        session = builder.session
        if session.cwd is None:
            builder.know(cwd=string(value.get("cwd")))
        if (version := value.get("version")) and session.version != version:
            builder.know(version=string(version))
        if branch and branch != "HEAD" and session.branch != branch:
            builder.know(branch=branch)
        owner = value.get("sessionId")
        if isinstance(owner, str) and owner:
            if self._is_agent and session.parent is None:
                builder.know(parent=owner)
            elif not self._is_named:
                # A copy under another name still says whose session it is.
                self._is_named = True
                builder.know(id=owner)

    def _queue(self, value: dict[str, Any], at: Any) -> None:
        """Words typed while the agent was busy are told when they were typed. A line that repeats them follows when the agent
        takes them, and does not always."""
        text, done = string(value.get("content")).strip(), value.get("operation")
        if done == "enqueue":
            number = None
            if text and not text.startswith(("<", "{", "/")):
                mark = short_digest(text)
                self.builder.at_line(f"queue:{value.get('timestamp')}:{mark}")
                number = self.builder.hear(text, at)
                if number is not None:
                    self._queued = [*self._queued[-20:], (mark, number)]
            self._waiting = [*self._waiting[-20:], _NOBODYS if number is None else number]
        elif done in ("dequeue", "remove"):
            # The agent took the oldest.
            del self._waiting[:1]
        elif done == "popAll":
            # Taken back into the prompt before the agent saw them.
            back = set(self._waiting) - {_NOBODYS}
            self.builder.stand(sorted(back), Standing.ROLLED_BACK)
            self._queued = [(mark, number) for mark, number in self._queued if number not in back]
            self._waiting = []

    def _queued_as(self, text: str) -> int | None:
        """The turn in which these words were told already, if they were queued."""
        mark = short_digest(text.strip())
        found = [number for each, number in self._queued if each == mark]
        self._queued = [(each, number) for each, number in self._queued if each != mark]
        return found[0] if found else None

    def _user(self, value: dict[str, Any], at: Any) -> None:
        message = value.get("message")
        content = message.get("content") if isinstance(message, dict) else message
        side = self._side(value)
        texts = [content] if isinstance(content, str) else []
        for block in listing(content):
            kind = string(mapping(block).get("type"))
            if kind == "tool_result":
                self._result(block, value, at)
            elif isinstance(block, str):
                texts.append(block)
            elif kind in ("text", "image", "document", ""):
                texts.append(flat(block))
        text = "\n".join(part for part in texts if part)
        if not text.strip():
            return
        origin = string(mapping(value.get("origin")).get("kind"))
        reason = None
        if value.get("isCompactSummary"):
            reason = "summary"
        elif value.get("isMeta") or value.get("isVisibleInTranscriptOnly"):
            reason = "added by the client"
        elif value.get("promptSource") == "system" or origin not in ("", "human", "cli"):
            reason = "notice"
        elif (
            isinstance(value.get("planContent"), str)
            and value["planContent"].strip()
            and value["planContent"].strip() in text
        ):
            # A plan that the agent wrote and the person let it carry out.
            reason = "plan"
        if reason:
            self.builder.say("user", Speaker.SYSTEM, text, at, synthetic=reason, side=side)
            return
        before = self._prompt_line(value) if side is None else None
        number = (self._queued_as(text) if side is None else None) or self._hear(text, at, side)
        if number is not None and before is not None:
            self._prompts[before] = number

    def _hear(self, text: str, at: Any, side: str | None) -> int | None:
        """A message under the user's role; a slash command is what was typed, not how the client spells it."""
        name = _COMMAND.search(text)
        if name is None:
            return self.builder.hear(text, at, side=side, wrappers=("bash-input",))
        given = _GIVEN.search(text)
        typed = f"{name.group(1).strip()} {given.group(1).strip() if given else ''}".strip()
        typed = typed if typed.startswith("/") else f"/{typed}"
        if typed.split()[0] in _OWN_COMMANDS or side is not None:
            self.builder.say("user", Speaker.SYSTEM, typed, at, synthetic="command", side=side)
            return None
        return self.builder.say("user", Speaker.USER, typed, at)

    def _prompt_line(self, value: dict[str, Any]) -> int | None:
        """A prompt that hangs on an older place takes back the prompts between there and the last line."""
        own, parent = _short(value.get("uuid")), _short(value.get("parentUuid"))
        if not own:
            return None
        # The client's own lines in front of a prompt hang where the prompt does. Lines that hang on each other end the walk.
        for _ in range(_SOFT):
            if parent not in self._soft or parent not in self._parents:
                break
            parent = self._parents[parent]
        if parent and parent != self._tip:
            step, crossed = self._tip, list[int]()
            for _ in range(_NODES):
                if step in (0, parent) or step not in self._parents:
                    break
                if step in self._prompts:
                    crossed.append(self._prompts[step])
                step = self._parents[step]
            if step == parent and crossed:
                first = min(crossed)
                self.builder.stand(range(first, self.builder.number + 1), Standing.ROLLED_BACK)
                self._prompts = {node: number for node, number in self._prompts.items() if number < first}
        return own

    def _node(self, value: dict[str, Any]) -> None:
        own = _short(value.get("uuid"))
        if not own or value.get("isSidechain"):
            return
        self._parents[own] = _short(value.get("parentUuid") or value.get("logicalParentUuid"))
        is_soft = value.get("type") not in ("user", "assistant") or bool(value.get("isMeta"))
        if is_soft:
            self._soft[own] = None
        else:
            self._tip = own
        if len(self._parents) > _NODES:
            gone, _ = self._parents.popitem(last=False)
            self._prompts.pop(gone, None)
            self._soft.pop(gone, None)

    def _side(self, value: dict[str, Any]) -> str | None:
        if self._is_agent:
            return self.builder.session.id
        return string(value.get("agentId")) or "side" if value.get("isSidechain") else None

    def _result(self, block: dict[str, Any], value: dict[str, Any], at: Any) -> None:
        output = flat(block.get("content"))
        failed = bool(block.get("is_error"))
        result = mapping(value.get("toolUseResult"))
        touches = []
        path = result.get("filePath")
        if (
            isinstance(path, str)
            and path
            and ("structuredPatch" in result or "oldString" in result or result.get("type") in ("create", "update"))
        ):
            touches.append(Touch(path, How.CREATE if result.get("type") == "create" else How.EDIT))
        stopped = bool(result.get("interrupted")) or bool(result.get("backgroundTaskId"))
        call = string(block.get("tool_use_id")) or None
        # What fails is told as an error, so what is not went well; but for a status that the client explains away.
        odd = not failed and bool(result.get("returnCodeInterpretation"))
        self.builder.answer(
            call,
            output,
            at,
            failed=None if odd else failed,
            touches=touches,
            well=not failed and not stopped and not odd,
        )
        refused = failed and output.startswith(_REJECTED) and "reject" in string(value.get("toolUseResult")).lower()
        # What a tool of somebody else's fails with is its own text, word for word.
        foreign = hash_of(call or "") in self._foreign
        refused = refused and not (foreign and string(value.get("toolUseResult")).startswith("Error:"))
        self._foreign.pop(hash_of(call or ""), None)
        # The client's own word that it was a person who refused: a tool can print the same sentence.
        said = _SAID.search(output) if refused and self._side(value) is None else None
        if said and not said.group(1).startswith("The user wants to clarify these questions"):
            # A refusal may carry the person's own words.
            self.builder.hear(said.group(1), at)

    def _assistant(self, value: dict[str, Any], at: Any) -> None:
        message = value.get("message")
        if not isinstance(message, dict):
            self.builder.say("assistant", Speaker.ASSISTANT, string(message), at)
            return
        side, content = self._side(value), message.get("content")
        if self.builder.session.model is None and string(message.get("model")) != "<synthetic>":
            self.builder.know(model=string(message.get("model")))
        if isinstance(content, str):
            content = [{"type": "text", "text": content}]
        notice = "notice" if value.get("isApiErrorMessage") or message.get("model") == "<synthetic>" else None
        for block in listing(content):
            kind = string(mapping(block).get("type"))
            if kind == "text":
                speaker = Speaker.SYSTEM if notice else Speaker.ASSISTANT
                self.builder.say("assistant", speaker, string(block.get("text")), at, synthetic=notice, side=side)
            elif kind in ("tool_use", "mcp_tool_use", "server_tool_use"):
                if kind != "tool_use" or string(block.get("name")).startswith("mcp__"):
                    self._foreign[hash_of(string(block.get("id")))] = None
                    if len(self._foreign) > _OPEN_CALLS:
                        self._foreign.pop(next(iter(self._foreign)))
                self.builder.call(
                    string(block.get("id")) or None, string(block.get("name")), block.get("input"), at, side=side
                )
            elif kind not in _BLOCKS:
                self.builder.say("assistant", Speaker.ASSISTANT, flat(block), at, side=side)

    def _attachment(self, attachment: dict[str, Any], at: Any, side: str | None) -> None:
        kind = string(attachment.get("type"))
        if kind == "queued_command":
            text = flat(attachment.get("prompt"))
            origin = string(mapping(attachment.get("origin")).get("kind"))
            if attachment.get("commandMode") in (None, "prompt") and origin in ("", "human") and side is None:
                # Typed while the agent was at work: the person's words, though no user line follows.
                if self._queued_as(text) is None:
                    self._hear(text, at, None)
            else:
                self.builder.say("user", Speaker.SYSTEM, text, at, synthetic="notice")
        elif kind in _HOOKS:
            text = (
                flat(attachment.get("content"))
                or string(attachment.get("stdout"))
                or flat(attachment.get("blockingError"))
            )
            self.builder.say("attachment", Speaker.SYSTEM, text, at, synthetic="hook")

    def _system(self, value: dict[str, Any], at: Any) -> None:
        kind = string(value.get("subtype"))
        if kind == "compact_boundary":
            self.builder.say("system", Speaker.SYSTEM, "[the conversation was compacted here]", at, synthetic="summary")
        elif kind in ("local_command", "slash_command"):
            self.builder.say("system", Speaker.SYSTEM, string(value.get("content")), at, synthetic="command")

    def finish(self) -> None:
        """Nothing is left to say."""

    def state(self) -> dict[str, Any]:
        """What has to be remembered to go on later."""
        return {
            "scribe": self.builder.state(),
            "parents": list(self._parents.items()),
            "prompts": list(self._prompts.items()),
            "tip": self._tip,
            "named": self._is_named,
            "titled": self._is_titled,
            "soft": list(self._soft),
            "queued": self._queued,
            "waiting": self._waiting,
            "foreign": list(self._foreign),
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from there."""
        self.builder.restore(state["scribe"])
        self._parents = OrderedDict((int(node), int(parent)) for node, parent in state["parents"])
        self._prompts = {int(node): int(number) for node, number in state["prompts"]}
        self._tip = int(state["tip"])
        self._is_named = bool(state["named"])
        self._is_titled = bool(state["titled"])
        self._soft = dict.fromkeys(int(node) for node in state["soft"])
        self._queued = [(str(mark), int(number)) for mark, number in state["queued"]]
        self._waiting = [int(number) for number in state["waiting"]]
        self._foreign = dict.fromkeys(int(call) for call in state["foreign"])


_OPEN_CALLS = 1_000


def _short(uuid: Any) -> int:
    """A line's id as a number: less to hold, and enough to tell lines of one file apart."""
    if not isinstance(uuid, str) or not uuid:
        return 0
    try:
        return int(uuid[:18].replace("-", ""), 16) & (2**63 - 1)
    except ValueError:
        return hash_of(uuid)


def hash_of(text: str) -> int:
    """A stable number for any text."""
    import hashlib

    return int.from_bytes(hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=7).digest(), "big")


def transcripts(folders: list[str]) -> Iterator[str]:
    """Every session file below the `projects` folders, sub-agents' included."""
    for folder in folders:
        for place, below, names in os.walk(folder):
            below[:] = [name for name in below if name not in ("memory", "tool-results", "node_modules")]
            for name in names:
                if name.endswith(".jsonl"):
                    yield os.path.join(place, name)
