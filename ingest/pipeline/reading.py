"""Reading one raw file: the parts of sessions in it, and an account of everything that was left out."""

from __future__ import annotations

import contextlib
import json
import os
import stat
from typing import TYPE_CHECKING, Any

from core.document import Failure
from core.redaction import clean, clean_document
from core.text import one_line
from ingest.archive import archive
from ingest.raw import records, store
from ingest.session.values import shape

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping
    from typing import BinaryIO, Protocol

    from ingest.archive.archive import Entry
    from ingest.archive.recording import Recorder
    from ingest.archive.resuming import ResumePoint
    from ingest.raw.store import RawStore

    Unwrap = Callable[[BinaryIO], object]

    class Journal(Protocol):
        """A session that is made of the records of one file. ``add`` returns True if it wants no more of them."""

        def add(self, record: dict[str, Any], line: int, /) -> bool | None: ...
        def finish(self) -> object: ...


EMPTY = "empty"
INCOMPLETE = "no complete record yet"
NOT_REGULAR = "not a regular file"
DAMAGED = "damaged database"

_MAX_FAILURES = 10
# The exceptions that values of unknown shapes cause in a parser.
BROKEN = (TypeError, ValueError, KeyError, AttributeError, IndexError, RecursionError)


class Reading:
    """A file as read once: ``parts`` by unit, or ``skipped``/``failed`` with the reason for having none.

    A part is an ``ingest.session.session.Part``, with the fields that its source's ``compose`` wants.
    ``raw`` is the store that the file was read from.
    ``size``, ``mtime_ns`` and ``inode`` are as ``discover`` would give them; ``consumed`` and ``digest`` describe
    the prefix that was read (see ``records.Records``); ``redacted`` counts secrets by kind; ``unknown`` maps what
    was not understood to (count, first line, what that looked like), in files of these ``versions`` of the tool;
    ``marks``: what the file says of sessions that lie elsewhere, as digests (Codex);
    ``dropped``: records that are left out, by reason; ``failures`` holds the first of ``failed_reasons``; ``stays``:
    there was more of it, and the archive keeps that; ``taken``: the units of the parts that were handed over;
    ``withheld``: why others of them were left out; ``excluded``: those that a rule left out; ``passed``: the parts that
    no rule leaves out; ``point``: where the reading goes on, while a journal is read that may go on.
    """

    def __init__(self, path: str, raw: RawStore) -> None:
        self.path, self.raw, self.stays = path, raw, False
        self.point: ResumePoint | None = None
        self.skipped = self.withheld = self.digest = ""
        self.consumed = self.size = self.mtime_ns = self.inode = 0
        self.parts, self.passed = dict[str, Any](), dict[str, Any]()
        self.taken, self.excluded = set[str](), set[str]()
        self.failed: Failure | None = None
        self.failures: list[Failure] = []
        self.unknown: dict[str, tuple[int, int, str]] = {}
        self.versions: list[str] = []
        self.marks: dict[str, str] = {}
        self.failed_reasons, self.recovered, self.redacted, self.dropped = (dict[str, int]() for _ in range(4))

    def stat(self, status: os.stat_result) -> None:
        """Remember what the file was like."""
        self.size, self.mtime_ns, self.inode = status.st_size, status.st_mtime_ns, status.st_ino

    def hand_over(self) -> dict[str, Any]:
        """Give the whole parts to the caller; if a unit comes twice, the first of them."""
        parts = {unit: part for unit, part in self.parts.items() if unit not in self.taken}
        self.parts.clear()
        self.passed.clear()
        self.taken.update(parts)
        return parts

    def fail(self, failure: Failure) -> None:
        """Count a record that could not be read; the first few are kept as examples."""
        self.failed_reasons[failure.reason] = self.failed_reasons.get(failure.reason, 0) + 1
        if len(self.failures) < _MAX_FAILURES:
            self.failures.append(failure)

    def count(self, what: str, line: int = 0, value: Any = None) -> None:
        """Count something that is not known; ``line`` is its line, 1-based, ``value`` its content."""
        known = self.unknown.get(what)
        if known is None:
            self.unknown[what] = (1, line, "" if value is None else shape(value))
        else:
            self.unknown[what] = (known[0] + 1, *known[1:])

    def count_fields(self, what: str, found: Mapping[str, Any], known: Collection[str], line: int = 0) -> None:
        """Count the fields of a record that are not known; ``what`` is the kind of record."""
        for name in sorted(set(found).difference(known)):
            self.count(f"{what}: field {one_line(name, 60)}", line, found[name])

    def broken(self, error: BaseException, line: int = 0) -> None:
        """Count a record of an unknown shape."""
        self.fail(Failure(self.path, "unreadable record", f"{type(error).__name__}: {error}", line))

    def dismiss(self, reason: str) -> None:
        """Treat the file as another tool's: drop its parts and its faults."""
        self.skipped = reason
        self.parts.clear()
        self.unknown.clear()
        self.failures.clear()
        self.failed_reasons.clear()


