"""``brain tui``: the time from its start to the first frame, and to what happened lately, on a terminal of 80 × 24."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import struct
import sys
import termios
import time

from bench import corpora
from bench.measure import Failed, environment, floor, median, program
from bench.report import Report, Row, ms

_FIRST_FRAME_S = 0.5
_TIMEOUT_S = 30.0
# Texts of the first frame and of the first list.
_FRAME, _LIST = b"Enter read", b"Lately"
_QUIT = b"\x03"


def measure(report: Report, *, quick: bool) -> None:
    """Start it again and again, once more than is counted."""
    environ = environment(corpora.brain(corpora.own())) | {"TERM": "xterm-256color"}
    rounds = 5 if quick else 15
    _start(environ)
    taken = [_start(environ) for _ in range(rounds)]
    nothing = median([floor(environ) for _ in range(rounds)])
    frame = median([first for first, _ in taken])
    row = Row("tui: start to first frame, p50", ms(frame), ms(nothing), bar=f"≤ {ms(_FIRST_FRAME_S)}")
    report.add(row._replace(met=frame <= _FIRST_FRAME_S))
    report.add(Row("tui: start to what happened lately, p50", ms(median([listed for _, listed in taken]))))


def _start(environ: dict[str, str]) -> tuple[float, float]:
    """Seconds from the start of the process until the first frame and the first list are on the terminal."""
    controller, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    actions = [(os.POSIX_SPAWN_DUP2, terminal, number) for number in (0, 1, 2)]
    words = [*program(), "tui"]
    began = time.perf_counter()
    child = os.posix_spawn(words[0], words, environ, file_actions=actions, setsid=_has_setsid())
    try:
        found = _wait_for(controller, began)
    finally:
        os.write(controller, _QUIT)
        # What it still says must be read, or it waits for that.
        while os.waitpid(child, os.WNOHANG) == (0, 0):
            if select.select([controller], [], [], 0.05)[0]:
                os.read(controller, 1 << 16)
        os.close(terminal)
        os.close(controller)
    return found


def _has_setsid() -> bool:
    return sys.platform != "darwin"


def _wait_for(controller: int, began: float) -> tuple[float, float]:
    said, frame = b"", 0.0
    while select.select([controller], [], [], _TIMEOUT_S)[0]:
        said += os.read(controller, 1 << 16)
        if not frame and _FRAME in said:
            frame = time.perf_counter() - began
        if frame and _LIST in said:
            return frame, time.perf_counter() - began
    raise Failed(f"brain tui showed no list: {said[-500:]!r}")
