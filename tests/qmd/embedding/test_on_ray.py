from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest

from core.errors import BadInput, EngineMissing
from qmd.embedding import embedder
from qmd.embedding.local import Local
from qmd.embedding.on_ray import OnRay
from qmd.embedding.provider import make
from qmd.index.semantic import spaces
from tests.qmd.corpus import indexed

TEXTS = [f"the ferry {number} leaves the harbour at {number} o'clock and " * (1 + number % 9) for number in range(300)]


@pytest.fixture(scope="module")
def provider(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OnRay]:
    pytest.importorskip("ray", reason="Ray is not installed: pip install 'brain-memory[ray]'", exc_type=ImportError)
    found = OnRay("ray", workers=2)
    yield found
    found.close()


def test_a_name_that_is_no_cluster_says_what_would_be() -> None:
    with pytest.raises(BadInput) as caught:
        OnRay("rya")
    assert "ray://HOST:PORT" in caught.value.fix


def test_a_cluster_computes_no_other_provider() -> None:
    with pytest.raises(BadInput, match="not openai"):
        make({"provider": "openai"}, {}, cluster="ray")


@pytest.mark.long
def test_workers_give_the_vectors_of_the_local_model_in_order(provider: OnRay) -> None:
    alone = Local(threads=1)
    assert (provider.fingerprint, provider.layout.name) == (alone.fingerprint, alone.layout.name)
    found, wanted = provider.embed(TEXTS[:80]), alone.embed(TEXTS[:80])
    # Which rows go through the model together moves the last digits.
    assert float((found * wanted).sum(axis=1).min()) > 0.99
    assert np.argmax(found @ wanted.T, axis=1).tolist() == list(range(80))
    assert provider.embed([]).shape == (0, 384)


@pytest.mark.long
def test_a_killed_worker_loses_nothing_and_nothing_is_embedded_twice(provider: OnRay, tmp_path: Path) -> None:
    connection, _ = indexed(tmp_path, {f"{number}.md": text for number, text in enumerate(TEXTS)})
    killed: set[int] = set()
    inner = provider.embed

    def embed(texts: list[str], *, question: bool = False) -> Any:
        if not killed:
            killed.add(min(workers()))
            os.kill(min(killed), signal.SIGKILL)
        return inner(texts, question=question)

    provider.embed = embed  # type: ignore[method-assign,assignment]
    try:
        report = embedder.embed(connection, provider)
        again = embedder.embed(connection, provider)
    finally:
        provider.embed = inner  # type: ignore[method-assign]
    assert len(killed) == 1
    assert len(workers()) == 2
    assert not killed & workers()
    assert (report.texts, report.failed, sum(report.pending.values())) == (len(TEXTS), {}, 0)
    assert spaces.count(connection, report.space) == report.chunks
    assert again.chunks == 0


@pytest.mark.long
def test_a_cluster_that_does_not_answer_is_said_with_its_address(provider: OnRay) -> None:
    provider.close()
    with pytest.raises(EngineMissing, match=r"ray://127\.0\.0\.1:9"):
        OnRay("ray://127.0.0.1:9")


def workers() -> set[int]:
    """The processes that hold the model: Ray names them by their class."""
    return {each.pid for each in psutil.Process().children(recursive=True) if "ray::Local" in " ".join(each.cmdline())}
