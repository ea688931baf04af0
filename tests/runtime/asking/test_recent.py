"""``recent`` is newest first by the documents' own dates, fair to every collection, and counts what it leaves out."""

from __future__ import annotations

import os
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core import clock
from core.config import Config
from core.errors import BadInput, EngineMissing
from core.home import Home
from qmd.index import catalogue
from qmd.index.store import open_index
from runtime.asking import recent
from tests.runtime.index_fixture import Shelf

NOW = 1_795_275_000  # 2026-11-21 15:30 UTC
HOUR = 3600


def run(shelf: Shelf, hours: int = 24, **options: Any) -> dict[str, Any]:
    return recent.recent(shelf.home, shelf.config, since=NOW - hours * HOUR, now=NOW, **options)


def titles(envelope: dict[str, Any]) -> list[str]:
    return [item["title"] for item in envelope["items"]]


def session(shelf: Shelf, name: str, ago_h: float, **meta: Any) -> None:
    ended = NOW - int(ago_h * HOUR)
    meta = {"session_id": name, "source": "claude", **meta}
    shelf.put("brain", f"{name}.md", name, date=ended - HOUR, ended=ended, **meta)


def test_newest_first_by_when_they_ended_over_all_collections(shelf: Shelf) -> None:
    session(shelf, "morning", 6)
    session(shelf, "noon", 3)
    shelf.put("kb-raw", "article.md", date=NOW - 4 * HOUR)
    shelf.put("inbox", "old.md", date=NOW - 30 * HOUR)
    shelf.put("kb-raw", "long.md", date=NOW - 300 * HOUR, ended=NOW - HOUR)
    envelope = run(shelf)
    assert titles(envelope) == ["long", "noon", "article", "morning"]
    assert (envelope["total"], envelope["collections"]) == (4, {"brain": 2, "kb-raw": 2})
    assert (envelope["schema"], envelope["ok"], envelope["since"]) == (1, True, "2026-11-20T15:30:00Z")
    assert envelope["walk_ms"] >= 0
    assert "error" not in envelope


def test_a_list_in_the_frontmatter_is_listed_as_text(shelf: Shelf) -> None:
    session(shelf, "s1", 2, project=["api", "web"], source=["a", "b"])
    (item,) = run(shelf)["items"]
    assert (item["project"], item["source"]) == ("api, web", "a, b")


def test_an_item_says_what_it_is_and_how_to_resume_it(shelf: Shelf) -> None:
    session(shelf, "s1", 2, project="/u/x/api", title="Fix the race")
    (item,) = run(shelf)["items"]
    assert item == {
        "docid": item["docid"],
        "uri": "qmd://brain/s1.md",
        "path": os.path.join(shelf.config.collections["brain"].path, "s1.md"),
        "collection": "brain",
        "source": "claude",
        "title": "Fix the race",
        "type": None,
        "date": "2026-11-21T12:30:00Z",
        "ended": "2026-11-21T13:30:00Z",
        "age_days": 0,
        "age": "today",
        "project": "/u/x/api",
        "trust": "session",
        "session_id": "s1",
        "resume": "claude --resume s1",
    }


def test_the_files_own_time_does_not_count_where_the_document_has_a_date(shelf: Shelf) -> None:
    path = shelf.put("kb-raw", "dated.md", date=NOW - 100 * HOUR)
    os.utime(path, (NOW, NOW))
    connection = open_index(shelf.home.index, write=True)
    from qmd.index.writer import put

    put(connection, "kb-raw", "dated.md", path.read_bytes(), path.stat())
    connection.close()
    assert run(shelf)["items"] == []


def test_a_document_without_a_date_is_marked_as_dated_by_its_file(shelf: Shelf) -> None:
    shelf.put("kb-raw", "undated.md")
    envelope = recent.recent(shelf.home, shelf.config, since=clock.now() - HOUR, now=clock.now())
    assert envelope["items"][0]["date_source"] == "mtime"


def test_one_noisy_collection_cannot_bury_the_rest(shelf: Shelf) -> None:
    for number in range(20):
        session(shelf, f"s{number:02}", number / 100)
    for number in range(4):
        shelf.put("kb-raw", f"a{number}.md", date=NOW - 10 * HOUR - number)
    shelf.put("inbox", "n.md", date=NOW - 20 * HOUR)
    envelope = run(shelf, limit=10)
    # Half of ten is the quota of `brain`.
    assert titles(envelope) == ["s00", "s01", "s02", "s03", "s04", "a0", "a1", "a2", "a3", "n"]
    assert envelope["held_back"] == {"brain": 5}
    assert (envelope["total"], envelope["collections"]) == (25, {"brain": 20, "kb-raw": 4, "inbox": 1})


def test_places_that_the_others_leave_are_filled_up_newest_first(shelf: Shelf) -> None:
    for number in range(20):
        session(shelf, f"s{number:02}", number / 100)
    shelf.put("kb-raw", "a.md", date=NOW - 10 * HOUR)
    envelope = run(shelf, limit=10)
    assert titles(envelope) == [*(f"s{number:02}" for number in range(9)), "a"]
    assert envelope["held_back"] == {"brain": 1}


def test_a_collection_alone_has_no_quota(shelf: Shelf) -> None:
    for number in range(8):
        session(shelf, f"s{number}", number / 100)
    assert run(shelf, limit=6)["held_back"] == {}
    shelf.put("kb-raw", "a.md", date=NOW - HOUR)
    assert titles(run(shelf, limit=6, collections=["brain"])) == [f"s{number}" for number in range(6)]


