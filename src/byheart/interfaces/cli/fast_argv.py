"""The commands that agents call all day, when they are spelled plainly: read without what helps people with the others.

Whatever is not plain (help, a short form, a mistake) is left to the group of all commands, which reads these as well.
"""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING

from byheart.domain.values import dataclass, field
from byheart.interfaces.cli import common

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """How a command is spelled: what each switch says, which options take a number and from where to where, and how many
    words it needs."""

    switches: dict[str, tuple[str, object]]
    numbers: dict[str, tuple[str, int, int]] = field(default_factory=dict)
    defaults: dict[str, object] = field(default_factory=dict)


RECALL = Form(
    switches={
        "--deep": ("deep", True),
        "--explain": ("explain", True),
        "--json": ("as_object", True),
        "--local": ("scope", "local"),
        "--global": ("scope", "global"),
    },
    numbers={"-n": ("limit", 1, 100), "--limit": ("limit", 1, 100)},
    defaults={"deep": False, "explain": False, "as_object": False, "scope": None, "limit": None},
)
FORMS = {"recall": RECALL}


def command_in(arguments: list[str]) -> Callable[[], int] | None:
    """What to call for these arguments; None where they are not plain."""
    if "_BYHEART_COMPLETE" in os.environ:
        return None
    rest, flags, folder = list(arguments), list[str](), None
    while len(rest) > 1 and rest[0] in ("--set", "-C", "--project"):
        name, value = rest[0], rest[1]
        del rest[:2]
        if name == "--set":
            flags.append(value)
        else:
            folder = value
    if not rest or rest[0] not in FORMS:
        return None
    read = words_and_options(rest[1:], FORMS[rest[0]])
    if read is None or not read[0]:
        return None
    words, options = read
    common.call.flags, common.call.folder = tuple(flags), folder
    from byheart.interfaces.cli import recall_output

    return partial(recall_output.told, tuple(words), **options)  # type: ignore[arg-type]


def words_and_options(arguments: list[str], form: Form) -> tuple[list[str], dict[str, object]] | None:
    """Words and options of a command; None where one of them is not plain."""
    words: list[str] = []
    options = dict(form.defaults)
    given = iter(arguments)
    for each in given:
        if not each.startswith("-") or each == "-":
            words.append(each)
        elif each in form.switches:
            name, says = form.switches[each]
            options[name] = says
        elif each in form.numbers:
            name, least, most = form.numbers[each]
            value = next(given, "")
            if not value.isascii() or not value.isdigit() or not least <= int(value[:9]) <= most or len(value) > 9:
                return None
            options[name] = int(value)
        else:
            return None
    return words, options
