"""How well recall finds, on labelled sets: by words, by meaning, by both, and read closely; with how sure the figures are."""

from __future__ import annotations

import glob
import math
import os
import random
import sqlite3
import tarfile
import tempfile
import time
from array import array
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from importlib.util import find_spec
from typing import Any, Protocol

from byheart.agents.agent import FolderSource
from byheart.bench.sets import Asked, Corpus, Given, agent_sessions, locomo, longmemeval
from byheart.domain.errors import BadInput
from byheart.domain.recall import Embedder
from byheart.domain.sessions import Caps, Speaker, Which
from byheart.domain.values import dataclass, field, fields
from byheart.search.models import RecallModels
from byheart.search.order import RankedTurn, grouped
from byheart.sessions import search
from byheart.sessions.refresh import SessionTools, refresh
from byheart.storage.index.sqlite import SqliteIndex
from byheart.storage.scanners.scanner import RuleScanner
from byheart.text.questions import question

MODES = ("words", "meaning", "both", "deep")
SETS = ("locomo", "longmemeval", "agent-sessions")
_ADVERSARIAL = "category 5"
_SAMPLES = 1_000
# So many turns a peer is asked for: sessions are told in the order of their best turns.
_OF_PEERS = 100
Progress = Callable[[str], None]


@dataclass
class Score:
    """What the questions of one kind came to."""

    turns_5: list[float] = field(default_factory=list)
    turns_10: list[float] = field(default_factory=list)
    sessions_5: list[float] = field(default_factory=list)
    sessions_10: list[float] = field(default_factory=list)
    first: list[float] = field(default_factory=list)
    any_5: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)

    def add(self, other: Score) -> None:
        for name in (each.name for each in fields(self)):
            getattr(self, name).extend(getattr(other, name))


class Remembering:
    """An embedder that answers the same question once: modes are compared by what they find, not by who asked first."""

    def __init__(self, embedder: Embedder) -> None:
        self._own, self._known = embedder, dict[str, bytes]()
        self.id, self.width, self.scale = embedder.id, embedder.width, embedder.scale

    def embed(self, texts: list[str]) -> list[bytes]:
        if len(texts) > 1:
            return self._own.embed(texts)
        if texts[0] not in self._known:
            self._known[texts[0]] = self._own.embed(texts)[0]
        return [self._known[texts[0]]]


def measured(
    data: str,
    names: Sequence[str],
    modes: Sequence[str],
    recall_models: RecallModels,
    progress: Progress,
    most: int | None,
    peers: Sequence[str] = (),
) -> list[dict[str, Any]]:
    """A row for each set, kind of question, and way of searching it: byheart's modes, and the peers."""
    rows: list[dict[str, Any]] = []
    embedder = Remembering(recall_models.embedder) if recall_models.embedder else None
    with tempfile.TemporaryDirectory(prefix="byheart-bench-") as folder:
        for name in names:
            kept: dict[str, dict[str, Score]] = {mode: {} for mode in (*modes, *peers)}
            megabytes = 0.0
            for place, corpus in enumerate(_corpora(name, data, folder)):
                progress(f"{corpus.name}: reading")
                tools = _tools_of(corpus, os.path.join(folder, f"{name}-{place}.db"))
                refresh(tools)
                thinking = RecallModels((lambda: embedder) if embedder else None, lambda: recall_models.reranker)  # type: ignore[arg-type, return-value]
                if any(mode != "words" for mode in modes):
                    progress(f"{corpus.name}: vectors")
                    search.embed(tools, thinking, math.inf)
                for mode in modes:
                    if mode != "words" and embedder is None:
                        continue
                    progress(f"{corpus.name}: {mode}")
                    for kind, score in _asked(tools, thinking, corpus, mode, most):
                        kept[mode].setdefault(kind, Score()).add(score)
                for peer in peers:
                    progress(f"{corpus.name}: {peer}")
                    with tempfile.TemporaryDirectory(dir=folder, ignore_cleanup_errors=True) as own:
                        for kind, score in _asked_of(PEERS[peer][1](own, thinking), tools, corpus, most):
                            kept[peer].setdefault(kind, Score()).add(score)
                index: Any = tools.index
                # What is in the write-ahead log goes into the file.
                index.close()
                megabytes += os.path.getsize(index.path) / 1e6
            rows += _rows(name, kept, megabytes)
    return rows


def _corpora(name: str, data: str, folder: str) -> list[Corpus]:
    retrieval = os.path.join(data, "retrieval") if os.path.isdir(os.path.join(data, "retrieval")) else data
    if name == "locomo":
        return locomo(retrieval)
    if name == "longmemeval":
        return longmemeval(retrieval)
    if name == "agent-sessions":
        return agent_sessions(retrieval, _transcripts(data, folder))
    raise BadInput(f"{name!r} is no set; known: {', '.join(SETS)}")


