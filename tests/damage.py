"""Damage to an index: bytes of a page of one of its B-trees, which ``dbstat`` finds, or bytes anywhere."""

from __future__ import annotations

import random
from pathlib import Path

import apsw


def checkpointed(path: str) -> None:
    """Write the log back, so that the file is all there is of the index."""
    connection = apsw.Connection(path)
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    connection.close()


def pages(path: str) -> dict[str, list[int]]:
    """B-tree → its pages' offsets in the file."""
    connection = apsw.Connection(path)
    found: dict[str, list[int]] = {}
    for name, offset in connection.execute("SELECT name, pgoffset FROM dbstat ORDER BY pageno"):
        found.setdefault(str(name), []).append(int(str(offset)))
    connection.close()
    return found


def flip(path: str, tree: str, *, seed: int = 1, count: int = 1) -> None:
    """XOR ``count`` bytes of the cells of a B-tree's last page."""
    connection = apsw.Connection(path)
    size = int(str(connection.pragma("page_size")))
    connection.close()
    offset = pages(path)[tree][-1]
    data = bytearray(Path(path).read_bytes())
    # Cells fill a page from its end; the rest of a page may be empty. The header is at byte 100 of the first page.
    header = offset or 100
    is_node = data[header] in (2, 5, 10, 13)
    start = int.from_bytes(data[header + 5 : header + 7], "big") if is_node else size // 2
    draw = random.Random(seed)
    for position in draw.sample(range(offset + start, offset + size), count):
        data[position] ^= 0x55
    Path(path).write_bytes(data)


def scatter(path: str, seed: int, count: int) -> None:
    """XOR ``count`` bytes anywhere but in the file's header."""
    data = bytearray(Path(path).read_bytes())
    draw = random.Random(seed)
    for position in draw.sample(range(100, len(data)), count):
        data[position] ^= draw.randrange(1, 256)
    Path(path).write_bytes(data)
