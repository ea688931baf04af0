"""Sessions that their tool will soon delete and that are not in the archive yet."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from core.home import Home
    from ingest.raw.store import SourceFile

WITHIN_DAYS = 7
_DAY_S = 86_400


def expiring(
    home: Home, *, within_days: int = WITHIN_DAYS, now: float | None = None, environ: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """Return the number of transcripts that their tools are about to delete (``Source.deletes_after``).

    ``period_days``: the shortest of the tools' periods; ``within_days``: as given; ``expiring``: transcripts that go
    within these days; ``unarchived``: those of them that the archive has not, or not as they are now; ``archived``: how
    many files of these tools the archive holds; ``first``: when the first unarchived one goes, epoch seconds or None.
    Files of which no document is made (empty, forgotten, excluded) do not count. Raises OSError and apsw.Error.
    """
    from ingest import registry
    from ingest.archive import archive
    from ingest.pipeline.state import known, with_hidden

    instant = time.time() if now is None else now
    total = archived = 0
    unarchived: list[float] = []
    periods: list[int] = []
    for source in (each for each in map(registry.source, registry.names()) if each.deletes_after_days):
        held = archive.read(home, source.name)
        rows = known(home, source.name)
        archived += len(held)
        for root in source.default_roots(environ=environ):
            periods.append(source.deletes_after(root))
            files = source.discover([root])
            passed_over = {path for path, row in with_hidden(rows, files).items() if row.status == "skipped"}
            for file in files:
                if file.skip or not file.size or file.path in passed_over or source.is_history(file.path):
                    continue
                goes = file.mtime_ns / 1e9 + periods[-1] * _DAY_S
                if goes > instant + within_days * _DAY_S:
                    continue
                total += 1
                if not _is_held(file, held.get(file.path)):
                    unarchived.append(goes)
    return {
        "period_days": min(periods, default=registry.source(registry.DEFAULT).deletes_after_days),
        "within_days": within_days,
        "expiring": total,
        "unarchived": len(unarchived),
        "archived": archived,
        "first": int(min(unarchived)) if unarchived else None,
    }


def _is_held(file: SourceFile, entry: Any) -> bool:
    return entry is not None and entry.size == file.size and entry.mtime_ns == file.mtime_ns
