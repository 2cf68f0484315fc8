"""Texts that models are given, as files: {{name}} stands for what is put in. A user may put files of their own in the place of ours."""

from __future__ import annotations

import os
import re
from functools import cache

from byheart.domain.errors import BadSetting

_SLOT = re.compile(r"\{\{(\w+)\}\}")
# What each text has to have a place for.
SLOTS = {
    "stage_one_system": frozenset(),
    "stage_one_input": frozenset({"thread_id", "response_items_json"}),
    "consolidation": frozenset({"raw_memories", "rollout_summaries", "memory_summary", "thread_diff"}),
    "read_path": frozenset({"memory_summary"}),
    "again": frozenset({"problem"}),
}
_LARGEST = 200_000


@cache
def template(name: str) -> str:
    """A text of ours as it stands in its file."""
    with open(os.path.join(os.path.dirname(__file__), f"{name}.md"), encoding="utf-8") as stream:
        return stream.read()


def filled(name: str, **values: str) -> str:
    """A text of ours with these values put in. What a value holds is never looked at for slots."""
    return _put(template(name), values)


def _put(text: str, values: dict[str, str]) -> str:
    return _SLOT.sub(lambda slot: values[slot[1]], text)


class OwnPrompts:
    """The texts in a user's folder, `NAME.md`, and ours where there is none. Raises BadSetting for one that lacks a slot or has one
    that nothing is put into."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._texts: dict[str, str] = {}

    def template(self, name: str) -> str:
        """A text as it stands in its file."""
        if name not in self._texts:
            self._texts[name] = self._read(name)
        return self._texts[name]

    def filled(self, name: str, **values: str) -> str:
        """A text with these values put in."""
        return _put(self.template(name), values)

    def check(self) -> OwnPrompts:
        """Itself, once every text has been read."""
        for name in SLOTS:
            self.template(name)
        return self

    def _read(self, name: str) -> str:
        path = os.path.join(self._folder, f"{name}.md")
        try:
            with open(path, encoding="utf-8") as stream:
                text = stream.read(_LARGEST)
        except FileNotFoundError:
            return template(name)
        except (OSError, UnicodeDecodeError) as error:
            raise BadSetting(path, name, f"cannot be read ({error})", "a text file") from None
        found = set(_SLOT.findall(text))
        wrong = [f"{{{{{each}}}}} is missing" for each in sorted(SLOTS[name] - found)]
        wrong += [f"{{{{{each}}}}} is unknown" for each in sorted(found - SLOTS[name])]
        if wrong:
            names = ", ".join(f"{{{{{each}}}}}" for each in sorted(SLOTS[name])) or "no variable"
            raise BadSetting(path, name, "; ".join(wrong), f"a text with {names}")
        return text
