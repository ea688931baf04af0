"""Atuin's history: where commands ran, how they ended, and who had them run where that was not the person."""

from __future__ import annotations

import os
import re
import time
from pathlib import Path
from typing import Any

import apsw
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from core.document import Document, split
from core.home import Home
from ingest.archive import archive
from ingest.sources.shell import source as shell
from tests.examples import examples
from tests.ingest.sources.test_shell import AT, body, ingest
from tests.ingest.transcripts import corpus, documents, from_the_archive_alone


def test_atuin_knows_where_and_how(home: Home, tmp_path: Path) -> None:
    connection = apsw.Connection(str(tmp_path / "history.db"))
    connection.execute("create table history(id text, timestamp int, exit int, command text, cwd text, deleted_at int)")
    rows = [(AT, 0, "ls", "/home/me/api", None), (AT + 1, 2, "make", "/home/me/api", None), (AT + 2, 0, "gone", "/", 5)]
    for at, code, command, folder, gone in rows:
        row = (at * 1_000_000_000, code, command, folder, gone)
        connection.execute("insert into history values('x', ?, ?, ?, ?, ?)", row)
    connection.close()
    (tmp_path / ".zsh_history").write_text(f": {AT}:0;ls\n")
    ingest(home, tmp_path)
    assert "- in /home/me/api\n- 09:14:03 $ ls\n- 09:14:04 $ make\n  ! Exit code 2\n" in body(home)
    assert body(home).count("$ ls") == 1
    assert split(corpus(home)["shell__2026-04-28.md"].decode())[0]["project"] == "/home/me/api"


ATUIN = (
    "create table history(id text, timestamp int, duration int, exit int, command text, cwd text, session text,"
    " hostname text, deleted_at int)"
)
AUTHORS = ("alter table history add column author text", "alter table history add column intent text")
KINDS = (*AUTHORS, "alter table history add column author_kind int")


def atuin(path: Path, *alterations: str, rows: list[dict[str, Any]]) -> Path:
    """A database as Atuin makes it, its first version altered as the later ones do; ``rows`` of what differs."""
    path.parent.mkdir(parents=True, exist_ok=True)
    connection = apsw.Connection(str(path))
    connection.execute("pragma synchronous=off; pragma journal_mode=memory").fetchall()
    for statement in (*(() if path.stat().st_size else (ATUIN,)), *alterations):
        connection.execute(statement).fetchall()
    for number, row in enumerate(rows):
        row = {"id": f"{number:032x}", "exit": 0, "cwd": "/home/me/api", "hostname": "mac:ellie", **row}
        row["timestamp"] = row.get("timestamp", AT + number) * 1_000_000_000
        names = ", ".join(row)
        connection.execute(f"insert into history({names}) values({', '.join('?' * len(row))})", tuple(row.values()))
    connection.close()
    past = time.time() - 60  # a reader waits for a database that was just written
    os.utime(path, (past, past))
    return path


