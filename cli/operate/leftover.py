"""What was to be forgotten and is still held: the answer and the exit code of every command that meets it."""

from __future__ import annotations

from core.errors import OK, REFUSED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def told(report: Mapping[str, object], left: Sequence[str]) -> dict[str, object]:
    """A report with ``left``, the places that still hold it; with any it is not ``ok``, whatever else was done."""
    failed = {"ok": False, "error": "refused", "exit_code": REFUSED} if left else {}
    return {**report, **failed, "left": list(left)}


def code(left: Sequence[str]) -> int:
    """The exit code of a command that did what it was called for and has found what is still held."""
    return REFUSED if left else OK
