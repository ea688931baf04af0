"""Forgotten text that is still held somewhere: the report and the exit code of every command that finds it."""

from __future__ import annotations

from core.errors import OK, REFUSED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def with_left(report: Mapping[str, object], left: Sequence[str]) -> dict[str, object]:
    """Return a report with ``left``, the places that still hold the text; with any, the report is not ``ok``."""
    failed = {"ok": False, "error": "refused", "exit_code": REFUSED} if left else {}
    return {**report, **failed, "left": list(left)}


def code(left: Sequence[str]) -> int:
    """Return the exit code of a command that did what it was called for and has found what is still held."""
    return REFUSED if left else OK
