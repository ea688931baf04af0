"""The corpus can be made again, byte for byte, after the tools have deleted their files; growth costs what is new."""

from __future__ import annotations

import errno
import json
import os
import shutil
import threading
from pathlib import Path

import pytest

from core.home import Home
from core.tombstones import Tombstones
from ingest import forgetting, registry
from ingest.archive import archive, keeping, reading_back, recording, verifier
from ingest.pipeline import reading
from ingest.pipeline.run import run
from ingest.pipeline.state import State
from ingest.sources.claude import source as claude
from ingest.sources.claude.parser import ClaudeSession
from tests.ingest.transcripts import OTHER, SESSION, Script, corpus, ingest, lines, save, text

TOKEN = "gh" + "p_" + "a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6q7R8"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "transcripts"
    place.mkdir()
    return place


def again(home: Home, folder: Path) -> dict[str, bytes]:
    """The corpus, made from nothing but the archive."""
    shutil.rmtree(folder)
    shutil.rmtree(home.path("brain"))
    for path in Path(home.state).rglob("*.sqlite*"):
        path.unlink()
    ledger = run(home, "claude", trust_stat=False, from_archive=True)
    assert ledger.failed_files == 0
    return corpus(home)


def held(home: Home, source: str = "claude") -> list[archive.Entry]:
    return list(archive.read(home, source).values())


def content(home: Home, entry: archive.Entry) -> bytes:
    return b"".join(archive.content(home.path("raw"), segment) for segment in entry.segments)


def test_the_corpus_is_the_same_byte_for_byte_after_the_originals_are_gone(home: Home, folder: Path) -> None:
    script = Script()
    save(folder / "a.jsonl", script.user("one"), script.assistant(text("an answer")))
    save(folder / "b.jsonl", Script(OTHER).user(f"with {TOKEN} and <private>this</private>"))
    broken = lines(Script("x1").user("kept")) + b'{"type": "user", "mess\n' + b"\xff\xfe{\n"
    (folder / "broken.jsonl").write_bytes(broken)
    ingest(home, folder)
    before = corpus(home)
    assert again(home, folder) == before


def test_a_file_without_timestamps_keeps_its_date(home: Home, folder: Path) -> None:
    path = _without_stamps(folder)
    os.utime(path, ns=(10**18, 1_700_000_000_123_456_789))
    ingest(home, folder)
    before = corpus(home)
    assert b"date_source: mtime" in next(iter(before.values()))
    assert again(home, folder) == before


def _without_stamps(folder: Path) -> Path:
    import json

    path = folder / "a.jsonl"
    record = {"type": "user", "uuid": "u", "sessionId": "s-1", "message": {"role": "user", "content": "hello there"}}
    path.write_text(json.dumps(record) + "\n", encoding="utf-8")
    return path


def test_what_is_kept_is_private_redacted_and_compressed(home: Home, folder: Path) -> None:
    save(folder / "a.jsonl", Script().user(f"use {TOKEN} " + "again and again " * 200))
    ingest(home, folder)
    (entry,) = held(home)
    assert b"[redacted:github]" in content(home, entry)
    files = [path for path in Path(home.path("raw")).rglob("*") if path.is_file()]
    assert all(path.stat().st_mode & 0o777 == 0o600 for path in files)
    assert all(path.stat().st_mode & 0o777 == 0o700 for path in Path(home.path("raw")).rglob("*") if path.is_dir())
    (stored,) = archive.objects(home.path("raw"))
    assert os.path.getsize(stored) < len(content(home, entry)) / 5


def test_growth_adds_what_is_new_and_small_pieces_are_put_together(
    home: Home, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recording, "SMALL", 1500)
    script = Script()
    path = save(folder / "a.jsonl", script.user("one"))
    for number in range(30):
        ingest(home, folder)
        with path.open("ab") as stream:
            stream.write(lines(script.user(f"turn {number} " + "word " * 40)))
    ingest(home, folder)
    (entry,) = held(home)
    assert content(home, entry) == path.read_bytes()
    assert all(length >= 1500 for _, length in entry.segments[:-1])
    assert len(list(archive.objects(home.path("raw")))) == len(entry.segments)
    before = corpus(home)
    assert again(home, folder) == before


