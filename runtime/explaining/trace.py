"""``brain trace``: from an answer back to its raw record, and forward to the changes of its files since."""

from __future__ import annotations

import json
import os
import shlex
from os.path import basename, expanduser, isabs, isfile, join, normpath
from typing import TYPE_CHECKING, Any

import apsw

from core.counting import counted
from core.redaction.mark import MARK
from core.sqlite import open_to_read
from core.text import one_line
from ingest.pipeline.state import FILE
from runtime.asking import documents
from runtime.asking.envelope import uri
from runtime.asking.recent import item
from runtime.explaining.show import text_of
from runtime.validity.file_changes import since

if TYPE_CHECKING:
    from core.config import Config
    from core.home import Home


# Words of a line that are looked for in the raw record: long enough to stand there once, short enough to be unbroken.
_LONGEST = 60
_SHORTEST = 12
_TURN = "## ["
# A raw file is scanned as it is; beyond this many bytes of one line nobody wrote it by hand.
_LINE_BYTES = 64 * 1024 * 1024
_TOUCHING = tuple(f"- {tool}: " for tool in "Edit Write MultiEdit NotebookEdit apply_patch edit write patch".split())
_MOST_FILES = 200
# A person waits: no longer than this for another process's lock.
_BUSY_MS = 2_000

_MEMBERS = """
SELECT m.path, coalesce(f.status, '') FROM units u
JOIN members m ON m.source = u.source AND m.unit = u.unit
LEFT JOIN files f ON f.source = m.source AND f.path = m.path
WHERE u.source = ? AND u.name = ? ORDER BY m.path
"""


def trace(home: Home, config: Config, connection: apsw.Connection, reference: str, *, now: int) -> dict[str, Any]:
    """Return the envelope of ``brain trace``.

    ``turn`` is the section of the named line; ``sources`` are the raw files, each with ``line`` (1-based)
    and ``message_id`` of the record where it was found; ``files`` what the session wrote to and what became of it in
    git since it ended. Raw files and repositories of another member of the team are on that member's machines:
    ``elsewhere`` says how to follow the document there, and nothing is looked up here. Raises what
    ``documents.resolve`` does, and apsw.Error.
    """
    row = documents.resolve(connection, config, reference)
    text = text_of(connection, row)
    lines = text.split("\n")
    line = min(row.line, len(lines)) if row.line else 0
    turn = _turn(lines, line) if line else None
    paths = touched(lines, str(row.fields.get("project") or ""))
    elsewhere: dict[str, Any] = {}
    if row.owner:
        sources, changed = list[dict[str, Any]](), 0
        files: list[dict[str, Any]] = [{"path": path, "state": "unknown", "commits": None} for path in paths]
        summary = f"it wrote to {counted(len(files), 'file')} on a machine of {row.owner}" if files else ""
        there = uri(row.collection, row.path) + (f":{line}" if line else "")
        elsewhere["elsewhere"] = {"owner": row.owner, "command": f"brain trace {shlex.quote(there)}"}
    else:
        needles = _needles(lines, line)
        sources = [_source(path, status, needles) for path, status in _raw_files(home, row)]
        files = since(paths, row.ended)
        changed = sum(each["state"] in ("changed", "gone") for each in files)
        unknown = sum(each["state"] == "unknown" for each in files)
        verb = "has" if changed == 1 else "have"
        said = f"{changed} of {counted(len(files), 'file')} that it wrote to {verb} changed since this memory"
        said += f"; of {unknown} it is not known" if unknown else ""
        summary = said if files else ""
    return {
        "schema": 1,
        "ok": True,
        **item(row, config, now),
        "line": line or None,
        "turn": turn,
        "sources": sources,
        "files": {"touched": len(files), "changed": changed, "items": files},
        "summary": summary,
        **elsewhere,
    }


def _turn(lines: list[str], line: int) -> dict[str, Any] | None:
    """Return the section of a line: its number, role and time as the heading has them."""
    for text in reversed(lines[:line]):
        if text.startswith(_TURN):
            number, _, rest = text[len(_TURN) :].partition("] ")
            role, _, when = rest.partition(" · ")
            if number.isdigit():
                return {"number": int(number), "role": role.strip(), "time": when.strip() or None}
    return None


def _needles(lines: list[str], line: int) -> list[str]:
    """Return the texts to search raw records for: the plainest stretches of the named line, then of lines around it."""
    order = (
        [line - 1, *(line - 1 + step for near in range(1, 6) for step in (near, -near))] if line else range(len(lines))
    )
    found: list[str] = []
    for index in order:
        if not 0 <= index < len(lines) or lines[index].startswith((_TURN, "---", "# ")):
            continue
        found += _plain(lines[index])
        if len(found) >= 5:
            break
    return found


