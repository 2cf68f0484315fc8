"""Records of notebooks in the index: a file at a time, only what changed in it."""

from __future__ import annotations

import json
from datetime import date
from typing import TYPE_CHECKING, Any

from byheart.domain.journal import Origin, Sensitivity
from byheart.domain.ports import Extent
from byheart.domain.recall import Item, Meaning, Question, Remembered
from byheart.domain.records import Confidence, Kind, Record, Scope
from byheart.domain.values import replace
from byheart.storage.index import vectors as vector_rows
from byheart.storage.index.schema import IndexConnection, answering, changing
from byheart.storage.index.vectors import RECORDS, Words, standing
from byheart.text.questions import spelled

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Sequence

    from byheart.storage.index.vectors import Matrix

# What stood before a record is worth little: it is said of another.
_WEIGHTS = (1.0, 0.2, 1.0)
_HEAVIEST = 1_000_000
_COLUMNS = ("text", "before", "meta")
_BY_WORDS, _BY_MEANING, _NARROW, _BY_DAY = 60, 60, 4_000, 40
# A large notebook is searched as fast as a small one, by its rarer words.
_MANY, _MANY_ROWS, _FEW_ROWS = 30_000, 15_000, 2_500
_LIGHT = "n, handle, page, line, text, kind, key, weight, confidence, is_unsure, is_local, day"
_WORDS = "record_words(rowid, text, before, meta) VALUES(?, ?, ?, ?)"
_NO_WORDS = "record_words(record_words, rowid, text, before, meta) VALUES('delete', ?, ?, ?, ?)"


def stamps(db: sqlite3.Connection) -> dict[str, str]:
    """What every file looked like when it was taken in."""
    return dict(db.execute("SELECT path, stamp FROM page").fetchall())


def extent_of(db: sqlite3.Connection, path: str) -> Extent | None:
    """How much of a file was taken in; None where it is not to be gone on with."""
    row = db.execute("SELECT size, digest, lines, hidden FROM page WHERE path = ?", (path,)).fetchone()
    if row is None or row[0] is None:
        return None
    return Extent(row[0], row[1], row[2], tuple(row[3].split()))


def last(db: sqlite3.Connection, path: str, most: int) -> list[Item]:
    """The last records of a file, in its order."""
    rows = db.execute(
        "SELECT * FROM record WHERE page = (SELECT n FROM page WHERE path = ?) ORDER BY line DESC LIMIT ?", (path, most)
    ).fetchall()
    return [_item(row) for row in reversed(rows)]


def line_before_end(db: sqlite3.Connection, path: str, most: int) -> int:
    """Where the last so many records of a file begin; 0 where there are fewer."""
    row = db.execute(
        "SELECT line FROM record WHERE page = (SELECT n FROM page WHERE path = ?) ORDER BY line DESC LIMIT 1 OFFSET ?",
        (path, most - 1),
    ).fetchone()
    return int(row[0]) if row else 0


def has_handle(db: sqlite3.Connection, path: str, handles: Sequence[str]) -> bool:
    """Whether a file has a record under one of these names."""
    query = "SELECT 1 FROM record WHERE handle = ? AND page = (SELECT n FROM page WHERE path = ?)"
    return any(db.execute(query, (each, path)).fetchone() for each in handles)


def grow(db: sqlite3.Connection, path: str, stamp: str, items: Sequence[Item], extent: Extent) -> None:
    """Add records to a file whose earlier ones are known."""
    page = db.execute("SELECT n FROM page WHERE path = ?", (path,)).fetchone()[0]
    _add(db, page, [(item, _body(item)) for item in items])
    _go_to(db, page, stamp, extent)


def restamp(db: sqlite3.Connection, path: str, stamp: str) -> None:
    """Note that a file's records are as they were."""
    db.execute("UPDATE page SET stamp = ? WHERE path = ?", (stamp, path))


def _go_to(db: sqlite3.Connection, page: int, stamp: str, extent: Extent | None) -> None:
    told = (extent.size, extent.digest, extent.lines, " ".join(extent.hidden)) if extent else (None, None, None, None)
    query = "UPDATE page SET stamp = ?, size = ?, digest = ?, lines = ?, hidden = ? WHERE n = ?"
    db.execute(query, (stamp, *told, page))


