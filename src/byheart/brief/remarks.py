"""What fits a moment of a session, by what was prepared for it: a failure, a command, a file, a prompt. Nothing below an exact match is
said. Pure, and loaded by a hook that runs at every call."""

from __future__ import annotations

import os
import re

from byheart.text.deferred import deferred, module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any

    from byheart.sessions.facts import commands, differences, errors

    Find = Callable[[str], dict[str, Any] | None]

else:
    # An edit or a prompt needs none of them.
    commands = module("byheart.sessions.facts.commands")
    differences = module("byheart.sessions.facts.differences")
    errors = module("byheart.sessions.facts.errors")

ERROR, CALL, FILE, NAME = "e:", "c:", "f:", "n:"
# Of an output so much is looked at, at its beginning and its end: programs say there what went wrong.
_HEAD, _TAIL, _LONGEST_LINE, _SHORTEST_LINE = 40, 80, 2_000, 8
_CUT = 199
_WORD = deferred(r"[^\W_]{3,}", re.UNICODE)
# How much of what an earlier session was asked for has to come again, in how many telling words.
_SHARE, FEWEST_WORDS = 0.6, 3
_MOST_FILES = 5
# A name that is more than a name is none that is told: it may speak to whoever reads it.
_PLAIN_PATH = deferred(r"[\w@.+/-]{1,200}")
_VARIABLE = deferred(r"[A-Za-z_]\w*=")
_WRAPPERS = frozenset("sudo doas env time nohup command exec nice xargs then do else".split())
# Programs that take options before what they are told to do.
_MANY_ACTS = frozenset("git docker kubectl gh npm pnpm yarn helm terraform cargo".split())
# What only shows or tries.
_LISTS = frozenset("--dry-run --help -h --list list view show status".split())
_SHORT = deferred(r"-[A-Za-z]+")
# Options that have a long form, as git spells them.
_LONG_FORMS = frozenset({("-A", "--all"), ("--all", "-A"), ("-f", "--force"), ("--force", "-f")})
_RUN_LINES = frozenset("sh bash zsh dash ksh fish eval".split())
_EVERYDAY = frozenset(
    "the and for that this with you not are but was have has from they will can all its one use when what how who why then than them some more also just make made does did into out our your his her their there here file files test tests run code change fix add new line name error work project function please never always again should would could".split()
)


class Remark:
    """One thing to say: what it is told by once in a session, the text, and why."""

    __slots__ = ("is_rule", "key", "text", "why")

    def __init__(self, key: str, text: str, why: str, *, is_rule: bool = False) -> None:
        self.key, self.text, self.why, self.is_rule = key, text, why, is_rule


def signatures(output: str) -> dict[str, str]:
    """The signatures of an output's lines, each with the line as it would be shown."""
    lines = (commands.ANSI.sub("", output) if "\x1b" in output else output).splitlines()
    some = lines if len(lines) <= _HEAD + _TAIL else [*lines[:_HEAD], *lines[-_TAIL:]]
    found: dict[str, str] = {}
    for line in dict.fromkeys(some):
        if len(line) > _LONGEST_LINE or len(line) < _SHORTEST_LINE:
            continue
        shown = errors.shown_error(line)
        if len(shown) >= _SHORTEST_LINE:
            found.setdefault(errors.signature_of(shown), shown)
            if len(shown) > _CUT:
                # A lesson keeps no more of an error than this.
                found.setdefault(errors.signature_of(shown[:_CUT].rsplit(" ", 1)[0]), shown)
    return found


def for_failure(find: Find, output: str) -> Remark | None:
    """What helped against an error of this output, the one that most sessions met first."""
    best: tuple[int, int, Remark] | None = None
    for place, signature in enumerate(signatures(output)):
        entry = find(ERROR + signature)
        if entry is None:
            continue
        rank = (-int(entry.get("sessions", 1)), place)
        if best is None or rank < best[:2]:
            remark = Remark(ERROR + signature, str(entry["text"]), str(entry.get("why", "")))
            best = (*rank, remark)
    return best[2] if best else None


