"""What is shown says if it still holds, and by what it was replaced."""

from __future__ import annotations

from typing import Any

from runtime.validity import validity
from runtime.validity.validity import Claim

DAY = 86_400


def claim(key: str, text: str, at: int, **given: Any) -> Claim:
    return Claim(key, f"qmd://brain/{key}.md", at * DAY, [(7, text)], project="/srv/api", **given)


def test_the_older_has_the_newer_as_its_side_and_the_newer_holds() -> None:
    claims = [claim("b", "The timeout is 90 seconds.", 2), claim("a", "The timeout is 30 seconds.", 1)]
    sides = validity.judge(claims)
    found = validity.verdict(sides["a"], known=True)
    assert found["state"] == "superseded"
    assert found["by"] == [
        {"uri": "qmd://brain/b.md", "line": 7, "date": "1970-01-03T00:00:00Z", "text": "The timeout is 90 seconds."}
    ]
    assert validity.words(found) == "superseded by “The timeout is 90 seconds.” (1970-01-03, qmd://brain/b.md:7)"
    assert validity.verdict(sides.get("b", ()), known=claims[0].is_said) == {"state": "current", "by": []}


def test_both_sides_of_a_contradiction_show_each_other() -> None:
    claims = [claim("a", "Never squash commits.", 1), claim("b", "Always squash commits.", 2)]
    sides = validity.judge(claims)
    assert {key: [side.claim.key for side in found] for key, found in sides.items()} == {"a": ["b"], "b": ["a"]}
    assert {side.state for found in sides.values() for side in found} == {"contradicted"}


def test_a_newer_statement_of_another_owner_contradicts_and_takes_no_place() -> None:
    claims = [
        claim("a", "The timeout is 30 seconds.", 1),
        claim("b", "The timeout is 90 seconds.", 2, owner="mira"),
        claim("c", "The timeout is 120 seconds.", 3, owner="mira"),
    ]
    sides = validity.judge(claims)
    own, older, newest = (validity.verdict(sides.get(key, ()), known=True) for key in "abc")
    assert (own["state"], older["state"], newest["state"]) == ("contradicted", "superseded", "contradicted")
    assert [side.get("owner") for side in (*own["by"], *older["by"], *newest["by"])] == ["mira", "mira", "mira", None]
    assert "contradicted by mira: “The timeout is 120 seconds.”" in validity.words(own)


def test_another_project_and_another_version_of_one_entry_say_nothing() -> None:
    other = Claim("b", "qmd://brain/b.md", 2 * DAY, [(1, "The timeout is 90 seconds.")], project="/srv/web")
    assert validity.judge([claim("a", "The timeout is 30 seconds.", 1), other]) == {}
    same = [claim(key, f"The timeout is {key} seconds.", int(key), entry="n1") for key in ("1", "2")]
    assert validity.judge(same) == {}


def test_an_agent_replaces_no_word_of_a_person_and_a_person_replaces_an_agents() -> None:
    heard = [(3, "The timeout is 30 seconds.")]
    for at, expected in ((1, {"agent"}), (3, set[str]())):
        agent = Claim("agent", "qmd://brain/x.md", at * DAY, [], heard=heard, project="/srv/api")
        assert set(validity.judge([agent, claim("person", "The timeout is 90 seconds.", 2)])) == expected


def test_a_successor_decides_before_words_and_changed_files_after_them() -> None:
    assert validity.words(validity.verdict(successor="n2", known=True)) == "superseded by n2"
    found = validity.verdict((), ["/srv/api/a.py"], known=True)
    assert validity.words(found) == "code changed since: /srv/api/a.py"
    assert validity.verdict()["state"] == "unknown"
    assert validity.verdict(known=True)["state"] == "current"


def test_what_a_person_let_hold_together_is_left_alone() -> None:
    older = claim("a", "The timeout is 30 seconds.", 1, entry="n1")
    newer = claim("b", "The timeout is 90 seconds.", 2, entry="n2", holds_with=["n1"])
    assert validity.judge([older, newer]) == {}


def test_entries_of_one_second_are_in_the_order_of_their_ids() -> None:
    claims = [
        claim("b", "The timeout is 90 seconds.", 1, entry="t-e6b"),
        claim("a", "The timeout is 30 seconds.", 1, entry="t-60a"),
    ]
    assert list(validity.judge(claims)) == ["a"]


def test_claims_are_compared_if_a_person_spoke_after_another_of_the_project() -> None:
    agent = Claim("a", "qmd://brain/a.md", DAY, [], heard=[(3, "The timeout is 30 seconds.")], project="/srv/api")
    assert validity.may_differ([claim("b", "The timeout is 90 seconds.", 2), agent])
    assert validity.may_differ([claim("b", "The timeout is 90 seconds.", 2), claim("c", "Never squash.", 3)])
    assert not validity.may_differ([claim("b", "The timeout is 90 seconds.", 0), agent])
    other = Claim("c", "qmd://brain/c.md", 2 * DAY, [(1, "The timeout is 90 seconds.")], project="/srv/web")
    assert not validity.may_differ([agent, other])
