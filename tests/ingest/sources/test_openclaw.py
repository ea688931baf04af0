"""OpenClaw since 2026.9: sessions in cold storage, and facts of sessions in its database."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import apsw
import pytest
import zstandard

from core.home import Home
from ingest.pipeline.ledger import Ledger
from ingest.pipeline.run import run
from tests.ingest.sources.test_pi import Tree, text, tool
from tests.ingest.transcripts import corpus, document, from_the_archive_alone
from tests.ingest.transcripts import lines as jsonl

PASSWORD = "Zt4" + "qW9" + "xLm2Vb7"
DATABASE = "agents/main/agent/openclaw-agent.sqlite"
COLD = f"agents/main/sessions/cold/{'ab' * 32}.jsonl.zst"


def ingest(home: Home, folder: Path) -> Ledger:
    return run(home, "openclaw", [str(folder)], trust_stat=False)


def cold(tree: Tree, session: str) -> bytes:
    """A transcript as cold storage has it: rows of several tables, a line each."""
    rows: list[dict[str, Any]] = [{"kind": "header", "version": 1, "sessionId": session, "generation": "g"}]
    for seq, entry in enumerate(tree.records):
        rows.append({"kind": "event", "row": {"seq": seq, "event_json": json.dumps(entry), "created_at": 1}})
        rows.append({"kind": "identity", "row": {"event_id": entry["id"], "seq": seq}})
    rows.append({"kind": "fts", "row": {"text": "A word of the index alone", "message_id": "e1"}})
    return zstandard.compress("".join(json.dumps(row) + "\n" for row in rows).encode())


def database(folder: Path, *trees: tuple[str, Tree]) -> apsw.Connection:
    path = folder / DATABASE
    path.parent.mkdir(parents=True)
    connection = apsw.Connection(str(path))
    connection.execute(
        """
        create table transcript_events(session_id text, seq integer, event_json text, event_zstd blob,
                                       event_utf8_bytes integer, navigation_json text);
        create table session_windows(session_id text primary key, session_key text, reason text);
        create table session_nodes(session_key text primary key, current_session_id text, entry_json text, label text,
                                   spawned_by text, fork_source_session_id text);
        create table session_transcript_archives(session_id text, generation text, archive_blob blob);
        create table session_transcript_cold_archives(session_id text, archive_name text, storage text,
                                                      archive_blob blob);
        """
    ).fetchall()
    for session, tree in trees:
        connection.execute("insert into session_windows values(?, ?, 'initial')", (session, f"agent:main:{session}"))
        for seq, entry in enumerate(tree.records):
            connection.execute(
                "insert into transcript_events(session_id, seq, event_json) values(?, ?, ?)",
                (session, seq, json.dumps(entry)),
            )
    return connection


def test_a_session_in_cold_storage_is_read_from_its_file_and_from_the_archive(home: Home, tmp_path: Path) -> None:
    tree = Tree("s-cold").user(f"Use password={PASSWORD} and <private>nobody's").said(text("Done."))
    (tmp_path / COLD).parent.mkdir(parents=True)
    (tmp_path / COLD).write_bytes(cold(tree, "s-cold"))
    ledger = ingest(home, tmp_path)
    assert (ledger.ingested, ledger.unknown, ledger.failed_records) == (1, {}, 0)
    body = document(home, "openclaw__s-cold.md")[1]
    assert "Use password=[redacted:password] and" in body
    assert "Done." in body
    assert "nobody" not in body
    assert "of the index alone" not in body
    assert ingest(home, tmp_path).unchanged == 1
    before = corpus(home)
    assert from_the_archive_alone(home, "openclaw", tmp_path / "agents") == before


def test_a_failed_command_is_marked_although_its_call_succeeded(home: Home, tmp_path: Path) -> None:
    tree = Tree().user("Go").said(tool("exec", command="make"), tool("exec", "t2", command="ls"))
    tree.result("t1", "boom\n\n(Command exited with code 2)", error=False).result("t2", "a\n", error=False)
    for record, code in zip(tree.records[-2:], (2, 0), strict=True):
        record["message"].update(toolName="exec", details={"status": "completed", "exitCode": code})
    tree.save(tmp_path / "agents/main/sessions/s1.jsonl")
    ingest(home, tmp_path)
    (body,) = corpus(home).values()
    assert [line for line in body.decode().split("\n") if line.startswith("  !")] == ["  ! Exit code 2", "  ! boom"]


def test_a_damaged_line_of_cold_storage_costs_that_line(home: Home, tmp_path: Path) -> None:
    tree = Tree("s-cold").user("First").user("Second")
    lines = zstandard.decompress(cold(tree, "s-cold")).splitlines(keepends=True)
    lines[3] = lines[3][:40] + b"\n"
    (tmp_path / COLD).parent.mkdir(parents=True)
    (tmp_path / COLD).write_bytes(zstandard.compress(b"".join(lines)))
    assert ingest(home, tmp_path).failed_records == 1
    assert "Second" in document(home, "openclaw__s-cold.md")[1]


def test_a_session_of_which_the_database_has_some_and_its_archives_some_is_one(home: Home, tmp_path: Path) -> None:
    whole = Tree("s0").user("First").said(text("One.")).user("Second").said(text("Two."))
    head, early, late = whole.records[0], whole.records[1:3], whole.records[3:]
    old, new = Tree("s0"), Tree("s0")
    old.records, new.records = [head, *early], [head, *late]
    connection = database(tmp_path, ("s0", new))
    connection.execute(
        "insert into session_transcript_cold_archives values('s0', 'x', 'sqlite', ?)", (cold(old, "s0"),)
    )
    connection.execute("insert into session_transcript_cold_archives values('s1', 'y', 'file', null)")
    connection.close()
    ledger = ingest(home, tmp_path)
    assert (ledger.documents, ledger.failed_records, ledger.unknown) == (1, 0, {})
    body = document(home, "openclaw__s0.md")[1]
    assert [body.find(said) for said in ("First", "One.", "Second", "Two.")] == sorted(
        body.find(said) for said in ("First", "One.", "Second", "Two.")
    )
    assert "First" in body
    before = corpus(home)
    assert from_the_archive_alone(home, "openclaw", tmp_path / "agents") == before


def test_a_subagent_of_a_database_has_its_parent_and_its_label(home: Home, tmp_path: Path) -> None:
    connection = database(tmp_path, ("s0", Tree("s0").user("Ask somebody")), ("s1", Tree("s1").user("Look it up")))
    nodes = [
        ("agent:main:s0", "s0", "{}", f"The race password={PASSWORD}", None, "older"),
        ("agent:main:s1", "s1", "{}", "Looking up", "agent:main:s0", None),
    ]
    connection.executemany("insert into session_nodes values(?, ?, ?, ?, ?, ?)", nodes)
    connection.close()
    ingest(home, tmp_path)
    meta = document(home, "openclaw__s0.md")[0]
    assert (meta["title"], meta["forked_from"]) == ("The race password=[redacted:password]", "older")
    assert "parent" not in meta
    assert document(home, "openclaw__s1.md")[0]["parent"] == "s0"
    before = corpus(home)
    assert from_the_archive_alone(home, "openclaw", tmp_path / "agents") == before


@pytest.mark.parametrize("suffix", ["", f".{'0a' * 16}.zst"])
def test_an_archive_of_a_reset_session_is_read_compressed_or_not(home: Home, tmp_path: Path, suffix: str) -> None:
    data = "".join(json.dumps(entry) + "\n" for entry in Tree("s3").user("Before the reset").records).encode()
    name = tmp_path / f"s3.jsonl.reset.2026-10-01T09-00-00.000Z{suffix}"
    name.write_bytes(zstandard.compress(data) if suffix else data)
    assert ingest(home, tmp_path).ingested == 1
    assert "Before the reset" in document(home, "openclaw__s3.md")[1]


COPIES = ("pre-doctor-branch-repair-2026-05-02T00-00-00-000Z.bak", "broken-1777000000", "bak")
ASIDE = ("bak-1220-1777000000", "lock", "3f2a.tmp", "codex-app-server.json", "codex-app-server-binding.json.bak")


def test_records_that_only_a_copy_of_a_transcript_has_are_read_once(home: Home, tmp_path: Path) -> None:
    """Doctor's repair leaves out a branch and keeps it in a copy: openclaw/openclaw issue 127222."""
    whole = Tree("s0").user("How is the kettle wired?").said(text("Brown to live."))
    head = list(whole.records)
    whole.user("And the earth?").said(text("Green and yellow."))
    live = Tree("s0")
    live.records = head
    name = tmp_path / "agents" / "main" / "sessions" / "s0.jsonl"
    name.parent.mkdir(parents=True)
    name.write_bytes(jsonl(*live.records))
    for copy in COPIES:
        name.with_name(f"{name.name}.{copy}").write_bytes(jsonl(*whole.records))
    for aside in ASIDE:
        name.with_name(f"{name.name}.{aside}").write_bytes(b'{"pid": 1}')
    ledger = ingest(home, tmp_path)
    assert (ledger.seen, ledger.documents, ledger.failed_records) == (1 + len(COPIES), 1, 0)
    body = document(home, "openclaw__s0.md")[1]
    assert [body.count(f"\n{said}") for said in ("How is", "Brown", "And the", "Green")] == [1, 1, 1, 1]
    before = corpus(home)
    assert from_the_archive_alone(home, "openclaw", tmp_path / "agents") == before
