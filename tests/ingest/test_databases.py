"""A database is read once, a session at a time: what was read is written, archived and let go before the next."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import apsw
import pytest

from core.home import Home
from core.tombstones import Tombstones
from ingest import _cursor, _opencode, archive, databases, records, rows
from ingest.ledger import Ledger
from ingest.run import run
from tests.ingest.transcripts import corpus

AT = 1_777_366_440_000
TOKEN = "gh" + "p_" + "a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6q7R8"


def opencode(folder: Path, sessions: int = 5, said: str = "Said here. ") -> Path:
    path = folder / "opencode.db"
    folder.mkdir(parents=True, exist_ok=True)
    connection = apsw.Connection(str(path))
    connection.execute(
        "create table session(id text, directory text, title text, version text, time_created int);"
        "create table message(id text, session_id text, time_created int, data text);"
        "create table part(id text, message_id text, session_id text, time_created int, data text);"
        "create index m on message(session_id); create index p on part(session_id)"
    ).fetchall()
    with connection:
        for number in range(sessions):
            name = f"ses_{number}"
            connection.execute("insert into session values(?, '/x', 'Title', '1', ?)", (name, AT))
            data = json.dumps({"role": "user"})
            connection.execute("insert into message values(?, ?, ?, ?)", (f"msg_{number}", name, AT, data))
            part = json.dumps({"type": "text", "text": f"{number} {said}"})
            row = (f"prt_{number}", f"msg_{number}", name, AT, part)
            connection.execute("insert into part values(?, ?, ?, ?, ?)", row)
    connection.close()
    return path


def cursor(folder: Path, sessions: int = 5, said: str = "Said here. ") -> Path:
    path = folder / "state.vscdb"
    folder.mkdir(parents=True, exist_ok=True)
    connection = apsw.Connection(str(path))
    connection.execute("create table cursorDiskKV(key text unique on conflict replace, value blob)")
    for number in range(sessions):
        pieces: dict[str, Any] = {
            f"composerData:c{number}": {"name": "Title", "createdAt": AT},
            f"bubbleId:c{number}:b": {"type": 1, "text": f"{number} {said}", "createdAt": AT},
        }
        for key, value in pieces.items():
            connection.execute("insert into cursorDiskKV values(?, ?)", (key, json.dumps(value)))
    connection.close()
    return path


BOTH = pytest.mark.parametrize(("make", "source"), [(opencode, "opencode"), (cursor, "cursor")])


def ingest(home: Home, source: str, folder: Path) -> Ledger:
    return run(home, source, [str(folder)], trust_stat=False)


@pytest.mark.parametrize(("make", "module"), [(opencode, _opencode), (cursor, _cursor)])
def test_the_parts_of_a_database_are_handed_over_one_by_one(home: Home, tmp_path: Path, make: Any, module: Any) -> None:
    path = make(tmp_path)
    held = []
    for reading in module.stream(str(path)):
        held.append(len(reading.parts))
        reading.hand_over()
    assert held == [1, 1, 1, 1, 1, 0]
    assert len(reading.taken) == len(module.read(str(path)).parts) == 5


@BOTH
def test_a_cell_is_decoded_once_for_its_document_and_the_archive(
    home: Home, tmp_path: Path, make: Any, source: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(tmp_path, said=f"Use {TOKEN}.")
    texts: list[Any] = []
    value = records.value

    def counted(text: Any, redacted: Any) -> Any:
        texts.append(text)
        return value(text, redacted)

    monkeypatch.setattr(records, "value", counted)
    ledger = ingest(home, source, tmp_path)
    assert len(texts) == 10
    assert ledger.redacted == {"github": 5}
    assert len(list(archive.objects(home.path("raw")))) == 5
    assert b"[redacted:github]" in b"".join(corpus(home).values())


@BOTH
def test_what_was_read_before_a_database_is_damaged_is_kept_and_archived(
    home: Home, tmp_path: Path, make: Any, source: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(tmp_path / "there")
    put = rows.Shelf.put

    def damaged(shelf: rows.Shelf, unit: str, opened: list[rows.Opened]) -> None:
        if unit.endswith("3"):
            raise apsw.CorruptError("database disk image is malformed")
        put(shelf, unit, opened)

    with monkeypatch.context() as broken:
        broken.setattr(rows.Shelf, "put", damaged)
        ledger = ingest(home, source, tmp_path / "there")
    assert (ledger.documents, ledger.failed_reasons) == (3, {databases.DAMAGED: 1})
    (entry,) = archive.read(home, source).values()
    assert len(entry.segments) == 3
    before = corpus(home)
    assert run(home, source, trust_stat=False, from_archive=True).failed_files == 0
    assert corpus(home) == before
    # Once it is whole again, nothing is missing, and nothing was taken for gone meanwhile.
    ledger = run(home, source, [str(tmp_path / "there")], trust_stat=False, rebuild=True)
    assert (ledger.documents, ledger.failed_files) == (5, 0)
    assert len(archive.read(home, source)[entry.path].segments) == 5


@BOTH
def test_a_session_that_was_forgotten_says_nothing_of_the_others(
    home: Home, tmp_path: Path, make: Any, source: str
) -> None:
    first = "ses_0" if source == "opencode" else "c0"
    Tombstones(home).add([(source, first)])
    make(tmp_path / "there")
    ledger = ingest(home, source, tmp_path / "there")
    assert (ledger.documents, ledger.ingested, ledger.skipped) == (4, 1, {})
    (entry,) = archive.read(home, source).values()
    kept = b"".join(archive.content(home.path("raw"), segment) for segment in entry.segments)
    assert b"0 Said here." not in kept
    assert b"1 Said here." in kept
