"""Judgement by the agent in the room, measured: what sessions would be asked, and what is kept of a judge's answers.

    python benchmarks/judgement.py ask --data DIR --to FOLDER     what each judge is sent, exactly, a file a session
    python benchmarks/judgement.py score --data DIR --to FOLDER --answers FOLDER/NAME   its answers, a file a session

An answer is the arguments of the tool as JSON. The labels are those of DIR/projects/expert; sentences without one count as not lasting.
"""

from __future__ import annotations

import argparse
import glob
import json
import os
import re
import sys
import tempfile
from typing import Any

from byheart.bench.replay import ReplayedMemory
from byheart.bench.streams import projects
from byheart.brief import fit
from byheart.domain.learning import KEEP, TASK
from byheart.interfaces.mcp.schemas import TOOLS
from byheart.learning import judgement
from byheart.learning.judgement import Spoken
from byheart.storage.scanners.scanner import RuleScanner
from byheart.text.similarity import normalised
from byheart.text.tokens import tokens

_ASKED = 24
Label = dict[str, Any]


def labels(data: str) -> dict[str, list[Label]]:
    """What people typed, as somebody labelled it, by project."""
    found: dict[str, list[Label]] = {}
    for path in sorted(glob.glob(os.path.join(data, "projects", "expert", "labels_*.jsonl"))):
        with open(path, encoding="utf-8") as stream:
            for line in stream:
                row = json.loads(line)
                found.setdefault(row["repo"], []).append(row)
    return found


def asked(data: str, folder: str, most: int, skip: int, only: list[str]) -> None:
    """Write what the sessions of each labelled project would be asked, in their order, until there are so many messages in all."""
    every = labels(data)
    share = -(-most // max(1, sum(1 for _ in every)))
    os.makedirs(folder, exist_ok=True)
    rows: list[dict[str, Any]] = []
    for repo, streams in projects(data, only or sorted(every)):
        if repo not in every:
            continue
        count = passed = 0
        with tempfile.TemporaryDirectory() as home:
            memory = ReplayedMemory(home, ("learning.enabled=true",))
            for number, stream in enumerate(streams):
                _, learning = memory.door()
                waits = learning.judging.waiting()
                lines = [[name, line, tokens(f"- {line}\n")] for name, line in judgement.request_lines(waits[:_ASKED])]
                ids, text = fit.asking({"head": judgement.HEAD, "lines": lines})
                if ids and passed < skip:
                    passed += len(ids)
                    judged = [judgement.settled(each, TASK, "", "") for each in waits if each.id in ids]
                    judgement.settle(learning.handbook(), judged)
                elif ids and count < share:
                    name = f"{repo.replace('/', '__')}-{number:03}"
                    with open(os.path.join(folder, f"{name}.txt"), "w", encoding="utf-8") as out:
                        out.write(text + "\n")
                    by_id = {each.id: each for each in waits}
                    rows += [{"request": name, "repo": repo, **vars_of(by_id[each])} for each in ids]
                    count += len(ids)
                    # Whatever is answered, it waits no longer.
                    judged = [judgement.settled(by_id[each], TASK, "", "") for each in ids]
                    judgement.settle(learning.handbook(), judged)
                if count >= share:
                    break
                memory.learn(stream)
        print(f"{repo}: {count} messages", file=sys.stderr)
    with open(os.path.join(folder, "asked.jsonl"), "w", encoding="utf-8") as out:
        out.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    tool = next(each for each in TOOLS if each["name"] == "review_candidates")
    with open(os.path.join(folder, "tool.json"), "w", encoding="utf-8") as out:
        json.dump(tool, out, indent=1, ensure_ascii=False)


def vars_of(each: Spoken) -> dict[str, Any]:
    """A waiting message as plain values."""
    return {"id": each.id, "thread": each.thread, "turn": each.turn, "at": each.at, "text": each.text, "before": each.before, "score": each.score}  # fmt: skip


_WORD = re.compile(r"\w+")


def label_of(text: str, every: list[Label]) -> list[Label]:
    """The labels whose sentence a message holds, or that hold it."""
    plain = " ".join(_WORD.findall(normalised(text)))
    found = []
    for each in every:
        told = " ".join(_WORD.findall(normalised(each["text"])))
        if told and (told in plain or (len(plain) > 20 and plain in told)):
            found.append(each)
    return found


def scored(data: str, folder: str, answers: str) -> dict[str, Any]:
    """What the product would keep of a judge's answers, held against the labels."""
    every = labels(data)
    with open(os.path.join(folder, "asked.jsonl"), encoding="utf-8") as stream:
        rows = [json.loads(line) for line in stream]
    scanner = RuleScanner()
    kept: list[tuple[dict[str, Any], judgement.Judged, list[Label]]] = []
    wanted: dict[str, bool] = {}
    requests = sorted({row["request"] for row in rows})
    answered = 0
    for request in requests:
        mine = {each["id"]: each for each in rows if each["request"] == request}
        for each in mine.values():
            for label in label_of(each["text"], every[each["repo"]]):
                if label["label"] == "durable":
                    wanted.setdefault(group_of(label), False)
        path = os.path.join(answers, f"{request}.json")
        if not os.path.exists(path):
            continue
        answered += 1
        with open(path, encoding="utf-8") as stream:
            given = json.load(stream)
        said = {name: Spoken(**{k: v for k, v in each.items() if k not in ("request", "repo")}) for name, each in mine.items()}  # fmt: skip
        outcome = judgement.outcome_of(judgement.verdicts(given["verdicts"]), said, "", "", scanner)
        for row in outcome.rows:
            if row.verdict == KEEP:
                kept.append((mine[row.id], row, label_of(mine[row.id]["text"], every[mine[row.id]["repo"]])))
    right = wrong = border = 0
    for _, _, told in kept:
        names = {label["label"] for label in told}
        for label in told:
            if label["label"] == "durable":
                wanted[group_of(label)] = True
        right += "durable" in names
        border += "durable" not in names and "borderline" in names
        wrong += not names & {"durable", "borderline"}
    return {
        "messages": len(rows), "requests": len(requests), "answered": answered, "lasting": len(wanted), "kept": len(kept),
        "durable": right, "borderline": border, "not": wrong,
        "precision": round((right + border) / max(1, len(kept)), 3), "recall": round(sum(wanted.values()) / max(1, len(wanted)), 3),
        "wrong": [[row["repo"], row["text"], each.wording] for row, each, told in kept if not {one["label"] for one in told} & {"durable", "borderline"}],
        "kept_lines": [[row["repo"], each.wording, each.quote] for row, each, _ in kept],
        "missed": sorted(name for name, is_kept in wanted.items() if not is_kept),
    }  # fmt: skip


def group_of(label: Label) -> str:
    """The wish that a labelled sentence belongs to."""
    return str(label.get("group") or f"{label['repo']}: {label['text']}")


def main() -> int:
    """Write the questions, or score the answers."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("ask", "score"))
    parser.add_argument("--data", required=True)
    parser.add_argument("--to", required=True)
    parser.add_argument("--answers", default="")
    parser.add_argument("--most", type=int, default=200)
    parser.add_argument("--skip", type=int, default=0, help="messages of each project that are passed over first")
    parser.add_argument("--project", action="append", default=[])
    given = parser.parse_args()
    if given.what == "ask":
        asked(given.data, given.to, given.most, given.skip, given.project)
        return 0
    found = scored(given.data, given.to, given.answers)
    print(json.dumps(found, indent=1, ensure_ascii=False))
    return 0


if __name__ == "__main__":
    sys.exit(main())
