"""When two things that somebody wants oppose each other, and which of them stands: by their words, and for rules by their triples."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from byheart.domain.records import Kind, Placed, Record, Triple
from byheart.domain.values import dataclass
from byheart.language.claims import Claim, claims, differ
from byheart.text.similarity import content_words

if TYPE_CHECKING:
    from collections.abc import Sequence

_NEGATIVE = (
    "avoid",
    "never",
    "no",
    "not",
    "dont",
    "don't",
    "do_not",
    "must_not",
    "forbid",
    "disallow",
    "disable",
    "without",
    "stop",
    "skip",
)
_POSITIVE = ("always", "use", "prefer", "must", "require", "allow", "enable", "do", "should")
# Predicates that hold for several objects at once, so that another object is no contradiction.
_PLURAL = frozenset(
    "applies_to noted fixed_by include includes require requires contain contains has have support supports depends_on "
    "related_to works_with prefer_over see run noted_as must should".split()
)
_SEPARATORS = str.maketrans("-_", "  ")
# Pairs that nobody can decide are for people to look at; nobody looks at more.
_MOST_UNDECIDED = 10_000
_ANY = frozenset({"general", "", "*", "any", "all", "true", "yes"})


@dataclass(frozen=True, slots=True)
class Overruled:
    """Positions of records that are overruled, with the one that overrules them, and pairs nobody can decide."""

    overruled: dict[int, int]
    undecided: tuple[tuple[int, int], ...]


def rivals(placed: Sequence[Placed], incoming: Record) -> list[tuple[Placed, str]]:
    """The entries that a new one opposes, each with how: 'clear' or 'unclear'."""
    assert incoming.triple is not None
    # Triples that do not share a subject cannot oppose each other, and nearly none does.
    names = about(incoming)
    found = []
    for each in placed:
        if each.record.triple is None:
            continue
        how = opposes(each.record.triple, incoming.triple) if names & about(each.record) else None
        how = how or ("clear" if exclude(each.record.text, incoming.text) else None)
        if how is not None:
            found.append((each, how))
    return found


def opposes(first: Triple, second: Triple) -> str | None:
    """'clear' or 'unclear' when the triples oppose each other, else None."""
    subject, predicate, thing = (_folded(part) for part in first)
    other_subject, other_predicate, other_thing = (_folded(part) for part in second)
    if predicate == other_predicate == "prefer_over":
        return "clear" if subject == other_thing and thing == other_subject else None
    if subject != other_subject:
        return None
    sign, base = _polarity(predicate)
    other_sign, other_base = _polarity(other_predicate)
    if sign != other_sign and base == other_base:
        # What is said of everything and of one thing may be a rule and its exception.
        return "clear" if thing == other_thing or (thing in _ANY and other_thing in _ANY) else "unclear"
    if predicate != other_predicate or thing == other_thing:
        return None
    if sign < 0 or predicate in _PLURAL or predicate.startswith("always_") or thing in _ANY or other_thing in _ANY:
        return None
    return "clear"


def winner(older: Record, newer: Record, how: str) -> int | None:
    """0 when the older stands, 1 when the newer does, None when nobody can say."""
    if how != "clear":
        return None
    strict, strict_too = older.kind is Kind.CONSTRAINT, newer.kind is Kind.CONSTRAINT
    if strict and strict_too:
        return None
    return 0 if strict else 1


def standing(placed: Sequence[Placed]) -> Overruled:
    """Who overrules whom among entries in file order. Nearly linear in their number: ten thousand rules about one thing are
    no reason to compare each with each."""
    book = _Book()
    for index, each in enumerate(placed):
        if each.record.triple is not None:
            book.add(index, each.record.triple, strict=each.record.kind is Kind.CONSTRAINT)
    # Nobody who keeps more rules than that reads them.
    known = [index for index, each in enumerate(placed) if each.record.triple is not None][-_MOST_COMPARED:]
    for older, newer in opposing([placed[index].record.text for index in known]):
        first, second = placed[known[older]].record, placed[known[newer]].record
        if not (about(first) & about(second) and opposes(first.triple, second.triple)):  # type: ignore[arg-type]
            book.meet(known[older], known[newer], "clear")
    return book.closed()


class _Book:
    """Entries by what they could oppose. Of all that overrule one, the last counts; of those before it, only a constraint can."""

    def __init__(self) -> None:
        self._by_later: dict[int, int] = {}
        self._by_earlier: dict[int, int] = {}
        self._undecided: list[tuple[int, int]] = []
        self._strict: set[int] = set()
        # (subject, what is wanted or not, sign) → thing → entries; the same predicate → entries with their things.
        self._signed: dict[tuple[str, str, int], dict[str, list[int]]] = {}
        self._same: dict[tuple[str, str], list[tuple[int, str]]] = {}
        self._over: dict[tuple[str, str], list[int]] = {}

    def add(self, index: int, triple: Triple, *, strict: bool) -> None:
        """Take in the next entry."""
        subject, predicate, thing = (_folded(part) for part in triple)
        if strict:
            self._strict.add(index)
        if predicate == "prefer_over":
            for rival in self._over.get((thing, subject), ()):
                self.meet(rival, index, "clear")
            self._over.setdefault((subject, thing), []).append(index)
        sign, base = _polarity(predicate)
        for other, rivals in self._signed.get((subject, base, -sign), {}).items():
            is_clear = other == thing or (thing in _ANY and other in _ANY)
            if is_clear or len(self._undecided) < _MOST_UNDECIDED:
                for rival in rivals:
                    self.meet(rival, index, "clear" if is_clear else "unclear")
        self._signed.setdefault((subject, base, sign), {}).setdefault(thing, []).append(index)
        plural = predicate in _PLURAL or predicate.startswith("always_") or predicate == "prefer_over"
        if sign > 0 and not plural and thing not in _ANY:
            self._same.setdefault((subject, predicate), []).append((index, thing))

    def meet(self, older: int, newer: int, how: str) -> None:
        """Take in that the newer of two entries opposes the older one."""
        strict, strict_too = older in self._strict, newer in self._strict
        if how != "clear" or (strict and strict_too):
            if len(self._undecided) < _MOST_UNDECIDED:
                self._undecided.append((older, newer))
        elif strict:
            self._by_earlier[newer] = max(older, self._by_earlier.get(newer, older))
        else:
            self._by_later[older] = max(newer, self._by_later.get(older, newer))

    def closed(self) -> Overruled:
        """What all of it comes to."""
        for entries in self._same.values():
            self._settle(entries)
        overruled = {**self._by_earlier, **self._by_later}
        return Overruled(overruled, tuple(sorted(self._undecided, key=lambda pair: (pair[1], pair[0]))))

    def _settle(self, entries: list[tuple[int, str]]) -> None:
        """Entries that say different things of one subject with one predicate: the last other thing overrules, unless a
        constraint stood before it."""
        # The last two that say different things: one of them is the last that says something else than any other.
        last: dict[str, int] = {}
        for index, thing in reversed(entries):
            rival = next((each for other, each in last.items() if other != thing), None)
            if rival is not None and index not in self._strict:
                self._by_later[index] = max(rival, self._by_later.get(index, rival))
            if len(last) == 0 or (len(last) == 1 and thing not in last):
                last[thing] = index
        strict = [(index, thing) for index, thing in entries if index in self._strict]
        before = _LastOther()
        for index, thing in entries:
            if index in self._strict:
                for older, other in strict:
                    if older >= index or len(self._undecided) >= _MOST_UNDECIDED:
                        break
                    if other != thing:
                        self._undecided.append((older, index))
                before.see(index, thing)
            elif (rival := before.but(thing)) is not None:
                self._by_earlier[index] = max(rival, self._by_earlier.get(index, rival))


class _LastOther:
    """The entry that was seen last among those that say another thing: two are all that can ever be asked for."""

    def __init__(self) -> None:
        self._seen: list[tuple[str, int]] = []

    def see(self, index: int, thing: str) -> None:
        """An entry was seen."""
        self._seen = [(thing, index), *(each for each in self._seen if each[0] != thing)][:2]

    def but(self, thing: str) -> int | None:
        """The entry that was seen last and says something else."""
        return next((index for other, index in self._seen if other != thing), None)


def about(record: Record) -> set[str]:
    """What a record's entry is about, folded: only entries with something in common can oppose each other."""
    if record.triple is None:
        return set()
    names = {_folded(record.triple[0])}
    if _folded(record.triple[1]) == "prefer_over":
        names.add(_folded(record.triple[2]))
    return names


