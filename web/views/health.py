"""`/health`: what the doctor found last, how fresh the index is, how fast answers are."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from core import clock
from core.redaction import shown_value
from core.text import printable_value
from ops.checks.reporting import last_report
from ops.stats.stats import stats
from qmd.index import catalogue
from qmd.index.store import open_index
from runtime.asking.envelope import Freshness
from web.visit import Page

if TYPE_CHECKING:
    from web.visit import Visit

_SINCE_S = 30 * clock.DAY


def view(visit: Visit) -> Page:
    """Show the last examination, freshness, and the statistics of the last 30 days."""
    with closing(open_index(visit.home.index)) as connection:
        fresh = Freshness(visit.home, visit.config, connection).envelope()
        documents = catalogue.counts(connection)
    envelope = printable_value(
        shown_value(
            {
                "schema": 1,
                "ok": True,
                "doctor": last_report(visit.home),
                "freshness": fresh,
                "documents": documents,
                "stats": stats(visit.home, visit.now - _SINCE_S),
            }
        )
    )
    return Page("health", "Health", envelope, {"total": sum(documents.values())}, "explain")
