"""How far answers can be behind: what the last whole index run left, and what a cheap stat sees since.

Lexical and semantic freshness are two facts. An index is complete when a run over the configured collections has ended;
until then, finding nothing says nothing.
"""

from __future__ import annotations

from core import clock
from ingest.pipeline import pulse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    import apsw

    from core.config import Config
    from core.home import Home


class Freshness:
    """``complete``: a run has ended. ``current``: with the collections that are configured now.

    ``embedded``: how many documents have vectors of ``space`` (``provider/model``, the configured one), ``embedded_at``
    since when.
    """

    __slots__ = ("as_of", "complete", "current", "documents", "embedded", "embedded_at", "pending", "space")

    def __init__(self, home: Home, config: Config, connection: apsw.Connection) -> None:
        space = config.space
        embedded, embedded_at = f"embedded:{space}", f"embedded_at:{space}"
        known: dict[Any, Any] = dict(
            connection.execute(  # type: ignore[arg-type]
                "SELECT key, value FROM brain_state WHERE key IN ('complete', 'as_of', 'documents', ?, ?)",
                (embedded, embedded_at),
            ).fetchall()
        )
        self.space = space
        self.complete = "complete" in known
        self.current = known.get("complete") == fingerprint(config)
        self.as_of: int | None = known.get("as_of")
        self.documents: int = known.get("documents") or 0
        self.embedded: int = known.get(embedded) or 0
        self.embedded_at: int | None = known.get(embedded_at)
        self.pending = len(pulse.news(home, config))
        if not self.current:
            self.pending = max(1, self.pending)  # how many is not known: at least one

    def envelope(self) -> dict[str, Any]:
        """Return the ``freshness`` of an answer."""
        as_of = clock.iso(self.as_of) if self.as_of else None
        return {
            "lexical": {"fresh": self.pending == 0, "pending": self.pending, "as_of": as_of},
            "semantic": {
                "fresh": self.embedded_at is not None and self.embedded >= self.documents,
                "pending": max(0, self.documents - self.embedded),
                "as_of": clock.iso(self.embedded_at) if self.embedded_at else None,
            },
        }

    def waiting(self) -> str:
        """Return what an empty answer may lack, as an end to its reason; "" if everything is indexed."""
        said = ""
        if self.pending:
            said += f"; at least {self.pending} changed since the last index run and may hold it"
        if self.embedded and self.embedded < self.documents:
            from core.counting import counted

            said += f"; {counted(self.documents - self.embedded, 'document')} without vectors yet"
        return said


def mark(connection: apsw.Connection, config: Config) -> None:
    """Note that a run over every configured collection has ended."""
    rows = [("complete", fingerprint(config)), ("as_of", clock.now())]
    connection.executemany("INSERT OR REPLACE INTO brain_state VALUES(?, ?)", rows)


def fingerprint(config: Config) -> str:
    """Return the names, folders and masks of the collections as one text, to compare two configurations."""
    return "\n".join(
        "\t".join((name, folder.path, folder.pattern, *folder.ignore)) for name, folder in config.collections.items()
    )
