"""The server of the page, from its start to the signal that ends it."""

from __future__ import annotations

import os
import signal
import sys
from typing import TYPE_CHECKING, Any

from runtime.explaining import activity
from web.server import serve

if TYPE_CHECKING:
    import pytest

    from core.config import Config
    from core.home import Home
    from tests.runtime.index_fixture import Shelf
    from web.access import Access


def test_the_projects_are_counted_before_the_link_is_given(stocked: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    counted: list[str] = []
    before: list[str] = []
    real = activity.projects

    def listed(home: Home, config: Config) -> dict[str, Any]:
        counted.append("projects")
        return real(home, config)

    def ready(_access: Access) -> None:
        before.extend(counted)
        os.kill(os.getpid(), signal.SIGTERM)

    monkeypatch.setattr(activity, "projects", listed)
    interval = sys.getswitchinterval()
    try:
        reason = serve(stocked.home, {}, host="127.0.0.1", port=0, token="", idle_s=60, ready=ready)
    finally:
        sys.setswitchinterval(interval)
    assert (before, reason) == (["projects"], "SIGTERM")
