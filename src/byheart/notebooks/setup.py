"""init: the notebook for this project, at home or in the repository."""

from __future__ import annotations

from byheart.domain.documents import Document, Place, Root
from byheart.domain.errors import Refused
from byheart.domain.records import Record, Scope
from byheart.domain.values import dataclass, replace
from byheart.journal.append import created
from byheart.journal.files import journal_files
from byheart.notebooks import exchange
from byheart.notebooks.commit import Committed, commit
from byheart.notebooks.merge import Decision
from byheart.workspace import ledger
from byheart.workspace.context import PROFILE, RULES, Context, vouched


@dataclass(frozen=True, slots=True, kw_only=True)
class Ready:
    """Where things lie now, and what was done to get there."""

    project: str
    documents: tuple[tuple[str, str], ...]
    done: tuple[str, ...]


def init(context: Context, in_repo: dict[str, Place] | None) -> Ready:
    """Create what is missing; with `in_repo`, in the repository, taking along what the home folder holds."""
    root = context.roots[Scope.LOCAL]
    done: list[str] = []
    if in_repo:
        with context.files.locked(root):
            for name, target in in_repo.items():
                done += _moved(context, name, root.documents[name], target)
        for name in in_repo:
            done += _brought_together(context, root, name)
        root = replace(root, documents={**root.documents, **in_repo})
    outcome = settled(context, root)
    if outcome.created:
        done.append(f"created {root.documents[PROFILE]}")
    done += _journal(context, root)
    if outcome.recovered:
        done.append(f"recovered {root.documents[PROFILE]}; the old content is below the block")
    return Ready(
        project=context.project.name,
        documents=tuple((name, str(place)) for name, place in root.documents.items()),
        done=tuple(done),
    )


def settled(context: Context, root: Root) -> Committed:
    """The profile notebook of a root, created from the template if it is missing and recovered if it cannot be read."""
    return commit(context, root, PROFILE, _nothing, create=True)


def _journal(context: Context, root: Root) -> list[str]:
    """MEMORY.md from its template, where it is missing or empty. It stays private also where the notebooks do not."""
    own_journal = journal_files(context, root)
    with context.files.locked(root):
        return [f"created {own_journal.memory}"] if created(context, own_journal) else []


def _moved(context: Context, name: str, source: Place, target: Place) -> list[str]:
    """Put a document where the repository has it, unless it is there already. The root is locked."""
    there, here = context.files.read(target), context.files.read(source) if source != target else None
    if there.text is not None:
        if not context.trust.allows(target):
            raise Refused(f"{target} came with the repository; look at it, then run: byheart trust")
        return [f"{target} was there already"]
    if here is None or here.text is None:
        if name == RULES:
            context.files.write(target, "", "")
            return [f"created {target}"]
        return []
    context.files.write(target, here.text, "")
    context.trust.vouch(vouched(name, context.dialects[name].parse(here.text)))
    context.files.remove(source, here.digest)
    return [f"moved {source} to {target}"]


def _brought_together(context: Context, root: Root, name: str) -> list[str]:
    """Put what is kept at home, beside a notebook of the repository, into that one. The file at home goes once everything of it is
    stored; a copy stays among the backups."""
    source = root.kept.get(name)
    here = context.files.read(source) if source else None
    if source is None or here is None or here.text is None:
        return []
    count = 0
    if context.dialects[name].parse(here.text).placed:
        outcome = exchange.import_(context, source, name, to=name, scope=root.scope, dry_run=False, forgotten_too=False)
        count = len(outcome.receipts)
        if outcome.skipped or outcome.problems:
            return [
                f"{count} entries of {source} are in {root.documents[name]} now; it stays, since some could not be stored"
            ]
    with context.files.locked(root):
        ledger.back_up(context, root, source, here.text)
        context.files.remove(source, here.digest)
    return [f"brought {count} entries of {source} into {root.documents[name]}"]


def _nothing(document: Document) -> Decision:
    del document
    return Decision(changes=(), action="created", record=Record(text=""))
