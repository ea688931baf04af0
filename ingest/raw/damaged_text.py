"""Text in a database that is no valid UTF-8: read with U+FFFD in place of the bytes, as in a file's lines, and counted.

SQLite keeps whatever bytes an application hands it as text (https://sqlite.org/invalidutf.html); apsw decodes them
strictly, and one such value would cost all rows of its database.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

import apsw

if TYPE_CHECKING:
    from collections.abc import Iterator


class Cursor(apsw.Cursor):
    """Rows as ever, until one has such text: the statement's rows from there on are read as bytes, and decoded."""

    _statement = ""
    _bindings: Any = None
    _given = 0
    _rest: Iterator[tuple[Any, ...]] | None = None

    def __init__(self, connection: apsw.Connection, replaced: set[bytes]) -> None:
        super().__init__(connection)
        self._replaced = replaced

    def execute(self, statements: str, bindings: Any = None, **options: Any) -> Cursor:
        """As apsw's, of one statement."""
        self._statement, self._bindings, self._given, self._rest = statements, bindings, 0, None
        super().execute(statements, bindings, **options)
        return self

    def __next__(self) -> Any:
        if self._rest is None:
            try:
                row = super().__next__()
            except UnicodeDecodeError:
                self._rest = self._as_bytes([f"c{number}" for number in range(len(self.get_description()))])
            else:
                self._given += 1
                return row
        return next(self._rest)

    def fetchone(self) -> Any:
        """The next row, or None."""
        return next(self, None)

    def _as_bytes(self, names: list[str]) -> Iterator[tuple[Any, ...]]:
        connection = self.get_connection()
        encoding = str(connection.pragma("encoding"))
        wanted = ", ".join(
            f"typeof({name}), iif(typeof({name}) = 'text', cast({name} as blob), {name})" for name in names
        )
        # Materialised: by the same plan, thus in the same order, as the rows that were given out already.
        query = (
            f"with found({', '.join(names)}) as materialized ({self._statement})"
            f" select {wanted} from found limit -1 offset {self._given}"
        )
        for row in apsw.Cursor(connection).execute(query, self._bindings):
            kinds, values = row[::2], row[1::2]
            yield tuple(
                self._decoded(value, encoding) if kind == "text" else value
                for kind, value in zip(kinds, values, strict=True)
            )

    def _decoded(self, data: bytes, encoding: str) -> str:
        try:
            return data.decode(encoding)
        except UnicodeDecodeError:
            self._replaced.add(hashlib.sha256(data).digest())
            return data.decode(encoding, "replace")


def bear(connection: apsw.Connection) -> set[bytes]:
    """Have ``connection`` read such text from now on; the set grows with digests of what was replaced."""
    replaced: set[bytes] = set()
    connection.cursor_factory = lambda found: Cursor(found, replaced)
    return replaced
