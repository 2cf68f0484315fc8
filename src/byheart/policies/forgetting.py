"""Which record a person means, and what must not come back once it is forgotten."""

from __future__ import annotations

from typing import TYPE_CHECKING

from byheart.domain.values import dataclass
from byheart.policies import ranking
from byheart.text.likeness import normalised

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from byheart.domain.documents import Deletion
    from byheart.domain.results import Hit


@dataclass(frozen=True, slots=True, kw_only=True)
class Tombstone:
    """Proof that something was forgotten: keyed digests of its key and its text, never the text; the key itself only
    where a person chose it, since a key made from the text would repeat it."""

    key: str | None
    key_digest: str | None
    digest: str
    removed: str
    reason: str


def digest(salt: bytes, text: str) -> str:
    """A digest that only this installation can compare, so that short texts cannot be guessed from it."""
    import hashlib
    import hmac

    return hmac.new(salt, normalised(text).encode("utf-8", "surrogatepass"), hashlib.sha256).hexdigest()


def blocks(tombstones: Iterable[Tombstone], salt: bytes, key: str | None, texts: Sequence[str]) -> Tombstone | None:
    """The tombstone that stands against a record with this key or one of these texts, if any."""
    digests = {digest(salt, text) for text in texts if text}
    key_digest = digest(salt, key) if key else None
    for each in tombstones:
        named = key is not None and (each.key == key or each.key_digest == key_digest)
        if named or each.digest in digests:
            return each
    return None


def spelled(deletions: Iterable[Deletion], key: str | None, texts: Sequence[str]) -> Deletion | None:
    """The tombstone in the file itself that stands against a record with this key or one of these texts, if any."""
    said = {normalised(text) for text in texts if text}
    for each in deletions:
        if (key is not None and each.key == key) or (each.value and normalised(each.value) in said):
            return each
    return None


def meant(selector: str, hits: Sequence[Hit]) -> list[Hit]:
    """The records a selector names: by handle, else by id or key, else by their whole text. Never by a part of it."""
    folded = normalised(selector)
    for matches in (
        [hit for hit in hits if hit.id == selector],
        [hit for hit in hits if hit.record.origin is not None and hit.record.origin.id == selector],
        [hit for hit in hits if hit.record.key is not None and hit.record.key == selector],
        [hit for hit in hits if hit.record.key is not None and hit.record.key.casefold() == selector.casefold()],
        [hit for hit in hits if folded and normalised(hit.record.text) == folded],
    ):
        if matches:
            return matches
    return []


def near(selector: str, hits: Sequence[Hit]) -> list[Hit]:
    """What the person may have meant instead; suggestions only."""
    return ranking.found(selector, hits, 3)
