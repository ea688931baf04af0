"""The drawing of a progress bar, and its place."""

from __future__ import annotations

import io
import sys

import pytest

from cli.progress import Bar


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def _on(stream: io.StringIO, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")


def test_a_stage_has_one_bar_with_its_share_speed_and_time(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    _on(terminal, monkeypatch)
    now = [0.0]
    with Bar("tokens", now=lambda: now[0]) as bar:
        for second in range(101):
            now[0] = float(second)
            bar(second * 50, 20_000, f"embedding: part {second}")
        bar(1, 4, "fitting")
        tasks = bar._progress.tasks
        assert [task.description for task in tasks] == ["embedding: part 100", "fitting"]
        assert (tasks[0].percentage, tasks[0].fields["speed"], tasks[0].fields["left"]) == (
            25.0,
            "50 tokens/s",
            "0:05:00",
        )
    assert "embedding" in terminal.getvalue()


def test_many_small_steps_are_drawn_now_and_then_and_the_last_always(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    _on(terminal, monkeypatch)
    now = [0.0]
    with Bar(now=lambda: now[0]) as bar:
        updates = []
        monkeypatch.setattr(bar._progress, "update", lambda _, completed, **__: updates.append(completed))
        for step in range(1, 10_001):
            now[0] += 0.0001
            bar(step, 10_000, "reading")
    assert len(updates) < 30
    assert updates[-1] == 10_000


def test_nothing_is_drawn_where_nobody_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    _on(stream, monkeypatch)
    with Bar() as bar:
        bar(1, 2, "reading")
    assert stream.getvalue() == ""


def test_a_long_run_without_a_terminal_writes_lines_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    _on(stream, monkeypatch)
    now = [0.0]
    with Bar(now=lambda: now[0], lines_s=10) as bar:
        for second in range(26):
            now[0] = float(second)
            bar(second * 40, 1_000, f"set: arm {second % 2}")
    assert stream.getvalue().splitlines() == [
        "brain: set: arm 0: 0 of 1,000",
        "brain: set: arm 0: 400 of 1,000",
        "brain: set: arm 0: 800 of 1,000",
        "brain: set: arm 1: 1,000 of 1,000",
    ]
