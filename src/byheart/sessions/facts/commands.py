"""What a command line says: its core, the program it calls, what it is for, and whether it went well."""

from __future__ import annotations

import re
from functools import lru_cache

from byheart.text.deferred import deferred

_PLAIN_WORD = deferred(r"[a-z][a-z:-]*")
ANSI = deferred(r"\x1b\[[0-9;?]{0,20}[A-Za-z]")
SPACES = deferred(r"\s+")
# In front of a command and behind it: where it ran, and what was done to its output.
BEFORE = deferred(
    r"(?:cd\s+(?:\"[^\"\n]{1,300}\"|'[^'\n]{1,300}'|[^\s;&|]{1,300})\s*(?:&&|;)\s*|(?:set -[a-z]+(?: -o pipefail)?|export \w+=\S*)\s*(?:&&|;|\n)\s*)+"
)
_FILTERS = frozenset(
    "tail head grep egrep rg sed awk wc cut sort uniq less cat tee jq tr column Select-Object Select-String Out-String".split()
)
_SEGMENTS = deferred(r"\"[^\"]*\"|'[^']*'|\|\||&&|\|&|[|;]|[^\"'|;&]+|.", re.DOTALL)
_REDIRECTED = deferred(r"\d?>&\d|\d?>/dev/null|&>/dev/null")
_FILTERED = deferred(r"\|&?\s*(?:e?grep|rg|sed|awk|head|cut|jq|wc|Select-String)\b")
_TRIMMING = deferred(r"[|>;]")
_HEREDOC = deferred(r"<<-?\s*(['\"]?)(\w{1,40})\1[^\n]*\n.*?(?:^\s*\2\s*$|\Z)", re.MULTILINE | re.DOTALL)
_NESTED = deferred(r"\$\([^()]{0,2000}\)|`[^`]{0,2000}`")
# What a project calls its own scripts by, whatever runs them.
_SCRIPT = r"(?:[\w./-]+ run(?: -\S+)* |(?:make|just|task|mise|rake|nx|invoke|inv|composer|gradlew?) )"
_MANAGER = r"(?:npm|pnpm|yarn|bun)(?: run)?(?: -\S+)*"
_NAMED_SCRIPT = deferred(rf"(?:{_SCRIPT}|{_MANAGER} )[a-z][\w:-]*(?!\S)")
_BUILT_IN = frozenset("install i add ci exec dlx x create init remove update why audit publish".split())
_KINDS = (
    (
        "test",
        r"(?:"
        + _SCRIPT
        + r"(?:test|tests|spec)[\w:-]*(?!\S)|pytest|py\.test|unittest|nosetests|tox|nox|jest|vitest|mocha|ava|karma|cypress|playwright test|rspec|phpunit|pest|ctest|go test|cargo (?:test|nextest)|bun test|deno test|node --test|dotnet test|mvn (?:-\S+ )*(?:test|verify)|gradlew? (?:\S+ )*test|swift test|mix test|zig build test|sbt test|bats|make (?:\S+ )*(?:test|check)\b|"
        + _MANAGER
        + r" test\S*|nx test|turbo (?:run )?test|just test|invoke test)",
    ),
    (
        "types",
        r"(?:"
        + _SCRIPT
        + r"(?:type-?check|check[:-]?types?|types)[\w:-]*(?!\S)|mypy|pyright|basedpyright|tsc|ty check|"
        + _MANAGER
        + r" (?:type-?check|check[:-]?types?|types)\S*)(?!\S)",
    ),
    (
        "lint",
        r"(?:"
        + _SCRIPT
        + r"(?:lint|check|verify|ci)[\w:-]*(?!\S)|eslint|biome (?:check|lint|ci)|ruff(?: check)?(?! format)|flake8|pylint|golangci-lint|go vet|cargo clippy|shellcheck|stylelint|markdownlint\S*|rubocop|"
        + _MANAGER
        + r" (?:lint|check|verify)\S*|make lint|ktlint|hadolint)(?!\S)",
    ),
    (
        "format",
        r"(?:"
        + _SCRIPT
        + r"(?:format|fmt)[\w:-]*(?!\S)|prettier|black|gofmt|goimports|rustfmt|cargo fmt|ruff format|biome format|"
        + _MANAGER
        + r" format\S*|make (?:fmt|format))(?!\S)",
    ),
    (
        "install",
        r"(?:(?:npm|pnpm|yarn|bun) (?:install|i|add|ci)|pip3? install|uv (?:sync|add|pip install)|poetry (?:install|add)|cargo (?:add|install)|go (?:get|install|mod \w+)|apt(?:-get)? (?:-\S+ )*install|brew install|bundle install|composer (?:install|require)|gem install)(?!\S)",
    ),
    (
        "build",
        r"(?:"
        + _SCRIPT
        + r"build[\w:-]*(?!\S)|"
        + _MANAGER
        + r" build\S*|make(?: build| all)?(?=$|\s*$)|make build|cargo build|go build|gradlew? (?:\S+ )*(?:build|assemble)|mvn (?:-\S+ )*(?:package|install|compile)|docker build|vite build|webpack|dotnet build|cmake --build|ninja|swift build|zig build)(?!\S)",
    ),
    (
        "run",
        r"(?:"
        + _MANAGER
        + r" (?:start|dev|serve)\S*|cargo run|go run|dotnet run|swift run|flutter run|deno run|docker compose up|make (?:run|start|serve|dev))(?!\S)",
    ),
    ("commit", r"git (?:-[Cc] \S+ )*(?:commit|push|merge|rebase|tag|cherry-pick)(?!\S)"),
)
KINDS = tuple((kind, deferred(pattern)) for kind, pattern in _KINDS)
# Programs that any of these patterns is about: a command that names none of them needs no closer look.
_PROGRAMS = frozenset(
    """pytest py.test unittest nosetests tox nox jest vitest mocha ava karma cypress playwright rspec phpunit pest ctest go cargo
    bun deno node flutter dotnet mvn gradle gradlew swift mix zig sbt bats make npm pnpm yarn nx turbo just invoke eslint biome ruff
    flake8 pylint golangci-lint shellcheck stylelint markdownlint markdownlint-cli markdownlint-cli2 rubocop ktlint hadolint
    mypy pyright basedpyright tsc ty prettier black gofmt goimports rustfmt pip pip3 uv poetry apt apt-get brew bundle composer
    gem docker vite webpack cmake ninja git run task mise rake inv""".split()
)
_PARTS = deferred(r"(?:\"[^\"]*\"|'[^']*'|[^|;&\"'\n]|&(?!&))+")
_WRAPPED = deferred(
    r"^(?:\(+\s*|\w+=(?:\"[^\"]*\"|'[^']*'|\S*)\s+|(?:sudo|time|env|npx|bunx|pnpx|uvx|nohup|corepack|command|exec|then|do|if|!)\s+(?:-\S+\s+)*|rtk\s+(?:test\s+)?|timeout\s+\S+\s+|"
    r"(?:uv|poetry|pdm|hatch|rye|pipenv) run\s+(?:-\S+\s+)*|(?:pnpm|yarn|npm) (?:exec|dlx)\s+(?:--\s+)?|python3? -m\s+|bundle exec\s+|docker(?: compose|-compose)? exec\s+(?:-\S+\s+)*\S+\s+|"
    r"(?:\./|\S*/)?\.?venv/bin/(?:python3? -m\s+)?|\./(?:node_modules/\.bin/)?|node_modules/\.bin/)+"
)
# Commands that look and change nothing; they are no step of a fix.
_LOOKS = deferred(
    r"^(?:ls|ll|cat|bat|head|tail|less|more|sed -n|grep|rg|ag|find|fd|tree|pwd|echo|printf|which|type|whoami|env|printenv|date|wc|file|stat|du|df|ps|lsof|"
    r"git (?:-C \S+ )?(?:--no-pager )?(?:status|log|diff|show|branch|remote|rev-parse|ls-files|blame|describe|grep|merge-base|config --get)|gh (?:pr|issue|run|search|api) (?:view|list|checks|status|diff|repos|issues)|"
    r"node -v|node --version|python3? --version|nl|awk|jq|cut|sort|uniq|test|\[|true|sleep|history|man|help|id|uname|hostname|Get-ChildItem|Get-Content|Select-String)\b"
)
_HELP = deferred(r"\s(?:--help|-h|--version)\s*$")
_WRITES = deferred(
    r"(?<![0-9&])>{1,2}\s*(?!/dev/|&)\S|\bsed -i|\|\s?tee\b|\|\s?xargs (?:-\S+ (?:\{\} )?)*(?:kill|rm|mv|sed -i|chmod|git)\b"
)
_SUMMARY = deferred(
    r"(?<!\d)(\d{1,7} (?:passed|failed)[^\n=]{0,120})|(Tests?:[ \t]{1,12}[^\n]{3,120})|(test result: [^\n]{3,160})|^([ \t]{0,12}\d{1,7} pass(?:ing)?\b[^\n]{0,80}(?:\n[ \t]{0,12}\d{1,7} fail(?:ing)?\b[^\n]{0,80})?)|"
    r"((?:ℹ|#) pass \d{1,7}\n(?:ℹ|#) fail \d{1,7})|(?<!\d)(\d{1,7} examples?, \d{1,7} failures?)|(Ran \d{1,7} tests? in [^\n]{1,40})|(Passed! {1,4}-[^\n]{0,120}|Failed! {1,4}-[^\n]{0,120})",
    re.MULTILINE,
)
_PACKAGE = deferred(
    r"^(ok|FAIL)[ \t]{1,12}[^\s]{1,300}[ \t]{1,12}(?:[\d.]{1,12}s|\(cached\)|\[[a-z ]{1,40}\])", re.MULTILINE
)
_BAD_END = deferred(
    r"^(?:Traceback \(most recent call last\)|\w[\w.]{0,80}(?:Error|Exception): |fatal: |panic: |(?:\S{1,60} )?(?:error|Error|ERROR): |.{1,200}\(HTTP [45]\d\d\)$)",
    re.MULTILINE,
)
# What a shell says that could not run what it was told, with its own name and a line in front.
_SHELL_SAYS = deferred(
    r"^(?:/\S{1,80}/)?\(?\w{2,20}\)?: ?(?:line )?(?:\d{1,5}: ?)?(?:.{1,200}: )?(?:command not found|not found|no matches found|no such file or directory|permission denied|parse error)\b",
    re.MULTILINE | re.IGNORECASE,
)
_FAILURES = deferred(
    r"\b(?!0+\b)\d+ (?:failed|fail(?:ing|ures?|s)?|errors?)\b|\bfail(?:ed)?:? (?!0+\b)\d+|^FAIL\b|Failed!|test result: FAILED|, [1-9]\d* FAIL",
    re.IGNORECASE,
)
# What a build, a linter or a test prints when it went wrong, whatever status a pipe hides.
_TROUBLE = deferred(
    r"\bnpm (?:error|ERR!)|\berror [A-Z]{1,8}\d{2,6}\b|: error : |\bFound [1-9]\d* (?:error|problem|warning)|exited with code [1-9]|^[1-9]\d* issues?:|\(fail\)|^--- FAIL|^FAIL\b|"
    r"✖ [1-9]\d* problem|\b[1-9]\d* (?:failed|failing|errors?)\b|^\s*(?:error|fatal|panic)(?:\[\w+\])?:|^Traceback \(|command not found|\[build failed\]|\bBUILD FAILED|Compilation failed|× Some errors",
    re.MULTILINE | re.IGNORECASE,
)
_FINE = deferred(
    r"No fixes applied|\b0 (?:errors?|problems|issues)\b|[Aa]ll checks passed|[Nn]o issues|Success: no issues|[Cc]ompiled successfully|built in \d|ready in \d|"
    r"Successfully (?:installed|built|compiled)|BUILD SUCCE|Build succeeded|\b0 Error\(s\)|Finished `?\w+`? .{0,40}target|packages? installed|up to date|Checked \d+ files? in",
)
# A filter that leaves only what went wrong.
_LOOKS_FOR_ERRORS = deferred(r"\|\s*(?:e?grep|rg|Select-String)\b[^|]*\b(?:error|fail)[^|]*$", re.IGNORECASE)
_QUOTED = deferred(r"\"[^\"]*\"|'[^']*'")
_JOINED = deferred(r"\||;|\n\s*\S")
LONGEST = 300


