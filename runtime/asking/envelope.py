"""Answers as JSON (docs/ask.md): its hits, with age and trust, and how far the answer can be behind.

Lexical and semantic freshness are two facts. An index is complete when a run over the configured collections has ended;
until then, finding nothing says nothing.
"""

from __future__ import annotations

from os.path import join

from core import clock
from core.config import machine_of
from ingest.pipeline import pulse
from ingest.roots import RESUME, noted_resume
from qmd.index.store import fingerprint
from runtime.validity import CURRENT, SUPERSEDED, UNKNOWN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    import apsw

    from core.config import Config
    from core.home import Home
    from qmd.search.search import Hit
    from runtime.asking.ask import Inquiry
    from runtime.asking.documents import Row
    from runtime.dates.span import Span

SCHEME, TEAM = "qmd://", "team://"
FRESH_DAYS = 1
DOCID_DIGITS = 6
# A hit with a smaller share of the score above it does not clearly answer (docs/ask.md).
_FALL = 0.8
# The trust of collections with statements of the user. A page or an article states its writer's opinion.
STATED = ("session", "note", "distilled")
# Characters that no shell interprets.
_SAFE = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.")


def docid(digest: str) -> str:
    """Return ``#`` and the first six digits of a content hash, as qmd shows it."""
    return "#" + digest[:DOCID_DIGITS]


def uri(collection: str, path: str) -> str:
    """Return ``qmd://collection/path``; the path is literal, as qmd stores and prints it."""
    return f"{SCHEME}{collection}/{path}"


def uri_of(hit: Hit | Row) -> str:
    """Return the uri of a document; one of another member is ``team://owner/collection/path``."""
    return f"{TEAM}{hit.owner}/{hit.collection}/{hit.path}" if hit.owner else uri(hit.collection, hit.path)


def resume(fields: dict[str, Any], home: Home) -> str | None:
    """Return the command that resumes a session, None if its source has none.

    A subagent is resumed by its parent. A session without a transcript and a saved conversation cannot be resumed. An
    id that a shell would not read as one word gives None.
    """
    source = str(fields.get("source") or "")
    command, surface = RESUME.get(source) or noted_resume(source, home)
    if not command or fields.get("partial") or fields.get("saved_as") or surface not in ("", fields.get("surface")):
        return None
    identity = str(fields.get("parent") or fields.get("session_id") or "-")
    return None if identity.startswith("-") or not _SAFE.issuperset(identity) else f"{command} {identity}"


def age(instant: int, now: int) -> tuple[int, str]:
    """Return (age in days, ``today`` | ``yesterday`` | ``N days ago``) of an instant (epoch seconds) seen at ``now``.

    Calendar dates are compared, not spans of 86,400 seconds: 23:59 is yesterday two minutes later, and a day with a
    change of clocks counts once. An instant in the future (another machine's clock) is ``today``, 0 days old.
    """
    passed = max(0, clock.day_of(now) - clock.day_of(instant))
    return passed, ("today", "yesterday")[passed] if passed < 2 else f"{passed} days ago"


def age_warning(age_days: int) -> str:
    """Return the warning of a hit past one day, which should be checked before it is acted on; "" for a fresh one."""
    return f"{age_days} days old: verify before you act on it" if age_days > FRESH_DAYS else ""


def as_shown(found: dict[str, Any]) -> dict[str, Any]:
    """Return what is said of a document that is not clean, as it may be shown."""
    from core.redaction import shown_value

    cleaned: dict[str, Any] = shown_value(found)
    return cleaned


def clear(scores: Sequence[float]) -> int:
    """Return how many of the best hits come before the scores fall off: the first by less than four fifths."""
    for place in range(1, len(scores)):
        if scores[place] < _FALL * scores[place - 1]:
            return place
    return len(scores)


def dates_asked(span: Span) -> dict[str, str]:
    """Return the date that a question names: its ``phrase``, and the days ``since`` and ``until`` (ISO, inclusive)."""
    first, last = clock.day_of(span.since), clock.day_of(span.until - 1)
    return {"phrase": span.phrase, "since": clock.day_iso(first), "until": clock.day_iso(last)}


def off_date(asked: dict[str, str]) -> str:
    """Return the warning of a hit from other days than a question names."""
    since, until = asked["since"], asked["until"]
    return f'not from "{asked["phrase"]}" ({since if since == until else f"{since} to {until}"})'


def entries(config: Config, inquiry: Inquiry, hits: Iterable[Hit]) -> list[dict[str, Any]]:
    """Return the hits of an inquiry as they may be shown, in their order."""
    return [entry(rank, hit, config, inquiry.now, inquiry) for rank, hit in enumerate(hits, 1)]


