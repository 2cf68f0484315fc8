"""Texts that models are given, as files: {{name}} stands for what is put in."""

from __future__ import annotations

import os
import re
from functools import cache

_SLOT = re.compile(r"\{\{(\w+)\}\}")


@cache
def template(name: str) -> str:
    """A text as it lies in its file."""
    with open(os.path.join(os.path.dirname(__file__), f"{name}.md"), encoding="utf-8") as stream:
        return stream.read()


def filled(name: str, **values: str) -> str:
    """A text with these values put in. What a value holds is never looked at for slots."""
    return _SLOT.sub(lambda slot: values[slot[1]], template(name))
