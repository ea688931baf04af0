"""Documents by name."""

from __future__ import annotations

from pathlib import Path

import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qmd.index import references, retrieve, virtual
from qmd.index.retrieve import NotFound, Retrieved
from qmd.vectors import models
from tests.qmd.corpus import indexed


@pytest.fixture
def index(tmp_path: Path) -> apsw.Connection:
    files: dict[str, str | bytes] = {
        "plan.md": "# Plan\n\none\ntwo\n",
        "sub/plan.md": "# Other plan\n",
        "sub/a b.md": "# Spaced\n",
        "long.md": "# Long\n" + "x" * 2000,
    }
    connection, folder = indexed(tmp_path, files)
    connection.execute(
        "INSERT INTO store_collections(name, path, ignore_patterns) VALUES('notes', ?, '[\"drafts/**\"]')",
        (folder.path,),
    )
    connection.execute('UPDATE store_collections SET context = \'{"/sub": "below", "": "all"}\'')
    connection.execute("INSERT INTO store_config VALUES('global_context', 'everything')")
    return connection


def path(found: Retrieved | NotFound) -> str:
    return found.path if isinstance(found, Retrieved) else ""


@pytest.mark.parametrize(
    ("reference", "wanted"),
    [
        ("qmd://notes/plan.md", "plan.md"),
        ("notes/plan.md", "plan.md"),
        ("sub/plan.md", "sub/plan.md"),
        ("PLAN.MD", "plan.md"),
        ("a b.md", "sub/a b.md"),
        ("plan.md:3", "plan.md"),
        ("nope.md", ""),
        ("", ""),
        (":3", ""),
        ("%lan.md", ""),
        ("_lan.md", ""),
        ("../plan.md", ""),
        ("qmd://notes/../../etc/passwd", ""),
        ("/etc/passwd", ""),
    ],
)
def test_a_reference_means_one_document_of_the_index(index: apsw.Connection, reference: str, wanted: str) -> None:
    assert path(retrieve.get(index, reference)) == wanted


def test_a_document_is_found_by_docid_and_by_its_file(index: apsw.Connection, tmp_path: Path) -> None:
    found = retrieve.get(index, "qmd://notes/plan.md")
    assert isinstance(found, Retrieved)
    assert path(retrieve.get(index, f"#{found.docid}")) == "plan.md"
    assert path(retrieve.get(index, found.hash)) == "plan.md"
    assert path(retrieve.get(index, str(tmp_path / "notes" / "sub" / "a b.md"))) == "sub/a b.md"
    assert found.body == "# Plan\n\none\ntwo\n"
    other = retrieve.get(index, "sub/plan.md", body=False)
    assert isinstance(other, Retrieved)
    assert (found.context, other.context, other.body) == ("everything\n\nall", "everything\n\nall\n\nbelow", None)


def test_what_is_not_found_comes_with_what_is_near_or_why(index: apsw.Connection) -> None:
    near = retrieve.get(index, "plam.md")
    assert isinstance(near, NotFound)
    assert near.similar == ["plan.md", "long.md", "sub/plan.md"]
    ignored = retrieve.get(index, "qmd://notes/drafts/x.md")
    assert isinstance(ignored, NotFound)
    assert ignored.ignored == ("notes", "drafts/x.md", "drafts/**")


def test_equally_near_names_come_by_path(index: apsw.Connection) -> None:
    for name in ("plbn.md", "plaz.md", "plam.md"):
        index.execute(
            "INSERT INTO documents(collection, path, title, hash, created_at, modified_at)"
            " SELECT 'notes', ?, title, hash, created_at, modified_at FROM documents WHERE path = 'plan.md'",
            (name,),
        )
    assert references.similar_files(index, "plax.md", 1, 5) == ["plam.md", "plan.md", "plaz.md"]
    assert references.similar_files(index, "notes/plax.md", 1, 2) == ["notes/plam.md", "notes/plan.md"]


@pytest.mark.parametrize("form", ["notes/{}", "qmd://notes/{}", "{}"])
def test_a_name_with_line_ends_is_found_by_the_form_that_is_shown(tmp_path: Path, form: str) -> None:
    names = ["a\nb.md", "c\r\nd.md", "e%0Af.md"]
    index, _ = indexed(tmp_path, {name: f"# {number}\n" for number, name in enumerate(names)})
    for name in names:
        shown = form.format(virtual.on_one_line(name))
        assert "\n" not in shown
        assert path(retrieve.get(index, shown)) == name
        found = retrieve.resolve_name(index, shown)
        assert isinstance(found, int)
        assert index.execute("SELECT path FROM documents WHERE id = ?", (found,)).get == name


