"""MemoryStore: the journal as programs see it. Its methods also answer to the names that other implementations use."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any

from byheart.domain.journal import MAIN, Appended, Compacted, SessionContext, Upkeep
from byheart.domain.recall import Experience, Gathered, PossibleExperience
from byheart.domain.records import Record, Scope
from byheart.domain.results import Finding, Hit
from byheart.domain.values import replace
from byheart.text.deferred import module
from byheart.workspace.context import Context

if TYPE_CHECKING:
    from byheart.app import open as app_open
    from byheart.journal import append, compact, experiences, integrity, reading, session_context, upkeep
    from byheart.recall import recall, sync
else:
    app_open = module("byheart.app.open")
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

    def __init__(self, context: Context | str | PathLike[str], scope: Scope = Scope.LOCAL) -> None:
        """The journal of an opened memory, or that of the project in a folder."""
        if isinstance(context, str | PathLike):
            around = app_open.Surroundings(folder=os.fspath(context), environment=os.environ)
            context = app_open.open_memory(around).memory.context
        self._context, self._scope = context, scope

    def append(self, record: Mapping[str, object], *, asked: bool = True, redact: bool = False) -> Appended:
        """Write a record to MEMORY.md and today's log; trim and compact as configured."""
        done = append.append(self._context, record, self._scope, asked=asked, redact=redact)
        sync.written(self._context)
        return replace(done, compaction=compact.after_append(self._context, self._scope))

    def read_all(self) -> list[Record]:
        """Every record of MEMORY.md, whatever its label."""
        return reading.read_all(self._context, self._scope)

    def retrieve_for_session(self, session_id: str, *, allow_secret: bool = False) -> reading.Retrieved:
        """The records of one session; those labelled secret only where that is asked for. `reason` of an empty answer says why it is."""
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

    def retrieveForSession(
        self, asked: Mapping[str, Any] | str | None = None, *, sessionId: str = MAIN, allowSecret: bool = False
    ) -> reading.Retrieved:
        """The same, by an object or by the keywords that the format's other implementations use."""
        given = {
            "sessionId": sessionId,
            "allowSecret": allowSecret,
            **({"sessionId": asked} if isinstance(asked, str) else asked or {}),
        }
        return self.retrieve_for_session(str(given["sessionId"]), allow_secret=bool(given["allowSecret"]))

    def integrityScan(self) -> list[Finding]:
        """The same, with what only differs within one session and category, which others call a contradiction."""
        return integrity.integrity_scan(self._context, self._scope, differing=True)

    readAll = read_all
    flushPreCompaction = flush_pre_compaction
    recallMemory = recall_memory
    queryExperiences = query_experiences
