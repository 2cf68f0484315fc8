"""Runs the rules on RE2, whose time is linear in the text whatever the text is."""

from __future__ import annotations

import re
from bisect import bisect_right
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from byheart.text.slugs import short_digest

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from byheart.storage.scanners.rules import ScanRule

# Another one whenever the judgements behind the patterns become others.
_EDITION = "4"
# Looking for each hint in turn is faster than building the automaton that looks for all of them at once, until a
# process has done it this often or the text is this long.
_FEW = 40
_SMALL = 20_000
_PIECE = 65_536
_OVERLAP = 1_024
_WORDLY = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=_.-%~")
_JUDGED, _MOST_JUDGED = 512, 2_000
# Hints that stand in nearly every text.
_EVERYDAY = frozenset(". s. b. r. | : * - :// 0 0. 0/ sk".split())
_TOGETHER, _FEW_WORDY = 24, 2
# How much of a text around a word that announces a secret is looked at, and how far on the next such word is looked for, at least
# and at most; and where a value ends.
_BEFORE, _BEHIND, _STRIDE, _WIDEST = 100, 200, 60, 4_000
_LONG = 600
# So many hints in a piece that all of it is looked at.
_CROWD = 60
# How many signs behind a token's beginning are asked for together with it.
_STEM = 8
_CLASS = re.compile(r"(\[[^\]]+\])\{(\d+)")
_NESTED = re.compile(r"\((?:[^()]|\([^()]*\))*\)|\[[^\]]*\]")
_RUN = re.compile(rb"[A-Za-z0-9+/=_.\-]*")
_SPACE = re.compile(rb"\s")
_WORD = re.compile(rb"\W?[\w-]+")
# Where a value is over although no blank follows: another parameter, another command, an escaped line's end, the marks of other scripts.
_VALUE_END = re.compile(
    rb"&(?=[A-Za-z_.\[\]-]{1,40}=)|&&|\|\||\|(?=[a-z])|&amp;|\\[nrt](?![a-z]{0,2}[0-9])|#(?=[a-z]+$)"
    rb"|\xe2\x80[\x94\x9c\x9d\xa6]|\xef\xbc[\x8c\x9b\x9a\x89\x81\x9f]|\xe3\x80[\x81\x82\x8d\x8f\x91]"
)
# Ends every pattern, and every line.
BETWEEN = b"\n\x00\n"
_SPACES = (b"", b" ", b"\n", b"\r", b"\t", b'"', b"'", b")", b"\\", b"<")
# What we put in a secret's place; found again, it is not one.
_REDACTED = re.compile(rb"\W{0,3}\[REDACTED:[a-z0-9-]{1,40}\]?\W{0,3}")


class Pattern:
    """An RE2 pattern that tells where it matches, and nothing of its groups: those would cost it most of its speed."""

    __slots__ = ("_anywhere", "_match")

    def __init__(self, pattern: str) -> None:
        """Compile it."""
        import re2

        options = re2.Options()
        options.encoding = re2.Options.Encoding.LATIN1
        options.log_errors = False
        options.max_mem = 64 << 20
        # The package's own objects around a match take longer than the search of a short text.
        regexp = re2._re2.RE2(_without_groups(pattern).encode(), options)
        if not regexp.ok():
            raise ValueError(f"{pattern!r}: {regexp.error()}")
        self._match, self._anywhere = regexp.Match, re2._re2.RE2.Anchor.UNANCHORED

    def search(self, content: bytes, at: int = 0) -> tuple[int, int] | None:
        """The span of the first match from a place on."""
        start, end = self._match(self._anywhere, content, at, len(content))[0]
        return (start, end) if start >= 0 else None

    def spans(self, content: bytes) -> Iterator[tuple[int, int]]:
        """The span of every match, one behind the other."""
        found = self.search(content)
        while found is not None:
            yield found
            # A match of nothing would be found again for ever.
            found = self.search(content, max(found[1], found[0] + 1)) if found[1] < len(content) else None


@lru_cache(maxsize=1024)
def compiled(pattern: str) -> Pattern:
    """That pattern, compiled once."""
    return Pattern(pattern)


@lru_cache(maxsize=1024)
def _grouped(pattern: str) -> re.Pattern[bytes]:
    """The same pattern for a text that is known to match, to tell its groups."""
    return re.compile(pattern.encode())


def _without_groups(pattern: str) -> str:
    found, is_class, skip = [], False, False
    for at, each in enumerate(pattern):
        found.append(each)
        if skip:
            skip = False
        elif each == "\\":
            skip = True
        elif is_class:
            is_class = each != "]" or pattern[at - 1] == "["
        elif each == "[":
            is_class = True
        elif each == "(" and pattern[at + 1 : at + 2] != "?":
            found.append("?:")
    return "".join(found)


