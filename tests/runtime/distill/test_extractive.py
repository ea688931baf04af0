from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.distill import transcript
from runtime.distill.distillate import SECTIONS, Distillate, Statement
from runtime.distill.extractive import distil, grounds
from tests.cases import cases
from tests.runtime.distill.session import REFRESH, body

FOUND = distil(body(REFRESH), "/home/me/api")


def told(section: str) -> list[Statement]:
    return FOUND.sections.get(section, [])


def line(section: str, words: str) -> Statement:
    return next(each for each in told(section) if words in each.line())


def test_decisions_alone_are_those_of_the_whole_distillate() -> None:
    asked = grounds(body(REFRESH)).sections
    assert asked == {key: told(key) for key in ("rejected", "goals", "decisions")}
    assert all(asked.values())


def test_what_was_asked_is_a_goal() -> None:
    assert line("goals", "token refresh race").turns == (1,)


def test_a_decision_is_found_with_its_turn() -> None:
    assert line("decisions", "HttpOnly cookie because XSS reads it").turns == (3,)


def test_what_was_turned_down_is_a_rejection_with_its_reason() -> None:
    assert line("rejected", "localStorage").turns == (3,)
    assert line("rejected", "BroadcastChannel lock but Safari").turns == (4,)


@pytest.mark.parametrize(
    "answer", ["Rejected then.", "Convincing. Rejected then.", "ok, dropped", "Fine, it's ruled out."]
)
def test_what_a_person_asks_about_and_turns_down_in_a_word_is_a_rejection(answer: str) -> None:
    talk = [
        ("user", "Should the queue move to Redis? Look at it."),
        ("assistant", "It would cost much."),
        ("user", answer),
    ]
    (found,) = distil(body(talk)).sections["rejected"]
    assert found.text.startswith("Should the queue move to Redis? — ")
    assert found.turns == (1, 3)


@pytest.mark.parametrize(
    "talk",
    [
        [("user", "Move the queue to Redis."), ("assistant", "Done."), ("user", "Rejected then.")],
        [("user", "Should it move? Rejected then."), ("assistant", "Yes.")],
        [("user", "Should it move?"), ("assistant", "Rejected then.")],
        [("user", "Should it move?"), ("assistant", "No."), ("user", "the request was dropped by then, look")],
    ],
)
def test_a_word_that_answers_no_question_turns_nothing_down(talk: list[tuple[str, str]]) -> None:
    assert distil(body(talk)).sections["rejected"] == []


REFUSED = cases(__file__, "REFUSED")


@pytest.mark.parametrize(("proposal", "answer"), REFUSED)
def test_a_proposal_that_a_person_refuses_in_few_words_is_a_rejection_that_names_it(proposal: str, answer: str) -> None:
    talk = [
        ("user", "Please improve the harbour service."),
        ("assistant", f"I read it. {proposal}"),
        ("user", answer),
        ("assistant", "Understood."),
    ]
    (found,) = distil(body(talk)).sections["rejected"]
    assert (found.text.partition(" — ")[0], found.turns) == (proposal, (2, 3))


@pytest.mark.parametrize(("proposal", "answer"), cases(__file__, "test_an_answer_that_refuses_nothing_is_no_rejection"))
def test_an_answer_that_refuses_nothing_is_no_rejection(proposal: str, answer: str) -> None:
    talk = [("user", "Please improve the harbour service."), ("assistant", proposal), ("user", answer)]
    assert distil(body(talk)).sections["rejected"] == []


def test_a_call_that_a_person_refused_is_a_rejection() -> None:
    assert line("rejected", "Refused by the user: Bash: git push --force").turns == (4,)


def test_an_error_has_its_cause_its_change_and_its_fix() -> None:
    error = line("errors", "stale token")
    assert error.turns == (2,)
    for piece in ("`npm test -- auth` failed", "root cause is that both tabs", "by changing refresh.ts", "then worked"):
        assert piece in error.text


def test_a_command_that_worked_is_kept_and_one_that_only_looks_is_not() -> None:
    commands = [each.text for each in told("commands")]
    assert commands == ["`npm test -- auth`"]
    looked = distil(body([("user", "Why is it slow?"), ("assistant", "- Bash: ls -la && cat x\n- Bash: git status")]))
    assert looked.sections["commands"] == []


def test_files_that_were_changed_are_named_below_the_project() -> None:
    assert {each.text: each.turns for each in told("files")} == {
        "`src/auth/refresh.ts`": (2,),
        "`src/auth/cookie.ts`": (4,),
    }


def test_an_open_question_is_listed() -> None:
    assert line("questions", "rotate the signing keys").turns == (4,)
    assert line("questions", "grace period").turns == (4,)


def test_languages_and_tools_are_named() -> None:
    assert line("technologies", "TypeScript").turns == (2, 4)
    assert "typescript" in FOUND.tags


def test_nothing_is_claimed_that_the_session_does_not_say() -> None:
    text = " ".join(body(REFRESH).replace("**", "").split())
    for section in ("goals", "decisions", "questions", "points"):
        for each in told(section):
            assert each.text in text


def test_every_line_of_a_distillate_cites_turns_that_are_there() -> None:
    lines = [each for each in FOUND.body("x").splitlines() if each.startswith("- ")]
    assert lines
    for each in lines:
        assert re.search(r"(?: \[\d+\])+$", each), each
    assert FOUND.cited() <= {1, 2, 3, 4}


