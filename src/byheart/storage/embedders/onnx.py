"""A sentence model in a folder of the user's, run by onnxruntime: several times as fast as numpy, where it is installed."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from byheart.domain.recall import NoModel
from byheart.storage.embedders.weights import floats
from byheart.storage.embedders.wordpiece import WordPiece

_LONGEST, _BATCH = 256, 2_048


class OnnxEmbedder:
    """A BERT-like model: `model.onnx` and `vocab.txt` in a folder, as exports for search are laid out."""

    scale = (0.2, 0.5)

    def __init__(self, folder: str, name: str | None = None) -> None:
        try:
            import onnxruntime
        except ImportError:
            raise NoModel("a local ONNX model needs onnxruntime; pip install 'byheart[fast]' gets it") from None
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
        tokens = [[pieces.start, *pieces.ids(text, _LONGEST - 2), pieces.end] for text in texts]
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
