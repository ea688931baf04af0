"""What no person wrote ranks below what one did: half its score, among more candidates than are shown."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from qmd.search.snippets import Hit

FACTOR = 0.5
# An evaluation leaves dozens of sessions that are alike.
CANDIDATES = 60


def demote(hits: list[Hit], limit: int) -> list[Hit]:
    """The best ``limit`` of ``hits`` once synthetic ones count half; equal scores stay in their order."""
    for hit in hits:
        if hit.fields.get("synthetic") is True:
            hit.score *= FACTOR
    return sorted(hits, key=lambda hit: -hit.score)[:limit]
