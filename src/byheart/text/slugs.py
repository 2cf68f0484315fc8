"""Short stable names: slugs for keys, handles for records."""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from typing import Any

from byheart.text.deferred import deferred

_PIECE = deferred(r"[^\W_]+", re.UNICODE)


def slug(text: str, *, most: int = 40, joint: str = "-") -> str:
    """The text's words in lower case, joined and cut at a word's end; never empty."""
    text = text.replace("+", " plus ").replace("#", " sharp ") if len(text) < 40 else text
    decomposed = unicodedata.normalize("NFKD", text)
    # Accents of Latin letters go; marks of other scripts are part of the letter.
    plain = unicodedata.normalize("NFC", "".join(each for each in decomposed if not "\u0300" <= each <= "\u036f"))
    out = ""
    for piece in _PIECE.findall(plain.casefold()):
        longer = f"{out}{joint}{piece}" if out else piece[:most]
        if len(longer) > most:
            break
        out = longer
    return out or short_digest(text)


def content_digest(text: str) -> str:
    """SHA-256 of the text as UTF-8: what a file that holds exactly this text is compared by."""
    return str(sha256()(text.encode("utf-8", "surrogatepass")).hexdigest())


def short_digest(*parts: str) -> str:
    """Eight hexadecimal digits that stand for these texts."""
    return str(sha256()("\x1f".join(parts).encode("utf-8", "surrogatepass")).hexdigest())[:8]


def uuid_of(digits: str) -> str:
    """A random UUID made from 32 random hexadecimal digits."""
    marked = f"{digits[:12]}4{digits[13:16]}{'89ab'[int(digits[16], 16) % 4]}{digits[17:32]}"
    return f"{marked[:8]}-{marked[8:12]}-{marked[12:16]}-{marked[16:20]}-{marked[20:]}"


@cache
def sha256() -> Any:
    """The interpreter's own: the library that brings a faster one takes three milliseconds to load."""
    try:
        from _sha2 import sha256  # type: ignore[import-not-found]
    except ImportError:
        try:
            from _sha256 import sha256  # type: ignore[import-not-found]
        except ImportError:
            from hashlib import sha256
    return sha256
