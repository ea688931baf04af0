"""Shells' histories → the commands of a day (UTC), each with its time; Atuin also knows where, and how it ended.

Formats: zsh with ``EXTENDED_HISTORY`` (zshoptions(1); the bytes are metafied), bash with ``HISTTIMEFORMAT`` (bash(1):
a line ``#<seconds>`` before each command), fish (fish_history, a subset of YAML), Atuin (``history.db``).
"""

from __future__ import annotations

import re
import time
from collections import Counter
from functools import lru_cache
from itertools import groupby, islice, pairwise
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from core import clock
from core.counting import add
from core.document import Failure, Timestamp
from core.redaction import clean as redacted
from core.redaction import clean_document
from core.redaction.screen import OVER_LINES, ahead, suspected, suspects
from core.text import one_line
from ingest.pipeline.reading import EMPTY, Reading, whole
from ingest.raw import databases
from ingest.raw.records import BINARY, is_binary
from ingest.raw.store import DISK
from ingest.session import markdown, tool_calls
from ingest.session.session import Part
from ingest.sources.shell import atuin
from ingest.sources.shell import formats as shell_formats
from ingest.sources.shell.formats import How
from ingest.sources.shell.redaction import MAX_COMMAND, Redaction, is_clean
from ingest.sources.shell.spans import without_spans

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    import apsw

    from ingest.archive.rows import Groups, Row, Shelf
    from ingest.raw.store import RawStore
    from ingest.sources.shell.formats import Entry

    # Time and text, and who had it run.
    Identity = tuple[int, str] | tuple[int, str, str]

NAME = "shell"
FOREIGN = "not a shell's history"
UNDATED = "undated"
# A pause after which the next command begins another section.
_PAUSE_S = 30 * 60
# Commands that are looked at together.
_BATCH = 1024
_DAY_S = 86_400
# So many bytes tell where in a history that was longer this one begins.
_SAME = 512
# HH:MM and SS, looked up: formatting them for each command took as long as all the rest of a document.
_MINUTES = [f"{minute // 60:02}:{minute % 60:02}" for minute in range(24 * 60)]
_SECONDS = [f"{second:02}" for second in range(60)]
# Where a command begins, as the parsers below see it; what follows is a part of it.
_PIECES = {
    "zsh": re.compile(rb"(?<!\\\n)^(?:: +(?P<at>[0-9]{1,20}) *(?::[^;\n]*)?;)?", re.MULTILINE),
    "bash": re.compile(rb"^#(?P<at>[0-9]{9,12})$", re.MULTILINE),
    "fish": re.compile(rb"^- cmd: [^\n]*(?:\n(?!- cmd: )[^\n]*)*", re.MULTILINE),
}
_WHEN = re.compile(rb"^  when: (?P<at>[0-9]{1,20})", re.MULTILINE)
_FIRST, _LAST = 631_152_000, 4_102_444_800  # the years 1990 to 2099: other numbers are no times


class Day(Part):
    """What one file tells of one day; ``commands`` in the order of the file.

    ``knows_more`` than when and what: where a command ran, how it ended, and who had it run.
    """

    __slots__ = ("_uuids", "commands", "hidden", "knows_more")

    def __init__(self, unit: str, *, knows_more: bool = False) -> None:
        super().__init__(unit)
        self.knows_more = knows_more
        self.commands: list[Entry] = []
        self.hidden = 0
        self._uuids: set[Identity] = set()

    @property
    def distinct(self) -> int:
        """How many commands the history has, also ``hidden`` ones, without which it does not say less than before."""
        every = len(self.commands)
        return self.hidden + (every if len(set(map(_time, self.commands))) == every else len(self.uuids))

    def with_older(self, older: Part) -> Day:
        """Return the day with the commands that the history held before, and has dropped."""
        assert isinstance(older, Day)
        self.commands = [entry for entry in older.commands if _identity(entry) not in self.uuids] + self.commands
        self._uuids = set()
        return self

    @property
    def uuids(self) -> set[Identity]:
        """What tells the commands apart; asked for once the file has been read."""
        if not self._uuids:
            self._uuids = set(self.identities())
        return self._uuids

    def identities(self) -> Iterable[Identity]:
        """What tells each command apart: time and text, and who had it run where that was not the person."""
        if not self.knows_more:
            return map(_identity, self.commands)
        return [
            (*_identity(entry), how.author) if (how := entry[3]).author else _identity(entry) for entry in self.commands
        ]


def read(path: str, raw: RawStore) -> Reading:
    """Read one history. Never raises for what is in it or for its not being readable: see ``Reading.failed``."""
    if path.endswith(databases.SUFFIXES):
        return databases.read(path, raw, _atuin)
    return whole(path, raw, _history, FOREIGN, as_bytes=True)


