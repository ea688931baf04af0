"""A home with something of each kind on one day, and a browser that looks at it."""

from __future__ import annotations

from typing import Any

import pytest

from core.home import Home
from tests.runtime.index_fixture import Shelf
from tests.web.site import NOON, SESSION, Browser


@pytest.fixture
def stocked(home: Home) -> Shelf:
    shelf = Shelf(home)
    common: dict[str, Any] = {"source": "claude", "project": "/code/ferry"}
    shelf.put(
        "brain", "tide.md", SESSION, date=NOON, ended=NOON + 3600, title="The tide table", session_id="tide", **common
    )
    shelf.put("brain", "agent-1.md", "## [1] task\n\nlook", date=NOON, parent="tide", agent_id="1", **common)
    decided = "## Decisions\n\n- Keep tide rows. [1]"
    shelf.put("distilled", "tide.md", decided, date=NOON, source_uri="qmd://brain/tide.md")
    shell = "## [1] command · 2026-03-12 13:00\n\n- 13:00:05 $ make *_tide_*\n- 13:01:00 $ git push"
    typed: dict[str, Any] = {"source": "shell", "session_id": "2026-03-12", "commands": 2}
    shelf.put("brain", "shell__2026-03-12.md", shell, date=NOON + 3605, **typed)
    commits = "## 14:30 tide: keep the low row\n\n`abc` · Ana\n\n## 15:00 tide: test it\n"
    day: dict[str, Any] = {"project": "/code/ferry", "commits": 2, "session_id": "ferry:2026-03-12"}
    shelf.put("git", "ferry/2026-03-12.md", commits, date=NOON + 5400, ended=NOON + 7200, **day)
    visits = "## 09:14–10:02\n\n- 09:14 search: tide tables · example.org\n  https://example.org/?q=tide\n"
    seen: dict[str, Any] = {"visits": 1, "time_zone": "Europe/Berlin", "session_id": "2026-03-12"}
    shelf.put("chrome-history", "2026-03-12.md", visits, date=NOON - 13_560, source="chrome", **seen)
    return shelf


@pytest.fixture
def browser(stocked: Shelf) -> Browser:
    return Browser(stocked.home)
