"""The ledger as people read it: what agents were given, how much it was, whether it was used."""

from __future__ import annotations

from typing import Any

from runtime.injections import ledger

TYPE_CHECKING = False
if TYPE_CHECKING:
    from core.home import Home

_NAMES = "id ts session surface event kind docid line reason characters tokens used by wrong text".split()


def listing(home: Home, session: str, since: float | None, limit: int) -> dict[str, Any]:
    """Return the answer of ``brain injected``: sums over all rows, and the newest ``limit`` of them as ``items``.

    ``since`` is epoch seconds. Raises OSError.
    """
    rows = ledger.listed(home, session, since)
    found = {
        "schema": 1,
        "ok": True,
        "total": len(rows),
        "characters": sum(row["characters"] for row in rows),
        "tokens": sum(row["tokens"] for row in rows),
        "used": sum(row["used"] is True for row in rows),
        "ignored": sum(row["used"] is False for row in rows),
        "wrong": sum(row["wrong"] for row in rows),
        "items": [entry(row) for row in rows[:limit]],
    }
    if not rows:
        found["error"] = "no_results"
    return found


def entry(row: dict[str, Any]) -> dict[str, Any]:
    """Return one row of the ledger as the listing shows it."""
    uri = f"qmd://{row['collection']}/{row['path']}" if row["path"] else None
    return {"uri": uri, **{name: row.get(name) for name in _NAMES}}


def state(item: dict[str, Any]) -> str:
    """Return what became of a text, in words."""
    return "wrong" if item["wrong"] else {True: "used", False: "ignored", None: "not judged"}[item["used"]]
