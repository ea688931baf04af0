from __future__ import annotations

from pathlib import Path
from typing import Any

import apsw
import pytest

from core.errors import EngineMissing
from qmd.index import cleanup
from qmd.index.rebuilding import Rebuild
from qmd.index.schema import SPAN, has_vectors
from qmd.index.semantic import spaces, vectors
from qmd.index.semantic.spaces import Space
from qmd.index.store import Transaction
from qmd.index.update import update
from qmd.index.writer import drop, put
from tests.qmd.corpus import Folder, indexed, write

DIMENSIONS = 8


def space(connection: apsw.Connection, model: str = "m", fingerprint: str = "f", layout: str = "1") -> Space:
    with Transaction(connection):
        return vectors.ensure(connection, "local", model, DIMENSIONS, fingerprint, layout)


def embed(connection: apsw.Connection, of: Space, chunks: int = 2, collections: tuple[str, ...] = ()) -> int:
    """Give every waiting text the same vectors, all at once."""
    waiting = vectors.waiting(connection, of, collections)
    with Transaction(connection):
        for each in waiting:
            cut = vectors.put_cut(connection, of, each.hash, [(0, seq + 1, spaces.PIECE) for seq in range(chunks)])
            assert vectors.add(connection, of, cut, each.done, [bytes([7] * DIMENSIONS)] * (chunks - each.done))
        vectors.note(connection)
    return len(waiting)


def rowids(connection: apsw.Connection, of: Space) -> list[int]:
    return [int(str(rowid)) for (rowid,) in connection.execute(f'SELECT rowid FROM "{of.table}" ORDER BY rowid')]


def state(connection: apsw.Connection, key: str) -> Any:
    return connection.execute("SELECT value FROM brain_state WHERE key = ?", (key,)).get


def rebuilt(connection: apsw.Connection, folder: Folder) -> None:
    with Rebuild(connection.filename, 5000) as new:
        update(new.connection, [folder])
        new.finish()
        assert new.unread == []


def test_an_index_without_vectors_has_none_of_their_tables(tmp_path: Path) -> None:
    connection, _ = indexed(tmp_path, {"a.md": "alpha"})
    assert not has_vectors(connection)
    assert spaces.listed(connection) == []
    assert vectors.pending(connection, None) == {"notes": 1}
    assert connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'brain_chunks'").fetchone() is None


def test_what_waits_is_what_lacks_vectors_of_that_model(tmp_path: Path) -> None:
    connection, folder = indexed(tmp_path, {"a.md": "alpha", "b.md": "beta", "same.md": "beta"})
    first = space(connection)
    assert vectors.pending(connection, first) == {"notes": 3}
    assert embed(connection, first) == 2  # two texts of three documents
    assert vectors.pending(connection, first) == {}
    second = space(connection, "other")
    assert vectors.pending(connection, second) == {"notes": 3}
    write(Path(folder.path), {"c.md": "gamma"})
    update(connection, [folder])
    assert vectors.pending(connection, first) == {"notes": 1}
    assert [each.name for each in spaces.listed(connection)] == ["local/m", "local/other"]
    assert spaces.count(connection, first) == 4
    assert spaces.count(connection, second) == 0


def test_the_newest_document_is_embedded_first(tmp_path: Path) -> None:
    dated: dict[str, str | bytes] = {
        f"{year}.md": f"---\ndate: {year}-01-01T00:00:00Z\n---\nof {year}" for year in (2024, 2026, 2025)
    }
    connection, _ = indexed(tmp_path, dated)
    order = [
        connection.execute("SELECT path FROM documents WHERE hash = ?", (each.hash,)).get
        for each in vectors.waiting(connection, space(connection))
    ]
    assert order == ["2026.md", "2025.md", "2024.md"]


def test_a_text_that_is_half_done_waits_for_the_rest_only(tmp_path: Path) -> None:
    connection, _ = indexed(tmp_path, {"a.md": "alpha"})
    of = space(connection)
    (text,) = vectors.waiting(connection, of)
    vector = bytes(DIMENSIONS)
    with Transaction(connection):
        cut = vectors.put_cut(connection, of, text.hash, [(0, 1, 0), (1, 2, 0), (0, 2, 1)])
        assert vectors.add(connection, of, cut, 0, [vector])
    (rest,) = vectors.waiting(connection, of)
    assert (rest.cut, rest.done) == (cut, 1)
    assert vectors.spans(connection, cut) == [(0, 1, 0), (1, 2, 0), (0, 2, 1)]
    with Transaction(connection):
        assert not vectors.add(connection, of, cut, 0, [vector])  # done already, by whoever it was
        assert vectors.add(connection, of, cut, 1, [vector, vector])
    assert rowids(connection, of) == [cut * SPAN, cut * SPAN + 1, cut * SPAN + 2]
    assert vectors.pending(connection, of) == {}


