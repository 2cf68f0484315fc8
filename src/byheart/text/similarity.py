"""Words of a text and how alike two texts are; the lexical floor of recall, and vectors of hashed words that need no model."""

from __future__ import annotations

import math
import re
import unicodedata

from byheart.text.deferred import deferred

_WORD = deferred(r"[^\W_]+(?:[.+#-][^\W_]+)*[+#]*", re.UNICODE)
_CAMEL = deferred(r"(?<=[a-z0-9])(?=[A-Z])")
_CJK = deferred(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff]")
STOP_WORDS = frozenset(
    "a an and are as at be by do does did for from has have how i if in is it its me my of on or our so that the "
    "their them then there these this to was we what when where which who why will with you your should must can "
    "could would use used using please want wants about into".split()
)


def normalised(text: str) -> str:
    """The text as it is compared: case, width, spacing and final punctuation do not count."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    return " ".join(folded.split()).strip(" .!?;:,\"'`")


def words(text: str) -> list[str]:
    """The text's words, stemmed a little; identifiers are also split, and CJK goes by character."""
    found: list[str] = []
    for match in _WORD.finditer(unicodedata.normalize("NFKC", text)):
        word = match.group()
        if _CJK.search(word):
            found += [each for each in word.casefold() if not each.isspace()]
            continue
        found.append(stem(word.casefold()))
        pieces = [piece for part in re.split(r"[.+#_-]", word) for piece in _CAMEL.split(part) if piece]
        if len(pieces) > 1:
            found += [stem(piece.casefold()) for piece in pieces]
    return found


def content_words(text: str) -> list[str]:
    """Words without the ones that every text has; all of them where nothing else is left."""
    every = words(text)
    return [word for word in every if word not in STOP_WORDS] or every


def stem(word: str) -> str:
    """A word without its commonest English endings; short words stay."""
    for ending, least in (("ies", 5), ("ing", 6), ("edly", 7), ("ed", 5), ("ly", 6), ("es", 6), ("s", 4)):
        if word.endswith(ending) and len(word) >= least and not word.endswith("ss"):
            stemmed = word[: -len(ending)]
            if ending == "ies":
                return stemmed + "y"
            if ending in ("ing", "ed") and len(stemmed) > 2 and stemmed[-1] == stemmed[-2] and stemmed[-1] not in "ls":
                stemmed = stemmed[:-1]
            return stemmed.removesuffix("e")
    return word.removesuffix("e") if len(word) > 4 else word


WIDTH = 128
_BETWEEN = deferred(r"[^a-z0-9_]+")
_MOST = 2_000


def hashed(text: str) -> list[float]:
    """A vector of length one; all zeros where a text has no word in it."""
    # A tenth of what a short command takes, and only one embedder needs it.
    import hashlib

    counts = [0.0] * WIDTH
    words = [word for word in _BETWEEN.split(text.lower()) if len(word) >= 2]
    for word in words[:_MOST]:
        digest = hashlib.sha1(word.encode(), usedforsecurity=False).digest()
        counts[int.from_bytes(digest[:4], "big") % WIDTH] += 1
    length = math.sqrt(sum(each * each for each in counts))
    return [each / length for each in counts] if length else counts