def _folded(part: str) -> str:
    return "_".join(part.casefold().translate(_SEPARATORS).split())


def _polarity(predicate: str) -> tuple[int, str]:
    for sign, words in ((-1, _NEGATIVE), (1, _POSITIVE)):
        for word in words:
            if predicate == word:
                return sign, ""
            if predicate.startswith(word + "_"):
                rest = predicate[len(word) + 1 :]
                return sign, "" if rest == "use" else rest
    return 1, predicate


# Choices that people make once: each line is one, and its parts exclude each other; what stands behind a bar is the same in other words.
_CHOICES = [
    [
        [
            (
                frozenset(word for piece in each.split("+") for word in content_words(piece)[:1]),
                frozenset(content_words(each.replace("+", " "))),
            )
            for each in part.split("|")
        ]
        for part in row.split()
    ]
    for row in """
    tabs|tabulatoren|tabulaciones|tabulations spaces|leerzeichen|espacios|espaces|пробелы
    npm pnpm yarn bun
    pip uv poetry pipenv conda
    single+quotes double+quotes
    camelcase snake_case kebab-case pascalcase
    light dark
    vim emacs nano helix
    bash zsh fish
    jest vitest mocha
    pytest unittest
    rebase merge squash
    postgres|postgresql mysql sqlite mariadb
    black ruff yapf
    eslint biome
    webpack vite rollup esbuild
    rest graphql grpc
    celsius fahrenheit
    metric imperial
    docker podman
    make just
    github gitlab bitbucket
    british american
    concise|short|brief|terse verbose|long|detailed
    small large big
    german english french spanish portuguese russian chinese japanese italian
    oop|object-oriented functional
    typescript javascript
    """.strip().splitlines()
]
_CHOSEN = frozenset(word for row in _CHOICES for part in row for key, _ in part for word in key)
_OVER = re.compile(
    r"\b(?:over|instead of|rather than|not|never|and not|, not)\s+(?P<other>[\w.+#-]+(?:\s[\w.+#-]+)?)", re.IGNORECASE
)
_NEGATED = re.compile(r"\b(?:not|never|no|don'?t|avoid|without|stop|hate|dislike)\b", re.IGNORECASE)
_DENIED = frozenset(content_words("not never no don't avoid without stop hate dislike like"))
# Words that only say how it is meant.
_PLAIN = frozenset(
    content_words(
        "prefer prefers preferred like likes love want wants rather favour favor strongly really generally usually always now going forward future please "
        "instead switched moved i we user code style mode theme this project repo repository codebase here everything anything things all everywhere ich bevorzuge "
        "prefiero préfère prefiro предпочитаю told said"
    )
)


