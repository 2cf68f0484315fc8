"""How agents say that they used memory: Codex's citation block, and addresses of memory files."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from byheart.domain.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator

_BLOCK = re.compile(r"<oai-mem-citation>(?P<body>.*?)(?:</oai-mem-citation>|\Z)", re.DOTALL | re.IGNORECASE)
_IDS = re.compile(r"<(?P<tag>rollout_ids|thread_ids)>(?P<body>.*?)(?:</(?P=tag)>|\Z)", re.DOTALL | re.IGNORECASE)
_ENTRIES = re.compile(r"<citation_entries>(?P<body>.*?)(?:</citation_entries>|\Z)", re.DOTALL | re.IGNORECASE)
_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", re.IGNORECASE)
_FILE = re.compile(r"rollout_summaries/(?P<stem>[0-9A-Za-z_T.-]{10,140})\.md")
_ADDRESS = re.compile(r"memory://root/(?P<path>[^\s)>\]\"'`|]+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class UsedLines:
    """A stretch of a memory file that was used, and for what."""

    path: str
    first: int
    last: int
    note: str


def entries(text: str) -> list[UsedLines]:
    """The entries of all citation blocks: path:start-end|note=[text]."""
    found = []
    for block in _BLOCK.finditer(text):
        part = _ENTRIES.search(block["body"])
        for line in (part["body"] if part else block["body"]).split("\n"):
            where, mark, note = line.strip().rpartition("|note=[")
            if not mark:
                continue
            path, colon, lines = where.rpartition(":")
            first, dash, last = lines.partition("-")
            if colon and first.isdigit() and (last.isdigit() if dash else True):
                found.append(UsedLines(path=path, first=int(first), last=int(last or first), note=note.rstrip("]")))
    return found


def citations(text: str) -> Iterator[str]:
    """What a reply names of memory, each once: ids of threads, and names of their summary files."""
    known: dict[str, None] = {}
    for block in _BLOCK.finditer(text):
        for part in _IDS.finditer(block["body"]):
            known.update(dict.fromkeys(each.casefold() for each in _UUID.findall(part["body"])))
    for entry in entries(text):
        known.update(dict.fromkeys(each["stem"] for each in _FILE.finditer(entry.path)))
    for address in _ADDRESS.finditer(text):
        known.update(dict.fromkeys(each["stem"] for each in _FILE.finditer(address["path"])))
    return iter(known)


def without_blocks(text: str) -> str:
    """A reply without its citation blocks."""
    return _BLOCK.sub("", text).rstrip() if "oai-mem-citation" in text.casefold() else text
