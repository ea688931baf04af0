"""Whatever is killed, and whenever: no document is lost, no file is torn, and the next run heals it."""

from __future__ import annotations

import json
import os
import random
import signal
import time
from pathlib import Path
from typing import Any

import apsw
import pytest

from core import config
from core.document import split
from core.home import Home
from ops.backup import backup, packing
from runtime.asking.ask import Asker, Request
from runtime.capture.indexing import index
from tests.conftest import Brain
from tests.prior import put_prior
from tests.test_concurrency import Spawn, check_integrity, contents, session, spawn, transcript, transcripts

__all__ = ["spawn"]

_SESSIONS = 6
_NOTES = 3
# Heavier than the others by seconds: the model is loaded each time.
_SELDOM = 4


class World:
    """A home in which things change, and what must be true of it at any moment.

    ``versions``: every content that a document may have, by its path below the home; ``notes``: what a person wrote.
    """

    def __init__(self, home: Home, folder: Path, brain: Brain, seed: int) -> None:
        self.home = home
        self.folder = folder
        self.brain = brain
        self.draw = random.Random(seed)
        self.turns = dict.fromkeys(range(_SESSIONS), 4)
        self.beside = Home(str(folder.parent / "undisturbed"))
        self.versions: dict[str, set[bytes]] = {}
        self.notes: dict[str, bytes] = {}
        transcripts(folder, range(_SESSIONS), turns=4)
        for number in range(_NOTES):
            done = brain("inbox", f"note zebra{number} is kept", "--json")
            assert done.returncode == 0, done.stdout + done.stderr
            path = Path(json.loads(done.stdout)["path"])
            self.notes[str(path)] = path.read_bytes()
        for home_ in (self.beside, home):
            self.index(home_)
        put_prior(home)
        self.learn()

    def must(self, *words: str, home: Home | None = None) -> dict[str, Any]:
        """Run to the end; it succeeds."""
        done = self.brain(*words, "--json", env={"BRAIN_HOME": (home or self.home).root}, timeout=300)
        assert done.returncode == 0, done.stdout + done.stderr
        envelope: dict[str, Any] = json.loads(done.stdout)
        return envelope

    def index(self, home: Home) -> None:
        """Bring a home up to date, in this process: starting another is most of what it takes."""
        index(home, config.load(home), source="claude", roots=[str(self.folder)])

    def documents(self, home: Home) -> dict[str, bytes]:
        return {
            f"{name}/{path.name}": path.read_bytes()
            for name in ("brain", "distilled")
            for path in Path(home.path(name)).glob("*.md")
        }

    def learn(self) -> None:
        """What an undisturbed home holds now is what the documents may say."""
        self.index(self.beside)
        for name, data in self.documents(self.beside).items():
            self.versions.setdefault(name, set()).add(data)

    def change(self) -> None:
        """A session goes on; a note is written anew by an editor."""
        for number in self.draw.sample(range(_SESSIONS), 1):
            self.turns[number] += 1
            transcript(self.folder, number, turns=self.turns[number])
        path = self.draw.choice(sorted(self.notes))
        self.notes[path] += f"and again {self.draw.random()}\n".encode()
        Path(path).write_bytes(self.notes[path])

    def check(self) -> None:
        """What holds at any moment, in the middle of anything."""
        documents = self.documents(self.home)
        for number in range(_SESSIONS):
            assert f"brain/{session(number)}.md" in documents, "a document is lost"
        for name, data in documents.items():
            assert split(data.decode())[0].get("source"), f"{name} is torn"
            if name.startswith("brain/"):
                assert data in self.versions[name], f"{name} is neither what it was nor what it is to be"
        for note, data in self.notes.items():
            assert Path(note).read_bytes() == data, "a note is not what its author wrote"
        for path in Path(self.home.state).rglob("*.json"):
            json.loads(path.read_bytes())
        for path in [*Path(self.home.state).rglob("*.jsonl"), *Path(self.home.logs).rglob("*.jsonl")]:
            lines = path.read_bytes().split(b"\n")
            assert all(isinstance(json.loads(line), dict) for line in lines if line), f"{path} is torn"
        for path in Path(self.home.root).rglob("*.sqlite"):
            connection = apsw.Connection(str(path))
            try:
                assert connection.execute("PRAGMA quick_check").get == "ok", f"{path} is damaged"
            finally:
                connection.close()
        for file in backup.listed(self.home.path("backups")):
            assert packing.read_manifest(file)["files"]
        with Asker(self.home, config.load(self.home)) as asker:
            hits = asker.ask(f"topic{self.draw.randrange(_SESSIONS)} harvest", Request(mode="lex"))["hits"]
        assert hits
        assert all(Path(hit["path"]).is_file() for hit in hits)


def _commands(folder: Path) -> list[tuple[str, ...]]:
    return [
        ("index", "--from", str(folder), "--queue"),
        ("qmd", "--brain", "update"),
        ("distill",),
        ("backup", "--no-verify"),
        ("rebuild",),
        ("embed",),
    ]


def _kill(world: World, spawn: Spawn, kills: int) -> None:
    commands = _commands(world.folder)
    usual: dict[str, float] = {}
    for words in commands:
        started = time.monotonic()
        done = world.brain(*words, timeout=300)
        assert done.returncode == 0, done.stdout + done.stderr
        usual[words[0]] = time.monotonic() - started
    died: dict[str, int] = dict.fromkeys(usual, 0)
    for attempt in range(kills):
        # Every command in turn; the one that loads a model seldom in a long run.
        words = commands[attempt % len(commands)]
        if words[0] == "embed" and attempt % (_SELDOM * len(commands)) != len(commands) - 1:
            words = commands[0]
        world.change()
        world.learn()
        if words[0] != "index":
            world.index(world.home)
        process = spawn(*words)
        time.sleep(world.draw.uniform(0.05, 0.95) * usual[words[0]])
        died[words[0]] += process.poll() is None
        process.send_signal(signal.SIGKILL)
        process.communicate()
        world.check()
    assert sum(died.values()) > kills // 3, f"too many were over before they could be killed: {died}"

    for path in Path(world.home.root).rglob(".*.tmp"):
        os.utime(path, (0, 0))
    for words in commands:
        done = world.brain(*words, timeout=300)
        assert done.returncode == 0, done.stdout + done.stderr
    world.must("distill", home=world.beside)
    world.check()
    assert world.documents(world.home) == world.documents(world.beside)
    assert world.must("embed")["pending"] == 0
    check_integrity(world.home)
    held, expected = contents(world.home), contents(world.beside)
    ours = [row for row in held["documents"] if row[0] != "inbox"]
    assert ours == [row for row in expected["documents"] if row[0] != "inbox"]
    assert not list(Path(world.home.root).rglob(".*.tmp"))
    assert not os.path.exists(os.path.join(world.home.state, "work"))


@pytest.mark.long
def test_two_hundred_kills_lose_nothing(home: Home, tmp_path: Path, brain: Brain, spawn: Spawn) -> None:
    _kill(World(home, tmp_path / "transcripts", brain, seed=8), spawn, 200)
