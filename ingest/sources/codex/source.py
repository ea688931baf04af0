"""Codex CLI: ``<CODEX_HOME>/sessions/YYYY/MM/DD/rollout-<time>-<id>.jsonl``, or ``.zst``, and ``archived_sessions``.

Names of sessions are outside the transcripts, in ``session_index.jsonl`` and in a database: a session may be renamed
without a change of its transcript.

- ``session_index.jsonl`` gets a line ``{id, thread_name, updated_at}`` for each naming; the last one of an id counts
  (https://github.com/openai/codex, codex-rs/rollout/src/session_index.rs). Some versions of 2026 write the name into
  the transcript as well.
- ``state_<N>.sqlite`` has names since 0.144; the database of the highest N counts, before the index. Table ``threads``:
  ``name`` was given (since July 2026); ``title``, before it, is a name unless it begins as the first prompt
  (https://github.com/brizzai/fleet/pull/199, https://github.com/openai/codex/issues/38761).
"""

from __future__ import annotations

import os
from os.path import basename, dirname, isdir, isfile, join

from ingest.roots import RESUME, ROOTS
from ingest.source import Source

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from typing import Any

    import apsw

    from ingest.pipeline.reading import Reading
    from ingest.pipeline.state import FileRow
    from ingest.raw.records import Records
    from ingest.raw.store import RawStore, SourceFile

    # (the time of naming as ``ingest.session.values.moment`` gives it or "", the name)
    Name = tuple[str, str]
    # Returns the name of a session outside its transcript, and functions that archive the name.
    SessionName = Callable[[Reading, str], tuple[Name, list[Callable[[], None]]]]

_INDEX_FILE = "session_index.jsonl"
_INDEX = "index of sessions"
_DATABASE_BEGINS, _DATABASE_ENDS = "state_", ".sqlite"
# A transcript is four folders below the index, or more in ``rollout_segments``.
_LEVELS = 7
_MAX_INDEX = 64 * 1024 * 1024
_MAX_TITLE = 300
_UUID = 36
# A name in a database counts more than any name in a transcript.
_LATEST = "9999-12-31T00:00:00.000"
# Index or database → (size, mtime and inode, names by session): one file names all sessions.
_cached: dict[str, tuple[tuple[int, int, int], dict[str, Name]]] = {}


class Codex(Source):
    """Transcripts of Codex, the index and the database that name its sessions, and its history of prompts."""

    name = "codex"
    patterns = ("*.jsonl", "*.jsonl.zst", "rollout-*.json")
    prefix = "codex__"
    suffixes = (".jsonl", ".jsonl.zst", ".json")
    roots = ROOTS["codex"]
    resume = RESUME["codex"]
    history = "history.jsonl"
    transcript_folders = ("sessions", "archived_sessions")

    def wants(self, name: str) -> bool:
        return name.endswith((".jsonl", ".jsonl.zst")) or (name.startswith("rollout-") and name.endswith(".json"))

    def discover(self, roots: Iterable[str]) -> list[SourceFile]:
        """Add the files that name sessions, and skip a compressed transcript if its folder has the plain one."""
        places = list(roots)
        indexes = [index for place in places for index in _indexes(place)]
        files = super().discover([*places, *indexes])
        present = {file.path for file in files}
        for file in files:
            if not file.skip and file.path.endswith(".zst") and file.path.removesuffix(".zst") in present:
                file.skip = "compressed copy of a plain file"
        return files

    def pending(
        self, files: Sequence[SourceFile], known: Mapping[str, FileRow], *, trust_stat: bool
    ) -> list[SourceFile]:
        """Add the transcripts of renamed sessions."""
        new = super().pending(files, known, trust_stat=trust_stat)
        indexes = [file.path for file in new if is_index(file.path)]
        if not indexes:
            return new
        renamed = set[str]().union(*(_renamed_in(path, known.get(path)) for path in indexes))
        present = {file.path for file in new}
        return new + [
            file for file in files if not file.skip and _session_of(file.path) in renamed and file.path not in present
        ]

    def companions(self, path: str, raw: RawStore) -> list[str]:
        """Return the archive's path for the name of a transcript's session."""
        del raw
        return [_name_path(path)]

    def is_restless(self, path: str) -> bool:
        """Return True for the database, to which Codex writes whenever it runs."""
        return path.endswith(_DATABASE_ENDS)

    def peek(self, path: str) -> str:
        """Return the file's name, which copies of one session share."""
        return basename(path)

    def parse(self, path: str, raw: RawStore) -> Iterator[Reading]:
        if path.endswith(_DATABASE_ENDS):
            yield _read_database(path, raw)
            return
        if basename(path) == _INDEX_FILE:
            from ingest.pipeline.reading import lines

            yield lines(path, raw, _pass_over, _INDEX)
            return
        if self.is_history(path):
            from ingest.sources.codex.user_text import PROMPT_FIELDS, prompt_of
            from ingest.sources.prompts import PromptHistory

            yield PromptHistory(self.name, self.transcript_folders, prompt_of, PROMPT_FIELDS).read(path, raw)
            return
        from ingest.sources.codex.parser import read

        yield read(path, raw, _session_name)


