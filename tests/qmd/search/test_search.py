from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import apsw
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core.errors import BadQuery
from qmd.index import catalogue
from qmd.index.catalogue import Filters
from qmd.index.store import open_index
from qmd.index.update import register, update
from qmd.search import lex
from qmd.search.explanation import Explanation, explain
from qmd.search.search import Hit, Ranking, Searcher
from tests.examples import examples
from tests.qmd.corpus import Folder, indexed, run, write

if TYPE_CHECKING:
    from qmd.search.search import Boost

FILLER = "The quick work of the day went on without much of note. " * 12


def _ask(
    connection: apsw.Connection,
    question: str,
    limit: int = 5,
    *,
    strict: bool = False,
    filters: Filters | None = None,
    boost: Boost | None = None,
    drop: str = "",
) -> list[Hit]:
    filters = filters or Filters()
    searcher = Searcher(connection)
    if strict:
        return lex.strict(connection, question, limit, filters)
    ranking = Ranking(searcher, filters, limit, boost)
    ranking.rank(question, drop)
    hits = ranking.hits(parts=True)
    searcher.show(hits)
    return hits


def _paths(hits: list[Hit]) -> list[str]:
    return [hit.path for hit in hits]


def test_a_natural_question_finds_the_document_that_has_only_some_of_its_words(tmp_path: Path) -> None:
    connection, _ = indexed(
        tmp_path, {"a.md": f"# Auth\n{FILLER}\nThe token refresh raced the logout.", "b.md": f"# Other\n{FILLER}"}
    )
    assert _paths(_ask(connection, "why did we see a race when refreshing the tokens?"))[0] == "a.md"


def test_stop_words_do_not_decide_unless_nothing_else_remains(tmp_path: Path) -> None:
    connection, _ = indexed(tmp_path, {"a.md": "what is the why of how", "b.md": "a walrus"})
    assert _paths(_ask(connection, "what is the walrus")) == ["b.md"]
    assert _paths(_ask(connection, "what is the why")) == ["a.md"]


@pytest.mark.parametrize(
    "question",
    ["getUserName", "user name", "username handler", "src/auth/token.py", "token.py", "--no-verify", "no-verify",
     "ECONNREFUSED", "econnrefused 5432", "MAX_RETRY_COUNT", "retry count", "npm run build:prod", "feat(api)",
     "検索", "検索エンジン", "검색"],
)  # fmt: skip
def test_words_inside_identifiers_paths_and_cjk_are_found(tmp_path: Path, question: str) -> None:
    connection, _ = indexed(
        tmp_path,
        {
            "z.md": f"# Hit\n{FILLER}\n- Bash: git commit --no-verify && npm run build:prod\n"
            "- Edit: src/auth/token.py\n"
            "calls getUserName in username handler, connect ECONNREFUSED 127.0.0.1:5432, MAX_RETRY_COUNT\n"
            "feat(api): 全文検索エンジンを作る 한국어검색",
            **{f"n{number}.md": f"# Noise {number}\n{FILLER}" for number in range(8)},
        },
    )
    hits = _ask(connection, question)
    assert hits[0].path == "z.md"
    assert hits[0].line > 2


def test_the_words_of_a_flag_in_order_outrank_the_same_words_apart(tmp_path: Path) -> None:
    connection, _ = indexed(
        tmp_path,
        {"apart.md": f"verify that there is no fault. {FILLER} verify", "flag.md": f"git push --no-verify. {FILLER}"},
    )
    assert _paths(_ask(connection, "--no-verify"))[0] == "flag.md"


def test_a_title_weighs_more_than_a_body(tmp_path: Path) -> None:
    connection, _ = indexed(tmp_path, {"a.md": f"# Daily\n{FILLER} walrus", "b.md": f"# Walrus\n{FILLER} daily"})
    assert _paths(_ask(connection, "walrus"))[0] == "b.md"


