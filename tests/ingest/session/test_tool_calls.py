"""Tool calls become searchable lines, without their results."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.session.tool_calls import canonical_lines, error_lines

CALLS: list[tuple[str, dict[str, Any], str]] = [
    ("Bash", {"command": "make test | tee log"}, "- Bash: make test | tee log"),
    ("Bash", {"command": "ls", "description": "List files"}, "- Bash: ls  # List files"),
    ("Bash", {"command": "a \\\n  b"}, "- Bash:\n  ```sh\n  a \\\n    b\n  ```"),
    ("Bash", {"command": "cat <<'```'\nx\n```"}, "- Bash:\n  ````sh\n  cat <<'```'\n  x\n  ```\n  ````"),
    ("Read", {"file_path": "/a/b.py"}, "- Read: /a/b.py"),
    ("Read", {"file_path": "/a/b.py", "offset": 10, "limit": 5}, "- Read: /a/b.py (lines 10-14)"),
    ("Edit", {"file_path": "/a/b.py", "old_string": "SECRET", "new_string": "x"}, "- Edit: /a/b.py"),
    ("MultiEdit", {"file_path": "/a/b.py", "edits": [{}, {}]}, "- MultiEdit: /a/b.py (2 edits)"),
    ("Write", {"file_path": "/a/b.py", "content": "SECRET"}, "- Write: /a/b.py"),
    ("NotebookEdit", {"notebook_path": "/a/n.ipynb"}, "- NotebookEdit: /a/n.ipynb"),
    ("Glob", {"pattern": "**/*.py", "path": "src"}, "- Glob: **/*.py in src"),
    ("Grep", {"pattern": "token\\s", "path": "src", "glob": "*.py"}, "- Grep: token\\s in src (*.py)"),
    ("WebSearch", {"query": "sqlite wal"}, "- WebSearch: sqlite wal"),
    ("WebFetch", {"url": "https://x.org", "prompt": "what"}, "- WebFetch: https://x.org what"),
    ("Task", {"subagent_type": "Plan", "description": "d", "prompt": "p"}, "- Task (Plan): d: p"),
    ("Agent", {"description": "d", "prompt": "p"}, "- Agent: d: p"),
    ("Skill", {"skill": "review", "args": "42"}, "- Skill: review 42"),
    ("LSP", {"operation": "hover", "filePath": "a.go", "line": 3}, "- LSP: hover a.go 3"),
    ("TodoWrite", {"todos": [{"content": "a", "status": "pending"}, {"content": "b"}]}, "- TodoWrite: a; b"),
    (
        "TodoWrite",
        {"todos": [{"content": "a", "status": "completed"}, {"content": "b", "status": "in_progress"}]},
        "- TodoWrite: 1 of 2 done, now: b",
    ),
    ("TaskCreate", {"subject": "Do it", "description": "long"}, "- TaskCreate: Do it"),
    ("TaskUpdate", {"taskId": "3", "status": "completed"}, "- TaskUpdate: 3 completed"),
    ("mcp__linear__get_issue", {"id": "ENG-1"}, "- mcp__linear__get_issue: id=ENG-1"),
    ("Novel", {"a": 1, "b": ["x", {"c": None}], "d": True, "e": ""}, "- Novel: a=1, b=[x; {c: None}], d=true"),
    ("Novel", {}, "- Novel"),
    (
        "AskUserQuestion",
        {"questions": [{"question": "Which?", "options": [{"label": "A"}, {"label": "B"}]}]},
        "- AskUserQuestion: Which? [A | B]",
    ),
    ("ExitPlanMode", {"plan": "# Plan\n\n1. do"}, "- ExitPlanMode:\n  # Plan\n\n  1. do"),
]


@pytest.mark.parametrize(("name", "given_input", "line"), CALLS, ids=[f"{n}-{i}" for i, (n, _, _) in enumerate(CALLS)])
def test_a_call_is_a_searchable_one_liner(name: str, given_input: dict[str, Any], line: str) -> None:
    assert canonical_lines(name, given_input) == line


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
KEYS = st.sampled_from(
    [
        "command",
        "file_path",
        "pattern",
        "path",
        "query",
        "url",
        "prompt",
        "questions",
        "plan",
        "todos",
        "edits",
        "offset",
        "limit",
    ]
)


@given(st.sampled_from([name for name, _, _ in CALLS]) | st.text(max_size=10), st.dictionaries(KEYS, JSON) | JSON)
def test_no_input_raises_or_leaves_its_list_item(name: str, given_input: Any) -> None:
    lines = canonical_lines(name, given_input).split("\n")
    assert lines[0].startswith("- ")
    assert all(line.startswith(("  ", "- AskUserQuestion")) or not line for line in lines[1:])


def test_a_failures_first_lines_are_kept_and_no_more() -> None:
    many = "\n".join(f"error line {n}" for n in range(20))
    assert error_lines(many) == "\n".join(f"  ! error line {n}" for n in range(5))
    assert len(error_lines("error " + "x" * 5000)) < 520
    assert error_lines("=====\n\n\x1b[31mboom\x1b[0m: it failed\n") == "  ! boom: it failed"
    assert error_lines("10%\r50%\r100% fatal\n") == "  ! 100% fatal"


def test_an_error_at_the_end_of_an_output_is_kept() -> None:
    traceback = "Exit code 1\nTraceback (most recent call last):\n" + '  File "a.py", line 1, in f\n    f()\n' * 9
    kept = error_lines(traceback + "sqlite3.OperationalError: database is locked\n")
    assert kept.endswith("  ! sqlite3.OperationalError: database is locked")
    assert kept.startswith("  ! Exit code 1\n  ! Traceback")