def is_index(path: str) -> bool:
    """Return True if a file is no transcript, but names sessions."""
    return path.endswith((f"/{_INDEX_FILE}", _DATABASE_ENDS))


def _session_name(reading: Reading, unit: str) -> tuple[Name, list[Callable[[], None]]]:
    """Return the last name of a transcript's session outside the transcript, and functions that archive the name.

    The index names all sessions: the archive keeps only the session's own line, under a path of the transcript's.
    """
    import json

    path, raw = reading.path, reading.raw
    if raw.is_shelved(path):
        try:
            return _entry(json.loads(raw.load(_name_path(path))))[1], []
        except (OSError, ValueError, RecursionError):
            return ("", ""), []
    at, name = "", ""
    for index in _indexes(dirname(path)):
        at, name = _names_in(index, raw).get(unit, (at, name))
    if not name:
        return ("", ""), []
    line = json.dumps({"id": unit, "thread_name": name, "updated_at": at}).encode()
    return (at, name), [lambda: raw.keep(_name_path(path), line)]


def _name_path(path: str) -> str:
    return f"{path}.name"


def _indexes(path: str) -> list[str]:
    """Return the index and the database, as far as they exist, that name the sessions of a file or folder."""
    for _ in range(_LEVELS):
        index = join(path, _INDEX_FILE)
        found = [index] if isfile(index) else []
        if found or any(isdir(join(path, name)) for name in ("sessions", "archived_sessions")):
            found += filter(None, [_database_in(path)])
        if found or path == dirname(path):
            return found
        path = dirname(path)
    return []


def _session_of(path: str) -> str:
    # After a return to an earlier turn (since 0.150): rollout-<time>-<id>_<id of the file>.
    return basename(path).removesuffix(".zst").rpartition(".")[0].partition("_")[0][-_UUID:]


def _renamed_in(path: str, row: FileRow | None) -> set[str]:
    """Return the sessions that an index or a database has named since ``row`` was recorded."""
    if _is_database(path):
        import json

        before = json.loads(row.notes).get("marks") or {} if row is not None and row.notes else {}
        now = _marks(path)
        return {unit for unit in now.keys() | before.keys() if now.get(unit) != before.get(unit)}
    from ingest.raw.records import Records, prefix_digest

    try:
        # All lines count if the file was rewritten.
        start = row.consumed if row is not None and prefix_digest(path, row.consumed) == row.digest else 0
        with open(path, "rb") as stream:
            stream.seek(start)
            return set(_entries(Records(stream, path)))
    except OSError:
        return set()


def _names_in(path: str, raw: RawStore) -> dict[str, Name]:
    """Return the names of sessions in an index or a database. A database that is unreadable now has its last names."""
    if _is_database(path):
        return _names_in_database(path)
    from ingest.raw.records import Records

    try:
        status = os.stat(path)
        stamp = (status.st_size, status.st_mtime_ns, status.st_ino)
        if path not in _cached or _cached[path][0] != stamp:
            with raw.open(path) as file:
                names = _entries(Records(file.lines, path)) if status.st_size <= _MAX_INDEX else {}
            _cached[path] = (stamp, names)
    except OSError:
        return {}
    return _cached[path][1]


