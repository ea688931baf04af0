"""Of work that overtakes other work only the newest is delivered."""

from __future__ import annotations

import queue
import threading

import pytest

pytest.importorskip("textual", reason="no textual: make dev")

from textual.message import Message

from tui.latest import Latest


class _Done(Message):
    def __init__(self, what: object) -> None:
        self.what = what
        super().__init__()


def _held() -> tuple[Latest, queue.Queue[Message]]:
    posted: queue.Queue[Message] = queue.Queue()
    return Latest(posted.put, lambda error: _Done(repr(error))), posted


def _what(message: Message) -> object:
    assert isinstance(message, _Done)
    return message.what


def test_work_that_waits_is_replaced_and_an_old_result_dropped() -> None:
    latest, posted = _held()
    begun, go = threading.Event(), threading.Event()
    done: list[int] = []

    def first() -> Message:
        begun.set()
        assert go.wait(20)
        return _Done(1)

    def work(number: int) -> Message:
        done.append(number)
        return _Done(number)

    latest.submit(first)
    assert begun.wait(20)
    latest.submit(lambda: work(2))
    latest.submit(lambda: work(3))
    go.set()
    assert _what(posted.get(timeout=20)) == 3
    latest.close()
    assert done == [3]
    assert posted.empty()


def test_a_failure_is_a_message_and_the_thread_goes_on() -> None:
    latest, posted = _held()
    latest.submit(lambda: _Done(1 // 0))
    assert "ZeroDivisionError" in str(_what(posted.get(timeout=20)))
    latest.submit(lambda: _Done("next"))
    assert _what(posted.get(timeout=20)) == "next"
    latest.close()


def test_what_was_cancelled_is_not_delivered() -> None:
    latest, posted = _held()
    begun, go = threading.Event(), threading.Event()

    def work() -> Message:
        begun.set()
        assert go.wait(20)
        return _Done("late")

    latest.submit(work)
    assert begun.wait(20)
    latest.cancel()
    go.set()
    latest.close()
    assert posted.empty()
