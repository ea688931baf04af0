"""Histories of prompts, which tools keep for their arrow keys: all that is left of a session without a transcript.

A history becomes one session each, marked ``partial``: a person's prompts with their times. A session that has, or had,
a transcript is left out. The archive keeps the prompts of each remaining session as rows of a database
(``ingest.archive.rows``).
"""

from __future__ import annotations

import re
import stat
from typing import TYPE_CHECKING, Any, NamedTuple

from core.document import Failure
from core.redaction import clean as redact
from core.text import one_line
from ingest.pipeline.reading import EMPTY, NOT_REGULAR, Reading, unreadable
from ingest.raw import records
from ingest.session.session import SessionBuilder
from ingest.session.transcripts import PROMPT_HISTORY, has_transcript, session_names, transcripts_near
from ingest.session.values import string

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from ingest.raw.store import RawFile, RawStore

    # Given a history's path, returns the folder that all of its prompts belong to. The list takes functions that
    # archive the files that were read.
    FindProject = Callable[[str, RawStore, list[Callable[[], None]]], str]

NAMELESS = "prompts that name no session"
_TABLE = "prompts"
_COLUMNS = ("session", "at", "text", "project")
_COMMAND = re.compile(r"/[\w:.-]+(?:\s|$)")


class Prompt(NamedTuple):
    """One entry of a history.

    ``at`` is a time as ``ingest.session.values.moment`` gives it, ``project`` a folder; either may be "".
    """

    session: str
    at: str
    text: str
    project: str = ""

    @property
    def unit(self) -> str:
        """The unit of the entry's session."""
        return one_line(self.session, 4000)

    @property
    def is_command(self) -> bool:
        """True if the entry is a slash command."""
        return _COMMAND.match(self.text) is not None


def add_prompt(session: SessionBuilder, text: str, at: str) -> None:
    """Add a prompt, a slash command, or a shell command after ``!``."""
    text = text.strip()
    if text.startswith("!") and text[1:].strip():
        session.command(f"! {text[1:].strip()}", at)
    elif _COMMAND.match(text):
        session.command(text, at)
    else:
        session.prompt(text, at)


