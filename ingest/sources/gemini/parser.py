"""Gemini CLI's sessions: one JSON document, or a journal in which later lines change earlier ones.

A line of a journal is a message, which replaces one with its id, or a command. ``$set`` changes metadata; its
``messages`` replace all messages. ``$patch`` changes single messages. ``$rewindTo`` removes the named message and all
later ones, or all messages if the id is unknown. If a replacement begins with a new summary, the conversation was
compressed: the replaced messages stay before it.

``/chat save <tag>`` writes ``tmp/<project>/checkpoint-<tag>.json``: ``{history, authType}``, until 2025 ``history``
alone. ``history`` is the list that the model is sent, ``{role: user|model, parts}``, without ids and times; a tool's
result is a user's ``functionResponse``. Nothing names the session. A checkpoint that repeats a transcript is skipped.

Source: the vendor's packages/core/src/services/chatRecordingTypes.ts, chatRecordingService.ts
(``updateMessagesFromHistory``), chatCompressionService.ts, core/logger.ts and
packages/cli/src/ui/commands/chatCommand.ts.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
import stat
from functools import partial
from os.path import basename, dirname, join
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import unquote

from core.redaction import clean as redacted
from core.text import one_line
from ingest.pipeline.reading import BROKEN, Reading, journal, whole
from ingest.raw.store import MAX_WHOLE
from ingest.session import tool_calls
from ingest.session.project_ids import digest_of, mentioned_folder, of_folders
from ingest.session.session import PROMPT, SUMMARY, TEXT, SessionBuilder
from ingest.session.transcripts import transcripts_near
from ingest.session.units import path_name
from ingest.session.values import exit_code, mapping, moment, sequence, string
from ingest.sources.gemini.user_text import KNOWN, extract_user_text, is_summary
from ingest.sources.prompts import Prompt, PromptHistory

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from ingest.raw.store import RawStore

NAME = "gemini"
FOREIGN = "not a Gemini CLI session"
REPEATED = "saved of a session that is there"

_FIELDS = KNOWN.fields("fields")
_DROPPED = KNOWN.words("dropped_messages")
_ASSISTANT_TEXTS = KNOWN.texts("assistant_texts")
_RECEIVED = _ASSISTANT_TEXTS[0]
# The folder of a project's sessions.
_CHATS = "chats"
# Metadata that only a session has.
_MARKS = ("projectHash", "startTime")
# All sessions of the server behind the editors have this id, and no other (packages/a2a-server).
_SERVER = "a2a-server"
_FEEDBACK = "User feedback:"
# Lines that the shell tool writes below an exit code.
_SHELL, _BELOW_CODE = "run_shell_command", ("Signal: ", "Background PIDs: ", "Process Group PGID: ")


def read(path: str, raw: RawStore, tool: str = NAME) -> Reading:
    """Read one session, or a checkpoint. Faults are recorded in the result."""
    if path.endswith(".jsonl"):
        return journal(path, raw, partial(Conversation, tool=tool), FOREIGN)
    take = _checkpoint if _is_checkpoint(basename(path)) else _document
    return whole(path, raw, partial(take, tool=tool), FOREIGN)


def _is_checkpoint(name: str) -> bool:
    """Return True if a file is a conversation that a person saved under a name."""
    return name.startswith("checkpoint-") or name == "checkpoint.json"


def _document(value: Any, reading: Reading, tool: str) -> None:
    """Take a session that is one JSON document."""
    if type(value) is dict and type(value.get("messages")) is list and "sessionId" in value:
        conversation = Conversation(reading, tool)
        conversation.add(value, 0)
        conversation.finish()


class Conversation:
    """A session's metadata and messages after the records so far.

    ``place``: the path that the session would have among transcripts; the file's own by default.
    """

    def __init__(self, reading: Reading, tool: str, place: str = "") -> None:
        self._reading = reading
        self._tool = tool
        self._place = place or reading.path
        self._metadata: dict[str, Any] = {}
        self._messages: dict[str, dict[str, Any]] = {}
        self._seen: set[str] = set()
        self._began = ""
        self._nameless = 0
        self._line = 0

    def add(self, record: dict[str, Any], line: int) -> None:
        """Apply one line of a journal, or a whole document."""
        self._line = line
        if "$set" in record:
            self._set(mapping(record["$set"]))
        elif "$rewindTo" in record:
            self._rewind(string(record["$rewindTo"]))
        elif "$patch" in record:
            self._patch(mapping(record["$patch"]))
        elif "sessionId" in record and "type" not in record:
            self._set(record)
        elif "type" in record and "id" in record:
            self._put(record)
        else:
            self._unknown(f"record of {', '.join(sorted(one_line(key, 40) for key in record)[:4])}")

    def _set(self, values: dict[str, Any]) -> None:
        self._check("session", values)
        self._began = self._began or string(values.get("startTime"))
        messages = values.get("messages")
        if type(messages) is list:
            replaced = self._messages
            self._messages = {}
            if _is_compressed(messages, replaced):
                kept = {string(mapping(message).get("id")) for message in messages}
                self._messages = {name: message for name, message in replaced.items() if name not in kept}
            for message in messages:
                if type(message) is dict:
                    self._put(message)
                else:
                    self._unknown(f"message ({type(message).__name__})")
        self._metadata.update((key, value) for key, value in values.items() if key != "messages")

    def _put(self, message: dict[str, Any]) -> None:
        name = one_line(string(message.get("id")), 200)
        if not name:
            self._nameless += 1
            name = f"nameless {self._nameless}"
        self._seen.add(name)
        self._messages[name] = message

    def _rewind(self, name: str) -> None:
        names = list(self._messages)
        start = names.index(name) if name in self._messages else 0
        for gone in names[start:]:
            del self._messages[gone]

    def _patch(self, patch: dict[str, Any]) -> None:
        for name in patch.get("removeIds") or ():
            self._messages.pop(string(name), None)
        message = self._messages.get(string(patch.get("id")))
        if message is not None:
            changed = {**message, **mapping(patch.get("updates"))}
            if "content" in patch:
                changed["content"] = patch["content"]
            results = {string(mapping(call).get("id")): mapping(call) for call in patch.get("toolCalls") or ()}
            calls = changed.get("toolCalls")
            if results and type(calls) is list:
                changed["toolCalls"] = [
                    {**mapping(call), **results.get(string(mapping(call).get("id")), {})} for call in calls
                ]
            self._messages[string(patch.get("id"))] = changed
        for update in sequence(patch.get("updates")):
            if type(update) is dict:
                self._put({**self._messages.get(string(update.get("id")), {}), **update})
        order = [string(name) for name in patch.get("orderIds") or ()]
        if order:
            rest = {name: message for name, message in self._messages.items() if name not in order}
            self._messages = {name: self._messages[name] for name in order if name in self._messages} | rest

    def finish(self) -> None:
        """Put the session into the reading, if there is one."""
        later: list[Callable[[], None]] = []
        session = self.session(later)
        if session is not None:
            self._reading.parts[session.unit] = session
            self._reading.raw.keep_with(self._reading, later)

    def session(self, later: list[Callable[[], None]]) -> SessionBuilder | None:
        """Return the session, None if the records hold none.

        Args:
            later: takes functions that archive the companion files which were read.
        """
        metadata, path = self._metadata, self._place
        if not any(mark in metadata for mark in _MARKS) and not (metadata and self._messages):
            return None
        unit = one_line(string(metadata.get("sessionId")), 4000) or path_name(basename(path))
        if unit == _SERVER and self._began:
            unit = f"{unit}:{one_line(self._began, 100)}"
        session = SessionBuilder(unit, self._tool)
        session.uuids |= self._seen
        session.removed = self._seen - self._messages.keys()
        session.records = len(self._seen)
        session.extend_to(moment(self._began))
        session.title = string(metadata.get("summary"))
        digest = string(metadata.get("projectHash"))
        session.cwd = _project_folder(path, digest, self._reading.raw, later)
        session.sign = of_folders(path, digest)
        if metadata.get("kind") == "subagent":
            parent = path_name(basename(dirname(path)))[:500]
            session.parent = "" if parent == _CHATS else parent
        for name, message in self._messages.items():
            try:
                self._message(session, name, message)
            except BROKEN as error:
                self._reading.broken(error, self._line)
        session.cwd = session.cwd or _project_mentioned(digest, (event.text for event in session.events))
        return session

    def _message(self, session: SessionBuilder, name: str, message: dict[str, Any]) -> None:
        self._check("message", message)
        kind, at = message.get("type"), moment(message.get("timestamp"))
        session.extend_to(at)
        if kind == "user":
            self._user(session, name, message, at)
        elif kind not in _DROPPED:
            if kind != "gemini":
                self._unknown(f"message type {one_line(str(kind), 60)}")
            self._assistant(session, name, message, at)

    def _user(self, session: SessionBuilder, name: str, message: dict[str, Any], at: str) -> None:
        content, shown = message.get("content"), message.get("displayContent")
        for part in (*_parts(content), *_parts(shown)):
            self._part(part)
        found = extract_user_text(string(part.get("text")) for part in _parts(shown or content))
        session.cwd = session.cwd or found.directory
        session.prompt(session.pieces(found, at, name), at, name)

    def _assistant(self, session: SessionBuilder, name: str, message: dict[str, Any], at: str) -> None:
        tokens = mapping(message.get("tokens"))
        sent, cached = tokens.get("input"), tokens.get("cached")
        fresh = sent - cached if type(sent) is int and type(cached) is int else sent  # ``input`` holds ``cached``
        session.usage(message.get("model"), tokens.get("output"), name, [fresh, cached])
        for thought in message.get("thoughts") or ():
            subject, said = string(mapping(thought).get("subject")), string(mapping(thought).get("description"))
            session.thought(f"**{subject}** {said}" if subject else said, at, name)
        calls = message.get("toolCalls")
        content = message.get("content") if "content" in message else message.get("parts")
        for part in _parts(content):
            self._part(part)
            if part.get("text") in _ASSISTANT_TEXTS:
                continue
            if part.get("thought") is True:
                session.thought(string(part.get("text")), at, name)
            elif type(part.get("text")) is str:
                session.reply(part["text"], at, name)
            elif "functionCall" in part and not calls:
                call = mapping(part["functionCall"])
                session.tool_call(string(call.get("name")), call.get("args"), at, name, call_id=string(call.get("id")))
        for call in sequence(calls):
            self._call(session, name, mapping(call), at)

    def _part(self, part: dict[str, Any]) -> None:
        """Count the unknown fields of a part, or the part if no field of it is known."""
        is_odd = type(part.get("text")) is not str and part.keys() <= {"text", "thought"}
        if is_odd or not part.keys() & _FIELDS["part"]:
            self._unknown(f"part of {', '.join(sorted(one_line(key, 40) for key in part)[:3])}", part)
        else:
            self._check("part", part)

    def _call(self, session: SessionBuilder, name: str, call: dict[str, Any], at: str) -> None:
        """Add a tool call and its outcome."""
        self._check("tool call", call)
        tool, identity = string(call.get("name")), string(call.get("id"))
        at = moment(call.get("timestamp")) or at
        session.extend_to(at)
        session.tool_call(tool, call.get("args"), at, name, call_id=identity)
        session.edited(identity, call.get("resultDisplay"))
        status, output, error = call.get("status"), "", ""
        for part in _parts(call.get("result")):
            response = mapping(mapping(part.get("functionResponse")).get("response"))
            output, error = string(response.get("output")) or output, string(response.get("error")) or error
        if tool == "ask_user":
            with contextlib.suppress(ValueError, RecursionError):
                answer = tool_calls.answers(mapping(json.loads(output)))
                if answer:
                    session.tool_note(identity, f"answer: {answer}", at, name)
        elif tool == "exit_plan_mode" and _FEEDBACK in output:
            session.prompt(_plan_feedback(output), at, f"{name} feedback")
        code = shell_exit_code(output) if tool == _SHELL else 0
        if status == "cancelled":
            session.tool_note(identity, "cancelled by the user", at, name)
        elif status == "error" or error:
            session.tool_error(identity, error or output or string(call.get("resultDisplay")) or "error", at, name)
        elif code:
            session.tool_error(identity, f"Exit code {code}\n{_printed(output)}", at, name)
        agent = string(call.get("agentId"))
        if agent:
            session.tool_note(identity, f"→ {session.source}__{one_line(agent, 100)}", at, name)

    def _check(self, what: str, record: dict[str, Any]) -> None:
        """Count the fields of a record that are not known."""
        self._reading.count_fields(what, record, _FIELDS[what], self._line)

    def _unknown(self, what: str, value: Any = None) -> None:
        self._reading.count(what, self._line, value)


def _parts(content: Any) -> list[dict[str, Any]]:
    """Return the parts of a PartListUnion: a string, a part, or a list of both."""
    if type(content) is str:
        return [{"text": content}]
    if type(content) is dict:
        return [content]
    if type(content) is not list:
        return []
    return [{"text": part} if type(part) is str else mapping(part) for part in content if part]


def _is_compressed(messages: list[Any], replaced: dict[str, dict[str, Any]]) -> bool:
    """Return True if ``messages`` begin with a summary of those that they replace."""
    first = next((mapping(each) for each in messages if mapping(each).get("type") == "user"), {})
    texts = (string(part.get("text")) for part in _parts(first.get("content")))
    return string(first.get("id")) not in replaced and any(map(is_summary, texts))


def _plan_feedback(output: str) -> str:
    """Return the words with which a person refused a plan."""
    rest = output.partition(_FEEDBACK)[2]
    stored = rest.rpartition("\n\nThe plan is stored at: ")[0]
    said = (stored or rest.rpartition("\nRevise the plan")[0] or rest).strip()
    return said[1:-1] if len(said) > 1 and said[0] == said[-1] == '"' else said


def shell_exit_code(output: str) -> int:
    """Return the exit code in a shell command's report, 0 if there is none.

    Only a few lines about processes follow it (packages/core/src/tools/shell.ts). An exit code with other text below
    was printed by the command.
    """
    output = output.partition("\n\n<hook_context>")[0]
    at = output.rfind("\nExit Code: ")
    digits, _, below = output[at + 12 :].partition("\n") if at >= 0 else ("", "", "")
    return exit_code(digits) if all(line.startswith(_BELOW_CODE) for line in below.splitlines()) else 0


def _printed(output: str) -> str:
    """Return what the command of a shell report printed."""
    head, mark, rest = output.partition("Output: ")
    rest = rest if mark else head
    return rest[: rest.rfind("\nExit Code: ")].replace("\nError: (none)", "")


# Checkpoints

_MARK = "told"
_SAID = (PROMPT, TEXT, SUMMARY)
_GAPS = re.compile(r"\[redacted:[^\]\n]{1,40}\]|\n\n")
# A paragraph is searched by its first characters.
_PROBE = 1000
# The length of a start time in the name of a transcript.
_MINUTE = len("2026-03-01T10-15")


def _checkpoint(value: Any, reading: Reading, tool: str) -> None:
    """Take a saved conversation, unless a transcript has all of it."""
    history = value.get("history") if type(value) is dict else value
    if type(history) is not list or not all(type(content) is dict for content in history):
        return
    folder = dirname(reading.path)
    messages = _checkpoint_messages(history, reading)
    conversation = Conversation(reading, tool, join(folder, _CHATS, basename(reading.path)))
    tag = unquote(basename(reading.path).removesuffix(".json").removeprefix("checkpoint").removeprefix("-"))
    tag = one_line(redacted(tag, reading.redacted), 200)
    unit = f"checkpoint-{_beginning(messages)}"
    conversation.add({"sessionId": unit, "projectHash": basename(folder), "summary": tag, "messages": messages}, 0)
    later: list[Callable[[], None]] = []
    session = conversation.session(later)
    if session is None or not messages:
        return
    session.extra["saved_as"] = tag or "checkpoint"
    if not reading.raw.is_shelved(reading.path) and _is_in_transcript(session, reading):
        # Transcripts go after a month: the verdict is kept for as long as the file is the same.
        reading.marks = {_MARK: reading.digest}
        reading.skipped = REPEATED
        return
    reading.parts[session.unit] = session
    reading.raw.keep_with(reading, later)


def _checkpoint_messages(history: list[dict[str, Any]], reading: Reading) -> list[dict[str, Any]]:
    """Return the contents as a session's messages.

    Each id is a digest of all contents up to it: a checkpoint that was saved later, or after a rewind, shares the ids
    of what it has in common with an earlier one.
    """
    said = hashlib.sha256()
    waiting: list[dict[str, Any]] = []
    made: list[dict[str, Any]] = []
    for number, content in enumerate(history, 1):
        said.update(json.dumps(content, sort_keys=True).encode())
        found = _parts(content.get("parts"))
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
                _add_result(waiting, part)
            if rest:
                made.append({"id": name, "type": "user", "content": rest})
        else:
            reading.count(f"content role {one_line(str(content.get('role')), 60)}", number, content)
    return made


def _add_result(waiting: list[dict[str, Any]], part: dict[str, Any]) -> None:
    """Add a tool's result to its call: the one with its id, or the next without a result of its name."""
    response = mapping(part.get("functionResponse"))
    name, tool = response.get("id"), response.get("name")
    named = [call for call in waiting if name and call["id"] == name]
    for call in named or [call for call in waiting if call["name"] == tool and "result" not in call][:1]:
        call["result"] = [part]


