"""Asking models in a run of learning. Without an answer everything goes on as it does without a model."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from byheart.domain.handbook import Bullet, Extract
from byheart.domain.learning import ChatModel, Models, NoAnswer, Spent
from byheart.domain.sessions import Speaker, Turn
from byheart.domain.values import dataclass, replace
from byheart.handbook import raw
from byheart.handbook.phrases import bullet_of, one_line
from byheart.learning.model_answers import proved, worded
from byheart.text.slugs import short_digest

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import TypeVar

    from byheart.domain.handbook import Handbook, Written
    from byheart.domain.learning import LearnReport, Prompts
    from byheart.domain.ports import Scanner
    from byheart.domain.sessions import Listed
    from byheart.learning.handbook_files import HandbookFiles

    Meant = TypeVar("Meant")
    from collections.abc import Iterator

# The answers of both phases, for servers that can be held to a form.
SESSION_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {name: {"type": "string"} for name in ("rollout_summary", "rollout_slug", "raw_memory")},
    "required": ["rollout_summary", "rollout_slug", "raw_memory"],
    "additionalProperties": False,
}
_TEXTS = {"type": "array", "items": {"type": "string"}}
PROJECT_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "profile": _TEXTS,
        **{name: {"type": "array", "items": {"type": "object"}} for name in ("tips", "blocks", "skills")},
    },
    "required": ["profile", "tips", "blocks", "skills"],
    "additionalProperties": False,
}
# What a model answered for a handbook, with the digest of what it was asked, so that it is asked once.
WORDING = "wording.json"


@dataclass(slots=True)
class Asking:
    """The models of one run. One that cannot be reached is not asked again in it; its sessions wait for the next run."""

    models: Models
    scanner: Scanner
    off: str = ""
    asked: int = 0
    unusable: int = 0

    @property
    def mark(self) -> str:
        """What tells an extract that a model had a part in: another for another model."""
        return short_digest(self.models.extracting.id)[:8]

    def told(self) -> str:
        """What became of the questions of a run, in words; empty where all went well."""
        problems = (
            [f"{self.off}; what is left is learnt without the model, which is asked again the next time"]
            if self.off
            else []
        )
        if self.unusable:
            problems.append(
                f"{self.unusable} of its answers could not be used; what they were about is learnt without it"
            )
        return "; ".join(problems)

    def report(self, report: LearnReport) -> None:
        """Put into a report how often models were asked, what it came to, and what went wrong."""
        spent = {id(model): model.spent for model in (self.models.extracting, self.models.consolidating)}.values()
        report.asked, report.model = self.asked, self.told()
        report.tokens = sum(each.input_tokens + each.output_tokens for each in spent)

    def about_session(
        self,
        thread: str,
        listed: Listed,
        turns: Sequence[Turn],
        offline: Extract | None,
        project: str,
        report: LearnReport,
    ) -> tuple[Extract | None, bool]:
        """What a session taught, with a model's help; and whether it helped. False: ask it again another time."""
        if self.off:
            return offline, False
        clean = self.scanner.redacted
        system, prompt = about_session(thread, turns, self.models.characters, clean, self.models.prompts)
        told = self._understood(self.models.extracting, system, clean(prompt), of_session, SESSION_SCHEMA)
        if told is None:
            return offline, not self.off
        extract, fallen = proved(told, offline, listed.session, turns, project)
        report.unproved += fallen
        return extract, True

    def estimate(self, thread: str, turns: Sequence[Turn]) -> int:
        """About how many tokens the question about a session comes to."""
        system, prompt = about_session(thread, turns, self.models.characters, lambda text: text, self.models.prompts)
        return (len(system) + len(prompt)) // 4

    def about_project(
        self,
        own_handbook: HandbookFiles,
        every: Sequence[Written],
        handbook: Handbook,
        is_fine: Callable[[str], bool],
        before: tuple[str, str] = ("", ""),
    ) -> tuple[Handbook, str | None]:
        """A handbook in a model's words where it has any; and what to keep of its answer, so that it is not asked again
        about the same. `before` is the summary as it is, and which sessions are new, stay and go."""
        if not every:
            return handbook, None
        prompts = self.models.prompts
        # What is new since the last time is another every time, so it does not tell one question from another.
        digest = short_digest(
            self.models.consolidating.id, self.scanner.redacted(about_project(every, self.models.characters, prompts))
        )
        prompt = self.scanner.redacted(about_project(every, self.models.characters, prompts, before))
        kept = _kept(own_handbook, digest)
        if kept is None and not self.off:
            told = self._understood(self.models.consolidating, "", prompt, of_project, PROJECT_SCHEMA)
            kept = json.dumps(told) if told is not None else None
        if kept is None:
            return handbook, None
        clean = self.scanner.redacted(kept)
        try:
            lists = of_project(clean)
        except BadAnswer:
            # Blanking a secret out broke it.
            return handbook, None
        threads = [each.thread.id for each in every]
        material = "\n".join(f"{each.raw_memory}\n{each.rollout_summary}" for each in every)
        return worded(handbook, lists, material, threads, is_fine), json.dumps({"of": digest, "answer": clean}) + "\n"

    def _understood(
        self, model: ChatModel, system: str, prompt: str, meaning: Callable[[str], Meant], schema: Mapping[str, Any]
    ) -> Meant | None:
        """A model's answer as values: asked once more where it did not keep to the contract; None where it gave none, or where a limit
        of what it may cost is reached."""
        question = prompt
        for _ in range(2):
            if limit := self.models.budget.reached():
                self.off = limit
                return None
            try:
                self.asked += 1
                return meaning(self._paid(model, system, question, schema))
            except NoAnswer as error:
                if not error.for_this_alone:
                    self.off = self.scanner.redacted(str(error))
                    return None
                break
            except BadAnswer as error:
                question = f"{prompt}\n\n{self.models.prompts.filled('again', problem=str(error))}"
        self.unusable += 1
        return None

    def _paid(self, model: ChatModel, system: str, question: str, schema: Mapping[str, Any]) -> str:
        """A model's answer, with what it cost counted."""
        before = replace(model.spent)
        try:
            return model.answer(system, question, schema)
        finally:
            spent = model.spent
            used = Spent(
                spent.requests - before.requests,
                spent.input_tokens - before.input_tokens,
                spent.output_tokens - before.output_tokens,
                spent.cost - before.cost,
            )
            # A question without an answer counts as one, too: a server that fails is not asked for ever.
            used.requests = max(1, used.requests)
            self.models.budget.note(used)


