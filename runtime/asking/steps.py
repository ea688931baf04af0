"""The steps from a question to its envelope.

Each step is a function over one `Inquiry` and the `Asker` that runs them: it reads fields and sets others. A table row
names a step and the condition under which the step applies. `Asker.ask` runs the three tables in order; the steps of
``SEARCH`` share one read transaction and its deadline.
"""

from __future__ import annotations

import time
from os.path import basename

import apsw

from core.errors import BadInput, BrainError, EngineMissing
from qmd.index import catalogue
from runtime.asking.envelope import as_shown, entry
from runtime.asking.freshness import Freshness
from runtime.asking.plan import Plan
from runtime.asking.request import project_glob, reranks, validate

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from core.config import Config
    from qmd.index.store import Deadline
    from qmd.search.snippets import Hit
    from runtime.asking.ask import Asker
    from runtime.asking.request import Request
    from runtime.asking.reranking import Reranking

    Step = Callable[[Asker, "Inquiry"], None]
    Condition = Callable[["Inquiry"], bool]
    # Steps in their order, each with the condition under which it applies (None: always).
    Table = tuple[tuple[Condition | None, Step], ...]

# The least evidence (0–1) for an answer; measured in docs/retrieval.md.
DEFAULT_MIN_SCORE = 0.16
# The trust of collections of pages and articles.
_READ = ("article", "browser")
# A session and its distillate are shown as one hit. A distillate has the file name of its session (docs/documents.md).
_TWINS = ("distilled", "session")
# A document that no person wrote counts half, among more candidates than are shown: an evaluation leaves dozens of
# sessions that are alike.
_SYNTHETIC_FACTOR = 0.5
_SYNTHETIC_CANDIDATES = 60
# Successors are followed so far; a longer chain is a loop that somebody wrote by hand.
_LONGEST_CHAIN = 20


class Inquiry:
    """One question, and what the steps have found for its answer.

    ``now`` is epoch seconds, ``timeout_s`` the time for the answer. ``wanted`` is how many hits are looked for, so that
    ``request.limit`` of them are shown. ``twins`` has the other representation of a hit by the hit's id. ``evidence``
    (0–1) is None if nothing is known about it. ``reranked`` is the report of the reranker, None if none was asked for.
    """

    __slots__ = (
        "abstained", "days", "deadline", "evidence", "filters", "fresh", "hits", "now", "plan", "question", "reason",
        "request", "reranked", "reranking", "reranks", "started", "timeout_s", "twins", "wanted",
    )  # fmt: skip

    def __init__(self, question: str, request: Request, timeout_s: float) -> None:
        self.deadline: Deadline
        self.filters: catalogue.Filters
        self.fresh: Freshness
        self.plan: Plan
        self.started = time.perf_counter()
        self.question = question
        self.request = request
        self.now = int(time.time())
        self.timeout_s = request.timeout_s or timeout_s
        self.wanted = request.limit
        self.hits: list[Hit] = []
        self.twins: dict[int, Hit] = {}
        self.reason = ""
        self.evidence: float | None = None
        self.abstained = False
        self.days: dict[str, Any] | None = None
        self.reranks = False
        self.reranking: Reranking | None = None
        self.reranked: dict[str, Any] | None = None

    def left_s(self) -> float:
        """Return the seconds that are left, below 0 if the time is over."""
        return self.timeout_s - (time.perf_counter() - self.started)


# Before the index is read.


def validate_question(asker: Asker, inquiry: Inquiry) -> None:
    """Raise BadQuery unless the question can be asked, BadInput for an unknown collection."""
    request, known = inquiry.request, asker.config.collections
    inquiry.question = validate(inquiry.question, literal=request.literal)
    for name in request.collections:
        if name not in known:
            raise BadInput(f"there is no collection {name!r}", f"one of: {', '.join(known)}")
    fields = []
    if request.source:
        fields.append(("source", "=", request.source))
    if request.project:
        fields.append(("project", "GLOB", project_glob(request.project)))
    filters = default_filters(asker.config)
    if request.collections:
        filters.collections = tuple(dict.fromkeys(request.collections))
    filters.since, filters.until, filters.fields = request.since, request.until, tuple(fields)
    inquiry.filters = filters
    inquiry.reranks = reranks(request, asker.config)


def make_plan(asker: Asker, inquiry: Inquiry) -> None:
    """Read dates in the question, and decide between words and a walk through time. Raises BadInput."""
    read = [name for name, each in asker.config.collections.items() if each.trust in _READ]
    inquiry.plan = Plan(inquiry.question, inquiry.request, inquiry.filters, inquiry.now, asker.open_semantics, read)


def open_reranker(asker: Asker, inquiry: Inquiry) -> None:
    """Open the reranker, or report why there is none. Raises BrainError if the request itself asks for one."""
    from runtime.asking.reranking import absent

    if inquiry.plan.mode == "time":
        inquiry.reranked = absent("the documents of some days stand in the order of time")
        return
    try:
        inquiry.reranking = asker.open_reranking()
    except BrainError as error:
        if inquiry.request.rerank:
            raise
        inquiry.reranked = absent(error.message)


