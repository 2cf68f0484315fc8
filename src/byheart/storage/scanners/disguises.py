"""Secrets that do not stand in the clear: encoded, escaped, folded, parted; and those that only the head of their column announces."""

from __future__ import annotations

import base64
import binascii
import re
from bisect import bisect_right
from typing import TYPE_CHECKING, Any

from byheart.domain.values import dataclass
from byheart.storage.scanners.rules import ScanRule, codelike, digits_in, placeholder

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

# Four letters of base64 that come to three letters of ASCII: every first bit of them is nought, so that one run in a quarter of a
# million is taken for text by chance. Lines may break between them.
_FOUR = r"[A-Za-f][A-HQ-Xg-nw-z0-3][ABEFIJMNQRUVYZcdghklopstwx014589][A-Za-z0-9+/_\-]"
_BASE64 = rf"(?:{_FOUR}(?:\r?\n[ \t]{{0,8}}|\\r\\n|\\n)?){{6,}}[A-Za-z0-9+/_\-]{{0,3}}={{0,2}}"
_HEX = r"(?:[2-7][0-9a-fA-F]|0[aAdD9]){16,}"
NULS = r"(?:[!-~]\x00){3}|(?:\x00[!-~]){3}|(?:[!-~]\\u0000){3}|(?:[!-~]\\x00){3}"
_COLOUR = re.compile(rb"\x1b\[[0-9;]{0,20}m")
_NUL = re.compile(rb"\x00|\\u0000|\\x00")
# The end of a line and what may begin the next: blanks, a mark of quotation or of a change, the frame of a box; or the end of a string
# that goes on in another.
_BREAK = re.compile(
    rb"[ \t]*(?:\xe2\x94\x82[ \t]*|\|[ \t]*)?\\?\r?\n[ \t]*(?:(?:[>+|#*-]|//|\xe2\x94\x82)[ \t]{1,4})?|\\r\\n|\\n|[\"'][ \t]*\+?[ \t]*\\?\r?\n?[ \t]*[\"']"
)
_REST = re.compile(rb"[A-Za-z0-9+/=_.\-]{4,}")
_MIXED = re.compile(rb"[0-9][A-Za-z]|[A-Za-z][0-9]|[a-z][A-Z]")
_TOKEN_LINE = re.compile(
    rb"\\?\r?\n[ \t]*([A-Za-z0-9+/_\-]{8,}(?:\.[A-Za-z0-9_\-]{16,})?={0,2})(?=[\"'`,;)\]]?\s*(?:\r?\n|$))"
)


@dataclass(frozen=True, slots=True)
class Disguise:
    """A stretch of a text in bytes, and what it says in the clear. `places` are where each piece of that stands, as (in the clear,
    in the text); none where only the whole can be meant."""

    start: int
    end: int
    clear: bytes
    places: tuple[tuple[int, int], ...] = ()
    # Parted by the end of a line; and whether nothing but a part of it stands in the next.
    is_broken: bool = False
    is_alone: bool = False

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Where a stretch of the clear text stands."""
        if not self.places:
            return self.start, self.end
        first = self._place(start)
        # A sign that is spelled out takes more room than one; but no secret takes the end of its last line along.
        last = self._place(end - 1) + 1 if self.is_broken else self._place(end)
        return first, max(last, first + 1)

    def is_stretched(self, start: int, end: int) -> bool:
        """Whether a stretch of the clear text takes more room where it stands, so that nobody else sees it there."""
        first, last = self.span(start, end)
        return last - first > end - start

    def first_line(self) -> Disguise | None:
        """What stands before the first line's end, where something else follows that; else None."""
        if not self.is_broken or self.is_alone:
            return None
        return Disguise(self.start, self.end, self.clear[: self.places[1][0]])

    def _place(self, at: int) -> int:
        index = bisect_right(self.places, at, key=_in_the_clear) - 1
        clear, text = self.places[index] if index >= 0 else (0, self.start)
        return text + at - clear


def _in_the_clear(place: tuple[int, int]) -> int:
    return place[0]


def encoded(content: bytes, base64_: Any, hex_: Any) -> Iterator[Disguise]:
    """Base64 and hex that come to text."""
    for start, end in base64_.spans(content):
        packed = re.sub(rb"\s|\\r|\\n", b"", content[start:end])
        raw = _base64(packed.translate(_STANDARD).rstrip(b"="))
        yield Disguise(start, end, raw.replace(b"\x00", b""))
    for start, end in hex_.spans(content):
        yield Disguise(start, end, bytes.fromhex(content[start:end].decode()))


BASE64, HEX = _BASE64, _HEX
_STANDARD = bytes.maketrans(b"-_", b"+/")


def _base64(packed: bytes) -> bytes:
    try:
        # Decoders are strict about the end alone, which a cut may have taken.
        whole = packed[: len(packed) - (1 if len(packed) % 4 == 1 else 0)]
        return base64.b64decode(whole + b"=" * (-len(whole) % 4))
    except (binascii.Error, ValueError):
        return b""


