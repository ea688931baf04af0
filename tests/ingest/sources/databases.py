"""Databases as tools write them, for tests of their sources."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import apsw


def database(path: Path, **tables: list[dict[str, Any]]) -> Path:
    """Write a database of the tables' rows; lists and objects are JSON."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    connection = apsw.Connection(str(path))
    with connection:
        for name, rows in tables.items():
            columns = list(dict.fromkeys(column for row in rows for column in row)) or ["id"]
            connection.execute(f"create table {name} ({', '.join(columns)})")
            for row in rows:
                cells = [row.get(column) for column in columns]
                values = [json.dumps(cell) if isinstance(cell, dict | list) else cell for cell in cells]
                connection.execute(f"insert into {name} values ({', '.join('?' * len(values))})", values)
    connection.close()
    return path
