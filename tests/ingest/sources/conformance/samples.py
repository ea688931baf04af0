"""Small raw samples of every registered source: two files, one about a walrus, one about a penguin."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from core.home import Home
from ingest import registry
from ingest.source import Source
from tests.ingest.history import MORNING, History
from tests.ingest.sources.test_git import Repository

# One row a source: `place` is a folder that the source reads by itself ("": only if it is given), `path` one file
# below `place`. The rest is the content of a file and what its document says.
ROWS: dict[str, dict[str, Any]] = {
    row["source"]: row
    for row in map(json.loads, (Path(__file__).parent / "samples.jsonl").read_text(encoding="utf-8").splitlines())
}
ANIMALS = ("walrus", "penguin")
_DAY_S = 86_400


class Sample:
    """The two files of one source in this test's world."""

    def __init__(self, name: str, folder: Path) -> None:
        self.row = ROWS[name]
        self.source: Source = registry.source(name)
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
                    given = json.loads(self._filled(json.dumps(self.row[kind]), number))
                    write(path, given, number, grown)

    def documents(self, home: Home) -> dict[str, bytes]:
        """Return the source's documents by name."""
        folder = Path(home.path(self.source.collection))
        return {path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(folder.rglob("*.md"))}

    @property
    def is_text(self) -> bool:
        """Return True if the files are of text in which no bytes are wrong."""
        return "text" in self.row

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


def _lines(path: Path, records: list[Any], _: int, grown: bool) -> None:
    path.write_text("".join(json.dumps(record) + "\n" for record in records[: None if grown else -1]), encoding="utf-8")


def _json(path: Path, value: dict[str, Any], _: int, grown: bool) -> None:
    messages = value["messages"]
    path.write_text(json.dumps({**value, "messages": messages[: None if grown else -1]}), encoding="utf-8")


def _text(path: Path, files: list[str], number: int, grown: bool) -> None:
    whole, last = files[number].rstrip("\n"), files[number].rstrip("\n").rfind("\n\n")
    path.write_text(f"{whole if grown else whole[:last]}\n".replace("\n\n", "\n"), encoding="utf-8")


def _visits(path: Path, visits: list[tuple[str, str]], number: int, grown: bool) -> None:
    path.unlink(missing_ok=True)
    history = History(path)
    for minute, (url, title) in enumerate(visits[: None if grown else -1]):
        history.visit(url, title, at=MORNING + number * _DAY_S + minute * 60)
    history.save()
    history.connection.close()


def _commits(path: Path, messages: list[str], number: int, grown: bool) -> None:
    is_new = not path.exists()
    repository = Repository(path)
    for message in messages if is_new and grown else messages[:-1] if is_new else messages[-1:]:
        repository.commit(message, at=f"2026-04-2{number + 1}T09:00:00+00:00")


_WRITERS: dict[str, Callable[[Path, Any, int, bool], None]] = {
    "lines": _lines,
    "json": _json,
    "text": _text,
    "visits": _visits,
    "commits": _commits,
}
