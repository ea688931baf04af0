"""Gemini CLI: documents, journals in which later lines change earlier ones, and conversations that a person saved."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.home import Home
from ingest.pipeline.run import run
from ingest.sources.gemini.parser import shell_exit_code
from ingest.sources.gemini.source import SOURCE
from runtime.asking.envelope import resume
from tests.ingest.sources.cases import Case, cases, check, document, ingest, odd_values, parsed
from tests.ingest.transcripts import corpus, from_the_archive_alone

Record = dict[str, Any]
HEAD: Record = {"sessionId": "s1", "projectHash": "0" * 64, "startTime": "2026-04-28T09:00:00.000Z", "kind": "main"}


def call(output: str = "ok", **fields: Any) -> Record:
    response = {"functionResponse": {"id": "c", "name": "run_shell_command", "response": {"output": output}}}
    made: Record = {"id": "c", "name": "run_shell_command", "args": {"command": "npm test"}, "status": "success"}
    return {**made, "result": [response], **fields}


def user(name: str, content: Any, **fields: Any) -> Record:
    return {"id": name, "timestamp": "2026-04-28T09:00:01.000Z", "type": "user", "content": content, **fields}


def said(name: str, content: Any, **fields: Any) -> Record:
    at = "2026-04-28T09:00:02.000Z"
    return {"id": name, "timestamp": at, "type": "gemini", "content": content, "model": "g-1", **fields}


def journal(path: Path, *records: Record | str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = (record if isinstance(record, str) else json.dumps(record) for record in (HEAD, *records))
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def whole(path: Path, *messages: Record, **fields: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({**HEAD, **fields, "messages": list(messages)}, indent=1), encoding="utf-8")
    return path


def completed(record: Any) -> Any:
    """Return a record of a case with everything that the case leaves out."""
    if isinstance(record, list):
        return [completed(each) for each in record]
    if not isinstance(record, dict):
        return record
    made = dict(record)
    for key in made.keys() & {"$set", "messages"}:
        made[key] = completed(made[key])
    if "type" not in made:
        return made
    if "toolCalls" in made:
        made["toolCalls"] = [call(**each) for each in made["toolCalls"]]
    return {**(user if made["type"] == "user" else said)(made["id"], made["content"]), **made}


@pytest.mark.parametrize("case", cases("gemini"))
def test_a_journal_says(tmp_path: Path, case: Case) -> None:
    path = journal(tmp_path / case.get("path", "session-x.jsonl"), *(completed(record) for record in case["records"]))
    check(case, parsed(SOURCE, path))


def test_a_document_and_a_journal_give_the_same_bytes(tmp_path: Path) -> None:
    thoughts = [{"subject": "S", "description": "D"}]
    messages = [user("a", "Why?"), said("b", "So.", toolCalls=[call()], thoughts=thoughts)]
    found = parsed(SOURCE, whole(tmp_path / "one/session-1.json", *messages))
    ((_, body),) = found.documents.values()
    assert "Why?\n\n## [2] assistant · 2026-04-28 09:00\n\nSo.\n\n- run_shell_command: npm test\n" in body
    assert "### reasoning\n\n**S** D\n" in body
    assert parsed(SOURCE, journal(tmp_path / "two/session-1.jsonl", *messages)).documents == found.documents


def test_messages_that_were_rewound_do_not_come_back_from_an_older_copy(home: Home, tmp_path: Path) -> None:
    talk = [user("a", "One"), said("b", "Two"), user("c", "Three")]
    whole(tmp_path / "session.json", *talk)
    late = user("d", "Four", timestamp="2026-04-28T10:00:00.000Z")
    journal(tmp_path / "session.jsonl", *talk, {"$rewindTo": "c"}, late)
    ledger = ingest(home, "gemini", tmp_path)
    assert (ledger.ingested, ledger.documents, ledger.written) == (2, 1, 1)
    body = document(home, "gemini__s1")[1]
    assert [word for word in ("Two", "Three", "Four") if word in body] == ["Two", "Four"]


@pytest.mark.parametrize("how", ["marker", "registry", "hash"])
def test_the_project_is_found_beside_the_sessions(tmp_path: Path, how: str) -> None:
    place = "/home/me/api"
    digest = hashlib.sha256(place.encode()).hexdigest()
    path = tmp_path / f".gemini/tmp/{digest if how == 'hash' else 'api'}/chats/session-1.json"
    whole(path, user("a", "Why?"), projectHash=digest)
    if how == "marker":
        (path.parent.parent / ".project_root").write_text(place)
    else:
        (tmp_path / ".gemini/projects.json").write_text(json.dumps({"projects": {"/x": "x", place: "api"}}))
    assert parsed(SOURCE, path).documents["s1"][0]["project"] == place


@pytest.mark.parametrize(("place", "text"), [("/home/me/api", "See `/home/me/api/src/a.py`."),
    ("C:\\Users\\me\\api", "See C:\\Users\\me\\api\\src\\a.py."), ("/home/me/api", "See /home/me/apis/a.py."),
    ("/home/me/api", "/home/me/api"),
    ("/home/me/api", "In _/home/me/api_!"), ("/home/me/api_", "In /home/me/api_ it")])  # fmt: skip
def test_a_folder_that_is_mentioned_is_recognised_by_its_digest(tmp_path: Path, place: str, text: str) -> None:
    digest = hashlib.sha256(place.encode()).hexdigest()
    path = whole(tmp_path / f"tmp/{digest}/chats/session-1.json", user("u1", text), projectHash=digest)
    assert parsed(SOURCE, path).documents["s1"][0].get("project") == (None if "apis" in text else place)


def test_sessions_of_the_server_behind_the_editors_share_a_name_and_are_several(home: Home, tmp_path: Path) -> None:
    made = []
    for minute in ("35", "50"):
        head = {"sessionId": "a2a-server", "startTime": f"2026-04-28T09:{minute}:00.120Z"}
        path = tmp_path / f"chats/session-2026-04-28T09-{minute}-a2a-serv.jsonl"
        journal(path, head, user(f"u{minute}", "Why?"), {**head, "startTime": "2026-04-28T09:59:00.000Z"})
        path.write_text(path.read_text().partition("\n")[2])
        ((meta, _),) = parsed(SOURCE, path).documents.values()
        made.append(meta["session_id"])
        assert resume(meta, home) is None
    assert made == ["a2a-server:2026-04-28T09:35:00.120Z", "a2a-server:2026-04-28T09:50:00.120Z"]


@pytest.mark.parametrize(("text", "code"), [("2", 2), ("-1", -1), ("0", 0), ("3221225477", 3221225477), ("--5", 0),
    ("²", 0), ("٣", 0), ("", 0), pytest.param("9" * 5000, 0, id="many")])  # fmt: skip
def test_an_exit_code_is_a_number(text: str, code: int) -> None:
    assert shell_exit_code(f"Output: x\nExit Code: {text}") == code


@given(
    odd_values(
        "id type content text toolCalls thoughts result messages updates removeIds orderIds tokens functionResponse"
    ),
    st.sampled_from(["$set", "$patch", "$rewindTo", "content", "toolCalls", "thoughts"]),
)
def test_no_shape_of_a_line_stops_the_file(tmp_path_factory: pytest.TempPathFactory, odd: Any, where: str) -> None:
    record = {where: odd} if where.startswith("$") else {**said("b", "x"), where: odd}
    path = journal(tmp_path_factory.getbasetemp() / "x.jsonl", user("a", "Why?"), record, user("z", "Still here"))
    assert "Still here" in parsed(SOURCE, path).documents["s1"][1]


def test_every_sample_is_accounted_for(home: Home, shared: Path) -> None:
    first = ingest(home, "gemini", shared / "samples/gemini")
    assert (first.seen, first.ingested, first.unknown, first.failed_records) == (4, 4, {}, 0)
    second = ingest(home, "gemini", shared / "samples/gemini-synthetic")
    assert (second.seen, second.ingested, second.skipped) == (4, 3, {"not a Gemini CLI session": 1})


# Conversations that a person saved: kept if their session is gone, and left out if its transcript has all of them

SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
CONTEXT = "This is the Gemini CLI. We are setting up the context for our chat.\nToday's date is Monday."


def content(role: str, *parts: Any) -> Record:
    return {"role": role, "parts": [{"text": part} if isinstance(part, str) else part for part in parts]}


def ran(command: str, response: Record, **named: str) -> tuple[Record, Record]:
    made = {"name": "run_shell_command", "args": {"command": command}, **named}
    given = {"name": "run_shell_command", "response": response, **named}
    return content("model", "I look.", {"functionCall": made}), content("user", {"functionResponse": given})


BEGUN = [
    content("user", CONTEXT),
    content("model", "Got it. Thanks for the additional context!"),
    content("user", "Why does it fail?\n\nSometimes, “at night”."),
    *ran("npm test", {"error": "no such file"}, id="c1"),
    *ran("npm ci", {"output": "Output: x\nExit Code: 3"}),
    content("user", "Here is the user's editor context as a JSON object. This is for your information only.\n```json"),
    content("model", {"thought": True, "text": "Hm."}, "A lock is missing."),
]
ON = [content("user", "Mend it"), content("model", "Mended.")]
BACK = [content("user", "Write a test"), content("model", "Written.")]


def save(folder: Path, history: Any, tag: str = "the%20lock") -> Path:
    path = folder / f"checkpoint-{tag}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(history, indent=2, ensure_ascii=False), encoding="utf-8")
    return path


def session(folder: Path, *more: Record) -> Path:
    """Write the transcript of the conversation in ``BEGUN``."""
    prompt = user("m1", "Why does it fail?\n\nSometimes, “at night”.")
    answers = (said("m2", "I look."), said("m3", "A lock is missing."))
    return whole(folder / "chats/session-2026-04-28T09-00-s1.json", prompt, *answers, *more)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "tmp/api"
    place.mkdir(parents=True)
    (place / ".project_root").write_text("/home/me/api")
    return place


@pytest.mark.parametrize("form", ["with how it was paid for", "bare"])
def test_a_saved_conversation_is_a_document(home: Home, folder: Path, form: str) -> None:
    path = save(folder, BEGUN if form == "bare" else {"history": BEGUN, "authType": "oauth-personal"})
    found = parsed(SOURCE, path)
    assert found.reading.unknown == {}
    ((unit, (meta, body)),) = found.documents.items()
    assert unit.startswith("checkpoint-")
    assert (meta["title"], meta["saved_as"], meta["project"]) == ("the lock", "the lock", "/home/me/api")
    assert (meta["date_source"], resume(meta, home)) == ("mtime", None)
    assert body == (
        "# the lock\n\n## [1] user\n\nWhy does it fail?\n\nSometimes, “at night”.\n\n## [2] assistant\n\nI look.\n\n"
        "- run_shell_command: npm test\n  ! no such file\n\nI look.\n\n- run_shell_command: npm ci\n"
        "  ! Exit code 3\n  ! x\n\nA lock is missing.\n\n### reasoning\n\nHm.\n"
    )


def test_a_conversation_that_was_saved_several_times_is_one_document(home: Home, folder: Path) -> None:
    for tag, more in (("one", []), ("two", ON), ("three", BACK)):
        save(folder, [*BEGUN, *more], tag)
    ingest(home, "gemini", folder)
    before = corpus(home)
    (shown,) = before.values()
    assert [shown.count(text) for text in (b"A lock is missing.", b"Mended.", b"Written.")] == [1, 1, 1]
    assert from_the_archive_alone(home, "gemini", folder) == before


def test_another_conversation_under_a_name_leaves_the_first(home: Home, folder: Path) -> None:
    for history in ([*BEGUN, *ON], [content("user", CONTEXT), *BACK]):
        save(folder, history)
        ingest(home, "gemini", folder)
    before = corpus(home)
    assert len(before) == 2
    assert from_the_archive_alone(home, "gemini", folder) == before


@pytest.mark.parametrize("gone", ["", "later", "before"])
@pytest.mark.parametrize("secret", ["", f" with {SECRET}"], ids=["", "with a secret"])
def test_a_conversation_that_a_transcript_has_is_left_out(home: Home, folder: Path, gone: str, secret: str) -> None:
    if gone == "later":  # and the archive has none of it
        config = "collections: {brain: {path: brain}}\narchive: {enabled: false}\n"
        Path(home.path("collections.yml")).write_text(config)
    history = json.loads(json.dumps(BEGUN).replace("A lock is missing.", f"A lock is missing.{secret}"))
    path = session(folder, said("m4", f"A lock is missing.{secret}"))
    if gone == "before":
        ingest(home, "gemini", folder)
        shutil.rmtree(path.parent)
    save(folder, history)
    assert ingest(home, "gemini", folder).skipped == {"saved of a session that is there": 1}
    if gone == "later":
        shutil.rmtree(path.parent)
    run(home, "gemini", [str(folder)], trust_stat=False, rebuild=True)
    assert list(corpus(home)) == ["gemini__s1.md"]


@pytest.mark.parametrize("why", ["it says more", "the transcript is newer"])
def test_a_conversation_that_a_transcript_cannot_have_is_kept(home: Home, folder: Path, why: str) -> None:
    session(folder)
    path = save(folder, [*BEGUN, *ON] if why == "it says more" else BEGUN)
    if why == "the transcript is newer":
        os.utime(path, (1_700_000_000, 1_700_000_000))
    ingest(home, "gemini", folder)
    assert len(corpus(home)) == 2


def test_a_snapshot_of_files_is_no_conversation(home: Home, folder: Path) -> None:
    save(folder / "checkpoints", {"history": BEGUN, "toolCall": {}})
    save(folder, {"history": "x"}, "odd")
    ledger = ingest(home, "gemini", folder)
    assert ledger.skipped == {"tool checkpoint": 1, "not a Gemini CLI session": 1}
    assert corpus(home) == {}


@given(odd_values("role parts text functionCall functionResponse id name args response thought", leaves=12))
def test_no_shape_of_a_content_stops_the_file(tmp_path_factory: pytest.TempPathFactory, odd: Any) -> None:
    path = save(tmp_path_factory.mktemp("saved"), [odd if isinstance(odd, dict) else content("user", odd), *BEGUN])
    assert "A lock is missing." in str(parsed(SOURCE, path).documents)
