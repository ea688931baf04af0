from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import apsw
import pytest

from core.config import load
from core.errors import BadInput, LockContention
from core.home import Home
from qmd.index.rebuilding import Rebuild
from qmd.index.store import open_index
from runtime import distill_queue
from runtime.asking.ask import Asker, Request
from runtime.capture import indexing
from runtime.capture.documents import index_file
from runtime.capture.indexing import index
from tests.ingest.transcripts import Script, lines, save, text


@pytest.fixture
def sessions(tmp_path: Path) -> Path:
    folder = tmp_path / "projects"
    for name, words in (("one", "the walrus decision"), ("two", "a penguin failure")):
        script = Script(name)
        save(folder / "-p" / f"{name}.jsonl", script.user(words), script.assistant(text("Noted.")))
    return folder


def _grow(folder: Path, words: str) -> None:
    with (folder / "-p" / "one.jsonl").open("ab") as stream:
        stream.write(lines(Script("one", prefix="later").user(words)))


def _answers(home: Home, question: str) -> list[str]:
    with Asker(home, load(home)) as asker:
        return [hit["uri"] for hit in asker.ask(question, Request())["hits"]]


def _run(home: Home, folder: Path, **given: Any) -> dict[str, Any]:
    return index(home, load(home), roots=[str(folder)], **given)


def test_transcripts_become_markdown_index_and_answers(home: Home, sessions: Path) -> None:
    report = _run(home, sessions)
    assert (report["ok"], report["sources"]["claude"]["ingested"]) == (True, 2)
    assert sorted(os.listdir(home.path("brain"))) == ["one.md", "two.md"]
    assert _answers(home, "walrus") == ["qmd://brain/one.md"]


def test_a_second_run_changes_nothing_and_writes_nothing(home: Home, sessions: Path) -> None:
    _run(home, sessions)
    before = {path.name: path.stat().st_mtime_ns for path in Path(home.path("brain")).iterdir()}
    for trust in (True, False):
        report = _run(home, sessions, trust_stat=trust)
        assert report["sources"]["claude"]["unchanged"] == 2
        assert report["collections"]["brain"]["unchanged"] == 2
    assert {path.name: path.stat().st_mtime_ns for path in Path(home.path("brain")).iterdir()} == before


def test_a_collection_counts_what_the_sources_wrote_as_what_it_is(home: Home, sessions: Path) -> None:
    def counts(**given: Any) -> list[int]:
        change = _run(home, sessions, **given)["collections"]["brain"]
        return [change[key] for key in ("added", "updated", "unchanged", "removed")]

    by_hand = Path(home.path("brain", "by-hand.md"))
    by_hand.parent.mkdir(parents=True)
    by_hand.write_text("written by hand\n")
    assert counts() == [3, 0, 0, 0]
    _grow(sessions, "now about a pelican")
    by_hand.unlink()
    assert counts(trust_stat=True) == [0, 1, 1, 1]
    assert counts() == [0, 0, 2, 0]
    assert counts(rebuild=True) == [2, 0, 0, 0]


def test_a_grown_session_is_found_by_its_new_words(home: Home, sessions: Path) -> None:
    _run(home, sessions)
    _grow(sessions, "now about a pelican")
    _run(home, sessions, trust_stat=True)
    assert _answers(home, "pelican") == ["qmd://brain/one.md"]
    assert _answers(home, "walrus") == ["qmd://brain/one.md"]


def test_other_collections_are_brought_up_to_date_too(home: Home, sessions: Path) -> None:
    wiki = Path(home.path("kb-wiki"))
    wiki.mkdir()
    (wiki / "report.md").write_text("# Ostrich\n\nabout ostriches")
    _run(home, sessions)
    assert _answers(home, "ostrich") == ["qmd://kb-wiki/report.md"]
    (wiki / "report.md").unlink()
    _run(home, sessions, trust_stat=True)
    assert _answers(home, "ostrich") == []