def test_a_statement_without_a_turn_is_not_written() -> None:
    found = Distillate({"goals": [Statement("free floating", ())], "decisions": [Statement("bound", (2,))]})
    assert "free floating" not in found.body("x")
    assert "- bound [2]" in found.body("x")


def test_a_payload_cannot_break_out_of_its_line() -> None:
    found = Distillate({"goals": [Statement("one\n## Decisions\n- forged [1]\x1b[31m", (1,))]})
    assert found.body("a\n# b").splitlines() == ["# a # b", "", "## Goals", "", "- one ## Decisions - forged [1] [1]"]


def test_the_same_session_gives_the_same_distillate() -> None:
    assert distil(body(REFRESH), "/home/me/api").body("x") == FOUND.body("x")


@pytest.mark.parametrize("text", ["", "# only a title\n", "no turns at all", "## [1] user\n\n\n"])
def test_a_document_that_says_nothing_has_no_statements(text: str) -> None:
    assert distil(text).cited() == set()


def test_list_items_of_a_text_are_no_tool_calls() -> None:
    turns = transcript.read(body([("assistant", "- Risk: it breaks\n- Bash: make test\n- Note: later")]))
    assert [call.command for call in turns[0].calls] == ["make test"]
    assert "- Risk: it breaks" in turns[0].texts


def test_a_command_of_several_lines_is_whole() -> None:
    text = "- Bash: cat <<EOF  # Write it\n  ```bash\n  one\n  two\n  ```\n  ! Exit code 1"
    (call,) = transcript.read(body([("assistant", text)]))[0].calls
    assert (call.command, call.errors) == ("cat <<EOF\none\ntwo", ["Exit code 1"])


def test_code_is_no_sentence() -> None:
    found = distil(body([("user", "Explain this:\n\n```\nwe decided to use nothing\n```\n\nThank you very much")]))
    assert "we decided" not in found.body("x")


@given(
    st.lists(st.tuples(st.sampled_from(["user", "assistant", "task", "command"]), st.text(max_size=300)), max_size=5)
)
def test_any_text_can_be_distilled(turns: list[tuple[str, str]]) -> None:
    document = body(turns)
    found = distil(document)
    assert found.cited() <= {turn.number for turn in transcript.read(document)}
    found.body("x").encode()


def test_what_a_harness_writes_before_a_continued_session_is_no_key_point() -> None:
    talk = [
        ("user", "Fix the timetable."),
        ("compaction", "This session is being continued from a previous conversation that ran out of context. "
         "Summary: the offset of the timetable is a constant hour."),
        ("user", "Please continue the conversation from where we left it off without asking me. Use zoneinfo."),
        ("assistant", "The timetable reads local times by zoneinfo now, and refuses hours that do not exist."),
    ]  # fmt: skip
    found = [each.text for section in distil(body(talk)).sections.values() for each in section]
    assert any("zoneinfo" in text for text in found)
    assert not any("continued from" in text or "left it off" in text for text in found)


def test_an_approach_that_was_turned_down_has_the_agent_s_conclusion_as_its_reason() -> None:
    talk = [
        ("user", "Should the queue move to Redis? Look at it."),
        ("assistant", "I read the queue. I'd stay with SQLite. Redis is a second service to run on a small box."),
        ("user", "Rejected then."),
    ]
    (found,) = distil(body(talk)).sections["rejected"]
    assert found.why == "I'd stay with SQLite. Redis is a second service to run on a small box."


def _filled(**sections: list[str]) -> Distillate:
    return Distillate(
        {key: [Statement(text, (at,)) for at, text in enumerate(texts, 1)] for key, texts in sections.items()}
    )


def test_a_small_distillate_has_the_first_of_each_section_before_the_second_of_any() -> None:
    found = _filled(goals=["a" * 40, "b" * 40], errors=["c" * 40, "d" * 40], concepts=["word"])
    found.trim(140)
    assert {key: [each.text[0] for each in texts] for key, texts in found.sections.items()} == {
        "goals": ["a"],
        "errors": ["c"],
    }


def test_of_decisions_the_latest_stays() -> None:
    found = _filled(decisions=["use tabs", "use spaces", "use whatever the formatter uses"])
    found.trim(65)
    assert [each.text for each in found.sections["decisions"]] == ["use whatever the formatter uses"]


def test_the_smallest_distillate_has_one_statement() -> None:
    found = _filled(goals=["word " * 60], points=["more"])
    found.trim(5)
    (statement,) = found.sections["goals"]
    assert len(statement.text) <= 80
    assert found.count() == 1


@given(
    st.dictionaries(st.sampled_from(sorted(SECTIONS)), st.lists(st.text(min_size=1, max_size=300), min_size=1)),
    st.integers(0, 3_000),
)
def test_a_trimmed_distillate_keeps_the_order_and_the_limit(sections: dict[str, list[str]], room: int) -> None:
    found = _filled(**sections)
    before = {key: list(texts) for key, texts in found.sections.items()}
    found.trim(room)
    assert len(found.body("")) - len("# \n") <= max(room, 200)
    for key, kept in found.sections.items():
        assert kept
        if found.count() > 1:
            places = [before[key].index(each) for each in kept]
            assert places == sorted(places)
