"""Each view shows what its command answers, and its twin is that answer."""

from __future__ import annotations

import re
from datetime import date
from pathlib import Path
from typing import Any
from urllib.parse import quote_plus

import pytest

from core import clock, telemetry
from core.config import Config
from core.home import Home
from runtime.capture.capture import capture
from runtime.explaining import activity
from tests.runtime.index_fixture import Shelf
from tests.web.hostile import Judge
from tests.web.site import NOON, PORT, Browser, write_run
from web.access import Access
from web.app import Site


def test_search_is_what_ask_answers(stocked: Shelf, browser: Browser) -> None:
    asked = stocked.ask("tide table row", limit=10, budget=600, literal=True)
    found = browser.json("/search.json?q=tide+table+row")
    assert found["hits"] == asked["hits"]
    assert found.keys() == asked.keys() | {"facets"}
    assert {"value": "claude", "count": 2} in found["facets"]["source"]
    page = browser.get("/?q=tide+table+row")
    assert "<mark>tide</mark>" in page
    assert f"/s/brain/tide.md?line={found['hits'][0]['line']}#here" in page
    assert Judge(page).faults == []


def test_a_facet_narrows_the_search(browser: Browser) -> None:
    for given in ("collection=chrome-history", "trust=browser", "source=chrome"):
        hits = browser.json(f"/search.json?q=tide+tables&{given}")["hits"]
        assert {hit["collection"] for hit in hits} == {"chrome-history"}
    assert browser.json("/search.json?q=tide&month=2025-01")["hits"] == []
    assert browser.json("/search.json?q=tide&month=2026-03")["hits"]
    for given in ("collection=nowhere", "trust=blind", "month=soon", "month=2026-13", "n=0", "n=x", "since=whenever"):
        assert browser.json(f"/search.json?q=tide&{given}", 400)["error"] == "bad_input"


def test_a_facet_with_one_value_says_where_all_hits_are_from(stocked: Shelf, browser: Browser) -> None:
    for number in (1, 2):
        stocked.put("brain", f"gull-{number}.md", "a gull", date=NOON + number, source="codex", project="/code/gulls")
    page = browser.get("/?q=gull")
    alike = page[page.index("<h2>All of them</h2>") : page.index("</aside>")]
    for value, name in (("codex", "source"), ("gulls", "project"), ("brain", "collection"), ("Mar 2026", "month")):
        assert f'{value} <span class="count">{name}</span>' in alike
    assert "<h2>source</h2>" not in page
    assert "<h2>source</h2>" in browser.get("/?q=gull&source=codex")


def test_without_an_answer_the_page_says_so(browser: Browser) -> None:
    assert browser.json("/search.json?q=zeppelin")["error"] == "no_results"
    page = browser.get("/?q=zeppelin")
    assert '<h1 class="quiet">No hits</h1>' in page
    assert page.count("Nothing in memory matches") == 1


def test_a_hit_says_what_speaks_against_it_and_which_machine_it_is_from(stocked: Shelf, browser: Browser) -> None:
    year = 365 * clock.DAY
    for name, text, written in (
        ("a", "The request timeout of the ingest client is 30 seconds.", NOON - year),
        ("b", "Set the request timeout of the ingest client to 90 seconds.", NOON),
        ("c", "Use GraphQL for the partner API.", NOON - year),
        ("machines/studio/d", "The request timeout of the beacon is 5 seconds.", NOON - year),
    ):
        body = f"## [1] user · 2026-01-01 08:00\n\n{text}"
        stocked.put("brain", f"{name}.md", body, date=written, session_id=name[-1], source="claude", project="/srv/api")
    stocked.put(
        "inbox", "n.md", "Use GraphQL for the partner API.", date=NOON, session_id="n", source="note",
        type="rejected", title="Use GraphQL for the partner API.", project="/srv/api",
    )  # fmt: skip

    def marks(question: str) -> dict[str, str]:
        page = browser.get(f"/?q={quote_plus(question)}")
        assert Judge(page).faults == []
        hits = re.findall(r'<h2><a href="/s/([^?"]+).*?(?=<li class|</ol>)', page, re.DOTALL)
        parts = re.split(r'<li class="hit">', page.partition("</ol>")[0])[1:]
        found = [re.search(r'<p class="stale">(.*?)</p>', part) for part in parts]
        return {hit: mark[1] if mark else "" for hit, mark in zip(hits, found, strict=True)}

    found = marks("what is the request timeout of the ingest client")
    assert found["brain/a.md"].startswith("superseded by “Set the request timeout")
    assert found["brain/b.md"] == ""
    assert found["brain/machines/studio/d.md"] == "", "age alone is said by the page's own mark"
    assert "<span>from studio</span>" in browser.get("/?q=request+timeout+beacon")
    assert marks("graphql for the partner api")["brain/c.md"].startswith("contradicted by")
    assert marks("request timeout of the ingest client on 2026-03-12")["brain/a.md"].count("not from")