def _kept(own_handbook: HandbookFiles, digest: str) -> str | None:
    """What a model answered to this very question before."""
    try:
        told = json.loads(own_handbook.context.files.read(own_handbook.root.own(WORDING)).text or "{}")
        return str(told["answer"]) if told["of"] == digest else None
    except (ValueError, KeyError, TypeError):
        return None


_FROM = {Speaker.USER: "user", Speaker.ASSISTANT: "agent", Speaker.TOOL: "tool", Speaker.SYSTEM: "client"}
# How long a text and a tool's output may be, from generous to scant: the first that fits is taken.
# What a line may cost besides: a sign for turns that are left out before it.
_GAP = 30
_CUTS = ((12_000, 4_000), (6_000, 1_500), (3_000, 600), (1_500, 200), (600, 80))


def about_session(
    thread: str, turns: Sequence[Turn], most: int, clean: Callable[[str], str], prompts: Prompts
) -> tuple[str, str]:
    """The two parts of phase 1's question: what holds for every session, and this one's record. `clean` takes secrets out."""
    system = prompts.template("stage_one_system")
    room = most - len(system) - len(prompts.template("stage_one_input"))
    items = record(turns, room, clean)
    return system, prompts.filled("stage_one_input", thread_id=thread, response_items_json=items)


def record(turns: Sequence[Turn], most: int, clean: Callable[[str], str]) -> str:
    """A session as JSON, in no more than so many characters: first outputs get shorter, then turns in the middle are left out, those of
    people and those that failed last."""
    every = [turn for turn in turns if turn.is_evidence]
    lines: list[str] = []
    for text, output in _CUTS:
        lines = [json.dumps(_item(turn, text, output, clean), ensure_ascii=False) for turn in every]
        if sum(map(len, lines)) + 2 * len(lines) <= most:
            return _list(lines)
    return _cut_to(lines, [turn.is_own_words or bool(turn.failed) or bool(turn.exit) for turn in every], most)


def _cut_to(lines: Sequence[str], weighty: Sequence[bool], most: int) -> str:
    """The first and the last of these lines, and of those between what weighs most; where turns are left out, how many."""
    left = most - 200
    ends = [place // 2 if place % 2 == 0 else len(lines) - 1 - place // 2 for place in range(len(lines))]
    chosen: set[int] = set()
    # Half of the room is for what people said and what went wrong, wherever it stands.
    for wanted, share in (([at for at in ends if weighty[at]], 0.5), (ends, 1.0)):
        room = left * share
        for at in wanted:
            cost = len(lines[at]) + _GAP
            if at in chosen or cost > room:
                continue
            chosen.add(at)
            room -= cost
            left -= cost
    kept: list[str] = []
    missing = 0
    for at, line in enumerate(lines):
        if at not in chosen:
            missing += 1
            continue
        if missing:
            kept.append(json.dumps({"left out": f"{missing} turns"}))
            missing = 0
        kept.append(line)
    return _list([*kept, json.dumps({"left out": f"{missing} turns"})] if missing else kept)


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


def about_project(every: Sequence[Written], most: int, prompts: Prompts, before: tuple[str, str] = ("", "")) -> str:
    """Phase 2's question: the summary as it is, which sessions are new, and as many of the newest extracts as there is room for."""
    summary, changes = (text[: most // 8] for text in before)
    room = most - len(prompts.template("consolidation")) - len(summary) - len(changes)
    newest = sorted(every, key=lambda each: (-each.thread.updated.timestamp(), each.thread.id))
    chosen: list[Written] = []
    for each in newest:
        room -= len(each.raw_memory) + len(each.rollout_summary) + 500
        if room < 0 and chosen:
            break
        chosen.append(each)
    summaries = "\n".join(raw.rollout_file(each) for each in chosen)
    return prompts.filled(
        "consolidation",
        raw_memories=raw.merged(chosen),
        rollout_summaries=summaries,
        memory_summary=summary or "(none yet)",
        thread_diff=changes or "(none)",
    )


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
