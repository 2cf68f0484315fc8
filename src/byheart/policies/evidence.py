"""What a session's work shows: which commands ran and how they ended, what failed, and what made it go away."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from byheart.domain.work import FixFact, Step

_ANSI = re.compile(r"\x1b\[[0-9;?]{0,20}[A-Za-z]")
# In front of a command and behind it: where it ran, and what was done to its output.
_BEFORE = re.compile(
    r"(?:cd\s+(?:\"[^\"\n]{1,300}\"|'[^'\n]{1,300}'|[^\s;&|]{1,300})\s*(?:&&|;)\s*|(?:set -[a-z]+(?: -o pipefail)?|export \w+=\S*)\s*(?:&&|;|\n)\s*)+"
)
_BEHIND = re.compile(
    r"(?:\s*(?:\d?>\s?&\d|\d?>\s?/dev/null|&>\s?/dev/null|\|\|\s*true|;\s*echo\s+[^;|&\n]{0,120}|"
    r"\|&?\s*(?:tail|head|e?grep|rg|sed|awk|wc|cut|sort|uniq|less|cat|tee|jq|tr|column|Select-Object|Select-String|Out-String)\b(?:\"[^\"\n]{0,300}\"|'[^'\n]{0,300}'|[^|;&\n\"']){0,300}))+\s*$"
)
_KINDS = (
    (
        "test",
        r"\b(?:pytest|py\.test|unittest|nosetests|tox|nox|jest|vitest|mocha|ava|karma|cypress|playwright test|rspec|phpunit|pest|ctest|go test|cargo (?:test|nextest)|bun (?:run )?test|deno test|node --test|dotnet test|mvn (?:-\S+ )*(?:test|verify)|gradlew? (?:\S+ )*test|swift test|mix test|zig build test|sbt test|bats|make (?:\S+ )*(?:test|check)\b|(?:npm|pnpm|yarn)(?: run)?(?: -\S+)* test\S*|nx test|turbo (?:run )?test|just test|invoke test)",
    ),
    (
        "lint",
        r"\b(?:eslint|biome|ruff(?: check)?|flake8|pylint|golangci-lint|go vet|cargo clippy|shellcheck|stylelint|markdownlint\S*|rubocop|(?:npm|pnpm|yarn|bun)(?: run)? lint\S*|make lint|ktlint|hadolint)\b",
    ),
    ("types", r"\b(?:mypy|pyright|basedpyright|tsc|ty check|(?:npm|pnpm|yarn|bun)(?: run)? type-?check\S*)\b"),
    (
        "format",
        r"\b(?:prettier|black|gofmt|goimports|rustfmt|cargo fmt|ruff format|biome format|(?:npm|pnpm|yarn|bun)(?: run)? format\S*|make (?:fmt|format))\b",
    ),
    (
        "install",
        r"\b(?:(?:npm|pnpm|yarn|bun) (?:install|i|add|ci)|pip3? install|uv (?:sync|add|pip install)|poetry (?:install|add)|cargo (?:add|install)|go (?:get|install|mod \w+)|apt(?:-get)? install|brew install|bundle install|composer (?:install|require)|gem install)\b",
    ),
    (
        "build",
        r"\b(?:(?:npm|pnpm|yarn|bun)(?: run)? build\S*|make(?: build| all)?$|make build|cargo build|go build|gradlew? (?:\S+ )*(?:build|assemble)|mvn (?:-\S+ )*(?:package|install|compile)|docker build|tsc -b|vite build|webpack|dotnet build|cmake --build|ninja|swift build|zig build)\b",
    ),
    (
        "run",
        r"\b(?:(?:npm|pnpm|yarn|bun)(?: run)? (?:start|dev|serve)\S*|cargo run|go run|docker compose up|make (?:run|start|serve|dev))\b",
    ),
    ("commit", r"\bgit (?:\S+ )*(?:commit|push|merge|rebase|tag|cherry-pick)\b"),
)
KINDS = tuple((kind, re.compile(pattern)) for kind, pattern in _KINDS)
# Programs that any of these patterns is about: a command that names none of them needs no closer look.
_PROGRAMS = frozenset(
    """pytest py.test unittest nosetests tox nox jest vitest mocha ava karma cypress playwright rspec phpunit pest ctest go cargo
    bun deno node dotnet mvn gradle gradlew swift mix zig sbt bats make npm pnpm yarn nx turbo just invoke eslint biome ruff
    flake8 pylint golangci-lint shellcheck stylelint markdownlint markdownlint-cli markdownlint-cli2 rubocop ktlint hadolint
    mypy pyright basedpyright tsc ty prettier black gofmt goimports rustfmt pip pip3 uv poetry apt apt-get brew bundle composer
    gem docker vite webpack cmake ninja git""".split()
)
_PARTS = re.compile(r"(?:\"[^\"]*\"|'[^']*'|[^|;&\"'\n]|&(?!&))+")
_WRAPPED = re.compile(
    r"^(?:\(+\s*|\w+=(?:\"[^\"]*\"|'[^']*'|\S*)\s+|(?:sudo|time|env|npx|bunx|pnpx|uvx|rtk|nohup|corepack|command|exec|then|do|if|!)\s+(?:-\S+\s+)*|timeout\s+\S+\s+|"
    r"(?:uv|poetry|pdm|hatch|rye|pipenv) run\s+(?:-\S+\s+)*|(?:pnpm|yarn|npm) (?:exec|dlx)\s+(?:--\s+)?|python3? -m\s+|bundle exec\s+|docker(?: compose|-compose)? exec\s+(?:-\S+\s+)*\S+\s+|"
    r"(?:\./|\S*/)?\.?venv/bin/(?:python3? -m\s+)?|\./(?:node_modules/\.bin/)?|node_modules/\.bin/)+"
)
_TRIMMING = re.compile(r"[|>;]")
# Commands that look and change nothing; they are no step of a fix.
_LOOKS = re.compile(
    r"^(?:ls|ll|cat|bat|head|tail|less|more|sed -n|grep|rg|ag|find|fd|tree|pwd|echo|printf|which|type|whoami|env|printenv|date|wc|file|stat|du|df|ps|lsof|"
    r"git (?:-C \S+ )?(?:--no-pager )?(?:status|log|diff|show|branch|remote|rev-parse|ls-files|blame|describe|grep|config --get)|gh (?:pr|issue|run) (?:view|list|checks|status|diff)|"
    r"node -v|node --version|python3? --version|nl|awk|jq|cut|sort|uniq|test|\[|true|sleep|history|man|help|id|uname|hostname|Get-ChildItem|Get-Content|Select-String)\b"
)
_ERROR = re.compile(
    r"\b\w*(?:Error|Exception|Panic)\b\s*[:(\[]|^\s*(?:error|fatal|panic|ERROR|FATAL|E)\b[:\s\[]|\berror(?:\[\w+\])?:|\bERR!|\bERR_\w+|\berror TS\d+|"
    r"\bfatal:|\bpanic:|command not found|not recognized as|No such file or directory|Permission denied|Connection refused|Address already in use|EADDRINUSE|ENOENT|EACCES|"
    r"\b[Cc]annot \w|\b[Cc]an't \w|[Cc]ould not \w|[Mm]odule not found|No module named|undefined (?:reference|symbol|variable|method|is not)|"
    r"is not (?:defined|a function|assignable|installed|a git repository|recognized)|unrecognized (?:subcommand|arguments?|option)|unknown (?:option|command|flag|subcommand)|"
    r"[Uu]nexpected (?:token|end|argument)|[Ss]yntax error|[Tt]imed? ?out|[Ff]ailed to |FAILED|^--- FAIL|^FAIL\b|✖|✗|\(fail\)|not ok \d|CONFLICT|does not exist|doesn't exist|already exists|"
    r"rejected|unable to |Unable to |missing |Missing |invalid |Invalid |denied|refused|ambiguous argument|AssertionError|Segmentation fault|core dumped|out of memory|OOM",
)
_FRAME = re.compile(
    r"^\s*(?:at .{1,200}:\d+|File \".{1,300}\", line \d+|\.{3}|\d+ \||[|^~]+\s*$|npm ERR! (?:A complete log|code|path|command)|Traceback \(most recent|[-=_*]{4,}\s*$|npm error (?:A complete log|code|path|command))"
)
_SPACES = re.compile(r"\s+")
_WORN = (
    (re.compile(r"0x[0-9a-fA-F]+|\b[0-9a-f]{8}-[0-9a-f-]{27,40}\b|\b[0-9a-f]{12,64}\b"), "#"),
    (re.compile(r"(?:/tmp|/var/folders|/private/tmp)/[^\s'\":,)]{1,300}"), "/temporary/#"),
    (re.compile(r"(?:[A-Za-z]:)?(?:[\\/][\w.@+~-]{1,100}){2,}[\\/]([\w.@+-]{1,100})"), r"\1"),
    (re.compile(r"(?<![\w.])\d+(?:\.\d+)*(?:ms|s|%|MB|kB|KB|GB)?(?![\w.])"), "#"),
    (re.compile(r":\d+(?::\d+)?\b"), ":#"),
)
_SUMMARY = re.compile(
    r"(?:=+ )?(\d+ (?:passed|failed)[^\n=]{0,120})|(Tests?:\s+[^\n]{3,120})|(test result: [^\n]{3,160})|^(\s*\d+ pass(?:ing)?\b[^\n]{0,80}(?:\n\s*\d+ fail(?:ing)?\b[^\n]{0,80})?)|"
    r"((?:ℹ|#) pass \d+\n(?:ℹ|#) fail \d+)|^((?:ok|FAIL)\s+\S+\s+[\d.]+s)|(\d+ examples?, \d+ failures?)|(Ran \d+ tests? in [^\n]{1,40})|(Passed!\s+-[^\n]{0,120}|Failed!\s+-[^\n]{0,120})",
    re.MULTILINE,
)
_BAD_END = re.compile(
    r"^(?:Traceback \(most recent call last\)|\w[\w.]{0,80}(?:Error|Exception): |fatal: |panic: |error: |(?:/\S+/)?(?:ba|z|da)?sh: .{1,200}: (?:command not found|No such file))",
    re.MULTILINE,
)
_STATUS = re.compile(
    r"(?:\[?(?:Exit code|Command exited|Process exited|Wall time|<shellId|Process Group)|\[…\])", re.IGNORECASE
)
_HELP = re.compile(r"\s(?:--help|-h|--version)\s*$")
_FAILURES = re.compile(
    r"\b(?!0+\b)\d+ (?:failed|fail(?:ing|ures?|s)?|errors?)\b|\bfail(?:ed)?:? (?!0+\b)\d+|^FAIL\b|Failed!|test result: FAILED",
    re.IGNORECASE,
)
_HIDDEN = re.compile(r"\||;\s*echo")
_LONGEST = 300
_TAIL = 600
_READ = 12_000


def form_of(command: str) -> str:
    """A command's core: without where it ran, and without what only trims its output."""
    text = command.strip()
    before = _BEFORE.match(text)
    text = text[before.end() :].strip() or text if before else text
    if _TRIMMING.search(text) and "\n" not in text and "<<" not in text:
        # What trims an output stands at the end; looking there alone keeps the time for a long command short.
        text = (text[:-_TAIL] + _BEHIND.sub("", text[-_TAIL:])).strip() or text
    return _SPACES.sub(" ", text)[:_LONGEST]


