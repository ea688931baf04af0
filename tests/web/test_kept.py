"""What was counted is kept until the index changes."""

from __future__ import annotations

from contextlib import closing
from typing import Any

from core.home import Home
from qmd.index.store import open_index
from tests.runtime.index_fixture import Shelf
from web.kept import Kept


def test_an_answer_is_kept_until_the_index_is_written_to(home: Home) -> None:
    shelf = Shelf(home)
    shelf.put("brain", "a.md", date=1_773_316_800)
    made: list[str] = []

    def make() -> dict[str, Any]:
        made.append("answer")
        return {"number": len(made)}

    kept = Kept()
    for _ in range(3):
        with closing(open_index(home.index)):
            assert kept.get(home, "a year", make) == {"number": 1}
        assert kept.get(home, "a year", make) == {"number": 1}
    assert kept.get(home, "another", make) == {"number": 2}
    shelf.put("brain", "b.md", date=1_773_316_800)
    assert kept.get(home, "a year", make) == {"number": 3}