def _beginning(messages: list[dict[str, Any]]) -> str:
    """Return the id of a conversation's first answer to a person, of its last message if there is no answer."""
    answers = [
        message["id"]
        for message in messages
        if message["type"] == "gemini" and not any(part.get("text") == _RECEIVED for part in message["content"])
    ]
    found: str = (answers or [message["id"] for message in messages[-1:]] or [""])[0]
    return found


def _is_in_transcript(session: SessionBuilder, reading: Reading) -> bool:
    """Return True if one transcript of the project, on disk or in the archive, has all texts of a checkpoint."""
    transcripts = reading.raw.transcripts
    known = {} if transcripts is None else transcripts.marks(reading.path)
    if known.get(_MARK) == reading.digest:
        return True
    said = "\n\n".join(event.text for event in session.events if event.kind in _SAID)
    probes = [piece.strip()[:_PROBE] for piece in _GAPS.split(said)]
    spelled = [_spellings(probe) for probe in dict.fromkeys(filter(None, probes))]
    return bool(spelled) and any(
        all(any(spelling in data for spelling in spellings) for spellings in spelled) for data in _transcripts(reading)
    )


def _spellings(text: str) -> tuple[bytes, ...]:
    """Return a text in JSON as Gemini CLI writes it, and as the archive does after it replaced a secret."""
    found = (json.dumps(text, ensure_ascii=ascii_only)[1:-1] for ascii_only in (False, True))
    return tuple(dict.fromkeys(each.encode("utf-8", "surrogatepass") for each in found))


