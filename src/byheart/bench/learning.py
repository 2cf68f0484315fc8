"""How well and how fast learning works, on data that somebody names: what extracts cover of reference summaries, how surely
lasting preferences are told from passing ones, and what learning from many sessions takes."""

from __future__ import annotations

import glob
import gzip
import json
import os
import re
import statistics
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from byheart.agents.agent import FolderSource
from byheart.domain.errors import BadInput
from byheart.domain.sessions import Caps, Which
from byheart.language import lasting
from byheart.language.sentences import is_document, sentences
from byheart.learning.extract.session import learnt
from byheart.search.models import RecallModels
from byheart.sessions.refresh import SessionTools, refresh
from byheart.storage.index.sqlite import SqliteIndex
from byheart.storage.scanners.scanner import RuleScanner
from byheart.text.deferred import module
from byheart.text.similarity import content_words

if TYPE_CHECKING:
    from byheart.domain import documents
    from byheart.storage.files import disk
else:
    documents = module("byheart.domain.documents")
    disk = module("byheart.storage.files.disk")

DEFINITIONS = {
    "token F1": "of an item of a reference summary and the line of the extract that is most like it, by their words without "
    "the commonest ones, stemmed; the mean over all items",
    "covered": "share of items whose best line has a token F1 of at least 0.3",
    "cosine": "of an item and the line of the extract that is nearest in meaning, by the configured model; by chance: of the extract of "
    "another session of the same project",
    "near": "share of items that are nearer to their extract than 95 of 100 are to another session's",
    "precision, recall": "of sentences that are taken for lasting preferences; borderline ones count neither way",
    "at 1 %": "the precision that the same rates come to where 1 of 100 sentences is a lasting preference",
}
_DATED = re.compile(r"^\d{4}-\d{2}-\d{2}-(?=[0-9a-f]{8}-)")
_COVERED, _CHANCE, _BASE = 0.3, 0.95, 0.01
_SMALL = 400_000
Progress = Callable[[str], None]
# Of one item: its best token F1, its best cosine, and its best cosine with what another session taught.
Found = tuple[float, float | None, float | None]


def measured(data: str, sizes: Sequence[int], recall_models: RecallModels, progress: Progress) -> dict[str, Any]:
    """All of it, as tables."""
    return {
        "definitions": DEFINITIONS,
        "capture": _capture(data),
        "coverage": _coverage(data, recall_models, progress),
        "scale": [_scaled(data, size, progress) for size in sizes],
    }


def _rows(data: str, name: str) -> Iterator[dict[str, Any]]:
    path = os.path.join(data, "capture", name)
    if not os.path.exists(path):
        raise BadInput(f"{path} is not there; name the folder that holds capture/ and transcripts/")
    with gzip.open(path, "rt", encoding="utf-8") as stream:
        for line in stream:
            yield json.loads(line)


def taken(text: str, prompt: str | None = None) -> bool:
    """Whether one of a text's sentences is taken for a lasting preference."""
    document = is_document(prompt or text)
    return any(lasting.judged(sentence, in_document=document).is_sure for sentence in sentences(text))


def _capture(data: str) -> list[dict[str, Any]]:
    """How surely lasting preferences are told, set by set."""
    every = list(_rows(data, "real_coding_prompts_dev.jsonl.gz"))
    judged = [
        (row["label3"] == "durable", taken(row["text"], row.get("prompt")))
        for row in every
        if row["label3"] != "borderline"
    ]
    rows = [_rates("real coding prompts", judged)]
    kinds: dict[str, list[tuple[bool, bool]]] = {}
    for row in _rows(data, "preferences_dev.jsonl.gz"):
        kinds.setdefault(str(row["label_quality"]).split(" ")[0], []).append((row["label"] == 1, taken(row["text"])))
    rows += [_rates(f"statements, labelled: {kind}", pairs) for kind, pairs in sorted(kinds.items())]
    return rows


