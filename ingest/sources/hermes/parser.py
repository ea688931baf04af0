"""Hermes' sessions: the tables ``sessions`` and ``messages`` of ``state.db``, and the documents before them.

Messages are in OpenAI's form: ``role``, ``content``, ``tool_calls``, ``tool_call_id``, ``reasoning``. A row that a
person took back has ``active = 0``, unless a summary replaced it (``compacted = 1``). A document is ``{session_id,
model, platform, session_start, messages, cwd|model_config.cwd}``, a file of JSON Lines has a message a line, the first
with the role ``session_meta``.

Sources: NousResearch/hermes-agent, hermes_state.py and hermes_state_schema.py; jazzyalex/agent-sessions (fixtures of
documents).
"""

from __future__ import annotations

import json
from os.path import basename, expanduser
from typing import TYPE_CHECKING, Any

from core.text import clean, one_line
from ingest.pipeline.reading import BROKEN, Reading, add_records, lines, whole
from ingest.session.session import SUMMARY, SessionBuilder
from ingest.session.units import path_name
from ingest.session.user_text import NOTHING, UserText, piece, prompt
from ingest.session.values import Vocabulary, mapping, moment, sequence, string
from ingest.sources import tables
from ingest.sources.messages import Messages

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ingest.raw import records
    from ingest.raw.store import RawStore

    Record = dict[str, Any]

NAME = "hermes"
FOREIGN = "not a session of Hermes'"
KNOWN = Vocabulary(__file__)

_FIELDS = KNOWN.fields("fields")
_SUMMARIES, _HARNESS = KNOWN.texts("summaries"), KNOWN.texts("harness")
_META = frozenset(("session_meta",))


def stream(path: str, raw: RawStore) -> Iterator[Reading]:
    """Yield the reading of a database each time that more of its sessions are whole, and at the end."""
    yield from tables.stream(path, raw, _LAYOUT)


def read(path: str, raw: RawStore) -> Reading:
    """Read a session that is a document, or JSON Lines. Faults are recorded in the result."""
    return lines(path, raw, _lines, FOREIGN) if path.endswith(".jsonl") else whole(path, raw, _document, FOREIGN)


def extract_user_text(text: str) -> UserText:
    """Return a person's words; a summary in their place is one."""
    text = clean(text).strip()
    if text.startswith(_SUMMARIES):
        return piece(SUMMARY, text)
    if text.startswith(_HARNESS):
        # A note before a person's words ends with a line of its own.
        _, ended, rest = text.partition("]\n\n")
        return prompt(rest.strip()) if ended and text.startswith("[System note:") else NOTHING
    return prompt(text)


class _Sent(Messages):
    def words(self, text: str) -> UserText:
        return extract_user_text(text)

    def failure(self, tool: str, text: str) -> str:
        """Return the error in a result, which is JSON with ``error`` or ``exit_code``."""
        del tool
        if not text.startswith("{"):
            return ""
        try:
            found = mapping(json.loads(text, strict=False))
        except (ValueError, RecursionError):
            return ""
        code = found.get("exit_code")
        if type(code) is int and code:
            return f"Exit code {code}\n{string(found.get('output'))}"
        return string(found.get("error"))


def _document(value: Any, reading: Reading) -> None:
    given = mapping(value)
    if type(given.get("messages")) is not list or not string(given.get("session_id")):
        return
    reading.count_fields("session", given, _FIELDS["session"])
    session = SessionBuilder(one_line(string(given.get("session_id")), 4000), NAME)
    folder = string(given.get("cwd")) or string(mapping(given.get("model_config")).get("cwd"))
    # Exclusions name whole paths: a folder below ``~`` must not pass them by.
    session.cwd = expanduser(folder) if folder.startswith("~") else folder
    session.title = string(given.get("title"))
    session.usage(given.get("model"))
    _surface(session, given.get("platform"))
    session.extend_to(moment(given.get("session_start")))
    session.extend_to(moment(given.get("last_updated")))
    _add(session, reading, given["messages"])


def _lines(source: records.Records, reading: Reading) -> None:
    session = SessionBuilder(path_name(basename(reading.path).removesuffix(".jsonl")), NAME)
    found: list[Record] = []

    def add(record: Record, line: int) -> None:
        if "role" not in record or "type" in record:
            reading.count("record without role, or with a type", line, record)
        elif record["role"] == "session_meta":
            session.usage(record.get("model"))
            _surface(session, record.get("platform"))
        else:
            found.append(record)

    add_records(source, reading, add)
    if found:
        _add(session, reading, found)


def _take(head: Record, rows: dict[str, list[Record]], reading: Reading) -> None:
    session = SessionBuilder(one_line(str(head.get("id")), 4000), NAME)
    config = head.get("model_config")
    try:
        config = json.loads(config) if type(config) is str else config
    except (ValueError, RecursionError):
        config = None
    session.cwd = string(head.get("cwd")) or string(mapping(config).get("cwd"))
    session.title = string(head.get("title"))
    session.parent = one_line(string(head.get("parent_session_id")), 500)
    if session.parent and head.get("end_reason") == "compression":
        session.parent, session.forked_from = "", session.parent
    session.usage(head.get("model"))
    session.usage(None, head.get("output_tokens"), "session")
    _surface(session, head.get("source"))
    for key in ("started_at", "ended_at"):
        session.extend_to(moment(head.get(key)))
    kept = [row for row in rows.get("messages", ()) if row.get("active") != 0 or row.get("compacted") == 1]
    _add(session, reading, [{key: value for key, value in row.items() if value is not None} for row in kept])


def _surface(session: SessionBuilder, platform: Any) -> None:
    if name := one_line(string(platform), 40):
        session.extra["surface"] = name


def _add(session: SessionBuilder, reading: Reading, found: list[Any]) -> None:
    messages = _Sent(session, reading, _META)
    for number, each in enumerate(found):
        message = mapping(each)
        name, at = f"m{number}", moment(message.get("timestamp"))
        try:
            reading.count_fields("message", {key: message[key] for key in message if key != "session_id"},
                                 _FIELDS["message"])  # fmt: skip
            messages.add({**message, "tool_calls": sequence(message.get("tool_calls"))}, name, at)
        except BROKEN as error:
            reading.broken(error)
    session.records = len(session.uuids)
    reading.parts[session.unit] = session


_LAYOUT = tables.Layout(
    "sessions",
    "id source model model_config title parent_session_id started_at ended_at end_reason output_tokens cwd",
    {
        "messages": tables.Below(
            "id role content tool_call_id tool_calls tool_name timestamp finish_reason reasoning active compacted",
            "session_id",
            "id",
        )
    },
    _take,
    "parent_session_id",
)
