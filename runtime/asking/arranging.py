"""The order of hits where it is not that of their scores: reranked, synthetic and superseded ones, and twins.

``runtime.asking.ask`` comes here if there is a reranker, or a hit that one of the cases is about.
"""

from __future__ import annotations

from os.path import basename

from qmd.index import catalogue

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    import apsw

    from qmd.search.search import Hit
    from runtime.asking.ask import Asker, Inquiry

# A session and its distillate are shown as one hit. A distillate has the file name of its session (docs/documents.md).
_TWINS = ("distilled", "session")
# A document that no person wrote counts half, among more candidates than are shown: an evaluation leaves dozens of
# sessions that are alike.
_SYNTHETIC_FACTOR = 0.5
_SYNTHETIC_CANDIDATES = 60
# Successors are followed so far; a longer chain is a loop that somebody wrote by hand.
_LONGEST_CHAIN = 20


def arrange(asker: Asker, inquiry: Inquiry) -> None:
    """Rerank, demote synthetic hits, put superseded entries below their successors, unite twins."""
    has_synthetic = any(map(_is_synthetic, inquiry.hits))
    if has_synthetic:
        _look_further(asker, inquiry)
    if inquiry.reranking is not None:
        found = inquiry.reranking.apply(inquiry.question, inquiry.hits, inquiry.deadline.left())
        inquiry.hits, inquiry.reranked = found
    if has_synthetic:
        demote_synthetic(inquiry.hits)
    del inquiry.hits[inquiry.wanted :]
    if any("superseded_by" in hit.fields for hit in inquiry.hits):
        inquiry.hits = below_successors(asker.connection, inquiry.hits)
    unite_twins(asker, inquiry)


def _look_further(asker: Asker, inquiry: Inquiry) -> None:
    """Take more hits, so that synthetic ones do not displace others; search again if the candidates are too few."""
    limit = _SYNTHETIC_CANDIDATES + inquiry.wanted
    ranking = asker.open_searcher().last
    if ranking is not None:
        inquiry.hits = ranking.hits(parts=inquiry.request.explain or inquiry.boost is not None, limit=limit)
        if ranking.has_all or sum(not _is_synthetic(hit) for hit in inquiry.hits) >= inquiry.wanted:
            return
    asker.search(inquiry, limit)


def demote_synthetic(hits: list[Hit]) -> None:
    """Let each synthetic hit count half; equal scores stay in their order."""
    for hit in hits:
        if _is_synthetic(hit):
            hit.score *= _SYNTHETIC_FACTOR
    hits.sort(key=lambda hit: -hit.score)


def below_successors(connection: apsw.Connection, hits: list[Hit]) -> list[Hit]:
    """Return ``hits`` with each superseded entry directly below its successor, if the successor is among them."""
    places = {basename(hit.path).removesuffix(".md"): hit for hit in hits}
    arranged: list[Hit] = []
    for hit in hits:
        successor = places.get(last_successor(connection, hit.fields))
        if successor is not None and successor is not hit and successor not in arranged:
            arranged.append(successor)
        if hit not in arranged:
            arranged.append(hit)
    return arranged


def unite_twins(asker: Asker, inquiry: Inquiry) -> None:
    """Keep the better hit of a session and its distillate, and remember the other one as its twin."""
    kept: dict[tuple[str, str, str], Hit] = {}
    shown: list[Hit] = []
    for hit in inquiry.hits:
        folder = asker.config.collections.get(hit.collection)
        trust = hit.trust or (folder.trust if folder is not None else "")
        if trust in _TWINS:
            twin = kept.get((_TWINS[trust == _TWINS[0]], hit.owner, hit.path))
            if twin is not None and twin.field("session_id") == hit.field("session_id"):
                inquiry.twins[twin.id] = hit
                continue
            kept[trust, hit.owner, hit.path] = hit
        shown.append(hit)
    inquiry.hits = shown


def last_successor(connection: apsw.Connection, fields: dict[str, Any]) -> str:
    """Return the id at the end of the chain that ``superseded_by`` begins, "" if an entry has no successor."""
    last = ""
    for _ in range(_LONGEST_CHAIN):
        following = fields.get("superseded_by")
        if not isinstance(following, str) or not following:
            break
        last = following
        # An entry's id begins with its month: 20261121T101500Z-… is in 2026/11.
        row = catalogue.in_any_collection(connection, f"{following[:4]}/{following[4:6]}/{following}.md")
        if row is None:
            break
        fields = catalogue.Document(row).fields
    return last


def _is_synthetic(hit: Hit) -> bool:
    return hit.fields.get("synthetic") is True
