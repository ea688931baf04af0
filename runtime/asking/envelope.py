"""A hit as JSON: its docid and uri, its age and trust, how to resume its session (docs/ask.md)."""

from __future__ import annotations

from os.path import join

from core import clock
from ingest.roots import RESUME
from runtime.dates import dates

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from core.config import Collection, Config
    from qmd.search.snippets import Hit

SCHEME = "qmd://"
FRESH_DAYS = 1
_DOCID_DIGITS = 6
# Characters that no shell interprets.
_SAFE = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.")


def docid(digest: str) -> str:
    """Return ``#`` and the first six digits of a content hash, as qmd shows it."""
    return "#" + digest[:_DOCID_DIGITS]


def uri(collection: str, path: str) -> str:
    """Return ``qmd://collection/path``; the path is literal, as qmd stores and prints it."""
    return f"{SCHEME}{collection}/{path}"


def resume(fields: dict[str, Any]) -> str | None:
    """Return the command that resumes a session, None if its source has none.

    A subagent is resumed by its parent. A session without a transcript and a saved conversation cannot be resumed. An
    id that a shell would not read as one word gives None.
    """
    command, surface = RESUME.get(str(fields.get("source")), ("", ""))
    if not command or fields.get("partial") or fields.get("saved_as"):
        return None
    if surface and fields.get("surface") != surface:
        return None
    identity = str(fields.get("parent") or fields.get("session_id") or "")
    if not identity or identity.startswith("-") or not _SAFE.issuperset(identity):
        return None
    return f"{command} {identity}"


def age(instant: int, now: int) -> tuple[int, str]:
    """Return (age in days, ``today`` | ``yesterday`` | ``N days ago``) of an instant (epoch seconds) seen at ``now``.

    Calendar dates are compared, not spans of 86,400 seconds: 23:59 is yesterday two minutes later, and a day with a
    change of clocks counts once. An instant in the future (another machine's clock) is ``today``, 0 days old.
    """
    passed = max(0, dates.day_of(now) - dates.day_of(instant))
    if passed == 0:
        return 0, "today"
    return passed, "yesterday" if passed == 1 else f"{passed} days ago"


def is_stale(age_days: int) -> bool:
    """Return True if what the document says should be checked before it is acted on: past one day."""
    return age_days > FRESH_DAYS


def age_warning(age_days: int) -> str | None:
    """Return the warning for a stale hit, None for a fresh one."""
    return f"{age_days} days old: verify before you act on it" if is_stale(age_days) else None


def as_shown(found: dict[str, Any]) -> dict[str, Any]:
    """Return what is said of a document that is not clean, as it may be shown."""
    from core.redaction import shown_value

    cleaned: dict[str, Any] = shown_value(found)
    return cleaned


def entry(
    rank: int, hit: Hit, config: Config, now: int, *, twin: Hit | None = None, explain: bool = False
) -> dict[str, Any]:
    """Return the ``rank``-th hit as it is seen at ``now`` (epoch seconds), as it may be shown.

    ``twin`` is the other representation of the hit.
    """
    days, label = age(hit.date, now)
    source, kind, project, successor = hit.texts("source", "type", "project", "superseded_by")
    folder: Collection | None = config.collections.get(hit.collection)
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
        "date": clock.iso(hit.date),
        "age_days": days,
        "age": label,
        "stale": is_stale(days),
        "trust": folder.trust if folder else "note",
        "project": project,
        "resume": resume(hit.fields),
    }
    if hit.quotes:
        result["quotes"] = [{"who": each.who, "line": each.line, "text": each.text} for each in hit.quotes]
    if successor:
        result["superseded_by"] = successor
    warning = "; ".join(filter(None, (successor and f"superseded by {successor}", age_warning(days))))
    if warning:
        result["warning"] = warning
    if not hit.dated:
        result["date_source"] = "mtime"
    if twin is not None:
        result["representations"] = [place(each, config) for each in (hit, twin)]
    if explain:
        result["explain"] = hit.parts
    is_clean = hit.is_clean and (twin is None or twin.is_clean)
    return result if is_clean else as_shown(result)


def place(hit: Hit, config: Config) -> dict[str, Any]:
    """Return one representation, as an envelope has it."""
    folder = config.collections.get(hit.collection)
    return {
        "uri": uri(hit.collection, hit.path),
        "docid": docid(hit.hash),
        "trust": folder.trust if folder else "note",
        "line": hit.line,
        "score": round(hit.score, 4),
    }
