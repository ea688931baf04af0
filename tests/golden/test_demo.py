"""A change of structure changes no answer about the demo set, which every checkout has."""

from __future__ import annotations

from pathlib import Path

from tests.golden import frozen
from tests.golden.moves import require_unmoved


def test_every_question_about_the_demo_set_gets_the_same_answer(tmp_path: Path) -> None:
    require_unmoved(frozen.frozen_demo(), frozen.demo(tmp_path))