def lines(
    path: str,
    raw: RawStore,
    take: Callable[[records.Records, Reading], None],
    foreign: str,
    unwrap: Unwrap | None = None,
    *,
    goes_on: bool = False,
) -> Reading:
    """Read one file of JSON Lines, which may be compressed: ``take`` fills the reading's parts from its records.

    ``foreign``: why a file that is well-formed and holds nothing of ours makes no document. ``unwrap``, of a
    compressed file, gives the lines that its own stand for: these are parsed, redacted and archived. ``goes_on``:
    ``take`` can begin where the last reading of the file ended (``Reading.point``). Never raises for what is in the
    file or for its not being readable: see ``Reading.failed``.
    """
    reading = Reading(path, raw)
    try:
        with raw.open(path) as file:
            reading.stat(file.status)
            if not stat.S_ISREG(file.status.st_mode):
                reading.skipped = NOT_REGULAR
            elif not file.status.st_size:
                reading.skipped = EMPTY
            else:
                recorder = raw.recorder(path)
                source = records.Records(_lines(file, unwrap), path, **_sink(recorder))
                is_cut = False
                if goes_on and file.packed is None:
                    reading.point = raw.resume_point(file, source, recorder, reading)
                take(source, reading)
                reading.recovered, reading.redacted = source.recovered, source.redacted
                if file.packed is not None:
                    torn, is_cut = source.tail, file.packed.is_cut()
                    reading.consumed, reading.digest = file.packed.finish()
                    if torn or is_cut:
                        detail = f"{torn} bytes of a last line" if torn else "within a frame of zstd"
                        reading.fail(Failure(path, store.TORN, detail))
                else:
                    reading.consumed, reading.digest = source.consumed, source.digest()
                if file.entry is not None:
                    reading.consumed, reading.digest = file.entry.consumed, file.entry.digest
                judge(reading, source, foreign)
                if is_cut and not reading.parts and reading.skipped in ("", EMPTY, INCOMPLETE, foreign):
                    # The rest of it decides nothing: it may be no more than a preamble.
                    reading.skipped, reading.failed = "", Failure(path, store.TORN, "within a frame of zstd")
                withheld = raw.withhold(reading)
                if recorder is not None and withheld:
                    recorder.abandon()
                    if reading.parts:
                        _record_left(reading, recorder.restarted(), unwrap)
                elif recorder is not None and reading.parts:
                    _record(reading, recorder, unwrap)
                if reading.point is not None:
                    reading.point.end(is_kept=bool(reading.parts) and not withheld)
    except OSError as error:
        unreadable(reading, error)
    reading.point = None
    _complete(reading, lambda older: lines(path, older, take, foreign, unwrap, goes_on=goes_on))
    return reading


def add_records(source: records.Records, reading: Reading, add: Callable[[dict[str, Any], int], bool | None]) -> None:
    """Call ``add(record, line)`` for each record, until it returns True.

    A damaged record, or one of a new shape, is a failure of the reading.
    """
    for item in source:
        if isinstance(item, Failure):
            reading.fail(item)
            continue
        line, record = item
        reading.consumed = source.consumed
        try:
            if add(record, line):
                return
        except BROKEN as error:
            reading.broken(error, line)


def journal(
    path: str,
    raw: RawStore,
    make: Callable[[Reading], Journal],
    foreign: str,
    unwrap: Unwrap | None = None,
    *,
    goes_on: bool = True,
) -> Reading:
    """Read one file as ``lines`` does: what ``make`` returns takes its records, in order.

    ``goes_on``: until it finishes, what ``make`` returns depends on the records and the file's path alone, so that its
    attributes may be kept and given to the next reading of a file that grows (``ingest.archive.resuming``).
    """

    def take(source: records.Records, reading: Reading) -> None:
        made, point = make(reading), reading.point
        if point is not None:
            point.resume(made)
        add_records(source, reading, made.add)
        if point is not None:
            point.note(made)
        made.finish()

    return lines(path, raw, take, foreign, unwrap, goes_on=goes_on)


