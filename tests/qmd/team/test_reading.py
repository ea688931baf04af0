"""Over the same documents, a team's store gives the answers of the index."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest

from bench.postgres import Server
from core.version import REDACTION
from qmd.embedding.embedder import embed
from qmd.embedding.provider import quantise
from qmd.index.catalogue import Filters
from qmd.index.semantic import spaces
from qmd.index.store import open_index
from qmd.index.update import register, update
from qmd.search.search import DOCUMENTS, PASSAGES, Hit, Ranking, Searcher
from qmd.team.connection import open_reader, open_writer
from qmd.team.reading import TeamStore
from qmd.team.writing import ensure_unit, share
from qmd.vectors.knn import Meaning
from runtime.dates.question import DateBoost, read
from tests.qmd.corpus import Folder, write
from tests.qmd.team.filling import fill
from tests.qmd.vectors.test_knn import Bags

_WORDS = (
    "cache eviction deadlock token refresh gateway rollback schema migration index vector embedding latency server"
    " flag experiment session database encryption backup deploy pipeline lock transaction garbage collector outage"
    " alert noise research meeting budget invoice typography palette compiler parser graph traversal running ran"
).split()
_MARKED = (
    "calls getUserName in the username handler", "git commit --no-verify and again --no-verify", "MAX_RETRY_COUNT is 3",
    "see src/auth/token.py", "全文検索エンジンを作る", "한국어검색 엔진", "connect ECONNREFUSED 127.0.0.1:5432",
    "naïve café",
)  # fmt: skip
_QUESTIONS = (
    "getUserName", "username handler", "src/auth/token.py", "--no-verify", "検索エンジン", "검색", "ECONNREFUSED",
    "MAX_RETRY_COUNT", "why did the token refresh of the gateway fail", "FileLock", "release", "what ran in pipelines",
    "café", "the", "brain", "notes", "it's", "a \\ b 'quoted'",
)  # fmt: skip


def _texts() -> dict[str, str | bytes]:
    draw = random.Random(7)
    found: dict[str, str | bytes] = {}
    for number in range(120):
        lines = [
            " ".join(draw.choices(_WORDS, k=draw.randint(5, 60)))
            + (f" {draw.choice(_MARKED)}" if draw.random() < 0.2 else "")
            for _ in range(draw.choice((1, 2, 4, 30)))
        ]
        date = f"2026-{number % 9 + 1:02}-{number % 27 + 1:02}T10:00:00Z"
        source, project = draw.choice(("claude", "codex")), draw.choice(("api", "web"))
        head = f"---\nsource: {source}\nproject: /home/me/{project}\ndate: {date}\ntags: [a, {number % 3}]\n---\n"
        found[f"n{number}.md"] = f"{head}\n# {' '.join(draw.choices(_WORDS, k=3)).title()}\n\n" + "\n\n".join(lines)
    found["lock.md"] = "# FileLock\n\nA lock in a file."
    found["release.md"] = "# FileLock.release\n\nLet the lock go."
    found["head.md"] = "---\ntopic: walrus\n---\n"
    found["same.md"] = "cache " * 400
    return found


class Both:
    """The same documents in an index and in a team's store, ranked by the same code."""

    def __init__(self, index: apsw.Connection, store: TeamStore) -> None:
        self.searcher, self.store = Searcher(index), store

    def ranked(self, question: str, *, team: bool, filters: Filters, limit: int, boost: DateBoost | None) -> list[Hit]:
        ranking = Ranking(self.searcher, filters, limit, boost)
        if team:
            ranking.stores = [self.store.candidates(filters, limit)]
        ranking.rank(question)
        return ranking.hits(parts=True)

    def differ(self, question: str, filters: Filters | None = None, limit: int = 10, *, dates: str = "") -> str:
        """Return what differs between both answers, "" if nothing does; equal scores may change places."""
        span = read(dates, 1_790_000_000) if dates else None
        boost = None if span is None else DateBoost(span)
        answers = [
            [
                (round(hit.score, 6), f"{hit.collection}/{hit.path}", hit.parts, hit.passage and hit.token)
                for hit in found
            ]
            for found in (
                self.ranked(question, team=team, filters=filters or Filters(), limit=limit, boost=boost)
                for team in (False, True)
            )
        ]
        first, second = (sorted(answer, key=lambda hit: (-hit[0], hit[1])) for answer in answers)
        return "" if first == second else f"{question}: {first} {second}"


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory, postgres: Server) -> Iterator[Both]:
    place = tmp_path_factory.mktemp("team")
    index = open_index(str(place / "index.sqlite"), write=True)
    folders = [Folder(place / name, name) for name in ("notes", "brain")]
    texts = _texts()
    for folder in folders:
        Path(folder.path).mkdir()
        write(
            Path(folder.path),
            {name: text for name, text in texts.items() if (hash_of(name) % 2 == 0) == (folder.name == "notes")},
        )
    register(index, folders)
    update(index, folders)
    embed(index, Bags())
    space = postgres.space("mira", "bob")
    fill(space.engine("mira"), index)
    connection = open_reader(space.engine("bob"), 30)
    yield Both(index, TeamStore(connection, Searcher(index).analyzer, without="bob"))
    connection.close()
    index.close()
    space.drop()


