"""The catalogue: the one place where documents, their texts and their facts are read."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
# Sources, in ``ingest``, have tables of their own, and so has a team's server.
ROOMS = ("core", "qmd", "runtime", "web", "tui", "cli", "ops", "evals", "bench")
SERVER = re.compile(r"/team(?:_demo|_copies)?(?:/|\.py)")
SOURCES = [ROOT / "brain.py", *(path for room in ROOMS for path in (ROOT / room).rglob("*.py"))]
TABLES = re.compile(r"\b(?:from|join|into|update)\s+(?:main\.)?(?:documents|content|brain_facts)\b", re.IGNORECASE)


def _statements(path: Path) -> list[str]:
    """Return the strings of a module that are no statements by themselves, as docstrings are."""
    text = path.read_text()
    if not TABLES.search(text):
        return []
    tree = ast.parse(text)
    docstrings = {node.value for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    return [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in docstrings
    ]


def test_only_the_index_names_the_tables_of_documents() -> None:
    naming = {str(path.relative_to(ROOT)) for path in SOURCES if any(map(TABLES.search, _statements(path)))}
    assert {name for name in naming if not (name.startswith("qmd/index/") or SERVER.search(name))} == set()
    assert "qmd/index/catalogue.py" in naming
