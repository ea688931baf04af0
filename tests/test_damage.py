"""Damage to the index: no command calls it a fault of ours, and what is offered heals it."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import apsw
import pytest

from brain import main
from core.home import Home
from tests import damage
from tests.test_concurrency import session, transcripts

SESSIONS = 12
QUESTIONS = ("topic3 harvest", "quiet valleys", "puffin landed")
TREES = (
    "sqlite_schema",
    "documents",
    "idx_documents_hash",
    "idx_documents_path",
    "idx_documents_collection",
    "sqlite_autoindex_documents_1",
    "content",
    "sqlite_autoindex_content_1",
    "documents_fts_data",
    "documents_fts_idx",
    "documents_fts_content",
    "documents_fts_docsize",
    "documents_fts_config",
    "store_collections",
    "store_config",
    "brain_state",
    "brain_contents",
    "sqlite_autoindex_brain_contents_1",
    "brain_passages_data",
    "brain_passages_idx",
    "brain_passages_docsize",
    "brain_facts",
    "brain_facts_ended",
    "brain_files",
)

pytestmark = pytest.mark.damages_full_text


class Said(NamedTuple):
    code: int
    out: dict[str, Any]


Run = Callable[..., Said]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """``run("ask", "x")`` is what the command says with ``--json``."""

    def go(*words: str) -> Said:
        capsys.readouterr()
        code = main([*words, "--json"])
        out = capsys.readouterr().out
        return Said(code, json.loads(out) if out else {})

    return go


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with sessions and a note, which tests copy."""
    place = tmp_path_factory.mktemp("template")
    folder = transcripts(place / "sessions", range(SESSIONS), turns=6)
    before = {name: os.environ.get(name) for name in ("BRAIN_HOME", "HOME", "CLAUDE_CONFIG_DIR")}
    os.environ.update(BRAIN_HOME=str(place / "home"), HOME=str(place), CLAUDE_CONFIG_DIR=str(folder))
    try:
        assert main(["index", "--json"]) == 0
        assert main(["inbox", "the puffin landed on the harvest ledger", "--force", "--json"]) == 0
    finally:
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})
    damage.checkpointed(str(place / "home" / "index.sqlite"))
    return place


@pytest.fixture
def whole(template: Path, home: Home, claude_root: Path) -> Home:
    """The template's home as this test's own."""
    shutil.copytree(template / "home", home.root, dirs_exist_ok=True)
    shutil.copytree(template / "sessions", claude_root, dirs_exist_ok=True)
    return home


def answers(run: Run) -> list[Any]:
    found = []
    for question in QUESTIONS:
        said = run("ask", question, "-n", "20", "--min-score", "0")
        assert said.code == 0, said
        found.append([(hit["uri"], hit["line"], hit["snippet"]) for hit in said.out["hits"]])
    return found


def check_sound(home: Home) -> None:
    connection = apsw.Connection(home.index)
    assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    connection.close()


@pytest.mark.parametrize("tree", TREES)
def test_a_rebuild_heals_a_damaged_page_of_any_table(whole: Home, run: Run, tree: str) -> None:
    before = answers(run)
    damage.flip(whole.index, tree)
    said = run("rebuild")
    assert said.code == 0, said
    assert said.out["documents"] == SESSIONS + 1
    check_sound(whole)
    assert answers(run) == before


@pytest.mark.parametrize("seed", range(6))
def test_a_rebuild_heals_bytes_damaged_anywhere(whole: Home, run: Run, seed: int) -> None:
    before = answers(run)
    damage.scatter(whole.index, seed, 400 if seed % 2 else 20)
    assert run("rebuild").code == 0
    check_sound(whole)
    assert answers(run) == before
    assert run("show", f"{session(3)}.md").code == 0
