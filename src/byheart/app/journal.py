"""MemoryStore: the journal as programs see it. Its methods also answer to the names that other implementations use."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from byheart.domain.journal import MAIN, Appended, Compacted, SessionContext, Upkeep
from byheart.domain.recall import Experience, Gathered, PossibleExperience
from byheart.domain.records import Record, Scope
from byheart.domain.results import Finding, Hit
from byheart.domain.values import replace
from byheart.text.deferred import module
from byheart.workspace.context import Context

if TYPE_CHECKING:
    from byheart.journal import append, compact, experiences, integrity, reading, session_context, upkeep
    from byheart.recall import recall, sync
else:
    append = module("byheart.journal.append")
    compact = module("byheart.journal.compact")
    experiences = module("byheart.journal.experiences")
    integrity = module("byheart.journal.integrity")
    reading = module("byheart.journal.reading")
    session_context = module("byheart.journal.session_context")
    upkeep = module("byheart.journal.upkeep")
    recall = module("byheart.recall.recall")
    sync = module("byheart.recall.sync")

BOTH = (Scope.LOCAL, Scope.GLOBAL)


class MemoryStore:
    """One journal of a memory: the project's own, or the global one."""

    def __init__(self, context: Context, scope: Scope = Scope.LOCAL) -> None:
        self._context, self._scope = context, scope

    def append(self, record: Mapping[str, object], *, asked: bool = True, redact: bool = False) -> Appended:
        """Write a record to MEMORY.md and today's log; trim and compact as configured."""
        done = append.append(self._context, record, self._scope, asked=asked, redact=redact)
        sync.written(self._context)
        return replace(done, compaction=compact.after_append(self._context, self._scope))

    def read_all(self) -> list[Record]:
        """Every record of MEMORY.md, whatever its label."""
        return reading.read_all(self._context, self._scope)

    def retrieve_for_session(self, session_id: str, *, allow_secret: bool = False) -> list[Record]:
        """The records of one session; those labelled secret only where that is asked for."""
        return reading.retrieve(self._context, self._scope, session_id, allow_secret=allow_secret)

    def flush_pre_compaction(self, session_id: str = MAIN) -> Appended:
        """Append the checkpoint that comes before a compaction."""
        return append.append(self._context, append.checkpoint(session_id), self._scope)

    def integrity_scan(self) -> list[Finding]:
        """Contradictions, duplicates, stale records, broken lines; findings only."""
        return integrity.integrity_scan(self._context, self._scope)

    def session_context(
        self, *, main: bool = True, allow_secret: bool = False, last_message: str = ""
    ) -> SessionContext:
        """What a main session is told at its start, from both scopes, under the cap; with what its user said last, also the
        experiences that have to do with it."""
        return session_context.session_context(
            self._context, main=main, allow_secret=allow_secret, last_message=last_message
        )

    def recall_memory(self, query: str, top_k: int = 5) -> list[Hit]:
        """Records of this journal that fit a question, best first, among the newest that may be asked for."""
        return recall.of_journal(self._context, query, self._scope, max(1, min(20, top_k)))

    def gather_experiences(self, learnt: Sequence[PossibleExperience] = ()) -> Gathered:
        """Keep what is new among recent records, lessons, and what sessions showed."""
        return experiences.gather(self._context, self._scope, learnt)

    def experiences(self, scopes: Sequence[Scope] = BOTH, *, most: int = 20) -> list[Experience]:
        """The newest experiences."""
        return experiences.listed(self._context, scopes, most)

    def query_experiences(self, query: str, top_k: int = 5, *, scopes: Sequence[Scope] = BOTH) -> list[Experience]:
        """The experiences that have to do with a question, best first."""
        return experiences.asked(self._context, query, scopes, max(1, min(20, top_k)))

    def listing(
        self,
        *,
        session: str | None = None,
        category: str | None = None,
        allow_secret: bool = False,
        most: int | None = None,
    ) -> list[Hit]:
        """The newest records that fit the filters, in file order."""
        return reading.listing(
            self._context, self._scope, session=session, category=category, allow_secret=allow_secret, most=most
        )

    def compact(self, *, force: bool = False, session_id: str | None = None) -> Compacted:
        """Merge old records into summaries, if it is time to."""
        return compact.compact(self._context, self._scope, force=force, session=session_id)

    def upkeep(
        self,
        scopes: Sequence[Scope] = BOTH,
        *,
        force: bool = False,
        learnt: Callable[[], Sequence[PossibleExperience]] = tuple,
    ) -> list[Upkeep]:
        """Run what is due."""
        return upkeep.upkeep(self._context, scopes, force=force, learnt=learnt)

    readAll = read_all  # noqa: N815 - the name that the format's other implementations use
    retrieveForSession = retrieve_for_session  # noqa: N815
    flushPreCompaction = flush_pre_compaction  # noqa: N815
    integrityScan = integrity_scan  # noqa: N815
    recallMemory = recall_memory  # noqa: N815
    queryExperiences = query_experiences  # noqa: N815
