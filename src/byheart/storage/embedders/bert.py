"""BERT in numpy: its tokens, its weights read out of an ONNX file as data, and its layers. Weights stay int8 as they were shipped and
are widened a matrix at a time, so that a first answer comes as fast as the next."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from byheart.domain.values import dataclass

# The fields of ONNX's messages that matter here, by their numbers in its schema.
_MODEL_GRAPH, _GRAPH_NODE, _GRAPH_INITIALIZER = 7, 1, 5
_NODE_INPUT, _NODE_OUTPUT, _NODE_KIND = 1, 2, 4
_TENSOR_DIMS, _TENSOR_TYPE, _TENSOR_FLOATS, _TENSOR_INTS, _TENSOR_NAME, _TENSOR_RAW = 1, 2, 4, 5, 8, 9
_KINDS: dict[int, Any] = {1: np.float32, 2: np.uint8, 3: np.int8, 6: np.int32, 7: np.int64}


class NotAModel(ValueError):
    """The file is no ONNX model of a known shape."""


@dataclass(frozen=True, slots=True)
class OnnxNode:
    """One operation, by the names of what goes in and what comes out."""

    kind: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Model:
    """A model's operations and its constants."""

    nodes: tuple[OnnxNode, ...]
    tensors: dict[str, NDArray[Any]]


def read(raw: bytes) -> Model:
    """Take a file apart. Raises NotAModel."""
    try:
        graph = next(value for field, value in _fields(memoryview(raw)) if field == _MODEL_GRAPH)
        nodes, tensors = [], {}
        for field, value in _fields(graph):
            if field == _GRAPH_NODE:
                nodes.append(_node(value))
            elif field == _GRAPH_INITIALIZER:
                name, tensor = _tensor(value)
                tensors[name] = tensor
    except (StopIteration, IndexError, ValueError, TypeError, KeyError) as error:
        raise NotAModel(str(error) or type(error).__name__) from None
    return Model(tuple(nodes), tensors)


def _fields(raw: memoryview) -> Iterator[tuple[int, Any]]:
    """The fields of one message: numbers as they are, everything else as bytes."""
    at, end = 0, len(raw)
    while at < end:
        key, at = _number(raw, at)
        match key & 7:
            case 0:
                value, at = _number(raw, at)
                yield key >> 3, value
            case 1:
                yield key >> 3, raw[at : at + 8]
                at += 8
            case 2:
                size, at = _number(raw, at)
                if at + size > end:
                    raise ValueError("a field reaches over the end")
                yield key >> 3, raw[at : at + size]
                at += size
            case 5:
                yield key >> 3, raw[at : at + 4]
                at += 4
            case _:
                raise ValueError("not a protobuf message")