def test_growth_reads_no_old_object_but_the_last(home: Home, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recording, "SMALL", 10)
    script = Script()
    path = save(folder / "a.jsonl", script.user("one"))
    ingest(home, folder)
    (before,) = held(home)
    with path.open("ab") as stream:
        stream.write(lines(script.user("two")))
    monkeypatch.setattr(recording, "content", None)  # would raise if called
    ingest(home, folder)
    (after,) = held(home)
    assert after.segments[:-1] == before.segments


def test_an_archive_that_cannot_be_written_ends_the_run_and_nothing_counts_as_read(
    home: Home, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = save(folder / "a.jsonl", Script().user("one"))

    def full(*_: object) -> tuple[str, int]:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(recording, "write_atomic", full)
        with pytest.raises(OSError, match="No space left"):
            ingest(home, folder)
    assert held(home) == []
    ingest(home, folder)
    assert len(corpus(home)) == 1
    (entry,) = held(home)
    assert content(home, entry) == path.read_bytes()


def test_without_a_thread_to_pack_on_all_is_stored_all_the_same(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    def none_left(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", none_left)
    taken = recording.Archive(home, "claude")
    put = [taken.put(data) for data in (b"one\n", b"two\n", b"three\n")]
    taken.settle()
    assert list(archive.lines(taken.folder, put)) == [b"one\n", b"two\n", b"three\n"]
    taken.close()


def test_a_file_that_was_read_beside_another_goes_also_where_nothing_else_is_to_be_written(home: Home) -> None:
    entry = archive.Entry("a.json", archive.COMPANION, 0, 1, 0, "", 0, 0, "", 1, [])
    taken = recording.Archive(home, "claude")
    taken.take(entry, superseded=False)
    taken.commit()
    assert [each.path for each in archive.versions(home, "claude")] == ["a.json"]
    taken.leave("a.json")
    taken.commit()
    taken.close()
    assert list(archive.versions(home, "claude")) == []


def test_equal_content_is_stored_once(home: Home, folder: Path) -> None:
    script = Script().user("one")
    save(folder / "a.jsonl", script)
    save(folder / "copy.jsonl", script)
    ingest(home, folder)
    assert len(held(home)) == 2
    assert len(list(archive.objects(home.path("raw")))) == 1


@pytest.mark.parametrize("more", [0, 40])
def test_an_object_that_another_file_names_stays(tmp_path: Path, more: int) -> None:
    names = [f"{number:064x}" for number in range(2 + more)]
    for name in names:
        target = Path(archive.object_path(str(tmp_path), name))
        target.parent.mkdir(parents=True, exist_ok=True)
        target.touch()
    connection = archive.open_catalogue(str(tmp_path / "catalogue"))
    entry = archive.Entry("a.jsonl", 0, 1, 1, 1, "", 1, 1, "", 1, [(names[0], 1), (names[1], 1)])
    archive.write_rows(connection, "claude", [entry])
    assert archive.unlink_unnamed(connection, str(tmp_path), names[1:]) == more
    assert [Path(archive.object_path(str(tmp_path), name)).exists() for name in names] == [True, True] + [False] * more


def test_a_file_that_was_cut_short_does_not_take_along_what_it_had_said(home: Home, folder: Path) -> None:
    script = Script()
    path = save(folder / "a.jsonl", script.user("one"), script.user("two"), script.user("three"))
    ingest(home, folder)
    before = corpus(home)
    path.write_bytes(path.read_bytes().split(b"\n")[0] + b"\n")
    ingest(home, folder)
    assert corpus(home) == before
    assert again(home, folder) == before


def test_a_rewritten_file_is_replaced_and_what_it_said_before_is_kept(home: Home, folder: Path) -> None:
    script, other = Script(), Script()
    path = save(folder / "a.jsonl", script.user("one"), script.user("two"))
    ingest(home, folder)
    save(path, other.user("uno"), other.user("dos"), other.user("tres"))
    ingest(home, folder)
    assert b"tres" in next(iter(corpus(home).values()))
    catalogue = archive.open_catalogue(home.path("raw", archive.CATALOGUE))
    try:
        versions = list(archive.entries(catalogue, "claude"))
    finally:
        catalogue.close()
    assert [entry.version for entry in versions] == [0, 1]
    assert b"tres" in content(home, versions[0])
    assert b"one" in content(home, versions[1])
    before = corpus(home)
    assert again(home, folder) == before


def test_a_line_without_its_end_is_the_same_line_once_it_has_one(home: Home, folder: Path) -> None:
    script = Script()
    path = folder / "a.jsonl"
    path.write_bytes(lines(script.user("one")).rstrip(b"\n"))
    ingest(home, folder)
    with path.open("ab") as stream:
        stream.write(b"\n" + lines(script.user("two")))
    ingest(home, folder)
    (entry,) = held(home)
    assert content(home, entry) == path.read_bytes()


def test_a_run_with_nothing_new_stores_nothing(home: Home, folder: Path) -> None:
    save(folder / "a.jsonl", Script().user("one"))
    ingest(home, folder)
    catalogue = Path(home.path("raw", archive.CATALOGUE))
    before = catalogue.stat().st_mtime_ns
    for trust in (True, False):
        assert ingest(home, folder, trust_stat=trust).ingested == 0
    assert catalogue.stat().st_mtime_ns == before


def test_an_archive_that_was_lost_is_filled_again(home: Home, folder: Path) -> None:
    save(folder / "a.jsonl", Script().user("one"))
    ingest(home, folder)
    shutil.rmtree(home.path("raw"))
    ingest(home, folder, trust_stat=True)
    assert len(held(home)) == 1


def test_a_compressed_file_is_kept_as_what_it_holds(home: Home, folder: Path) -> None:
    import zstandard

    packed = folder / "a.jsonl.zst"
    packed.write_bytes(zstandard.ZstdCompressor().compress(lines(Script().user("one"))))
    kept = keeping.Keeping(home, "claude", {})
    (found,) = claude.SOURCE.parse(str(packed), kept)
    kept.commit()
    kept.close()
    (entry,) = held(home)
    assert content(home, entry) == lines(Script().user("one"))
    assert (entry.consumed, entry.digest) == (found.consumed, found.digest)


def test_a_whole_document_is_redacted_and_kept(home: Home, tmp_path: Path) -> None:
    path = tmp_path / "chat.json"
    path.write_text('{"messages": [{"text": "use ' + TOKEN + '"}]}', encoding="utf-8")
    said: list[object] = []

    def take(value: object, read: reading.Reading) -> None:
        said.append(value)
        read.parts["unit"] = ClaudeSession("unit")

    kept = keeping.Keeping(home, "gemini", {})
    first = reading.whole(str(path), kept, take, "foreign")
    kept.commit()
    kept.close()
    assert (said, first.redacted) == ([{"messages": [{"text": "use [redacted:github]"}]}], {"github": 1})
    back = reading_back.ReadBack(home, "gemini", {})
    (file,) = back.files
    path.unlink()
    second = reading.whole(file.path, back, take, "foreign")
    assert said[0] == said[1]
    assert (first.digest, first.mtime_ns) == (second.digest, second.mtime_ns)


def test_a_damaged_object_is_a_failure_and_its_document_stays(home: Home, folder: Path) -> None:
    save(folder / "a.jsonl", Script().user("one"))
    ingest(home, folder)
    before = corpus(home)
    (stored,) = archive.objects(home.path("raw"))
    Path(stored).write_bytes(b"not zstd")
    ledger = run(home, "claude", trust_stat=False, from_archive=True)
    assert ledger.failed_files == 1
    assert corpus(home) == before


def test_nothing_is_kept_where_the_archive_is_off(home: Home, folder: Path) -> None:
    Path(home.path("collections.yml")).write_text(
        "collections: {brain: {path: brain}}\narchive: {enabled: false}\n", encoding="utf-8"
    )
    save(folder / "a.jsonl", Script().user("one"))
    ingest(home, folder)
    assert not Path(home.path("raw")).exists()


def test_secrets_are_kept_in_the_archive_only_where_that_was_chosen(home: Home, folder: Path) -> None:
    Path(home.path("collections.yml")).write_text(
        "collections: {brain: {path: brain}}\narchive: {redact: false}\n", encoding="utf-8"
    )
    path = save(folder / "a.jsonl", Script().user(f"use {TOKEN}"))
    ingest(home, folder)
    (entry,) = held(home)
    assert content(home, entry) == path.read_bytes()
    before = corpus(home)
    assert TOKEN.encode() not in b"".join(before.values())
    assert again(home, folder) == before


def test_the_cap_is_reported_and_nothing_is_deleted(home: Home, folder: Path) -> None:
    Path(home.path("collections.yml")).write_text(
        "collections: {brain: {path: brain}}\narchive: {max_gb: 0.0000001}\n", encoding="utf-8"
    )
    save(folder / "a.jsonl", Script().user("one"))
    ingest(home, folder)
    said = verifier.summarize(home, registry.settings(home))
    assert (said["over"], said["objects"]) == (True, 1)
    save(folder / "b.jsonl", Script(OTHER).user("two"))
    ingest(home, folder)
    assert verifier.summarize(home, registry.settings(home))["objects"] == 2


def test_a_run_that_dies_before_the_state_is_saved_is_repeated(
    home: Home, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save(folder / "a.jsonl", Script().user("one"))

    def dies(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(State, "save", dies)
        with pytest.raises(KeyboardInterrupt):
            ingest(home, folder)
    ingest(home, folder)
    assert len(held(home)) == 1
    before = corpus(home)
    assert again(home, folder) == before


def test_the_samples_come_back_byte_for_byte_within_a_fifth_of_their_size(
    home: Home, shared: Path, tmp_path: Path
) -> None:
    source = shared / "samples" / "claude-growing-chains"
    total = sum(path.stat().st_size for path in source.rglob("*.jsonl"))
    ingest(home, source)
    before = corpus(home)
    _, stored = archive.size(home)
    assert stored <= total / 5
    shutil.rmtree(home.path("brain"))
    run(home, "claude", trust_stat=False, from_archive=True)
    assert corpus(home) == before


def test_a_file_that_was_read_beside_another_is_there_again(home: Home, tmp_path: Path) -> None:
    path = tmp_path / "projects.json"
    path.write_text('{"projects": {"/home/me/api": "api"}}', encoding="utf-8")
    kept = keeping.Keeping(home, "gemini", {})
    first = kept.load(str(path))
    kept.commit()
    kept.close()
    path.unlink()
    back = reading_back.ReadBack(home, "gemini", {})
    assert back.files == []
    assert back.load(str(path)) == first


def test_a_forgotten_session_that_is_read_again_leaves_no_object(
    home: Home, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recording, "LARGE", 100)
    monkeypatch.setattr(recording, "SMALL", 10)
    save(folder / "one.jsonl", *(Script().user(f"The {number}th phrase") for number in range(9)))
    ingest(home, folder)
    Tombstones(home).add([("claude", SESSION)])
    forgetting.erase(home, "claude", forgetting.look(home, "claude", [SESSION]))
    left = sorted(archive.objects(home.path(archive.FOLDER)))
    run(home, "claude", [str(folder)], trust_stat=False, rebuild=True)
    assert sorted(archive.objects(home.path(archive.FOLDER))) == left


@pytest.mark.parametrize("said", ["plain", f"with {TOKEN}", "with <private>this</private>"])
def test_a_file_that_is_one_document_is_redacted_once_for_the_corpus_and_the_archive(
    home: Home, folder: Path, monkeypatch: pytest.MonkeyPatch, said: str
) -> None:
    thread = {"id": "T-1", "created": 1_777_367_643_000, "messages": [{"role": "user", "content": said}]}
    (folder / "T-1.json").write_text(json.dumps(thread, indent=1), encoding="utf-8")
    monkeypatch.setattr(reading, "clean_document", None)
    assert run(home, "amp", [str(folder)], trust_stat=False).failed_files == 0
    kept = content(home, held(home, "amp")[0])
    before = corpus(home)
    assert len(before) == 1
    everything = b"".join((kept, *before.values()))
    assert TOKEN.encode() not in everything
    assert b"<private>" not in everything
    assert (kept == (folder / "T-1.json").read_bytes()) == (said == "plain")
    shutil.rmtree(home.path("brain"))
    assert run(home, "amp", trust_stat=False, from_archive=True).failed_files == 0
    assert corpus(home) == before