@lru_cache(maxsize=256)
def core_of(command: str) -> str:
    """A command without where it ran, and without what only trims its output."""
    text = command.strip()
    before = BEFORE.match(text)
    text = text[before.end() :].strip() or text if before else text
    if _TRIMMING.search(text) and "\n" not in text and "<<" not in text:
        text = _untrimmed(text) or text
    return " ".join(text.split())


def _untrimmed(text: str) -> str:
    """A line without the filters, echoes and redirections at its end, taken off one by one."""
    segments: list[tuple[str, str]] = [("", "")]
    for token in _SEGMENTS.findall(text):
        if token in ("|", "|&", ";", "&&", "||"):
            segments.append((token, ""))
        else:
            joint, before = segments[-1]
            segments[-1] = (joint, before + token)
    while len(segments) > 1:
        joint, segment = segments[-1]
        first = segment.split(None, 1)[0] if segment.split() else ""
        if not (
            (joint in ("|", "|&") and first in _FILTERS)
            or (joint == ";" and first in ("echo", ""))
            or (joint == "||" and first == "true")
        ):
            break
        segments.pop()
    words = "".join(f" {joint} {segment.strip()}" if joint else segment.strip() for joint, segment in segments).split()
    while words and _REDIRECTED.fullmatch(words[-1]):
        words.pop()
    return " ".join(words)