def _complete(reading: Reading, again: Callable[[RawStore], Reading]) -> None:
    """Add the archived older versions of a file that has lost content, the newest first (``Part.with_older``)."""
    if not reading.parts:
        return
    for entry in reading.raw.older(reading.path):
        found = again(reading.raw.showing(entry))
        for unit, part in found.parts.items():
            known = reading.parts.get(unit)
            reading.parts[unit] = part if known is None else known.with_older(part)


def _sink(recorder: Recorder | None) -> dict[str, Any]:
    return {} if recorder is None else {"sink": recorder.add, "redact": not recorder.archive.keeps_raw}


def _lines(file: store.RawFile, unwrap: Unwrap | None) -> Any:
    return file.lines if unwrap is None or not file.packed else unwrap(file.lines)


def _record(reading: Reading, recorder: Recorder, unwrap: Unwrap | None) -> None:
    """Record the file; if it does not continue the archived one, read it once more, from the first line."""
    at = (reading.size, reading.mtime_ns, reading.consumed, reading.digest)
    recorder.finish(*at)
    if not recorder.again:
        return
    recorder = recorder.restarted()
    with reading.raw.open(reading.path) as file:
        source = records.Records(_lines(file, unwrap), reading.path, **_sink(recorder))
        for _ in source:
            pass
        digest = file.packed.finish()[1] if file.packed is not None else source.digest()
    if digest == reading.digest:  # else it was written to meanwhile, and the next run reads it
        recorder.finish(*at)


def _record_left(reading: Reading, recorder: Recorder, unwrap: Unwrap | None) -> None:
    """Record the lines of the file that belong to its parts, if the file can be taken apart."""
    held: list[bytes] = []
    with reading.raw.open(reading.path) as file:
        source = records.Records(
            _lines(file, unwrap), reading.path, sink=held.append, redact=not recorder.archive.keeps_raw
        )
        for _ in source:
            pass
        digest = file.packed.finish()[1] if file.packed is not None else source.digest()
    left = _left(reading, recorder, b"".join(held)) if digest == reading.digest else b""
    if left:
        for line in left.splitlines(keepends=True):
            recorder.add(line)
        recorder.finish(reading.size, reading.mtime_ns, reading.consumed, reading.digest)


def _left(reading: Reading, recorder: Recorder, data: bytes) -> bytes:
    """Return the bytes of a file that belong to its parts; nothing if the file cannot be taken apart."""
    from ingest.archive import sharing

    return sharing.without(recorder.archive.source, reading.path, data, lambda unit: unit not in reading.parts)


def whole(
    path: str,
    raw: RawStore,
    take: Callable[[Any, Reading], Any],
    foreign: str,
    *,
    as_bytes: bool = False,
    apart: bool = False,
) -> Reading:
    """Read one file that is a single JSON value, or a text (``.txt``), like ``lines``.

    ``take`` gets the value, or the redacted text. With ``as_bytes``, for histories that drop their oldest entries, it
    gets the file's bytes, and returns them redacted, or no bytes if it cannot. ``apart``: the records of the session
    are files of their own.
    """
    reading = Reading(path, raw)
    try:
        with raw.open(path) as file:
            reading.stat(file.status)
            if not stat.S_ISREG(file.status.st_mode):
                reading.skipped = NOT_REGULAR
            elif not reading.size:
                reading.skipped = EMPTY
            else:
                data, reading.digest = file.whole()
                reading.consumed = reading.size
                redacted = _whole(data, reading, take, foreign, as_bytes)
                withheld = raw.withhold(reading)
                recorder = raw.recorder(path) if reading.parts and not reading.stays else None
                if recorder is not None:
                    held = data if recorder.archive.keeps_raw else redacted or clean_document(data, {})
                    if withheld:
                        held = _left(reading, recorder, held)
                        if not held:
                            return reading
                    # The dropped entries of a history are stored apart; a document that lost content has fewer records.
                    records = 1 if as_bytes or apart else sum(len(part.uuids) for part in reading.parts.values())
                    recorder.whole(held, records)
                    recorder.finish(reading.size, reading.mtime_ns, reading.consumed, reading.digest)
                    if as_bytes:
                        _keep_dropped(reading, recorder.before, held, data)
    except OSError as error:
        unreadable(reading, error)
    _complete(reading, lambda older: whole(path, older, take, foreign, as_bytes=as_bytes, apart=apart))
    return reading


