"""What tests of briefs and hooks share: a hook as an agent calls it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

from byheart.testing import Bench


def hook(bench: Bench, event: str, client: str = "claude-code", *more: str, **told: Any) -> tuple[int, str, str]:
    """Call a hook with what an agent would say: (exit code, stdout, stderr)."""
    given = {"cwd": bench.project, "session_id": "s1", "hook_event_name": "SessionStart", **told}
    return raw_hook(bench, json.dumps(given), event, "--client", client, *more)


def raw_hook(
    bench: Bench, given: str, *arguments: str, folder: str | None = None, **variables: str
) -> tuple[int, str, str]:
    """Call a hook with any text on its standard input."""
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("BYHEART_")},
        **bench.environment,
        # However busy the machine is.
        "BYHEART_HOOK_SECONDS": "45",
        **variables,
    }
    done = subprocess.run(
        [sys.executable, "-m", "byheart", "hook", *arguments],
        input=given.encode("utf-8", "surrogateescape"),
        capture_output=True,
        cwd=folder or bench.project,
        env=environment,
        check=False,
        timeout=60,
    )
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def context(out: str) -> str:
    """What a hook of Claude Code's shape told."""
    return str(json.loads(out)["hookSpecificOutput"]["additionalContext"]) if out else ""
