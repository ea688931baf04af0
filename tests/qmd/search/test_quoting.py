"""A session's hit shows the lines that answer, with their speakers, within the room that is given."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qmd.search.quoting import Question, quote, show

HEAD = "---\nsession_id: x\n---\n\n# The title repeats the question about the permission hook\n\n"
SESSION = (
    HEAD
    + """## [1] user · 2026-03-12 08:42

Why does the permission hook let a force push through when the app starts from the dock?

## [2] assistant · 2026-03-12 08:43

Let me look at the permission hook first.

- Read: /home/me/x/.claude/hooks/deny.sh
- Bash: env -i PATH=/usr/bin ./deny.sh; echo "exit $?"  # Run the permission hook with a bare PATH
  ! deny.sh: line 3: jq: command not found
- Edit: /home/me/x/.claude/hooks/deny.sh
- Bash: bats tests/deny.bats  # Test the permission hook

The permission hook failed because `jq` is not on the PATH. An absolute path fixes it. May I refuse what cannot be read?

### reasoning

Perhaps the permission hook is not called at all.

## [3] user · 2026-03-12 08:50

No, keep failing open there.
"""
)


def shown(question: str, room: int = 600, text: str = SESSION) -> list[str]:
    return show(quote(text, Question(question), room)).split("\n")


def test_what_came_of_a_prompt_is_shown_before_the_prompt() -> None:
    found = shown("why did the permission hook let a force push through")
    assert found[0].startswith("agent: The permission hook failed because `jq` is not on the PATH.")
    assert not any(line.startswith("you: Why does") for line in found[:2])


def test_the_outcome_of_an_exchange_that_was_found_by_meaning_is_shown_though_it_has_no_word_of_the_question() -> None:
    text = SESSION + "\n## [4] user\n\nShip it.\n\n## [5] assistant\n\n- Bash: make\n\nVersion 2 is out.\n"
    question = Question("was the permission released")
    start = text.index("## [4]")
    found = show(quote(text, question, 300, (start, len(text)), meant=True)).split("\n")
    assert found[0] == "agent: Version 2 is out."
    assert "permission" in show(quote(text, question, 300)).split("\n")[0]


def test_commands_of_a_shell_are_nobodys_words_and_their_folder_is_left_out() -> None:
    history = (
        "# Shell commands of 2026-03-12\n\n## [1] command · 2026-03-12 08:12\n\n- in /code/ferrypost\n"
        "- 08:12:31 $ git push --force origin main\n  ! Exit code 1\n- 08:13:05 (codex) $ echo 'a $ b'\n"
        "- $ git reflog\n- ! git status\n"
    )
    assert sorted(shown("git push force reflog status echo code ferrypost", text=history)) == [
        "$ echo 'a $ b'",
        "$ git push --force origin main  (failed: Exit code 1)",
        "$ git reflog",
        "you: - ! git status",
    ]


def test_a_question_for_a_command_shows_commands_with_their_outcome() -> None:
    found = shown("what command ran the permission hook with a bare PATH")
    assert found[0].startswith("$ env -i PATH=/usr/bin ./deny.sh")
    assert "(failed: deny.sh: line 3: jq: command not found)" in found[0]
    assert shown("which command tests the permission hook")[0].startswith("$ bats tests/deny.bats")


def test_what_a_tool_reports_is_no_word_of_the_agent() -> None:
    call = "- Bash: make tide\n  ! Exit code 2\n  ! port 8080 is in use\n"
    text = HEAD + f"## [1] user\n\nStart.\n\n## [2] assistant\n\n{call}"
    assert "$ ! port 8080 is in use" in shown("what was in use on port 8080", text=text)


def test_what_a_person_refused_is_shown_with_the_call() -> None:
    script = "- Bash:  # Publish\n  ```sh\n  make dist\n\n  twine upload dist/*\n  ```\n"
    calls = f"- Bash: git push --force\n  rejected by the user\n- Edit: /x/tide.py\n  rejected by the user\n{script}"
    text = HEAD + f"## [1] user\n\nStart.\n\n## [2] assistant\n\n{calls}  rejected by the user\n- Bash: make\n"
    for question in ("what did I reject", "force push tide publish"):
        found = shown(question, text=text)
        assert {
            "$ git push --force  (rejected by the user)",
            "agent: - Edit: /x/tide.py  (rejected by the user)",
            "$ # Publish  (rejected by the user)",
        } <= set(found)
        assert not any(line.endswith(": rejected by the user") for line in found)
    assert "$ make" in shown("which make ran", text=text)


def test_a_script_is_a_command_and_is_shown_in_its_order() -> None:
    script = "  ```sh\n  git commit -m tide\n\n  The tide table moves to UTC.\n  The harbour keeps its clock.\n  ```\n"
    text = HEAD + f"## [1] user\n\nStart.\n\n## [2] assistant\n\n- Bash:  # Commit\n{script}\nDone so far.\n"
    found = shown("tide harbour", text=text)
    assert found[:3] == [
        "$ git commit -m tide",
        "$ The tide table moves to UTC.",
        "$ The harbour keeps its clock.",
    ]


def test_a_question_for_a_file_shows_the_file_that_was_changed() -> None:
    assert any("Edit: /home/me/x/.claude/hooks/deny.sh" in line for line in shown("which file has the deny hook"))


def test_an_agent_s_question_is_followed_by_the_person_s_answer() -> None:
    found = shown("may it refuse what cannot be read")
    at = next(index for index, line in enumerate(found) if line.endswith("May I refuse what cannot be read?"))
    assert found[at + 1] == "you: No, keep failing open there."


def test_what_was_only_thought_is_labelled_and_comes_late() -> None:
    found = shown("is the permission hook called at all", room=1_200)
    (at,) = [index for index, line in enumerate(found) if "not called at all" in line]
    assert found[at].startswith("thought: ")
    assert at > 0


def test_lines_count_from_the_beginning_of_the_document() -> None:
    lines = SESSION.split("\n")
    for found in quote(SESSION, Question("why did the permission hook fail with jq"), 600):
        first = found.text.split("\n")[0].partition("  (failed")[0][:20]
        assert first in lines[found.line - 1], found.text


def test_of_a_long_line_the_sentences_that_answer_are_shown_whole() -> None:
    filler = "Nothing of this sentence matters to anybody here. " * 8
    text = HEAD + f"## [1] user\n\nHm.\n\n## [2] assistant\n\n{filler}The zebra limit is 40 per minute. {filler}\n"
    (found,) = [line for line in shown("zebra limit", 300, text) if "zebra" in line]
    assert "The zebra limit is 40 per minute." in found
    assert found.endswith((".", "…"))
    assert len(found) <= 220


@pytest.mark.parametrize(("room", "lines"), [(150, 1), (180, 1), (260, 2), (600, 2)])
def test_a_short_piece_of_a_line_is_not_shown_below_other_lines(room: int, lines: int) -> None:
    first = "The lighthouse broke because nobody trimmed the lamp of the lighthouse in winter."
    second = f"A keeper of the lighthouse {'keeps a long log and never stops writing ' * 6}in it"
    text = f"{HEAD}## [1] user\n\nwhat broke?\n\n## [2] assistant\n\n{first}\n\n{second}\n"
    found = shown("why did the lighthouse break", room, text)
    assert found[0] == f"agent: {first}"
    assert len(found) == lines


def test_the_later_of_two_like_statements_comes_first() -> None:
    turns = "".join(
        f"## [{number}] {role}\n\n{text}\n\n"
        for number, role, text in (
            (1, "user", "Set the timeout."),
            (2, "assistant", "The gateway timeout is 30 seconds now."),
            (3, "user", "Too long."),
            (4, "assistant", "The gateway timeout is 10 seconds now."),
        )
    )
    assert shown("gateway timeout", text=HEAD + turns)[0] == "agent: The gateway timeout is 10 seconds now."


def test_an_exchange_with_the_question_s_words_is_shown_before_single_lines_of_others() -> None:
    turns = "".join(
        f"## [{number}] {role}\n\n{text}\n\n"
        for number, role, text in (
            (1, "user", "Rotate the signing key of the gateway."),
            (2, "assistant", "I added a second one first, so that both are accepted for a day."),
            (3, "user", "And the docs?"),
            (4, "assistant", "Updated the page on the gateway, with a table and two examples for each key."),
        )
    )
    found = shown("how was the signing key of the gateway rotated", text=HEAD + turns)
    assert found[0] == "agent: I added a second one first, so that both are accepted for a day."


def test_a_line_without_a_letter_is_not_quoted() -> None:
    log = (
        "01:12:38.301\nCloning the submodule\n01:12:38.304\n=======\nfatal: the clone of the submodule failed\n12:00\n"
    )
    text = f"{HEAD}## [1] user\n\nWhy?\n\n## [2] user\n\n{log}"
    question = Question("why did the clone of the submodule fail")
    found = show(quote(text, question, 600, (text.index("01:12"), len(text)))).split("\n")
    assert sorted(found) == ["you: Cloning the submodule", "you: fatal: the clone of the submodule failed"]


@pytest.mark.parametrize("line", ["─── ═══ │ │", "»» ※ — …"])
def test_a_drawn_line_is_not_quoted(line: str) -> None:
    text = HEAD + f"## [1] user\n\nDraw the hook.\n\n## [2] assistant\n\n{line}\n\nThe hook is drawn.\n"
    found = show(quote(text, Question("the hook"), 600, (len(HEAD), len(text))))
    assert "The hook is drawn." in found
    assert line not in found


def test_a_heading_is_quoted_with_what_follows_it_or_not_at_all() -> None:
    long = "The hook fails because jq is not on the PATH when the app starts from the dock, so a whole path fixes it"
    reply = f"## Hook summary\n\n{long}, {long}.\n\n### Next hook\n\n- Test it.\n"
    text = HEAD + f"## [1] user\n\nWhat of the hook?\n\n## [2] assistant\n\n{reply}"
    found = show(quote(text, Question("hook"), 600)).split("\n")
    assert "agent: ## Hook summary" not in found
    assert found[found.index("agent: ### Next hook") + 1] == "- Test it."


def test_lines_of_one_reply_s_end_are_shown_in_its_order_and_the_best_of_other_turns_first() -> None:
    reply = "1. The hook is renamed.\n\n2. The other file is new.\n\n3. The hook of the dock is refused.\n"
    text = SESSION + f"\n## [4] user\n\nAnd then?\n\n## [5] assistant\n\nLet me see the dock.\n\n- Bash: ls\n\n{reply}"
    found = shown("what of the hook of the dock that is refused", text=text)
    said = [line.removeprefix("agent: ") for line in found if line.startswith("agent: ")]
    assert said[0] == "1. The hook is renamed."
    assert said.index("3. The hook of the dock is refused.") == said.index("2. The other file is new.") + 1
    assert "Let me see the dock." not in said[:3]


def test_a_statement_is_not_repeated_in_other_words() -> None:
    turns = "".join(
        f"## [{number}] assistant\n\n{text}\n\n"
        for number, text in (
            (1, "I removed the dead function for you from the gateway."),
            (2, "Done. I removed the dead function from the gateway."),
            (3, "The gateway needs a restart."),
        )
    )
    found = shown("what about the dead function of the gateway", text=HEAD + turns)
    assert sum("dead function" in line for line in found) == 1
    assert any("needs a restart" in line for line in found)


def test_a_question_for_a_decision_shows_what_the_person_replied() -> None:
    text = HEAD + (
        "## [1] user\n\nHooks.\n\n## [2] assistant\n\nThe stop hook ends the session.\n\n"
        "## [3] user\n\nThat is not right, it comes after each turn.\n\n## [4] assistant\n\nSure.\n"
    )
    assert "you: That is not right, it comes after each turn." in shown(
        "should the stop hook end the session", 600, text
    )


def test_a_question_for_a_file_shows_the_call_after_what_announces_it() -> None:
    text = HEAD + (
        "## [1] user\n\nGo on.\n\n## [2] assistant\n\nThe expected hook count is wrong in a test.\n\n"
        "- Edit: /x/tests/agent_test.go\n"
    )
    found = shown("which file has the expected hook count", 600, text)
    assert "agent: - Edit: /x/tests/agent_test.go" in found


def test_a_word_in_camel_case_is_found_by_its_parts() -> None:
    text = HEAD + "## [1] user\n\nGo on.\n\n## [2] assistant\n\n- Write: src/hooks/useSimpleTodos.ts\n"
    assert shown("which file has the simple todos hook", text=text) == ["agent: - Write: src/hooks/useSimpleTodos.ts"]


def test_a_document_without_turns_has_no_quotes() -> None:
    assert quote("# A note\n\nUse spaces, not tabs.\n", Question("tabs or spaces"), 600) == []


@given(
    st.lists(st.text(alphabet="ab İ字\n#-`?!:.[]", max_size=60), max_size=8),
    st.text(alphabet="ab İ字?", min_size=1, max_size=20),
    st.integers(0, 700),
    st.tuples(st.integers(0, 900), st.integers(0, 900)),
)
def test_any_document_is_quoted_within_its_room(
    turns: list[str], question: str, room: int, piece: tuple[int, int]
) -> None:
    roles = ("user", "assistant", "task", "compaction")
    text = "# t\n\n" + "".join(f"\n## [{at}] {roles[at % 4]}\n\n{turn}\n" for at, turn in enumerate(turns, 1))
    found = quote(text, Question(question), room, (min(piece), max(piece)))
    assert len(show(found)) <= max(room, 0)
    lines = text.count("\n") + 1
    assert all(1 <= each.line <= lines and each.text for each in found)


@pytest.mark.parametrize("question", ["", "?", "the of and", "字"])
def test_a_question_without_telling_words_quotes_the_passage_or_nothing(question: str) -> None:
    quote(SESSION, Question(question), 600)
    begin = SESSION.index("The permission hook failed")
    found = quote(SESSION, Question(question), 600, (begin, begin + 80))
    assert any("not on the PATH" in each.text for each in found)
