"""An open index answers the next question, too, until it is idle, replaced, or a question failed in it."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from core.errors import BadInput, EngineMissing
from core.home import Home
from runtime.asking.pool import Pool
from runtime.asking.request import Request
from tests.runtime.index_fixture import Shelf


@pytest.fixture
def shelf(home: Home) -> Shelf:
    shelf = Shelf(home)
    shelf.put("brain", "a.md", "a walrus swam", source="claude", project="/code/api", date=1_773_316_800)
    return shelf


def ask(pool: Pool, shelf: Shelf, question: str = "walrus", **given: object) -> list[str]:
    with pool.opened(shelf.config) as index:
        return [hit["uri"] for hit in index.ask(question, Request(**given), None)["hits"]]


def test_the_same_index_is_opened_once_and_sees_what_was_written(shelf: Shelf) -> None:
    pool = Pool(shelf.home)
    with pool.opened(shelf.config) as first:
        assert len(first.ask("walrus", Request(), None)["hits"]) == 1
    shelf.put("brain", "b.md", "another walrus", date=1_773_316_800)
    with pool.opened(shelf.config) as second:
        assert second is first
        assert len(second.ask("walrus", Request(), None)["hits"]) == 2
        with pool.opened(shelf.config) as beside:
            assert beside is not first
    pool.close()


def test_an_index_in_the_place_of_another_is_opened_anew(shelf: Shelf, tmp_path: Path) -> None:
    pool = Pool(shelf.home)
    assert ask(pool, shelf) == ["qmd://brain/a.md"]
    other = Home(str(tmp_path / "other"))
    other.make()
    Shelf(other).put("brain", "z.md", "a walrus elsewhere", date=1_773_316_800)
    for suffix in ("-wal", "-shm"):
        Path(shelf.home.index + suffix).unlink(missing_ok=True)
    os.replace(other.index, shelf.home.index)
    assert ask(pool, shelf) == ["qmd://brain/z.md"]
    Path(shelf.home.index).unlink()
    with pytest.raises(EngineMissing):
        ask(pool, shelf)
    pool.close()


def test_what_failed_or_is_idle_is_closed(shelf: Shelf) -> None:
    pool = Pool(shelf.home)
    with pool.opened(shelf.config) as first:
        pass
    with pytest.raises(BadInput):
        ask(pool, shelf, collections=["nowhere"])
    with pool.opened(shelf.config) as second:
        assert second is not first
    pool.sweep(time.monotonic())
    with pool.opened(shelf.config) as third:
        assert third is second
    pool.sweep(time.monotonic() + 3600)
    with pool.opened(shelf.config) as fourth:
        assert fourth is not third
    pool.close()


def test_facets_count_what_was_weighed(shelf: Shelf) -> None:
    for number in range(9):
        shelf.put("brain", f"{number}.md", "a walrus", source="codex", project="/code/web", date=1_773_316_800)
    pool = Pool(shelf.home)
    with pool.opened(shelf.config) as index:
        assert len(index.ask("walrus", Request(limit=3), None)["hits"]) == 3
        assert sorted(index.facets(("source", "project")) or []) == [
            ("brain", "2026-03", 1, "claude", "/code/api"),
            ("brain", "2026-03", 9, "codex", "/code/web"),
        ]
        index.ask("walrus", Request(source="claude"), None)
        assert index.facets(("source",)) == [("brain", "2026-03", 1, "claude")]
        index.ask("what was last", Request(mode="time"), None)
        assert index.facets(("source",)) is None
    pool.close()


def test_a_freshness_read_a_moment_ago_is_stated_again(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[object] = []

    def news(*given: object) -> set[str]:
        read.append(given)
        return set()

    monkeypatch.setattr("runtime.asking.envelope.pulse.news", news)
    pool = Pool(shelf.home, fresh_s=60.0)
    for _ in range(3):
        ask(pool, shelf)
    assert len(read) == 1
    pool.close()
    careful = Pool(shelf.home)
    for _ in range(3):
        ask(careful, shelf)
    assert len(read) == 4
    careful.close()
