"""What an answer says of one hit: where it lies, what it holds, and how old and how trustworthy it is (docs/ask.md)."""

from __future__ import annotations

from os.path import join

from core import clock
from runtime.asking import age, representations
from runtime.asking.hits import docid, resume, uri

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from core.config import Collection, Config
    from qmd.search.answers import Hit


def as_shown(found: dict[str, Any]) -> dict[str, Any]:
    """Return what is said of a document that is not clean, as it may be shown."""
    from core.redaction import shown_value

    cleaned: dict[str, Any] = shown_value(found)
    return cleaned


def entry(
    rank: int, hit: Hit, config: Config, now: int, *, twin: Hit | None = None, explain: bool = False
) -> dict[str, Any]:
    """The ``rank``-th hit as it is seen at ``now`` (epoch seconds), as it may be shown.

    ``twin`` is the other representation of the hit.
    """
    days, label = age.label(hit.date, now)
    folder: Collection | None = config.collections.get(hit.collection)
    result: dict[str, Any] = {
        "rank": rank,
        "score": round(hit.score, 4),
        "docid": docid(hit.hash),
        "uri": uri(hit.collection, hit.path),
        "path": join(folder.path, hit.path) if folder else None,
        "collection": hit.collection,
        "source": hit.field("source"),
        "type": hit.field("type"),
        "title": hit.title,
        "line": hit.line,
        "snippet": hit.snippet,
        "date": clock.iso(hit.date),
        "age_days": days,
        "age": label,
        "stale": age.stale(days),
        "trust": folder.trust if folder else "note",
        "project": hit.field("project"),
        "resume": resume(hit.fields),
    }
    by = hit.field("superseded_by")
    if by:
        result["superseded_by"] = by
    warning = "; ".join(filter(None, (by and f"superseded by {by}", age.warning(days))))
    if warning:
        result["warning"] = warning
    if not hit.dated:
        result["date_source"] = "mtime"
    if twin is not None:
        result["representations"] = [representations.place(each, config) for each in (hit, twin)]
    if explain:
        result["explain"] = hit.parts
    is_clean = hit.is_clean and (twin is None or twin.is_clean)
    return result if is_clean else as_shown(result)