class PromptHistory:
    """One tool's history of prompts: JSON Lines, or in a ``.json`` file an array.

    Args:
        name: the source's name.
        folders: where the tool keeps its transcripts (``Source.transcript_folders``).
        prompt: returns the fields of a ``Prompt`` from one entry.
        fields: the known fields of an entry; others are counted.
        find_project: finds the folder of a history if its entries have none.
        select: leaves out prompts that a transcript of another id has.
    """

    def __init__(
        self,
        name: str,
        folders: Iterable[str],
        prompt: Callable[[dict[str, Any]], tuple[str, ...]],
        fields: frozenset[str],
        *,
        find_project: FindProject | None = None,
        select: Callable[[list[Prompt], Reading], list[Prompt]] | None = None,
    ) -> None:
        self._name = name
        self._folders = folders
        self._prompt = prompt
        self._fields = fields
        self._find_project = find_project
        self._select = select

    def read(self, path: str, raw: RawStore) -> Reading:
        """Read one history. Raises nothing: faults are in the result."""
        reading = Reading(path, raw)
        try:
            if raw.is_shelved(path):
                from ingest.pipeline import databases  # a hook, which reads a transcript, does without

                with databases.shelved(reading) as connection:
                    self._take(reading, _archived(connection))
            else:
                self._read(reading)
        except OSError as error:
            unreadable(reading, error)
        if not reading.parts and reading.failed is None:
            reading.skipped = reading.skipped or reading.withheld or PROMPT_HISTORY
        return reading

    def _read(self, reading: Reading) -> None:
        with reading.raw.open(reading.path) as file:
            reading.stat(file.status)
            if not stat.S_ISREG(file.status.st_mode) or not file.status.st_size:
                reading.skipped = EMPTY if stat.S_ISREG(file.status.st_mode) else NOT_REGULAR
                return
            prompts = list(self._prompts(reading, _entries(file, reading)))
        names = session_names(transcripts_near(reading.path, self._folders))
        prompts = [prompt for prompt in prompts if not has_transcript(prompt.session, names)]
        if self._select is not None:
            prompts = self._select(prompts, reading)
        later: list[Callable[[], None]] = []
        if self._find_project is not None and prompts:
            folder = self._find_project(reading.path, reading.raw, later)
            prompts = [prompt._replace(project=folder) for prompt in prompts]
        self._take(reading, prompts)
        for part in reading.parts.values():
            part.digest = reading.digest
        self._archive(reading, prompts, later)

    def _archive(self, reading: Reading, prompts: list[Prompt], later: list[Callable[[], None]]) -> None:
        transcripts = reading.raw.transcripts
        if transcripts is None:
            return  # nothing is kept as long as sessions with transcripts are unknown
        reading.raw.remove(reading)
        for keep in later if reading.parts else ():
            keep()
        from ingest.archive.rows import Shelf

        shelf = Shelf(reading, lambda lines: self._restored(reading, lines))
        shelf.tables = {_TABLE: _COLUMNS}
        shelf.lets_go = transcripts.covers
        rows: dict[str, list[tuple[str, tuple[Any, ...]]]] = {}
        for prompt in prompts:
            rows.setdefault(prompt.unit, []).append((_TABLE, tuple(prompt)))
        for unit in list(reading.parts):
            shelf.put(unit, shelf.open(rows[unit]))
        shelf.tidy()
        shelf.finish()

    def _restored(self, of: Reading, lines: Iterable[bytes]) -> dict[str, Any]:
        """Return the parts in archived lines."""
        reading = Reading(of.path, of.raw)
        from ingest.archive.rows import restored

        with restored(lines) as connection:
            self._take(reading, _archived(connection))
        return reading.parts

    def _prompts(self, reading: Reading, entries: Iterable[Any]) -> Iterator[Prompt]:
        for line, entry in enumerate(entries, 1):
            if type(entry) is not dict:
                reading.count(f"prompt ({type(entry).__name__})", line, entry)
                continue
            prompt = Prompt(*self._prompt(entry))
            if not prompt.text.strip():
                continue
            if not prompt.unit:
                reading.dropped[NAMELESS] = reading.dropped.get(NAMELESS, 0) + 1
                continue
            reading.count_fields("prompt", entry, self._fields, line)
            yield prompt

    def _take(self, reading: Reading, prompts: Iterable[Prompt]) -> None:
        for prompt in prompts:
            session = reading.parts.get(prompt.unit)
            if session is None:
                session = reading.parts[prompt.unit] = SessionBuilder(prompt.unit, self._name)
                session.partial = True
                session.extra["partial"] = True
                from ingest.session.project_ids import of_folders

                session.sign = of_folders(reading.path)
            session.records += 1
            session.extend_to(prompt.at)
            if prompt.project and not session.cwd:
                session.cwd = redact(prompt.project, reading.redacted)
            add_prompt(session, redact(prompt.text, reading.redacted), prompt.at)


def _entries(file: RawFile, reading: Reading) -> Iterator[Any]:
    if not reading.path.endswith(".json"):
        source = records.Records(file.lines, reading.path)
        for item in source:
            if isinstance(item, Failure):
                reading.fail(item)
            else:
                yield item[1]
        reading.recovered, reading.redacted = source.recovered, source.redacted
        reading.consumed, reading.digest = source.consumed, source.digest()
        return
    data, reading.digest = file.whole()
    reading.consumed = reading.size
    text = records.without_tail(data)
    try:
        value = records.value(text, None)
    except (ValueError, RecursionError) as error:
        reading.failed = Failure(reading.path, records.MALFORMED_DOCUMENT, str(error))
        return
    if len(text) != len(data):
        reading.recovered[records.HOLES] = 1
    if not records.is_utf8(text):
        reading.recovered[records.REPLACED] = 1
    yield from value if type(value) is list else ()


def _archived(connection: Any) -> Iterator[Prompt]:
    from ingest.pipeline import databases

    if _TABLE in databases.tables(connection):  # else transcripts have all prompts by now
        for row in connection.execute(f"select {', '.join(_COLUMNS)} from {_TABLE} order by rowid"):
            yield Prompt(*map(string, row))
