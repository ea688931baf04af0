"""One action of a session: something that was run, read, changed, decided or refused."""

from __future__ import annotations

from typing import NamedTuple

COMMAND, READ, EDIT, CREATE, ERROR = "command", "read", "edit", "create", "error"
DECISION, REJECTION = "decision", "rejection"
CHANGES = (EDIT, CREATE)
FILE_KINDS = (READ, *CHANGES)
OK, FAILED, UNKNOWN = "ok", "failed", "unknown"


class Action(NamedTuple):
    """One row of ``brain_actions``.

    ``line`` counts from 1, in the whole file. ``at`` is epoch seconds, of the turn. ``name`` is the program, the file's
    own name or the tool; ``key`` identifies the command or file, ``plain`` the command without options (0: no variant).
    ``status`` is the exit status.
    ``error`` is the signature of a failure, ``note`` its line as it was, or the reason of a decision. ``fix`` is the
    number of the action with which the same succeeded later. ``document`` is the id of the document, ``number`` the
    place in it: both are 0 until the action is in the index.
    """

    line: int
    turn: int
    at: int
    kind: str
    name: str
    subject: str
    key: int
    plain: int
    folder: str
    outcome: str
    status: int | None
    error: str
    note: str
    fix: int | None
    document: int = 0
    number: int = 0


def path_of(action: Action) -> str:
    """Return the whole path of the file that an action is about."""
    return f"{action.folder}/{action.subject}" if action.folder else action.subject


# The columns of ``brain_actions``, in the order of ``Action``.
COLUMNS = ", ".join(Action._fields).replace("document", "document_id")
# ``at`` is the turn's minute: within a document, the number is the order.
NEWEST = "ORDER BY at DESC, document_id DESC, number DESC"