def test_what_happened_on_another_machine_names_it(stocked: Shelf, browser: Browser) -> None:
    place = "machines/studio/far.md"
    stocked.put("brain", place, "a far tide", date=NOON + 60, session_id="far", source="claude", title="A far tide")
    for path in ("/", "/time/2026-03-12"):
        assert browser.get(path).count("from studio") == 1, path


def test_blank_lines_of_a_snippet_are_left_out(stocked: Shelf, browser: Browser) -> None:
    stocked.put("inbox", "blank.md", "puffins\n\n\nnest\n\nlate", date=NOON, source="note")
    assert re.search(r"puffins</mark>\nnest\nlate", browser.get("/?q=puffins"))


def test_markdown_of_a_snippet_is_shown_as_it_is_meant(stocked: Shelf, browser: Browser) -> None:
    stocked.put("inbox", "plan.md", "## The auklets\n\nrun `ring`", date=NOON, source="note")
    stocked.put("brain", "shell__x.md", "## auklets 2", date=NOON, source="shell")
    page = browser.get("/?q=auklets")
    assert "<strong>The <mark>auklets</mark></strong>\nrun <code>ring</code>" in page
    assert "## <mark>auklets</mark> 2" in page


def test_a_name_of_several_documents_leads_to_each(stocked: Shelf, browser: Browser) -> None:
    for collection in ("kb-raw", "kb-wiki"):
        stocked.put(collection, "report.md", f"of {collection}", date=NOON)
    page = browser.get("/s/report.md", 400)
    for collection in ("kb-raw", "kb-wiki"):
        assert f'<a href="/s/{collection}/report.md">qmd://{collection}/report.md</a>' in page
    assert '<a href="/s/kb-raw/report.md">' in browser.get("/s/kb-raw/reprot.md", 404)


def test_a_narrow_screen_begins_where_the_newest_day_is(stocked: Shelf, browser: Browser) -> None:
    late = '<div class="wide late">'
    assert late not in browser.get("/time?year=2026"), "March"
    stocked.put("brain", "autumn.md", "leaves", date=NOON + 200 * clock.DAY, source="claude")
    assert late in browser.get("/time?year=2026")


def test_without_a_question_the_newest_are_listed(browser: Browser) -> None:
    assert [item["title"] for item in browser.json("/search.json")["items"]]
    assert "The tide table" in browser.get("/")


def test_a_session_is_read_as_turns(browser: Browser) -> None:
    page = browser.get("/s/brain/tide.md")
    assert Judge(page).faults == []
    assert "tide table<br />\nlose a row?" in page or "tide table<br>\nlose a row?" in page
    assert "<strong>parser</strong>" in page
    assert "2 tool calls" in page
    assert "1 failed" in page
    assert "KeyError: &#39;low&#39;" in page
    assert '<span class="k-gd">-rows[low]</span>' in page
    assert "<summary>Reasoning</summary>" in page
    assert "/trace/brain/tide.md" in page
    assert "/s/distilled/tide.md" in page
    assert "claude --resume tide" in page
    assert page.count("The tide table") == 2  # the title of the page, and its heading
    assert "/s/brain/tide.md" in browser.get("/s/brain/agent-1.md")
    assert "/s/brain/tide.md" in browser.get("/s/distilled/tide.md")


