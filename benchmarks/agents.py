"""Measures what agents wait for: hooks, the MCP server and the brief; prints a table and, last, one line of JSON.

    python benchmarks/agents.py [--runs 50]
    python benchmarks/agents.py --data FOLDER [--project OWNER/NAME]

CPU time of whole processes, as a ratio to an interpreter that does nothing, taken in turn within one run.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from byheart.bench.streams import projects
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


_MOST = 500


def day(data: str, repo: str) -> Iterator[Row]:
    """A day's tool calls of a real project, through the hooks as they are installed: what they cost in all, and how many started anything."""
    [(_, streams)] = list(projects(data, [repo]))
    count, late = 0, len(streams)
    while late and count < _MOST:
        late -= 1
        count += len(streams[late].calls)
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(folder, flags=("recall.embedder=none",))
        environment = {**os.environ, **bench.environment}
        environment.pop("BYHEART_CHILD", None)
        own = Path(folder, "transcripts")
        own.mkdir()
        for stream in streams[:late]:
            (own / stream.file.rsplit("/", 1)[-1]).write_bytes(stream.content)
        os.makedirs(bench.home, exist_ok=True)
        Path(bench.home, "config.toml").write_text(f'[sessions]\nfolders = "{own}"\n[recall]\nembedder = "none"\n')
        for words in (["learn"], ["remember", "never use npm"], ["brief", "--prepare"], ["install", "claude-code"]):
            subprocess.run([BYHEART, *words], env=environment, cwd=bench.project, capture_output=True, check=True)
        hooks = json.loads(Path(folder, ".claude", "settings.json").read_text())["hooks"]
        calls = [call for stream in streams[late:] for call in stream.calls][:_MOST]
        spent, started = 0.0, 0
        for call in calls:
            tool = "Bash" if call.command else call.tool
            given = (
                {"command": call.command} if call.command else {"file_path": call.path or next(iter(call.edited), "")}
            )
            told = {"session_id": "day", "cwd": bench.project, "tool_name": tool, "tool_input": given}
            ended = (
                {"error": call.output} if call.ok is False else {"tool_response": {"stdout": call.output, "stderr": ""}}
            )
            after = "PostToolUseFailure" if call.ok is False else "PostToolUse"
            for event, more in (("PreToolUse", {}), (after, ended)):
                for each in hooks.get(event, []):
                    if re.fullmatch(each.get("matcher", ".*"), tool):
                        words = ["sh", "-c", each["hooks"][0]["command"]]
                        spent += cpu(words, json.dumps({**told, "hook_event_name": event, **more}).encode(), environment, bench.project)  # fmt: skip
                        started += 1
        bare = statistics.median(
            cpu([sys.executable, "-c", "pass"], b"", environment, bench.project) for _ in range(15)
        )
        yield {"what": f"{len(calls)} tool calls of {repo}, {started} hooks", "ms": round(spent, 1), "bare_ms": round(bare, 1), "ratio": round(spent / bare, 1)}  # fmt: skip


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
    parser.add_argument("--data", help="a folder with streams of real sessions: replays a day of tool calls")
    parser.add_argument("--project", default="PackmindHub/context-evaluator")
    given = parser.parse_args()
    rows = (
        list(day(given.data, given.project)) if given.data else [*hooks(given.runs), *server(max(3, given.runs // 5))]
    )
    width = max(len(str(row["what"])) for row in rows)
    for row in rows:
        print(f"{row['what']:<{width}}  {row['ms']:>8} ms  {row['ratio']!s:>6}{' x bare' if row['ratio'] else ''}")
    print(json.dumps(rows))


if __name__ == "__main__":
    main()
