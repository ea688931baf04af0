"""The citations of MAP.md: each ``path::symbol`` resolves. Only a checkout has a map."""

from __future__ import annotations

import ast
import functools
import re
from pathlib import Path
from typing import TYPE_CHECKING

from core.counting import counted
from ops.checks.finding import CheckContext, Finding

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[2]


def map_is_true(context: CheckContext) -> Iterator[Finding]:
    """Every citation resolves."""
    page = Path(context.environ.get("BRAIN_MAP") or ROOT / "MAP.md")
    if not page.is_file():
        return
    faults = [
        f"{path}::{symbol}: {fault}"
        for path, symbol in citations(page.read_text(encoding="utf-8"))
        if (fault := wrong(ROOT, path, symbol))
    ]
    if faults:
        more = f" (and {counted(len(faults) - 1, 'more citation')})" if len(faults) > 1 else ""
        yield Finding("map", "warning", f"MAP.md cites {faults[0]}{more}", "correct MAP.md")


CHECKS = (map_is_true,)


_CITATION = re.compile(r"`([^`\s]+?)::([^`]+)`")


def citations(text: str) -> list[tuple[str, str]]:
    """Return (path, symbol) of each citation, sorted, each once."""
    return sorted(set(_CITATION.findall(text)))


def wrong(root: Path, path: str, symbol: str) -> str:
    """Return the fault of a citation below ``root``, "" if it resolves."""
    cited = root / path
    if not cited.is_file():
        return f"{path} does not exist"
    if cited.suffix == ".py":
        return "" if symbol in _defined(cited, cited.stat().st_mtime_ns) else f"{path} does not define {symbol}"
    return "" if symbol in cited.read_text(encoding="utf-8") else f"{path} has no text {symbol!r}"


@functools.lru_cache(maxsize=512)
def _defined(path: Path, mtime_ns: int) -> frozenset[str]:  # noqa: ARG001  # a file that has changed is read again
    return frozenset(defined(path))


def defined(path: Path) -> set[str]:
    """Return the names a module defines at its top level, and ``Class.member`` for what its classes define."""
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