def test_the_twin_of_a_document_is_what_show_answers(stocked: Shelf, browser: Browser, brain: object) -> None:
    found = browser.json("/s/brain/tide.md.json")
    assert (found["uri"], found["fields"]["session_id"]) == ("qmd://brain/tide.md", "tide")
    assert found["text"].startswith("# The tide table")
    assert found["last_line"] == found["total_lines"]
    same = browser.json(f"/s/{found['docid'].removeprefix('#')}.json")
    assert same["uri"] == found["uri"]


def test_a_link_to_a_line_opens_what_is_folded_there(stocked: Shelf, browser: Browser) -> None:
    lines = Path(stocked.config.collections["brain"].path, "tide.md").read_text().split("\n")

    def at(text: str) -> str:
        number = next(index for index, line in enumerate(lines, 1) if text in line)
        page = browser.get(f"/s/brain/tide.md?line={number}")
        assert page.count('id="here"') == 1
        return page.partition('id="here"')[2][:120]

    assert "lose a row" in at("Why does")
    assert "pytest" in at("- Bash")
    assert "pytest" in at("KeyError")
    assert "Two readers" in at("Two readers")
    assert '<details class="reasoning" open>' in browser.get(f"/s/brain/tide.md?line={len(lines) - 1}")
    assert browser.json("/s/brain/tide.md.json?line=9999", 400)["error"] == "bad_input"


def test_a_command_is_shown_as_it_was_typed(browser: Browser) -> None:
    assert "$ make *_tide_*" in browser.get("/s/brain/shell__2026-03-12.md")


def test_a_document_that_is_not_there_is_named(browser: Browser) -> None:
    found = browser.json("/s/brain/tid.md.json", 404)
    assert found["error"] == "no_results"
    assert "no document" in browser.get("/s/nothing-like-it", 404)
    assert "no such page" in browser.get("/elsewhere", 404)


def test_a_year_counts_what_each_day_holds(browser: Browser) -> None:
    found = browser.json("/time.json?year=2026")
    assert found["days"] == {"2026-03-12": {"commit": 2, "shell": 2, "session": 2, "browsing": 1}}
    assert found["hours"][3][12] == 2
    assert found["years"] == [2026]
    page = browser.get("/time?year=2026")
    assert 'aria-label="Thu 12 Mar: ' in page
    assert browser.json("/time.json?year=2026&project=ferry")["days"] == {"2026-03-12": {"commit": 2, "session": 2}}
    assert browser.json("/time.json")["year"] == 2026
    for year in ("26", "0", "99999", "x"):
        browser.get(f"/time?year={year}", 400)


def test_a_day_is_one_line_of_time(browser: Browser) -> None:
    found = browser.json("/time/2026-03-12.json")
    events = {(event["at"], event["text"]) for item in found["items"] for event in item["events"]}
    assert events == {
        ("2026-03-12T08:14:00Z", "search: tide tables · example.org"),
        ("2026-03-12T13:00:05Z", "$ make *_tide_*"),
        ("2026-03-12T13:01:00Z", "$ git push"),
        ("2026-03-12T13:30:00Z", "tide: keep the low row"),
        ("2026-03-12T14:00:00Z", "tide: test it"),
    }
    assert found["counts"] == {"session": 2, "commit": 2, "shell": 2, "browsing": 1}
    page = browser.get("/time/2026-03-12")
    assert "Thursday, 12 March 2026" in page
    page = page.partition("<table")[2]
    order = [
        page.index(text) for text in (">search: tide", ">The tide table</a>", ">$ make", ">tide: keep the low row</a>")
    ]
    assert order == sorted(order)
    assert browser.json("/time/2026-03-12.json?project=ferry")["counts"] == {"session": 2, "commit": 2}
    chips = browser.get("/time/2026-03-12?project=ferry").partition('<p class="chips">')[2].partition("</p>")[0]
    assert chips.count("<a") == 1, "the chosen project is not offered once more"
    assert browser.json("/time/2026-03-13.json")["error"] == "no_results"
    for day in ("yesterday", "2026-02-30", "20260312", "9999-01-01"):
        browser.get(f"/time/{day}", 400)


