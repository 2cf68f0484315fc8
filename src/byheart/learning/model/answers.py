"""What a model answered, as values. Whatever does not keep to the contract is no answer."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from byheart.domain.handbook import Bullet, Extract
from byheart.domain.values import dataclass, replace
from byheart.handbook import raw
from byheart.handbook.phrases import bullet_of, one_line

if TYPE_CHECKING:
    from collections.abc import Iterator

_KEYS = ("rollout_summary", "rollout_slug", "raw_memory")
_FENCED = re.compile(r"\A\s*```(?:json)?\s*\n(.*)\n\s*```\s*\Z", re.DOTALL)
_TASK = re.compile(r"^## Task (\d+)\b")
_LISTS = ("profile", "tips", "blocks", "skills")


class BadAnswer(ValueError):
    """An answer that does not keep to the contract; the message says how, for the model as well as for people."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelExtract:
    """What a model made of a session: nothing, or an extract that nobody has checked yet."""

    extract: Extract | None
    slug: str = ""


def of_session(text: str) -> ModelExtract:
    """The answer of phase 1. Raises BadAnswer."""
    told = _object(text)
    if set(told) != set(_KEYS):
        raise BadAnswer(f"the object must have exactly the keys {', '.join(_KEYS)}; it has {', '.join(map(str, told))}")
    for key in _KEYS:
        if told[key] is not None and not isinstance(told[key], str):
            raise BadAnswer(f"{key} must be a string")
    body, summary = (told["raw_memory"] or "").strip(), (told["rollout_summary"] or "").strip()
    if not body and not summary:
        return ModelExtract(extract=None)
    if not body:
        raise BadAnswer("raw_memory is empty although rollout_summary is not")
    extract = raw.parsed_raw(body)
    if not extract.tasks:
        raise BadAnswer('raw_memory has no "### Task 1: name" section')
    steps = dict(_steps(summary))
    tasks = tuple(replace(task, steps=tuple(steps.get(n, ()))) for n, task in enumerate(extract.tasks, 1))
    heading = next((line[2:] for line in summary.split("\n") if line.startswith("# ")), "")
    return ModelExtract(
        extract=replace(extract, tasks=tasks, headline=one_line(heading, 200)), slug=told["rollout_slug"] or ""
    )


def _steps(summary: str) -> Iterator[tuple[int, list[Bullet]]]:
    """The key steps of each task that a summary tells of."""
    number, found, is_open = 0, list[Bullet](), False
    for line in summary.split("\n"):
        if heading := _TASK.match(line.strip()):
            if number:
                yield number, found
            number, found, is_open = int(heading[1]), [], False
        elif line.strip() == raw.STEPS:
            is_open = True
        elif is_open and line.lstrip()[:2] in ("- ", "* "):
            found.append(bullet_of(line))
        elif line.strip() and not line.lstrip().startswith(("-", "*")):
            is_open = False
    if number:
        yield number, found


def of_project(text: str) -> dict[str, list[Any]]:
    """The answer of phase 2: its four lists. Raises BadAnswer."""
    told = _object(text)
    strange = [str(key) for key in told if key not in _LISTS]
    if strange:
        raise BadAnswer(f"{', '.join(strange)} is no key of the object; it has {', '.join(_LISTS)}")
    for key in _LISTS:
        if not isinstance(told.get(key, []), list):
            raise BadAnswer(f"{key} must be a list")
    return {key: told.get(key, []) for key in _LISTS}


def _object(text: str) -> dict[str, Any]:
    fenced = _FENCED.match(text)
    try:
        told = json.loads(fenced[1] if fenced else text)
    except (ValueError, RecursionError) as error:
        raise BadAnswer(f"it is not a JSON object ({str(error)[:80]})") from None
    if not isinstance(told, dict):
        raise BadAnswer("it is not a JSON object")
    return told
