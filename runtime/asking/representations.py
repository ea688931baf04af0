"""A session and its distillate are one memory: hits of both are one hit with two representations.

On the interactive path. A distillate has the name of what it was made from (docs/documents.md).
"""

from __future__ import annotations

from qmd.index import catalogue
from runtime.asking.envelope import docid, uri

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    import apsw

    from core.config import Config
    from qmd.search.snippets import Hit

_PAIR = ("distilled", "session")


def reach(connection: apsw.Connection, config: Config, names: Sequence[str], limit: int) -> int:
    """How many hits to look for so that ``limit`` are left once they are united. Raises apsw.Error."""
    trusts = {config.collections[name].trust for name in names if name in config.collections}
    if not trusts.issuperset(_PAIR):
        return limit
    for name in names:
        if config.collections[name].trust == "distilled" and catalogue.has_any(connection, name):
            return 2 * limit
    return limit


def place(hit: Hit, config: Config) -> dict[str, Any]:
    """One representation, as an envelope has it."""
    folder = config.collections.get(hit.collection)
    return {
        "uri": uri(hit.collection, hit.path),
        "docid": docid(hit.hash),
        "trust": folder.trust if folder else "note",
        "line": hit.line,
        "score": round(hit.score, 4),
    }


def unite(hits: list[Hit], config: Config, limit: int) -> tuple[list[Hit], dict[int, Hit]]:
    """The first ``limit`` memories among ``hits``, each by its best hit, and the other one's hit by document id."""
    kept: dict[tuple[str, str], Hit] = {}
    others: dict[int, Hit] = {}
    shown: list[Hit] = []
    for hit in hits:
        folder = config.collections.get(hit.collection)
        trust = folder.trust if folder is not None else ""
        if trust in _PAIR:
            twin = kept.get((_PAIR[trust == _PAIR[0]], hit.path))
            if twin is not None and twin.field("session_id") == hit.field("session_id"):
                others[twin.id] = hit
                continue
            kept[(trust, hit.path)] = hit
        shown.append(hit)
    shown = shown[:limit]
    return shown, {hit.id: others[hit.id] for hit in shown if hit.id in others}
