"""What a scanning rule is, and the judgements rules share: placeholder or real, word or token."""

from __future__ import annotations

import math
import re
from collections import Counter
from functools import lru_cache
from typing import TYPE_CHECKING

from byheart.domain.values import dataclass
from byheart.text.deferred import deferred

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True, slots=True, kw_only=True)
class ScanRule:
    """A named pattern (RE2). `hints` are lower-case texts, one of which must be present before the pattern is tried;
    `group` is the part that is the secret, -1 the only one of several that matched; `accept` decides on it, given the whole match
    and what stands before it, `reach` bytes of it. A weak rule only speaks against storing what nobody asked to store. `trims` are
    marks that belong to the sentence where they end a match."""

    name: str
    pattern: str
    hints: tuple[str, ...]
    group: int = 0
    accept: Callable[[str, str, str], bool] | None = None
    says: str = "looks like a secret"
    weak: bool = False
    reach: int = 0
    trims: bytes = b".,;:"
    # Its hints are words of every text, so whether it matches anywhere is asked for all such rules in one pass.
    is_wordy: bool = False
    # A token that its beginning gives away.
    is_token: bool = False
    # What stands between a name and its value may hold another name: a match that is no secret hides nothing behind its beginning.
    is_loose: bool = False
    # A value of any form, whose end is where something else of the text begins.
    is_value: bool = False
    # For a match that has a hint in it: how far before the hint it may begin, and how far behind it a blank may still stand in it.
    # Such a rule is tried around its hints alone. `before` is None for all others.
    before: int | None = None
    behind: int = 80
    # Every match begins with one of its hints and goes on with a run of letters and signs.
    is_led: bool = False


# Python's own engine is used only here, on values of at most a few hundred characters that a rule has cut out.
_TEMPLATE = deferred(r"^\{[A-Za-z_]+\}[;,&]?$|^\[[A-Z_ ]{4,20}\]$|\$\{|\$\(|\{\{|<[A-Za-z_/ -]+>|%\(|%s|#\{|\.\.\.|…")
# A name behind a sign: in one case throughout, or with the sign again at its end. A password that begins with the sign has both
# cases, or a digit among small letters.
_VARIABLE = deferred(
    r"[$%@]\{?(?:_?[A-Z][A-Z0-9_]*|[a-z_][a-z_]*(?:\.[a-z_]+)*|[a-z]+(?:[A-Z][a-z]+)*)[%}]?(?:[^\w!@#$%^&*].*)?|\$env:.*|[$%@][{(].*"
)
_WORDS = deferred(
    r"^(?:your|my|some|the|enter|insert|replace|change|put)[-_ ]?(?:(?:own|api|secret|token|key|password|passwd|pass|value|here|me|goes|this|with|strong|access|client|auth|db|database|user|admin|service|account|app|random|super|real|actual|and|private)[-_ ]?)+\d{0,4}$"
    r"|changeme|change_me|placeholder|redacted|forgotten|example|dummy|sample|notreal|not-real|todo|fixme"
    r"|process\.env|os\.environ|getenv|environ\[|secrets\.|config\.|settings\.|self\.|this\.|vault:|keychain",
    re.IGNORECASE,
)
# A word of this list is in every text that _WORDS can find.
_STOCK = (
    "your", "my", "some", "the", "enter", "insert", "replace", "change", "put", "placeholder", "redacted", "forgotten", "example",
    "dummy", "sample", "notreal", "not-real", "todo", "fixme", "env", "secrets.", "config.", "settings.", "self.", "this.", "vault:",
    "keychain",
)  # fmt: skip
_FILLER = deferred(r"(?:[xX*.•_-]|0){6,}|[xX]{3,}|\*{3,}")
_EMPTY = frozenset(
    "none null nil undefined true false string str text int number bool boolean bytes any object optional required "
    "password passwd pwd secret token key value default test testing tests redacted hidden masked unset empty not-set not_set notset".split()
)
# Parts of a name between dots are words; parts of a token are long.
_CALL = deferred(r"[A-Za-z_][\w.]*\(|^[A-Za-z_]\w{0,23}(?:\.[A-Za-z_]\w{0,23})+$|^[A-Za-z_]\w*\[")
UUID = deferred(r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}")
_HEX = deferred(r"[0-9a-fA-F]+")


