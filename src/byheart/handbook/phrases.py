"""Texts as the handbook may hold them: one line, no mark-up that the formats forbid, nothing that looks like a part of them; and how a
session's summary file is called."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from byheart.domain.handbook import Bullet

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

# Pairs that make text bold. `src/**/*.ts` and `__init__.py` are names.
BOLD = re.compile(
    r"(?<![\w/*])\*\*(?=[^\s*/])([^*\n]+?)(?<=[^\s*/])\*\*(?![\w/*])|(?<!\w)__(?=[^\s_])([^_\n]* [^_\n]*?)(?<=[^\s_])__(?!\w)"
)
CODE = re.compile(r"`[^`\n]*`")
_MARK = re.compile(r"^(?:[-*+>#]+\s+|\d+[.)]\s+)+")
_TAGS = re.compile(r"</?(?:oai-mem-citation|citation_entries|rollout_ids|thread_ids)[^>]*>", re.IGNORECASE)
_TASK = re.compile(r"\[(Task \d+)\]")
_SKILL = re.compile(r"(Related skill): (?=skills/)|(?<=memory:)//(?=root/skills/)")
_CITED = re.compile(r"\s*\((#\d+(?:, #\d+)*)\)\s*$")
_PLACEHOLDER = re.compile(
    r"\A(?:misc(?:ellaneous)?|general|other|various|stuff|todo|tbd|n/?a|none|unknown task|task|task \d+|untitled|group|scope|description|\.\.\.|…|<[^>]*>)\W*\Z",
    re.IGNORECASE,
)
# Characters that end a line somewhere, steer a terminal, or hide what is said.
_BREAKS = re.compile(
    "[\x00-\x1f\x7f-\x9f\u2028\u2029\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff\U000e0000-\U000e007f]+"
)


def one_line(text: str, most: int = 0) -> str:
    """A text in one line, without bold and without marks in front; cut at a word's end where it is longer than `most`."""
    plain = _plain(text)
    # Taking something out may bring something together.
    while (again := _plain(plain)) != plain:
        plain = again
    return shortened(plain, most) if most else plain


def path_line(path: str) -> str:
    """A path on one line, as it is but for characters that break lines or hide; never empty."""
    return _BREAKS.sub("_", path).strip() or "unknown"


def _plain(text: str) -> str:
    bare = unbolded(_TAGS.sub("", _BREAKS.sub(" ", text)))
    bare = _MARK.sub("", " ".join(bare.split())).strip()
    # What looks like a reference to a task or a skill is one, and nobody else's words may be.
    return _SKILL.sub(lambda found: f"{found[1]} " if found[1] else "/", _TASK.sub(r"(\1)", bare))


def unbolded(text: str) -> str:
    """A text without what makes parts of it bold; what stands in backticks is left alone."""
    if "**" not in text and "__" not in text:
        return text
    held: list[str] = []

    def hidden(code: re.Match[str]) -> str:
        held.append(code.group())
        return f"\x00{len(held) - 1}\x00"

    plain = BOLD.sub(r"\1\2", CODE.sub(hidden, text))
    return re.sub(r"\x00(\d+)\x00", lambda found: held[int(found[1])], plain)


