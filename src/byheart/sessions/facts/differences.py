"""What made the difference between a command that failed and one that worked: a flag, a variable, a wrapper, another word."""

from __future__ import annotations

import re

from byheart.domain.values import dataclass
from byheart.sessions.facts.commands import core_of, kind_of, only_looks, program_of
from byheart.text.deferred import deferred, module

TYPE_CHECKING = False
if TYPE_CHECKING:
    import difflib
else:
    # A hook that only takes a command apart need not wait for it.
    difflib = module("difflib")

_SEPARATED = deferred(r"\"[^\"]*\"|'[^']*'|&&|\|\||[;\n]|\|(?!\|)|[^\"'|;&\n]+|.", re.DOTALL)
_WORDS = deferred(r"(?:\"[^\"]*\"|'[^']*'|[^\s\"'])+")
_MOVES = deferred(r"(?:cd|pushd|set|export|echo|printf|sleep|true|:)\b")
_VARIABLE = deferred(r"[A-Za-z_]\w*=")
_PLAIN = deferred(r"[\"'`\\]")
_TEXT = deferred(r"(?:\s+--?[\w-]+)?[ =]?[\"']?\$\(cat\s*\Z")
# A word that the error names has to be long enough not to stand there by chance.
_NAMED = 3
# What says that something is not there by that name.
_MISSING = deferred(r"not found|no such|404|unknown|unrecogni[sz]ed|does not exist|doesn't exist", re.IGNORECASE)
_NEAR, _SHORT, _CUT = 0.75, 5, "…"
_FILE = deferred(r"[/\\]|::|\.\w{1,5}$|^\d+$|^[0-9a-f]{7,40}$|\s")
# Programs whose commands are two words.
_TWO_LEVELS = frozenset("gh glab aws gcloud az docker".split())
WITHOUT, WITH, BEHIND, INSTEAD = "without", "with", "behind", "instead"


@dataclass(frozen=True, slots=True)
class Change:
    """One thing that differs: `how` it differs, the words that failed, and the words that worked."""

    how: str
    old: str
    new: str


def steps_in(line: str) -> list[str]:
    """The single commands of a line as they are spelled, without what only moves, prints or filters."""
    found: list[str] = []
    open_step, is_filter = "", False
    for token in [*_SEPARATED.findall(_without_texts(line).replace("\\\n", " ")), ";"]:
        if token in ("&&", "||", ";", "\n", "|"):
            step = " ".join(open_step.split())
            if step and is_filter and step.startswith("xargs ") and found:
                # What is done to each line is what the pipe is for.
                found[-1] += f" | {step}"
            elif step and not is_filter and not _MOVES.match(step):
                found.append(step)
            open_step, is_filter = "", token == "|"
        else:
            open_step += token
    return found


def words_of(step: str) -> list[str]:
    """The words of a single command, what stands in quotation marks as one."""
    return _WORDS.findall(step)


_SCRIPT_RUNNERS = frozenset("npm pnpm yarn bun make just task mise nx turbo".split())
_MUTATION = deferred(r"\bmutation\b[^{]*\{\s*(?:\w+\s*:\s*)?(\w+)")
_DIGITS = deferred(r"(?<=/)\d+(?=/|$)")
_ACT = deferred(r"[a-z][a-z:-]*")


def deed_of(step: str) -> str:
    """What a call does, without what it is done to: its program and what that is told to do; of a script its name, of an API the address
    or the mutation. Empty where it says no more than a program."""
    words = [_bare(word) for word in words_of(step)]
    program = program_of(step)
    at = next((place for place, word in enumerate(words) if word.rsplit("/", 1)[-1] == program), -1)
    rest = words[at + 1 :]
    acts = [word for word in rest if _ACT.fullmatch(word)]
    if program in _TWO_LEVELS and acts[:1] == ["api"]:
        named = _MUTATION.search(step)
        address = next((word for word in rest if "/" in word and " " not in word), "")
        return f"{program} api {named[1] if named else _DIGITS.sub('N', address.split('?')[0]) or ' '.join(acts[1:2])}".strip()
    script = next((word.rsplit("/", 1)[-1] for word in rest[:1] if re.fullmatch(r"[\w./~-]+\.\w{1,4}", word)), "")
    told = [script] if script else acts[: 2 if program in _TWO_LEVELS or acts[:1] == ["run"] else 1]
    return " ".join([program, *told]) if program and told else ""


