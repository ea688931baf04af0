"""Notes and forgetting: only by a form of the page's own, once, and with the verdict or the proof shown."""

from __future__ import annotations

import asyncio
import html
import re
from pathlib import Path
from typing import Any

import pytest

from core.files import FileLock
from core.home import Home
from runtime.capture import entries
from runtime.capture.capture import capture
from tests.runtime.index_fixture import Shelf
from tests.web.hostile import Judge
from tests.web.site import PORT, Browser
from web.views import forgetting

_NOON = 1_773_316_800


@pytest.fixture
def browser(home: Home) -> Browser:
    Shelf(home)
    return Browser(home)


def fresh(page: str) -> str:
    """Return the value of the last form of a page."""
    return str(re.findall(r'name="fresh" value="([^"]+)"', page)[-1])


def hidden(page: str, name: str) -> str:
    """Return a hidden field of a page."""
    return str(re.findall(rf'name="{name}" value="([^"]*)"', page)[-1])


def previewed(browser: Browser, match: str) -> str:
    """Return the page that shows what a text would remove."""
    return browser.post("/forget", {"match": match, "fresh": fresh(browser.get("/forget"))})


def test_a_note_is_kept_and_found(home: Home, browser: Browser) -> None:
    page = browser.get("/inbox")
    given = {"fresh": fresh(page), "text": "Keep tides in a table", "type": "decision", "why": "it is small"}
    browser.post("/inbox", given, 303)
    (kept,) = entries.entries(home)
    assert (kept.type, kept.title, kept.field("why")) == ("decision", "Keep tides in a table", "it is small")
    assert "Keep tides in a table" in browser.get(f"/inbox?kept={kept.entry_id}")
    assert browser.json("/search.json?q=tides+table")["hits"][0]["title"] == "Keep tides in a table"
    assert [entry["title"] for entry in browser.json("/inbox.json")["entries"]] == ["Keep tides in a table"]
    browser.post("/inbox", given, 403)  # the same form again
    assert len(list(entries.entries(home))) == 1


def test_the_gate_says_why_it_refuses(home: Home, browser: Browser) -> None:
    token = "gh" + "p_" + "a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6q7R8"
    given = {"text": f"the key <b> is {token}", "type": "note", "force": "1"}
    page = browser.post("/inbox", {**given, "fresh": fresh(browser.get("/inbox"))}, 422)
    assert "looks like a secret" in page
    assert "the key &lt;b&gt; is" in page  # what was written is not lost
    assert Judge(page).faults == []
    twice = {"text": "Keep tides in a table", "type": "note"}
    browser.post("/inbox", {**twice, "fresh": fresh(page)}, 303)
    page = browser.post("/inbox", {**twice, "fresh": fresh(browser.get("/inbox"))}, 422)
    assert "says the same" in page
    browser.post("/inbox", {**twice, "force": "1", "fresh": fresh(page)}, 303)
    assert len(list(entries.entries(home))) == 2


def test_an_entry_is_replaced_and_removed(home: Home, browser: Browser) -> None:
    browser.post(
        "/inbox", {"text": "Keep tides in a table", "type": "decision", "fresh": fresh(browser.get("/inbox"))}, 303
    )
    (first,) = entries.entries(home)
    page = browser.get(f"/inbox?supersedes={first.entry_id}")
    assert "in place of Keep tides in a table" in page
    given = {"text": "Compute tides when asked", "supersedes": hidden(page, "supersedes"), "fresh": fresh(page)}
    browser.post("/inbox", given, 303)
    second, first = entries.entries(home)
    assert (second.type, second.field("supersedes")) == ("decision", first.entry_id)
    assert first.field("superseded_by") == second.entry_id
    page = browser.get(f"/inbox?remove={second.entry_id}")
    assert "Remove “Compute tides when asked”?" in page
    browser.post(
        "/inbox", {"remove": second.entry_id, "fresh": re.findall('name="fresh" value="([^"]+)"', page)[0]}, 303
    )
    (left,) = entries.entries(home)
    assert (left.title, left.field("superseded_by")) == ("Keep tides in a table", "")


