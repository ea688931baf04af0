"""A moved answer is one line that a person can read."""

from __future__ import annotations

import pytest

from tests.golden.moves import Answer, moved

BEFORE = Answer(("qmd://brain/a.md", "qmd://brain/b.md"), (0.5, 0.4), "lex", "1")


@pytest.mark.parametrize(
    ("after", "line"),
    [
        (Answer(BEFORE.uris[::-1], (0.5, 0.4), "lex", "1"), "q: a rank 1 → 2, b rank 2 → 1"),
        (Answer(BEFORE.uris, (0.5, 0.3), "lex", "1"), "q: b score 0.4 → 0.3"),
        (Answer(("qmd://brain/a.md",), (0.6,), "lex", "1"), "q: a score 0.5 → 0.6, b rank 2 → none"),
        (Answer(("qmd://brain/c.md", *BEFORE.uris[1:]), (0.5, 0.4), "lex", "1"), "q: a rank 1 → none, c rank none → 1"),
        (Answer(BEFORE.uris, BEFORE.scores, "time", "1"), "q: route lex → time"),
        (
            Answer(BEFORE.uris, BEFORE.scores, "lex", "2"),
            "q: the same hits, but scores, excerpts or other fields changed",
        ),
    ],
)
def test_a_line_names_what_moved(after: Answer, line: str) -> None:
    assert moved({"q": BEFORE, "same": BEFORE}, {"q": after, "same": BEFORE}) == [line]


def test_questions_that_came_or_went_are_named() -> None:
    assert moved({"old": BEFORE}, {"new": BEFORE}) == ["old: no longer asked", "new: not frozen yet"]
