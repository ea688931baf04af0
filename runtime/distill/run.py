"""A run of the distiller: which documents, one after the other, each written, indexed and off the queue at once.

Interrupted at any point, it goes on where it was: a document waits until its distillate is on disk.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections import Counter
from dataclasses import dataclass, field
from os.path import basename, join
from typing import TYPE_CHECKING, Any

from core import clock
from core.errors import BadInput, BrainError, LockContention
from core.files import write_atomic
from core.locks import FileLock
from core.tombstones import Tombstones
from ingest.names import stem
from runtime import pending_queue
from runtime.distill import source as sources
from runtime.distill.distiller import OutOfBudget, Unfit

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from core.config import Config
    from core.home import Home
    from runtime.distill.distiller import Distiller
    from runtime.distill.source import Source

    Progress = Callable[[int, int, str], None]
    Key = tuple[str, str]

_LISTED = 50
# As long as a first index of years may take: a model was paid for what waits.
_LOCK_WAIT_S = 600.0


@dataclass(slots=True)
class Asked:
    """What is to be distilled: documents (``keys``), the queue, or all that lack a distillate or have a stale one.

    ``since`` is in epoch seconds, ``limit`` 0 for no limit.
    """

    keys: list[tuple[str, str]] = field(default_factory=list)
    from_pending: bool = False
    since: int | None = None
    limit: int = 0
    dry_run: bool = False


class Report:
    """What a run did: counts by outcome, the documents written, the failures."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.written: list[dict[str, Any]] = []
        self.failed: list[dict[str, Any]] = []
        self.would: list[str] = []
        self.tokens = 0
        self.cost_usd = 0.0
        self.statements = 0
        self.stopped = ""
        self.centrality = ""

    def envelope(self, started: float, distiller: str, waiting: int) -> dict[str, Any]:
        """As ``brain distill --json`` prints it."""
        found: dict[str, Any] = {
            "schema": 1,
            "ok": True,
            "took_ms": round((time.perf_counter() - started) * 1000, 1),
            "distiller": distiller,
            "distilled": self.counts["written"],
            "centrality": self.centrality or None,
            "unchanged": self.counts["unchanged"],
            "empty": self.counts["empty"],
            "gone": self.counts["gone"],
            "synthetic": self.counts["synthetic"],
            "dead": self.counts["dead"],
            "statements": self.statements,
            "tokens": self.tokens,
            "cost_usd": round(self.cost_usd, 6),
            "waiting": waiting,
            "written": self.written[:_LISTED],
            "failed": self.failed[:_LISTED],
        }
        if self.would:
            found["would"] = self.would
        if self.stopped:
            found["stopped"] = self.stopped
        return found


def run(
    home: Home, config: Config, distiller: Distiller, asked: Asked, progress: Progress | None = None
) -> dict[str, Any]:
    """Distil what is asked for; returns the envelope of ``brain distill``.

    Raises LockContention where another run is at it, BadInput where there is no collection ``distilled``, and what the
    distiller raises where it cannot work at all: what was not reached then still waits.
    """
    started = time.perf_counter()
    sources.file_of(config, sources.DISTILLED, "")
    home.make()
    report = Report()
    queue = pending_queue.PendingQueue(home)
    with contextlib.ExitStack() as held:
        try:
            held.enter_context(FileLock(join(home.state, "distill.lock"), 0))
        except LockContention:
            raise LockContention("another run of brain distill is at work", "wait for it to end") from None
        keys = _chosen(home, config, asked)
        step = _Step(home, config, distiller, queue, report)
        for done, key in enumerate(keys):
            if progress is not None:
                progress(done, len(keys), "distilling")
            if asked.limit and report.counts["written"] + len(report.would) >= asked.limit:
                break
            try:
                step.take(key, asked)
            except OutOfBudget as reason:
                report.stopped = str(reason)
                report.tokens += reason.tokens
                report.cost_usd += reason.cost_usd
                break
    return report.envelope(started, distiller.name, len(pending_queue.read(home)))


