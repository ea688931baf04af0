"""What a hit's text tells about the chance of an answer, and which words the best place lacks."""

from __future__ import annotations

import apsw
import pytest

from core.home import Home
from core.jsonb import pack
from core.version import REDACTION
from qmd.index.catalogue import Filters
from qmd.index.store import Deadline
from qmd.search.quoting import Question, Reading
from qmd.search.search import Hit
from runtime.asking import deciding
from runtime.asking.ask import Asker, Inquiry
from runtime.asking.deciding import Known
from runtime.asking.request import Request
from tests.runtime.index_fixture import Shelf

RARITIES = {"walrus": 0.9, "tusk": 0.6, "sea": 0.1, "the": 0.0}


def inquiry(question: str, evidence: float | None, min_score: float | None = None) -> Inquiry:
    made = Inquiry(question, Request(min_score=min_score), Deadline(apsw.Connection(":memory:"), 1.0), Filters())
    made.hits = [Hit((1, "brain", "a", "a", "0" * 64, 0, 0, 1, pack({}), REDACTION), 0.5)]
    made.evidence = evidence
    return made


def harbours(home: Home) -> Shelf:
    """Return a shelf with 40 documents in which no word of a question is."""
    shelf = Shelf(home)
    for number in range(40):
        shelf.put("brain", f"{number}.md", f"the harbour of day {number} with many ships and ropes. " * 3)
    return shelf


def test_coverage_is_that_of_one_document_by_rarity() -> None:
    known = Known(RARITIES, [{"walrus"}, {"tusk", "sea"}])
    assert known.covered == pytest.approx(0.9 / 1.6)
    assert (known.lacking, known.words, known.somewhere) == (0.0, 3, {"walrus", "tusk", "sea"})


def test_the_rarest_word_that_no_document_has_is_lacking() -> None:
    assert Known(RARITIES, [{"walrus"}]).lacking == 0.6
    assert Known(RARITIES, []).lacking == 0.9
    assert Known({}, []).covered == 0.0


def test_the_chance_rises_with_evidence_and_coverage_and_falls_with_what_is_lacking() -> None:
    whole, half, nothing = (Known(RARITIES, [held]) for held in ({"walrus", "tusk", "sea"}, {"walrus"}, set[str]()))
    assert whole.chance(0.5) > half.chance(0.5) > nothing.chance(0.5)
    assert whole.chance(0.5) > whole.chance(0.1)
    assert 0 <= nothing.chance(0.0) < deciding.LEAST_CHANCE < whole.chance(1.0) <= 1


@pytest.mark.parametrize(
    ("evidence", "given", "held", "abstained"),
    [
        (0.10, None, {"walrus"}, True),
        (0.23, None, {"walrus"}, True),
        (0.24, None, {"walrus"}, False),
        (0.90, None, {"walrus", "tusk"}, False),
        (0.10, 0.2, {"walrus", "tusk"}, True),
        (0.10, 0.0, set(), False),
        (None, 1.0, set(), False),
    ],
)
def test_too_small_a_chance_drops_all_hits(
    evidence: float | None, given: float | None, held: set[str], abstained: bool
) -> None:
    made = inquiry("walrus tusks", evidence, given)
    deciding.abstain(made, Known({"walrus": 0.9, "tusk": 0.6}, [held]), deciding.MANY_PASSAGES)
    assert (made.abstained, made.hits == [], len(made.nearest)) == (abstained, abstained, int(abstained))
    assert ("nothing relevant" in made.reason) is abstained


def test_a_small_index_is_judged_by_the_evidence_of_the_search() -> None:
    for evidence, abstained in ((deciding.LEAST_EVIDENCE, False), (deciding.LEAST_EVIDENCE - 0.01, True)):
        made = inquiry("walrus", evidence)
        deciding.abstain(made, Known({"walrus": 1.0}, [{"walrus"}]), deciding.LEAST_PASSAGES - 1)
        assert made.abstained is abstained