@pytest.mark.parametrize("path", ["/inbox", "/forget"])
def test_nothing_is_written_without_a_fresh_value(home: Home, browser: Browser, path: str) -> None:
    Shelf(home).put("brain", "tide.md", "the tide table", date=_NOON)
    given = {"text": "A note", "type": "note", "hit": "qmd://brain/tide.md", "confirm": "forget 1 document"}
    for value in ("", "guessed", "x" * 32):
        assert "not fresh" in browser.post(path, {**given, "fresh": value}, 403)
    value = fresh(browser.get(f"{path}?hit=qmd://brain/tide.md"))
    stranger = Browser(home, opened=False)
    assert stranger.client.post(path, data={**given, "fresh": value}).status_code == 401
    headers = {"origin": "http://localhost:3000"}
    assert browser.client.post(path, data={**given, "fresh": value}, headers=headers).status_code == 403
    own = {"origin": f"http://127.0.0.1:{PORT}"}
    assert browser.client.post(path, json={**given, "fresh": value}, headers=own).status_code == 403
    assert browser.client.post(path, content=b"x" * 600_000, headers=own).status_code == 403
    assert list(entries.entries(home)) == []
    assert "tide table" in browser.get("/s/brain/tide.md")


def test_what_was_written_too_late_is_given_back(home: Home, browser: Browser) -> None:
    given = {"text": "Tides <rot> slowly", "type": "decision", "why": "seen twice"}
    page = browser.post("/inbox", {**given, "fresh": "old"}, 403)
    assert "Tides &lt;rot&gt; slowly</textarea>" in page
    assert 'value="seen twice"' in page
    assert 'name="force"' not in page
    assert Judge(page).faults == []
    assert list(entries.entries(home)) == []
    browser.post("/inbox", {**given, "fresh": fresh(page)}, 303)
    (entry,) = entries.entries(home)
    change = {"edit": entry.entry_id, "whole": "mine", "before": "x"}
    assert "mine</textarea>" in browser.post("/inbox", {**change, "fresh": "old"}, 403)
    assert "That did not work" in browser.post("/inbox", {"remove": entry.entry_id, "fresh": "old"}, 403)
    assert list(entries.entries(home)) == [entry]


def test_forgetting_shows_what_goes_and_proves_that_it_went(home: Home, browser: Browser) -> None:
    shelf = Shelf(home)
    gone = shelf.put("brain", "tide.md", "the zanzibar tide table", date=_NOON, title="Tides", session_id="tide")
    kept = shelf.put("brain", "lock.md", "flock for the writer", date=_NOON)
    page = previewed(browser, "zanzibar")
    assert "qmd://brain/tide.md" in page
    assert "forget 1 document" in page
    places = browser.json("/forget.json?hit=tide")["places"]
    assert sorted(places) == ["brain/tide.md", "index.sqlite"]
    assert "<code>brain/tide.md</code>" in page
    given = {"match": "zanzibar", "digest": hidden(page, "digest")}
    again = browser.post("/forget", {**given, "confirm": "yes", "fresh": fresh(page)}, 403)
    assert "do not match: nothing was forgotten" in again
    assert hidden(again, "digest") == given["digest"]
    assert "<code>brain/tide.md</code>" in again
    page = previewed(browser, "zanzibar")
    given = {"match": "zanzibar", "confirm": "Forget 1  document", "fresh": fresh(page)}
    assert "no longer what was shown" in browser.post("/forget", {**given, "digest": "other"}, 403)
    assert gone.exists()
    page = previewed(browser, "zanzibar")
    assert browser.json("/forget.json?hit=tide")["documents"][0]["title"] == "Tides"
    done = browser.post("/forget", {**given, "digest": hidden(page, "digest"), "fresh": fresh(page)})
    assert "1 document forgotten" in done
    assert "nothing of it is left" in done
    assert not gone.exists()
    assert kept.exists()
    assert not [
        path for path in Path(home.root).rglob("*") if path.is_file() and b"zanzibar" in path.read_bytes().lower()
    ]
    browser.get("/s/brain/tide.md", 404)


def test_documents_that_came_since_are_not_forgotten_unseen(home: Home, browser: Browser) -> None:
    shelf = Shelf(home)
    shelf.put("brain", "tide.md", "the zanzibar tide table", date=_NOON)
    page = previewed(browser, "zanzibar")
    shelf.put("brain", "later.md", "zanzibar again", date=_NOON)
    given = {
        "match": "zanzibar",
        "confirm": "forget 1 document",
        "digest": hidden(page, "digest"),
        "fresh": fresh(page),
    }
    again = browser.post("/forget", given, 403)
    assert "no longer what was shown" in again
    assert "forget 2 documents" in again
    assert 'value="forget 1 document"' not in again


