"""Why a document ranks where it does, or does not appear: each verdict, and each name that a document may have."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from core import clock
from core.config import load
from core.errors import Internal
from core.home import Home
from runtime.capture import indexing
from runtime.explaining.hit import explain
from tests.runtime.index_fixture import Shelf

SESSION = "5f0c93ab-0000-4000-8000-00000000000{}"
OLD = 1_770_000_000  # 2026-02-02


def record(session: str, text: str) -> str:
    return (
        json.dumps(
            {
                "type": "user",
                "uuid": f"u{session}",
                "parentUuid": None,
                "sessionId": session,
                "timestamp": "2026-04-28T09:14:03.000Z",
                "cwd": "/p",
                "message": {"role": "user", "content": text},
            }
        )
        + "\n"
    )


@pytest.fixture
def shelf(home: Home) -> Shelf:
    shelf = Shelf(home)
    for number in range(7):
        shelf.put("brain", f"s{number}.md", "the turnstile " * (number + 1), title="turnstile", date=OLD)
    shelf.put("kb-wiki", "far.md", "words of another matter, and one turnstile among them " + "filler " * 90, date=OLD)
    return shelf


def ask(home: Home, reference: str, question: str = "turnstile encoder") -> dict[str, Any]:
    return explain(home, load(home), reference, question)


def test_a_verdict_is_what_ask_would_do(home: Home, shelf: Shelf) -> None:
    first = ask(home, "s6", "turnstile")
    assert (first["verdict"], first["rank"], first["above"]) == ("answers", 1, [])
    far = ask(home, "far")
    assert (far["verdict"], far["rank"], len(far["above"])) == ("outranked", 8, 5)
    assert [hit["rank"] for hit in far["above"]] == [1, 2, 3, 4, 5]
    assert far["why"].endswith("; it lacks encoder")
    assert ask(home, "far", "kubernetes")["verdict"] == "no_common_term"


def test_a_document_outside_the_days_that_bind_is_filtered(home: Home, shelf: Shelf) -> None:
    shelf.put("brain", "today.md", "the turnstile of today", date=clock.now())
    for question in ("what did I decide about the turnstile yesterday", "what did I do today"):
        found = ask(home, "s6", question)
        assert (found["verdict"], found["rank"]) == ("filtered", None)
        assert "2026-02-02 is none of the days that the question asks for" in found["why"]
    today = ask(home, "today", "what did I do today")
    assert (today["verdict"], today["rank"]) == ("answers", 1)


def test_a_collection_that_is_not_asked_is_said(home: Home, shelf: Shelf) -> None:
    Path(home.root, "collections.yml").write_text(
        "collections:\n  brain: {includeByDefault: false}\n  kb-wiki: {includeByDefault: true}\n"
    )
    assert "brain ask -c brain" in ask(home, "s6")["why"]
    Path(home.root, "collections.yml").write_text("collections:\n  kb-wiki:\n")
    assert ask(home, "s6")["why"] == "its collection 'brain' is not in the configuration"


def not_indexed(home: Home, reference: str) -> tuple[str, str]:
    found = ask(home, reference)
    assert (found["verdict"], found["rank"]) == ("not_indexed", None)
    return found["why"], found["fix"]


def test_a_document_on_disk_alone_has_the_reason(home: Home, shelf: Shelf, tmp_path: Path) -> None:
    wiki = Path(home.root, "kb-wiki")
    files = {"new.md": "words", "blank.md": " \n", "list.txt": "words", ".hidden.md": "words", "vendor/x.md": "words"}
    for name, text in files.items():
        (wiki / name).parent.mkdir(exist_ok=True)
        (wiki / name).write_text(text)
    (tmp_path / "elsewhere.md").write_text("words")
    yet = ("on disk, not indexed yet", "brain index")
    for reference in ("kb-wiki/new.md", "qmd://kb-wiki/new.md", str(wiki / "new.md"), f'"{wiki}/new.md"'):
        assert not_indexed(home, reference) == yet
    assert "no text in it" in not_indexed(home, "kb-wiki/blank.md")[0]
    for name in ("list.txt", ".hidden.md", "vendor/x.md"):
        assert "'kb-wiki' leaves it out" in not_indexed(home, f"kb-wiki/{name}")[0]
    assert "no collection's folder" in not_indexed(home, str(tmp_path / "elsewhere.md"))[0]
    assert "a folder" in not_indexed(home, "kb-wiki/vendor")[0]
    for reference in ("kb-wiki/none.md", "qmd://kb-wiki/none.md", "qmd://none/new.md", "kb-wiki/"):
        assert not_indexed(home, reference) != yet


@pytest.fixture
def transcripts(home: Home, claude_root: Path) -> Path:
    folder = claude_root / "projects" / "-p"
    folder.mkdir(parents=True)
    (folder / "one.jsonl").write_text(record(SESSION.format(1), "the turnstile jams"))
    (folder / "two.jsonl").write_text(
        record(SESSION.format(2), "the encoder drifts") + record(SESSION.format(3), "the harbour closes")
    )
    (folder / "empty.jsonl").write_text("")
    (folder / "history.jsonl").write_text("{}\n")
    indexing.index(home, load(home))
    return folder


def test_a_transcript_names_its_documents(home: Home, transcripts: Path) -> None:
    for reference in (str(transcripts / "one.jsonl"), "one.jsonl"):
        found = ask(home, reference, "turnstile")
        assert (found["verdict"], found["uri"]) == ("answers", f"qmd://brain/{SESSION.format(1)}.md")
        assert found["transcript"] == {"path": str(transcripts / "one.jsonl"), "documents": [found["uri"]]}
    both = ask(home, "two.jsonl", "encoder")
    assert both["transcript"]["documents"] == [f"qmd://brain/{SESSION.format(number)}.md" for number in (2, 3)]


def test_a_transcript_that_made_no_document_says_why(home: Home, transcripts: Path, tmp_path: Path) -> None:
    assert "makes no document: empty" in not_indexed(home, str(transcripts / "empty.jsonl"))[0]
    assert "makes no document: prompt history" in not_indexed(home, str(transcripts / "history.jsonl"))[0]
    (transcripts / "new.jsonl").write_text(record("x", "words"))
    assert not_indexed(home, str(transcripts / "new.jsonl")) == (
        "the transcript is on disk and has not been read yet",
        "brain index",
    )
    elsewhere = tmp_path / "old laptop" / "x.jsonl"
    elsewhere.parent.mkdir()
    elsewhere.write_text(record("x", "words"))
    assert not_indexed(home, str(elsewhere))[1] == f"brain index --from '{elsewhere.parent}'"
    assert not_indexed(home, "%.jsonl")[0] == "no document '%.jsonl' in the index"


def test_a_transcript_that_cannot_be_read_says_so(home: Home, claude_root: Path) -> None:
    folder = claude_root / "projects" / "-p"
    folder.mkdir(parents=True)
    (folder / "dir.jsonl").symlink_to(folder / "nowhere.jsonl")
    (folder / "lines.jsonl").write_text("{broken\n" * 3)
    indexing.index(home, load(home))
    for name in ("dir.jsonl", "lines.jsonl"):
        assert not_indexed(home, str(folder / name))[0].startswith(("the transcript", "the file is left out"))


def test_a_transcript_without_its_document_has_the_reason(home: Home, transcripts: Path) -> None:
    os.unlink(home.path("brain", f"{SESSION.format(1)}.md"))
    from qmd.index.store import open_index
    from qmd.index.update import update

    connection = open_index(home.index, write=True)
    try:
        update(connection, load(home).collections.values())
    finally:
        connection.close()
    why, fix = not_indexed(home, "one.jsonl")
    assert why == f"the transcript became qmd://brain/{SESSION.format(1)}.md, not indexed yet"
    assert fix == "brain index"


def test_a_state_that_cannot_be_read_is_not_mistaken_for_a_broken_index(home: Home, transcripts: Path) -> None:
    state = Path(home.state, "sources.sqlite")
    for suffix in ("-wal", "-shm"):
        Path(f"{state}{suffix}").unlink(missing_ok=True)
    state.write_bytes(b"garbage " * 600)
    with pytest.raises(Internal, match="cannot read"):
        ask(home, "one.jsonl")
    state.write_bytes(b"")
    assert not_indexed(home, "one.jsonl")[0] == "no document 'one.jsonl' in the index"


def test_explaining_changes_nothing_on_disk(home: Home, transcripts: Path) -> None:
    before = {path: path.read_bytes() for path in Path(home.root).rglob("*.sqlite")}
    ask(home, "one.jsonl", "turnstile")
    assert {path: path.read_bytes() for path in Path(home.root).rglob("*.sqlite")} == before
