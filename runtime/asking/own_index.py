"""The user's own index, for questions that others may answer as well."""

from __future__ import annotations

import os

from qmd.index.store import open_index

TYPE_CHECKING = False
if TYPE_CHECKING:
    import apsw

    from core.config import Config
    from core.home import Home


def open_own(home: Home, config: Config) -> apsw.Connection:
    """Open the user's own index to read it; in a team, an empty one is made where there is none.

    So others' documents answer on a machine that never indexed anything, and the freshness says that no run has ended.
    Raises as ``open_index``.
    """
    ensure(home, config)
    return open_index(home.index)


def ensure(home: Home, config: Config) -> None:
    """Make an empty index where there is none, if the configuration names a team. Raises as ``open_index``."""
    if config.engine is not None and not os.path.exists(home.index):
        home.make()
        open_index(home.index, write=True).close()
