"""What a person typed into OpenCode, told from what a plugin writes into the same texts."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from core.home import Home
from ingest.session.events import COMMAND, PROMPT
from ingest.sources.opencode.user_text import extract_user_text
from tests.ingest.sources.test_opencode import INFO, document, export, ingest

MARK = "\n<!-- OMO_INTERNAL_INITIATOR -->"
SEARCH = "[search-mode]\nSEARCH HARD. Ask helpers:\n- two of them\nNever stop.\n\n"
ANALYSE = "[analyze-mode]\nGATHER:\n\nIF HARD - ask.\n---\nMANDATORY params: all.\n\n"
SLASH = """<auto-slash-command>
# /tidy Command

**Description**: (project) Tidies

**User Arguments**: the shed

**Scope**: project

---

## Command Instructions

Tidy it well.

---

## User Request

the shed
</auto-slash-command>"""


@pytest.mark.parametrize(("said", "words"), [
    ("Why?", "Why?"),
    ("<b> or [i]?", "<b> or [i]?"),
    (f"{SEARCH}---\n\nWhere is it?\n\n---\n\nIn the shed?", "Where is it?\n\n---\n\nIn the shed?"),
    (f"{SEARCH}{ANALYSE}---\n\nWhere is it?", "Where is it?"),
    (f"<ultrawork-mode>\nALL OF IT.\n\n---\n\nNOW.\n</ultrawork-mode>\n\n---\n\n{ANALYSE}---\n\nDo it", "Do it"),
    ("[search-mode]\nwas on, why?", "[search-mode]\nwas on, why?"),
    ("[SYSTEM DIRECTIVE: OH-MY-OPENCODE - TODO CONTINUATION]\n\nGo on.\n[Status: 1/2]", ""),
    ("ultrawork [SYSTEM DIRECTIVE: OH-MY-OPENCODE - LOOP 1/9]\n\nGo on.", ""),
    ("[SYSTEM DIRECTIVE: X - RULES]\nBe good.\n[END SYSTEM DIRECTIVE]\n\nPaint it", "Paint it"),
    (f"<system-reminder>\n[BACKGROUND TASK COMPLETED]\n</system-reminder>{MARK}", ""),
    (f"Go on with the list.{MARK}", ""),
    ("<command-instruction>\nStart.\n</command-instruction>\n\n<user-request>\nthe plan\n</user-request>", "the plan"),
    (f"[ultrawork-autonomous-mode]\nGO.\n\n{SEARCH}---\n\nDo it", "Do it"),
    *((text, text) for text in (
        "the plugin puts <!-- OMO_INTERNAL_INITIATOR --> in my prompts, remove it",
        "each of my prompts ends with <!-- OMO_INTERNAL_INITIATOR -->",
        "<dark-mode>\nmake the header darker\n</dark-mode>\nand also footer",
        "[dark-mode]\nis broken\n\n---\n\nmend it",
        "[SYSTEM DIRECTIVE: is what the plugin writes; strip it please",
        "[SYSTEM DIRECTIVE: OH-MY-OPENCODE - LOOP] is what it writes.\n\nStrip it please",
        "[SYSTEM DIRECTIVE: is ended by\n[END SYSTEM DIRECTIVE]\n, why?")),
])  # fmt: skip
def test_a_plugins_words_are_no_persons(said: str, words: str) -> None:
    assert extract_user_text(said).pieces == ((PROMPT, words),) * bool(words)


def test_a_subagents_task_is_kept_without_the_mark() -> None:
    said = f"<system-reminder>\nOne task only.\n</system-reminder>\n\nFind the lock{MARK}"
    assert extract_user_text(said, to_subagent=True).typed == "Find the lock"


def test_what_stands_below_a_commands_text_is_kept() -> None:
    assert extract_user_text(f"{SLASH}\n\nAnd sweep.").pieces == ((COMMAND, "/tidy the shed"), (PROMPT, "And sweep."))
    asked = (
        "<command-instruction>\nStart.\n</command-instruction>\n<user-request>\nthe <user-request> tag\n</user-request>"
    )
    assert extract_user_text(f"{asked}\nMend it.").typed == "the <user-request> tag\n\nMend it."
    assert extract_user_text("<command-instruction> and <user-request> are tags. Whose?").typed.endswith("Whose?")


def test_many_modes_take_no_longer_than_their_text() -> None:
    for mode in ("<ultrawork-mode></ultrawork-mode>\n", "[search-mode]\n\n", "[search-mode]\n\n\n---\n\n"):
        begun = time.process_time()
        extract_user_text(mode * 60_000 + "Do it")
        assert time.process_time() - begun < 5


def test_what_is_typed_beside_a_slash_command_is_kept_though_the_command_has_the_word(
    home: Home, tmp_path: Path
) -> None:
    texts = [SLASH.replace("Tidy it well.", "Tidy the login page well."), "login", "Tidy the login page well."]
    parts = [{"id": f"prt_{number}", "type": "text", "text": text} for number, text in enumerate(texts)]
    export(tmp_path / "x.json", {**INFO, "title": "New session - 2026-04-28"}, parts)
    ingest(home, tmp_path)
    meta, body = document(home)
    assert meta["title"] == "login"
    assert "login page" not in body


def test_a_slash_command_stands_as_it_was_typed_and_once(home: Home, tmp_path: Path) -> None:
    parts: list[dict[str, Any]] = [
        {"id": "prt_1", "type": "text", "text": f"{SLASH}\nAnd sweep"},
        {"id": "prt_2", "type": "text", "text": "Tidy it well."},
        {"id": "prt_3", "type": "text", "text": f"{SEARCH}---\n\nAnd find the key"},
    ]
    export(tmp_path / "x.json", {**INFO, "title": "New session - 2026-04-28"}, parts)
    ingest(home, tmp_path)
    meta, body = document(home)
    assert meta["title"] == "And sweep And find the key"
    assert "And sweep\n\nAnd find the key" in body
    assert "\n- /tidy the shed\n" in body
    assert "Tidy it well" not in body
    assert "SEARCH HARD" not in body
