"""Files that are one JSON value: what the crash of a machine leaves behind the last write costs nothing."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from core.home import Home
from ingest.pipeline.run import run
from tests.ingest.sources import test_gemini, test_opencode
from tests.ingest.transcripts import corpus, from_the_archive_alone

HOLE = bytes(4096)
AT = 1_777_366_800  # seconds
THREAD = {"id": "T-1", "messages": [{"role": "user", "content": [{"type": "text", "text": "Why?"}], "messageId": 0}]}
PROMPT = {"sessionId": "s1", "messageId": 0, "type": "user", "message": "Why?", "timestamp": "2026-04-28T09:00:00.000Z"}


def _gemini(folder: Path) -> str:
    test_gemini.whole(folder / "chats/session-2026-04-28T09-00-s1.json", test_gemini.user("m1", "Why?"))
    return "gemini"


def _prompts(folder: Path) -> str:
    folder.mkdir()
    (folder / "logs.json").write_text(json.dumps([PROMPT]))
    return "gemini"


def _export(folder: Path) -> str:
    test_opencode.export(folder / "full.json")
    return "opencode"


def _tree(folder: Path) -> str:
    test_opencode.tree(folder)
    return "opencode"


def _amp(folder: Path) -> str:
    folder.mkdir()
    (folder / "T-1.json").write_text(json.dumps(THREAD))
    return "amp"


@pytest.mark.parametrize("make", [_gemini, _prompts, _export, _tree, _amp])
@pytest.mark.parametrize("secret", [False, True], ids=["as it is", "with a secret"])
@pytest.mark.parametrize("redact", ["true", "false"], ids=["", "kept raw"])
def test_nul_bytes_behind_a_document_cost_nothing(
    home: Home, tmp_path: Path, make: object, secret: bool, redact: str
) -> None:
    assert callable(make)
    Path(home.path("collections.yml")).write_text(
        f"collections: {{brain: {{path: brain}}}}\narchive: {{redact: {redact}}}\n"
    )
    folder = tmp_path / "there"
    source = make(folder)
    for path in filter(Path.is_file, folder.rglob("*")):
        if secret:
            path.write_text(path.read_text().replace("Why", "Why export PASSWORD=Zx9!kqLw33vTn "))
        os.utime(path, (AT, AT))
    run(home, source, [str(folder)], trust_stat=False)
    whole = corpus(home)
    assert whole
    for path in filter(Path.is_file, folder.rglob("*")):
        path.write_bytes(path.read_bytes() + HOLE)
        os.utime(path, (AT, AT))  # what says no time of its own has that of its file
    ledger = run(home, source, [str(folder)], trust_stat=False, rebuild=True)
    assert (ledger.failed_files, ledger.failed_records) == (0, 0)
    assert ledger.recovered == {"NUL bytes removed": 1}
    assert corpus(home) == whole
    assert from_the_archive_alone(home, source, folder) == whole


def test_nothing_but_nul_bytes_is_no_document(home: Home, tmp_path: Path) -> None:
    path = tmp_path / "chats/session-2026-04-28T09-00-s1.json"
    path.parent.mkdir()
    path.write_bytes(HOLE)
    ledger = run(home, "gemini", [str(tmp_path)], trust_stat=False)
    assert (ledger.failed_files, ledger.recovered) == (1, {})


def test_a_part_of_nothing_but_nul_bytes_is_a_failure(home: Home, tmp_path: Path) -> None:
    test_opencode.tree(tmp_path)
    (tmp_path / "storage/part/msg_2/prt_4.json").write_bytes(HOLE)
    ledger = run(home, "opencode", [str(tmp_path)], trust_stat=False)
    assert (ledger.ingested, ledger.failed_records) == (1, 1)


@pytest.mark.parametrize("make", [_gemini, _prompts, _amp])
def test_bytes_that_are_no_text_are_replaced_and_counted(home: Home, tmp_path: Path, make: object) -> None:
    assert callable(make)
    folder = tmp_path / "there"
    source = make(folder)
    (path,) = (path for path in folder.parent.rglob("*.json") if b"Why?" in path.read_bytes())
    path.write_bytes(path.read_bytes().replace(b"Why?", b"Why\xff?"))
    ledger = run(home, source, [str(folder)], trust_stat=False)
    assert (ledger.failed_files, ledger.recovered) == (0, {"invalid UTF-8 replaced": 1})
    assert "Why\ufffd?".encode() in b"".join(corpus(home).values())