def test_why_shows_what_holds_and_what_it_replaced(stocked: Shelf, browser: Browser) -> None:
    first = capture(stocked.home, "Keep tides in a table", type="decision", project="ferry", why="it is small")
    capture(stocked.home, "Compute tides when asked", supersedes=first.entry_id, why="tables rot")
    page = browser.get("/why").partition('<ul class="chains">')[2]
    assert page.index("Compute tides when asked") < page.index("Keep tides in a table")
    assert "because tables rot" in page
    assert [entry["title"] for entry in browser.json("/why.json")["entries"]] == [
        "Compute tides when asked",
        "Keep tides in a table",
    ]
    found = browser.json("/why.json?topic=tides")
    assert [(each["title"], each["standing"]) for each in found["decisions"]] == [
        ("Compute tides when asked", True),
        ("Keep tides in a table", False),
    ]
    page = browser.get("/why?topic=tides")
    assert page.count("superseded") == 1
    assert re.search(r'superseded</span> by <a href="/s/[^"]+">Compute tides when asked</a>', page)


def test_a_project_lists_what_was_done_there(browser: Browser) -> None:
    assert [item["project"] for item in browser.json("/project.json")["items"]] == ["/code/ferry"]
    assert 'href="/project/code/ferry"' in browser.get("/project")
    for address in ("/project/code/ferry", "/project/ferry"):
        found = browser.json(f"{address}.json")
        assert (found["total"], found["items"][0]["kind"]) == (3, "commit")
    assert browser.json("/project/nowhere.json")["error"] == "no_results"
    browser.get("/project/ferry?until=later", 400)


def test_a_project_shows_its_own_year(stocked: Shelf, browser: Browser) -> None:
    stocked.put("brain", "gull.md", "gulls", date=clock.now() - 3600, project="/code/gulls")
    stocked.put("brain", "crab.md", "crabs", date=clock.now() - 3600, project="/code/crabs")
    page = browser.get("/project/code/gulls")
    assert Judge(page).faults == []
    assert "1 day of the past year · 1 session<" in page
    assert "?project=%2Fcode%2Fgulls" in page
    assert "of the past year" not in browser.get("/project/code/gulls?until=2027-01-01T00:00:00Z")
    browser.get("/project/", 400)


def test_a_trace_leads_to_the_raw_record(browser: Browser) -> None:
    assert "No raw file is recorded" in browser.get("/trace/brain/tide.md")
    found = browser.json("/trace/brain/tide.md.json?line=10")
    assert found["files"]["items"][0]["path"] == "/code/ferry/tide.py"


def test_a_home_without_an_index_says_what_to_do(home: Home) -> None:
    browser = Browser(home)
    assert "brain index" in browser.get("/", 503)
    assert browser.json("/search.json?q=tide", 503)["error"] == "qmd_missing"


def test_a_question_is_recorded_and_typing_is_not(home: Home, browser: Browser) -> None:
    browser.get("/?q=tide", headers={"x-brain-typing": "1"})
    assert telemetry.last(home, "ask") is None
    browser.get("/?q=tide")
    row = telemetry.last(home, "ask")
    assert row is not None
    assert (row["surface"], row["n_hits"] > 0, "query" in row) == ("web", True, False)


def test_a_secret_of_an_older_policy_is_not_shown(stocked: Shelf) -> None:
    token = "gh" + "p_" + "a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6q7R8"
    stocked.put("brain", "old.md", f"## [1] user\n\nthe key is {token} for tides", date=NOON)
    stocked.sql("UPDATE brain_facts SET policy = 0")
    browser = Browser(stocked.home)
    for path in ("/s/brain/old.md", "/s/brain/old.md?line=6", "/?q=key+tides", "/s/brain/old.md.json"):
        page = browser.get(path)
        assert "old.md" in page
        assert token not in page


