"""One transcript file → its parts, by unit of recall, and the account of everything in it that was not kept."""

from __future__ import annotations

import os
from os.path import basename
from typing import Any

from core.document import Failure
from core.text import one_line
from ingest.pipeline.reading import BROKEN, Reading, lines
from ingest.pipeline.units import path_name, unit_key
from ingest.raw import records
from ingest.raw.store import RawStore
from ingest.sources.claude import vocabulary
from ingest.sources.claude.events import ClaudeSession, Unknown

FOREIGN = "not a Claude Code transcript"
COMPACTION = "compaction agent"
SUGGESTION = "prompt suggestion agent"

_TYPES = vocabulary.READ | vocabulary.DROPPED
_MARKS = ("sessionId", "uuid", "leafUuid", "messageId")
_PEEK = 256 * 1024
# Titles and snapshots may precede the first record that names the session; more than this is no preamble.
_EARLY = 200
_EARLY_BYTES = 16 * 1024 * 1024


def read(path: str, raw: RawStore) -> Reading:
    """Read one file. Never raises for what is in it or for its not being readable: see ``Reading.failed``."""
    agent = agent_of(path)

    def take(source: records.Records, reading: Reading) -> None:
        if agent.startswith("acompact-"):
            reading.skipped = COMPACTION
        elif agent.startswith("aprompt_suggestion-"):
            reading.skipped = SUGGESTION
        _sort(source, reading, agent)

    return lines(path, raw, take, FOREIGN)


def peek(path: str) -> str:
    """The unit that the file most probably belongs to, from its first bytes: good enough to group by."""
    try:
        with open(os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK), "rb", buffering=0) as stream:
            head = stream.read(_PEEK) or b""
    except OSError:
        head = b""
    start = head.find(b'"sessionId"')
    session = ""
    if start >= 0:
        session = (
            head[start + 11 : start + 300]
            .lstrip(b" :")
            .partition(b'"')[2]
            .partition(b'"')[0]
            .decode("utf-8", "replace")
        )
    return unit_key(session or path, agent_of(path))


def agent_of(path: str) -> str:
    """The agent's id that the file's name gives, or ""."""
    name = basename(path)
    if not name.startswith("agent-") or len(name) < len("agent-x.jsonl"):
        return ""
    return path_name(name[6:].rpartition(".")[0])


def _sort(source: records.Records, reading: Reading, file_agent: str) -> None:
    """Hand each record to the part it belongs to: one unit a file, but for the odd file with several sessions."""
    early: list[tuple[int, dict[str, Any]]] = []
    fresh: Unknown = []
    part: ClaudeSession | None = None
    session = agent = None
    recognised = False
    for item in source:
        if isinstance(item, Failure):
            reading.fail(item)
            continue
        line, record = item
        recognised = recognised or _is_claude(record)
        named = record.get("sessionId")
        if type(named) is not str or not named:
            if part is not None:
                _add(part, record, line, reading, fresh)
                continue
            early.append((line, record))
            if len(early) > _EARLY or source.consumed > _EARLY_BYTES:
                if not recognised:
                    return  # another tool's journal
                part = _nameless(reading, early, file_agent, fresh)
            continue
        who = record.get("agentId") if file_agent or record.get("isSidechain") is True else None
        if part is None or named != session or who != agent:
            session, agent = named, who
            known = one_line(who, 500) if type(who) is str and who else file_agent
            part = _part(reading, unit_key(_identity(named), known))
        if early:
            for earlier in early:
                _add(part, earlier[1], earlier[0], reading, fresh)
            early.clear()
        _add(part, record, line, reading, fresh)
    if early and recognised:
        _nameless(reading, early, file_agent, fresh)
    if not recognised:
        reading.unknown.clear()
        reading.parts.clear()


def pieces(path: str, data: bytes) -> list[tuple[str, bytes]] | None:
    """(unit, bytes) of a file's whole lines in order, as ``_sort`` gives them to units; "" where that is not certain.

    None where no record names its session.
    """
    import json

    file_agent = agent_of(path)
    found: list[tuple[str, list[bytes]]] = []
    early: list[bytes] = []
    unit = ""
    for line in data.splitlines(keepends=True):
        try:
            record: Any = json.loads(line, strict=False)
        except (ValueError, RecursionError):
            record = None
        if type(record) is not dict:
            found.append(("", [line]))
            continue
        named = record.get("sessionId")
        if type(named) is str and named:
            who = record.get("agentId") if file_agent or record.get("isSidechain") is True else None
            unit = unit_key(_identity(named), one_line(who, 500) if type(who) is str and who else file_agent)
            if early:
                found.append((unit, early))
                early = []
        elif not unit:
            early.append(line)
            if len(early) > _EARLY:
                return None
            continue
        if found and found[-1][0] == unit:
            found[-1][1].append(line)
        else:
            found.append((unit, [line]))
    if not unit:
        return None
    return [(unit, b"".join(lines)) for unit, lines in found]


def _nameless(
    reading: Reading, early: list[tuple[int, dict[str, Any]]], file_agent: str, fresh: Unknown
) -> ClaudeSession:
    """The part of records that name no session (fragments, very old exports): the first of them is its identity."""
    mark = _fingerprint(early[0][1])
    stem = path_name(basename(reading.path).rpartition(".")[0])
    part = _part(reading, unit_key(mark, file_agent) if file_agent else unit_key(one_line(f"{stem}-{mark}")))
    for line, record in early:
        _add(part, record, line, reading, fresh)
    early.clear()
    return part


def _fingerprint(record: dict[str, Any]) -> str:
    import hashlib
    import json

    try:
        text = json.dumps(record, sort_keys=True)
    except RecursionError:
        text = json.dumps(sorted(record))
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def _part(reading: Reading, unit: str) -> ClaudeSession:
    part = reading.parts.get(unit)
    if part is None:
        part = reading.parts[unit] = ClaudeSession(unit)
    return part


def _add(part: ClaudeSession, record: dict[str, Any], line: int, reading: Reading, fresh: Unknown) -> None:
    try:
        part.add(record, fresh)
    except BROKEN as error:
        reading.broken(error, line)
    if fresh:
        for what, value in fresh:
            reading.count(what, line, value)
        fresh.clear()


def _is_claude(record: dict[str, Any]) -> bool:
    kind = record.get("type")
    if type(kind) is not str or kind not in _TYPES:
        return False
    message = record.get("message")
    if kind in ("user", "assistant"):
        return type(message) is dict and ("content" in message or "role" in message)
    return any(mark in record for mark in _MARKS)


def _identity(session: str) -> str:
    # A tab separates session and agent in a unit's key; surrogates cannot be stored.
    return one_line(session, 4000)
