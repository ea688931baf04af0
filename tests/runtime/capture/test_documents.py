"""A command that was killed after it wrote a document is healed by the next one."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from core.config import load
from core.errors import LockContention, Refused
from core.home import Home
from runtime.asking.ask import Asker, Request
from runtime.capture import documents, entries, indexing
from runtime.capture.capture import capture
from runtime.distill.distiller import Extractive
from runtime.distill.run import Asked
from runtime.distill.run import run as distil
from tests.conftest import Brain
from tests.runtime.distill.session import REFRESH, body
from tests.runtime.index_fixture import Shelf

SAID = "tokens refresh sixty seconds early, under one lock"
# The program dies in the moment before the index hears of a document.
KILLED = """
import os, signal
from runtime.capture import documents
def killed(*given):
    os.kill(os.getpid(), signal.SIGKILL)
documents.index_file = documents.drop_file = killed
"""


@pytest.fixture
def shelf(home: Home) -> Shelf:
    """A brain of two sessions."""
    shelf = Shelf(home)
    for name in ("one", "two"):
        shelf.put("brain", f"{name}.md", body(REFRESH).partition("\n\n")[2], session_id=name, source="claude")
    return shelf


def _killed(brain: Brain, *words: str) -> None:
    done = brain(*words, code=KILLED)
    assert done.returncode == -signal.SIGKILL, done.stderr


def _indexed(shelf: Shelf, collection: str) -> list[str]:
    rows = shelf.sql("SELECT path FROM documents WHERE collection = ? AND active = 1 ORDER BY path", collection)
    return [str(path) for (path,) in rows]


def _notes(home: Home) -> list[str]:
    folder = Path(home.state, "unindexed")
    return [path.name for path in folder.iterdir()] if folder.exists() else []


def _files(folder: str) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in Path(folder).rglob("*.md"))


def _distil(shelf: Shelf) -> None:
    distil(shelf.home, shelf.config, Extractive(), Asked(keys=[("brain", "two.md")]))


def _note(shelf: Shelf) -> None:
    capture(shelf.home, "the harbour office closes at noon on Fridays")


def _index(shelf: Shelf) -> None:
    indexing.index(shelf.home, shelf.config)


NEXT = [_distil, _note, _index]


@pytest.mark.parametrize("heals", NEXT)
def test_a_killed_distill_is_healed_by_the_next_command(
    shelf: Shelf, brain: Brain, heals: Callable[[Shelf], None]
) -> None:
    _killed(brain, "distill", "qmd://brain/one.md", "--llm", "extractive")
    assert _files(shelf.home.path("distilled")) == ["one.md"]
    assert _indexed(shelf, "distilled") == []
    heals(shelf)
    assert "one.md" in _indexed(shelf, "distilled")
    assert _notes(shelf.home) == []


def test_a_killed_distill_is_healed_by_itself(shelf: Shelf, brain: Brain) -> None:
    _killed(brain, "distill", "--llm", "extractive")
    distil(shelf.home, shelf.config, Extractive(), Asked())
    assert _indexed(shelf, "distilled") == ["one.md", "two.md"]


@pytest.mark.parametrize("heals", NEXT)
def test_a_killed_note_is_healed_by_the_next_command(
    shelf: Shelf, brain: Brain, heals: Callable[[Shelf], None]
) -> None:
    _killed(brain, "inbox", SAID)
    (path,) = _files(shelf.home.inbox)
    assert _indexed(shelf, "inbox") == []
    heals(shelf)
    assert path in _indexed(shelf, "inbox")
    assert _notes(shelf.home) == []


def test_a_note_that_was_killed_and_is_repeated_has_no_twin(shelf: Shelf, brain: Brain) -> None:
    _killed(brain, "inbox", SAID, "--project", "")
    with pytest.raises(Refused, match="says the same"):
        capture(shelf.home, SAID)
    assert len(_files(shelf.home.inbox)) == 1
    with Asker(shelf.home, shelf.config) as asker:
        assert len(asker.ask(SAID, Request(collections=["inbox"]))["hits"]) == 1


def test_a_killed_removal_leaves_nothing_in_the_index(shelf: Shelf, brain: Brain) -> None:
    entry = capture(shelf.home, SAID)
    _killed(brain, "inbox", "rm", entry.entry_id, "--yes")
    assert (_files(shelf.home.inbox), len(_indexed(shelf, "inbox"))) == ([], 1)
    _distil(shelf)
    assert _indexed(shelf, "inbox") == []


def test_what_cannot_be_indexed_now_is_indexed_by_the_next_command(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    def busy(*_: object) -> None:
        raise LockContention("another process is writing")

    with monkeypatch.context() as patch:
        patch.setattr(documents, "index_file", busy)
        entry = capture(shelf.home, SAID)
        assert "not yet indexed" in entry.warning
        capture(shelf.home, "the harbour office closes at noon on Fridays")
        assert len(_notes(shelf.home)) == 2
    _distil(shelf)
    assert len(_indexed(shelf, "inbox")) == 2
    assert _notes(shelf.home) == []


def test_a_command_at_work_keeps_its_note(shelf: Shelf) -> None:
    path = os.path.join(shelf.home.inbox, "2026", "05", "a.md")
    with documents.writing(shelf.home, path) as note:
        documents.heal(shelf.home, shelf.config)
        assert len(_notes(shelf.home)) == 1
        note.indexed = True
    assert _notes(shelf.home) == []


@pytest.mark.parametrize("data", [b"", b"/elsewhere/a.md", b"\xff\xfe", b"a\0b"])
def test_a_note_of_nothing_goes(shelf: Shelf, data: bytes) -> None:
    with documents.writing(shelf.home, "/elsewhere/a.md"):
        pass
    (name,) = _notes(shelf.home)
    Path(shelf.home.state, "unindexed", name).write_bytes(data)
    documents.heal(shelf.home, shelf.config)
    assert _notes(shelf.home) == []


def test_a_note_is_kept_where_no_record_of_it_can_be_made(home: Home) -> None:
    Path(home.state, "unindexed").write_text("no folder")
    entry = capture(home, SAID)
    assert (entry.indexed, entry.warning) == (True, "")
    assert entries.read(entry.path).entry_id == entry.entry_id
    assert load(home)
