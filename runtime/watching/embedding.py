"""Background embedding: compute missing embeddings within a time budget, by one process at a time."""

from __future__ import annotations

import os
import time
from os.path import join
from typing import TYPE_CHECKING, Any

import apsw

from core import clock
from core.errors import BadInput, DiskFull, EngineMissing, from_os
from core.home import make_private
from qmd.index.store import open_index, translate

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from core.config import Config
    from core.home import Home

    Progress = Callable[[int, int, str], None]

LOCK = "embed.lock"
# A rebuild of the index holds its lock for minutes; vectors can wait.
_BUSY_MS = 600_000
# How many texts that a provider refused are listed; all are counted.
_LISTED = 20
_NICE = 10


def embed(
    home: Home,
    config: Config,
    environ: Mapping[str, str],
    *,
    provider: str = "",
    model: str = "",
    collections: Sequence[str] = (),
    force: bool = False,
    budget_s: float | None = None,
    cluster: str = "",
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Compute missing embeddings and return the envelope of ``brain embed --json``.

    ``provider`` and ``model`` replace the configured ones for this run; a ``cluster`` computes the local one. Raises
    BadInput, EngineMissing, LockContention where another run is under way, Refused, and what the provider raises.
    """
    from qmd.embedding.embedder import alone
    from qmd.embedding.embedder import embed as run
    from qmd.embedding.provider import make

    started = time.perf_counter()
    deadline = None if budget_s is None else time.monotonic() + budget_s
    for name in collections:
        if name not in config.collections:
            raise BadInput(f"there is no collection {name!r}", f"collections: {', '.join(config.collections)}")
    if not os.path.exists(home.index):
        raise EngineMissing(f"there is no index yet at {home.index}", "brain index")
    with alone(join(home.state, LOCK)):
        connection = open_index(home.index, write=True, busy_ms=_BUSY_MS)
        try:
            source = make(config.section("embedding"), environ, provider, model, cluster=cluster)
            try:
                begun = time.perf_counter()
                report = run(
                    connection,
                    source,
                    collections=collections,
                    force=force,
                    deadline=deadline,
                    progress=progress,
                )
                embedding_s = time.perf_counter() - begun
                table, reason = _query_table(home, connection, source, report.space, deadline, progress)
            finally:
                source.close()
        except apsw.Error as error:
            raise translate(error, home.index) from error
        finally:
            connection.close()
    took = time.perf_counter() - started
    waiting = report.pending
    return {
        "schema": 1,
        "ok": True,
        "took_ms": round(took * 1000, 1),
        "embedding_ms": round(embedding_s * 1000, 1),
        "as_of": clock.iso(clock.now()),
        "provider": report.space.provider,
        "model": report.space.model,
        "dimensions": report.dimensions,
        "texts": report.texts,
        "chunks": report.chunks,
        "others_cpu": round(report.others, 2),
        "failed": len(report.failed),
        "failures": [{"hash": digest, "reason": reason} for digest, reason in list(report.failed.items())[:_LISTED]],
        "pending": sum(waiting.values()),
        "pending_by_collection": waiting,
        "renewing": sum(report.renewing.values()),
        "renewing_by_collection": report.renewing,
        "query_table": table,
        "query_table_reason": reason or None,
    }


def _query_table(
    home: Home, connection: apsw.Connection, source: Any, space: Any, deadline: float | None, progress: Progress | None
) -> tuple[str, str]:
    """Bring the table up to date by which cold processes encode questions; return (state, reason).

    The state is ``fitted``, ``current``, ``later`` or ``none``. The reason says why it waits, if not for time.

    All vectors are stored by then: a full disk keeps the table waiting, and is no failure of the run.
    """
    try:
        return _made_ready(home, connection, source, space, deadline, progress)
    except (apsw.Error, OSError) as error:
        failure = translate(error, home.index) if isinstance(error, apsw.Error) else from_os(error)
        if not isinstance(failure, DiskFull):
            raise
        return "later", failure.message


def _made_ready(
    home: Home, connection: apsw.Connection, source: Any, space: Any, deadline: float | None, progress: Progress | None
) -> tuple[str, str]:
    from qmd.index.store import Transaction
    from qmd.vectors import static_fit, syntax

    with Transaction(connection):
        syntax.measure_code(connection)
    if not static_fit.can(source):
        return "none", ""
    # The present vectors are of another state of the model, so this state cannot make their table.
    if space.fingerprint != source.fingerprint or not static_fit.due(connection, space):
        return "current" if static_fit.exists(connection, space) else "none", ""
    folder = join(home.state, "models")
    make_private(folder)
    # Check the room first: a table that cannot be written costs a minute in each run.
    wanted, disk = static_fit.room(space, source, folder), os.statvfs(folder)
    if disk.f_blocks and disk.f_bavail * disk.f_frsize < wanted:  # some network file systems report nothing
        return "later", f"the disk is full: it takes {wanted / 1e6:.0f} MB"
    if static_fit.fit(connection, space, source, folder, deadline, progress) is None:
        return "later", ""
    return "fitted", ""


def be_nice() -> None:
    """Lower this process's priority."""
    os.nice(_NICE)
