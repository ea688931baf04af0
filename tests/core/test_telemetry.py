from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core import telemetry
from core.errors import BadInput
from core.home import Home
from tests.examples import examples

ROOT = str(Path(__file__).resolve().parents[2])
_MANY = """
import sys
sys.path.insert(0, sys.argv[1])
from core import telemetry
from core.home import Home
for number in range(25):
    fields = {"who": int(sys.argv[3]), "number": number, "pad": "x" * 5000}
    assert telemetry.record(Home(sys.argv[2]), "ask", "terminal", **fields) is None
"""


def _rows(home: Home) -> list[dict[str, object]]:
    return [json.loads(line) for line in Path(home.usage).read_bytes().split(b"\n")[:-1]]


def test_a_row_begins_with_the_fields_every_row_has(home: Home) -> None:
    assert telemetry.record(home, "ask", "mcp", latency_ms=1.5, n_hits=0) is None
    (row,) = _rows(home)
    assert list(row) == ["schema", "ts", "surface", "event", "latency_ms", "n_hits"]
    assert (row["schema"], row["surface"], row["event"], row["n_hits"]) == (1, "mcp", "ask", 0)
    assert str(row["ts"]).endswith("Z")


def test_the_ledger_is_private(home: Home) -> None:
    before = os.umask(0)
    try:
        telemetry.record(home, "ask", "terminal")
    finally:
        os.umask(before)
    assert os.stat(home.usage).st_mode & 0o777 == 0o600


def test_twenty_processes_append_whole_rows(home: Home) -> None:
    children = [subprocess.Popen([sys.executable, "-c", _MANY, ROOT, home.root, str(who)]) for who in range(20)]
    assert [child.wait(60) for child in children] == [0] * 20
    rows = _rows(home)
    assert sorted((row["who"], row["number"]) for row in rows) == [(who, n) for who in range(20) for n in range(25)]


@pytest.mark.parametrize("torn", [b'{"schema":1,"ev', b"\x00" * 100, b"\xff\xfe", b"{"])
def test_a_torn_last_row_does_not_swallow_the_next(home: Home, torn: bytes) -> None:
    telemetry.record(home, "ask", "terminal", number=1)
    with open(home.usage, "ab") as stream:
        stream.write(torn)
    telemetry.record(home, "ask", "terminal", number=2)
    telemetry.record(home, "ask", "terminal", number=3)
    assert [row["number"] for row in telemetry.tail(home, 10)] == [1, 2, 3]
    assert [row["number"] for row in telemetry.tail(home, 2)] == [2, 3]


def test_the_last_rows_are_found_however_long_they_are(home: Home) -> None:
    for number in range(6):
        telemetry.record(home, "ask", "terminal", number=number, hits=["x" * 100_000])
    assert [row["number"] for row in telemetry.tail(home, 4)] == [2, 3, 4, 5]
    assert [row["number"] for row in telemetry.tail(home, 100)] == [0, 1, 2, 3, 4, 5]


@pytest.mark.parametrize("other", [1, 10, 1000])
def test_the_newest_row_of_an_event_is_found_however_many_others_came_later(home: Home, other: int) -> None:
    assert telemetry.last(home, "hook") is None
    for number in (1, 2):
        telemetry.record(home, "hook", "hook", number=number)
    for _ in range(other):
        telemetry.append(home.usage, {"ts": "2026-05-01T00:00:00Z", "event": "ask", "pad": "é" * 700}, 100_000)
    row = telemetry.last(home, "hook")
    assert row is not None
    assert row["number"] == 2


def test_no_ledger_has_no_rows(home: Home) -> None:
    assert telemetry.tail(home, 5) == []


@settings(max_examples=examples(30), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_no_field_splits_its_row(home: Home, text: str) -> None:
    Path(home.usage).unlink(missing_ok=True)
    telemetry.record(home, "ask", "terminal", field=text)
    assert [row["field"] for row in telemetry.tail(home, 1)] == [text]
    assert Path(home.usage).read_bytes().count(b"\n") == 1


def test_a_ledger_that_cannot_be_written_is_returned_not_raised(home: Home) -> None:
    os.mkdir(home.usage)
    assert isinstance(telemetry.record(home, "ask", "terminal"), OSError)


def test_a_file_where_the_folder_should_be_is_returned_not_raised(home: Home) -> None:
    os.rmdir(home.logs)
    Path(home.logs).write_text("")
    assert isinstance(telemetry.record(home, "ask", "terminal"), BadInput)


def test_a_field_that_cannot_be_written_is_returned_not_raised(home: Home) -> None:
    assert isinstance(telemetry.record(home, "ask", "terminal", hits=["\udcff.md"]), UnicodeEncodeError)


def test_a_ledger_that_has_grown_makes_room_and_loses_nothing(home: Home) -> None:
    for number in range(100):
        row = {"ts": "2026-05-01T00:00:00Z", "event": "ask", "number": number, "pad": "x" * 500}
        assert telemetry.append(home.usage, row, 5_000) is None
    files = telemetry.ledgers(home)
    assert len(files) > 5
    there = [Path(path) for path in files if os.path.exists(path)]
    assert all(path.stat().st_size < 6_000 for path in there)
    assert {path.stat().st_mode & 0o777 for path in there} == {0o600}
    assert [json.loads(line)["number"] for path in there for line in path.read_text().splitlines()] == list(range(100))
    assert [row["number"] for row in telemetry.tail(home, 30)] == list(range(70, 100))
    assert len(telemetry.tail(home, 1000)) == 100


_ROTATING = """
import sys
sys.path.insert(0, sys.argv[1])
from core import telemetry
from core.home import Home
for number in range(40):
    row = {"who": int(sys.argv[3]), "number": number, "pad": "x" * 500}
    assert telemetry.append(Home(sys.argv[2]).usage, row, 20_000) is None
"""


def test_processes_that_rotate_the_same_ledger_lose_no_row(home: Home) -> None:
    writers = [subprocess.Popen([sys.executable, "-c", _ROTATING, ROOT, home.root, str(who)]) for who in range(8)]
    assert [writer.wait(60) for writer in writers] == [0] * 8
    rows = [
        json.loads(line)
        for path in telemetry.ledgers(home)
        if os.path.exists(path)
        for line in Path(path).read_text().splitlines()
    ]
    assert len(telemetry.ledgers(home)) > 3
    assert sorted((row["who"], row["number"]) for row in rows) == [(who, n) for who in range(8) for n in range(40)]


def test_telemetry_of_its_own_rotates_at_its_bound(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(telemetry, "ROTATE_BYTES", 10)
    telemetry.record(home, "ask", "terminal")
    telemetry.record(home, "recent", "terminal")
    assert len(telemetry.ledgers(home)) == 3
    assert [row["event"] for row in telemetry.tail(home, 1)] == [row["event"] for row in telemetry.tail(home, 2)][-1:]