def wide(content: bytes, pattern: Any) -> Iterator[Disguise]:
    """Text of two bytes a letter that was read as if it had one."""
    # Texts that are looked through together stand between such signs themselves.
    is_wide = content.count(b"\x00") > content.count(b"\n\x00\n") or b"u0000" in content or b"\\x00" in content
    if not is_wide or not pattern.search(content):
        return
    yield _without(content, _NUL)


def coloured(content: bytes) -> Iterator[Disguise]:
    """Text with the codes for colours taken out."""
    if b"\x1b[" not in content:
        return
    yield _without(content, _COLOUR)


def _without(content: bytes, pattern: re.Pattern[bytes]) -> Disguise:
    """A text with everything that a pattern finds taken out."""
    clear, last = bytearray(), 0
    places: list[tuple[int, int]] = []
    for found in pattern.finditer(content):
        places.append((len(clear), last))
        clear += content[last : found.start()]
        last = found.end()
    places.append((len(clear), last))
    clear += content[last:]
    return Disguise(0, len(content), bytes(clear), (*places, (len(clear), len(content))))


def broken(content: bytes, starts: Iterable[int]) -> Iterator[Disguise]:
    """Tokens that begin at these places and reach a line's end, with what stands at the beginning of the next lines."""
    for start in starts:
        clear, at = bytearray(), start
        places: list[tuple[int, int]] = []
        is_alone = True
        for _ in range(12):
            stop = _BREAK.search(content, at)
            end = stop.start() if stop else len(content)
            rest = _REST.match(content, at) if places else None
            if places and rest is None:
                break
            places.append((len(clear), at))
            part = content[at:end] if rest is None else rest[0]
            clear += part
            if rest is not None:
                is_alone = is_alone and rest.end() >= end and bool(_MIXED.search(part))
            if stop is None or (rest is not None and rest.end() < end):
                break
            at = stop.end()
        if len(places) > 1:
            yield Disguise(start, at, bytes(clear), tuple(places), is_broken=True, is_alone=is_alone)


def disguise_rules(tokens: Sequence[ScanRule]) -> list[ScanRule]:
    """What a text may hold in another spelling: words with escapes in them, and tokens parted by the end of a line, which begin
    like one of these."""
    hints = dict.fromkeys(hint for rule in tokens for hint in rule.hints)
    telling = tuple(hint for hint in hints if len(hint) >= 4 or (len(hint) == 3 and hint[-1] in "-_."))
    starts = "|".join(re.escape(hint) for hint in telling)
    parted = (
        rf"(?i)(?:{starts}|(?-i:eyJ)[A-Za-z0-9_\-]{{8}})[A-Za-z0-9+/=_.\-]*"
        r"""(?:[ \t]*(?:\xe2\x94\x82|\|)?[ \t]*\\?\r?\n|\\n|["'][ \t]*\+?[ \t]*\\?\r?\n?[ \t]*["'])"""
    )
    return [
        ScanRule(name=ESCAPED, pattern=_WITH_ESCAPES, hints=("%", "\\u00", "\\x"), trims=b""),
        ScanRule(name=PARTED, pattern=parted, hints=(*telling, "eyj"), trims=b"", is_led=True),
    ]


ESCAPED, PARTED = "escaped", "parted"
_WITH_ESCAPES = r"""[^\s"'<>`]*(?:%[0-9A-Fa-f]{2}|\\u00[2-7][0-9A-Fa-f]|\\x[2-7][0-9A-Fa-f])[^\s"'<>`]*"""
_ESCAPE = re.compile(rb"%([0-9A-Fa-f]{2})|\\u00([2-7][0-9A-Fa-f])|\\x([2-7][0-9A-Fa-f])")


def escaped(content: bytes, spans: Iterable[tuple[int, int]]) -> Iterator[Disguise]:
    """Words in which signs are spelled by their numbers, as addresses and programs have them."""
    for start, end in spans:
        clear, last = bytearray(), start
        places: list[tuple[int, int]] = []
        for escape in _ESCAPE.finditer(content, start, end):
            places.append((len(clear), last))
            clear += content[last : escape.start()]
            places.append((len(clear), escape.start()))
            clear += bytes([int(escape[1] or escape[2] or escape[3], 16)])
            last = escape.end()
        places.append((len(clear), last))
        clear += content[last:end]
        places.append((len(clear), end))
        # A sign that is spelled out ends a word as well as any other.
        yield Disguise(start, end, bytes(clear), tuple(places))


def folded(content: bytes, start: int, end: int, known: dict[int, int]) -> int:
    """Where a secret ends that goes on in the next lines: lines of nothing but letters and digits, mixed as in no name, and no
    longer than the one before. `known` are the ends that were found before."""
    if end - start < 16 or (end not in known and b"\n" not in content[end : end + 3]):
        return end
    walked = []
    while end not in known:
        walked.append(end)
        following = _TOKEN_LINE.match(content, end)
        if not following or not _is_rest(following[1]) or len(following[1]) > _line_length(content, end):
            break
        end = following.end(1)
    end = known.get(end, end)
    known.update(dict.fromkeys(walked, end))
    return end


