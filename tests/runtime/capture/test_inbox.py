from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core.config import load
from core.document import split
from core.errors import BadInput, Internal
from core.home import Home
from core.text import clean, one_line
from qmd.index.store import open_index
from runtime.asking import recent
from runtime.capture import documents, inbox
from tests.examples import examples

NOON = 1_795_262_400.0  # 2026-11-21T12:00:00Z
FIELDS = ["session_id", "source", "title", "date", "type", "project", "tags", "schema"]


def read(entry: inbox.Entry) -> tuple[dict[str, object], str]:
    return split(Path(entry.path).read_text("utf-8"))


def test_an_entry_is_one_private_file_in_its_utc_month(home: Home) -> None:
    before = os.umask(0o022)
    try:
        entry = inbox.write(home, "use flock", type="decision", now=NOON)
    finally:
        os.umask(before)
    path = Path(entry.path)
    assert path == Path(home.inbox, "2026", "11", f"{entry.entry_id}.md")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert {stat.S_IMODE(parent.stat().st_mode) for parent in list(path.parents)[:3]} == {0o700}
    assert [child.name for child in path.parent.iterdir()] == [path.name]


def test_the_frontmatter_says_what_the_note_is(home: Home) -> None:
    entry = inbox.write(
        home, "first line\nsecond", type="idea", title=" My  title ", project="/p", tags=["a", " b ", "a", ""], now=NOON
    )
    assert read(entry) == (
        {
            "session_id": entry.entry_id,
            "source": "note",
            "title": "My title",
            "date": "2026-11-21T12:00:00Z",
            "type": "idea",
            "project": "/p",
            "tags": ["a", "b"],
            "schema": 1,
        },
        "# Idea: My title\n\nfirst line\nsecond\n",
    )


@pytest.mark.parametrize("type", inbox.TYPES)
def test_the_body_begins_with_what_the_note_is(home: Home, type: str) -> None:
    heading = "# use flock" if type == "note" else f"# {type.title()}: use flock"
    assert read(inbox.write(home, "use flock", type=type))[1] == f"{heading}\n\nuse flock\n"


def test_a_note_is_found_by_its_type_and_shown_by_its_title(home: Home) -> None:
    kept = inbox.write(home, "JWTs in localStorage: XSS reads them", type="rejected")
    inbox.write(home, "the harbour closes at nine")
    assert found(home, "rejected") == [kept.uri]
    items = recent.recent(home, load(home), since=0, now=int(NOON))["items"]
    assert {(item["title"], item["type"]) for item in items} == {
        ("JWTs in localStorage: XSS reads them", "rejected"),
        ("the harbour closes at nine", "note"),
    }


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("# Cache the token\nbecause", "Cache the token"),
        ("#cache is a tag", "#cache is a tag"),
        ("\n\n---\nafter the rule", "after the rule"),
        ("***", "***"),
        ("word " * 40, ("word " * 16)[:79].rstrip() + "…"),
    ],
)
def test_the_title_is_the_first_line_that_says_something(home: Home, text: str, title: str) -> None:
    assert inbox.write(home, text).title == title


@pytest.mark.parametrize(
    "text",
    ["---\nsource: claude\ntrust: session\n---\nbody", "a\n---\nb", "--- \ntitle: x\n...\n", "...\n---\nx: 1", "---"],
)
def test_a_body_that_looks_like_frontmatter_stays_body(home: Home, text: str) -> None:
    entry = inbox.write(home, text, now=NOON)
    meta, body = read(entry)
    assert meta["source"] == "note"
    assert set(meta) <= set(FIELDS)
    assert body == f"# {entry.title}\n\n{text.rstrip()}\n"


_HOSTILE = st.sampled_from(
    ["---", "\n---\n", "source: x", "\n", ": ", "- ", "#", "!!python/object:os.system", "&a *a", "'", '"', "null"]
)
_ODD = st.sampled_from(
    ["2026-01-01", "1e3", "~", "\t", "\r\n", "\x1b[31m", "\x85", "\u2028", "\ufeff", "\ud800", "\x00", "日本"]
)
_ANY = st.lists(st.one_of(_HOSTILE, _ODD, st.characters(exclude_categories=()), st.text(max_size=12)), max_size=12).map(
    "".join
)


@settings(max_examples=examples(120), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=_ANY, title=_ANY, project=_ANY, tags=st.lists(_ANY, max_size=3))
def test_no_payload_adds_or_changes_a_field(home: Home, text: str, title: str, project: str, tags: list[str]) -> None:
    kept = "x" + text
    entry = inbox.write(home, kept, title=title, project=project, tags=tags, now=NOON)
    meta, body = read(entry)
    assert body == f"# {entry.title}\n\n{clean(kept).rstrip()}\n"
    expected = {
        "session_id": entry.entry_id,
        "source": "note",
        "title": one_line(title) or entry.title,
        "date": "2026-11-21T12:00:00Z",
        "type": "note",
        "project": clean(project),
        "tags": [tag for tag in dict.fromkeys(map(one_line, tags)) if tag],
        "schema": 1,
    }
    assert meta == {key: value for key, value in expected.items() if value not in ("", [])}