def shortened(text: str, most: int) -> str:
    """A text that is no longer than this, with an ellipsis where something was left off."""
    if len(text) <= most:
        return text
    cut = text[: most - 1]
    space = cut.rfind(" ")
    return (cut[:space] if space > most * 2 // 3 else cut).rstrip(" ,;:.-") + "…"


def is_placeholder(text: str) -> bool:
    """Whether a text stands for one that nobody wrote."""
    return not text.strip() or bool(_PLACEHOLDER.match(text.strip()))


def title_line(text: str, otherwise: str, most: int = 0) -> str:
    """A text as a heading may have it: one that says nothing is told as what it is."""
    plain = one_line(text, most)
    return f"{otherwise} ({plain.strip('<>. …')})".replace(" ()", "") if is_placeholder(plain) else plain


def keywords(words: Iterable[str], most: int = 12) -> tuple[str, ...]:
    """Words for a comma-separated line: none twice, none with a comma in it."""
    found: dict[str, str] = {}
    for word in words:
        plain = one_line(word).replace(",", " ").strip(" `\"'")
        plain = " ".join(plain.split())
        if len(plain) > 1 and len(plain) <= 80 and not is_placeholder(plain) and "REDACTED" not in plain:
            found.setdefault(plain.casefold(), plain)
    return tuple(list(found.values())[:most])


def cited(turns: Sequence[int]) -> str:
    """Where in the session it was said."""
    return f" ({', '.join(f'#{turn}' for turn in turns)})" if turns else ""


def bullet_line(bullet: Bullet) -> str:
    """A bullet as a line."""
    return f"- {bullet.text}{cited(bullet.turns)}"


def bullet_of(line: str) -> Bullet:
    """The bullet that a line spells, whoever wrote it."""
    text = line.strip()
    text = text[1:].strip() if text[:1] in "-*+" else text
    found = _CITED.search(text)
    if found is None:
        return Bullet(text)
    turns = tuple(int(each.strip(" #")) for each in found[1].split(","))
    return Bullet(text[: found.start()].rstrip(), turns)


def said(situation: str, manner: str, quote: str, default: str, turns: Sequence[int]) -> Bullet:
    """A preference signal: the situation, a person's words, and what they mean for the next time."""
    words = one_line(quote, 300).replace('"', "'")
    return Bullet(
        f'when {one_line(situation, 120)}, the user {manner}: "{words}" -> {one_line(default, 240)}', tuple(turns)
    )


_SAID = re.compile(
    r'^when (?P<situation>.+?), the user (?P<manner>[\w /]+?): "(?P<quote>.*)" -> (?P<default>.+)$', re.DOTALL
)


def signal_of(text: str) -> dict[str, str] | None:
    """The parts of a preference signal; None for a line that is spelled otherwise."""
    found = _SAID.match(text)
    return found.groupdict() if found else None


_UUID = re.compile(r"[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}\Z", re.IGNORECASE)
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
_HASHES = len(_DIGITS) ** 4
_TIME = "%Y-%m-%dT%H-%M-%S"
SLUG = 60
STEM = re.compile(r"(?P<time>\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d)-(?P<hash>[0-9a-zA-Z]{4})(?:-(?P<slug>[a-z0-9_]{1,60}))?\Z")


def stem(thread: str, updated: datetime, slug: str | None) -> str:
    """The name without its ending."""
    name = f"{_moment(thread, updated):{_TIME}}-{_hash(thread)}"
    tail = file_slug(slug or "")
    return f"{name}-{tail}" if tail else name


def file_slug(slug: str) -> str:
    """A slug as a file name has it."""
    plain = "".join(each.lower() if each.isascii() and each.isalnum() else "_" for each in slug)
    return plain[:SLUG].rstrip("_")


def short_id(thread: str) -> str:
    """Enough of a session's id to find it again: time-ordered ones begin alike, so they need more."""
    if _UUID.match(thread):
        return thread[:13] if _version(thread) == 7 else thread[:8]
    return thread[:16]


def _version(thread: str) -> int:
    return int(thread.replace("-", "")[12], 16)


def _moment(thread: str, updated: datetime) -> datetime:
    """When a session began, where its id says so; else when it was last written to."""
    if _UUID.match(thread) and _version(thread) == 7:
        milliseconds = int(thread.replace("-", "")[:12], 16)
        try:
            return datetime.fromtimestamp(milliseconds // 1000, UTC)
        except (OverflowError, OSError, ValueError):
            pass
    return updated.astimezone(UTC)


def _hash(thread: str) -> str:
    if _UUID.match(thread):
        number = int(thread.replace("-", ""), 16) & 0xFFFFFFFF
    else:
        number = 0
        for byte in thread.encode("utf-8", "surrogatepass"):
            number = (number * 31 + byte) & 0xFFFFFFFF
    number %= _HASHES
    found = ""
    for _ in range(4):
        number, digit = divmod(number, len(_DIGITS))
        found = _DIGITS[digit] + found
    return found
