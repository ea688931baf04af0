"""The database of Cursor's agent: messages by the hash of their content, in the order that a root names.

A blob is a message in JSON, or a protobuf that names other blobs (32 bytes each): the root names the conversation's
messages in field 1, and in field 13 windows, which name those that a summary has replaced. Of a protobuf nothing else
is read but the root's field 9, the workspace. Beside the database ``meta.json`` tells the title, the folder and when.
"""

from __future__ import annotations

import contextlib
import json
from os.path import dirname, join
from typing import TYPE_CHECKING, Any

from core.text import one_line
from ingest.archive.rows import Names
from ingest.pipeline.reading import BROKEN, Reading
from ingest.session.builder import SessionBuilder
from ingest.session.values import mapping, moment, string
from ingest.sources.cursor.composer import NAME, path_of
from ingest.sources.cursor.copies import AGENT
from ingest.sources.cursor.text import cell, message, workspace_name

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

    import apsw

    from ingest.archive.rows import Row

_ID = 32  # bytes of a blob's name
_MESSAGES, _WORKSPACE, _WINDOWS = 1, 9, 13
_MARKS = {_MESSAGES: bytes((_MESSAGES << 3 | 2, _ID)), _WINDOWS: bytes((_WINDOWS << 3 | 2, _ID))}
_SIZES = {1: 8, 5: 4}  # bytes of a protobuf's numbers of a fixed size
_META = "select key, value from meta order by key"
_BLOBS = "select id, data from blobs order by rowid"


def read(connection: apsw.Connection, reading: Reading) -> None:
    """Put the conversation of the database into the reading."""
    blobs = {str(name): data for name, data in connection.execute(_BLOBS)}
    about = _about(connection, reading, [])  # kept with the rows, where these are
    root = _raw(blobs.get(string(about.get("latestRootBlobId"))))
    session = SessionBuilder(_unit(about, reading.path), NAME)
    session.rank = AGENT
    title = string(about.get("name"))
    session.title = string(about.get("title")) if title in ("", "New Agent") else title
    for key in ("createdAt", "createdAtMs", "updatedAtMs"):
        session.extend_to(moment(about.get(key)))
    session.cwd = string(about.get("workspacePath")) or _workspace(root) or string(about.get("cwd"))
    session.extra["surface"] = "agent"
    model = string(about.get("lastUsedModel"))
    if model and model != "default":
        session.models.add(model)
    for name in _order(root, blobs) or list(blobs):
        raw = _raw(blobs[name])
        if not raw.startswith(b"{"):
            continue
        value = cell(raw, reading, f"blob {name}")
        if type(value) is dict and type(value.get("role")) is str:
            session.records += 1
            try:
                message(session, reading, value, 0, name, value.get("content"))
            except BROKEN as error:
                reading.broken(error)
    if session.uuids:
        reading.parts[session.unit] = session


def rows(before: Reading, connection: apsw.Connection) -> Iterator[tuple[str, list[Row]]]:
    """The unit, and what of its rows the archive keeps: of a protobuf what it names, and of the root the workspace."""
    about = _about(connection, Reading(before.path, before.raw))
    blobs = {str(name): data for name, data in connection.execute(_BLOBS)}
    held: list[Row] = [("meta", (key, _legible(_unhexed(value), ()))) for key, value in connection.execute(_META)]
    folder = _workspace(_raw(blobs.get(string(about.get("latestRootBlobId")))))
    if folder:
        held.append(("meta", ("workspace", json.dumps({"workspacePath": folder}))))
    held += [("blobs", (name, _legible(data, blobs))) for name, data in blobs.items()]
    yield _unit(about, before.path), held


def _about(
    connection: apsw.Connection, reading: Reading, later: list[Callable[[], None]] | None = None
) -> dict[str, Any]:
    about: dict[str, Any] = {}
    with contextlib.suppress(OSError):
        beside = reading.raw.load(join(dirname(reading.path), "meta.json"), 1 << 20, later=later)
        about.update(mapping(cell(beside, reading, "meta.json")))
    for _, value in connection.execute(_META):
        about.update(mapping(cell(_unhexed(value), reading, "meta")))
    return about


def _unit(about: dict[str, Any], path: str) -> str:
    return one_line(string(about.get("agentId")) or workspace_name(path), 4000)


def _order(root: bytes, blobs: dict[str, Any]) -> list[str]:
    """The messages that a root names, the replaced ones first; ``[]`` where it names none."""
    replaced: dict[str, None] = {}
    for window in _named(root, _WINDOWS, blobs):
        replaced.update(dict.fromkeys(_named(_raw(blobs[window]), _MESSAGES, blobs)))
    return [*replaced, *(name for name in _named(root, _MESSAGES, blobs) if name not in replaced)]


def _named(data: bytes, field: int, blobs: Collection[str]) -> list[str]:
    return [inner.hex() for number, inner in _fields(data) if number == field and inner.hex() in blobs]


def _workspace(root: bytes) -> str:
    found = (inner.decode("utf-8", "replace") for number, inner in _fields(root) if number == _WORKSPACE)
    return path_of(next(found, ""))


def _fields(data: bytes) -> Iterator[tuple[int, bytes]]:
    """The fields of a protobuf that are bytes, up to where it is none."""
    position = 0
    while position < len(data):
        key, position = _number(data, position)
        kind = key & 7
        if kind == 2:
            size, position = _number(data, position)
            if position + size > len(data):
                return
            yield key >> 3, data[position : position + size]
            position += size
        elif kind == 0:
            _, position = _number(data, position)
        elif kind in _SIZES:
            position += _SIZES[kind]
        else:
            return


def _number(data: bytes, position: int) -> tuple[int, int]:
    """A protobuf's number and where it ends; one that is cut off ends behind the data."""
    value = 0
    for shift in range(0, 70, 7):
        if position >= len(data):
            break
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position
    return value, len(data) + 1


def _raw(data: Any) -> bytes:
    found = data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data
    return found if type(found) is bytes else b""


def _unhexed(value: Any) -> Any:
    if type(value) is str and not value.startswith("{"):
        try:
            return bytes.fromhex(value)
        except ValueError:
            return value
    return value


def _legible(data: Any, blobs: Collection[str]) -> Any:
    """A blob that is a message as it is, of any other which of ``blobs`` it names."""
    raw = _raw(data)
    if not raw or raw.startswith(b"{"):
        return data
    kept = [(number, inner) for number, inner in _fields(raw) if number in _MARKS and inner.hex() in blobs]
    return Names(b"".join(_MARKS[number] + inner for number, inner in kept)) if kept else None
