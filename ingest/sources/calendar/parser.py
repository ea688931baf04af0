"""iCalendar (RFC 5545): events, tasks and journals, read by the library ``icalendar``.

Each component is parsed by itself: a damaged one costs no other. Definitions of time zones are passed over, because a
hostile one has no end; a zone is known by its name. A repeated event is one entry, with its rule.
"""

from __future__ import annotations

import contextlib
import hashlib
import re
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Any

import re2

from core.document import Failure
from core.text import one_line
from ingest.pipeline.reading import BROKEN
from ingest.raw import records

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ingest.pipeline.reading import Reading

    Record = dict[str, Any]

FOREIGN = "no calendar in it"
# RE2, because re looks at each line of a long text.
_EDGE = re2.compile(rb"(?mi)^(BEGIN|END):(VEVENT|VTODO|VJOURNAL)[ \t]*\r?$")
_NAME = re.compile(r"([A-Za-z-]+)[;:]")
# What an entry is made of. The library reads a line a character at a time: it gets those with a structure alone.
_SHOWN = frozenset(
    """UID RECURRENCE-ID DTSTART DTEND DUE DTSTAMP ORGANIZER ATTENDEE RRULE STATUS URL SUMMARY LOCATION
    DESCRIPTION""".split()
)
_VALUE = re.compile(r'[A-Za-z-]+(?:;[^":]*(?:"[^"]*"[^":]*)*)?:(.*)')
_ESCAPED = re.compile(r"\\([nN\\,;])")
# Bytes of one component.
_LONGEST = 1 << 20
_PEOPLE = 20
_BAD = (ValueError, LookupError, OverflowError, TypeError, AttributeError)


def events(data: bytes, reading: Reading) -> Iterator[Record]:
    """Yield a record for each component of a calendar."""
    data = data.removeprefix(b"\xef\xbb\xbf")
    if not re.match(rb"(?i)\s*BEGIN:VCALENDAR", data[:4096]):
        return
    if not records.is_utf8(data):
        reading.recovered[records.REPLACED] = 1
    line, counted = 1, 0
    for start, end, is_whole in _components(data):
        if not is_whole:
            line, counted = line + data.count(b"\n", counted, start), start
            reading.fail(Failure(reading.path, records.MALFORMED, "a component without its end", line))
        elif end - start > _LONGEST:
            reading.fail(Failure(reading.path, records.TOO_LONG, f"a component of {(end - start) >> 10} KB"))
        else:
            try:
                yield _record(data[start:end])
            except (*BROKEN, LookupError, OverflowError) as error:
                reading.broken(error)


def _components(data: bytes) -> Iterator[tuple[int, int, bool]]:
    """Yield (start, end, whether it is whole) of each component.

    Components of these kinds are never within each other: the next one begins where an end is lost.
    """
    start, kind = -1, b""
    for edge in _EDGE.finditer(data):
        if edge[1].upper() == b"BEGIN":
            if start >= 0:
                yield start, edge.start(), False
            start, kind = edge.start(), edge[2].upper()
        elif start >= 0 and edge[2].upper() == kind:
            yield start, edge.end(), True
            start = -1
    if start >= 0:
        yield start, len(data), False


def _record(data: bytes) -> Record:
    given: dict[str, list[str]] = {}
    for line in _own_lines(data.decode("utf-8", "replace")):
        found = _NAME.match(line)
        if found and (name := found[1].upper()) in _SHOWN:
            given.setdefault(name, []).append(line)
    start = _when(given, "DTSTART") or _when(given, "DUE") or _when(given, "DTSTAMP")
    uid, status = _text(given, "UID"), _text(given, "STATUS")
    key = f"{uid} {_when(given, 'RECURRENCE-ID')}".strip() or hashlib.sha256(data).hexdigest()[:32]
    facts = (
        ("until", _when(given, "DTEND")[:16].replace("T", " ")),
        ("where", _text(given, "LOCATION")),
        ("by", _people(given.get("ORGANIZER", ()))),
        ("with", _people(given.get("ATTENDEE", ()))),
        ("repeats", _rule(given)),
        ("status", status.lower() if status in ("CANCELLED", "COMPLETED") else ""),
        ("link", _text(given, "URL")),
    )
    return {
        "unit": start[:7] or "undated",
        "key": key,
        "at": start,
        "title": _text(given, "SUMMARY"),
        "head": [f"{name}: {value}" for name, value in facts if value],
        "text": _long_text(given, "DESCRIPTION"),
    }


def _own_lines(text: str) -> Iterator[str]:
    """Yield the unfolded lines of a component without those of components in it, such as alarms."""
    depth, unfolded = 0, text.replace("\r\n", "\n")
    if "\n " in unfolded or "\n\t" in unfolded:
        unfolded = unfolded.replace("\n ", "").replace("\n\t", "")
    for line in unfolded.split("\n"):
        begins, ends = line[:6].upper() == "BEGIN:", line[:4].upper() == "END:"
        depth += begins
        if depth <= 1:
            yield line
        depth -= ends


def _long_text(given: Mapping[str, Sequence[str]], name: str) -> str:
    """Return the text of a component's first line of that name, "" without one."""
    found = _VALUE.match(given[name][0]) if name in given else None
    text = found[1] if found else ""
    return _ESCAPED.sub(lambda each: "\n" if each[1] in "nN" else each[1], text) if "\\" in text else text


def _text(given: Mapping[str, Sequence[str]], name: str) -> str:
    return one_line(_long_text(given, name), 1000)


def _parts(line: str) -> tuple[Mapping[str, Any], str]:
    """Return (parameters, value) of a line. Raises one of _BAD."""
    from icalendar.parser import Contentline

    before, _, value = line.partition(":")
    if ";" not in before:
        return {}, value
    parse: Any = Contentline  # the library leaves it untyped
    _, parameters, value = parse(line).parts()
    return parameters, value


def _when(given: Mapping[str, Sequence[str]], name: str) -> str:
    """Return a time as UTC, a day as its midnight; "" if there is none. A time without a zone is taken as UTC."""
    if name not in given:
        return ""
    from icalendar.prop import vDDDTypes

    parameters, value = _parts(given[name][0])
    read: Any = vDDDTypes.from_ical
    found = read(value, parameters.get("TZID"))
    if isinstance(found, datetime):
        found = found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)
        return found.isoformat()
    return f"{found.isoformat()}T00:00:00+00:00" if isinstance(found, date) else ""


def _rule(given: Mapping[str, Sequence[str]]) -> str:
    if "RRULE" not in given:
        return ""
    from icalendar.prop import vRecur

    value = given["RRULE"][0].partition(":")[2]
    with contextlib.suppress(*_BAD):  # else it is shown as it is
        value = vRecur.from_ical(_parts(given["RRULE"][0])[1]).to_ical().decode("utf-8", "replace")
    return one_line(value, 200)


def _people(lines: Sequence[str]) -> str:
    more = f" and {len(lines) - _PEOPLE} more" if len(lines) > _PEOPLE else ""
    return ", ".join(filter(None, map(_person, lines[:_PEOPLE]))) + more


def _person(line: str) -> str:
    """Return the name of a person, else the address."""
    try:
        parameters, value = _parts(line)
    except _BAD:
        return ""
    address = re.sub(r"(?i)\Amailto:", "", value)
    name = one_line(str(parameters.get("CN", "")), 200)
    return f"{name} <{address}>" if name and name != address else one_line(address, 200)
