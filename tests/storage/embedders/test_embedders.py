"""Models: read as data and checked, or a server, or none; what cannot be had is said and done without."""

from __future__ import annotations

import json
import shutil
import struct
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from byheart.domain.recall import NoModel
from byheart.storage.embedders import bert
from byheart.storage.embedders.local import BuiltinEmbedder, BuiltinReranker, StaticEmbedder, installed, loaded
from byheart.storage.embedders.registry import EndpointEmbedder, HashedEmbedder, ModelChoice, embedder
from byheart.storage.embedders.shipped import EMBEDDER, source


def cosine(one: bytes, other: bytes) -> float:
    return float(np.frombuffer(one, np.float32) @ np.frombuffer(other, np.float32))


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> BuiltinEmbedder:
    return BuiltinEmbedder(str(tmp_path_factory.mktemp("models")))


def test_what_means_the_same_is_nearer_than_what_does_not(model: BuiltinEmbedder) -> None:
    asked, same, other = model.embed(
        ["how do I run the tests", "the test suite is started with make test", "bread needs flour and water"]
    )
    assert cosine(asked, same) > cosine(asked, other) + 0.15
    assert len(asked) == 4 * model.width and cosine(asked, asked) == pytest.approx(1, abs=1e-5)


def test_a_text_has_the_same_vector_alone_and_among_others(model: BuiltinEmbedder) -> None:
    texts = ["short", "a somewhat longer text about nothing in particular", "x " * 400, ""]
    together = model.embed(texts)
    for text, vector in zip(texts, together, strict=True):
        assert cosine(model.embed([text])[0], vector) == pytest.approx(1, abs=1e-4)


def test_the_reranker_tells_an_answer_from_a_neighbour(tmp_path: Path) -> None:
    scores = BuiltinReranker(str(tmp_path)).scores(
        "how do I run the tests", ["Run make test in the root.", "The cat sat on the mat."]
    )
    assert scores[0] > 0 > scores[1]


def test_weights_that_are_not_the_known_ones_are_refused(tmp_path: Path) -> None:
    real = source(EMBEDDER, sys.path)
    assert real is not None
    fake = tmp_path / EMBEDDER.folder
    shutil.copytree(real, fake)
    content = bytearray((fake / "model.onnx").read_bytes())
    content[1_000_000] ^= 1
    (fake / "model.onnx").write_bytes(content)
    with pytest.raises(NoModel, match="known to be good"):
        installed(EMBEDDER, str(tmp_path / "store"), str(tmp_path))
    assert not (tmp_path / "store").exists()


def test_a_packed_block_that_is_broken_is_packed_anew(tmp_path: Path) -> None:
    store = str(tmp_path)
    loaded(EMBEDDER, store)
    block = tmp_path / EMBEDDER.packed_name
    for harm in (b"", b"garbage", block.read_bytes()[:1000]):
        block.write_bytes(harm)
        assert loaded(EMBEDDER, store)[0].width == 384


def test_without_the_wheel_it_is_said_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(NoModel, match="byheart model install"):
        loaded(EMBEDDER, str(tmp_path), paths=[])


@given(st.binary(max_size=300))
def test_no_file_makes_the_reader_of_models_fail(raw: bytes) -> None:
    try:
        bert.read(raw)
    except bert.NotAModel:
        return


class Server(BaseHTTPRequestHandler):
    """An embeddings server that counts letters."""

    asked: ClassVar[list[dict[str, object]]] = []
    answer = ""

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        Server.asked.append({"path": self.path, "key": self.headers.get("Authorization"), **body})
        rows = [
            {"index": place, "embedding": [text.count("a") + 1.0, text.count("b") + 0.5, 1.0]}
            for place, text in enumerate(body["input"])
        ]
        content = (Server.answer or json.dumps({"data": rows[::-1]})).encode()
        self.send_response(200)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        del format, args


@pytest.fixture
def address() -> Iterator[str]:
    server = HTTPServer(("127.0.0.1", 0), Server)
    Server.asked, Server.answer = [], ""
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/v1"
    server.shutdown()
    server.server_close()


def test_a_server_is_asked_as_openai_is(address: str) -> None:
    remote = EndpointEmbedder(address, "letters", key="k")
    one, other = remote.embed(["aaaa", "bbbb"])
    assert remote.width == 3 and struct.unpack("<3f", one)[0] > struct.unpack("<3f", other)[0]
    assert Server.asked[-1]["path"] == "/v1/embeddings" and Server.asked[-1]["key"] == "Bearer k"


@pytest.mark.parametrize("answer", ["{", "[]", '{"data": []}', '{"data": [{"embedding": "x"}]}', '{"data": 5}', "null"])
def test_a_server_that_answers_nonsense_is_done_without(address: str, answer: str) -> None:
    Server.answer = answer
    with pytest.raises(NoModel, match="embeddings"):
        EndpointEmbedder(address, "letters")


def test_a_server_that_is_not_there_is_done_without() -> None:
    with pytest.raises(NoModel, match="did not answer"):
        EndpointEmbedder("http://127.0.0.1:9/v1", "m")
    with pytest.raises(NoModel, match="http"):
        EndpointEmbedder("file:///etc/passwd", "m")


def test_hashed_vectors_are_those_of_the_other_program() -> None:
    [vector] = HashedEmbedder().embed(["Hello, hello world! a"])
    values = struct.unpack("<128f", vector)
    # SHA-1 of "hello" begins with aaf4c61d, of "world" with 7c211433; a single letter is no word there.
    assert {place for place, value in enumerate(values) if value} == {0xAAF4C61D % 128, 0x7C211433 % 128}
    assert values[0xAAF4C61D % 128] == pytest.approx(2 / 5**0.5)
    assert struct.unpack("<128f", HashedEmbedder().embed(["привет"])[0]) == (0.0,) * 128


def test_a_table_of_word_vectors_is_averaged(tmp_path: Path) -> None:
    (tmp_path / "vectors.txt").write_text("3 2\nbread 1 0\nflour 0.9 0.1\ncode 0 1\n", encoding="utf-8")
    static = StaticEmbedder(str(tmp_path))
    bread, flour, code, nothing = static.embed(["Bread", "flour!", "the code", "unknown"])
    assert cosine(bread, flour) > cosine(bread, code) and cosine(nothing, nothing) == 0
    (tmp_path / "vectors.txt").write_text("not a table\n", encoding="utf-8")
    with pytest.raises(NoModel):
        StaticEmbedder(str(tmp_path))


def test_what_is_configured_is_made() -> None:
    assert embedder(ModelChoice(kind="sha1", store="")).id == "sha1-128"
    for kind in ("none", "onnx", "static"):
        with pytest.raises(NoModel):
            embedder(ModelChoice(kind=kind, store="", folder="/nowhere"))
