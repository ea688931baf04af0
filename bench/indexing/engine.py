"""``qmd update`` and ``qmd search``, the real qmd's and ours in turn on the same files, each a whole process."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from bench import corpora
from bench.indexing import peer
from bench.indexing.index import changed
from bench.measure import DATA, Failed, Run, environment, median, relative, run
from bench.report import Report, Row, megabytes, ms
from qmd.launcher import link

_CPU_BAR = 0.4
_BARE_BAR = 1.3
_QUARTER = 0.25
_SIZE_BAR = 1.25
_PEAK_BAR = 250.0
# The real qmd on the published corpora: bytes of the index (the same on every machine) and of memory.
_SIZE = 219e6
_PEAK = 2142e6
# Both round a score to two digits.
_ROUNDED = 0.0101


class _World(NamedTuple):
    """A program with a configuration and an index of its own."""

    argv: list[str]
    folder: Path

    @property
    def environ(self) -> dict[str, str]:
        return {
            **environment(self.folder),
            "HOME": str(self.folder),
            "XDG_CONFIG_HOME": str(self.folder / "config"),
            "XDG_CACHE_HOME": str(self.folder / "cache"),
        }

    @property
    def size(self) -> int:
        return sum(path.stat().st_size for path in (self.folder / "cache" / "qmd").glob("index.sqlite*"))

    def run(self, *words: str) -> Run:
        return run([*self.argv, *words], self.environ)

    def cold(self, corpus: corpora.Corpus) -> Run:
        """``update`` from nothing."""
        shutil.rmtree(self.folder, ignore_errors=True)
        config = self.folder / "config" / "qmd" / "index.yml"
        config.parent.mkdir(parents=True)
        collection = {"path": str(corpus.folder), "pattern": "**/*.md"}
        # JSON is YAML.
        config.write_text(json.dumps({"collections": {"notes": collection}}), encoding="utf-8")
        done = self.run("update")
        _expect(done, f"Indexed: {corpus.files} new, 0 updated, 0 unchanged, 0 removed")
        return done


def measure(report: Report, *, quick: bool) -> None:
    """The real one where it can be had; what has a floor or an absolute bar is measured in any case."""
    corpus = corpora.published(corpora.LARGE)
    if corpus is None:
        report.skip("qmd on the published corpora", f"no {relative(corpora.GENERATOR)}")
        corpus = corpora.own()
    ours = _World([_launcher()], DATA / "qmd-ours")
    found = peer.find()
    real = None if isinstance(found, str) else _World(found, DATA / "qmd-real")
    if isinstance(found, str):
        report.skip("the real qmd and ours", found)
    _cold(report, corpus, ours, real, 1 if quick else 3)
    _warm(report, corpus, ours, real, 3 if quick else 9)
    if real is not None:
        _search(report, corpus, ours, real, 1 if quick else 3)
    many = None if quick else corpora.published(corpora.MANY)
    if many is not None:
        _memory(report, many, ours, real)


def _cold(report: Report, corpus: corpora.Corpus, ours: _World, real: _World | None, times: int) -> None:
    name = f"qmd update, {corpus.files:,} files"
    taken: list[float] = []
    floors: list[float] = []
    peers: list[float] = []
    for _ in range(times):
        floors.append(_bare(corpus))
        taken.append(ours.cold(corpus).cpu_s)
        if real is not None:
            peers.append(real.cold(corpus).cpu_s)
    cpu, floor = median(taken), median(floors)
    least = cpu / floor <= _BARE_BAR
    if peers:
        ratio = cpu / median(peers)
        # One of two bars suffices: a small share of the peer's time, or little above the floor.
        bar = f"≤ {_CPU_BAR:g}×, or next"
        compared = f"qmd 2.8.3 {median(peers):.1f} s"
        report.add(Row(f"{name}: cpu", f"{cpu:.1f} s", compared, ratio, bar, least or ratio <= _CPU_BAR))
    compared = f"bare FTS5 inserts {floor:.1f} s"
    bar, met = ("", None) if peers else (f"≤ {_BARE_BAR:g}×", least)
    known = f"or else ≤ {_CPU_BAR:g}× the real qmd's, which is not installed here"
    report.add(Row(f"{name}: cpu", f"{cpu:.1f} s", compared, cpu / floor, bar, met, known))
    size = float(ours.size)
    against, said = (float(real.size), "") if real is not None else (_SIZE, " †")
    if real is not None or corpus.files == corpora.LARGE[0]:
        bar, met = f"≤ {_SIZE_BAR:g}×", size / against <= _SIZE_BAR
        compared = f"qmd 2.8.3 {megabytes(against)}{said}"
        report.add(Row(f"{name}: size of the index", megabytes(size), compared, size / against, bar, met))


def _bare(corpus: corpora.Corpus) -> float:
    """Seconds of cpu of the bare inserts, documents and passages."""
    folder = DATA / "qmd-bare"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    done = run(
        [sys.executable, "-m", "bench.indexing.bare", str(corpus.folder), str(folder / "index.sqlite")],
        environment(folder),
    )
    taken: dict[str, float] = done.answer()
    shutil.rmtree(folder)
    return sum(taken.values())


def _warm(report: Report, corpus: corpora.Corpus, ours: _World, real: _World | None, times: int) -> None:
    worlds = [ours] if real is None else [ours, real]
    name = f"qmd update, {corpus.files:,} files"

    def unchanged(world: _World) -> Run:
        done = world.run("update")
        _expect(done, f"Indexed: 0 new, 0 updated, {corpus.files} unchanged, 0 removed")
        return done

    def five(world: _World) -> Run:
        with changed(corpus.folder) as paths:
            done = world.run("update")
        _expect(done, f"Indexed: 0 new, {len(paths)} updated, {corpus.files - len(paths)} unchanged, 0 removed")
        world.run("update")
        return done

    for what, measured, often in (("unchanged", unchanged, times), ("5 changed", five, max(2, times // 3))):
        _judge(report, f"{name}: {what}", _in_turn(worlds, measured, often))


def _search(report: Report, corpus: corpora.Corpus, ours: _World, real: _World, times: int) -> None:
    taken: list[list[float]] = [[], []]
    for question in corpus.questions:

        def asked(world: _World, question: str = question) -> Run:
            return world.run("search", question, "--json", "-n", "10")

        answers = [_scores(asked(world)) for world in (ours, real)]
        same = len(answers[0]) == len(answers[1])
        if not same or any(abs(a - b) > _ROUNDED for a, b in zip(*answers, strict=True)):
            raise Failed(f"search {question!r}: {answers[0]} here, {answers[1]} by the real qmd")
        for kept, values in zip(taken, _in_turn([ours, real], asked, times), strict=True):
            kept += values
    _judge(report, f"qmd search, {corpus.files:,} files, {len(corpus.questions)} questions: p50", taken)


def _scores(done: Run) -> list[float]:
    found: Any = done.answer()
    return [float(hit["score"]) for hit in found]


def _memory(report: Report, corpus: corpora.Corpus, ours: _World, real: _World | None) -> None:
    peak = ours.cold(corpus).peak
    against, said = (real.cold(corpus).peak, "") if real is not None else (_PEAK, " †")
    name = f"qmd update, {corpus.files:,} files: peak memory"
    compared = f"qmd 2.8.3 {megabytes(against)}{said}"
    report.add(Row(name, megabytes(peak), compared, peak / against, f"≤ {_PEAK_BAR:g} MB", peak / 1e6 <= _PEAK_BAR))


def _in_turn(worlds: list[_World], measured: Callable[[_World], Run], times: int) -> list[list[float]]:
    """Seconds of each world's runs, the worlds in turn; the first round does not count."""
    rounds = [[measured(world).wall_s for world in worlds] for _ in range(times + 1)][1:]
    return [list(column) for column in zip(*rounds, strict=True)]


def _judge(report: Report, name: str, taken: list[list[float]]) -> None:
    if len(taken) == 1:
        report.add(Row(name, ms(median(taken[0]))))
        return
    value, against = map(median, taken)
    ratio = value / against
    report.add(Row(name, ms(value), f"qmd 2.8.3 {ms(against)}", ratio, f"≤ {_QUARTER:g}×", ratio <= _QUARTER))


def _expect(done: Run, line: str) -> None:
    if line not in done.output.decode("utf-8", "replace"):
        raise Failed(f"expected {line!r}: {done.output.decode('utf-8', 'replace')[-500:]}")


def _launcher() -> str:
    """The command that ``brain qmd link`` makes for this checkout."""
    folder = DATA / "bin"
    folder.mkdir(parents=True, exist_ok=True)
    return link(str(folder), force=True)
