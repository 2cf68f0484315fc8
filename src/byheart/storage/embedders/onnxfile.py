"""The weights in an ONNX file, read as data: no graph is run, and no package for it is needed."""

from __future__ import annotations

from collections.abc import Iterator
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
