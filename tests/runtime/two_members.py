"""Two members of a team, each with a memory of their own: ``mira`` shares, and ``bob`` asks."""

from __future__ import annotations

from pathlib import Path

from bench.postgres import Server, Space
from core.config import Config, load
from core.engine import Engine
from core.home import Home
from qmd.index.store import open_index
from tests.qmd.team.filling import fill
from tests.runtime.index_fixture import Shelf

# How long a question waits for the server where the machine may be busy, and code that lets a command wait so long.
PATIENCE_S = 30.0
PATIENT = f"import runtime.asking.team as team; team._PATIENCE_S = {PATIENCE_S}"
NOWHERE = Engine("postgres", "postgresql://bob@127.0.0.1:9/x", "t")


class Members:
    """``theirs`` is what mira has, ``shelf`` what bob has in ``home``; ``collections`` is mira's configuration."""

    def __init__(self, server: Server, place: Path, collections: str = "") -> None:
        self.space: Space = server.space("mira", "bob")
        homes = [Home(str(place / name)) for name in ("mira", "bob")]
        for home in homes:
            home.make()
        if collections:
            Path(homes[0].path("collections.yml")).write_text(collections)
        self.theirs, self.shelf = map(Shelf, homes)
        self.home = self.shelf.home

    def share(self, trust: str = "session") -> None:
        """Share all that mira has with the team."""
        index = open_index(self.theirs.home.index)
        fill(self.space.engine("mira"), index, trust=trust)
        index.close()

    def config(self, engine: Engine | None = None) -> Config:
        """Return the configuration of bob, with an engine."""
        found = load(self.home)
        found.timeout_s = 2 * PATIENCE_S
        found.engine = engine or self.space.engine("bob")
        return found
