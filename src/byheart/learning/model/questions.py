"""What a model is asked: a session as a list of who said and did what, within a budget; a project's extracts as they are."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from byheart import prompts
from byheart.domain.sessions import Speaker, Turn
from byheart.handbook import raw

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from byheart.domain.handbook import Written

_FROM = {Speaker.USER: "user", Speaker.ASSISTANT: "agent", Speaker.TOOL: "tool", Speaker.SYSTEM: "client"}
# How long a text and a tool's output may be, from generous to scant: the first that fits is taken.
_CUTS = ((12_000, 4_000), (6_000, 1_500), (3_000, 600), (1_500, 200), (600, 80))


def about_session(thread: str, turns: Sequence[Turn], most: int, clean: Callable[[str], str]) -> tuple[str, str]:
    """The two parts of phase 1's question: what holds for every session, and this one's record. `clean` takes secrets out."""
    system = prompts.template("stage_one_system")
    room = most - len(system) - len(prompts.template("stage_one_input"))
    items = record(turns, room, clean)
    return system, prompts.filled("stage_one_input", thread_id=thread, response_items_json=items)


def record(turns: Sequence[Turn], most: int, clean: Callable[[str], str]) -> str:
    """A session as JSON, in no more than so many characters: first outputs get shorter, then the middle is left out."""
    lines: list[str] = []
    for text, output in _CUTS:
        lines = [json.dumps(_item(turn, text, output, clean), ensure_ascii=False) for turn in turns if turn.is_evidence]
        if sum(map(len, lines)) + 2 * len(lines) <= most:
            return _list(lines)
    return _without_middle(lines, most)


def _without_middle(lines: Sequence[str], most: int) -> str:
    head: list[str] = []
    tail: list[str] = []
    left = most - 100
    rest = list(lines)
    while rest:
        line = rest.pop(0) if len(head) <= len(tail) else rest.pop()
        left -= len(line) + 2
        if left < 0:
            break
        (head if len(head) <= len(tail) else tail).append(line)
    gap = json.dumps({"left out": f"{len(lines) - len(head) - len(tail)} turns"})
    return _list([*head, gap, *reversed(tail)])


def _list(lines: Sequence[str]) -> str:
    return "[" + ",\n".join(lines) + "]"


def _item(turn: Turn, text: int, output: int, clean: Callable[[str], str]) -> dict[str, object]:
    who = "client" if turn.synthetic is not None and turn.speaker is Speaker.USER else _FROM[turn.speaker]
    found: dict[str, object] = {"turn": turn.number, "from": "tool" if turn.tool else who}
    if turn.text:
        found["text"] = clean(_cut(turn.text, text))
    if turn.tool:
        found["tool"] = turn.tool
        told = turn.command or turn.arguments
        if told:
            found["command" if turn.command else "arguments"] = clean(_cut(told, output))
        if turn.output:
            found["output"] = clean(_cut(turn.output, output))
        if turn.exit is not None:
            found["exit"] = turn.exit
        elif turn.failed:
            found["failed"] = True
    return found


def _cut(text: str, most: int) -> str:
    """A text's beginning and end: that is where commands say what they do and how it ended."""
    if len(text) <= most:
        return text
    return f"{text[: most // 2]} […] {text[-(most // 2) :]}"


def about_project(every: Sequence[Written], most: int) -> str:
    """Phase 2's question: as many of the newest extracts as there is room for."""
    room = most - len(prompts.template("consolidation"))
    newest = sorted(every, key=lambda each: (-each.thread.updated.timestamp(), each.thread.id))
    chosen: list[Written] = []
    for each in newest:
        room -= len(each.raw_memory) + len(each.rollout_summary) + 500
        if room < 0 and chosen:
            break
        chosen.append(each)
    summaries = "\n".join(raw.rollout_file(each) for each in chosen)
    return prompts.filled("consolidation", raw_memories=raw.merged(chosen), rollout_summaries=summaries)