def _plain(text: str) -> list[str]:
    """Stretches of a line that stand in JSON as they stand here: no quotes, no backslashes, nothing that we added."""
    if MARK in text:
        text = text.partition(MARK)[0]
    text = text.lstrip("-! |>\\").partition("  # ")[0]
    if text.partition(":")[0].isalpha():
        text = text.partition(": ")[2] or text  # the name of a tool is ours, what follows it is the record's
    pieces = [piece.strip() for piece in text.replace("\\", '"').replace("\t", '"').split('"')]
    long = sorted((piece for piece in pieces if len(piece) >= _SHORTEST), key=len, reverse=True)
    return [piece[:_LONGEST] for piece in long[:2]]


def _raw_files(home: Home, row: documents.Row) -> list[tuple[str, str]]:
    """Return (path, status) of the files that the document was made from, as the state has them."""
    place = join(home.state, FILE)
    if not os.path.exists(place):
        return []
    connection = open_to_read(place, _BUSY_MS)
    try:
        key = (str(row.fields.get("source") or ""), basename(row.path))
        rows: list[Any] = connection.execute(_MEMBERS, key).fetchall()
    finally:
        connection.close()
    return [(os.fsdecode(path), str(status)) for path, status in rows]


def _source(path: str, status: str, needles: list[str]) -> dict[str, Any]:
    found: dict[str, Any] = {"path": path, "exists": isfile(path), "status": status, "line": None, "message_id": None}
    if found["exists"] and path.endswith(".jsonl"):
        for needle in needles:
            at = _find(path, needle)
            if at is not None:
                found["line"], record = at
                found["message_id"] = _identity(record)
                found["timestamp"] = _stamp(record)
                break
    return found


def _find(path: str, needle: str) -> tuple[int, bytes] | None:
    """Return (1-based number, bytes) of the first line of a raw file that holds ``needle``, however JSON writes it."""
    wanted = {needle.encode("utf-8", "replace"), json.dumps(needle)[1:-1].encode()}
    try:
        with open(path, "rb") as stream:
            number = 0
            while line := stream.readline(_LINE_BYTES):
                number += 1
                if any(each in line for each in wanted):
                    return number, line
    except OSError:
        return None
    return None


def _identity(record: bytes) -> str | None:
    try:
        found = json.loads(record)
    except (ValueError, RecursionError):
        return None
    places = [found, found.get("message"), found.get("payload"), found.get("data")] if isinstance(found, dict) else []
    for place in places:
        for name in ("uuid", "id", "messageId"):
            if isinstance(place, dict) and isinstance(place.get(name), str):
                return one_line(place[name], 200)
    return None


def _stamp(record: bytes) -> str | None:
    try:
        found = json.loads(record)
    except (ValueError, RecursionError):
        return None
    stamp = found.get("timestamp") if isinstance(found, dict) else None
    return one_line(stamp, 40) if isinstance(stamp, str) else None


def touched(lines: list[str], project: str) -> list[str]:
    """Return the files that the session's tools wrote to, absolute, in the order of their first mention."""
    found: dict[str, None] = {}
    for line in lines:
        if not line.startswith(_TOUCHING):
            continue
        path = line.partition(": ")[2].strip()
        # The number of edits follows the path, in parentheses.
        if path.endswith(")") and " (" in path:
            path = path[: path.rindex(" (")]
        path = expanduser(path)
        if not isabs(path) and isabs(project):
            path = join(project, path)
        if isabs(path) and "\0" not in path:
            found.setdefault(normpath(path))
    return list(found)[:_MOST_FILES]


def lines(envelope: dict[str, Any]) -> list[str]:
    """Return the envelope for people."""
    age = f"{envelope['age']} ({envelope['date'][:10]})"
    age = f"{envelope['owner']} · {age}" if "owner" in envelope else age
    shown = [f"{envelope['title']}", f"   {envelope['uri']}  {age}"]
    turn = envelope["turn"]
    if turn:
        when = f", {turn['time']} UTC" if turn["time"] else ""
        shown.append(f"   turn {turn['number']}, {turn['role']}{when}")
    for source in envelope["sources"]:
        gone = "" if source["exists"] else "  (gone)"
        place = f"{source['path']}:{source['line']}" if source["line"] else source["path"]
        record = f"  record {source['message_id']}" if source["message_id"] else ""
        shown.append(f"   from {place}{record}{gone}")
    if elsewhere := envelope.get("elsewhere"):
        shown.append(f"   the raw record is on a machine of {elsewhere['owner']}; there: {elsewhere['command']}")
    elif not envelope["sources"]:
        shown.append("   no raw file is recorded for it")
    if envelope["resume"]:
        shown.append(f"   > {envelope['resume']}")
    if envelope["summary"]:
        shown.append(f"   {envelope['summary']}")
        shown += [f"     {each['state']:<9} {each['path']}" for each in envelope["files"]["items"]]
    return shown
