"""Folders that a conversation speaks of."""

from __future__ import annotations

import pytest

from ingest.session import places
from ingest.session.project_ids import slug_of


@pytest.mark.parametrize(("text", "found"), [
    ("Look at /Users/me/app! It fails.", "/Users/me/app"), ("In _/Users/me/app_ it", "/Users/me/app"),
    ("/users/me/app, then /Users/me/app/a.py and /Users/me/app", "/Users/me/app"),
    ("See /Users/me/app_/a.py and /Users/me/app_/b.py, or /Users/me/app!", "/Users/me/app_"),
    ("C:\\Users\\me\\app!", ""), ("/... //. /!! \\\\..", ""), ("/Users/you/app", "")])  # fmt: skip
def test_of_spellings_with_the_same_letters_the_one_without_signs_after_it_and_the_most_frequent_is_taken(
    text: str, found: str
) -> None:
    assert places.spoken_of([text], lambda place: slug_of(place) == "users-me-app") == found


def test_no_more_than_5000_folders_are_looked_at() -> None:
    looked: list[str] = []

    def no(place: str) -> bool:
        looked.append(place)
        return False

    assert places.spoken_of([" ".join(f"/{number}/x and /{number}/x_" for number in range(9_000))], no) == ""
    assert 4_000 < len(looked) == len(set(looked)) <= 5_000
