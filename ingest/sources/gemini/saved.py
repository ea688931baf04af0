"""A conversation that a person saved in Gemini CLI (``/chat save <tag>``): ``tmp/<project>/checkpoint-<tag>.json``.

``{history, authType}``, until 2025 ``history`` alone: a list of what the model is sent, ``{role: user|model, parts}``
without names and times; what tools gave back is a user's ``functionResponse``. Nothing says which session it is of.
Source: packages/core/src/core/logger.ts, packages/cli/src/ui/commands/chatCommand.ts.

A checkpoint that one transcript has all the texts of says nothing new, and is passed over; that is remembered for as
long as the file is the same, since transcripts go after a month.
"""

from __future__ import annotations

import hashlib
import json
import re
import stat
from os.path import basename, dirname, join
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from core.redaction import clean as redacted
from core.text import one_line
from ingest.raw import rawfiles
from ingest.session.events import PROMPT, SUMMARY, TEXT
from ingest.session.values import mapping, moment, string
from ingest.sources.gemini.reading import NAME, RECEIVED, State, parts
from ingest.sources.histories import source as histories

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from ingest.pipeline.reading import Reading
    from ingest.session.sessions import Session

TOLD = "saved of a session that is there"
_MARK = "told"
_SAID = (PROMPT, TEXT, SUMMARY)
_REDACTED = re.compile(r"\[redacted:[^\]\n]{1,40}\]|\n\n")
# Characters of a paragraph that are looked for.
_PROBE = 1000
_BEGAN = "2026-03-01T10-15"


def take(value: Any, reading: Reading) -> None:
    """Make a part of a checkpoint, where no session tells what it holds."""
    history = value.get("history") if type(value) is dict else value
    if type(history) is not list or not all(type(content) is dict for content in history):
        return
    folder = dirname(reading.path)
    messages = list(_messages(history, reading))
    state = State(reading, join(folder, "chats", basename(reading.path)))
    tag = one_line(redacted(_tag(reading.path), reading.redacted), 200)
    unit = f"checkpoint-{_beginning(messages)}"
    state.apply({"sessionId": unit, "projectHash": basename(folder), "summary": tag, "messages": messages}, 0)
    later: list[Callable[[], None]] = []
    session = state.session(later)
    if session is None or not messages:
        return
    session.extra["saved_as"] = tag or "checkpoint"
    if not rawfiles.is_shelved(reading.path) and is_told(session, reading):
        reading.marks = {_MARK: reading.digest}
        reading.skipped = TOLD
        return
    reading.parts[session.unit] = session
    rawfiles.keep_with(reading, later)


def _tag(path: str) -> str:
    return unquote(basename(path).removesuffix(".json").removeprefix("checkpoint").removeprefix("-"))


def _messages(history: list[dict[str, Any]], reading: Reading) -> Iterator[dict[str, Any]]:
    """The contents as a session's messages, each named by all that was said up to it.

    So what is saved again, later or after going back, is told from what was saved before by its names.
    """
    said = hashlib.sha256()
    waiting: list[dict[str, Any]] = []
    made: list[dict[str, Any]] = []
    for number, content in enumerate(history, 1):
        said.update(json.dumps(content, sort_keys=True).encode())
        found = parts(content.get("parts"))
        name = said.hexdigest()[:16]
        rest = [part for part in found if not {"functionCall", "functionResponse"} & part.keys()]
        if content.get("role") == "model":
            calls = [mapping(part["functionCall"]) for part in found if "functionCall" in part]
            waiting = [
                {"id": string(call.get("id")) or f"{name} {place}", "name": call.get("name"), "args": call.get("args")}
                for place, call in enumerate(calls)
            ]
            made.append({"id": name, "type": "gemini", "content": rest, "toolCalls": [*waiting]})
        elif content.get("role") == "user":
            for part in found:
                _answer(waiting, part)
            if rest:
                made.append({"id": name, "type": "user", "content": rest})
        else:
            reading.count(f"content role {one_line(str(content.get('role')), 60)}", number, content)
    yield from made


def _answer(waiting: list[dict[str, Any]], part: dict[str, Any]) -> None:
    """Put what a tool gave back to its call: by the id, or, where there is none, to the next of its name."""
    response = mapping(part.get("functionResponse"))
    name, tool = response.get("id"), response.get("name")
    named = [call for call in waiting if name and call["id"] == name]
    for call in named or [call for call in waiting if call["name"] == tool and "result" not in call][:1]:
        call["result"] = [part]


def _beginning(messages: list[dict[str, Any]]) -> str:
    """What a conversation is known by: all up to the first answer to what was not the harness's."""
    answers = [message["id"] for message in messages if message["type"] == "gemini" and not _is_setting_up(message)]
    found: str = (answers or [message["id"] for message in messages[-1:]] or [""])[0]
    return found


def _is_setting_up(message: dict[str, Any]) -> bool:
    return any(part.get("text") == RECEIVED for part in message["content"])


def is_told(session: Session, reading: Reading) -> bool:
    """Whether one transcript of the project, on disk or in the archive, has all that was said."""
    kept = rawfiles.keeping()
    known = {} if kept is None or kept.transcripts is None else kept.transcripts.marks(reading.path)
    if known.get(_MARK) == reading.digest:
        return True
    said = "\n\n".join(event.text for event in session.events if event.kind in _SAID)
    probes = [piece.strip()[:_PROBE] for piece in _REDACTED.split(said)]
    spelled = [_spelled(probe) for probe in dict.fromkeys(filter(None, probes))]
    return bool(spelled) and any(
        all(any(spelling in data for spelling in spellings) for spellings in spelled) for data in _transcripts(reading)
    )


def _spelled(text: str) -> tuple[bytes, ...]:
    """A text as JSON has it: as Gemini CLI writes it, and as the archive does where it replaced something."""
    found = (json.dumps(text, ensure_ascii=ascii_only)[1:-1] for ascii_only in (False, True))
    return tuple(dict.fromkeys(each.encode("utf-8", "surrogatepass") for each in found))


def _transcripts(reading: Reading) -> Iterator[bytes]:
    """The bytes of the project's transcripts that were begun before the checkpoint was saved."""
    saved = moment(reading.mtime_ns)[: len(_BEGAN)].replace("-", ":")
    there = set(histories.beside(NAME, reading.path))
    yield from _contents(path for path in sorted(there) if _began(path) <= saved)
    kept = rawfiles.keeping()
    if kept is not None and not kept.from_archive:
        held = kept.as_archived()
        with rawfiles.kept_by(held):
            gone = [path for path in held.below(join(dirname(reading.path), "chats")) if path not in there]
            yield from _contents(path for path in gone if _began(path) <= saved)


def _began(path: str) -> str:
    """When a session was begun, as its name says: ``session-2026-03-01T10-15-<id>``; "" where it says nothing."""
    name = basename(path)
    return name[len("session-") :][: len(_BEGAN)].replace("-", ":") if name.startswith("session-2") else ""


def _contents(paths: Iterable[str]) -> Iterator[bytes]:
    for path in paths:
        try:
            with rawfiles.RawFile(path) as raw:
                if stat.S_ISREG(raw.status.st_mode):
                    yield raw.lines.read(rawfiles.MAX_WHOLE)
        except OSError:
            continue  # what cannot be read tells nothing