def _rates(name: str, pairs: Sequence[tuple[bool, bool]]) -> dict[str, Any]:
    true = sum(wanted and found for wanted, found in pairs)
    false = sum(found and not wanted for wanted, found in pairs)
    wanted = sum(wanted for wanted, _ in pairs)
    others = len(pairs) - wanted
    recall = true / wanted if wanted else 0.0
    wrongly = false / others if others else 0.0
    rare = recall * _BASE / (recall * _BASE + wrongly * (1 - _BASE)) if recall or wrongly else 0.0
    return {
        "set": name,
        "lasting": wanted,
        "others": others,
        "found": true,
        "wrongly": false,
        "precision": round(true / (true + false), 3) if true + false else None,
        "recall": round(recall, 3) if wanted else None,
        "at 1 %": round(rare, 3) if others and wanted else None,
    }


def _coverage(data: str, recall_models: RecallModels, progress: Progress) -> list[dict[str, Any]]:
    """What extracts hold of what another tool's summaries hold."""
    progress("reading the transcripts of the reference summaries")
    references = references_of(_rows(data, "session_summaries_dev.jsonl.gz"))
    known = {session for session, _ in references}
    lines: dict[str, list[str]] = {}
    with tempfile.TemporaryDirectory() as folder:
        _unpacked(data, folder, lambda name: any(session in name for session in known))
        index = SqliteIndex(os.path.join(folder, "index.db"))
        source = FolderSource((folder,), Caps())
        refresh(SessionTools(sources=[source], index=index, scanner=RuleScanner(), project_of=lambda *_: "p-1"))
        for listed in index.sessions(Which(subagents=False), 10_000):
            if listed.session.id in known:
                found = learnt(listed.session, index.turns(listed.session), "p").extract
                lines[listed.session.id] = _lines_of(found) if found else []
    kinds: dict[str, list[Found]] = {}
    names = list(dict.fromkeys(session for session, _ in references))
    for session, summary in references:
        told, others = lines.get(session, []), lines.get(names[names.index(session) - 1], [])
        words = [set(content_words(line)) for line in told]
        items = list(_items(summary))
        texts = [text for _, text in items]
        nearest, chance = _nearest(texts, told, recall_models), _nearest(texts, others, recall_models)
        for (kind, text), near, far in zip(items, nearest, chance, strict=True):
            best = max((_f1(set(content_words(text)), each) for each in words), default=0.0)
            kinds.setdefault(kind, []).append((best, near, far))
    every = [found for each in kinds.values() for found in each]
    return [_covered(kind, found, every) for kind, found in [*kinds.items(), ("all", every)]]


def references_of(rows: Iterable[dict[str, Any]]) -> list[tuple[str, dict[str, Any]]]:
    """Every reference summary with the id of its session: a session may have several, and its id a date in front."""
    return [(_DATED.sub("", row["session_id"]), row["summary"]) for row in rows]


def _lines_of(extract: Any) -> list[str]:
    found = [extract.description]
    for task in extract.tasks:
        every = (*task.preferences, *task.knowledge, *task.failures, *task.references, *task.steps)
        found += [task.name, *(line.text for line in every)]
    return found


def _items(summary: dict[str, Any]) -> Iterator[tuple[str, str]]:
    learnings = summary.get("learnings", {})
    yield from (("learning: repo", text) for text in learnings.get("repo", ()))
    yield from (("learning: workflow", text) for text in learnings.get("workflow", ()))
    yield from (
        ("learning: code", f"{each.get('path', '')} {each.get('finding', '')}") for each in learnings.get("code", ())
    )
    yield from (("friction", text) for text in summary.get("friction", ()))


def _f1(wanted: set[str], told: set[str]) -> float:
    shared = len(wanted & told)
    return 2 * shared / (len(wanted) + len(told)) if shared else 0.0


def _nearest(items: Sequence[str], lines: Sequence[str], recall_models: RecallModels) -> list[float | None]:
    """The cosine of each item and the line that is nearest in meaning; None where there is no model."""
    if recall_models.embedder is None or not lines or not items:
        return [0.0 if recall_models.embedder else None] * len(items)
    import numpy as np

    def matrix(texts: Sequence[str]) -> Any:
        found = recall_models.vectors(list(texts)) or []
        rows = np.stack([np.frombuffer(each, dtype=np.float32) for each in found])
        return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-6)

    return [float(each) for each in (matrix(items) @ matrix(lines).T).max(axis=1)]


