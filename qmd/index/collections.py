"""Collections: in the configuration, where people and programs change them, and in the index, where searches look.

The context of a document is what people wrote about its collection and its folders: the global context, then every
context with a prefix of the document's path, general before specific.
"""

from __future__ import annotations

import json

import apsw

from core.errors import BadInput
from qmd.index import catalogue, terms
from qmd.index.semantic.vectors import settle
from qmd.index.store import COUNT, Transaction
from qmd.settings import DEFAULT_GLOB, folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from qmd.settings import Config, Settings


class Stored:
    """A collection as the index has it. ``count`` is of active documents; ``latest`` their last change, or empty."""

    __slots__ = ("count", "latest", "name", "path", "pattern")

    def __init__(self, name: str, path: str, pattern: str, count: int, latest: str) -> None:
        self.name = name
        self.path = path
        self.pattern = pattern
        self.count = count
        self.latest = latest


def stored(connection: apsw.Connection) -> list[Stored]:
    """Return the index's collections, in the order they were added."""
    rows: list[Any] = connection.execute("SELECT name, path, pattern FROM store_collections ORDER BY rowid").fetchall()
    totals = catalogue.totals(connection)
    return [
        Stored(name, path, pattern, totals.get(name, (0, ""))[0], catalogue.last_change(connection, name))
        for name, path, pattern in rows
    ]


def portable(config: Config) -> dict[str, Any]:
    """Return a configuration as plain values that ``Config`` reads back."""
    data: dict[str, Any] = {
        "collections": {
            each.name: {
                "path": each.path,
                "pattern": each.pattern,
                "ignore": list(each.ignore),
                "context": each.context,
                "update": each.update,
                "includeByDefault": each.include_by_default,
            }
            for each in config.collections.values()
        },
        "global_context": config.global_context,
        "models": config.models,
        "embedding": config.embedding,
        "generation": config.generation,
        "rerank": config.reranking,
        "editor_uri": config.editor_uri,
    }
    return data


def sync(connection: apsw.Connection, config: Config, settings: Settings | None = None) -> bool:
    """Make the index's collections those of ``config``; returns whether they were not.

    ``settings`` say what the configuration's paths are relative to; without them paths are taken as they are.
    The note that the real qmd leaves of the configuration it last saw goes then, so that it looks for itself.
    """
    wanted = {
        each.name: (
            folder(settings, each.path) if settings else each.path,
            each.pattern,
            _packed(list(each.ignore)),
            int(each.include_by_default),
            each.update or None,
            _packed(each.context),
        )
        for each in config.collections.values()
    }
    have: dict[Any, Any] = {row[0]: tuple(row[1:]) for row in connection.execute("SELECT * FROM store_collections")}
    row = connection.execute("SELECT value FROM store_config WHERE key = 'global_context'").fetchone()
    if have == wanted and ((row[0] or "") if row else "") == config.global_context:
        return False
    with Transaction(connection):
        for name in have.keys() - wanted.keys():
            connection.execute("DELETE FROM store_collections WHERE name = ?", (name,))
        for name, values in wanted.items():
            if have.get(name) != values:
                connection.execute(
                    "INSERT INTO store_collections VALUES(?, ?, ?, ?, ?, ?, ?) ON CONFLICT(name) DO UPDATE SET"
                    " path = excluded.path, pattern = excluded.pattern, ignore_patterns = excluded.ignore_patterns,"
                    " include_by_default = excluded.include_by_default, update_command = excluded.update_command,"
                    " context = excluded.context",
                    (name, *values),
                )
        connection.execute("DELETE FROM store_config WHERE key IN ('global_context', 'config_hash')")
        if config.global_context:
            connection.execute("INSERT INTO store_config VALUES('global_context', ?)", (config.global_context,))
    return True


def add(settings: Settings, name: str, path: str, pattern: str = DEFAULT_GLOB) -> None:
    """Add a collection to the configuration's file. Raises BadInput if the file cannot be read or written."""
    from qmd import config_file  # late here and below: reading needs no YAML while the index has the configuration

    def edit(entries: Any) -> None:
        entries[name] = {"path": config_file.quoted(path), "pattern": config_file.quoted(pattern)}

    change(settings, edit)