class Engine:
    """A set of rules over texts. Patterns are compiled when a hint for them is first seen."""

    def __init__(self, rules: list[ScanRule], words: str = "") -> None:
        """`words` is a pattern for the words that announce a secret; wordy rules are tried around them alone."""
        self._words = words
        self._all = rules
        wordy = [rule for rule in rules if rule.is_wordy and words]
        common = [rule for rule in rules if rule not in wordy and _is_everyday(rule)]
        # An automaton for all of them would have too many states; one for a few is as fast as one for one.
        self._wordy = _in_groups(wordy, _FEW_WORDY)
        self._common = _in_groups(common, _TOGETHER)
        self._hinted_rules = [rule for rule in rules if rule not in wordy and rule not in common]
        self._hints: Any = None
        self._by_hint: list[tuple[int, bytes]] = []
        self._judged: dict[str, dict[tuple[bytes, bytes], tuple[int, int] | None]] = {}
        self._scans = 0

    @property
    def fingerprint(self) -> str:
        """A digest of all rules, as far as they are written down."""
        return short_digest(_EDITION, *(f"{rule.name} {rule.pattern}" for rule in self._all))

    def matches(self, content: bytes) -> Iterator[tuple[ScanRule, int, int]]:
        """Each match in a UTF-8 text as rule and the span of its secret."""
        self._scans += 1
        if len(content) <= _SMALL and self._scans <= _FEW:
            lowered = content.lower()
            wanted = [rule for rule in self._all if any(hint.encode() in lowered for hint in rule.hints)]
            wordy = [rule for rule in wanted if rule.is_wordy and self._words]
            yield from self._run([rule for rule in wanted if rule not in wordy], content, 0)
            # The same stretches as in a process that has read much: the answer is the same however many texts came before.
            if wordy and (stretches := _around_words(content, compiled(self._words))):
                text = _Stretches(content, stretches)
                yield from text.placed(self._run(wordy, text.content, 0), 0)
            return
        start, seen = 0, set[tuple[str, int, int]]()
        while start < len(content):
            end, clean = _cut(content, start)
            piece = content[start:end]
            for rule, begin, stop in self._found(piece, start):
                if (rule.name, begin, stop) not in seen:
                    seen.add((rule.name, begin, stop))
                    yield rule, begin, stop
            # A stretch is read twice, so that no cut parts a secret; but for a cut in front of a key block.
            start = end if clean or end >= len(content) else max(start + 1, end - _OVERLAP)

    def _found(self, piece: bytes, offset: int) -> Iterator[tuple[ScanRule, int, int]]:
        hinted = self._hinted(piece)
        wide = [rule for rule, _ in hinted if rule.before is None and not rule.is_led]
        yield from self._run(_present(self._common, piece) + wide, piece, offset)
        lowered = piece.lower()
        for rule, hints in hinted:
            if rule.is_led:
                yield from _at_hints(rule, piece, lowered, hints, offset)
            elif rule.before is not None:
                text = _Stretches(piece, _around_hints(piece, lowered, hints, rule.before, rule.behind))
                yield from text.placed(self._run([rule], text.content, 0), offset)
        if self._wordy and (stretches := _around_words(piece, compiled(self._words))):
            text = _Stretches(piece, stretches)
            yield from text.placed(self._run(_present(self._wordy, text.content), text.content, 0), offset)

    def _run(self, rules: list[ScanRule], content: bytes, offset: int) -> Iterator[tuple[ScanRule, int, int]]:
        for rule in rules:
            judged = self._judged.setdefault(rule.pattern, {})
            pattern = compiled(rule.pattern)
            found = pattern.search(content)
            while found is not None:
                begin, end = found
                whole = content[begin:end]
                # What stands before a match is of the same text: several are looked through as one.
                before = content[max(0, begin - rule.reach) : begin].rpartition(BETWEEN)[2] if rule.reach else b""
                # Texts repeat themselves: what was judged once is known.
                try:
                    inner = judged[whole, before]
                except KeyError:
                    inner = _secret_in(rule, whole, before)
                    if len(judged) >= _MOST_JUDGED:
                        judged.clear()
                    if end - begin <= _JUDGED:
                        judged[whole, before] = inner
                if inner is not None:
                    start, stop = begin + inner[0], begin + inner[1]
                    yield rule, offset + start, offset + _trimmed(content, start, stop, rule.trims)
                found = pattern.search(content, _next(content, begin, max(end, begin + 1), rule, inner))

    def _hinted(self, piece: bytes) -> list[tuple[ScanRule, list[bytes]]]:
        """The rules worth trying on a piece with their hints there: one pass finds all hints that occur in it."""
        import re2

        if self._hints is None:
            options = re2.Options()
            options.encoding = re2.Options.Encoding.LATIN1
            options.max_mem = 64 << 20
            hints = re2.Set.SearchSet(options)
            for index, rule in enumerate(self._hinted_rules):
                for hint in rule.hints:
                    hints.Add((_stem(rule, hint) or f"(?i){re.escape(hint)}").encode())
                    self._by_hint.append((index, hint.encode()))
            hints.Compile()
            self._hints = hints
        found: dict[int, list[bytes]] = {}
        for each in sorted(self._hints.Match(piece) or ()):
            index, hint = self._by_hint[each]
            found.setdefault(index, []).append(hint)
        return [(self._hinted_rules[index], hints) for index, hints in found.items()]


