"""Runs the rules on RE2, whose time is linear in the text whatever the text is."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from byheart.text.slugs import short_digest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from byheart.adapters.scanners.rules import Rule

# Looking for each hint in turn is faster than building the automaton that looks for all of them at once, until a
# process has done it this often or the text is this long.
_FEW = 40
_SMALL = 20_000
_PIECE = 32_768
_OVERLAP = 1_024
_JUDGED = 512
_EVERYDAY = frozenset({"re_", "pat", "0/", "sk", ".", "|", "s.", "://", "pass", "secret", "key", "0", "-"})
_SENTINEL = b"xQ7sentinelQ7x"
_WORTHWHILE = 3
# What we put in a secret's place; found again, it is not one.
_REDACTED = re.compile(rb"\W{0,3}\[REDACTED:[a-z0-9-]{1,40}\]?\W{0,3}")


@lru_cache(maxsize=512)
def _compiled(pattern: str) -> Any:
    import re2

    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1
    options.log_errors = False
    options.max_mem = 64 << 20
    return re2.compile(pattern.encode(), options)


class Engine:
    """A set of rules over texts. Patterns are compiled when a hint for them is first seen."""

    def __init__(self, rules: list[Rule]) -> None:
        self._rules = rules
        self._hints: Any = None
        self._by_hint: list[int] = []
        self._patterns: Any = None
        # Rules whose hints occur in nearly every text: they are asked for together before each runs by itself.
        self._common = [rule for rule in rules if any(hint in _EVERYDAY for hint in rule.hints)]
        self._common_names = frozenset(rule.name for rule in self._common)
        self._scans = 0

    @property
    def fingerprint(self) -> str:
        """A digest of all rules, as far as they are written down."""
        return short_digest(*(f"{rule.name} {rule.pattern}" for rule in self._rules))

    def matches(self, text: str) -> Iterator[tuple[Rule, int, int]]:
        """Each match as rule and the span of its secret, in bytes of the UTF-8 text."""
        content = text.encode("utf-8", "surrogatepass")
        self._scans += 1
        if len(content) <= _SMALL and self._scans <= _FEW:
            lowered = content.lower()
            wanted = [rule for rule in self._rules if any(hint.encode() in lowered for hint in rule.hints)]
            yield from self._run(wanted, content, 0)
            return
        start, seen = 0, set[tuple[str, int, int]]()
        while start < len(content):
            end, clean = _cut(content, start)
            piece = content[start:end]
            for rule, begin, stop in self._run(self._likely(piece, self._hinted(piece)), piece, start):
                if (rule.name, begin, stop) not in seen:
                    seen.add((rule.name, begin, stop))
                    yield rule, begin, stop
            # A stretch is read twice, so that no cut parts a secret; but for a cut in front of a key block.
            start = end if clean or end >= len(content) else max(start + 1, end - _OVERLAP)

    def _run(self, rules: list[Rule], content: bytes, offset: int) -> Iterator[tuple[Rule, int, int]]:
        for rule in rules:
            for found in _compiled(rule.pattern).finditer(content):
                group = rule.group
                value = found.group(group)
                if value is None or (b"[REDACTED:" in value and _REDACTED.fullmatch(value)):
                    continue
                if rule.accept is not None:
                    begin = found.start()
                    before = _text(content[max(0, begin - 60) : begin])
                    # Python's own patterns judge the cut-out, so it is kept short whatever the text is.
                    if not rule.accept(_text(value[:_JUDGED]), _text(found.group()[: 4 * _JUDGED]), before):
                        continue
                yield rule, offset + found.start(group), offset + found.end(group)

    def _likely(self, piece: bytes, wanted: list[Rule]) -> list[Rule]:
        """The rules without those of the common ones that surely match nowhere in the piece: one pass asks for all of them.

        The automaton behind that pass gives up on texts that need too many states, and then says "nothing". So it is also
        asked for a mark that is always there; where that is not found, its answer does not count.
        """
        import re2

        common = self._common_names
        if sum(rule.name in common for rule in wanted) < _WORTHWHILE:
            return wanted
        if self._patterns is None:
            options = re2.Options()
            options.encoding = re2.Options.Encoding.LATIN1
            options.log_errors = False
            options.max_mem = 128 << 20
            patterns = re2.Set.SearchSet(options)
            for rule in self._common:
                patterns.Add(rule.pattern.encode())
            patterns.Add(_SENTINEL)
            patterns.Compile()
            self._patterns = patterns
        found = self._patterns.Match(_SENTINEL + b"\n" + piece) or ()
        if len(self._common) not in found:
            return wanted
        there = {self._common[each].name for each in found if each < len(self._common)}
        return [rule for rule in wanted if rule.name not in common or rule.name in there]

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


def _text(content: bytes) -> str:
    return content.decode("utf-8", "replace")
