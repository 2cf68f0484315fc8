"""Memory: the one door. Every interface calls these methods and nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING

from byheart.domain.records import Kind, Scope
from byheart.workspace.context import JOURNAL, PROFILE, RULES, Context, SearchTools, opened

if TYPE_CHECKING:
    from collections.abc import Sequence

    from byheart.app.journal import MemoryStore
    from byheart.domain.documents import Place, Settings
    from byheart.domain.records import Request
    from byheart.domain.reports import Checkup, Conversion, Imported, LogEntry, Verdict
    from byheart.domain.results import Finding, Hit, Listing, ProfileView, Receipt
    from byheart.notebooks.check import Proposal
    from byheart.notebooks.overview import Page
    from byheart.notebooks.setup import Ready
    from byheart.search.models import Use

BOTH = (Scope.LOCAL, Scope.GLOBAL)
NOTEBOOKS = (PROFILE, RULES)


class Memory:
    """A person's memory as seen from one project: its own notebooks, and the global ones.

    Each story is imported when it is asked for: a command lives for a tenth of a second and needs one of them.
    """

    def __init__(self, context: Context) -> None:
        self._context = context

    @property
    def context(self) -> Context:
        """What all stories of this memory have at hand."""
        return self._context

    def journal(self, scope: Scope = Scope.LOCAL) -> MemoryStore:
        """The journal of a scope: append, read, hand over, keep up."""
        from byheart.app.journal import MemoryStore

        return MemoryStore(self._context, scope)

    def remember(self, request: Request) -> Receipt:
        """Store one memory where its kind belongs."""
        from byheart.notebooks import remember as write
        from byheart.recall import sync

        receipt = write.remember(self._context, request)
        sync.written(self._context)
        return receipt

    def judge(self, request: Request) -> Verdict:
        """What the capture policy would say, without storing anything."""
        from byheart.domain.records import Confidence
        from byheart.domain.reports import Reason, Verdict
        from byheart.domain.values import replace
        from byheart.notebooks import remember as write
        from byheart.notebooks import request as asking

        if request.asked:
            # What somebody asks for is stored, unless it is refused as it would be for real.
            effect = Reason(test="effect", passed=True, because=write.foreseen(self._context, request))
            return Verdict(
                stored=True,
                confidence=Confidence.HIGH,
                tags=(),
                reasons=(Reason(test="asked for", passed=True, because="you say so yourself"), effect),
            )
        candidate, _, _ = asking.compose(request)
        verdict = write.verdict_of(self._context, candidate, request)
        if verdict.stored:
            # What the policy lets through may still be refused, as it would be for real.
            effect = Reason(test="effect", passed=True, because=write.foreseen(self._context, request))
            return replace(verdict, reasons=(*verdict.reasons, effect))
        return verdict

    def recall(
        self, query: str, *, scopes: Sequence[Scope] = BOTH, most: int | None = None, deep: bool = False
    ) -> Listing:
        """Records that fit a query, best first."""
        from byheart.recall import recall as recalling

        return recalling.recall(self._context, query, scopes, most or self._context.limits.recall_results, deep=deep)

    def caught_up(self) -> None:
        """Take what was written into the index, without waiting for a question."""
        from byheart.recall import sync

        sync.caught_up(self._context)

    @property
    def search_tools(self) -> SearchTools:
        """What recall searches with: the index, the models, the answers it keeps."""
        return self._context.search_tools()

    @property
    def recall_use(self) -> Use:
        """How recall's cache has been doing in this process."""
        return self._context.search_tools().answers.use

    def forget(self, selector: str, *, scope: Scope | None = None, reason: str = "user asked") -> Receipt:
        """Remove one record for good."""
        from byheart.notebooks import forget
        from byheart.recall import sync

        receipt = forget.forget(self._context, selector, scope, reason)
        # Somebody may have prepared one while the text was still there.
        self._context.drop_briefs()
        sync.caught_up(self._context)
        return receipt

    def confirm(self, selector: str, *, scope: Scope | None = None) -> Receipt:
        """Raise one record to high confidence."""
        from byheart.notebooks import remember as write

        return write.confirm(self._context, selector, scope)

    def profile(self, *, scopes: Sequence[Scope] = BOTH) -> ProfileView:
        """The Active Profile for a session."""
        from byheart.notebooks import overview

        return overview.profile(self._context, scopes)

    def rules(self, *, scopes: Sequence[Scope] = (Scope.LOCAL,)) -> Listing:
        """The three to seven rules to put before a session."""
        from byheart.notebooks import overview

        return overview.rules(self._context, scopes)

    def list(
        self,
        *,
        scopes: Sequence[Scope] = BOTH,
        notebooks: Sequence[str] = NOTEBOOKS,
        kind: Kind | None = None,
        tag: str | None = None,
    ) -> Listing:
        """Every record, in file order."""
        from byheart.notebooks import overview

        return overview.listing(self._context, scopes, notebooks, kind, tag)

    def show(self, *, scopes: Sequence[Scope] = BOTH) -> Sequence[Page]:
        """The files as they are."""
        from byheart.notebooks import overview

        return overview.show(self._context, scopes)

    def find(self, selector: str, *, scope: Scope | None = None) -> Hit:
        """One record, named exactly."""
        from byheart.notebooks import overview

        return overview.show_one(self._context, selector, scope)

    def settings(self, scope: Scope = Scope.LOCAL) -> Settings:
        """The switches that the notebook carries in itself."""
        return opened(self._context, self._context.roots[scope], PROFILE).document.settings

    def switch(self, name: str, *, on: bool, scope: Scope = Scope.LOCAL) -> Receipt:
        """Turn one of them on or off."""
        from byheart.notebooks import remember as write

        return write.switch(self._context, name, on, scope)

    def log(self, *, scope: Scope = Scope.LOCAL, most: int = 20) -> Sequence[LogEntry]:
        """What changed, newest first."""
        from byheart.notebooks import history

        return history.log(self._context, scope, most)

    def undo(self, receipt: str | None = None, *, scope: Scope | None = None) -> Receipt:
        """Take back one change."""
        from byheart.notebooks import history

        return history.undo(self._context, receipt, scope)

    def import_(
        self,
        place: Place,
        *,
        fmt: str | None = None,
        to: str | None = None,
        scope: Scope = Scope.LOCAL,
        dry_run: bool = False,
        forgotten_too: bool = False,
    ) -> Imported:
        """Store what a file holds."""
        from byheart.notebooks import exchange

        return exchange.import_(
            self._context, place, fmt, to=to, scope=scope, dry_run=dry_run, forgotten_too=forgotten_too
        )

    def export(self, target: str, *, scopes: Sequence[Scope] = BOTH, allow_secret: bool = False) -> Conversion:
        """Everything as one text; records labelled secret only where that is asked for."""
        from byheart.notebooks import exchange

        return exchange.export(self._context, scopes, target, with_secret=allow_secret)

    def convert(self, place: Place, target: str, *, fmt: str | None = None, allow_secret: bool = False) -> Conversion:
        """A file as a text in another format."""
        from byheart.notebooks import exchange

        return exchange.convert(self._context, place, fmt, target, with_secret=allow_secret)

    def check(self, place: Place | None = None, *, scopes: Sequence[Scope] = BOTH) -> Sequence[Finding]:
        """What is wrong with the memory, or with one file."""
        from byheart.notebooks import check as checks

        return checks.check_file(self._context, place) if place else checks.check(self._context, scopes)

    def proposals(self, *, scopes: Sequence[Scope] = BOTH) -> tuple[Sequence[Proposal], Sequence[Finding]]:
        """Edits that would settle what is wrong, and the files that could not be read."""
        from byheart.notebooks import check as checks

        return checks.proposals(self._context, scopes)

    def fix(self, proposal: Proposal) -> Receipt:
        """Make one of these edits."""
        from byheart.notebooks import check as checks

        return checks.apply(self._context, proposal)

    def is_upkeep_due(self) -> bool:
        """Whether a scheduled compaction or scan of a journal should run; costs next to nothing where there is none."""
        context = self._context
        there = [scope for scope, root in context.roots.items() if context.files.size(root.documents[JOURNAL])]
        if not there:
            return False
        from byheart.journal import schedule

        return any(schedule.due(context, context.roots[scope]) != schedule.UpkeepDue() for scope in there)

    def doctor(self, machine: Sequence[Checkup]) -> Sequence[Checkup]:
        """How memory and machine stand."""
        from byheart.notebooks import check as checks

        return checks.doctor(self._context, machine)

    def init(self, in_repo: dict[str, Place] | None = None) -> Ready:
        """Set up this project's notebook."""
        from byheart.notebooks import setup

        return setup.init(self._context, in_repo)