def test_the_best_passage_of_a_long_document_beats_scattered_words(tmp_path: Path) -> None:
    scattered = "\n".join(f"{word} {FILLER}\n" * 3 for word in ("cache", "eviction", "deadlock"))
    together = f"{FILLER}\n" * 40 + "The cache eviction ended in a deadlock.\n" + f"{FILLER}\n" * 40
    connection, _ = indexed(tmp_path, {"scattered.md": scattered, "together.md": together})
    hits = _ask(connection, "cache eviction deadlock")
    assert hits[0].path == "together.md"
    assert "The cache eviction ended in a deadlock." in hits[0].snippet
    assert hits[0].line == 41


def test_line_and_snippet_point_at_the_evidence_behind_frontmatter(tmp_path: Path) -> None:
    text = "---\ntitle: T\n---\n\n# T\n\nfirst\n\nthe walrus sleeps\nand more\n"
    connection, _ = indexed(tmp_path, {"a.md": text})
    hit = _ask(connection, "walrus")[0]
    assert text.splitlines()[hit.line - 1] == "the walrus sleeps"
    assert hit.snippet.startswith("the walrus sleeps")


def test_a_document_of_frontmatter_alone_is_found_by_it(tmp_path: Path) -> None:
    connection, _ = indexed(tmp_path, {"walrus.md": "---\ntopic: penguin\n---\n", "b.md": "penguin feet"})
    assert set(_paths(_ask(connection, "penguin"))) == {"b.md", "walrus.md"}


def test_scores_lie_between_0_and_1_and_fall(tmp_path: Path) -> None:
    connection, _ = indexed(tmp_path, {f"{n}.md": f"walrus {'penguin ' * n}{FILLER}" for n in range(6)})
    scores = [hit.score for hit in _ask(connection, "walrus penguin penguin")]
    assert scores == sorted(scores, reverse=True)
    assert all(0 < score <= 1 for score in scores)


def test_limit_is_kept(tmp_path: Path) -> None:
    connection, _ = indexed(tmp_path, {f"{n}.md": f"walrus {n}" for n in range(9)})
    assert len(_ask(connection, "walrus", limit=3)) == 3
    assert len(_ask(connection, "walrus", limit=100)) == 9


def test_filters_hold_for_documents_and_for_passages(tmp_path: Path) -> None:
    head = "---\nsource: {}\nproject: {}\ndate: {}\n---\n"
    connection, folder = indexed(
        tmp_path,
        {
            "a.md": head.format("claude", "/home/me/api", "2026-03-01T10:00:00Z") + "walrus",
            "b.md": head.format("note", "/home/me/web", "2026-04-01T10:00:00Z") + "walrus walrus",
        },
    )
    other = Folder(tmp_path / "other", name="other")
    write(tmp_path / "other", {"c.md": "walrus walrus walrus"})
    update(connection, [other])
    register(connection, [folder, other])
    march, april = 1772323200, 1775001600

    def ask(filters: Filters) -> set[str]:
        return set(_paths(_ask(connection, "walrus", filters=filters)))

    assert ask(Filters()) == {"a.md", "b.md", "c.md"}
    assert ask(Filters(("notes",))) == {"a.md", "b.md"}
    assert ask(Filters(("other",))) == {"c.md"}
    assert ask(Filters(fields=(("source", "=", "claude"),))) == {"a.md"}
    assert ask(Filters(fields=(("project", "GLOB", "*/web"),))) == {"b.md"}
    assert ask(Filters(("notes",), since=april)) == {"b.md"}
    assert ask(Filters(since=march, until=april)) == {"a.md"}
    assert ask(Filters(("notes", "other"), fields=(("source", "=", "none"),))) == set()


def test_copies_of_one_content_are_filtered_each_by_its_own_place(tmp_path: Path) -> None:
    connection, folder = indexed(tmp_path, {"a.md": "walrus"})
    other = Folder(tmp_path / "other", name="other")
    write(tmp_path / "other", {"b.md": "walrus"})
    update(connection, [other])
    register(connection, [folder, other])
    assert _paths(_ask(connection, "walrus", filters=Filters(("other",)))) == ["b.md"]
    assert len(_ask(connection, "walrus")) == 2


