"""sqlite-vec's ``vec0`` tables, in which the real qmd keeps its vectors: the extension, loaded by path.

The Python package around it is never imported: it costs the import of the standard library's sqlite3, of numpy where
that is installed, and offers nothing that the path does not.
"""

from __future__ import annotations

import os
import sys

import apsw

from core.errors import EngineMissing

_FIX = "pip install -U sqlite-vec"


def path() -> str | None:
    """Where the extension lies, without the platform's suffix, as SQLite wants it; None where it is not installed."""
    # Where it is nearly always: looking there is cheaper than importing what could look everywhere.
    for folder in sys.path:
        found = os.path.join(folder, "sqlite_vec", "vec0")
        if os.path.isfile(f"{found}.so") or os.path.isfile(f"{found}.dylib"):
            return found
    from importlib.util import find_spec

    spec = find_spec("sqlite_vec")
    if spec is None or not spec.origin:
        return None
    return os.path.join(os.path.dirname(spec.origin), "vec0")


def load(connection: apsw.Connection) -> None:
    """Make ``vec0`` tables and the ``vec_…`` functions usable on ``connection``; once is enough, more does no harm.

    SQL itself cannot load anything afterwards. Raises EngineMissing where the extension is missing or does not load.
    """
    extension = path()
    if extension is None:
        raise EngineMissing("sqlite-vec is not installed: vectors that qmd wrote cannot be read", _FIX)
    try:
        connection.enable_load_extension(True)
        try:
            connection.load_extension(extension)
        finally:
            connection.enable_load_extension(False)
    # AttributeError: an SQLite built without loadable extensions.
    except (apsw.Error, OSError, AttributeError) as error:
        raise EngineMissing(f"sqlite-vec does not load: {error}", _FIX) from error