def _transcripts(data: str, folder: str) -> list[str]:
    archive = os.path.join(data, "transcripts", "claude-code.tar.gz")
    target = os.path.join(folder, "transcripts")
    try:
        with tarfile.open(archive) as packed:
            packed.extractall(target, filter="data")
    except (OSError, tarfile.TarError) as error:
        raise BadInput(f"{archive} cannot be read: {error}; it holds the sessions that are asked about") from None
    return sorted(glob.glob(os.path.join(target, "**", "*.jsonl"), recursive=True))


def _tools_of(corpus: Corpus, path: str) -> SessionTools:
    sources: list[Any] = [Given(corpus.sessions)] if corpus.sessions else [FolderSource(tuple(corpus.files), Caps())]
    return SessionTools(sources=sources, index=SqliteIndex(path), scanner=RuleScanner(), project_of=lambda *_: None)


def _asked(
    tools: SessionTools, recall_models: RecallModels, corpus: Corpus, mode: str, most: int | None
) -> Iterator[tuple[str, Score]]:
    thinking = RecallModels() if mode == "words" else recall_models
    for asked in corpus.questions[:most]:
        today = asked.today
        now = datetime(today.year, today.month, today.day, tzinfo=UTC) if today else datetime.now(UTC)
        # The question's own vector is made beforehand; it takes the same time in every mode but words.
        thinking.meaning(asked.text)
        start = time.perf_counter()
        found = search.ranked(tools, thinking, asked.text, Which(), now, deep=mode == "deep")
        if mode == "meaning":
            found.sort(key=lambda each: each.candidate.cosine or -1.0, reverse=True)
            found = [RankedTurn(each.candidate, {"meaning": each.candidate.cosine or -1.0}) for each in found]
        groups = grouped(found)
        taken = time.perf_counter() - start
        names = [f"{each.candidate.session.id}#{each.candidate.turn.number}" for each in found[:10]]
        order = list(dict.fromkeys(group.turns[0].candidate.session.id for group in groups))
        yield asked.kind, _scored(asked, names, order, taken)


def _asked_of(peer: Peer, tools: SessionTools, corpus: Corpus, most: int | None) -> Iterator[tuple[str, Score]]:
    peer.hold(documents(tools))
    for asked in corpus.questions[:most]:
        start = time.perf_counter()
        names = peer.find(asked.text, _OF_PEERS)
        taken = time.perf_counter() - start
        order = list(dict.fromkeys(name.rsplit("#", 1)[0] for name in names))
        yield asked.kind, _scored(asked, names, order, taken)


def _scored(asked: Asked, names: Sequence[str], order: Sequence[str], taken: float) -> Score:
    score = Score(seconds=[taken])
    if asked.turns:
        names = names[:10]
        score.turns_5.append(len(asked.turns & set(names[:5])) / len(asked.turns))
        score.turns_10.append(len(asked.turns & set(names)) / len(asked.turns))
    score.sessions_5.append(len(asked.sessions & set(order[:5])) / len(asked.sessions))
    score.sessions_10.append(len(asked.sessions & set(order[:10])) / len(asked.sessions))
    score.first.append(float(bool(order) and order[0] in asked.sessions))
    score.any_5.append(float(bool(asked.sessions & set(order[:5]))))
    return score


def _rows(name: str, kept: dict[str, dict[str, Score]], megabytes: float) -> Iterator[dict[str, Any]]:
    for mode, kinds in kept.items():
        whole = Score()
        for kind, score in kinds.items():
            if kind != _ADVERSARIAL:
                whole.add(score)
        for kind, score in (("all", whole), *sorted(kinds.items())):
            if score.seconds:
                yield {"set": name, "mode": mode, "kind": kind, **_figures(score), "index MB": round(megabytes, 1)}


