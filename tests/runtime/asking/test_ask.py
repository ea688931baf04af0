from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from core import clock
from core.config import load
from core.errors import BadInput, BadQuery, EngineMissing
from core.home import Home
from runtime.asking.ask import Asker, Request, batch
from runtime.asking.request import project_glob
from tests.cases import cases
from tests.runtime.index_fixture import Shelf

DAY = 86_400


def test_the_envelope_is_the_contract(shelf: Shelf) -> None:
    begun = clock.now() - 3 * DAY
    file = shelf.put(
        "brain", "s1.md", "the walrus", date=begun, ended=begun + 60, source="claude", session_id="s1",
        project="/p/api", title="Walrus",
    )  # fmt: skip
    envelope = shelf.ask("walrus")
    assert {key: envelope[key] for key in ("schema", "ok", "query")} == {"schema": 1, "ok": True, "query": "walrus"}
    assert "error" not in envelope
    # Whole seconds: what was indexed in one may be asked for in the next.
    seconds = [clock.iso(second) for second in range(begun + 3 * DAY, clock.now() + 1)]
    assert envelope["freshness"] in [
        {
            "lexical": {"fresh": True, "pending": 0, "as_of": as_of},
            "semantic": {"fresh": False, "pending": 1, "as_of": None},
        }
        for as_of in seconds
    ]
    hit = envelope["hits"][0]
    line = file.read_text().splitlines()[int(str(hit["line"])) - 1]
    assert "walrus" in line.lower()
    expected = {
        "rank": 1,
        "uri": "qmd://brain/s1.md",
        "path": str(file),
        "collection": "brain",
        "source": "claude",
        "title": "Walrus",
        "date": clock.iso(begun),
        "age_days": 3,
        "age": "3 days ago",
        "stale": True,
        "warning": "3 days old: verify before you act on it",
        "trust": "session",
        "project": "/p/api",
        "resume": "claude --resume s1",
    }
    assert {key: hit[key] for key in expected} == expected
    assert str(hit["docid"]).startswith("#")


@pytest.mark.parametrize(
    ("days", "age", "warned"), [(0, "today", False), (1, "yesterday", False), (2, "2 days ago", True)]
)
def test_the_warning_appears_only_past_one_day(shelf: Shelf, days: int, age: str, warned: bool) -> None:
    shelf.put("inbox", "a.md", "walrus", date=clock.now() - days * DAY)
    hit = shelf.ask("walrus")["hits"][0]
    assert hit["age"] == age
    assert ("warning" in hit) is warned


def test_age_is_the_documents_own_and_says_so_where_it_is_the_files(shelf: Shelf) -> None:
    shelf.put("inbox", "a.md", "walrus")
    assert shelf.ask("walrus")["hits"][0]["date_source"] == "mtime"


def test_nothing_found_is_a_valid_answer_and_not_an_error(shelf: Shelf) -> None:
    shelf.put("inbox", "a.md", "walrus")
    envelope = shelf.ask("zzyzx")
    assert (envelope["ok"], envelope["error"], envelope["hits"]) == (True, "no_results", [])
    assert envelope["error"] == "no_results"
    assert "error" not in shelf.ask("walrus")


def test_a_date_in_the_question_lifts_its_documents_and_the_reason_says_so(shelf: Shelf) -> None:
    now = clock.now()
    for days in (2, 21, 90):
        shelf.put("brain", f"d{days}.md", "the auth flow was decided", date=now - days * DAY, session_id=str(days))
    envelope = shelf.ask("what did we decide about the auth flow three weeks ago?")
    assert envelope["hits"][0]["uri"] == "qmd://brain/d21.md"
    route = envelope["route"]
    assert isinstance(route, dict)
    assert "three weeks ago" in route["reason"]


def test_an_exact_operator_bounds_and_an_explicit_option_wins(shelf: Shelf) -> None:
    for day in ("2026-03-01", "2026-05-01"):
        at = clock.parse_iso(day)
        assert at is not None
        shelf.put("brain", f"{day}.md", "walrus", date=at)
    assert [hit["uri"] for hit in shelf.ask("walrus since 2026-04-01")["hits"]] == ["qmd://brain/2026-05-01.md"]
    march = clock.parse_iso("2026-03-01") or 0
    only = shelf.ask("walrus since 2026-04-01", since=march, until=march + DAY)["hits"]
    assert [hit["uri"] for hit in only] == ["qmd://brain/2026-03-01.md"]