def _history(data: bytes, reading: Reading) -> bytes:
    """Take a history in; returns ``data`` as it is kept.

    The whole of it is looked through for what is to be redacted, on the other core; where something may be, the parts
    that it may be in are told, and of these each command is looked at. Documents are made of what is kept.
    """
    if is_binary(data):
        reading.failed = Failure(reading.path, BINARY)
        return b""
    data = data.replace(b"\0", b"")  # what a crash of the machine left: no shell writes one
    kind = shell_formats.kind_of(reading.path, data)
    places = list(shell_formats.parts(kind, data))
    looked = ahead(data, places)
    read = [_read_part(kind, data[place]) for place in places]
    suspicious, rules = looked()
    before = data
    data = without_spans(kind, data, rules, reading.redacted) if rules else data
    whole: list[Entry] = []
    if data is not before:
        whole = [entry for entries, _ in read for entry in entries]
        places = list(shell_formats.parts(kind, data))
        read = [_read_part(kind, data[place]) for place in places]
        suspicious = [suspects(data[place]) for place in places]
    taking = _Taking(reading, kind)
    pieces: list[bytes] = []
    for place, (entries, as_written), may_hold in zip(places, read, suspicious, strict=True):
        piece, counts = data[place], None
        if may_hold:
            piece, counts = taking.redaction.archived(kind, piece)
        if counts is not None:
            add(reading.redacted, counts)
            taking.look(shell_formats.entries(kind, piece)[0])
        elif as_written and not may_hold:
            taking.add(entries)
        else:
            taking.look(entries)
        pieces.append(piece)
    for unit, count in Counter(_unit(entry[0], kind) for entry in whole if entry[1]).items():
        if unit in reading.parts:
            reading.parts[unit].hidden = max(0, count - len(reading.parts[unit].commands))
    return b"".join(pieces) if any(suspicious) else data


def without_secrets(path: str, data: bytes, counts: dict[str, int]) -> bytes:
    """A history that is a text, as ``read`` has it kept; what was replaced is added to ``counts``."""
    reading = Reading(path, DISK)
    kept = _history(data, reading)
    if reading.failed is not None:
        return clean_document(data, counts)
    add(counts, reading.redacted)
    return kept


def _read_part(kind: str, part: bytes) -> tuple[list[Entry], bool]:
    """The commands of a part of a history, and whether they stay as they are where there is nothing to redact."""
    entries, as_written = shell_formats.entries(kind, part)
    longest = max(map(len, map(_command, entries)), default=0)
    return entries, as_written and longest <= MAX_COMMAND and is_clean(part)


class _Taking:
    """Takes the commands of one history into its reading."""

    def __init__(self, reading: Reading, kind: str) -> None:
        self.redaction = Redaction()
        self._reading = reading
        self._kind = kind
        self._days: dict[int, Day] = {}

    def look(self, entries: Iterable[Entry]) -> None:
        """Take commands that may hold something, as what is left of them."""
        left = iter(entries)
        while batch := list(islice(left, _BATCH)):
            shown = self.redaction.of([entry[1] for entry in batch])
            self.add(
                [entry if it is None else self._replaced(entry, *it) for entry, it in zip(batch, shown, strict=True)]
            )

    def _replaced(self, entry: Entry, command: str, counts: dict[str, int]) -> Entry:
        add(self._reading.redacted, counts)
        return entry[0], command, entry[2], entry[3]

    def add(self, entries: list[Entry]) -> None:
        """Take commands as they are, without those that are empty."""
        for number, run in groupby(filter(_command, entries), _day):
            found = list(run)
            if not _is_dated(found[0][0]):
                number, found = 0, [(0, *entry[1:]) for entry in found]
            day = self._days.get(number)
            if day is None:
                unit = _unit(found[0][0], self._kind)
                day = Day(unit, knows_more=self._kind == "atuin")
                day = self._days[number] = self._reading.parts.setdefault(unit, day)
            day.commands += found


def _day(entry: Entry) -> int:
    return entry[0] // _DAY_S


def _is_dated(at: int) -> bool:
    return _FIRST <= at < _LAST


