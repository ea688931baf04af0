from __future__ import annotations

import pytest

from evals.questions import wording


def test_identifiers_paths_and_rare_words_are_not_remembered() -> None:
    spread = {"gearbox": 4, "windmill": 3, "unique": 1}
    text = "please fix the `unique_name` in /x/gearbox.py: the windmill's gearbox, getUserID, 17 unique"
    assert wording.words(text, lambda word: spread.get(word, 9), 1) == ["windmill", "gearbox", "fix"]
    assert wording.words(text, lambda word: spread.get(word, 9), 3) == ["gearbox", "fix"]


def test_a_question_has_its_texts_words_in_another_order_and_some_by_others() -> None:
    text = "remove windmill gearbox lamps"
    first, second, *_ = wording.wordings(["gearbox", "lamps", "remove", "windmill"], text)
    assert first == (["gearbox", "lamps", "delete", "windmill"], ["gearbox", "lamps", "windmill"])
    assert second == (["gearbox", "lamps", "remove", "windmill"],) * 2
    assert wording.wordings(["gearbox", "lamps"], text) == []


def test_what_is_reworded_is_so_by_half_at_least() -> None:
    known = ["windmill", "gearbox", "remove", "directory", "lamps"]
    found = wording.reworded(known, "remove the windmill directory of gearbox lamps")
    assert found == (["delete", "windmill", "folder", "gearbox"], ["remove", "windmill", "directory", "gearbox"])
    assert wording.reworded(["windmill", "gearbox", "remove"], "remove windmill gearbox") is None


@pytest.mark.parametrize(
    ("question", "share"), [("the walrus crossed", 1.0), ("a walrus swam", 0.5), ("what did they do", 0.0)]
)
def test_copied_is_the_share_of_words_in_one_passage(question: str, share: float) -> None:
    assert wording.copied(question, ["The walrus crossed the river.", "Nobody swam."]) == share


def test_a_session_and_its_distillate_are_one_item_and_other_namesakes_are_not() -> None:
    assert wording.name("brain/a.md") == wording.name("distilled/a.md")
    assert len({wording.name(f"{collection}/README.md") for collection in ("brain", "inbox", "code")}) == 3


def test_no_word_stands_for_itself() -> None:
    assert all(word != other and other.isalpha() for word, other in wording._OTHER.items())
