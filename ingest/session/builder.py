"""The vocabulary in which every parser describes a session.

=============== =====================================================================================
``prompt``      a person's words
``queued``      a person's words, typed while the assistant worked; they may come again as a prompt
``command``     a slash command that a person typed, or a shell command with ``! `` in front
``reply``       the assistant's words
``commentary``  the assistant's words between two steps of its work
``thought``     the assistant's reasoning
``tool_call``   a call of a tool
``tool_error``  the call ended with an error
``tool_note``   one line about the call: an answer, a refusal, the subagent that it started
``summary``     a machine's summary of the conversation so far, which replaced it in the model's context
``recap``       a machine's summary for a person who comes back
``teammate``    another agent's or a schedule's words, in a person's place
``interrupt``   the person stopped the assistant
``note``        anything else that happened, in one line
``usage``       the model of an answer, and its output tokens
``pieces``      one text of a user message, as the tool's ``extract_user_text`` returned it
=============== =====================================================================================

A parser assigns what describes the whole session; ``ingest.session.session.Session`` documents the other attributes:

================= ===================================================================================
``title``         the title that a person or the tool gave
``machine_title`` the title that a model gave
``cwd``           the folder in which the session worked; it decides the project
``branch``        the branch of the repository in that folder
``version``       the version of the tool
``parent``        the unit of the session that started this one
``extra``         frontmatter of this source alone, by name
================= ===================================================================================

Text is cleaned of control characters here; empty text adds nothing. Common arguments: ``at``, the record's time as
``ingest.session.values.moment`` gives it; ``record``, the record's lasting name ("" if it has none), by which copies
are merged; ``message``, the message of the API that the record is a piece of; ``call_id``, the id of the tool call.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from core.text import clean, one_line
from ingest.session import tool_calls
from ingest.session.events import (
    COMMAND,
    COMMENTARY,
    INTERRUPT,
    NOTE,
    PROMPT,
    QUEUED,
    RECAP,
    RESULT,
    SUMMARY,
    TEAMMATE,
    TEXT,
    THINKING,
    TOOL,
    Event,
    bounded,
    identity,
)
from ingest.session.session import Session

if TYPE_CHECKING:
    from ingest.session.user_text import UserText


class SessionBuilder(Session):
    """A session that a parser fills, record by record, in the order of the file.

    ``chain``: the root of the inline sidechain that the next events belong to, "" for the conversation itself.
    """

    __slots__ = ("chain",)

    # Writes the lines of one tool call from its name and input.
    call_lines = staticmethod(tool_calls.call_lines)

    def __init__(self, unit: str, source: str) -> None:
        super().__init__(unit, source)
        self.chain = ""

    def extend_to(self, at: str) -> None:
        """Extend the conversation's time span to a timestamp; "" changes nothing."""
        if at:
            if not self.first or at < self.first:
                self.first = at
            if at > self.last:
                self.last = at

    def put(self, kind: str, text: str, at: str = "", record: str = "", message: str = "", call_id: str = "") -> Event:
        """Add an event of any kind; ``text`` must be clean."""
        event = Event(kind, bounded(text), at, record, message, call_id, self.chain)
        self.uuids.add(record or identity(event))
        self._window.add(event)
        return event

    def prompt(self, text: str, at: str = "", record: str = "") -> None:
        """Add a person's words."""
        self._say(PROMPT, text, at, record)

    def queued(self, text: str, at: str = "", record: str = "") -> None:
        """Add a person's words, typed while the assistant worked."""
        self._say(QUEUED, text, at, record)

    def command(self, text: str, at: str = "", record: str = "") -> None:
        """Add a slash command, or a shell command with ``! `` in front."""
        self._say(COMMAND, text, at, record)

    def reply(self, text: str, at: str = "", record: str = "", message: str = "") -> None:
        """Add the assistant's words."""
        self._say(TEXT, text, at, record, message)

    def commentary(self, text: str, at: str = "", record: str = "", message: str = "") -> None:
        """Add the assistant's words between two steps of its work."""
        self._say(COMMENTARY, text, at, record, message)

    def thought(self, text: str, at: str = "", record: str = "", message: str = "") -> None:
        """Add the assistant's reasoning."""
        self._say(THINKING, text, at, record, message)

    def tool_call(
        self, name: str, given: Any, at: str = "", record: str = "", message: str = "", call_id: str = ""
    ) -> None:
        """Add a call of a tool; ``given`` is its input as recorded."""
        self.put(TOOL, self.call_lines(name, given), at, record, message, call_id)

    def tool_error(self, call_id: str, error: str, at: str = "", record: str = "") -> None:
        """Add the first lines of an error under its call."""
        lines = tool_calls.error_lines(clean(error))
        if lines:
            self.put(RESULT, lines, at, record, "", call_id)

    def tool_note(self, call_id: str, note: str, at: str = "", record: str = "") -> None:
        """Add one line of clean text under a call."""
        self.put(RESULT, f"  {note}", at, record, "", call_id)

    def summary(self, text: str, at: str = "", record: str = "") -> None:
        """Add a machine's summary of the conversation so far."""
        self._say(SUMMARY, text, at, record)

    def recap(self, text: str, at: str = "", record: str = "") -> None:
        """Add a machine's summary for a person who comes back."""
        self._say(RECAP, text, at, record)

    def teammate(self, text: str, at: str = "", record: str = "") -> None:
        """Add another agent's or a schedule's words."""
        self._say(TEAMMATE, text, at, record)

    def interrupt(self, at: str = "", record: str = "") -> None:
        """Add that the person stopped the assistant."""
        self.put(INTERRUPT, "", at, record)

    def note(self, text: str, at: str = "", record: str = "") -> None:
        """Add anything else that happened, in one line."""
        self.put(NOTE, one_line(text, 500), at, record)

    def usage(self, model: object, tokens: object = 0, record: str = "") -> None:
        """Add the model of an answer and the number of its output tokens; a value of another type is left out."""
        if type(model) is str and model:
            self.models.add(model)
        if type(tokens) is int and tokens:
            self.tokens[record] = tokens

    def pieces(self, text: UserText, at: str = "", record: str = "") -> str:
        """Add the pieces of one user text that are no prompt, and return the person's words.

        A message may hold several texts: the caller joins their words and adds one prompt.
        """
        for kind, words in text.pieces:
            if kind != PROMPT and (words or kind == INTERRUPT):
                self.put(kind, words, at, record)
        return text.typed

    def _say(self, kind: str, text: str, at: str, record: str, message: str = "") -> None:
        text = clean(text).strip()
        if text:
            self.put(kind, text, at, record, message)