def form_of(command: str) -> str:
    """The core, as long as a line may be."""
    return core_of(command)[:LONGEST]


def stem_of(form: str) -> str:
    """A command with FILE in the place of the files it was given, and TEXT in the place of texts."""
    kept: list[str] = []
    bare = re.sub(r"\"[^\"]*\"|'[^']*'", "TEXT", form)
    for word in bare.split()[:30]:
        path = "/" in word or re.search(r"\.\w{1,5}$|::", word)
        is_file = kept and path and word != "./..." and "/bin/" not in word and not word.startswith("-")
        shown = "FILE" if is_file else word
        if not (kept and kept[-1] == shown in ("FILE", "TEXT")):
            kept.append(shown)
    return " ".join(kept)


def is_script(form: str) -> bool:
    """Whether a command runs a script that the project gave a name, rather than a tool."""
    words = form.split()
    # What package managers do themselves; bun and deno bring their own runner of tests.
    is_own = words[1:2] and words[1] in _BUILT_IN
    return bool(_NAMED_SCRIPT.match(form)) and not is_own and not form.startswith(("bun test", "deno test"))


@lru_cache(maxsize=4096)
def kind_of(command: str) -> str | None:
    """What a command is for, if that shows: by the program that one of its parts calls, not by words in its arguments."""
    if _PROGRAMS.isdisjoint(word.rsplit("/", 1)[-1].strip("(;") for word in command.split()):
        return None
    parts = parts_of(command)
    for kind, pattern in KINDS:
        if any(pattern.match(part) for part in parts):
            return kind
    return None