def test_facets_count_every_match_and_not_the_hits_alone(stocked: Shelf, browser: Browser) -> None:
    for number in range(25):
        stocked.put("brain", f"gull-{number}.md", "a gull", date=NOON, source="codex", project=f"/code/p{number % 2}")
    found = browser.json("/search.json?q=gull&n=5")
    assert len(found["hits"]) == 5
    assert found["facets"]["source"] == [{"value": "codex", "count": 25}]
    assert found["facets"]["project"] == [{"value": "/code/p0", "count": 13}, {"value": "/code/p1", "count": 12}]
    assert found["facets"]["month"] == [{"value": "2026-03", "count": 25}]
    assert "5 hits of 25 weighed" in browser.get("/?q=gull&n=5")
    narrowed = browser.json("/search.json?q=gull&project=/code/p1")
    assert narrowed["facets"]["project"] == [{"value": "/code/p1", "count": 12}]
    assert browser.json("/search.json?q=zeppelin")["facets"]["source"] == []


def test_projects_of_one_name_are_told_apart(stocked: Shelf, browser: Browser) -> None:
    for folder in ("/a/gulls", "/b/gulls"):
        stocked.put("brain", f"{folder[1]}-gull.md", "a gull", date=NOON, source="codex", project=folder)
    page = browser.get("/?q=gull")
    assert "<span>a/gulls</span>" in page
    assert "<span>b/gulls</span>" in page


def test_a_changed_index_is_seen_by_the_next_question(stocked: Shelf, browser: Browser) -> None:
    assert browser.json("/search.json?q=cormorant")["hits"] == []
    stocked.put("brain", "late.md", "a cormorant", date=NOON)
    assert len(browser.json("/search.json?q=cormorant")["hits"]) == 1


def test_a_file_shows_what_was_done_to_it(browser: Browser) -> None:
    found = browser.json("/file/code/ferry/tide.py.json")
    assert found["file"] == "/code/ferry/tide.py"
    ((item),) = found["items"]
    assert (item["uri"], item["deeds"], item["touched"]) == (
        "qmd://brain/tide.md",
        {"changed": 1},
        "2026-03-12T12:01:00Z",
    )
    page = browser.get("/file/code/ferry/tide.py")
    assert Judge(page).faults == []
    assert f"/s/brain/tide.md?line={item['events'][0]['line']}#here" in page
    assert browser.json("/file.json?path=ferry/tide.py")["items"] == found["items"]
    assert browser.json("/file/tide.py.json")["items"][0]["uri"] == "qmd://brain/tide.md"
    assert browser.json("/file/code/other/tide.py.json")["error"] == "no_results"
    assert "Nothing in memory names this file" in browser.get("/file/nowhere.txt")
    browser.get("/file?path=%2F%2F", 400)


def test_files_that_were_changed_lately_are_listed(browser: Browser) -> None:
    ((item),) = browser.json("/file.json")["items"]
    assert (item["path"], item["changes"]) == ("/code/ferry/tide.py", 1)
    assert 'href="/file/code/ferry/tide.py"' in browser.get("/file")
    assert 'href="/file/code/ferry/tide.py"' in browser.get("/s/brain/tide.md")


def test_the_history_of_recall_is_drawn(home: Home, browser: Browser) -> None:
    assert "brain eval build" in browser.get("/eval")
    assert browser.json("/eval.json")["error"] == "no_results"
    write_run(home, "20260310T120000Z-0001", {"ask": 0.5, "qmd-lex": 0.4})
    write_run(home, "20260312T120000Z-0002", {"ask": 0.75})
    found = browser.json("/eval.json?measure=hit@5")
    ((own),) = found["sets"]
    assert [(arm["arm"], [point["value"] for point in arm["points"]]) for arm in own["arms"]] == [
        ("ask", [0.5, 0.75]),
        ("qmd-lex", [0.4]),
    ]
    assert found["last"]["run"] == "20260312T120000Z-0002"
    page = browser.get("/eval?measure=hit@5")
    assert "ask: 75.0 % of 20 questions" in page
    assert page.count('class="trend') == 2
    assert Judge(page).faults == []
    browser.get("/eval?measure=vibes", 400)


