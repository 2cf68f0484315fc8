"""Which lines of an output say what went wrong, and telling the same error again in another run."""

from __future__ import annotations

import re

from byheart.sessions.facts.commands import ANSI, LONGEST, SPACES

_ERROR = re.compile(
    r"(?:Error|Exception|Panic)\b\s*[:(\[]|^\s*(?:error|fatal|panic|ERROR|FATAL|E)\b[:\s\[]|\berror(?:\[\w+\])?:|\bERR!|\bERR_\w+|\berror TS\d+|\berror MD\d+|"
    r"\bfatal:|\bpanic:|command not found|not recognized as|No such file or directory|Permission denied|Connection refused|Address already in use|EADDRINUSE|ENOENT|EACCES|"
    r"\b[Cc]annot \w|\b[Cc]an't \w|[Cc]ould not \w|[Mm]odule not found|No module named|undefined (?:reference|symbol|variable|method|is not)|"
    r"is not (?:defined|a function|assignable|installed|a git repository|recognized)|unrecognized (?:subcommand|arguments?|option)|unknown (?:option|command|flag|subcommand|revision)|"
    r"[Uu]nexpected (?:token|end|argument)|[Ss]yntax error|[Tt]imed? ?out|[Ff]ailed to |FAILED|^--- FAIL|^FAIL\b|✖|✗|\(fail\)|not ok \d|CONFLICT|does not exist|doesn't exist|already exists|"
    r"rejected|unable to |Unable to |missing |Missing |invalid |Invalid |denied|refused|ambiguous argument|AssertionError|Segmentation fault|core dumped|out of memory|OOM|\*\*\* .{1,80} (?:Stop|Error)",
)
# Where a line stands in the code, or what it is drawn with: no message by itself.
_FRAME = re.compile(
    r"^\s*(?:at .{1,200}:\d+|File \".{1,300}\", line \d+|\.{3}|>?\s*\d+ ?[|│]|[|│^~]+\s*$|Traceback \(most recent|[-=_*]{4,}\s*$|npm (?:ERR!|error) (?:A complete log|code|path|errno|syscall)|[+-] ?\S.{0,300}$(?<=[;{},]))"
)
# Said by a test that passed, by the client, or in passing.
_NO_ERROR = re.compile(
    r"^\s*(?:\(pass\)|✓|✔|√|ok \d|PASS\b|hint:|warning:|Warning:|\[?WARN|Sibling tool call errored)|temporarily unavailable, so auto mode|<tool_use_error>Sibling",
)
# True, and told only where nothing else is: the line that wraps another failure.
_WRAPPER = re.compile(
    r"script \"?[\w:.-]+\"? exited with code|Lifecycle script|npm (?:error|ERR!) (?:command|Lifecycle)|× Some errors were emitted|^FAIL\b(?!\S*:)|^\s*\d+ (?:fail|pass|errors?)\b|^Ran \d+ tests|"
    r"make(?:\[\d+\])?: \*\*\* \[.{1,200}\] Error \d+|exit(?:ed with)? (?:code|status) \d+\.?$|\b\d+ issues?:|^\* \w+: \d+$|ELIFECYCLE|Command failed with exit code|The process '.{1,200}' failed"
)
_WORN = (
    (re.compile(r"0x[0-9a-fA-F]+|\b[0-9a-f]{8}-[0-9a-f-]{27,40}\b|\b[0-9a-f]{12,64}\b"), "#"),
    (re.compile(r"(?:/tmp|/var/folders|/private/tmp)/[^\s'\":,)]{1,300}"), "/temporary/#"),
    (re.compile(r"(?:[A-Za-z]:)?(?:[\\/][\w.@+~-]{1,100}){2,}[\\/]([\w.@+-]{1,100})"), r"\1"),
    (re.compile(r"(?<![\w.])\d+(?:\.\d+)*(?:ms|s|%|MB|kB|KB|GB)?(?![\w.])"), "#"),
    (re.compile(r":\d+(?::\d+)?\b"), ":#"),
)
_STATUS = re.compile(
    r"(?:\[?(?:Exit code|Command exited|Process exited|Wall time|<shellId|Process Group)|\[…\])", re.IGNORECASE
)
_READ = 12_000


def errors_in(output: str, *, most: int = 3) -> list[str]:
    """The lines that say what went wrong, each once, the telling ones first."""
    if len(output) > _READ:
        output = output[: _READ // 3] + "\n" + output[-2 * _READ // 3 :]
    lines = ANSI.sub("", output).splitlines()
    found: dict[str, str] = {}
    for line in _in_failures(lines):
        if len(line) > 2000 or _FRAME.match(line) or _NO_ERROR.search(line) or not _ERROR.search(line):
            continue
        shown = SPACES.sub(" ", line).strip()[:LONGEST]
        if len(shown) >= 6:
            found.setdefault(signature_of(shown), shown)
    told = [line for line in found.values() if not _WRAPPER.search(line)]
    return sorted(told or found.values(), key=telling, reverse=True)[:most]


def _in_failures(lines: list[str]) -> list[str]:
    """Where a test runner marks each test, only what stands before a failed one: passing tests log errors too."""
    if not any("(fail)" in line or "(pass)" in line for line in lines):
        return lines
    kept: list[str] = []
    waiting: list[str] = []
    for line in lines:
        if "(pass)" in line:
            waiting = []
        elif "(fail)" in line:
            kept += [*waiting[-40:], line]
            waiting = []
        else:
            waiting.append(line)
    return kept or lines[-5:]


def telling(line: str) -> int:
    """How much a line says about a failure."""
    score = 0
    if _WRAPPER.search(line):
        score -= 3
    if re.search(r"\w+(?:Error|Exception)\b\s*:", line) or re.search(r"\b(?:fatal|panic|error(?:\[\w+\])?):", line):
        score += 3
    if re.search(
        r"not found|No such file|No module|[Cc]annot|unrecognized|unknown|denied|refused|not (?:defined|installed|a function)|\berror (?:TS|MD)\d",
        line,
    ):
        score += 3
    if re.search(r"FAILED|FAIL\b|✖|✗|not ok|\(fail\)", line):
        score += 1
    return score * 10 - min(len(line), 250) // 50


def last_line(output: str) -> str | None:
    """What a failed command said last, where no line of it looks like an error."""
    for line in reversed(ANSI.sub("", output[-4_000:]).splitlines()):
        shown = SPACES.sub(" ", line).strip()
        if len(shown) >= 8 and not _STATUS.match(shown) and not _NO_ERROR.search(shown):
            return shown[:LONGEST]
    return None


def signature_of(line: str) -> str:
    """An error without what differs from run to run: numbers, addresses, folders, times."""
    text = line.casefold()
    for pattern, stand_in in _WORN:
        text = pattern.sub(stand_in, text)
    return SPACES.sub(" ", text).strip()[:200]
