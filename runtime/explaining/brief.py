"""The brief of ``brain`` alone: the memory's size and age, the latest sessions, open decisions, and what to do next.

It reads the index, the end of the telemetry and the end of the doctor's log. It never runs the doctor.
"""

from __future__ import annotations

import os
from itertools import islice
from os.path import join

import apsw

from core import clock, config, telemetry
from core.errors import NO_RESULTS
from qmd.index import catalogue
from qmd.index.catalogue import Filters
from qmd.index.store import open_index, translate
from runtime.asking import documents, recent
from runtime.asking.envelope import Freshness

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from core.config import Config
    from core.home import Home

# Sessions of two days that are read; more are counted as "at least".
_SESSIONS = 100
# Types of notes that stay open until another note supersedes them.
OPEN = ("decision", "question", "todo")
_NOTES = 200
_OPEN_SHOWN = 5
# Rows of telemetry that are looked at: about 10 ms.
_ROWS = 2_000
_VAIN_SHOWN = 3
_TWICE = 2
# The end of the doctor's log that is read: one run has at most a few findings of 2,000 characters.
_LOG_BYTES = 1 << 16
_FAILING = ("error", "warning")


def brief(home: Home) -> dict[str, Any]:
    """Return the envelope of ``brain brief``.

    Raises BadInput for an invalid configuration, EngineMissing for a damaged index, and what SQLite's failures are
    translated into. A home without an index is no error: ``exists`` is false.
    """
    settings = config.load(home)
    found: dict[str, Any] = {"schema": 1, "ok": True, "home": home.root, "exists": os.path.exists(home.index)}
    if not found["exists"]:
        return found | {"next": {"command": "brain init", "why": "there is no memory here yet"}}
    now = clock.now()
    connection = open_index(home.index)
    try:
        connection.execute("BEGIN")  # one snapshot for all that follows
        _read(connection, home, settings, now, found)
        connection.execute("COMMIT")
    except apsw.Error as error:
        raise translate(error, home.index) from error
    finally:
        connection.close()
    found["in_vain"] = in_vain(islice(telemetry.newest_first(home), _ROWS))
    found["attention"] = attention(home)
    found["machines"] = machines(home)
    return found | {"next": _next(found)}


def _read(connection: apsw.Connection, home: Home, settings: Config, now: int, found: dict[str, Any]) -> None:
    """Add what the index knows to ``found``. Raises apsw.Error."""
    found["collections"] = catalogue.counts(connection)
    found["documents"] = sum(found["collections"].values())
    fresh = Freshness(home, settings, connection)
    found["complete"], found["embedded"] = fresh.complete, fresh.embedded > 0
    found["freshness"] = fresh.envelope()
    today = clock.day_of(now)
    begins = clock.day_start(today - 1)
    rows = recent.sessions(connection, settings, begins, _SESSIONS)
    days = {"today": today, "yesterday": today - 1}
    found["days"] = {
        name: _by_project([row for row in rows if _day(row, today) == day], settings, now) for name, day in days.items()
    }
    last = rows[:1] or recent.sessions(connection, settings, 0, 1)
    found["last"] = recent.item(last[0], settings, now) if last else None
    found["open"] = _open(connection, settings, now)


def _day(row: documents.Row, today: int) -> int:
    """Return the local day on which a session ended; one of another machine's clock may lie in the future."""
    return min(today, clock.day_of(row.ended))


def _by_project(rows: list[documents.Row], settings: Config, now: int) -> dict[str, Any]:
    """Return one day's sessions by project, the project with the newest session first."""
    projects: dict[str, dict[str, Any]] = {}
    for row in rows:
        item = recent.item(row, settings, now)
        name = str(item["project"] or "")
        project = projects.setdefault(name, {"project": name or None, "sessions": 0, "items": []})
        project["sessions"] += 1
        project["items"].append(item)
    return {"sessions": len(rows), "projects": list(projects.values())}


def _open(connection: apsw.Connection, settings: Config, now: int) -> dict[str, Any]:
    """Return the notes of the types ``OPEN`` that no existing note supersedes, newest first."""
    noted = settings.trusting("note")
    rows: list[documents.Row] = []
    for kind in OPEN if noted else ():
        filters = Filters(noted, fields=(("type", "=", kind),))
        rows += [documents.Row(row, settings) for row in catalogue.newest(connection, filters, _NOTES)]
    there = {row.field("session_id") for row in rows}
    rows = [row for row in rows if row.field("superseded_by") not in there - {None}]
    rows.sort(key=lambda row: (row.date, row.path), reverse=True)
    return {"count": len(rows), "items": [recent.item(row, settings, now) for row in rows[:_OPEN_SHOWN]]}