class _Days:
    """A boost for the documents of one period."""

    def __init__(self, since: int, until: int) -> None:
        self.periods = [(since, until)]

    def match(self, date: int, ended: int) -> float:
        return 1.0 if date < self.periods[0][1] and ended >= self.periods[0][0] else 0.0


def test_a_boost_lifts_the_documents_of_its_days_that_match_and_no_others(tmp_path: Path) -> None:
    head = "---\ndate: 2026-0{}-01T10:00:00Z\n---\n"
    connection, _ = indexed(
        tmp_path,
        {
            "a.md": head.format(3) + f"walrus {FILLER}",
            "b.md": head.format(4) + f"walrus {FILLER}",
            "c.md": head.format(4) + "x",
        },
    )
    april = _Days(1775001600, 1777593600)
    hits = _ask(connection, "walrus in april", boost=april, drop="in april")
    assert _paths(hits)[0] == "b.md"
    assert set(_paths(hits)) == {"a.md", "b.md"}
    assert hits[0].parts["date"] > 0


def test_date_words_are_terms_only_where_nothing_else_is(tmp_path: Path) -> None:
    connection, _ = indexed(tmp_path, {"a.md": "the april release", "b.md": "walrus"})
    nowhere = _Days(0, 86400)
    assert _paths(_ask(connection, "in april", boost=nowhere, drop="in april")) == ["a.md"]


def test_strict_ands_terms_and_takes_phrases_and_exclusions(tmp_path: Path) -> None:
    connection, _ = indexed(tmp_path, {"a.md": "walrus penguin", "b.md": "walrus", "c.md": "penguin walrus seal"})
    assert set(_paths(_ask(connection, "walrus penguin", strict=True))) == {"a.md", "c.md"}
    assert _paths(_ask(connection, '"walrus penguin"', strict=True)) == ["a.md"]
    assert set(_paths(_ask(connection, "walrus -penguin", strict=True))) == {"b.md"}
    assert _ask(connection, "-walrus", strict=True) == []


def test_strict_refuses_more_prefixes_than_a_deadline_can_interrupt(tmp_path: Path) -> None:
    connection, _ = indexed(tmp_path, {"a.md": "# A\n\n" + "word " * 60 + "\n"})
    assert _paths(_ask(connection, "w " * 48, strict=True)) == ["a.md"]
    assert _paths(_ask(connection, '"' + "word " * 60 + '"', strict=True)) == ["a.md"]
    with pytest.raises(BadQuery, match="at most 48 words"):
        _ask(connection, "w " * 49, strict=True)


def test_explain_has_terms_and_rank_of_any_document(tmp_path: Path) -> None:
    connection, _ = indexed(tmp_path, {"a.md": "walrus penguin", "b.md": "walrus", "c.md": "seal"})
    searcher = Searcher(connection)

    def explained(path: str) -> Explanation:
        row = catalogue.in_any_collection(connection, path)
        assert row is not None
        document = catalogue.Document(row)
        text = catalogue.text(connection, document.hash) or ""
        return explain(searcher, "walrus penguin", document, text, filters=Filters())

    found = explained("b.md")
    assert (found.rank, found.candidates) == (2, 2)
    assert [(term["term"], term["in_document"]) for term in found.terms] == [("walrus", 1), ("penguin", 0)]
    absent = explained("c.md")
    assert (absent.rank, absent.nominated) == (0, False)


def test_irregular_forms_count_as_one_term(tmp_path: Path) -> None:
    connection, _ = indexed(tmp_path, {"a.md": f"we went to the lake {FILLER}", "b.md": f"lake house {FILLER}"})
    assert _paths(_ask(connection, "who will go to the lake"))[0] == "a.md"