def _transcripts(reading: Reading) -> Iterator[bytes]:
    """Yield the bytes of the project's transcripts that began before the checkpoint was saved."""
    saved = moment(reading.mtime_ns)[:_MINUTE].replace("-", ":")
    present = set(transcripts_near(reading.path, (_CHATS,)))
    yield from _contents((path for path in sorted(present) if _began(path) <= saved), reading.raw)
    if not reading.raw.from_archive:
        held = reading.raw.as_archived()
        gone = [path for path in held.below(join(dirname(reading.path), _CHATS)) if path not in present]
        yield from _contents((path for path in gone if _began(path) <= saved), held)


def _began(path: str) -> str:
    """Return when a session began, to the minute, as its file name says: ``session-2026-03-01T10-15-<id>``; or ""."""
    name = basename(path)
    return name[len("session-") :][:_MINUTE].replace("-", ":") if name.startswith("session-2") else ""


def _contents(paths: Iterable[str], raw: RawStore) -> Iterator[bytes]:
    """Yield the bytes of regular files; one that cannot be read is left out."""
    for path in paths:
        try:
            with raw.open(path) as file:
                if stat.S_ISREG(file.status.st_mode):
                    yield file.lines.read(MAX_WHOLE)
        except OSError:
            continue


# The history of prompts

