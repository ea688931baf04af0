"""`/eval`: how well questions were answered, run by run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.redaction import shown_value
from core.text import printable_value
from web import drawing
from web.visit import Page

if TYPE_CHECKING:
    from web.visit import Visit


def view(visit: Visit) -> Page:
    """Draw the history of the measure ``measure``, by set and arm; list the last run."""
    from evals.runs.trend import MEASURES, trend

    measure = visit.text("measure") or "recall@5"
    envelope = printable_value(shown_value(trend(visit.home, measure)))
    charts = [(each["name"], drawing.history(each["arms"])) for each in envelope["sets"]]
    return Page("eval", "Recall", envelope, {"charts": charts, "measures": MEASURES}, "eval", {"verb": "trend"})
