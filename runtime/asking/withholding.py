"""The memory is withheld from agents until its documents went through the present redaction policy.

The index records the policy that its documents went through (``brain_state``: ``redaction``). A new version of Brain
brings a new policy, and the next ``brain index`` applies it.
"""

from __future__ import annotations

from core.errors import EngineMissing, Refused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    import apsw

    from core.home import Home

# The surfaces behind which no person sits, and the commands that show text of documents.
AGENTS = ("claude-code", "mcp", "hook")
SHOWING = (
    "brief",
    "ask",
    "recent",
    "show",
    "why",
    "trace",
    "export",
    "share",
    "inbox",
    "explain",
    "injected",
    "handoff",
    "pack",
    "how",
    "fix",
    "friction",
    "files",
    "tried",
    "blame",
    "restore-span",
    "cost",
)


def require_policy(home: Home) -> None:
    """Raise Refused where the index holds documents of an older policy; a missing index is for others to report."""
    from qmd.index.store import open_index

    try:
        connection = open_index(home.index)
    except EngineMissing:
        return
    try:
        require_redacted(connection)
    finally:
        connection.close()


def require_redacted(connection: apsw.Connection) -> None:
    """Raise Refused where an open index holds documents of an older policy."""
    from qmd.index.store import is_redacted

    if not is_redacted(connection):
        raise Refused(
            "the redaction policy is newer than the memory: it is withheld from agents until it is gone through",
            "brain index",
        )


def shown(_home: Home, value: Any) -> Any:
    """Return ``value`` (JSON-like) as a person may see it: redacted, whatever the index holds."""
    from core.redaction import shown_value

    return shown_value(value)


def shown_to_agents(home: Home, value: Any) -> Any:
    """Return ``value`` (JSON-like) as an agent may see it. Raises Refused like ``require_policy``."""
    require_policy(home)
    return shown(home, value)
