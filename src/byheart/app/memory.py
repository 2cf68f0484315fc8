"""Memory: the one door. Every interface calls these methods and nothing else."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from byheart.domain.documents import Place
from byheart.domain.errors import NothingFound
from byheart.domain.records import Kind, Scope
from byheart.text.deferred import module
from byheart.workspace.context import JOURNAL, PROFILE, RULES, Context, SearchTools, opened
from byheart.workspace.ledger import LOG

if TYPE_CHECKING:
    from collections.abc import Sequence

    from byheart.app import journal
    from byheart.app.open import OpenMemory
    from byheart.domain import records, reports, values
    from byheart.domain.documents import Settings
    from byheart.domain.records import Request
    from byheart.domain.reports import Checkup, Conversion, Imported, LogEntry
    from byheart.domain.results import Finding, Hit, Listing, ProfileView, Receipt
    from byheart.journal import schedule
    from byheart.learning import handbook_files
    from byheart.notebooks import check, exchange, forget, history, overview, remember, setup
    from byheart.notebooks import request as asking
    from byheart.notebooks.check import Proposal
    from byheart.notebooks.overview import Page
    from byheart.notebooks.setup import Ready
    from byheart.recall import recall, sync
    from byheart.search.models import Use
else:
    journal = module("byheart.app.journal")
    records = module("byheart.domain.records")
    reports = module("byheart.domain.reports")
    values = module("byheart.domain.values")
    schedule = module("byheart.journal.schedule")
    handbook_files = module("byheart.learning.handbook_files")
    check = module("byheart.notebooks.check")
    exchange = module("byheart.notebooks.exchange")
    forget = module("byheart.notebooks.forget")
    history = module("byheart.notebooks.history")
    overview = module("byheart.notebooks.overview")
    remember = module("byheart.notebooks.remember")
    asking = module("byheart.notebooks.request")
    setup = module("byheart.notebooks.setup")
    recall = module("byheart.recall.recall")
    sync = module("byheart.recall.sync")

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

    def journal(self, scope: Scope = Scope.LOCAL) -> journal.MemoryStore:
        """The journal of a scope: append, read, hand over, keep up."""
        return journal.MemoryStore(self._context, scope)

    def remember(self, request: Request) -> Receipt:
        """Store one memory where its kind belongs."""
        receipt = remember.remember(self._context, request)
        sync.written(self._context)
        return receipt

    def judge(self, request: Request) -> reports.Verdict:
        """What the capture policy would say, without storing anything."""
        if request.asked:
            # What somebody asks for is stored, unless it is refused as it would be for real.
            effect = reports.Reason(test="effect", passed=True, because=remember.foreseen(self._context, request))
            return reports.Verdict(
                stored=True,
                confidence=records.Confidence.HIGH,
                tags=(),
                reasons=(reports.Reason(test="asked for", passed=True, because="you say so yourself"), effect),
            )
        candidate, _, _ = asking.compose(asking.routed(self._context, request))
        verdict = remember.verdict_of(self._context, candidate, request)
        if verdict.stored:
            # What the policy lets through may still be refused, as it would be for real.
            effect = reports.Reason(test="effect", passed=True, because=remember.foreseen(self._context, request))
            return values.replace(verdict, reasons=(*verdict.reasons, effect))
        return verdict

    def recall(
        self, query: str, *, scopes: Sequence[Scope] = BOTH, most: int | None = None, deep: bool = False
    ) -> Listing:
        """Records that fit a query, best first."""
        return recall.recall(self._context, query, scopes, most or self._context.limits.recall_results, deep=deep)

    def caught_up(self) -> None:
        """Take what was written into the index, without waiting for a question."""
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
        receipt = forget.forget(self._context, selector, scope, reason)
        # Somebody may have prepared one while the text was still there.
        self._context.drop_briefs()
        sync.caught_up(self._context)
        return receipt

    def is_in_history(self, selector: str, *, scope: Scope | None = None) -> bool:
        """Whether what no file holds any more still stands in the history."""
        return forget.is_in_history(self._context, selector, scope)

    def confirm(self, selector: str, *, scope: Scope | None = None) -> Receipt:
        """Raise one record to high confidence."""
        return remember.confirm(self._context, selector, scope)

    def profile(self, *, scopes: Sequence[Scope] = BOTH) -> ProfileView:
        """The Active Profile for a session."""
        return overview.profile(self._context, scopes)

    def rules(self, *, scopes: Sequence[Scope] = (Scope.LOCAL,)) -> Listing:
        """The three to seven rules to put before a session."""
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
        return overview.listing(self._context, scopes, notebooks, kind, tag)

    def show(self, *, scopes: Sequence[Scope] = BOTH) -> Sequence[Page]:
        """The files as they are."""
        return overview.show(self._context, scopes)

    def find(self, selector: str, *, scope: Scope | None = None) -> Hit:
        """One record, named exactly."""
        return overview.show_one(self._context, selector, scope)

    def settings(self, scope: Scope = Scope.LOCAL) -> Settings:
        """The switches that the notebook carries in itself."""
        return opened(self._context, self._context.roots[scope], PROFILE).document.settings

    def switch(self, name: str, *, on: bool, scope: Scope = Scope.LOCAL) -> Receipt:
        """Turn one of them on or off."""
        return remember.switch(self._context, name, on, scope)

    def log(self, *, scope: Scope = Scope.LOCAL, most: int = 20) -> Sequence[LogEntry]:
        """What changed, newest first."""
        return history.log(self._context, scope, most)

    def undo(self, receipt: str | None = None, *, scope: Scope | None = None) -> Receipt:
        """Take back one change."""
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
        return exchange.import_(
            self._context, place, fmt, to=to, scope=scope, dry_run=dry_run, forgotten_too=forgotten_too
        )

    def export(self, target: str, *, scopes: Sequence[Scope] = BOTH, allow_secret: bool = False) -> Conversion:
        """Everything as one text; records labelled secret only where that is asked for."""
        return exchange.export(self._context, scopes, target, with_secret=allow_secret)

    def convert(self, place: Place, target: str, *, fmt: str | None = None, allow_secret: bool = False) -> Conversion:
        """A file as a text in another format."""
        return exchange.convert(self._context, place, fmt, target, with_secret=allow_secret)

    def check(self, place: Place | None = None, *, scopes: Sequence[Scope] = BOTH) -> Sequence[Finding]:
        """What is wrong with the memory, or with one file."""
        return check.check_file(self._context, place) if place else check.check(self._context, scopes)

    def proposals(self, *, scopes: Sequence[Scope] = BOTH) -> tuple[Sequence[Proposal], Sequence[Finding]]:
        """Edits that would settle what is wrong, and the files that could not be read."""
        return check.proposals(self._context, scopes)

    def fix(self, proposal: Proposal) -> Receipt:
        """Make one of these edits."""
        return check.apply(self._context, proposal)

    def is_upkeep_due(self) -> bool:
        """Whether a scheduled compaction or scan of a journal should run; costs next to nothing where there is none."""
        context = self._context
        there = [scope for scope, root in context.roots.items() if context.files.size(root.documents[JOURNAL])]
        if not there:
            return False
        return any(schedule.due(context, context.roots[scope]) != schedule.UpkeepDue() for scope in there)

    def doctor(self, machine: Sequence[Checkup]) -> Sequence[Checkup]:
        """How memory and machine stand."""
        return check.doctor(self._context, machine)

    def init(self, in_repo: dict[str, Place] | None = None) -> Ready:
        """Set up this project's notebook."""
        return setup.init(self._context, in_repo)


def undone(opened_memory: OpenMemory, receipt: str | None, scope: Scope | None) -> tuple[Receipt, str]:
    """Take back one change: the named one, or the last, which may have been made in another project; and that project's name, empty for
    the one we stand in."""
    context, home = opened_memory.memory.context, opened_memory.home
    found: list[tuple[str, Context, str, Scope | None]] = []
    problem: NothingFound | None = None
    try:
        found.append((history.newest(context, receipt, scope).at, context, "", scope))
    except NothingFound as error:
        problem = error
    if scope is not Scope.GLOBAL and not (receipt and found):
        for name in opened_memory.files.names(Place(home, "projects")):
            if (
                name == opened_memory.project.id
                or opened_memory.files.size(Place(home, f"projects/{name}/.byheart/{LOG}")) is None
            ):
                continue
            there = handbook_files.handbook_files_of(context, home, name).context
            with suppress(NothingFound):
                at = history.newest(there, receipt, Scope.LOCAL).at
                found.append((at, there, name.rsplit("-", 1)[0], Scope.LOCAL))
    if not found:
        raise problem or NothingFound("nothing to undo")
    _, chosen, project, where = max(found, key=lambda each: each[0])
    return history.undo(chosen, receipt, where), project
