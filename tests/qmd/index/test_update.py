from __future__ import annotations

import os
import time
from pathlib import Path

import apsw
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from qmd.index.rebuilding import Rebuild
from qmd.index.schema import is_clean
from qmd.index.store import open_index
from qmd.index.update import register, update
from qmd.index.update import walk as qmd_walk
from qmd.index.writer import drop, put
from tests.examples import examples
from tests.qmd.corpus import Folder, active, counts, indexed, run, write


def _integrity(connection: apsw.Connection) -> None:
    connection.execute("INSERT INTO documents_fts(documents_fts) VALUES('integrity-check')")
    connection.execute("INSERT INTO brain_passages(brain_passages) VALUES('integrity-check')")
    assert connection.execute("PRAGMA integrity_check").get == "ok"
    assert connection.execute("PRAGMA foreign_key_check").fetchall() == []


def _passages(connection: apsw.Connection, word: str) -> int:
    return len(
        connection.execute("SELECT rowid FROM brain_passages WHERE brain_passages MATCH ?", (f'"{word}"',)).fetchall()
    )


def test_a_new_file_is_added_and_an_unchanged_one_costs_a_stat(tmp_path: Path) -> None:
    connection, folder = indexed(tmp_path, {"a.md": "# A\nalpha", "deep/b.md": "beta"})
    opened: list[str] = []
    real = os.open

    def spy(path: str, *rest: int) -> int:
        opened.append(path)
        return real(path, *rest)

    os.open = spy  # type: ignore[assignment]
    try:
        assert counts(run(connection, folder)) == (0, 0, 2, 0)
    finally:
        os.open = real
    assert opened == []
    assert active(connection) == ["a.md", "deep/b.md"]


def test_what_was_indexed_since_a_moment_is_not_read_again_unless_it_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    connection, folder = indexed(tmp_path, {"old.md": "walrus", "new.md": "penguin", "edited.md": "seal"})
    connection.execute("UPDATE brain_files SET checked_ns = checked_ns - 3600000000000")
    since = time.time_ns()
    for name in ("new.md", "edited.md"):
        path = Path(folder.path, name)
        put(connection, folder.name, name, path.read_bytes(), path.stat())
    write(Path(folder.path), {"edited.md": "otter"}, age_s=30)
    opened: list[str] = []
    real = os.open

    def spy(path: str, *rest: int) -> int:
        opened.append(os.path.basename(path))
        return real(path, *rest)

    monkeypatch.setattr(os, "open", spy)
    changes = update(connection, [folder], trust_stat=False, since_ns=since)[folder.name]
    assert sorted(opened) == ["edited.md", "old.md"]
    assert (changes.updated, changes.unchanged) == (1, 2)
    assert (_passages(connection, "seal"), _passages(connection, "otter")) == (0, 1)


def test_a_changed_file_is_found_by_its_new_words_only(tmp_path: Path) -> None:
    connection, folder = indexed(tmp_path, {"a.md": "old walrus", "b.md": "other"})
    write(Path(folder.path), {"a.md": "new penguin"}, age_s=30)
    assert counts(run(connection, folder)) == (0, 1, 1, 0)
    assert (_passages(connection, "walrus"), _passages(connection, "penguin")) == (0, 1)
    assert connection.execute("SELECT count(*) FROM content").get == 2
    _integrity(connection)


def test_a_vanished_file_leaves_nothing_behind(tmp_path: Path) -> None:
    connection, folder = indexed(tmp_path, {"a.md": "walrus", "b.md": "penguin"})
    (Path(folder.path) / "a.md").unlink()
    assert counts(run(connection, folder)) == (0, 0, 1, 1)
    assert active(connection) == ["b.md"]
    assert _passages(connection, "walrus") == 0
    assert connection.execute("SELECT count(*) FROM brain_contents").get == 1
    _integrity(connection)


def test_what_an_update_lets_go_is_given_back_to_the_disk(tmp_path: Path) -> None:
    words = [" ".join(f"w{number}x{word}" for word in range(2000)) for number in range(60)]
    connection, folder = indexed(tmp_path, {f"{number}.md": text for number, text in enumerate(words)})
    full = connection.pragma("page_count")
    for number in range(50):
        (tmp_path / "notes" / f"{number}.md").unlink()
    run(connection, folder)
    _integrity(connection)
    assert connection.pragma("page_count") < full * 0.6
    assert connection.pragma("freelist_count") * 40 < connection.pragma("page_count")