def in_vain(rows: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Return how many questions found nothing, and those asked twice or more without an answer since.

    ``rows`` are telemetry, newest first. The texts are known only with ``telemetry: {query_text: true}``.
    """
    asked = nothing = 0
    counts: dict[str, int] = {}
    texts: dict[str, str] = {}
    answered: set[str] = set()
    for row in rows:
        if row.get("event") != "ask":
            continue
        asked += 1
        text = row.get("query")
        key = " ".join(text.casefold().split()) if isinstance(text, str) else ""
        if row.get("exit_code") != NO_RESULTS:
            answered.add(key)
            continue
        nothing += 1
        if key and key not in answered:
            texts.setdefault(key, str(text))
            counts[key] = counts.get(key, 0) + 1
    twice = sorted((key for key, count in counts.items() if count >= _TWICE), key=lambda key: -counts[key])
    return {
        "asked": asked,
        "nothing": nothing,
        "questions": [{"query": texts[key], "count": counts[key]} for key in twice[:_VAIN_SHOWN]],
    }


def machines(home: Home) -> dict[str, Any] | None:
    """Return what ``brain sync`` noted of the machines that share the memory; None where it has no remote.

    ``heard``: name → when its last state was made; ``lacking``: documents of theirs that did not arrive.
    """
    path = join(home.state, "sync.json")
    if not os.path.exists(path):
        return None
    import json  # most memories are of one machine

    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as stream:
            held = json.load(stream)
        if not held.get("remote"):
            return None
        others = held.get("machines") or {}
        return {
            "synced": clock.iso(held["synced"]) if held.get("synced") else None,
            "failed": bool(held.get("failed")),
            "heard": {name: clock.iso(each["heard"]) for name, each in sorted(others.items()) if each.get("heard")},
            "lacking": sum(len(each.get("coming") or {}) + sum((each.get("lacking") or {}).values())
                           for each in others.values()),
        }  # fmt: skip
    except (OSError, ValueError, TypeError, AttributeError, RecursionError):
        return None  # a finding of the doctor's


def attention(home: Home) -> dict[str, Any] | None:
    """Return the last run of the doctor: its time, how many findings it logged, and the worst; None without a run.

    ``worst`` is None if that run found nothing.
    """
    try:
        with open(join(home.logs, "doctor.log"), "rb") as stream:
            stream.seek(max(0, stream.seek(0, os.SEEK_END) - _LOG_BYTES))
            lines = stream.read().decode("utf-8", "replace").splitlines()
    except OSError:
        return None
    found = [entry for line in lines if (entry := _logged(line)) is not None]
    if not found:
        return None
    at = found[-1]["at"]
    findings = [entry for entry in found if entry["at"] == at and entry["severity"] in _FAILING]
    findings.sort(key=lambda entry: _FAILING.index(entry["severity"]))
    return {"at": at, "findings": len(findings), "worst": findings[0] if findings else None}


def _logged(line: str) -> dict[str, str] | None:
    """Return a line of ``ops.checks.reporting.report`` as a mapping, None for another line.

    The line is ``TIME SEVERITY ID: EVIDENCE  fix: FIX``, or ``TIME healthy: …``.
    """
    at, _, rest = line.partition(" ")
    if len(at) != len("2026-01-01T00:00:00Z") or clock.parse_iso(at) is None:
        return None
    severity, _, rest = rest.partition(" ")
    if severity == "healthy:":
        return {"at": at, "severity": "healthy"}
    identity, _, rest = rest.partition(": ")
    evidence, _, fix = rest.rpartition("  fix: ")
    return {"at": at, "severity": severity, "id": identity, "evidence": evidence or rest, "fix": fix}


def _next(found: dict[str, Any]) -> dict[str, str]:
    """Return the next useful command and its reason: the first row that applies."""
    lexical, semantic = found["freshness"]["lexical"], found["freshness"]["semantic"]
    worst = (found["attention"] or {}).get("worst")
    table = (
        (not found["complete"], "brain index", "no index run has ended yet"),
        (worst is not None and worst["severity"] == "error", "brain doctor --fix", "the doctor found an error"),
        (lexical["pending"] > 0, "brain index --new", "something changed since the last index run"),
        (not found["documents"], "brain index", "nothing is remembered yet"),
        (not found["embedded"], "brain embed", "then questions are answered by meaning, too"),
        (found["attention"] is None, "brain doctor", "no check has run yet"),
        (worst is not None, "brain doctor", "the doctor found something"),
        (semantic["pending"] > 0, "brain embed", "some documents have no vectors yet"),
        (bool(found["in_vain"]["questions"]), "brain inbox", "note the answer that you found elsewhere"),
    )
    for applies, command, why in table:
        if applies:
            return {"command": command, "why": why}
    return {"command": 'brain ask "…"', "why": "everything is indexed"}
