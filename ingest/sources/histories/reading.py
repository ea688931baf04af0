"""Histories of prompts → one session each, marked ``partial``: what a person typed, and when.

Codex: ``{session_id (conversation_id in the autumn of 2025), ts, text}``, seconds
(https://github.com/openai/codex, codex-rs/message-history/src/lib.rs). Claude Code: ``{display, pastedContents,
timestamp, project, sessionId}``, milliseconds; the oldest name no session. Gemini CLI: one array of ``{sessionId,
messageId, timestamp, type, message}`` (packages/core/src/core/logger.ts); what is typed after ``--resume`` may stand
under an id that no transcript has (google-gemini/gemini-cli issue 18369).

The archive keeps a session's prompts, as the rows of a database (``ingest.archive.rows``), and of those alone that
make a document.
"""

from __future__ import annotations

import json
import os
import re
import stat
from typing import TYPE_CHECKING, Any, NamedTuple

from core.document import Failure
from core.redaction import clean as redact
from core.text import one_line
from ingest.archive.rows import Shelf, restored
from ingest.pipeline.reading import EMPTY, NOT_REGULAR, Reading, unreadable
from ingest.raw import databases, records, store
from ingest.session.builder import SessionBuilder
from ingest.session.project_ids import of_folders
from ingest.session.values import mapping, moment, string
from ingest.sources.histories import source as histories

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from ingest.raw.store import RawStore

    # Given what takes what has the archive keep that.
    Project = Callable[[list[Callable[[], None]]], str]

NAMELESS = "prompts that name no session"
_TABLE = "prompts"
_COLUMNS = ("session", "at", "text", "project")
_COMMAND = re.compile(r"/[\w:.-]+(?:\s|$)")
_PASTED = re.compile(r"\[Pasted text #(\d+)[^\]\n]{0,40}\]")
_PROBE = 200


class Prompt(NamedTuple):
    """One entry as it was found; ``at`` is an ``instant`` or "", ``project`` a folder or ""."""

    session: str
    at: str
    text: str
    project: str


def _codex(entry: dict[str, Any]) -> Prompt:
    session = string(entry.get("session_id")) or string(entry.get("conversation_id"))
    return Prompt(session, moment(entry.get("ts")), string(entry.get("text")), "")


def _claude(entry: dict[str, Any]) -> Prompt:
    # Each stands where it is first named: a line could name a long one without end.
    pasted = dict(mapping(entry.get("pastedContents")))
    text = _PASTED.sub(
        lambda found: string(mapping(pasted.pop(found[1], None)).get("content")) or found[0],
        string(entry.get("display")),
    )
    session, project = string(entry.get("sessionId")), string(entry.get("project"))
    return Prompt(session, moment(entry.get("timestamp")), text, project)


def _gemini(entry: dict[str, Any]) -> Prompt:
    text = string(entry.get("message")) if entry.get("type") == "user" else ""
    return Prompt(string(entry.get("sessionId")), moment(entry.get("timestamp")), text, "")


_KNOWN: dict[str, tuple[Callable[[dict[str, Any]], Prompt], frozenset[str]]] = {
    "codex": (_codex, frozenset({"session_id", "conversation_id", "ts", "text"})),
    "claude": (_claude, frozenset({"display", "pastedContents", "timestamp", "project", "sessionId"})),
    "gemini": (_gemini, frozenset({"sessionId", "messageId", "timestamp", "type", "message"})),
}


def read(source: str, path: str, raw: RawStore, project: Project | None = None) -> Reading:
    """Read one history; ``project`` finds the folder that all of it is of. Never raises, see ``Reading.failed``."""
    reading = Reading(path, raw)
    try:
        if raw.is_shelved(path):
            with databases.shelved(reading) as connection:
                _take(source, reading, _held(connection))
        else:
            _read(source, reading, project)
    except OSError as error:
        unreadable(reading, error)
    if not reading.parts and reading.failed is None:
        reading.skipped = reading.skipped or reading.withheld or histories.HISTORY
    return reading


def _read(source: str, reading: Reading, project: Project | None) -> None:
    with reading.raw.open(reading.path) as file:
        reading.stat(file.status)
        if not stat.S_ISREG(file.status.st_mode) or not file.status.st_size:
            reading.skipped = EMPTY if stat.S_ISREG(file.status.st_mode) else NOT_REGULAR
            return
        entries = _array(file, reading) if reading.path.endswith(".json") else _lines(file, reading)
        prompts = list(_prompts(source, entries, reading))
    there = histories.names(histories.beside(source, reading.path))
    prompts = [prompt for prompt in prompts if not histories.is_named(prompt.session, there)]
    if source == "gemini":
        prompts = _without_resumed(prompts, reading)
    later: list[Callable[[], None]] = []
    if project is not None and prompts:
        folder = project(later)
        prompts = [prompt._replace(project=folder) for prompt in prompts]
    _take(source, reading, prompts)
    for part in reading.parts.values():
        part.digest = reading.digest
    transcripts = reading.raw.transcripts
    if transcripts is None:
        return  # which sessions have transcripts is not known: nothing is kept
    reading.raw.remove(reading)
    for keep in later if reading.parts else ():
        keep()
    shelf = Shelf(reading, lambda lines: _again(source, reading, lines))
    shelf.tables = {_TABLE: _COLUMNS}
    shelf.lets_go = transcripts.tells
    rows: dict[str, list[tuple[str, tuple[Any, ...]]]] = {}
    for prompt in prompts:
        rows.setdefault(_unit(prompt), []).append((_TABLE, tuple(prompt)))
    for unit in list(reading.parts):
        shelf.put(unit, shelf.open(rows[unit]))
    shelf.tidy()
    shelf.finish()


