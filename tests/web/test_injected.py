"""What agents were given is listed as `brain injected` does, and rejected by one key."""

from __future__ import annotations

import re

import pytest

from core.home import Home
from runtime.injections import ledger
from runtime.injections.ledger import Item
from runtime.injections.listing import listing
from tests.runtime.index_fixture import Shelf
from tests.web.hostile import PAYLOADS, Judge
from tests.web.site import Browser

_NOON = 1_773_316_800.0


@pytest.fixture
def given(home: Home) -> Home:
    Shelf(home).put("brain", "tide.md", "the tide table", date=int(_NOON))
    for number, session in enumerate(("s1", "s1", "s2")):
        item = Item(
            f"`make tide-{number}` held", uri="qmd://brain/tide.md", line=3, kind="fix", reason=f"error {number}"
        )
        ledger.add(home, session, "hook", "guard", [item], _NOON + number)
    first = ledger.listed(home)[-1]
    ledger.settle(home, [(first, True, "it ran `make tide-0`")], _NOON + 60)
    return home


def _fresh(page: str) -> str:
    return str(re.findall(r'name="fresh" value="([^"]+)"', page)[-1])


def test_the_twin_is_what_the_command_answers(given: Home) -> None:
    browser = Browser(given)
    assert browser.json("/injected.json") == listing(given, "", None, 50)
    assert [item["session"] for item in browser.json("/injected.json?session=s2")["items"]] == ["s2"]
    assert browser.json("/injected.json?since=2027-01-01")["error"] == "no_results"
    assert browser.json("/injected.json?since=whenever", 400)["error"] == "bad_input"


def test_the_page_shows_text_reason_size_and_use(given: Home) -> None:
    page = Browser(given).get("/injected")
    assert Judge(page).faults == []
    assert "<code>make tide-0</code> held" in page
    assert "error 0" in page
    assert "about 5 tokens" in page
    assert "used: it ran <code>make tide-0</code>" in page
    assert "not judged" in page
    assert "/s/brain/tide.md?line=3#here" in page


def test_a_text_is_rejected_and_the_rejection_taken_back(given: Home) -> None:
    browser = Browser(given)
    ident = str(ledger.listed(given)[0]["id"])
    browser.post("/injected", {"wrong": ident, "fresh": _fresh(browser.get("/injected"))}, 303)
    assert [row["wrong"] for row in ledger.listed(given)] == [True, False, False]
    browser.post("/injected", {"undo": ident, "fresh": _fresh(browser.get("/injected"))}, 303)
    assert not any(row["wrong"] for row in ledger.listed(given))


def test_nothing_is_rejected_without_a_fresh_value_or_a_known_id(given: Home) -> None:
    browser = Browser(given)
    ident = str(ledger.listed(given)[0]["id"])
    browser.post("/injected", {"wrong": ident}, 403)
    browser.post("/injected", {"wrong": "nothing", "fresh": _fresh(browser.get("/injected"))}, 400)
    browser.post("/injected", {"fresh": _fresh(browser.get("/injected"))}, 400)
    assert not any(row["wrong"] for row in ledger.listed(given))


def test_an_empty_ledger_says_how_the_memory_begins_to_speak(home: Home) -> None:
    Shelf(home).put("brain", "tide.md", "the tide table", date=int(_NOON))
    assert "brain hooks install" in Browser(home).get("/injected")


@pytest.mark.parametrize("payload", PAYLOADS)
def test_no_text_for_agents_is_written_into_a_page_as_html(home: Home, payload: str) -> None:
    Shelf(home).put("brain", "tide.md", "the tide table", date=int(_NOON))
    flat = " ".join(payload.split())
    text = f"{payload} `{flat}` **{flat}**"
    item = Item(text, uri=f"qmd://brain/{flat}", kind=payload, reason=payload, about=payload)
    ledger.add(home, payload, "hook", payload, [item], _NOON)
    ledger.settle(home, [(ledger.listed(home)[0], True, text)], _NOON)
    browser = Browser(home)
    assert Judge(browser.get("/injected")).faults == []
