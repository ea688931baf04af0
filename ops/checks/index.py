"""The index: whole, consistent with the markdown on disk, and fresh."""

from __future__ import annotations

import os
import time
from collections import Counter
from typing import TYPE_CHECKING, Any

import apsw

from core.clock import parse_iso
from core.config import load
from core.counting import counted
from core.errors import BadInput, BrainError, DiskFull
from core.sqlite import checkpoint
from ops.checks.finding import CheckContext, Finding
from qmd.index import catalogue, completeness
from qmd.index.schema import has_vectors
from qmd.index.semantic import spaces
from qmd.index.store import disk_full
from runtime.asking.absence import missing
from runtime.capture.indexing import index

if TYPE_CHECKING:
    from collections.abc import Iterator

_REBUILD = "brain index --rebuild"
_WAL_BYTES = 256_000_000
_PENDING_SHARE = 0.05
_STALE_HOURS = 24.0
_SEMANTIC_DAYS = 3.0
# How long after a document is written to disk it is in the index, if no run is going on.
_SETTLE_S = 0.5


def integrity(context: CheckContext) -> Iterator[Finding]:
    """The index has no damage, and what it holds follows from its texts."""
    if not context.has_index:
        yield Finding(
            "index-missing", "error", f"there is no index at {context.home.index}", "brain index", _index(context)
        )
        return
    try:
        fault = context.index_fault
    except BadInput:
        raise  # permissions: nothing is damaged
    except (BrainError, apsw.Error) as error:
        if not _is_of_the_machine(context, error):
            yield Finding("index-damaged", "error", str(error), _REBUILD, _rebuild(context))
        return
    if fault:
        yield Finding("index-damaged", "error", f"the index is damaged: {fault}", _REBUILD, _rebuild(context))


def _is_of_the_machine(context: CheckContext, error: Exception) -> bool:
    """Return True if a full disk or a permission prevents reading the index: each is a finding of its own."""

    if isinstance(error, apsw.Error):
        return disk_full(error, context.home.index) is not None
    return isinstance(error, DiskFull | BadInput)


def full_text(context: CheckContext) -> Iterator[Finding]:
    """Every active document has text, full-text rows, facts and passages; a damaged index is not counted."""
    if _is_unsound(context):
        return
    for name, found in completeness.gaps(context.index).items():
        if found:
            yield Finding(f"index-{name}", "error", f"{found} {_LACKING[name]}", _REBUILD, _rebuild(context))


def _is_unsound(context: CheckContext) -> bool:
    """Return True if there is no index or ``integrity`` has a finding."""
    try:
        return not context.has_index or bool(context.index_fault)
    except (BrainError, apsw.Error):
        return True


# By what ``completeness.gaps`` counts.
_LACKING = {
    "content": "documents have no text in the index",
    "fts": "documents are missing from the full-text index",
    "facts": "documents have no facts (dates, fields)",
    "passages": "documents are not cut into passages",
}


def disk_and_index(context: CheckContext) -> Iterator[Finding]:
    """The index has the documents on disk (`pending_share`)."""
    for entry in context.report.get("collections", ()):
        if not isinstance(entry, dict) or "error" in entry:
            continue
        pending, documents = entry.get("pending") or 0, entry.get("documents") or 0
        if entry.get("missing") and _is_own(context, entry["path"]):
            yield from _missing(context, entry["name"])
        if pending and pending > max(20, documents * context.threshold("pending_share", _PENDING_SHARE)):
            yield Finding(
                f"lexical-stale:{entry['name']}",
                "warning",
                f"{counted(pending, 'file')} of {entry['name']} to be indexed ({documents} are)",
                "brain index --new",
                _index(context),
            )
        if entry.get("unreadable"):
            yield Finding(
                f"unreadable:{entry['name']}",
                "warning",
                f"{counted(entry['unreadable'], 'file')} of {entry['name']} cannot be read",
                f"ls -lR {entry['path']}",
            )


def _is_own(context: CheckContext, folder: str) -> bool:
    """Return True if only commands of the brain write to a folder, each of which then indexes what it wrote."""
    return folder.startswith(os.path.join(context.home.root, ""))


def _missing(context: CheckContext, name: str) -> Iterator[Finding]:
    """Find the documents on disk that the index lacks, except those that a command is writing now."""

    if not context.has_index:
        return
    time.sleep(_SETTLE_S)
    if count := missing(context.home, context.config, name):
        yield Finding(
            f"index-lacks:{name}",
            "error",
            f"{counted(count, 'document')} of {name} on disk {'is' if count == 1 else 'are'} not in the index",
            "brain index",
            _index(context),
        )