def test_a_file_that_comes_back_is_active_again(tmp_path: Path) -> None:
    connection, folder = indexed(tmp_path, {"a.md": "walrus", "b.md": "penguin"})
    (Path(folder.path) / "a.md").unlink()
    run(connection, folder)
    write(Path(folder.path), {"a.md": "walrus"})
    assert counts(run(connection, folder)) == (1, 0, 1, 0)
    assert _passages(connection, "walrus") == 1


def test_two_files_with_one_content_share_its_passages(tmp_path: Path) -> None:
    connection, folder = indexed(tmp_path, {"a.md": "walrus", "b.md": "walrus"})
    assert _passages(connection, "walrus") == 1
    (Path(folder.path) / "a.md").unlink()
    run(connection, folder)
    assert _passages(connection, "walrus") == 1


def test_a_missing_folder_keeps_its_documents_and_is_reported(tmp_path: Path) -> None:
    connection, folder = indexed(tmp_path, {"a.md": "walrus"})
    (tmp_path / "notes").rename(tmp_path / "moved")
    changes = run(connection, folder)
    assert changes.missing
    assert active(connection) == ["a.md"]


def test_an_unreadable_subfolder_keeps_its_documents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    connection, folder = indexed(tmp_path, {"a.md": "walrus", "secret/b.md": "penguin"})
    real = os.scandir

    def scandir(path: str) -> object:
        if str(path).endswith("secret"):
            raise PermissionError(13, "Permission denied", path)
        return real(path)

    monkeypatch.setattr(os, "scandir", scandir)
    changes = run(connection, folder)
    assert [path for path, _ in changes.failed] == [str(tmp_path / "notes" / "secret")]
    assert active(connection) == ["a.md", "secret/b.md"]


def test_an_unreadable_file_is_reported_and_does_not_stop_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = Folder(tmp_path / "notes")
    write(tmp_path / "notes", {"a.md": "walrus", "b.md": "penguin"})
    real = os.open

    def refuse(path: str, *rest: int) -> int:
        if str(path).endswith("a.md"):
            raise PermissionError(13, "Permission denied", path)
        return real(path, *rest)

    monkeypatch.setattr(os, "open", refuse)
    connection = open_index(str(tmp_path / "index.sqlite"), write=True)
    changes = run(connection, folder)
    assert [reason for _, reason in changes.failed] == ["Permission denied"]
    assert active(connection) == ["b.md"]


def test_a_change_behind_the_same_stat_is_caught_while_the_clock_has_not_moved_on(tmp_path: Path) -> None:
    connection, folder = indexed(tmp_path, {"a.md": "walrus"})
    path = Path(folder.path) / "a.md"
    write(Path(folder.path), {"a.md": "walrux"}, age_s=0)
    run(connection, folder)
    status = path.stat()
    path.write_text("walruy")
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert counts(run(connection, folder)) == (0, 1, 0, 0)
    assert _passages(connection, "walruy") == 1


@pytest.mark.parametrize(
    ("mtime_ns", "checked_ns", "clean"),
    [
        (1_000_000_001, 1_500_000_000, True),
        (1_000_000_001, 1_000_000_002, False),
        (1_000_000_000, 2_500_000_000, False),
        (1_000_000_000, 3_500_000_000, True),
    ],
)
def test_a_stat_is_trusted_only_past_the_file_systems_tick(mtime_ns: int, checked_ns: int, clean: bool) -> None:
    status = os.stat_result((0, 7, 0, 0, 0, 0, 3, 0, 0, 0), {"st_mtime_ns": mtime_ns})
    assert is_clean(status, 3, mtime_ns, 7, checked_ns) is clean


def test_verify_reads_what_an_equal_stat_would_hide(tmp_path: Path) -> None:
    connection, folder = indexed(tmp_path, {"a.md": "walrus"})
    path = Path(folder.path) / "a.md"
    status = path.stat()
    path.write_text("walrux")
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert counts(run(connection, folder)) == (0, 0, 1, 0)
    assert counts(run(connection, folder, trust_stat=False)) == (0, 1, 0, 0)


def test_whitespace_only_files_are_no_documents(tmp_path: Path) -> None:
    connection, folder = indexed(tmp_path, {"a.md": " \n\t\n", "b.md": "", "c.md": "penguin"})
    assert active(connection) == ["c.md"]
    write(Path(folder.path), {"c.md": "\n"}, age_s=30)
    run(connection, folder)
    assert active(connection) == []