def _covered(kind: str, found: Sequence[Found], every: Sequence[Found]) -> dict[str, Any]:
    scores = [score for score, _, _ in found]
    near = [each for _, each, _ in found if each is not None]
    far = [each for _, _, each in found if each is not None]
    chance = sorted(each for _, _, each in every if each is not None)
    bound = chance[int(_CHANCE * (len(chance) - 1))] if chance else 1.0
    return {
        "kind": kind,
        "items": len(found),
        "token F1": round(statistics.fmean(scores), 3),
        "covered": round(sum(score >= _COVERED for score in scores) / len(scores), 3),
        "cosine": round(statistics.fmean(near), 3) if near else None,
        "by chance": round(statistics.fmean(far), 3) if far else None,
        "near": round(sum(each > bound for each in near) / len(near), 3) if near else None,
    }


def _unpacked(data: str, folder: str, wanted: Callable[[str], bool]) -> list[str]:
    path = os.path.join(data, "transcripts", "claude-code.tar.gz")
    if not os.path.exists(path):
        raise BadInput(f"{path} is not there; name the folder that holds capture/ and transcripts/")
    with tarfile.open(path) as archive:
        for member in archive:
            if member.isfile() and member.name.endswith(".jsonl") and wanted(member.name):
                member.name = os.path.basename(member.name)
                archive.extract(member, folder, filter="data")
    return sorted(glob.glob(os.path.join(folder, "*.jsonl")))


_ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")


def _scaled(data: str, size: int, progress: Progress) -> dict[str, Any]:
    """What learning from so many sessions takes, as a person would run it: copies of real ones, each under a name of its own."""
    progress(f"learning from {size} sessions")
    with tempfile.TemporaryDirectory() as folder:
        originals = os.path.join(folder, "originals")
        files = _unpacked(data, originals, lambda name: "context-evaluator" in name or "oh-my-posh" in name)
        copies = os.path.join(folder, "sessions")
        os.makedirs(copies)
        small = [path for path in files if os.path.getsize(path) <= _SMALL]
        for number in range(size):
            _copied(small[number % len(small)] if size > len(files) else files[number], copies, number)
        total = sum(os.path.getsize(path) for path in glob.glob(os.path.join(copies, "*")))
        home = os.path.join(folder, "home")
        first, report = _run(folder, home, copies)
        again, _ = _run(folder, home, copies)
        book = glob.glob(os.path.join(home, "projects", "*", "handbook", "MEMORY.md"))
        brief = glob.glob(os.path.join(home, "projects", "*", "handbook", "memory_summary.md"))
        return {
            "sessions": size,
            "MB read": round(total / 1e6, 1),
            "seconds": round(first, 1),
            "learning alone": report["seconds"],
            "again, nothing new": round(again, 2),
            "learnt": len(report["learnt"]),
            "nothing": report["nothing"],
            "groups": sum(each["groups"] for each in report["projects"]),
            "MEMORY.md KB": round(sum(os.path.getsize(path) for path in book) / 1e3),
            "summary KB": round(sum(os.path.getsize(path) for path in brief) / 1e3),
        }


def _copied(path: str, folder: str, number: int) -> None:
    with open(path, encoding="utf-8") as stream:
        text = stream.read()
    own = _ID.search(os.path.basename(path))
    fresh = f"{number:08x}-0000-4000-8000-{number:012x}"
    changed = text.replace(own.group(), fresh) if own else text
    # Turns of copies would be taken for copies of turns; each gets an id of its own.
    changed = re.sub(r'"(uuid|parentUuid)": ?"([0-9a-f]{8})', rf'"\1":"{number:08x}'.replace("\\1", r"\1"), changed)
    _put(os.path.join(folder, f"{fresh}.jsonl"), changed)


def _put(path: str, text: str) -> None:
    disk.DiskFiles(file_bytes=1_000_000_000).write(
        documents.Place(os.path.dirname(path), os.path.basename(path)), text, ""
    )


def _run(folder: str, home: str, sessions: str) -> tuple[float, dict[str, Any]]:
    environment = {**os.environ, "HOME": folder, "BYHEART_HOME": home, "BYHEART_CHILD": "1"}
    command = [sys.executable, "-m", "byheart", "--set", f"sessions.folders={sessions}", "learn", "--json"]
    began = time.monotonic()
    done = subprocess.run(command, env=environment, cwd=folder, capture_output=True, text=True, check=False)
    taken_seconds = time.monotonic() - began
    return taken_seconds, json.loads(done.stdout)