@lru_cache(maxsize=4096)
def placeholder(value: str) -> bool:
    """Whether a value stands for one: a variable, a template, a filler, a stock word."""
    folded = value.casefold()
    if folded in _EMPTY or len(set(value)) < 3 or _FILLER.search(value):
        return True
    # Templates and variables need a sign of their own; most values are letters and digits.
    if not value.isalnum() and (_TEMPLATE.search(value) or _VARIABLE.fullmatch(value)):
        return True
    return any(map(folded.__contains__, _STOCK)) and bool(_WORDS.search(folded))


@lru_cache(maxsize=4096)
def codelike(value: str) -> bool:
    """Whether a value is an expression of a programming language rather than a literal."""
    if value.startswith(("&", "*", "(", "[", "/", "\\", "?")):
        return True
    # A decorator, a negation; but a password may begin with these, too.
    if value.startswith(("@", "!")) and value[1:].replace(".", "").replace("_", "").isalpha():
        return True
    return bool(_CALL.search(value))


_NO_DIGITS = str.maketrans("", "", "0123456789")


def digits_in(value: str) -> int:
    """How many digits a value has."""
    return len(value) - len(value.translate(_NO_DIGITS))


def entropy(value: str) -> float:
    """Shannon entropy in bits per character."""
    total = len(value)
    return -sum(count / total * math.log2(count / total) for count in Counter(value).values())


def tokenlike(value: str, *, least: int = 8) -> bool:
    """Whether a value looks generated: letters and digits mixed, enough of them, no word structure."""
    if len(value) < least or placeholder(value) or codelike(value):
        return False
    if UUID.fullmatch(value):
        return True
    digits = digits_in(value)
    letters = sum(map(str.isalpha, value))
    if not digits:
        # Long and of mixed case without separators is still no word.
        return letters == len(value) and len(value) >= max(16, least) and is_scrambled(value) and entropy(value) >= 3.2
    if not letters:
        return len(value) >= 16 and len(set(value)) >= 6 and value.isdigit()
    if _HEX.fullmatch(value):
        return len(value) >= 12 and len(set(value)) >= 6
    if entropy(value) < (2.6 if len(value) < 16 else 3.0):
        return False
    # gpt-4o-mini, claude-sonnet-4-5, v1.2.3-rc1: words and small numbers between separators are names.
    pieces = re.split(r"[-_./:]", value)
    if len(pieces) > 1 and all(piece.isalpha() or len(piece) < 6 or piece.isdigit() for piece in pieces):
        return len(value) >= 40 and entropy(value) >= 4.2
    return True


_HUMPS = deferred(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
_LONGEST_HUMP = 4.2


def is_scrambled(value: str) -> bool:
    """Whether letters of both cases are mixed as chance does it: names in code have words between their capitals."""
    if not (any(map(str.islower, value)) and any(map(str.isupper, value))):
        return False
    humps = _HUMPS.findall(value)
    return bool(humps) and len(value) / len(humps) < _LONGEST_HUMP


def words_of(name: str) -> list[str]:
    """The words that a name is made of, in small letters."""
    return [part.casefold() for part in _HUMPS.findall(name)]


def luhn(value: str) -> bool:
    """Whether the digits pass the check that payment cards carry."""
    digits = [int(each) for each in value if each.isdigit()]
    if not 13 <= len(digits) <= 19 or len(set(digits)) < 2:
        return False
    total = 0
    for index, digit in enumerate(reversed(digits)):
        doubled = digit * 2 if index % 2 else digit
        total += doubled - 9 if doubled > 9 else doubled
    return total % 10 == 0


def iban(value: str) -> bool:
    """Whether an account number's check digits are right (ISO 13616: remainder 1 modulo 97)."""
    compact = value.replace(" ", "").upper()
    if not 15 <= len(compact) <= 34 or not compact.isalnum():
        return False
    return int("".join(str(int(each, 36)) for each in compact[4:] + compact[:4])) % 97 == 1
