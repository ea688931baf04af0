"""Units of recall out of what ``ingest`` keeps: the state of the sources, the archive, the visits of browsers."""

from __future__ import annotations

import contextlib
import os
from os.path import basename, join
from typing import TYPE_CHECKING

from core.sqlite import connect
from ingest.collector import Collector
from ingest.pipeline.state import FILE, State, hidden_key
from ingest.policy.exclusions import FORGOTTEN
from ingest.registry import is_history
from ingest.repositories import RepositoryCollector
from ingest.session.units import stem

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable
    from typing import Any

    from core.home import Home
    from ingest.archive.archive import Entry

# An id of so many letters occurs nowhere by chance.
_LONG = 16


class Held:
    """The units to forget: their raw ``files``; ``companions``, archived files that describe these units alone;
    ``shared``, other units in the same files.
    """

    __slots__ = ("companions", "files", "marks", "shared", "units")

    def __init__(self, marks: Collection[str] = ()) -> None:
        self.marks = marks
        self.units: set[str] = set()
        self.files: set[str] = set()
        self.companions: set[str] = set()
        self.shared: set[str] = set()


def look(home: Home, source: str, marks: Collection[str]) -> Held:
    """Return what the state and the archive hold of the units that ``marks`` (sessions, or single agents) cover."""
    held = Held(marks)
    state = State(home)
    try:
        members = state.members(source)
        for unit, paths in members.items():
            if _covered(unit, marks):
                held.units.add(unit)
                held.files |= paths
        held.units.update(unit for unit in state.units(source) if _covered(unit, marks))
        for unit, paths in members.items():
            if unit not in held.units and not held.files.isdisjoint(paths):
                held.shared.add(unit)
    finally:
        state.close()
    # The archive outlives the state: its files are then known by their names, or by what they hold.
    from ingest.archive import archive

    stems = {stem(mark) for mark in marks}
    known = {path for paths in members.values() for path in paths}
    for entry in archive.versions(home, source):
        path = entry.path
        if entry.version == archive.COMPANION or path in held.files:
            continue
        # A history may still have prompts of a session that has a transcript by now.
        is_open = path not in known or is_history(source, path)
        if basename(path).split(".")[0] in stems or (is_open and _holds(home, source, entry, marks)):
            held.files.add(path)
    for files in _beside(home, source, held.files).values():
        held.companions |= files
    return held


def _beside(home: Home, source: str, paths: Iterable[str]) -> dict[str, set[str]]:
    """Return path → the archived companion files that describe the units of that file alone."""
    from ingest import registry
    from ingest.archive.reading_back import ReadBack

    tool = registry.find(source)
    if tool is None:  # a plugin that was removed: nothing knows its companion files
        return {path: set() for path in paths}
    back = ReadBack(home, source, registry.settings(home))
    return {path: {each for each in tool.companions(path, back) if back.is_shelved(each)} for path in paths}


def _holds(home: Home, source: str, entry: Entry, marks: Collection[str]) -> bool:
    """Return True if an archived file that several units share has one of ``marks``."""
    from ingest.archive import archive, sharing

    for segment in entry.segments:
        try:
            pieces = sharing.pieces(source, entry.path, archive.content(home.path(archive.FOLDER), segment))
        except (OSError, ValueError):
            continue  # damaged: `explain` says so
        if pieces is None:
            return False
        if any(_covered(unit, marks) for unit, _ in pieces):
            return True
    return False


def covered_by_sign(home: Home, rule: str) -> set[tuple[str, str]]:
    """Return (source, name) of documents with a folder of raw files named by the digest of one that a rule covers."""
    from ingest import registry
    from ingest.policy.exclusions import Globs
    from ingest.session.project_ids import Signs, of_folders

    if not os.path.exists(join(home.state, FILE)):
        return set()
    signs = Signs(Globs([rule]))
    found: set[tuple[str, str]] = set()
    state = State(home)
    try:
        for source in (name for name in registry.names() if registry.source(name).hashes_folders):
            members, units = state.members(source), state.units(source)
            named = ((unit, of_folders(path)) for unit, paths in members.items() for path in paths)
            found |= {(source, units[unit].name) for unit, said in named if unit in units and signs.covering(said)}
    finally:
        state.close()
    return found


def unit_of(home: Home, source: str, name: str) -> str | None:
    """Return the unit of the document ``name`` (a file name), None if the state knows none."""
    if not os.path.exists(join(home.state, FILE)):
        return None
    state = State(home)
    try:
        return next((unit for unit, row in state.units(source).items() if row.name == name), None)
    finally:
        state.close()


def documents_of(home: Home, source: str, marks: Collection[str]) -> tuple[str, list[str]]:
    """Return (collection, names of its documents) of the units that ``marks`` cover, as far as this home knows them."""
    from ingest import registry

    tool = registry.source(source)
    collection = tool.collection
    if isinstance(tool, Collector):
        return collection, tool.names_of(marks)
    if not os.path.exists(join(home.state, FILE)):
        return collection, [f"{stem(mark)}.md" for mark in sorted(marks)]
    state = State(home)
    try:
        units = state.units(source)
        return collection, sorted(row.name for unit, row in units.items() if _covered(unit, marks))
    finally:
        state.close()


