"""A change of structure changes no output: documents, answers and the engine's commands are as they were frozen."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.golden import frozen
from tests.golden.moves import require_unmoved

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def world(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the samples are indexed, once for this module."""
    return tmp_path_factory.mktemp("golden")


@pytest.fixture(scope="module")
def documents(world: Path) -> dict[str, str]:
    """The digests of the documents made of the samples."""
    return frozen.documents(world)


def test_every_sample_becomes_the_same_document(documents: dict[str, str]) -> None:
    assert documents == frozen.frozen("markdown")


def test_every_question_gets_the_same_answer(documents: dict[str, str], world: Path) -> None:
    require_unmoved(frozen.digested(frozen.frozen("answers")), frozen.digested(frozen.answers(world)))


def test_every_command_of_the_engine_prints_the_same(tmp_path: Path) -> None:
    assert frozen.engine(tmp_path) == frozen.frozen("engine")