def _number(raw: memoryview, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = raw[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
        if shift > 63:
            raise ValueError("a number without end")


def _node(raw: memoryview) -> OnnxNode:
    kind, inputs, outputs = "", [], []
    for field, value in _fields(raw):
        if field == _NODE_INPUT:
            inputs.append(str(value, "utf-8"))
        elif field == _NODE_OUTPUT:
            outputs.append(str(value, "utf-8"))
        elif field == _NODE_KIND:
            kind = str(value, "utf-8")
    return OnnxNode(kind, tuple(inputs), tuple(outputs))


def _tensor(raw: memoryview) -> tuple[str, NDArray[Any]]:
    dims: list[int] = []
    kind, name, content, packed = 0, "", None, None
    for field, value in _fields(raw):
        if field == _TENSOR_DIMS:
            dims += [value] if isinstance(value, int) else _numbers(value)
        elif field == _TENSOR_TYPE:
            kind = value
        elif field == _TENSOR_NAME:
            name = str(value, "utf-8")
        elif field == _TENSOR_RAW:
            content = value
        elif field in (_TENSOR_FLOATS, _TENSOR_INTS):
            packed = (packed or []) + _few(field, value)
    if kind not in _KINDS:
        return name, np.zeros(0, np.float32)
    if content is not None:
        return name, np.frombuffer(content, _KINDS[kind]).reshape(dims)
    return name, np.array(packed or [], np.int64 if kind != 1 else np.float32).astype(_KINDS[kind]).reshape(dims)


def _few(field: int, value: Any) -> list[Any]:
    """Values that a small tensor spells out one by one or packed."""
    if isinstance(value, int):
        return [_signed(value)]
    if field == _TENSOR_FLOATS:
        return list(np.frombuffer(value, np.float32))
    return [_signed(each) for each in _numbers(value)]


def _signed(value: int) -> int:
    return value - (1 << 64) if value >= 1 << 63 else value


def _numbers(raw: memoryview) -> list[int]:
    found, at = [], 0
    while at < len(raw):
        value, at = _number(raw, at)
        found.append(value)
    return found


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


_LONGEST_WORD = 100
_REMEMBERED = 20_000
# Blocks of Chinese characters, each a word of its own to these models.
_CHINESE = (
    (0x4E00, 0x9FFF),
    (0x3400, 0x4DBF),
    (0x20000, 0x2A6DF),
    (0x2A700, 0x2B73F),
    (0x2B740, 0x2B81F),
    (0x2B820, 0x2CEAF),
    (0xF900, 0xFAFF),
    (0x2F800, 0x2FA1F),
)


class WordPiece:
    """A vocabulary, and taking texts apart by it."""

    def __init__(self, vocabulary: Iterable[str]) -> None:
        self._ids = {word: number for number, word in enumerate(vocabulary)}
        self._unknown, self.start, self.end = (self._ids[name] for name in ("[UNK]", "[CLS]", "[SEP]"))
        self._known: dict[str, tuple[int, ...]] = {}

    def ids(self, text: str, most: int) -> list[int]:
        """A text's tokens, at most so many, without the marks at both ends."""
        found: list[int] = []
        for word in _words(text, most):
            known = self._known.get(word)
            if known is None:
                known = self._pieces(word)
                if len(self._known) < _REMEMBERED:
                    self._known[word] = known
            found += known
            if len(found) >= most:
                return found[:most]
        return found

    def _pieces(self, word: str) -> tuple[int, ...]:
        if len(word) > _LONGEST_WORD:
            return (self._unknown,)
        pieces: list[int] = []
        start = 0
        while start < len(word):
            head = "##" if start else ""
            for end in range(len(word), start, -1):
                number = self._ids.get(head + word[start:end])
                if number is not None:
                    pieces.append(number)
                    start = end
                    break
            else:
                return (self._unknown,)
        return tuple(pieces)


def _words(text: str, most: int) -> list[str]:
    # No token is shorter than a character; the rest of a long text need not be looked at, but for spaces.
    text = text[: most * 24].lower()
    if not text.isascii():
        text = "".join(each for each in unicodedata.normalize("NFD", text) if unicodedata.category(each) != "Mn")
    known = _SPACING
    return "".join([known[each] if each in known else _spacing(each) for each in text]).split()


_SPACING: dict[str, str] = {}


def _spacing(each: str) -> str:
    """A character as it stands among words: itself, apart from its neighbours, or a space."""
    number = ord(each)
    if _is_punctuation(each, number) or any(low <= number <= high for low, high in _CHINESE):
        spaced = f" {each} "
    elif each in "\t\n\r" or unicodedata.category(each) == "Zs":
        spaced = " "
    elif number == 0xFFFD or unicodedata.category(each).startswith("C"):
        spaced = ""
    else:
        spaced = each
    if len(_SPACING) < _REMEMBERED:
        _SPACING[each] = spaced
    return spaced


def _is_punctuation(each: str, number: int) -> bool:
    return (
        33 <= number <= 47
        or 58 <= number <= 64
        or 91 <= number <= 96
        or 123 <= number <= 126
        or (unicodedata.category(each).startswith("P"))
    )
