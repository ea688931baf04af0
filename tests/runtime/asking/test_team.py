"""Answers over the user's own index and what others of a team share."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from bench.postgres import Server
from core.engine import Engine
from core.errors import BadInput, EngineMissing
from core.home import Home
from qmd.index.store import open_index
from qmd.search.search import Hit
from qmd.team.connection import open_writer
from qmd.team.reading import TeamStore
from runtime.asking import recent
from runtime.asking.ask import Request
from runtime.asking.documents import Ambiguous, NotFound
from runtime.asking.team import TeamAsker
from runtime.explaining.show import show
from runtime.explaining.why import why
from tests.conftest import Brain
from tests.qmd.team.filling import fill
from tests.runtime.index_fixture import Shelf
from tests.runtime.two_members import NOWHERE, PATIENCE_S, PATIENT, Members
from tests.web.site import Browser

_DAY = 86_400


class Team(Members):
    """``mira`` has shared sessions and a decision."""

    def __init__(self, server: Server, place: Path) -> None:
        super().__init__(
            server,
            place,
            "collections:\n"
            "  brain: {path: brain, trust: session}\n"
            "  inbox: {path: inbox, trust: note}\n"
            "  runbooks: {path: runbooks, trust: note}\n",
        )
        now, theirs = int(time.time()), self.theirs
        theirs.put(
            "brain",
            "a.md",
            "The walrus cache dropped keys after the rollback.",
            date=now - 3 * _DAY,
            session_id="a",
            source="claude",
        )
        theirs.put("brain", "b.md", "Nothing but penguins here.", date=now - 9 * _DAY, session_id="b", source="claude")
        reasons: dict[str, Any] = {"type": "decision", "why": "it survives a crash", "title": "Keep ledgers on disk"}
        theirs.put("inbox", "d.md", "The ledger lives on disk.", date=now - 40 * _DAY, session_id="d", **reasons)
        # A collection that bob's configuration lacks.
        theirs.put("runbooks", "r.md", "Restart the ptarmigan relay by hand.", date=now - 50 * _DAY, session_id="r")
        self.share()
        self.shelf.put("brain", "c.md", "The walrus cache is warm.", date=now - _DAY, session_id="c", source="codex")

    def ask(self, question: str, engine: Engine | None = None, **given: object) -> dict[str, Any]:
        """Return the envelope of one question of bob."""
        with TeamAsker(self.home, self.config(engine)) as asker:
            return asker.ask(question, Request(**given))


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a busy machine take its time: only a server that never answers is too late."""
    monkeypatch.setattr("runtime.asking.team._PATIENCE_S", PATIENCE_S)


@pytest.fixture(scope="module")
def team(postgres: Server, tmp_path_factory: pytest.TempPathFactory) -> Team:
    return Team(postgres, tmp_path_factory.mktemp("team"))


