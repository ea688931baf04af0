"""A database is read once, a session at a time: what was read is written, archived and let go before the next."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import apsw
import pytest

from core.home import Home
from core.tombstones import Tombstones
from ingest.archive import archive, rows
from ingest.pipeline import reading
from ingest.pipeline.ledger import Ledger
from ingest.pipeline.rehearsal import rehearse
from ingest.pipeline.run import run
from ingest.raw import records, sqlite_copy
from ingest.raw.store import DISK
from ingest.source import Source
from ingest.sources.cursor.source import SOURCE as CURSOR
from ingest.sources.opencode.parser import NAMELESS
from ingest.sources.opencode.source import SOURCE as OPENCODE
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


@pytest.mark.parametrize(("make", "source"), [(opencode, OPENCODE), (cursor, CURSOR)])
def test_the_parts_of_a_database_are_handed_over_one_by_one(
    home: Home, tmp_path: Path, make: Any, source: Source
) -> None:
    path = make(tmp_path)
    held = []
    for found in source.parse(str(path), DISK):
        held.append(len(found.parts))
        found.hand_over()
    assert held == [1, 1, 1, 1, 1, 0]
    assert len(found.taken) == 5
    *_, found = source.parse(str(path), DISK)
    assert len(found.parts) == 5


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

    def damaged(shelf: rows.Shelf, unit: str, opened: list[rows.Opened], **how: bool) -> None:
        if unit.endswith("3"):
            raise apsw.CorruptError("database disk image is malformed")
        put(shelf, unit, opened, **how)

    with monkeypatch.context() as broken:
        broken.setattr(rows.Shelf, "put", damaged)
        ledger = ingest(home, source, tmp_path / "there")
    assert (ledger.documents, ledger.failed_reasons) == (3, {reading.DAMAGED: 1})
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


def damage(path: Path, table: str, column: str, where: str, inside: str = "") -> None:
    """Make a text begin, or hold in place of ``inside``, bytes that are no UTF-8."""
    connection = apsw.Connection(str(path))
    old, new = (f"x'{text.hex()}'" for text in (inside.encode(), b"\xff\xfe(" + inside.encode()))
    made = f"unhex(replace(hex({column}), hex({old}), hex({new})))" if inside else f"x'ff' || {column}"
    connection.execute(f"update {table} set {column} = cast({made} as text) where {where}").fetchall()
    assert connection.changes() == 1
    connection.close()


@pytest.mark.parametrize(
    ("make", "source", "place"),
    [
        (opencode, "opencode", ("part", "data", "id = 'prt_2'")),
        (cursor, "cursor", ("cursorDiskKV", "value", "key = 'bubbleId:c2:b'")),
    ],
)
def test_text_that_is_no_utf8_costs_its_bytes_and_nothing_else(
    home: Home, tmp_path: Path, make: Any, source: str, place: tuple[str, str, str]
) -> None:
    damage(make(tmp_path), *place, inside="Said")
    ledger = ingest(home, source, tmp_path)
    assert (ledger.failed_files, ledger.failed_records, ledger.recovered) == (0, 0, {records.REPLACED: 1})
    made = corpus(home)
    assert len(made) == 5
    assert sum("\ufffd\ufffd(Said here." in text.decode() for text in made.values()) == 1
    assert sum(" Said here." in text.decode() for text in made.values()) == 4
    (tmp_path / "opencode.db").unlink(missing_ok=True)
    (tmp_path / "state.vscdb").unlink(missing_ok=True)
    for name in made:
        Path(home.path("brain", name)).unlink()
    run(home, source, trust_stat=False, from_archive=True)
    assert corpus(home) == made


@pytest.mark.parametrize(
    ("make", "source", "place"),
    [
        (opencode, "opencode", ("session", "title", "id = 'ses_0'")),
        (opencode, "opencode", ("message", "id", "id = 'msg_4'")),
        (cursor, "cursor", ("cursorDiskKV", "value", "key = 'composerData:c4'")),
    ],
)
def test_a_session_beside_damaged_text_is_read(
    home: Home, tmp_path: Path, make: Any, source: str, place: tuple[str, str, str]
) -> None:
    damage(make(tmp_path), *place)
    ledger = ingest(home, source, tmp_path)
    assert ledger.failed_files == 0
    assert ledger.recovered == {records.REPLACED: 1}
    assert sum("Said here." in text.decode() for text in corpus(home).values()) >= 4


def test_a_session_whose_name_is_damaged_is_counted_and_the_others_are_read(home: Home, tmp_path: Path) -> None:
    damage(opencode(tmp_path), "session", "id", "id = 'ses_2'")
    ledger = ingest(home, "opencode", tmp_path)
    assert ledger.failed_reasons == {NAMELESS: 1}
    assert len(corpus(home)) == 4


def test_rows_around_damaged_text_come_once_each_in_their_order(tmp_path: Path) -> None:
    connection = apsw.Connection(str(tmp_path / "any.db"))
    connection.execute("create table t(a integer, b text, c blob, d real)").fetchall()
    for number in range(7):
        text = b"x\xff" if number in (2, 5) else b"x"
        connection.execute("insert into t values(?, cast(? as text), ?, null)", (number // 2, text, text))
    plain: list[Any] = connection.execute(
        "select a, cast(b as blob), c, d from t where a < ? order by a desc", (9,)
    ).fetchall()
    replaced = sqlite_copy.bear(connection)
    cursor = connection.execute("select a, b, c, d from t where a < ? order by a desc", (9,))
    first, rest = cursor.fetchone(), list(cursor)
    assert [first, *rest] == [(a, str(b, "utf-8", "replace"), c, d) for a, b, c, d in plain]
    assert len(replaced) == 1
    assert connection.execute("select b from t where a = 99").fetchone() is None


@BOTH
def test_of_a_database_with_damaged_pages_is_told_what_was_made_and_that_it_is_not_all(
    home: Home, tmp_path: Path, make: Any, source: str
) -> None:
    path = make(tmp_path / "there", sessions=30, said="Said here. " * 200)
    sound = path.read_bytes()
    middle = len(sound) // 2 // 4096 * 4096
    path.write_bytes(sound[:middle] + b"\xff" * 8192 + sound[middle + 8192 :])
    roots = [str(path.parent)]
    told = rehearse(home, source, roots, trust_stat=False)
    ledger = ingest(home, source, path.parent)
    made = len(corpus(home))
    assert 0 < made < 30
    assert told["would"]["new"] == ledger.documents == ledger.written == made
    said = ("seen", "ingested", "partial", "failed_files", "failed_reasons", "skipped")
    assert {key: told[key] for key in said} == {key: ledger.as_dict()[key] for key in said}
    assert (ledger.ingested, ledger.partial, ledger.failed_files) == (1, 1, 0)
    assert ledger.failed_reasons == {reading.DAMAGED: 1}
    # What is not looked at again, and what the archive has, says nothing of what the file lacks.
    unchanged = run(home, source, roots, trust_stat=True)
    assert (unchanged.unchanged, unchanged.partial) == (1, 1)
    for _ in range(2):
        assert run(home, source, trust_stat=False, from_archive=True).partial == 1
    again = ingest(home, source, path.parent)
    assert (again.partial, again.documents) == (1, made)
    path.write_bytes(sound)
    whole = ingest(home, source, path.parent)
    assert (whole.partial, whole.failed_reasons, whole.documents) == (0, {}, 30)
    assert run(home, source, trust_stat=False, from_archive=True).partial == 0


@BOTH
def test_a_database_of_which_nothing_can_be_read_any_more_stays_failed_through_the_archive(
    home: Home, tmp_path: Path, make: Any, source: str
) -> None:
    path = make(tmp_path / "there")
    ingest(home, source, path.parent)
    sound = path.read_bytes()
    path.write_bytes(sound[:4096] + b"\xff" * (len(sound) - 4096))
    ledger = ingest(home, source, path.parent)
    assert (ledger.ingested, ledger.failed_files, ledger.documents) == (0, 1, 5)
    back = run(home, source, trust_stat=False, from_archive=True)
    assert (back.ingested, back.partial, back.documents) == (1, 1, 5)