def erase(home: Home, source: str, held: Held) -> None:
    """Remove the units from the archive and the state, and keep what other units have in the same files.

    A file that cannot be taken apart is removed as a whole. Raises OSError and apsw.Error.
    """
    # The state goes last: a command that resumes after a crash finds there what is left to remove.
    _from_archive(home, source, held)
    _from_state(home, source, held)


def archived_with(home: Home, test: Callable[[bytes], bool]) -> set[tuple[str, str]]:
    """Return (source, unit) of every version of an archived file, or visit, that passes ``test``. Reads the whole
    archive."""
    from ingest import registry
    from ingest.archive import archive, sharing

    found = {(each.name, unit) for each in registry.collectors() for unit in each.archived_with(home, test)}
    folder = home.path(archive.FOLDER)
    for source in archive.sources(home):
        whole: set[str] = set()
        beside: set[str] = set()
        # Object that passes → the units of the matching pieces; None for all units of the file.
        verdicts: dict[str, set[str] | None] = {}
        for entry in archive.versions(home, source):
            if entry.version == archive.COMPANION:
                beside.add(entry.path)
            for segment in entry.segments:
                if segment[0] not in verdicts:
                    try:
                        data = archive.content(folder, segment)
                        verdicts[segment[0]] = sharing.owners(source, entry.path, data, test) if test(data) else set()
                    except (OSError, ValueError):
                        verdicts[segment[0]] = set()  # damaged: `explain` says so
                units = verdicts[segment[0]]
                if units is None:
                    whole.add(entry.path)
                else:
                    found.update((source, unit) for unit in units)
        if beside & whole:
            of = _beside(home, source, archive.read(home, source))
            told = {each for files in of.values() for each in files}
            whole = (whole - told) | {path for path, files in of.items() if not whole.isdisjoint(files)}
        found.update((source, unit) for unit in _units_in(home, source, whole))
    return found


def _units_in(home: Home, source: str, paths: Iterable[str]) -> set[str]:
    """Return the units in these raw files, as far as the state knows them; an unknown file gives its own name."""
    wanted = set(paths)
    if not wanted:
        return set()
    found: set[str] = set()
    known: set[str] = set()
    state = State(home)
    try:
        for unit, held in state.members(source).items():
            if not wanted.isdisjoint(held):
                found.add(unit)
                known |= held
    finally:
        state.close()
    return found | {basename(path).split(".")[0] for path in wanted - known}


def _covered(unit: str, marks: Collection[str]) -> bool:
    return unit in marks or unit.partition("\t")[0] in marks


def _from_state(home: Home, source: str, held: Held) -> None:
    path = join(home.state, FILE)
    if not os.path.exists(path):
        return
    connection = connect(path)
    try:
        connection.set_busy_timeout(30_000)
        connection.execute("pragma secure_delete=on").fetchall()
        with connection:
            for table in ("units", "members", "links", "outdated"):
                connection.executemany(
                    f"delete from {table} where source = ? and unit = ?", [(source, unit) for unit in held.units]
                )
            # The row stays, so that the next run does not treat the file as new; its notes are dropped.
            connection.executemany(
                "update files set status = 'skipped', reason = ?, notes = null where source = ? and path = ?"
                " and not exists (select 1 from members m where m.source = files.source and m.path = files.path)",
                [(FORGOTTEN, source, os.fsencode(each)) for each in held.files],
            )
        connection.execute("vacuum")
        connection.execute("pragma wal_checkpoint(truncate)").fetchall()
    finally:
        connection.close()


def let_go(home: Home, test: Callable[[str], bool] = lambda _: False) -> int:
    """Drop the rows of forgotten files that their tool has deleted; return how many.

    While such a file is on disk its row stays, or the next run would treat the file as new. The row holds a digest in
    place of a path that passes ``test``. The same holds for other files without a document. Raises apsw.Error.
    """
    if not os.path.exists(join(home.state, FILE)):
        return 0
    connection = connect(join(home.state, FILE))
    try:
        connection.set_busy_timeout(30_000)
        connection.execute("pragma secure_delete=on").fetchall()
        rows: list[Any] = connection.execute(
            "select source, path, reason = ? from files where status <> 'ingested' and not exists"
            " (select 1 from members m where m.source = files.source and m.path = files.path)",
            (FORGOTTEN,),
        ).fetchall()
        rows = [row for row in rows if isinstance(row[1], bytes) and not row[1].startswith(b"\0")]
        named = {path for _, path, _ in rows if test(os.fsdecode(path))}
        gone = [row[:2] for row in rows if (row[2] or row[1] in named) and not os.path.lexists(row[1])]
        hidden = [
            (os.fsencode(hidden_key(os.fsdecode(path))), source, path)
            for source, path, _ in rows
            if path in named and (source, path) not in gone
        ]
        if gone or hidden:
            with connection:
                connection.executemany("delete from files where source = ? and path = ?", gone)
                connection.executemany(
                    "update or replace files set path = ?, notes = null where source = ? and path = ?", hidden
                )
            connection.execute("vacuum")
            connection.execute("pragma wal_checkpoint(truncate)").fetchall()
    finally:
        connection.close()
    return len(gone)