_THING = r"(?:the |only |just )?([A-Za-z@][\w@.+#/-]*)"
_FOR = re.compile(
    rf"\b(?:us(?:e|es|ing)|prefer|switch(?:ed)? to|mov(?:e|ed) to|go with|stick (?:to|with)|rely on)\s+{_THING}",
    re.IGNORECASE,
)
_AGAINST = re.compile(
    rf"\b(?:not|never|no longer|don'?t|do not|stop|avoid|instead of|rather than|over)\s+(?:us(?:e|ing)\s+|with\s+)?{_THING}",
    re.IGNORECASE,
)
_NOTHING = frozenset(
    "a an the it this that them to be do use using ever any all have in on for with and or more".split()
)
# Texts that share a word are compared with so many before them.
_NEAR = 16
_MOST_COMPARED = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Position:
    """What a text says that another can oppose: claims, a choice of one out of many, and things by name that it is for and against,
    with the words around them."""

    claims: tuple[Claim, ...]
    choice: tuple[tuple[int, frozenset[str]], str] | None
    wanted: frozenset[str]
    unwanted: frozenset[str]
    around: frozenset[str]


@lru_cache(maxsize=8192)
def position(text: str) -> Position:
    """What a text says that another can oppose."""
    wanted = {each.casefold().rstrip(".") for each in _FOR.findall(text)} - _NOTHING
    unwanted = {each.casefold().rstrip(".") for each in _AGAINST.findall(text)} - _NOTHING
    words = frozenset(content_words(text))
    named = frozenset(content_words(" ".join(wanted | unwanted))) if wanted or unwanted else frozenset()
    return Position(
        claims=tuple(dict.fromkeys(claims(text, lasting=True))),
        choice=_choice(text, words),
        wanted=frozenset(wanted - unwanted),
        unwanted=frozenset(unwanted),
        around=words - named - _PLAIN - _DENIED,
    )


