"""A call that may hang, given so much time and no more."""

from __future__ import annotations

import queue
import threading
from typing import TYPE_CHECKING, Generic, TypeVar

from core.errors import EngineTimeout

if TYPE_CHECKING:
    from collections.abc import Callable

_Answer = TypeVar("_Answer")


class Begun(Generic[_Answer]):
    """A call under way in a thread that nobody waits for: a late one goes on until its own limits or the process end
    it.
    """

    def __init__(self, call: Callable[[], _Answer]) -> None:
        self._ended: queue.SimpleQueue[tuple[_Answer | None, BaseException | None]] = queue.SimpleQueue()
        self._call = call
        self._lock = threading.Lock()
        self._end: Callable[[_Answer], None] | None = None
        self._thread = threading.Thread(target=self._run, daemon=True, name="within")
        self._thread.start()

    def _run(self) -> None:
        try:
            answer = self._call()
        except BaseException as error:  # noqa: BLE001  # raised where the answer is waited for
            self._ended.put((None, error))
            return
        with self._lock:
            if self._end is None:
                self._ended.put((answer, None))
                return
        self._end(answer)

    def abandon(self, end: Callable[[_Answer], None]) -> None:
        """Give the answer to ``end``, now or as soon as there is one; nobody waits for the answer any more."""
        with self._lock:
            self._end = end
            try:
                answer, error = self._ended.get_nowait()
            except queue.Empty:
                return
        if error is None:
            end(answer)  # type: ignore[arg-type]  # a call that raised nothing has returned its answer

    def wait(self, seconds: float, late: str, on_late: Callable[[], None] | None = None) -> _Answer:
        """Return or raise what the call does, once; raise EngineTimeout with the text ``late`` after ``seconds``.

        ``on_late`` may have a late one end soon.
        """
        try:
            answer, error = self._ended.get(timeout=max(0.0, seconds))
        except queue.Empty:
            if on_late is not None:
                on_late()
            raise EngineTimeout(late) from None
        if error is not None:
            raise error
        return answer  # type: ignore[return-value]  # a call that raised nothing has returned its answer


def within(
    seconds: float, call: Callable[[], _Answer], late: str, on_late: Callable[[], None] | None = None
) -> _Answer:
    """Return or raise what ``call`` does, as ``Begun.wait``."""
    return Begun(call).wait(seconds, late, on_late)
