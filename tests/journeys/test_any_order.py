"""Changes in any order, checked against a model after each: nothing lost, nothing invented, undo exact, forgotten gone."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from byheart.domain.errors import NotUndoable
from byheart.domain.records import Request, Scope
from byheart.testing import Bench
from byheart.text.lines import yaml_fences

KEYS = st.sampled_from(["a.x", "a.y", "lessons.z", "b.long-name"])
VALUES = st.sampled_from(
    ["concise", "two words", "x: y # z", "päper 中文", "'quoted' \"twice\"", "- dash", "120", "true"]
)
SUBJECTS = st.sampled_from(["build", "tests", "docs"])
START = "Intro by hand.\n\n```yaml\n# mine\nsaved_memory:\n  items: []  # none yet\n```\n\nOutro.\n"


class Notebook(RuleBasedStateMachine):
    """Two notebooks in a repository, a person who edits them too, and what they should hold."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.mkdtemp()
        self.bench = Bench(self.folder)
        self.profile_file = Path(self.bench.put("memories.md", START))
        self.rules_file = Path(self.bench.put("docs/memory/memories.ndjson", ""))
        self.memory = self.bench.memory
        self.entries: dict[str, str] = {}
        self.weights: dict[str, int] = {}
        self.prose = ["Intro by hand.", "# mine", "Outro."]
        self.previous: tuple[bytes, bytes, dict[str, str], dict[str, int]] | None = None

    def teardown(self) -> None:
        shutil.rmtree(self.folder)

    def _mark(self) -> None:
        self.previous = (
            self.profile_file.read_bytes(),
            self.rules_file.read_bytes(),
            dict(self.entries),
            dict(self.weights),
        )

    @rule(key=KEYS, value=VALUES)
    def remember_preference(self, key: str, value: str) -> None:
        self._mark()
        done = self.memory.remember(Request(text=value, key=key, value=value))
        self.entries[key] = value
        if done.action == "unchanged":
            self.previous = None

    @rule(subject=SUBJECTS)
    def remember_rule(self, subject: str) -> None:
        self._mark()
        self.memory.remember(Request(text=f"Never skip {subject}.", triple=(subject, "avoid", "skip")))
        self.weights[subject] = self.weights.get(subject, 0) + 1

    @precondition(lambda self: self.entries)
    @rule(data=st.data())
    def forget_preference(self, data: st.DataObject) -> None:
        key = data.draw(st.sampled_from(sorted(self.entries)))
        self.memory.forget(key, scope=Scope.LOCAL)
        del self.entries[key]
        self.previous = None

    @precondition(lambda self: self.weights)
    @rule(data=st.data())
    def forget_rule(self, data: st.DataObject) -> None:
        subject = data.draw(st.sampled_from(sorted(self.weights)))
        self.memory.forget(f"{subject}|avoid|skip")
        del self.weights[subject]
        log = "".join(path.read_text(encoding="utf-8") for path in Path(self.bench.home).rglob("*.ndjson"))
        assert f"Never skip {subject}" not in log
        self.previous = None

    @rule(on=st.booleans())
    def switch(self, on: bool) -> None:
        self._mark()
        if self.memory.switch("announce_writes", on=on).action == "unchanged":
            self.previous = None

    @rule(word=st.sampled_from(["one", "two"]))
    def person_writes(self, word: str) -> None:
        line = f"A person's line {word}{len(self.prose)}."
        self.profile_file.write_text(self.profile_file.read_text(encoding="utf-8") + line + "\n", encoding="utf-8")
        self.prose.append(line)
        self.previous = None

    @precondition(lambda self: self.previous)
    @rule()
    def undo(self) -> None:
        assert self.previous is not None
        try:
            self.memory.undo()
        except NotUndoable as error:
            raise AssertionError(str(error)) from None
        profile, rules, self.entries, self.weights = self.previous
        assert self.profile_file.read_bytes() == profile
        assert (self.rules_file.read_bytes() if self.rules_file.exists() else b"") == rules
        self.previous = None

    @invariant()
    def holds_what_was_said(self) -> None:
        listing = self.memory.list(scopes=(Scope.LOCAL,))
        assert listing.problems == ()
        found = {hit.record.key: hit.record.value for hit in listing.hits if hit.dialect == "yaml-block"}
        weights = {hit.record.triple[0]: hit.record.weight for hit in listing.hits if hit.record.triple}
        assert (found, weights) == (self.entries, self.weights)

    @invariant()
    def keeps_every_human_line(self) -> None:
        text = self.profile_file.read_text(encoding="utf-8")
        assert [line for line in self.prose if line not in text] == []
        assert len(yaml_fences(text)) == 1


TestNotebook = Notebook.TestCase
TestNotebook.settings = settings(max_examples=60, stateful_step_count=14, deadline=None)
