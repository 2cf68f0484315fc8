"""Texts as the word index keeps them, and questions as it is asked them."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator

from byheart.domain.recall import Question
from byheart.text.deferred import deferred

# Scripts that are written without spaces, or with endings glued on: each character is a word of its own.
_GLUED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
    "\U00020000-\U0002fa1f"
)
_APART = deferred(f"[{_GLUED}]")
_RUN = deferred(f"[{_GLUED}]+")
# Pictures are no words to the index, so they get a name there.
_PICTURE = deferred("[\u2600-\u27bf\U0001f300-\U0001faff]")
# Vowel signs that readers of Arabic and Hebrew leave out at will.
_SIGNS = deferred("[\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06ed\u0640]")
_POINTED = deferred("[\u0591-\u06ed]")
_SAME = str.maketrans({"ي": "ی", "ك": "ک", "ى": "ی", "أ": "ا", "إ": "ا", "آ": "ا", "ة": "ه"})
# Bytes of UTF-8 that only letters of Latin scripts, dashes, quotes and frames have in them, and how pictures among them begin:
# looking for others is many times as fast as going through characters.
_HARMLESS = bytes(range(0xC0)) + bytes(range(0xC2, 0xCA)) + b"\xe2"
_PICTURES = re.compile(b"\xe2[\x98-\x9f]")
# Vowel signs of Indian scripts are no word characters to Python, and are to the index.
_WORD = deferred("(?:\\w|[\u0300-\u036f\u0900-\u0dff])+")
_LATIN = deferred(r"[\x00-\u024f]+")
_QUOTED = deferred(r"[\"“”«»`]([^\"“”«»`\n]{2,200})[\"“”«»`]")
# Words with joints in them, such as paths, versions and names in code.
_JOINED = deferred(r"[\w./:@#\\-]+")
# Behind a path: where in the file.
_LINE = deferred(r":\d{1,7}(?::\d{1,5})?$")
_JOINT = deferred(r"\w[./:@#\\_-]+\w")
_FILE = deferred(r"[\w.@+-]*[\w-]\.[A-Za-z]\w{0,7}")
_HUMP_BEGINS = deferred(r"[a-z0-9][A-Z]")
_HUMP = deferred(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_ME = frozenset("i my me mine i'm i've i'd myself".split())
_YOU = frozenset("you your yours assistant agent".split())
# Patterns take longer to make than most questions to read, so each is made only for what it could be in.
_QUOTES, _JOINTS, _AROUND = '"“”«»`', "./:@#\\_-", '.,;:!?()[]{}"“”«»`'
STOP_WORDS = frozenset(
    "a an and are as at be been but by can could did do does for from had has have he her him his how i if in into is it "
    "its me my of on or our she should so than that the their them then there these they this to was we were what when "
    "where which who whom whose why will with would you your about after all also am any because before being both down "
    "during each few further here just more most no nor not off once only other out over own same some such too under "
    "until up very s t don now d ll m re ve y".split()
)
_MOST_WORDS, _MOST_EXACT = 40, 8
# Nobody asks with longer words, or at greater length.
_LONGEST_WORD, _LONGEST = 200, 4_000
# Words that name a sort of record without being its name.
_SORTS = {"decide": "decision", "decided": "decision", "decisions": "decision", "learn": "learned", "learnt": "learned"}


def spelled(text: str) -> str:
    """A text as the word index takes it in."""
    if text.isascii() or not _is_special(text):
        return text
    return _APART.sub(r" \g<0> ", _lettered(text))


def _is_special(text: str) -> bool:
    """Whether a text has characters in it that are spelled otherwise in the index."""
    raw = text.encode("utf-8", "surrogatepass")
    return bool(raw.translate(None, _HARMLESS)) or _PICTURES.search(raw) is not None


def _lettered(text: str) -> str:
    """The same letters for the same sounds, and a name for each picture."""
    plain = unicodedata.normalize("NFKC", text)
    if _POINTED.search(plain):
        plain = _SIGNS.sub("", plain).translate(_SAME)
    return _PICTURE.sub(lambda match: f" picture{ord(match[0]):x} ", plain)


def humps(text: str, most: int = 60) -> str:
    """The words that camelCase names are made of; other names come apart by themselves."""
    found: dict[str, None] = {}
    after = 0
    if text.islower():
        return ""
    for match in _HUMP_BEGINS.finditer(text):
        start, end = match.span()
        if start < after:
            continue
        while start > after and text[start - 1].isalnum():
            start -= 1
        while end < len(text) and text[end].isalnum():
            end += 1
        after = end
        found.update(dict.fromkeys(piece for piece in _HUMP.findall(text[start:end]) if len(piece) > 1))
        if len(found) >= most:
            break
    return " ".join(list(found)[:most])


def question(text: str) -> Question:
    """Take a question apart. Whatever it holds, none of it is taken for an operator."""
    short = text[:_LONGEST]
    plain = short if short.isascii() else _lettered(short)
    words: dict[str, None] = {}
    for match in _WORD.finditer(plain):
        if len(match[0]) <= _LONGEST_WORD:
            words.update(dict.fromkeys(_terms(match[0])))
    words.update(dict.fromkeys(f'"{piece}"' for piece in humps(plain).casefold().split()))
    telling = [word for word in words if word.strip('"') not in STOP_WORDS]
    kept = telling or list(words)
    kept += [f'"{_SORTS[word]}"' for each in telling if (word := each.strip('"')) in _SORTS]
    cited = [match[1] for match in _QUOTED.finditer(plain)] if any(each in plain for each in _QUOTES) else []
    quoted = [phrase for each in cited if (phrase := _phrase(each, least=1))]
    joined = []
    if any(each in plain for each in _JOINTS):
        joined = [found for match in _JOINED.finditer(plain) if (found := _joined(match[0]))]
    phrases = cited + joined
    exact = dict.fromkeys(phrase for each in phrases if (phrase := _phrase(each)))
    said = {word.strip(_AROUND) for word in plain.casefold().split()}
    return Question(
        text=text,
        terms=tuple(dict.fromkeys(kept))[:_MOST_WORDS],
        exact=tuple(exact)[:_MOST_EXACT],
        quoted=tuple(dict.fromkeys(quoted))[:_MOST_EXACT],
        files=tuple(dict.fromkeys(_files(joined)))[:_MOST_EXACT],
        is_vague=not telling,
        of_me=not _ME.isdisjoint(said),
        of_you=not _YOU.isdisjoint(said),
    )


def _joined(word: str) -> str:
    """A word with joints within it, without those around it; empty where it has none, or is longer than any."""
    bare = _LINE.sub("", word.strip("./:@#\\-"))
    return bare if len(bare) <= _LONGEST_WORD and _JOINT.search(bare) else ""


def _files(words: Iterable[str]) -> Iterator[str]:
    """Names of files among these words, without the folders before them."""
    for word in words:
        name = word.replace("\\", "/").rstrip("/.:").rsplit("/", 1)[-1].split(":", 1)[0]
        if _FILE.fullmatch(name):
            yield name


def _terms(word: str) -> list[str]:
    runs = _RUN.findall(word) if not word.isascii() else []
    if runs:
        # Two neighbours at a time find a word whatever stands before or behind it.
        pairs = [
            f'"{run[at]} {run[at + 1]}"' if len(run) > 1 else f'"{run}"'
            for run in runs
            for at in range(max(1, len(run) - 1))
        ]
        rest = _RUN.sub(" ", word).split()
        return [*pairs, *(term for each in rest for term in _terms(each))]
    folded = word.casefold().strip("_")
    if not folded:
        return []
    if not _LATIN.fullmatch(folded) and len(folded) >= 5:
        # Other alphabets have endings that no stemmer here knows.
        return [f'"{folded[: max(4, len(folded) - 2)]}" *']
    return [f'"{piece}"' for piece in folded.split("_") if piece]


def _phrase(text: str, least: int = 2) -> str:
    """Several words as they stand, one behind the other; empty where there are fewer than the least."""
    words = [word for piece in _WORD.findall(spelled(text)) for word in piece.casefold().split("_") if word]
    return f'"{" ".join(words)}"' if len(words) >= least else ""
