"""iCalendar (RFC 5545): events, tasks and journals, read by the library ``icalendar``.

Each component is parsed by itself: a damaged one costs no other. Definitions of time zones are passed over, because a
hostile one has no end; a zone is known by its name. A repeated event is one entry, with its rule.
"""

from __future__ import annotations

import hashlib
import re
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Any

from core.document import Failure
from core.text import one_line
from ingest.pipeline.reading import BROKEN
from ingest.raw import records

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ingest.pipeline.reading import Reading

    Record = dict[str, Any]

FOREIGN = "no calendar in it"
_COMPONENT = re.compile(rb"(?mi)^BEGIN:(VEVENT|VTODO|VJOURNAL)[ \t]*\r?$")
# What a component's entry is made of; a name may have a group before it, and parameters behind.
_SHOWN = "BEGIN END UID RECURRENCE-ID DTSTART DTEND DUE DTSTAMP ORGANIZER ATTENDEE RRULE STATUS URL"
_NAME = re.compile(rf"(?i)(?:{'|'.join(_SHOWN.split())})[;:]")
_TEXT = re.compile(r'(?i)(SUMMARY|LOCATION|DESCRIPTION)(?:;[^":]*(?:"[^"]*"[^":]*)*)?:(.*)')
_ESCAPED = re.compile(r"\\([nN\\,;])")
_FOLD = re.compile(r"\r?\n[ \t]")
# Bytes of one component.
_LONGEST = 1 << 20
_PEOPLE = 20


def events(data: bytes, reading: Reading) -> Iterator[Record]:
    """Yield a record for each component of a calendar."""
    data = data.removeprefix(b"\xef\xbb\xbf")
    if not re.match(rb"(?i)\s*BEGIN:VCALENDAR", data[:4096]):
        return
    if not records.is_utf8(data):
        reading.recovered[records.REPLACED] = 1
    found, line, counted = _COMPONENT.search(data), 1, 0
    while found:
        # Components of these kinds are never within each other: the next one begins where an end is lost.
        following = _COMPONENT.search(data, found.end())
        limit = following.start() if following else len(data)
        end = re.compile(rb"(?mi)\nEND:" + found[1] + rb"[ \t]*\r?$").search(data, found.end(), limit)
        start, found = found.start(), following
        if end is None:
            line, counted = line + data.count(b"\n", counted, start), start
            reading.fail(Failure(reading.path, records.MALFORMED, "a component without its end", line))
            continue
        at = end.end()
        if at - start > _LONGEST:
            reading.fail(Failure(reading.path, records.TOO_LONG, f"a component of {(at - start) >> 10} KB"))
            continue
        try:
            yield _record(data[start:at])
        except (*BROKEN, LookupError, OverflowError) as error:
            reading.broken(error)


def _record(data: bytes) -> Record:
    from icalendar import Component

    lines = list(_own_lines(data.decode("utf-8", "replace")))
    texts = {found[1].upper(): _unescaped(found[2]) for found in map(_TEXT.match, reversed(lines)) if found}
    # The library reads a line a character at a time: it gets the lines with a structure alone.
    found: Any = Component.from_ical("\n".join(line for line in lines if _NAME.match(line)))
    start = _when(found, "DTSTART") or _when(found, "DUE") or _when(found, "DTSTAMP")
    uid = _text(found, "UID")
    again = _when(found, "RECURRENCE-ID")
    key = f"{uid} {again}".strip() or hashlib.sha256(data).hexdigest()[:32]
    facts = (
        ("until", _end(found)),
        ("where", one_line(texts.get("LOCATION", ""), 1000)),
        ("by", _person(found.get("ORGANIZER"))),
        ("with", _people(found.get("ATTENDEE"))),
        ("repeats", _rule(found)),
        ("status", _text(found, "STATUS").lower() if _text(found, "STATUS") in ("CANCELLED", "COMPLETED") else ""),
        ("link", _text(found, "URL")),
    )
    return {
        "unit": start[:7] or "undated",
        "key": key,
        "at": start,
        "title": one_line(texts.get("SUMMARY", ""), 1000),
        "head": [f"{name}: {value}" for name, value in facts if value],
        "text": texts.get("DESCRIPTION", ""),
    }


def _own_lines(text: str) -> Iterator[str]:
    """Yield the unfolded lines of a component without those of components in it, such as alarms."""
    depth = 0
    for line in _FOLD.sub("", text).split("\n"):
        line = line.rstrip("\r")
        begins, ends = line[:6].upper() == "BEGIN:", line[:4].upper() == "END:"
        depth += begins
        if depth <= 1 and line.strip():
            yield line
        depth -= ends


def _unescaped(text: str) -> str:
    return _ESCAPED.sub(lambda each: "\n" if each[1] in "nN" else each[1], text) if "\\" in text else text


def _text(component: Any, name: str) -> str:
    value = component.get(name)
    if isinstance(value, list):
        value = value[0] if value else ""
    return "" if value is None else one_line(str(value), 1000)


def _when(component: Any, name: str) -> str:
    """Return a time as UTC, a day as its midnight; "" if there is none. A time without a zone is taken as UTC."""
    value = component.get(name)
    found = getattr(value[0] if isinstance(value, list) else value, "dt", None)
    if isinstance(found, datetime):
        found = found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)
        return found.isoformat()
    return f"{found.isoformat()}T00:00:00+00:00" if isinstance(found, date) else ""


def _end(component: Any) -> str:
    end = _when(component, "DTEND")
    return end[:16].replace("T", " ") if end else ""


def _rule(component: Any) -> str:
    value = component.get("RRULE")
    found = value[0] if isinstance(value, list) and value else value
    return one_line(found.to_ical().decode("utf-8", "replace"), 200) if hasattr(found, "to_ical") else ""


def _people(value: Any) -> str:
    found = value if isinstance(value, list) else [value] if value is not None else []
    more = f" and {len(found) - _PEOPLE} more" if len(found) > _PEOPLE else ""
    return ", ".join(filter(None, map(_person, found[:_PEOPLE]))) + more


def _person(value: Any) -> str:
    """Return the name of a person, else the address."""
    if value is None:
        return ""
    if isinstance(value, list):
        return _people(value)
    address = re.sub(r"(?i)\Amailto:", "", str(value))
    name = one_line(str(getattr(value, "params", {}).get("CN", "")), 200)
    return f"{name} <{address}>" if name and name != address else one_line(address, 200)
