"""A distilled session in ``brain why``: what was decided and rejected before all else."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.home import Home
from qmd.search.search import Searcher
from runtime.capture.init import setup
from runtime.distill import extractive
from runtime.distill.distillate import Distillate
from runtime.distill.distiller import Extractive
from runtime.distill.run import Asked
from runtime.distill.run import run as distil
from runtime.explaining.why import statements, why
from tests.runtime.distill.session import body
from tests.runtime.index_fixture import Shelf

SESSION = body(
    [
        ("user", "our git status has broken"),
        ("assistant", "Worktree indexes reference objects that the collection removed."),
        ("user", "document the workaround"),
        ("assistant", "Done. Want me to set `gc.auto 0` on your repo, which would disable auto gc?"),
        ("user", "no don't set it, let's see if it keeps happening"),
        ("assistant", "Fair enough."),
        ("user", "now rename the release branch"),
        ("assistant", "Renamed."),
        ("user", "let's go with trunk"),
    ]
)
HEAD = "# Git\n\n## Goals\n\n- our git status has broken [1]\n\n"
REJECTED = "## Rejected approaches\n\n- no don't set it, let's see if it keeps happening [5]\n\n"
DECIDED = "## Decisions\n\n- let's go with trunk [9]\n\n"
POINTS = "## Key points\n\n- auto gc is what auto gc does, and disable disables auto gc [2]\n\n"
NAMES = "## Technologies\n\nGit [1] [2], gc [2], auto gc [2]\n\n## Concepts\n\ngc [2], auto [2]\n"


GROUNDS = extractive.grounds


def _shown(text: str, session: str = SESSION, topic: str = "disable auto gc") -> list[str]:
    lines = text.split("\n")
    return [f"{each.section}: {lines[each.line - 1].removeprefix('- ')}" for each in statements(text, session, topic)]


def test_a_rejection_that_names_nothing_is_on_the_topic_of_the_turn_that_it_answers() -> None:
    found = _shown(HEAD + DECIDED + REJECTED + POINTS + NAMES)
    assert found[0] == "Rejected approaches: no don't set it, let's see if it keeps happening [5]"
    assert [line.partition(":")[0] for line in found[1:]] == ["Key points", "Technologies", "Concepts"]


@pytest.mark.parametrize("session", [SESSION, ""])
def test_a_decision_on_another_topic_is_no_evidence(session: str) -> None:
    assert not any("trunk" in line for line in _shown(HEAD + DECIDED + POINTS, session))
    assert _shown(HEAD + DECIDED + POINTS, session, "trunk")[0] == "Decisions: let's go with trunk [9]"


def test_without_its_session_a_rejection_is_known_by_its_own_words() -> None:
    rejected = "## Rejected approaches\n\n- disable auto gc: packs pile up [5]\n- no don't set it [5]\n"
    assert _shown(HEAD + rejected + POINTS, "")[:2] == [
        "Rejected approaches: disable auto gc: packs pile up [5]",
        "Key points: auto gc is what auto gc does, and disable disables auto gc [2]",
    ]


@pytest.mark.parametrize(
    ("better", "worse"),
    [
        (f"## {better}\n\n- the auto gc [1]\n", f"## {worse}\n\n- disable auto gc, auto gc [1]\n")
        for better, worse in (
            ("Decisions", "Errors and their fixes"),
            ("Rejected approaches", "Key points"),
            ("Rejected approaches", "Goals"),
            ("Errors and their fixes", "Open questions"),
            ("Key points", "Commands that worked"),
            ("Goals", "Files touched"),
            ("Files touched", "Technologies"),
            ("Key points", "A section of another version"),
        )
    ],
)
def test_sections_rank_by_what_they_say_of_a_decision(better: str, worse: str) -> None:
    found = [line.partition(":")[0] for line in _shown(f"# T\n\n{worse}\n{better}", "")]
    assert found == [better.partition("\n")[0][3:], worse.partition("\n")[0][3:]]


def test_a_rejection_ranks_before_a_statement_with_more_of_the_words(home: Home) -> None:
    shelf = Shelf(home)
    shelf.put("brain", "one.md", SESSION, session_id="one")
    shelf.put("distilled", "one.md", HEAD + REJECTED + NAMES, session_id="one", source_uri="qmd://brain/one.md")
    shelf.put("distilled", "two.md", POINTS + POINTS, session_id="two", source_uri="qmd://brain/two.md")
    first, second = why(home, shelf.config, "disable auto gc")["evidence"]
    assert (first["uri"], second["uri"]) == ("qmd://distilled/one.md", "qmd://distilled/two.md")
    assert first["snippet"].startswith("Rejected approaches: no don't set it")


def test_of_a_distillate_that_has_but_names_the_session_is_shown(home: Home) -> None:
    shelf = Shelf(home)
    shelf.put("brain", "one.md", SESSION, session_id="one")
    shelf.put("distilled", "one.md", NAMES, session_id="one", source_uri="qmd://brain/one.md")
    shelf.put("distilled", "gone.md", NAMES, session_id="gone", source_uri="qmd://brain/gone.md")
    found = [each["uri"] for each in why(home, shelf.config, "disable auto gc")["evidence"]]
    assert found == ["qmd://brain/one.md", "qmd://distilled/gone.md"]


def test_the_demo_says_that_redis_was_rejected(home: Home) -> None:
    setup(home, demo=True)
    shelf = Shelf(home)
    distil(home, shelf.config, Extractive(), Asked())
    (found, *_) = why(home, shelf.config, "redis")["evidence"]
    assert found["snippet"].startswith("Rejected approaches: ")
    assert "from SQLite to Redis? — Rejected then." in found["snippet"]


@pytest.mark.parametrize("distilled", [False, True])
def test_the_demo_says_why_redis_was_rejected_and_by_whom(home: Home, distilled: bool) -> None:
    setup(home, demo=True)
    shelf = Shelf(home)
    if distilled:
        distil(home, shelf.config, Extractive(), Asked())
    (found, *_) = why(home, shelf.config, "redis")["evidence"]
    (statement,) = found["statements"]
    assert (statement["type"], statement["by"], statement["turn"]) == ("rejected", "you", 3)
    assert statement["date"].startswith("2026-03-25")
    assert statement["text"].endswith("from SQLite to Redis? — Rejected then.")
    assert statement["why"].startswith("I'd stay with SQLite")
    assert found["uri"].startswith("qmd://distilled/" if distilled else "qmd://brain/")


def test_a_memory_without_notes_and_sessions_is_not_searched_for_them(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    shelf = Shelf(home)
    shelf.put("kb-raw", "a.md", "an article on redis", title="Redis")
    shelf.put("inbox", "n.md", "redis is quick", type="note", session_id="n")
    asked: list[str] = []

    def search(_: Searcher, topic: str, **given: object) -> list[object]:
        asked.append(topic)
        return []

    monkeypatch.setattr(Searcher, "search", search)
    assert why(home, shelf.config, "redis")["decisions"] == []
    shelf.put("brain", "one.md", SESSION, session_id="one")
    why(home, shelf.config, "redis")
    assert asked == ["redis"]


def test_sessions_are_distilled_until_the_answer_is_full_and_never_twice(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    shelf = Shelf(home)
    for number in range(6):
        shelf.put("brain", f"{number}.md", f"{SESSION}\n\nthe session {number}", session_id=str(number))
    asked: list[str] = []

    def counted(text: str) -> Distillate:
        asked.append(text)
        return GROUNDS(text)

    monkeypatch.setattr(extractive, "grounds", counted)
    first = why(home, shelf.config, "disable auto gc")
    assert len(first["evidence"]) == len(asked) == 3
    assert why(home, shelf.config, "disable auto gc")["evidence"] == first["evidence"]
    assert len(asked) == 3


def test_a_session_that_is_not_distilled_shows_the_line_of_its_decision(home: Home) -> None:
    shelf = Shelf(home)
    shelf.put("brain", "one.md", SESSION, session_id="one")
    (found,) = why(home, shelf.config, "disable auto gc")["evidence"]
    text = Path(shelf.home.path("brain", "one.md")).read_text("utf-8")
    assert text.split("\n")[found["line"] - 1].startswith("## [5] user")
    assert [(each["type"], each["by"]) for each in found["statements"]] == [("rejected", "you")]
