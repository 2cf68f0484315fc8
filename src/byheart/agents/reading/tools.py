"""What a tool call did, from its name and arguments: the command it ran, the files it touched, how it ended.

Every agent names its tools differently and means the same few things, so they are told apart here, once.
"""

from __future__ import annotations

import json
import re
import shlex
from typing import Any

import msgspec

from byheart.agents.reading.lines import HALF
from byheart.agents.reading.values import listing, mapping, string
from byheart.domain.sessions import How, Touch

_DECODE = msgspec.json.Decoder().decode
_SHELLS = frozenset(
    """bash shell exec exec_command run_shell_command run_command run_commands terminal execute_command local_shell
    local_shell_call powershell shell_command developer__shell run_in_terminal execute_bash cmd run_terminal_cmd
    container.exec unified_exec write_stdin execute_ipython_cell run ipython sh bash_tool command_execution
    run_terminal_command execute""".split()
)
_PATHS = (
    "file_path",
    "path",
    "filePath",
    "filepath",
    "target_file",
    "notebook_path",
    "file",
    "absolute_path",
    "filename",
    "file_name",
    "relative_workspace_path",
    "uri",
)
_READS = ("read", "view", "open", "cat", "get_file")
_WRITES = ("write", "create", "new_file", "save")
_EDITS = ("edit", "replace", "patch", "insert", "update", "modify", "str_replace", "apply", "append", "diff")
_DELETES = ("delete", "remove", "unlink")
_SEARCHES = ("grep", "glob", "search", "list", "ls", "find")
_EDITOR = {
    "view": How.READ,
    "create": How.CREATE,
    "str_replace": How.EDIT,
    "insert": How.EDIT,
    "undo_edit": How.EDIT,
    "replace": How.EDIT,
    "edit": How.EDIT,
    "write": How.CREATE,
    "read": How.READ,
}
_PATCHED = re.compile(r"^\*\*\* (Update File|Add File|Delete File|Move to): ([^\n]{1,500})$", re.MULTILINE)
_PATCH_HOW = {"Update File": How.EDIT, "Add File": How.CREATE, "Delete File": How.DELETE, "Move to": How.CREATE}
_READ_COMMAND = re.compile(
    r"^(?:cat|bat|less|nl(?: -ba)?|head(?: -n? ?\d+)?|tail(?: -n? ?\d+)?|sed -n ['\"]?[\d,$ ]+p['\"]?)\s+(['\"]?)([^\s'\"|&;<>*?$`-][^\s'\"|&;<>*?$`]{0,300})\1(?: ?\| ?(?:head|tail|nl|sed)[^|&;\n]{0,80})?$"
)
_SCRIPTED = re.compile(
    r"""\bcmd["']?\s*:\s*("(?:[^"\\\n]|\\.){1,4000}"|'(?:[^'\\\n]|\\.){1,4000}'|`(?:[^`\\]|\\.){1,4000}`)"""
)
_EXITS = re.compile(
    r"(?:^|\n)\W{0,2}(?:Exit code:?|exit code|Exit Code:|exit status|Process exited with code|Command exited with code|"
    r"The command completed with exit code|Command failed with exit code|Command completed with exit code)\s*:?\s*(-?\d{1,6})\b"
    r"|exited with exit code (-?\d{1,6})\b|\bexit code:? (-?\d{1,6})\b|\"returncode\":\s*(-?\d{1,6})",
    re.IGNORECASE,
)
_LONGEST = 4_000
_WRITING = re.compile(r"(?:^|[|;&\n]\s{0,4})(?:git )?(?:rm|mv|tee|sed) |(?<![0-9&>])>{1,2} {0,2}[\w./~]")
_INTO = re.compile(r"(?<![0-9&>=-])>{1,2} {0,2}([\w./~@+-]{1,300})")
_PLAIN = re.compile(r"[\w./~@+-]{1,300}")
_ENDS = 400
_MOST_TOUCHED = 40


def arguments_of(value: Any) -> Any:
    """A call's arguments as a value; agents write them as an object or as JSON in a string."""
    if isinstance(value, str):
        if not value.startswith("{"):
            return value
        try:
            parsed = _DECODE(value)
        except (msgspec.DecodeError, RecursionError, UnicodeEncodeError):
            return value
        return parsed if isinstance(parsed, dict) else value
    return value


def command_of(tool: str, arguments: Any) -> str | None:
    """The shell command of a call, if it is one."""
    name = _plain(tool)
    given = mapping(arguments)
    if name not in _SHELLS:
        return None
    if isinstance(arguments, str):
        # A script that calls the shell, as code-writing agents send it.
        return "\n".join(scripted_commands(arguments)) or None
    for key in ("command", "cmd", "commands", "script", "code"):
        value = given.get(key)
        if isinstance(value, str) and value.strip():
            return value.strip()
        if isinstance(value, list):
            words = [each for each in value if isinstance(each, str)]
            if key == "commands":
                return "\n".join(words) or None
            return _joined(words)
    action = given.get("action")
    return command_of(tool, action) if isinstance(action, dict) else None


