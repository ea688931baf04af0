"""Days that gave no answer: how much is remembered of them, and which days around them have something."""

from __future__ import annotations

from core.counting import counted
from qmd.search.answers import Filters
from runtime.dates import days

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    import apsw

_FROM = "FROM documents d JOIN brain_facts f ON f.document_id = d.id WHERE"


def look(connection: apsw.Connection, filters: Filters) -> dict[str, Any]:
    """Return the days of ``filters`` (``since`` and ``until``, ISO dates, None where open), how many ``documents``
    are of them, and the nearest days with a document ``before`` and ``after`` them, None where there is none.

    All other restrictions of the filters apply. Raises apsw.Error.
    """
    first, last = filters.since, filters.until
    everywhen, bound = Filters(filters.collections, fields=filters.fields).sql()

    def nearest(column: str, condition: str, limit: int | None, order: str) -> str | None:
        if limit is None:
            return None
        query = f"SELECT {column} {_FROM} {everywhen} AND {condition} ORDER BY {column} {order} LIMIT 1"
        found: Any = connection.execute(query, (*bound, limit)).fetchall()
        return days.iso(days.of(found[0][0])) if found else None

    condition, bindings = filters.sql()
    (count,) = connection.execute(f"SELECT count(*) {_FROM} {condition}", bindings).fetchall()[0]
    return {
        "since": None if first is None else days.iso(days.of(first)),
        "until": None if last is None else days.iso(days.of(last - 1)),
        "documents": count,
        "before": nearest("f.ended", "f.ended > 0 AND f.ended < ?", first, "DESC"),
        "after": nearest("f.date", "f.date >= ?", last, "ASC"),
    }


def sentence(found: dict[str, Any], *, within: bool) -> str:
    """Return ``look``'s answer in words, for people and for models; ``within``: the question had other restrictions."""
    there = " there" if within else ""
    named = _named(found["since"], found["until"])
    if found["documents"]:
        return f"Memory has {counted(found['documents'], 'document')} of {named}{there}."
    near = [f"{found[side]} {side}" for side in ("before", "after") if found[side]]
    nearest = f"; the nearest days with something: {', '.join(near)}" if near else ""
    return f"Nothing is remembered of {named}{there}{nearest}."


def _named(since: str | None, until: str | None) -> str:
    if since is None:
        return f"the time up to {until}"
    if until is None:
        return f"the time since {since}"
    return since if since == until else f"{since} to {until}"