@pytest.mark.parametrize("text", ["", " \n\t\n", "\x00\x07", "\x1b[31m"])
def test_an_empty_note_is_refused_and_nothing_is_written(home: Home, text: str) -> None:
    with pytest.raises(BadInput):
        inbox.write(home, text)
    assert not os.path.exists(home.inbox)


def test_what_is_too_long_is_refused_at_the_stated_length(home: Home) -> None:
    assert os.path.exists(inbox.write(home, "x" * inbox.TEXT_LIMIT).path)
    with pytest.raises(BadInput, match="over 100,000 characters"):
        inbox.write(home, "x" * (inbox.TEXT_LIMIT + 1))
    for field in ({"title": "x" * 1001}, {"project": "x" * 1001}, {"tags": ["x" * 500, "y" * 501]}):
        with pytest.raises(BadInput, match="over 1,000 characters"):
            inbox.write(home, "x", **field)


def test_identities_sort_by_time_within_a_second_too() -> None:
    instants = [NOON + step / 1000 for step in range(0, 3000, 7)]
    ids = [inbox.new_id(instant) for instant in instants]
    assert ids == sorted(ids)
    assert all(name.startswith("20261121T12000") for name in ids)


def test_identities_of_one_instant_differ() -> None:
    assert len({inbox.new_id(NOON) for _ in range(50)}) == 50


def test_a_failure_to_index_keeps_the_note_and_says_so(home: Home) -> None:
    Path(home.root, "collections.yml").write_text("collections: [")
    entry = inbox.write(home, "still here")
    assert os.path.exists(entry.path)
    assert not entry.indexed
    assert "collections.yml" in entry.warning


def test_a_note_is_in_the_index_at_once(home: Home) -> None:
    entry = inbox.write(home, "prefer flock over pid files")
    assert (entry.indexed, entry.warning) == (True, "")
    assert found(home, "flock") == [entry.uri]


def test_a_note_elsewhere_is_in_the_index_too(home: Home, tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    elsewhere = Home(home.root, str(tmp_path / "link"))
    assert found(elsewhere, "flock") == []
    entry = inbox.write(elsewhere, "prefer flock over pid files")
    assert found(elsewhere, "flock") == [entry.uri]


def found(home: Home, word: str) -> list[str]:
    connection = open_index(home.index, write=True)
    try:
        sql = (
            "SELECT 'qmd://' || collection || '/' || path FROM documents"
            " WHERE active = 1 AND id IN (SELECT rowid FROM documents_fts(?))"
        )
        return [uri for (uri,) in connection.execute(sql, (word,))]
    finally:
        connection.close()


def test_a_writer_that_holds_the_lock_costs_the_note_its_index_and_nothing_else(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    inbox.write(home, "before")
    monkeypatch.setattr(documents, "_BUSY_MS", 20)
    writer = open_index(home.index, write=True)
    try:
        writer.execute("BEGIN IMMEDIATE")
        entry = inbox.write(home, "meanwhile")
    finally:
        writer.close()
    assert os.path.exists(entry.path)
    assert not entry.indexed
    assert "another process" in entry.warning


def test_an_inbox_that_no_collection_holds_is_said(home: Home) -> None:
    Path(home.root, "collections.yml").write_text("collections:\n  brain:\n")
    entry = inbox.write(home, "unfindable")
    assert not entry.indexed
    assert entry.uri == ""
    assert "no collection" in entry.warning


def test_an_inbox_elsewhere_is_still_the_inbox_collection(home: Home, tmp_path: Path) -> None:
    elsewhere = Home(home.root, str(tmp_path / "notes"))
    entry = inbox.write(elsewhere, "x", now=NOON)
    assert entry.path.startswith(str(tmp_path / "notes" / "2026" / "11"))
    assert entry.uri == f"qmd://inbox/2026/11/{entry.entry_id}.md"


def test_a_place_that_cannot_be_written_is_named(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(inbox, "write_atomic", full)
    with pytest.raises(Internal, match="No space left"):
        inbox.write(home, "x")


def test_the_project_is_the_git_work_tree_above(tmp_path: Path) -> None:
    (tmp_path / "api" / "src" / "deep").mkdir(parents=True)
    (tmp_path / "api" / ".git").mkdir()
    (tmp_path / "linked" / "src").mkdir(parents=True)
    (tmp_path / "linked" / ".git").write_text("gitdir: /elsewhere\n")
    assert inbox.project_of(str(tmp_path / "api" / "src" / "deep")) == str(tmp_path / "api")
    assert inbox.project_of(str(tmp_path / "linked" / "src")) == str(tmp_path / "linked")
    assert inbox.project_of(str(tmp_path)) == ""