def put(db: sqlite3.Connection, path: str, stamp: str, items: Sequence[Item], extent: Extent | None = None) -> int:
    """Bring a file's records up to date; how many of the earlier ones went away. Those that stay keep their vectors."""
    row = db.execute(
        "INSERT INTO page(path, stamp) VALUES(?, ?) ON CONFLICT(path) DO UPDATE SET stamp = excluded.stamp RETURNING n",
        (path, stamp),
    ).fetchone()
    page = row[0]
    # Where a record stands changes with every edit above it, and says nothing about what it is.
    known: dict[tuple[str, ...], list[tuple[int, int]]] = {}
    for own, line, *told in db.execute(
        "SELECT n, line, handle, text, before, meta, body FROM record WHERE page = ?", (page,)
    ):
        known.setdefault(tuple(told), []).append((own, line))
    moved, fresh = [], []
    for item in items:
        body = _body(item)
        places = known.get((item.handle, item.text, item.before, item.meta, body))
        if places:
            own, line = places.pop()
            if line != item.line:
                moved.append((item.line, own))
        else:
            fresh.append((item, body))
    gone = [own for places in known.values() for own, _ in places]
    _drop(db, gone)
    db.executemany("UPDATE record SET line = ? WHERE n = ?", moved)
    _add(db, page, fresh)
    _go_to(db, page, stamp, extent)
    if not items and not stamp:
        db.execute("DELETE FROM page WHERE n = ?", (page,))
    return len(gone)


def _add(db: sqlite3.Connection, page: int, fresh: Iterable[tuple[Item, str]]) -> None:
    # Rows are never used again, so that whatever was said up to one stays said.
    number = int(
        db.execute(
            "SELECT max(coalesce(max(n), 0), (SELECT coalesce(max(records_upto), 0) FROM model)) FROM record"
        ).fetchone()[0]
    )
    for place, (item, body) in enumerate(fresh, number + 1):
        db.execute(f"INSERT INTO record VALUES({', '.join('?' * 15)})", _row(place, page, item, body))
        words = (spelled(item.text), spelled(item.before), spelled(item.meta))
        db.execute(f"INSERT INTO {_WORDS}", (place, *words))


def _row(place: int, page: int, item: Item, body: str) -> tuple[object, ...]:
    record = item.record
    return (
        place, page, item.handle, item.line, item.text, item.before, item.meta, record.kind.value, record.key, max(-_HEAVIEST, min(_HEAVIEST, record.weight)),
        record.confidence.rank if record.confidence else None, record.needs_confirmation, item.scope == Scope.LOCAL,
        item.at.toordinal() if item.at else None, body,
    )  # fmt: skip


def _drop(db: sqlite3.Connection, rows: Iterable[int]) -> None:
    for own in rows:
        told = db.execute("SELECT n, text, before, meta FROM record WHERE n = ?", (own,)).fetchone()
        db.execute(f"INSERT INTO {_NO_WORDS}", (told[0], *(spelled(part) for part in tuple(told)[1:])))
        db.execute("DELETE FROM record WHERE n = ?", (own,))


def found(
    db: sqlite3.Connection,
    asked: Question,
    pages: Sequence[str],
    meaning: Meaning | None,
    matrix: Matrix | None,
    days: Sequence[tuple[int, int]] = (),
) -> list[Remembered]:
    """Records of these files that may answer, with how much of the question each holds. In no order. `days` are stretches of
    time that are asked for, as ordinals."""
    numbers = {
        row[0]: row[1]
        for row in db.execute(f"SELECT n, path FROM page WHERE path IN ({', '.join('?' * len(pages))})", tuple(pages))
    }
    if not numbers:
        return []
    total = int(db.execute("SELECT coalesce(max(n), 0) FROM record").fetchone()[0])
    words = Words(db, "record_words", _COLUMNS, _WEIGHTS, _FEW_ROWS if total > _MANY else _MANY_ROWS)
    held, _ = words.held(asked, total)
    phrased = words.having(asked.quoted)
    everything = len(numbers) == db.execute("SELECT count(*) FROM page").fetchone()[0]
    near = matrix.near(meaning.vector, _BY_MEANING if everything else _NARROW) if matrix and meaning else None
    rows = _rows(db, numbers, sorted(held, key=held.__getitem__, reverse=True), _BY_WORDS)
    best, mean = 0.0, 0.0
    if near is not None:
        known = {row[0] for row in rows}
        rows += _rows(db, numbers, [row for row in near.rows.tolist() if row not in known], _BY_MEANING)
        mean = near.mean
    known = {row[0] for row in rows}
    others = [*phrased, *_elsewhere(db, asked.text, days)]
    rows += _rows(db, numbers, [row for row in dict.fromkeys(others) if row not in known], _BY_WORDS)
    cosines = matrix.cosines(meaning.vector, [row[0] for row in rows]) if matrix and meaning else {}
    if cosines:
        best = max(cosines.values())
    return [
        replace(each, has_phrase=each.row in phrased) if phrased else each
        for each in (_remembered(row, numbers, held, cosines, best, mean) for row in rows)
    ]


