"""init: the notebook for this project, at home or in the repository."""

from __future__ import annotations

from byheart.domain.documents import Document
from byheart.domain.errors import Refused
from byheart.domain.records import Record, Scope
from byheart.domain.roots import Place, Root
from byheart.domain.values import dataclass, replace
from byheart.journal.append import created
from byheart.journal.files import shelf_of
from byheart.notebooks.commit import Committed, commit
from byheart.notebooks.merge import Decision
from byheart.workspace.context import PROFILE, RULES, Desk, vouched


@dataclass(frozen=True, slots=True, kw_only=True)
class Ready:
    """Where things lie now, and what was done to get there."""

    project: str
    documents: tuple[tuple[str, str], ...]
    done: tuple[str, ...]


def init(desk: Desk, in_repo: dict[str, Place] | None) -> Ready:
    """Create what is missing; with `in_repo`, in the repository, taking along what the home folder holds."""
    root = desk.roots[Scope.LOCAL]
    done: list[str] = []
    if in_repo:
        with desk.files.locked(root):
            for name, target in in_repo.items():
                done += _moved(desk, name, root.documents[name], target)
        root = replace(root, documents={**root.documents, **in_repo})
    outcome = settled(desk, root)
    if outcome.created:
        done.append(f"created {root.documents[PROFILE]}")
    done += _journal(desk, root)
    if outcome.recovered:
        done.append(f"recovered {root.documents[PROFILE]}; the old content is below the block")
    return Ready(
        project=desk.project.name,
        documents=tuple((name, str(place)) for name, place in root.documents.items()),
        done=tuple(done),
    )


def settled(desk: Desk, root: Root) -> Committed:
    """The profile notebook of a root, created from the template if it is missing and recovered if it cannot be read."""
    return commit(desk, root, PROFILE, _nothing, create=True)


def _journal(desk: Desk, root: Root) -> list[str]:
    """MEMORY.md from its template, where it is missing or empty. It stays private also where the notebooks do not."""
    shelf = shelf_of(desk, root)
    with desk.files.locked(root):
        return [f"created {shelf.memory}"] if created(desk, shelf) else []


def _moved(desk: Desk, name: str, source: Place, target: Place) -> list[str]:
    """Put a document where the repository has it, unless it is there already. The root is locked."""
    there, here = desk.files.read(target), desk.files.read(source) if source != target else None
    if there.text is not None:
        if not desk.trust.allows(target):
            raise Refused(f"{target} came with the repository; look at it, then run: byheart trust")
        return [f"{target} was there already"]
    if here is None or here.text is None:
        if name == RULES:
            desk.files.write(target, "", "")
            return [f"created {target}"]
        return []
    desk.files.write(target, here.text, "")
    desk.trust.vouch(vouched(name, desk.dialects[name].parse(here.text)))
    desk.files.remove(source, here.digest)
    return [f"moved {source} to {target}"]


def _nothing(document: Document) -> Decision:
    del document
    return Decision(changes=(), action="created", record=Record(text=""))
