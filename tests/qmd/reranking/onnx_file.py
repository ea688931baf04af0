"""A cross-encoder that is small enough to write down, as ONNX's protobuf (https://onnx.ai/onnx/repo-docs/IR.html).

It counts the pairs of equal tokens of which one stands in the question (type 0) and one in the text (type 1): the more
words they share, the higher the logit. [SEP] stands in both, so that every pair shares one.
"""

from __future__ import annotations

import shutil
import struct
from pathlib import Path

from qmd.embedding import local

_INT64, _FLOAT = 7, 1


def _varint(value: int) -> bytes:
    out = b""
    while value > 127:
        out += bytes([value & 127 | 128])
        value >>= 7
    return out + bytes([value])


def _field(number: int, value: bytes | str | int) -> bytes:
    if isinstance(value, int):
        return _varint(number << 3) + _varint(value)
    raw = value.encode() if isinstance(value, str) else value
    return _varint(number << 3 | 2) + _varint(len(raw)) + raw


def _node(kind: str, inputs: list[str], output: str, **attributes: int) -> bytes:
    body = b"".join(_field(1, name) for name in inputs) + _field(2, output) + _field(4, kind)
    for name, value in attributes.items():
        body += _field(5, _field(1, name) + _field(3, value) + _field(20, 2))  # type INT
    return _field(1, body)


def _constant(name: str, kind: int, shape: list[int], values: bytes) -> bytes:
    dims = b"".join(_field(1, each) for each in shape)
    return _field(5, dims + _field(2, kind) + _field(8, name) + _field(9, values))


def _value(number: int, name: str, kind: int, shape: list[str | int]) -> bytes:
    dims = b"".join(_field(1, _field(2, d) if isinstance(d, str) else _field(1, d)) for d in shape)
    return _field(number, _field(1, name) + _field(2, _field(1, _field(1, kind) + _field(2, dims))))


def cross_encoder(classes: int = 1, bias: float = -3.0) -> bytes:
    """The model: ``classes`` 1 gives a logit, 2 give (its negative, itself), 3 what no reranker gives."""
    nodes = [
        _node("Cast", ["token_type_ids"], "second", to=_FLOAT),
        _node("Cast", ["attention_mask"], "real", to=_FLOAT),
        _node("Mul", ["real", "second"], "text"),
        _node("Sub", ["real", "text"], "question"),
        _node("Unsqueeze", ["input_ids", "two"], "down"),
        _node("Unsqueeze", ["input_ids", "one"], "across"),
        _node("Equal", ["down", "across"], "same"),
        _node("Cast", ["same"], "pairs", to=_FLOAT),
        _node("Unsqueeze", ["question", "two"], "rows"),
        _node("Unsqueeze", ["text", "one"], "columns"),
        _node("Mul", ["pairs", "rows"], "of_question"),
        _node("Mul", ["of_question", "columns"], "of_both"),
        _node("ReduceSum", ["of_both", "axes"], "shared", keepdims=0),
        _node("Unsqueeze", ["shared", "one"], "column"),
        _node("Add", ["column", "bias"], "margin"),
        _node("Mul", ["margin", "signs"], "logits"),
    ]
    signs = {1: [1.0], 2: [-0.5, 0.5], 3: [1.0, 1.0, 1.0]}[classes]
    constants = [
        _constant("one", _INT64, [1], struct.pack("<q", 1)),
        _constant("two", _INT64, [1], struct.pack("<q", 2)),
        _constant("axes", _INT64, [2], struct.pack("<2q", 1, 2)),
        _constant("bias", _FLOAT, [1], struct.pack("<f", bias)),
        _constant("signs", _FLOAT, [classes], struct.pack(f"<{classes}f", *signs)),
    ]
    inputs = [_value(11, name, _INT64, ["batch", "length"]) for name in local.INPUTS]
    output = _value(12, "logits", _FLOAT, ["batch", classes])
    graph = b"".join(nodes) + _field(2, "overlap") + b"".join(constants) + b"".join(inputs) + output
    return _field(1, 8) + _field(7, graph) + _field(8, _field(1, "") + _field(2, 13))


def folder(place: Path, classes: int = 1, bias: float = -3.0) -> Path:
    """A folder with the model, and the tokenizer of all-MiniLM-L6-v2 (BERT's)."""
    place.mkdir(parents=True)
    (place / "model.onnx").write_bytes(cross_encoder(classes, bias))
    shutil.copy(local._in_wheels()[1], place / "tokenizer.json")
    return place
