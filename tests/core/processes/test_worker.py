"""A child process answers request after request, and what exceeds a bound costs one request."""

from __future__ import annotations

import os
import re
import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from core.errors import Internal
from core.processes import worker as module
from core.processes.worker import Ended, Exceeded, Worker

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def worker() -> Iterator[Worker]:
    with Worker("tests.core.processes.working:work", memory=256 << 20, timeout_s=60, cpu_s=30) as made:
        yield made


def test_one_process_answers_many_requests_of_any_size(worker: Worker) -> None:
    pids = {worker.ask({"text": "é" * size})["pid"] for size in (0, 1, 100_000, 3_000_000)}
    assert len(pids) == 1
    assert worker.ask({"kind": "flood", "size": 5_000_000}) == "x" * 5_000_000
    assert worker.ask({"kind": "print"})["pid"] in pids, "what is printed is no answer"


@pytest.mark.parametrize(
    ("kind", "error"),
    [
        ("spin", Exceeded),
        ("crash", Ended),
        ("exit", Ended),
        ("memory", Ended),
        ("grow", Ended),
        ("flood", Ended),
    ],
)
def test_what_exceeds_a_bound_costs_one_request(
    worker: Worker, monkeypatch: pytest.MonkeyPatch, kind: str, error: type[Exception]
) -> None:
    monkeypatch.setattr(module, "_MOST_ANSWER", 1 << 20)
    before = worker.ask({})["pid"]
    with pytest.raises(error):
        worker.ask({"kind": kind, "size": 2 << 20}, cpu_s=1 if kind == "spin" else 20)
    assert worker.ask({})["pid"] != before


def test_memory_is_bounded_where_the_system_does_not_bound_it(worker: Worker, monkeypatch: pytest.MonkeyPatch) -> None:
    with Worker("tests.core.processes.working:work", memory=40 << 30, timeout_s=60, cpu_s=30) as unbounded:
        unbounded.ask({})
        unbounded._memory = 256 << 20
        monkeypatch.setattr(module, "_LOOK_S", 0.001)
        with pytest.raises(Ended):
            unbounded.ask({"kind": "grow"})


def test_a_child_that_only_waits_is_given_up() -> None:
    with (
        Worker("tests.core.processes.working:work", memory=256 << 20, timeout_s=1.0) as waiting,
        pytest.raises(Exceeded),
    ):
        waiting.ask({"kind": "sleep"})


def test_the_bound_on_time_is_each_requests_own(worker: Worker) -> None:
    pids = {worker.ask({"kind": "burn", "seconds": 0.5}, cpu_s=1)["pid"] for _ in range(3)}
    assert len(pids) == 1


def test_an_exception_is_raised_here_with_its_text(worker: Worker) -> None:
    before = worker.ask({})["pid"]
    with pytest.raises(Internal, match="KeyError: 'no such thing'"):
        worker.ask({"kind": "raise"})
    assert worker.ask({})["pid"] == before


@pytest.mark.parametrize("function", ["tests.core.processes.nothing:work", "tests.core.processes.working:nothing"])
def test_a_child_that_cannot_start_is_no_fault_of_the_request(function: str) -> None:
    with Worker(function, memory=256 << 20, timeout_s=60) as made, pytest.raises(Internal, match="can be started"):
        made.ask({})


def test_a_child_that_ended_for_idleness_is_replaced(worker: Worker) -> None:
    before = worker.ask({})["pid"]
    process = worker.process
    assert process is not None
    os.kill(process.pid, signal.SIGSTOP)
    # The alarm and the request meet: the request is in the pipe when the child ends.

    def alarm() -> None:
        os.kill(process.pid, signal.SIGALRM)
        os.kill(process.pid, signal.SIGCONT)

    threading.Timer(0.2, alarm).start()
    assert worker.ask({})["pid"] != before


def test_threads_share_a_worker(worker: Worker) -> None:
    found: list[int] = []

    def ask(size: int) -> None:
        found.append(worker.ask({"text": "x" * size})["size"])

    threads = [threading.Thread(target=ask, args=(size,)) for size in range(0, 200_000, 10_000)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == list(range(0, 200_000, 10_000))


def test_nothing_is_imported_from_the_folder_one_is_in(
    worker: Worker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("json", "base64", "selectors", "logging", "resource"):
        (tmp_path / f"{name}.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n")
    monkeypatch.chdir(tmp_path)
    assert worker.ask({})
    assert not (tmp_path / "ran").exists()


def test_no_child_interpreter_imports_from_the_folder_one_is_in() -> None:
    bare = [
        f"{path.relative_to(ROOT)}"
        for room in ("core", "ingest", "qmd", "runtime", "ops", "evals", "cli")
        for path in (ROOT / room).rglob("*.py")
        if re.search(r"sys\.executable,\s*\"-(c|m)\"", path.read_text())
    ]
    assert bare == ["evals/runs/cold.py"], "which runs `pass`"