# In one read transaction: what is nominated, scored and shown is one state of the index.


def choose_route(asker: Asker, inquiry: Inquiry) -> None:
    """Read how fresh the index is, and decide between words and meaning."""
    inquiry.fresh = asker.read_freshness()
    inquiry.plan.choose(bool(inquiry.fresh.embedded), inquiry.fresh.space)


def count_candidates(asker: Asker, inquiry: Inquiry) -> None:
    """Look for twice as many hits if a distillate and its session may become one."""
    collections = asker.config.collections
    trusts = {collections[name].trust for name in inquiry.filters.collections}
    if trusts.issuperset(_TWINS) and any(
        collections[name].trust == "distilled" and catalogue.has_any(asker.connection, name)
        for name in inquiry.filters.collections
    ):
        inquiry.wanted *= 2


def search(asker: Asker, inquiry: Inquiry) -> None:
    """Search, for as many hits as are shown or reranked."""
    width = inquiry.reranking.width if inquiry.reranking is not None else 0
    inquiry.hits = inquiry.plan.run(asker.open_searcher(), max(width, inquiry.wanted))


def search_deeper(asker: Asker, inquiry: Inquiry) -> None:
    """Search for more, so that synthetic documents do not displace the others."""
    inquiry.hits = inquiry.plan.run(asker.open_searcher(), _SYNTHETIC_CANDIDATES + inquiry.wanted)


def rerank(asker: Asker, inquiry: Inquiry) -> None:
    """Let the reranker order the best hits, within the time that is left."""
    del asker
    assert inquiry.reranking is not None
    inquiry.hits, inquiry.reranked = inquiry.reranking.apply(inquiry.question, inquiry.hits, inquiry.deadline.left())


def demote_synthetic(asker: Asker, inquiry: Inquiry) -> None:
    """Let each synthetic hit count half; equal scores stay in their order."""
    del asker
    for hit in inquiry.hits:
        if _is_synthetic(hit):
            hit.score *= _SYNTHETIC_FACTOR
    inquiry.hits.sort(key=lambda hit: -hit.score)


def keep_best(asker: Asker, inquiry: Inquiry) -> None:
    """Drop the hits that were only looked for to be reordered."""
    del asker
    del inquiry.hits[inquiry.wanted :]


def arrange_superseded(asker: Asker, inquiry: Inquiry) -> None:
    """Put each superseded entry directly below its successor, if the successor is among the hits."""
    places = {basename(hit.path).removesuffix(".md"): hit for hit in inquiry.hits}
    arranged: list[Hit] = []
    for hit in inquiry.hits:
        successor = places.get(last_successor(asker.connection, hit.fields))
        if successor is not None and successor is not hit and successor not in arranged:
            arranged.append(successor)
        if hit not in arranged:
            arranged.append(hit)
    inquiry.hits = arranged


def unite_twins(asker: Asker, inquiry: Inquiry) -> None:
    """Keep the better hit of a session and its distillate, and remember the other one as its twin."""
    kept: dict[tuple[str, str], Hit] = {}
    shown: list[Hit] = []
    for hit in inquiry.hits:
        folder = asker.config.collections.get(hit.collection)
        trust = folder.trust if folder is not None else ""
        if trust in _TWINS:
            twin = kept.get((_TWINS[trust == _TWINS[0]], hit.path))
            if twin is not None and twin.field("session_id") == hit.field("session_id"):
                inquiry.twins[twin.id] = hit
                continue
            kept[trust, hit.path] = hit
        shown.append(hit)
    inquiry.hits = shown[: inquiry.request.limit]


def raise_if_late(asker: Asker, inquiry: Inquiry) -> None:
    """Raise apsw.InterruptError if the time is over: steps between two reads are not interrupted."""
    del asker
    if inquiry.deadline.passed():
        raise apsw.InterruptError("the answer came after the deadline")


# After the index was read.


def require_source(asker: Asker, inquiry: Inquiry) -> None:
    """Raise BadInput if no document can have the source that was asked for."""
    from runtime.asking import absence

    absence.require_source(asker.connection, inquiry.request.source)


def require_run(asker: Asker, inquiry: Inquiry) -> None:
    """Raise EngineMissing if documents wait for a first index run: then nothing found is no answer."""
    from runtime.asking import absence

    del inquiry
    if absence.is_anything_unread(asker.home, asker.config, asker.connection):
        raise EngineMissing("nothing matches yet, and no index run has ended", "brain index")


def judge(asker: Asker, inquiry: Inquiry) -> None:
    """Explain the route, and measure the evidence of the best hit."""
    inquiry.reason = inquiry.plan.reason(inquiry.hits)
    if not inquiry.plan.judged:
        return
    from qmd.search.scoring import evidence

    found = asker.open_searcher()
    whole = inquiry.fresh.embedded >= inquiry.fresh.documents
    inquiry.evidence = evidence(
        found.share, found.passages, found.cosine, inquiry.plan.level, whole=whole, covered=found.covered
    )


