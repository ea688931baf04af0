"""Nothing secret leaves the raw record: not into the document, not into the state, and it is counted."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
import zstandard

from core.home import Home
from ingest.pipeline import run
from ingest.raw import records

TOKEN = "gh" + "p_" + "a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6q7R8"


def _line(text: str, uuid: str = "u1") -> dict[str, object]:
    return {
        "type": "user",
        "uuid": uuid,
        "sessionId": "5f0c2a1e-0000-4000-8000-000000000001",
        "timestamp": "2026-04-28T09:14:03.000Z",
        "cwd": "/home/mira/code",
        "message": {"role": "user", "content": text},
    }


def test_records_are_redacted_and_their_digest_is_of_the_raw_bytes() -> None:
    import hashlib

    raw = b"".join(json.dumps(_line(f"use {TOKEN}", uuid)).encode() + b"\n" for uuid in ("u1", "u2"))
    source = records.Records(io.BytesIO(raw), "x.jsonl")
    found = [item[1]["message"]["content"] for item in source if isinstance(item, tuple)]
    assert found == ["use [redacted:github]"] * 2
    assert source.redacted == {"github": 2}
    assert source.digest() == hashlib.sha256(raw).hexdigest()


def test_records_joined_on_one_line_are_redacted() -> None:
    raw = (json.dumps(_line(TOKEN)) + json.dumps(_line("plain"))).encode() + b"\n"
    found = [item[1]["message"]["content"] for item in records.Records(io.BytesIO(raw), "x") if isinstance(item, tuple)]
    assert found == ["[redacted:github]", "plain"]


def test_a_document_and_the_state_hold_no_secret(home: Home, tmp_path: Path) -> None:
    folder = tmp_path / "claude" / "projects" / "code"
    folder.mkdir(parents=True)
    text = f"Deploy with {TOKEN} please. <private>My salary is 1,234.</private> Thanks."
    (folder / "s.jsonl").write_text(json.dumps(_line(text)) + "\n", encoding="utf-8")
    ledger = run.run(home, "claude", [str(tmp_path / "claude")], trust_stat=False)
    (document,) = Path(home.path("brain")).glob("*.md")
    said = document.read_text(encoding="utf-8")
    assert "Deploy with [redacted:github] please.  Thanks." in said
    assert ledger.as_dict()["redacted"] == {"github": 1, "private": 1}
    held = b"".join(path.read_bytes() for path in Path(home.root).rglob("*") if path.is_file())
    assert TOKEN.encode() not in held
    assert b"salary" not in held
    again = run.run(home, "claude", [str(tmp_path / "claude")], trust_stat=True)
    assert (again.unchanged, again.redacted) == (1, {"github": 1, "private": 1})


def test_redaction_precedes_truncation(home: Home, tmp_path: Path) -> None:
    folder = tmp_path / "claude" / "projects" / "code"
    folder.mkdir(parents=True)
    limit = 256 * 1024
    text = "x " * (limit // 2 - 10) + TOKEN  # the cut would fall into the token
    (folder / "s.jsonl").write_text(json.dumps(_line(text)) + "\n", encoding="utf-8")
    run.run(home, "claude", [str(tmp_path / "claude")], trust_stat=False)
    (document,) = Path(home.path("brain")).glob("*.md")
    assert TOKEN[:8] not in document.read_text(encoding="utf-8")


def test_nesting_without_end_is_a_failure_not_a_crash() -> None:
    deep = b'{"password": ' + b"[" * 700 + b'"' + TOKEN.encode() + b'"' + b"]" * 700 + b"}\n"
    items = list(records.Records(io.BytesIO(deep), "x"))
    held = json.dumps([item[1] if isinstance(item, tuple) else item.reason for item in items])
    assert TOKEN not in held


def test_the_archive_holds_no_secret_that_a_later_field_of_the_same_name_hides(home: Home, tmp_path: Path) -> None:
    folder = tmp_path / "claude" / "projects" / "code"
    folder.mkdir(parents=True)
    line = json.dumps(_line("hello")).replace('"content": "hello"', f'"content": "{TOKEN}", "content": "hello"')
    (folder / "s.jsonl").write_text(line + "\n", encoding="utf-8")
    ledger = run.run(home, "claude", [str(tmp_path / "claude")], trust_stat=False)

    assert ledger.as_dict()["redacted"] == {"github": 1}
    packed = list(Path(home.root, "raw").rglob("*.zst"))
    held = b"".join(zstandard.ZstdDecompressor().decompress(path.read_bytes()) for path in packed)
    assert b"hello" in held
    assert TOKEN.encode() not in held


_SAID = {"role": "user", "content": "hello there"}
# Source → a session whose records name none, and where its file is.
_NAMELESS = {
    "claude": ("projects/code/{}.jsonl", {"type": "user", "timestamp": "2026-04-28T09:14:03.000Z", "message": _SAID}),
    "codex": (
        "rollout-{}.jsonl",
        {
            "timestamp": "2026-04-28T09:14:04.000Z",
            "type": "event_msg",
            "payload": {"type": "user_message", "message": "hello there"},
        },
    ),
    "pi": (
        "agent/{}.jsonl",
        {"type": "message", "id": "a", "timestamp": "2026-04-28T09:14:03.000Z", "message": _SAID},
    ),
    "gemini": (
        "chats/session-{}.json",
        {
            "sessionId": "",
            "projectHash": "a",
            "startTime": "2026-04-28T09:14:03.000Z",
            "messages": [{"id": "1", "type": "user", "content": "hello there"}],
        },
    ),
    "amp": ("threads/{}.json", {"created": 1, "messages": [{**_SAID, "content": [{"type": "text", "text": "hello"}]}]}),
}  # fmt: skip


@pytest.mark.parametrize("source", _NAMELESS)
def test_a_file_that_is_named_by_a_token_makes_a_document_that_is_not(home: Home, tmp_path: Path, source: str) -> None:
    name, record = _NAMELESS[source]
    path = tmp_path / "data" / name.format(TOKEN)
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(record) + "\n", encoding="utf-8")
    run.run(home, source, [str(tmp_path / "data")], trust_stat=False)

    (document,) = Path(home.path("brain")).glob("*.md")
    assert TOKEN not in document.name
    assert TOKEN not in document.read_text(encoding="utf-8")