def test_invalid_utf8_nul_bytes_and_cjk_are_indexed(tmp_path: Path) -> None:
    connection, _ = indexed(
        tmp_path, {"a.md": b"walrus \xff\xfe tail", "b.md": b"nul\x00byte seal", "c.md": "漢字検索 text"}
    )
    assert active(connection) == ["a.md", "b.md", "c.md"]
    assert [_passages(connection, word) for word in ("walrus", "tail", "seal", "検 索")] == [1, 1, 1, 1]
    stored = connection.execute("SELECT doc FROM content WHERE doc LIKE 'walrus%'").get
    assert stored == "walrus \ufffd\ufffd tail"
    _integrity(connection)


def test_put_indexes_bytes_at_once_and_drop_takes_them_out(tmp_path: Path) -> None:
    connection, folder = indexed(tmp_path, {})
    write(Path(folder.path), {"a.md": "walrus"}, age_s=0)
    path = Path(folder.path) / "a.md"
    assert put(connection, "notes", "a.md", path.read_bytes(), path.stat())
    assert not put(connection, "notes", "a.md", path.read_bytes(), path.stat())
    assert counts(run(connection, folder)) == (0, 0, 1, 0)
    assert drop(connection, "notes", "a.md")
    assert not drop(connection, "notes", "a.md")
    assert _passages(connection, "walrus") == 0
    _integrity(connection)


def test_documents_that_another_program_wrote_are_healed(tmp_path: Path) -> None:
    connection, folder = indexed(tmp_path, {"a.md": "walrus"})
    digest = "0" * 64
    connection.execute("INSERT INTO content VALUES(?, 'penguin', '2026-01-01T00:00:00.000Z')", (digest,))
    connection.execute("UPDATE documents SET hash = ? WHERE path = 'a.md'", (digest,))
    update(connection, [])
    assert _passages(connection, "penguin") == 1
    assert folder.name == "notes"


def test_collections_are_registered_where_qmd_looks_for_them(tmp_path: Path) -> None:
    connection, folder = indexed(tmp_path, {})
    folder.context = {"/": "about"}
    register(connection, [folder])
    register(connection, [folder])
    rows = connection.execute(
        "SELECT name, path, pattern, include_by_default, context FROM store_collections"
    ).fetchall()
    assert rows == [("notes", str(tmp_path / "notes"), "**/*.md", 1, '{"/":"about"}')]


def test_frontmatter_dates_the_document_and_the_mtime_only_orders_it(tmp_path: Path) -> None:
    connection, _ = indexed(
        tmp_path,
        {
            "a.md": "---\ndate: 2026-04-28T09:14:03Z\nended: 2026-04-28T10:00:00Z\nproject: /p\n---\nx",
            "b.md": "plain",
            "c.md": "---\ndate: [broken\n---\ny",
            "d.md": "---\ndate: 2026-04-28\ndate_source: mtime\n---\nz",
        },
    )
    rows = {
        path: (date, ended, dated)
        for path, date, ended, dated in connection.execute(
            "SELECT path, date, ended, dated FROM documents JOIN brain_facts ON document_id = documents.id"
        )
    }
    assert rows["a.md"] == (1777367643, 1777370400, 1)
    assert [rows[name][2] for name in ("b.md", "c.md", "d.md")] == [0, 0, 0]
    assert connection.execute("SELECT json_extract(fields, '$.project') FROM brain_facts WHERE dated = 1").get == "/p"


def test_tables_of_another_version_are_made_again_and_refilled(tmp_path: Path) -> None:
    connection, folder = indexed(tmp_path, {"a.md": "walrus"})
    connection.execute("UPDATE brain_state SET value = 0 WHERE key = 'index_version'")
    connection.close()
    connection = open_index(str(tmp_path / "index.sqlite"), write=True)
    assert _passages(connection, "walrus") == 0
    update(connection, [folder])
    assert _passages(connection, "walrus") == 1
    _integrity(connection)


def test_a_rebuild_is_seen_whole_or_not_at_all(tmp_path: Path) -> None:
    connection, folder = indexed(tmp_path, {"a.md": "walrus"})
    reader = open_index(str(tmp_path / "index.sqlite"))
    (tmp_path / "notes" / "a.md").write_text("ocelot")
    with Rebuild(str(tmp_path / "index.sqlite"), 5000) as abandoned:
        update(abandoned.connection, [folder])
    with Rebuild(str(tmp_path / "index.sqlite"), 5000) as new:
        update(new.connection, [folder])
        assert (_passages(reader, "walrus"), _passages(reader, "ocelot")) == (1, 0)
        with reader:
            assert _passages(reader, "walrus") == 1
            new.finish()
            assert (_passages(reader, "walrus"), _passages(reader, "ocelot")) == (1, 0)
    for each in (reader, connection):
        assert (_passages(each, "walrus"), _passages(each, "ocelot")) == (0, 1)
    _integrity(connection)
    assert sorted(path.name for path in tmp_path.glob("*.tmp*")) == []


