"""Taking over agents' own memory: every format, once."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from byheart.testing import Bench
from tests.conftest import Cli

TOKEN = "ghp_" + "R7tYq2Lm9Xc4Vb8Nw1Kd5Hs3Jf6Pz0Ga1Bc2"
OLDER = """---
name: Use pnpm
description: package manager choice
type: feedback
originSessionId: 5da1c0de-0000-4000-8000-000000000001
---
Use pnpm rather than npm here. **Why:** the lock file. See [[other-name]].
"""
NEWER = """---
name: ship-on-tuesdays
description: "when to ship"
metadata:
  node_type: memory
  type: project
  originSessionId: 5da1c0de-0000-4000-8000-000000000002
  modified: 2026-07-30T07:40:18.191Z
---
Releases go out on Tuesdays.

- after the stand-up
- never before a holiday
"""


def seeded(bench: Bench) -> dict[str, str]:
    """A home in which every agent remembered something: a telling word of each, by agent."""
    home, dashed = Path(bench.folder), re.sub(r"[^A-Za-z0-9]", "-", str(Path(bench.project).resolve()))
    banked = "--" + str(Path(bench.project).resolve()).strip("/").replace("/", "-") + "--"
    here = str(Path(bench.project).resolve())
    files = {
        f".claude/projects/{dashed}/memory/use-pnpm.md": OLDER,
        f".claude/projects/{dashed}/memory/ship.md": NEWER,
        f".claude/projects/{dashed}/memory/MEMORY.md": "- [Use pnpm](use-pnpm.md) — index line\n",
        ".claude/projects/-somewhere-else/memory/x.md": "kryptonite is another project's\n",
        ".codex/memories/memory_summary.md": "## User Profile\n\nx\n\n## User preferences\n\n- wants short answers with ocelots\n\n## General Tips\n\n- ripgrep before grep\n\n## What's in Memory\n\n- not this\n",
        ".codex/memories/MEMORY.md": f"# Task Group: shop\n\nscope: x\napplies_to: cwd={here}; reuse_rule=y\n\n## Reusable knowledge\n\n- the capybara build needs node 24 [Task 1]\n\n# Task Group: other\n\napplies_to: cwd=/elsewhere; reuse_rule=y\n\n## User preferences\n\n- wants short answers with ocelots\n\n## Reusable knowledge\n\n- kryptonite elsewhere\n\n# Task Group: third\n\napplies_to: cwd=/third; reuse_rule=y\n\n## User preferences\n\n- wants short answers with ocelots\n- ripgrep before grep\n\n# Task Group: fourth\n\napplies_to: cwd=/fourth; reuse_rule=y\n\n## User preferences\n\n- ripgrep before grep\n",
        ".codex/memories_v2/MEMORY.md": "# Task Group: a\n\napplies_to: cwd=/a; reuse_rule=y\n\n## User preferences\n\n- likes wombats in examples\n\n# Task Group: b\n\napplies_to: cwd=/b; reuse_rule=y\n\n## User preferences\n\n- likes wombats in examples\n",
        ".codex/memories_v2/memory_summary.md": "v1\n\n## User Profile\n\n## User preferences\n\n- likes wombats in examples\n\n## General Tips\n\n## What's in Memory\n",
        ".qwen/memories/user/a.md": "---\nname: tabs\ndescription: indentation\ntype: user\n---\nIndent with quokka tabs.\n",
        f".qwen/projects/{dashed}/memory/project/b.md": "The numbat service listens on 8081.\n",
        f".omp/agent/memories/{banked}/learned.md": "# Learned\n\n- run the dingo migration first _(context: fresh clone)_\n",
        ".openclaw/workspace/MEMORY.md": "# Memory\n\n- The echidna box is the build host. <!-- importance: 9 -->\n",
        ".openclaw/workspace/USER.md": "Calls the thing a platypus.\n",
        ".hermes/memories/MEMORY.md": "Deploys with the bilby script\n§\nSecond entry about koalas\n",
        ".config/goose/memory/development.txt": "# tools\nuse the kookaburra formatter\n\n# ci\nCI is on emu runners\n",
        ".gemini/GEMINI.md": "# Mine\n\n- not a memory\n\n## Gemini Added Memories\n- prefers cassowary themes\n\n## Other\n- nor this\n",
    }  # fmt: skip
    for name, text in files.items():
        path = home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return {
        "claude-code": "pnpm rather than npm", "codex": "ocelots", "qwen-code": "quokka", "oh-my-pi": "dingo", "openclaw": "echidna", "hermes": "bilby",
        "goose": "kookaburra", "gemini-cli": "cassowary",
    }  # fmt: skip


def journal(bench: Bench) -> str:
    return "\n".join(path.read_text() for path in Path(bench.home).rglob("MEMORY.md"))


def test_every_agents_memory_is_taken_over_once(bench: Bench, cli: Cli) -> None:
    words = seeded(bench)
    done = cli("import", "--agents")
    assert done.code == 0, done.err
    text = journal(bench)
    for agent, word in words.items():
        assert word in text, agent
        assert f"{agent} memory" in text
    for word in ("wombats", "capybara", "numbat", "platypus", "koalas", "emu runners", "Tuesdays", "ripgrep"):
        assert word in text, word
    for word in ("kryptonite", "not a memory", "nor this", "not this", "index line"):
        assert word not in text, word
    before = {path: path.read_bytes() for path in Path(bench.home).rglob("MEMORY.md")}
    again = cli("import", "--agents")
    assert again.code == 0 and "0 stored" in again.out and " 1 stored" not in again.out
    assert before == {path: path.read_bytes() for path in Path(bench.home).rglob("MEMORY.md")}


def test_front_matter_of_both_forms_says_when_and_in_which_session(bench: Bench, cli: Cli) -> None:
    seeded(bench)
    cli("import", "--agent", "claude-code")
    text = journal(bench)
    assert "5da1c0de-0000-4000-8000-000000000001" in text and "user-preference" in text
    assert "2026-07-30T07:40:18.191Z" in text
    assert "when to ship: Releases go out on Tuesdays." in text
    assert "ocelots" not in text, "only the agent that was named"


def test_dry_run_counts_and_stores_nothing(bench: Bench, cli: Cli) -> None:
    seeded(bench)
    found: Any = json.loads(cli("import", "--agents", "--dry-run", "--json").out)
    assert sum(each["entries"] for each in found) > 12 and not any(each["stored"] for each in found)
    assert journal(bench) == ""


def test_what_was_forgotten_is_not_taken_over_again(bench: Bench, cli: Cli) -> None:
    seeded(bench)
    cli("import", "--agents")
    hit = json.loads(cli("recall", "cassowary themes", "--json").out)["hits"][0]
    assert cli("forget", hit["id"], "--yes").code == 0
    cli("import", "--agents")
    assert "cassowary" not in journal(bench)


def test_secret_in_an_agents_memory_stays_there(bench: Bench, cli: Cli) -> None:
    seeded(bench)
    Path(bench.folder, ".hermes/memories/MEMORY.md").write_text(f"the key is {TOKEN}\n§\nharmless wallaby\n")
    done = cli("import", "--agent", "hermes")
    assert done.code == 0 and TOKEN not in done.out + done.err
    assert "wallaby" in journal(bench)
    assert not [path for path in Path(bench.home).rglob("*") if path.is_file() and TOKEN.encode() in path.read_bytes()]


def test_long_entry_is_kept_in_parts(bench: Bench, cli: Cli) -> None:
    seeded(bench)
    words = [f"Sentence {n} tells about wallaby number {n} of the herd." for n in range(60)]
    Path(bench.folder, ".hermes/memories/MEMORY.md").write_text(" ".join(words))
    cli("import", "--agent", "hermes")
    text = journal(bench)
    assert all(f"wallaby number {n} " in text for n in range(60))


@pytest.mark.parametrize("words", [["--agent", "nobody"], [], ["x.md", "--agents"]])
def test_what_cannot_be_meant_is_told(bench: Bench, cli: Cli, words: list[str]) -> None:
    assert cli("import", *words).code == 2


def test_nothing_was_remembered(bench: Bench, cli: Cli) -> None:
    done = cli("import", "--agents")
    assert done.code == 0 and "No agent on this machine" in done.err
