"""What watching takes of the machine: its threads' stacks, and what the runs that it starts may."""

from __future__ import annotations

import os
import resource
import sys
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from watchdog.observers.api import BaseObserver

_STACK_BYTES = 1 << 19
_NICE = 10


def with_small_stacks(observer: BaseObserver) -> BaseObserver:
    """Each watch has a thread, whose stack is bounded lest all of them together come near the process's limit.

    Only while that thread starts: how long it takes to watch what is there does not matter to anybody else's threads.
    """
    ordinary = observer._emitter_class

    class Emitter(ordinary):  # type: ignore[misc, valid-type]
        def start(self) -> None:
            self.on_thread_start()
            before = threading.stack_size(_STACK_BYTES)
            try:
                threading.Thread.start(self)
            finally:
                threading.stack_size(before)

    observer._emitter_class = Emitter
    return observer


def of_children() -> float:
    """Cpu seconds of the children that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def set_free(pid: int, *, patient: bool) -> None:
    """Let a run take the memory it needs, whatever the process that watches may; a ``patient`` one gives way."""
    try:
        if sys.platform == "linux":
            _, hard = resource.getrlimit(resource.RLIMIT_DATA)
            resource.prlimit(pid, resource.RLIMIT_DATA, (hard, hard))
        if patient:
            os.setpriority(os.PRIO_PROCESS, pid, _NICE)
    except OSError:
        return  # it has ended already, or the system forbids it: it runs as it is
