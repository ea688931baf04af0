"""A document is found by any of its names, and by nothing else."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import NO_RESULTS, BadInput
from core.home import Home
from qmd.index.store import open_index
from runtime.asking import documents, envelope
from tests.cases import cases
from tests.runtime.index_fixture import Shelf

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def shelf(home: Home) -> Shelf:
    shelf = Shelf(home)
    shelf.put(
        "brain", "5f0c2a.md", "one", session_id="5f0c2a", source="claude", date=1_770_000_000, ended=1_770_003_600
    )
    shelf.put("brain", "codex__77.md", "two", source="codex")
    shelf.put("inbox", "2026/11/note one.md", "three")
    shelf.put("kb-raw", "deep/er/report.md", "four")
    shelf.put("kb-wiki", "report.md", "five")
    return shelf


def find(shelf: Shelf, reference: str) -> documents.Row:
    connection = open_index(shelf.home.index)
    try:
        return documents.resolve(connection, shelf.config, reference)
    finally:
        connection.close()


def test_a_document_answers_to_each_of_its_names(shelf: Shelf) -> None:
    row = find(shelf, "qmd://brain/5f0c2a.md")
    assert (row.collection, row.path, row.title) == ("brain", "5f0c2a.md", "5f0c2a")
    assert (row.date, row.ended, row.dated, row.fields["source"]) == (1_770_000_000, 1_770_003_600, True, "claude")
    assert row.file == os.path.join(shelf.config.collections["brain"].path, "5f0c2a.md")
    names = [
        envelope.docid(row.hash),
        row.hash[:6],
        row.hash[:9].upper(),
        row.hash,
        row.file,
        "brain/5f0c2a.md",
        "5f0c2a.md",
    ]
    for name in [*names, f" {row.hash[:6]} ", f'"{row.path}"']:
        assert find(shelf, name).id == row.id, name
        assert find(shelf, name).line == 0


def test_a_line_may_follow_any_name(shelf: Shelf) -> None:
    row = find(shelf, "qmd://brain/5f0c2a.md:42")
    for name in (row.hash[:6], "#" + row.hash[:6], str(row.file), "brain/5f0c2a.md", "5f0c2a"):
        found = find(shelf, f"{name}:42")
        assert (found.id, found.line) == (row.id, 42)


def test_a_path_that_ends_like_a_line_is_taken_whole_first(shelf: Shelf) -> None:
    shelf.put("kb-raw", "odd:12", "six")
    assert (find(shelf, "qmd://kb-raw/odd:12").path, find(shelf, "qmd://kb-raw/odd:12").line) == ("odd:12", 0)
    assert find(shelf, "qmd://kb-raw/odd:12:3").line == 3


def test_the_end_of_a_path_counts_from_a_folder_on(shelf: Shelf) -> None:
    assert find(shelf, "er/report.md").path == "deep/er/report.md"
    assert find(shelf, "note one").collection == "inbox"
    for part in ("r/report.md", "age.md", "_77.md"):
        with pytest.raises(documents.NotFound):
            find(shelf, part)


def test_several_documents_of_one_name_are_named(shelf: Shelf) -> None:
    with pytest.raises(BadInput) as caught:
        find(shelf, "report.md")
    assert "qmd://kb-raw/deep/er/report.md" in caught.value.message
    assert "qmd://kb-wiki/report.md" in caught.value.message
    assert find(shelf, "kb-wiki/report.md").collection == "kb-wiki"
    assert caught.value.envelope()["near"] == ["qmd://kb-raw/deep/er/report.md", "qmd://kb-wiki/report.md"]


def test_the_name_of_a_session_is_not_that_of_its_distillate(shelf: Shelf) -> None:
    shelf.put("brain", "5e5510.md", "said")
    shelf.put("distilled", "5e5510.md", "kept of it")
    shelf.put("distilled", "a10e55.md", "kept of a session that is gone")
    for name in ("5e5510.md", "5e5510", "5e55"):
        assert find(shelf, name).collection == "brain"
    assert find(shelf, "distilled/5e5510.md").collection == "distilled"
    assert find(shelf, "a10e55").collection == "distilled"


def test_the_beginning_of_a_files_name_is_enough_where_one_file_has_it(shelf: Shelf) -> None:
    shelf.put("brain", "1c38adc0-48be-4319.md", "six")
    shelf.put("brain", "1c38ffff-48be-4319.md", "seven")
    assert find(shelf, "1c38adc0").path == "1c38adc0-48be-4319.md"
    assert (find(shelf, "1c38a:7").path, find(shelf, "1c38a:7").line) == ("1c38adc0-48be-4319.md", 7)
    assert find(shelf, "note").path == "2026/11/note one.md"
    with pytest.raises(BadInput, match="names several documents"):
        find(shelf, "1c38")
    for name in ("1c3", "2026", "deep", "%c38", "brain/1c38a", "qmd://brain/1c38adc0"):
        with pytest.raises(documents.NotFound):
            find(shelf, name)


def test_copies_of_one_content_are_one_answer_to_its_docid(shelf: Shelf) -> None:
    shelf.put("kb-raw", "copy/report.md", "five", title="page")
    shelf.put("kb-raw", "copy/again.md", "five", title="page")
    first = find(shelf, "qmd://kb-raw/copy/again.md")
    assert first.hash == find(shelf, "qmd://kb-raw/copy/report.md").hash
    assert find(shelf, envelope.docid(first.hash)).path == "copy/again.md"


def test_no_document_is_a_valid_answer_that_names_what_comes_close(shelf: Shelf) -> None:
    with pytest.raises(documents.NotFound) as caught:
        find(shelf, "qmd://brain/codex__7")
    assert caught.value.code == NO_RESULTS
    assert caught.value.near == ["qmd://brain/codex__77.md"]
    assert caught.value.fix == "did you mean qmd://brain/codex__77.md?"
    envelope = caught.value.envelope()
    assert (envelope["ok"], envelope["error"], envelope["near"]) == (True, "no_results", caught.value.near)
    with pytest.raises(documents.NotFound) as caught:
        find(shelf, "codxe__77.md")
    assert caught.value.near == ["qmd://brain/codex__77.md"]
    with pytest.raises(documents.NotFound) as caught:
        find(shelf, "#000077")  # beside a command that deletes, a guess is worse than none
    assert caught.value.near == []


def test_a_document_that_is_gone_is_not_found(shelf: Shelf) -> None:
    row = find(shelf, "codex__77")
    shelf.sql("UPDATE documents SET active = 0 WHERE id = ?", row.id)
    for name in ("codex__77", envelope.docid(row.hash), "qmd://brain/codex__77.md", str(row.file)):
        with pytest.raises(documents.NotFound):
            find(shelf, name)


def test_patterns_in_a_name_are_letters(shelf: Shelf) -> None:
    for name in ("%", "_", "pa%e.md", "*", "qmd://brain/%", "#%%%%%%", "' OR 1=1 --", ":", "::3", "#", "/", "", "~"):
        with pytest.raises(documents.NotFound):
            find(shelf, name)


@pytest.mark.parametrize(("fields", "command"), cases(__file__, "test_a_session_says_how_it_is_resumed"))
def test_a_session_says_how_it_is_resumed(home: Home, fields: dict[str, object], command: str | None) -> None:
    assert envelope.resume(fields, home) == command


@given(st.text(max_size=60))
def test_any_reference_is_a_row_or_an_error_of_ours(reference: str) -> None:
    connection = apsw.Connection(":memory:")
    connection.execute(
        "CREATE TABLE documents(id, collection, path, title, hash, active);"
        "CREATE TABLE brain_facts(document_id, date, ended, dated, fields, policy)"
    )
    from core.config import Config

    config = Config("", {"collections": {"brain": {"path": "/nowhere"}}}, Home("/nowhere"))
    with pytest.raises(documents.NotFound):
        documents.resolve(connection, config, reference)


def test_the_interactive_path_imports_nothing_heavy() -> None:
    heavy = "{'re', 'json', 'argparse', 'typing', 'dataclasses', 'pathlib', 'enum', 'datetime', 'functools', 'yaml'}"
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); import apsw; before = set(sys.modules)\n"
        "import runtime.asking.documents\n"
        "from runtime.asking.chronology import date_boost\n"
        "assert date_boost('why did the hook fail', 0) == (None, None)\n"
        f"print(sorted((set(sys.modules) - before) & {heavy}), 'runtime.dates.words' in sys.modules)\n"
        "assert date_boost('what did I do three weeks ago', 1795000000)[1]\n"
        f"print(sorted((set(sys.modules) - before) & {heavy}))"
    )
    done = subprocess.run(
        [sys.executable, "-S", "-c", _with_path(code), str(ROOT)], capture_output=True, text=True, check=True
    )
    assert done.stdout == "[] False\n[]\n"


def _with_path(code: str) -> str:
    """``-S`` keeps what site imports out of the count; apsw is then found by its own folder."""
    return f"import sys; sys.path.append({os.path.dirname(os.path.dirname(apsw.__file__))!r})\n{code}"