def _without_texts(command: str) -> str:
    """A line up to a text that is written into it."""
    return _TEXT.sub("", command.split("<<", 1)[0])


def to_blame(command: str, error: str) -> str:
    """The single command of a line that an error is about; the whole line where nothing tells."""
    steps = steps_in(command)
    if len(steps) < 2:
        return steps[0] if steps else core_of(command)
    said = error.casefold()
    return max(reversed(steps), key=lambda step: (_told_of(step, said), not only_looks(step)))


def _told_of(step: str, said: str) -> int:
    """How many words of a command an error holds; its program counts for more."""
    words = {_bare(word).casefold() for word in _WORDS.findall(step)}
    named = sum(len(word) > _NAMED and word in said for word in words)
    program = program_of(step).casefold()
    return named + 2 * bool(program and re.search(rf"(?<!\w){re.escape(program)}(?!\w)", said))


def counterpart(step: str, worked: str) -> str:
    """The single command of a line that worked which is most like one that failed."""
    steps = steps_in(worked) or [core_of(worked)]
    mine = set(_WORDS.findall(step))
    program = program_of(step)
    return max(steps, key=lambda each: len(mine & set(_WORDS.findall(each))) + (program_of(each) == program))


def changes(failed: str, worked: str, error: str) -> tuple[Change, ...]:
    """What differs between two single commands, but for what they were pointed at: another file is no other way, unless the error
    names the one that failed."""
    first, second = _WORDS.findall(failed), _WORDS.findall(worked)
    program = program_of(failed)
    found: list[Change] = []
    if program == program_of(worked) and _is_other_script(program, first, second):
        return ()
    if behind := _wrapper(first, second, program):
        second = second[len(behind.split()) :]
        found.append(Change(BEHIND, "", behind))
    elif front := _dropped(first, second):
        first = first[len(front) :]
        found.append(Change(WITHOUT, " ".join(front), ""))
    for action, a, b, c, d in difflib.SequenceMatcher(None, first, second, autojunk=False).get_opcodes():
        if action != "equal":
            found += _changed(first[a:b], second[c:d], error, program)
    return tuple(dict.fromkeys(found))


def _wrapper(first: list[str], second: list[str], program: str) -> str:
    """What was put in front of a program."""
    place = next((at for at, word in enumerate(second) if _bare(word).rsplit("/", 1)[-1] == program), 0)
    own = next((at for at, word in enumerate(first) if _bare(word).rsplit("/", 1)[-1] == program), 0)
    front = second[:place]
    # A program's own name may be an argument of what stands in front of it.
    later = next((at for at in range(place + 1, len(second)) if second[at] == "--" and second[at + 1 : at + 2] == [program]), 0)  # fmt: skip
    front = second[: later + 1] if later else front
    return "" if own or not front or all(_VARIABLE.match(word) for word in front) else " ".join(front)


def _dropped(first: list[str], second: list[str]) -> list[str]:
    """The words in front of a command that stood there no longer when it worked."""
    place = len(first) - len(second)
    return first[:place] if place > 0 and len(second) > 1 and first[place:] == second else []


def _changed(old: list[str], new: list[str], error: str, program: str) -> list[Change]:
    found: list[Change] = []
    gone, come = _options(old), _options(new)
    for each in [each for each in gone if each not in come]:
        # The same option, only quoted otherwise.
        if alike := next((other for other in come if other not in gone and _bare(other) == _bare(each)), ""):
            found.append(Change(INSTEAD, each, alike))
            gone.remove(each)
            come.remove(alike)
    found += [Change(WITHOUT, each, "") for each in gone if each not in come]
    found += [Change(WITH, "", each) for each in come if each not in gone]
    left = [word for word in old if not _is_option(word) and not any(word in each.split() for each in gone)]
    right = [word for word in new if not _is_option(word) and not any(word in each.split() for each in come)]
    for place, word in enumerate(left):
        stand_in = right[place] if place < len(right) else ""
        is_corrected = _is_alike(word, stand_in) or (_MISSING.search(error) and _is_near(word, stand_in))
        if stand_in and (is_corrected or is_named(word, error) or _bare(word) == program):
            found.append(Change(INSTEAD, word, stand_in))
        elif not stand_in and is_named(word, error):
            found.append(Change(WITHOUT, word, ""))
    return found


