"""BERT in numpy: weights stay int8 as they were shipped and are widened a matrix at a time, so that a first answer comes as
soon as the next one, and little memory is held."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from byheart.storage.embedders.onnxfile import Model, NotAModel

Floats = NDArray[np.float32]
_MAGIC = b"BHWEIGHT"
_ALIGNED = 64
# A batch holds at most so many tokens: beyond it memory grows and speed does not.
_BATCH = 2_048
_ATTENTION = ("attention.self.query", "attention.self.key", "attention.self.value", "attention.output.dense")
_LAYER = (*_ATTENTION, "intermediate.dense", "output.dense")
_NORMS = ("attention.output.LayerNorm", "output.LayerNorm")


def packed(model: Model, more: dict[str, NDArray[Any]]) -> bytes:
    """The weights of an ONNX export of a BERT as one block that can be mapped into memory. Raises NotAModel."""
    tensors, out = model.tensors, dict(more)
    prefix = "bert." if "bert.embeddings.LayerNorm.weight" in tensors else ""
    try:
        for name in ("word_embeddings", "position_embeddings", "token_type_embeddings"):
            _put(out, name, *_quantised(tensors, f"{prefix}embeddings.{name}.weight"))
        for part in ("weight", "bias"):
            out[f"norm.{part}"] = tensors[f"{prefix}embeddings.LayerNorm.{part}"]
        producers = {name: node for node in model.nodes for name in node.outputs}
        users = {name: node for node in model.nodes for name in node.inputs if name in tensors}
        number = 0
        while f"{prefix}encoder.layer.{number}.output.dense.bias" in tensors:
            layer = f"{prefix}encoder.layer.{number}."
            for name in _LAYER:
                bias = f"{layer}{name}.bias"
                matrix = _matrix_before(users[bias].inputs, producers, tensors)
                _put(out, f"{number}.{name}", *_quantised(tensors, matrix))
                out[f"{number}.{name}.bias"] = tensors[bias]
            for name in _NORMS:
                for part in ("weight", "bias"):
                    out[f"{number}.{name}.{part}"] = tensors[f"{layer}{name}.{part}"]
            number += 1
        for name, own in (("bert.pooler.dense", "pooler"), ("classifier", "classifier")):
            if f"{name}.bias" in tensors:
                _put(out, own, *_quantised(tensors, f"{name}.weight"))
                out[f"{own}.bias"] = tensors[f"{name}.bias"]
    except KeyError as error:
        raise NotAModel(f"it has no {error.args[0]}") from None
    if not number:
        raise NotAModel("it has no layers of a BERT")
    return _joined(out)


def _matrix_before(names: Sequence[str], producers: dict[str, Any], tensors: dict[str, Any]) -> str:
    """The matrix whose product a bias is added to."""
    reached = list(names)
    for _ in range(6):
        nodes = [producers[name] for name in reached if name in producers]
        for node in nodes:
            if node.kind in ("MatMul", "MatMulInteger") and node.inputs[1] in tensors:
                return str(node.inputs[1]).removesuffix("_quantized")
        reached = [name for node in nodes for name in node.inputs]
    raise KeyError("matrix")


def _quantised(tensors: dict[str, NDArray[Any]], name: str) -> tuple[NDArray[Any], Floats]:
    """A matrix as int8 with a scale for each column, whatever it was shipped as."""
    if f"{name}_quantized" in tensors:
        values = tensors[f"{name}_quantized"].astype(np.int16) - tensors[f"{name}_zero_point"].astype(np.int16)
        scale = np.broadcast_to(tensors[f"{name}_scale"], values.shape[-1:]).astype(np.float32)
        if abs(values).max(initial=0) > 127:
            # An unsigned table around its zero may need nine bits; half the last one is lost.
            return np.rint(values / 2).astype(np.int8), (scale * 2).astype(np.float32)
        return values.astype(np.int8), scale
    floats = tensors[name].astype(np.float32)
    scale = (np.abs(floats).max(axis=0) / 127 + 1e-12).astype(np.float32)
    return np.rint(floats / scale).astype(np.int8), scale


def _put(out: dict[str, NDArray[Any]], name: str, values: NDArray[Any], scale: Floats) -> None:
    out[name], out[f"{name}.scale"] = values, scale


def _joined(arrays: dict[str, NDArray[Any]]) -> bytes:
    entries, offset = {}, 0
    for name, array in arrays.items():
        entries[name] = [array.dtype.str, list(array.shape), offset]
        offset += -(-array.nbytes // _ALIGNED) * _ALIGNED
    head = json.dumps(entries).encode()
    head += b" " * (-(len(_MAGIC) + 8 + len(head)) % _ALIGNED)
    parts = [_MAGIC, len(head).to_bytes(8, "little"), head]
    for array in arrays.values():
        raw = np.ascontiguousarray(array).tobytes()
        parts += [raw, bytes(-len(raw) % _ALIGNED)]
    return b"".join(parts)


def unpacked(block: NDArray[np.uint8]) -> dict[str, NDArray[Any]]:
    """The arrays of a block, as views of it. Raises NotAModel."""
    if block[: len(_MAGIC)].tobytes() != _MAGIC:
        raise NotAModel("not a block of weights")
    start = len(_MAGIC) + 8
    size = int.from_bytes(block[len(_MAGIC) : start].tobytes(), "little")
    try:
        entries = json.loads(block[start : start + size].tobytes())
        found = {}
        for name, (kind, shape, offset) in entries.items():
            dtype = np.dtype(kind)
            begin = start + size + offset
            count = int(np.prod(shape, dtype=np.int64))
            found[name] = block[begin : begin + count * dtype.itemsize].view(dtype).reshape(shape)
    except (ValueError, TypeError, AttributeError) as error:
        raise NotAModel(str(error)) from None
    return found


class Bert:
    """Runs the layers over batches of tokens."""

    def __init__(self, weights: dict[str, NDArray[Any]]) -> None:
        self._weights = weights
        self.width = int(weights["norm.weight"].shape[0])
        self.longest = int(weights["position_embeddings"].shape[0])
        self._layers = sum(1 for name in weights if name.endswith(".intermediate.dense"))
        # Heads of 32 or 64, as all models of these sizes have them.
        self._heads = 12 if self.width in (384, 768) else self.width // 64
        self._wide = np.empty(int(max(weights["0.intermediate.dense"].size, 1)), np.float32)

    def first(self, tokens: Sequence[Sequence[int]], kinds: Sequence[Sequence[int]] | None = None) -> Floats:
        """For each list of tokens the vector that stands over its first one."""
        out = np.empty((len(tokens), self.width), np.float32)
        order = sorted(range(len(tokens)), key=lambda place: len(tokens[place]))
        start = 0
        while start < len(order):
            end = start + 1
            while end < len(order) and len(tokens[order[end]]) * (end + 1 - start) <= _BATCH:
                end += 1
            batch = order[start:end]
            out[batch] = self._run([tokens[at] for at in batch], [kinds[at] for at in batch] if kinds else None)
            start = end
        return out

    def score(self, vectors: Floats) -> Floats:
        """What a cross-encoder's head makes of them."""
        pooled = self._times(vectors, "pooler")
        np.tanh(pooled, out=pooled)
        scores: Floats = self._times(pooled, "classifier")[:, 0]
        return scores

    def _run(self, tokens: list[Sequence[int]], kinds: list[Sequence[int]] | None) -> Floats:
        size, most = len(tokens), max(map(len, tokens))
        ids, kind = np.zeros((size, most), np.intp), np.zeros((size, most), np.intp)
        mask = np.full((size, most), -1e9, np.float32)
        for place, row in enumerate(tokens):
            ids[place, : len(row)] = row
            mask[place, : len(row)] = 0
            if kinds:
                kind[place, : len(row)] = kinds[place]
        state = self._embedded(ids, kind).reshape(size * most, self.width)
        for number in range(self._layers):
            # The last layer is asked for the first token alone.
            state = self._layer(state, f"{number}.", size, most, mask, only_first=number == self._layers - 1)
        return state

    def _embedded(self, ids: NDArray[np.intp], kind: NDArray[np.intp]) -> Floats:
        weights = self._weights
        state: Floats = weights["word_embeddings"][ids] * weights["word_embeddings.scale"]
        state += (weights["position_embeddings"][: ids.shape[1]] * weights["position_embeddings.scale"])[None]
        state += weights["token_type_embeddings"][kind] * weights["token_type_embeddings.scale"]
        return self._normed(state, "norm")

    def _layer(self, state: Floats, at: str, size: int, most: int, mask: Floats, *, only_first: bool) -> Floats:
        heads, width = self._heads, self.width // self._heads
        asking = state.reshape(size, most, -1)[:, 0] if only_first else state
        rows = 1 if only_first else most
        query = self._times(asking, f"{at}attention.self.query").reshape(size, rows, heads, width).transpose(0, 2, 1, 3)
        key = self._times(state, f"{at}attention.self.key").reshape(size, most, heads, width).transpose(0, 2, 3, 1)
        value = self._times(state, f"{at}attention.self.value").reshape(size, most, heads, width).transpose(0, 2, 1, 3)
        weight = query @ key
        weight *= np.float32(width**-0.5)
        weight += mask[:, None, None, :]
        weight -= weight.max(axis=-1, keepdims=True)
        np.exp(weight, out=weight)
        weight /= weight.sum(axis=-1, keepdims=True)
        mixed = np.empty((size, rows, heads, width), np.float32)
        mixed[:] = (weight @ value).transpose(0, 2, 1, 3)
        after = self._times(mixed.reshape(size * rows, self.width), f"{at}attention.output.dense")
        after += asking
        after = self._normed(after, f"{at}attention.output.LayerNorm")
        inner = _gelu(self._times(after, f"{at}intermediate.dense"))
        result = self._times(inner, f"{at}output.dense")
        result += after
        return self._normed(result, f"{at}output.LayerNorm")

    def _times(self, state: Floats, name: str) -> Floats:
        matrix = self._weights[name]
        wide = self._wide[: matrix.size].reshape(matrix.shape)
        np.copyto(wide, matrix)
        product: Floats = state @ wide
        product *= self._weights[f"{name}.scale"]
        product += self._weights[f"{name}.bias"]
        return product

    def _normed(self, state: Floats, name: str) -> Floats:
        state -= state.mean(axis=-1, keepdims=True)
        spread = np.einsum("...i,...i->...", state, state)[..., None] / self.width
        state /= np.sqrt(spread + np.float32(1e-12))
        state *= self._weights[f"{name}.weight"]
        state += self._weights[f"{name}.bias"]
        return state


def _gelu(state: Floats) -> Floats:
    """The usual approximation, in place; the vectors differ by a millionth."""
    inner = state * state
    inner *= np.float32(0.044715)
    inner += 1
    inner *= state
    inner *= np.float32(0.7978845608)
    np.tanh(inner, out=inner)
    inner += 1
    inner *= state
    inner *= np.float32(0.5)
    return inner
