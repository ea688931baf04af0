"""Aider: one document a session, from the history that its repository has."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.home import Home
from ingest.pipeline.run import run
from ingest.repositories import Worked
from ingest.sources.aider.parser import pieces
from ingest.sources.aider.source import SOURCE
from tests.ingest.sources.cases import Case, cases, check, ingest, parsed
from tests.ingest.transcripts import corpus

FILE = ".aider.chat.history.md"
START = "\n# aider chat started at 2026-04-28 09:00:00\n\n"


def history(folder: Path, text: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / FILE).write_text(text, encoding="utf-8")
    return folder / FILE


@pytest.mark.parametrize("case", cases("aider"))
def test_a_session_says(tmp_path: Path, case: Case) -> None:
    check(case, parsed(SOURCE, history(tmp_path, START + "\n".join(case["text"]) + "\n")))


def test_each_session_of_a_history_is_a_document_and_a_new_one_leaves_the_others(home: Home, tmp_path: Path) -> None:
    first = f"{START}#### Mend the lock  \n\nMended.\n"
    history(tmp_path / "api", first)
    ingest(home, "aider", tmp_path)
    before = corpus(home)
    assert len(before) == 1
    history(tmp_path / "api", f"{first}\n# aider chat started at 2026-04-29 09:00:00\n\n#### Sing  \n\nLa.\n")
    ingest(home, "aider", tmp_path)
    after = corpus(home)
    assert len(after) == 2
    assert before.items() <= after.items()
    (tmp_path / "api" / FILE).unlink()
    assert run(home, "aider", from_archive=True, trust_stat=False).failed_files == 0
    assert corpus(home) == after


def test_histories_are_found_around_the_folders_that_sessions_worked_in(tmp_path: Path) -> None:
    (tmp_path / "api/.git").mkdir(parents=True)
    (tmp_path / "api/src").mkdir()
    for folder in ("api", "web", "api/node_modules/x", "api/.hidden/x"):
        history(tmp_path / folder, START)
    found = SOURCE.discover(Worked([str(tmp_path / "api/src"), str(tmp_path / "gone")]))
    assert [file.path for file in found] == [str(tmp_path / "api" / FILE)]
    below = SOURCE.discover([str(tmp_path)])
    assert [file.path for file in below] == [str(tmp_path / "api" / FILE), str(tmp_path / "web" / FILE)]


@given(
    st.lists(st.sampled_from([START, "#### Why?  \n", "#### Heading\n", "> Model: x\n", "\n", "So.\n", "é\0", "\r\n"]))
)
def test_the_pieces_of_a_history_are_the_history(texts: list[str]) -> None:
    data = "".join(texts).encode()
    assert b"".join(piece for _, piece in pieces(data)) == data
