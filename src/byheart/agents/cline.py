"""Cline and Roo: message files of the CLI, and task folders of the editor extensions (tools as XML in older ones)."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from typing import Any

from byheart.agents.agent import Agent, Texts
from byheart.agents.installing.pieces import TOOLS, InstallTarget, Recipe, base, member, server
from byheart.agents.reading import lines, tools
from byheart.agents.reading.folders import Machine, file_of, files_in, names_in
from byheart.agents.reading.lines import Broken
from byheart.agents.reading.turn_builder import TurnBuilder, counted
from byheart.agents.reading.values import blocks_of, flat, listing, mapping, string, when
from byheart.domain.sessions import Caps, Event, Found, Session, Speaker, Tally

NAME = "cline"
_TOOLS = (
    "execute_command read_file write_to_file replace_in_file apply_diff search_and_replace insert_content search_files "
    "list_files list_code_definition_names ask_followup_question attempt_completion plan_mode_respond use_mcp_tool "
    "access_mcp_resource new_task switch_mode browser_action web_fetch"
).split()
_SPOKEN = {"ask_followup_question": "question", "attempt_completion": "result", "plan_mode_respond": "response"}
_WRAPPERS = ("user_input", "user_message", "task", "feedback", "answer")
_XML = re.compile(rf"<({'|'.join(_TOOLS)})>")
_FIELD = re.compile(r"<([a-z_]{2,40})>")
_RESULT = re.compile(r"\A\[([a-z_]{2,40})(?: for '[^\n]*')?\] Result:\s*")
_FOLDER = re.compile(r"# Current (?:Working|Workspace) Directory \(([^\n)]{1,500})\)")
_DENIED = ("The user denied this operation", "The tool execution failed", "The user doesn't want to proceed")


def read(found: Found, caps: Caps, tally: Tally) -> Iterator[Event]:
    """One session: a `.messages.json` of the CLI or an `api_conversation_history.json` of an extension."""
    whole = lines.document(found.path, caps, tally)
    messages = listing(whole) or listing(mapping(whole).get("messages"))
    if not messages and whole not in ([], {}):
        raise Broken("not a conversation")
    reader = _Reader(found, caps, tally, mapping(whole))
    for message in messages[: caps.rows]:
        if isinstance(message, dict):
            counted(tally, reader.message(message), 0)
        else:
            tally.skipped[lines.NOT_OBJECT] += 1
        yield from reader.builder.take()
    tally.known_bytes = tally.bytes
    yield from reader.builder.end()


class _Reader:
    def __init__(self, found: Found, caps: Caps, tally: Tally, whole: dict[str, Any]) -> None:
        folder = os.path.dirname(found.path)
        own = os.path.basename(folder)
        self.builder = TurnBuilder(Session(id=own, agent=found.agent, path=found.path))
        self._at: Any = None
        self._calls = 0
        self._facts(folder, own, caps, tally, whole)

    def _facts(self, folder: str, own: str, caps: Caps, tally: Tally, whole: dict[str, Any]) -> None:
        know = self.builder.know
        for name in (f"{own}.json", "history_item.json"):
            beside = os.path.join(folder, name)
            if not os.path.isfile(beside):
                continue
            try:
                facts = mapping(lines.document(beside, caps, Tally()))
            except Broken as reason:
                tally.skipped[str(reason)] += 1
                continue
            more, git = mapping(facts.get("metadata")), mapping(mapping(facts.get("metadata")).get("git"))
            know(
                cwd=string(facts.get("cwd"))
                or string(facts.get("workspace"))
                or string(facts.get("cwdOnTaskInitialization")),
                title=string(more.get("title")) or string(facts.get("task"))[:200],
                model=string(facts.get("model")) or string(facts.get("modelId")),
                branch=string(git.get("branch")),
                remote=string(git.get("url")),
                parent=string(facts.get("parentTaskId")) or string(facts.get("parent_session_id")),
                version=string(mapping(more.get("sessionHistoryOrigin")).get("version")),
                closed=True
                if facts.get("ended_at") or facts.get("status") in ("completed", "failed", "cancelled")
                else None,
            )
            self.builder.seen(when(facts.get("started_at")) or when(facts.get("ts")))
            self.builder.seen(when(facts.get("ended_at")))
        know(version=string(mapping(whole.get("origin")).get("version")), parent=string(whole.get("parentSessionId")))
        if own.isdigit():
            self._at = when(int(own)) if len(own) < 17 else None
            self.builder.seen(self._at)

    def message(self, message: dict[str, Any]) -> str | None:
        role, content = message.get("role"), message.get("content")
        self._at = when(message.get("ts")) or self._at
        self.builder.seen(self._at)
        blocks = blocks_of(content)
        if message.get("isSummary"):
            self.builder.say(str(role), Speaker.SYSTEM, flat(content), self._at, synthetic="summary")
        elif role == "user":
            self._user(blocks)
        elif role == "assistant":
            for block in blocks:
                kind = string(mapping(block).get("type"))
                if kind in ("tool_use", "tool-call"):
                    given = block.get("input", block.get("args"))
                    self.builder.call(
                        string(block.get("id")) or string(block.get("toolCallId")) or None,
                        string(block.get("name")) or string(block.get("toolName")),
                        given,
                        self._at,
                    )
                else:
                    self._spoken(flat(block))
        elif role in ("system", "tool"):
            self._user(blocks)
        elif message.get("type") != "reasoning":
            return f"message/{role}"
        return None

    def _user(self, blocks: list[Any]) -> None:
        texts: list[str] = []
        open_call: str | None = None
        for block in blocks:
            kind = string(mapping(block).get("type"))
            text = flat(block)
            if kind in ("tool_result", "tool-result"):
                self._result(block)
                continue
            found = _RESULT.match(text)
            folder = _FOLDER.search(text)
            if folder:
                self.builder.know_first(cwd=folder.group(1))
            if found:
                open_call, rest = f"xml-{self._calls}", text[found.end() :]
                if rest.strip():
                    self._outcome(open_call, rest)
                    open_call = None
            elif open_call and not text.lstrip().startswith("<environment_details>"):
                self._outcome(open_call, text)
                open_call = None
            else:
                texts.append(text)
        self.builder.hear("\n".join(filter(None, texts)), self._at, wrappers=_WRAPPERS)

    def _outcome(self, call: str, text: str) -> None:
        """An XML tool's result; what the person said about it comes along in a tag."""
        at = text.find("<feedback>")
        if at >= 0:
            self.builder.hear(text[at:], self._at, wrappers=_WRAPPERS)
            text = text[:at]
        self.builder.answer(call, text, self._at, failed=text.lstrip().startswith(_DENIED) or None)

    def _result(self, block: dict[str, Any]) -> None:
        content = tools.arguments_of(block.get("content", block.get("output")))
        failed = block.get("is_error")
        pieces, succeeded = [], False
        for each in listing(content) or ([content] if isinstance(content, dict) else []):
            row = mapping(each)
            if "result" in row or "error" in row:
                pieces.append(flat(row.get("result")) or flat(row.get("error")))
                failed = failed or row.get("success") is False
                succeeded = row.get("success") is True
            else:
                pieces.append(flat(each))
        output = "\n".join(filter(None, pieces)) if pieces else flat(content)
        call = string(block.get("tool_use_id")) or string(block.get("toolCallId")) or None
        self.builder.answer(
            call,
            output,
            self._at,
            failed=bool(failed) if failed is not None else None,
            well=succeeded and not failed,
            tool=string(block.get("name")) or "tool",
        )

    def _spoken(self, text: str) -> None:
        """What the assistant said, with the tool calls that stand in it as XML."""
        position = 0
        while found := _XML.search(text, position):
            tool = found.group(1)
            end = text.find(f"</{tool}>", found.end())
            if end < 0:
                break
            self.builder.say("assistant", Speaker.ASSISTANT, text[position : found.start()], self._at)
            given = _fields(text[found.end() : end])
            if tool in _SPOKEN:
                self.builder.say("assistant", Speaker.ASSISTANT, given.pop(_SPOKEN[tool], ""), self._at)
            self._calls += 1
            self.builder.call(f"xml-{self._calls}", tool, given, self._at)
            position = end + len(tool) + 3
        self.builder.say("assistant", Speaker.ASSISTANT, text[position:], self._at)


