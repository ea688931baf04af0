"""Keys of units of recall: a session, or an agent below the session it worked for.

A key is the session's id, for an agent ``<session>\t<agent>``; neither id holds a tab.
"""

from __future__ import annotations

import os

from core.redaction import clean
from core.text import one_line


def path_name(name: str) -> str:
    """Return the name of a file or folder as text without secrets: units and documents are called by such names."""
    return clean(one_line(os.fsencode(name).decode("utf-8", "replace"), 4000), {})


def unit_key(session: str, agent: str = "") -> str:
    """The identity of a unit of recall: a session, or an agent below the session it worked for."""
    return f"{session}\t{agent}" if agent else session


def split_key(unit: str) -> tuple[str, str]:
    """(session, agent) of a ``unit_key``; agent is "" for a session."""
    session, _, agent = unit.partition("\t")
    return session, agent


def is_agent(unit: str) -> bool:
    """Whether the unit is a subagent's transcript."""
    return "\t" in unit
