"""Actions by identity: the newest first."""

from __future__ import annotations

from pathlib import Path

from qmd.index.actions import history
from tests.qmd.corpus import indexed

SESSION = """---
session_id: s
source: claude
date: 2026-04-28T09:14:03Z
turns: 1
---

## [1] assistant · 2026-04-28 09:15

- Bash: make one
  ! fatal: no such target
- Edit: a.py
- AskUserQuestion: Which?
  answer: the first
- Bash: make two
  ! fatal: no such target
- Edit: a.py
- AskUserQuestion: And then?
  answer: the last of a.py
"""


def test_the_last_of_a_turn_comes_first(tmp_path: Path) -> None:
    connection, _ = indexed(tmp_path, {"a.md": SESSION})
    failed = history.with_error(connection, ("fatal: no such target",))
    assert [each.subject for each in failed] == ["make two", "make one"]
    assert [each.number for each in history.statements(connection)] == [5, 2]
    assert [each.number for each in history.statements_about(connection, ["the first", "a.py"])] == [5, 2]
    assert [each.number for each in history.of_file(connection, "a.py")] == [4, 1]
    assert [each.number for each in history.with_error(connection, ("fatal: no such target",), most=1)] == [3]


def test_a_range_has_both_ends_in_order(tmp_path: Path) -> None:
    connection, _ = indexed(tmp_path, {"a.md": SESSION})
    assert [each.number for each in history.between(connection, 1, 1, 3)] == [1, 2, 3]