# A prompt is searched by its first characters.
_PROMPT_PROBE = 200


def _history_project(path: str, raw: RawStore, later: list[Callable[[], None]]) -> str:
    return _project_folder(join(dirname(path), _CHATS, ""), basename(dirname(path)), raw, later)


def _prompt(entry: dict[str, Any]) -> Prompt:
    text = string(entry.get("message")) if entry.get("type") == "user" else ""
    return Prompt(string(entry.get("sessionId")), moment(entry.get("timestamp")), text)


def _without_resumed(prompts: list[Prompt], reading: Reading) -> list[Prompt]:
    """Leave out sessions that continue another: after ``--resume`` prompts may have an id that no transcript has.

    The transcript of the other id began before the prompts, was written to since, and has the longest of them
    (google-gemini/gemini-cli issue 18369).
    """
    transcripts = reading.raw.transcripts
    verdicts = {} if transcripts is None else dict(transcripts.marks(reading.path))
    sessions: dict[str, list[Prompt]] = {}
    for prompt in prompts:
        sessions.setdefault(prompt.unit, []).append(prompt)
    probes: dict[str, _Probe] = {}
    for unit, found in sessions.items():
        texts = [prompt.text for prompt in found if not prompt.is_command]
        times = [prompt.at for prompt in found if prompt.at]
        if unit not in verdicts and texts and times:
            probes[unit] = _Probe(_spellings(max(texts, key=len)[:_PROMPT_PROBE])[0], min(times), max(times))
    for path in transcripts_near(reading.path, (_CHATS,)) if probes else ():
        for unit in _found_in(path, reading.raw, probes):
            verdicts[unit] = "resumed"
            del probes[unit]
    reading.marks = verdicts
    return [prompt for prompt in prompts if prompt.unit not in verdicts]


