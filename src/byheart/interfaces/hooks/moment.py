"""What a session is told while it works: after a failure, before a command or a file, at a prompt, when a sub-agent starts. From files
that were prepared; once each, and within the session's budget."""

from __future__ import annotations

import json
import os
import re
import time

from byheart.agents import register
from byheart.brief import fit
from byheart.storage import cards, moments
from byheart.text.deferred import deferred

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    from byheart.brief.remarks import Remark
    from byheart.interfaces.hooks.hook import HookCall
    from byheart.storage.moments import Prepared

_READ, _MOST_OPEN, _MOST_AT_ONCE = 60_000, 20, 3
# So many successful calls later a failure is left alone rather than got over.
_PATIENCE = 10
# A call of plain words, none of which announces anything: no scanner finds a secret in it, and to load one takes longer than all else.
_PLAIN_CALL = deferred(
    r"(?:(?:[a-z]{1,20}\d?|[a-z./_-]{1,40}|(?:~|[\w.-]{0,24})(?:/[A-Za-z._-]{1,24}){1,12}/?|--?[a-z][a-z-]{0,20}|\d?>&\d|&&|\||\d{1,3})(?:\s+|$)){1,24}"
)
_ANNOUNCES = deferred(
    r"pass|pwd|\bpw|secret|token|key|cred|auth|login|\bpin|code|phrase|-[pu]\b|-p[a-z]|sql|curl|ssh|user"
)
_FAILED = deferred(
    r"(?:exit(?:ed)?(?: with)?(?: code| status)?[:= ]+\(?(-?\d+)|\"exit_?code\"\s*:\s*(-?\d+))", re.IGNORECASE
)
_TASK_TOKENS = 400
_OWN = deferred(rf"<{fit.TAG}\b.*?(?:</{fit.TAG}>|\Z)", re.DOTALL)
# What a model is told whose agent takes a decision before a call, and no text.
_HELD = "This call was held back once, so that you read this first. If it still is what the user wants, make it again."
# What a model is told where its agent cannot ask by itself.
_ASK = "Ask the user before you go on."
# What nobody is told to run because another session did: what fetches and runs, deletes, sends, or is a remark.
_RISKY = deferred(
    r"\|\s*(?:sudo\s+)?(?:ba|z|da)?sh\b|\brm\s+-|\bgit\s+(?:push|reset|clean|commit|checkout)\b|\bsudo\b|#|\bcurl\b|\bwget\b|\beval\b|\bdd\b|>\s*/"
)
# Fewest words that make an error specific enough to be the same one elsewhere.
_LETTERS, _SAYS_SOMETHING = deferred(r"[^\W\d_]{3,}"), 3
_WISHES = ("profile", "rules", "wishes")
# What agents call the tool that runs commands.
_SHELLS = (
    "bash",
    "shell",
    "run_shell_command",
    "exec",
    "exec_command",
    "local_shell",
    "terminal",
    "execute",
    "command",
    "powershell",
    "unified_exec",
)
_EDITORS = (
    "edit",
    "write",
    "multiedit",
    "notebookedit",
    "apply_patch",
    "replace",
    "write_file",
    "create",
    "str_replace",
    "edit_file",
    "patch",
    "str_replace_editor",
)
_RESULTS = ("tool_response", "tool_result", "toolResult", "result")
_READERS = ("read", "read_file", "view", "cat", "open_file")
_PATCHED = deferred(r"^\*\*\* (?:Update|Delete|Add) File: (.+)$", re.MULTILINE)


def during(call: HookCall) -> tuple[str, bool]:
    """What fits this moment, and whether the agent should have its user asked; empty for anything less than an exact match."""
    folder = cards.folder_of(call.cwd)
    card = cards.read(call.home, folder)
    if card is None or card["off"] or not card["settings"]["moments"]["enabled"]:
        return "", False
    settings = card["settings"]["moments"]
    prepared = moments.read(call.home, card["project"])
    try:
        found = _found(call, card, settings, prepared)
        return _told(call, card, settings, found)
    finally:
        if prepared is not None:
            prepared.close()


