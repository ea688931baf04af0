"""``brain embed`` by the local model: memory of the whole process, and its speed compared with onnxruntime alone."""

from __future__ import annotations

import shutil
import sys

from bench import corpora
from bench.measure import DATA, environment, program, run
from bench.report import Report, Row

_SHARE_BAR = 0.85
_PEAK_BAR = 600.0
_FILES = 60
_QUICK_FILES = 8
# Long enough for batches of every length, and to see memory settle.
_SECONDS = 60


def measure(report: Report, *, quick: bool) -> None:
    """A brain of a few dozen files: embedded in turns with the bare model, and then once more as a user would."""
    corpus = corpora.own(_QUICK_FILES if quick else _FILES)
    home = DATA / "home-embed"
    shutil.rmtree(home, ignore_errors=True)
    corpora.configure(home, corpus)
    environ = environment(home)
    run([*program(), "index", "--json"], environ)
    turns = run([sys.executable, "-m", "bench.embedding.embed_turns", str(home)], environ).answer()
    share = turns["bare_s"] / turns["own_s"]
    report.add(
        Row(
            "embed, local model: documents to stored vectors",
            f"{turns['chunks'] / turns['own_s']:.1f} chunks/s",
            f"onnxruntime alone {turns['chunks'] / turns['bare_s']:.1f} chunks/s",
            share,
            f"≥ {_SHARE_BAR:g}×",
            share >= _SHARE_BAR,
        )
    )
    share = turns["bare_cpu_s"] / turns["own_cpu_s"]
    compared = f"onnxruntime alone {turns['bare_cpu_s']:.1f} s"
    report.add(Row("embed, local model: the same, cpu", f"{turns['own_cpu_s']:.1f} s", compared, share))
    done = run([*program(), "embed", "-f", "--budget", str(_SECONDS), "--json"], environ)
    peak = done.peak / 1e6
    report.add(
        Row("embed, local model: peak memory", f"{peak:.0f} MB", bar=f"≤ {_PEAK_BAR:g} MB", met=peak <= _PEAK_BAR)
    )
    report.note(
        "embed: the same batches, in turns of some seconds: cut, tokenized, run, rounded and committed by brain; then"
        " the same arrays given to onnxruntime alone, with its own defaults."
    )
