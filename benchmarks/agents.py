"""Measures what agents wait for: hooks, the MCP server and the brief; prints a table and, last, one line of JSON.

    python benchmarks/agents.py [--runs 50]

CPU time of whole processes, as a ratio to an interpreter that does nothing, taken in turn within one run.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from byheart.testing import Bench

Row = dict[str, object]
BYHEART = str(Path(sys.executable).with_name("byheart"))


def cpu(words: list[str], given: bytes, environment: dict[str, str], folder: str) -> float:
    """What one process costs, in milliseconds of CPU."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(words, input=given, capture_output=True, env=environment, cwd=folder, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) * 1000


def root(folder: str, rules: int, summary: bool) -> Bench:
    """A home with so many rules and as many entries in the profile, and with a full handbook or none."""
    bench = Bench(folder)
    own = Path(bench.home, "projects", bench.opened().project.id)
    own.mkdir(parents=True)
    if rules:
        rule = '{{"k":"preference","t":["topic {0}","prefers","way {0}"],"w":1,"n":"Prefer way {0} for topic {0} in all of the code."}}\n'
        (own / "memories.ndjson").write_text("".join(rule.format(number) for number in range(rules)))
        bench.remember("I prefer pnpm")
    if summary:
        lines = "\n".join(f"- keep the {number}th bell of the long hall quiet before noon, and ring it twice after (5e55{number:04d}#1)" for number in range(150))  # fmt: skip
        topics = "\n".join(f"- area {number}: bell, hall, file{number}.py, make test\n  - desc: work on area {number}\n  - learnings: it rings" for number in range(60))  # fmt: skip
        text = f"## User Profile\n\nRings bells.\n\n## User preferences\n\n{lines}\n\n## General Tips\n\n- Tests: `make test`\n\n## What's in Memory\n\n### project (cwd=/x)\n\n#### 2026-05-01\n\n{topics}\n"
        (own / "handbook").mkdir()
        (own / "handbook" / "memory_summary.md").write_text(text)
        (own / "handbook" / "MEMORY.md").write_text("# Task Group: x\n")
    return bench


def hooks(runs: int) -> Iterator[Row]:
    """A session's start, cold, on roots of several sizes."""
    for name, rules, summary in (("nothing", 0, False), ("100 records", 100, False), ("10,000 records", 10_000, False), ("10,000 records, full handbook", 10_000, True)):  # fmt: skip
        with tempfile.TemporaryDirectory() as folder:
            bench = root(folder, rules, summary)
            environment = {**os.environ, **bench.environment}
            environment.pop("BYHEART_CHILD", None)
            given = json.dumps({"cwd": bench.project, "session_id": "s", "hook_event_name": "SessionStart"}).encode()
            words = [BYHEART, "hook", "session-start", "--client", "claude-code"]
            build = cpu([BYHEART, "brief", "--prepare"], b"", environment, bench.project)
            cpu(words, given, environment, bench.project)
            bare, hook = [], []
            for _ in range(runs):
                bare.append(cpu([sys.executable, "-c", "pass"], b"", environment, bench.project))
                hook.append(cpu(words, given, environment, bench.project))
            bare_ms, hook_ms = statistics.median(bare), statistics.median(hook)
            yield {"what": f"session-start hook, {name}", "ms": round(hook_ms, 1), "bare_ms": round(bare_ms, 1), "ratio": round(hook_ms / bare_ms, 2)}  # fmt: skip
            yield {"what": f"brief made anew, {name}", "ms": round(build, 1), "bare_ms": round(bare_ms, 1), "ratio": round(build / bare_ms, 2)}  # fmt: skip


def server(runs: int) -> Iterator[Row]:
    """The MCP server: from its start to the first answer, and each call."""
    with tempfile.TemporaryDirectory() as folder:
        bench = root(folder, 1_000, summary=True)
        environment = {**os.environ, **bench.environment}
        taken: dict[str, list[float]] = {
            "start to initialize": [],
            "tools/list": [],
            "first recall_memory": [],
            "recall_memory": [],
        }
        for _ in range(runs):
            began = time.perf_counter()
            child = subprocess.Popen([BYHEART, "mcp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, cwd=bench.project)  # fmt: skip
            ask = _asker(child)
            ask("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}})
            taken["start to initialize"].append(time.perf_counter() - began)
            for name, method, params in (("tools/list", "tools/list", {}), ("first recall_memory", "tools/call", {"name": "recall_memory", "arguments": {"query": "topic 7"}})):  # fmt: skip
                began = time.perf_counter()
                ask(method, params)
                taken[name].append(time.perf_counter() - began)
            for number in range(10):
                began = time.perf_counter()
                ask("tools/call", {"name": "recall_memory", "arguments": {"query": f"way for topic {number * 7}"}})
                taken["recall_memory"].append(time.perf_counter() - began)
            child.communicate(timeout=20)
        for name, times in taken.items():
            yield {"what": f"MCP: {name}", "ms": round(statistics.median(times) * 1000, 1), "bare_ms": "", "ratio": ""}


def _asker(child: subprocess.Popen[bytes]) -> Callable[[str, object], bytes]:
    assert child.stdin and child.stdout
    incoming, outgoing = child.stdin, child.stdout
    count = iter(range(10**6))

    def ask(method: str, params: object) -> bytes:
        message = {"jsonrpc": "2.0", "id": next(count), "method": method, "params": params}
        incoming.write(json.dumps(message).encode() + b"\n")
        incoming.flush()
        return outgoing.readline()

    return ask


def main() -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=50)
    runs = parser.parse_args().runs
    rows = [*hooks(runs), *server(max(3, runs // 5))]
    width = max(len(str(row["what"])) for row in rows)
    for row in rows:
        print(f"{row['what']:<{width}}  {row['ms']:>8} ms  {row['ratio']!s:>6}{' x bare' if row['ratio'] else ''}")
    print(json.dumps(rows))


if __name__ == "__main__":
    main()
