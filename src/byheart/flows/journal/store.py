"""MemoryStore: the journal as programs see it. Its methods also answer to the names that other implementations use."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from byheart.domain.journal import MAIN, Appended, Compacted, SessionContext, Upkeep
from byheart.domain.records import Record, Scope
from byheart.domain.results import Finding, Hit
from byheart.domain.values import replace
from byheart.flows.desk import Desk

BOTH = (Scope.LOCAL, Scope.GLOBAL)


class MemoryStore:
    """One journal of a memory: the project's own, or the global one."""

    def __init__(self, desk: Desk, scope: Scope = Scope.LOCAL) -> None:
        self._desk, self._scope = desk, scope

    def append(self, record: Mapping[str, object], *, asked: bool = True, redact: bool = False) -> Appended:
        """Write a record to MEMORY.md and today's log; trim and compact as configured."""
        from byheart.flows import indexing
        from byheart.flows.journal import append, compact

        done = append.append(self._desk, record, self._scope, asked=asked, redact=redact)
        indexing.written(self._desk)
        return replace(done, compaction=compact.after_append(self._desk, self._scope))

    def read_all(self) -> list[Record]:
        """Every record of MEMORY.md, whatever its label."""
        from byheart.flows.journal import reading

        return reading.read_all(self._desk, self._scope)

    def retrieve_for_session(self, session_id: str, *, allow_secret: bool = False) -> list[Record]:
        """The records of one session; those labelled secret only where that is asked for."""
        from byheart.flows.journal import reading

        return reading.retrieve(self._desk, self._scope, session_id, allow_secret=allow_secret)

    def flush_pre_compaction(self, session_id: str = MAIN) -> Appended:
        """Append the checkpoint that comes before a compaction."""
        from byheart.flows.journal import append

        return append.append(self._desk, append.checkpoint(session_id), self._scope)

    def integrity_scan(self) -> list[Finding]:
        """Contradictions, duplicates, stale records, broken lines; findings only."""
        from byheart.flows.journal import scan

        return scan.integrity_scan(self._desk, self._scope)

    def session_context(self, *, main: bool = True, allow_secret: bool = False) -> SessionContext:
        """What a main session is told at its start, from both scopes, under the cap."""
        from byheart.flows.journal import context

        return context.session_context(self._desk, main=main, allow_secret=allow_secret)

    def listing(
        self,
        *,
        session: str | None = None,
        category: str | None = None,
        allow_secret: bool = False,
        most: int | None = None,
    ) -> list[Hit]:
        """The newest records that fit the filters, in file order."""
        from byheart.flows.journal import reading

        return reading.listing(
            self._desk, self._scope, session=session, category=category, allow_secret=allow_secret, most=most
        )

    def compact(self, *, force: bool = False, session_id: str | None = None) -> Compacted:
        """Merge old records into summaries, if it is time to."""
        from byheart.flows.journal import compact

        return compact.compact(self._desk, self._scope, force=force, session=session_id)

    def upkeep(self, scopes: Sequence[Scope] = BOTH, *, force: bool = False) -> list[Upkeep]:
        """Run what is due."""
        from byheart.flows.journal import upkeep

        return upkeep.upkeep(self._desk, scopes, force=force)

    readAll = read_all  # noqa: N815 - the name that the format's other implementations use
    retrieveForSession = retrieve_for_session  # noqa: N815
    flushPreCompaction = flush_pre_compaction  # noqa: N815
    integrityScan = integrity_scan  # noqa: N815
