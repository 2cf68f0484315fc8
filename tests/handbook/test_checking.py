"""byheart check handbook: every strict rule, each broken once in a handbook that is otherwise sound."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from byheart.handbook.checking_summary import check

ROLLOUT = "rollout_summaries/2026-05-01T10-30-00-abcd-oven.md"
SOUND = {
    "MEMORY.md": f"""# Task Group: bakery: oven
scope: the oven; use it for work on the oven
applies_to: cwd=/srv/bakery; reuse_rule=holds for this checkout

## Task 1: mend the oven, success

- Related skill: skills/verify-bakery/SKILL.md

### rollout_summary_files

- {ROLLOUT} (cwd=/srv/bakery, rollout_path=/x, y/z.jsonl, updated_at=2026-05-01T10:30:00+00:00, thread_id=5e550001, codex)

### keywords

- oven.py, make test

## User preferences

- when baking, the user said: "use rye" -> use rye [Task 1]

## Reusable knowledge

- `make test` runs the tests [Task 1]

## Failures and how to do differently

- it burnt -> too hot -> 180 degrees [Task 1]
""",
    "memory_summary.md": """## User Profile

A baker.

## User preferences

- when baking, the user said: "use rye" -> use rye

## General Tips

- taste it

## What's in Memory

### bakery (cwd=/srv/bakery)

#### 2026-05-01

- bakery oven: oven.py, make test
  - desc: the oven; search it first for ovens
  - learnings: it burnt

### Older Memory Topics
""",
    "raw_memories.md": """# Raw Memories

Merged stage-1 raw memories (stable ascending thread-id order):

## Thread `5e550001`
updated_at: 2026-05-01T10:30:00+00:00
cwd: /srv/bakery
rollout_path: /x/y.jsonl
rollout_summary_file: 2026-05-01T10-30-00-abcd-oven.md

---
description: mended the oven
task: mend the oven
task_group: bakery: oven
task_outcome: success
cwd: /srv/bakery
keywords: oven.py
---

### Task 1: mend the oven

task: mend the oven
""",
    ROLLOUT: "thread_id: 5e550001\nupdated_at: 2026-05-01T10:30:00+00:00\nrollout_path: /x\ncwd: /srv/bakery\n\n# Mended\n",
    "skills/verify-bakery/SKILL.md": """---
name: verify-bakery
description: "check the bread"
---

# verify-bakery

## When to use

- bread

## Inputs and context to gather

- flour

## Procedure

1. Run `sh scripts/verify.sh`.

## Efficiency plan

- once

## Pitfalls and fixes

- a -> b -> c

## Verification checklist

