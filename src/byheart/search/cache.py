"""Answers kept for a while in a process that lives long: the least lately used go first, and none grows old."""

from __future__ import annotations

import json
from _thread import allocate_lock
from collections import OrderedDict
from typing import TYPE_CHECKING, Generic, TypeVar

from byheart.domain.errors import ByheartError
from byheart.domain.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping

    from byheart.domain.ports import Files
    from byheart.domain.roots import Place

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
