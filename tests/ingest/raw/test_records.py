"""JSON Lines as found on disk."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.document import Failure
from ingest.raw.records import Records, is_binary, prefix_digest


def read(data: bytes, limit: int = 1 << 20) -> tuple[list[dict[str, Any]], list[Failure], Records]:
    source = Records(io.BytesIO(data), "x.jsonl", limit)
    items = list(source)
    failures = [item for item in items if isinstance(item, Failure)]
    return [item[1] for item in items if not isinstance(item, Failure)], failures, source


def test_two_records_joined_on_one_line_are_both_recovered() -> None:
    found, failures, source = read(b'{"a":1}{"b":"}{"}\n{"c":3}\n')
    assert found == [{"a": 1}, {"b": "}{"}, {"c": 3}]
    assert failures == []
    assert source.recovered == {"records joined on one line": 2}


def test_a_truncated_last_line_is_left_for_next_time() -> None:
    whole = b'{"a":1}\n'
    found, failures, source = read(whole + b'{"type":"user","mess')
    assert found == [{"a": 1}]
    assert failures == []
    assert source.consumed == len(whole)
    assert source.tail == 20


def test_a_whole_last_line_without_a_newline_counts() -> None:
    found, failures, source = read(b'{"a":1}\n{"b":2}')
    assert found == [{"a": 1}, {"b": 2}]
    assert failures == []
    assert source.consumed == 15
    assert source.tail == 0


def test_a_last_line_that_cannot_become_a_record_is_a_failure() -> None:
    _, failures, _ = read(b'{"a":1}\nnonsense')
    assert [failure.reason for failure in failures] == ["malformed line"]


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b'{"a":1}\n{oops}\n{"b":2}\n', "malformed line"),
        (b'{"a":1}\n[1,2]\n{"b":2}\n', "not a JSON object"),
        (b'{"a":1}\n{"deep":' + b"[" * 100_000 + b"]" * 100_000 + b'}\n{"b":2}\n', "nested too deeply"),
        (b'{"a":1}\n{"long":"' + b"x" * 3_000_000 + b'"}\n{"b":2}\n', "line too long"),
    ],
)
def test_one_bad_line_is_counted_with_its_number_and_loses_nothing_else(data: bytes, reason: str) -> None:
    found, failures, source = read(data)
    assert found == [{"a": 1}, {"b": 2}]
    assert [(failure.reason, failure.line) for failure in failures] == [(reason, 2)]
    assert source.consumed == len(data)


@pytest.mark.parametrize(
    ("data", "binary"),
    [
        (b"\x7fELF\x02\x01\x01" + bytes(9) + b"\x03\x00>\x00\x01", True),
        (bytes(range(256)) * 4, True),
        ("ls -la\n".encode("utf-16"), True),
        (b"ls\x1b[31m\r\n\tmake" * 9, False),
        (b"ls -la\n" + bytes(4096) + b"make test\n", False),
        (b"make test\n" * 20 + b"\0" + b"make\n" * 50, False),
        (b"ls\n" + bytes(63) + b"ls\n", False),
        (b"m" * 8172 + bytes(4096) + b"x", False),
        (bytes(9000) + b"ls\n", False),
        ("ls -la\n".encode("utf-32-le"), True),
        (b"SQLite format 3\0\x10\0\x01\x01" + bytes(80) + b"create table history(id text, command text)" * 90, True),
        (b"PK\x03\x04\x14\0\0\0\0\0" + b"stored as it is\n" * 500, True),
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + b"words in it " * 90, True),
        ("grüße 漢字\n".encode() + b"\xff\xfe", False),
        (b"", False),
    ],
    ids=[
        "program",
        "every byte",
        "UTF-16",
        "colours",
        "hole",
        "one NUL",
        "short hole",
        "hole that a look at the beginning ends in",
        "hole at the beginning",
        "UTF-32",
        "database",
        "zip",
        "PNG",
        "damaged text",
        "nothing",
    ],
)
def test_bytes_that_are_no_text_are_told_from_damaged_text(data: bytes, binary: bool) -> None:
    assert is_binary(data) is binary


def test_a_binary_file_is_told_from_a_transcript() -> None:
    _, failures, _ = read(b"SQLite format 3\0" + bytes(range(256)) * 50)
    assert [failure.reason for failure in failures] == ["binary"]


def test_a_hole_in_a_first_line_that_is_torn_costs_that_line_alone() -> None:
    found, failures, _ = read(b'end of what was there before"}' + bytes(20) + b'\n{"a":1}\n')
    assert found == [{"a": 1}]
    assert [(failure.reason, failure.line) for failure in failures] == [("malformed line", 1)]


@pytest.mark.parametrize(
    ("data", "recovered"),
    [
        (b'\xef\xbb\xbf{"a":1}\n', "byte order mark removed"),
        (b'{"a":1}\n\0\0\0{"a":1}\n', "NUL bytes removed"),
        (b'{"a":1,"b":"\xff\xfe"}\n', "invalid UTF-8 replaced"),
    ],
)
def test_damage_that_can_be_repaired_is_repaired_and_counted(data: bytes, recovered: str) -> None:
    found, failures, source = read(data)
    assert failures == []
    assert all(record["a"] == 1 for record in found)
    assert source.recovered == {recovered: 1}


def test_blank_lines_and_windows_line_ends_are_nothing() -> None:
    found, failures, _ = read(b'\r\n{"a":1}\r\n\n   \n{"b":2}\r\n')
    assert found == [{"a": 1}, {"b": 2}]
    assert failures == []


def test_the_digest_covers_exactly_the_consumed_prefix(tmp_path: Path) -> None:
    data = b'{"a":1}\n{"b":2}\n{"c":'
    _, _, source = read(data)
    path = tmp_path / "x.jsonl"
    path.write_bytes(data + b"3}\n")
    assert prefix_digest(str(path), source.consumed) == source.digest()
    assert prefix_digest(str(path), 10_000) is None


@given(st.binary(max_size=400), st.integers(16, 200))
def test_no_bytes_whatsoever_raise(data: bytes, limit: int) -> None:
    _, _, source = read(data, limit)
    assert source.consumed + source.tail <= len(data)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=10),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
RECORDS = st.lists(st.dictionaries(st.text(max_size=5), JSON, max_size=4), min_size=1, max_size=8)


@given(RECORDS, st.data())
def test_whole_records_survive_joins_and_truncation(records: list[dict[str, Any]], data: st.DataObject) -> None:
    ends = [data.draw(st.sampled_from([b"\n", b"", b" ", b"\r\n"])) for _ in records]
    raw = b"".join(
        json.dumps(record, ensure_ascii=False).encode("utf-8", "surrogatepass") + end
        for record, end in zip(records, ends, strict=True)
    )
    expected = [json.loads(json.dumps(record)) for record in records]
    found, failures, _ = read(raw)
    assert found == expected
    assert failures == []
    cut = data.draw(st.integers(0, len(raw)))
    found, failures, _ = read(raw[:cut])
    assert found == expected[: len(found)]
    assert failures == []