def test_commands_of_agents_name_their_author(home: Home, tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [
        {"command": "git status", "author": "ellie"},
        {"command": "npm test", "author": "claude-code", "intent": "see what\nfails", "exit": 1, "cwd": "/tmp/a"},
        {"command": "npm ci", "author": "codex", "author_kind": 2, "cwd": "/tmp/a"},
        {"command": "ls", "author": "pi", "hostname": "raspberry:pi"},
        {"command": "pwd", "author": "pi", "hostname": "raspberry:pi", "author_kind": 2},
        {"command": "make", "author": "ellies-bot"},
        {"command": "make x", "author": "codex", "author_kind": 1},
        {"command": "make y", "author": "ellie", "author_kind": 2},
        {"command": "make z", "author": "  ", "author_kind": 7},
        {"command": "cat\na", "author": "opencode", "author_kind": 7},
        {"command": "old", "author": "box", "hostname": "box"},
        {"command": "older", "author": "box", "hostname": "box:unknown-user", "exit": -1, "cwd": "unknown"},
    ]
    atuin(tmp_path / "there/history.db", *KINDS, rows=rows)
    ingest(home, tmp_path)
    assert body(home).partition("\n- ")[2].splitlines() == [
        "in /home/me/api",
        "- 09:14:03 $ git status",
        "- in /tmp/a",
        "- 09:14:04 (claude-code) $ npm test",
        "  intent: see what fails",
        "  ! Exit code 1",
        "- 09:14:05 (codex) $ npm ci",
        "- in /home/me/api",
        "- 09:14:06 $ ls",
        "- 09:14:07 (pi) $ pwd",
        "- 09:14:08 (ellies-bot) $ make",
        "- 09:14:09 $ make x",
        "- 09:14:10 (agent) $ make y",
        "- 09:14:11 $ make z",
        "- 09:14:12 (opencode) $",
        "  ```sh",
        "  cat",
        "  a",
        "  ```",
        "- 09:14:13 $ old",
        "- 09:14:14 $ older",
    ]
    meta = split(corpus(home)["shell__2026-04-28.md"].decode())[0]
    assert (meta["authors"], meta["commands"]) == (
        ["agent", "claude-code", "codex", "ellies-bot", "opencode", "pi"],
        12,
    )
    before = corpus(home)
    assert from_the_archive_alone(home, "shell", tmp_path / "there") == before


def test_two_authors_are_two_commands_and_two_histories_one(home: Home, tmp_path: Path) -> None:
    rows = [{"command": "ls", "author": who, "timestamp": AT} for who in ("ellie", "codex")]
    atuin(tmp_path / "there/history.db", *AUTHORS, rows=rows)
    atuin(tmp_path / "there/other/history.db", rows=[{"command": "ls", "timestamp": AT}])
    (tmp_path / "there/.zsh_history").write_text(f": {AT}:0;ls\n")
    ingest(home, tmp_path)
    assert sorted(re.findall("^- .*ls$", body(home), re.M)) == ["- 09:14:03 $ ls", "- 09:14:03 (codex) $ ls"]
    before = corpus(home)
    assert from_the_archive_alone(home, "shell", tmp_path / "there") == before


def test_days_from_before_a_database_knew_of_authors_come_back_from_the_archive(home: Home, tmp_path: Path) -> None:
    path = tmp_path / "there/history.db"
    atuin(path, rows=[{"command": "first"}, {"command": "second", "timestamp": AT + 86_400, "id": "b"}])
    ingest(home, tmp_path)
    erase = "delete from history where command = 'first'"
    atuin(path, *KINDS, erase, rows=[{"command": "third", "author": "pi", "id": "c", "timestamp": AT + 2 * 86_400}])
    ingest(home, tmp_path)
    before = corpus(home)
    assert len(before) == 3
    assert from_the_archive_alone(home, "shell", tmp_path / "there") == before


def test_authors_and_intents_are_without_secrets(home: Home, tmp_path: Path) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    row = {"command": "push", "author": f"bot {secret}", "intent": f"with {secret}"}
    atuin(tmp_path / "there/history.db", *AUTHORS, rows=[row])
    ledger = ingest(home, tmp_path)
    assert sum(ledger.redacted.values()) == 2
    assert "(bot [redacted:github]) $ push\n  intent: with [redacted:github]\n" in body(home)
    packed = [Path(each).read_bytes() for each in archive.objects(home.path(archive.FOLDER))]
    assert secret.encode() not in b"".join(zstandard.ZstdDecompressor().decompress(each) for each in packed)
    before = corpus(home)
    assert from_the_archive_alone(home, "shell", tmp_path / "there") == before


@settings(max_examples=examples(30))
@given(odd=st.one_of(st.none(), st.integers(-5, 5), st.text(max_size=5), st.binary(max_size=5)), column=st.sampled_from(
    ["timestamp", "command", "cwd", "exit", "author", "intent", "author_kind", "hostname"]))  # fmt: skip
def test_no_value_of_a_column_stops_the_others(tmp_path_factory: pytest.TempPathFactory, odd: Any, column: str) -> None:
    path = tmp_path_factory.getbasetemp() / "any-history.db"
    path.unlink(missing_ok=True)
    atuin(path, *KINDS, rows=[{"command": each, "author": "codex"} for each in ("one", "two")])
    connection = apsw.Connection(str(path))
    connection.execute("pragma synchronous=off; pragma journal_mode=memory").fetchall()
    connection.execute(f"update history set {column} = ? where command = 'one'", (odd,)).fetchall()
    connection.close()
    os.utime(path, (AT, AT))
    made = [found for found in documents(shell.SOURCE, str(path)) if isinstance(found, Document)]
    assert any("(codex) $ two" in found.body for found in made)


@pytest.mark.parametrize("marked", [False, True])
def test_commands_of_excluded_folders_are_left_out_and_counted(home: Home, tmp_path: Path, marked: bool) -> None:
    client, api = tmp_path / "client", tmp_path / "api"
    client.mkdir()
    day = 86_400
    rows: list[dict[str, Any]] = [
        {"command": "make hidden", "cwd": str(client)},
        {"command": "make it hidden", "cwd": str(client)},
        {"command": "make hidden again", "cwd": str(client / "deep")},
        {"command": "make shown", "cwd": str(api)},
        {"command": "a hidden day", "cwd": str(client), "timestamp": AT + day},
    ]
    path = atuin(tmp_path / "there/history.db", rows=rows)
    ingest(home, path.parent)  # before there is a rule
    assert split(corpus(home)["shell__2026-04-28.md"].decode())[0]["project"] == str(client)
    if marked:
        (client / ".brain-ignore").touch()
        rule = ""
        atuin(path, rows=[{"id": "later", "command": "make more", "cwd": str(api), "timestamp": AT + 9}])
    else:
        rule = f"exclude: {{projects: ['{client}']}}\n"
    Path(home.path("collections.yml")).write_text(f"collections: {{brain: {{path: brain}}}}\n{rule}")
    ledger = ingest(home, path.parent)
    meta, text = split(corpus(home)["shell__2026-04-28.md"].decode())
    assert (meta["project"], meta["commands"]) == (str(api), 1 + marked)
    assert "hidden" not in text
    assert ledger.dropped == {"excluded: .brain-ignore" if marked else "excluded: project": 4}
    other = Home(str(tmp_path / "other"))
    other.make()
    Path(other.path("collections.yml")).write_text(f"collections: {{brain: {{path: brain}}}}\n{rule}")
    ingest(other, path.parent)
    assert list(corpus(other)) == ["shell__2026-04-28.md"]
    held = b"".join(archive.held(other.path("raw"), archive.read(other, "shell")[str(path)]))
    assert b"make shown" in held
    assert b"hidden" not in held


def test_a_history_of_excluded_folders_is_skipped_with_the_reason(home: Home, tmp_path: Path) -> None:
    Path(home.path("collections.yml")).write_text(
        "collections: {brain: {path: brain}}\nexclude: {projects: [/home/me/api]}\n"
    )
    atuin(tmp_path / "there/history.db", rows=[{"command": "make"}])
    ledger = ingest(home, tmp_path / "there")
    assert ledger.skipped == {"excluded: project": 1}
    assert corpus(home) == {}