def _from_archive(home: Home, source: str, held: Held) -> None:
    from ingest.archive import archive, rewriting, sharing, verifier

    def rest(path: str, data: bytes) -> bytes:
        return sharing.without(source, path, data, lambda unit: _covered(unit, held.marks) or unit in held.units)

    # Orphans go first, while the catalogue still has the lines by which they are recognised.
    found = verifier.orphan_objects(home)
    if found:
        verifier.remove_orphans(found, _belongs(home, source, held, rest))
    rewriting.remove(home, source, held.files | held.companions, rest)
    if os.path.isdir(home.path(archive.FOLDER)):
        verifier.keep_losses(home, archive.names(home).union(map(verifier.object_name, verifier.orphan_objects(home))))


def _belongs(home: Home, source: str, held: Held, rest: Callable[[str, bytes], bytes]) -> Callable[[bytes], bool]:
    """Return a test for orphans that belong to the units of ``held``.

    An orphan belongs to a unit if it names the unit, or consists mostly of the unit's lines, as a killed run leaves it.
    """
    from ingest.archive import archive, rows, sharing

    gone = held.units | set(held.marks)
    # A shorter id, or a day, may occur in the objects of other units.
    ids = [] if _grows(source) else [unit.split("\t")[-1] for unit in gone]
    said = [each.encode("utf-8", "surrogateescape") for each in ids if len(each) >= _LONG]
    folder = home.path(archive.FOLDER)
    told: set[bytes] = set()
    files = held.files | held.companions
    for entry in archive.versions(home, source):
        if entry.path in files:
            data = [_content(folder, segment) for segment in entry.segments]
            for each in [b"".join(data)] if sharing.is_one(source, entry.path) else data:
                with contextlib.suppress(ValueError):  # damaged: it is skipped here as in the rewriting
                    told |= _records(each) - _records(rest(entry.path, each))

    def holds(data: bytes) -> bool:
        try:
            unit = rows.unit_of(data)
        except ValueError:
            unit = ""
        if unit:
            return unit in gone or _covered(unit, held.marks)
        if any(each in data for each in said):
            return True
        alike = sum(len(line) for line in data.splitlines() if line in told)
        return 2 * alike > len(data)

    return holds


def _records(data: bytes) -> set[bytes]:
    return set(data.splitlines())


def _content(folder: str, segment: tuple[str, int]) -> bytes:
    from ingest.archive import archive

    try:
        return archive.content(folder, segment)
    except OSError:
        return b""  # damaged: nothing of it can be read


def sweep(home: Home, test: Callable[[bytes], bool]) -> None:
    """Delete the archive's orphans that pass ``test``. Raises OSError, BrainError."""
    from ingest.archive import verifier

    verifier.remove_orphans(verifier.orphan_objects(home), test)


def beyond(home: Home) -> list[str]:
    """Return what cannot be proved of the archive, as sentences."""
    from ingest.archive import verifier

    count = len(verifier.orphan_objects(home))
    if not count:
        return []
    return [
        f"{verifier.orphans_phrase(count)} stay{'s' * (count == 1)}:"
        f" nothing in {'it' if count == 1 else 'them'} tells of what"
        " was forgotten, but a later part of a long session may have no word of whose it is"
    ]


def forget(home: Home, source: str, units: Collection[str], names: Iterable[str]) -> None:
    """Remove units of a source, and its documents by their names, from state and archive.

    Raises OSError, Internal and apsw.Error.
    """
    from ingest import registry

    tool = registry.source(source)
    if isinstance(tool, Collector):
        tool.forget(home, units, names)
    else:
        erase(home, source, look(home, source, units))


def forget_repositories(home: Home, test: Callable[[str], bool]) -> None:
    """Remove repositories without documents if their folders or names pass ``test``. Raises apsw.Error."""
    from ingest import registry

    for each in registry.collectors():
        if isinstance(each, RepositoryCollector):
            each.forget_repositories(home, test)


def _grows(source: str) -> bool:
    from ingest import registry

    found = registry.find(source)
    return found is not None and found.grows


def leave_no_empty_folder(home: Home, folder: str) -> None:
    """Remove a folder below a collection's, and those above it, that held nothing but what was forgotten."""
    from contextlib import suppress

    with suppress(OSError):  # not empty
        while folder.count(os.sep) > home.root.count(os.sep) + 1 and folder.startswith(join(home.root, "")):
            os.rmdir(folder)
            folder = os.path.dirname(folder)


def read_again(home: Home, names: Iterable[str]) -> None:
    """Have all files of these sources read by the next run: others' units may lie in the file of what was forgotten."""
    if not os.path.exists(join(home.state, FILE)):
        return
    connection = connect(join(home.state, FILE))
    try:
        connection.set_busy_timeout(30_000)
        connection.executemany("update files set size = -1 where source = ?", [(name,) for name in names])
    finally:
        connection.close()