def for_missing(find: Find, path: str) -> Remark | None:
    """Where a file is that was looked for in another place."""
    name = os.path.basename(path.replace("\\", "/"))
    entry = find(NAME + name) if name else None
    if entry is None:
        return None
    known = [
        each
        for each in entry["paths"]
        if not path.endswith("/" + each) and path != each and _PLAIN_PATH.fullmatch(each)
    ]
    if not known:
        return None
    told = " or ".join(f"`{each}`" for each in known)
    return Remark(NAME + name, f"`{name}` is at {told} in this project", "earlier sessions used it there")


def for_command(find: Find, rules: Sequence[Any], command: str) -> Iterator[Remark]:
    """Rules of the user that a command goes against, then spellings that are known to fail here."""
    for step in calls_in(command):
        tokens = [word.strip("\"'`") for word in differences.words_of(step)]
        program = commands.program_of(step)
        for words, text, address in rules if not commands.only_looks(step) else ():
            if _goes_against(words, program, tokens):
                yield Remark(
                    f"r:{address}",
                    f'the user said: "{text}" [{address}]',
                    f"`{program}` is what it is about",
                    is_rule=True,
                )
        entry = find(CALL + commands.acts_of(step))
        if entry is None:
            continue
        for known in entry["ways"]:
            if known["how"] == "behind":
                is_same = not any(word in tokens for word in known["new"].split()[:1])
            else:
                old = known["old"].split()
                is_same = any(tokens[at : at + len(old)] == old for at in range(len(tokens)))
            if is_same:
                yield Remark(
                    f"{CALL}{commands.acts_of(step)}:{known['old'] or known['new']}", known["text"], known["why"]
                )
                break


def calls_in(command: str, depth: int = 0) -> Iterator[str]:
    """The calls of a line, also those that a shell, a wrapper or a pipe makes."""
    for step in differences.steps_in(command):
        for piece in step.split(" | "):
            words = differences.words_of(piece.strip().lstrip("({! ").rstrip(") "))
            yield from (word for word in words[:1] if word in ("sudo", "doas"))
            while words and (
                _VARIABLE.match(words[0]) or words[0] in _WRAPPERS or (words[0].startswith("-") and len(words) > 1)
            ):
                words = words[1:]
            shell = words[0].rsplit("/", 1)[-1] if words else ""
            given = next((at for at, word in enumerate(words) if word.startswith("-") and "c" in word), 0)
            if shell in _RUN_LINES and given and len(words) > given + 1 and depth < 3:
                yield from calls_in(words[given + 1].strip("\"'"), depth + 1)
            elif words:
                yield " ".join(words)


def _goes_against(words: Sequence[str], program: str, tokens: Sequence[str]) -> bool:
    """Whether a call holds all that a rule names: as the program or among its first words, not within a text that it is given."""
    plain = [token for token in tokens if " " not in token][:6]
    if _LISTS.intersection(plain):
        return False
    place = next((at for at, token in enumerate(plain) if token.rsplit("/", 1)[-1] == program), 0)
    # What a program is told to do: the first words behind it; a script may have it for a name.
    behind = plain[place + 1 :]
    if behind[:1] and behind[0].startswith("-") and program not in _MANY_ACTS:
        # What stands behind an option may be its value.
        behind = []
    acts = [word for word in behind if not word.startswith("-")][
        : 2 if behind[:1] == ["run"] or (program == "git" and "-C" in behind) else 1
    ]
    for at, each in enumerate(words):
        if each.startswith("="):
            is_there = each == f"={program}"
        elif at == 0 and not each.startswith("-"):
            # A file that is called so is not what is done.
            is_there = any(_is_word(each, act) and not set(act) & set("./") for act in acts) or (
                each.endswith("*") and program.startswith(each[:-1])
            )
        else:
            is_there = any(_is_word(each, token) for token in plain)
        if not is_there:
            return False
    return True


