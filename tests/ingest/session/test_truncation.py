"""A transcript longer than a document keeps its beginning and its end, and marks the gap between them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core.home import Home
from ingest.raw.store import DISK
from ingest.session import document as documents
from ingest.session import merging
from ingest.session import session as sessions
from ingest.sources.claude import parser
from ingest.sources.claude.source import SOURCE
from tests.examples import examples
from tests.ingest.transcripts import SESSION, Record, Script, corpus, document, ingest, save, text, thinking

PIECE = 40
GAP = re.compile(
    r"^… ([\d,]+) pieces of this transcript are left out here: it is longer than a document may be\.$", re.M
)


@pytest.fixture(autouse=True)
def _short_documents(monkeypatch: pytest.MonkeyPatch) -> None:
    """A document of 40 pieces of 100 characters, 10 of them at the beginning."""
    monkeypatch.setattr(sessions, "MAX_HEAD", 10 * 100)
    for module in (sessions, merging, documents, parser):
        monkeypatch.setattr(module, "MAX_DOCUMENT", 40 * 100)
    monkeypatch.setattr(sessions, "OVERHEAD", 60)


def _talk(count: int, **common: str) -> list[Record]:
    s = Script(**common)
    said = [f"piece {number}".ljust(PIECE, ".") for number in range(count)]
    return [s.assistant(text(words)) if number % 2 else s.user(words) for number, words in enumerate(said)]


def _shown(body: str) -> list[int]:
    return [int(number) for number in re.findall(r"^piece (\d+)\.+$", body, re.M)]


def test_a_session_that_fits_is_whole(home: Home, tmp_path: Path) -> None:
    save(tmp_path / "in/a.jsonl", *_talk(40))
    ledger = ingest(home, tmp_path / "in")
    meta, body = document(home)
    assert _shown(body) == list(range(40))
    assert "truncated" not in meta
    assert not GAP.search(body)
    assert ledger.as_dict()["truncated"] == {"documents": 0, "pieces": 0}


def test_the_middle_is_left_out_marked_and_counted(home: Home, tmp_path: Path) -> None:
    save(tmp_path / "in/a.jsonl", *_talk(500))
    save(tmp_path / "in/b.jsonl", *_talk(100, session="other", prefix="o"))
    save(tmp_path / "in/c.jsonl", Script("short", prefix="s").user("short"))
    ledger = ingest(home, tmp_path / "in")
    meta, body = document(home)
    assert _shown(body) == [*range(10), *range(470, 500)]
    assert meta["truncated"] == 460
    assert [match[1] for match in GAP.finditer(body)] == ["460"]
    assert body.index("piece 9.") < body.index("left out here") < body.index("piece 470.")
    assert meta["turns"] == 40
    assert ledger.as_dict()["truncated"] == {"documents": 2, "pieces": 460 + 60}
    again = ingest(home, tmp_path / "in", trust_stat=True)
    assert again.unchanged == 3
    assert again.as_dict()["truncated"] == ledger.as_dict()["truncated"]


def test_the_text_after_a_gap_is_a_turn_of_its_own(home: Home, tmp_path: Path) -> None:
    s = Script()
    pieces = [s.assistant(text(f"piece {n}".ljust(PIECE, ".")), thinking("so"), message="one") for n in range(100)]
    save(tmp_path / "in/a.jsonl", s.user("go"), *pieces)
    ingest(home, tmp_path / "in")
    meta, body = document(home)
    before, _, after = body.partition(GAP.search(body).group())  # type: ignore[union-attr]
    assert meta["turns"] == 3
    assert after.count("\n## [3] assistant · ") == 1
    assert _shown(before) == list(range(len(_shown(before))))
    assert _shown(after)[-1] == 99


def _part(folder: Path, records: list[Record]) -> Any:
    """Return the part of the session in a file of these records."""
    *_, reading = SOURCE.parse(str(save(folder / "a.jsonl", *records)), DISK)
    return reading.parts[SESSION]


@pytest.mark.long
@settings(max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_split_of_a_long_session_over_files_makes_the_document_of_the_whole(
    tmp_path: Path, data: st.DataObject
) -> None:
    """Copies that overlap, are parts of one another, or carry each other on: the same bytes, whatever their order."""
    total = data.draw(st.integers(30, 200))
    records = _talk(total)
    cuts = sorted(data.draw(st.sets(st.integers(1, total - 1), max_size=4)))
    files = []
    for start, end in zip([0, *cuts], [*cuts, total], strict=True):
        files.append(records[data.draw(st.integers(0, start)) : end])
    for _ in range(data.draw(st.integers(0, 2))):
        start = data.draw(st.integers(0, total - 1))
        files.append(records[start : data.draw(st.integers(start + 1, total))])
    whole, parted, permuted = (
        SOURCE.compose(SESSION, [_part(tmp_path, part) for part in split])
        for split in ([records], files, data.draw(st.permutations(files)))
    )
    assert whole == parted == permuted


def test_a_copy_that_went_its_own_way_is_placed_where_it_left_and_counted_once(home: Home, tmp_path: Path) -> None:
    records = _talk(300)
    s = Script(prefix="x")
    # It left in the middle that the longer copy leaves out, and without timestamps to order it by.
    own = [s.user(f"own {n}".ljust(PIECE, "."), timestamp="<absent>") for n in range(3)]
    save(tmp_path / "in/long.jsonl", *records)
    ingest(home, tmp_path / "in")
    alone = corpus(home)
    save(tmp_path / "in/copy.jsonl", *records[:150])
    ingest(home, tmp_path / "in")
    assert corpus(home) == alone
    save(tmp_path / "in/copy.jsonl", *records[:150], *own)
    ingest(home, tmp_path / "in")
    meta, body = document(home)
    assert _shown(body) == [*range(10), *range(270, 300)]
    assert meta["truncated"] == 263  # among them, its own three pieces


def test_records_without_uuids_are_not_doubled_by_a_copy(home: Home, tmp_path: Path) -> None:
    records = [{**record, "uuid": None} for record in _talk(200)]
    save(tmp_path / "in/a.jsonl", *records)
    ingest(home, tmp_path / "in")
    alone = corpus(home)
    save(tmp_path / "in/b.jsonl", *records[:120])
    save(tmp_path / "in/c.jsonl", *records[50:])
    ingest(home, tmp_path / "in")
    assert corpus(home) == alone
