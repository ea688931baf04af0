"""Nearest chunks among many: the plain int8 scan and the search by signs, in turn in one process, and what is found."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Any

from bench.measure import DATA, median
from bench.report import Report, Row, ms

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import apsw
    import numpy as np
    from numpy.typing import NDArray

    from qmd.index.semantic.spaces import Space

    Matrix = NDArray[np.float32]

PASSAGES = 500_000
_QUICK_PASSAGES = 100_000
_QUESTIONS = 150
_QUICK_QUESTIONS = 40
_DIMENSIONS = 384
_TOPICS = 500
# Passages of a document.
_EACH = 8
# Shares of variance: of the topic, of the document in it, of the passage in that.
_SHARES = (0.3, 0.3, 0.4)
# The cosine of a question with the passage that it was made from.
_LIKENESS = 0.65
_SEED = 20260401
_BLOCK = 40_000
_TIME_BAR = 0.5
_RECALL_BAR = 0.97


def measure(report: Report, *, quick: bool) -> None:
    """Ask an index of synthetic vectors, created for each run, in both ways."""
    from qmd.index.semantic import coarse
    from qmd.vectors import knn

    passages = _QUICK_PASSAGES if quick else PASSAGES
    questions = _QUICK_QUESTIONS if quick else _QUESTIONS
    name = f"{passages:,} vectors of {_DIMENSIONS}"
    path = DATA / "vectors.sqlite"
    _remove(str(path))
    world = _World(passages)
    asked, sources = world.questions(questions)
    connection, space = _index(str(path), world)
    started = time.process_time()
    if not coarse.keep(connection, space, least=0):
        raise AssertionError("nothing bounds the time, so the table is whole")
    made = time.process_time() - started
    connection.close()

    exact = _exact(world, asked)
    connection = _reader(str(path))
    blobs = [row.tobytes() for row in _rounded(asked)]
    ways: dict[str, Callable[[bytes], list[tuple[int, float]]]] = {
        "first": lambda vector: knn.scan(connection, space, vector, 10),
        "all": lambda vector: knn.scan(connection, space, vector, knn.DEPTH_OF_MANY),
        "signs": lambda vector: coarse.nearest(connection, space, vector, knn.DEPTH_OF_MANY),
    }
    spent: dict[str, list[float]] = {way: [] for way in ways}
    wall: dict[str, list[float]] = {way: [] for way in ways}
    found: dict[str, list[list[int]]] = {way: [] for way in ways}
    for round_, blob in enumerate([blobs[0], *blobs]):
        for way, search in ways.items():
            begun, cpu = time.perf_counter(), time.process_time()
            rows = search(blob)
            took = time.perf_counter() - begun, time.process_time() - cpu
            if round_:  # the first only brings the file into the cache
                wall[way].append(took[0])
                spent[way].append(took[1])
                found[way].append([chunk for chunk, _ in rows])
    connection.close()
    _add(report, name, spent, wall)
    recall = _recall(found["signs"], found["all"], 10)
    report.add(
        Row(
            f"vectors, {name}: recall@10 of the int8 scan",
            f"{recall:.3f}",
            bar=f"≥ {_RECALL_BAR:g}",
            met=recall >= _RECALL_BAR,
        )
    )
    compared = f"the int8 scan {_recall(found['all'], exact, 10):.3f}"
    report.add(
        Row(f"vectors, {name}: recall@10 of exact (float32)", f"{_recall(found['signs'], exact, 10):.3f}", compared)
    )
    deep = _recall(found["signs"], found["all"], knn.DEPTH_OF_MANY)
    report.add(Row(f"vectors, {name}: recall@{knn.DEPTH_OF_MANY} of the int8 scan", f"{deep:.3f}"))
    hit = sum(source in first[:10] for source, first in zip(sources, found["signs"], strict=True)) / questions
    report.add(Row(f"vectors, {name}: the source among the first 10", f"{hit:.3f}"))
    report.add(Row(f"vectors, {name}: making the table of signs once, cpu", f"{made:.1f} s"))
    report.note(
        f"vectors: {questions} questions, {passages:,} passages of {_EACH} a document in {_TOPICS} topics"
        f" (seed {_SEED}), a question has a cosine of {_LIKENESS} with its source; medians, in turn, warm page cache."
    )
    _remove(str(path))


def _add(report: Report, name: str, spent: dict[str, list[float]], wall: dict[str, list[float]]) -> None:
    from qmd.vectors.knn import DEPTH_OF_MANY

    for way, depth in (("first", 10), ("all", DEPTH_OF_MANY)):
        share = median(spent["signs"]) / median(spent[way])
        report.add(
            Row(
                f"vectors, {name}: nearest {DEPTH_OF_MANY} by signs, cpu",
                ms(median(spent["signs"])),
                f"int8 scan for {depth}: {ms(median(spent[way]))}",
                share,
                f"≤ {_TIME_BAR:g}×",
                share <= _TIME_BAR,
            )
        )
    compared = f"int8 scan for 10: {ms(median(wall['first']))}"
    share = median(wall["signs"]) / median(wall["first"])
    report.add(Row(f"vectors, {name}: the same, wall", ms(median(wall["signs"])), compared, share))


class _World:
    """Passages in documents in topics: Gaussians within Gaussians, of length 1, made block by block.

    Their variance falls off along turned axes as (i + 5)⁻¹, i = 1 to 384, about as that of all-MiniLM-L6-v2's vectors.
    """

    def __init__(self, passages: int) -> None:
        import numpy as np

        self.passages = passages
        random = np.random.default_rng(_SEED)
        spread = (np.arange(1, _DIMENSIONS + 1) + 5.0) ** -0.5
        self._spread = (spread / np.sqrt((spread**2).sum())).astype(np.float32)
        turn, _ = np.linalg.qr(random.standard_normal((_DIMENSIONS, _DIMENSIONS)))
        self._turn = turn.astype(np.float32)
        topics = self._draw(random, _TOPICS)
        count = -(-passages // _EACH)
        # Topics are as unequal in size as words are in frequency.
        of = random.zipf(1.3, size=count) % _TOPICS
        shares = np.sqrt(_SHARES).astype(np.float32)
        self._documents = shares[0] * topics[of] + shares[1] * self._draw(random, count)
        self._own = shares[2]

    def blocks(self) -> Iterator[tuple[int, Matrix]]:
        """(number of the first, vectors), the same ones each time."""
        import numpy as np

        for first in range(0, self.passages, _BLOCK):
            count = min(_BLOCK, self.passages - first)
            random = np.random.default_rng([_SEED, first])
            owner = (first + np.arange(count)) // _EACH
            yield first, self._unit(self._documents[owner] + self._own * self._draw(random, count)) @ self._turn

    def questions(self, count: int) -> tuple[Matrix, list[int]]:
        """Vectors, each a passage's with noise of the same shape, and the chunks that they were made from."""
        import numpy as np

        random = np.random.default_rng([_SEED, 1])
        chosen = np.sort(random.choice(self.passages, count, replace=False))
        parts = []
        for first, block in self.blocks():
            parts.append(block[chosen[(chosen >= first) & (chosen < first + len(block))] - first])
        noise = self._unit(self._draw(random, count)) @ self._turn
        mixed = _LIKENESS * np.concatenate(parts) + np.sqrt(1 - _LIKENESS**2) * noise
        return self._unit(mixed), [_chunk(int(number)) for number in chosen]

    def _draw(self, random: np.random.Generator, count: int) -> Matrix:
        import numpy as np

        drawn: Matrix = random.standard_normal((count, _DIMENSIONS), dtype=np.float32) * self._spread
        return drawn

    @staticmethod
    def _unit(rows: Any) -> Matrix:
        import numpy as np

        result: Matrix = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
        return result