def _keep_dropped(reading: Reading, before: Entry | None, now: bytes, read: bytes) -> None:
    """Record, as the file's version 1, what a history had ``before`` and has dropped by ``now``.

    ``now`` is the archived form of the bytes that were ``read``.
    """
    recorder = None if before is None else reading.raw.recorder(reading.path, version=1)
    if before is None or recorder is None:
        return
    try:
        was = b"".join(archive.held(recorder.archive.settle(), before))
    except OSError:
        return  # the archive has lost it
    if now.startswith(was):
        return
    try:
        held = b"" if recorder.before is None else b"".join(archive.held(recorder.archive.folder, recorder.before))
    except OSError:
        held = b""  # the entries dropped earlier are lost as well: those dropped now are recorded all the same
    from ingest.archive import sharing

    source = recorder.archive.source
    gone = sharing.dropped(source, reading.path, held, was, now, read)
    if gone:
        # It may be from a time when the archive stored lines as found.
        recorder.whole(gone if recorder.archive.keeps_raw else sharing.redacted(source, reading.path, gone, {}))
        recorder.finish(before.size, before.mtime_ns, before.consumed, before.digest)


def _whole(data: bytes, reading: Reading, take: Callable[[Any, Reading], Any], foreign: str, as_bytes: bool) -> bytes:
    """Give the file to ``take``; return the redacted bytes, or none if they are still to be redacted."""
    redacted = b""
    if as_bytes:
        redacted = take(data, reading)
    elif reading.path.endswith(".txt"):
        text = data.decode("utf-8", "replace")
        if not records.is_utf8(data):
            reading.recovered[records.REPLACED] = 1
        cleaned = clean(text, reading.redacted)
        redacted = data if cleaned == text else cleaned.encode()
        take(cleaned, reading)
    else:
        before = sum(reading.redacted.values())
        whole = records.without_tail(data)
        try:
            value = records.value(whole, reading.redacted)
        except RecursionError:
            reading.failed = Failure(reading.path, records.TOO_DEEP)
            return b""
        except ValueError as error:
            reading.failed = Failure(reading.path, records.MALFORMED_DOCUMENT, str(error))
            if records.is_binary(data):
                reading.failed = Failure(reading.path, records.BINARY)
            return b""
        if len(whole) != len(data):
            reading.recovered[records.HOLES] = 1
        if not records.is_utf8(whole):
            reading.recovered[records.REPLACED] = 1
        unchanged = sum(reading.redacted.values()) == before
        redacted = whole if unchanged else json.dumps(value, separators=(",", ":")).encode()
        take(value, reading)
    for part in reading.parts.values():
        part.digest = reading.digest
    if not reading.parts and not reading.skipped and reading.failed is None:
        reading.dismiss(foreign)
    return redacted


def judge(reading: Reading, source: records.Records, foreign: str) -> None:
    """Set the reason why a file of JSON Lines has no parts, if it has none."""
    repeated = 0
    for part in reading.parts.values():
        part.digest = reading.digest
        repeated += part.repeated
    if repeated:
        reading.recovered["repeated records passed over"] = repeated
    if reading.skipped:
        reading.parts.clear()
    elif not reading.parts:
        first = reading.failures[0] if reading.failures else None
        if source.found or (first is not None and source.opens_block):
            # Well-formed, or one JSON text over many lines: another tool's file, and its faults are not ours.
            reading.dismiss(foreign)
        elif first is not None:
            reading.failed = first if not records.is_binary(source.head) else Failure(reading.path, records.BINARY)
        else:
            reading.skipped = INCOMPLETE if source.tail else EMPTY


def unreadable(reading: Reading, error: OSError) -> None:
    """Record that the whole file could not be read, with its stat, so that a later run notices a change."""
    reading.parts.clear()
    reading.failed = Failure(reading.path, records.UNREADABLE, error.strerror or str(error))
    if not reading.inode:
        with contextlib.suppress(OSError):
            reading.stat(os.stat(reading.path))


def in_part(reading: Reading) -> tuple[str, str] | None:
    """Return (reason, detail) of the damage that ended the reading of a database, if something was read before it."""
    failed = reading.failed
    if failed is None or failed.reason != DAMAGED or not (reading.taken or reading.parts):
        return None
    return failed.reason, failed.detail
