"""Transcripts of Cursor's agents: JSON Lines of ``{role, message}``, and before them a text for people to read.

Neither has timestamps, but for what newer versions put into a person's messages.
"""

from __future__ import annotations

import os
from os.path import basename, dirname
from typing import Any

from core.document import Failure
from core.text import one_line
from ingest.pipeline import owners
from ingest.pipeline.reading import BROKEN, Reading, lines, whole
from ingest.pipeline.units import path_name
from ingest.raw import records
from ingest.raw.store import RawStore
from ingest.session import places, project_ids
from ingest.session.builder import SessionBuilder
from ingest.session.values import mapping, string
from ingest.sources.cursor.human import typed
from ingest.sources.cursor.text import message, sent, summary

NAME = "cursor"
FOREIGN = "not a Cursor transcript"
_FIELDS = frozenset(("role", "message", "content", "timestamp", "createdAt", "id", "type", "status"))
_MESSAGE = frozenset(("content", "role", "id", "type", "timestamp", "createdAt", "providerOptions"))
_DROPPED = frozenset(("turn_ended", "turn_started", "metadata"))
_ROLES = {"user:": "user", "human:": "user", "assistant:": "assistant", "A:": "assistant", "system:": "system"}


def read(path: str, raw: RawStore) -> Reading:
    """Read one transcript. Never raises for what is in it: see ``Reading.failed``."""
    return whole(path, raw, _text, FOREIGN) if path.endswith(".txt") else lines(path, raw, _records, FOREIGN)


def _session(path: str) -> SessionBuilder:
    session = SessionBuilder(_stem(path), NAME)
    session.extra["surface"] = "agent"
    folders = path.split(os.sep)
    if "agent-transcripts" in folders:
        place = folders.index("agent-transcripts")
        # The folder's name is the project's path with dashes for slashes: what it was, only a path that it was made of
        # can tell (``_done``).
        session.extra["project_slug"] = path_name(folders[place - 1])[:300]
        session.sign = project_ids.of_slug(folders[place - 1])
    if basename(dirname(path)) == "subagents":
        session.parent = path_name(basename(dirname(dirname(path))))[:500]
    return session


def _stem(path: str) -> str:
    return path_name(basename(path).rpartition(".")[0])


def _records(source: records.Records, reading: Reading) -> None:
    session = _session(reading.path)
    recognised, elses = False, ""
    again = _Again(session, reading)
    # Where transcripts lie nothing else does.
    is_given = "project_slug" not in session.extra
    for item in source:
        if isinstance(item, Failure):
            reading.fail(item)
            continue
        line, record = item
        elses = elses or (owners.whose(record) if is_given and not recognised else "")
        role, inner = record.get("role"), record.get("message")
        # Others have the role in the message alone.
        if type(role) is not str and not elses and type(mapping(inner).get("role")) is str:
            role = mapping(inner)["role"]
            record = {**record, "role": role}
        if type(role) is not str:
            kind = record.get("type")
            if kind == "turn_ended":
                again.ends()
            if type(kind) is not str or kind not in _DROPPED:
                reading.count(f"record {one_line(kind, 60)}" if type(kind) is str else "record without role", line)
            continue
        recognised = recognised or type(inner) is dict or "content" in record
        for name in sorted(record.keys() - _FIELDS):
            reading.count(f"record: field {one_line(name, 60)}", line, record[name])
        for name in sorted(mapping(inner).keys() - _MESSAGE):
            reading.count(f"message: field {one_line(name, 60)}", line, mapping(inner)[name])
        session.records += 1
        try:
            content = mapping(inner).get("content") if type(inner) is dict else inner or record.get("content")
            again.take(record, line, content)
        except BROKEN as error:
            reading.broken(error, line)
    again.ends()
    if recognised:
        _done(session, reading)
    elif elses:
        reading.dismiss(elses)