@pytest.fixture
def silent() -> Iterator[socket.socket]:
    """A server that takes connections, and never says anything."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        yield listening


def _engine(listening: socket.socket) -> Engine:
    return Engine("postgres", f"postgresql://bob@127.0.0.1:{listening.getsockname()[1]}/x?sslmode=disable", "t")


def test_an_answer_ranks_what_the_team_shares_among_the_users_own_and_says_whose_it_is(team: Team) -> None:
    answer = team.ask("walrus cache", limit=9)
    found = {hit["uri"]: hit for hit in answer["hits"]}
    assert set(found) == {"qmd://brain/c.md", "team://mira/brain/a.md"}
    theirs = found["team://mira/brain/a.md"]
    assert (theirs["owner"], theirs["trust"], theirs["path"], theirs["resume"]) == ("mira", "session", None, None)
    assert theirs["snippet"] == "The walrus cache dropped keys after the rollback."
    assert "owner" not in found["qmd://brain/c.md"]
    shared = answer["freshness"]["team"]
    assert (shared["fresh"], shared["members"], "missing" in shared) == (True, ["mira"], False)
    assert shared["as_of"] is not None


def test_what_others_share_answers_also_from_a_collection_that_the_configuration_lacks(team: Team) -> None:
    (hit,) = team.ask("ptarmigan relay")["hits"]
    assert (hit["owner"], hit["collection"]) == ("mira", "runbooks")
    assert team.ask("ptarmigan relay", collections=("runbooks",))["hits"] == [hit]
    assert team.ask("ptarmigan relay", collections=("brain",))["hits"] == []
    with pytest.raises(BadInput, match="no collection 'runbook'"):
        team.ask("ptarmigan relay", collections=("runbook",))


def test_a_collection_that_is_asked_by_name_alone_here_is_so_for_what_others_share(team: Team) -> None:
    config = team.config()
    config.asked = [name for name in config.asked if name != "inbox"]
    with TeamAsker(team.home, config) as asker:
        assert asker.ask("ledger on disk", Request())["hits"] == []
        assert asker.ask("ledger on disk", Request(collections=("inbox",)))["hits"]


def test_a_member_who_is_evidence_only_is_shown_as_that(team: Team) -> None:
    known = team.space.engine("bob")
    answer = team.ask("walrus cache", Engine(known.kind, known.dsn, known.space, ("mira",)))
    assert {hit.get("owner"): hit["trust"] for hit in answer["hits"]} == {None: "session", "mira": "evidence"}


def test_the_newest_documents_are_the_teams_as_well(team: Team) -> None:
    answer = team.ask("what happened lately", mode="time", limit=9)
    assert [hit["uri"] for hit in answer["hits"]] == [
        "qmd://brain/c.md", "team://mira/brain/a.md", "team://mira/brain/b.md",
    ]  # fmt: skip


def test_own_leaves_the_team_out_and_strict_says_that_it_does(team: Team) -> None:
    answer = team.ask("walrus cache", own=True)
    assert [hit["uri"] for hit in answer["hits"]] == ["qmd://brain/c.md"]
    assert "team" not in answer["freshness"]
    answer = team.ask("walrus cache", strict=True)
    assert [hit["uri"] for hit in answer["hits"]] == ["qmd://brain/c.md"]
    assert "--strict" in answer["freshness"]["team"]["missing"]


def test_without_the_server_the_own_documents_answer_and_freshness_says_what_is_missing(team: Team) -> None:
    answer = team.ask("walrus cache", NOWHERE)
    assert [hit["uri"] for hit in answer["hits"]] == ["qmd://brain/c.md"]
    shared = answer["freshness"]["team"]
    assert (shared["fresh"], shared["pending"]) == (False, None)
    assert shared["missing"] == "the team's server cannot be reached"


def test_a_server_that_never_answers_costs_half_of_the_time_at_most(team: Team, silent: socket.socket) -> None:
    began = time.monotonic()
    answer = team.ask("walrus cache", _engine(silent), timeout_s=3.0)
    assert time.monotonic() - began < 3.0
    assert [hit["uri"] for hit in answer["hits"]] == ["qmd://brain/c.md"]
    assert "in time" in answer["freshness"]["team"]["missing"]


def test_a_connection_that_breaks_during_a_question_leaves_the_own_answer(
    team: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    with TeamAsker(team.home, team.config()) as asker:
        assert len(asker.ask("walrus cache", Request())["hits"]) == 2
        read = TeamStore.read

        def broken(store: TeamStore, hit: Hit) -> str:
            store.connection.close()
            return read(store, hit)

        monkeypatch.setattr(TeamStore, "read", broken)
        answer = asker.ask("walrus cache", Request())
        assert [hit["uri"] for hit in answer["hits"]] == ["qmd://brain/c.md"]
        assert answer["freshness"]["team"]["missing"]


@pytest.mark.parametrize(
    "lie",
    [
        pytest.param(lambda row: row[:1], id="short rows"),
        pytest.param(lambda row: tuple(None for _ in row), id="nothing"),
        pytest.param(lambda row: tuple("\x1b]0;x" for _ in row), id="texts"),
        pytest.param(lambda row: tuple(-cell if isinstance(cell, int) else cell for cell in row), id="negative"),
        pytest.param(lambda row: tuple(1 << 80 if isinstance(cell, int) else cell for cell in row), id="huge"),
        pytest.param(lambda row: tuple(float("nan") if isinstance(cell, float) else cell for cell in row), id="nan"),
        pytest.param(lambda row: tuple(b"\x01" if isinstance(cell, bytes) else cell for cell in row), id="bytes"),
        pytest.param(lambda row: tuple({} if isinstance(cell, list) else cell for cell in row), id="no lists"),
    ],
)
def test_a_server_that_sends_nonsense_leaves_the_own_answer(
    team: Team, lie: Callable[[Any], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    read, now = TeamStore.read_rows, int(time.time())
    monkeypatch.setattr(TeamStore, "read_rows", lambda *asked: [lie(row) for row in read(*asked)])
    answer = team.ask("walrus cache", limit=9)
    assert "qmd://brain/c.md" in {hit["uri"] for hit in answer["hits"]}
    assert "team" in answer["freshness"]
    listed = recent.recent(team.home, team.config(), since=now - 30 * _DAY, now=now)
    assert "qmd://brain/c.md" in {item["uri"] for item in listed["items"]}
    assert "team" in why(team.home, team.config(), "walrus")["freshness"]


def test_a_document_that_a_member_made_to_break_answers_is_one_hit_as_all_others(
    team: Team, postgres: Server, tmp_path: Path
) -> None:
    other = Team(postgres, tmp_path)
    deep = f'{{"source": "claude", "a": {"[" * 3000}{"]" * 3000}}}'
    for fields in (deep, f'{{"a": {"9" * 9000}}}'):
        with other.space.superuser() as root:
            root.execute("UPDATE units SET trust = E'\\x1b[2Jnote'")
            root.execute("UPDATE documents SET hash = E'\\x1b]0;x', fields = %s WHERE path = 'a.md'", (fields,))
        answer = other.ask("walrus cache", limit=9)
        found = {hit["uri"]: hit for hit in answer["hits"]}
        assert set(found) == {"qmd://brain/c.md", "team://mira/brain/a.md"}
        theirs = found["team://mira/brain/a.md"]
        assert (theirs["docid"], theirs["trust"], theirs["source"]) == ("#", "evidence", None)


def test_a_connection_that_broke_between_two_questions_is_opened_again(team: Team) -> None:
    with TeamAsker(team.home, team.config()) as asker:
        assert len(asker.ask("walrus cache", Request())["hits"]) == 2
        with team.space.superuser() as root:
            # Other tests have a bob of their own in another database of the same server.
            root.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE usename = 'bob' AND datname = current_database()"
            )
        answer = asker.ask("walrus cache", Request())
    assert (len(answer["hits"]), "missing" in answer["freshness"]["team"]) == (2, False)


def test_what_is_revoked_is_gone_at_the_next_question_of_an_open_connection(
    team: Team, postgres: Server, tmp_path: Path
) -> None:
    other = Team(postgres, tmp_path)
    with TeamAsker(other.home, other.config()) as asker:
        assert len(asker.ask("walrus cache", Request())["hits"]) == 2
        connection = open_writer(other.space.engine("mira"), 10)
        connection.execute("DELETE FROM grants WHERE unit IN (SELECT id FROM units WHERE owner = session_user)")
        connection.close()
        answer = asker.ask("walrus cache", Request())
    assert [hit["uri"] for hit in answer["hits"]] == ["qmd://brain/c.md"]
    assert answer["freshness"]["team"]["members"] == []


def test_the_command_shows_the_owner_before_the_age(team: Team, brain: Brain, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in team.space.env("bob").items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("BRAIN_HOME", team.home.root)
    done = brain("ask", "walrus cache", "--timeout", "60", code=PATIENT)
    assert "   mira · 3 days ago" in done.stdout
    monkeypatch.setenv("BRAIN_ENGINE", "postgresql://bob@127.0.0.1:9/x#t")
    done = brain("ask", "walrus cache", "--timeout", "60", code=PATIENT)
    assert "Without what the team shares: the team's server cannot be reached" in done.stdout
    assert brain("ask", "zebra", "--json", code=PATIENT).returncode == 67


def test_the_hook_of_a_prompt_never_asks_the_team(
    team: Team, silent: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    from runtime.hooks import recall

    monkeypatch.setenv("BRAIN_ENGINE", f"{_engine(silent).dsn}#t")
    monkeypatch.setenv("BRAIN_RECALL_S", "10")
    spoken = recall.speak(team.home, "prompt", {"prompt": "is the walrus cache warm by now?"}, misses_only=False)
    assert spoken.uris == ["qmd://brain/c.md"]
    silent.setblocking(False)
    with pytest.raises(BlockingIOError):
        silent.accept()


def test_the_hook_before_a_call_never_asks_the_team(
    team: Team, silent: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    from runtime.guard import guard

    monkeypatch.setenv("BRAIN_ENGINE", f"{_engine(silent).dsn}#t")
    call = {"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": "walrus --cache"}}
    assert guard.speak(team.home, {**call, "session_id": "s", "cwd": "/u/x/api"}) == ""
    silent.setblocking(False)
    with pytest.raises(BlockingIOError):
        silent.accept()


def test_the_newest_of_the_team_are_listed_with_the_own(team: Team) -> None:
    now = int(time.time())
    found = recent.recent(team.home, team.config(), since=now - 30 * _DAY, now=now)
    assert [(item["uri"], item.get("owner")) for item in found["items"]] == [
        ("qmd://brain/c.md", None), ("team://mira/brain/a.md", "mira"), ("team://mira/brain/b.md", "mira"),
    ]  # fmt: skip
    assert (found["total"], found["collections"]) == (3, {"brain": 1, "mira/brain": 2})
    assert recent.recent(team.home, team.config(), since=now - 30 * _DAY, now=now, own=True)["total"] == 1
    away = recent.recent(team.home, team.config(NOWHERE), since=now - 30 * _DAY, now=now)
    assert [item["uri"] for item in away["items"]] == ["qmd://brain/c.md"]
    assert away["freshness"]["team"]["missing"] == "the team's server cannot be reached"


def test_a_document_of_the_team_is_shown_by_its_uri_and_by_its_docid(team: Team) -> None:
    index = open_index(team.home.index)
    for reference in ("team://mira/brain/a.md", f"#{_docid(team)}"):
        found = show(index, team.config(), reference, now=int(time.time()))
        assert (found["uri"], found["owner"], found["path"]) == ("team://mira/brain/a.md", "mira", None)
        assert "The walrus cache dropped keys" in found["text"]
    passage = show(index, team.config(), "team://mira/brain/a.md:9", now=int(time.time()), context=0)
    assert (passage["line"], passage["first_line"], passage["last_line"]) == (9, 9, 9)
    for nothing in ("team://mira/brain/none.md", "#", f"#{_docid(team)[:5]}"):
        with pytest.raises(NotFound):
            show(index, team.config(), nothing, now=0)
    with pytest.raises(EngineMissing, match="cannot be reached"):
        show(index, team.config(NOWHERE), "team://mira/brain/a.md", now=0)
    index.close()


def test_a_docid_of_several_documents_of_the_team_names_each(team: Team, postgres: Server, tmp_path: Path) -> None:
    other = Team(postgres, tmp_path)
    index = open_index(other.home.index)
    with other.space.superuser() as root:
        root.execute("UPDATE documents SET hash = %s WHERE path IN ('a.md', 'b.md')", ("ab" * 32,))
    with pytest.raises(Ambiguous, match="names several documents") as several:
        show(index, other.config(), "#abababab", now=0)
    assert several.value.near == ["team://mira/brain/a.md", "team://mira/brain/b.md"]
    with other.space.superuser() as root:
        root.execute("UPDATE documents SET text = 'the same'")
    assert show(index, other.config(), "#abababab", now=0)["text"] == "the same"
    index.close()


def _docid(team: Team) -> str:
    hits = team.ask("walrus cache")["hits"]
    return next(str(hit["docid"]).removeprefix("#") for hit in hits if "owner" in hit)


def test_a_decision_of_another_member_is_a_reason_with_its_owner(team: Team) -> None:
    found = why(team.home, team.config(), "ledger")
    (decided,) = found["decisions"]
    assert (decided["title"], decided["owner"], decided["uri"]) == (
        "Keep ledgers on disk", "mira", "team://mira/inbox/d.md",
    )  # fmt: skip
    assert (decided["why"], decided["standing"]) == ("it survives a crash", True)
    assert found["freshness"]["team"]["members"] == ["mira"]
    away = why(team.home, team.config(NOWHERE), "ledger")
    assert (away["decisions"], away["freshness"]["team"]["fresh"]) == ([], False)


def test_a_member_cannot_put_a_note_in_the_place_of_anothers(team: Team, postgres: Server, tmp_path: Path) -> None:
    other = Team(postgres, tmp_path)
    note: dict[str, Any] = {"type": "decision", "why": "it is small", "title": "Keep ledgers in memory"}
    other.shelf.put("inbox", "m.md", "The ledger lives in memory.", date=9, session_id="m", superseded_by="n", **note)
    with other.space.superuser() as root:
        root.execute("UPDATE documents SET fields = fields || '{\"session_id\": \"n\"}' WHERE path = 'd.md'")
    found = {each["uri"]: each for each in why(other.home, other.config(), "ledger")["decisions"]}
    assert found["qmd://inbox/m.md"]["standing"] is True
    assert found["team://mira/inbox/d.md"]["entry_id"] == "n"


def test_a_newer_statement_of_another_member_is_shown_as_a_contradiction_with_its_owner(
    team: Team, postgres: Server, tmp_path: Path
) -> None:
    other = Team(postgres, tmp_path)
    old = int(time.time()) - 90 * _DAY
    other.shelf.put("inbox", "o.md", "The walrus timeout is 30 seconds.", date=old, session_id="o", type="decision")
    home = Home(str(tmp_path / "third"))
    home.make()
    theirs = Shelf(home)
    theirs.put("kb-wiki", "n.md", "The walrus timeout is 90 seconds.", date=old + _DAY, session_id="n", type="decision")
    index = open_index(theirs.home.index)
    fill(other.space.engine("mira"), index)
    index.close()
    hits = {hit["uri"]: hit for hit in other.ask("walrus timeout seconds", limit=9)["hits"]}
    own, shared = hits["qmd://inbox/o.md"]["validity"], hits["team://mira/kb-wiki/n.md"]["validity"]
    assert (own["state"], own["by"][0]["owner"]) == ("contradicted", "mira")
    assert (shared["state"], shared["by"][0]["uri"]) == ("contradicted", "qmd://inbox/o.md")


def test_the_page_shows_the_owner_of_a_hit_and_the_document(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in team.space.env("bob").items():
        monkeypatch.setenv(name, value)
    browser = Browser(team.home)
    page = browser.get("/?q=walrus+cache")
    assert '<span class="owner">mira</span>' in page
    assert "/s/team://mira/brain/a.md" in page
    assert "The walrus cache dropped keys after the rollback." in browser.get("/s/team://mira/brain/a.md")
    monkeypatch.setenv("BRAIN_ENGINE", f"{NOWHERE.dsn}#t")
    assert "Without what the team shares: the team&#39;s server" in Browser(team.home).get("/?q=walrus+cache")
