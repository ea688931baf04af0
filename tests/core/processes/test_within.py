from __future__ import annotations

import threading

import pytest

from core.errors import BadInput, EngineTimeout
from core.processes.within import Begun, within


def test_what_comes_in_time_is_returned() -> None:
    assert within(30, lambda: 42, "late") == 42


def test_a_failure_is_the_callers() -> None:
    def fail() -> int:
        raise BadInput("wrong")

    with pytest.raises(BadInput, match="wrong"):
        within(30, fail, "late")


def test_what_hangs_is_not_waited_for() -> None:
    stop = threading.Event()
    try:
        with pytest.raises(EngineTimeout, match="it hangs"):
            within(0.05, lambda: stop.wait(30), "it hangs")
    finally:
        stop.set()


def test_what_hangs_may_be_told_to_end() -> None:
    stop = threading.Event()
    with pytest.raises(EngineTimeout):
        within(0.05, lambda: stop.wait(30), "it hangs", stop.set)
    assert stop.is_set()
    stop.clear()
    assert within(30, lambda: 42, "late", stop.set) == 42
    assert not stop.is_set()


def test_an_answer_that_nobody_waits_for_is_ended_whenever_it_comes() -> None:
    for early in (True, False):
        go, ended = threading.Event(), threading.Event()

        def call(go: threading.Event = go) -> int:
            go.wait(10)
            return 7

        found: list[int] = []

        def end(answer: int, found: list[int] = found, ended: threading.Event = ended) -> None:
            found.append(answer)
            ended.set()

        begun = Begun(call)
        if early:
            begun.abandon(end)
            go.set()
        else:
            go.set()
            begun._thread.join(10)
            begun.abandon(end)
        assert ended.wait(10)
        assert found == [7]
