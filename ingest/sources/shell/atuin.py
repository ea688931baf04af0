"""Atuin's ``history.db``: the commands with where each ran, how it ended, and who had it run where that was no person.

``history`` has ``timestamp`` (ns), ``command``, ``cwd`` ("unknown" of what was imported), ``exit`` (-1: not known),
``id``, ``hostname`` (``host:user``), ``deleted_at``; since the spring of 2026 ``author`` (an agent's name where its
hooks tell Atuin, by default the user's) and ``intent`` (what for), since the autumn ``author_kind`` (1 a person, 2 an
agent, null where nobody said). Source: https://github.com/atuinsh/atuin, crates/atuin-client: migrations,
src/database.rs (``apply_author_filter``), src/history/builder.rs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from ingest.session.values import string

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    import apsw

TABLE = "history"
_USER, _AGENT = 1, 2
# Names by which Atuin itself knows an agent, where nothing says what an author is; an agent without a name.
_AGENTS = frozenset(("claude-code", "codex", "copilot", "opencode", "pi"))
_NAMELESS = "agent"
_UNKNOWN_FOLDER, _UNKNOWN_CODE, _UNKNOWN_USER = "unknown", -1, "unknown-user"


class Row(NamedTuple):
    """A command as it is read, and as the archive keeps it; ``timestamp`` in ns.

    ``author``: who had it run where that was not the person, else None; the last two are only kept of databases that
    know of authors.
    """

    timestamp: Any
    command: Any
    cwd: Any
    exit: Any
    id: Any
    author: str | None
    intent: Any

    @property
    def folder(self) -> str:
        """Where it ran, or ""."""
        cwd = string(self.cwd)
        return "" if cwd == _UNKNOWN_FOLDER else cwd

    @property
    def code(self) -> int:
        """What it ended with; 0 also where that is not known."""
        return self.exit if type(self.exit) is int and self.exit != _UNKNOWN_CODE else 0


def is_ours(columns: Collection[str]) -> bool:
    """Whether a table of these columns is Atuin's."""
    return {"timestamp", "command"} <= set(columns)


def kept(columns: Collection[str]) -> tuple[str, ...]:
    """The columns of a row that the archive keeps."""
    return Row._fields if "author" in columns else Row._fields[:5]


def rows(connection: apsw.Connection, columns: Collection[str]) -> Iterator[Row]:
    """The commands that were not deleted, oldest first. Raises apsw.Error."""

    def column(name: str, otherwise: str = "null") -> str:
        return name if name in columns else otherwise

    where = "where deleted_at is null" if "deleted_at" in columns else ""
    found = connection.execute(
        f"select timestamp, command, {column('cwd')}, {column('exit')}, id, {column('author')}, {column('intent')},"
        f" {column('author_kind')}, {column('hostname')} from {TABLE} {where} order by timestamp, id"
    )
    for at, command, cwd, code, name, author, intent, kind, host in found:
        yield Row(at, command, cwd, code, name, _other(string(author).strip(), kind, string(host)) or None, intent)


def _other(author: str, kind: Any, host: str) -> str:
    """Who had a command run where that was not the person, or ""; the user's own name, as an author, says nothing."""
    machine, _, user = host.partition(":")
    default = user if user and user != _UNKNOWN_USER else machine
    if kind == _AGENT:
        return author if author and (author != default or author in _AGENTS) else _NAMELESS
    return "" if kind == _USER or author == default else author
