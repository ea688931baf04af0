"""A progress bar on stderr, where stderr is a terminal; nothing otherwise."""

from __future__ import annotations

import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType
    from typing import Any


class Bar:
    """``with Bar() as bar:`` and then ``bar(done, total, what)``, as often as there is news.

    With a ``unit``, of ``scale`` steps each, it shows a share and a rate instead of counts: ``21.3 kB/s``.
    """

    def __init__(self, unit: str = "", scale: int = 1) -> None:
        self._unit = unit
        self._scale = scale
        self._progress: Any = None
        self._tasks: dict[str, Any] = {}
        self._started: dict[str, float] = {}

    def __enter__(self) -> Bar:
        if sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import (
                BarColumn,
                MofNCompleteColumn,
                Progress,
                TaskProgressColumn,
                TextColumn,
                TimeRemainingColumn,
            )

            columns: list[Any] = [MofNCompleteColumn()]
            if self._unit:
                columns = [TaskProgressColumn(), TextColumn("{task.fields[rate]}")]
            self._progress = Progress(
                TextColumn("{task.description}"),
                BarColumn(),
                *columns,
                TimeRemainingColumn(),
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
        """``what`` names the stage: each has its own bar."""
        if self._progress is None:
            return
        if what not in self._tasks:
            self._tasks[what] = self._progress.add_task(what, total=total, rate="")
            self._started[what] = time.monotonic()
        elapsed = time.monotonic() - self._started[what]
        rate = f"{done / self._scale / elapsed:.1f} {self._unit}/s" if elapsed > 0 else ""
        self._progress.update(self._tasks[what], completed=done, total=total, rate=rate)
