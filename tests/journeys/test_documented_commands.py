"""Every byheart command that README and docs show runs, and the picture shows what is printed."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").glob("*.md")])
# What waits for a browser or a client, changes the machine or measures for minutes; each has tests of its own.
WAITS = {"open", "serve", "mcp", "schedule", "bench"}
# What stands for something of the reader's.
STANDS_FOR = {"AGENT…", "FILE", "DATA", "FOLDER", "SESSION", "DIR"}


def commands(page: Path) -> list[list[str]]:
    """The byheart commands in a page's console blocks, each without its remark."""
    found = []
    for block in re.findall(r"^```console\n(.*?)^```", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL):
        for line in block.split("\n"):
            words = shlex.split(line.removeprefix("$ "), comments=True)
            if words[:1] == ["byheart"]:
                found.append(words[1:])
    return found


@pytest.mark.parametrize("page", [each for each in PAGES if commands(each)], ids=lambda each: each.stem)
def test_every_command_in_the_docs_runs(page: Path, tmp_path: Path) -> None:
    home, project = tmp_path / "home", tmp_path / "shop"
    shutil.copytree(ROOT / "scripts" / "sample", home)
    (project / ".git").mkdir(parents=True)
    (project.parent / "old-project").mkdir()
    (project.parent / "old-project" / "memories.md").write_text("- I prefer short answers\n", encoding="utf-8")
    (home / ".codex").mkdir(exist_ok=True)
    (home / "Sync" / "memory").mkdir(parents=True)
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("BYHEART_")},
        "HOME": str(home), "BYHEART_HOME": str(home / ".byheart"), "BYHEART_RECALL_EMBEDDER": "none", "NO_COLOR": "1",
    }  # fmt: skip
    for words in [["remember", "never push to main"], *commands(page)]:
        if words and (words[0] in WAITS or set(words) & STANDS_FOR or words[-2:] == ["model", "test"]):
            continue
        done = subprocess.run(
            [sys.executable, "-m", "byheart", *words],
            env=environment, cwd=project, capture_output=True, text=True, encoding="utf-8", stdin=subprocess.DEVNULL, timeout=120,
        )  # fmt: skip
        told = f"byheart {shlex.join(words)}: {done.returncode}\n{done.stdout}\n{done.stderr}"
        # 1 and 3: a search that finds nothing in this home, an undo or a forget without anything to take back.
        assert done.returncode in (0, 1, 3) and "Traceback" not in done.stderr and "No such" not in done.stderr, told
        assert not re.search(r"Usage:|Unknown (?:setting|agent)", done.stderr), told


def test_picture_shows_what_is_printed() -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "scripts" / "pictures.py"), "--check"], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