def test_the_evidence_that_is_enough_grows_with_the_index_and_joins_that_of_a_small_one() -> None:
    asked = [deciding.enough_in(passages) for passages in (100, 300, 1_000, 2_000, 50_000)]
    assert asked == sorted(asked)
    assert (asked[0], asked[-2], asked[-1]) == (deciding.LEAST_EVIDENCE, deciding.ENOUGH, deciding.ENOUGH)
    for passages, abstained in ((120, False), (2_000, True)):
        made = inquiry("walrus tusks", 0.19)
        deciding.abstain(made, Known({"walrus": 0.9, "tusk": 0.6}, [{"walrus"}]), passages)
        assert made.abstained is abstained


def test_a_literal_question_needs_a_word_of_its_literal_part() -> None:
    for held, abstained in (({"getusernam"}, False), ({"broken"}, True)):
        made = inquiry("getUserName", 0.01)
        deciding.abstain(made, Known({"getusernam": 1.0, "broken": 0.6}, [held]), deciding.MANY_PASSAGES)
        assert made.abstained is abstained


def test_rare_words_that_the_best_exchange_lacks_are_missing(home: Home) -> None:
    shelf = harbours(home)
    text = "## [1] user · 2026-01-01\n\nwhere is the walrus\n\n## [2] assistant · 2026-01-01\n\nIn the museum.\n\n"
    text += "## [3] user · 2026-01-01\n\nand the penguin\n\n## [4] assistant · 2026-01-01\n\nAt the zoo.\n"
    shelf.put("brain", "session.md", text)
    with Asker(home, shelf.config) as asker:
        found = asker.ask("walrus museum penguin giraffe", Request(min_score=0.0))
        assert (found["hits"][0]["uri"].rpartition("/")[2], found["missing"]) == ("session.md", ["penguin", "giraffe"])
        assert "missing" not in asker.ask("walrus museum", Request(min_score=0.0))


@pytest.mark.parametrize("question", ["walrus", "walrus museum"])
def test_a_word_of_the_title_is_not_missing(home: Home, question: str) -> None:
    shelf = harbours(home)
    text = "# The walrus\n\n## [1] user · 2026-01-01\n\nwhere is it\n\n"
    text += "## [2] assistant · 2026-01-01\n\nIn the museum.\n\n# A penguin\n\n## [3] user · 2026-01-01\n\nthanks\n"
    shelf.put("brain", "session.md", text)
    with Asker(home, shelf.config) as asker:
        assert "missing" not in asker.ask(question, Request(min_score=0.0))
        assert asker.ask(f"{question} giraffe", Request(min_score=0.0))["missing"] == ["giraffe"]


def test_a_text_mentions_a_word_in_any_of_its_forms() -> None:
    wanted = Question("why did TestLocks need Redis retries in a lock")
    assert list(wanted.stems.values()) == ["TestLocks", "need", "Redis", "retries", "lock"]
    assert wanted.stems.keys() - Reading("The redis-retry of myTestLock", wanted).mentioned == {"need"}


@pytest.mark.parametrize("question", ["pingüino congelación", "pinguino congelacion", "PINGÜINO CONGELACIÓN"])
@pytest.mark.parametrize(
    "said", ["el pingüino y su congelación", "EL PINGÜINO Y SU CONGELACIÓN", "pinguino congelacion"]
)
def test_a_word_is_mentioned_with_or_without_its_accents(home: Home, question: str, said: str) -> None:
    shelf = harbours(home)
    text = f"## [1] user · 2026-01-01\n\nhola\n\n## [2] assistant · 2026-01-01\n\nHe visto {said} en el museo.\n"
    shelf.put("brain", "session.md", text)
    with Asker(home, shelf.config) as asker:
        found = asker.ask(question, Request())
        assert "missing" not in found
        assert found["hits"][0]["snippet"].startswith(f"agent: He visto {said}")
        assert asker.ask(f"{question} jirafón", Request(min_score=0.0))["missing"] == ["jirafón"]