def test_the_queue_gets_what_changed_once(home: Home, sessions: Path) -> None:
    assert _run(home, sessions)["queued"] == 0
    assert _run(home, sessions, rebuild=True, enqueue=True)["queued"] == 0, "the same bytes are no change"
    _grow(sessions, "more")
    assert _run(home, sessions, trust_stat=True, enqueue=True)["queued"] == 1
    assert [row["path"] for row in distill_queue.read(home)] == ["one.md"]
    queue = distill_queue.PendingQueue(home)
    for name in ("one.md", "two.md", "two.md"):
        queue.add("brain", name)
    assert queue.added == 1
    assert [row["path"] for row in distill_queue.read(home)] == ["one.md", "two.md"]


def test_rebuild_makes_the_same_documents_and_the_same_answers(home: Home, sessions: Path) -> None:
    _run(home, sessions)
    before = {path.name: path.read_bytes() for path in Path(home.path("brain")).iterdir()}
    _run(home, sessions, rebuild=True)
    assert {path.name: path.read_bytes() for path in Path(home.path("brain")).iterdir()} == before
    assert _answers(home, "walrus") == ["qmd://brain/one.md"]


@pytest.mark.parametrize("junk", [b"", b"no database at all, only text", b"SQLite format 3\x00" + b"\xff" * 4000])
def test_rebuild_cures_an_index_that_is_none(home: Home, sessions: Path, junk: bytes) -> None:
    _run(home, sessions)
    Path(home.index).write_bytes(junk)
    Path(f"{home.index}-wal").write_bytes(b"stale")
    _run(home, sessions, rebuild=True)
    assert _answers(home, "walrus") == ["qmd://brain/one.md"]


