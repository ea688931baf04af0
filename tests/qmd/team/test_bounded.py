"""A connection that waits for the server as long as it may, and no longer."""

from __future__ import annotations

from collections.abc import Generator
from types import SimpleNamespace

import pytest

from bench.postgres import Server
from core.errors import EngineTimeout
from qmd.team import bounded, connection


def test_a_server_that_sends_a_little_all_the_time_is_late_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(bounded, "time", SimpleNamespace(monotonic=lambda: now[0]))

    def answering() -> Generator[str, bool, None]:
        while True:
            yield "more"

    waiting = bounded._bounded(answering(), 2.0)
    next(waiting)
    for _ in range(2):
        now[0] += 0.9
        waiting.send(True)
    now[0] += 0.9
    with pytest.raises(EngineTimeout):
        waiting.send(True)


def test_statements_have_as_long_as_before_once_one_was_given_more(postgres: Server) -> None:
    space = postgres.space("mira")
    with connection.open_writer(space.engine("mira"), 10) as mira:
        before = mira.execute("SHOW statement_timeout").fetchone(), mira.patience_s
        for _ in range(2):
            with mira.given(1800):
                assert mira.execute("SHOW statement_timeout").fetchone() == ("30min",)
        assert (mira.execute("SHOW statement_timeout").fetchone(), mira.patience_s) == before
