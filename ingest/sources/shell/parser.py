"""The commands of a day (UTC) from shells' histories, with their times; Atuin's also have a folder and an exit code.

Histories that are text: ``ingest.sources.shell.formats``. Atuin's ``history.db`` has a table ``history``: ``timestamp``
(ns), ``command``, ``cwd`` ("unknown" if imported), ``exit`` (-1: unknown), ``id``, ``hostname`` (``host:user``) and
``deleted_at``. Since the spring of 2026 it has ``author`` (by default the user; an agent's hooks give the agent's name)
and ``intent`` (the purpose), since the autumn ``author_kind`` (1 a person, 2 an agent, null unknown). Source:
https://github.com/atuinsh/atuin, crates/atuin-client: migrations, src/database.rs (``apply_author_filter``),
src/history/builder.rs.
"""

from __future__ import annotations

import re
import time
from collections import Counter
from functools import lru_cache
from itertools import groupby, islice, pairwise
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple

from core import clock
from core.counting import add
from core.document import Failure, Timestamp
from core.redaction import clean as redacted
from core.redaction import clean_document
from core.redaction.automaton import suspects
from core.redaction.screen import OVER_LINES, ahead, suspected
from core.text import one_line
from ingest.pipeline import databases
from ingest.pipeline.reading import EMPTY, Reading, whole
from ingest.raw.records import BINARY, is_binary
from ingest.raw.store import DATABASES, DISK
from ingest.session import document, tool_calls
from ingest.session.session import Part
from ingest.session.values import string
from ingest.sources.shell import formats
from ingest.sources.shell.formats import MAX_COMMAND, How, Redaction, is_clean, without_spans

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator

    import apsw

    from ingest.archive.rows import Groups, Row, Shelf
    from ingest.raw.store import RawStore
    from ingest.sources.shell.formats import Entry

    # Time and text, and who had it run.
    Identity = tuple[int, str] | tuple[int, str, str]

NAME = "shell"
FOREIGN = "not a shell's history"
UNDATED = "undated"
# A section ends at a pause of this length.
_PAUSE_S = 30 * 60
# Commands that are screened together.
_BATCH = 1024
_DAY_S = 86_400
# So many bytes at the start of a history find its place in a longer one.
_SAME = 512
# HH:MM and SS are looked up: formatting them for each command doubled the time for a document.
_MINUTES = [f"{minute // 60:02}:{minute % 60:02}" for minute in range(24 * 60)]
_SECONDS = [f"{second:02}" for second in range(60)]
# The start of a command, as in ``ingest.sources.shell.formats``.
_PIECES = {
    "zsh": re.compile(rb"(?<!\\\n)^(?:: +(?P<at>[0-9]{1,20}) *(?::[^;\n]*)?;)?", re.MULTILINE),
    "bash": re.compile(rb"^#(?P<at>[0-9]{9,12})$", re.MULTILINE),
    "fish": re.compile(rb"^- cmd: [^\n]*(?:\n(?!- cmd: )[^\n]*)*", re.MULTILINE),
}
_WHEN = re.compile(rb"^  when: (?P<at>[0-9]{1,20})", re.MULTILINE)
_FIRST, _LAST = 631_152_000, 4_102_444_800  # the years 1990 to 2099; other numbers are no times
_TABLE = "history"
_USER, _AGENT = 1, 2
# Atuin's own names of agents, for rows without ``author_kind``; and the name of an agent without one.
_AGENTS = frozenset(("claude-code", "codex", "copilot", "opencode", "pi"))
_NAMELESS = "agent"
_UNKNOWN_FOLDER, _UNKNOWN_CODE, _UNKNOWN_USER = "unknown", -1, "unknown-user"


class AtuinRow(NamedTuple):
    """A command as it is read, and as the archive keeps it; ``timestamp`` in ns.

    ``author``: the author if that was not the person, else None. The last two are kept only of databases with authors.
    """

    timestamp: Any
    command: Any
    cwd: Any
    exit: Any
    id: Any
    author: str | None
    intent: Any

    @property
    def folder(self) -> str:
        """Return the folder in which the command ran, or ""."""
        cwd = string(self.cwd)
        return "" if cwd == _UNKNOWN_FOLDER else cwd

    @property
    def code(self) -> int:
        """Return the exit code, 0 if it is unknown."""
        return self.exit if type(self.exit) is int and self.exit != _UNKNOWN_CODE else 0