def exclude(first: str, second: str) -> bool:
    """Whether two things that somebody wants cannot both hold."""
    return _opposed(position(first), position(second))


def opposing(texts: Sequence[str]) -> list[tuple[int, int]]:
    """Which of these texts, in the order they were said, oppose each other: the earlier one's place and the later one's."""
    near: dict[object, list[int]] = {}
    found: dict[tuple[int, int], None] = {}
    positions = [position(text) for text in texts]
    for at, mine in enumerate(positions):
        keys = _keys(mine)
        for other in sorted({other for key in keys for other in near.get(key, ())}):
            if _opposed(positions[other], mine):
                found[other, at] = None
        for key in keys:
            near.setdefault(key, []).append(at)
            del near[key][:-_NEAR]
    return list(found)


def _keys(mine: Position) -> set[object]:
    """What two texts have in common where they oppose each other."""
    found: set[object] = {(each.respect, each.subject) for each in mine.claims}
    found |= mine.wanted | mine.unwanted
    return found | ({mine.choice[0]} if mine.choice else set())


def _opposed(mine: Position, yours: Position) -> bool:
    if any(differ(one, other) for one in mine.claims for other in yours.claims):
        return True
    if mine.choice and yours.choice and mine.choice[0] == yours.choice[0] and mine.choice[1] != yours.choice[1]:
        return True
    # Wanted in one place and unwanted in another go together, and so do a rule and its exception.
    if _replaces(mine, yours) or _replaces(yours, mine):
        return True
    return mine.around == yours.around and bool(mine.wanted & yours.unwanted or mine.unwanted & yours.wanted)


def _replaces(mine: Position, yours: Position) -> bool:
    """Whether one thing is named in the place of another ("vitest, not jest"), wherever the other is wanted."""
    return bool(mine.wanted and mine.unwanted & yours.wanted) and mine.around <= yours.around


def _choice(text: str, words: frozenset[str]) -> tuple[tuple[int, frozenset[str]], str] | None:
    """The question that a text answers and its answer, where it makes one of the choices; None where it makes none, or says no."""
    if words.isdisjoint(_CHOSEN):
        return None
    bare = _OVER.sub("", text)
    if _NEGATED.search(bare):
        return None
    # A name with capitals inside is one word here.
    chosen = frozenset(content_words(bare.casefold()))
    for number, every in enumerate(_CHOICES):
        mine = [(at, [own for key, own in part if key <= chosen]) for at, part in enumerate(every)]
        mine = [(at, found) for at, found in mine if found]
        if len(mine) == 1:
            at, found = mine[0]
            rest = chosen - frozenset().union(*found) - _PLAIN
            return (number, frozenset(word for word in rest if not word.isdigit())), str(at)
    return None
