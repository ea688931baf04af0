"""What people wrote about collections and folders: the context that a hit carries.

A document's context is the global one and every one whose prefix its path begins with, general before specific.
"""

from __future__ import annotations

import apsw

TYPE_CHECKING = False
if TYPE_CHECKING:
    from qmd.settings import Config


class Contexts:
    """The contexts that an index knows, read once."""

    __slots__ = ("_by_collection", "_connection", "_global")

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection
        row = connection.execute("SELECT value FROM store_config WHERE key = 'global_context'").fetchone()
        self._global: str = (row[0] or "") if row else ""
        self._by_collection: dict[str, list[tuple[str, str]] | None] = {}

    def of(self, collection: str, path: str) -> str:
        """The context of a document, joined by empty lines; empty where there is none or the collection is unknown."""
        known = self._prefixes(collection)
        if known is None:
            return ""
        rooted = path if path.startswith("/") else f"/{path}"
        found = [self._global] if self._global else []
        found += [text for prefix, text in known if rooted.startswith(prefix)]
        return "\n\n".join(found)

    def _prefixes(self, collection: str) -> list[tuple[str, str]] | None:
        """(prefix with a leading slash, text), shortest first; None for a collection that the index does not have."""
        if collection not in self._by_collection:
            self._by_collection[collection] = self._read(collection)
        return self._by_collection[collection]

    def _read(self, collection: str) -> list[tuple[str, str]] | None:
        row = self._connection.execute("SELECT context FROM store_collections WHERE name = ?", (collection,)).fetchone()
        if row is None:
            return None
        if not row[0]:
            return []
        import json

        stored = json.loads(row[0])
        found = [
            (prefix if prefix.startswith("/") else f"/{prefix}", str(text))
            for prefix, text in (stored.items() if isinstance(stored, dict) else ())
        ]
        return sorted(found, key=lambda item: len(item[0]))


def listed(config: Config) -> list[tuple[str, str, str]]:
    """(collection, prefix, text) of every configured context; the global one first, under ``*``."""
    found = [("*", "/", config.global_context)] if config.global_context else []
    for collection in config.collections.values():
        found += [(collection.name, prefix, text) for prefix, text in collection.context.items()]
    return found