@lru_cache(maxsize=8192)
def parts_of(command: str) -> tuple[str, ...]:
    """The single commands of a line, without wrappers, without what stands in substitutions and here-documents."""
    text = _HEREDOC.sub("<<", command) if "<<" in command else command
    text = _NESTED.sub("$()", text) if "$(" in text or "`" in text else text
    found = (_WRAPPED.sub("", SPACES.sub(" ", part).strip(" &")) for part in _PARTS.findall(text)[:16])
    return tuple(part for part in found if part)


def program_of(command: str) -> str:
    """The program that a command calls first, without variables and wrappers in front of it."""
    for part in parts_of(command):
        word = part.split(" ", 1)[0]
        if word in ("cd", "set", "export", "source", "."):
            continue
        return word.strip("\"'`(){};").rsplit("/", 1)[-1][:60]
    return ""


def acts_of(command: str) -> str:
    """A program with what it is told to do, without what that is done to."""
    words = [word for word in command.split() if _PLAIN_WORD.fullmatch(word)]
    # What a runner runs is what it is told to do.
    return " ".join([program_of(command), *words[1 : 3 if words[1:2] == ["run"] else 2]])


@lru_cache(maxsize=8192)
def only_looks(form: str) -> bool:
    """Whether a command changes nothing."""
    if _HELP.search(form):
        return True
    return bool(_LOOKS.match(form)) and not _WRITES.search(form)