def _is_rest(part: bytes) -> bool:
    """Whether a line can only be a part of something generated: both cases and digits, or a long number in hex."""
    if not re.search(rb"[0-9]", part):
        return False
    is_mixed = re.search(rb"[a-z]", part) and re.search(rb"[A-Z]", part)
    return bool(is_mixed or re.fullmatch(rb"[0-9a-f]{16,}|[0-9A-Z]{16,}", part))


def _line_length(content: bytes, end: int) -> int:
    return end - content.rfind(b"\n", 0, end) - 1


_NAMES = (
    r"(?:[a-z]{1,20}[ _.\-])?(?:pass(?:word|wd|phrase|code)?|pwd|passwort|kennwort|mot de passe|contrase\S{1,3}a|senha|пароль|密码|密碼|パスワード"
    r"|(?:api|access|secret|private|auth)[ _\-]?(?:key|token)|token|secret|credentials?)"
)
_MARKS = r"""[ \t"'`*]{0,4}"""
# A cell that is a name and nothing else, between what parts cells or at a line's beginning or end.
HEADER = rf"""(?im)(?:^|[|,;\t]){_MARKS}{_NAMES}{_MARKS}(?:[|,;\t]|\r?$)"""
_NAME = re.compile(rf"{_NAMES}", re.IGNORECASE)
_RULE_LINE = re.compile(r"[\s|+:=_\-]*")
_MOST_ROWS, _LEAST, _LONGEST = 400, 6, 200
TABLE = ScanRule(name="secret-in-table", pattern=HEADER, hints=(), says="holds a secret in a table")


def cells(content: bytes, headers: Iterator[int]) -> Iterator[tuple[int, int]]:
    """Where the cells stand that hold a secret, given places in the lines that name one."""
    done = -1
    for at in headers:
        start = content.rfind(b"\n", 0, at + 1) + 1
        if content[at : at + 1] == b"\n":
            start = at + 1
        if start <= done:
            continue
        done = start
        yield from _below(content, start)


def _below(content: bytes, start: int) -> Iterator[tuple[int, int]]:
    head, at = _line(content, start)
    mark = next((each for each in ("|", "\t", ";", ",") if head.count(each) >= 1), None)
    if mark is None:
        return
    names = [_plain(cell) for cell in head.split(mark)]
    # One name by itself is a line of a list.
    if len([name for name in names if name]) < 2:
        return
    columns = [number for number, name in enumerate(names) if _NAME.fullmatch(name)]
    # A row of its own: the name, and beside it the value.
    for number in columns:
        beside = [each for each in range(number + 1, len(names)) if names[each]]
        if beside and mark == "|" and len([name for name in names if name]) <= 3:
            yield from _cell(start, head, mark, beside[0])
    for _ in range(_MOST_ROWS):
        if at >= len(content):
            return
        begin = at
        row, at = _line(content, at)
        if row.count(mark) < max(1, head.count(mark) - 1):
            if _RULE_LINE.fullmatch(row) and row.strip():
                continue
            return
        values = row.split(mark)
        if any(_NAME.fullmatch(_plain(value)) for value in values):
            # Another head, which is looked at by itself: so every line is read twice at most.
            return
        if len(values) == len(names):
            for number in columns:
                yield from _cell(begin, row, mark, number)


def _line(content: bytes, start: int) -> tuple[str, int]:
    end = content.find(b"\n", start, start + 4_000)
    end = end if end >= 0 else min(len(content), start + 4_000)
    # Whatever is no UTF-8 keeps its length, since places are counted in bytes.
    return content[start:end].decode("utf-8", "surrogateescape"), end + 1


def _cell(begin: int, row: str, mark: str, number: int) -> Iterator[tuple[int, int]]:
    parts = row.split(mark)
    value = _plain(parts[number])
    if _is_secret(value):
        before = mark.join(parts[:number]) + (mark if number else "")
        start = begin + _length(before + parts[number][: parts[number].index(value)])
        yield start, start + _length(value)


def _length(text: str) -> int:
    return len(text.encode("utf-8", "surrogateescape"))


def _plain(cell: str) -> str:
    return cell.strip(" \t\r\"'`*")


def _is_secret(value: str) -> bool:
    if not _LEAST <= len(value) <= _LONGEST or any(map(str.isspace, value)) or placeholder(value) or codelike(value):
        return False
    if value.startswith(("[REDACTED", "http", "-", "<", "$")) or re.fullmatch(
        r"[\d.:/-]+|v?\d+(?:\.\d+)+\S*|#\d+|\w+=\w+", value
    ):
        return False
    is_marked = bool(re.search(r"[^\w.-]", value))
    return (
        any(map(str.isalpha, value)) and (digits_in(value) > 0 or is_marked) and not re.search(r"[()\[\]{}<>]", value)
    )