def _found(call: HookCall, card: dict[str, Any], settings: dict[str, Any], prepared: Prepared | None) -> list[Remark]:
    """What could be said at this moment."""
    from byheart.brief import remarks

    def find(key: str) -> dict[str, Any] | None:
        return prepared.find(key) if prepared is not None else None

    folder = card["folder"]
    if call.event == register.PROMPT:
        if not settings["prompt"]:
            return []
        # Some agents hand on what they were told of us as a part of the prompt.
        prompt = _OWN.sub(" ", register.words(call.told, "prompt", "initialPrompt", "user_prompt"))
        sent = cards.sent(call.home, call.client, call.session) or {}
        told = {line[2] for line in sent.get("told", ()) if len(line) > 2}
        lines = [line for each in card["sections"] for line in (*each["lines"], *each["left_out"])]
        known = (
            remarks.for_prompt(prepared.header.get("prompts", ()), prepared.header.get("common", ()), prompt)
            if prepared
            else None
        )
        return [*remarks.of_lines(lines, told, prompt), *([known] if known else [])]
    if call.event == register.SUBAGENT:
        return list(_rules(card)) if settings["subagent"] else []
    given = _given(call.told)
    tool = register.words(call.told, "tool_name", "toolName", "tool").casefold().rsplit("__", 1)[-1]
    command = _command(given) if tool in _SHELLS or not tool else ""
    if call.event == register.TOOL:
        if command:
            return list(remarks.for_command(find if settings["command"] else _nothing, card["triggers"], command))
        if settings["file"] and (tool in _EDITORS or not tool):
            return [
                each
                for path in _paths(given)
                for each in (*remarks.of_card(card["files"], path, folder), *remarks.for_file(find, path, folder))
            ]
        return []
    output = _output(call.told)
    if not _is_failure(call.told, command, output) and not _fails_unseen(call.told, command, output, find):
        _got_over(call, card["project"], command, output)
        return []
    if tool in _READERS and (path := register.words(given, "file_path", "filePath", "path")):
        missing = remarks.for_missing(find, path) if settings["file"] else None
        return [missing] if missing else []
    return list(_after_failure(call, card["project"], command, output, find, settings)) if command else []


def _fails_unseen(told: dict[str, Any], command: str, output: str, find: Any) -> bool:
    """Whether a call printed an error that memory knows, although nothing says that it failed: a line of several commands may end well,
    and some agents do not say how a call ended."""
    from byheart.brief import remarks
    from byheart.sessions.facts.commands import core_of, only_looks

    may_fail = any(mark in command for mark in ("|", ";", "&&")) or _is_bare(told)
    return may_fail and not only_looks(core_of(command)) and remarks.for_failure(find, output) is not None


def _is_bare(told: dict[str, Any]) -> bool:
    """Whether an agent hands on what a call printed, and nothing about how it ended."""
    return any(isinstance(told.get(name), str) for name in _RESULTS)


def _nothing(key: str) -> None:
    del key


def _rules(card: dict[str, Any]) -> Iterator[Remark]:
    """What the user wants, for an agent that has not heard of it: as much as a small part of a brief holds."""
    from byheart.brief.remarks import Remark

    left = _TASK_TOKENS
    for section in card["sections"]:
        if section["name"] not in _WISHES:
            continue
        for text, address, tokens, *_ in section["lines"]:
            if tokens <= left:
                left -= tokens
                yield Remark(f"s:{address}", f"{text} [{address}]", "what the user wants, for a sub-agent")


def _after_failure(call: HookCall, project: str, command: str, output: str, find: Any, settings: dict[str, Any]) -> Iterator[Remark]:  # fmt: skip
    """What got over this failure before: a moment ago, or in earlier sessions. It is noted as open until something gets over it."""
    from byheart.brief import remarks
    from byheart.brief.remarks import ERROR
    from byheart.sessions.facts.commands import core_of, only_looks

    remark = remarks.for_failure(find, output) if settings["failure"] else None
    if remark is None and settings["failure"] and (common := moments.read(call.home, moments.EVERYWHERE)) is not None:
        remark = remarks.for_failure(common.find, output)
        common.close()
    signature = _signature(output, command)
    now = moments.live(call.home, project, [signature]) if signature and settings["failure"] else None
    if remark is None and now is not None:
        remark = _of_a_moment_ago(now, command)
    if call.session and (remark is not None or (signature and not only_looks(core_of(command)))):
        told = moments.said(call.home, call.client, call.session)
        key = remark.key if remark else ""
        if key and key in told["said"]:
            # It was told what helps, and it failed again: that counts against the remark.
            moments.note_outcome(
                call.home, {"key": key, "helped": False, "project": project, "session": call.session, "at": _now()}
            )
        waits = {"command": command[:400], "signature": signature or key.removeprefix(ERROR), "key": key, "ran": "", "calls": 0}  # fmt: skip
        told["open"] = [*told["open"], waits][-_MOST_OPEN:]
        moments.keep_said(call.home, call.client, call.session, told)
    if remark is not None:
        yield remark


