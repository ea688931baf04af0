"""A progress bar on stderr if stderr is a terminal; otherwise lines for long runs, and nothing for others."""

from __future__ import annotations

import sys
import time

from core.processes.speed import Pace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType
    from typing import Any

_REDRAW_S = 0.1


class Bar:
    """``with Bar() as bar:`` and then ``bar(done, total, what)``, as often as there is news.

    It shows a share and the time that is left, and with a ``unit``, of ``scale`` steps each, also the speed. If stderr
    is no terminal, a stage writes a line at its beginning, at its end, and every ``lines_s`` seconds; none for 0.
    """

    def __init__(
        self, unit: str = "", scale: int = 1, now: Callable[[], float] = time.monotonic, *, lines_s: float = 0.0
    ) -> None:
        self._unit = unit
        self._scale = scale
        self._now = now
        self._lines_s = lines_s
        self._line = ""
        self._progress: Any = None
        self._stages: dict[str, tuple[Any, Pace]] = {}
        self._drawn: dict[str, float] = {}

    def __enter__(self) -> Bar:
        if sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

            self._progress = Progress(
                TextColumn("{task.description}"),
                BarColumn(),
                TaskProgressColumn(),
                TextColumn("{task.fields[speed]}"),
                TextColumn("{task.fields[left]}"),
                console=Console(stderr=True),
                transient=True,
            )
            self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._progress is not None:
            self._progress.stop()

    def __call__(self, done: int, total: int, what: str) -> None:
        """Show that ``done`` of ``total`` steps are done.

        ``what`` names the stage, which has a bar of its own; what follows a colon and a space may change meanwhile.
        """
        if self._progress is None:
            if self._lines_s:
                self._write_line(done, total, what)
            return
        name = what.partition(": ")[0]
        if name not in self._stages:
            self._stages[name] = self._progress.add_task(what, total=total, speed="", left=""), Pace(self._now)
        task, pace = self._stages[name]
        pace.at(done)
        if done < total and self._now() - self._drawn.get(name, float("-inf")) < _REDRAW_S:
            return
        self._drawn[name] = self._now()
        speed = pace.speed() / self._scale
        self._progress.update(
            task,
            completed=done,
            total=total,
            description=what,
            speed=f"{speed:,.{0 if speed >= 10 else 1}f} {self._unit}/s" if self._unit and speed else "",
            left=_clock(pace.left(total)),
        )

    def _write_line(self, done: int, total: int, what: str) -> None:
        name, now = what.partition(": ")[0], self._now()
        line = f"brain: {what}: {done:,} of {total:,}"
        if line == self._line or (done < total and now - self._drawn.get(name, float("-inf")) < self._lines_s):
            return
        self._drawn[name], self._line = now, line
        print(line, file=sys.stderr, flush=True)


def _clock(seconds: float | None) -> str:
    """Return ``1:02:03`` for seconds, "" if they are not known."""
    if seconds is None:
        return ""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}"