def _is_word(wanted: str, token: str) -> bool:
    if len(wanted) > 2 and _SHORT.fullmatch(wanted) and _SHORT.fullmatch(token):
        # -rf and -fr are one.
        return set(wanted) <= set(token)
    return (
        token == wanted
        or (wanted.endswith("*") and token.casefold().startswith(wanted[:-1]))
        or (wanted == "--force*" and (token == "-f" or token.startswith("+")))
        or (wanted, token) in _LONG_FORMS
        # A branch may stand behind a remote or behind what is pushed there, and a sign may say that it is forced.
        or token.lstrip("+").endswith(("/" + wanted, ":" + wanted))
        or token == f"+{wanted}"
    )


def for_file(find: Find, path: str, folder: str) -> Iterator[Remark]:
    """What was decided, went wrong or is wanted about a file or its folder."""
    inside = os.path.relpath(path, folder) if os.path.isabs(path) else path
    inside = inside.replace("\\", "/").removeprefix("./")
    if inside.startswith(".."):
        return
    for name in (inside, f"{os.path.dirname(inside)}/"):
        entry = find(FILE + name) if name != "/" else None
        for text, address in entry["lines"] if entry else ():
            yield Remark(f"{FILE}{address}", f"about `{name}`: {text} [{address}]", f"`{name}` is about to be changed")


def of_card(files: Sequence[Any], path: str, folder: str) -> Iterator[Remark]:
    """What the user said of a file, of a folder above it, or of files like it. `files` are those of a card."""
    inside = os.path.relpath(path, folder) if os.path.isabs(path) else path
    inside = inside.replace("\\", "/").removeprefix("./")
    for paths, text, address in files:
        if any(_is_of(each, inside) for each in paths):
            yield Remark(f"{FILE}{address}", f"about `{inside}`: {text} [{address}]", f"`{inside}` is about to be changed", is_rule=True)  # fmt: skip


def _is_of(named: str, inside: str) -> bool:
    if "*" in named:
        import fnmatch

        return fnmatch.fnmatchcase(inside, named) or fnmatch.fnmatchcase(os.path.basename(inside), named)
    return (
        inside == named
        or inside.startswith(f"{named.rstrip('/')}/")
        or ("/" not in named and os.path.basename(inside) == named)
    )


def of_lines(lines: Sequence[Any], told: set[str], prompt: str) -> Iterator[Remark]:
    """Lines of memory that a prompt is about and that the session was not told: at least three telling words in common, and half of the
    line's."""
    wanted = telling(prompt[:4_000]) - _EVERYDAY
    for line in lines if len(wanted) >= FEWEST_WORDS else ():
        own = telling(line[0]) - _EVERYDAY
        common = own & wanted
        if line[1] not in told and len(common) >= FEWEST_WORDS and 2 * len(common) >= len(own):
            yield Remark(f"l:{line[1]}", f"{line[0]} [{line[1]}]", f"fits the prompt: {', '.join(sorted(common))}")


def telling(text: str) -> set[str]:
    """The words of a request that tell it from others."""
    return set(_WORD.findall(text.casefold()))


def for_prompt(known: Sequence[Any], common: Sequence[str], prompt: str) -> Remark | None:
    """The earlier session that was asked for much the same, with the files that it went on to change."""
    wanted = telling(prompt[:4_000]) - set(common)
    if len(wanted) < FEWEST_WORDS:
        return None
    best: tuple[float, Any] | None = None
    for each in known:
        words = set(each["words"])
        shared = len(words & wanted)
        score = shared / max(1, min(len(words), len(wanted)))
        if shared >= FEWEST_WORDS and score >= _SHARE and (best is None or score > best[0]):
            best = (score, each)
    if best is None:
        return None
    each = best[1]
    files = f"; it changed {', '.join(f'`{name}`' for name in each['files'][:_MOST_FILES])}" if each["files"] else ""
    return Remark(f"p:{each['cite']}", f"an earlier session was asked for much the same ({each['at']}, {each['title']}){files} [{each['cite']}]", f"{best[0]:.0%} of the telling words")  # fmt: skip
