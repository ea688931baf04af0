"""A small index of real documents, written through the same door as the product's own."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import apsw

from core import clock
from core.config import Config, load
from core.document import render
from core.home import Home
from qmd.index.store import mark_complete, open_index
from qmd.index.writer import put
from runtime.asking.ask import Asker, Request


class Shelf:
    """Documents in the collections of a home: ``shelf.put("brain", "a.md", body, date=…, session_id=…)``."""

    def __init__(self, home: Home) -> None:
        self.home = home
        self.config: Config = load(home)
        open_index(home.index, write=True).close()

    def put(
        self, collection: str, path: str, body: str = "text", *, date: int = 0, ended: int = 0, **meta: object
    ) -> Path:
        """Write and index one document; ``date`` and ``ended`` are epoch seconds, 0 leaves them out."""
        times = {"date": clock.iso(date) if date else None, "ended": clock.iso(ended) if ended else None}
        title = str(meta.get("title") or path.rpartition("/")[2].removesuffix(".md"))
        data = render({**meta, **times}, f"# {title}\n\n{body}")
        file = Path(self.config.collections[collection].path, path)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)
        connection = open_index(self.home.index, write=True)
        try:
            put(connection, collection, path, data, os.stat(file))
            mark_complete(connection, self.config)
        finally:
            connection.close()
        return file

    def ask(self, question: str, **given: object) -> dict[str, Any]:
        """Return the envelope of one question."""
        with Asker(self.home, self.config) as asker:
            return asker.ask(question, Request(**given))

    def sql(self, statement: str, *bindings: str | int) -> list[tuple[object, ...]]:
        """Run one statement as another program with the same database could."""
        connection = apsw.Connection(self.home.index)
        try:
            return list(connection.execute(statement, bindings))
        finally:
            connection.close()
