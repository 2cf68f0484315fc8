"""Asking models in a run of learning. Without an answer everything goes on as it does without a model."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from byheart import prompts
from byheart.domain.models import ChatModel, Models, NoAnswer
from byheart.domain.values import dataclass
from byheart.learning.model import answers, questions
from byheart.learning.model.proving import proved
from byheart.learning.model.wording import worded
from byheart.text.slugs import short_digest

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import TypeVar

    from byheart.domain.handbook import Extract, Handbook, Written
    from byheart.domain.learning import LearnReport
    from byheart.domain.ports import Scanner
    from byheart.domain.sessions import Listed, Turn
    from byheart.learning.handbook_files import HandbookFiles

    Meant = TypeVar("Meant")

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
        problems = [f"{self.off}; learnt without it, to be asked again the next time"] if self.off else []
        if self.unusable:
            problems.append(
                f"{self.unusable} of its answers could not be used; what they were about is learnt without it"
            )
        return "; ".join(problems)

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
        system, prompt = questions.about_session(thread, turns, self.models.characters, clean)
        told = self._understood(self.models.extracting, system, clean(prompt), answers.of_session)
        if told is None:
            return offline, not self.off
        extract, fallen = proved(told, offline, listed.session, turns, project)
        report.unproved += fallen
        return extract, True

    def about_project(
        self, own_handbook: HandbookFiles, every: Sequence[Written], handbook: Handbook, is_fine: Callable[[str], bool]
    ) -> tuple[Handbook, str | None]:
        """A handbook in a model's words where it has any; and what to keep of its answer, so that it is not asked again
        about the same."""
        if not every:
            return handbook, None
        prompt = self.scanner.redacted(questions.about_project(every, self.models.characters))
        digest = short_digest(self.models.consolidating.id, prompt)
        kept = _kept(own_handbook, digest)
        if kept is None and not self.off:
            told = self._understood(self.models.consolidating, "", prompt, answers.of_project)
            kept = json.dumps(told) if told is not None else None
        if kept is None:
            return handbook, None
        clean = self.scanner.redacted(kept)
        try:
            lists = answers.of_project(clean)
        except answers.BadAnswer:
            # Blanking a secret out broke it.
            return handbook, None
        threads = [each.thread.id for each in every]
        return worded(handbook, lists, prompt, threads, is_fine), json.dumps({"of": digest, "answer": clean}) + "\n"

    def _understood(self, model: ChatModel, system: str, prompt: str, meaning: Callable[[str], Meant]) -> Meant | None:
        """A model's answer as values: asked once more where it did not keep to the contract; None where it gave none."""
        question = prompt
        for _ in range(2):
            try:
                self.asked += 1
                return meaning(model.answer(system, question))
            except NoAnswer as error:
                if not error.for_this_alone:
                    self.off = self.scanner.redacted(str(error))
                    return None
                break
            except answers.BadAnswer as error:
                question = f"{prompt}\n\n{prompts.filled('again', problem=str(error))}"
        self.unusable += 1
        return None


def _kept(own_handbook: HandbookFiles, digest: str) -> str | None:
    """What a model answered to this very question before."""
    try:
        told = json.loads(own_handbook.context.files.read(own_handbook.root.own(WORDING)).text or "{}")
        return str(told["answer"]) if told["of"] == digest else None
    except (ValueError, KeyError, TypeError):
        return None