def test_the_number_of_documents_is_kept(tmp_path: Path) -> None:
    connection, folder = indexed(tmp_path, {"a.md": "x", "b.md": "y"})
    count = "SELECT value FROM brain_state WHERE key = 'documents'"
    assert connection.execute(count).get == 2
    (Path(folder.path) / "a.md").unlink()
    run(connection, folder)
    assert connection.execute(count).get == 1


@settings(max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(min_size=1, max_size=80))
def test_no_question_is_an_error(tmp_path_factory: pytest.TempPathFactory, question: str) -> None:
    place = tmp_path_factory.getbasetemp() / "any-question"
    if not place.exists():
        place.mkdir()
        indexed(place, {"a.md": 'walrus\nfoo_bar(x) 検索 "quoted" it\'s', "b.md": FILLER})[0].close()
    connection = open_index(str(place / "index.sqlite"))
    question = question.encode("utf-8", "replace").decode()
    for strict in (False, True):
        for hit in _ask(connection, question, strict=strict):
            assert hit.path in ("a.md", "b.md")
            assert hit.line >= 1
    connection.close()


def test_the_line_of_a_cjk_hit_is_that_of_its_evidence(tmp_path: Path) -> None:
    lines = [
        "# 会議の記録",
        "",
        *[f"{number}番目の議題について話した。" for number in range(8)],
        "認証の失敗を調べた。",
    ]
    connection, _ = indexed(tmp_path, {"a.md": "\n".join(lines)})
    hit = _ask(connection, "認証の失敗")[0]
    assert hit.line == len(lines)
    assert "認証の失敗" in hit.snippet


def test_more_hits_than_are_nominated_by_default_can_be_asked_for(tmp_path: Path) -> None:
    connection, _ = indexed(tmp_path, {f"{number}.md": f"walrus {number}" for number in range(150)})
    assert len(_ask(connection, "walrus", limit=120)) == 120


def test_a_whole_year_lifts_less_than_a_day(tmp_path: Path) -> None:
    from runtime.dates.question import DateBoost
    from runtime.dates.span import Span

    connection, _ = indexed(tmp_path, {"a.md": "---\ndate: 2026-03-01T10:00:00Z\n---\nwalrus"})
    year = DateBoost(Span(1767225600, 1798761600, "boost", "", ""))
    day = DateBoost(Span(1772323200, 1772409600, "boost", "", ""))
    lifted = [_ask(connection, "walrus", boost=boost)[0].parts["date"] for boost in (year, day)]
    assert 0 < lifted[0] < lifted[1] / 2


@pytest.mark.parametrize(
    ("question", "first"),
    [
        ("FileLock", ["FileLock"]),
        ("FileLock()", ["FileLock"]),
        ("FileLock.release", ["FileLock.release"]),
        ("release", ["release"]),
        ("acquire", ["FileLock.acquire", "Semaphore.acquire"]),
        ("filelock", []),
        ("os.FileLock", []),
        ("what does FileLock do", []),
    ],
)
@pytest.mark.parametrize("crowd", [0, 80])
def test_a_name_alone_finds_what_has_it_before_what_uses_it(
    tmp_path: Path, question: str, first: list[str], crowd: int
) -> None:
    called = "FileLock FileLock.release release acquire FileLock.acquire"
    files: dict[str, str | bytes] = {"alone.md": f"# _alone\n\n{called} {called}\n"}
    for title in ("FileLock", "FileLock.release", "FileLock.acquire", "Semaphore.acquire", "release"):
        files[f"{title}.md"] = f"# {title}\n\n{'a lock between processes, held in a file ' * 20}\n"
    for number in range(crowd):
        files[f"c{number}.md"] = f"# c{number}\n\n{called} {called}\n"
    connection, _ = indexed(tmp_path, files)
    hits = _ask(connection, question, limit=10)
    assert sorted(hit.title for hit in hits[: len(first)]) == sorted(first)
    assert [hit.title for hit in hits[len(first) :] if hit.parts.get("name")] == []
    scores = [hit.score for hit in hits]
    assert scores == sorted(scores, reverse=True)
