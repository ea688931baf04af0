"""``show`` prints the document or the passage, from the index or the file, and opens editors without a shell."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import BadInput, Internal, Refused
from core.home import Home
from qmd.index.store import open_index
from runtime.asking.documents import NotFound
from runtime.explaining import show
from tests.runtime.index_fixture import Shelf

NOW = 1_795_275_000
BODY = "\n".join(f"line {number}" for number in range(1, 31))


@pytest.fixture
def shelf(home: Home) -> Shelf:
    shelf = Shelf(home)
    shelf.put("brain", "s1.md", BODY, session_id="s1", source="claude", project="/u/x", date=NOW - 7200, ended=NOW)
    return shelf


def run(shelf: Shelf, reference: str, **options: Any) -> dict[str, Any]:
    connection = open_index(shelf.home.index)
    try:
        return show.show(connection, shelf.config, reference, now=NOW, **options)
    finally:
        connection.close()


def test_the_whole_document_with_its_facts(shelf: Shelf) -> None:
    envelope = run(shelf, "s1")
    assert envelope["text"] + "\n" == Path(envelope["path"]).read_text()
    assert (envelope["first_line"], envelope["last_line"], envelope["line"]) == (1, envelope["total_lines"], None)
    assert envelope["fields"]["session_id"] == "s1"
    assert (envelope["uri"], envelope["resume"], envelope["age"]) == (
        "qmd://brain/s1.md",
        "claude --resume s1",
        "today",
    )


def test_a_passage_counts_lines_from_the_files_first(shelf: Shelf) -> None:
    lines = run(shelf, "s1")["text"].split("\n")
    number = lines.index("line 20") + 1
    envelope = run(shelf, f"s1:{number}", context=2)
    assert envelope["text"].split("\n") == ["line 18", "line 19", "line 20", "line 21", "line 22"]
    assert (envelope["first_line"], envelope["line"], envelope["last_line"]) == (number - 2, number, number + 2)
    assert run(shelf, "s1:3", line=number, context=0)["text"] == "line 20"
    assert run(shelf, f"s1:{number}", full=True)["text"].split("\n") == lines


def test_a_passage_stops_at_the_documents_ends(shelf: Shelf) -> None:
    total = run(shelf, "s1")["total_lines"]
    assert run(shelf, "s1:1", context=3)["last_line"] == 4
    assert run(shelf, f"s1:{total}", context=3)["first_line"] == total - 3
    with pytest.raises(BadInput) as caught:
        run(shelf, f"s1:{total + 1}")
    assert str(total) in caught.value.message


@given(st.text(alphabet="ab\n", max_size=40), st.integers(1, 50), st.integers(0, 5))
def test_a_passage_is_a_stretch_of_the_text(text: str, line: int, context: int) -> None:
    passage = show.cut(text, line, context)
    whole = show.cut(text, 0, 0)
    assert whole.total == passage.total == len(whole.lines)
    assert passage.lines == whole.lines[passage.first - 1 : passage.last]
    if line <= whole.total:
        assert passage.first <= line <= passage.last
        assert passage.last - passage.first <= 2 * context


def test_the_file_serves_where_the_index_lost_the_text(shelf: Shelf) -> None:
    shelf.sql("DELETE FROM content")
    assert "line 30" in run(shelf, "s1")["text"]
    os.unlink(run(shelf, "s1")["path"])
    with pytest.raises(Internal) as caught:
        run(shelf, "s1")
    assert caught.value.fix == "brain index"


def test_the_index_serves_where_the_file_is_gone(shelf: Shelf) -> None:
    os.unlink(run(shelf, "s1")["path"])
    assert "line 30" in run(shelf, "s1")["text"]


def test_no_such_document(shelf: Shelf) -> None:
    with pytest.raises(NotFound):
        run(shelf, "s2")


@pytest.mark.parametrize(
    ("environ", "line", "command"),
    [
        ({"EDITOR": "vi"}, 7, ["vi", "+7", "/d/a b.md"]),
        ({"EDITOR": "vi"}, 0, ["vi", "/d/a b.md"]),
        ({"VISUAL": "/usr/bin/nvim -R", "EDITOR": "ed"}, 7, ["/usr/bin/nvim", "-R", "+7", "/d/a b.md"]),
        ({"VISUAL": " ", "EDITOR": "ed"}, 7, ["ed", "/d/a b.md"]),
        ({"EDITOR": "code --wait"}, 7, ["code", "--wait", "--goto", "/d/a b.md:7"]),
        ({"EDITOR": "hx"}, 7, ["hx", "/d/a b.md:7"]),
        ({"EDITOR": "'/opt/my editor/e' ; rm"}, 0, ["/opt/my editor/e", ";", "rm", "/d/a b.md"]),
    ],
)
def test_the_editors_arguments(environ: dict[str, str], line: int, command: list[str]) -> None:
    assert show.editor_command(environ, "/d/a b.md", line) == command


@pytest.mark.parametrize("environ", [{}, {"EDITOR": ""}, {"EDITOR": "vi 'unclosed"}])
def test_no_editor_is_an_error_that_says_how_to_set_one(environ: dict[str, str]) -> None:
    with pytest.raises(BadInput) as caught:
        show.editor_command(environ, "/d/a.md", 0)
    assert caught.value.fix == "export EDITOR=vi"


def opened(shelf: Shelf, environ: dict[str, str], line: int = 0) -> None:
    connection = open_index(shelf.home.index)
    try:
        show.open_in_editor(connection, shelf.config, "s1", environ, line)
    finally:
        connection.close()


def test_the_editor_gets_the_file_and_is_waited_for(shelf: Shelf, tmp_path: Path) -> None:
    editor = tmp_path / "vim"
    editor.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" > "{tmp_path}/said"\n')
    editor.chmod(editor.stat().st_mode | stat.S_IXUSR)
    opened(shelf, {"EDITOR": str(editor)}, 9)
    assert (tmp_path / "said").read_text().splitlines() == ["+9", run(shelf, "s1")["path"]]


def test_an_editor_that_fails_or_is_not_there_is_said(shelf: Shelf) -> None:
    with pytest.raises(Refused, match="exit code 1"):
        opened(shelf, {"EDITOR": "false"})
    with pytest.raises(BadInput, match="cannot run"):
        opened(shelf, {"EDITOR": "/no/such/editor"})
    os.unlink(run(shelf, "s1")["path"])
    with pytest.raises(BadInput, match="is gone"):
        opened(shelf, {"EDITOR": "true"})


@pytest.mark.parametrize(
    ("text", "start"),
    [("---\na: 1\n---\n\n# T", 4), ("# T", 0), ("---\nno end", 0), ("", 0), ("---\n---\nx", 2), ("x\n---\n---", 0)],
)
def test_the_body_begins_after_the_frontmatter(text: str, start: int) -> None:
    assert show.body_start(text.split("\n")) == start
