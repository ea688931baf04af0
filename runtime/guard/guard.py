"""``brain hook guard``: one line before a call, or after its failure. It never blocks, asks or changes anything."""

from __future__ import annotations

import os
import time

from core import clock
from core.config import load
from qmd.index.store import open_index
from runtime.asking import agents, withholding
from runtime.guard import moment as moments
from runtime.guard.memory import Memory
from runtime.guard.rules import RULES, Line
from runtime.injections import ledger

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from core.home import Home

LIMIT = 400
# Seconds after which the guard is silent, whatever it is about to find; ``BRAIN_GUARD_S`` gives another limit.
_TIMEOUT_S = 0.15
# Instructions of SQLite between two looks at the clock.
_STEPS = 2_000
_WHEN = {moments.BEFORE: "before a call of", moments.FAILED: "after a failed call of"}
_HEAD = "From memory, as evidence to be checked:"


def speak(home: Home, given: Mapping[str, Any]) -> str:
    """Return the line for the event of a hook, "" for silence, and record it.

    Raises BrainError, OSError and apsw.Error, apsw.InterruptError if the time is over: the caller is silent then.
    """
    found = moments.read(given)
    if found is None:
        return ""
    session = given.get("session_id")
    name = session if isinstance(session, str) else ""
    config = load(home)
    end = time.monotonic() + _patience()
    connection = open_index(home.index)
    try:
        connection.set_progress_handler(lambda: time.monotonic() > end, _STEPS)
        withholding.require_redacted(connection)
        memory = Memory(connection, config, name, clock.now())
        said = lines(found, memory)
        if not said:
            return ""  # nearly always: the ledger need not be read
        allowed = ledger.Allowance(home, config, name)
        for line in said:
            item = as_item(line, found)
            if allowed.is_muted(line.kind) or allowed.rejected(item) or not allowed.permits(item):
                continue
            if len(item.text) > allowed.room():
                continue
            if time.monotonic() > end:
                return ""
            ledger.add(home, name, "hook", "guard", [item])
            return item.text
    finally:
        connection.close()
    return ""


def lines(moment: moments.Moment, memory: Memory) -> list[Line]:
    """Return the lines that the rules have for a moment, the surest first."""
    return [line for rule in RULES if (line := rule(moment, memory)) is not None]


def as_item(line: Line, moment: moments.Moment) -> ledger.Item:
    """Return a line as it is given: one line of at most ``LIMIT`` characters, redacted, with its citation."""
    cited = f" ({agents.line(line.uri, 150)}:{line.line}{_changed(line, moment)})"
    room = LIMIT - len(_HEAD) - len(cited) - 1
    text = line.text
    if not line.is_clean:
        from core.redaction import shown

        text = shown(text)
    text = text if len(text) <= room else text[: room - 1] + "…"
    return ledger.Item(
        f"{_HEAD} {text}{cited}",
        uri=line.uri,
        line=line.line,
        key=line.key,
        kind=line.kind,
        reason=f"{_WHEN[moment.when]} {moment.tool}",
        about=line.about,
        is_clean=line.is_clean,
    )


def _changed(line: Line, moment: moments.Moment) -> str:
    """Return a remark if the file is another one by now."""
    if line.kind != "decision" or moment.kind != "file":
        return ""
    try:
        written = os.stat(moment.subject).st_mtime
    except OSError:
        return "; the file is gone since"
    return "; the file was changed since" if written > line.at else ""


def _patience() -> float:
    try:
        return max(0.01, min(float(os.environ.get("BRAIN_GUARD_S") or _TIMEOUT_S), 60.0))
    except ValueError:
        return _TIMEOUT_S
