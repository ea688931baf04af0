"""What comes from another machine keeps its origin, and one that is limited to evidence gives no advice."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from core import clock, config
from core.errors import BadInput
from core.home import shipped
from qmd.index import catalogue
from qmd.index.store import open_index
from runtime.asking import recent
from runtime.asking.ask import Asker, Request
from runtime.guard.memory import Memory
from tests.ops.machines import Machine

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="no git here")


def limited(machine: Machine, **trust: str) -> config.Config:
    """The configuration of a machine that trusts others so."""
    lines = "".join(f"    {name}: {kind}\n" for name, kind in trust.items())
    own = Path(shipped("collections.yml")).read_text(encoding="utf-8")
    Path(machine.home.path("collections.yml")).write_text(f"{own}\nsync:\n  trust:\n{lines}", encoding="utf-8")
    return machine.config


def answer(machine: Machine, question: str) -> dict[str, Any]:
    with Asker(machine.home, machine.config) as asker:
        hits: list[dict[str, Any]] = asker.ask(question, Request())["hits"]
        return hits[0]


def test_a_hit_names_the_machine_that_it_came_from(converged: tuple[Machine, Machine]) -> None:
    one, other = converged
    assert answer(one, "heron")["machine"] == other.name
    assert "machine" not in answer(one, "walrus")
    connection = open_index(one.home.index)
    try:
        listed = [recent.item(row, one.config, clock.now()) for row in recent.sessions(connection, one.config, 0, 20)]
    finally:
        connection.close()
    assert {item.get("machine") for item in listed} == {None, other.name}


def test_a_machine_limited_to_evidence_is_found_and_labelled(converged: tuple[Machine, Machine]) -> None:
    one, other = converged
    assert answer(one, "heron")["trust"] == "session"
    limited(one, **{other.name: "evidence"})
    assert answer(one, "heron")["trust"] == "evidence"
    assert answer(one, "walrus")["trust"] == "session"


def test_the_guard_does_not_speak_from_a_machine_limited_to_evidence(converged: tuple[Machine, Machine]) -> None:
    one, other = converged
    for trust, counts in (("full", True), ("evidence", False)):
        settings = limited(one, **{other.name: trust})
        connection = open_index(one.home.index)
        try:
            memory = Memory(connection, settings, "", clock.now() + 10 * clock.DAY)
            rows = catalogue.newest(connection, catalogue.Filters(("brain",)), 50)
            theirs = [each for each in map(catalogue.Document, rows) if each.path.startswith("machines/")]
            assert theirs
            assert {memory._counts(each) for each in theirs} == {counts}
        finally:
            connection.close()


@pytest.mark.parametrize("trust", ["advice", "Full"])
def test_an_unknown_trust_is_refused(pair: tuple[Machine, Machine], trust: str) -> None:
    with pytest.raises(BadInput, match="full, evidence"):
        limited(pair[0], laptop=trust)
