"""What a failed command failed of: the line that says so, not the first that looks like an error."""

from __future__ import annotations

import re

from byheart.sessions.facts import errors
from byheart.sessions.facts.commands import ANSI, SPACES

# How a line names what failed, the surest first. Programs say it at the end, behind what they logged on the way.
_SAYS = tuple(
    re.compile(pattern)
    for pattern in (
        r"^\s*(?:\(fail\)|--- FAIL:|FAILED |FAIL:? +\S|✗ |✖ (?!\d+ problem)|× |not ok \d)",
        r"^\S+?[(:]\d+[,:]\d+\)?:? +(?:error|fatal)\b|^\S+:\d+:\d+ (?:lint|assist|parse)/\S+|^\S+\.\w+ (?:format|organizeImports) ━|\berror(?: |\[)(?:TS|E|MD|CS)\d+",
        r"^\s*(?:\w+\.)*\w*(?:Error|Exception)\b: \S",
        r"^\s*(?:error|fatal|panic|ERROR|Error)(?:\[\w+\])?: \S",
        r"not found|No such file|No module|[Cc]annot |unrecognized|unknown (?:option|command|flag)|denied|refused|already in use|not installed",
    )
)
# Lines that say only that something failed, that are code or progress, or that are the command itself.
_EMPTY = re.compile(
    r"exited with code|Some (?:errors|warnings) were emitted|husky - |script \"?\S+\"? (?:failed|exited)|lifecycle script|npm (?:ERR!|error) (?:code|errno|A complete log|Lifecycle)|^\s*(?:i |> |\$ |~|\^|at |File \"|\+ |- )|│|┃|"
    r"^\s*[\w.-]+: \d+\s*$|^\s*[./\w-]+/[\w./-]+\s*$|^\s*\w+: '\w+',?\s*$|Waiting for|process\.exit|Command aborted|\binterrupted\b|throw new|^\s*\d+ +\d* *[|│]|^\s*(?:catch|if|return|const|let|var|import|export)\b"
)
_CLEAN = re.compile(
    r"^\s*0 fail(?:ed|ing|ures)?\b|\b0 failed\b|, 0 failures\b|^\s*# fail 0\b|^test result: ok", re.MULTILINE
)
_ECHO = re.compile(r"^\$ \S", re.MULTILINE)
_LONGEST, _TAIL = 240, 12_000


def symptom(output: str, command: str) -> str:
    """The line that tells what went wrong; empty where none does."""
    text = ANSI.sub("", output[-_TAIL:])
    # Of several steps the last is the one that stopped it; what passed before it logged errors on purpose.
    steps = [match.start() for match in _ECHO.finditer(text)]
    text = text[steps[-1] :] if len(steps) > 1 else text
    clean = [match.end() for match in _CLEAN.finditer(text)]
    rest = text[clean[-1] :] if clean else text
    lines = [line for line in rest.split("\n") if line.strip() and not _is_empty(line, command)]
    for pattern in _SAYS:
        found = next((line for line in reversed(lines) if len(line) < 2000 and pattern.search(line)), None)
        if found is not None:
            return _shown(found)
    known = [line for line in errors.errors_in(rest) if not _is_empty(line, command)]
    return _shown(known[0]) if known else ""


def _is_empty(line: str, command: str) -> bool:
    return bool(_EMPTY.search(line)) or SPACES.sub(" ", line).strip(" $`") in command


def _shown(line: str) -> str:
    return SPACES.sub(" ", line.replace("━", " ")).strip()[:_LONGEST].replace("`", "'")