def test_what_was_distilled_is_not_counted_again(stocked: Shelf, browser: Browser) -> None:
    before = browser.json("/time.json?year=2026")["days"]
    distilled: dict[str, Any] = {"source": "shell", "commands": 2, "distiller": "extractive/6"}
    stocked.put("distilled", "shell__2026-03-12.md", "## Goals\n\n- Make tides. [1]", date=NOON, **distilled)
    assert browser.json("/time.json?year=2026")["days"] == before


def test_a_year_sums_up_its_work(browser: Browser) -> None:
    assert "2 sessions, 2 commits, 2 commands, 1 visit" in browser.get("/time?year=2026")


def test_why_lists_one_project_and_draws_what_replaced_what(stocked: Shelf, browser: Browser) -> None:
    first = capture(stocked.home, "Keep tides in a table", type="decision", project="ferry", why="it is small")
    capture(stocked.home, "Compute tides when asked", supersedes=first.entry_id, why="tables rot")
    capture(stocked.home, "Feed gulls at noon", type="decision", project="harbour", why="they ask")
    page = browser.get("/why?project=ferry")
    assert "Feed gulls" not in page
    drawn = page[page.index('<svg class="succession"') : page.index("</svg>")]
    assert drawn.count('class="gone decision"') == drawn.count('class="holds decision"') == 1
    assert "Compute tides when asked" in drawn
    assert [entry["title"] for entry in browser.json("/why.json?project=harbour")["entries"]] == ["Feed gulls at noon"]
    assert "<svg" not in browser.get("/why?project=harbour")


def test_a_resident_process_that_does_not_answer_is_passed_by(home: Home, browser: Browser) -> None:
    Path(home.socket).parent.mkdir(parents=True, exist_ok=True)
    Path(home.socket).write_bytes(b"")
    assert browser.json("/search.json?q=tide+table")["hits"]
    row = telemetry.last(home, "ask")
    assert row is not None
    assert row["warm"] is False


def test_a_question_is_repeated_without_its_secret(browser: Browser) -> None:
    token = "gh" + "p_" + "a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6q7R8"
    assert token not in str(browser.json(f"/search.json?q=tide+{token}"))
    assert token not in str(browser.json(f"/why.json?topic=tide+{token}"))


def test_why_also_lists_what_sessions_decided(stocked: Shelf, browser: Browser) -> None:
    said = (
        "## [1] assistant · 2026-03-12 12:00\n\n- AskUserQuestion: Which store? [SQLite | Postgres]\n  answer: SQLite\n"
    )
    stocked.put("brain", "asked.md", said, date=NOON, source="claude", project="/code/ferry", turns=1)
    (statement,) = browser.json("/why.json")["statements"]
    assert (statement["text"], statement["uri"]) == ("Which store? → SQLite", "qmd://brain/asked.md")
    page = browser.get("/why")
    assert Judge(page).faults == []
    assert f"/s/brain/asked.md?line={statement['line']}#here" in page
    assert "Which store?" not in browser.get("/why?project=harbour")


def test_what_distillation_saw_is_no_refusal(stocked: Shelf, browser: Browser) -> None:
    body = "## Rejected approaches\n\n- Redis for `tides`. Why: one process is enough. [2]\n"
    stocked.put("distilled", "tide.md", body, date=NOON, source_uri="qmd://brain/tide.md", distiller="extractive/6")
    (statement,) = browser.json("/why.json")["statements"]
    assert (statement["type"], statement["trust"]) == ("rejected", "distilled")
    page = browser.get("/why")
    assert '<span class="kind rejected">rejected</span>' in page
    assert "because one process is enough" in page


def test_the_first_page_shows_the_past_year_and_what_to_ask(home: Home) -> None:
    shelf = Shelf(home)
    shelf.put("brain", "new.md", "gulls", date=clock.now() - 3600, project="/code/gulls/.worktrees/1")
    shelf.put("brain", "old.md", "gulls", date=clock.now() - 500 * clock.DAY)
    page = Browser(home).get("/")
    assert Judge(page).faults == []
    assert "1 day of the past year · 1 session<" in page
    assert ">gulls/1</a>" in page
    assert "/?q=last+week" in page


