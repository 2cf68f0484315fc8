"""Values of memory as JSON holds them: what a page or a program is given."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import TYPE_CHECKING, Any, TypeVar

from byheart.domain.errors import BadInput
from byheart.domain.values import asdict, is_dataclass
from byheart.handbook.memory import core_of

if TYPE_CHECKING:
    from collections.abc import Callable

Plain = dict[str, Any]
# So much of what a session taught is shown in a list.
_LEARNT = 2
Made = TypeVar("Made")


def plain(value: object) -> Any:
    """A value as JSON can hold it."""
    if is_dataclass(value) and not isinstance(value, type):
        return plain(asdict(value))
    if isinstance(value, dict):
        return {str(name): plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(each) for each in value]
    if value is None or isinstance(value, str | int | float | bool):
        return str(value) if isinstance(value, str) else value
    if isinstance(value, timedelta):
        return value.total_seconds()
    return str(value)


def row_of(hit: Any) -> Plain:
    record = hit.record
    return {
        "address": hit.address, "id": hit.id, "book": hit.address.partition("://")[2].partition("#")[0], "text": "(labelled secret)" if record.is_secret else record.text, "key": record.key,
        "kind": record.kind.value, "scope": hit.scope.value, "confidence": record.confidence.value if record.confidence else "", "weight": record.weight,
        "tags": list(record.tags), "source": record.source or "", "added": str(record.added or ""), "path": hit.path, "line": hit.line,
        "waits": record.needs_confirmation, "repositorys": hit.is_repositorys, "secret": record.is_secret,
    }  # fmt: skip


def facts_of(session: Any) -> Plain:
    return {"id": session.id, "agent": session.agent, "project": session.project, "title": session.title or "", "started": str(session.started or ""), "ended": str(session.ended or ""), "branch": session.branch or "", "cwd": session.cwd or ""}  # fmt: skip


def listed_of(listed: Any) -> Plain:
    return {**facts_of(listed.session), "turns_count": listed.turns, "prompts": listed.prompts, "commands": listed.commands, "failures": listed.failures, "first": listed.first, "active": listed.active}  # fmt: skip


def cited_turns(text: str, session: str) -> list[int]:
    """The turns of a session that a line rests on."""
    found = re.findall(r"([0-9A-Za-z_.-]{4,})#(\d+)", text)
    return [int(number) for name, number in found if session.startswith(name)]


def learnt_from(handbook: str, session: str) -> list[str]:
    """The first lines of a handbook that rest on a session: what somebody wants, then what went wrong."""
    lines = [
        line[2:]
        for line in handbook.split("\n")
        if line.startswith("- ") and session[:8] in line and cited_turns(line, session)
    ]
    telling = [line for line in lines if ", the user " in line or " -> " in line]
    return [core_of(line) for line in dict.fromkeys([*telling, *lines])][:_LEARNT]


def handle_in(selector: str) -> str:
    """What names a record in its notebook: the handle of an address, or what was given."""
    return selector.rpartition("#")[2] if selector.startswith("memory://") else selector


def allowed(path: str) -> str:
    """A path of the journal as its protocol allows it. Raises BadInput for any other."""
    if path == "MEMORY.md" or re.fullmatch(r"memory/\d{4}-\d{2}-\d{2}\.md", path):
        return path
    raise BadInput("path must be MEMORY.md or memory/YYYY-MM-DD.md")


class WorkedOut:
    """What takes a while to work out, by name, with what tells whether it still holds."""

    def __init__(self) -> None:
        self._made: dict[str, tuple[str, Any]] = {}

    def once(self, name: str, stamp: str, make: Callable[[], Made]) -> Made:
        """It, made anew where the stamp is another."""
        if name not in self._made or self._made[name][0] != stamp:
            self._made[name] = (stamp, make())
        made: Made = self._made[name][1]
        return made
