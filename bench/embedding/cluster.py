"""Embedding on one and on two workers of a local Ray cluster, each computing with one thread."""

from __future__ import annotations

import time

from bench.corpora import SPOKEN
from bench.measure import median
from bench.report import Report, Row

_BAR = 1.7
_ROUNDS = 3


def measure(report: Report, *, quick: bool) -> None:
    """Embed the same chunks with one worker and with two; the first chunks, which load the model, are not counted."""
    try:
        import ray  # noqa: F401
    except ImportError:
        report.skip("embedding on Ray", "Ray is not installed: pip install 'brain-memory[ray]'")
        return
    count = 256 if quick else 1_024
    texts = [" ".join(SPOKEN[(number + k) % len(SPOKEN)] for k in range(10)) for number in range(count)]
    one, two = (_rate(texts, workers) for workers in (1, 2))
    report.add(Row(f"embedding {count:,} chunks of 120 words on Ray, one worker", f"{one:.1f} a second"))
    report.add(
        Row("the same, two workers", f"{two:.1f} a second", "one worker", two / one, f"≥ {_BAR}×", two / one >= _BAR)
    )


def _rate(texts: list[str], workers: int) -> float:
    """Return chunks a second, the median of the rounds."""
    from qmd.embedding.on_ray import OnRay

    provider = OnRay("ray", workers=workers)
    try:
        provider.embed(texts[: provider.batch])
        spent = []
        for _ in range(_ROUNDS):
            began = time.perf_counter()
            for start in range(0, len(texts), provider.batch):
                provider.embed(texts[start : start + provider.batch])
            spent.append(time.perf_counter() - began)
        return len(texts) / median(spent)
    finally:
        provider.close()