def test_filters_by_collection_source_and_project(shelf: Shelf) -> None:
    shelf.put("brain", "a.md", "walrus", source="claude", project="/home/me/api")
    shelf.put("inbox", "b.md", "walrus", source="note", project="/home/me/web/api-docs")

    def uris(**given: object) -> list[object]:
        return [hit["uri"] for hit in shelf.ask("walrus", **given)["hits"]]

    assert uris(collections=["inbox"]) == ["qmd://inbox/b.md"]
    assert uris(source="claude") == ["qmd://brain/a.md"]
    assert uris(project="api") == ["qmd://brain/a.md"]
    shelf.put("inbox", "c.md", "walrus", source="note", project="docs")
    assert uris(project="docs") == ["qmd://inbox/c.md"]
    assert uris(project="*/web/*") == ["qmd://inbox/b.md"]
    with pytest.raises(BadInput, match="no collection"):
        uris(collections=["nope"])


def test_a_source_that_nothing_knows_is_a_wrong_call_and_one_without_a_match_is_not(shelf: Shelf) -> None:
    shelf.put("inbox", "a.md", "walrus", source="readwise")
    for known in ("codex", "note", "article", "readwise"):
        assert shelf.ask("zzyzx", source=known)["error"] == "no_results"
    with pytest.raises(BadInput, match="no source 'cluade'") as caught:
        shelf.ask("walrus", source="cluade")
    assert caught.value.fix.startswith("did you mean claude? one of: claude, codex")
    shelf.sql("DELETE FROM brain_state WHERE key = 'complete'")  # a run that has not ended makes no name a right one
    with pytest.raises(BadInput, match="no source 'nosuch'"):
        shelf.ask("walrus", source="nosuch")


@pytest.mark.parametrize(("given", "glob"), [("api", "*/api"), ("/srv/api/", "/srv/api"), ("*x*", "*x*"), ("/", "/")])
def test_a_bare_project_name_means_any_folder_of_that_name(given: str, glob: str) -> None:
    assert project_glob(given) == glob


def test_collections_that_are_not_asked_by_default_are_asked_by_name(home: Home) -> None:
    Path(home.path("collections.yml")).write_text("collections:\n  inbox: {}\n  code: {includeByDefault: false}\n")
    shelf = Shelf(home)
    shelf.put("code", "f.md", "walrus")
    shelf.put("inbox", "n.md", "penguin")
    from qmd.index.store import open_index
    from qmd.index.update import register

    connection = open_index(home.index, write=True)
    register(connection, shelf.config.collections.values())
    connection.close()
    assert shelf.ask("walrus")["hits"] == []
    assert len(shelf.ask("walrus", collections=["code"])["hits"]) == 1


def test_without_an_index_the_engine_is_missing(home: Home) -> None:
    with pytest.raises(EngineMissing) as caught, Asker(home, load(home)):
        raise AssertionError("opened")
    assert (caught.value.code, caught.value.fix) == (65, "brain index")


def test_in_a_batch_one_bad_question_leaves_the_others_alone(shelf: Shelf) -> None:
    shelf.put("inbox", "a.md", "walrus")
    with Asker(shelf.home, shelf.config) as asker:
        first, second, third = batch(asker, ["walrus", "", "walrus; `x`"], Request(literal=True))
    assert (first["ok"], third["ok"]) == (True, True)
    assert (second["ok"], second["error"], second["exit_code"]) == (False, "bad_query", 64)


def test_bad_questions_are_refused_before_anything_is_opened(shelf: Shelf) -> None:
    with pytest.raises(BadQuery):
        shelf.ask("echo $(id)")


def test_a_thousand_questions_leave_no_file_open_and_stay_quick(shelf: Shelf) -> None:
    shelf.put("inbox", "a.md", "walrus")
    started = time.perf_counter()
    with Asker(shelf.home, shelf.config) as asker:
        first = asker.ask("walrus", Request())
        alone = time.perf_counter() - started
        for _ in range(300):
            assert asker.ask("walrus", Request())["hits"] == first["hits"]
    assert time.perf_counter() - started < 300 * max(alone, 0.05)


