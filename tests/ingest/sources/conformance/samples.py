"""Small raw samples of a source: two files, one about a walrus, one about a penguin.

docs/adding-a-source.md lists the fields of a row.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw
import pytest

from core.home import Home
from ingest import registry
from ingest.source import Source
from tests.ingest.history import MORNING, History
from tests.ingest.sources.test_git import Repository

Row = dict[str, Any]
ANIMALS = ("walrus", "penguin")
_DAY_S = 86_400


def rows(*paths: str | Path) -> dict[str, Row]:
    """Return the rows in files of JSON by source; a row takes one line or several. Raises UsageError."""
    found: dict[str, Row] = {}
    for path in paths:
        try:
            text = Path(path).read_text(encoding="utf-8").lstrip()
            while text:
                row, end = json.JSONDecoder().raw_decode(text)
                text = text[end:].lstrip()
                found[row["source"]] = _checked(row)
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise pytest.UsageError(f"{path}: {type(error).__name__}: {error}") from error
    return found


def _checked(row: Row) -> Row:
    """Return a row that has all its fields. Raises ValueError."""
    kinds = [kind for kind in _WRITERS if kind in row]
    needed = ["place", "path", "resume", *(["grows"] if row.keys() & {"json", "tables"} else [])]
    missing = [name for name in needed if name not in row]
    if missing or len(kinds) != 1:
        wanted = f"{', '.join(missing)}" if missing else f"one of {', '.join(_WRITERS)}"
        raise ValueError(f"the row of {row['source']!r} needs {wanted} (docs/adding-a-source.md)")
    return row


class Sample:
    """The two files of one source in this test's world."""

    def __init__(self, row: Row, folder: Path) -> None:
        self.row = row
        self.source: Source = registry.source(row["source"])
        place = os.path.expanduser(os.path.expandvars(self.row["place"]))
        self.root = Path(place) if place else folder / "given"
        self.root.mkdir(parents=True, exist_ok=True)
        self.paths = [self.root / self._filled(self.row["path"], number) for number in (0, 1)]
        self.resume = [self.row["resume"] and self._filled(self.row["resume"], number) for number in (0, 1)]
        self.exclude = self.row.get("exclude") or f"exclude: {{paths: ['{self.paths[0]}']}}"

    def write(self, *numbers: int, grown: bool = False) -> None:
        """Write the files with these numbers, both if there are none; ``grown`` adds their last record."""
        for number in numbers or (0, 1):
            path = self.paths[number]
            path.parent.mkdir(parents=True, exist_ok=True)
            for kind, write in _WRITERS.items():
                if kind in self.row:
                    given = json.loads(self._filled(json.dumps(self.row), number))
                    write(path, given, number, grown)

    def write_together(self, *, grown: bool = False) -> None:
        """Write both sessions into the first file, a database; ``grown`` adds the first one's last row."""
        path = self.paths[0]
        path.parent.mkdir(parents=True, exist_ok=True)
        rows = [json.loads(self._filled(json.dumps(self.row), number)) for number in (0, 1)]
        for name, table in rows[0]["tables"].items():
            if name == self.row["grows"] and not grown:
                del table["rows"][-1]
            # Numbers that identify a row are the database's own.
            table["rows"] += [
                [cells[0] + 1000 if isinstance(cells[0], int) else cells[0], *cells[1:]]
                for cells in rows[1]["tables"][name]["rows"]
            ]
        _tables(path, rows[0], 0, grown=True)

    def documents(self, home: Home) -> dict[str, bytes]:
        """Return the source's documents by name."""
        folder = Path(home.path(self.source.collection))
        return {path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(folder.rglob("*.md"))}

    @property
    def is_text(self) -> bool:
        """Return True if the files are of text in which no bytes are wrong."""
        return "text" in self.row or "framed" in self.row

    @property
    def is_archived(self) -> bool:
        """Return True if documents can be made without the files; repositories keep their own history."""
        return bool(self.row["place"])

    @staticmethod
    def _filled(text: str, number: int) -> str:
        session = f"5f0c2a1e-0000-4000-8000-00000000000{'ab'[number]}"
        for name, value in (
            ("@id@", session),
            ("@n@", str(number + 1)),
            ("@animal@", ANIMALS[number]),
            ("@shell@", ("bash", "zsh")[number]),
        ):
            text = text.replace(name, value)
        return text


def _lines(path: Path, row: Row, _: int, grown: bool) -> None:
    records = row["lines"]
    path.write_text("".join(json.dumps(record) + "\n" for record in records[: None if grown else -1]), encoding="utf-8")


def _json(path: Path, row: Row, _: int, grown: bool) -> None:
    value, key = row["json"], row["grows"]
    listed = (value[key] if key else value)[: None if grown else -1]
    path.write_text(json.dumps({**value, key: listed} if key else listed), encoding="utf-8")


def _framed(path: Path, row: Row, _: int, grown: bool) -> None:
    head, *elements, tail = row["framed"]
    path.write_text("\n".join([head, *elements[: None if grown else -1], tail]) + "\n", encoding="utf-8")


def _text(path: Path, row: Row, number: int, grown: bool) -> None:
    whole = row["text"][number].rstrip("\n")
    last = whole.rfind("\n\n")
    path.write_text(f"{whole if grown else whole[:last]}\n".replace("\n\n", "\n"), encoding="utf-8")


def _tables(path: Path, row: Row, _: int, grown: bool) -> None:
    path.unlink(missing_ok=True)
    connection = apsw.Connection(str(path))
    with connection:
        for name, table in row["tables"].items():
            connection.execute(f"create table {name} ({table['columns']})")
            rows = table["rows"][: None if grown or name != row["grows"] else -1]
            for cells in rows:
                values = [json.dumps(cell) if isinstance(cell, dict | list) else cell for cell in cells]
                connection.execute(f"insert or replace into {name} values ({', '.join('?' * len(values))})", values)
    connection.close()


def _visits(path: Path, row: Row, number: int, grown: bool) -> None:
    path.unlink(missing_ok=True)
    history = History(path)
    for minute, (url, title) in enumerate(row["visits"][: None if grown else -1]):
        history.visit(url, title, at=MORNING + number * _DAY_S + minute * 60)
    history.save()
    history.connection.close()


def _commits(path: Path, row: Row, number: int, grown: bool) -> None:
    messages, is_new = row["commits"], not path.exists()
    repository = Repository(path)
    for message in messages if is_new and grown else messages[:-1] if is_new else messages[-1:]:
        repository.commit(message, at=f"2026-04-2{number + 1}T09:00:00+00:00")


# The content of the files: the field of a row that has it, and the function that writes one file.
_WRITERS: dict[str, Callable[[Path, Row, int, bool], None]] = {
    "lines": _lines,
    "json": _json,
    "text": _text,
    "framed": _framed,
    "tables": _tables,
    "visits": _visits,
    "commits": _commits,
}
