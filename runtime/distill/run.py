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
from typing import TYPE_CHECKING, Any, NoReturn

from core import clock
from core.counting import counted
from core.errors import BadInput, BrainError, EngineMissing, LockContention
from core.files import FileLock, write_atomic
from core.tombstones import Tombstones
from ingest.session.units import stem
from runtime import distill_queue
from runtime.capture import documents
from runtime.distill import distillate as sources
from runtime.distill.distiller import OutOfBudget, Unfit

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from core.config import Config
    from core.home import Home
    from runtime.distill.distillate import Source
    from runtime.distill.distiller import Distiller

    Progress = Callable[[int, int, str], None]
    Key = tuple[str, str]

_LISTED = 50
# So many documents in a row without a distillate say that the model, and no document, is at fault.
_IN_A_ROW = 3
# As long as a first index of years may take: a model was paid for what waits.
_LOCK_WAIT_S = 600.0


@dataclass(slots=True)
class Asked:
    """The documents to distill: documents (``keys``), the queue, or all that lack a distillate or have a stale one.

    ``since`` is in epoch seconds; ``limit`` bounds the documents that are tried, 0 for no limit; those that
    need no distillate, or have nothing to cite, do not count.
    """

    keys: list[tuple[str, str]] = field(default_factory=list)
    from_pending: bool = False
    since: int | None = None
    limit: int = 0
    dry_run: bool = False


class Report:
    """The result of a run: counts by outcome, the documents written, the failures."""

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
            "dead_before": self.counts["dead_before"],
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

    Raises LockContention if another run is at it, BadInput if there is no collection ``distilled``, and what the
    distiller raises where it cannot work at all: what was not reached then still waits. Raises EngineMissing if every
    document that was tried failed, or several in a row did.
    """
    started = time.perf_counter()
    sources.file_of(config, sources.DISTILLED, "")
    home.make()
    report = Report()
    queue = distill_queue.PendingQueue(home)
    with contextlib.ExitStack() as held:
        try:
            held.enter_context(FileLock(join(home.state, "distill.lock"), 0))
        except LockContention:
            raise LockContention("another run of brain distill is at work", "wait for it to end") from None
        documents.heal(home, config)
        keys = _chosen(home, config, asked)
        step = _Step(home, config, distiller, queue, report)
        for done, key in enumerate(keys):
            if progress is not None:
                progress(done, len(keys), "distilling")
            if asked.limit and step.tried + len(report.would) >= asked.limit:
                break
            try:
                step.take(key, asked)
            except OutOfBudget as reason:
                report.stopped = str(reason)
                report.tokens += reason.tokens
                report.cost_usd += reason.cost_usd
                break
        step.end()
    return report.envelope(started, distiller.name, len(distill_queue.read(home)))


class _Step:
    """One document's way."""

    def __init__(
        self, home: Home, config: Config, distiller: Distiller, queue: distill_queue.PendingQueue, report: Report
    ) -> None:
        self._home = home
        self._config = config
        self._distiller = distiller
        self._queue = queue
        self._report = report
        self._letters = {(row["collection"], row["path"]): row for row in distill_queue.dead(home)}
        self._unanswered: list[tuple[Source, Unfit]] = []
        self._failed_in_a_row = 0
        self._succeeded = 0
        self.tried = 0

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
            self.tried += 1
            self._fail(source, reason)
            return
        except (BrainError, OutOfBudget):
            raise
        except Exception as error:  # noqa: BLE001  # one document's oddity must not keep all others waiting
            self.tried += 1
            self._bury(source, f"{type(error).__name__}: {error}", 1)
            return
        self._succeeded += 1
        self._failed_in_a_row = 0
        self._bury_unanswered()
        self._report.tokens += made.tokens
        self._report.cost_usd += made.cost_usd
        self._report.centrality = made.centrality
        if not made.found.cited():
            self._report.counts["empty"] += 1
        else:
            self.tried += 1
            made.found.trim(int(sources.SHARE * len(source.body)) - len(f"# {source.title}\n"))
            data = sources.compose(source, made.found, self._distiller.name, made.model, made.tokens, made.centrality)
            # Of a few lines, origin and statements are more than there is.
            outcome = "empty" if len(data) >= source.size else self._write(key, source, data)
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
                    "bytes": len(made.found.body(source.title).encode()),
                    "source_bytes": len(source.body.encode("utf-8", "replace")),
                    "tokens": made.tokens,
                }
            )
        self._done(key, source)

    def _without(self, source: Source | None, asked: Asked) -> str:
        """Return why a document needs no distilling; "" if it does."""
        if source is None or _is_forgotten(self._home, source):
            return "gone"
        if source.is_synthetic:
            return "synthetic"
        if asked.since is not None and _ended(source) < asked.since:
            return "early"
        letter = self._letters.get((source.collection, source.path), {})
        if not (asked.keys or asked.from_pending) and self._is_made(letter, source):
            return "dead_before"  # it waits for a change, or to be named
        before = sources.known(self._config, source.path)
        return "unchanged" if self._is_made(before, source) else ""

    def _is_made(self, before: dict[str, Any], source: Source) -> bool:
        """Return True if a distillate's frontmatter, or a dead letter, is of the same text by the same distiller."""
        return before.get("source_hash") == source.hash and before.get("distiller") == self._distiller.name

    def _fail(self, source: Source, reason: Unfit) -> None:
        """Note a failure. Raises EngineMissing after several in a row."""
        self._report.tokens += reason.tokens
        self._report.cost_usd += reason.cost_usd
        self._failed_in_a_row += 1
        if reason.answered:
            self._bury_unanswered()
            self._bury(source, str(reason), reason.attempts)
        else:
            self._unanswered.append((source, reason))
        if self._failed_in_a_row >= _IN_A_ROW:
            self._give_up(str(reason))

    def end(self) -> None:
        """End the run. Raises EngineMissing if nothing succeeded and something failed."""
        if self._failed_in_a_row and not self._succeeded and not self._report.stopped:
            failed = self._report.failed
            self._give_up(str(self._unanswered[-1][1]) if self._unanswered else str(failed[-1]["reason"]))
        if self._succeeded:
            self._bury_unanswered()

    def _give_up(self, reason: str) -> NoReturn:
        name = self._distiller.name
        done = f"; {counted(self._succeeded, 'session')} distilled before" if self._succeeded else ""
        raise EngineMissing(
            f"{name} gave no usable answer for {counted(self._failed_in_a_row, 'session')} in a row: {reason}{done}",
            "check distill: in collections.yml, or --llm extractive; brain queue list --dead shows what was given up",
        )

    def _bury_unanswered(self) -> None:
        """The endpoint answers others: what it did not answer was at fault itself."""
        for source, reason in self._unanswered:
            self._bury(source, str(reason), reason.attempts)
        self._unanswered = []

    def _write(self, key: Key, source: Source, data: bytes) -> str:
        """On disk first, then into the index, where a failure leaves it to the next index run.

        A model takes minutes, in which the session may go on, or be forgotten: says ``changed`` or ``gone`` then, and
        writes nothing. Whoever forgets holds the same lock.
        """
        file = sources.file_of(self._config, sources.DISTILLED, source.path)
        with FileLock(join(self._home.state, "index.lock"), _LOCK_WAIT_S):
            if not _is_forgotten(self._home, source) and not sources.changed(self._config, source):
                with documents.writing(self._home, file) as note:
                    write_atomic(file, data)
                    documents.index_file(self._home, self._config, sources.DISTILLED, file)
                    note.indexed = True
                return "written"
            there = os.path.exists(sources.file_of(self._config, *key))
        if there and not _is_forgotten(self._home, source):
            return "changed"
        self._drop(key)
        return "gone"

    def _drop(self, key: Key) -> None:
        """Remove what was distilled from a document that is gone, from disk and from the index."""
        _, path = key
        with FileLock(join(self._home.state, "index.lock"), _LOCK_WAIT_S):
            source = sources.load(self._config, *key)
            if source is not None and not _is_forgotten(self._home, source):
                return
            if sources.known(self._config, path).get("source_uri") != f"qmd://{key[0]}/{path}":
                return
            file = sources.file_of(self._config, sources.DISTILLED, path)
            with documents.writing(self._home, file) as note:
                os.unlink(file)
                documents.drop_file(self._home, sources.DISTILLED, path)
                note.indexed = True

    def _done(self, key: Key, source: Source | None) -> None:
        still = None if source is None else lambda: not sources.changed(self._config, source)
        self._queue.end(*key, "done", still)

    def _bury(self, source: Source, reason: str, attempts: int) -> None:
        from core.text import one_line

        self._report.counts["dead"] += 1
        failure = {"reason": one_line(reason, 300), "attempts": attempts, "distiller": self._distiller.name}
        self._report.failed.append({"uri": source.uri, **failure})
        self._queue.end(
            source.collection,
            source.path,
            "dead",
            lambda: not sources.changed(self._config, source),
            source_hash=source.hash,
            **failure,
        )


