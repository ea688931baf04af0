"""MAP.md tells the truth: every citation resolves."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
MAP = (ROOT / "MAP.md").read_text(encoding="utf-8")
CITATIONS = sorted(set(re.findall(r"`([^`\s]+?)::([^`]+)`", MAP)))
ROOMS = ("core", "ingest", "qmd", "runtime", "cli", "ops", "evals")
PLACES = ("tests", "bench", "demo", "skills", "launchd", "logs")


def defined(path: Path) -> set[str]:
    """The names a module defines at its top level, and ``Class.member`` for what its classes define."""
    names: set[str] = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        names |= _names(node)
        if isinstance(node, ast.ClassDef):
            names |= {f"{node.name}.{name}" for inner in node.body for name in _names(inner)}
    return names


def _names(node: ast.stmt) -> set[str]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return {node.name}
    if isinstance(node, ast.Assign):
        return {target.id for target in node.targets if isinstance(target, ast.Name)}
    if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
        return {node.target.id}
    return set()


@pytest.mark.parametrize(("path", "symbol"), CITATIONS, ids=lambda value: value)
def test_a_citation_resolves(path: str, symbol: str) -> None:
    cited = ROOT / path
    assert cited.is_file(), f"MAP.md cites {path}, which does not exist"
    if cited.suffix == ".py":
        assert symbol in defined(cited), f"MAP.md cites {path}::{symbol}, which is not defined there"
    else:
        assert symbol in cited.read_text(encoding="utf-8"), f"MAP.md cites {path}::{symbol}: no such text"


def test_every_claim_cites_something() -> None:
    claims = [line for line in MAP.splitlines() if line.startswith("- ")]
    assert len(claims) >= 20
    assert [line for line in claims if "::" not in line] == []


def test_every_room_is_on_the_map() -> None:
    assert [room for room in ROOMS + PLACES if f"`{room}/`" not in MAP] == []


def test_a_symbol_that_is_gone_would_be_noticed(tmp_path: Path) -> None:
    module = tmp_path / "room.py"
    module.write_text("LIMIT: int = 3\n\n\nclass Door:\n    size = 1\n\n    def open(self) -> None: ...\n")
    assert defined(module) == {"LIMIT", "Door", "Door.size", "Door.open"}
