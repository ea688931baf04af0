"""The sources: none is silent, no record is unknown, no transcript expires unread, the archive keeps its size."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import apsw

from core.clock import parse_iso
from core.counting import counted
from core.errors import BrainError
from ingest import registry
from ops.checks.finding import CheckContext, Finding
from qmd.index import catalogue
from runtime.capture import demo
from runtime.distill_queue import read
from runtime.hooks import due, hooks

if TYPE_CHECKING:
    from collections.abc import Iterator

_SILENT_DAYS = 6.0
_FEWEST = 10
_QUEUE_DAYS = 6.0


def failures(context: CheckContext) -> Iterator[Finding]:
    """Every file of the sources was read completely."""
    for name, ledger in _ledgers(context):
        for key, kind, said in (
            ("failed_files", "source-failed", "could not be read"),
            ("partial", "source-damaged", "could be read only in part"),
        ):
            count = int(ledger.get(key) or 0)
            if count:
                message = f"{counted(count, 'file')} of {name} {said}"
                yield Finding(f"{kind}:{name}", "warning", message, "brain explain --json")


def drift(context: CheckContext) -> Iterator[Finding]:
    """Every kind of record is known to this version."""
    for name, ledger in _ledgers(context):
        unknown = ledger.get("unknown")
        if isinstance(unknown, dict) and unknown:
            kinds = ", ".join(list(unknown)[:5])
            yield Finding(
                f"drift:{name}",
                "warning",
                f"{name} writes {len(unknown)} kinds of records or fields that this version does not know: {kinds}",
                f"upgrade {registry.package(name)}; brain explain --json shows examples",
            )


def _by_source(connection: apsw.Connection) -> list[tuple[str, int, int, int]]:
    """Return (source, documents, last end, first date) of the dated documents of each source; epoch seconds."""
    found: dict[str, tuple[int, int, int]] = {}
    for _, _, _, _, date, ended, dated, source in catalogue.walk(connection, ("source",)):
        if dated:
            count, last, first = found.get(source, (0, ended, date))
            found[source] = (count + 1, max(last, ended), min(first, date))
    return [(source, *row) for source, row in found.items()]


def silence(context: CheckContext) -> Iterator[Finding]:
    """A source that brought documents regularly still does (`silent_days`)."""
    if not context.has_index or demo.is_there(context.home):
        return
    try:
        rows = _by_source(context.index)
    except (BrainError, apsw.Error):
        return  # `index.integrity` reports it
    limit = context.threshold("silent_days", _SILENT_DAYS)
    newest = max((ended for _, _, ended, _ in rows), default=0)
    for source, count, ended, first in rows:
        days = (context.now - ended) / 86_400
        # Silence is relative. A source with a session every other week is not silent after six days. None is silent
        # while its user does not work.
        usual = (ended - first) / 86_400 / max(1, count - 1)
        if (
            source
            and source != "note"
            and count >= _FEWEST
            and days > max(limit, 4 * usual)
            and newest - ended > 86_400
        ):
            yield Finding(
                f"silence:{source}",
                "notice",
                f"nothing of {source} for {days:.0f} days; it used to come every {usual:.1f} days",
                f"brain index --source {source}" if source != "article" else "brain add FILE",
            )


def expiry(context: CheckContext) -> Iterator[Finding]:
    """No transcript is about to be deleted by its vendor before it was archived."""
    found = context.report.get("expiry")
    if not isinstance(found, dict):
        return
    if "error" in found:
        yield Finding("expiry", "warning", str(found["error"]), str(found.get("fix") or "brain index"))
    elif number := found.get("unarchived"):
        yield Finding(
            "expiry",
            "warning",
            f"{number} transcript{' is' if number == 1 else 's are'} not archived and will be deleted within"
            f" {found.get('within_days')} days",
            "brain index --new",
        )


def size(context: CheckContext) -> Iterator[Finding]:
    """The archive is not larger than ``archive: {max_gb}``."""
    found = context.report.get("archive")
    if isinstance(found, dict) and found.get("over"):
        yield Finding(
            "archive-size",
            "warning",
            f"the archive takes {found['bytes'] / 1e9:.3g} GB, more than the {found['max_bytes'] / 1e9:g} GB of"
            " archive: {max_gb}; nothing is deleted",
            "raise max_gb in collections.yml, or: brain forget --until WHEN",
        )


def queue(context: CheckContext) -> Iterator[Finding]:
    """Distillation is not far behind (`distill_days`)."""

    waiting = read(context.home)
    if not waiting:
        return
    oldest = min((parse_iso(str(row.get("ts"))) or context.now for row in waiting), default=context.now)
    days = (context.now - oldest) / 86_400
    if days > context.threshold("distill_days", _QUEUE_DAYS):
        yield Finding(
            "distill-lag",
            "notice",
            f"{counted(len(waiting), 'session')} to be distilled, the oldest for {counted(round(days), 'day')}",
            "brain distill --from-pending",
        )


def missed(context: CheckContext) -> Iterator[Finding]:
    """No hook noted a transcript that nobody indexed."""

    notes = due.missed(context.home, context.now)
    if notes:
        yield Finding(
            "hook-missed",
            "warning",
            f"{len(notes)} transcripts that hooks reported are not indexed, such as {notes[0]['path']}",
            "brain hook drain",
            lambda: f"indexed {hooks.drain(context.home)} of {len(notes)}",
        )


def _ledgers(context: CheckContext) -> Iterator[tuple[str, dict[str, Any]]]:
    ledgers = context.report.get("ledger")
    if isinstance(ledgers, dict) and "error" not in ledgers:
        for name, ledger in ledgers.items():
            if isinstance(ledger, dict):
                yield name, ledger


CHECKS = (failures, drift, silence, expiry, size, queue, missed)