def _joined(words: list[str]) -> str | None:
    if len(words) >= 3 and words[0].rsplit("/", 1)[-1] in ("bash", "sh", "zsh", "dash") and words[1].startswith("-"):
        return words[2].strip() or None
    return shlex.join(words) if words else None


def scripted_commands(script: str) -> list[str]:
    """The shell commands that a script hands over as literals."""
    return [unquoted(each) for each in _SCRIPTED.findall(script)]


def unquoted(literal: str) -> str:
    """What a literal of JavaScript says."""
    inner = literal[1:-1]
    if literal[0] == '"':
        try:
            return HALF.sub("\ufffd", str(json.loads(literal)))
        except ValueError:
            return inner
    return inner.replace("\\n", "\n").replace("\\'", "'").replace("\\`", "`").replace("\\\\", "\\")


def _plain(tool: str) -> str:
    name = tool.lower()
    return (
        name
        if name in _SHELLS
        else name.rsplit(".", 1)[-1].rsplit("__", 1)[-1]
        if "." in name or "__" in name
        else name
    )


def touches_of(tool: str, arguments: Any, command: str | None) -> tuple[Touch, ...]:
    """The files a call names, with what it does to them."""
    text = command if command is not None else arguments if isinstance(arguments, str) else ""
    patch = text or string(mapping(arguments).get("input")) or string(mapping(arguments).get("patch"))
    if "*** " in patch:
        found = [Touch(path.strip(), _PATCH_HOW[kind]) for kind, path in _PATCHED.findall(patch[:200_000])]
        if found:
            return tuple(dict.fromkeys(found))[:_MOST_TOUCHED]
    if command is not None:
        read = _READ_COMMAND.match(command) if len(command) < _LONGEST else None
        return (Touch(read.group(2), How.READ),) if read else changed_by(command)
    given = mapping(arguments)
    how = _how(_plain(tool), given)
    if how is None:
        return ()
    paths = [given[key] for key in _PATHS if isinstance(given.get(key), str) and given[key]][:1]
    for key in ("files", "paths", "file_paths"):
        for each in listing(given.get(key)):
            paths.append(each if isinstance(each, str) else string(mapping(each).get("path")))
    return tuple(Touch(path, how) for path in dict.fromkeys(paths[:_MOST_TOUCHED]) if path and len(path) < 1000)


def changed_by(command: str) -> tuple[Touch, ...]:
    """Files that a shell command writes, moves or removes, as far as it names them plainly."""
    if len(command) > _LONGEST or not _WRITING.search(command):
        return ()
    # What follows the first line of a here-document is its content.
    text = command.split("\n", 1)[0] if "<<" in command else command
    found: list[Touch] = []
    for part in re.split(r"&&|\|\||[|;\n]", text)[:20]:
        words = [word for word in part.split() if word]
        found += [Touch(path, How.EDIT) for path in _INTO.findall(part) if not path.startswith("/dev/")]
        if not words:
            continue
        verb = words[1] if words[0] == "git" and len(words) > 1 else words[0]
        named = [
            word.strip("'\"")
            for word in words[1 + (words[0] == "git") :]
            if not word.startswith("-") and _PLAIN.fullmatch(word.strip("'\""))
        ]
        if verb == "rm":
            found += [Touch(path, How.DELETE) for path in named]
        elif verb == "mv" and len(named) == 2:
            found += [Touch(named[0], How.DELETE), Touch(named[1], How.CREATE)]
        elif verb == "tee":
            found += [Touch(path, How.EDIT) for path in named]
        elif verb == "sed" and "-i" in part and named:
            found.append(Touch(named[-1], How.EDIT))
    return tuple(dict.fromkeys(found))[:_MOST_TOUCHED]


def _how(name: str, given: dict[str, Any]) -> How | None:
    order = given.get("command")
    if isinstance(order, str) and order in _EDITOR:
        return _EDITOR[order]
    for words, how in (
        (_DELETES, How.DELETE),
        (_EDITS, How.EDIT),
        (_SEARCHES, None),
        (_READS, How.READ),
        (_WRITES, How.CREATE),
    ):
        if any(word in name for word in words):
            return how
    return None


def exit_of(output: str | None) -> int | None:
    """The exit status that an output states at its beginning or end."""
    if not output:
        return None
    ends = output if len(output) <= 2 * _ENDS else f"{output[:_ENDS]}\n{output[-_ENDS:]}"
    found = _EXITS.search(ends)
    if found is None:
        return None
    return int(next(group for group in found.groups() if group is not None))
