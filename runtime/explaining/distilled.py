"""What ``explain`` says of distillation: how far it lags behind the sessions."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import apsw

from core import clock
from core.counting import counted
from core.errors import BrainError
from qmd.index import catalogue
from runtime import distill_queue
from runtime.distill.distillate import DISTILLED, SESSIONS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from core.home import Home

# After so many days of waiting a distilled layer is not late but stale: answers from it mislead.
LATE_DAYS = 2


def distillation(home: Home) -> dict[str, Any]:
    """Counts of sessions distilled, stale and without a distillate, of the queue and its dead letters.

    ``behind_days``: from the end of the last session that is distilled to that of the last session. Counts of the index
    are None where there is none that can be read. Raises OSError.
    """
    waiting = distill_queue.read(home)
    oldest = min((str(row["ts"]) for row in waiting if row.get("ts")), default=None)
    since = clock.parse_iso(oldest) if oldest else None
    found: dict[str, Any] = {
        "waiting": len(waiting),
        "oldest": oldest,
        "oldest_days": None if since is None else max(0, clock.now() - since) // clock.DAY,
        "dead": len(distill_queue.dead(home)),
        "sessions": None,
        "distilled": None,
        "stale": None,
        "missing": None,
        "behind_days": None,
    }
    counts = None
    if os.path.exists(home.index):
        with suppress(BrainError):  # an index that cannot be read is that part's own finding
            counts = _counts(home)
    if counts is not None:
        sessions, made, stale, last, last_made = counts
        found |= {"sessions": sessions, "distilled": made, "stale": stale, "missing": sessions - made}
        if last is not None and last_made is not None:
            found["behind_days"] = max(0, last - last_made) // clock.DAY
    return found


def _counts(home: Home) -> tuple[int, int, int, int | None, int | None]:
    """Return how many sessions there are, are distilled, are stale by now, and the last ends of both."""
    from qmd.index.store import open_index, translate

    connection = open_index(home.index)
    try:
        rows = list(catalogue.walk(connection, ("source_hash",)))
    except apsw.Error as error:
        raise translate(error, home.index) from error
    finally:
        connection.close()
    # The hash of each session and when it ended; of each distillate the hash of its session's text, and that one's end.
    sessions = {path: (digest, ended) for _, name, path, digest, _, ended, *_ in rows if name == SESSIONS}
    made = {path: (of, ended) for _, name, path, _, _, ended, _, of in rows if name == DISTILLED and path in sessions}
    stale = sum(of is not None and of != sessions[path][0] for path, (of, _) in made.items())
    last, last_made = (max((ended for _, ended in each.values()), default=None) for each in (sessions, made))
    return len(sessions), len(made), stale, last, last_made


def line(part: dict[str, Any]) -> str:
    """The part as one line of the report."""
    if not part["distilled"] and not part["waiting"]:
        return "nothing distilled yet (brain distill)"
    said = [f"{part['distilled'] or 0:,} of {counted(part['sessions'] or 0, 'session')}"]
    if part["stale"]:
        said.append(f"{part['stale']:,} stale")
    if part["waiting"]:
        said.append(f"{part['waiting']:,} waiting, the oldest for {part['oldest_days'] or 0} days")
    if part["dead"]:
        said.append(f"{part['dead']:,} dead letters")
    if part["behind_days"]:
        said.append(f"{part['behind_days']} days behind the last session")
    return "; ".join(said)


def findings(part: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    """(severity, message, fix) of what is wrong; nothing where nobody distils."""
    if "error" in part:
        return
    if part["waiting"] and (part["oldest_days"] or 0) >= LATE_DAYS:
        sessions, days = counted(part["waiting"], "session"), counted(part["oldest_days"], "day")
        message = f"{sessions} to be distilled, the oldest for {days}"
        yield "warning", message, "brain distill --from-pending"
    if part["stale"]:
        message = f"{part['stale']:,} distilled documents are of an earlier state of their session"
        yield "notice", message, "brain distill"
    if part["dead"]:
        yield "notice", f"{counted(part['dead'], 'session')} could not be distilled", "brain queue list --dead"
