"""A call that may hang, given so much time and no more."""

from __future__ import annotations

import queue
import threading
from typing import TYPE_CHECKING, TypeVar

from core.errors import EngineTimeout

if TYPE_CHECKING:
    from collections.abc import Callable

_Answer = TypeVar("_Answer")


def within(
    seconds: float, call: Callable[[], _Answer], late: str, on_late: Callable[[], None] | None = None
) -> _Answer:
    """Return or raise what ``call`` does; raise EngineTimeout with the text ``late`` after ``seconds``.

    ``on_late`` may have a late one end soon. It runs in a thread that nobody waits for: a late one goes on until its
    own limits end it, or the process does.
    """
    ended: queue.SimpleQueue[tuple[_Answer | None, BaseException | None]] = queue.SimpleQueue()

    def run() -> None:
        try:
            ended.put((call(), None))
        except BaseException as error:  # noqa: BLE001  # raised where the answer is waited for
            ended.put((None, error))

    threading.Thread(target=run, daemon=True, name="within").start()
    try:
        answer, error = ended.get(timeout=seconds)
    except queue.Empty:
        if on_late is not None:
            on_late()
        raise EngineTimeout(late) from None
    if error is not None:
        raise error
    return answer  # type: ignore[return-value]  # a call that raised nothing has returned its answer