def remove(settings: Settings, connection: apsw.Connection, name: str) -> tuple[int, int]:
    """Take a collection out of configuration and index; returns (documents, contents) deleted."""
    with Transaction(connection):
        connection.execute("DELETE FROM documents WHERE collection = ?", (name,))
        deleted = connection.changes()
        from qmd.index import cleanup  # a search reads contexts and must not load the writer

        cleaned = cleanup.release(connection)
        connection.execute("DELETE FROM store_collections WHERE name = ?", (name,))
        connection.execute("DELETE FROM brain_state WHERE key = ?", (f"updated:{name}",))
        connection.execute(COUNT)
        settle(connection)
    change(settings, lambda entries: entries.pop(name, None))
    return deleted, cleaned


def rename(settings: Settings, connection: apsw.Connection, old: str, new: str) -> None:
    """Give a collection another name, in configuration and index."""
    with Transaction(connection):
        connection.execute("UPDATE documents SET collection = ? WHERE collection = ?", (new, old))
        space_out(connection, new)
        connection.execute("UPDATE store_collections SET name = ? WHERE name = ?", (new, old))
        connection.execute(
            "UPDATE OR REPLACE brain_state SET key = ? WHERE key = ?", (f"updated:{new}", f"updated:{old}")
        )

    def edit(entries: Any) -> None:
        entries[new] = entries.pop(old)

    change(settings, edit)


def set_update(settings: Settings, name: str, command: str) -> None:
    """Set the command that runs before a collection is indexed; "" removes it."""
    from qmd import config_file

    change_one(
        settings,
        name,
        lambda entry: (
            entry.__setitem__("update", config_file.quoted(command)) if command else entry.pop("update", None)
        ),
    )


def set_included(settings: Settings, name: str, included: bool) -> None:
    """Let searches without ``-c`` look into a collection, or not."""
    change_one(
        settings,
        name,
        lambda entry: entry.pop("includeByDefault", None) if included else entry.__setitem__("includeByDefault", False),
    )


def change(settings: Settings, edit: Callable[[Any], object]) -> None:
    """Let ``edit`` change the mapping of collections in the configuration's file."""

    def inside(data: Any) -> None:
        if not data.get("collections"):
            data["collections"] = {}
        edit(data["collections"])

    change_file(settings, inside)


def change_one(settings: Settings, name: str, edit: Callable[[Any], object]) -> None:
    """Let ``edit`` change one collection's entry in the file. Raises BadInput where the file lacks it."""

    def inside(entries: Any) -> None:
        key = next((key for key in entries if str(key) == name), None)
        if key is None:
            raise BadInput(f"Collection not found: {name}")
        if entries[key] is None:
            entries[key] = {}
        edit(entries[key])

    change(settings, inside)


def change_file(settings: Settings, edit: Callable[[Any], None]) -> None:
    """Let ``edit`` change the configuration's file; of a brain, the home's own, begun as a copy of the shipped one."""
    path, template = settings.config_path, ""
    if settings.brain is not None:
        path, template = settings.brain.path("collections.yml"), settings.config_path
        settings.config_path = path
    from qmd import config_file

    config_file.change(path, edit, template)


def _packed(value: list[str] | dict[str, str]) -> str | None:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")) if value else None


def space_out(connection: apsw.Connection, name: str) -> None:
    """Put the CJK text of a collection's rows back as the index has it; the triggers copy it as it is written."""
    for identity, *row in catalogue.full_text(connection, name):
        if any(map(terms.has_cjk, row)):
            connection.execute(
                "INSERT OR REPLACE INTO documents_fts(rowid, filepath, title, body) VALUES(?, ?, ?, ?)",
                (identity, *map(terms.spaced_out, row)),
            )


class Contexts:
    """The contexts that an index knows, read once."""

    __slots__ = ("_by_collection", "_connection", "_global")

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection
        row = connection.execute("SELECT value FROM store_config WHERE key = 'global_context'").fetchone()
        self._global: str = (row[0] or "") if row else ""
        self._by_collection: dict[str, list[tuple[str, str]] | None] = {}

    def of(self, collection: str, path: str) -> str:
        """Return the context of a document, joined by empty lines; "" if there is none or the collection is unknown."""
        known = self._prefixes(collection)
        if known is None:
            return ""
        rooted = path if path.startswith("/") else f"/{path}"
        found = [self._global] if self._global else []
        found += [text for prefix, text in known if rooted.startswith(prefix)]
        return "\n\n".join(found)

    def _prefixes(self, collection: str) -> list[tuple[str, str]] | None:
        """Return (prefix with a leading slash, text), shortest first; None for an unknown collection."""
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
    """Return (collection, prefix, text) of every configured context; the global one first, under ``*``."""
    found = [("*", "/", config.global_context)] if config.global_context else []
    for collection in config.collections.values():
        found += [(collection.name, prefix, text) for prefix, text in collection.context.items()]
    return found
