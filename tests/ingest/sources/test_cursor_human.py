"""What a person typed into Cursor, and what the editor puts around it and asks in its place."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.sources.cursor.parser import extract_user_text

ENDED = "Briefly inform the user about the task result and perform any follow-up actions (if needed)."
VISIBLE = "The beginning of the above subagent result is already visible to the user. Perform any follow-up actions"
HIDDEN = "Perform any necessary follow-up actions in response to the subagent completion above."
NOTE = "<system_notification>\nThe following task has ended.\n\n<task>\nkind: shell\n</task>\n</system_notification>\n"
INFO = "<timestamp>Tuesday, Apr 28, 2026, 9:14 AM (UTC)</timestamp>\n[Image]\n<image_files>\n1. a.png\n</image_files>\n"


@pytest.mark.parametrize("said", [
    ENDED, f"{ENDED} If there's no follow-ups needed, don't explicitly say that.",
    f"{VISIBLE} (if needed). DO NOT regurgitate or reiterate its result unless asked. Don't repeat the same "
    "confirmation every time.", f"{VISIBLE} (if needed).",
    f"{HIDDEN} If no follow-up work is needed, no further action is required. For cloud subagents, link to it. "
    "Use `[Try Live](bc-id#desktop)` only when the agent used computer use.",
    "Perform any necessary follow-up actions in response to the Phase 4 subagent completion above.",
    "A worker agent sent you a message mid-turn. The worker's turn may still be running. If no action is needed, no "
    "further response is required.",
])  # fmt: skip
def test_what_the_editor_asks_is_nobodys(said: str) -> None:
    assert extract_user_text(said).typed == ""
    assert extract_user_text(f"{NOTE}<user_query>{said}</user_query>").typed == ""
    assert extract_user_text(f"{NOTE}<user_query>{said}\nAnd mend it.</user_query>").typed == "And mend it."
    assert extract_user_text(f"{NOTE}<user_query>{said} A new sentence of theirs.</user_query>").typed == ""


@pytest.mark.parametrize(("said", "words"), [
    (f"{INFO}<user_query>\nWhy?\n</user_query>", "Why?"),
    ("<user_query>One.</user_query>\n<user_query>\nTwo.\n</user_query>", "One.\n\nTwo."),
    ("<user_query>\nWhy?\n</user_query>\n<system_reminder>\nBe brief.\n</system_reminder>", "Why?"),
    ("<user_info>\nLinux\n</user_info>\n\n<git_status>\nM a\n</git_status>", ""), ("<rules>\n- Be brief\n</rules>", ""),
    ("<attached_files>\n<user_query>old</user_query>\n</attached_files>\n<user_query>Why?</user_query>", "Why?"),
    ("<timestamp>now</timestamp><user_query>Why?</user_query>", "Why?"),
    ("<user_query>Where it was cut", "Where it was cut"),
    ("Why?\n<system_reminder>\nBe brief.\n</system_reminder>", "Why?"),
])  # fmt: skip
def test_what_is_put_around_a_persons_words_is_cut_off(said: str, words: str) -> None:
    assert extract_user_text(said).typed == words


QUOTES = (
    f"{ENDED} Who says that?", f"{HIDDEN} That is what I read. Why?", "Briefly inform the user about the task result.",
    "What does <user_query> mean?", "<user_query> and </user_query> are marks: list their uses.",
    "It says\n<user_query>\nfoo\n</user_query>\nWhy?", "My file:\n<rules>\n- Be brief\n</rules>\nIs it right?",
    "<rules>\n- Be brief\n</rules>\nIs that right?", "See\n<timestamp>now</timestamp>\nin the log",
    "<attached_files> is never closed. Why?", "[Image] is all it shows",
)  # fmt: skip


@pytest.mark.parametrize("said", QUOTES)
def test_a_person_who_writes_of_the_editors_marks_loses_no_word(said: str) -> None:
    assert extract_user_text(f"{INFO}<user_query>\n{said}\n</user_query>").typed == said
    shown = " ".join(extract_user_text(said).typed.split())
    assert all(word in shown for word in said.split() if "user_query" not in word)


PIECES = ("<user_query>", "</user_query>", "\n", INFO, NOTE, "Why?", ENDED, "<rules>", "</rules>", " ")


@given(st.lists(st.sampled_from(PIECES)))
def test_no_text_stops_it_and_no_words_are_lost_that_are_marked(parts: list[str]) -> None:
    made = extract_user_text("".join(parts)).typed
    assert made == made.strip()
    assert "Why?" in extract_user_text(f"<user_query>\nWhy?\n{''.join(parts)}").typed


@pytest.mark.parametrize("part", ["<user_query>Why?</user_query>\n", "<user_query>\n", INFO, NOTE, "</user_query>\n",
    "<rules>\n", f"{ENDED} "])  # fmt: skip
def test_a_long_text_takes_time_in_proportion(part: str) -> None:
    began = time.perf_counter()
    extract_user_text(part * (1_000_000 // len(part)))
    extract_user_text(f"<user_query>{part * (1_000_000 // len(part))}</user_query>")
    assert time.perf_counter() - began < 3


@pytest.mark.parametrize("tag", ["attached_files", "task_notification", "user_info"])
def test_a_block_that_quotes_its_own_closing_tag_is_the_editors(tag: str) -> None:
    said = f"<{tag}>\nIt ends at `</{tag}>`.\nAll of it.\n</{tag}>"
    assert extract_user_text(said).typed == ""
    assert extract_user_text(f"{INFO.replace('[Image]', '')}{said}\n<user_query>\nWhy?\n</user_query>").typed == "Why?"
    assert "Why?" in extract_user_text(f"{said}\n\nWhy?").typed
    assert "Why?" in extract_user_text(f"<{tag}>x</{tag}>\nWhy?\n<{tag}>y</{tag}>\n<user_query>So?</user_query>").typed
