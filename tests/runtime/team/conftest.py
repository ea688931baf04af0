"""A space with members, and a home of one of them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from bench.postgres import Server, Space
from core.config import FILE
from core.home import Home
from qmd.index.store import mark_complete, open_index
from tests.runtime.index_fixture import Shelf

Homes = Callable[..., Shelf]


@pytest.fixture
def space(postgres: Server) -> Iterator[Space]:
    """A space that ``ada`` runs, with the members mira, leo and ines."""
    made = postgres.space("mira", "leo", "ines")
    yield made
    made.drop()


@pytest.fixture
def member(space: Space, tmp_path: Path, places: list[Path]) -> Homes:
    """Return the memory of a member: ``member("mira", share={"brain": "team"}, machine="laptop")``."""

    def make(name: str, *, share: dict[str, str], machine: str = "one", dsn: str = "") -> Shelf:
        home = Home(str(tmp_path / f"{name}-{machine}"))
        home.make()
        collections = "".join(
            f"  {each}: {{path: {each}, trust: session, share: {share.get(each, 'private')}}}\n"
            for each in ("brain", "notes", "inbox")
        )
        engine = f"engine: {{kind: postgres, dsn: '{dsn or space.dsn(name)}', space: {space.name}}}\n"
        Path(home.path(FILE)).write_text(f"collections:\n{collections}{engine}")
        os.chmod(home.path(FILE), 0o600)
        shelf = Shelf(home)
        with closing(open_index(home.index, write=True)) as index:
            mark_complete(index, shelf.config)
        return shelf

    return make
