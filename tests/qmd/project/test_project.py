from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qmd.project import config, main, records
from tests.unseen import HOSTILE, unseen

ROOT = Path(__file__).resolve().parent.parent.parent.parent
CONFIG = """collections:
  notes:
    path: kb/notes
    pattern: "**/*.md"
  tasks: {path: kb/tasks, ignore: ["old/**"]}
"""
FILES = {
    "kb/notes/context.md": "---\ntitle: Context engineering\n---\n# Context\n\nKeep the window small; compress it.\n",
    "kb/notes/storage.md": "# Storage\n\nWe chose sqlite over a server.\n",
    "kb/notes/long.md": "# Long\n\n" + "".join(f"word{n} " * 60 + "\n\n" for n in range(40)) + "the walrus sleeps\n",
    "kb/tasks/one.md": "# One\n\nCompress the archive.\n",
    "kb/tasks/old/two.md": "# Two\n\nCompress nothing.\n",
}


class Done:
    def __init__(self, code: int, out: str, err: str) -> None:
        self.code = code
        self.out = out
        self.err = err


Run = Callable[..., Done]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project of five files, the working directory."""
    root = tmp_path / "pröject"
    for name, text in FILES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    (root / "semantic-search.yml").write_text(CONFIG)
    monkeypatch.chdir(root)
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.setenv("COMMONPLACE_EMBEDDING", "none")  # most of what is promised needs no model
    return root


@pytest.fixture
def run(project: Path, capfd: pytest.CaptureFixture[str]) -> Run:
    """``run("keyword", "x", "-n", "2")``, in this process."""

    def call(command: str, *words: str) -> Done:
        capfd.readouterr()
        code = getattr(main, command)(list(words))
        shown = capfd.readouterr()
        return Done(code, shown.out, shown.err)

    return call


@pytest.fixture
def indexed(run: Run) -> Run:
    assert run("update").code == 0
    return run


def _hits(done: Done) -> list[dict[str, object]]:
    assert done.code == 0, done.err
    found: list[dict[str, object]] = json.loads(done.out)["hits"]
    return found


def _dump(project: Path) -> list[object]:
    connection = apsw.Connection(str(project / ".search/search.db"))
    rows = [
        *connection.execute("SELECT id, collection, path, hash, active FROM documents"),
        *connection.execute("SELECT id, hash, starts FROM brain_contents"),
    ]
    connection.close()
    return list[object](rows)


def test_an_update_finds_every_file_and_a_second_one_nothing_new(run: Run, project: Path) -> None:
    first = run("update")
    assert (first.code, first.err) == (0, "")
    assert "notes: 3 new, 0 updated, 0 unchanged, 0 removed" in first.out
    assert "tasks: 1 new" in first.out
    before = _dump(project)
    again = json.loads(run("update", "--json", "--verify").out)["collections"]
    assert {name: (each["added"], each["updated"], each["unchanged"]) for name, each in again.items()} == {
        "notes": (0, 0, 3),
        "tasks": (0, 0, 1),
    }
    assert _dump(project) == before


def test_the_index_keeps_to_itself(indexed: Run, project: Path) -> None:
    assert sorted(os.listdir(project / ".search")) == [".gitignore", "search.db", "search.db.lock"]
    assert (project / ".search/.gitignore").read_text() == "*\n"
    assert (project / ".search").stat().st_mode & 0o777 == 0o700
    assert (project / ".search/search.db").stat().st_mode & 0o777 == 0o600
    assert not (Path.home() / ".cache").exists()


def test_what_is_gone_is_not_found_any_more(indexed: Run, project: Path) -> None:
    (project / "kb/notes/storage.md").unlink()
    assert "1 removed" in indexed("update").out
    assert _hits(indexed("keyword", "sqlite", "--json")) == []
    (project / "semantic-search.yml").write_text("collections: {notes: {path: kb/notes}}\n")
    assert indexed("update").code == 0
    assert _hits(indexed("keyword", "archive", "--json")) == []
    assert indexed("keyword", "archive", "--collection", "tasks").code == 64


def test_words_find_records_with_stable_ids_best_first(indexed: Run) -> None:
    hits = _hits(indexed("keyword", "compress", "the", "window", "--json"))
    assert [hit["id"] for hit in hits] == ["kb/notes/context.md#file", "kb/tasks/one.md#file"]
    assert hits[0]["title"] == "Context engineering"
    assert hits[0]["chunk"] == "kb/notes/context.md#chunk-0001"
    assert [hit["id"] for hit in _hits(indexed("keyword", "compress", "--collection", "tasks", "--json"))] == [
        "kb/tasks/one.md#file"
    ]
    assert len(_hits(indexed("keyword", "compress", "-n", "1", "--json"))) == 1
    assert _hits(indexed("keyword", "--all-words", "compress window", "--json"))[0]["path"] == "kb/notes/context.md"
    text = indexed("keyword", "compress the window").out.splitlines()
    assert text[0].split("  ")[1:] == ["kb/notes/context.md#file", "Context engineering"]


def test_nothing_found_is_a_result(indexed: Run) -> None:
    done = indexed("keyword", "zzyzx")
    assert (done.code, done.out, done.err) == (0, "", "No results found.\n")
    assert _hits(indexed("keyword", "zzyzx", "--json")) == []


def test_the_chunk_of_a_hit_holds_its_words(indexed: Run, project: Path) -> None:
    (hit,) = _hits(indexed("keyword", "walrus", "--json"))
    chunk = str(hit["chunk"])
    number = int(chunk.rpartition("-")[2])
    assert number > 2
    assert "walrus" in indexed("get", chunk).out
    assert "walrus" not in indexed("get", "kb/notes/long.md#chunk-0001").out
    pieces = [
        json.loads(indexed("get", f"kb/notes/long.md#chunk-{n:04}", "--json").out)["text"] for n in range(1, number + 1)
    ]
    assert "".join(pieces) == FILES["kb/notes/long.md"]
    beyond = indexed("get", f"kb/notes/long.md#chunk-{number + 1:04}")
    assert (beyond.code, f"has {number} chunks" in beyond.err) == (67, True)


@pytest.mark.parametrize(
    "name",
    [
        "kb/notes/storage.md#file",
        "kb/notes/storage.md",
        "notes/storage.md",
        "storage.md",
        "qmd://notes/storage.md",
        "{root}/kb/notes/storage.md",
    ],
)
def test_a_record_is_got_by_any_of_its_names(indexed: Run, project: Path, name: str) -> None:
    done = indexed("get", name.format(root=project))
    assert (done.code, done.out) == (0, FILES["kb/notes/storage.md"])


@pytest.mark.parametrize("name", ["storge.md", "", "#file", "../semantic-search.yml", "/etc/passwd", "e.md"])
def test_what_is_no_record_is_not_read(indexed: Run, name: str) -> None:
    done = indexed("get", name)
    assert (done.code, done.out) == (67, "")
    assert "no record" in done.err
    if name == "storge.md":
        assert "did you mean kb/notes/storage.md" in done.err


def test_meaning_finds_what_the_words_do_not_and_nothing_about_something_else(
    indexed: Run, monkeypatch: pytest.MonkeyPatch, project: Path
) -> None:
    monkeypatch.delenv("COMMONPLACE_EMBEDDING")
    long = project / "kb/notes/long.md"
    long.write_text(long.read_text()[:1500])  # the model reads each word
    early = indexed("query", "database")
    assert (early.code, "nothing is embedded by local/" in early.err) == (65, True)
    assert "embedding: local/" in indexed("update").out
    found = json.loads(indexed("query", "which database do we use", "--json").out)
    assert found["by"] == "meaning"
    assert found["embedding"]["backend"].startswith("local/")
    assert found["embedding"]["pending"] == 0
    hits = found["hits"]
    assert hits[0]["id"] == "kb/notes/storage.md#file"
    assert hits[0]["chunk"] == "kb/notes/storage.md#chunk-0001"
    assert 0 < hits[0]["score"] <= 1
    assert [hit["score"] for hit in hits] == sorted((hit["score"] for hit in hits), reverse=True)
    every = _hits(indexed("query", "which database do we use", "--min-score", "-1", "--json"))
    assert len({hit["id"] for hit in every}) == len(every) == 4
    assert [hit["id"] for hit in hits] == [hit["id"] for hit in every if hit["score"] >= found["min_score"]]
    tasks = _hits(indexed("query", "which database do we use", "--collection", "tasks", "--min-score", "-1", "--json"))
    assert [hit["id"] for hit in tasks] == ["kb/tasks/one.md#file"]
    _finds_nothing_about_something_else(indexed)

    before = json.loads(indexed("status", "--json").out)["embedding"]
    assert (before["pending"], before["vectors"] >= 4) == (0, True)
    assert indexed("update").code == 0
    assert json.loads(indexed("status", "--json").out)["embedding"] == before
    (project / "kb/notes/storage.md").unlink()
    (project / "kb/notes/fresh.md").write_text("# Fresh\n\nPostgres holds the tables.\n")
    indexed("update", "--no-embed")
    waiting = indexed("query", "which database do we use", "-n", "1", "--min-score", "-1")
    assert len(waiting.out.splitlines()) == 2
    assert "storage.md" not in waiting.out
    assert "1 files wait for vectors" in waiting.err
    indexed("update")
    assert _hits(indexed("query", "which database do we use", "--json"))[0]["id"] == "kb/notes/fresh.md#file"
    monkeypatch.setenv("COMMONPLACE_EMBEDDING", "openai")
    assert indexed("query", "x").code == 64


def _finds_nothing_about_something_else(indexed: Run) -> None:
    for question in ("how tall is the giraffe in the zoo", "recette de la tarte aux pommes"):
        done = indexed("query", question)
        assert (done.code, done.out) == (0, "")
        assert "No results found." in done.err
        assert _hits(indexed("query", question, "--json")) == []
        assert len(_hits(indexed("query", question, "--min-score=-1", "--json"))) == 4
    assert _hits(indexed("query", "which database do we use", "--min-score", "1", "--json")) == []


@pytest.mark.parametrize("least", ["nan", "1.1", "-1.1", "inf", "much"])
def test_a_least_score_is_a_cosine(indexed: Run, least: str) -> None:
    assert indexed("query", "x", f"--min-score={least}").code == 64


def test_without_a_backend_meaning_is_not_passed_off_as_words(indexed: Run) -> None:
    done = indexed("query", "context compression", "--collection", "notes", "-n", "15")
    assert (done.code, done.out) == (65, "")
    assert "no embedding backend" in done.err
    assert "commonplace-search-keyword" in done.err
    assert json.loads(indexed("query", "x", "--json").out)["error"] == "qmd_missing"


def test_status_says_what_there_is_and_that_there_is_no_backend(indexed: Run, project: Path) -> None:
    shown = indexed("status").out
    assert "embedding: none (COMMONPLACE_EMBEDDING=none: there is no embedding backend)" in shown
    assert f"notes: 3 files in {project / 'kb/notes'}" in shown
    found = json.loads(indexed("status", "--json").out)
    assert found["root"] == str(project)
    assert found["config"] == str(project / "semantic-search.yml")
    assert {each["name"]: each["files"] for each in found["collections"]} == {"notes": 3, "tasks": 1}


def test_a_missing_folder_is_reported_and_its_records_are_kept(indexed: Run, project: Path) -> None:
    (project / "kb/tasks").rename(project / "kb/elsewhere")
    done = indexed("update")
    assert "tasks: its folder is missing" in done.err
    assert done.code == 0
    assert len(_hits(indexed("keyword", "archive", "--json"))) == 1
    assert "folder is missing" in indexed("status").out


def test_any_folder_of_the_project_will_do(indexed: Run, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(project / "kb/notes")
    assert _hits(indexed("keyword", "sqlite", "--json"))[0]["id"] == "kb/notes/storage.md#file"
    assert indexed("update").code == 0
    assert not (project / "kb/notes/.search").exists()


def test_configuration_and_index_may_be_named(
    run: Run, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / "semantic-search.yml").rename(project / "other.yml")
    assert run("update").code == 64
    database = tmp_path / "elsewhere" / "db"
    assert run("update", "--config", "other.yml", "--database", str(database)).code == 0
    monkeypatch.chdir(tmp_path)
    assert _hits(run("keyword", "sqlite", "--database", str(database), "--json"))[0]["path"] == "kb/notes/storage.md"
    assert run("keyword", "sqlite").code == 65
    assert run("update", "--config", str(project / "other.yml")).code == 0
    assert (project / ".search/search.db").exists()
    assert len(_hits(run("keyword", "sqlite", "--config", str(project / "other.yml"), "--json"))) == 1


def test_a_file_in_two_collections_is_one_record(run: Run, project: Path) -> None:
    (project / "semantic-search.yml").write_text("collections: {all: {path: kb}, notes: {path: kb/notes}}\n")
    run("update")
    assert [hit["id"] for hit in _hits(run("keyword", "sqlite", "--json"))] == ["kb/notes/storage.md#file"]
    assert run("get", "kb/notes/storage.md").code == 0


def test_files_outside_the_project_have_absolute_names(run: Run, project: Path, tmp_path: Path) -> None:
    (tmp_path / "far").mkdir()
    (tmp_path / "far/a.md").write_text("# Far\n\nwalrus\n")
    (project / "semantic-search.yml").write_text("collections: {far: {path: ../far}}\n")
    assert run("update", "--trust").code == 0
    (hit,) = _hits(run("keyword", "walrus", "--json"))
    assert hit["id"] == f"{tmp_path}/far/a.md#file"
    assert run("get", str(hit["id"])).code == 0


@pytest.mark.parametrize("path", ["../far", "{far}", "~/far", "link", "kb/../../far"])
def test_a_checkout_does_not_choose_what_of_the_users_files_is_indexed(
    run: Run, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    far = tmp_path / "far"
    far.mkdir()
    (far / "a.md").write_text("# Far\n\nthe private walrus\n")
    (project / "link").symlink_to(far)
    entry = "collections: {notes: {path: kb/notes}, far: {path: '" + path.format(far=far) + "'}}\n"
    (project / "semantic-search.yml").write_text(entry)
    done = run("update")
    assert done.code == 0
    assert "lies outside this project and is left out\nfix: commonplace-search-update --trust\n" in done.err
    assert b"private walrus" not in (project / ".search" / "search.db").read_bytes()
    assert json.loads(run("update", "--json").out)["outside"][0]["name"] == "far"
    assert run("update", "--trust").code == 0
    assert len(_hits(run("keyword", "private", "--json"))) == 1
    assert run("update").err == ""
    # The approval is for this folder, not for another one that the configuration names later.
    (tmp_path / "other").mkdir()
    (project / "semantic-search.yml").write_text("collections: {far: {path: ../other}, notes: {path: kb/notes}}\n")
    assert "lies outside" in run("update").err
    assert _hits(run("keyword", "private", "--json")) == []


def test_a_project_of_nothing_of_its_own_is_refused(run: Run, project: Path, tmp_path: Path) -> None:
    (tmp_path / "far").mkdir()
    (project / "semantic-search.yml").write_text("collections: {far: {path: ../far}}\n")
    assert run("update").code == 71
    assert not (project / ".search").exists()


@pytest.mark.parametrize("name", [".search", ".search/search.db", ".search/search.db-wal", ".search/search.db.lock"])
def test_an_index_that_a_checkout_leads_elsewhere_is_not_followed(
    run: Run, project: Path, tmp_path: Path, name: str
) -> None:
    assert run("update").code == 0
    (project / ".search").rename(tmp_path / "elsewhere")
    target = tmp_path / "elsewhere" if name == ".search" else tmp_path / "elsewhere" / "search.db"
    (project / name).parent.mkdir(exist_ok=True)
    (project / name).symlink_to(target)
    commands = (["update"], ["keyword", "sqlite"], ["get", "kb/notes/storage.md"], ["status"])
    before = (tmp_path / "elsewhere" / "search.db").read_bytes()
    for words in commands:
        done = run(*words)
        assert (done.code, "is a symlink" in done.err) == (71, True), words
    assert (tmp_path / "elsewhere" / "search.db").read_bytes() == before
    for words in commands:
        assert run(*words, "--database", str(tmp_path / "elsewhere" / "search.db")).code == 0, "the user may name it"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "a: [",
        "collections: []",
        "collections: {notes: }",
        "collections: {notes: {pattern: x}}",
        "collections: {a/b: {path: x}}",
        "collections: {notes: {path: x, update: rm}}",
        "collections: {notes: {path: x, ignore: y}}",
        "collections: {notes: {path: [x]}}",
    ],
)
def test_a_configuration_that_does_not_hold_is_named(run: Run, project: Path, text: str) -> None:
    (project / "semantic-search.yml").write_text(text)
    done = run("update")
    assert (done.code, "semantic-search.yml" in done.err) == (64, True)
    assert not (project / ".search").exists()


def test_another_programs_database_is_left_alone(run: Run, project: Path) -> None:
    with apsw.Connection(str(project / "llm.db")) as connection:
        connection.execute("CREATE TABLE embeddings(id TEXT)")
    before = (project / "llm.db").read_bytes()
    assert run("update", "--database", "llm.db").code == 64
    assert (project / "llm.db").read_bytes() == before
    (project / "text").write_text("no database at all, but text that is longer than a header of SQLite's" * 9)
    assert run("update", "--database", "text").code == 65
    assert run("keyword", "x", "--database", "text").code == 65
    assert run("status", "--database", "none").code == 65


@pytest.mark.parametrize(
    "words", [[], ["x", "-n", "0"], ["x", "-n", "many"], [" "], ["x", "--nope"], ["x", "-c", "nope"]]
)
def test_bad_input_is_64(indexed: Run, words: list[str]) -> None:
    assert indexed("keyword", *words).code == 64


def test_hostile_text_breaks_no_line(run: Run, project: Path) -> None:
    (project / "kb/notes/a\nb \x1b[31m.md").write_text(f"# T\x1b[2J{HOSTILE}\n\nwalrus \x1b]0;x\x07 {HOSTILE}\n")
    run("update")
    (project / "kb/notes/long.md").unlink()
    run("update")
    shown = run("keyword", "walrus")
    assert len(shown.out.splitlines()) == 2
    assert unseen(shown.out) == []
    (hit,) = _hits(run("keyword", "walrus", "--json"))
    assert hit["id"] == "kb/notes/a\nb \x1b[31m.md#file"
    assert unseen(str(hit["title"]) + str(hit["snippet"])) == []
    got = run("get", str(hit["id"]))
    assert (got.code, unseen(got.out)) == (0, [])
    assert unseen(run("get", "kb/notes/a\u202e\x1b.md", "--json").out) == []


def test_readers_and_a_writer_at_once(indexed: Run, project: Path) -> None:
    code = "import sys; from qmd.project import main; sys.exit(getattr(main, sys.argv[1])(sys.argv[2:]))"

    def start(*words: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-c", code, *words], cwd=project, text=True, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, env={**os.environ, "PYTHONPATH": str(ROOT)},
        )  # fmt: skip

    for number in range(60):
        (project / f"kb/notes/n{number}.md").write_text(f"# N{number}\n\nsqlite {number}\n")
    with apsw.Connection(str(project / ".search/search.db")) as held:
        held.execute("SELECT count(*) FROM documents").fetchall()  # a reader's transaction, open all the while
        running = [start("update"), start("update"), *(start("keyword", "sqlite", "--json") for _ in range(4))]
        ends = [(each.wait(timeout=60), *each.communicate()) for each in running]
    assert [end[0] for end in ends] == [0] * 6, ends
    assert all(json.loads(end[1])["hits"] for end in ends[2:])
    added = sum(int(line.split()[1]) for end in ends[:2] for line in end[1].splitlines() if line.startswith("notes"))
    assert added == 60


@given(st.text(max_size=30), st.integers(0, 20_000))
def test_an_id_is_read_as_it_was_made(path: str, chunk: int) -> None:
    assert records.parse(records.identity(path, chunk)) == (path, chunk)


@given(st.text(max_size=40))
def test_any_text_is_an_id_or_a_path(name: str) -> None:
    path, chunk = records.parse(name)
    assert name.startswith(path)
    assert chunk >= 0


def test_the_nearest_configuration_is_found(tmp_path: Path) -> None:
    (tmp_path / "a/b").mkdir(parents=True)
    (tmp_path / "semantic-search.yml").touch()
    assert config.find("semantic-search.yml", str(tmp_path / "a/b")) == str(tmp_path / "semantic-search.yml")
    assert config.find("no-such-file.yml", str(tmp_path / "a/b")) is None


def test_what_a_project_command_makes_is_private_whatever_the_umask(project: Path) -> None:
    code = "import sys; from qmd.project import main; sys.exit(main.update())"
    environ = {**os.environ, "PYTHONPATH": str(ROOT)}
    before = os.umask(0)
    try:
        subprocess.run([sys.executable, "-c", code, "--no-embed"], cwd=project, env=environ, check=True)
    finally:
        os.umask(before)
    made = list((project / ".search").rglob("*"))
    assert "search.db" in {path.name for path in made}
    assert [path.name for path in made if path.is_file() and path.stat().st_mode & 0o077] == []
