"""A person's words are found in what tools record as a user's text: each keeps this promise by its own marks.

A line of ``data/user_text.jsonl`` is a promise: each of ``texts`` in each of ``forms`` is divided so. A form is [form,
a person's words, the command that they typed], or [form, list of (kind, words)]. ``{}`` is the place of the text,
``@NAME@`` of one of the tool's ``names``.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.session.session import COMMAND, INTERRUPT, PROMPT
from ingest.session.user_text import UserText
from ingest.sources.aider import parser as aider
from ingest.sources.amp import user_text as amp
from ingest.sources.antigravity import parser as antigravity
from ingest.sources.claude import user_text as claude
from ingest.sources.cline import user_text as cline
from ingest.sources.codex import user_text as codex
from ingest.sources.copilot import user_text as copilot
from ingest.sources.crush import parser as crush
from ingest.sources.cursor import parser as cursor
from ingest.sources.droid import parser as droid
from ingest.sources.gemini import user_text as gemini
from ingest.sources.goose import parser as goose
from ingest.sources.grok import parser as grok
from ingest.sources.hermes import parser as hermes
from ingest.sources.kimi import parser as kimi
from ingest.sources.openclaw import user_text as openclaw
from ingest.sources.opencode import user_text as opencode
from ingest.sources.pi import user_text as pi
from ingest.sources.qwen import parser as qwen
from ingest.sources.vscode import parser as vscode
from tests.tables import every

EXTRACT: dict[str, Callable[[str], UserText]] = {
    "aider": aider.extract_user_text,
    "amp": amp.extract_user_text,
    "antigravity": antigravity.extract_user_text,
    "droid": droid.extract_user_text,
    "grok": grok.extract_user_text,
    "hermes": hermes.extract_user_text,
    "kimi": kimi.extract_user_text,
    "crush": crush.extract_user_text,
    "vscode": vscode.extract_user_text,
    "claude": claude.extract_user_text,
    "cline": cline.extract_user_text,
    "codex": codex.extract_user_text,
    "codex event": lambda text: codex.extract_user_text(text, is_event=True),
    "copilot": copilot.extract_user_text,
    "cursor": cursor.extract_user_text,
    "gemini": lambda text: gemini.extract_user_text([text]),
    "goose": goose.extract_user_text,
    "openclaw": openclaw.extract_user_text,
    "opencode": opencode.extract_user_text,
    "pi": pi.extract_user_text,
    "qwen": qwen.extract_user_text,
}
ROWS = [json.loads(line) for line in (Path(__file__).parent / "data/user_text.jsonl").read_text("utf-8").splitlines()]
NAMES = {row["tool"]: row["names"] for row in ROWS if "names" in row}
PROMISES = [row for row in ROWS if "promise" in row]


def filled(tool: str, form: str, text: str = "") -> str:
    made = form.replace("{}", text)
    for name, value in NAMES.get(tool, {}).items():
        made = made.replace(f"@{name}@", value)
    return made


@every(PROMISES)
def test_a_persons_words_are_theirs_and_nothing_else_is(row: dict[str, Any]) -> None:
    tool = row["tool"]
    for text in row["texts"]:
        for form, words, *command in row["forms"]:
            pieces = words if isinstance(words, list) else [(COMMAND, each) for each in command] + [(PROMPT, words)]
            expected = tuple((kind, filled(tool, said, text)) for kind, said in pieces if said or kind == INTERRUPT)
            assert EXTRACT[tool](filled(tool, form, text)).pieces == expected, form


def pieces_of(tool: str) -> list[str]:
    """Return the marks and texts of a tool, to be put together in any order."""
    texts = [filled(tool, text) for row in PROMISES if row["tool"] == tool for text in row["texts"]]
    forms = [filled(tool, form[0]) for row in PROMISES if row["tool"] == tool for form in row["forms"]]
    marks = {f"{piece}>" for form in forms for piece in form.replace(">", "\n").split("\n") if piece.startswith("<")}
    return sorted({*texts, *forms, *marks, "\n", " ", "Why?"} - {""})


@given(st.sampled_from(sorted(EXTRACT)), st.data())
def test_no_text_stops_a_tool_and_white_space_is_no_words(tool: str, data: st.DataObject) -> None:
    text = "".join(data.draw(st.lists(st.sampled_from(pieces_of(tool)))))
    made = EXTRACT[tool](text)
    assert made == EXTRACT[tool](text)
    assert all(words == words.strip() and (words or kind == INTERRUPT) for kind, words in made.pieces)


@given(st.data())
def test_words_that_cursor_marks_are_never_lost(data: st.DataObject) -> None:
    rest = "".join(data.draw(st.lists(st.sampled_from(pieces_of("cursor")))))
    assert "Why?" in EXTRACT["cursor"](f"<user_query>\nWhy?\n{rest}").typed


@pytest.mark.parametrize("tool", EXTRACT)
def test_the_time_is_linear_in_the_text(tool: str) -> None:
    for piece in pieces_of(tool):
        text = piece * (40_000 // len(piece) + 1)
        began = time.process_time()
        EXTRACT[tool](text)
        EXTRACT[tool](f"<user_query>{text}</user_query>")
        assert time.process_time() - began < 0.5, piece[:80]