def lexical(context: CheckContext) -> Iterator[Finding]:
    """If transcripts wait, an index run has ended lately (`lexical_hours`)."""
    waiting = context.report["transcripts"].get("waiting") or 0
    as_of = context.report["index"].get("as_of")
    if not waiting or not as_of:
        return

    hours = (context.now - (parse_iso(as_of) or context.now)) / 3600
    if hours > context.threshold("lexical_hours", _STALE_HOURS):
        yield Finding(
            "lexical-stale",
            "warning",
            f"{waiting} transcripts wait, and the last index run was {hours:.0f} hours ago",
            "brain index --new",
            _index(context),
        )


def vectors(context: CheckContext) -> Iterator[Finding]:
    """The vectors are complete and not far behind the documents (`semantic_days`)."""
    found = context.report.get("semantic") or {}
    if "error" in found:
        yield Finding("vectors", "error", str(found["error"]), "brain embed -f")
        return
    if found.get("why"):
        yield Finding("embedder", "error", f"nothing can be embedded: {found['why']}", str(found["fix"]))

    try:
        if not context.has_index or not has_vectors(context.index):
            return
        spaces.load(context.index)
        for space in spaces.listed(context.index):
            context.index.execute(f'SELECT rowid FROM "{space.table}" LIMIT 1').fetchall()  # noqa: S608
            row = context.index.execute(f'SELECT count(*) FROM "{space.table}_rowids"').fetchone()  # noqa: S608
            there, wanted = int(row[0]) if row else 0, spaces.count(context.index, space)
            if there < wanted:
                said = f"{wanted - there} of {wanted} vectors of {space.provider}/{space.model} are gone"
                yield Finding("vectors", "error", said, "brain embed -f")
    except (BrainError, apsw.Error) as error:
        if _is_of_the_machine(context, error):
            return
        yield Finding("vectors", "error", f"the vectors cannot be read: {error}", "brain embed -f")
        return
    pending, as_of = found.get("pending") or 0, found.get("as_of")
    if not pending or not as_of:
        return

    days = (context.now - (parse_iso(as_of) or context.now)) / 86_400
    if days > context.threshold("semantic_days", _SEMANTIC_DAYS):
        yield Finding(
            "semantic-stale",
            "warning",
            f"{counted(pending, 'document')} to be embedded, for {counted(round(days), 'day')}",
            "brain embed",
        )


def log_size(context: CheckContext) -> Iterator[Finding]:
    """The write-ahead log is small (`wal_bytes`)."""
    path = f"{context.home.index}-wal"
    try:
        size = os.stat(path).st_size
    except OSError:
        return
    if size > context.threshold("wal_bytes", _WAL_BYTES):
        yield Finding(
            "wal", "warning", f"{path} has {size / 1e6:,.0f} MB", "brain doctor --fix", lambda: _checkpoint(context)
        )


def contamination(context: CheckContext) -> Iterator[Finding]:
    """No collection crowds the others out of the recent documents (`recent_share`)."""
    if not context.has_index:
        return
    since = int(context.now) - 7 * 86_400
    try:
        rows = list(catalogue.walk(context.index, ("synthetic",), since))
    except (BrainError, apsw.Error):
        return  # reported by the check of the index's integrity
    counts = Counter(collection for _, collection, *_, synthetic in rows if synthetic != 1)
    total = counts.total()
    if total < 20 or len(counts) < 2:
        return
    ((name, count),) = counts.most_common(1)
    if count / total > context.threshold("recent_share", 0.8):
        yield Finding(
            "recent-contaminated",
            "notice",
            f"{round(100 * count / total)} % of what is recent is of {name}",
            f"set a quota for {name} in collections.yml",
        )


def _index(context: CheckContext) -> Any:
    def repair() -> str:
        report = index(context.home, load(context.home), trust_stat=True)
        return f"indexed in {report['took_ms'] / 1000:.1f} s"

    return repair


def _rebuild(context: CheckContext) -> Any:
    def repair() -> str:
        context.close()
        context.__dict__.pop("index", None)
        report = index(context.home, load(context.home), trust_stat=True, rebuild=True)
        return f"the index was rebuilt from the markdown in {report['took_ms'] / 1000:.1f} s"

    return repair


def _checkpoint(context: CheckContext) -> str:
    if checkpoint(context.home.index):
        return "the write-ahead log was written back"
    return "the write-ahead log was written back as far as a reader lets: brain serve --stop, then once more"


CHECKS = (integrity, full_text, disk_and_index, lexical, vectors, log_size, contamination)
