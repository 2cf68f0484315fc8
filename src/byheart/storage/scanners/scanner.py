"""The scanner that wiring hands to flows: all rules behind one port."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING

from byheart.domain.results import Finding
from byheart.storage.scanners import disguises
from byheart.storage.scanners.engine import BETWEEN, Engine, compiled
from byheart.storage.scanners.generic import shape_rules
from byheart.storage.scanners.instructions import command_rules, instruction_rules, personal_rules
from byheart.storage.scanners.prose import ANNOUNCING, prose_rules
from byheart.storage.scanners.providers import provider_rules
from byheart.text import lines, unicode

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from byheart.storage.scanners.rules import ScanRule

_HIDDEN = {
    "unicode-tag": "holds invisible tag characters",
    "unicode-selector-run": "holds a run of invisible variation selectors",
    "unicode-bidi": "holds characters that reorder text",
    "unicode-zero-width": "holds zero-width characters",
    "unicode-control": "holds control characters",
    "unicode-surrogate": "holds half a character",
}


# A spelling within a spelling is looked for, one within that is not.
_DEEPEST = 2


class _Secrets:
    """The rules for secrets, also for those in another spelling."""

    def __init__(self, rules: list[ScanRule], words: str) -> None:
        tokens = [rule for rule in rules if rule.is_token]
        self._engine = Engine([*rules, *disguises.disguise_rules(tokens)], words)

    @property
    def fingerprint(self) -> str:
        return self._engine.fingerprint

    def matches(self, content: bytes, depth: int = 0) -> Iterator[tuple[ScanRule, int, int]]:
        """Each match in a UTF-8 text as rule and the span of its secret."""
        escapes, parted, ends = list[tuple[int, int]](), list[int](), dict[int, int]()
        for rule, start, end in self._engine.matches(content):
            if rule.name == disguises.ESCAPED:
                escapes.append((start, end))
            elif rule.name == disguises.PARTED:
                parted.append(start)
            else:
                yield rule, start, disguises.folded(content, start, end, ends)
        headers = (start for start, _ in compiled(disguises.HEADER).spans(content))
        for start, end in disguises.cells(content, headers):
            yield disguises.TABLE, start, end
        if depth == _DEEPEST:
            return
        spelled = (
            *disguises.encoded(content, compiled(disguises.BASE64), compiled(disguises.HEX)),
            *disguises.escaped(content, escapes),
        )
        for rule, found, start, end in self._in_the_clear(spelled, depth):
            yield rule, *found.span(start, end)
        joined = (
            *disguises.wide(content, compiled(disguises.NULS)),
            *disguises.coloured(content),
            *disguises.broken(content, parted),
        )
        crossing = [each for each in self._in_the_clear(joined, depth) if each[1].is_stretched(each[2], each[3])]
        # A token that is whole before its line ends does not go on in the next, unless nothing else stands there.
        firsts = [each.first_line() for each in dict.fromkeys(found for _, found, _, _ in crossing)]
        whole = {found.start for _, found, _, _ in self._in_the_clear([each for each in firsts if each], _DEEPEST - 1)}
        for rule, found, start, end in crossing:
            if not (found.is_broken and found.start in whole):
                yield rule, *found.span(start, end)

    def _in_the_clear(
        self, found: Sequence[disguises.Disguise], depth: int
    ) -> Iterator[tuple[ScanRule, disguises.Disguise, int, int]]:
        """What is found in disguises, with its span in their clear text. All of them are looked through as one text."""
        if not found:
            return
        starts, at = [], 0
        for each in found:
            starts.append(at)
            at += len(each.clear) + len(BETWEEN)
        for rule, start, end in self.matches(BETWEEN.join([each.clear for each in found]), depth + 1):
            number = bisect_right(starts, start) - 1
            each, shift = found[number], starts[number]
            yield rule, each, start - shift, min(end - shift, len(each.clear))


class RuleScanner:
    """Scans by rules alone: no model, no network, linear time."""

    def __init__(self) -> None:
        self._secrets = _Secrets([*provider_rules(), *shape_rules(), *prose_rules(), *personal_rules()], ANNOUNCING)
        self._instructions = Engine(instruction_rules())
        self._commands = Engine(command_rules())

    @property
    def fingerprint(self) -> str:
        """What tells these rules from others."""
        return self._secrets.fingerprint

    def secrets(self, text: str) -> list[Finding]:
        """Secrets and sensitive personal details, each at most once for a rule and a line."""
        return _located(text, self._secrets, "secret")

    def findings(self, text: str) -> list[Finding]:
        """All that forbids storing a text. A `command` or `weak` finding forbids it only when nobody asked to store it."""
        found = self.secrets(text)
        offsets = lines.starts(text)
        seen = set()
        for at, rule in unicode.hidden(text):
            line = lines.number(offsets, at)
            if (rule, line) not in seen:
                seen.add((rule, line))
                column = at - offsets[line - 1] + 1
                found.append(Finding(rule=rule, message=_HIDDEN[rule], line=line, column=column, severity="hidden"))
        # Zero-width characters between letters must not hide a phrase from the rules.
        plain = unicode.visible(text)
        found += _located(plain, self._instructions, "instruction")
        found += _located(plain, self._commands, "command")
        return found

    def unsafe_lines(self, text: str) -> dict[int, bool]:
        """The lines that hold a secret, an order to the reader, or a part of one; True where blanking out that line alone
        takes it away."""
        content = text.encode("utf-8", "surrogatepass")
        breaks = [each.start() for each in re.finditer(b"\n", content)]
        found: dict[int, bool] = {}
        for engine, curable in ((self._secrets, True), (self._instructions, False)):
            for rule, start, end in engine.matches(content):
                if rule.weak:
                    continue
                first, last = bisect_left(breaks, start) + 1, bisect_left(breaks, max(start, end - 1)) + 1
                for line in range(first, last + 1):
                    found[line] = found.get(line, True) and curable and first == last
        return found

    def spans(self, text: str) -> list[tuple[int, int, str]]:
        """Where secrets stand, as places in the text with the rule's name, in order and not overlapping."""
        content = text.encode("utf-8", "surrogatepass")
        found = sorted({(start, end, rule.name) for rule, start, end in self._secrets.matches(content)})
        merged: list[tuple[int, int, str]] = []
        for start, end, name in found:
            if merged and start < merged[-1][1]:
                first, last, kept = merged[-1]
                merged[-1] = (first, max(last, end), kept)
            else:
                merged.append((start, end, name))
        if not merged or text.isascii():
            return merged
        places, done, count = [], 0, 0
        for start, end, name in merged:
            count += len(content[done:start].decode("utf-8", "surrogatepass"))
            length = len(content[start:end].decode("utf-8", "surrogatepass"))
            places.append((count, count + length, name))
            count, done = count + length, end
        return places

    def redacted(self, text: str) -> str:
        """The text with each secret replaced by the name of the rule that found it."""
        parts: list[str] = []
        position = 0
        for start, end, name in self.spans(text):
            parts += (text[position:start], f"[REDACTED:{name}]")
            position = end
        return "".join((*parts, text[position:])) if parts else text


def _located(text: str, engine: _Secrets | Engine, severity: str) -> list[Finding]:
    content, breaks = text.encode("utf-8", "surrogatepass"), list[int]()
    found: dict[tuple[str, int], Finding] = {}
    for rule, start, _ in engine.matches(content):
        breaks = breaks or [each.start() for each in re.finditer(b"\n", content)]
        line = bisect_left(breaks, start) + 1
        key = (rule.name, line)
        if key not in found:
            begin = breaks[line - 2] + 1 if line > 1 else 0
            column = len(content[begin:start].decode("utf-8", "replace")) + 1
            found[key] = Finding(
                rule=rule.name, message=rule.says, line=line, column=column, severity="weak" if rule.weak else severity
            )
    return sorted(found.values(), key=lambda each: (each.line or 0, each.column or 0))