def _is_forgotten(home: Home, source: Source) -> bool:
    """Return True if a tombstone covers a session: by what it says of itself, or by the name that its unit gives it."""
    kind = str(source.meta.get("source") or "")
    session, parent, agent = (source.meta.get(name) for name in ("session_id", "parent", "agent_id"))
    held = Tombstones(home)
    if held.covers(kind, f"{parent}\t{agent}" if parent and agent else str(session or "")):
        return True
    name = basename(source.path)
    return any(f"{stem(unit)}.md" == name for unit in held.of(kind))


def _chosen(home: Home, config: Config, asked: Asked) -> list[Key]:
    """Return the documents in the order in which they are taken: named ones, the queue oldest first, or all by name."""
    if asked.keys:
        return list(dict.fromkeys(asked.keys))
    if asked.from_pending:
        return [(str(row["collection"]), str(row["path"])) for row in distill_queue.read(home)]
    return [(sources.SESSIONS, name) for name in sources.names(config, sources.SESSIONS)]


def resolve(home: Home, config: Config, references: Sequence[str]) -> list[Key]:
    """Return the sessions that references name, a distilled document its session. Raises as ``documents.resolve``."""
    import apsw

    from qmd.index.store import open_index, translate
    from runtime.asking import documents

    connection = open_index(home.index)
    try:
        rows = [_session(documents.resolve(connection, config, reference)) for reference in references]
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
