from __future__ import annotations

from core.home import Home
from evals.arms.registry import ARMS, Place
from tests.runtime.distill.session import REFRESH, body
from tests.runtime.index_fixture import Shelf


def test_distillates_alone_answer_for_their_sessions_and_nothing_is_written(home: Home) -> None:
    shelf = Shelf(home)
    shelf.put("brain", "one.md", body(REFRESH), session_id="one")
    shelf.put("brain", "two.md", body([("user", "Please plan the garden: tomatoes in May.")]), session_id="two")
    place = Place(home, shelf.config, "", {"one.md": "D1", "two.md": "D2"})
    with ARMS["distilled"].open(place, {}) as answer:
        assert [place.identify(each) for each in answer("HttpOnly cookie", 5)] == ["D1"]
        assert [place.identify(each) for each in answer("tomatoes", 5)] == ["D2"]
    assert shelf.sql("SELECT count(*) FROM documents WHERE collection = 'distilled'") == [(0,)]
