"""The report of an embedding run on the table that is fitted after it."""

from __future__ import annotations

import errno
import os
from typing import Any

import apsw
import pytest

from core.config import load
from core.home import Home
from qmd.embedding import provider
from qmd.vectors import static_fit, static_prior
from runtime.watching.embedding import embed
from tests.qmd.embedding.fake import Fake
from tests.runtime.index_fixture import Shelf


class Tokenizer:
    def get_vocab_size(self) -> int:
        return 1000


class Fitting(Fake):
    """A provider with a model for which a table can be fitted."""

    tokenizer = Tokenizer()


@pytest.fixture
def shelf(home: Home, monkeypatch: pytest.MonkeyPatch) -> Shelf:
    """A few documents, and a table that is due."""
    shelf = Shelf(home)
    for number in range(3):
        shelf.put("brain", f"{number}.md", f"note {number}", session_id=f"s{number}", source="claude")
    monkeypatch.setattr(provider, "make", lambda *_, **__: Fitting())
    monkeypatch.setattr(static_fit, "can", lambda _: True)
    monkeypatch.setattr(static_fit, "due", lambda *_: True)
    return shelf


@pytest.mark.parametrize(
    "fault", [apsw.FullError("database or disk is full"), OSError(errno.ENOSPC, "No space left on device", "/x")]
)
def test_a_disk_that_is_full_at_the_fit_keeps_the_table_waiting_and_the_run_says_what_is_stored(
    home: Home, shelf: Shelf, monkeypatch: pytest.MonkeyPatch, fault: Exception
) -> None:
    def fails(*_: Any) -> float:
        raise fault

    monkeypatch.setattr(static_fit, "fit", fails)
    report = embed(home, load(home), os.environ)
    assert (report["ok"], report["texts"], report["pending"], report["query_table"]) == (True, 3, 0, "later")
    assert report["query_table_reason"].startswith("the disk is full")
    monkeypatch.setattr(static_fit, "fit", lambda *_: 0.9)
    report = embed(home, load(home), os.environ)
    assert (report["texts"], report["query_table"], report["query_table_reason"]) == (0, "fitted", None)


def test_a_table_that_there_is_no_room_for_is_not_begun(
    home: Home, shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[object] = []

    def fit(*given: Any) -> float:
        begun.append(given)
        return 0.9

    monkeypatch.setattr(static_fit, "fit", fit)

    class Disk:
        f_blocks, f_bavail, f_frsize = 1000, 500, 4096  # enough for the vectors

    with monkeypatch.context() as patch:
        patch.setattr(os, "statvfs", lambda _: Disk)
        patch.setattr(static_fit, "room", lambda *_: 5_000_000)
        report = embed(home, load(home), os.environ)
    assert (report["texts"], report["query_table"], begun) == (3, "later", [])
    assert report["query_table_reason"] == "the disk is full: it takes 5 MB"
    space: Any = type("Space", (), {"dimensions": 384, "fingerprint": "f"})()
    folder = os.path.join(home.state, "models")
    first = static_fit.room(space, Fitting(), folder)
    with open(os.path.join(folder, "prior-1-f.f16"), "wb"):
        assert static_prior.exists(space, folder)
    assert static_fit.room(space, Fitting(), folder) == first - static_prior.BYTES * 384_000


def test_another_fault_of_the_fit_is_a_fault(home: Home, shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: Any) -> float:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(static_fit, "fit", fails)
    with pytest.raises(OSError, match="Input/output"):
        embed(home, load(home), os.environ)
