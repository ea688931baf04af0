"""Small collections on disk, and an index of them."""

from __future__ import annotations

import os
import time
from pathlib import Path

import apsw

from qmd.index.store import open_index
from qmd.index.update import Changes, update


class Folder:
    """A collection as ``qmd.index.update`` wants it."""

    def __init__(self, path: Path, name: str = "notes", pattern: str = "**/*.md", ignore: tuple[str, ...] = ()) -> None:
        self.name = name
        self.path = str(path)
        self.pattern = pattern
        self.ignore = ignore
        self.include_by_default = True
        self.update = ""
        self.context: dict[str, str] = {}


def write(folder: Path, files: dict[str, str | bytes], age_s: float = 60) -> None:
    """Write files and set their mtime ``age_s`` seconds back, so that the next update may trust their stat."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        stamp = time.time_ns() - int(age_s * 1e9) - 1
        os.utime(path, ns=(stamp, stamp))


def indexed(tmp_path: Path, files: dict[str, str | bytes]) -> tuple[apsw.Connection, Folder]:
    """An index over a new collection of ``files``."""
    folder = Folder(tmp_path / "notes")
    Path(folder.path).mkdir(exist_ok=True)
    write(Path(folder.path), files)
    connection = open_index(str(tmp_path / "index.sqlite"), write=True)
    update(connection, [folder])
    return connection, folder


def run(connection: apsw.Connection, folder: Folder, trust_stat: bool = True) -> Changes:
    """One update of one collection."""
    return update(connection, [folder], trust_stat=trust_stat)[folder.name]


def counts(changes: Changes) -> tuple[int, int, int, int]:
    """(added, updated, unchanged, removed)."""
    return changes.added, changes.updated, changes.unchanged, changes.removed


def active(connection: apsw.Connection) -> list[str]:
    """The paths of the active documents."""
    return [path for (path,) in connection.execute("SELECT path FROM documents WHERE active = 1 ORDER BY path")]