def test_a_home_without_an_index_says_how_to_begin(home: Home) -> None:
    browser = Browser(home)
    page = browser.get("/", 503)
    assert Judge(page).faults == []
    assert "Nothing is in memory yet" in page
    assert 'data-copy="brain index"' in page
    assert browser.json("/search.json", 503)["error"] == "qmd_missing"


def test_hits_that_answer_less_clearly_are_set_apart(stocked: Shelf, browser: Browser) -> None:
    stocked.put("brain", "clear.md", "the cormorant dives `deep` for **herring**", date=NOON, title="Cormorant dives")
    stocked.put("brain", "unclear.md", "words " * 400 + "cormorant", date=NOON, title="Another")
    question = "cormorant dives deep herring"
    found = stocked.ask(question, limit=10, literal=True)
    assert 0 < found["clear"] < len(found["hits"])
    page = browser.get("/?q=cormorant+dives+deep+herring")
    assert page.count("Less clear from here on") == 1
    assert "<code><mark>deep</mark></code> for <strong><mark>herring</mark></strong>" in page
    assert "<mark>cormorant</mark> dives" not in browser.get("/?q=zeppelin")


def test_many_commands_in_a_row_are_folded(stocked: Shelf, browser: Browser) -> None:
    assert '<details class="run">' not in browser.get("/time/2026-03-12")
    typed = "\n".join(f"- 17:0{number}:00 $ make {number}" for number in range(6))
    shell = f"## [1] command · 2026-03-12 17:00\n\n{typed}"
    fields: dict[str, Any] = {"source": "shell", "session_id": "evening", "commands": 6}
    stocked.put("brain", "shell__evening.md", shell, date=NOON + 18_000, ended=NOON + 18_400, **fields)
    page = browser.get("/time/2026-03-12")
    assert Judge(page).faults == []
    assert page.count('<details class="run">') == 1
    assert "<span>6 commands until 17:05</span>" in page


def test_a_line_that_no_screen_could_hold_is_shown_in_part(stocked: Shelf, browser: Browser) -> None:
    stocked.put("brain", "one.md", f"## [1] user · 2026-03-12 12:00\n\n{'x' * 300_000}", date=NOON, source="claude")
    page = browser.get("/s/brain/one.md")
    assert len(page) < 250_000
    assert re.search(r"\(100,00\d more characters\)", page)
    assert "x" * 300_000 in browser.json("/s/brain/one.md.json")["text"]


def test_a_session_with_more_prompts_than_are_listed_says_so(stocked: Shelf, browser: Browser) -> None:
    talk = "\n\n".join(f"## [{turn}] user · 2026-03-12 10:00\n\nturn {turn}" for turn in range(1, 402))
    stocked.put("brain", "many.md", talk, date=NOON, source="claude", session_id="many")
    assert "<summary>401 prompts, 134 of them listed</summary>" in browser.get("/s/brain/many.md")


def test_views_are_counted_beforehand_until_the_site_is_closed(stocked: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    listed: list[str] = []
    real = activity.projects

    def counted(home: Home, config: Config) -> dict[str, Any]:
        listed.append("projects")
        return real(home, config)

    monkeypatch.setattr(activity, "projects", counted)
    site = Site(stocked.home, {}, Access("127.0.0.1", PORT), 10)
    site.app()
    site.prepare()
    site.prepare()
    assert listed == ["projects"]
    stocked.put("brain", "late.md", "a gull", date=NOON)
    site.close()
    site.prepare()
    assert listed == ["projects"]


def test_the_past_year_counts_the_days_that_the_year_does(stocked: Shelf) -> None:
    whole = activity.year(stocked.home, stocked.config, 2026)["days"]
    assert activity.days(stocked.home, stocked.config, date(2026, 1, 1), date(2026, 12, 31)) == whole
    assert list(activity.days(stocked.home, stocked.config, date(2026, 3, 12), date(2026, 3, 12))) == ["2026-03-12"]
    assert activity.days(stocked.home, stocked.config, date(2026, 3, 13), date(2026, 12, 31)) == {}