@lru_cache(maxsize=4096)
def kind_of(form: str) -> str | None:
    """What a command is for, if that shows: by the program that one of its parts calls, not by words in its arguments."""
    if _PROGRAMS.isdisjoint(word.rsplit("/", 1)[-1].strip("(;") for word in form.split()):
        return None
    parts = [_WRAPPED.sub("", part.strip(" &")) for part in _PARTS.findall(form)[:12]]
    for kind, pattern in KINDS:
        if any(pattern.match(part) for part in parts):
            return kind
    return None


def program_of(form: str) -> str:
    """The program a command calls, without variables and wrappers in front of it."""
    for word in form.split()[:8]:
        if "=" in word and not word.startswith(("-", "/", ".")):
            continue
        if (
            word in ("sudo", "time", "env", "npx", "bunx", "uvx", "rtk", "nohup", "timeout", "exec", "command")
            or word.replace(".", "").isdigit()
        ):
            continue
        return word.strip("\"'`(){};").rsplit("/", 1)[-1][:60]
    return ""


def only_looks(form: str) -> bool:
    """Whether a command changes nothing."""
    if _HELP.search(form):
        return True
    return bool(_LOOKS.match(form)) and ">" not in form and "sed -i" not in form


def ended_well(status: int | None, failed: bool | None) -> bool | None:
    """Whether a call succeeded; None where nothing tells."""
    if status is not None:
        return status == 0
    return None if failed is None else not failed


