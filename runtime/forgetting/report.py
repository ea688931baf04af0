"""A plan to forget, and what came of it, as every surface reports them."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from core import clock
from core.errors import NO_RESULTS, REFUSED
from runtime.asking.envelope import uri
from runtime.forgetting.forget import growing

if TYPE_CHECKING:
    from collections.abc import Sequence

    from runtime.forgetting.forget import Outcome, Plan


def report(found: Plan, outcome: Outcome | None, *, dry_run: bool, own: Sequence[str] = ()) -> dict[str, object]:
    """Return the envelope of ``brain forget``; without an ``outcome`` nothing was forgotten yet.

    ``own`` are places in a person's own files, if there is no outcome that has them. No text is cleaned for showing.
    """
    answer: dict[str, object] = {
        "schema": 1,
        "ok": outcome is None or not outcome.left,
        "dry_run": dry_run,
        "documents": [
            {"uri": uri(row.collection, row.path), "title": row.title, "date": clock.iso(row.date)}
            for row in found.rows
        ],
        "outside": found.outside,
        "questions": found.questions,
        "shared": found.shared,
        "left_out_later": [
            {"source": source, "unit": unit, "unforget": lifting(unit)} for source, unit in growing(found)
        ],
        "forgotten": outcome.documents if outcome is not None else 0,
        "left": outcome.left if outcome is not None else [],
        "own": outcome.own if outcome is not None else list(own),
        "beyond": outcome.beyond if outcome is not None else [],
    }
    if outcome is not None and (outcome.left or found.outside):
        answer.update(ok=False, error="refused", exit_code=REFUSED)
    elif not found.rows and not found.marks and outcome is None:
        answer.update(error="no_results", exit_code=NO_RESULTS)
    return answer


def lifting(unit: str) -> str:
    """Return the command that lets in again what is left out from now on."""
    return f"brain forget --unforget {shlex.quote(unit)}"
