"""Chat sessions of VS Code: ``<id>.json``, since 2026 ``<id>.jsonl``, a log of changes to the same document.

A document is ``{version, sessionId, creationDate, customTitle, requests}``. A request has ``message.text``, what the
person typed (added files are in ``variableData``), and ``response``, a list of parts: markdown has no ``kind``;
``thinking``, ``toolInvocationSerialized``, ``textEditGroup`` and others have one. An entry of a log is ``{kind, k, v,
i}``: 0 is the whole document, 1 sets the value at path ``k``, 2 cuts the list there to ``i`` items and adds ``v``, 3
deletes. ``workspace.json`` in the folder above names the folder that was open.

Source: microsoft/vscode, src/vs/workbench/contrib/chat/common/model (chatModel.ts, objectMutationLog.ts).
"""

from __future__ import annotations

from os.path import basename, dirname, join
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from core.text import clean, one_line
from ingest.pipeline.reading import BROKEN, Reading, add_records, lines, whole
from ingest.session.session import SessionBuilder
from ingest.session.units import path_name
from ingest.session.user_text import UserText, command, prompt
from ingest.session.values import Vocabulary, mapping, moment, sequence, string
from ingest.sources.companions import companion

if TYPE_CHECKING:
    from collections.abc import Callable

    from ingest.raw import records
    from ingest.raw.store import RawStore

    Record = dict[str, Any]

NAME = "vscode"
FOREIGN = "not a chat session of VS Code"
KNOWN = Vocabulary(__file__)

_FIELDS, _DROPPED = KNOWN.fields("fields"), KNOWN.words("dropped")
# The value of ``modelState`` since 2026, before that ``isCanceled``.
_CANCELED = 2
_MARKDOWN = frozenset(("", "markdownContent", "markdownVuln"))
# The most items that a log may skip ahead: a damaged index must not make a list of a billion nulls.
_MOST_GAP = 10_000


def read(path: str, raw: RawStore) -> Reading:
    """Read one session. Faults are recorded in the result."""
    return lines(path, raw, _log, FOREIGN) if path.endswith(".jsonl") else whole(path, raw, _document, FOREIGN)


def extract_user_text(text: str) -> UserText:
    """Return a person's words, or the command that they are."""
    text = clean(text).strip()
    return command(text) if text.startswith("/") and "\n" not in text and " " not in text else prompt(text)


def _log(source: records.Records, reading: Reading) -> None:
    held: list[Any] = [None]

    def add(entry: Record, line: int) -> None:
        kind, path = entry.get("kind"), sequence(entry.get("k"))
        if kind == 0:
            held[0] = entry.get("v")
        elif kind in (1, 2, 3) and held[0] is not None:
            _apply(held, kind, path, entry)
        else:
            reading.count("entry of a log", line, entry)

    add_records(source, reading, add)
    _document(held[0], reading)


def _apply(held: list[Any], kind: int, path: list[Any], entry: Record) -> None:
    """Apply one change. Raises one of ``BROKEN`` if its path is not in the document."""
    if not path or not all(type(key) in (str, int) for key in path):
        raise ValueError("a change of nothing")
    target: Any = held
    keys = [0, *path]
    for key in keys[:-1]:
        target = target[key]
    last = keys[-1]
    if (type(last) is str) is not (type(target) is dict):
        raise TypeError("a name in a list, or a number in an object")
    if kind == 2:
        found = target.setdefault(last, []) if type(target) is dict else target[last]
        if type(cut := entry.get("i")) is int:
            del found[cut:]
        found.extend(sequence(entry.get("v")))
    elif type(target) is list and type(last) is int and last >= len(target):
        if last - len(target) > _MOST_GAP:
            raise ValueError("index of a list")
        target.extend([None] * (last - len(target) + 1))
        target[last] = entry.get("v")
    elif kind == 3 and type(target) is dict:
        target.pop(last, None)
    else:
        target[last] = entry.get("v") if kind == 1 else None


def _document(value: Any, reading: Reading) -> None:
    given = mapping(value)
    if type(given.get("requests")) is not list or not ("sessionId" in given or "creationDate" in given):
        return
    reading.count_fields("session", given, _FIELDS["session"])
    stem = path_name(basename(reading.path).rpartition(".")[0])
    session = SessionBuilder(one_line(string(given.get("sessionId")), 4000) or stem, NAME)
    session.title = string(given.get("customTitle"))
    session.extend_to(moment(given.get("creationDate")))
    later: list[Callable[[], None]] = []
    about = companion(join(dirname(dirname(reading.path)), "workspace.json"), reading.raw, later)
    folder = string(about.get("folder"))
    session.cwd = unquote(folder.removeprefix("file://")) if folder.startswith("file:///") else ""
    for number, request in enumerate(given["requests"]):
        try:
            _request(session, reading, mapping(request), f"m{number}")
        except BROKEN as error:
            reading.broken(error)
    session.records = len(session.uuids)
    reading.parts[session.unit] = session
    reading.raw.keep_with(reading, later)


