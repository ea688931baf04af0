"""``export`` writes the chosen documents to the named place and nowhere else."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.errors import BadInput, Refused
from core.home import Home
from qmd.index.store import open_index
from runtime.asking import documents
from runtime.explaining import export
from tests.examples import examples
from tests.runtime.index_fixture import Shelf

DAY = 86_400
NOW = 1_795_275_000


@pytest.fixture
def shelf(home: Home) -> Shelf:
    shelf = Shelf(home)
    shelf.put("brain", "s1.md", "secret one", session_id="s1", source="claude", project="/u/x/api", date=NOW - 5 * DAY)
    shelf.put("brain", "s2.md", "two", session_id="s2", source="codex", date=NOW - 9 * DAY, ended=NOW - 3 * DAY)
    shelf.put("inbox", "2026/11/n.md", "note", date=NOW)
    return shelf


class Case:
    """One open index and what is asked of it."""

    def __init__(self, shelf: Shelf) -> None:
        self.shelf = shelf

    def rows(self, chosen: documents.Selection) -> list[documents.Row]:
        connection = open_index(self.shelf.home.index)
        try:
            return documents.select(connection, self.shelf.config, chosen)
        finally:
            connection.close()

    def paths(self, **chosen: object) -> list[str]:
        return [f"{row.collection}/{row.path}" for row in self.rows(documents.Selection(**chosen))]  # type: ignore[arg-type]

    def folder(
        self, out: Path, *, force: bool = False, redact: Callable[[str], str] = export.as_stored
    ) -> export.Outcome:
        connection = open_index(self.shelf.home.index)
        try:
            rows = documents.select(connection, self.shelf.config, documents.Selection())
            return export.to_folder(connection, rows, str(out), force=force, redact=redact)
        finally:
            connection.close()

    def file(self, out: Path, *, force: bool = False, redact: Callable[[str], str] = export.as_stored) -> None:
        connection = open_index(self.shelf.home.index)
        try:
            rows = documents.select(connection, self.shelf.config, documents.Selection())
            export.to_file(connection, rows, str(out), force=force, redact=redact)
        finally:
            connection.close()


def files(root: Path) -> list[str]:
    return sorted(str(path.relative_to(root)) for path in root.rglob("*") if path.is_file())


def test_the_options_select_and_dates_test_overlap(shelf: Shelf) -> None:
    case = Case(shelf)
    assert case.paths() == ["brain/s1.md", "brain/s2.md", "inbox/2026/11/n.md"]
    assert case.paths(collections=["inbox"]) == ["inbox/2026/11/n.md"]
    assert case.paths(source="codex") == ["brain/s2.md"]
    assert case.paths(project="*/api") == ["brain/s1.md"]
    assert case.paths(since=NOW - 4 * DAY) == ["brain/s2.md", "inbox/2026/11/n.md"]
    assert case.paths(until=NOW - 8 * DAY) == ["brain/s2.md"]
    assert case.paths(until=NOW - 9 * DAY) == []
    assert case.paths(since=NOW - 5 * DAY, until=NOW, collections=["brain"], source="claude") == ["brain/s1.md"]
    assert case.paths(references=["s2", "brain/s1.md", "s2"]) == ["brain/s2.md", "brain/s1.md"]


def test_unknown_names_are_errors(shelf: Shelf) -> None:
    with pytest.raises(BadInput):
        Case(shelf).paths(collections=["brian"])
    with pytest.raises(BadInput, match="no source 'cluade'"):
        Case(shelf).paths(source="cluade")
    with pytest.raises(documents.NotFound):
        Case(shelf).paths(references=["s3"])


def test_markdown_keeps_collection_path_and_bytes(shelf: Shelf, tmp_path: Path) -> None:
    out = tmp_path / "out"
    outcome = Case(shelf).folder(out)
    assert files(out) == ["brain/s1.md", "brain/s2.md", "inbox/2026/11/n.md"]
    for row in Case(shelf).rows(documents.Selection()):
        assert (out / row.collection / row.path).read_bytes() == Path(str(row.file)).read_bytes()
    assert (outcome.written, outcome.refused) == (3, [])
    assert outcome.bytes == sum((out / name).stat().st_size for name in files(out))
    assert (out / "brain/s1.md").stat().st_mode & 0o777 == 0o600


def test_what_is_there_is_not_overwritten_without_force(shelf: Shelf, tmp_path: Path) -> None:
    out = tmp_path / "out"
    (out / "inbox/2026/11").mkdir(parents=True)
    (out / "inbox/2026/11/n.md").write_text("mine")
    with pytest.raises(BadInput, match=r"n\.md"):
        Case(shelf).folder(out)
    assert files(out) == ["inbox/2026/11/n.md"], "nothing is written where anything would be overwritten"
    assert Case(shelf).folder(out, force=True).written == 3
    assert "note" in (out / "inbox/2026/11/n.md").read_text()


def test_a_second_export_changes_nothing(shelf: Shelf, tmp_path: Path) -> None:
    Case(shelf).folder(tmp_path / "out")
    outcome = Case(shelf).folder(tmp_path / "out")
    assert (outcome.written, outcome.unchanged) == (0, 3)


@pytest.mark.parametrize("path", ["../evil.md", "a/../../evil.md", "/etc/evil.md", "a//evil.md", "./evil.md", ".."])
def test_a_stored_path_never_leads_out_of_the_folder(shelf: Shelf, tmp_path: Path, path: str) -> None:
    shelf.sql("UPDATE documents SET path = ? WHERE path = 's1.md'", path)
    out = tmp_path / "deep" / "out"
    outcome = Case(shelf).folder(out)
    assert files(tmp_path / "deep") == ["out/brain/s2.md", "out/inbox/2026/11/n.md"]
    assert [uri for uri, _ in outcome.refused] == [f"qmd://brain/{path}"]


def test_a_stored_collection_never_leads_out_either(shelf: Shelf, tmp_path: Path) -> None:
    shelf.sql("UPDATE documents SET collection = '..'")
    with pytest.raises(Refused):
        Case(shelf).folder(tmp_path / "deep" / "out")
    assert not (tmp_path / "deep").exists()


def test_a_symlink_in_the_folder_leads_nowhere(shelf: Shelf, tmp_path: Path) -> None:
    out, elsewhere = tmp_path / "out", tmp_path / "elsewhere"
    out.mkdir()
    elsewhere.mkdir()
    (out / "brain").symlink_to(elsewhere)
    outcome = Case(shelf).folder(out)
    assert files(elsewhere) == []
    assert len(outcome.refused) == 2
    (out / "inbox/2026/11/n.md").unlink()
    target = tmp_path / "target.md"
    target.write_text("kept")
    (out / "inbox/2026/11/n.md").symlink_to(target)
    Case(shelf).folder(out, force=True)
    assert target.read_text() == "kept"


def test_the_folder_itself_may_be_reached_by_a_symlink(shelf: Shelf, tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    assert Case(shelf).folder(tmp_path / "link").written == 3
    with pytest.raises(BadInput):
        Case(shelf).folder(tmp_path / "real" / "brain" / "s1.md")


def test_json_lines_carry_facts_and_text(shelf: Shelf, tmp_path: Path) -> None:
    out = tmp_path / "all.jsonl"
    Case(shelf).file(out)
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    assert [row["uri"] for row in rows] == ["qmd://brain/s1.md", "qmd://brain/s2.md", "qmd://inbox/2026/11/n.md"]
    first = rows[0]
    assert (first["date"], first["fields"]["project"], first["title"]) == ("2026-11-16T15:30:00Z", "/u/x/api", "s1")
    assert first["text"].endswith("secret one\n")
    with pytest.raises(BadInput, match="exists"):
        Case(shelf).file(out)
    Case(shelf).file(out, force=True)
    with pytest.raises(BadInput, match="folder"):
        Case(shelf).file(tmp_path)


def test_the_filter_sees_every_text_that_leaves(shelf: Shelf, tmp_path: Path) -> None:
    shelf.put("brain", "s1.md", "secret one", title="secret", project="/u/secret", tags=["secret"], date=NOW)

    def redact(text: str) -> str:
        return text.replace("secret", "▇")

    Case(shelf).folder(tmp_path / "out", redact=redact)
    Case(shelf).file(tmp_path / "all.jsonl", redact=redact)
    for name in ("out/brain/s1.md", "all.jsonl"):
        text = (tmp_path / name).read_text()
        assert "▇" in text
        assert "secret" not in text
    assert Case(shelf).folder(tmp_path / "out", redact=redact).unchanged == 3


@settings(max_examples=examples(60))
@given(st.text(max_size=20), st.text(alphabet="a./\\\0~", max_size=12))
def test_a_target_is_inside_or_none(collection: str, path: str) -> None:
    row = documents.Row.__new__(documents.Row)
    row.collection, row.path = collection, path
    try:
        target = export._target("/nowhere/at/all", row, export.as_stored)
    except ValueError:  # a lone surrogate is no file name
        return
    if target is not None:
        assert os.path.normpath(target) == target
        assert target.startswith("/nowhere/at/all/")
