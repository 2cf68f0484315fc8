"""Other stores asked the same questions, where they are installed: what a search is worth shows beside another one.

Each gets the same texts, and those that search by vectors get byheart's own: what is compared is the store and its ranking, not
the model. None of them is a dependency.
"""

from __future__ import annotations

import os
import sqlite3
from array import array
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from typing import Any, Protocol

from byheart.domain.errors import BadInput
from byheart.domain.sessions import Speaker, Which
from byheart.search.models import RecallModels
from byheart.sessions.refresh import SessionTools
from byheart.text.questions import question

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