def entry(rank: int, hit: Hit, config: Config, now: int, inquiry: Inquiry | None = None) -> dict[str, Any]:
    """Return the ``rank``-th hit as it is seen at ``now`` (epoch seconds), as it may be shown.

    ``inquiry`` has what is known of the hit besides: its validity, its other representation, the date asked for.
    """
    days, label = age(hit.date, now)
    date, machine, trust = clock.iso(hit.date), machine_of(hit.path), config.trust_of(hit.collection, hit.path)
    folder = config.collections.get(hit.collection)
    source, kind, project, successor = map(hit.field, ("source", "type", "project", "superseded_by"))
    span, twin = (inquiry.span, inquiry.twins.get(hit.id)) if inquiry is not None else (None, None)
    validity = validity_of(hit, trust, successor, inquiry)
    result: dict[str, Any] = {
        "rank": rank,
        "score": round(hit.score, 4),
        "docid": docid(hit.hash),
        "uri": uri(hit.collection, hit.path),
        "path": join(folder.path, hit.path) if folder else None,
        "collection": hit.collection,
        "source": source,
        "type": kind,
        "title": hit.title,
        "line": hit.line,
        "snippet": hit.snippet,
        "date": date,
        "age_days": days,
        "age": label,
        "stale": days > FRESH_DAYS,
        "trust": trust,
        "project": project,
        "resume": resume(hit.fields, config.home),
        "validity": validity,
    }
    if hit.owner:
        # Its file and its session are on another machine.
        result.update(uri=uri_of(hit), path=None, resume=None, trust=hit.trust, owner=hit.owner)
    if machine:
        result["machine"] = machine
    if hit.quotes:
        result["quotes"] = [{"who": each.who, "line": each.line, "text": each.text} for each in hit.quotes]
    if successor:
        result["superseded_by"] = successor
    warnings = [f"superseded by {successor}" if successor else "", "", age_warning(days)]
    if validity["by"] and not successor:
        from runtime.validity.validity import words

        warnings[0] = words(validity)
    # A document without a date of its own may be of any day.
    if span is not None and hit.dated and not span.match(hit.date, hit.ended):
        result["off_date"] = True
        warnings[1] = off_date(dates_asked(span))
    if any(warnings):
        result["warning"] = "; ".join(filter(None, warnings))
    if not hit.dated:
        result["date_source"] = "mtime"
    if twin is not None:
        result["representations"] = [place(each, config) for each in (hit, twin)]
    if inquiry is not None and inquiry.request.explain:
        result["explain"] = hit.parts
    return result if hit.is_clean and (twin is None or twin.is_clean) else as_shown(result)


def validity_of(hit: Hit, trust: str, successor: str | None, inquiry: Inquiry | None) -> dict[str, Any]:
    """Return the validity of a hit. One that was compared with nothing holds if a person said what the hit shows."""
    if inquiry is not None and hit.id in inquiry.validity:
        return inquiry.validity[hit.id]
    is_judged, is_stated = inquiry is not None and hit in inquiry.hits, (hit.trust or trust) in STATED
    if successor and (is_stated or not is_judged):
        return {"state": SUPERSEDED, "by": [{"entry_id": successor}]}
    is_said = is_judged and is_stated and (not hit.quotes or any(quote.who == "you" for quote in hit.quotes))
    return {"state": CURRENT if is_said else UNKNOWN, "by": []}


def nothing(config: Config, inquiry: Inquiry) -> dict[str, Any]:
    """Return what the envelope of an answer without hits has besides: the nearest ones, and the days around."""
    found: dict[str, Any] = {"error": "no_results"}
    if inquiry.abstained:
        found.update(abstained=True, nearest=entries(config, inquiry, inquiry.nearest))
    return found if inquiry.days is None else {**found, "days": inquiry.days}


def place(hit: Hit, config: Config) -> dict[str, Any]:
    """Return one representation, as an envelope has it."""
    return {
        "uri": uri_of(hit),
        "docid": docid(hit.hash),
        "trust": hit.trust or config.trust_of(hit.collection, hit.path),
        "line": hit.line,
        "score": round(hit.score, 4),
    }


class Freshness:
    """``complete``: a run has ended. ``current``: with the collections that are configured now.

    ``embedded``: how many documents have vectors of ``space`` (``provider/model``, the configured one), ``embedded_at``
    since when.
    """

    __slots__ = ("as_of", "complete", "current", "documents", "embedded", "embedded_at", "pending", "space")

    if TYPE_CHECKING:
        as_of: str | None
        documents: int
        embedded: int
        embedded_at: str | None

    def __init__(self, home: Home, config: Config, connection: apsw.Connection) -> None:
        self.space = config.space
        keys = ("complete", "as_of", "documents", f"embedded:{config.space}", f"embedded_at:{config.space}")
        rows: Any = connection.execute("SELECT key, value FROM brain_state WHERE key IN (?, ?, ?, ?, ?)", keys)
        complete, as_of, documents, embedded, embedded_at = map(dict(rows.fetchall()).get, keys)
        self.documents, self.embedded = documents or 0, embedded or 0
        self.complete, self.current = complete is not None, complete == fingerprint(config)
        # How many wait is not known where other collections were indexed: at least one.
        self.pending = max(int(not self.current), len(pulse.news(home, config)))
        self.as_of, self.embedded_at = as_of and clock.iso(as_of), embedded_at and clock.iso(embedded_at)

    def envelope(self) -> dict[str, Any]:
        """Return the ``freshness`` of an answer."""
        lacking = max(0, self.documents - self.embedded)
        fresh = self.embedded_at is not None and not lacking
        return {
            "lexical": {"fresh": self.pending == 0, "pending": self.pending, "as_of": self.as_of},
            "semantic": {"fresh": fresh, "pending": lacking, "as_of": self.embedded_at},
        }

    def waiting(self) -> str:
        """Return what an empty answer may lack, as an end to its reason; "" if everything is indexed."""
        said = ""
        if self.pending:
            said += f"; at least {self.pending} changed since the last index run and may hold it"
        if self.embedded and self.embedded < self.documents:
            from core.counting import counted

            said += f"; {counted(self.documents - self.embedded, 'document')} without vectors yet"
        return said
