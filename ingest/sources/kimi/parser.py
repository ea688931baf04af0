"""Kimi CLI's sessions: ``<id>/context.jsonl``, described by ``state.json``; before 0.6 ``<id>.jsonl``.

A line is a message in OpenAI's form, or one of Kimi's own with a role that begins with ``_`` (``_checkpoint``,
``_usage``, ``_system_prompt``). Text in ``<system>`` is the harness's, in a person's message as in a tool's result,
where it begins with ``ERROR``. The folder above has the MD5 of the folder that was worked in, which ``kimi.json``
names. Messages have no times.

Source: MoonshotAI/kimi-cli, src/kimi_cli/session.py, metadata.py, session_state.py and soul/context.py.
"""

from __future__ import annotations

import hashlib
import json
import re
from functools import partial
from os.path import basename, dirname, join
from typing import TYPE_CHECKING, Any

from core.text import clean, one_line
from ingest.pipeline.reading import Reading, journal
from ingest.session.session import SessionBuilder
from ingest.session.units import path_name
from ingest.session.user_text import UserText, cut_blocks, prompt
from ingest.session.values import mapping, sequence, string
from ingest.sources.companions import companion
from ingest.sources.messages import Messages

if TYPE_CHECKING:
    from collections.abc import Callable

    from ingest.raw.store import RawStore

    Record = dict[str, Any]

NAME = "kimi"
FOREIGN = "not a session of Kimi CLI's"
CONTEXT, STATE, FOLDER = "context.jsonl", "state.json", "folder.json"

_ASIDES = ("system", "system-reminder", "notification")
_FAILED = re.compile(r"\A<system>ERROR:?\s*(.*?)</system>", re.DOTALL)


def read(path: str, raw: RawStore) -> Reading:
    """Read one session. Faults are recorded in the result."""
    return journal(path, raw, _Journal, FOREIGN)


def extract_user_text(text: str) -> UserText:
    """Return a person's words without the harness's blocks."""
    return prompt(cut_blocks(clean(text), _ASIDES).strip())


class _Sent(Messages):
    def words(self, text: str) -> UserText:
        return extract_user_text(text)

    def failure(self, tool: str, text: str) -> str:
        del tool
        found = _FAILED.match(text)
        return f"{found[1].strip()}\n{text[found.end() :].strip()}" if found else ""


class _Journal:
    """One session as its messages are added, in order."""

    def __init__(self, reading: Reading) -> None:
        self._reading = reading
        self._is_folder = basename(reading.path) == CONTEXT
        unit = basename(dirname(reading.path)) if self._is_folder else basename(reading.path).removesuffix(".jsonl")
        self._session = SessionBuilder(path_name(unit), NAME)
        self._messages = _Sent(self._session, reading)
        self._found = 0

    def add(self, record: Record, line: int) -> None:
        """Add one record."""
        role = string(record.get("role"))
        if not role:
            self._reading.count("record without role", line, record)
        elif not role.startswith("_"):
            self._messages.add(record, f"m{self._found}", line=line)
            self._found += 1

    def finish(self) -> None:
        """Put the session into the reading, if there is one, with what the files next to it say."""
        if not self._found:
            return
        session, reading = self._session, self._reading
        path, raw = reading.path, reading.raw
        later: list[Callable[[], None]] = []
        if self._is_folder:
            session.title = string(companion(join(dirname(path), STATE), raw, later).get("custom_title"))
        session.cwd = _folder(path, raw, later, is_folder=self._is_folder)
        session.records = len(session.uuids)
        reading.parts[session.unit] = session
        raw.keep_with(reading, later)


def _folder(path: str, raw: RawStore, later: list[Callable[[], None]], *, is_folder: bool) -> str:
    """Return the folder of a session, which a list of all folders names by the MD5 of its path.

    The archive has that one folder next to the session, because the list names all others as well.
    """
    project = dirname(dirname(path)) if is_folder else dirname(path)
    place = join(dirname(path), FOLDER if is_folder else f"{basename(path)}.{FOLDER}")
    if raw.from_archive or raw.is_shelved(path):
        return string(companion(place, raw, later).get("path"))
    known = companion(join(dirname(dirname(project)), "kimi.json"), raw, [])
    for each in sequence(known.get("work_dirs")):
        folder = string(mapping(each).get("path"))
        if hashlib.md5(folder.encode(), usedforsecurity=False).hexdigest() == basename(project):
            later.append(partial(raw.keep, place, json.dumps({"path": one_line(folder, 4000)}).encode()))
            return folder
    return ""