def hash_of(name: str) -> int:
    return sum(map(ord, name))


def _drawn(count: int) -> list[str]:
    draw = random.Random(3)
    return [" ".join(draw.choices(_WORDS, k=draw.randint(1, 9))) for _ in range(count)]


def test_the_first_ten_of_a_team_are_those_of_the_index_with_the_same_scores(both: Both) -> None:
    assert not [said for question in (*_QUESTIONS, *_drawn(60)) if (said := both.differ(question))]


def test_filters_leave_the_same_documents_and_the_same_scores(both: Both) -> None:
    cases = [
        Filters(("brain",)),
        Filters(since=1_775_000_000, until=1_783_000_000),
        Filters(fields=(("project", "GLOB", "*/api"),)),
        Filters(fields=(("project", "GLOB", "/home/[a-m]?/w*"),)),
        Filters(fields=(("source", "=", "codex"), ("tags", "=", "1"))),
    ]
    assert not [said for case in cases for question in _drawn(12) if (said := both.differ(question, case))]


def test_documents_of_a_named_date_are_lifted_as_in_the_index(both: Both) -> None:
    assert not [said for question in _drawn(12) if (said := both.differ(question, dates="on 5 march 2026"))]


def test_a_question_with_common_words_is_nominated_by_its_rare_ones_as_in_the_index(
    both: Both, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("qmd.search.scoring.ROW_BUDGET", 150)
    assert not [said for question in _drawn(20) if (said := both.differ(question))]


@pytest.mark.parametrize("limit", [2, 10])
def test_of_many_rows_only_those_are_looked_at_that_can_be_among_the_best(
    both: Both, monkeypatch: pytest.MonkeyPatch, limit: int
) -> None:
    for name, nominated, least in (("PASSAGES", PASSAGES, 5), ("DOCUMENTS", DOCUMENTS, 3)):
        monkeypatch.setattr(f"qmd.search.search.{name}", (*nominated[:3], least, nominated[4]))
        monkeypatch.setattr(f"qmd.search.scoring.NOMINATED_{name}", least)
    monkeypatch.setattr("qmd.team.reading._FEW", 0)
    questions = (*_WORDS[::3], *_QUESTIONS, *_drawn(20))
    assert not [said for question in questions if (said := both.differ(question, limit=limit))]
    assert not [said for question in _drawn(12) if (said := both.differ(question, Filters(("brain",)), limit))]


@pytest.mark.parametrize("untrue", [True, False])
def test_marks_that_are_not_true_take_no_place_from_others(
    both: Both, postgres: Server, monkeypatch: pytest.MonkeyPatch, untrue: bool
) -> None:
    for name, least in (("PASSAGES", 4), ("DOCUMENTS", 3)):
        monkeypatch.setattr(f"qmd.search.scoring.NOMINATED_{name}", least)
    space, many = postgres.space("mira", "leo", "bob"), ",".join(map(str, range(1, 91)))
    fill(space.engine("mira"), both.searcher.connection)
    with open_writer(space.engine("leo"), 10) as leo:
        unit = ensure_unit(leo, "marked", "note", 0.0, REDACTION)
        share(leo, unit, "device", [("team", "team")], "note")
        _put(leo, unit, "unmarked.md", "cache " * 90, [(0, f"'cach':{many}", "")])
        for number in range(20 if untrue else 0):
            rows = [(-1, "", f"'cach\x01i':{many}"), (0, "'cach':2", "")]
            _put(leo, unit, f"{number}.md", "research cache notes", rows)
    found: list[list[Any]] = []
    with open_reader(space.engine("bob"), 10) as bob:
        store = TeamStore(bob, both.searcher.analyzer, without="bob")
        ((unmarked,),) = store.rows("SELECT id FROM documents WHERE path = 'unmarked.md'")
        for few in (10**6, 0):
            monkeypatch.setattr("qmd.team.reading._FEW", few)
            candidates = store.candidates(Filters(), 1)
            candidates.begin(both.searcher.analyzer.analyze("cache"), "", [])
            candidates.passages()
            found.append(sorted((row[0], row[1] is None) for row in candidates._rows))
    # Without marks, a document is looked at only where all are: this is how it shows that they were.
    assert [(unmarked, True) in each for each in found] == [True, untrue]
    assert found[0] == found[1] or not untrue
    space.drop()


def _put(writer: Any, unit: int, path: str, text: str, passages: list[tuple[int, str, str]]) -> None:
    row = writer.execute(
        "INSERT INTO documents (unit, device, path, title, hash, date, ended, dated, fields, policy, text, starts,"
        " passages, tokens, title_terms)"
        " VALUES (%s, 'd', %s, 't', 'h', 1, 2, true, '{}', %s, %s, '', 1, %s, '') RETURNING id",
        (unit, path, REDACTION, text, len(text.split()) + 8),
    ).fetchone()
    tokens = len(text.split())
    rows = [each for number, body, marks in passages for each in (row[0], number, unit, tokens, body, marks)]
    values = ", ".join(["(%s, %s, %s, %s, %s::tsvector, '', %s::tsvector)"] * len(passages))
    writer.execute(f"INSERT INTO passages (document, number, unit, tokens, body, words, marks) VALUES {values}", rows)


def test_the_texts_of_hits_are_shown_where_the_evidence_is(both: Both) -> None:
    for question in _QUESTIONS:
        own, team = (both.ranked(question, team=team, filters=Filters(), limit=5, boost=None) for team in (False, True))
        both.searcher.show(own)
        both.searcher.show(team)
        shown = [{hit.path: (hit.line, hit.snippet) for hit in found if hit.score < 1} for found in (own, team)]
        assert {path: shown[1][path] for path in shown[0] if path in shown[1]} == {
            path: shown[0][path] for path in shown[0] if path in shown[1]
        }


def test_what_a_member_shares_is_neither_found_nor_counted_among_the_own(both: Both, postgres: Server) -> None:
    assert both.store.units()
    alone = TeamStore(both.store.connection, both.searcher.analyzer, without="mira")
    candidates = alone.candidates(Filters(), 5)
    candidates.begin(both.searcher.analyzer.analyze("token refresh"), "", [])
    assert candidates.passages() == ([], {})
    assert (candidates.documents(), candidates.total, sum(candidates.frequencies)) == ([], 0, 0)


def test_what_is_near_by_meaning_is_the_same_with_the_same_evidence(both: Both) -> None:
    space, meant = spaces.listed(both.searcher.connection)[0], 0
    for question in _drawn(12):
        (vector,) = quantise(Bags().embed([question]))
        answers: list[list[tuple[Any, ...]]] = []
        for team in (False, True):
            meaning = Meaning(space, lambda vector=vector: vector, {}, 0.9, 10)  # type: ignore[misc]
            meaning.weigh, meaning.level = (lambda share: 0.9), 0.38
            ranking = Ranking(both.searcher, Filters(), 10, None, meaning)
            if team:
                ranking.stores = [both.store.candidates(Filters(), 10)]
            ranking.rank(question)
            found = ranking.hits(parts=True)
            meant += sum(hit.near is not None for hit in found)
            piece = [(round(hit.score, 5), hit.path, hit.parts) for hit in found]
            answers.append([*sorted(piece, key=lambda each: (-each[0], each[1])), (round(ranking.evidence or 0, 5),)])
        assert answers[0] == answers[1]
    assert meant


def test_more_hits_by_meaning_than_the_index_of_vectors_looks_at_once_are_found(both: Both) -> None:
    space, shown = spaces.listed(both.searcher.connection)[0], list[set[str]]()
    (vector,) = quantise(Bags().embed([_drawn(1)[0]]))
    for team in (False, True):
        ranking = Ranking(both.searcher, Filters(), 800, None, Meaning(space, lambda: vector, {}, 0.9, 800))
        if team:
            ranking.stores = [both.store.candidates(Filters(), 800)]
        ranking.rank(_drawn(1)[0])
        shown.append({hit.path for hit in ranking.hits(parts=False)})
    assert shown[0] == shown[1] != set()


def test_a_passage_whose_words_have_no_places_or_weighted_ones_ends_no_question(both: Both, postgres: Server) -> None:
    space = postgres.space("mira", "leo")
    with open_writer(space.engine("mira"), 10) as mira:
        unit = ensure_unit(mira, "odd", "note", 0.0, REDACTION)
        share(mira, unit, "device", [("team", "team")], "note")
        document = mira.execute(
            "INSERT INTO documents (unit, device, path, title, hash, date, ended, dated, fields, policy, text, starts,"
            " passages, tokens, title_terms)"
            " VALUES (%s, 'device', 'a.md', 't', 'h', 1, 2, true, '{}', %s, 'amber cobalt', '', 1, 7, '') RETURNING id",
            (unit, REDACTION),
        ).fetchone()
        assert document is not None
        mira.execute(
            "INSERT INTO passages (document, number, unit, tokens, body, words)"
            " VALUES (%s, 0, %s, 5, 'amber cobalt:2A,3B', '')",
            (document[0], unit),
        )
    with open_reader(space.engine("leo"), 10) as leo:
        alone = TeamStore(leo, both.searcher.analyzer, without="leo")
        candidates = alone.candidates(Filters(), 5)
        candidates.begin(both.searcher.analyzer.analyze("amber cobalt"), "", [])
        ((passage,), _) = candidates.passages()
    assert sorted(passage[3]) == [([], []), ([1, 2], [])]
    space.drop()
