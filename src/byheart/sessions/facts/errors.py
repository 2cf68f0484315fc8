"""Errors that a session met: the lines that tell, and their signatures. A hook loads this at a failure, so patterns are compiled when
they are first used."""

from __future__ import annotations

import re

from byheart.sessions.facts.commands import ANSI, LONGEST, SPACES, core_of, only_looks
from byheart.text.deferred import deferred

_ERROR = deferred(
    r"(?:Error|Exception|Panic)\b\s*[:(\[]|^\s*(?:error|fatal|panic|ERROR|FATAL|E)\b[:\s\[]|\berror(?:\[\w+\])?:|\bERR!|\bERR_\w+|\berror:? [A-Z]{1,8}\d{2,6}\b|"
    r"\bfatal:|\bpanic:|command not found|no matches found|parse error near|not recognized as|No such file or directory|Permission denied|Connection refused|Address already in use|EADDRINUSE|ENOENT|EACCES|"
    r"\b[Cc]annot \w|\b[Cc]an't \w|[Cc]ould not \w|[Mm]odule not found|No module named|undefined (?:reference|symbol|variable|method|is not)|"
    r"is not (?:defined|a function|assignable|installed|a git repository|recognized)|unrecognized (?:subcommand|arguments?|option)|unknown (?:option|command|flag|subcommand|revision)|"
    r"[Uu]nexpected (?:token|end|argument)|[Ss]yntax error|[Tt]imed? ?out|[Ff]ailed to |FAILED|^--- FAIL|^FAIL\b|✖|✗|\(fail\)|not ok \d|CONFLICT|does not exist|doesn't exist|already exists|"
    r"rejected|unable to |Unable to |missing |Missing |invalid |Invalid |denied|refused|ambiguous argument|AssertionError|Segmentation fault|core dumped|out of memory|OOM|\*\*\* .{1,80} (?:Stop|Error)",
)
# Where a line stands in the code, or what it is drawn with: no message by itself.
_FRAME = deferred(
    r"^\s*(?:at .{1,200}:\d+|File \".{1,300}\", line \d+|\.{3}|>?\s*(?:\d+\s+){0,2}\d+ ?[|│]|[|│^~]+\s*$|Traceback \(most recent|[-=_*]{4,}\s*$|npm (?:ERR!|error) (?:A complete log|code|path|errno|syscall)|[+-] ?\S.{0,300}$(?<=[;{},]))"
)
# Said by a test that passed, by the client, or in passing.
_NO_ERROR = deferred(
    r"^\s*(?:\(pass\)|✓|✔|√|ok \d|PASS\b|hint:|warning:|Warning:|\[?WARN|Sibling tool call errored)|temporarily unavailable, so auto mode|<tool_use_error>Sibling",
)
# True, and told only where nothing else is: the line that wraps another failure.
_WRAPPER = deferred(
    r"script \"?[\w:.-]+\"? exited with code|Lifecycle script|npm (?:error|ERR!) (?:command|Lifecycle)|× Some errors were emitted|^FAIL\b(?!\S*:)|^\s*\d+ (?:fail|pass|errors?)\b|^Ran \d+ tests|"
    r"make(?:\[\d+\])?: \*\*\* \[.{1,200}\] Error \d+|exit(?:ed)?(?: with)?(?: code| status)? \(?\d+\)?\.?$|\b\d+ issues?:|^\* \w+: \d+$|ELIFECYCLE|Command failed with exit code|The process '.{1,200}' failed"
)
_WORN = (
    (deferred(r"0x[0-9a-fA-F]+|\b[0-9a-f]{8}-[0-9a-f-]{27,40}\b|\b[0-9a-f]{12,64}\b"), "#"),
    (deferred(r"(?:/tmp|/var/folders|/private/tmp)/[^\s'\":,)]{1,300}"), "/temporary/#"),
    (deferred(r"(?:[A-Za-z]:)?(?:[\\/][\w.@+~-]{1,100}){2,}[\\/]([\w.@+-]{1,100})"), r"\1"),
    (deferred(r"(?<![\w.])\d+(?:\.\d+)*(?:ms|s|%|MB|kB|KB|GB)?(?![\w.])"), "#"),
    (deferred(r":\d+(?::\d+)?\b"), ":#"),
)
_STATUS = deferred(
    r"(?:\[?(?:Exit code|Command exited|Process exited|Wall time|<shellId|Process Group)|\[…\])", re.IGNORECASE
)
# That something went wrong, and not what.
_SAYS_NOTHING = deferred(
    r"[\W\d_]*(?:(?:error|fatal|panic|fail(?:ed|ure)?|exception|message|summary|s)[\W\d_]*)+", re.IGNORECASE
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
        if len(shown) >= 6 and not _SAYS_NOTHING.fullmatch(shown):
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


_FEW_LINES, _FEW_CHARACTERS, _TELLING = 6, 2_000, 12


def errors_of(output: str, command: str = "", *, most: int = 3) -> list[str]:
    """The lines that say why a call failed, each once: first the one that stopped it, then what else looks like an error. The last
    word of a command that says it in no known way."""
    found: dict[str, str] = {}
    for line in (symptom(output, command), *errors_in(output, most=most)):
        if line:
            found.setdefault(signature_of(line), line)
    if not found and command:
        lines = [
            SPACES.sub(" ", line).strip()
            for line in ANSI.sub("", output[:_FEW_CHARACTERS]).splitlines()
            if line.strip()
        ]
        plain = [line for line in lines if not _STATUS.match(line) and not _NO_ERROR.search(line)]
        if plain and len(plain) <= _FEW_LINES and len(output) < _FEW_CHARACTERS:
            # Whoever fails with a few words says why in the first of them.
            return [plain[0][:LONGEST]] if len(plain[0]) >= _TELLING else []
        if not only_looks(core_of(command)) and (last := last_line(output)):
            return [last]
    return list(found.values())[:most]


def is_wrapper(line: str) -> bool:
    """Whether a line only says that another failure made something fail."""
    return bool(_WRAPPER.search(line))


def telling(line: str) -> int:
    """How much a line says about a failure."""
    score = 0
    if _WRAPPER.search(line):
        score -= 3
    if re.search(r"\w+(?:Error|Exception)\b\s*:", line) or re.search(r"\b(?:fatal|panic|error(?:\[\w+\])?):", line):
        score += 3
    if re.search(
        r"not found|No such file|No module|[Cc]annot|unrecognized|unknown|denied|refused|not (?:defined|installed|a function)|\berror [A-Z]{1,8}\d",
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


# What calls itself an error; a file, a package or a program that is named before it is where it was met.
_NAMED = deferred(r"(?:\b\w*(?:error|exception)\b|\b(?:fatal|panic)\b)(?:[ \[]\w{1,12}\]?)?\s?:\s")
_WHERE = 120
_QUOTED = deferred(r"'[^'\n]{1,120}'|\"[^\"\n]{1,120}\"|`[^`\n]{1,120}`")
_LETTERS, _SAYS_BY_ITSELF = deferred(r"[^\W\d_]{3,}"), 3


def signature_of(line: str) -> str:
    """An error without what differs from run to run: where it was met, numbers, addresses, folders, times."""
    text = line.casefold()
    named = _NAMED.search(text)
    text = text[named.start() :] if named and named.start() <= _WHERE else text
    bare = _QUOTED.sub("*", text)
    # What is left without its names has to say something by itself.
    text = bare if len(_LETTERS.findall(bare)) >= _SAYS_BY_ITSELF else text
    for pattern, stand_in in _WORN:
        text = pattern.sub(stand_in, text)
    return SPACES.sub(" ", text).strip()[:200]


# How a line names what failed, the surest first. Programs say it at the end, behind what they logged on the way.
_SAYS = tuple(
    deferred(pattern)
    for pattern in (
        r"^\s*(?:\(fail\)|--- FAIL:|FAILED |FAIL:? +\S|✗ |✖ (?!\d+ problem)|× |not ok \d)",
        r"^\S+?[(:]\d+[,:]\d+\)?:? +(?:error|fatal)\b|^\S+:\d+:\d+ (?:lint|assist|parse)/\S+|^\S+\.\w+ (?:format|organizeImports) ━|\berror(?: |\[)[A-Z]{1,8}\d{2,6}",
        r"^\s*(?:\w+\.)*\w*(?:Error|Exception)\b: \S",
        r"^\s*(?:error|fatal|panic|ERROR|Error)(?:\[\w+\])?: \S",
        r"not found|no matches found|No such file|No module|[Cc]annot |unrecognized|unknown (?:option|command|flag)|denied|refused|already in use|not installed",
    )
)
# Lines that say only that something failed, that are code or progress, or that are the command itself.
_EMPTY = deferred(
    r"exited with code|exited \(\d+\)|Some (?:errors|warnings) were emitted|husky - |script \"?\S+\"? (?:failed|exited)|lifecycle script|npm (?:ERR!|error) (?:code|errno|A complete log|Lifecycle)|^\s*(?:i |> |\$ |~|\^|at |File \"|\+ |- )|│|┃|"
    r"^\s*[\w.-]+: \d+\s*$|^\s*[./\w-]+/[\w./-]+\s*$|^\s*\w+: '\w+',?\s*$|Waiting for|process\.exit|Command aborted|\binterrupted\b|throw new|^\s*\d+ +\d* *[|│]|^\s*(?:catch|if|return|const|let|var|import|export)\b"
)
_CLEAN = deferred(
    r"^\s*0 fail(?:ed|ing|ures)?\b|\b0 failed\b|, 0 failures\b|^\s*# fail 0\b|^test result: ok", re.MULTILINE
)
_STEP = deferred(r"^\$ \S", re.MULTILINE)
_TOLD, _TAIL = 240, 12_000
# A line that was printed over itself while something went on.
_SPUN = deferred(r"[-\\|/⠀-⣿] ?[^-\\|/⠀-⣿]{2,60}?[-\\|/⠀-⣿]")
_SPINS = deferred(r"[-\\|/⠀-⣿] ?([^-\\|/⠀-⣿]{2,60}?)(?: ?[-\\|/⠀-⣿] ?\1){2,}")


def symptom(output: str, command: str) -> str:
    """The line that tells what went wrong; empty where none does."""
    text = ANSI.sub("", output[-_TAIL:])
    # Of several steps the last is the one that stopped it; what passed before it logged errors on purpose.
    steps = [match.start() for match in _STEP.finditer(text)]
    text = text[steps[-1] :] if len(steps) > 1 else text
    clean = [match.end() for match in _CLEAN.finditer(text)]
    rest = text[clean[-1] :] if clean else text
    lines = [line for line in rest.split("\n") if line.strip() and not _is_empty(line, command)]
    for pattern in _SAYS:
        found = next((line for line in reversed(lines) if len(line) < 2000 and pattern.search(line)), None)
        if found is not None:
            return shown_error(found)
    known = [line for line in errors_in(rest) if not _is_empty(line, command)]
    return shown_error(known[0]) if known else ""


def _is_empty(line: str, command: str) -> bool:
    return bool(_EMPTY.search(line)) or SPACES.sub(" ", line).strip(" $`") in command


def shown_error(line: str) -> str:
    """A line of an output as an error is told."""
    plain = " ".join(line.replace("━", " ").split())
    return (_SPINS.sub(r"\1", plain) if _SPUN.search(plain) else plain).strip()[:_TOLD].replace("`", "'")
