"""Secrets in tables: below a column's name, or beside a row's, in Markdown, CSV and what databases print."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from byheart.storage.scanners.rules import ScanRule, codelike, digits_in, placeholder

if TYPE_CHECKING:
    from collections.abc import Iterator

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