class _Probe(NamedTuple):
    """A text to find in a transcript of another id, and the times of a session's first and last prompt."""

    text: bytes
    first: str
    last: str


def _found_in(path: str, raw: RawStore, probes: Mapping[str, _Probe]) -> list[str]:
    """Return the sessions with a probe that the transcript at ``path`` holds; the transcript is read once."""
    began = basename(path)[len("session-") :][:_MINUTE].replace("-", ":")
    try:
        with raw.open(path) as file:
            written = moment(file.status.st_mtime_ns)
            possible = {
                unit: probe.text
                for unit, probe in probes.items()
                if began <= probe.last[: len(began)].replace("-", ":") and written >= probe.first
            }
            if not possible or not stat.S_ISREG(file.status.st_mode):
                return []
            data = file.lines.read(MAX_WHOLE)
            return [unit for unit, text in possible.items() if text in data]
    except OSError:
        return []  # the session stays


PROMPTS = PromptHistory(
    NAME, (_CHATS,), _prompt, _FIELDS["prompt"], find_project=_history_project, select=_without_resumed
)


# The project's folder: sessions name it by its SHA-256 alone


def _project_folder(path: str, digest: str, raw: RawStore, later: list[Callable[[], None]]) -> str:
    """Return the project's folder from the marker in its folder of sessions, or from the registry of names; or ""."""
    chats = dirname(path)
    while chats and basename(chats) != _CHATS and dirname(chats) != chats:
        chats = dirname(chats)
    folder = dirname(chats)
    if basename(chats) != _CHATS:
        return ""
    try:
        return raw.load(join(folder, ".project_root"), 65536, later=later).decode("utf-8", "replace").strip()
    except OSError:
        known = _registry(join(dirname(dirname(folder)), "projects.json"), raw, later)
    for place, slug in known.items():
        if slug == basename(folder) or digest_of(place) == digest:
            return place
    return ""


def _registry(path: str, raw: RawStore, later: list[Callable[[], None]]) -> dict[str, str]:
    """Return the registry of names: folder → name."""
    try:
        found = mapping(mapping(json.loads(raw.load(path, 16 * 1024 * 1024, later=later))).get("projects"))
    except (OSError, ValueError, RecursionError):
        return {}
    return {place: slug for place, slug in sorted(found.items()) if type(slug) is str}


def _project_mentioned(digest: str, texts: Iterable[str]) -> str:
    """Return the folder that ``texts`` mention, or a parent of one, with this SHA-256; or ""."""
    if len(digest) != 64:
        return ""
    return mentioned_folder(texts, lambda place: digest_of(place) == digest)
