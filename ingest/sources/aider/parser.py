"""Aider's chats: ``.aider.chat.history.md``, one file a repository, to which each session is appended.

A session begins with ``# aider chat started at <local time>``. A line of a person's begins with ``#### `` and ends with
two spaces (headings of the model's do not); a line of Aider's own begins with ``> ``; the rest is the model's. Times
have no zone: they are read as UTC. A session is named by its start and a digest of its first lines, so that a copy
or a moved repository has the same sessions.

Source: Aider-AI/aider, aider/io.py (``user_input``, ``append_chat_history``, ``tool_output``).
"""

from __future__ import annotations

import hashlib
import re
from itertools import pairwise
from os.path import dirname
from typing import TYPE_CHECKING

from core.redaction import clean as redact
from core.text import clean
from ingest.pipeline.reading import Reading, whole
from ingest.raw.records import BINARY, is_binary
from ingest.session.session import SessionBuilder
from ingest.session.user_text import NOTHING, UserText, command, prompt
from ingest.session.values import Vocabulary, instant

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ingest.raw.store import RawStore

NAME = "aider"
FOREIGN = "not a history of Aider's chats"
KNOWN = Vocabulary(__file__)

_SHELLS, _ASKS = KNOWN.texts("shells"), KNOWN.texts("asks")
_START = re.compile(r"^# aider chat started at (\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)[ \t]*$", re.MULTILINE)
_TYPED = re.compile(r"^#### (.*)[ ]{2}$", re.MULTILINE)
_VERSION = re.compile(r"^Aider v(\S{1,40})")
_MODEL = re.compile(r"^(?:Main model|Model|Models): (\S{1,100}?)(?: with|,|$)")
_TOKENS = re.compile(r"^Tokens: .{0,60}?([0-9.]{1,12})(k?) received")
_EDIT, _COMMIT = "Applied edit to ", re.compile(r"^Commit ([0-9a-f]{6,40}) (.*)")
# A block (https://aider.chat/docs/more/edit-formats.html).
_BLOCK = re.compile(r"^<{5,9} SEARCH\b.*?^>{5,9} REPLACE\b", re.DOTALL | re.MULTILINE)
_FAILED = ("The LLM did not conform", "Error", "Unable to", "litellm.", "Malformed", "Can't", "Failed")
# The characters of a session that its name is made of.
_NAMED_BY = 400


def read(path: str, raw: RawStore) -> Reading:
    """Read one history. Faults are recorded in the result."""
    return whole(path, raw, _history, FOREIGN, as_bytes=True)


def pieces(data: bytes) -> Iterator[tuple[str, bytes]]:
    """Return (unit, bytes) of each session in a history."""
    text = data.decode("utf-8", "surrogateescape")
    bounds = [found.start() for found in _START.finditer(text)] + [len(text)]
    if before := text[: bounds[0]]:
        yield "", before.encode("utf-8", "surrogateescape")
    for start, end in pairwise(bounds):
        yield _unit(clean(text[start:end])), text[start:end].encode("utf-8", "surrogateescape")


def extract_user_text(text: str) -> UserText:
    """Return a person's words, or the command that they typed."""
    text = clean(text).strip()
    if text in ("", "<blank>"):
        return NOTHING
    if shell := next((mark for mark in _SHELLS if text.startswith(mark)), ""):
        run = text if shell == "/git " else text[len(shell) :]
        return command(f"! {run.lstrip('/').strip()}".rstrip())
    if ask := next((mark for mark in _ASKS if text.startswith(mark)), ""):
        return prompt(text[len(ask) :].strip())
    return command(text) if text.startswith("/") and "\n" not in text else prompt(text)


def _history(data: bytes, reading: Reading) -> bytes:
    if is_binary(data):
        from core.document import Failure

        reading.failed = Failure(reading.path, BINARY)
        return b""
    found = data.decode("utf-8", "replace")
    text = redact(found, reading.redacted)
    for unit, piece in pieces(text.encode()):
        if unit:
            session = SessionBuilder(unit, NAME)
            session.cwd = dirname(reading.path)
            _session(session, clean(piece.decode()))
            known = reading.parts.get(unit)
            reading.parts[unit] = session if known is None else known.with_older(session)
    return data if text == found else text.encode()


def _unit(text: str) -> str:
    found = _START.match(text)
    stamp = re.sub(r"\D", "", found[1]) if found else ""
    # What Aider prints first may be written after the start: a person's first line is the session's.
    first = _TYPED.search(text)
    named = first[0][:_NAMED_BY] if first else ""
    return f"{stamp[:8]}-{stamp[8:]}-{hashlib.sha256(f'{stamp}{named}'.encode()).hexdigest()[:8]}"


def _session(session: SessionBuilder, text: str) -> None:
    """Add the lines of one session."""
    head, _, rest = text.partition("\n")
    found = _START.match(head)
    at = instant(found[1]) if found else ""
    session.extend_to(at)
    replies = ""
    for number, (kind, words) in enumerate(_turns(rest)):
        name = f"l{number}"
        session.uuids.add(name)
        if kind == "####":
            said = extract_user_text(words)
            replies = ""
            session.prompt(session.pieces(said, at, name), at, name)
        elif kind == ">":
            for line in words.split("\n"):
                _printed(session, line, at, name, replies)
        else:
            replies += f"{words}\n"
            session.reply(words, at, name)
    session.records = len(session.uuids)


def _turns(text: str) -> Iterator[tuple[str, str]]:
    """Yield (mark, text) of each run of lines with the same mark."""
    mark, held = "", [""]
    for line in text.split("\n"):
        typed = _TYPED.fullmatch(line)
        kind = "####" if typed else ">" if line.startswith("> ") else ""
        if kind != mark and not (kind == "" and not line.strip()):
            if "\n".join(held).strip():
                yield mark, "\n".join(held).strip("\n")
            mark, held = kind, []
        elif not line.strip() and mark:
            # A blank line ends what a person typed, or Aider printed.
            yield mark, "\n".join(held)
            mark, held = "", []
        held.append(typed[1] if typed else line[2:].rstrip() if kind else line)
    if "\n".join(held).strip():
        yield mark, "\n".join(held).strip("\n")


def _printed(session: SessionBuilder, line: str, at: str, name: str, replies: str) -> None:
    """Add what one line of Aider's own says; ``replies`` are the model's since a person's last words."""
    if found := _VERSION.match(line):
        session.version = found[1]
    elif found := _MODEL.match(line):
        session.usage(found[1])
    elif found := _TOKENS.match(line):
        count = float(found[1]) if found[1].count(".") < 2 and found[1].strip(".") else 0.0
        session.usage(None, int(count * (1000 if found[2] else 1)), name)
    elif line.startswith(_EDIT):
        path = line.removeprefix(_EDIT).strip()
        session.tool_call("edit", {"path": path, "diff": _blocks(replies, path)}, at, name)
    elif found := _COMMIT.match(line):
        session.note(f"commit {found[1]}: {found[2]}", at, name)
    elif line.startswith(_FAILED):
        session.note(line, at, name)


def _blocks(replies: str, path: str) -> str:
    """Return the blocks of replies that edit a file: its path is above the fence of the first of them."""
    found: list[str] = []
    is_its = False
    end = 0
    for block in _BLOCK.finditer(replies):
        said = [line.strip() for line in replies[end : block.start()].split("\n")]
        end = block.end()
        named = [line.strip("*`# :") for line in said if line and not line.startswith("```")]
        # A block that names no file goes on with the file of the block before.
        is_its = named[-1] == path if named else is_its
        if is_its:
            found.append(block[0])
    return "\n".join(found)
