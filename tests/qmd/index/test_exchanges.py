"""A session is cut into exchanges: a prompt, and what came of it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from qmd.index import exchanges
from qmd.index.exchanges import Turns

SESSION = """---
source: claude
---

# Title

## [1] user · 2026-03-12 08:42

Why does it fail?

## [2] assistant · 2026-03-12 08:43

- Read: a.py
- mcp__git.log (x): main
- Bash: make
  ! Error 2

It fails because:

- the path is wrong
- Note that: nothing else is

### reasoning

Perhaps not.

## [3] assistant · 2026-03-12 08:44

Fixed.

## [4] task · 2026-03-12 08:50

Report.

## [5] compaction · 2026-03-12 08:51

A summary.
"""


def outcomes(text: str) -> list[str]:
    turns = Turns(text)
    return [text[slice(*turns.outcome(turn))].strip() for turn in range(len(turns.starts)) if turns.first(turn) == turn]


def test_an_exchange_ends_with_the_last_reply_before_the_next_prompt() -> None:
    turns = Turns(SESSION)
    assert turns.roles == ["user", "assistant", "assistant", "task", "compaction"]
    assert [turns.first(turn) for turn in range(5)] == [0, 0, 0, 3, 3]
    assert [turns.last(turn) for turn in range(5)] == [2, 2, 2, 4, 4]
    assert outcomes(SESSION) == ["Fixed.", "A summary."]


def test_a_conclusion_follows_the_last_call_and_its_failure_and_ends_before_the_reasoning() -> None:
    start, end = Turns(SESSION).conclusion(1)
    assert SESSION[start:end].strip() == "It fails because:\n\n- the path is wrong\n- Note that: nothing else is"


def test_a_prompt_without_a_reply_has_no_outcome() -> None:
    assert outcomes("## [1] user\n\nHello?\n\n## [2] user\n\nAnybody?\n") == ["", ""]


def test_exchanges_follow_each_other_from_the_first_heading_to_the_end() -> None:
    found = list(exchanges.spans(SESSION))
    assert [start for start, _ in found] == [SESSION.index("## [1]"), SESSION.index("## [4]")]
    assert [end for _, end in found] == [SESSION.index("## [4]"), len(SESSION)]


@given(st.lists(st.text(alphabet="ab İ字\n#-`?!:.[]", max_size=40), max_size=8))
def test_any_text_has_exchanges_in_order_with_gists_inside_of_them(parts: list[str]) -> None:
    roles = ("user", "assistant", "task", "compaction")
    text = "".join(f"{part}\n## [{number}] {roles[number % 4]}\n{part}" for number, part in enumerate(parts))
    last = 0
    for start, end in exchanges.spans(text):
        assert last <= start < end <= len(text)
        last = end
        parts_of = exchanges.gist(text, start, end)
        assert parts_of
        assert all(start <= begin < until <= end for begin, until in parts_of)
        assert sum(until - begin for begin, until in parts_of) <= 600