def _entries(source: Records) -> dict[str, Name]:
    return {unit: name for item in source if isinstance(item, tuple) for unit, name in [_entry(item[1])] if name[1]}


def _entry(record: Any) -> tuple[str, Name]:
    """Return (session, its name) of a line of the index; the name is empty if the line names none."""
    from ingest.session.values import mapping, moment, string

    record = mapping(record)
    unit, name = string(record.get("id")), string(record.get("thread_name"))
    return unit, (moment(record.get("updated_at")), name if unit and name.strip() else "")


def _is_database(path: str) -> bool:
    name = basename(path)
    is_named = name.startswith(_DATABASE_BEGINS) and name.endswith(_DATABASE_ENDS)
    return is_named and name[len(_DATABASE_BEGINS) : -len(_DATABASE_ENDS)].isdigit()


def _database_in(folder: str) -> str:
    """Return the database of a folder, or ""."""
    try:
        found = [name for name in os.listdir(folder) if _is_database(name)]
    except OSError:
        return ""
    latest = max(found, key=lambda name: int(name[len(_DATABASE_BEGINS) : -len(_DATABASE_ENDS)]), default="")
    return join(folder, latest) if latest else ""


def _names_in_database(path: str) -> dict[str, Name]:
    import apsw

    from core.home import resolve
    from ingest.pipeline import databases
    from ingest.raw.sqlite_copy import Unsettled, bear, copied, is_database

    before = _cached.get(path)
    try:
        stamp = databases.look(path)
        if before is not None and before[0] == stamp:
            return before[1]
        if not is_database(path):
            return {}
        with copied(path, join(resolve().state, "scratch")) as copy:
            bear(copy.connection)
            names = _threads(copy.connection, databases.tables(copy.connection).get("threads", set()))
    except (OSError, Unsettled, apsw.Error):
        return {} if before is None else before[1]
    _cached[path] = (stamp, names)
    return names


def _threads(connection: apsw.Connection, columns: set[str]) -> dict[str, Name]:
    from core.redaction import clean
    from ingest.session.values import string

    if "id" not in columns:
        return {}
    wanted = [name if name in columns else "null" for name in ("name", "title", "first_user_message")]
    found: dict[str, Name] = {}
    for unit, name, title, first in connection.execute(f"select id, {', '.join(wanted)} from threads"):
        given = string(name).strip() or _given_title(string(title), string(first))
        if given and type(unit) is str:
            found[unit] = (_LATEST, clean(given, {}))
    return found


def _given_title(title: str, first: str) -> str:
    """Return a title unless it was made of the first prompt."""
    title, first = " ".join(title.split()), " ".join(first.split())
    is_given = bool(title and first) and len(title) <= _MAX_TITLE and title.rstrip("….") not in first
    return title if is_given else ""


def _marks(path: str) -> dict[str, str]:
    """Return a digest of each session's name in a database, for comparison by a later run."""
    from hashlib import blake2b

    names = _names_in_database(path)
    return {unit: blake2b(name.encode("utf-8", "replace"), digest_size=6).hexdigest()
            for unit, (_, name) in names.items()}  # fmt: skip


def _pass_over(source: Records, reading: Reading) -> None:
    """Read the index of sessions as a file of its own, so that its growth is noticed."""
    for _ in source:
        continue
    reading.skipped = _INDEX


def _read_database(path: str, raw: RawStore) -> Reading:
    """Read the database as a file of the source: it holds names and no sessions."""
    from ingest.pipeline import databases
    from ingest.pipeline.reading import Reading, unreadable

    reading = Reading(path, raw)
    try:
        reading.size, reading.mtime_ns, reading.inode = databases.look(path)
        reading.digest = databases.NOTHING
        reading.skipped = _INDEX
        reading.marks = _marks(path)
    except OSError as error:
        unreadable(reading, error)
    return reading


SOURCE = Codex()