class Day(Part):
    """One day in one history; ``commands`` in the order of the file.

    ``knows_more`` than time and text: the folder, the exit code and the author of a command.
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
        """Return the number of commands, with ``hidden`` ones: excluding commands does not make a history shorter."""
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
        """Return the identities of the commands; used after the file was read."""
        if not self._uuids:
            self._uuids = set(self.identities())
        return self._uuids

    def identities(self) -> Iterable[Identity]:
        """Return the identity of each command: time, text, and the author if that was not the person."""
        if not self.knows_more:
            return map(_identity, self.commands)
        return [
            (*_identity(entry), how.author) if (how := entry[3]).author else _identity(entry) for entry in self.commands
        ]


def read(path: str, raw: RawStore) -> Reading:
    """Read one history. Raises nothing: an unreadable file is ``Reading.failed``."""
    if path.endswith(DATABASES):
        return databases.read(path, raw, _atuin)
    return whole(path, raw, _history, FOREIGN, as_bytes=True)


def _history(data: bytes, reading: Reading) -> bytes:
    """Read a history that is text; return ``data`` as the archive keeps it.

    Another core screens the whole history for secrets. Each command of a suspicious part is then examined. Documents
    are made of the kept bytes.
    """
    if is_binary(data):
        reading.failed = Failure(reading.path, BINARY)
        return b""
    data = data.replace(b"\0", b"")  # no shell writes a NUL byte: a crash of the machine left it
    kind = formats.kind_of(reading.path, data)
    places = list(formats.parts(kind, data))
    looked = ahead(data, places)
    read = [_read_part(kind, data[place]) for place in places]
    suspicious, rules = looked()
    before = data
    data = without_spans(kind, data, rules, reading.redacted) if rules else data
    whole: list[Entry] = []
    if data is not before:
        whole = [entry for entries, _ in read for entry in entries]
        places = list(formats.parts(kind, data))
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
            taking.look(formats.entries(kind, piece)[0])
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
    """Return a history that is text as the archive keeps it; replacements are added to ``counts``."""
    reading = Reading(path, DISK)
    kept = _history(data, reading)
    if reading.failed is not None:
        return clean_document(data, counts)
    add(counts, reading.redacted)
    return kept


def _read_part(kind: str, part: bytes) -> tuple[list[Entry], bool]:
    """Return the commands of a part, and True if only redaction could change them."""
    entries, as_written = formats.entries(kind, part)
    longest = max(map(len, map(_command, entries)), default=0)
    return entries, as_written and longest <= MAX_COMMAND and is_clean(part)


class _Taking:
    """Adds the commands of one history to its reading."""

    def __init__(self, reading: Reading, kind: str) -> None:
        self.redaction = Redaction()
        self._reading = reading
        self._kind = kind
        self._days: dict[int, Day] = {}

    def look(self, entries: Iterable[Entry]) -> None:
        """Add commands that may contain secrets, redacted."""
        left = iter(entries)
        while batch := list(islice(left, _BATCH)):
            shown = self.redaction.shown([entry[1] for entry in batch])
            self.add(
                [entry if it is None else self._replaced(entry, *it) for entry, it in zip(batch, shown, strict=True)]
            )

    def _replaced(self, entry: Entry, command: str, counts: dict[str, int]) -> Entry:
        add(self._reading.redacted, counts)
        return entry[0], command, entry[2], entry[3]

    def add(self, entries: list[Entry]) -> None:
        """Add commands unchanged, without empty ones."""
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
    """Yield (unit, bytes) of each command of a history that is text, in order; together they are ``data``."""
    kind = formats.kind_of(path, data)
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
    """Return a history of the commands of ``held``, and of those of ``before`` that neither ``held`` nor ``now`` has.

    ``now`` is the kept form of ``read``: a command that became a secret by a later command was not dropped.
    """
    start = before.find(now[:_SAME])
    if start > 0 and before[start - 1 : start] == b"\n" and now.startswith(before[start:]):
        before, there = before[:start], set()  # a full history drops its oldest commands
    else:
        there = {piece for _, piece in _commands_of(path, now)}
        if suspected(read, OVER_LINES):
            hidden = {piece for _, piece in _commands_of(path, read.replace(b"\0", b""))} - there
            there.update(Redaction().alone(hidden))
    known = list(_commands_of(path, held))
    there.update(piece for _, piece in known)
    known += [each for each in _commands_of(path, before) if each[1] not in there]
    # Bash adds a line after a time to that command. The first line of a zsh history identifies it.
    dated_first = formats.kind_of(path, now) != "bash"
    known.sort(key=lambda each: each[0] is not dated_first)
    return b"".join(piece + b"\n" for _, piece in known)


def _commands_of(path: str, data: bytes) -> Iterator[tuple[bool, bytes]]:
    """Yield (True if its time is known, text without the last line's end) of each command, in order."""
    for unit, piece in pieces(path, data):
        dated = not unit.startswith(UNDATED)
        # Without times, each line of bash's is a command.
        whole = dated or not unit.endswith("bash")
        yield from ((dated, each) for each in ((piece.rstrip(b"\n"),) if whole else piece.splitlines()) if each)


def _is_atuins(columns: Collection[str]) -> bool:
    """Return True if a table of these columns is Atuin's."""
    return {"timestamp", "command"} <= set(columns)


def _kept(columns: Collection[str]) -> tuple[str, ...]:
    """Return the columns of a row that the archive keeps."""
    return AtuinRow._fields if "author" in columns else AtuinRow._fields[:5]


def _rows(connection: apsw.Connection, columns: Collection[str]) -> Iterator[AtuinRow]:
    """Yield the commands that were not deleted, oldest first. Raises apsw.Error."""

    def column(name: str, otherwise: str = "null") -> str:
        return name if name in columns else otherwise

    where = "where deleted_at is null" if "deleted_at" in columns else ""
    found = connection.execute(
        f"select timestamp, command, {column('cwd')}, {column('exit')}, id, {column('author')}, {column('intent')},"
        f" {column('author_kind')}, {column('hostname')} from {_TABLE} {where} order by timestamp, id"
    )
    for at, command, cwd, code, name, author, intent, kind, host in found:
        yield AtuinRow(at, command, cwd, code, name, _other(string(author).strip(), kind, string(host)) or None, intent)


def _other(author: str, kind: Any, host: str) -> str:
    """Return the author of a command if that was not the person, or "". The user's own name means the person."""
    machine, _, user = host.partition(":")
    default = user if user and user != _UNKNOWN_USER else machine
    if kind == _AGENT:
        return author if author and (author != default or author in _AGENTS) else _NAMELESS
    return "" if kind == _USER or author == default else author


def _atuin(connection: apsw.Connection, there: dict[str, set[str]], reading: Reading, shelf: Shelf) -> Iterator[None]:
    columns = there.get(_TABLE, set())
    if not _is_atuins(columns):
        reading.skipped = FOREIGN
        return
    shown: dict[tuple[str, int], tuple[str, dict[str, int]]] = {}

    def line(value: object, length: int = 1000) -> str:
        """Return a folder, a name or an intent as it is shown. There are few; each is examined once."""
        if type(value) is not str or not value:
            return ""
        if (value, length) not in shown:
            counts: dict[str, int] = {}
            shown[value, length] = one_line(redacted(value, counts), length), counts
        found, counts = shown[value, length]
        add(reading.redacted, counts)
        return found

    held = [row for row in _rows(connection, columns) if type(row.timestamp) is int]
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
    kept = _kept(columns)
    shelf.tables = {_TABLE: kept}
    shelf.keep(_by_day([row[: len(kept)] for row in rows]))
    yield


def _left(rows: list[AtuinRow], reading: Reading) -> tuple[list[AtuinRow], Counter[str]]:
    """Return the commands outside excluded folders, and day → number of the others, which are ``dropped``."""
    hidden: Counter[str] = Counter()
    left: list[AtuinRow] = []
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
    """Return the rows by day that the archive keeps of Atuin's database."""
    days: dict[str, list[Row]] = {}
    for row in rows:
        days.setdefault(_unit(row[0] // 1_000_000_000, "atuin"), []).append((_TABLE, row))
    return days.items()


_identity: Callable[[Entry], tuple[int, str]] = itemgetter(0, 1)
_time, _command = itemgetter(0), itemgetter(1)


def _richness(entry: Entry) -> tuple[bool, int, str]:
    return bool(entry[2]), entry[3].code, entry[2]


def compose(unit: str, parts: list[Day], _link: str = "", mtime_ns: int = 0) -> tuple[dict[str, object], str] | str:
    """Return (frontmatter, body) of one day from all its histories; copies of a command are one."""
    commands = sorted(_united(parts), key=_time)
    if not commands:
        return "no command"
    knows_more = any(part.knows_more for part in parts)
    folders: list[str] = []
    authors: set[str] = set()
    if knows_more:
        authors = {entry[3].author for entry in commands} - {""}
        # The project of a day is where the person worked, if they did.
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
    return meta, document.body(heading, turns)


def _united(parts: list[Day]) -> list[Entry]:
    """Return the commands of all histories, each once."""
    if len(parts) == 1 and not parts[0].knows_more:
        return parts[0].commands
    known: dict[Identity, Entry] = {}
    united: list[tuple[Identity, Entry]] = []
    for part in sorted(parts, key=lambda part: (-len(part.uuids), part.digest)):
        # A command that one history repeats was run again; a command in two histories is the same.
        named = list(zip(part.identities(), part.commands, strict=True))
        united += [each for each in named if each[0] not in known]
        for same, entry in named:
            # One history may have the folder and the exit code that the others lack.
            before = known.setdefault(same, entry)
            if before is not entry and _richness(entry) > _richness(before):
                known[same] = entry
    return [known[same] for same, _ in united]


class _Section:
    """Commands that follow each other closely: a turn for ``ingest.session.document``."""

    def __init__(self, at: int, lines: list[str]) -> None:
        self.role = "command"
        self.at = clock.iso(at) if at else ""
        self.lines = lines

    def blocks(self) -> list[tuple[bool, str]]:
        return [(True, "\n".join(self.lines))]

    def reasoning(self) -> list[str]:
        return []


def _runs(commands: list[Entry]) -> list[list[Entry]]:
    """Return ``commands``, which are sorted by time, in runs without a pause."""
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
