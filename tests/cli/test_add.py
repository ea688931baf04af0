"""``brain add``: what is added is found at once."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from core.home import Home
from core.tombstones import Tombstones
from tests.conftest import Brain
from tests.ingest import articles_fixture as made


def test_a_folder_is_added_and_found_and_what_is_broken_is_listed(brain: Brain, home: Home, tmp_path: Path) -> None:
    folder = tmp_path / "papers"
    folder.mkdir()
    (folder / "a.pdf").write_bytes(made.pdf())
    (folder / "b.epub").write_bytes(made.epub())
    (folder / "c.pdf").write_bytes(made.pdf(password="x"))
    (folder / "d.md").symlink_to(Path(__file__).with_suffix(".md"))
    report = json.loads(brain("add", str(folder), "--json").stdout)
    assert (report["ok"], report["added"], report["failed"]) == (True, 2, 1)
    assert report["skipped"] == {"a link that leads out of the folder": 1}
    assert report["failures"][0]["reason"] == "encrypted"
    answer = json.loads(brain("ask", "printed walrus", "--json").stdout)
    assert answer["hits"][0]["uri"] == report["documents"][0]["uri"]
    assert answer["hits"][0]["trust"] == "article"
    assert json.loads(brain("add", str(folder), "--json").stdout)["unchanged"] == 2
    assert brain("index", "--json").returncode == 0
    assert len(list(Path(home.path("kb-raw")).glob("*.md"))) == 2


def test_a_named_file_that_fails_is_64_whatever_else_was_added_and_one_in_a_folder_is_not(
    brain: Brain, tmp_path: Path
) -> None:
    folder = tmp_path / "papers"
    folder.mkdir()
    (folder / "a.md").write_text("# Walrus\n\nOn ice.\n")
    locked = tmp_path / "locked.pdf"
    locked.write_bytes(made.pdf(password="x"))
    done = brain("add", str(folder), str(locked), str(tmp_path / "none.md"), "--json")
    report = json.loads(done.stdout)
    assert (done.returncode, report["ok"], report["error"], report["exit_code"]) == (64, False, "bad_input", 64)
    assert (report["added"], report["failed"]) == (1, 2)
    assert report["unread"] == [str(locked), str(tmp_path / "none.md")]
    assert report["documents"][0]["title"] == "Walrus"
    told = brain("add", str(folder), str(locked))
    assert (told.returncode, told.stdout.splitlines()[-1]) == (64, "1 unchanged, 1 failed")
    assert told.stderr.startswith(f"brain: nothing could be read of {locked}; the rest was added\nfix: ")
    locked.rename(folder / "locked.pdf")
    done = brain("add", str(folder), "--json")
    assert (done.returncode, json.loads(done.stdout)["unread"]) == (0, [])


def test_a_pipe_is_added_under_its_address(brain: Brain, home: Home) -> None:
    done = brain("add", "-", "--url", "https://a.test/w", "-c", "kb-wiki", "--json", stdin=made.HTML)
    report = json.loads(done.stdout)
    assert report["documents"][0]["title"] == "The walrus paper"
    again = brain("add", "-", "--url", "https://a.test/w", "-c", "kb-wiki", stdin=made.HTML.replace("ice", "rocks"))
    assert again.stdout.startswith("updated: The walrus paper\n")
    assert [path.parent.name for path in Path(home.root).rglob("*walrus*.md")] == ["kb-wiki"]
    assert list(Path(home.state).glob("piped-*")) == []


def test_what_was_forgotten_and_is_added_again_is_not_forgotten_any_more(
    brain: Brain, home: Home, tmp_path: Path
) -> None:
    paper = tmp_path / "a.pdf"
    paper.write_bytes(made.pdf())
    uri = json.loads(brain("add", str(paper), "--json").stdout)["documents"][0]["uri"]
    assert brain("forget", uri, "--yes").returncode == 0
    assert {source for source, _ in Tombstones(home).marks()} == {"article"}
    assert json.loads(brain("add", str(paper), "--json").stdout)["added"] == 1
    assert Tombstones(home).marks() == []


def test_what_was_forgotten_does_not_come_back_with_its_folder(brain: Brain, home: Home, tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "a.md").write_text("# Walrus\n\nOn ice.\n")
    (notes / "b.md").write_text("# Otter\n\nIn kelp.\n")
    assert brain("add", str(notes / "a.md"), "--url", "https://a.test/w").returncode == 0
    documents = json.loads(brain("add", str(notes), "--json").stdout)["documents"]
    gone = next(one["uri"] for one in documents if one["title"] == "Walrus")
    assert brain("forget", gone, "--yes").returncode == 0
    again = json.loads(brain("add", str(notes), "--json").stdout)
    assert (again["added"], again["unchanged"], again["forgotten"]) == (0, 1, 1)
    assert brain("add", str(notes)).stdout.endswith("1 unchanged, 1 forgotten\n")
    assert len(Tombstones(home).marks()) == 3, "of its address, of where it lies, and of its bytes"
    again = json.loads(brain("add", str(notes / "a.md"), "--url", "https://a.test/w", "--json").stdout)
    assert (again["added"], Tombstones(home).marks()) == (1, [])


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "nothing to add"),
        (("missing.pdf",), "unreadable"),
        (("locked.pdf",), "encrypted"),
        (("-", "-"), "read once"),
        (("a.md", "-c", "nowhere"), "there is no collection"),
        (("a.md", "-c", "brain"), "another command"),
        (("a.md", "-c", "outside"), "not the brain's to write"),
        (("a.md", "b.md", "--title", "x"), "of one file"),
        (("empty",), "nothing to add"),
    ],
)
def test_what_cannot_be_added_ends_with_64_and_a_fix(
    brain: Brain, home: Home, tmp_path: Path, words: tuple[str, ...], said: str
) -> None:
    (tmp_path / "locked.pdf").write_bytes(made.pdf(password="x"))
    (tmp_path / "empty").mkdir()
    for name in ("a.md", "b.md"):
        (tmp_path / name).write_text("# x\n", encoding="utf-8")
    Path(home.path("collections.yml")).write_text(
        f"collections:\n  brain:\n  kb-raw:\n  outside: {{path: {tmp_path}}}\n", encoding="utf-8"
    )
    done = brain("add", *words, "--json", cwd=str(tmp_path))
    report = json.loads(done.stdout)
    assert (done.returncode, report["error"]) == (64, "bad_input")
    assert said in report["message"]
    assert report["fix"]


def test_the_configuration_to_add_a_collection_to_is_the_users_own(brain: Brain, home: Home, tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("# x\n", encoding="utf-8")
    own = home.path("collections.yml")
    fix = json.loads(brain("add", "a.md", "-c", "nope", "--json", cwd=str(tmp_path)).stdout)["fix"]
    assert fix.endswith(f"or add it to {own} (brain init --config --no-index writes it)")
    assert brain("init", "--config", "--json").returncode == 0
    fix = json.loads(brain("add", "a.md", "-c", "nope", "--json", cwd=str(tmp_path)).stdout)["fix"]
    assert fix.endswith(f"or add it to {own}")


@pytest.mark.parametrize(("name", "source"), [("All.mbox", "mail"), ("cal.ics", "calendar")])
def test_a_file_of_many_entries_is_left_to_the_source_that_reads_them(
    brain: Brain, tmp_path: Path, name: str, source: str
) -> None:
    file = tmp_path / name
    file.write_text("BEGIN\n")
    done = brain("add", str(file))
    assert done.returncode == 64
    assert f"brain index --source {source} --from {file}" in done.stderr


def test_an_article_is_added_whatever_its_name(brain: Brain, tmp_path: Path) -> None:
    (tmp_path / "bookmarks-are-dead.html").write_text("<h1>Bookmarks are dead</h1><p>Search instead.</p>")
    report = json.loads(brain("add", str(tmp_path / "bookmarks-are-dead.html"), "--json").stdout)
    assert (report["added"], report["documents"][0]["title"]) == (1, "Bookmarks are dead")