def _figures(score: Score) -> dict[str, Any]:
    times = sorted(score.seconds)
    return {
        "questions": len(times),
        "turn R@5": _share(score.turns_5),
        "turn R@10": _share(score.turns_10),
        "session R@5": _share(score.sessions_5),
        "session R@10": _share(score.sessions_10),
        "session hit@1": _share(score.first),
        "session hit@5": _share(score.any_5),
        "p50 ms": round(1e3 * times[len(times) // 2], 1),
        "p95 ms": round(1e3 * times[int(len(times) * 0.95)], 1),
    }


def _share(values: Sequence[float]) -> str:
    """A mean in percent, with where it would lie in nineteen of twenty samples like this one."""
    if not values:
        return "-"
    dice = random.Random(0)  # noqa: S311 - the same samples every time
    mean = 100 * sum(values) / len(values)
    means = sorted(100 * sum(dice.choices(values, k=len(values))) / len(values) for _ in range(_SAMPLES))
    return f"{mean:.1f} [{means[int(0.025 * _SAMPLES)]:.0f} {means[int(0.975 * _SAMPLES)]:.0f}]"


_AT_ONCE = 200
_LONGEST = 2_000
Document = tuple[str, str]


class Peer(Protocol):
    """A store that takes texts in under names, and names the best for a question."""

    def hold(self, documents: Sequence[Document]) -> None: ...

    def find(self, asked: str, most: int) -> list[str]: ...


def documents(tools: SessionTools) -> list[Document]:
    """What people and agents said, each turn under its session and number."""
    found = []
    for listed in tools.index.sessions(Which(), 1_000_000):
        for turn in tools.index.turns(listed.session):
            if turn.text and not turn.synthetic and turn.tool is None and turn.speaker is not Speaker.SYSTEM:
                name = turn.name or turn.speaker.value
                found.append((f"{listed.session.id}#{turn.number}", f"{name}: {turn.text[:_LONGEST]}"))
    return found


class PlainWords:
    """SQLite's word index as it comes: one column, any of the words, BM25. Always there."""

    def __init__(self, folder: str, recall_models: RecallModels) -> None:
        del recall_models
        self._db = sqlite3.connect(os.path.join(folder, "plain.db"))
        self._db.execute("CREATE VIRTUAL TABLE said USING fts5(name UNINDEXED, text, tokenize='porter unicode61')")

    def hold(self, documents: Sequence[Document]) -> None:
        with self._db:
            self._db.executemany("INSERT INTO said VALUES(?, ?)", documents)

    def find(self, asked: str, most: int) -> list[str]:
        terms = " OR ".join(question(asked).terms)
        query = "SELECT name FROM said WHERE said MATCH ? ORDER BY rank LIMIT ?"
        return [row[0] for row in self._db.execute(query, (terms, most))] if terms else []


class Chroma:
    """chromadb, on disk, by cosine."""

    def __init__(self, folder: str, recall_models: RecallModels) -> None:
        import chromadb
        from chromadb.config import Settings

        self._recall_models = recall_models
        client = chromadb.PersistentClient(folder, settings=Settings(anonymized_telemetry=False))
        self._collection: Any = client.create_collection(
            "bench", metadata={"hnsw:space": "cosine"}, embedding_function=None
        )

    def hold(self, documents: Sequence[Document]) -> None:
        for start in range(0, len(documents), _AT_ONCE):
            some = documents[start : start + _AT_ONCE]
            self._collection.add(
                ids=[name for name, _ in some],
                documents=[text for _, text in some],
                embeddings=_vectors(self._recall_models, [text for _, text in some]),
            )

    def find(self, asked: str, most: int) -> list[str]:
        most = min(most, self._collection.count())
        found = self._collection.query(query_embeddings=_vectors(self._recall_models, [asked]), n_results=most)
        return list(found["ids"][0])


class Mem0:
    """mem0 as a library: texts as they are (nothing extracted by a model), Qdrant on disk."""

    def __init__(self, folder: str, recall_models: RecallModels) -> None:
        os.environ["MEM0_TELEMETRY"] = "False"
        os.environ.setdefault("MEM0_DIR", folder)
        # It wants a key for a model that it is never asked for.
        os.environ.setdefault("OPENAI_API_KEY", "none")
        from mem0 import Memory

        embedder = recall_models.embedder
        if embedder is None:
            raise BadInput("mem0 needs vectors; recall.embedder is none")
        store = {"collection_name": "bench", "path": os.path.join(folder, "qdrant"), "on_disk": True}
        self._memory: Any = Memory.from_config(
            {
                "vector_store": {"provider": "qdrant", "config": {**store, "embedding_model_dims": embedder.width}},
                "history_db_path": os.path.join(folder, "history.db"),
            }
        )
        self._memory.embedding_model = _AsMem0Asks(recall_models)

    def hold(self, documents: Sequence[Document]) -> None:
        for name, text in documents:
            self._memory.add(text, user_id="bench", metadata={"name": name}, infer=False)

    def find(self, asked: str, most: int) -> list[str]:
        found = self._memory.search(asked, filters={"user_id": "bench"}, top_k=most, threshold=0.0)
        return [each["metadata"]["name"] for each in found["results"]]


class _AsMem0Asks:
    """byheart's embedder under the name that mem0 calls."""

    def __init__(self, recall_models: RecallModels) -> None:
        self._recall_models = recall_models

    def embed(self, text: str, memory_action: str | None = None) -> list[float]:
        del memory_action
        return _vectors(self._recall_models, [text])[0]

    def embed_batch(self, texts: list[str], memory_action: str | None = None) -> list[list[float]]:
        del memory_action
        return _vectors(self._recall_models, texts)


def _vectors(recall_models: RecallModels, texts: list[str]) -> list[list[float]]:
    found = []
    for raw in recall_models.vectors(texts) or ():
        row = array("f")
        row.frombytes(raw)
        found.append(row.tolist())
    return found


PEERS: dict[str, tuple[str, Callable[[str, RecallModels], Peer]]] = {
    "fts5": ("sqlite3", PlainWords),
    "chroma": ("chromadb", Chroma),
    "mem0": ("mem0", Mem0),
}


def installed(names: Sequence[str]) -> list[str]:
    """Those of these that can be asked; without names, all that are there. Raises BadInput for one that is not."""
    for name in names:
        if name not in PEERS:
            raise BadInput(f"{name!r} is no peer that can be asked; known: {', '.join(PEERS)}")
        if find_spec(PEERS[name][0]) is None:
            raise BadInput(f"{name} is not installed here; pip install {PEERS[name][0]} gets it")
    return list(names) if names else [name for name, (module, _) in PEERS.items() if find_spec(module) is not None]
