"""What is written of the system is true: MAP.md's citations lead somewhere. Only a checkout has a map."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ops.checks import citations
from ops.checks.finding import CheckContext, Finding

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[2]


def map_is_true(context: CheckContext) -> Iterator[Finding]:
    """Every citation resolves."""
    page = Path(context.environ.get("BRAIN_MAP") or ROOT / "MAP.md")
    if not page.is_file():
        return
    for path, symbol in citations.citations(page.read_text(encoding="utf-8")):
        wrong = citations.wrong(ROOT, path, symbol)
        if wrong:
            yield Finding("map", "warning", f"MAP.md cites {path}::{symbol}: {wrong}", "correct MAP.md")


CHECKS = (map_is_true,)
