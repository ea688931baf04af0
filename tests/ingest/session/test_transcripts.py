"""A session is found by the names of files, whatever their number."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from ingest.raw.store import RawStore
from ingest.session.transcripts import Lineage
from ingest.source import Source


class _Named(Source):
    """A source that yields the paths of its files as readings."""

    name = "claude"

    def parse(self, path: str, raw: RawStore) -> Any:
        yield path


_SOURCE = _Named()


def found(lineage: Lineage, unit: str, child: str) -> list[Any]:
    return list(lineage.look_up(unit, child))


def test_files_are_found_by_every_name_of_a_session_in_the_order_of_the_run() -> None:
    whole = "0badcafe-0000-4000-8000-000000000001"
    paths = [f"/p/rollout-2026-{whole}.jsonl", "/p/other.jsonl", f"/p/{whole}/agents.jsonl", f"/p/{whole[:8]}.json"]
    held = Lineage(_SOURCE, paths, ())
    assert found(held, whole, "/q/agent.jsonl") == [paths[0], paths[2], paths[3]]
    assert found(held, whole, paths[0]) == [paths[2], paths[3]], "the child itself says no more"
    assert found(held, "0badcafd-0000", "/q/agent.jsonl") == []
    assert found(Lineage(_SOURCE, paths, {whole}), whole, "/q/agent.jsonl") == []


def test_where_none_is_named_so_the_folders_above_are_looked_at(tmp_path: Path) -> None:
    session = tmp_path / "s.jsonl"
    session.touch()
    child = tmp_path / "s" / "subagents" / "agent-a.jsonl"
    assert found(Lineage(_SOURCE, [str(child)], ()), "s", str(child)) == [str(session)]


def test_an_orphan_costs_the_same_however_many_files_there_are() -> None:
    def steps(files: int) -> int:
        held = Lineage(_SOURCE, [f"/p/session-{number}.jsonl" for number in range(files)], ())
        found(held, "orphan-0", "/q/0.jsonl")
        counted = 0

        def trace(*_: object) -> Any:
            nonlocal counted
            counted += 1
            return trace

        before = sys.gettrace()
        sys.settrace(trace)
        try:
            found(held, "orphan-1", "/q/1.jsonl")
        finally:
            sys.settrace(before)
        return counted

    assert 0 < steps(2000) == steps(2)