@pytest.mark.parametrize(
    "way", ["changed", "removed", "dropped", "emptied", "kept", "collection", "cleanup", "rebuild"]
)
def test_a_text_that_leaves_the_index_takes_its_vectors_along(tmp_path: Path, way: str) -> None:
    connection, folder = indexed(tmp_path, {"a.md": "alpha", "b.md": "beta"})
    of = space(connection)
    embed(connection, of)
    path = Path(folder.path, "a.md")
    if way == "changed":
        write(Path(folder.path), {"a.md": "alpha, and more"})
        update(connection, [folder])
    elif way in ("removed", "kept", "rebuild"):
        path.unlink()
        if way == "rebuild":
            rebuilt(connection, folder)
        else:
            update(connection, [folder], keep=way == "kept")
    elif way == "dropped":
        assert drop(connection, "notes", "a.md")
    elif way == "emptied":
        put(connection, "notes", "a.md", b" \n", path.stat())
    elif way == "collection":
        connection.execute("UPDATE documents SET collection = 'other' WHERE path = 'a.md'")
        with Transaction(connection):
            connection.execute("DELETE FROM documents WHERE collection = 'other'")
            vectors.settle(connection)
    else:
        connection.execute("UPDATE documents SET active = 0 WHERE path = 'a.md'")
        cleanup.clean(connection)
    (left,) = connection.execute(
        "SELECT t.id FROM brain_cuts t JOIN documents d ON d.hash = t.hash WHERE path = 'b.md'"
    )
    base = int(str(left[0])) * SPAN
    assert rowids(connection, of) == [base, base + 1]
    for table, where in (("brain_cuts", "id"), ("brain_embedded", "cut")):
        assert connection.execute(f"SELECT {where} FROM {table}").fetchall() == [left]
    assert connection.execute("SELECT count(*) FROM brain_chunks").get == 2
    # …and not only out of sight: no row of the table behind it holds the bytes.
    stored: Any = connection.execute(f'SELECT vectors FROM "{of.table}_vector_chunks00"').get
    assert stored.count(7) == 2 * DIMENSIONS


def test_a_text_that_another_document_still_has_keeps_its_vectors(tmp_path: Path) -> None:
    connection, folder = indexed(tmp_path, {"a.md": "alpha", "copy.md": "alpha"})
    of = space(connection)
    embed(connection, of)
    Path(folder.path, "a.md").unlink()
    update(connection, [folder])
    assert len(rowids(connection, of)) == 2
    assert vectors.pending(connection, of) == {}


def test_a_rebuild_keeps_the_vectors_of_what_is_still_there(tmp_path: Path) -> None:
    connection, folder = indexed(tmp_path, {"a.md": "alpha", "b.md": "beta"})
    of = space(connection)
    embed(connection, of)
    before = rowids(connection, of)
    rebuilt(connection, folder)
    assert rowids(connection, of) == before
    assert vectors.pending(connection, of) == {}
    assert state(connection, "embedded:local/m") == 2


def test_a_rebuild_carries_over_the_vectors_that_can_be_read_and_names_the_table_of_others(tmp_path: Path) -> None:
    connection, folder = indexed(tmp_path, {"a.md": "alpha", "b.md": "beta"})
    of = space(connection)
    embed(connection, of)
    first, *_, last = rowids(connection, of)
    connection.execute(f'DELETE FROM "{of.table}" WHERE rowid = ?', (last,))
    with Rebuild(connection.filename, 5000) as new:
        update(new.connection, [folder])
        new.finish()
        assert new.unread == [of.table]
    assert rowids(connection, of) == [first, first + 1]
    assert vectors.pending(connection, of) == {"notes": 1}


def test_ids_of_what_has_gone_are_never_given_to_anything_else(tmp_path: Path) -> None:
    connection, folder = indexed(tmp_path, {"a.md": "alpha"})
    of = space(connection)
    embed(connection, of)
    (gone, _) = rowids(connection, of)
    write(Path(folder.path), {"a.md": "beta"})
    update(connection, [folder])
    embed(connection, of)
    assert min(rowids(connection, of)) > gone + 1


def test_the_noted_count_is_the_true_one_after_every_kind_of_change(tmp_path: Path) -> None:
    connection, folder = indexed(tmp_path, {"a.md": "alpha", "b.md": "beta"})
    root = Path(folder.path)
    of = space(connection)

    def exact() -> int:
        documents, embedded = state(connection, "documents"), state(connection, "embedded:local/m")
        assert documents - embedded == sum(vectors.pending(connection, of).values())
        return int(embedded)

    embed(connection, of)
    assert exact() == 2
    write(root, {"c.md": "gamma", "copy.md": "alpha"})
    update(connection, [folder])
    assert exact() == 3
    write(root, {"note.md": "beta", "new.md": "delta"}, age_s=0)
    for name in ("note.md", "new.md"):
        put(connection, "notes", name, (root / name).read_bytes(), (root / name).stat())
    assert exact() == 4
    write(root, {"note.md": "epsilon"}, age_s=0)
    put(connection, "notes", "note.md", b"epsilon", (root / "note.md").stat())
    assert exact() == 3
    drop(connection, "notes", "copy.md")
    assert exact() == 2
    drop(connection, "notes", "a.md")
    assert exact() == 1
    embed(connection, of)
    assert exact() == state(connection, "documents")


