"""The rehearsal of ``brain index``: the same choice of sources, and nothing written."""

from __future__ import annotations

import time
from os.path import exists, join
from typing import TYPE_CHECKING, Any

import apsw

from core import clock
from core.errors import Internal
from ingest import registry
from ingest.pipeline.rehearsal import rehearse
from ingest.pipeline.state import FILE
from qmd.index.store import disk_full, open_index
from runtime.capture.indexing import chosen, projects

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from core.home import Home


def dry_run(
    home: Home,
    *,
    source: str | None = None,
    roots: Sequence[str] | None = None,
    trust_stat: bool = False,
    rebuild: bool = False,
    progress: Callable[[int, int, str], None] | None = None,
) -> dict[str, Any]:
    """Return the envelope of ``brain index --dry-run --json``. Raises BadInput, and Internal if the state is
    damaged."""
    started = time.perf_counter()
    found: dict[str, Any] = {}
    for name in chosen(home, source, roots):
        try:
            if registry.source(name).reads_projects and not roots:
                from ingest.repositories import Worked

                roots = Worked(_projects(home))
            found[name] = rehearse(home, name, roots, trust_stat=trust_stat, rebuild=rebuild, progress=progress)
        except apsw.Error as error:
            path = join(home.state, FILE)
            full = disk_full(error, path)
            if full is not None:
                raise full from error
            raise Internal(f"cannot read {path}: {error}", f"mv {path} {path}.damaged; brain index") from error
    return {
        "schema": 1,
        "ok": True,
        "dry_run": True,
        "took_ms": round((time.perf_counter() - started) * 1000, 1),
        "as_of": clock.iso(clock.now()),
        "sources": found,
    }


def _projects(home: Home) -> list[str]:
    """Return the folders that sessions worked in, as the index has them."""
    if not exists(home.index):
        return []
    connection = open_index(home.index)
    try:
        return projects(connection)
    finally:
        connection.close()