def _index(path: str, world: _World) -> tuple[apsw.Connection, Space]:
    """An index that has nothing but a space with all vectors of ``world``."""
    import apsw

    from qmd.index import schema
    from qmd.index.semantic import vectors
    from qmd.index.store import Transaction

    connection = apsw.Connection(path)
    connection.execute("PRAGMA journal_mode=WAL; PRAGMA synchronous=OFF; PRAGMA cache_size=-64000").fetchall()
    schema.ensure(connection)
    with Transaction(connection):
        space = vectors.ensure(connection, "bench", "synthetic", _DIMENSIONS, "1", "1")
    for first, block in world.blocks():
        rows = _rounded(block)
        with Transaction(connection):
            for start in range(0, len(rows), _EACH):
                cut = (first + start) // _EACH + 1
                chunks = [row.tobytes() for row in rows[start : start + _EACH]]
                connection.execute(
                    "INSERT INTO brain_cuts(id, hash, layout, chunks) VALUES(?, ?, '1', ?)",
                    (cut, str(cut), len(chunks)),
                )
                vectors.add(connection, space, cut, 0, chunks)
    return connection, space


def _reader(path: str) -> apsw.Connection:
    """As ``qmd.index.store.open_index`` opens one."""
    import apsw

    from qmd.index.semantic import spaces

    connection = apsw.Connection(path)
    connection.execute("PRAGMA query_only=1; PRAGMA cache_size=-16000").fetchall()
    spaces.load(connection)
    return connection


def _exact(world: _World, asked: Matrix) -> list[list[int]]:
    """The ten nearest of each question by the float vectors."""
    import numpy as np

    best = np.zeros((len(asked), 0), dtype=np.float32)
    numbers = np.zeros((len(asked), 0), dtype=np.int64)
    for first, block in world.blocks():
        cosines = asked @ block.T
        near = np.argpartition(-cosines, 10, axis=1)[:, :10]
        best = np.concatenate([best, np.take_along_axis(cosines, near, axis=1)], axis=1)
        numbers = np.concatenate([numbers, near + first], axis=1)
    order = np.argsort(-best, axis=1)[:, :10]
    return [[_chunk(int(number)) for number in row] for row in np.take_along_axis(numbers, order, axis=1)]


def _rounded(rows: Matrix) -> NDArray[np.int8]:
    import numpy as np

    from qmd.embedding.provider import quantise

    return np.frombuffer(b"".join(quantise(rows)), dtype=np.int8).reshape(rows.shape)


def _chunk(number: int) -> int:
    from qmd.index.schema import SPAN

    return (number // _EACH + 1) * SPAN + number % _EACH


def _recall(found: list[list[int]], wanted: list[list[int]], depth: int) -> float:
    shares = [len(set(a[:depth]) & set(b[:depth])) / depth for a, b in zip(found, wanted, strict=True)]
    return sum(shares) / len(shares)


def _remove(path: str) -> None:
    for suffix in ("", "-wal", "-shm"):
        if os.path.exists(path + suffix):
            os.unlink(path + suffix)