def judged(form: str, command: str, ok: bool | None, output: str) -> bool | None:
    """Whether a command succeeded, also where its status is another's: a pipe ends as its last program does, and `|| true`
    hides everything."""
    kind = kind_of(form)
    summary = result_of(output) if kind == "test" and output else None
    if summary is not None and _FAILURES.search(summary):
        return False
    if ok and command != form and _HIDDEN.search(command):
        if summary is not None:
            return True
        return False if output and ends_badly(output) else None if kind == "test" and not output else True
    if ok is None and output and ends_badly(output):
        return False
    return ok


def ends_badly(output: str) -> bool:
    """Whether an output without a status shows by itself that the call failed."""
    return bool(_BAD_END.search(output[-1_500:]))


def errors_in(output: str, *, most: int = 3) -> list[str]:
    """The lines that say what went wrong, each once, the telling ones first."""
    if len(output) > _READ:
        output = output[: _READ // 3] + "\n" + output[-2 * _READ // 3 :]
    found: dict[str, str] = {}
    for line in _ANSI.sub("", output).splitlines():
        if len(line) > 2000 or _FRAME.match(line) or not _ERROR.search(line):
            continue
        shown = _SPACES.sub(" ", line).strip()[:_LONGEST]
        if len(shown) >= 6:
            found.setdefault(signature_of(shown), shown)
    ranked = sorted(found.values(), key=_telling, reverse=True)
    return ranked[:most]


def last_line(output: str) -> str | None:
    """What a failed command said last, where no line of it looks like an error."""
    for line in reversed(_ANSI.sub("", output[-4_000:]).splitlines()):
        shown = _SPACES.sub(" ", line).strip()
        if len(shown) >= 8 and not _STATUS.match(shown):
            return shown[:_LONGEST]
    return None


def _telling(line: str) -> int:
    score = 0
    if re.search(r"\w+(?:Error|Exception)\b\s*:", line) or re.search(r"\b(?:fatal|panic|error(?:\[\w+\])?):", line):
        score += 3
    if re.search(
        r"not found|No such file|No module|[Cc]annot|unrecognized|unknown|denied|refused|not (?:defined|installed|a function)",
        line,
    ):
        score += 3
    if re.search(r"FAILED|FAIL\b|✖|✗|not ok", line):
        score += 1
    return score * 10 - min(len(line), 250) // 50


def signature_of(line: str) -> str:
    """An error without what differs from run to run: numbers, addresses, folders, times."""
    text = line.casefold()
    for pattern, stand_in in _WORN:
        text = pattern.sub(stand_in, text)
    return _SPACES.sub(" ", text).strip()[:200]


def result_of(output: str) -> str | None:
    """The line in which a test run says how it went."""
    plain = _ANSI.sub("", output[-8_000:])
    found = [each.group() for each in _SUMMARY.finditer(plain)]
    return _SPACES.sub(" ", found[-1]).strip(" =")[:160] if found else None


# An error that is still open after so many steps has been left alone, not fixed.
_PATIENCE = 60


def pairs_of(steps: Sequence[Step]) -> list[FixFact]:
    """Which error was followed by which fix. Only an error's last appearance counts: what comes back was not fixed."""
    last: dict[str, int] = {}
    for index, step in enumerate(steps):
        for signature, _ in step.errors:
            last[signature] = index
    found = []
    for signature, index in last.items():
        step = steps[index]
        text = next(text for each, text in step.errors if each == signature)
        if pair := _fix(steps, index, signature, text):
            found.append(pair)
    # Several lines of one failure have one fix; the most telling line stands for it.
    best: dict[tuple[int, int], FixFact] = {}
    for pair in found:
        key = (pair.failed_at, pair.fixed_at)
        if key not in best or _telling(pair.error) > _telling(best[key].error):
            best[key] = pair
    return sorted(best.values(), key=lambda pair: pair.failed_at)


def _fix(steps: Sequence[Step], index: int, signature: str, text: str) -> FixFact | None:
    failed = steps[index]
    commands: list[str] = []
    edited: dict[str, None] = {}
    for step in steps[index + 1 : index + 1 + _PATIENCE]:
        if step.edited:
            edited.update(dict.fromkeys(step.edited))
        if not step.form:
            continue
        if _is_proof(failed, step, signature):
            if step.command not in commands and (step.form != failed.form or _place_of(step) != _place_of(failed)):
                commands.append(step.command)
            return FixFact(
                error=text,
                signature=signature,
                failed_at=failed.number,
                failed_command=failed.command,
                fixed_at=step.number,
                proof=step.command,
                passed=bool(step.ok),
                commands=tuple(commands[-4:]),
                edited=tuple(edited)[-6:],
            )
        if step.ok and not only_looks(step.form):
            commands.append(step.command)
    return None


def _place_of(step: Step) -> str:
    """The folder that a command changed to before it ran."""
    before = _BEFORE.match(step.command.strip())
    return before.group() if before else ""


def _is_proof(failed: Step, later: Step, signature: str) -> bool:
    """Whether a later call shows that an error is gone: it went through, or the very same call met other troubles."""
    if any(each == signature for each, _ in later.errors):
        return False
    if later.ok:
        return _is_comparable(failed, later)
    return later.ok is False and bool(later.errors) and _is_same_call(failed.form, later.form)


def _is_same_call(mine: str, theirs: str) -> bool:
    if not mine or not theirs:
        return False
    first, second = mine.split(), theirs.split()
    # The same words, or the same behind another program's name, or without a wrapper.
    return (
        mine == theirs
        or (len(first) > 1 and first[1:] == second[1:])
        or (len(second) > 1 and first[-len(second) :] == second)
    )


def _is_comparable(failed: Step, later: Step) -> bool:
    """Whether a later call tries the same thing, so that its success says something about the earlier failure."""
    if not failed.form:
        return False
    if _is_same_call(failed.form, later.form):
        return True
    if only_looks(later.form) and not only_looks(failed.form):
        return False
    kind, other = kind_of(failed.form), kind_of(later.form)
    if kind is not None or other is not None:
        return kind == other and kind != "commit"
    mine, theirs = _words(failed.form), _words(later.form)
    if program_of(failed.form) != program_of(later.form):
        return False
    if program_of(failed.form) in _RUNNERS:
        return mine[:1] == theirs[:1]
    shared = set(mine) & set(theirs)
    if only_looks(failed.form):
        return len(shared) >= max(1, len(set(mine)) // 2)
    return bool(shared) or not mine


# Programs that do many things; which one shows in the word behind them.
_RUNNERS = frozenset(
    "git gh npm pnpm yarn bun make cargo go docker kubectl uv poetry pip terraform helm aws gcloud az brew apt apt-get systemctl dotnet just nx".split()
)


def _words(form: str) -> list[str]:
    """What a program was told, without its options and its own name."""
    name = program_of(form)
    told = [word for word in form.split() if not word.startswith("-") and word not in ("run", "&&", "exec")]
    place = next((at for at, word in enumerate(told) if word.rsplit("/", 1)[-1].strip("\"'`(){};") == name), -1)
    return told[place + 1 :]
