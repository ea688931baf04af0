"""Windsurf's transcripts, which the hook ``post_cascade_response_with_transcript`` writes: JSON Lines of steps.

A step is ``{type, status, <type>: {…}}``: ``user_input {user_response}``, ``planner_response {response}``,
``code_action {path, new_content}``. Steps of other types are counted. Steps have no times.

Source: docs.windsurf.com, windsurf/cascade/hooks. Conversations themselves (``cascade/*.pb``) are encrypted.
"""

from __future__ import annotations

from os.path import basename
from typing import TYPE_CHECKING, Any

from core.text import clean, one_line
from ingest.pipeline.reading import Reading, journal
from ingest.session.session import SessionBuilder
from ingest.session.units import path_name
from ingest.session.user_text import UserText, prompt
from ingest.session.values import mapping, string

if TYPE_CHECKING:
    from ingest.raw.store import RawStore

NAME = "windsurf"
FOREIGN = "not a transcript of Windsurf's"


def read(path: str, raw: RawStore) -> Reading:
    """Read one transcript. Faults are recorded in the result."""
    return journal(path, raw, _Journal, FOREIGN)


def extract_user_text(text: str) -> UserText:
    """Return a person's words: a step has them alone."""
    return prompt(clean(text).strip())


class _Journal:
    """One transcript as its steps are added, in order."""

    def __init__(self, reading: Reading) -> None:
        self._reading = reading
        self._session = SessionBuilder(path_name(basename(reading.path).removesuffix(".jsonl")), NAME)

    def add(self, step: dict[str, Any], line: int) -> None:
        """Add one step."""
        session, kind = self._session, string(step.get("type"))
        data = mapping(step.get(kind))
        name = f"m{len(session.uuids)}"
        if kind == "user_input":
            session.uuids.add(name)
            session.prompt(extract_user_text(string(data.get("user_response"))).typed, "", name)
        elif kind == "planner_response":
            session.uuids.add(name)
            session.reply(string(data.get("response")), "", name)
        elif kind == "code_action":
            session.uuids.add(name)
            session.tool_call("edit", {"path": data.get("path")}, "", name)
        else:
            self._reading.count(f"step {one_line(kind, 60)}" if kind else "record without type", line, step)

    def finish(self) -> None:
        """Put the session into the reading, if there is one."""
        session = self._session
        if session.uuids:
            session.records = len(session.uuids)
            self._reading.parts[session.unit] = session
