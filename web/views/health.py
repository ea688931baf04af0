"""`/health`: what the doctor found last, how fresh the index is, what was asked in vain, how fast answers are."""

from __future__ import annotations

import os
from contextlib import closing
from http import HTTPStatus
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import apsw

from core import clock
from core.errors import BrainError
from core.redaction import shown_value
from core.text import printable_value
from ops.checks.reporting import last_report
from ops.stats.stats import stats
from qmd.index import catalogue
from runtime.asking.envelope import Freshness
from runtime.asking.own_index import open_own
from runtime.explaining import installation
from runtime.forgetting.expiry import expiring
from web import drawing
from web.kept import FRESH_S
from web.visit import Page, known

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from web.kept import Kept
    from web.visit import Visit

_SINCE_S = 30 * clock.DAY
_WEEKS = 26
# Counting bytes and looking for what will be deleted walks folders.
_WALKED_S = 60.0


class Health:
    """The view. What it found is kept until the index changes, and for seconds only where other things change it."""

    def __init__(self, kept: Kept) -> None:
        self._kept = kept

    def view(self, visit: Visit) -> Page:
        """Show the last examination, freshness, and the statistics of the last 30 days."""
        home, get = visit.home, self._kept.get
        status = HTTPStatus.OK
        try:
            counted = get(home, "health: collections", lambda: _collections(visit))
            index = {"ok": True, **get(home, "health", lambda: _index(visit), FRESH_S), **counted}
        except (BrainError, apsw.Error) as error:
            # Whoever looks here has a reason: the rest is shown without the index.
            index = {**known(error, home).envelope(), "freshness": None, "documents": {}, "collections": []}
            status = HTTPStatus.SERVICE_UNAVAILABLE
        found = {
            "schema": 1,
            **index,
            "doctor": last_report(home),
            **get(home, "health: disk", lambda: _disk(visit, index["collections"]), _WALKED_S),
            "stats": stats(home, visit.now - _SINCE_S),
        }
        envelope = printable_value(shown_value(found))
        rows = envelope["collections"]
        most = max((count for each in rows for count in each["weeks"]), default=0)
        more = {
            "total": sum(each["documents"] for each in rows),
            "lines": {each["name"]: drawing.weeks(each["weeks"], each["ages"], most) for each in rows},
            "waiting": drawing.waiting(envelope["stats"]["freshness"]),
            "asked": envelope["stats"]["commands"].get("ask"),
            "bytes": sum(each or 0 for each in envelope["disk"].values()),
        }
        return Page("health", "Health", envelope, more, "explain", status=status)


def _index(visit: Visit) -> dict[str, Any]:
    with closing(open_own(visit.home, visit.config)) as connection:
        return {"freshness": Freshness(visit.home, visit.config, connection).envelope()}


def _collections(visit: Visit) -> dict[str, Any]:
    """Return for each collection its documents, how new they are, and each week of half a year (the last is this one).

    ``weeks``: how many documents came. ``ages``: how old the newest one was as the week ended, in days; None before the
    first.
    """
    since = visit.now - _WEEKS * 7 * clock.DAY
    with closing(open_own(visit.home, visit.config)) as connection:
        rows = catalogue.summaries(connection, since)
        weeks = catalogue.by_week(connection, since, _WEEKS)
    none = [(0, 0)] * _WEEKS
    return {
        "documents": {name: count for name, count, *_ in rows},
        "collections": [
            {
                "name": name,
                "documents": count,
                "written": changed,
                "newest": clock.iso(newest) if newest else None,
                "bytes": size,
                "weeks": [came for came, _ in weeks.get(name, none)],
                "ages": _ages([latest for _, latest in weeks.get(name, none)], before or 0, since),
            }
            for name, count, changed, newest, before, size in rows
        ],
    }


def _ages(newest: Sequence[int], before: int, since: int) -> list[int | None]:
    """Return how many days old the newest document was at the end of each week from ``since`` (epoch seconds) on."""
    ages: list[int | None] = []
    for number, date in enumerate(accumulate(newest, max, initial=before)):
        if number:
            ages.append(max(0, since + number * 7 * clock.DAY - date) // clock.DAY if date else None)
    return ages


def _disk(visit: Visit, collections: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """Return bytes by purpose, and the transcripts that their tools are about to delete (None if nobody knows)."""
    home = visit.home
    disk = installation.disk(home, None)
    disk.pop("corpus")
    inside = os.path.join(home.root, "")
    own = {name for name, folder in visit.config.collections.items() if folder.path.startswith(inside)}
    disk["documents"] = sum(each["bytes"] or 0 for each in collections if each["name"] in own)
    disk["archive"] = installation.weight(home.path("raw"))
    try:
        expiry = expiring(home, environ=visit.environ)
    except (BrainError, OSError, apsw.Error):
        expiry = None
    return {"disk": disk, "expiry": expiry}