def _signature(output: str, command: str) -> str:
    """The signature of the error that stopped a call; empty where no line of it says more than that something failed."""
    from byheart.sessions.facts.errors import errors_of, is_wrapper, signature_of

    line = next(iter(errors_of(output, command, most=1)), "")
    if not line or is_wrapper(line):
        return ""
    signature = signature_of(line)
    return signature if len(_LETTERS.findall(signature)) >= _SAYS_SOMETHING else ""


def _of_a_moment_ago(now: dict[str, Any], command: str) -> Remark | None:
    """What got over the same error a moment ago, where it was more than to run the same again."""
    from byheart.brief.remarks import ERROR, Remark, calls_in
    from byheart.sessions.facts.commands import acts_of, program_of

    steps = list(calls_in(command))
    ran, worked = str(now.get("ran", "")), str(now.get("worked", ""))
    if ran:
        is_alike = any(program_of(step) == program_of(worked) for step in steps)
    else:
        is_alike = any(acts_of(step) == acts_of(worked) for step in steps) and worked not in command
    if not is_alike:
        return None
    minutes = max(0, int(time.time() - float(now.get("seconds", 0))) // 60)
    first = f"running `{ran}`, then " if ran else ""
    when = "a moment" if not minutes else "a minute" if minutes == 1 else f"{minutes} minutes"
    text = f"this error was got over here {when} ago: {first}`{worked}` passed [{now['cite']}]"
    return Remark(ERROR + str(now["signature"]), text, "got over a moment ago in this project")


def _got_over(call: HookCall, project: str, command: str, output: str) -> None:
    """Note what got over an open failure of this session."""
    if not (command and call.session and moments.has_open(call.home, call.client, call.session)):
        return
    from byheart.brief import remarks
    from byheart.sessions.facts.commands import acts_of, only_looks
    from byheart.sessions.facts.differences import counterpart, steps_in

    told = moments.said(call.home, call.client, call.session)
    left = []
    shown: dict[str, str] | None = None
    for each in told["open"]:
        steps = steps_in(each["command"])
        step = steps[-1] if steps else each["command"]
        worked = counterpart(step, command)
        is_same = acts_of(worked) == acts_of(step) and not _RISKY.search(worked)
        # Taking an output apart costs more than all the rest.
        shown = remarks.signatures(output) if is_same and shown is None else shown
        if is_same and each["signature"] not in (shown or ()):
            moments.note_live(call.home, project, {"signature": each["signature"], "worked": _short(worked), "ran": each["ran"], "seconds": time.time(), "cite": f"{call.client}:{call.session[:8]}"})  # fmt: skip
            if each["key"]:
                moments.note_outcome(
                    call.home,
                    {"key": each["key"], "helped": True, "project": project, "session": call.session, "at": _now()},
                )
            continue
        if not only_looks(command) and not _RISKY.search(command):
            each["ran"] = _short(command)
        each["calls"] += 1
        if each["calls"] < _PATIENCE:
            left.append(each)
    told["open"] = left
    moments.keep_said(call.home, call.client, call.session, told)


def _short(command: str) -> str:
    """A command as it may be told to another session: short, without secrets, and without anything that could pass for memory's own."""
    line = " ".join(command.split("<<", 1)[0].split())[:160]
    if _PLAIN_CALL.fullmatch(line) and not _ANNOUNCES.search(line):
        return line
    from byheart.interfaces.hooks import rebuild

    return rebuild.safe(" ".join(command.split("<<", 1)[0].split())[:160]).replace("`", "'")


def _told(call: HookCall, card: dict[str, Any], settings: dict[str, Any], found: Iterable[Remark]) -> tuple[str, bool]:
    """What of this a session has not heard, in the form of memory; and whether its user is to be asked."""
    found = list(found)
    if not found:
        return "", False
    told: dict[str, Any] = {"tokens": 0, "said": {}, "open": []}
    if call.session:
        told = moments.said(call.home, call.client, call.session)
    lines: list[str] = []
    asks = False
    # Each sub-agent is one that has heard nothing yet.
    is_new = call.event == register.SUBAGENT
    for each in found:
        cost = len(each.text) // 3 + 12
        is_asked = each.is_rule and settings["rules"] == "ask"
        if is_asked:
            # A rule to be asked about holds for every call, not only for the first.
            asks = True
        elif (each.key in told["said"] and not is_new) or told["tokens"] + cost > settings["tokens"]:
            continue
        most = 2 * _MOST_AT_ONCE if is_new else _MOST_AT_ONCE
        if len(lines) >= most:
            break
        lines.append(each.text[:400])
        told["tokens"] += cost
        told["said"][each.key] = {
            "at": _now(),
            "event": call.event,
            "text": each.text[:400],
            "why": each.why,
            "folder": card["folder"],
        }
    if not lines:
        return "", False
    if call.session:
        moments.keep_said(call.home, call.client, call.session, told)
    if asks and register.can_ask(call.client):
        return "; ".join(lines), True
    if asks:
        lines.append(_ASK)
    if call.event == register.TOOL and register.only_decides(call.client):
        lines.append(_HELD)
    return fit.remark(lines, os.urandom(4).hex()), False


def _now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def _given(told: dict[str, Any]) -> dict[str, Any]:
    """What a tool is called with."""
    given = told.get("tool_input") or told.get("toolArgs") or told.get("args") or told.get("input") or {}
    if isinstance(given, str):
        try:
            given = json.loads(given)
        except ValueError:
            given = {"command": given}
    return given if isinstance(given, dict) else {}


def _command(given: dict[str, Any]) -> str:
    value = given.get("command") or given.get("cmd") or given.get("script") or ""
    if isinstance(value, list):
        words = [str(each) for each in value]
        # A shell that is handed a line.
        value = words[2] if len(words) == 3 and words[1] in ("-c", "-lc") else " ".join(words)
    return str(value)[:20_000]


def _paths(given: dict[str, Any]) -> list[str]:
    """The files that an editing tool is about to change."""
    path = register.words(given, "file_path", "filePath", "path", "notebook_path")
    patch = register.words(given, "patch", "input", "patchText", "command")
    return [path] if path else [each.strip() for each in _PATCHED.findall(patch)][:10]


def _output(told: dict[str, Any]) -> str:
    """All that a tool printed, in whatever fields its agent puts it."""
    parts: list[str] = []
    for name in ("tool_response", "tool_result", "toolResult", "tool_output", "result", "output", "error"):
        _collect(told.get(name), parts)
    text = "\n".join(parts)
    return text if len(text) <= _READ else text[: _READ // 3] + "\n" + text[-2 * _READ // 3 :]


def _collect(value: object, parts: list[str], depth: int = 0) -> None:
    if isinstance(value, str) and value:
        if "Output: " in value[:600]:
            from byheart.text.client_text import printed

            # Its own exit code is looked for in what it was.
            parts.append(value[-200:] if "Exit Code: " in value[-200:] else "")
            value = printed(value)
        parts.append(value)
    elif depth < 4 and isinstance(value, dict):
        for each in value.values():
            _collect(each, parts, depth + 1)
    elif depth < 4 and isinstance(value, list):
        for each in value[:50]:
            _collect(each, parts, depth + 1)


def _is_failure(told: dict[str, Any], command: str, output: str) -> bool:
    """Whether a call went wrong: by the moment's own name, by what its agent says of it, by an exit code in the output, or, where
    nothing else is handed on, by how the output ends."""
    if (
        "fail" in register.words(told, "hook_event_name", "event").casefold()
        or told.get("error")
        or told.get("failed") is True
    ):
        return True
    for name in _RESULTS:
        value = told.get(name)
        if isinstance(value, dict):
            if (
                value.get("is_error") is True
                or value.get("isError") is True
                or value.get("error")
                or value.get("success") is False
            ):
                return True
            if str(value.get("resultType", "")).casefold() in ("failure", "error", "denied"):
                return True
            for code in ("exitCode", "exit_code", "exitcode"):
                if isinstance(value.get(code), int):
                    return bool(value[code])
    found = _FAILED.search(output[:2_000]) or _FAILED.search(output[-400:])
    if found is not None:
        return (found[1] or found[2]) not in ("0", None)
    if not (command and output and _is_bare(told)):
        return False
    from byheart.sessions.facts.commands import judged

    return judged(command, None, output) is False