def abstain(asker: Asker, inquiry: Inquiry) -> None:
    """Drop all hits if there is too little evidence for them.

    A literal question is answered by whatever has its words, unless the request has a least score.
    """
    del asker
    given = inquiry.request.min_score
    least = DEFAULT_MIN_SCORE if given is None else given
    if inquiry.evidence is None or inquiry.evidence >= least:
        return
    if given is not None or not inquiry.plan.exact:
        inquiry.abstained, inquiry.hits = True, []
        inquiry.reason += (
            f"; nothing relevant: what matches is worth {inquiry.evidence:.2f}, less than {least:.2f} (--min-score)"
        )


def explain_reranking(asker: Asker, inquiry: Inquiry) -> None:
    """Add to the reason by which model the hits were reranked, or why they were not."""
    del asker
    assert inquiry.reranked is not None
    applied, model, reason = inquiry.reranked["applied"], inquiry.reranked["model"], inquiry.reranked["reason"]
    inquiry.reason += f"; reranked by {model}" if applied else f"; not reranked: {reason}"


def require_indexed(asker: Asker, inquiry: Inquiry) -> None:
    """Raise EngineMissing if the index lost documents: then nothing found is no answer."""
    from runtime.asking import absence

    del inquiry
    absence.require_indexed(asker.home, asker.config, asker.connection)


def look_around(asker: Asker, inquiry: Inquiry) -> None:
    """Find what is remembered of the days that the question is limited to, and of the days around them."""
    from runtime.asking import absence

    inquiry.days = absence.around_days(asker.connection, inquiry.filters)


def name_waiting(asker: Asker, inquiry: Inquiry) -> None:
    """Add to the reason what waits to be indexed and may hold the answer."""
    del asker
    inquiry.reason += inquiry.fresh.waiting()


def write_envelope(asker: Asker, inquiry: Inquiry) -> dict[str, Any]:
    """Return the envelope (docs/ask.md)."""
    envelope: dict[str, Any] = {
        "schema": 1,
        "ok": True,
        "query": inquiry.question,
        "route": {"mode": inquiry.plan.mode, "reason": inquiry.reason},
        "took_ms": 0.0,
        "freshness": inquiry.fresh.envelope(),
        "evidence": None if inquiry.evidence is None else round(inquiry.evidence, 3),
    }
    if inquiry.reranked is not None:
        # The reasons may quote the endpoint of the reranker.
        envelope["rerank"], envelope["route"] = map(as_shown, (inquiry.reranked, envelope["route"]))
    if not inquiry.hits:
        envelope["error"] = "no_results"
        if inquiry.abstained:
            envelope["abstained"] = True
        if inquiry.days is not None:
            envelope["days"] = inquiry.days
    envelope["hits"] = [
        entry(rank, hit, asker.config, inquiry.now, twin=inquiry.twins.get(hit.id), explain=inquiry.request.explain)
        for rank, hit in enumerate(inquiry.hits, 1)
    ]
    envelope["took_ms"] = round((time.perf_counter() - inquiry.started) * 1000, 1)
    return envelope


def default_filters(config: Config) -> catalogue.Filters:
    """Return filters for every collection that is asked without being named."""
    return catalogue.Filters([name for name, folder in config.collections.items() if folder.include_by_default])


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


def _is_empty(inquiry: Inquiry) -> bool:
    return not inquiry.hits


def _is_synthetic(hit: Hit) -> bool:
    return hit.fields.get("synthetic") is True


def _has_synthetic(inquiry: Inquiry) -> bool:
    return any(map(_is_synthetic, inquiry.hits))


def _is_limited_to_days(inquiry: Inquiry) -> bool:
    return inquiry.filters.since is not None or inquiry.filters.until is not None


def _has_superseded(inquiry: Inquiry) -> bool:
    return any("superseded_by" in hit.fields for hit in inquiry.hits)


PREPARE: Table = (
    (None, validate_question),
    (None, make_plan),
    (lambda inquiry: inquiry.reranks, open_reranker),
)
SEARCH: Table = (
    (None, choose_route),
    (None, count_candidates),
    (None, search),
    (_has_synthetic, search_deeper),
    (lambda inquiry: inquiry.reranking is not None, rerank),
    (_has_synthetic, demote_synthetic),
    (None, keep_best),
    (_has_superseded, arrange_superseded),
    (None, unite_twins),
    (None, raise_if_late),
)
CONCLUDE: Table = (
    (lambda inquiry: _is_empty(inquiry) and inquiry.request.source != "", require_source),
    (lambda inquiry: _is_empty(inquiry) and not inquiry.fresh.complete, require_run),
    (None, judge),
    (lambda inquiry: not _is_empty(inquiry), abstain),
    (lambda inquiry: inquiry.reranked is not None, explain_reranking),
    (lambda inquiry: _is_empty(inquiry) and inquiry.fresh.complete, require_indexed),
    (lambda inquiry: _is_empty(inquiry) and _is_limited_to_days(inquiry), look_around),
    (_is_empty, name_waiting),
)