def test_a_note_is_called_by_its_own_title(shelf: Shelf) -> None:
    file = Path(shelf.config.collections["inbox"].path, "n.md")
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("---\ntitle: Why sqlite\n---\n\nthe pelican\n")
    from runtime.capture.documents import index_file

    index_file(shelf.home, shelf.config, "inbox", str(file))
    assert shelf.ask("pelican")["hits"][0]["title"] == "Why sqlite"


def test_a_date_never_lifts_what_has_none_of_the_words(shelf: Shelf) -> None:
    now = clock.now()
    for number in range(40):
        shelf.put("brain", f"filler{number}.md", "the quick work of the day", date=now - DAY)
    shelf.put("inbox", "note.md", "chose postgres for the ledger", date=now - 45 * DAY)
    assert [hit["uri"] for hit in shelf.ask("why postgres for the ledger, recently")["hits"]] == ["qmd://inbox/note.md"]
    assert not shelf.ask(f"qqqq xxxx in {time.gmtime(now).tm_year}")["hits"]


@pytest.mark.parametrize("question", cases(__file__, "test_a_question_for_a_day_walks_through_it_newest_first"))
def test_a_question_for_a_day_walks_through_it_newest_first(shelf: Shelf, question: str) -> None:
    midnight = time.mktime((*time.localtime(clock.now())[:3], 0, 0, 0, 0, 0, -1))
    for hour in (3, 9, 15):
        at = int(midnight) - DAY + hour * 3600
        shelf.put("brain", f"h{hour}.md", f"session of hour {hour}", date=at, ended=at + 60)
    shelf.put("brain", "older.md", "what did I do yesterday", date=int(midnight) - 9 * DAY)
    envelope = shelf.ask(question)
    assert [hit["uri"] for hit in envelope["hits"]] == [f"qmd://brain/h{hour}.md" for hour in (15, 9, 3)]
    assert envelope["route"]["mode"] == "time"


_READ = [
    "what was I reading {}",
    "which sites was I looking at {}",
    "which pages did I visit {}",
    "what did I read {}?",
    "which websites did I browse {}",
    "what articles was I reading {}",
    "pages I visited {}",
    "my browsing {}",
    "what did I watch {}",
    "which tabs did I have open {}",
    "what links did I open {}",
    "what did I google {}",
    "what was I searching for {}",
    "which blog posts did I read {}",
]


@pytest.mark.parametrize("question", _READ)
@pytest.mark.parametrize("day", ["on 2026-05-04", "on 4 May 2026", "yesterday"])
def test_a_question_for_what_was_read_gets_the_days_browsing(shelf: Shelf, question: str, day: str) -> None:
    at = int(time.mktime((2026, 5, 4, 9, 0, 0, 0, 0, -1))) if day != "yesterday" else clock.now() - DAY
    shelf.put("chrome-history", "2026-05-04.md", "docs.python.org/3/library/zipfile.html", date=at, ended=at + 3600)
    shelf.put("chrome-history", "other.md", "what was I reading", date=at - 9 * DAY, ended=at - 9 * DAY)
    envelope = shelf.ask(question.format(day))
    assert [hit["uri"] for hit in envelope["hits"]] == ["qmd://chrome-history/2026-05-04.md"]
    for number in range(6):
        shelf.put("brain", f"{number}.md", "a session", date=at + number, ended=at + 7200 + number)
    envelope = shelf.ask(question.format(day))
    assert [hit["uri"] for hit in envelope["hits"]] == ["qmd://chrome-history/2026-05-04.md"]
    assert "only kb-raw, chrome-history" in envelope["route"]["reason"]


@pytest.mark.parametrize("question", _READ)
def test_a_question_for_what_was_read_gets_the_sessions_where_nothing_was(shelf: Shelf, question: str) -> None:
    shelf.put("brain", "a.md", "a session", date=clock.now() - DAY, ended=clock.now() - DAY)
    assert [hit["uri"] for hit in shelf.ask(question.format("yesterday"))["hits"]] == ["qmd://brain/a.md"]


@pytest.mark.parametrize(
    "question", ["the last page", "what did I read about zipfile yesterday", "which page has the zipfile docs"]
)
def test_a_topic_among_what_was_read_is_looked_for(shelf: Shelf, question: str) -> None:
    shelf.put("chrome-history", "a.md", "zipfile page", date=clock.now() - DAY, ended=clock.now() - DAY)
    assert shelf.ask(question)["route"]["mode"] == "lex"