@settings(max_examples=examples(25), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.dictionaries(st.sampled_from(["a.md", "b.md", "c/d.md"]), st.text(max_size=60)), min_size=1, max_size=4)
)
def test_any_history_of_a_folder_ends_in_the_index_a_fresh_run_would_make(
    tmp_path_factory: pytest.TempPathFactory, history: list[dict[str, str]]
) -> None:
    place = tmp_path_factory.mktemp("history")
    folder = Folder(place / "notes")
    (place / "notes").mkdir()
    grown = open_index(str(place / "grown.sqlite"), write=True)
    for step, files in enumerate(history):
        for path in list((place / "notes").rglob("*.md")):
            path.unlink()
        write(place / "notes", {name: text.encode("utf-8", "replace") for name, text in files.items()}, age_s=60 - step)
        update(grown, [folder])
    fresh = open_index(str(place / "fresh.sqlite"), write=True)
    update(fresh, [folder])
    for sql in (
        "SELECT collection, path, title, hash FROM documents WHERE active = 1 ORDER BY path",
        "SELECT hash, hex(starts) FROM brain_contents ORDER BY hash",
        "SELECT doc FROM content ORDER BY hash",
    ):
        assert grown.execute(sql).fetchall() == fresh.execute(sql).fetchall()
    _integrity(grown)
    grown.close()
    fresh.close()


def test_a_collection_that_is_taken_out_takes_its_documents_along(tmp_path: Path) -> None:
    connection, folder = indexed(tmp_path, {"a.md": "walrus"})
    other = Folder(tmp_path / "other", name="other")
    write(tmp_path / "other", {f"{number}.md": f"walrus {number}" for number in range(5)})
    register(connection, [folder, other])
    update(connection, [folder, other])
    register(connection, [folder])
    assert active(connection) == ["a.md"]
    assert _passages(connection, "walrus") == 1
    _integrity(connection)


def test_a_note_that_is_indexed_during_the_walk_is_no_conflict(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    connection, folder = indexed(tmp_path, {"a.md": "walrus"})
    beside = open_index(str(tmp_path / "index.sqlite"), write=True)
    from qmd.index import update as module

    def walk(of: Folder, failed: object) -> list[object]:
        entries = list(real(of, failed))  # type: ignore[arg-type]
        write(Path(folder.path), {"b.md": "penguin", "c.md": "seal"}, age_s=0)
        for name in ("b.md", "c.md"):
            path = Path(folder.path) / name
            put(beside, "notes", name, path.read_bytes(), path.stat())
        return [*entries, *list(real(of, failed))[1:]]  # type: ignore[arg-type]

    real = qmd_walk
    monkeypatch.setattr(module, "walk", walk)
    assert counts(run(connection, folder)) == (0, 0, 3, 0)
    assert active(connection) == ["a.md", "b.md", "c.md"]
    _integrity(connection)


def test_a_name_that_is_no_text_keeps_no_other_file_from_leaving(tmp_path: Path) -> None:
    connection, folder = indexed(tmp_path, {"a.md": "walrus", "b.md": "penguin"})
    try:
        Path(os.fsdecode(os.fsencode(folder.path) + b"/bad\xff.md")).write_text("x")
    except OSError:
        pytest.skip("this file system takes no names of other bytes")
    (Path(folder.path) / "a.md").unlink()
    changes = run(connection, folder)
    assert len(changes.failed) == 1
    assert active(connection) == ["b.md"]


@pytest.mark.parametrize("opener", ["[", "? ", "- ", "{a: "])
def test_frontmatter_that_nests_without_end_is_only_text(tmp_path: Path, opener: str) -> None:
    connection, _ = indexed(tmp_path, {"a.md": f"---\na: {opener * 30_000}\n---\nwalrus", "b.md": "penguin"})
    assert active(connection) == ["a.md", "b.md"]
    assert connection.execute("SELECT count(*) FROM brain_facts WHERE fields = jsonb('{}')").get == 2


def test_a_day_without_a_time_is_a_day_where_the_writer_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import time

    monkeypatch.setenv("TZ", "America/Los_Angeles")
    time.tzset()
    try:
        connection, _ = indexed(tmp_path, {"a.md": "---\ndate: 2026-04-28\n---\nx"})
        assert connection.execute("SELECT date FROM brain_facts").get == 1777359600
    finally:
        monkeypatch.setenv("TZ", "UTC")
        time.tzset()
