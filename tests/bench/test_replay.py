"""byheart bench replay: what memory would have spared, on streams of sessions."""

from __future__ import annotations

import gzip
import json
import tarfile
from pathlib import Path

from scripts.transcripts import Story, write

from tests.conftest import Cli
from tests.learning.world import Event

WRONG = "error: no library targets found in package `oven`"


def stream(folder: Path, sessions: int) -> Path:
    """A folder with one project whose sessions all try the same thing in vain first."""
    data = folder / "data" / "projects"
    data.mkdir(parents=True)
    rows = []
    with tarfile.open(data / "sam__oven.tar.xz", "w:xz") as archive:
        for number in range(1, sessions + 1):
            name = f"5e55{number:04d}-4b7c-4d2e-9f10-0c0ffee0{number:04d}"
            events: list[Event] = [
                ("user", f"Mend part {number} of the oven, please."),
                ("run", "cargo test oven --lib", WRONG, 101),
                ("run", "cargo test oven", "test result: ok. 3 passed; 0 failed", 0),
                ("edit", f"src/part{number}.rs"),
            ]
            home = folder / f"home{number}"
            write(Story("claude-code", name, "/home/sam/oven", f"2026-05-{number:02d}T10:00:00", events), home)
            path = next(home.rglob(f"*{name}*.jsonl"))
            archive.add(path, f"claude-code/{name}.jsonl")
            rows.append(
                {
                    "repo": "sam/oven",
                    "client": "claude-code",
                    "session": name,
                    "file": f"claude-code/{name}.jsonl",
                    "last": f"2026-05-{number:02d}T11:00:00Z",
                    "cwd": "/home/sam/oven",
                }
            )
    with gzip.open(data / "MANIFEST.jsonl.gz", "wt", encoding="utf-8") as listing:
        listing.write("\n".join(json.dumps(row) for row in rows))
    return data.parent


def test_repeat_that_the_brief_would_have_spared_is_counted(tmp_path: Path, cli: Cli) -> None:
    data = stream(tmp_path, 3)
    done = cli("bench", "replay", "--data", str(data), "--json")
    assert done.code == 0, done.err
    [row] = json.loads(done.out)["projects"]
    # The first session cannot know it; the other two are told.
    assert (row["repeats"], row["start"], row["floor"]) == (2, 2, 2)
    shown = cli("bench", "replay", "--data", str(data), "--project", "oven", "--show")
    assert shown.code == 0 and WRONG in shown.out and "cargo test oven" in shown.out


def test_folder_without_streams_is_named(tmp_path: Path, cli: Cli) -> None:
    done = cli("bench", "replay", "--data", str(tmp_path))
    assert done.code == 2 and "MANIFEST.jsonl.gz" in done.err
    assert cli("bench", "replay", "--data", str(tmp_path / "nowhere")).code == 2
