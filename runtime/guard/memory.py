"""The memory that the guard speaks from: what sessions and notes of one's own did and said before a moment.

Articles, pages and other people's texts are left out, and so is the session that is under way.
"""

from __future__ import annotations

from core.config import EVIDENCE
from qmd.index import catalogue
from qmd.index.actions import history
from qmd.index.catalogue import Document, Filters

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    import apsw

    from core.config import Config
    from qmd.index.actions.action import Action

_OWN = ("session", "note", "distilled")


class Memory:
    """Actions with their documents, of what ended before ``until`` (epoch seconds) and is no part of ``session``."""

    def __init__(self, connection: apsw.Connection, config: Config, session: str, until: int) -> None:
        self.connection = connection
        self._session, self._until = session, until
        self._config = config
        self._trust = {name: folder.trust for name, folder in config.collections.items() if folder.trust in _OWN}
        self._documents: dict[int, Document | None] = {}
        # Several rules ask for the same program.
        self._runs: dict[str, list[Action]] = {}
        self._failures: dict[str, list[Action]] = {}

    def own(self, found: Iterable[Action]) -> list[tuple[Action, Document]]:
        """Return the actions that count, with their documents, in the same order."""
        actions = list(found)
        unknown = {action.document for action in actions} - self._documents.keys()
        if unknown and self._trust:
            rows = catalogue.rows(self.connection, Filters(tuple(self._trust)), unknown)
            self._documents.update(
                {document.id: document for document in map(Document, rows) if self._counts(document)}
            )
        self._documents.update(dict.fromkeys(unknown - self._documents.keys()))
        return [(action, document) for action in actions if (document := self._documents[action.document]) is not None]

    def trust(self, document: Document) -> str:
        """Return the trust of a document's collection."""
        return self._trust.get(document.collection, "")

    def runs_of(self, name: str) -> list[Action]:
        """Return the runs of a program, as ``history.runs_of`` does; read once."""
        if name not in self._runs:
            self._runs[name] = history.runs_of(self.connection, name)
        return self._runs[name]

    def failures_of(self, name: str) -> list[Action]:
        """Return the failures of a program, as ``history.failures_of`` does; read once."""
        if name not in self._failures:
            self._failures[name] = history.failures_of(self.connection, name)
        return self._failures[name]

    def between(self, action: Action) -> list[Action]:
        """Return what was done from after a failure up to its fix, in order; [] if it has none."""
        if action.fix is None:
            return []
        return history.between(self.connection, action.document, action.number + 1, action.fix)

    def after(self, action: Action, number: int) -> list[Action]:
        """Return what the document of an action did after ``number``, in order."""
        return history.between(self.connection, action.document, number + 1, number + history.MOST)

    def _counts(self, document: Document) -> bool:
        if document.ended > self._until or document.fields.get("synthetic") is True:
            return False
        if self._config.trust_of(document.collection, document.path) == EVIDENCE:
            return False
        if not self._session:
            return True
        is_own = self._session in document.path or document.field("session_id") == self._session
        return not is_own and document.field("parent") != self._session