def _elsewhere(db: sqlite3.Connection, text: str, days: Sequence[tuple[int, int]]) -> list[int]:
    """Records that are asked for by their handle, or by when they are from; the last first."""
    rows = db.execute("SELECT n FROM record WHERE handle = ?", (text.strip(),)).fetchall() if len(text) < 40 else []
    for first, last in days:
        query = "SELECT n FROM record WHERE day BETWEEN ? AND ? ORDER BY day DESC, n DESC LIMIT ?"
        rows += db.execute(query, (first, last, _BY_DAY)).fetchall()
    return [row[0] for row in rows]


def _remembered(
    row: tuple[Any, ...],
    pages: dict[int, str],
    held: dict[int, float],
    cosines: dict[int, float],
    best: float,
    mean: float,
) -> Remembered:
    own, handle, page, line, text, kind, key, weight, confidence, is_unsure, is_local, day = row
    cosine = cosines.get(own)
    return Remembered(
        row=own,
        handle=handle,
        path=pages[page],
        line=line,
        text=text,
        kind=kind,
        key=key,
        weight=weight,
        confidence=confidence,
        is_unsure=bool(is_unsure),
        is_local=bool(is_local),
        day=date.fromordinal(day) if day else None,
        words=held.get(own, 0.0),
        cosine=cosine,
        meaning=standing(cosine, best, mean),
    )


def items(db: sqlite3.Connection, rows: Sequence[int]) -> dict[int, Item]:
    """Records in full, by their rows."""
    if not rows:
        return {}
    query = f"SELECT * FROM record WHERE n IN ({','.join(map(str, rows))})"
    return {row["n"]: _item(row) for row in db.execute(query)}


def generation(db: sqlite3.Connection) -> int:
    """How many vectors ever came and went."""
    return int(db.execute("SELECT coalesce(sum(seq), 0) FROM sqlite_sequence").fetchone()[0])


def _rows(db: sqlite3.Connection, pages: dict[int, str], wanted: Sequence[int], most: int) -> list[tuple[Any, ...]]:
    """The first of these rows that stand in one of the files, as `_LIGHT` names their columns."""
    rows: list[tuple[Any, ...]] = []
    allowed = ",".join(map(str, pages))
    cursor = db.cursor()
    # Plain tuples: these are the most rows that a question fetches.
    cursor.row_factory = None
    start, step = 0, most
    while start < len(wanted) and len(rows) < most:
        some = wanted[start : start + step]
        query = f"SELECT {_LIGHT} FROM record WHERE n IN ({','.join(map(str, some))}) AND +page IN ({allowed})"
        by_row = {row[0]: row for row in cursor.execute(query)}
        rows += [by_row[own] for own in some if own in by_row]
        start, step = start + step, 500
    return rows[:most]


def due(db: sqlite3.Connection, model: str, most: int) -> list[tuple[int, str]]:
    """Records that have no vector of this model, with the text that stands for each: what sort it is, its key, when."""
    known = db.execute("SELECT records_upto FROM model WHERE name = ?", (model,)).fetchone()
    rows = db.execute(
        "SELECT r.n, r.kind, r.day, r.key, r.text FROM record r WHERE r.n > ? AND NOT EXISTS (SELECT 1 FROM vector v "
        "JOIN model m ON m.n = v.model WHERE v.shelf = ? AND v.item = r.n AND m.name = ?) ORDER BY r.n DESC LIMIT ?",
        (known[0] if known else 0, RECORDS, model, most),
    )
    return [
        (own, f"{f'[{date.fromordinal(day):%-d %B %Y}] ' if day else ''}{kind}: {_topic(key)}{text}")
        for own, kind, day, key, text in rows
    ]


def _topic(key: str | None) -> str:
    """What a person filed a record under: "I prefer pnpm" alone says little about tools."""
    return f"{key.replace('.', ' ').replace('-', ' ')}: " if key and "." in key and "|" not in key else ""


def settled(db: sqlite3.Connection, model: str) -> None:
    """Note how far every record has its vector, so that nobody need look there again."""
    db.execute(
        "UPDATE model SET records_upto = max(records_upto, coalesce((SELECT r.n - 1 FROM record r WHERE r.n > records_upto AND "
        "NOT EXISTS (SELECT 1 FROM vector v WHERE v.shelf = ? AND v.item = r.n AND v.model = model.n) ORDER BY r.n LIMIT 1), "
        "(SELECT max(n) FROM record), 0)) WHERE name = ?",
        (RECORDS, model),
    )


def _body(item: Item) -> str:
    """A record as it is shown again; only what it has."""
    record = item.record
    told: dict[str, Any] = {
        "text": record.text, "kind": record.kind.value, "key": record.key, "value": record.value, "triple": record.triple,
        "weight": record.weight, "confidence": record.confidence.value if record.confidence else None, "tags": record.tags,
        "source": record.source, "added": record.added.isoformat() if record.added else None, "scope": item.scope,
        "dialect": item.dialect, "note": item.note, "at": item.at.isoformat() if item.at else None,
    }  # fmt: skip
    if record.origin is not None:
        origin = record.origin
        told["origin"] = {
            "id": origin.id, "session": origin.session, "category": origin.category, "channel": origin.channel,
            "certainty": origin.certainty, "timestamp": origin.timestamp, "sensitivity": origin.sensitivity.value,
        }  # fmt: skip
    return json.dumps({name: value for name, value in told.items() if value not in (None, [], ())}, ensure_ascii=False)


