"""``qmd search``, and the options of all searches: collections and filters."""

from __future__ import annotations

from qmd.app.results import Result, show, show_none
from qmd.search import lex

TYPE_CHECKING = False
if TYPE_CHECKING:
    from qmd.app.session import Session
    from qmd.index.catalogue import Filters


def search(session: Session) -> None:
    """Print the documents that have every term of the query, best first."""
    arguments = session.arguments
    if not arguments.query:
        raise session.fail("Usage: qmd search [options] <query>")
    shape = arguments.format
    connection = session.index
    collections = wanted(session)
    filters = filters_of(session)
    limit = arguments.limit
    fetched = limit if "all" in arguments.flags else max(50, 2 * limit)
    found = lex.search(connection, arguments.query, fetched, collections, filters)
    if not found:
        show_none(session.out, shape)
        return
    shown = [hit for hit in found if hit.score >= arguments.min_score][:limit]
    texts = lex.bodies(connection, shown)
    from qmd.index.collections import Contexts

    contexts = Contexts(connection)
    results = [
        Result(
            hit.collection,
            hit.path,
            hit.title,
            texts[hit.id],
            hit.score,
            contexts.of(hit.collection, hit.path),
            hit.docid,
        )
        for hit in shown
    ]
    show(session, results, arguments.query)


def wanted(session: Session, *, defaults: bool = True) -> list[str]:
    """Return the collections named with ``-c``, else those that are searched by default.

    Raises Exit if one is not configured.
    """
    names = session.arguments.collections
    if not names:
        return session.config.default_names if defaults else []
    for name in names:
        if name not in session.config.collections:
            raise session.fail(f"Collection not found: {name}")
    return names


def filters_of(session: Session) -> Filters | None:
    """Return ``--filter key=value``, ``--since`` and ``--until``, or None if none is given. Raises
    Exit for a bad one.
    """
    arguments = session.arguments
    given = {"filter", "since", "until"} & arguments.flags
    if not given:
        return None
    from core import clock
    from qmd.index.catalogue import Filters

    fields = []
    for text in arguments.filters:
        name, equals, value = text.partition("=")
        if not equals or not name.strip():
            raise session.fail(f"--filter takes key=value, not {text!r}")
        fields.append((name.strip(), "GLOB" if any(mark in value for mark in "*?[") else "=", value))
    days: dict[str, int | None] = {"since": None, "until": None}
    for name in ("since", "until"):
        if name in arguments.flags:
            text = arguments.text.get(name, "")
            instant = clock.parse_iso(text)
            if instant is None:
                raise session.fail(f"--{name} takes an ISO 8601 date such as 2026-04-28, not {text!r}")
            # A date without a time includes the whole day, at both ends.
            days[name] = instant + (clock.DAY if name == "until" and len(text.strip()) == 10 else 0)
    return Filters(since=days["since"], until=days["until"], fields=tuple(fields))