def _is_other_script(program: str, first: list[str], second: list[str]) -> bool:
    """Whether a runner of scripts was only told to run another one: what builds does not check, whatever the one that checks is called."""
    one, two = (_script_in(program, words) for words in (first, second))
    return bool(one and two) and not (one.startswith(two) or two.startswith(one) or _is_near(one, two))


def _script_in(program: str, words: list[str]) -> str:
    """The script that a runner is told to run; empty where it runs something else."""
    at = next((place for place, word in enumerate(words) if _bare(word).rsplit("/", 1)[-1] == program), len(words))
    rest = [_bare(word) for word in words[at + 1 :]]
    named = next((rest[place + 1] for place, word in enumerate(rest[:-1]) if word == "run"), "")
    return named if program in _SCRIPT_RUNNERS and _ACT.fullmatch(named) else ""


def _options(words: list[str]) -> list[str]:
    """The options and variables among these words, each with the value behind it."""
    found: list[str] = []
    for place, word in enumerate(words):
        if _is_option(word) and len(word.strip("-")):
            value = words[place + 1] if place + 1 < len(words) else ""
            takes = word.startswith("-") and "=" not in word and value and not _is_option(value)
            found.append(f"{word} {value}" if takes else word)
    return found


def _is_option(word: str) -> bool:
    return word.startswith("-") or bool(_VARIABLE.match(word))


def _is_alike(one: str, other: str) -> bool:
    """Whether a word was only spelled otherwise: in quotation marks, with something in front or behind."""
    first, second = _bare(one), _bare(other)
    return one != other and len(first) > 1 and (first == second or (first in second and not _FILE.search(first)))


def _is_near(one: str, other: str) -> bool:
    """Whether two words are nearly the same, as where a part was left out; of words that were cut nobody knows."""
    first, second = _bare(one), _bare(other)
    is_whole = first != second and not first.endswith(_CUT) and not second.endswith(_CUT)
    return (
        is_whole
        and min(len(first), len(second)) > _SHORT
        and difflib.SequenceMatcher(None, first, second).ratio() >= _NEAR
    )


def is_named(word: str, error: str) -> bool:
    """Whether an error holds a word of the command that it is about."""
    bare = _bare(word).casefold()
    return len(bare) >= _NAMED and bare in error.casefold()


def _bare(word: str) -> str:
    return _PLAIN.sub("", word)


def is_elsewhere(failed: str, worked: str, error: str) -> bool:
    """Whether what worked was only pointed at something else than what had failed."""
    step = to_blame(failed, error)
    other = counterpart(step, worked)
    if step == other:
        return False
    if _is_another_program(step, other):
        return True
    if changes(step, other, error):
        return False
    aimed, hit = _targets(step), _targets(other)
    return bool(aimed and hit) and not any(_covers(one, each) for one in hit for each in aimed)


def _is_another_program(step: str, other: str) -> bool:
    """Whether another program was called, or the same for something else, rather than in another way."""
    mine, theirs = program_of(step), program_of(other)
    first, second = _WORDS.findall(step), _WORDS.findall(other)
    if mine == theirs:
        return mine in _TWO_LEVELS and _verbs(first) != _verbs(second)
    if kind_of(step) is not None and kind_of(step) == kind_of(other):
        return False
    shared = set(first) & set(second)
    return mine not in map(_bare, second) and theirs not in map(_bare, first) and 2 * len(shared) < len(set(first)) - 1


def _verbs(words: list[str]) -> list[str]:
    return [word for word in words if re.fullmatch(r"[a-z][a-z-]*", word)][:3]


def _targets(step: str) -> set[str]:
    words = _WORDS.findall(step)
    own = program_of(step)
    start = next((at for at, word in enumerate(words) if _bare(word).rsplit("/", 1)[-1] == own), 0)
    told = [_bare(word) for word in words[start + 1 :] if not _is_option(word)]
    return {word for word in told if _FILE.search(word)} or set(told[1:])


def _covers(one: str, other: str) -> bool:
    """Whether one target holds the other, or the other way round."""
    first, second = sorted((one.strip("./*"), other.strip("./*")), key=len)
    # A filter may be the beginning of a name; a folder ends where its name does.
    return (
        second == first
        or second.startswith((f"{first}/", f"{first}."))
        or ("::" in second and second.startswith(first))
    )


def is_file(word: str) -> bool:
    """Whether a word looks like a file, a number or a text: something that a command is pointed at."""
    return bool(_FILE.search(_bare(word)))