class _Stretches:
    """Some stretches of a piece as one text, since a call of a pattern costs more than the text."""

    def __init__(self, piece: bytes, stretches: list[tuple[int, int]]) -> None:
        self.content = BETWEEN.join([piece[start:end] for start, end in stretches])
        self._stretches = stretches
        self._places, at = [], 0
        for start, end in stretches:
            self._places.append(at)
            at += end - start + len(BETWEEN)

    def placed(self, matches: Iterable[tuple[ScanRule, int, int]], offset: int) -> Iterator[tuple[ScanRule, int, int]]:
        """Matches in the text as they stand in the piece, which begins at `offset`."""
        for rule, begin, stop in matches:
            number = bisect_right(self._places, begin) - 1
            start, end = self._stretches[number]
            shift = start - self._places[number]
            yield rule, offset + begin + shift, offset + min(stop + shift, end)


def _next(content: bytes, begin: int, end: int, rule: ScanRule, inner: tuple[int, int] | None) -> int:
    """Where to go on behind a match: at its end, or behind its first word where it came to nothing and may hide another."""
    if inner is None and rule.is_loose and (word := _WORD.match(content, begin)) and begin < word.end() < end:
        return word.end()
    return end


def _secret_in(rule: ScanRule, whole: bytes, before: bytes) -> tuple[int, int] | None:
    """Where in a match its secret stands; None where it is none."""
    start, end = 0, len(whole)
    if rule.group:
        told = _grouped(rule.pattern).match(whole)
        group = 0 if told is None else rule.group if rule.group > 0 else told.lastindex or 0
        if told is None or told[group] is None:
            return None
        start, end = told.span(group)
    if rule.is_value and (over := _VALUE_END.search(whole, start + 1, end)):
        end = over.start()
    if rule.is_value:
        end = start + len(_without_closers(whole[start:end]))
    value = whole[start:end]
    if b"[REDACTED:" in value and _REDACTED.fullmatch(value):
        return None
    # Python's own patterns judge the cut-out, so it is kept short whatever the text is.
    if rule.accept and not rule.accept(_text(value[:_JUDGED]), _text(whole[: 4 * _JUDGED]), _text(before)):
        return None
    return start, end


def _without_closers(value: bytes) -> bytes:
    """A value without the brackets at its end that were opened before it, and the stars that make it bold."""
    for opened, closed in ((b"{", b"}"), (b"[", b"]"), (b"(", b")")):
        while value.endswith(closed) and value.count(opened) < value.count(closed):
            value = value[:-1]
    return value.removesuffix(b"**")


def _is_everyday(rule: ScanRule) -> bool:
    """Whether a rule's hints stand in nearly every text: it is asked for together with others of its kind before it runs by itself.
    The automaton for hints would only get more states by them, since these know which hints were seen."""
    return not _EVERYDAY.isdisjoint(rule.hints)


def _in_groups(rules: list[ScanRule], most: int) -> list[tuple[list[ScanRule], str]]:
    groups = [rules[at : at + most] for at in range(0, len(rules), most)]
    return [(each, "|".join(f"(?:{rule.pattern})" for rule in each)) for each in groups]


def _present(groups: list[tuple[list[ScanRule], str]], content: bytes) -> list[ScanRule]:
    """The rules of those groups that match somewhere: most come to nothing, which one pass tells of a few rules."""
    return [rule for each, pattern in groups if compiled(pattern).search(content) is not None for rule in each]


def _stem(rule: ScanRule, hint: str) -> str | None:
    """What a token of a rule begins with, for one whose only hint is its beginning: that, in its own case, and a few of the signs that
    must follow. Short beginnings stand in every text, these hardly anywhere."""
    head, opened, body = rule.pattern.partition("(" + "".join(_spelled(rule.pattern, hint)))
    if len(rule.hints) > 1 or not opened or not body or "(?i" in rule.pattern or "(" in head.replace("(?:", ""):
        return None
    if "|" in _NESTED.sub("", opened[1:] + body) or not body.endswith(")"):
        return None
    following = _CLASS.match(body)
    return opened[1:] + (f"{following[1]}{{{min(int(following[2]), _STEM)}}}" if following else "")


