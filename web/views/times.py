"""`/time`: a year as a heat map, a week by its hours, and one day on one line of time."""

from __future__ import annotations

import time
from collections import Counter
from datetime import date, timedelta
from itertools import groupby
from typing import TYPE_CHECKING, Any

from core.errors import BadInput
from core.text import printable_value
from runtime.explaining import activity
from web import drawing
from web.kept import FRESH_S
from web.rendering import labels
from web.visit import Page

if TYPE_CHECKING:
    from web.kept import Kept
    from web.visit import Visit

# Kinds of which more than so many in a row are folded.
_FOLDED = ("shell", "browsing")
_SHOWN = 4


class Times:
    """The views of time; they share the years that were counted."""

    def __init__(self, kept: Kept) -> None:
        self._kept = kept

    def _year(self, visit: Visit, year: int, project: str) -> dict[str, Any]:
        """Return what ``activity.year`` does."""
        return self._kept.get(
            visit.home, f"year {year} {project}", lambda: activity.year(visit.home, visit.config, year, project)
        )

    def year(self, visit: Visit) -> Page:
        """Show the year ``year``, the present one by default."""
        this = time.localtime(visit.now).tm_year
        given = visit.text("year")
        if given and not (given.isascii() and given.isdigit() and len(given) == 4):
            raise BadInput(f"there is no year {given!r}", "a year such as 2026")
        project = visit.text("project")
        envelope = printable_value(self._year(visit, int(given or this), project))
        if not given and not envelope["days"] and envelope["years"]:
            last = envelope["years"][-1]
            envelope = printable_value(self._year(visit, last, project))
        more = {
            "totals": _totals(envelope["days"]),
            "map": drawing.heat_map(date(envelope["year"], 1, 1), date(envelope["year"], 12, 31), envelope["days"]),
            "grid": drawing.hour_grid(envelope["hours"]),
            "kept": {"project": project},
        }
        return Page("time", str(envelope["year"]), envelope, more, "recent", {"n_hits": len(envelope["days"])})

    def past_year(self, visit: Visit, project: str = "") -> dict[str, Any]:
        """Return the squares of the 53 weeks up to today as ``map``, and the ``totals`` of their days.

        Empty while they are counted for the first time.
        """
        return self._kept.get(visit.home, f"past year {project}", lambda: _past_year(visit, project), spare={})

    def day(self, visit: Visit) -> Page:
        """Show one day."""
        project = visit.text("project")
        wanted = visit.path["day"]
        found = self._kept.get(
            visit.home,
            f"day {wanted} {project}",
            lambda: activity.day(visit.home, visit.config, wanted, project),
            FRESH_S,
        )
        envelope = printable_value(found)
        days = list(self._year(visit, int(envelope["day"][:4]), project)["days"])
        earlier = [day for day in days if day < envelope["day"]]
        later = [day for day in days if day > envelope["day"]]
        more = {
            "line": drawing.day_line(envelope["since"], envelope["until"], envelope["items"]),
            "groups": _groups(activity.rows(envelope["items"])),
            "kinds": activity.KINDS,
            "words": activity.WORDS,
            "before": earlier[-1] if earlier else None,
            "after": later[0] if later else None,
            "projects": labels(sorted({item["project"] for item in envelope["items"] if item["project"]})),
            "kept": {"project": project},
            "named": _named(envelope["day"]),
        }
        return Page("day", envelope["day"], envelope, more, "recent", {"n_hits": len(envelope["items"])})


def _past_year(visit: Visit, project: str) -> dict[str, Any]:
    today = date.fromtimestamp(visit.now)
    first = today - timedelta(days=today.weekday() + 52 * 7)
    days = activity.days(visit.home, visit.config, first, today, project)
    return {"map": drawing.heat_map(first, today, days), "totals": _totals(days), "days": len(days)}


def _groups(rows: list[dict[str, Any]]) -> list[tuple[str, list[dict[str, Any]]]]:
    """Return (kind, rows) of runs of one kind. What is typed and visited comes in dozens: a long run can be folded.

    The kind is "" for rows that are never folded.
    """
    found: list[tuple[str, list[dict[str, Any]]]] = []
    for kind, run in groupby(rows, key=lambda row: row["item"]["kind"] if row["item"]["kind"] in _FOLDED else ""):
        together = list(run)
        found.append((kind if len(together) > _SHOWN else "", together))
    return found


def _totals(days: dict[str, dict[str, int]]) -> dict[str, int]:
    """Return how much of each kind of work days have, by its name for people."""
    found = Counter[str]()
    for counts in days.values():
        found.update(counts)
    return {activity.WORDS[kind]: found[kind] for kind in activity.KINDS if found[kind]}


def _named(day: str) -> str:
    """Return a day for people."""
    year, month, number = map(int, day.split("-"))
    return time.strftime("%A, %-d %B %Y", time.localtime(time.mktime((year, month, number, 12, 0, 0, 0, 0, -1))))
