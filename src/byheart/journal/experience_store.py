"""The file of experiences: CursorClaw's format, with whatever else another program keeps in it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from byheart.domain.errors import Unreadable
from byheart.domain.experiences import Experience
from byheart.domain.values import dataclass
from byheart.text.sha1_vectors import hashed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from byheart.domain.roots import Place
    from byheart.workspace.context import Context

_FIELDS = ("id", "text", "category", "sessionId", "recordId", "timestamp", "vector")


@dataclass(frozen=True, slots=True)
class Store:
    """The file as it was read: its entries, its digest, and what else stands beside them."""

    entries: tuple[Experience, ...]
    digest: str
    more: Mapping[str, object]


def read(context: Context, place: Place) -> Store:
    """The store as it stands. Raises Unreadable for a file that is none, so that nothing of it is lost."""
    snapshot = context.files.read(place)
    if not snapshot.text:
        return Store((), snapshot.digest, {"version": 1})
    problem = "it is not a store of experiences"
    try:
        raw = json.loads(snapshot.text)
        entries = raw["experiences"]
        if not isinstance(entries, list):
            raise TypeError(problem)
        found = [_experience(each) for each in entries if isinstance(each, dict) and isinstance(each.get("text"), str)]
        if len(found) < len(entries):
            problem = "an entry in it has no text"
            raise ValueError(problem)
        more = {name: value for name, value in raw.items() if name != "experiences"}
    except (ValueError, TypeError, KeyError, RecursionError):
        raise Unreadable(str(place), problem, "mend it or move it away; it is made anew from the notebooks") from None
    return Store(tuple(found), snapshot.digest, {"version": 1, **more})


def write(context: Context, place: Place, kept: Sequence[Experience], store: Store) -> None:
    """Put other entries into a store. Raises Conflict where it has changed since it was read."""
    context.files.write(place, _text(kept, store.more), store.digest)


def _experience(raw: dict[str, object]) -> Experience:
    def text(name: str) -> str:
        value = raw.get(name)
        # Half a character, which JSON can spell, is none that a file can hold.
        return value.encode("utf-8", "replace").decode() if isinstance(value, str) else ""

    return Experience(
        id=text("id"),
        text=text("text"),
        category=text("category") or "note",
        session=text("sessionId"),
        record=text("recordId"),
        timestamp=text("timestamp"),
        more={name: value for name, value in raw.items() if name not in _FIELDS},
    )


def _text(kept: Sequence[Experience], more: Mapping[str, object]) -> str:
    """The store as a file: an entry a line, with the vectors that other programs compare."""
    rows = []
    for each in kept:
        row: dict[str, object] = {
            "id": each.id,
            "text": each.text,
            "category": each.category,
            "sessionId": each.session,
            **({"recordId": each.record} if each.record else {}),
            "timestamp": each.timestamp,
            **each.more,
            "vector": [round(value, 6) for value in hashed(each.text)],
        }
        rows.append(_json(row))
    head = "".join(f"{_json(name)}: {_json(value)}, " for name, value in more.items())
    return "{" + head + '"experiences": [\n' + ",\n".join(rows) + "\n]}\n"


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "replace").decode()
