"""What the prompt hook quotes from memory."""

from __future__ import annotations

import pytest

from core.home import Home
from runtime.hooks import recall
from tests.runtime.index_fixture import Shelf
from tests.runtime.work.sessions import did


def test_lines_that_are_quoted_for_a_prompt_are_whole(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BRAIN_RECALL_S", "20")
    home.make()
    reply = """The walrus cache is locked because the tide service had stopped in the night, and nobody had seen it.

Whoever restarts the tide service unlocks the walrus cache, as long as no deployment is going on meanwhile.

A walrus cache without a tide service serves old pages only; the locked file lies below the folder of the day.
"""
    did(Shelf(home), "a", reply)
    spoken = recall.speak(
        home, "prompt", {"prompt": "why is the walrus cache locked by the tide service?"}, misses_only=False
    )
    (quoted,) = (line for line in spoken.text.splitlines() if line.startswith("  | "))
    assert "because the tide service had stopped in the night, and nobody had seen it." in quoted
    assert quoted.endswith(".")
