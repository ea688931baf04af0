"""The behavioural ledger: one JSON row an event in ``logs/usage.jsonl``.

Rows are appended under ``flock(LOCK_EX)``, so that concurrent commands never interleave bytes. The question's text is
never written here. A failure to write is returned, not raised: telemetry must not fail the command it observes.
Past ``ROTATE_BYTES`` the ledger is renamed to ``usage-<UTC time>-<process>.jsonl`` and kept; readers read both.
"""

from __future__ import annotations

import fcntl
import os
import time

from core import clock, jsonio
from core.errors import BrainError
from core.home import PRIVATE_FILE, Home, make_private

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, BinaryIO

ROTATE_BYTES = 8 << 20
_BLOCK = 1 << 16


def record(home: Home, event: str, surface: str, **fields: object) -> Exception | None:
    """Append one row; ``fields`` come after ``schema``, ``ts``, ``surface`` and ``event``."""
    if not os.path.isdir(home.root):
        return None  # a command that only looks does not make a home
    row: dict[str, object] = {"schema": 1, "ts": clock.iso(clock.now()), "surface": surface, "event": event}
    row.update(fields)
    return append(home.usage, row, ROTATE_BYTES)


def append(path: str, row: dict[str, object], rotate_bytes: int = 0) -> Exception | None:
    """Append one row to a ledger of JSON lines; what went wrong is returned, as telemetry must not fail a command.

    A ledger that has ``rotate_bytes`` by then (0: never) makes room for a new one.
    """
    try:
        line = (jsonio.dumps(row) + "\n").encode()
        make_private(os.path.dirname(path))
        descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, PRIVATE_FILE)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            # A row torn by a crash must not swallow this one: begin on a line of our own.
            size = os.fstat(descriptor).st_size
            if size and os.pread(descriptor, 1, size - 1) != b"\n":
                line = b"\n" + line
            os.write(descriptor, line)
            if 0 < rotate_bytes <= size + len(line):
                _rotate(path, descriptor)
        finally:
            os.close(descriptor)
    except (OSError, BrainError, ValueError, TypeError) as error:
        return error
    return None


def _rotate(path: str, descriptor: int) -> None:
    """Rename the ledger, which this process holds locked.

    Whoever waits for the lock meanwhile has the renamed file open, and appends to that one: no row is lost. It must not
    rename the ledger that has come in its place, so the name and the open file are compared.
    """
    try:
        named, held = os.stat(path), os.fstat(descriptor)
    except FileNotFoundError:
        return  # renamed by another process, and nobody has begun a new one yet
    if (named.st_dev, named.st_ino) == (held.st_dev, held.st_ino):
        instant = time.time_ns()  # names sort by time, also those of one second
        stamp = clock.iso(instant // 1_000_000_000).rstrip("Z").replace("-", "").replace(":", "")
        os.rename(path, f"{path.removesuffix('.jsonl')}-{stamp}.{instant % 1_000_000_000:09}Z-{os.getpid()}.jsonl")


def ledgers(home: Home) -> list[str]:
    """The ledger and what was rotated out of it, the oldest first; a file may be gone, or not yet there."""
    folder, _, name = home.usage.rpartition("/")
    prefix = name.removesuffix(".jsonl") + "-"
    try:
        names = os.listdir(folder)
    except OSError:
        names = []
    rotated = sorted(each for each in names if each.startswith(prefix) and each.endswith(".jsonl"))
    return [*(f"{folder}/{each}" for each in rotated), home.usage]


def row_of(line: bytes) -> dict[str, Any] | None:
    """The row that a line of a ledger holds; None of one that a crash has torn, or that is of another kind."""
    try:
        row = jsonio.loads(line.decode())
    except ValueError:
        return None
    if not isinstance(row, dict):
        return None
    return row if all(isinstance(row.get(name), str) for name in ("ts", "event")) else None


def newest_first(home: Home) -> Iterator[dict[str, Any]]:
    """Yield the whole rows of every ledger, newest first; torn rows are left out.

    Raises:
        OSError: a ledger exists and cannot be read.
    """
    for path in reversed(ledgers(home)):
        try:
            with open(path, "rb") as stream:
                for line in _lines_backwards(stream):
                    if (row := row_of(line)) is not None:
                        yield row
        except FileNotFoundError:
            continue


def tail(home: Home, count: int) -> list[dict[str, Any]]:
    """Return the last ``count`` whole rows, oldest first.

    Raises:
        OSError: a ledger exists and cannot be read.
    """
    from itertools import islice

    return list(islice(newest_first(home), count))[::-1]


def last(home: Home, event: str) -> dict[str, Any] | None:
    """Return the newest row of ``event``, None if there is none."""
    return next((row for row in newest_first(home) if row["event"] == event), None)


def _lines_backwards(stream: BinaryIO) -> Iterator[bytes]:
    """Yield the lines of a file from the last to the first, without the end of line."""
    position = stream.seek(0, os.SEEK_END)
    pieces: list[bytes] = []  # of the line that is being read, last piece first
    while position > 0:
        length = min(_BLOCK, position)
        position -= length
        stream.seek(position)
        first, *lines = stream.read(length).split(b"\n")
        if lines:
            pieces.append(lines.pop())
            yield b"".join(reversed(pieces))
            yield from reversed(lines)
            pieces = []
        pieces.append(first)
    yield b"".join(reversed(pieces))
