"""Reading exports of chats: a list of conversations as JSON, or a ZIP with it.

The archive has a line of JSON a conversation, so that one can be forgotten without the others.
"""

from __future__ import annotations

import io
import json
import zipfile
from typing import TYPE_CHECKING, Any

from core.document import Failure
from core.redaction import clean_record
from ingest.pipeline.reading import BROKEN, Reading, whole
from ingest.raw import records
from ingest.session.values import mapping
from ingest.sources.exports import NAMED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ingest.raw.store import RawStore
    from ingest.session.session import SessionBuilder

    Record = dict[str, Any]
    # Returns the session of a conversation, None if the value is no conversation of the tool's.
    Take = Callable[[Record, Reading], SessionBuilder | None]

# Bytes of all conversations of an export, unpacked, and how much larger than the packed ones they may be.
_MOST, _RATIO = 1 << 30, 200


def read(path: str, raw: RawStore, take: Take, foreign: str) -> Reading:
    """Read one export. Faults are recorded in the result."""

    def conversations(data: bytes, reading: Reading) -> bytes:
        held: list[bytes] = []
        for value in _values(data, reading):
            line = json.dumps(value, separators=(",", ":")).encode()
            cleaned = clean_record(line, value, reading.redacted)
            try:
                session = take(mapping(cleaned), reading)
            except BROKEN as error:
                reading.broken(error)
                continue
            if session is not None:
                session.records = len(session.uuids)
                reading.parts[session.unit] = session
                if cleaned is not value:
                    line = json.dumps(cleaned, separators=(",", ":")).encode()
                held.append(line + b"\n")
        return b"".join(held)

    return whole(path, raw, conversations, foreign, as_bytes=True)


def _values(data: bytes, reading: Reading) -> Iterator[Any]:
    """Yield the conversations in a ZIP, in a list of JSON, or in lines of JSON."""
    yield from _unpacked(data, reading) if data.startswith(b"PK") else _listed(data, reading)


def _listed(data: bytes, reading: Reading) -> Iterator[Any]:
    """Yield the conversations in a list of JSON, or in lines of JSON."""
    if records.is_binary(data):
        reading.failed = Failure(reading.path, records.BINARY)
        return
    text = records.without_tail(data).decode("utf-8", "replace")
    if not records.is_utf8(data):
        reading.recovered[records.REPLACED] = reading.recovered.get(records.REPLACED, 0) + 1
    try:
        if text.lstrip()[:1] == "[":
            found = json.loads(text, strict=False)
            yield from found
        else:
            # As the archive has it; a single document is one line as well.
            for line in filter(str.strip, text.split("\n")):
                value = json.loads(line, strict=False)
                yield from value if type(value) is list else [value]
    except RecursionError:
        reading.failed = Failure(reading.path, records.TOO_DEEP)
    except ValueError as error:
        reading.failed = None if reading.parts else Failure(reading.path, records.MALFORMED_DOCUMENT, str(error))
        if reading.parts:
            reading.fail(Failure(reading.path, records.MALFORMED, str(error)))


def _unpacked(data: bytes, reading: Reading) -> Iterator[Any]:
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as packed:
            members = [
                each
                for each in packed.infolist()
                if each.filename.rpartition("/")[2].startswith(NAMED) and each.filename.endswith(".json")
            ]
            size = sum(each.file_size for each in members)
            if size > min(_MOST, max(len(data), 1 << 20) * _RATIO):
                reading.failed = Failure(
                    reading.path, records.UNREADABLE, f"{size >> 20} MB of conversations when unpacked"
                )
                return
            for member in sorted(members, key=lambda each: each.filename):
                # A ZIP within the ZIP would begin to count its size again.
                yield from _listed(packed.read(member), reading)
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError, OSError, ValueError) as error:
        reading.failed = Failure(reading.path, records.UNREADABLE, f"{type(error).__name__}: {error}")
