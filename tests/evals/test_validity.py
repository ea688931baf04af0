"""Questions whose answer changed are written as sessions, asked, and judged."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.home import Home
from evals.validity import measure
from runtime.validity import validity


def test_the_set_has_halves_and_look_alikes_enough() -> None:
    rows = measure.rows()
    kinds = [row["kind"] for row in rows]
    assert len(rows) - kinds.count(measure.LOOK_ALIKE) >= 60
    assert kinds.count(measure.LOOK_ALIKE) >= 30
    assert {row["half"] for row in rows} == {"choose", "exam"}


@pytest.mark.long
def test_the_newer_statement_is_first_in_both_halves(home: Home, tmp_path: Path) -> None:
    for half in ("choose", "exam"):
        each = Home(str(tmp_path / half))
        each.make()
        found = measure.measure(each, tmp_path / f"{half}-transcripts", half)
        assert found["newer_first"]["met"], [item for item in found["items"] if not item["right"]]
        assert found["kinds"][measure.LOOK_ALIKE]["share"] >= measure.BAR


@pytest.mark.long
def test_without_a_judgment_the_bar_is_missed(home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home.make()
    monkeypatch.setattr(validity, "judge", lambda claims: {})
    assert not measure.measure(home, tmp_path / "transcripts", "exam")["newer_first"]["met"]