def _spelled(pattern: str, hint: str) -> Iterator[str]:
    """A hint as it is spelled in a pattern where it opens a group there; nothing where it does not."""
    found = re.search(r"\((" + re.escape(re.escape(hint).replace("\\-", "-")) + r")(?![?*{])", pattern, re.IGNORECASE)
    yield found[1] if found else "\0"


def _at_hints(
    rule: ScanRule, piece: bytes, lowered: bytes, hints: list[bytes], offset: int
) -> Iterator[tuple[ScanRule, int, int]]:
    """The matches of a rule that begin with one of these hints and go on with a run of letters and signs. What begins within such a
    run ends where it ends, so it is tried once."""
    pattern, done = _grouped(rule.pattern), 0
    for at in _places(lowered, hints):
        if at >= done:
            done = _RUN.match(piece, at).end()  # type: ignore[union-attr]
            if found := pattern.match(piece, at):
                yield rule, offset + at, offset + found.end()


def _places(lowered: bytes, hints: Iterable[bytes], most: int | None = None) -> list[int]:
    """Where hints stand, in order; as soon as there are more than `most`, no more are looked for."""
    starts: list[int] = []
    for hint in hints:
        at = lowered.find(hint)
        while at >= 0:
            starts.append(at)
            at = lowered.find(hint, at + len(hint))
        if most is not None and len(starts) > most:
            break
    starts.sort()
    return starts


def _around_hints(piece: bytes, lowered: bytes, hints: list[bytes], before: int, behind: int) -> list[tuple[int, int]]:
    """The stretches of a piece around hints: from some way before each on to the end of the word."""
    starts = _places(lowered, hints, _CROWD)
    if len(starts) > _CROWD:
        return [(0, len(piece))]
    return _to_blanks(piece, [(max(0, at - before), at + behind) for at in starts])


def _around_words(piece: bytes, words: Pattern) -> list[tuple[int, int]]:
    """The stretches of a piece around the words that announce a secret: a little before them, and on for as long as a secret may be
    announced, up to the end of the word there."""
    starts: list[tuple[int, int]] = []
    stride = _STRIDE
    found = words.search(piece)
    while found is not None:
        at = found[0]
        # Where words stand in crowds, looking for each costs more than taking all that is there.
        is_crowd = bool(starts) and at - _BEFORE <= starts[-1][1]
        stride = min(2 * stride, _WIDEST) if is_crowd else _STRIDE
        starts.append((_blank_before(piece, at - _BEFORE), at + stride + _BEHIND))
        found = words.search(piece, at + stride)
    return _to_blanks(piece, starts)


def _blank_before(piece: bytes, at: int) -> int:
    """The place of a blank at or before a place, as far as it is near: a value may be long."""
    if at <= 0:
        return 0
    found = max(piece.rfind(b" ", max(0, at - _LONG), at), piece.rfind(b"\n", max(0, at - _LONG), at))
    return found if found >= 0 else at


def _to_blanks(piece: bytes, stretches: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Stretches, in the order of their beginnings, each up to the first blank at or behind its end; those that touch as one."""
    whole: list[tuple[int, int]] = []
    for start, end in stretches:
        if whole and end <= whole[-1][1]:
            continue
        space = _SPACE.search(piece, min(end, len(piece)))
        first = whole.pop()[0] if whole and start <= whole[-1][1] else start
        whole.append((first, space.start() if space else len(piece)))
    return whole


def _cut(content: bytes, start: int) -> tuple[int, bool]:
    """The end of a piece, at a blank line or a line's end if there is one; and whether no secret can span the cut."""
    end = start + _PIECE
    if end >= len(content):
        return len(content), True
    key = content.rfind(b"-----BEGIN", start, end)
    if key >= 0 and content.find(b"-----END", key, end) < 0:
        # A key block that does not end in this piece: leave it to the next one, or take all of it.
        if key > start:
            return key, True
        after = content.find(b"-----END", end, end + 4 * _PIECE)
        end = after + 64 if after >= 0 else end
    for separator in (b"\n\n", b"\n", b" "):
        at = content.rfind(separator, start + _PIECE // 2, end)
        if at >= 0:
            return at + len(separator), False
    # Without a blank, between two words: a token may be longer than what is read twice.
    while end < len(content) and content[end] in _WORDLY and end - start < 4 * _PIECE:
        end += 1
    return end, False


def _trimmed(content: bytes, start: int, end: int, marks: bytes) -> int:
    """The end of a match without the marks that end a sentence, where one does end there."""
    if end - start > 4 and content[end - 1] in marks and content[end : end + 1] in _SPACES:
        return start + len(content[start:end].rstrip(marks))
    return end


def _text(content: bytes) -> str:
    return content.decode("utf-8", "replace")