def _request(session: SessionBuilder, reading: Reading, request: Record, number: str) -> None:
    reading.count_fields("request", request, _FIELDS["request"])
    name, at = one_line(string(request.get("requestId")), 200) or number, moment(request.get("timestamp"))
    session.uuids.add(name)
    session.extend_to(at)
    session.usage(string(request.get("modelId")).removeprefix("copilot/"))
    session.usage(None, request.get("completionTokens") or mapping(request.get("usage")).get("completionTokens"), name)
    message = request.get("message")
    said = extract_user_text(string(message) or string(mapping(message).get("text")))
    session.prompt(session.pieces(said, at, name), at, name)
    texts: list[str] = []
    for part in map(mapping, sequence(request.get("response"))):
        kind = string(part.get("kind"))
        if kind in _MARKDOWN:
            texts.append(_markdown(part.get("value", part.get("content"))))
            continue
        if kind == "inlineReference":
            texts.append(string(part.get("name")) or basename(string(mapping(part.get("inlineReference")).get("path"))))
            continue
        session.reply("".join(texts), at, name)
        texts.clear()
        _part(session, reading, kind, part, name, at)
    session.reply("".join(texts), at, name)
    failed = mapping(mapping(request.get("result")).get("errorDetails")) or mapping(request.get("responseErrorDetails"))
    if request.get("isCanceled") is True or mapping(request.get("modelState")).get("value") == _CANCELED:
        session.interrupt(at, f"{name} canceled")
    elif failed:
        session.note(string(failed.get("message")), at, name)


def _part(session: SessionBuilder, reading: Reading, kind: str, part: Record, name: str, at: str) -> None:
    if kind == "thinking":
        value = part.get("value")
        session.thought(string(value) or "".join(map(string, sequence(value))), at, name)
    elif kind in ("toolInvocationSerialized", "toolInvocation"):
        _call(session, part, name, at)
    elif kind == "textEditGroup":
        path = string(mapping(part.get("uri")).get("fsPath")) or string(mapping(part.get("uri")).get("path"))
        texts = [string(mapping(each).get("text")) for group in sequence(part.get("edits")) for each in sequence(group)]
        session.tool_call("edit", {"path": path, "code": "".join(texts)}, at, name)
    elif kind in ("warning", "errorMessage"):
        session.note(_markdown(part.get("content")), at, name)
    elif kind not in _DROPPED:
        reading.count(f"part {one_line(kind, 60)}", 0, part)


def _call(session: SessionBuilder, part: Record, name: str, at: str) -> None:
    call, details = string(part.get("toolCallId")), mapping(part.get("toolSpecificData"))
    tool = string(part.get("toolId")).removeprefix("copilot_") or "tool"
    if details.get("kind") == "terminal":
        line = details.get("commandLine")
        given: Any = {
            "command": string(details.get("command")) or string(line) or string(mapping(line).get("original"))
        }
        if type(code := mapping(details.get("terminalCommandState")).get("exitCode")) is int and code:
            session.tool_call("terminal", given, at, name, call_id=call)
            printed = string(mapping(details.get("terminalCommandOutput")).get("text"))
            session.tool_error(call, f"Exit code {code}\n{printed}", at, name)
            return
        tool = "terminal"
    elif details.get("kind") == "input":
        given = details.get("rawInput")
    else:
        given = _markdown(part.get("pastTenseMessage")) or _markdown(part.get("invocationMessage"))
    session.tool_call(tool, given, at, name, call_id=call)
    result = mapping(part.get("resultDetails"))
    if part.get("isConfirmed") is False or mapping(part.get("isConfirmed")).get("type") == 0:
        session.tool_note(call, "rejected by the user", at, name)
    elif result.get("isError") is True:
        texts = [string(mapping(each).get("value")) for each in sequence(result.get("output"))]
        session.tool_error(call, "\n".join(texts) or "error", at, name)


def _markdown(value: Any) -> str:
    return string(value) or string(mapping(value).get("value"))
