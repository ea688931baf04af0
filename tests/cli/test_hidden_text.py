"""No command prints a character that nobody sees, whoever wrote it into a document, a name or an argument."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from core.config import load
from core.home import Home
from qmd.index.store import mark_redacted, open_index
from runtime.capture import indexing
from tests import homes
from tests.conftest import Brain
from tests.unseen import HOSTILE, unseen

NAME = f"lock{HOSTILE}\n.md"


@pytest.fixture(scope="module")
def noted(tmp_path_factory: pytest.TempPathFactory) -> tuple[Home, str]:
    """A home with a note of the user's own, indexed as it is, and the note's docid; commands only read it."""
    folder = tmp_path_factory.mktemp("noted")
    home = Home(str(folder / "home"))
    home.make()
    place = Path(home.path("inbox"))
    place.mkdir(parents=True, exist_ok=True)
    head = f"---\nsession_id: n1\nsource: note\ntype: decision\ntitle: {json.dumps(f'Lock{HOSTILE}ing')}\n---\n"
    (place / NAME).write_text(f"{head}\n# Locking\n\nuse fl{HOSTILE}ock ❤\ufe0f\u200d🔥 for the writer lock\n", "utf-8")
    with homes.environment(folder):
        indexing.index(home, load(home))
    connection = open_index(home.index, write=True)
    try:
        mark_redacted(connection)
        row = connection.execute("SELECT hash FROM documents WHERE active = 1").fetchone()
    finally:
        connection.close()
    assert row is not None
    return home, f"#{row[0][:6]}"


@pytest.fixture
def note(noted: tuple[Home, str], monkeypatch: pytest.MonkeyPatch) -> str:
    """The docid of the note, which is in the home of this test's commands."""
    monkeypatch.setenv("BRAIN_HOME", noted[0].root)
    return noted[1]


@pytest.mark.parametrize("form", [(), ("--json",)])
@pytest.mark.parametrize(
    "words",
    [
        ("ask", "writer lock"),
        ("recent",),
        ("show", "DOCID"),
        ("show", "DOCID", "--line", "9"),
        ("trace", "DOCID"),
        ("why", "writer lock"),
        ("explain", "--hit", "DOCID", "writer lock"),
        ("explain",),
        ("show", f"lck{HOSTILE}.md"),
        ("forget", "DOCID", "--dry-run"),
        ("qmd", "--brain", "search", "writer"),
        ("qmd", "--brain", "search", "writer", "--full"),
        ("qmd", "--brain", "search", "writer", "--files"),
        ("qmd", "--brain", "search", "writer", "--csv"),
        ("qmd", "--brain", "search", "writer", "--md"),
        ("qmd", "--brain", "search", "writer", "--xml"),
        ("qmd", "--brain", "search", "writer", "--full-path"),
        ("qmd", "--brain", "get", "DOCID"),
        ("qmd", "--brain", "get", f"lok{HOSTILE}"),
        ("qmd", "--brain", "multi-get", "inbox/*.md"),
        ("qmd", "--brain", "multi-get", "DOCID"),
        ("qmd", "--brain", "multi-get", "inbox/*.md", "--files"),
        ("qmd", "--brain", "multi-get", "inbox/*.md", "--csv"),
        ("qmd", "--brain", "multi-get", "inbox/*.md", "--xml"),
        ("qmd", "--brain", "multi-get", "inbox/*.md", "--md", "--max-bytes", "10"),
        ("qmd", "--brain", "ls", "inbox"),
        ("qmd", "--brain", "query", "lex: writer"),
    ],
    ids=lambda words: " ".join(words).encode("ascii", "ignore").decode() if words else "text",
)
def test_no_command_prints_what_nobody_sees(
    note: str, brain: Brain, words: tuple[str, ...], form: tuple[str, ...]
) -> None:
    done = brain(*(word.replace("DOCID", note) for word in words), *form)
    assert unseen(done.stdout.replace("❤\ufe0f\u200d🔥", "")) == []
    assert unseen(done.stderr) == []
    assert done.stdout or done.stderr


def _texts(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [text for name, each in value.items() if name not in ("uri", "path", "file") for text in _texts(each)]
    return [text for each in value for text in _texts(each)] if isinstance(value, list) else [str(value)]


@pytest.mark.parametrize(
    "words",
    [("ask", "writer lock", "--json"), ("show", "DOCID", "--json"), ("qmd", "--brain", "search", "writer", "--json")],
)
def test_json_holds_no_hidden_text_and_names_the_file_exactly(note: str, brain: Brain, words: tuple[str, ...]) -> None:
    found = json.loads(brain(*(word.replace("DOCID", note) for word in words)).stdout)
    said = "".join(_texts(found))
    assert unseen(said.replace("❤\ufe0f\u200d🔥", "")) == []
    assert "❤\ufe0f\u200d🔥" in said
    assert json.dumps(NAME)[1:-1] in json.dumps(found)