def test_another_layout_cuts_everything_again_and_another_models_vectors_stay(tmp_path: Path) -> None:
    connection, _ = indexed(tmp_path, {"a.md": "alpha"})
    first, second = space(connection, "one"), space(connection, "two")
    embed(connection, first)
    embed(connection, second)
    changed = space(connection, "one", layout="2")
    assert vectors.pending(connection, changed) == {"notes": 1}
    assert vectors.pending(connection, second) == {}
    embed(connection, changed, chunks=3)
    assert (len(rowids(connection, changed)), len(rowids(connection, second))) == (3, 2)
    space(connection, "two", layout="2")
    assert connection.execute("SELECT count(*) FROM brain_cuts WHERE layout = '1'").get == 0
    assert connection.execute("SELECT count(*) FROM brain_chunks").get == 3


def test_a_model_of_the_same_name_is_recognised_by_its_fingerprint(tmp_path: Path) -> None:
    connection, _ = indexed(tmp_path, {"a.md": "alpha"})
    of = space(connection)
    embed(connection, of)
    again = space(connection, fingerprint="other", layout="2")
    assert (again.fingerprint, again.layout) == ("f", "1")
    assert len(rowids(connection, again)) == 2


def test_clearing_a_space_lets_all_of_its_texts_wait(tmp_path: Path) -> None:
    connection, _ = indexed(tmp_path, {"a.md": "alpha", "b.md": "beta"})
    of = space(connection)
    embed(connection, of)
    with Transaction(connection):
        vectors.clear(connection, of)
    assert vectors.pending(connection, of) == {"notes": 2}
    assert rowids(connection, of) == []


def test_a_dropped_space_is_gone_with_everything(tmp_path: Path) -> None:
    connection, _ = indexed(tmp_path, {"a.md": "alpha"})
    of = space(connection)
    embed(connection, of)
    with Transaction(connection):
        vectors.drop(connection, of)
        vectors.settle(connection)
    assert spaces.listed(connection) == []
    assert connection.execute("SELECT name FROM sqlite_master WHERE name GLOB 'brain_vec_*'").fetchall() == []
    assert connection.execute("SELECT count(*) FROM brain_chunks").get == 0
    assert state(connection, "embedded:local/m") is None


def test_names_that_differ_only_in_signs_get_tables_of_their_own(tmp_path: Path) -> None:
    connection, _ = indexed(tmp_path, {"a.md": "alpha"})
    names = ["a/b", "a-b", "A_B", "ü", "ö", "a_b_chunks", 'x" USING', "", "l" * 300]
    tables = [space(connection, name).table for name in names]
    assert len(set(tables)) == len(names)
    assert all(table.startswith("brain_vec_local_") and len(table) < 100 for table in tables)


def test_without_sqlite_vec_the_index_is_still_written_and_the_strays_are_found_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    connection, folder = indexed(tmp_path, {"a.md": "alpha", "b.md": "beta"})
    of = space(connection)
    embed(connection, of)
    with monkeypatch.context() as patched:

        def fail(connection: apsw.Connection) -> None:
            raise EngineMissing("sqlite-vec is not installed")

        patched.setattr(spaces, "load", fail)
        Path(folder.path, "a.md").unlink()
        update(connection, [folder])
    assert vectors.pending(connection, of) == {}
    assert len(rowids(connection, of)) == 4
    with Transaction(connection):
        assert vectors.drop_strays(connection, of) == 2
    assert len(rowids(connection, of)) == 2


def test_the_nearest_vector_leads_back_to_its_place_in_a_document(tmp_path: Path) -> None:
    connection, _ = indexed(tmp_path, {"a.md": "alpha", "b.md": "beta and gamma"})
    of = space(connection)
    with Transaction(connection):
        for each in vectors.waiting(connection, of):
            text = str(connection.execute("SELECT doc FROM content WHERE hash = ?", (each.hash,)).get)
            half = len(text) // 2
            cut = vectors.put_cut(connection, of, each.hash, [(0, half, 0), (half, len(text), 0)])
            near = 100 if text.startswith("beta") else 1
            vectors.add(connection, of, cut, 0, [bytes([near] * DIMENSIONS), bytes([near + 5] * DIMENSIONS)])
    query = bytes([104] * DIMENSIONS)
    row = connection.execute(
        'SELECT d.path, c."start", c."end" FROM'
        f' (SELECT rowid AS id FROM "{of.table}" WHERE embedding MATCH vec_int8(?) AND k = 1) v'
        " JOIN brain_chunks c ON c.id = v.id JOIN brain_cuts t ON t.id = c.id / ? JOIN documents d ON d.hash = t.hash",
        (query, SPAN),
    ).fetchone()
    assert row == ("b.md", 7, 14)


def test_vectors_survive_a_change_of_the_version_of_our_other_tables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    connection, folder = indexed(tmp_path, {"a.md": "alpha"})
    of = space(connection)
    embed(connection, of)
    monkeypatch.setattr("qmd.index.schema.INDEX", 999)
    from qmd.index import schema

    schema.ensure(connection)
    update(connection, [folder], trust_stat=False)
    assert vectors.pending(connection, of) == {}
    assert len(rowids(connection, of)) == 2