def _noon(day: int) -> int:
    """Noon, local time, of a day in November 2026."""
    return int(time.mktime((2026, 11, day, 12, 0, 0, 0, 0, -1)))


@pytest.mark.parametrize(
    ("question", "given", "days"),
    [
        ("what was I doing on 2026-11-08", {}, ("2026-11-08", "2026-11-08", 0, "2026-11-05", "2026-11-10")),
        ("what did I do on 2026-11-20", {}, ("2026-11-20", "2026-11-20", 0, "2026-11-10", None)),
        ("what happened on 2026-11-01", {}, ("2026-11-01", "2026-11-01", 0, None, "2026-11-03")),
        ("what did I decide about zzyzx on 2026-11-10", {}, ("2026-11-10", "2026-11-10", 1, "2026-11-05", None)),
        ("zzyzx", {"since": _noon(7), "until": _noon(9)}, ("2026-11-07", "2026-11-09", 0, "2026-11-05", "2026-11-10")),
        ("zzyzx", {"since": _noon(20)}, ("2026-11-20", None, 0, "2026-11-10", None)),
        ("zzyzx", {"until": _noon(2)}, (None, "2026-11-02", 0, None, "2026-11-03")),
        ("what was I doing on 2026-11-04", {"project": "other"}, ("2026-11-04", "2026-11-04", 0, None, None)),
    ],
)
def test_no_answer_says_what_is_remembered_of_the_days_and_of_those_around_them(
    shelf: Shelf, question: str, given: dict[str, int], days: tuple[object, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    shelf.put("brain", "over-two-days.md", date=_noon(3), ended=_noon(5), project="/code/api")
    shelf.put("brain", "a-day.md", date=_noon(10), ended=_noon(10), project="/code/api")
    monkeypatch.setattr(time, "time", lambda: float(_noon(25)))
    envelope = shelf.ask(question, **given)
    assert (envelope["error"], envelope["hits"]) == ("no_results", [])
    names = ("since", "until", "documents", "before", "after")
    assert envelope["days"] == dict(zip(names, days, strict=True))


def test_an_answer_and_a_question_of_no_days_say_nothing_of_days(shelf: Shelf) -> None:
    shelf.put("brain", "a.md", "walrus", date=clock.now())
    assert "days" not in shelf.ask("zzyzx")
    assert "days" not in shelf.ask("what did I do today")


@pytest.mark.parametrize("question", cases(__file__, "test_a_question_for_what_came_last_walks_from_the_newest_back"))
def test_a_question_for_what_came_last_walks_from_the_newest_back(shelf: Shelf, question: str) -> None:
    for days in (300, 2, 40):
        shelf.put("brain", f"d{days}.md", f"{days} days back", date=clock.now() - days * DAY)
    envelope = shelf.ask(question)
    assert [hit["uri"] for hit in envelope["hits"]] == [f"qmd://brain/d{days}.md" for days in (2, 40, 300)]
    assert envelope["route"] == {"mode": "time", "reason": "chronological: the newest documents first"}


@pytest.mark.parametrize(
    "question", ["what was the last word on caching", "the latest migration", "last", "new things"]
)
def test_the_last_of_something_is_looked_for(shelf: Shelf, question: str) -> None:
    shelf.put("brain", "a.md", "caching migration", date=clock.now() - DAY)
    assert shelf.ask(question)["route"]["mode"] == "lex"


def test_date_words_do_not_swamp_the_topic_where_the_days_are_empty(shelf: Shelf) -> None:
    now = clock.now()
    shelf.put("brain", "lint.md", "the lint rules were loosened", date=now - 300 * DAY)
    shelf.put("brain", "log.md", "git log since 2 weeks ago; three weeks ago, last month", date=now - 400 * DAY)
    envelope = shelf.ask("lint three weeks ago")
    assert envelope["hits"][0]["uri"] == "qmd://brain/lint.md"
    assert "nothing that matches is from those days" in envelope["route"]["reason"]


def test_frontmatter_of_any_type_is_shown_as_text(shelf: Shelf) -> None:
    shelf.put("inbox", "a.md", "walrus", source=5, project=["a", "b"], type=True)
    hit = shelf.ask("walrus")["hits"][0]
    assert (hit["source"], hit["project"], hit["type"]) == ("5", "a, b", "True")


@pytest.mark.parametrize("waits", ["a transcript", "a file of a collection", "a shell's history"])
def test_until_a_run_has_ended_an_empty_answer_is_a_missing_index(shelf: Shelf, claude_root: Path, waits: str) -> None:
    shelf.put("inbox", "a.md", "walrus")
    shelf.sql("DELETE FROM brain_state WHERE key = 'complete'")
    if waits == "a transcript":
        (claude_root / "projects" / "x").mkdir(parents=True)
        (claude_root / "projects" / "x" / "s.jsonl").write_text("{}\n")
    elif waits == "a file of a collection":
        Path(shelf.home.inbox, "b.md").write_text("zzyzx\n")
    else:
        Path("~/.bash_history").expanduser().write_text("ls\n")
    with pytest.raises(EngineMissing) as caught:
        shelf.ask("zzyzx")
    assert caught.value.fix == "brain index"
    lexical = shelf.ask("walrus")["freshness"]["lexical"]
    assert (lexical["fresh"], lexical["pending"]) == (False, 1)


def test_where_there_are_only_notes_an_empty_answer_is_one_before_any_run(shelf: Shelf) -> None:
    shelf.put("inbox", "a.md", "walrus")
    shelf.sql("DELETE FROM brain_state WHERE key IN ('complete', 'as_of')")
    envelope = shelf.ask("zzyzx")
    assert (envelope["ok"], envelope["error"], envelope["hits"]) == (True, "no_results", [])
    assert envelope["freshness"]["lexical"]["as_of"] is None


def test_a_changed_set_of_collections_is_not_fresh(shelf: Shelf) -> None:
    shelf.put("inbox", "a.md", "walrus")
    Path(shelf.home.path("collections.yml")).write_text("collections:\n  inbox: {}\n  more: {}\n")
    with Asker(shelf.home, load(shelf.home)) as asker:
        assert asker.ask("walrus", Request())["freshness"]["lexical"]["fresh"] is False


def test_the_reason_says_that_there_is_no_such_day(shelf: Shelf) -> None:
    shelf.put("brain", "a.md", "I was doing the walrus harbour")
    envelope = shelf.ask("what was I doing with the walrus on 2026-02-30")
    assert envelope["hits"]
    assert 'there is no day "2026-02-30"' in envelope["route"]["reason"]


def test_a_hit_from_other_days_than_the_question_names_says_so(shelf: Shelf) -> None:
    now = clock.now()
    for name, days in (("near", 21), ("far", 411)):
        shelf.put("brain", f"{name}.md", "the auth flow", date=now - days * DAY)
    file = shelf.put("kb-raw", "undated.md", "the auth flow")
    os.utime(file, (now, now))
    found = shelf.ask("auth flow three weeks ago")
    assert found["dates"]["phrase"] == "three weeks ago"
    day = clock.iso(now - 21 * DAY)[:10]
    assert found["dates"]["since"] < day < found["dates"]["until"]
    hits = {hit["uri"].rpartition("/")[2]: hit for hit in found["hits"]}
    assert hits["far.md"]["off_date"] is True
    said = f'not from "three weeks ago" ({found["dates"]["since"]} to {found["dates"]["until"]}); 411 days old: '
    assert hits["far.md"]["warning"].startswith(said)
    assert "off_date" not in hits["near.md"]
    assert "off_date" not in hits["undated.md"], "nothing is known of its day"
    assert "dates" not in shelf.ask("auth flow")


def test_a_day_of_no_named_year_is_not_the_wrong_one(shelf: Shelf) -> None:
    begun = clock.now() - 800 * DAY
    shelf.put("brain", "a.md", "the auth flow", date=begun)
    name = time.strftime("%d %B", time.localtime(begun))
    (hit,) = shelf.ask(f"auth flow on {name}")["hits"]
    assert "off_date" not in hit


def test_the_envelope_counts_the_hits_before_the_scores_fall_off(shelf: Shelf) -> None:
    shelf.put("brain", "a.md", "the walrus swam to the harbour at night")
    shelf.put("brain", "b.md", "a harbour of stone " * 20)
    found = shelf.ask("walrus swam harbour night")
    first, second = (hit["score"] for hit in found["hits"])
    assert second < 0.8 * first
    assert found["clear"] == 1
