"""Actions come and go with their document."""

from __future__ import annotations

import os
from pathlib import Path

import apsw

from qmd.index.cleanup import erase
from qmd.index.store import open_index
from tests.qmd.corpus import indexed, run, write

SESSION = """---
session_id: s
source: claude
date: 2026-04-28T09:14:03Z
turns: 1
---

## [1] assistant · 2026-04-28 09:15

- Bash: make {target}
"""


def subjects(connection: apsw.Connection) -> list[str]:
    return [subject for (subject,) in connection.execute("SELECT subject FROM brain_actions ORDER BY subject")]


def test_actions_follow_their_document(tmp_path: Path) -> None:
    connection, folder = indexed(tmp_path, {"a.md": SESSION.format(target="one"), "b.md": SESSION.format(target="two")})
    assert subjects(connection) == ["make one", "make two"]
    write(Path(folder.path), {"a.md": SESSION.format(target="three")}, age_s=30)
    run(connection, folder)
    assert subjects(connection) == ["make three", "make two"]
    Path(folder.path, "b.md").unlink()
    run(connection, folder)
    assert subjects(connection) == ["make three"]


def test_a_document_without_a_list_any_more_has_no_action(tmp_path: Path) -> None:
    connection, folder = indexed(tmp_path, {"a.md": SESSION.format(target="one")})
    without = SESSION.replace("- Bash: make {target}", "Nothing was run.")
    write(Path(folder.path), {"a.md": without}, age_s=30)
    run(connection, folder)
    assert subjects(connection) == []


def test_copies_of_one_text_have_their_own_actions(tmp_path: Path) -> None:
    connection, folder = indexed(tmp_path, {"a.md": SESSION.format(target="x"), "b.md": SESSION.format(target="x")})
    assert subjects(connection) == ["make x", "make x"]
    Path(folder.path, "a.md").unlink()
    run(connection, folder)
    assert subjects(connection) == ["make x"]


def test_no_byte_of_an_erased_action_is_left(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {"a.md": SESSION.format(target="quicksilver"), "b.md": SESSION.format(target="two")}
    connection, _ = indexed(tmp_path, files)
    erase(connection, [("notes", "a.md")])
    assert subjects(connection) == ["make two"]
    connection.close()
    for name in os.listdir(tmp_path):
        if name.startswith("index"):
            assert b"quicksilver" not in (tmp_path / name).read_bytes()


def test_an_index_of_an_earlier_version_gets_its_actions(tmp_path: Path) -> None:
    connection, folder = indexed(tmp_path, {"a.md": SESSION.format(target="one")})
    connection.execute("DROP TABLE brain_actions")
    connection.execute("UPDATE brain_state SET value = 3 WHERE key = 'index_version'")
    connection.close()
    connection = open_index(str(tmp_path / "index.sqlite"), write=True)
    run(connection, folder)
    assert subjects(connection) == ["make one"]
