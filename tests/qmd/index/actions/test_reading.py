from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from qmd.index import derived
from qmd.index.actions import reading
from qmd.index.actions.action import Action

HEAD = """---
session_id: s
source: claude
title: T
date: 2026-04-28T09:14:03Z
project: /home/me/api
turns: 2
---

# T

## [1] user · 2026-04-28 09:14

- Bash: rm -rf /

## [2] assistant · 2026-04-28 09:15

"""
FIRST = HEAD.count("\n") + 1


def read(body: str, head: str = HEAD) -> list[Action]:
    text = head + body
    found = derived.read(text, 0)
    return list(reading.read(text, found.fields, found.date))


def brief(actions: list[Action]) -> list[tuple[str, str, str]]:
    return [(action.kind, action.subject, action.outcome) for action in actions]


def test_a_command_has_its_line_turn_time_folder_and_outcome() -> None:
    (action,) = read("Text.\n\n- Bash: cd web && npm test  # Run the tests\n  ! Exit code 2\n  ! Error: no port 80\n")
    assert action.line == FIRST + 2
    assert (action.turn, action.at) == (2, 1777367700)
    assert (action.kind, action.name, action.subject) == ("command", "npm", "cd web && npm test")
    assert action.folder == "/home/me/api/web"
    assert (action.outcome, action.status, action.error) == ("failed", 2, "Error: no port N")
    assert action.note == "Error: no port 80"


def test_files_are_named_relative_to_their_project() -> None:
    found = read(
        "- Read: /home/me/api/src/a.py (lines 1-20)\n- Edit: src/a.py (2 edits)\n- Write: /etc/b.conf\n"
        "- Write: /home/me/api/src/a.py\n- apply_patch: c.py, d.py (new), e.py (deleted)\n"
    )
    assert brief(found) == [
        ("read", "src/a.py", "ok"),
        ("edit", "src/a.py", "ok"),
        ("create", "/etc/b.conf", "ok"),
        ("edit", "src/a.py", "ok"),
        ("edit", "c.py", "ok"),
        ("create", "d.py", "ok"),
        ("edit", "e.py", "ok"),
    ]
    assert found[0].key == found[1].key == found[3].key != found[2].key


def test_a_failure_knows_with_what_the_same_succeeded_and_a_variant_counts() -> None:
    found = read(
        "- Bash: pytest tests/a.py\n  ! Exit code 1\n  ! ModuleNotFoundError: No module named 'x'\n"
        "- Bash: pip install x\n- Bash: pytest --help\n- Bash: .venv/bin/pytest -q tests/a.py\n"
    )
    assert found[0].fix == 3
    assert [action.fix for action in found[1:]] == [None, None, None]


def test_a_success_that_a_pipe_hides_is_no_fix() -> None:
    found = read("- Bash: make\n  ! Exit code 2\n  ! no rule\n- Bash: make 2>&1 | tail\n- Bash: make\n")
    assert [action.outcome for action in found] == ["failed", "unknown", "ok"]
    assert found[0].fix == 2


def test_a_search_without_a_match_is_no_failure() -> None:
    (action,) = read("- Bash: grep -rn nothing src\n  ! Exit code 1\n")
    assert (action.outcome, action.status) == ("ok", 1)


def test_a_refusal_has_the_reason_that_the_person_gave() -> None:
    (action,) = read(
        "- Bash: rm -rf build\n  rejected by the user\n\n## [3] user · 2026-04-28 09:16\n\nNo, keep the build.\n"
    )
    assert (action.kind, action.subject, action.note) == ("rejection", "Bash: rm -rf build", "No, keep the build.")


def test_answers_and_approved_plans_are_decisions() -> None:
    found = read(
        "- AskUserQuestion: Which store? [SQLite | Postgres]\n  answer: SQLite\n\n"
        "- ExitPlanMode:\n  ## Move the cache\n\n  First step.\n  approved by the user\n"
    )
    assert brief(found) == [("decision", "Which store? → SQLite", "ok"), ("decision", "Move the cache", "ok")]


def test_what_was_only_mentioned_is_no_action() -> None:
    assert (
        read(
            "You could run:\n\n```sh\n- Bash: make\n```\n\n\\- Bash: make\n\n- Note: this\n\n### reasoning\n\n"
            "- Bash: make clean\n\n## [3] compaction\n\n- Bash: make\n"
        )
        == []
    )


def test_a_script_of_several_lines_is_one_command_and_prints_no_call() -> None:
    (action,) = read("- Bash:  # Make it\n  ```sh\n  make\n\n  - Bash: no\n  ```\n")
    assert action.subject == "make - Bash: no"


def test_details_of_a_call_are_read() -> None:
    found = read("- Bash: make x\n  no result\n- shell: ls\n  in web\n")
    assert [(action.outcome, action.folder) for action in found] == [
        ("unknown", "/home/me/api"),
        ("ok", "/home/me/api/web"),
    ]


def test_a_decision_of_the_inbox_and_of_a_distillate_count() -> None:
    note = "---\nsession_id: n\nsource: note\ntype: rejected\ntitle: No Redis\nwhy: One more server\n---\n\n# x\n"
    (action,) = read("", note)
    assert (action.kind, action.subject, action.note) == ("rejection", "No Redis", "One more server")
    distilled = "---\nsource: claude\ndistiller: extractive\n---\n\n# x\n\n## Decisions\n\n- SQLite. Why: small [4]\n"
    (action,) = read("", distilled)
    assert (action.kind, action.subject, action.note, action.turn) == ("decision", "SQLite.", "small", 4)


def test_other_documents_have_no_actions() -> None:
    assert read("- Bash: make\n", "---\nsource: article\ntitle: x\n---\n\n## [1] assistant\n\n") == []


@given(st.text(alphabet="-#`~! \nBashRead:[]()1→", max_size=200))
def test_any_text_can_be_read(body: str) -> None:
    for action in read(body):
        assert action.line > FIRST - 1
        assert len(action.subject) <= 400


def test_a_tool_that_also_looks_at_files_changes_none_by_that() -> None:
    found = read("- str_replace_editor: a.py (view)\n- str_replace_editor: a.py\n- ApplyPatch: b.py (new), c.py\n")
    assert [(action.kind, action.subject) for action in found] == [
        ("read", "a.py"), ("edit", "a.py"), ("create", "b.py"), ("edit", "c.py"),
    ]  # fmt: skip


@given(st.text("a [1]2x", max_size=24))
def test_citations_are_what_ends_a_statement(text: str) -> None:
    match = re.fullmatch(r"(.+?)((?: \[\d+\])+)", text)
    assert reading.split_citations(text) == (match.groups() if match else (text, ""))


def test_a_line_of_a_hundred_thousand_citations_is_read_at_once() -> None:
    text = "## Decisions\n- it holds" + " [1]" * 100_000
    (action,) = reading.read(f"{text}\n", {"distiller": "x"}, 0)
    assert action.subject == "it holds"
    assert reading.read(f"{text}x\n", {"distiller": "x"}, 0) == []
