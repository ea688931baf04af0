"""The section ``engine:`` of ``collections.yml``, written when a member joins, and taken out when they leave.

The file is a person's own: only the lines of the section change.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from core.config import FILE, locate
from core.config_yaml import parse
from core.errors import BadInput, Refused
from core.files import write_atomic
from qmd.team import connection

if TYPE_CHECKING:
    from core.config import Config
    from core.engine import Engine
    from core.home import Home

_SECTION = "engine:"


def written(engine: Engine) -> str:
    """Return the section as it is written."""
    dsn = engine.dsn.replace("'", "''")
    lines = [
        f"{_SECTION}  # the team's store: docs/team.md",
        f"kind: {engine.kind}",
        f"dsn: '{dsn}'",
        f"space: {engine.space}",
    ]
    if engine.evidence:
        names = ("'" + name.replace("'", "''") + "'" for name in engine.evidence)
        lines.append(f"evidence: [{', '.join(names)}]")
    return "\n  ".join(lines) + "\n"


def without(text: str) -> str:
    """Return the text of a configuration without its section ``engine:``."""
    kept: list[str] = []
    inside = False
    for line in text.splitlines(keepends=True):
        if line.startswith(_SECTION):
            inside = True
        elif inside and line.strip() and not line.startswith((" ", "\t", "#")):
            inside = False
        if not inside:
            kept.append(line)
    return "".join(kept)


def replaced(config: Config, engine: Engine) -> Engine | None:
    """Return the engine whose place another one takes: another member, database or space; None if it is the same."""
    before = config.engine
    return None if before is None or _identity(before) == _identity(engine) else before


def described(engine: Engine) -> str:
    """Return which space an engine is, where, and as whom, in words without a DSN."""
    host, _, database, user = connection.place(engine)
    return f"the space {engine.space!r} at {host}/{database} as {user!r}"


def _identity(engine: Engine) -> tuple[str, ...]:
    return (*connection.place(engine), engine.space)


def put(home: Home, engine: Engine | None) -> str:
    """Write the section, or remove it for None; return the file. Raises Refused if the file would not be valid then."""
    own = home.path(FILE)
    with open(locate(home), encoding="utf-8") as stream:
        text = stream.read()
    after = without(text)
    if engine is not None:
        after = after + ("" if after.endswith("\n") else "\n") + "\n" * (not after.endswith("\n\n")) + written(engine)
    draft = home.path("state", "collections.draft.yml")
    write_atomic(draft, after.encode())
    try:
        parse(draft)
    except BadInput as error:
        raise Refused(f"{own} cannot be changed: {error.message}", f"edit {own}: docs/configuration.md") from None
    finally:
        os.unlink(draft)
    if after != text:
        write_atomic(own, after.encode())
    return own
