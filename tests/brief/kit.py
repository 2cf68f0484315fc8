"""What tests of briefs and hooks share: a hook as an agent calls it."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from typing import Any

from byheart.testing import Bench


def hook(bench: Bench, event: str, client: str = "claude-code", *more: str, **told: Any) -> tuple[int, str, str]:
    """Call a hook with what an agent would say: (exit code, stdout, stderr)."""
    given = {"cwd": bench.project, "session_id": "s1", "hook_event_name": "SessionStart", **told}
    return raw_hook(bench, json.dumps(given), event, "--client", client, *more)


def gated(bench: Bench, event: str, client: str = "claude-code", **told: Any) -> tuple[int, str, str]:
    """Call a hook as an agent's settings do: through the gate, which starts Python only where memory may have something to say."""
    from byheart import extensions

    given = {"cwd": bench.project, "session_id": "s1", "hook_event_name": "SessionStart", **told}
    gate = os.path.join(bench.folder, "gate.sh")
    text = extensions.text("gate.sh").replace("{{home}}", shlex.quote(str(bench.home)))
    text = (
        text.replace("{{python}}", shlex.quote(sys.executable)).replace("{{variables}}", "").replace("{{gone}}", "gone")
    )
    with open(gate, "w", encoding="utf-8") as stream:
        stream.write(text.replace("{{command}}", shlex.join([sys.executable, "-m", "byheart"])))
    return _ran(bench, ["/bin/sh", gate, "hook", event, "--client", client], json.dumps(given), None, {})


def raw_hook(
    bench: Bench, given: str, *arguments: str, folder: str | None = None, **variables: str
) -> tuple[int, str, str]:
    """Call a hook with any text on its standard input."""
    return _ran(bench, [sys.executable, "-m", "byheart", "hook", *arguments], given, folder, variables)


def _ran(
    bench: Bench, words: list[str], given: str, folder: str | None, variables: dict[str, str]
) -> tuple[int, str, str]:
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("BYHEART_")},
        **bench.environment,
        # However busy the machine is.
        "BYHEART_HOOK_SECONDS": "45",
        **variables,
    }
    done = subprocess.run(
        words,
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