def test_what_cannot_be_chosen_together_is_refused(browser: Browser) -> None:
    for query in ("match=zanzibar", "project=x&hit=y", "since=whenever"):
        browser.get(f"/forget?{query}", 400)
    for given in ({"hit": "a", "match": "bcd"}, {"match": "ab"}, {"confirm": "forget 1 document"}):
        browser.post("/forget", {**given, "fresh": fresh(browser.get("/forget"))}, 400)
    assert "Nothing was selected" in previewed(browser, "nowhere-to-be-found")
    assert "Name a document" in browser.post("/forget", {"hit": "", "fresh": fresh(browser.get("/forget"))})


def test_a_form_that_its_sender_cuts_off_changes_nothing(
    home: Home, browser: Browser, capsys: pytest.CaptureFixture[str]
) -> None:
    value = fresh(browser.get("/inbox"))
    headers = {
        "host": f"127.0.0.1:{PORT}",
        "cookie": "; ".join(f"{name}={text}" for name, text in browser.client.cookies.items()),
        "content-type": "application/x-www-form-urlencoded",
    }
    scope = {
        "type": "http", "method": "POST", "path": "/inbox", "query_string": b"", "root_path": "", "scheme": "http",
        "headers": [(name.encode(), text.encode()) for name, text in headers.items()],
    }  # fmt: skip
    parts = [
        {"type": "http.request", "body": f"text=half&fresh={value}".encode(), "more_body": True},
        {"type": "http.disconnect"},
    ]
    sent: list[Any] = []

    async def receive() -> Any:
        return parts.pop(0)

    async def send(message: Any) -> None:
        sent.append(message)

    asyncio.run(browser.client.app(scope, receive, send))  # type: ignore[arg-type]
    assert sent[0]["status"] == 403
    assert list(entries.entries(home)) == []
    assert capsys.readouterr().err == ""


def test_an_entry_is_edited_in_place(home: Home, browser: Browser) -> None:
    kept = capture(home, "Keep tides in a table", type="decision", why="it is small")
    page = browser.get(f"/inbox?edit={kept.entry_id}")
    whole = html.unescape(re.findall(r"<textarea[^>]*>(.*?)</textarea>", page, re.DOTALL)[0])
    assert whole == Path(kept.path).read_text()
    given = {"edit": kept.entry_id, "before": hidden(page, "before"), "fresh": fresh(page)}
    browser.post("/inbox", {**given, "whole": whole.replace("a table", "two tables")}, 303)
    (stored,) = entries.entries(home)
    assert "two tables" in stored.body
    assert browser.json("/search.json?q=two+tables")["hits"][0]["uri"].endswith(f"{kept.entry_id}.md")
    # The same page again: what lies on disk is no longer what it showed.
    stale = browser.post("/inbox", {**given, "whole": whole, "fresh": fresh(browser.get("/inbox"))}, 422)
    assert "changed elsewhere" in stale
    assert "two tables" in Path(kept.path).read_text()


def test_an_edit_is_judged_and_nothing_of_it_is_lost(home: Home, browser: Browser) -> None:
    kept = capture(home, "Keep tides in a table", type="decision", why="it is small")
    before = Path(kept.path).read_text()
    token = "gh" + "p_" + "a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6q7R8"
    for whole, said in (
        (f"{before}\nthe key is {token}\n", "looks like a secret"),
        ("no frontmatter <b>", "frontmatter is missing"),
        (before.replace(kept.entry_id, "another"), "may not be changed"),
    ):
        page = browser.get(f"/inbox?edit={kept.entry_id}")
        given = {"edit": kept.entry_id, "before": hidden(page, "before"), "whole": whole, "fresh": fresh(page)}
        page = browser.post("/inbox", given, 422)
        assert said in page
        assert Judge(page).faults == []
        assert hidden(page, "before") == given["before"]
        assert Path(kept.path).read_text() == before
    assert "no frontmatter &lt;b&gt;" in browser.post(
        "/inbox", {**given, "whole": "no frontmatter <b>", "fresh": fresh(page)}, 422
    )


