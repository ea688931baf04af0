"""A raw file that lies in a folder which is called what is forgotten stays known, and is not named."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest

from core import config
from core.home import Home
from ingest.pipeline.pulse import waiting
from ingest.pipeline.rehearsal import rehearse
from ingest.pipeline.run import one
from ingest.pipeline.state import State, hidden_key
from runtime.asking.documents import Selection
from runtime.capture.indexing import index
from runtime.explaining.fate import fate
from runtime.forgetting import expiry, forget
from tests.ingest.transcripts import OTHER, SESSION, Script, corpus, lines, save

NAME = "acme-corp"


@pytest.fixture
def folder(claude_root: Path) -> Path:
    """A session that names its folder, what cannot be read and what is empty there; another session elsewhere."""
    place = claude_root / "projects" / f"-home-me-{NAME}"
    save(place / f"{SESSION}.jsonl", Script(cwd=f"/home/me/{NAME}").user("about the client"))
    (place / "torn.jsonl").write_text("no JSON\n", encoding="utf-8")
    (place / "empty.jsonl").touch()
    save(place.parent / "-home-me-web" / f"{OTHER}.jsonl", Script(OTHER, cwd="/home/me/web").user("of its own"))
    return place


@pytest.fixture
def forgotten(home: Home, folder: Path) -> Home:
    run(home)
    outcome = forget.carry_out(home, forget.plan(home, config.load(home), Selection(), NAME))
    assert (outcome.documents, outcome.left) == (1, [])
    return home


def run(home: Home, **options: Any) -> dict[str, Any]:
    found: dict[str, Any] = index(home, config.load(home), **options)["sources"]["claude"]
    return found


def said(home: Home) -> list[str]:
    return [str(path) for path in Path(home.root).rglob("*") if path.is_file() and NAME.encode() in path.read_bytes()]


def test_no_file_below_the_home_names_it_nor_does_one_after_another_run(forgotten: Home, folder: Path) -> None:
    assert said(forgotten) == []
    assert waiting(forgotten)["claude"] == 0
    rehearsed = rehearse(forgotten, "claude", trust_stat=True)
    assert (rehearsed["seen"], rehearsed["ingested"]) == (4, 0)
    for options in ({"trust_stat": True}, {}):
        ledger = run(forgotten, **options)
        assert (ledger["seen"], ledger["ingested"], ledger["failed_files"]) == (4, 0, 1)
        assert said(forgotten) == []
    assert "called what was forgotten" in json.dumps(ledger["failed"])
    assert list(corpus(forgotten)) == [f"{OTHER}.md"]


@pytest.mark.parametrize("alone", [False, True])
def test_a_session_that_goes_on_there_stays_away_and_unnamed(forgotten: Home, folder: Path, alone: bool) -> None:
    path = folder / f"{SESSION}.jsonl"
    with path.open("ab") as stream:
        stream.write(lines(Script(prefix="n").user("and more of it")))
    if alone:
        one(forgotten, "claude", str(path), wait_s=5, settings={}, on_written=lambda *_: None, settle=lambda _: None)
    else:
        run(forgotten)
    assert list(corpus(forgotten)) == [f"{OTHER}.md"]
    assert said(forgotten) == []


def test_it_is_named_again_when_a_document_is_made_of_it(forgotten: Home, folder: Path) -> None:
    forget.unforget(forgotten, [SESSION])
    run(forgotten)
    assert sorted(corpus(forgotten)) == sorted([f"{OTHER}.md", f"{SESSION}.md"])
    state = State(forgotten)
    try:
        files = state.files("claude")
    finally:
        state.close()
    assert str(folder / f"{SESSION}.jsonl") in files
    assert hidden_key(str(folder / f"{SESSION}.jsonl")) not in files


def test_nothing_is_known_any_more_of_one_that_is_gone_when_the_text_is_forgotten(home: Home, folder: Path) -> None:
    run(home)
    for path in folder.iterdir():
        path.unlink()
    outcome = forget.carry_out(home, forget.plan(home, config.load(home), Selection(), NAME))
    assert (outcome.left, said(home)) == ([], [])


def test_what_is_asked_of_it_by_its_path_is_answered(forgotten: Home, folder: Path) -> None:
    path = str(folder / f"{SESSION}.jsonl")
    old = time.time() - 26 * 86_400
    os.utime(path, (old, old))
    run(forgotten)
    found = fate(forgotten, path)
    assert found is not None
    assert (found.path, "forgotten" in found.why) == (path, True)
    assert expiry.expiring(forgotten)["unarchived"] == 0
