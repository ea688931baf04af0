"""Decisions that sessions hold: approved plans, answers to an agent's questions, refused calls with their reason."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any

from core import clock
from core.redaction import shown_value
from qmd.index.actions import history, table
from qmd.index.actions.action import DECISION
from qmd.index.store import open_index
from runtime.asking.envelope import uri
from runtime.asking.request import project_glob

if TYPE_CHECKING:
    from core.config import Config
    from core.home import Home

_LOOKED_AT = 2_000
_LONGEST = 300


def decided(home: Home, config: Config, project: str = "", limit: int = 60) -> list[dict[str, Any]]:
    """Return the newest decisions and rejections of sessions and distillates; a rejection only with its reason.

    Each has ``type``, ``text``, ``why``, ``date`` (None if unknown), ``uri``, ``line``, ``title``,
    ``trust`` (``session``, or ``distilled``: what a distillation saw in what was said) and ``project``.
    ``project`` is a folder's name, a path or a glob. Raises what opening the index raises; apsw.Error.
    """
    found: list[dict[str, Any]] = []
    with closing(open_index(home.index)) as connection:
        within = table.within(connection, project_glob(project)) if project else None
        said = [
            action
            for action in history.statements(connection, most=_LOOKED_AT)
            if (action.kind == DECISION or action.note) and (within is None or action.document in within)
        ]
        origins = table.origins(connection, {action.document for action in said})
    for action in said:
        origin = origins.get(action.document)
        trust = config.trust_of(origin.collection, origin.path) if origin else ""
        if origin is None or trust not in ("session", "distilled"):
            continue
        found.append(
            {
                "type": "decision" if action.kind == DECISION else "rejected",
                "text": action.subject[:_LONGEST],
                "why": action.note[:_LONGEST] or None,
                "date": clock.iso(action.at) if action.at else None,
                "uri": uri(origin.collection, origin.path),
                "line": action.line,
                "title": origin.title,
                "trust": trust,
                "project": origin.project or None,
            }
        )
        if len(found) == limit:
            break
    shown: list[dict[str, Any]] = shown_value(found)
    return shown