def _item(row: sqlite3.Row) -> Item:
    told = json.loads(row["body"])
    origin = told.get("origin")
    triple = told.get("triple")
    record = Record(
        text=told["text"],
        kind=Kind(told["kind"]),
        key=told.get("key"),
        value=told.get("value"),
        triple=(triple[0], triple[1], triple[2]) if triple else None,
        weight=told.get("weight", 1),
        confidence=Confidence(told["confidence"]) if told.get("confidence") else None,
        tags=tuple(told.get("tags", ())),
        source=told.get("source"),
        added=date.fromisoformat(told["added"]) if told.get("added") else None,
        origin=Origin(**{**origin, "sensitivity": Sensitivity(origin["sensitivity"])}) if origin else None,
    )
    return Item(
        handle=row["handle"],
        line=row["line"],
        record=record,
        scope=told["scope"],
        dialect=told["dialect"],
        note=told.get("note"),
        at=date.fromisoformat(told["at"]) if told.get("at") else None,
        text=row["text"],
        before=row["before"],
        meta=row["meta"],
    )


def counts(db: sqlite3.Connection) -> dict[str, int]:
    """How many of what there are."""
    asked = {
        "records": "SELECT count(*) FROM record",
        "turns": "SELECT count(*) FROM turn",
        "sessions": "SELECT count(*) FROM session",
        "vectors": "SELECT count(*) FROM vector",
    }
    return {name: int(db.execute(query).fetchone()[0]) for name, query in asked.items()}


class NotebookIndex(IndexConnection):
    """Records of all notebooks in index.db."""

    def page_stamps(self) -> dict[str, str]:
        """What every notebook looked like when it was taken in."""
        with answering(self.path):
            return stamps(self._db)

    def put_page(self, path: str, stamp: str, items: Sequence[Item], extent: Extent | None = None) -> int:
        """Bring a notebook's records up to date; how many went away."""
        with answering(self.path), changing(self._db):
            return put(self._db, path, stamp, items, extent)

    def page_extent(self, path: str) -> Extent | None:
        """How much of a notebook was taken in, where it may be gone on with."""
        with answering(self.path):
            return extent_of(self._db, path)

    def last_items(self, path: str, most: int) -> list[Item]:
        """The last records of a notebook, in its order."""
        with answering(self.path):
            return last(self._db, path, most)

    def line_before_end(self, path: str, most: int) -> int:
        """The line of the first of a notebook's last so many records; 0 where it has no more than those."""
        with answering(self.path):
            return line_before_end(self._db, path, most)

    def has_handle(self, path: str, handles: Sequence[str]) -> bool:
        """Whether a notebook has a record under one of these names."""
        with answering(self.path):
            return has_handle(self._db, path, handles)

    def grow_page(self, path: str, stamp: str, items: Sequence[Item], extent: Extent) -> None:
        """Add what came behind the known part of a notebook."""
        with answering(self.path), changing(self._db):
            grow(self._db, path, stamp, items, extent)

    def restamp_page(self, path: str, stamp: str) -> None:
        """Note that a notebook's records are as they were."""
        with answering(self.path), changing(self._db):
            restamp(self._db, path, stamp)

    def recollected(
        self,
        asked: Question,
        pages: Sequence[str],
        meaning: Meaning | None,
        days: Sequence[tuple[int, int]] = (),
    ) -> list[Remembered]:
        """Records that may answer a question; `days` are stretches of time that it speaks of."""
        with answering(self.path):
            return found(self._db, asked, pages, meaning, self._matrix(vector_rows.RECORDS, meaning), days)

    def generation(self) -> int:
        """A number that changes with every vector that comes or goes."""
        with answering(self.path):
            return generation(self._db)

    def items(self, rows: Sequence[int]) -> dict[int, Item]:
        """Records in full."""
        with answering(self.path):
            return items(self._db, rows)

    def unembedded_records(self, model: str, most: int) -> list[tuple[int, str]]:
        """Records that have no vector of this model yet."""
        with answering(self.path):
            return due(self._db, model, most)

    def embedded_records(self, model: str, width: int, vectors: Sequence[tuple[int, bytes]]) -> None:
        """Keep vectors of records."""
        with answering(self.path), changing(self._db):
            vector_rows.keep(self._db, vector_rows.RECORDS, model, width, vectors)
            settled(self._db, model)

    def counts(self) -> dict[str, int]:
        """How many of what is in the index."""
        with answering(self.path):
            return counts(self._db)
