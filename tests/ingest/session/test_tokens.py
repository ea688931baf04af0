"""Tokens in a session's document."""

from __future__ import annotations

from pathlib import Path

from core.home import Home
from tests.ingest.transcripts import Script, body, document, text


def test_tokens_are_summed_by_model_and_a_streamed_message_counts_once(home: Home, claude_root: Path) -> None:
    script = Script()
    usage = {"input_tokens": 5, "cache_read_input_tokens": 100, "cache_creation_input_tokens": 20, "output_tokens": 3}
    body(
        home,
        claude_root,
        script.user("Go"),
        script.assistant(text("a"), message="m1", usage={**usage, "output_tokens": 1}),
        script.assistant(text("b"), message="m1", usage=usage),
        script.assistant(text("c"), message="m2", usage={"input_tokens": 2, "output_tokens": 4}),
        script.assistant(text("d"), model="claude-haiku-4-5", usage={"output_tokens": True}),
    )
    assert document(home)[0]["tokens"] == ["7/100/20/7 claude-opus-4-6"]
