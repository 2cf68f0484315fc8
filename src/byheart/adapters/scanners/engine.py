"""Runs the rules on RE2, whose time is linear in the text whatever the text is."""

from __future__ import annotations

import re
from bisect import bisect_right
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from byheart.text.slugs import short_digest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from byheart.adapters.scanners.rules import Rule

# Another one whenever the judgements behind the patterns become others.
_EDITION = "2"
# Looking for each hint in turn is faster than building the automaton that looks for all of them at once, until a
# process has done it this often or the text is this long.
_FEW = 40
_SMALL = 20_000
_PIECE = 65_536
_OVERLAP = 1_024
_JUDGED = 512
_EVERYDAY = frozenset(
    {
        "re_",
        "pat",
        "0/",
        "sk",
        ".",
        "|",
        "s.",
        "://",
        "0",
        "-",
        ":",
        "*",
        "_",
        "00",
        "11",
        "0.",
        "st.",
        "sk_",
        "db-",
        "fc-",
        "sdk-",
        "api-",
        "address",
        "national",
        "machine",
        "password",
    }
)
_TOGETHER, _FEW_WORDY = 12, 3
# How much of a text around a word that announces a secret is looked at; and where a value ends.
_BEFORE, _BEHIND = 100, 200
_SPACE = re.compile(rb"\s")
# Ends every pattern, and every line.
_BETWEEN = b"\n\x00\n"
_SPACES = (b"", b" ", b"\n", b"\r", b"\t", b'"', b"'", b")", b"\\", b"<")
# What we put in a secret's place; found again, it is not one.
_REDACTED = re.compile(rb"\W{0,3}\[REDACTED:[a-z0-9-]{1,40}\]?\W{0,3}")


