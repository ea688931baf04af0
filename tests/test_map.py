"""MAP.md tells the truth: every citation resolves."""

from __future__ import annotations

from pathlib import Path

from ops.checks.citations import citations, defined, wrong
from tests.tables import every

ROOT = Path(__file__).resolve().parent.parent
MAP = (ROOT / "MAP.md").read_text(encoding="utf-8")
CITATIONS = citations(MAP)
ROOMS = ("core", "ingest", "qmd", "runtime", "web", "tui", "cli", "ops", "evals")
PLACES = ("tests", "bench", "demo", "skills", "launchd", "logs")


@every(CITATIONS)
def test_a_citation_resolves(path: str, symbol: str) -> None:
    assert wrong(ROOT, path, symbol) == ""


def test_every_invariant_cites_what_keeps_it() -> None:
    claims = [line for line in MAP.splitlines() if line.startswith("- ")]
    assert len(claims) == 5
    assert [line for line in claims if "::" not in line] == []


def test_the_map_stays_a_map() -> None:
    assert len(MAP.split()) <= 1200
    assert len(CITATIONS) <= 80


def test_every_room_is_on_the_map() -> None:
    assert [room for room in ROOMS + PLACES if f"`{room}/" not in MAP] == []


def test_a_symbol_that_is_gone_would_be_noticed(tmp_path: Path) -> None:
    module = tmp_path / "room.py"
    module.write_text("LIMIT: int = 3\n\n\nclass Door:\n    size = 1\n\n    def open(self) -> None: ...\n")
    assert defined(module) == {"LIMIT", "Door", "Door.size", "Door.open"}