def _fields(body: str) -> dict[str, str]:
    found, position = dict[str, str](), 0
    while opened := _FIELD.search(body, position):
        name = opened.group(1)
        end = body.find(f"</{name}>", opened.end())
        if end < 0 or len(found) > 20:
            break
        found[name] = body[opened.end() : end].strip("\n")
        position = end + len(name) + 3
    return found


_EDITORS = ("Code", "Code - Insiders", "VSCodium", "Cursor", "Windsurf")
_SERVERS = (".vscode-server", ".vscode-server-insiders", ".cursor-server", ".windsurf-server")
_EXTENSIONS = {"saoudrizwan.claude-dev": NAME, "rooveterinaryinc.roo-cline": "roo", "kilocode.kilo-code": "kilo-code"}


def transcripts(machine: Machine) -> Iterator[Found]:
    """The CLI's sessions, and the task folders of the editor extensions."""
    own = os.path.join(machine.variable("CLINE_DIR", ".cline"), "data")
    for name in names_in(os.path.join(own, "sessions")):
        yield from files_in("cline", os.path.join(own, "sessions", name), ".messages.json", depth=1)
    yield from _tasks("cline", own)
    editors = [os.path.join(machine.home, server, "data") for server in _SERVERS]
    settings = "Library/Application Support" if sys.platform == "darwin" else ".config"
    editors += [os.path.join(machine.variable("XDG_CONFIG_HOME", settings), editor) for editor in _EDITORS]
    for editor in editors:
        for extension, agent in _EXTENSIONS.items():
            yield from _tasks(agent, os.path.join(editor, "User", "globalStorage", extension))


def _tasks(agent: str, folder: str) -> Iterator[Found]:
    for name in names_in(os.path.join(folder, "tasks")):
        path = os.path.join(folder, "tasks", name, "api_conversation_history.json")
        if os.path.isfile(path) and (found := file_of(agent, path)):
            yield found


def is_document(value: Any, path: str) -> bool:
    """Whether a document is a list of messages, or one of the CLI's."""
    name = os.path.basename(path)
    if isinstance(value, list):
        return bool(value) and "role" in mapping(value[0]) and name != "ui_messages.json"
    return "messages" in mapping(value) and name.endswith(".messages.json")


# The folders of three extensions are listed together; a session is filed under its own.
def recipe(target: InstallTarget, texts: Texts) -> Recipe:
    """Cline: MCP in the settings of its command line; the extension keeps its own."""
    del texts
    folder = base(target, "CLINE_DIR", ".cline")
    if target.project:
        note = "it is connected for all projects alone: byheart install cline"
        return Recipe(agent=NAME, pieces=(), folders=(folder,), programs=("cline",), notes=(note,))
    place = f"{folder}/data/settings/cline_mcp_settings.json"
    pieces = (member(place, ("mcpServers", "byheart"), server(target), TOOLS),)
    return Recipe(agent=NAME, pieces=pieces, folders=(folder,), programs=("cline",))


AGENTS = (
    Agent(name=NAME, transcripts=transcripts, document=read, is_document=is_document, recipe=recipe),
    Agent(name="roo", document=read),
    Agent(name="kilo-code", document=read),
)
