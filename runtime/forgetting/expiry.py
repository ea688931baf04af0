"""Sessions that their tool will soon delete and that are not in the archive yet.

Claude Code deletes transcripts ``cleanupPeriodDays`` after their last activity (settings.json, 30 by default;
https://docs.claude.com/en/docs/claude-code/settings).
"""

from __future__ import annotations

import json
import os
import time
from os.path import join
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from core.home import Home
    from ingest.raw.store import SourceFile

DEFAULT_DAYS = 30
WITHIN_DAYS = 7
_DAY_S = 86_400
_MOST_DAYS = 1_000_000
# An administrator's settings for the whole machine go before a user's own.
MANAGED = (
    "/etc/claude-code/managed-settings.json",
    "/Library/Application Support/ClaudeCode/managed-settings.json",
)


def expiring(
    home: Home, *, within_days: int = WITHIN_DAYS, now: float | None = None, environ: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """The transcripts that Claude Code is about to delete.

    ``period_days``: the shortest of its settings; ``within_days``: as given; ``expiring``: transcripts that go
    within these days; ``unarchived``: those of them that the archive has not, or not as they are now; ``archived``: how
    many files of the source the archive holds; ``first``: when the first unarchived one goes, epoch seconds or None.
    Files of which no document is made (empty, forgotten, excluded) do not count. Raises OSError and apsw.Error.
    """
    from ingest import registry
    from ingest.archive import archive
    from ingest.pipeline.state import known, with_hidden

    instant = time.time() if now is None else now
    claude = registry.source("claude")
    roots = claude.default_roots(environ=environ)
    periods = {root: period(os.path.dirname(root)) for root in roots}
    held = archive.read(home, claude.name)
    rows = known(home, claude.name)
    total = 0
    unarchived: list[float] = []
    for root, days in periods.items():
        files = claude.discover([root])
        passed_over = {path for path, row in with_hidden(rows, files).items() if row.status == "skipped"}
        for file in files:
            if file.skip or not file.size or file.path in passed_over or claude.is_history(file.path):
                continue
            goes = file.mtime_ns / 1e9 + days * _DAY_S
            if goes > instant + within_days * _DAY_S:
                continue
            total += 1
            if not _is_held(file, held.get(file.path)):
                unarchived.append(goes)
    return {
        "period_days": min(periods.values(), default=DEFAULT_DAYS),
        "within_days": within_days,
        "expiring": total,
        "unarchived": len(unarchived),
        "archived": len(held),
        "first": int(min(unarchived)) if unarchived else None,
    }


def period(config: str) -> int:
    """Return ``cleanupPeriodDays`` of the settings in a folder such as ``~/.claude``, in days, else the default."""
    for path in (*MANAGED, join(config, "settings.local.json"), join(config, "settings.json")):
        try:
            with open(path, encoding="utf-8") as stream:
                settings = json.load(stream)
        except (OSError, ValueError, RecursionError):
            continue
        days = settings.get("cleanupPeriodDays") if isinstance(settings, dict) else None
        if isinstance(days, int | float) and not isinstance(days, bool) and days >= 0:
            return int(min(days, _MOST_DAYS))
    return DEFAULT_DAYS


def _is_held(file: SourceFile, entry: Any) -> bool:
    return entry is not None and entry.size == file.size and entry.mtime_ns == file.mtime_ns