def test_a_list_needs_whole_names_and_names_the_missing_ones(index: apsw.Connection) -> None:
    entries, errors = retrieve.multi_get(index, "notes/plan.md, lan.md, a b.md")
    assert [entry.document.path for entry in entries] == ["plan.md", "sub/a b.md"]
    assert errors == ["File not found: lan.md (did you mean: plan.md, long.md, sub/plan.md?)"]
    assert retrieve.multi_get(index, "zzzzzzzzz.md,x")[1] == ["File not found: zzzzzzzzz.md", "File not found: x"]


def test_a_glob_matches_addresses_and_paths(index: apsw.Connection) -> None:
    def found(pattern: str) -> list[str]:
        return sorted(entry.document.path for entry in retrieve.multi_get(index, pattern)[0])

    assert found("*.md") == ["long.md", "plan.md"]
    assert found("notes/sub/*") == found("qmd://notes/sub/**") == ["sub/a b.md", "sub/plan.md"]
    assert found("{plan,long}.md") == ["long.md", "plan.md"]
    assert retrieve.multi_get(index, "*.txt") == ([], ["No files matched pattern: *.txt"])


def test_a_long_document_comes_without_its_body(index: apsw.Connection) -> None:
    entries, _ = retrieve.multi_get(index, "*.md", max_bytes=1024)
    skipped = {entry.document.path: entry.skipped for entry in entries}
    assert skipped == {"plan.md": "", "long.md": "File too large (2KB > 1KB)"}
    assert {entry.document.path: entry.document.body is None for entry in entries} == {
        "plan.md": False,
        "long.md": True,
    }


def test_a_listing_is_of_a_folder_by_path(index: apsw.Connection) -> None:
    assert [file.path for file in retrieve.list_files(index, "notes")] == [
        "long.md",
        "plan.md",
        "sub/a b.md",
        "sub/plan.md",
    ]
    assert [file.path for file in retrieve.list_files(index, "notes", "sub/")] == ["sub/a b.md", "sub/plan.md"]
    assert retrieve.list_files(index, "notes", "s_b") == []


def test_the_status_counts_what_is_active(index: apsw.Connection) -> None:
    status = models.status(index)
    assert (status["totalDocuments"], status["needsEmbedding"], status["hasVectorIndex"]) == (4, 4, False)
    assert [(row["name"], row["documents"]) for row in status["collections"]] == [("notes", 4)]


def test_a_file_on_disk_lies_in_its_collection(index: apsw.Connection, tmp_path: Path) -> None:
    assert retrieve.on_disk(index, "notes", "plan.md") == str(tmp_path / "notes" / "plan.md")
    assert retrieve.on_disk(index, "notes", "../outside.md") is None
    assert retrieve.on_disk(index, "nope", "plan.md") is None
    (tmp_path / "notes" / "out").symlink_to("/etc")
    assert retrieve.on_disk(index, "notes", "out/passwd") is None


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ("a.md", ("a.md", None, None)),
        ("a.md:7", ("a.md", 7, None)),
        ("a.md:7:3", ("a.md", 7, 3)),
        ("qmd://a/b:1", ("qmd://a/b", 1, None)),
        ("a:b", ("a:b", None, None)),
        ("a.md:", ("a.md:", None, None)),
    ],
)
def test_a_range_is_at_the_end(given: str, wanted: tuple[str, int | None, int | None]) -> None:
    assert references.split_range(given) == wanted


@given(st.text("abcé/", max_size=9), st.text("abcé/", max_size=9))
def test_the_distance_is_levenshteins(one: str, other: str) -> None:
    rows = list(range(len(other) + 1))
    for i, a in enumerate(one, 1):
        previous, rows[0] = rows[0], i
        for j, b in enumerate(other, 1):
            previous, rows[j] = rows[j], min(rows[j] + 1, rows[j - 1] + 1, previous + (a != b))
    masks: dict[str, int] = {}
    for index, character in enumerate(one):
        masks[character] = masks.get(character, 0) | 1 << index
    assert references._edits(masks, len(one), other) == rows[-1]