def test_an_entry_with_a_secret_is_not_shown_to_be_edited(home: Home, browser: Browser) -> None:
    kept = capture(home, "Keep tides in a table", type="decision", why="it is small")
    token = "gh" + "p_" + "a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6q7R8"
    Path(kept.path).write_text(f"{Path(kept.path).read_text()}\n{token}\n")
    assert token not in browser.get(f"/inbox?edit={kept.entry_id}", 403)


def test_a_conflict_is_settled_by_its_user(home: Home, browser: Browser) -> None:
    newer = capture(home, "Use tables for tides", type="decision", project="ferry", why="they are small")
    older = capture(home, "Use tables for tides of gulls", type="rejected", project="ferry", why="gulls move")
    ((conflict),) = browser.json("/why.json")["conflicts"]
    assert {side["entry_id"] for side in conflict["sides"]} == {newer.entry_id, older.entry_id}
    page = browser.get("/why")
    assert "1 conflict to settle" in page
    assert Judge(page).faults == []
    keep = "newer" if conflict["sides"][0]["entry_id"] == newer.entry_id else "older"
    given = {"conflict": conflict["id"], "keep": keep}
    browser.post("/inbox", {**given, "keep": "neither", "fresh": fresh(browser.get("/why"))}, 400)
    assert "not fresh" in browser.post("/inbox", {**given, "fresh": "guessed"}, 403)
    browser.post("/inbox", {**given, "fresh": fresh(page)}, 303)
    assert entries.find(home, older.entry_id).field("superseded_by") == newer.entry_id
    page = browser.get("/why?settled=1")
    assert "to settle" not in page
    assert "Use tables for tides of gulls" in page  # as what was replaced
    browser.post("/inbox", {**given, "fresh": fresh(browser.get("/inbox"))}, 400)


def test_both_sides_of_a_conflict_may_hold_and_each_choice_has_a_key(home: Home, browser: Browser) -> None:
    sides = [capture(home, "Use tables for tides", type=kind, project="ferry", why=kind) for kind in ("decision",)]
    sides.append(capture(home, "Use tables for tides", type="rejected", project="ferry", why="gulls", force=True))
    page = browser.get("/why")
    assert all(f'class="key{key}"' in page for key in (1, 2, 3))
    given = {"conflict": browser.json("/why.json")["conflicts"][0]["id"], "keep": "both"}
    browser.post("/inbox", {**given, "fresh": fresh(page)}, 303)
    assert "to settle" not in browser.get("/why")
    assert not any(entries.find(home, each.entry_id).field("superseded_by") for each in sides)


def test_a_preview_of_a_large_home_ends_and_says_what_it_did_not_read(
    home: Home, browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    Shelf(home).put("brain", "tide.md", "zanzibar " * 20, session_id="tide", source="claude")
    assert browser.json("/forget.json?hit=tide")["unread"] == []
    monkeypatch.setattr(forgetting, "_LOOK_S", 0.0)
    found = browser.json("/forget.json?hit=tide")
    assert "index.sqlite" in found["unread"]
    assert "brain/tide.md" in found["places"], "what goes for certain is listed"
    page = browser.get("/forget?hit=tide")
    assert "may hold it as well" in page
    given = {"hit": "tide", "confirm": "forget 1 document", "digest": hidden(page, "digest"), "fresh": fresh(page)}
    assert "nothing of it is left" in browser.post("/forget", given)


def test_forgetting_says_that_another_run_goes_on(
    home: Home, browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(forgetting, "_WAIT_S", 0.0)
    gone = Shelf(home).put("brain", "tide.md", "the zanzibar tide table", date=_NOON)
    page = previewed(browser, "zanzibar")
    given = {"match": "zanzibar", "confirm": "forget 1 document", "digest": hidden(page, "digest")}
    with FileLock(str(Path(home.state, "index.lock")), 0):
        page = browser.post("/forget", {**given, "fresh": fresh(page)}, 503)
    assert "Nothing was forgotten" in page
    assert 'value="forget 1 document"' in page
    assert Judge(page).faults == []
    assert gone.exists()
    assert "1 document forgotten" in browser.post("/forget", {**given, "fresh": fresh(page)})
    assert not gone.exists()