@lru_cache(maxsize=1024)
def compiled(pattern: str) -> Any:
    """A pattern that tells where it matches, and nothing of its groups: those would cost it most of its speed."""
    import re2

    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1
    options.log_errors = False
    options.max_mem = 64 << 20
    return re2.compile(_without_groups(pattern).encode(), options)


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

    def __init__(self, rules: list[Rule], words: str = "") -> None:
        """`words` is a pattern for the words that announce a secret; wordy rules are tried around them alone."""
        self._words = words
        self._all = rules
        self._rules = [rule for rule in rules if not (rule.is_wordy and words)]
        self._wordy = [rule for rule in rules if rule.is_wordy and words]
        few = [self._wordy[at : at + _FEW_WORDY] for at in range(0, len(self._wordy), _FEW_WORDY)]
        self._wordy_groups = [(each, "|".join(f"(?:{rule.pattern})" for rule in each)) for each in few]
        self._hints: Any = None
        self._by_hint: list[int] = []
        # Rules whose hints occur in nearly every text: they are asked for together before each runs by itself.
        common = [rule for rule in self._rules if any(hint in _EVERYDAY for hint in rule.hints)]
        # An automaton for all of them would have too many states; one for a few is as fast as one for one.
        some = [common[at : at + _TOGETHER] for at in range(0, len(common), _TOGETHER)]
        self._groups = [
            (frozenset(rule.name for rule in each), "|".join(f"(?:{rule.pattern})" for rule in each))
            for each in some
            if each
        ]
        self._scans = 0

    @property
    def fingerprint(self) -> str:
        """A digest of all rules, as far as they are written down."""
        return short_digest(_EDITION, *(f"{rule.name} {rule.pattern}" for rule in self._all))

    def matches(self, text: str) -> Iterator[tuple[Rule, int, int]]:
        """Each match as rule and the span of its secret, in bytes of the UTF-8 text."""
        content = text.encode("utf-8", "surrogatepass")
        self._scans += 1
        if len(content) <= _SMALL and self._scans <= _FEW:
            lowered = content.lower()
            wanted = [rule for rule in self._all if any(hint.encode() in lowered for hint in rule.hints)]
            yield from self._run(wanted, content, 0)
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

    def _found(self, piece: bytes, offset: int) -> Iterator[tuple[Rule, int, int]]:
        yield from self._run(self._likely(piece, self._hinted(piece)), piece, offset)
        stretches = _around(piece, compiled(self._words)) if self._wordy else []
        if stretches:
            # All of them as one text: a call of a pattern costs more than the text.
            text = _BETWEEN.join([piece[start:end] for start, end in stretches])
            places, at = [], 0
            for start, end in stretches:
                places.append(at)
                at += end - start + len(_BETWEEN)
            # Most of what is announced comes to nothing, which one pass tells of a few rules.
            hits = (each for each, pattern in self._wordy_groups if compiled(pattern).search(text) is not None)
            wanted = [rule for each in hits for rule in each]
            for rule, begin, stop in self._run(wanted, text, 0):
                number = bisect_right(places, begin) - 1
                start, end = stretches[number]
                shift = start - places[number]
                yield rule, offset + begin + shift, offset + min(stop + shift, end)

    def _run(self, rules: list[Rule], content: bytes, offset: int) -> Iterator[tuple[Rule, int, int]]:
        for rule in rules:
            for found in compiled(rule.pattern).finditer(content):
                begin, end = found.span()
                whole = content[begin:end]
                start = begin
                if rule.group:
                    told = _grouped(rule.pattern).match(whole)
                    group = 0 if told is None else rule.group if rule.group > 0 else told.lastindex or 0
                    if told is None or told[group] is None:
                        continue
                    start, end = begin + told.start(group), begin + told.end(group)
                value = content[start:end]
                if b"[REDACTED:" in value and _REDACTED.fullmatch(value):
                    continue
                if rule.accept is not None:
                    before = _text(content[max(0, begin - rule.reach) : begin])
                    # Python's own patterns judge the cut-out, so it is kept short whatever the text is.
                    if not rule.accept(_text(value[:_JUDGED]), _text(whole[: 4 * _JUDGED]), before):
                        continue
                yield rule, offset + start, offset + _trimmed(content, start, end, rule.trims)

    def _likely(self, piece: bytes, wanted: list[Rule]) -> list[Rule]:
        """The rules without those of the common ones that surely match nowhere in the piece: one pass asks for a few of them."""
        absent: set[str] = set()
        hinted = {rule.name for rule in wanted}
        for names, pattern in self._groups:
            if len(names & hinted) > 1 and compiled(pattern).search(piece) is None:
                absent |= names
        return [rule for rule in wanted if rule.name not in absent]

    def _hinted(self, piece: bytes) -> list[Rule]:
        """The rules worth trying on a piece: one pass finds all hints that occur in it."""
        import re2

        if self._hints is None:
            options = re2.Options()
            options.encoding = re2.Options.Encoding.LATIN1
            options.case_sensitive = False
            options.literal = True
            options.max_mem = 64 << 20
            hints = re2.Set.SearchSet(options)
            for index, rule in enumerate(self._rules):
                for hint in rule.hints:
                    hints.Add(hint.encode())
                    self._by_hint.append(index)
            hints.Compile()
            self._hints = hints
        found = self._hints.Match(piece) or ()
        return [self._rules[index] for index in sorted({self._by_hint[each] for each in found})]


def _around(piece: bytes, words: Any) -> list[tuple[int, int]]:
    """The stretches of a piece around the words that announce a secret: from the line's beginning, if that is near, and on for as
    long as a secret may be announced, up to the end of the word there."""
    found: list[list[int]] = []
    for match in words.finditer(piece):
        at = match.start()
        start = max(0, at - _BEFORE)
        if found and start <= found[-1][1]:
            found[-1][1] = at + _BEHIND
        else:
            found.append([start, at + _BEHIND])
    whole: list[tuple[int, int]] = []
    for start, end in found:
        first = whole.pop()[0] if whole and start < whole[-1][1] else start
        space = _SPACE.search(piece, min(end, len(piece)))
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
    return end, False


def _trimmed(content: bytes, start: int, end: int, marks: bytes) -> int:
    """The end of a match without the marks that end a sentence, where one does end there."""
    if end - start > 4 and content[end - 1] in marks and content[end : end + 1] in _SPACES:
        return start + len(content[start:end].rstrip(marks))
    return end


def _text(content: bytes) -> str:
    return content.decode("utf-8", "replace")