- [ ] it rose
""",
    "skills/verify-bakery/scripts/verify.sh": "#!/bin/sh\nmake test\n",
    "extensions/ad_hoc/notes/2026-05-01T10-30-00-cat.md": "feed the cat\n",
}


def swap(path: str, old: str, new: str) -> Callable[[dict[str, str]], None]:
    def change(files: dict[str, str]) -> None:
        assert old in files[path]
        files[path] = files[path].replace(old, new, 1)

    return change


def gone(path: str) -> Callable[[dict[str, str]], None]:
    return lambda files: files.pop(path)  # type: ignore[return-value]


def put(path: str, text: str) -> Callable[[dict[str, str]], None]:
    return lambda files: files.update({path: text})


M, S, R, K = "MEMORY.md", "memory_summary.md", "raw_memories.md", "skills/verify-bakery/SKILL.md"
BROKEN = [
    ("missing", gone(M)),
    ("missing", gone(S)),
    ("block-start", swap(M, "# Task Group: bakery", "hello\n\n# Task Group: bakery")),
    ("block-start", swap(M, "# Task Group: bakery: oven", "# Oven")),
    ("placeholder", swap(M, "# Task Group: bakery: oven", "# Task Group: misc")),
    ("scope", swap(M, "scope: the oven; use it for work on the oven\n", "")),
    ("placeholder", swap(M, "scope: the oven; use it for work on the oven", "scope: general")),
    ("applies-to", swap(M, "applies_to: cwd=/srv/bakery; reuse_rule=holds for this checkout\n", "")),
    ("applies-to", swap(M, "cwd=/srv/bakery; reuse_rule", "reuse_rule")),
    ("applies-to", swap(M, "; reuse_rule=holds for this checkout", "")),
    ("placeholder", swap(M, "applies_to: cwd=/srv/bakery;", "applies_to: cwd=;")),
    ("shape", swap(M, "\n## Task 1", "a loose line\n\n## Task 1")),
    ("no-task", swap(M, "## Task 1: mend the oven, success", "## Something: mend the oven")),
    ("numbering", swap(M, "## Task 1: mend", "## Task 2: mend")),
    ("placeholder", swap(M, "## Task 1: mend the oven, success", "## Task 1: task")),
    ("placeholder", swap(M, "## Task 1: mend the oven, success", "## Task 1: misc, success")),
    ("order", swap(M, "## User preferences", "## Reusable knowledge\n\n- early\n\n## User preferences")),
    ("order", lambda files: files.update({M: files[M] + "\n## Task 2: late, success\n\n### rollout_summary_files\n\n### keywords\n\n- late\n"})),
    ("twice", swap(M, "## Reusable knowledge", "## User preferences\n\n- again\n\n## Reusable knowledge")),
    ("shape", swap(M, "## Reusable knowledge", "## Other things\n\n- x\n\n## Reusable knowledge")),
    ("task-parts", swap(M, "### keywords\n\n- oven.py, make test\n", "")),
    ("task-parts", swap(M, "### rollout_summary_files", "### files")),
    ("source", swap(M, "cwd=/srv/bakery, rollout_path", "rollout_path")),
    ("source", swap(M, "rollout_path=/x, y/z.jsonl, ", "")),
    ("source", swap(M, "updated_at=2026-05-01T10:30:00+00:00", "updated_at=soon")),
    ("source", swap(M, f"- {ROLLOUT} (", f"- {ROLLOUT} [")),
    ("source", swap(M, f"- {ROLLOUT} (", "- ../secrets.md (")),
    ("dangling", gone(ROLLOUT)),
    ("keywords", swap(M, "- oven.py, make test", "- oven.py\n- make test")),
    ("placeholder", swap(M, "- oven.py, make test", "- oven.py, , make test")),
    ("bullets", swap(M, "- `make test` runs the tests", "* `make test` runs the tests")),
    ("bullets", swap(M, "- `make test` runs the tests", "`make test` runs the tests")),
    ("bold", swap(M, "it burnt", "it **burnt** badly")),
    ("task-ref", swap(M, "use rye [Task 1]", "use rye [Task 3]")),
    ("twice", swap(M, "- it burnt -> too hot -> 180 degrees [Task 1]\n", "- it burnt -> too hot -> 180 degrees [Task 1]\n- it burnt -> too hot -> 180 degrees\n")),
    ("empty", swap(M, "- `make test` runs the tests [Task 1]\n", "")),
    ("dangling", gone(K)),
    ("skill-name", swap(M, "skills/verify-bakery/", "skills/Verify_Bakery/")),
    ("twice", lambda files: files.update({M: files[M] + "\n" + files[M]})),
    ("summary-start", swap(S, "## User Profile", "hello\n\n## User Profile")),
    ("summary-sections", swap(S, "## General Tips", "## Tips")),
    ("summary-sections", swap(S, "\n### Older Memory Topics\n", "")),
    ("profile-length", swap(S, "A baker.", "word " * 501)),
    ("empty", swap(S, "A baker.\n", "")),
    ("bullets", swap(S, "- taste it", "taste it")),
    ("twice", swap(S, "- taste it\n", "- taste it\n- Taste it.\n")),
    ("bold", swap(S, "taste it", "**taste** it")),
    ("day", swap(S, "#### 2026-05-01", "#### yesterday")),
    ("day", swap(S, "#### 2026-05-01", "#### 2026-13-41")),
    ("order", swap(S, "#### 2026-05-01", "#### 2026-04-01\n\n- other: make test\n  - desc: d\n  - learnings: l\n\n#### 2026-05-01")),
    ("recent-days", swap(S, "### Older", "".join(f"#### 2026-04-0{n}\n\n- t{n}: make test\n  - desc: d\n  - learnings: l\n\n" for n in (3, 2, 1)) + "### Older")),
    ("topic", swap(S, "  - desc: the oven; search it first for ovens\n", "")),
    ("topic", swap(S, "  - learnings: it burnt\n", "")),
    ("topic", swap(S, "- bakery oven: oven.py, make test", "bakery oven")),
    ("placeholder", swap(S, "- bakery oven: oven.py, make test", "- misc: oven.py")),
    ("keyword-search", swap(S, "oven.py, make test", "oven.py, nowhere to be found")),
    ("coverage", lambda files: files.update({M: files[M] + "\n" + files[M].replace("bakery: oven", "bakery: zeppelins").replace("oven", "balloon").replace("make test", "fly it")})),
    ("twice", swap(S, "### Older Memory Topics\n", "### Older Memory Topics\n\n#### bakery\n\n- bakery oven: oven.py\n  - desc: again\n")),
    ("order", swap(S, "### Older Memory Topics\n", "### Older Memory Topics\n\n### late scope\n")),
    ("raw-start", swap(R, "# Raw Memories", "# Memories")),
    ("raw-order", lambda files: files.update({R: files[R] + files[R][files[R].index("## Thread"):].replace("5e550001", "5e550000").replace("2026-05-01T10:30:00+00:00", "2026-06-01T10:30:00+00:00")})),
    ("raw-head", swap(R, "cwd: /srv/bakery\nrollout_path", "rollout_path")),
    ("dangling", swap(R, "rollout_summary_file: 2026", "rollout_summary_file: 2027")),
    ("raw-front", swap(R, "task_group: bakery: oven\n", "")),
    ("raw-outcome", swap(R, "task_outcome: success", "task_outcome: splendid")),
    ("raw-task", swap(R, "### Task 1: mend the oven", "### The task")),
    ("raw-preferences", swap(R, "### Task 1", "## User preferences\n\n- x\n\n### Task 1")),
    ("rollout-name", put("rollout_summaries/oven.md", SOUND[ROLLOUT])),
    ("rollout-head", put("rollout_summaries/2026-05-02T10-30-00-abcd.md", "# just text\n")),
    ("skill-front", swap(K, "---\nname", "name")),
    ("skill-name", swap(K, "name: verify-bakery", "name: Verify Bakery")),
    ("skill-name", swap(K, "name: verify-bakery", "name: another-name")),
    ("skill-name", swap(K, "name: verify-bakery", f"name: {'a' * 65}")),
    ("skill-description", swap(K, 'description: "check the bread"\n', "")),
    ("skill-field", swap(K, "---\n\n# verify", "colour: red\n---\n\n# verify")),
    ("skill-field", swap(K, "---\n\n# verify", "user-invocable: maybe\n---\n\n# verify")),
    ("skill-length", lambda files: files.update({K: files[K] + "x\n" * 500})),
    ("skill-section", swap(K, "## Efficiency plan", "## Other")),
    ("skill-section", swap(K, "1. Run `sh", "- Run `sh")),
    ("dangling", gone("skills/verify-bakery/scripts/verify.sh")),
    ("skill-shape", put("skills/verify-bakery/notes.txt", "x")),
    ("skill-shape", put("skills/other/scripts/x.sh", "x")),
    ("note-name", put("extensions/ad_hoc/notes/cat.md", "x")),
]  # fmt: skip


def test_sound_handbook_has_no_finding() -> None:
    assert check(SOUND) == []


@pytest.mark.parametrize(
    ("rule", "change"), BROKEN, ids=[f"{number}-{rule}" for number, (rule, _) in enumerate(BROKEN)]
)
def test_each_rule_is_held_with_its_file_and_line(rule: str, change: Callable[[dict[str, str]], None]) -> None:
    files = dict(SOUND)
    change(files)
    found = check(files)
    assert rule in {each.rule for each in found}, found
    mine = next(each for each in found if each.rule == rule)
    assert mine.place
    assert mine.message


def test_handbook_of_codex_is_read_in_both_eras() -> None:
    newer = dict(SOUND)
    newer[S] = "v1\n\n" + newer[S]
    newer[M] = newer[M].replace(f"- {ROLLOUT} (", f"- <{ROLLOUT}> (")
    assert check(newer) == []


def test_bold_in_code_and_names_is_no_bold() -> None:
    files = dict(SOUND)
    files[M] = files[M].replace(
        "`make test` runs the tests", "`make **all**` and src/**/*.ts and __init__.py run the tests"
    )
    assert check(files) == []
