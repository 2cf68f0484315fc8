"""The models that recall may ask, made at first need. Without one, words alone are searched."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from byheart.domain.recall import Embedder, Meaning, NoModel, Reranker

if TYPE_CHECKING:
    from collections.abc import Callable

    from byheart.domain.ports import RecordIndex

# So many new records get their vectors before an answer; more are given theirs by and by.
_AT_ONCE, _MOST_AT_ONCE = 32, 96


class RecallModels:
    """An embedder and a reranker, or what is in the way of having them."""

    def __init__(
        self,
        embedder: Callable[[], Embedder] | None = None,
        reranker: Callable[[], Reranker] | None = None,
        clean: Callable[[str], str] = str,
    ) -> None:
        self._make_embedder, self._make_reranker, self._clean = embedder, reranker, clean
        self.missing: str | None = None

    @property
    def is_awake(self) -> bool:
        """Whether an embedder has been made already, so that asking it costs little."""
        return self.__dict__.get("embedder") is not None

    @cached_property
    def embedder(self) -> Embedder | None:
        """The embedder; None where there is none, and then `missing` says why."""
        if self._make_embedder is None:
            return None
        try:
            return self._make_embedder()
        except NoModel as error:
            self.missing = str(error)
            return None

    @cached_property
    def reranker(self) -> Reranker | None:
        """The reranker, or None."""
        if self._make_reranker is None:
            return None
        try:
            return self._make_reranker()
        except NoModel as error:
            self.missing = str(error)
            return None

    def vectors(self, texts: list[str]) -> list[bytes] | None:
        """Texts as vectors; None where the embedder failed, and then `missing` says why."""
        if self.embedder is None:
            return None
        try:
            return self.embedder.embed(texts)
        except NoModel as error:
            self.missing = str(error)
            return None

    def meaning(self, question: str) -> Meaning | None:
        """A question as a vector."""
        if self.embedder is None or not question.strip():
            return None
        try:
            # A server may be asked, so nothing secret may be in it.
            vector = self.embedder.embed([self._clean(question)])[0]
            if not vector.strip(b"\0"):
                # Nothing that the model can read.
                return None
            return Meaning(self.embedder.id, vector, self.embedder.scale)
        except NoModel as error:
            self.missing = str(error)
            return None


def embedded(index: RecordIndex, recall_models: RecallModels, most: int = _MOST_AT_ONCE) -> int:
    """Give records their vectors that have none, the newest first; how many got one."""
    embedder = recall_models.embedder
    due = index.unembedded_records(embedder.id, most) if embedder is not None else []
    done = 0
    for start in range(0, len(due), _AT_ONCE):
        some = due[start : start + _AT_ONCE]
        vectors = recall_models.vectors([text for _, text in some])
        if vectors is None or embedder is None:
            break
        pairs = [(own, vector) for (own, _), vector in zip(some, vectors, strict=True)]
        index.embedded_records(embedder.id, embedder.width, pairs)
        done += len(pairs)
    return done