class _Again:
    """Messages on their way into a session, without a prompt that compacting in the midst of a turn writes anew.

    Cursor writes its lists, and the prompt after them; before the lists it may stand once more, under the same stamp.
    People say the same twice, too: only what follows the lists, or stands twice with nothing between, is no news.
    """

    def __init__(self, session: SessionBuilder, reading: Reading) -> None:
        self._session, self._reading = session, reading
        # Said again under the same stamp: whether the lists follow, and it once more, decides whose it is.
        self._held: list[tuple[dict[str, Any], int, Any]] = []
        self._forget()

    def _forget(self) -> None:
        self._words = self._stamp = ""
        self._listed = self._answered = False

    def take(self, record: dict[str, Any], line: int, content: Any) -> None:
        """Put a message into the session, unless it stands again."""
        if record["role"] != "user":
            self._release()
            if record["role"] in ("assistant", "tool"):
                self._listed, self._answered = False, True
            self._put(record, line, content)
            return
        words, stamp, is_list = sent(content)
        compacted = bool(summary(content, {}))
        if compacted or not words:
            self._listed = self._listed or compacted or is_list
            self._put(record, line, content)
            return
        is_same = words == self._words and not (stamp and self._stamp and stamp != self._stamp)
        is_stamped = is_same and stamp == self._stamp != ""
        if is_same and (self._listed or (is_stamped and not self._answered)):
            self._session.repeated += 1 + (len(self._held) if self._listed else 0)
            if self._listed:
                self._held.clear()
            return
        self._release()
        if is_stamped:
            self._held.append((record, line, content))
        else:
            self._put(record, line, content)
        self._words, self._stamp, self._listed, self._answered = words, stamp, False, False

    def ends(self) -> None:
        """A turn has ended: what is said now is said anew."""
        self._release()
        self._forget()

    def _release(self) -> None:
        held = self._held
        self._held = []
        for record, line, content in held:
            self._put(record, line, content)

    def _put(self, record: dict[str, Any], line: int, content: Any) -> None:
        try:
            message(self._session, self._reading, record, line, content=content)
        except BROKEN as error:
            self._reading.broken(error, line)


def _done(session: SessionBuilder, reading: Reading) -> None:
    slug = project_ids.slug_of(string(session.extra.get("project_slug")))
    if slug and not session.cwd:
        texts = (event.text for event in session.events)
        session.cwd = places.spoken_of(texts, lambda place: project_ids.slug_of(place) == slug)
    reading.parts[session.unit] = session


def _text(text: Any, reading: Reading) -> None:
    session = _session(reading.path)
    role = ""
    held: list[str] = []
    for line in f"{string(text)}\nuser:".split("\n"):
        if line.rstrip() in _ROLES:
            if role == "user":
                session.prompt(typed("\n".join(held)))
            elif role == "assistant":
                _assistant(session, held)
            role, held = _ROLES[line.rstrip()], []
        else:
            held.append(line)
    session.records = len(session.uuids)
    if session.uuids:
        _done(session, reading)


def _assistant(session: SessionBuilder, held: list[str]) -> None:
    """The lines of an assistant's turn: text, ``[Thinking] …``, ``[Tool call] Name`` with arguments, results."""
    kind, name = "text", ""
    inner: list[str] = []
    for line in [*held, "[Tool result] "]:
        mark = next((mark for mark in ("[Thinking]", "[Tool call]", "[Tool result]") if line.startswith(mark)), "")
        if not mark:
            if kind == "[Tool call]" and line and not line.startswith(" "):
                _put(session, kind, name, inner)
                kind, inner = "text", []
            inner.append(line)
            continue
        _put(session, kind, name, inner)
        rest = line[len(mark) :].strip()
        kind, name, inner = mark, rest, [rest] if mark == "[Thinking]" else []


def _put(session: SessionBuilder, kind: str, name: str, inner: list[str]) -> None:
    text = "\n".join(inner)
    if kind == "text":
        session.reply(text)
    elif kind == "[Thinking]":
        session.thought(text)
    elif kind == "[Tool call]":
        given: dict[str, str] = {}
        key = ""
        for line in inner:
            head, mark, rest = line.strip().partition(": ")
            if mark and head.replace("_", "").isalnum() and line.startswith("  ") and not line.startswith("    "):
                key = head
                given[key] = rest
            elif key:
                given[key] += f"\n{line.strip()}"
        session.tool_call(name or "tool", given)
