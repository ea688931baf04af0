"""What ``brain forget`` is to forget, as it was named or filtered."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ingest.policy import forgetting
from runtime.asking.documents import Row, Selection, resolve, select

if TYPE_CHECKING:
    from collections.abc import Iterator

    import apsw

    from core.config import Config
    from core.home import Home


def selected(
    home: Home, connection: apsw.Connection, config: Config, chosen: Selection, everything: dict[int, Row]
) -> list[Row]:
    """The documents that are named, a session by its id too, or that the filters choose; ``everything``: all there are.

    Raises as ``export.select``.
    """
    if not chosen.references:
        rows = select(connection, config, chosen)
        return [*rows, *_signed(home, connection, config, chosen)] if chosen.within else rows
    picked: dict[int, Row] = {}
    for reference in chosen.references:
        session = [row for row in everything.values() if row.fields.get("session_id") == reference]
        for row in session or [resolve(connection, config, reference)]:
            picked[row.id] = row
    return list(picked.values())


def _signed(home: Home, connection: apsw.Connection, config: Config, chosen: Selection) -> Iterator[Row]:
    """Documents that tell no folder, where their raw files lie in one that stands for a folder of the rule."""
    names = forgetting.covered_by_sign(home, chosen.within)
    spans = Selection(since=chosen.since, until=chosen.until)
    for row in select(connection, config, spans) if names else ():
        if row.fields.get("source") == "gemini" and row.path in names and not row.fields.get("project"):
            yield row