def is_filtered(command: str) -> bool:
    """Whether a part of the output was left away by what stands behind a pipe."""
    return bool(_FILTERED.search(command))


def is_status_own(command: str) -> bool:
    """Whether the exit status is that of everything in the line: a pipe ends as its last program does, `;` as the last
    command, and `|| true` as nothing."""
    if "pipefail" in command:
        return True
    bare = _QUOTED.sub("''", _HEREDOC.sub("", command) if "<<" in command else command)
    before = BEFORE.match(bare)
    bare = bare[before.end() :] if before else bare
    return not _JOINED.search(bare.strip().rstrip(";"))


def ended_well(status: int | None, failed: bool | None) -> bool | None:
    """Whether a call succeeded; None where nothing tells."""
    if status is not None:
        return status == 0
    return None if failed is None else not failed


def judged(command: str, ok: bool | None, output: str) -> bool | None:
    """Whether a command succeeded, also where its status is another's."""
    kind = kind_of(command)
    if (
        kind is not None
        and not output.strip()
        and _LOOKS_FOR_ERRORS.search(_QUOTED.sub(lambda found: found[0].replace("|", "/"), command))
    ):
        # Whatever the filter's own status: it was asked for errors, and there were none.
        return True
    summary = result_of(output) if kind == "test" and output else None
    if summary is not None and _FAILURES.search(summary):
        return False
    if ok and not is_status_own(command):
        if summary is not None:
            return True
        if kind in ("test", "lint", "types", "build", "format", "install"):
            return False if _TROUBLE.search(output) else True if _FINE.search(output) else None
        looks = only_looks(form_of(command))
        if ends_badly(output, is_text=looks):
            return False
        return None if program_of(command) and not looks else True
    if ok is None and output and ends_badly(output, is_text=only_looks(form_of(command))):
        return False
    return ok


def ends_badly(output: str, *, is_text: bool = False) -> bool:
    """Whether an output without a status shows by itself that the call failed. What a file says about errors is no sign of one."""
    ends = output[-1_500:]
    return bool(_SHELL_SAYS.search(ends[-400:]) or (not is_text and _BAD_END.search(ends)))


def is_from_shell(line: str) -> bool:
    """Whether a shell says that it could not run what it was told."""
    return bool(_SHELL_SAYS.search(line))


@lru_cache(maxsize=8)
def result_of(output: str) -> str | None:
    """The line in which a test run says how it went; for runs over many packages, how many went how."""
    plain = ANSI.sub("", output[-8_000:])
    packages = _PACKAGE.findall(plain)
    if packages:
        failed = packages.count("FAIL")
        return f"{len(packages) - failed} ok, {failed} FAIL"
    found = [each.group() for each in _SUMMARY.finditer(plain)]
    return SPACES.sub(" ", found[-1]).strip(" =")[:160] if found else None
