"""``brain index`` from nothing, with nothing changed, and with a little changed; each a whole process."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from bench import corpora
from bench.measure import DATA, SHARED, Failed, Run, environment, floor, median, program, relative, run
from bench.report import Report, Row, megabytes, ms

SAMPLES = SHARED / "samples" / "claude"

_SPEED_BAR = 15.0
_PEAK_BAR = 200.0
_UNCHANGED_BAR = 4.0
# The strongest rival on the same transcripts, MB/s.
_RIVAL = 11.5
# The real qmd 2.8.3, `update`, on the 6,751 files: seconds, seconds of cpu, MB of memory, MB of index, seconds with
# nothing changed, seconds with five files changed.
_PEER = (41.0, 28.4, 401.0, 219.0, 1.09, 1.30)


def measure(report: Report, *, quick: bool) -> None:
    """Transcripts, then a folder of markdown."""
    if SAMPLES.is_dir():
        _transcripts(report, 2 if quick else 5, 5 if quick else 25)
    else:
        report.skip("index of transcripts", f"no {relative(SAMPLES)}")
    corpus = corpora.published(corpora.LARGE)
    if corpus is None:
        report.skip("index of the published corpus", f"no {relative(corpora.GENERATOR)}")
        corpus = corpora.own()
    _markdown(report, corpus, 1 if quick else 3, 3 if quick else 15)


def _transcripts(report: Report, cold: int, warm: int) -> None:
    size = sum(path.stat().st_size for path in SAMPLES.rglob("*.jsonl")) / 1e6
    home = DATA / "home-transcripts"
    words = ["index", "--source", "claude", "--from", str(SAMPLES), "--json"]
    runs = [_from_nothing(home, words) for _ in range(cold)]
    speed = size / median([done.wall_s for done in runs])
    name = f"index, {size:.0f} MB of transcripts"
    bar = f"≥ {_SPEED_BAR:g} MB/s"
    report.add(Row(name, f"{speed:.1f} MB/s", f"rival {_RIVAL} MB/s †", speed / _RIVAL, bar, speed >= _SPEED_BAR))
    peak = max(done.peak for done in runs) / 1e6
    report.add(Row(f"{name}: peak memory", f"{peak:.0f} MB", bar=f"≤ {_PEAK_BAR:g} MB", met=peak <= _PEAK_BAR))
    again = [*program(), *words]
    least, taken = paired_with_floor(home, lambda: _unchanged(run([*again, "--new"], environment(home))), warm)
    ratio = taken / least
    bar = f"≤ {_UNCHANGED_BAR:g}×"
    report.add(Row(f"{name}: --new, unchanged", ms(taken), f"floor {ms(least)}", ratio, bar, ratio <= _UNCHANGED_BAR))
    least, taken = paired_with_floor(home, lambda: _unchanged(run(again, environment(home))), warm)
    report.add(Row(f"{name}: unchanged, all verified", ms(taken), f"floor {ms(least)}", taken / least))


def _markdown(report: Report, corpus: corpora.Corpus, cold: int, warm: int) -> None:
    home = DATA / "home-markdown"
    environ = environment(home)
    verifying = [*program(), "index", "--json"]
    trusting = [*verifying, "--new"]
    runs = [_from_nothing(home, ["index", "--json"], corpus) for _ in range(cold)]
    size = sum(path.stat().st_size for path in home.glob("index.sqlite*"))
    name = f"index, {corpus.files:,} markdown files"
    peer = _PEER if corpus.files == corpora.LARGE[0] else None

    def add(what: str, value: float, which: int, unit: str) -> None:
        compared = f"qmd 2.8.3 {peer[which]:g} {unit} †" if peer else ""
        said = f"{value:.2f} {unit}" if value < 10 else f"{value:.0f} {unit}"
        report.add(Row(name + what, said, compared, value / peer[which] if peer else None))

    add("", median([done.wall_s for done in runs]), 0, "s")
    add(": cpu", median([done.cpu_s for done in runs]), 1, "s")
    add(": peak memory", max(done.peak for done in runs) / 1e6, 2, "MB")
    add(": size of the index", size / 1e6, 3, "MB")
    report.add(Row(f"{name}: index vs text", megabytes(size), f"text {megabytes(corpus.size)}", size / corpus.size))
    least, taken = paired_with_floor(home, lambda: _unchanged(run(trusting, environ)), warm)
    add(": --new, unchanged", taken, 4, "s")
    report.add(Row(f"{name}: --new, unchanged", ms(taken), f"floor {ms(least)}", taken / least))
    least, taken = paired_with_floor(home, lambda: _unchanged(run(verifying, environ)), max(2, warm // 5))
    report.add(Row(f"{name}: unchanged, all verified", ms(taken), f"floor {ms(least)}", taken / least))
    add(
        ": --new, 5 changed",
        median([_five_changed(corpus.folder, lambda: run(trusting, environ)) for _ in range(max(2, warm // 3))]),
        5,
        "s",
    )


def _from_nothing(home: Path, words: list[str], corpus: corpora.Corpus | None = None) -> Run:
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir(parents=True)
    if corpus is not None:
        corpora.configure(home, corpus)
    done = run([*program(), *words], environment(home))
    report: Any = done.answer()
    added = sum(change["added"] + change["unchanged"] for change in report["collections"].values())
    expected = corpus.files if corpus is not None else report["sources"]["claude"]["documents"]
    if not added or added != expected:
        raise Failed(f"{added} documents indexed, {expected} expected")
    return done


def _unchanged(done: Run) -> Run:
    changes = done.answer()["collections"]
    touched = [name for name, change in changes.items() if change["added"] or change["updated"] or change["removed"]]
    if touched:
        raise Failed(f"nothing had changed, but {', '.join(touched)} did")
    return done


def paired_with_floor(home: Path, measured: Callable[[], Run], times: int) -> tuple[float, float]:
    """Medians in seconds of the floor and of what is measured, taken in turn; the first pair does not count."""
    pairs = [(floor(environment(home)), measured().wall_s) for _ in range(times + 1)][1:]
    return median([least for least, _ in pairs]), median([taken for _, taken in pairs])


@contextlib.contextmanager
def changed(folder: Path) -> Iterator[list[Path]]:
    """Five files of a folder with a line more than before; afterwards they are as they were."""
    every = sorted(folder.rglob("*.md"))
    chosen = every[:: max(1, len(every) // 5)][:5]
    sizes = [path.stat().st_size for path in chosen]
    try:
        for path in chosen:
            with open(path, "a", encoding="utf-8") as stream:
                stream.write("\nOne more line.\n")
        yield chosen
    finally:
        for path, size in zip(chosen, sizes, strict=True):
            os.truncate(path, size)


def _five_changed(folder: Path, measured: Callable[[], Run]) -> float:
    """Seconds of an index run after five files were changed; they are as before afterwards, and indexed so."""
    with changed(folder) as chosen:
        done = measured()
    updated = sum(change["updated"] for change in done.answer()["collections"].values())
    if updated != len(chosen):
        raise Failed(f"{len(chosen)} files had changed, {updated} were indexed again")
    measured()
    return done.wall_s
