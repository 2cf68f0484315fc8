"""How often records were asked for: a line for each time, by handle and day, so that what is used ranks a little higher."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from byheart.domain.errors import ByheartError
from byheart.domain.records import Scope

if TYPE_CHECKING:
    from collections.abc import Sequence

    from byheart.domain.roots import Place
    from byheart.workspace.context import Context

# Of an answer the first; what stands further down may be there by chance, and must not climb by that.
_COUNTED = 1
_LARGEST = 60_000


def _place(context: Context) -> Place:
    return context.roots[Scope.GLOBAL].own("uses.txt")


def counts(context: Context) -> Counter[str]:
    """How often each record was the first of an answer, by its handle; nothing where that cannot be told."""
    try:
        text = context.files.read(_place(context)).text or ""
    except ByheartError:
        return Counter()
    return Counter(line[11:] for line in text.splitlines() if len(line) > 11)


def note(context: Context, handles: Sequence[str]) -> None:
    """Somebody got this answer. While memory is switched off nothing is noted, and what cannot be written is left."""
    if not context.limits.enabled or not handles:
        return
    day = context.clock().date().isoformat()
    place = _place(context)
    try:
        context.files.append(place, "".join(f"{day} {each}\n" for each in handles[:_COUNTED]), None)
        if (context.files.size(place) or 0) > _LARGEST:
            with context.files.locked(context.roots[Scope.GLOBAL]):
                old = context.files.read(place)
                lines = (old.text or "").splitlines(keepends=True)
                context.files.write(place, "".join(lines[len(lines) // 2 :]), old.digest)
    except ByheartError:
        # An answer that was given must not fail for its note.
        return
