"""Which record a person means, and what must not come back once it is forgotten."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from byheart.domain.values import dataclass
from byheart.language.wording import core
from byheart.text.similarity import content_words, normalised
from byheart.workspace import ranking

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

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
    # How long the text was, so that it need not be compared with texts of another length; 0 where nobody noted it.
    length: int = 0


def stone(salt: bytes, text: str, removed: str, reason: str) -> Tombstone:
    """The tombstone of a text that has no key."""
    return Tombstone(
        key=None,
        key_digest=None,
        digest=digest(salt, text),
        removed=removed,
        reason=reason,
        length=len(normalised(text)),
    )


class Forgotten:
    """Everything that was forgotten, for looking through other texts."""

    def __init__(self, stones: Iterable[Tombstone], salt: bytes) -> None:
        self._salt = salt
        self._known: dict[int, set[str]] = {}
        for each in stones:
            # A word or two stand in many texts by chance.
            if each.length >= _TELLING:
                self._known.setdefault(each.length, set()).add(each.digest)

    def __bool__(self) -> bool:
        return bool(self._known)

    def spans(self, text: str) -> list[tuple[int, int]]:
        """Where a text says what was forgotten: as a line, a sentence, a quotation, or what follows a colon."""
        found = []
        for start, end in _pieces(text):
            plain = normalised(text[start:end])
            known = self._known.get(len(plain))
            if known and digest(self._salt, plain) in known:
                found.append((start, end))
        return found


_TELLING = 8
_SENTENCE = re.compile(r"\S.*?(?:[.!?。！？]+[\"')\]»”]*(?=\s|$)|$)", re.MULTILINE)
_LINE = re.compile(r"^[ \t>]*(?:[-*+•]|\d{1,2}[.)])?[ \t]*(\S.*)$", re.MULTILINE)
_TAIL = re.compile(r"[:：]\s+(\S.*)")
_QUOTED = re.compile(r"\"([^\"\n]{8,})\"|'([^'\n]{8,})'|`([^`\n]{8,})`|“([^”\n]{8,})”|«([^»\n]{8,})»|「([^」\n]{8,})」")
_LONGEST = 2_000


def _pieces(text: str) -> Iterator[tuple[int, int]]:
    for line in _LINE.finditer(text):
        start, end = line.span(1)
        if end - start > _LONGEST * 4:
            continue
        yield start, end
        whole = line[1]
        for found in _SENTENCE.finditer(whole):
            if found.span() != (0, len(whole)):
                yield start + found.start(), start + found.end()
            tail = _TAIL.search(found[0])
            if tail:
                yield start + found.start() + tail.start(1), start + found.end()
        for quoted in _QUOTED.finditer(whole):
            place = quoted.lastindex or 0
            yield start + quoted.start(place), start + quoted.end(place)


def pieces_with(text: str, wanted: str) -> list[str]:
    """The smallest lines, sentences and quotations of a text that say something, among whatever else they say."""
    plain = normalised(wanted)
    holding = [(start, end) for start, end in _pieces(text) if plain and plain in normalised(text[start:end])]
    smallest = [
        span
        for span in holding
        if not any(other != span and span[0] <= other[0] and other[1] <= span[1] for other in holding)
    ]
    return [text[start:end] for start, end in smallest]


def says_no_more(piece: str, text: str) -> bool:
    """Whether a piece of a text says this and nothing else, but for words that only ask to keep it, and ids."""
    known = {*content_words(text), *content_words(core(text))}
    return all(word in known or any(map(str.isdigit, word)) for word in content_words(core(piece)))


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
