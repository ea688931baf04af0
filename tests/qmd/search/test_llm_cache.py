"""Answers of models in the index: kept from a reader's connection, bounded, never in anybody's way."""

from __future__ import annotations

import re
from pathlib import Path

import apsw
import pytest

from qmd.index import cleanup
from qmd.index.store import open_index
from qmd.search import llm_cache
from qmd.vectors import models


@pytest.fixture
def path(tmp_path: Path) -> str:
    path = str(tmp_path / "index.sqlite")
    open_index(path, write=True).close()
    return path


def test_a_reader_keeps_and_finds_an_answer(path: str) -> None:
    reader = open_index(path)
    assert llm_cache.get(reader, "k") is None
    assert llm_cache.put(reader, {"k": "one"})
    assert llm_cache.put(reader, {"k": "two"})
    assert llm_cache.get(reader, "k") == "two"
    stamp = str(reader.execute("SELECT created_at FROM llm_cache").get)
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", stamp), "as the real program writes it"
    reader.close()


def test_only_the_newest_are_kept(path: str) -> None:
    reader = open_index(path)
    assert llm_cache.put(reader, {f"old{number}": "x" for number in range(llm_cache.MOST)})
    assert llm_cache.put(reader, {"new": "y"})
    assert reader.execute("SELECT count(*) FROM llm_cache").get == llm_cache.MOST
    assert (llm_cache.get(reader, "old0"), llm_cache.get(reader, "new")) == (None, "y")
    reader.close()


def test_an_answer_that_cannot_be_kept_is_no_failure(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(llm_cache, "_BUSY_MS", 10)
    reader, writer = open_index(path), open_index(path, write=True)
    writer.execute("BEGIN IMMEDIATE")
    assert not llm_cache.put(reader, {"k": "x"})
    writer.execute("ROLLBACK")
    assert llm_cache.put(reader, {"k": "x"})
    reader.close()
    writer.close()
    assert not llm_cache.put(apsw.Connection(":memory:"), {"k": "x"})


def test_a_cleanup_empties_it(path: str) -> None:
    writer = open_index(path, write=True)
    llm_cache.put(writer, {"k": "x"})
    assert cleanup.clean(writer).cached == 1
    assert llm_cache.get(writer, "k") is None
    writer.close()


def test_keys_have_qmds_form() -> None:
    # getCacheKey of the real 2.8.3.
    assert (
        models.cache_key("expandQuery", {"query": "q", "model": "m"})
        == "c4deb26e872eb88f20e07a282bad1eaad32193dfb827414032265d6edfdc249d"
    )
