"""Homes that are synchronised, and what each of them holds."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

from core import config
from core.home import Home
from ops.sync import sync
from runtime.asking.documents import Selection
from runtime.capture.indexing import index
from runtime.forgetting import forget
from tests.ingest.transcripts import Script, save, text


class Machine:
    """A home with sessions of its own, and the folder they come from."""

    def __init__(self, place: Path, name: str, remote: Path) -> None:
        self.home = Home(str(place / name))
        self.transcripts = place / f"{name}-transcripts"
        self.name = name
        self.remote = str(remote)
        self.home.make()

    @property
    def config(self) -> config.Config:
        return config.load(self.home)

    def session(self, number: int, words: str, turns: int = 1) -> str:
        unit = f"{number:08x}-0000-4000-8000-000000000000"
        script = Script(unit)
        records = [script.user(f"Where is the {words}?")]
        records += [
            script.assistant(text(f"The {words} lies in drawer{number}, turn {turn}.")) for turn in range(turns)
        ]
        save(self.transcripts / f"{unit}.jsonl", *records)
        index(self.home, self.config, source="claude", roots=[str(self.transcripts)])
        return unit

    def sync(self) -> dict[str, Any]:
        return sync.sync(self.home, self.config, os.environ, folder=self.remote, name=self.name)

    def forget(self, reference: str) -> forget.Outcome:
        found = forget.plan(self.home, self.config, Selection(references=[reference]), "")
        return forget.carry_out(
            self.home, found, lambda what, *_: ([], sync.forget(self.home, self.config, os.environ, what))
        )

    def documents(self) -> dict[str, bytes]:
        """Name of a document, whosever it is → its bytes."""
        return {
            path.name: path.read_bytes()
            for name in ("brain", "inbox")
            for path in Path(self.home.path(name)).rglob("*.md")
        }

    def asks(self, question: str) -> list[str]:
        from runtime.asking.ask import Asker, Request

        with Asker(self.home, self.config) as asker:
            return [hit["uri"] for hit in asker.ask(question, Request())["hits"]]

    def objects(self) -> bytes:
        """All that git holds here, unpacked."""
        return all_objects(self.home.path("sync.git"))


def all_objects(path: str) -> bytes:
    return subprocess.run(
        ["git", "--git-dir", path, "cat-file", "--batch-all-objects", "--batch", "--unordered"],
        capture_output=True, check=True,
    ).stdout  # fmt: skip


def converge(*machines: Machine) -> None:
    for _ in range(2):
        for machine in machines:
            machine.sync()