def _lines(file: store.RawFile, reading: Reading) -> Iterator[Any]:
    source = records.Records(file.lines, reading.path)
    for item in source:
        if isinstance(item, Failure):
            reading.fail(item)
        else:
            yield item[1]
    reading.recovered, reading.redacted = source.recovered, source.redacted
    reading.consumed, reading.digest = source.consumed, source.digest()


def _array(file: store.RawFile, reading: Reading) -> Iterator[Any]:
    data, reading.digest = file.whole()
    reading.consumed = reading.size
    text = records.without_tail(data)
    try:
        value = records.value(text, None)
    except (ValueError, RecursionError) as error:
        reading.failed = Failure(reading.path, records.MALFORMED, str(error), getattr(error, "lineno", 0))
        return
    if len(text) != len(data):
        reading.recovered[records.HOLES] = 1
    yield from value if type(value) is list else ()


def _prompts(source: str, entries: Iterable[Any], reading: Reading) -> Iterator[Prompt]:
    prompt_of, known = _KNOWN[source]
    for line, entry in enumerate(entries, 1):
        if type(entry) is not dict:
            reading.count(f"prompt ({type(entry).__name__})", line, entry)
            continue
        prompt = prompt_of(entry)
        if not prompt.text.strip():
            continue
        if not _unit(prompt):
            reading.dropped[NAMELESS] = reading.dropped.get(NAMELESS, 0) + 1
            continue
        for name in entry.keys() - known:
            reading.count(f"prompt: field {one_line(name, 60)}", line, entry[name])
        yield prompt


def _unit(prompt: Prompt) -> str:
    return one_line(prompt.session, 4000)


def _take(source: str, reading: Reading, prompts: Iterable[Prompt]) -> None:
    """Make the parts of a reading."""
    for prompt in prompts:
        unit = _unit(prompt)
        session = reading.parts.get(unit)
        if session is None:
            session = reading.parts[unit] = SessionBuilder(unit, source)
            session.partial = True
            session.extra["partial"] = True
            if source == "gemini":
                session.sign = of_folders(reading.path)
        session.records += 1
        session.extend_to(prompt.at)
        if prompt.project and not session.cwd:
            session.cwd = redact(prompt.project, reading.redacted)
        typed(session, redact(prompt.text, reading.redacted), prompt.at)


def typed(session: SessionBuilder, text: str, at: str) -> None:
    """Add what a person typed: a prompt, or a command of the tool's or of the shell."""
    text = text.strip()
    if text.startswith("!") and text[1:].strip():
        session.command(f"! {text[1:].strip()}", at)
    elif _COMMAND.match(text):
        session.command(text, at)
    else:
        session.prompt(text, at)


def _held(connection: Any) -> Iterator[Prompt]:
    if _TABLE not in databases.tables(connection):
        return  # all that there was is told by transcripts now
    for row in connection.execute(f"select {', '.join(_COLUMNS)} from {_TABLE} order by rowid"):
        yield Prompt(*map(string, row))


def _again(source: str, of: Reading, lines: Iterable[bytes]) -> dict[str, Any]:
    """The parts that archived lines hold."""
    reading = Reading(of.path, of.raw)
    with restored(lines) as connection:
        _take(source, reading, _held(connection))
    return reading.parts


def _without_resumed(prompts: list[Prompt], reading: Reading) -> list[Prompt]:
    """Those of sessions of which no transcript of another id, begun before and written to since, has the prompts."""
    transcripts = reading.raw.transcripts
    told = {} if transcripts is None else dict(transcripts.marks(reading.path))
    sessions: dict[str, list[Prompt]] = {}
    for prompt in prompts:
        sessions.setdefault(_unit(prompt), []).append(prompt)
    probes: dict[str, _Probe] = {}
    for unit, found in sessions.items():
        said = [prompt.text for prompt in found if not _COMMAND.match(prompt.text)]
        times = [prompt.at for prompt in found if prompt.at]
        if unit not in told and said and times:
            probes[unit] = _Probe(_escaped(max(said, key=len)[:_PROBE]), min(times), max(times))
    for path in histories.beside("gemini", reading.path) if probes else ():
        for unit in _held_in(path, reading.raw, probes):
            told[unit] = "resumed"
            del probes[unit]
    reading.marks = told
    return [prompt for prompt in prompts if _unit(prompt) not in told]


class _Probe(NamedTuple):
    """What to look for of a session in a transcript of another id, and when the first and last of it was typed."""

    text: bytes
    first: str
    last: str


def _escaped(text: str) -> bytes:
    return json.dumps(text, ensure_ascii=False)[1:-1].encode("utf-8", "surrogatepass")


def _held_in(path: str, raw: RawStore, probes: Mapping[str, _Probe]) -> list[str]:
    """The sessions whose probe stands in the transcript at ``path``, which is read once for all of them."""
    # session-2026-03-01T10-15-<id>: begun at that minute.
    began = os.path.basename(path)[len("session-") :][: len("2026-03-01T10-15")].replace("-", ":")
    try:
        with raw.open(path) as file:
            written = moment(file.status.st_mtime_ns)
            may = {
                unit: probe.text
                for unit, probe in probes.items()
                if began <= probe.last[: len(began)].replace("-", ":") and written >= probe.first
            }
            if not may or not stat.S_ISREG(file.status.st_mode):
                return []
            data = file.lines.read(store.MAX_WHOLE)
            return [unit for unit, text in may.items() if text in data]
    except OSError:
        return []  # what cannot be read tells nothing
