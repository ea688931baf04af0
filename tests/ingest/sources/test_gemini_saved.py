"""What a person saved of a session of Gemini CLI is kept where its session is not, and said once where it is."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.document import split
from core.home import Home
from ingest.pipeline.run import run
from ingest.sources.gemini import source as gemini
from runtime.asking.envelope import resume
from tests.ingest.sources.test_gemini import Record, ingest, said, user, whole
from tests.ingest.transcripts import corpus, documents, from_the_archive_alone

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
    """The transcript that ``BEGUN`` is of."""
    return whole(
        folder / "chats/session-2026-04-28T09-00-s1.json",
        user("m1", "Why does it fail?\n\nSometimes, “at night”."),
        said("m2", "I look."),
        said("m3", "A lock is missing."),
        *more,
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "tmp/api"
    place.mkdir(parents=True)
    (place / ".project_root").write_text("/home/me/api")
    return place


@pytest.mark.parametrize("form", ["with how it was paid for", "bare"])
def test_a_saved_conversation_is_a_document(home: Home, folder: Path, form: str) -> None:
    save(folder, BEGUN if form == "bare" else {"history": BEGUN, "authType": "oauth-personal"})
    ledger = ingest(home, folder)
    assert (ledger.ingested, ledger.unknown) == (1, {})
    ((name, document),) = corpus(home).items()
    meta, body = split(document.decode())
    assert name.startswith("gemini__checkpoint-")
    assert (meta["title"], meta["saved_as"], meta["project"]) == ("the lock", "the lock", "/home/me/api")
    assert meta["date_source"] == "mtime"
    assert resume(meta) is None
    assert body == (
        "# the lock\n\n## [1] user\n\nWhy does it fail?\n\nSometimes, “at night”.\n\n## [2] assistant\n\nI look.\n\n"
        "- run_shell_command: npm test\n  ! no such file\n\nI look.\n\n- run_shell_command: npm ci\n"
        "  ! Exit code 3\n  ! x\n\nA lock is missing.\n\n### reasoning\n\nHm.\n"
    )
    before = corpus(home)
    assert from_the_archive_alone(home, "gemini", folder) == before


def test_what_was_saved_twice_of_a_conversation_is_one_document(home: Home, folder: Path) -> None:
    save(folder, BEGUN, "one")
    save(folder, [*BEGUN, *ON], "two")
    save(folder, [*BEGUN, *BACK], "three")
    ingest(home, folder)
    (document,) = corpus(home).values()
    shown = document.decode()
    assert [shown.count(text) for text in ("A lock is missing.", "Mended.", "Written.")] == [1, 1, 1]
    before = corpus(home)
    assert from_the_archive_alone(home, "gemini", folder) == before


def test_another_conversation_under_a_name_leaves_the_first(home: Home, folder: Path) -> None:
    save(folder, [*BEGUN, *ON])
    ingest(home, folder)
    save(folder, [content("user", CONTEXT), *BACK])
    ingest(home, folder)
    before = corpus(home)
    assert len(before) == 2
    assert from_the_archive_alone(home, "gemini", folder) == before


@pytest.mark.parametrize("gone", ["", "later", "before"])
@pytest.mark.parametrize("secret", ["", f" with {SECRET}"], ids=["", "with a secret"])
def test_what_its_session_tells_stands_there_alone(home: Home, folder: Path, gone: str, secret: str) -> None:
    if gone == "later":  # and the archive has none of it
        config = "collections: {brain: {path: brain}}\narchive: {enabled: false}\n"
        Path(home.path("collections.yml")).write_text(config)
    history = json.loads(json.dumps(BEGUN).replace("A lock is missing.", f"A lock is missing.{secret}"))
    path = session(folder, said("m4", f"A lock is missing.{secret}"))
    if gone == "before":
        ingest(home, folder)
        shutil.rmtree(path.parent)
    save(folder, history)
    assert ingest(home, folder).skipped == {"saved of a session that is there": 1}
    if gone == "later":
        shutil.rmtree(path.parent)
    run(home, "gemini", [str(folder)], trust_stat=False, rebuild=True)
    assert list(corpus(home)) == ["gemini__s1.md"]


def test_what_goes_beyond_its_session_is_kept(home: Home, folder: Path) -> None:
    session(folder)
    save(folder, [*BEGUN, *ON])
    ingest(home, folder)
    assert len(corpus(home)) == 2


def test_a_session_that_was_begun_later_tells_nothing(home: Home, folder: Path) -> None:
    session(folder)
    path = save(folder, BEGUN)
    os.utime(path, (1_700_000_000, 1_700_000_000))
    ingest(home, folder)
    assert len(corpus(home)) == 2


def test_a_snapshot_of_files_is_none(home: Home, folder: Path) -> None:
    save(folder / "checkpoints", {"history": BEGUN, "toolCall": {}})
    save(folder, {"history": "x"}, "odd")
    ledger = ingest(home, folder)
    assert ledger.skipped == {"tool checkpoint": 1, "not a Gemini CLI session": 1}
    assert corpus(home) == {}


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
        st.sampled_from(["role", "parts", "text", "functionCall", "functionResponse", "id", "name", "args",
                         "response", "thought"]), inner, max_size=5), max_leaves=12))  # fmt: skip
def test_no_shape_of_a_content_stops_the_file(tmp_path_factory: pytest.TempPathFactory, odd: Any) -> None:
    path = save(tmp_path_factory.mktemp("saved"), [odd if isinstance(odd, dict) else content("user", odd), *BEGUN])
    found = list(documents(gemini.SOURCE, str(path)))
    assert "A lock is missing." in str([getattr(each, "body", "") for each in found])
