"""`/`: what `brain ask` answers, with facets; without a question, what happened lately."""

from __future__ import annotations

import os
import time
from collections import Counter
from contextlib import closing
from typing import TYPE_CHECKING, Any

from core import clock, redaction
from core.errors import BadInput, EngineMissing
from core.redaction import shown_value
from core.text import printable_value
from qmd.index import catalogue
from runtime.asking.own_index import open_own
from runtime.asking.recent import lately
from runtime.asking.request import PERSON, Request
from runtime.asking.wording import begins_rest, how, nothing, preface
from runtime.capture import demo
from runtime.capture.init import DEMO_QUESTION
from runtime.dates.day_option import parse_day
from web.asking import FACETS, ask
from web.kept import FRESH_S
from web.rendering import labels, local_day, named_day
from web.visit import Page

if TYPE_CHECKING:
    from core.config import Config
    from runtime.asking.pool import Pool
    from web.kept import Kept
    from web.views.times import Times
    from web.visit import Visit

# Quoting what answers takes some 2 ms a hit.
HITS = 10
_MOST = 50
_LATEST = 30
_PROJECTS = 8
# Questions that show what can be asked: of the demo set, and of any memory.
_DEMO_TRIES = (DEMO_QUESTION, "did we reject redis, and why", "ECONNREFUSED")
_TRIES = ("yesterday", "last week", "what did we decide")


class Search:
    """The view; ``pool`` has the open indexes that its questions share, ``kept`` the newest documents."""

    def __init__(self, pool: Pool, kept: Kept, times: Times) -> None:
        self._pool, self._kept, self._times = pool, kept, times

    def view(self, visit: Visit) -> Page:
        """Answer the question ``q`` within the facets that the address names; without one, list the newest."""
        question = visit.text("q")
        if question:
            return _answered(visit, question, self._pool)
        try:
            newest = self._kept.get(visit.home, "lately", lambda: _newest(visit), FRESH_S)
        except EngineMissing as missing:
            if os.path.exists(visit.home.index):
                raise
            # A newcomer looks before anything was indexed.
            more = {"question": "", "kept": {}, "groups": []}
            return Page("search", "Search", printable_value(missing.envelope()), more, status=503)
        return _lately(visit, newest, self._times.past_year(visit))


def _answered(visit: Visit, question: str, pool: Pool) -> Page:
    chosen = {name: visit.text(name) for name in FACETS}
    since, until = _period(visit, chosen["month"])
    wanted = visit.number("n", HITS, _MOST)
    request = Request(
        limit=wanted,
        budget=PERSON,
        collections=_collections(visit.config, chosen["collection"], chosen["trust"]),
        source=chosen["source"],
        project=chosen["project"],
        since=since,
        until=until,
        # A question that comes from a form has met no shell.
        literal=True,
    )
    found = ask(visit.home, visit.config, question, request, visit.environ, pool)
    envelope = printable_value(found.envelope | {"facets": shown_value(found.facets)})
    hits = envelope["hits"]
    fields: dict[str, Any] = {"query_len": len(question), "n_hits": len(hits), "warm": found.warm}
    fields.update({f"{name}_pending": each["pending"] for name, each in envelope["freshness"].items()})
    fields["hits"] = [hit["uri"] for hit in hits]
    if visit.config.keeps_questions:
        fields["query"] = redaction.shown(question)
    narrowed = [name for name in chosen if chosen[name]]
    more = {
        "question": question,
        "chosen": chosen,
        "shown": hits or envelope.get("nearest", []),
        "kept": _kept(visit),
        "wanted": wanted,
        "weighed": found.weighed,
        # A facet with one value narrows nothing, and still says where the answer is from.
        "alike": {name: each[0] for name, each in envelope["facets"].items() if len(each) == 1 and not chosen[name]},
        "how": how(envelope),
        "preface": preface(envelope),
        "nothing": nothing(envelope, narrowed)[1 if narrowed else 0 :],
        "rest": next((hit["rank"] for hit in hits if begins_rest(hit, envelope)), 0),
        "labels": labels([each["value"] for each in envelope["facets"]["project"]] + [chosen["project"]]),
    }
    return Page("search", question, envelope, more, "ask", fields)


def _kept(visit: Visit) -> dict[str, str]:
    return {name: value for name in ("q", *FACETS, "since", "until", "n") if (value := visit.text(name))}


def _collections(config: Config, name: str, trust: str) -> tuple[str, ...]:
    """Return the collections that a facet chose, () for those that a question searches by itself."""
    if not trust:
        return (name,) if name else ()
    found = config.trusting(trust)
    if name:
        found = tuple(each for each in found if each == name)
    elif any(config.collections[each].include_by_default for each in found):
        found = tuple(each for each in found if config.collections[each].include_by_default)
    if not found:
        known = ", ".join(dict.fromkeys(folder.trust for folder in config.collections.values()))
        raise BadInput(f"no such collection has the trust {trust!r}", f"one of: {known}")
    return found


def _period(visit: Visit, month: str) -> tuple[int | None, int | None]:
    """Return the bounds (epoch seconds) of the month, or of ``since`` and ``until`` as `brain ask` reads them."""
    if month:
        try:
            year, number, _ = time.strptime(month, "%Y-%m")[:3]
            first, last = (clock.day_start(clock.month_start(year, number + step)) for step in (0, 1))
        except (ValueError, OverflowError):
            raise BadInput(f"{month!r} is no month", "a month such as 2026-03") from None
        return first, last
    since, until = visit.text("since"), visit.text("until")
    return (
        parse_day(since, visit.now, end=False) if since else None,
        parse_day(until, visit.now, end=True) if until else None,
    )


def _newest(visit: Visit) -> dict[str, Any]:
    """Return ``lately``, what `brain recent` lists, ``counts``, the documents of each collection, and ``tries``."""
    with closing(open_own(visit.home, visit.config)) as connection:
        counts = catalogue.counts(connection)
    newest = lately(visit.home, visit.config, now=visit.now, limit=_LATEST)
    tries = _DEMO_TRIES if demo.is_there(visit.home) else _TRIES
    return {"lately": newest, "counts": counts, "tries": tries}


def _lately(visit: Visit, found: dict[str, Any], year: dict[str, Any]) -> Page:
    """Show the past year, the newest documents by day, their projects, and what the memory holds."""
    envelope = printable_value(found["lately"])
    days: dict[str, list[dict[str, Any]]] = {}
    for item in envelope["items"]:
        days.setdefault(local_day(item["ended"]), []).append(item)
    projects = Counter(item["project"] for item in envelope["items"] if item["project"])
    more = {
        "question": "",
        "chosen": {},
        "kept": {},
        "groups": [(named_day(day, visit.now), items) for day, items in days.items()],
        "projects": projects.most_common(_PROJECTS),
        "labels": labels(projects),
        "counts": found["counts"],
        "year": year,
        "tries": found["tries"],
    }
    return Page("search", "Search", envelope, more, "recent", {"n_hits": len(envelope["items"])})
