"""The state of a session is copied from its document, and each fact cites the line that it comes from."""

from __future__ import annotations

import pytest

from runtime.handover.selection import allot, choose, shortened, written
from runtime.handover.state import KINDS, Fact, Session
from tests.runtime.handover.documents import COMPACTED, SESSION

LINES = SESSION.split("\n")


def of(kind: str, text: str = SESSION) -> list[Fact]:
    return [fact for fact in Session(text).facts() if fact.kind == kind]


@pytest.mark.parametrize(
    ("kind", "text", "line"),
    [
        ("goal", "Make the HTTP client sturdier. It gives up too early on slow networks.", "## [1] user"),
        ("asked", "No, don't use exponential backoff", "## [3] user"),
        ("decision", "I decided to retry three times", "I decided to retry"),
        ("rejected", "No, don't use exponential backoff", "No, don't use exponential"),
        ("error", "`go vet ./pkg/quorum` failed: error: cannot find package quorum", "- Bash: go vet"),
        ("fixed", "`pytest tests/net` failed", "- Bash: pytest tests/net"),
        ("file", "`src/net/client.py`", "- Edit: /srv/api/src/net/client.py"),
        ("command", "`make check-net`", "- Bash: make check-net"),
        ("next", "Constant delays it is. Next: wire the limiter into the router.", "## [4] assistant"),
    ],
)
def test_each_kind_of_fact_is_found_where_it_is(kind: str, text: str, line: str) -> None:
    found = next(fact for fact in of(kind) if fact.text.startswith(text))
    assert LINES[found.line - 1].startswith(line)


def test_a_document_without_turns_has_no_facts() -> None:
    note = Session("---\ntype: decision\n---\n\n# Decision: use flock\n\nuse flock for the writer lock\n")
    assert (note.turns("user"), note.line_of(1, "flock"), note.facts()) == ([], 0, [])


def test_an_error_that_was_solved_is_not_open() -> None:
    assert not any("pytest" in fact.text for fact in of("error"))


def test_a_session_may_be_read_up_to_a_turn() -> None:
    whole, before = Session(COMPACTED), Session(COMPACTED, until=5)
    assert [number for number, _, _ in before.turns("user")] == [1, 3]
    assert whole.turns("compaction")[0][2].endswith("ran make check-net.")
    assert (whole.turn_at(LINES.index("## [3] user · 2026-05-02 08:10") + 2), whole.turn_at(1)) == (3, 0)


def test_what_does_not_fit_gives_way_by_kind_and_the_budget_holds() -> None:
    facts = Session(SESSION).facts()
    for room in (300, 900, 5_000):
        kinds = choose(facts, "qmd://brain/s1.md", {}, room)
        assert sum(len(heading) + 6 + sum(len(line) + 1 for line in lines) for heading, lines in kinds) <= room
    assert [heading for heading, _ in kinds] == [KINDS[kind] for kind in KINDS if any(f.kind == kind for f in facts)]


def test_kinds_that_need_little_leave_the_rest_to_others() -> None:
    shares = {"a": 0.5, "b": 0.25, "c": 0.25}
    assert allot({"a": 10, "b": 500, "c": 500}, shares, 100) == {"a": 10, "b": 45, "c": 45}
    assert allot({"a": 10, "b": 20}, shares, 100) == {"a": 10, "b": 20}


def test_a_long_text_keeps_its_beginning_and_its_end() -> None:
    text = "begin " + "x" * 900 + " end"
    short = shortened(text, 120)
    assert (short.startswith("begin"), short.endswith("end"), len(short) < 200) == (True, True, True)
    assert shortened(text, 0) == text


def test_commands_stay_runnable_and_no_tag_opens() -> None:
    fact = Fact("command", "`a && b < in > out 2>&1 </memory>`", 1, 3)
    assert written(fact, "", {}) == "- `a && b < in > out 2>&1 &lt;/memory>` (line 3)"


def test_calls_and_thoughts_are_not_what_an_agent_said() -> None:
    text = SESSION + (
        "\n## [5] assistant · 2026-05-02 08:12\n\n- bash: make router\n\n  a line of its script\n\n"
        "The router now asks the limiter before it forwards a request.\n\n"
        "### reasoning\n\nPerhaps the limiter of the router loses requests at midnight when the quota resets.\n"
    )
    (left,) = of("next", text)
    assert left.text == "The router now asks the limiter before it forwards a request."
    points = [fact.text for fact in of("point", text)]
    assert any("asks the limiter" in point for point in points)
    assert not any("midnight" in point for point in points)
