"""The models that recall may ask, made at first need, without which words alone are searched; and answers kept for a while in a
process that lives long: the least lately used go first, and none grows old."""

from __future__ import annotations

import json
from _thread import allocate_lock
from collections import OrderedDict
from functools import cached_property
from typing import TYPE_CHECKING, Generic, TypeVar

from byheart.domain.errors import ByheartError
from byheart.domain.recall import Embedder, Meaning, NoModel, Reranker
from byheart.domain.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping

    from byheart.domain.documents import Place
    from byheart.domain.ports import Files, RecordIndex

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


# So many records without a vector do not make an answer wait, nor wrong.
_A_FEW = 16
KEYWORDS = "keyword search only for now: vectors are being made"


def ready(index: RecordIndex, recall_models: RecallModels) -> bool:
    """Whether records have their vectors, once a few that are new got theirs; where many lack one, an answer goes by words alone: by
    meaning it would know some of them and not others."""
    embedder = recall_models.embedder
    if embedder is None:
        return False
    if len(index.unembedded_records(embedder.id, _A_FEW + 1)) > _A_FEW:
        return False
    embedded(index, recall_models, _A_FEW)
    return True


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


USE = "state/cache.json"
# A process that has asked so often lives long; and how often it says how it is doing, in seconds.
_OFTEN, _EVERY = 3, 30
Answer = TypeVar("Answer")


@dataclass(slots=True)
class Use:
    """How a cache has been doing."""

    hits: int = 0
    misses: int = 0
    dropped: int = 0
    entries: int = 0
    size: int = 0


class Cache(Generic[Answer]):
    """At most so many answers, of so many bytes together, each for so many seconds.

    What an answer depends on belongs into its key: then a change makes another key, and nothing stale can be found.
    """

    def __init__(self, entries: int, size: int, seconds: float, clock: Callable[[], float]) -> None:
        self._most, self._largest, self._seconds, self._clock = entries, size, seconds, clock
        self._kept: OrderedDict[Hashable, tuple[float, int, Answer]] = OrderedDict()
        self._lock = allocate_lock()
        self.use = Use()

    def get(self, key: Hashable, make: Callable[[], Answer], measure: Callable[[Answer], int]) -> Answer:
        """The answer under a key, made where there is none."""
        with self._lock:
            found = self._kept.get(key)
            if found is not None and self._clock() - found[0] < self._seconds:
                self._kept.move_to_end(key)
                self.use.hits += 1
                return found[2]
            self.use.misses += 1
        # Made without the lock: others need not wait for it, and at worst two make the same.
        answer = make()
        self._keep(key, answer, measure(answer))
        return answer

    def _keep(self, key: Hashable, answer: Answer, size: int) -> None:
        with self._lock:
            self._drop(key)
            if not self._most or size > self._largest:
                return
            self._kept[key] = (self._clock(), size, answer)
            self.use.size += size
            while len(self._kept) > self._most or self.use.size > self._largest:
                self._drop(next(iter(self._kept)))
                self.use.dropped += 1
            self.use.entries = len(self._kept)

    def _drop(self, key: Hashable) -> None:
        found = self._kept.pop(key, None)
        if found is not None:
            self.use.size -= found[1]
            self.use.entries = len(self._kept)

    def clear(self) -> None:
        """Keep nothing of what was."""
        with self._lock:
            self._kept.clear()
            self.use.entries = self.use.size = 0


class Noted:
    """Writes down now and then how a process's caches are doing, for whoever asks from another process. A command, which asks
    once and is gone, writes nothing."""

    def __init__(self, files: Files, place: Place, uses: Mapping[str, Use], clock: Callable[[], float]) -> None:
        self._files, self._place, self._uses, self._clock = files, place, uses, clock
        self._asked, self._last = 0, 0.0

    def __call__(self) -> None:
        """One of them was asked."""
        self._asked += 1
        now = self._clock()
        if self._asked < _OFTEN or now - self._last < _EVERY:
            return
        self._last = now
        told = {
            name: {
                "hits": use.hits,
                "misses": use.misses,
                "dropped": use.dropped,
                "entries": use.entries,
                "bytes": use.size,
            }
            for name, use in self._uses.items()
        }
        try:
            before = self._files.read(self._place)
            self._files.write(self._place, json.dumps({"at": int(now), "caches": told}) + "\n", before.digest)
        except ByheartError:
            # It is only a note.
            return


def noted(files: Files, place: Place) -> tuple[int, dict[str, dict[str, int]]] | None:
    """When a process last wrote down how its caches were doing, and how; None where none did."""
    try:
        raw = json.loads(files.read(place).text or "null")
        return int(raw["at"]), {
            str(name): {str(key): int(value) for key, value in use.items()} for name, use in raw["caches"].items()
        }
    except (ByheartError, ValueError, TypeError, KeyError, AttributeError):
        return None