class _Step:
    """One document's way."""

    def __init__(
        self, home: Home, config: Config, distiller: Distiller, queue: pending_queue.PendingQueue, report: Report
    ) -> None:
        self._home = home
        self._config = config
        self._distiller = distiller
        self._queue = queue
        self._report = report

    def take(self, key: Key, asked: Asked) -> None:
        """Distil one document, or say why not. Raises OutOfBudget, BrainError."""
        source = sources.load(self._config, *key)
        outcome = self._without(source, asked)
        if outcome or source is None:
            if outcome == "early":
                return
            self._report.counts[outcome] += 1
            if not asked.dry_run:
                if outcome == "gone":
                    self._drop(key)
                self._done(key, source)
            return
        if asked.dry_run:
            self._report.would.append(source.uri)
            return
        try:
            made = self._distiller.distil(source)
        except Unfit as reason:
            self._bury(source, str(reason), reason.attempts, reason.tokens, reason.cost_usd)
            return
        except (BrainError, OutOfBudget):
            raise
        except Exception as error:  # noqa: BLE001  # one document's oddity must not keep all others waiting
            self._bury(source, f"{type(error).__name__}: {error}", 1, 0, 0.0)
            return
        self._report.tokens += made.tokens
        self._report.cost_usd += made.cost_usd
        self._report.centrality = made.centrality
        if not made.found.cited():
            self._report.counts["empty"] += 1
        else:
            data = sources.compose(source, made.found, self._distiller.name, made.model, made.tokens, made.centrality)
            outcome = self._write(key, source, data)
            if outcome != "written":
                self._report.counts[outcome] += 1
                self._done(key, None if outcome == "gone" else source)
                return
            self._report.counts["written"] += 1
            self._report.statements += made.found.count()
            self._report.written.append(
                {
                    "uri": f"qmd://{sources.DISTILLED}/{source.path}",
                    "source_uri": source.uri,
                    "title": source.title,
                    "statements": made.found.count(),
                    "bytes": len(data),
                    "source_bytes": len(source.body.encode("utf-8", "replace")),
                    "tokens": made.tokens,
                }
            )
        self._done(key, source)

    def _without(self, source: Source | None, asked: Asked) -> str:
        """Why a document needs no distilling; "" where it does."""
        if source is None or _is_forgotten(self._home, source):
            return "gone"
        if source.is_synthetic:
            return "synthetic"
        if asked.since is not None and _ended(source) < asked.since:
            return "early"
        before = sources.known(self._config, source.path)
        same = before.get("source_hash") == source.hash and before.get("distiller") == self._distiller.name
        return "unchanged" if same else ""

    def _write(self, key: Key, source: Source, data: bytes) -> str:
        """On disk first, then into the index, where a failure leaves it to the next index run.

        A model takes minutes, in which the session may go on, or be forgotten: says ``changed`` or ``gone`` then, and
        writes nothing. Whoever forgets holds the same lock.
        """
        from runtime.indexing import index_file

        file = sources.file_of(self._config, sources.DISTILLED, source.path)
        with FileLock(join(self._home.state, "index.lock"), _LOCK_WAIT_S):
            if not _is_forgotten(self._home, source) and not sources.changed(self._config, source):
                write_atomic(file, data)
                index_file(self._home, self._config, sources.DISTILLED, file)
                return "written"
            there = os.path.exists(sources.file_of(self._config, *key))
        if there and not _is_forgotten(self._home, source):
            return "changed"
        self._drop(key)
        return "gone"

    def _drop(self, key: Key) -> None:
        """Remove what was distilled from a document that is gone, from disk and from the index."""
        import apsw

        from qmd.store import open_index, translate
        from qmd.writer import drop

        _, path = key
        with FileLock(join(self._home.state, "index.lock"), _LOCK_WAIT_S):
            source = sources.load(self._config, *key)
            if source is not None and not _is_forgotten(self._home, source):
                return
            if sources.known(self._config, path).get("source_uri") != f"qmd://{key[0]}/{path}":
                return
            os.unlink(sources.file_of(self._config, sources.DISTILLED, path))
            if not os.path.exists(self._home.index):
                return
            connection = open_index(self._home.index, write=True)
            try:
                drop(connection, sources.DISTILLED, path)
            except apsw.Error as error:
                raise translate(error, self._home.index) from error
            finally:
                connection.close()

    def _done(self, key: Key, source: Source | None) -> None:
        still = None if source is None else lambda: not sources.changed(self._config, source)
        self._queue.end(*key, "done", still)

    def _bury(self, source: Source, reason: str, attempts: int, tokens: int, cost_usd: float) -> None:
        from core.text import one_line

        self._report.tokens += tokens
        self._report.cost_usd += cost_usd
        self._report.counts["dead"] += 1
        told = {"reason": one_line(reason, 300), "attempts": attempts, "distiller": self._distiller.name}
        self._report.failed.append({"uri": source.uri, **told})
        self._queue.end(
            source.collection,
            source.path,
            "dead",
            lambda: not sources.changed(self._config, source),
            source_hash=source.hash,
            **told,
        )


def _is_forgotten(home: Home, source: Source) -> bool:
    """Whether a tombstone covers a session: by what it says of itself, or by the name that its unit gives it."""
    kind = str(source.meta.get("source") or "")
    session, parent, agent = (source.meta.get(name) for name in ("session_id", "parent", "agent_id"))
    held = Tombstones(home)
    if held.covers(kind, f"{parent}\t{agent}" if parent and agent else str(session or "")):
        return True
    name = basename(source.path)
    return any(f"{stem(unit)}.md" == name for unit in held.of(kind))


def _chosen(home: Home, config: Config, asked: Asked) -> list[Key]:
    """The documents in the order in which they are taken: named ones, the queue oldest first, or all by name."""
    if asked.keys:
        return list(dict.fromkeys(asked.keys))
    if asked.from_pending:
        return [(str(row["collection"]), str(row["path"])) for row in pending_queue.read(home)]
    return [(sources.SESSIONS, name) for name in sources.names(config, sources.SESSIONS)]


def resolve(home: Home, config: Config, references: Sequence[str]) -> list[Key]:
    """The sessions that references name; a distilled document stands for its session. Raises as ``hits.resolve``."""
    import apsw

    from qmd.store import open_index, translate
    from runtime import hits

    connection = open_index(home.index)
    try:
        rows = [_session(hits.resolve(connection, config, reference)) for reference in references]
    except apsw.Error as error:
        raise translate(error, home.index) from error
    finally:
        connection.close()
    return [row for row in rows if row]


def _session(row: Any) -> Key:
    if row.collection == sources.DISTILLED:
        return sources.SESSIONS, str(row.path)
    if row.collection != sources.SESSIONS:
        raise BadInput(
            f"{row.collection}/{row.path} is no session: only sessions are distilled", 'brain ask "…" -c brain'
        )
    return str(row.collection), str(row.path)


def _ended(source: Source) -> int:
    return clock.parse_iso(str(source.meta.get("ended") or source.meta.get("date") or "")) or 0