def test_a_smaller_quota_holds_back_more(shelf: Shelf) -> None:
    for number in range(10):
        shelf.put("chrome-history", f"d{number}.md", date=NOW - number)
    for number in range(10):
        session(shelf, f"s{number}", 1 + number)
    envelope = run(shelf, limit=10)
    # 0.3 of the list for the browser, at most 0.5 for the sessions; the two places left go to the newest.
    assert [item["collection"] for item in envelope["items"]] == ["chrome-history"] * 5 + ["brain"] * 5
    assert envelope["held_back"] == {"chrome-history": 5}


def test_synthetic_documents_are_counted_not_listed(shelf: Shelf) -> None:
    session(shelf, "work", 5)
    session(shelf, "bench", 1, synthetic=True)
    session(shelf, "not", 2, synthetic=False)
    envelope = run(shelf)
    assert (titles(envelope), envelope["synthetic"], envelope["total"]) == (["not", "work"], 1, 2)
    everything = run(shelf, everything=True)
    assert (titles(everything), everything["synthetic"], everything["total"]) == (["bench", "not", "work"], 0, 3)


def test_subagents_come_after_their_parent(shelf: Shelf) -> None:
    session(shelf, "main", 1)
    session(shelf, "agent", 0.5, parent="main", agent_id="1")
    session(shelf, "orphan", 2, parent="elsewhere", agent_id="2")
    # A note's parent is its own affair.
    shelf.put("kb-wiki", "note.md", date=NOW - 3 * HOUR, parent="main")
    envelope = run(shelf)
    assert titles(envelope) == ["main", "orphan", "note"]
    assert (envelope["subagents"], envelope["total"]) == (1, 3)
    assert envelope["items"][1]["resume"] == "claude --resume elsewhere"
    assert titles(run(shelf, everything=True)) == ["agent", "main", "orphan", "note"]


def test_everything_lifts_the_quota(shelf: Shelf) -> None:
    for number in range(6):
        session(shelf, f"s{number}", number / 100)
    shelf.put("kb-raw", "a.md", date=NOW - HOUR)
    envelope = run(shelf, limit=4, everything=True)
    assert (titles(envelope), envelope["held_back"]) == (["s0", "s1", "s2", "s3"], {})


def test_what_no_question_searches_unasked_is_listed_only_when_named(shelf: Shelf) -> None:
    session(shelf, "mine", 2)
    shelf.put("code", "repo/symbol.md", date=NOW - HOUR)
    assert titles(run(shelf)) == ["mine"]
    assert titles(run(shelf, collections=("code",))) == ["symbol"]


def test_only_the_named_collections(shelf: Shelf) -> None:
    session(shelf, "s", 1)
    shelf.put("kb-raw", "a.md", date=NOW - HOUR)
    shelf.put("inbox", "n.md", date=NOW - HOUR)
    envelope = run(shelf, collections=["inbox", "kb-raw"])
    assert (sorted(titles(envelope)), envelope["collections"]) == (["a", "n"], {"inbox": 1, "kb-raw": 1})
    with pytest.raises(BadInput) as caught:
        run(shelf, collections=["brian"])
    assert "brain" in caught.value.fix


def test_nothing_is_a_valid_answer_and_no_index_is_none(shelf: Shelf) -> None:
    envelope = run(shelf)
    assert (envelope["ok"], envelope["error"], envelope["items"], envelope["total"]) == (True, "no_results", [], 0)
    os.unlink(shelf.home.index)
    with pytest.raises(EngineMissing):
        run(shelf)


def test_the_walk_uses_the_index_on_ended_and_reads_no_content(shelf: Shelf) -> None:
    plan = [str(row[3]) for row in shelf.sql("EXPLAIN QUERY PLAN " + catalogue.walk_sql(recent._FIELDS), NOW)]
    assert any("brain_facts_ended" in step for step in plan)
    assert not any("content" in step or step[:24] == "TEMP B-TREE FOR ORDER BY" for step in plan)


@given(
    st.lists(st.sampled_from(["brain", "kb-raw", "chrome-history", "inbox"]), max_size=40),
    st.integers(1, 12),
)
def test_a_shared_list_is_full_in_order_and_accounts_for_all(collections: list[str], limit: int) -> None:
    names = ("brain", "kb-raw", "chrome-history", "inbox")
    config = Config("", {"collections": {name: {"quota": 0.3} for name in names}}, Home("/nowhere"))
    candidates = list(enumerate(collections))
    listed, held = recent._share(candidates, config, limit, len(set(collections)) < 2)
    assert len(listed) == min(limit, len(candidates))
    assert listed == sorted(set(listed))
    missing = set(range(len(listed))) - set(listed)
    assert sum(held.values()) == len(missing)
    for name, count in held.items():
        assert count == sum(collections[place] == name for place in missing)


def test_a_session_and_its_distillate_are_listed_once(shelf: Shelf) -> None:
    session(shelf, "work", 1)
    ended = NOW - HOUR
    shelf.put("distilled", "work.md", "x", date=ended - HOUR, ended=ended, session_id="work", title="work distilled")
    shelf.put("distilled", "lost.md", "x", date=ended - HOUR, ended=ended, session_id="lost", title="lost distilled")
    assert titles(run(shelf)) == ["work", "lost distilled"], "one whose session is gone stands for it"
    assert titles(run(shelf, collections=["distilled"])) == ["work distilled", "lost distilled"]
    assert len(titles(run(shelf, everything=True))) == 3
