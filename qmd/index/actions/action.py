"""One action of a session: something that was run, read, changed, decided or refused."""

from __future__ import annotations

from operator import attrgetter

from core.digest import blake2b

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

COMMAND, READ, EDIT, CREATE, ERROR = "command", "read", "edit", "create", "error"
DECISION, REJECTION = "decision", "rejection"
CHANGES = (EDIT, CREATE)
FILE_KINDS = (READ, *CHANGES)
OK, FAILED, UNKNOWN = "ok", "failed", "unknown"


# In the order of the columns. (A named tuple takes a hook longer to make than all the rows that it reads.)
_FIELDS = (
    "line", "turn", "at", "kind", "name", "subject", "key", "plain", "folder", "outcome", "status", "error", "note",
    "fix", "document", "number",
)  # fmt: skip
_row: Callable[[Action], tuple[Any, ...]] = attrgetter(*_FIELDS)


class Action:
    """One row of ``brain_actions``.

    ``line`` counts from 1, in the whole file. ``at`` is epoch seconds, of the turn. ``name`` is the program, the file's
    own name or the tool; ``key`` identifies the command or file, ``plain`` the command without options (0: no variant).
    ``status`` is the exit status.
    ``error`` is the signature of a failure, ``note`` its line as it was, or the reason of a decision. ``fix`` is the
    number of the action with which the same succeeded later. ``document`` is the id of the document, ``number`` the
    place in it: both are 0 until the action is in the index.
    """

    __slots__ = _FIELDS

    def __init__(
        self,
        line: int,
        turn: int,
        at: int,
        kind: str,
        name: str,
        subject: str,
        key: int,
        plain: int,
        folder: str,
        outcome: str,
        status: int | None,
        error: str,
        note: str,
        fix: int | None = None,
        document: int = 0,
        number: int = 0,
    ) -> None:
        self.line, self.turn, self.at, self.kind, self.name = line, turn, at, kind, name
        self.subject, self.key, self.plain, self.folder = subject, key, plain, folder
        self.outcome, self.status, self.error, self.note = outcome, status, error, note
        self.fix, self.document, self.number = fix, document, number

    def row(self) -> tuple[Any, ...]:
        """Return the values of the columns, in their order."""
        return _row(self)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Action) and self.row() == other.row()

    def __hash__(self) -> int:
        return hash((self.document, self.number, self.line))

    def __repr__(self) -> str:
        return f"Action{self.row()}"


def key_of(text: str) -> int:
    """Return a number that identifies a text, of 63 bits: SQLite stores it as an integer."""
    return int.from_bytes(blake2b(text.encode("utf-8", "replace"), digest_size=8).digest(), "big") >> 1


def path_of(action: Action) -> str:
    """Return the whole path of the file that an action is about."""
    return f"{action.folder}/{action.subject}" if action.folder else action.subject


# The columns of ``brain_actions``, in the order of ``Action``.
COLUMNS = ", ".join(_FIELDS).replace("document", "document_id")
# ``at`` is the turn's minute: within a document, the number is the order.
NEWEST = "ORDER BY at DESC, document_id DESC, number DESC"
