"""The doctor finds what is wrong with the team's server, and nothing where all is well or no team is configured."""

from __future__ import annotations

import os
import time
from pathlib import Path

import psycopg
import pytest

from bench.postgres import Space
from core import config
from core.errors import Refused
from core.home import Home
from core.version import REDACTION
from ops.checks import team
from ops.checks.finding import CheckContext
from qmd.team import connection
from runtime.team.push import push
from runtime.team.state import State, note_forgotten
from tests.runtime.index_fixture import Shelf
from tests.runtime.team.conftest import Homes, member, space
from tests.waiting import until

__all__ = ["member", "space"]


def _found(home: Home) -> dict[str, str]:
    context = CheckContext(home, os.environ, time.time())
    return {each.id: f"{each.severity}: {each.evidence}; {each.fix}" for each in team.team(context)}


@pytest.fixture
def mira(member: Homes) -> Shelf:
    found = member("mira", share={"brain": "[leo]"})
    found.put("brain", "a.md", "the amber lamp")
    push(found.home, config.load(found.home))
    return found


def test_a_home_without_a_team_is_not_examined(home: Home) -> None:
    assert _found(home) == {}


def test_a_sound_server_has_no_finding(mira: Shelf) -> None:
    assert _found(mira.home) == {}


def test_a_server_that_is_away_is_a_warning_without_the_dsn(mira: Shelf, space: Space) -> None:
    file = Path(mira.home.path(config.FILE))
    file.write_text(file.read_text().replace(space.dsn("mira"), "postgresql://mira@127.0.0.1:1/none"))
    said = "the team's server cannot be reached; start it, or correct the DSN (engine:, BRAIN_ENGINE)"
    assert _found(mira.home) == {"team-away": f"warning: {said}"}


def test_what_is_shared_and_was_not_pushed_for_a_day_is_named(mira: Shelf, space: Space) -> None:
    state = State(mira.home)
    for pushed_at, since in ((int(time.time()) - 3 * 86_400, "since 20"), (0, "ever")):
        state.pushed_at = pushed_at
        state.save()
        said = _found(mira.home)["team-push"]
        assert said.startswith(f"warning: nothing was pushed {since}")
        assert "brain is shared; brain team push; brain schedule install" in said
    file = Path(mira.home.path(config.FILE))
    file.write_text(file.read_text().replace("share: [leo]", "share: private"))
    assert _found(mira.home) == {}


def test_what_is_still_to_be_forgotten_is_an_error(mira: Shelf) -> None:
    note_forgotten(mira.home, [("brain", "x.md")])
    assert _found(mira.home)["team-forgetting"].startswith("error: 1 document forgotten here")


def test_policies_that_differ_are_named(mira: Shelf, space: Space) -> None:
    with space.superuser() as root:
        root.execute("UPDATE meta SET value = %s WHERE key = 'policy'", (str(REDACTION + 1),))
    found = _found(mira.home)
    assert found["team-policy"].startswith(f"warning: the space requires redaction policy {REDACTION + 1}")
    assert "1 document of yours" in found["team-policy-own"]
    with space.superuser() as root:
        root.execute("UPDATE units SET owner = 'leo'")
        root.execute("INSERT INTO grants (unit, kind, grantee, origin) SELECT id, 'team', 'team', 'verb' FROM units")
    assert "1 document of other members" in _found(mira.home)["team-policy-others"]


def test_a_clock_that_differs_is_named(mira: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    real = time.time
    monkeypatch.setattr(time, "time", lambda: real() - 600)
    assert "10 minutes ahead of this machine's" in _found(mira.home)["team-clock"]


def test_an_index_that_is_not_valid_is_named(mira: Shelf, space: Space) -> None:
    with space.superuser() as root:
        root.execute("UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'passages_terms'::regclass")
    assert "error: an index of the space is not valid: passages_terms" in _found(mira.home)["team-index"]


def test_a_grant_that_nobody_uses_is_named(mira: Shelf, space: Space) -> None:
    with space.superuser() as root:
        root.execute("UPDATE grants SET granted_at = now() - interval '100 days'")
    assert "1 grant nobody used for 90 days, such as brain to leo" in _found(mira.home)["team-grants"]
    connection.open_reader(space.engine("leo"), 10).close()
    assert _found(mira.home) == {}


def test_dead_rows_are_named(mira: Shelf, space: Space, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(team, "_DEAD_ROWS", 3)
    monkeypatch.setattr(team, "_DEAD_SHARE", 0.01)
    with space.superuser() as root:
        root.execute("ALTER TABLE terms SET (autovacuum_enabled = off)")
        for _ in range(4):
            root.execute("UPDATE terms SET passages = passages + 1")
        root.execute("SELECT pg_stat_force_next_flush()")
    assert "rows of terms are dead" in _found(mira.home)["team-bloat"]


@pytest.mark.long
def test_a_replica_answers_and_is_named_once_it_is_behind(
    mira: Shelf, space: Space, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(team, "_LAG_S", 0.0)
    file = Path(mira.home.path(config.FILE))
    primary = file.read_text()
    with space.server.replica() as socket:
        file.write_text(primary.replace(space.dsn("mira"), space.dsn("mira", str(socket))))
        with psycopg.connect(host=str(socket), user="postgres", dbname=space.name, autocommit=True) as root:
            until(lambda: root.execute("SELECT 1 FROM pg_stat_wal_receiver WHERE status = 'streaming'").fetchone())
            until(lambda: _found(mira.home) == {})
            # Reading changes nothing at a replica, not even when a member was last seen.
            with connection.open_reader(space.engine("leo"), 10):
                pass
            root.execute("SELECT pg_wal_replay_pause()")
            with space.superuser() as writer:
                writer.execute("UPDATE members SET seen_at = NULL")
            until(lambda: "s behind" in _found(mira.home).get("team-replica", ""))
        with pytest.raises(Refused, match="replica"):
            push(mira.home, config.load(mira.home))


def test_a_connection_over_a_network_without_tls_is_named(mira: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "is_local", lambda _: False)
    assert "not encrypted" in _found(mira.home)["team-unencrypted"]
