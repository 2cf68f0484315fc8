"""Records in the index, as flows see them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from byheart.storage.index import records, vector_rows
from byheart.storage.index.connection import IndexConnection
from byheart.storage.index.schema import answering, changing

if TYPE_CHECKING:
    from collections.abc import Sequence

    from byheart.domain.ports import Extent
    from byheart.domain.recall import Item, Meaning, Question, Remembered


class NotebookIndex(IndexConnection):
    """Records of all notebooks in index.db."""

    def page_stamps(self) -> dict[str, str]:
        """What every notebook looked like when it was taken in."""
        with answering(self.path):
            return records.stamps(self._db)

    def put_page(self, path: str, stamp: str, items: Sequence[Item], extent: Extent | None = None) -> int:
        """Bring a notebook's records up to date; how many went away."""
        with answering(self.path), changing(self._db):
            return records.put(self._db, path, stamp, items, extent)

    def page_extent(self, path: str) -> Extent | None:
        """How much of a notebook was taken in, where it may be gone on with."""
        with answering(self.path):
            return records.extent_of(self._db, path)

    def last_items(self, path: str, most: int) -> list[Item]:
        """The last records of a notebook, in its order."""
        with answering(self.path):
            return records.last(self._db, path, most)

    def line_before_end(self, path: str, most: int) -> int:
        """The line of the first of a notebook's last so many records; 0 where it has no more than those."""
        with answering(self.path):
            return records.line_before_end(self._db, path, most)

    def has_handle(self, path: str, handles: Sequence[str]) -> bool:
        """Whether a notebook has a record under one of these names."""
        with answering(self.path):
            return records.has_handle(self._db, path, handles)

    def grow_page(self, path: str, stamp: str, items: Sequence[Item], extent: Extent) -> None:
        """Add what came behind the known part of a notebook."""
        with answering(self.path), changing(self._db):
            records.grow(self._db, path, stamp, items, extent)

    def restamp_page(self, path: str, stamp: str) -> None:
        """Note that a notebook's records are as they were."""
        with answering(self.path), changing(self._db):
            records.restamp(self._db, path, stamp)

    def recollected(
        self,
        asked: Question,
        pages: Sequence[str],
        meaning: Meaning | None,
        days: Sequence[tuple[int, int]] = (),
    ) -> list[Remembered]:
        """Records that may answer a question; `days` are stretches of time that it speaks of."""
        with answering(self.path):
            return records.found(self._db, asked, pages, meaning, self._matrix(vector_rows.RECORDS, meaning), days)

    def generation(self) -> int:
        """A number that changes with every vector that comes or goes."""
        with answering(self.path):
            return records.generation(self._db)

    def items(self, rows: Sequence[int]) -> dict[int, Item]:
        """Records in full."""
        with answering(self.path):
            return records.items(self._db, rows)

    def unembedded_records(self, model: str, most: int) -> list[tuple[int, str]]:
        """Records that have no vector of this model yet."""
        with answering(self.path):
            return records.due(self._db, model, most)

    def embedded_records(self, model: str, width: int, vectors: Sequence[tuple[int, bytes]]) -> None:
        """Keep vectors of records."""
        with answering(self.path), changing(self._db):
            vector_rows.keep(self._db, vector_rows.RECORDS, model, width, vectors)
            records.settled(self._db, model)

    def counts(self) -> dict[str, int]:
        """How many of what is in the index."""
        with answering(self.path):
            return records.counts(self._db)