def _unit(at: int, kind: str) -> str:
    return _unit_of(at // _DAY_S, kind)


@lru_cache(4096)
def _unit_of(day: int, kind: str) -> str:
    at = day * _DAY_S
    return time.strftime("%Y-%m-%d", time.gmtime(at)) if _is_dated(at) else f"{UNDATED}-{kind}"


def pieces(path: str, data: bytes) -> Iterator[tuple[str, bytes]]:
    """(unit, bytes) of each command of a history that is a text, in order; together they are ``data``."""
    kind = shell_formats.kind_of(path, data)
    start = at = 0
    for match in _PIECES[kind].finditer(data):
        if match.start() > start:
            yield _unit(at, kind), data[start : match.start()]
        start = match.start()
        found = _WHEN.search(data, start, match.end()) if kind == "fish" else match
        at = int((found["at"] if found else None) or 0)
    if start < len(data):
        yield _unit(at, kind), data[start:]


def dropped(path: str, held: bytes, before: bytes, now: bytes, read: bytes) -> bytes:
    """A history of the commands of ``held``, and of those that ``before`` has beyond them and ``now`` has not.

    ``now`` is what is kept of ``read``: what only a command that came later has made a secret was not dropped.
    """
    start = before.find(now[:_SAME])
    if start > 0 and before[start - 1 : start] == b"\n" and now.startswith(before[start:]):
        before, there = before[:start], set()  # as a history that is full goes on
    else:
        there = {piece for _, piece in _commands_of(path, now)}
        if suspected(read, OVER_LINES):
            hidden = {piece for _, piece in _commands_of(path, read.replace(b"\0", b""))} - there
            there.update(Redaction().alone(hidden))
    known = list(_commands_of(path, held))
    there.update(piece for _, piece in known)
    known += [each for each in _commands_of(path, before) if each[1] not in there]
    # Bash takes a line that follows a time for part of that command; by a zsh history's first line its kind is told.
    dated_first = shell_formats.kind_of(path, now) != "bash"
    known.sort(key=lambda each: each[0] is not dated_first)
    return b"".join(piece + b"\n" for _, piece in known)


def _commands_of(path: str, data: bytes) -> Iterator[tuple[bool, bytes]]:
    """(whether its time is known, text without the last line's end) of each command, in order."""
    for unit, piece in pieces(path, data):
        dated = not unit.startswith(UNDATED)
        # What bash writes without times is told apart by lines alone.
        whole = dated or not unit.endswith("bash")
        yield from ((dated, each) for each in ((piece.rstrip(b"\n"),) if whole else piece.splitlines()) if each)


def _atuin(connection: apsw.Connection, there: dict[str, set[str]], reading: Reading, shelf: Shelf) -> Iterator[None]:
    columns = there.get(atuin.TABLE, set())
    if not atuin.is_ours(columns):
        reading.skipped = FOREIGN
        return
    shown: dict[tuple[str, int], tuple[str, dict[str, int]]] = {}

    def line(value: object, length: int = 1000) -> str:
        """A folder, a name or an intent as it is shown; there are few, and each is looked at once."""
        if type(value) is not str or not value:
            return ""
        if (value, length) not in shown:
            counts: dict[str, int] = {}
            shown[value, length] = one_line(redacted(value, counts), length), counts
        found, counts = shown[value, length]
        add(reading.redacted, counts)
        return found

    held = [row for row in atuin.rows(connection, columns) if type(row.timestamp) is int]
    rows, hidden = _left(held, reading)
    found = (
        (
            row.timestamp // 1_000_000_000,
            row.command.strip(),
            line(row.folder),
            How(row.code, line(row.author, 100), line(row.intent, 500)),
        )
        for row in rows
        if type(row.command) is str
    )
    _Taking(reading, "atuin").look(found)
    for unit, count in hidden.items():
        if unit in reading.parts:
            reading.parts[unit].hidden = count
    if not reading.parts:
        reading.skipped = next(iter(reading.dropped), EMPTY)
    kept = atuin.kept(columns)
    shelf.tables = {atuin.TABLE: kept}
    shelf.keep(_by_day([row[: len(kept)] for row in rows]))
    yield


def _left(rows: list[atuin.Row], reading: Reading) -> tuple[list[atuin.Row], Counter[str]]:
    """The commands that ran in no excluded folder, and day → how many others there are, which are ``dropped``."""
    hidden: Counter[str] = Counter()
    left: list[atuin.Row] = []
    why: dict[str, str] = {}
    for row in rows:
        folder = row.folder
        if folder not in why:
            why[folder] = reading.raw.excluded(folder)
        reason = why[folder]
        if reason:
            reading.dropped[reason] = reading.dropped.get(reason, 0) + 1
            hidden[_unit(row.timestamp // 1_000_000_000, "atuin")] += 1
        else:
            left.append(row)
    return left, hidden


def _by_day(rows: list[tuple[Any, ...]]) -> Groups:
    """What of Atuin's database the archive keeps."""
    days: dict[str, list[Row]] = {}
    for row in rows:
        days.setdefault(_unit(row[0] // 1_000_000_000, "atuin"), []).append((atuin.TABLE, row))
    return days.items()


_identity: Callable[[Entry], tuple[int, str]] = itemgetter(0, 1)
_time, _command = itemgetter(0), itemgetter(1)


def _told(entry: Entry) -> tuple[bool, int, str]:
    return bool(entry[2]), entry[3].code, entry[2]


def compose(unit: str, parts: list[Day], _link: str = "", mtime_ns: int = 0) -> tuple[dict[str, object], str] | str:
    """(frontmatter, body) of one day from all the histories that know of it; copies of a command are one."""
    commands = sorted(_united(parts), key=_time)
    if not commands:
        return "no command"
    knows_more = any(part.knows_more for part in parts)
    folders: list[str] = []
    authors: set[str] = set()
    if knows_more:
        authors = {entry[3].author for entry in commands} - {""}
        # A day is of the project that the person worked in, where they did.
        folders = [entry[2] for entry in commands if entry[2] and not entry[3].author]
        folders = folders or [entry[2] for entry in commands if entry[2]]
    first, last = commands[0][0], commands[-1][0]
    heading = f"Shell commands of {unit}" if first else f"Shell commands without a time ({unit.rpartition('-')[2]})"
    turns: list[Any] = [_Section(run[0][0], _lines(run, knows_more)) for run in _runs(commands)]
    meta: dict[str, object] = {
        "session_id": unit,
        "source": NAME,
        "title": heading,
        "date": Timestamp(clock.iso(first or mtime_ns // 1_000_000_000)),
        "date_source": None if first else "mtime",
        "ended": Timestamp(clock.iso(last)) if first else None,
        "project": max(sorted(set(folders)), key=folders.count) if folders else None,
        "turns": len(turns),
        "commands": len(commands),
        "authors": sorted(authors),
    }
    return meta, markdown.body(heading, turns)


def _united(parts: list[Day]) -> list[Entry]:
    """The commands of all histories, each of which may know of some that others know of, too."""
    if len(parts) == 1 and not parts[0].knows_more:
        return parts[0].commands
    known: dict[Identity, Entry] = {}
    united: list[tuple[Identity, Entry]] = []
    for part in sorted(parts, key=lambda part: (-len(part.uuids), part.digest)):
        # What one history repeats was run again; what another one also has is the same.
        named = list(zip(part.identities(), part.commands, strict=True))
        united += [each for each in named if each[0] not in known]
        for same, entry in named:
            # What one history knows of where a command ran, and how it ended, the others lack.
            before = known.setdefault(same, entry)
            if before is not entry and _told(entry) > _told(before):
                known[same] = entry
    return [known[same] for same, _ in united]


class _Section:
    """Commands that follow each other closely: a turn, as ``ingest.session.markdown`` writes it."""

    def __init__(self, at: int, lines: list[str]) -> None:
        self.role = "command"
        self.at = clock.iso(at) if at else ""
        self.lines = lines

    def blocks(self) -> list[tuple[bool, str]]:
        return [(True, "\n".join(self.lines))]

    def reasoning(self) -> list[str]:
        return []


def _runs(commands: list[Entry]) -> list[list[Entry]]:
    """``commands``, which are sorted by time, cut where there is a pause."""
    times = list(map(_time, commands))
    starts = [at for at, (before, after) in enumerate(pairwise(times), 1) if after - before > _PAUSE_S]
    return [commands[start:end] for start, end in pairwise((0, *starts, len(commands)))]


def _lines(commands: list[Entry], knows_more: bool) -> list[str]:
    if not knows_more:
        return [
            _line(at, command)
            if "\n" in command or not at
            else f"- {_MINUTES[at % _DAY_S // 60]}:{_SECONDS[at % 60]} $ {command}"
            for at, command, _, _ in commands
        ]
    lines: list[str] = []
    there = ""
    for at, command, folder, how in commands:
        if folder and folder != there:
            lines.append(f"- in {folder}")
            there = folder
        lines.append(_line(at, command, how.author))
        if how.intent:
            lines.append(f"  intent: {how.intent}")
        if how.code:
            lines.append(f"  ! Exit code {how.code}")
    return lines


def _line(at: int, command: str, author: str = "") -> str:
    by = f"({author}) $" if author else "$"
    when = f"- {_MINUTES[at % _DAY_S // 60]}:{_SECONDS[at % 60]} {by}" if at else f"- {by}"
    return f"{when} {command}" if "\n" not in command else f"{when}\n{tool_calls.fenced(command, 'sh')}"
