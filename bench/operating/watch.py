"""The process that watches, over a large brain: what it holds and takes while nothing happens, and a burst of files."""

from __future__ import annotations

import shutil
import time
from pathlib import Path
from typing import Any

import psutil

from bench import corpora
from bench.measure import DATA, Failed, environment, program, run
from bench.report import Report, Row, megabytes

_MEMORY_BAR = 80_000_000
_CPU_BAR = 0.01
_BURST = 10_000
_PATIENCE_S = 180.0


def measure(report: Report, *, quick: bool) -> None:
    """Start it, let it settle, and look; then write 10,000 files at once into one of its folders."""
    corpus = corpora.published(corpora.LARGE) or corpora.own()
    home = DATA / f"home-watch-{corpus.name}"
    shutil.rmtree(home, ignore_errors=True)
    shutil.copytree(corpora.brain(corpus), home)
    burst = home / "burst"
    burst.mkdir()
    config = f'{{"collections": {{"notes": {{"path": "{corpus.folder}"}}, "burst": {{"path": "burst"}}}}}}'
    (home / "collections.yml").write_text(config, encoding="utf-8")
    environ = environment(home)
    pid = run([*program(), "watch", "--start", "--json"], environ).answer()["pid"]
    try:
        _until(environ, lambda role: role["last"] is not None and role["running"] is None)
        process = psutil.Process(pid)
        seconds = 10 if quick else 45
        began, before = time.monotonic(), process.cpu_times()
        time.sleep(seconds)
        after, took = process.cpu_times(), time.monotonic() - began
        share = (after.user + after.system - before.user - before.system) / took
        memory = process.memory_info().rss
        kept = [child.cmdline()[-1:] for child in process.children() if "resident.model" in " ".join(child.cmdline())]
        if kept:
            raise Failed("a model is in memory, though nobody has asked anything")
        said = f"{corpus.files:,} documents, at rest"
        report.add(Row(f"watch, {said}: memory", megabytes(memory), bar="≤ 80 MB", met=memory <= _MEMORY_BAR))
        report.add(Row(f"watch, {said}: cpu", f"{share:.2%}", bar="≤ 1 %", met=share <= _CPU_BAR))
        _burst(report, environ, burst)
    finally:
        run([*program(), "serve", "--stop", "--json"], environ)


def _burst(report: Report, environ: dict[str, str], folder: Path) -> None:
    runs = _role(environ)["index"]
    began = time.monotonic()
    for number in range(_BURST):
        (folder / f"{number:05}.md").write_text(f"# Note {number}\n\nthe walrus{number} swam\n", encoding="utf-8")
    written = time.monotonic() - began
    last = [*program(), "ask", f"walrus{_BURST - 1}", "--json"]
    while run(last, environ, ok=(0, 65, 67)).code:
        if time.monotonic() - began > _PATIENCE_S:
            raise Failed(f"the last of {_BURST:,} files is not found after {_PATIENCE_S:g} s")
        time.sleep(0.5)
    found = time.monotonic() - began - written
    role = _role(environ)
    said = f"{role['index'] - runs} index runs, {role['events']:,} events"
    report.add(Row(f"watch, {_BURST:,} files at once: the last one is found", f"after {found:.1f} s", said))


def _role(environ: dict[str, str]) -> dict[str, Any]:
    found: dict[str, Any] = run([*program(), "watch", "--status", "--json"], environ).answer()
    return found


def _until(environ: dict[str, str], true: Any) -> None:
    deadline = time.monotonic() + _PATIENCE_S
    while not true(_role(environ)):
        if time.monotonic() > deadline:
            raise Failed("it does not come to rest")
        time.sleep(0.5)