def test_what_is_written_during_a_rebuild_is_in_the_new_index(
    home: Home, sessions: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _run(home, sessions)
    finish = Rebuild.finish

    def late(self: Rebuild) -> None:
        note = Path(home.path("brain", "late.md"))
        note.write_text("the pelican landed")
        index_file(home, load(home), "brain", str(note))
        assert _answers(home, "pelican") == ["qmd://brain/late.md"], "in the old index, which nobody has locked"
        finish(self)

    monkeypatch.setattr(Rebuild, "finish", late)
    _run(home, sessions, rebuild=True)
    assert _answers(home, "pelican") == ["qmd://brain/late.md"]
    assert _answers(home, "walrus") == ["qmd://brain/one.md"]


def test_an_interrupted_rebuild_leaves_the_old_index(
    home: Home, sessions: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _run(home, sessions)

    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("the machine went down")

    monkeypatch.setattr(indexing, "update", fail)
    with pytest.raises(RuntimeError):
        _run(home, sessions, rebuild=True)
    assert _answers(home, "walrus") == ["qmd://brain/one.md"]


def test_what_fails_while_indexing_is_raised_and_nothing_hangs(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(30):
        save(tmp_path / "many" / f"s{number}.jsonl", Script(f"s{number}").user("walrus"))
    import qmd.index.writer

    def full(*_: object, **_named: object) -> bool:
        raise apsw.FullError("database or disk is full")

    monkeypatch.setattr(qmd.index.writer.Writer, "put", full)
    with pytest.raises(Exception, match="disk is full"):
        _run(home, tmp_path / "many")


def test_a_second_indexer_waits_and_then_gives_up_with_70(
    home: Home, sessions: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from core.files import FileLock

    monkeypatch.setattr(indexing, "_LOCK_WAIT_S", 0.2)
    with FileLock(os.path.join(home.state, "index.lock"), 1), pytest.raises(LockContention) as caught:
        _run(home, sessions)
    assert caught.value.code == 70


@pytest.mark.parametrize("given", [{"source": "nope"}, {"roots": ["/does/not/exist"]}])
def test_unknown_sources_and_folders_are_bad_input(home: Home, given: dict[str, object]) -> None:
    with pytest.raises(BadInput) as caught:
        index(home, load(home), **given)  # type: ignore[arg-type]
    assert caught.value.fix


def test_one_file_is_indexed_at_once(home: Home) -> None:
    path = Path(home.inbox) / "2026" / "a.md"
    path.parent.mkdir(parents=True)
    path.write_text("# Note\n\nthe pelican")
    index_file(home, load(home), "inbox", str(path))
    assert _answers(home, "pelican") == ["qmd://inbox/2026/a.md"]
    with pytest.raises(BadInput):
        index_file(home, load(home), "nope", str(path))


def test_the_report_names_every_collection_and_when(home: Home, sessions: Path) -> None:
    report = index(home, load(home), roots=[str(sessions)])
    assert set(report["collections"]) == set(load(home).collections)
    assert report["as_of"].endswith("Z")
    connection = open_index(home.index)
    assert connection.execute("SELECT count(*) FROM store_collections").get == len(report["collections"])
    connection.close()


def test_a_damaged_state_of_the_sources_is_made_anew_and_not_blamed_on_the_index(home: Home, sessions: Path) -> None:
    _run(home, sessions)
    Path(home.state, "sources.sqlite").write_bytes(b"no database at all" * 100)
    report = _run(home, sessions)
    assert report["sources"]["claude"]["ingested"] == 2
    assert Path(home.state, "sources.sqlite.damaged").exists()


def test_a_folder_in_a_documents_place_is_one_failure_of_the_run(home: Home, sessions: Path) -> None:
    Path(home.path("brain"), "one.md").mkdir(parents=True)
    report = _run(home, sessions)
    assert report["sources"]["claude"]["failed_files"] == 1
    assert _answers(home, "penguin") == ["qmd://brain/two.md"]


def test_a_transcript_that_is_cut_short_does_not_take_its_document_along(home: Home, tmp_path: Path) -> None:
    script = Script("long")
    records = [script.user(f"walrus {number}") for number in range(50)]
    save(tmp_path / "t" / "long.jsonl", *records)
    _run(home, tmp_path / "t")
    whole = Path(home.path("brain"), "long.md").read_bytes()
    save(tmp_path / "t" / "long.jsonl", *records[:5])
    assert _run(home, tmp_path / "t")["sources"]["claude"]["ingested"] == 1
    assert Path(home.path("brain"), "long.md").read_bytes() == whole


def test_a_source_on_request_is_found_where_it_is_asked_for(home: Home, tmp_path: Path) -> None:
    repository = tmp_path / "walrus"
    repository.mkdir()
    (repository / "tusk.py").write_text("def polish_tusks(): ...\n", encoding="utf-8")
    report = index(home, load(home), source="code", roots=[str(repository)], enqueue=True)
    assert (report["sources"]["code"]["documents"], report["queued"]) == (1, 0)
    with Asker(home, load(home)) as asker:
        assert asker.ask("polish_tusks", Request())["hits"] == []
        found = asker.ask("polish_tusks", Request(collections=("code",)))["hits"]
    assert [hit["title"] for hit in found] == ["polish_tusks"]
    assert "code" not in index(home, load(home))["sources"], "only when it is named"


def test_a_source_without_its_collection_is_refused(home: Home, tmp_path: Path) -> None:
    Path(home.path("collections.yml")).write_text("collections:\n  brain:\n", encoding="utf-8")
    with pytest.raises(BadInput, match="no collection 'code'"):
        index(home, load(home), source="code", roots=[str(tmp_path)])


def test_commits_are_those_of_the_projects_that_sessions_worked_in(home: Home, tmp_path: Path) -> None:
    project = tmp_path / "walrus"
    (project / "src").mkdir(parents=True)
    author = ["-c", "user.name=Ada", "-c", "user.email=a@b.test"]
    for words in (["init", "-q"], [*author, "commit", "-q", "--allow-empty", "-m", "Raise the blubber limit"]):
        subprocess.run(["git", *words], cwd=project, check=True)
    script = Script("one", cwd=str(project / "src"))
    save(tmp_path / "projects/-p/one.jsonl", script.user("the walrus decision"))
    _run(home, tmp_path / "projects")
    report = index(home, load(home), source="git")
    assert (report["sources"]["git"]["seen"], report["sources"]["git"]["documents"]) == (1, 1)
    with Asker(home, load(home)) as asker:
        found = asker.ask("blubber limit", Request(collections=("git",)))["hits"]
    assert found[0]["project"] == str(project)
