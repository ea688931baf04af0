"""The application on a terminal of the test's own, driven by keys (Textual's pilot)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

import pytest

from core.config import load
from core.home import Home

pytest.importorskip("textual", reason="no textual: make dev")

from textual.pilot import Pilot
from textual.widgets import Static

from runtime.explaining.resuming import Resume
from tui.app import Brain
from tui.memory import Memory
from tui.pane import Pane

Keys: TypeAlias = "Pilot[Any]"
_PATIENCE_S = 20.0
_STEP_S = 0.02


def drive(
    home: Home,
    journey: Callable[[Keys], Awaitable[None]],
    *,
    size: tuple[int, int] = (80, 24),
    question: str = "",
    memory: Memory | None = None,
) -> Resume | None:
    """Run the application, let ``journey`` press keys, and return the application's result."""

    async def run() -> Resume | None:
        asked = memory or Memory(home, load(home), {"BRAIN_SERVE": "off"})
        app = Brain(asked, question=question)
        async with app.run_test(size=size, notifications=True) as keys:
            await until(keys, lambda: len(app.screen_stack) > 1)
            await journey(keys)
        return app.return_value

    return asyncio.run(run())


async def until(keys: Keys, condition: Callable[[], object]) -> None:
    """Wait until something holds."""
    for _ in range(int(_PATIENCE_S / _STEP_S)):
        await keys.pause(_STEP_S)
        if condition():
            return
    raise AssertionError(f"never came about; on the screen is:\n{screen(keys)}")


async def see(keys: Keys, *texts: str) -> None:
    """Wait until all texts are on the screen."""
    await until(keys, lambda: all(text in screen(keys) for text in texts))


def screen(keys: Keys) -> str:
    """Return what is on the screen, line by line, the topmost dialog included."""
    strips = keys.app.screen._compositor.render_strips()
    return "\n".join(strip.text.rstrip() for strip in strips)


def pane(keys: Keys, name: str) -> Pane:
    """Return a pane of the present screen."""
    return keys.app.screen.query_one(f"#{name}", Pane)


def plain(keys: Keys, name: str) -> list[str]:
    """Return all lines of a pane, also those that are not in view."""
    return [line.plain for line in pane(keys, name).lines]


def said(keys: Keys, name: str) -> str:
    """Return the text of a bar."""
    return str(keys.app.screen.query_one(f"#{name}", Static).render())
