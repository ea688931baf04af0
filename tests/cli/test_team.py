"""``brain team`` from making a space to leaving it, and that no output has a password."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bench.postgres import Server, Space
from core import clock
from core.config import FILE, load
from core.home import Home
from qmd.team import connection
from runtime.team.state import note_forgotten
from tests.conftest import Brain
from tests.runtime.index_fixture import Shelf
from tests.runtime.two_members import PATIENT
from tests.runtime.work.sessions import did
from tests.web.site import Browser
from tui.memory import Memory

_COLLECTIONS = """# mine
collections:
  brain: {path: brain, trust: session, share: team}   # shared
  notes: {path: notes, trust: note}
ask: {timeout_s: 9}
"""


@pytest.fixture
def place(postgres: Server) -> Iterator[Space]:
    made = postgres.database("mira", "leo")
    yield made
    with postgres.superuser() as root:
        for name in (f"new_{made.name}",):
            root.execute(f'DROP DATABASE IF EXISTS "{made.name}" WITH (FORCE)'.encode())
            root.execute(f'DROP ROLE IF EXISTS "{name}"'.encode())
    made.drop()


class Team:
    """Commands of members, each with a home of its own."""

    def __init__(self, brain: Brain, place: Space, folder: Path) -> None:
        self._brain, self.place, self._folder = brain, place, folder
        self.said: list[str] = []

    def home(self, member: str) -> Home:
        found = Home(str(self._folder / member))
        if not Path(found.root).exists():
            found.make()
            Path(found.path(FILE)).write_text(_COLLECTIONS)
        return found

    def run(self, member: str, *words: str, code: int = 0) -> Any:
        done = self._brain("team", *words, "--json", env={"BRAIN_HOME": self.home(member).root})
        self.said.append(done.stdout + done.stderr)
        assert done.returncode == code, (words, done.stdout, done.stderr)
        return json.loads(done.stdout)

    def joined(self, *members: str) -> None:
        for name in ("ada", *members):
            where = ("--dsn", self.place.dsn(name), "--space", self.place.name)
            if name == "ada":
                self.run("ada", "init", *where)
            else:
                self.run("ada", "members", "--add", name)
            self.run(name, "join", *where)


@pytest.fixture
def team(brain: Brain, place: Space, tmp_path: Path) -> Team:
    return Team(brain, place, tmp_path / "homes")


def test_a_team_is_made_joined_and_left(team: Team) -> None:
    team.joined("mira", "leo")
    home = team.home("mira")
    text = Path(home.path(FILE)).read_text()
    assert text.startswith(_COLLECTIONS)
    assert f"space: {team.place.name}" in text
    shelf = Shelf(home)
    shelf.put("brain", "a.md", "the amber lamp")
    shelf.put("notes", "n.md", "a private note")
    pushed = team.run("mira", "push")
    assert [(each["collection"], each["sent"]) for each in pushed["collections"]] == [("brain", 1)]
    assert [(each["owner"], each["documents"]) for each in team.run("leo", "status")["collections"]] == [("mira", 1)]
    team.run("mira", "revoke", "brain", "--from", "leo")
    assert team.run("leo", "status")["collections"] == []
    team.run("mira", "push")
    assert team.run("leo", "status")["collections"] == []
    team.run("mira", "grant", "brain", "--to", "leo")
    assert len(team.run("leo", "status")["collections"]) == 1
    assert team.run("mira", "leave")["dry_run"] is True
    assert team.run("mira", "leave", "--yes")["documents"] == 1
    assert Path(home.path(FILE)).read_text().strip() == _COLLECTIONS.strip()
    assert team.run("leo", "status")["collections"] == []
    assert [each["name"] for each in team.run("ada", "members")["members"]] == ["ada", "leo"]
    assert not any("secret of" in each for each in team.said)


def test_joining_again_keeps_the_members_that_never_advise(team: Team) -> None:
    team.joined("mira")
    file = Path(team.home("mira").path(FILE))
    file.write_text(file.read_text() + "  evidence: [leo, 'o''hara']\n")
    team.run("mira", "join", "--dsn", team.place.dsn("mira"), "--space", team.place.name)
    engine = load(team.home("mira")).engine
    assert engine is not None
    assert engine.evidence == ("leo", "o'hara")


def test_a_member_gets_a_role_whose_password_only_the_file_has(team: Team, tmp_path: Path) -> None:
    team.joined()
    name = f"new_{team.place.name}"
    file = tmp_path / "new.pgpass"
    added = team.run("ada", "members", "--add", name, "--pgpass", str(file))
    secret = file.read_text().strip().rpartition(":")[2]
    assert len(secret) >= 32
    assert file.stat().st_mode & 0o077 == 0
    assert added["changed"][0]["pgpass"] == str(file)
    dsn = team.place.dsn(name).replace(str(team.place.passfile).replace("/", "%2F"), str(file).replace("/", "%2F"))
    team.run(name, "join", "--dsn", dsn, "--space", team.place.name)
    # A new password goes to the same place, and the old one is refused.
    before = file.read_text()
    team.run(name, "pull-keys")
    renewed = file.read_text().strip().rpartition(":")[2]
    assert renewed != secret
    assert len(file.read_text().splitlines()) == 1
    assert team.run(name, "status")["member"] == name
    file.write_text(before)
    assert team.run(name, "status", code=65)["error"] == "qmd_missing"
    with team.place.superuser() as root:
        held = root.execute("SELECT rolpassword FROM pg_authid WHERE rolname = %s", (name,)).fetchone()
    assert held is not None
    assert held[0].startswith("SCRAM-SHA-256$")
    assert not any(each in said for said in team.said for each in (secret, renewed))
    team.run("ada", "members", "--remove", name)
    file.write_text(before.replace(secret, renewed))
    assert team.run(name, "status", code=65)["error"] == "qmd_missing"


def test_a_group_is_granted_by_name(team: Team) -> None:
    team.joined("mira", "leo")
    shelf = Shelf(team.home("mira"))
    config = Path(team.home("mira").path(FILE))
    config.write_text(config.read_text().replace("share: team", "share: [ops]"))
    shelf.put("brain", "a.md", "the amber lamp")
    assert team.run("mira", "push", code=64)["error"] == "bad_input"
    team.run("ada", "members", "--group", "ops", "--add", "leo")
    team.run("mira", "push")
    assert len(team.run("leo", "status")["collections"]) == 1
    assert team.run("ada", "status")["collections"] == []
    team.run("ada", "members", "--group", "ops", "--remove", "leo")
    assert team.run("leo", "status")["collections"] == []
    assert team.run("leo", "members", "--group", "ops", "--add", "leo", code=71)["error"] == "refused"
    assert team.run("leo", "members", "--remove", "mira", code=71)["error"] == "refused"


def test_revoking_from_a_group_leaves_the_rest(team: Team) -> None:
    team.joined("mira", "leo")
    Shelf(team.home("mira")).put("brain", "a.md", "the amber lamp")
    team.run("ada", "members", "--group", "ops", "--add", "leo")
    team.run("mira", "push")
    team.run("mira", "revoke", "brain", "--from", "ops")
    assert (len(team.run("leo", "status")["collections"]), len(team.run("ada", "status")["collections"])) == (0, 1)


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("push",), 65),
        (("status",), 65),
        (("init", "--dsn", "postgresql://ada:hunter2@db/x", "--space", "team"), 64),
        (("init", "--dsn", "postgresql://ada@db/x"), 64),
        (("join", "--dsn", "postgresql://ada@127.0.0.1:1/x", "--space", "team"), 65),
        (("grant", "brain"), 64),
        (("revoke", "brain"), 64),
        ((), 64),
    ],
)
def test_what_is_wrong_is_said_without_the_password(brain: Brain, words: tuple[str, ...], code: int) -> None:
    done = brain("team", *words, "--json")
    assert done.returncode == code, done
    assert json.loads(done.stdout)["exit_code"] == code


def test_a_refused_password_is_not_repeated(brain: Brain) -> None:
    done = brain("team", "join", "--dsn", "postgresql://ada:hunter2@db/x", "--space", "team")
    assert "passwords lie in ~/.pgpass" in done.stderr
    assert "hunter2" not in done.stderr


def test_a_job_without_a_team_does_nothing(brain: Brain) -> None:
    done = brain("team", "push", "--if-shared", "--json")
    assert (done.returncode, json.loads(done.stdout)["collections"]) == (0, [])


def test_the_password_of_a_file_goes_to_where_libpq_reads_it(team: Team, brain: Brain, tmp_path: Path) -> None:
    team.joined()
    team.run("ada", "members", "--add", "mira")
    (tmp_path / "word").write_text("secret of mira\n")
    own = tmp_path / "own.pgpass"
    dsn = team.place.dsn("mira").partition("&passfile")[0]
    env = {"BRAIN_HOME": team.home("mira").root, "PGPASSFILE": str(own)}
    words = ("team", "join", "--dsn", dsn, "--space", team.place.name)
    assert brain(*words, env=env).returncode == 65
    done = brain(*words, "--password-file", str(tmp_path / "word"), env=env)
    assert done.returncode == 0, done.stderr
    assert "secret of" not in done.stdout + done.stderr
    assert own.stat().st_mode & 0o077 == 0
    engine = team.place.engine("mira")
    assert (
        own.read_text() == ":".join(each.replace(":", "\\:") for each in connection.place(engine)) + ":secret of mira\n"
    )


@pytest.mark.parametrize(
    "words",
    [("--add", "new"), ("--add", "new", "--pgpass", "FILE"), ("--group", "ops", "--add", "leo"), ("--remove", "leo")],
)
def test_a_member_who_is_no_admin_is_told_who_is(team: Team, tmp_path: Path, words: tuple[str, ...]) -> None:
    team.joined("mira", "leo")
    file = tmp_path / "new.pgpass"
    said = team.run("mira", "members", *(str(file) if word == "FILE" else word for word in words), code=71)
    assert said["message"] == "only an admin changes members and groups, and 'mira' is none"
    assert said["fix"] == "ask an admin: ada"
    assert not file.exists()


def test_joining_as_another_member_or_elsewhere_is_refused_unless_it_is_asked_for(team: Team) -> None:
    team.joined("mira", "leo")
    home = team.home("mira")
    before = Path(home.path(FILE)).read_text()
    Shelf(home).put("brain", "a.md", "the amber lamp")
    team.run("mira", "push")
    where = ("--dsn", team.place.dsn("leo"), "--space", team.place.name)
    refused = team.run("mira", "join", *where, code=71)
    assert (f"{team.place.name!r} at" in refused["message"], "as 'mira'" in refused["message"]) == (True, True)
    assert "brain team leave --yes" in refused["fix"]
    assert "--replace" in refused["fix"]
    assert Path(home.path(FILE)).read_text() == before
    note_forgotten(home, [("brain", "gone.md")])
    joined = team.run("mira", "join", *where, "--replace")
    assert (joined["member"], "as 'mira'" in joined["replaced"], joined["not_forgotten"]) == ("leo", True, 1)
    status = team.run("mira", "status")
    assert (status["member"], status["pushed"], status["to_forget"]) == ("leo", None, 0)
    # The same member in the same space, by another way there.
    dsn = f"{team.place.dsn('leo')}&sslmode=prefer"
    assert "replaced" not in team.run("mira", "join", "--dsn", dsn, "--space", team.place.name)
    assert "sslmode=prefer" in Path(home.path(FILE)).read_text()


def test_a_memory_that_never_indexed_anything_has_the_answers_of_the_team(team: Team, brain: Brain) -> None:
    team.joined("mira", "leo")
    Shelf(team.home("mira")).put("brain", "a.md", "the amber lamp", date=clock.now() - 60)
    team.run("mira", "push")
    uri, env = "team://mira/brain/a.md", {"BRAIN_HOME": team.home("leo").root}
    assert not Path(team.home("leo").index).exists()
    for words in (
        ("show", uri),
        ("ask", "amber lamp"),
        ("recent",),
        ("why", "amber lamp"),
        ("blame", "a.md"),
        ("trace", uri),
    ):
        Path(team.home("leo").index).unlink(missing_ok=True)
        done = brain(*words, "--json", env=env, code=PATIENT)
        assert (done.returncode, uri in done.stdout) == (67, False) if words[0] == "blame" else (0, True), done
        if words[0] in ("ask", "recent", "why"):
            assert json.loads(done.stdout)["freshness"]["lexical"]["as_of"] is None
    assert "No index run has ended yet" in brain("ask", "amber lamp", env=env, code=PATIENT).stdout
    assert brain("ask", "amber lamp", "--own", env=env).returncode == 65
    Path(team.home("leo").index).unlink()
    assert uri in Browser(team.home("leo")).get("/")


def test_a_members_document_is_opened_and_written_out_before_anything_was_indexed(team: Team, brain: Brain) -> None:
    team.joined("mira", "leo")
    did(Shelf(team.home("mira")), "a", "the amber lamp")
    team.run("mira", "push")
    uri, home = "team://mira/brain/a.md", team.home("leo")
    memory = Memory(home, load(home), {})
    assert [each["uri"] for each in memory.ask("")["items"]] == [uri]
    for act in (
        lambda: memory.document(uri)["text"],
        lambda: memory.passage(uri)["text"],
        lambda: brain("share", uri, env={"BRAIN_HOME": home.root}, code=PATIENT).stdout,
        lambda: brain("export", uri, "--out", "-", env={"BRAIN_HOME": home.root}, code=PATIENT).stdout,
    ):
        Path(home.index).unlink(missing_ok=True)
        assert "the amber lamp" in act()
    line = json.loads(brain("export", uri, "--out", "-", env={"BRAIN_HOME": home.root}, code=PATIENT).stdout)
    assert line["uri"] == uri
    for words, code, said in (
        (("resume", uri), 64, "the session is on a machine of mira"),
        (("resume",), 67, "there is no session yet"),
        (("export", "--out", "-"), 65, "no index run has ended yet"),
        (("pack", "amber"), 65, "no index run has ended"),
    ):
        Path(home.index).unlink()
        done = brain(*words, env={"BRAIN_HOME": home.root}, code=PATIENT)
        assert (done.returncode, said in done.stderr, "fix: brain " in done.stderr) == (code, True, True), done
    Path(home.index).unlink()
    assert "brain index" in Browser(home).get("/health")


def test_what_an_index_lacks_that_was_just_made_stays_on_the_server(team: Team, brain: Brain) -> None:
    team.joined("mira", "leo")
    home = team.home("mira")
    Shelf(home).put("brain", "a.md", "the amber lamp")
    team.run("mira", "push")
    Path(home.index).unlink()
    assert brain("ask", "anything", env={"BRAIN_HOME": home.root}).returncode == 65
    assert Path(home.index).exists()
    assert team.run("mira", "push", code=65)["fix"] == "brain index; brain team push"
    assert [each["documents"] for each in team.run("leo", "status")["collections"]] == [1]


def test_members_are_added_all_or_none_and_a_failure_leaves_no_password(team: Team, tmp_path: Path) -> None:
    team.joined()
    assert team.run("ada", "members", "--add", "mira", "--add", "nobody", code=64)["error"] == "bad_input"
    assert [each["name"] for each in team.run("ada", "members")["members"]] == ["ada"]
    team.run("ada", "members", "--group", "ops", "--add", "ada")
    file = tmp_path / "ops.pgpass"
    assert (
        "group is called ops" in team.run("ada", "members", "--add", "ops", "--pgpass", str(file), code=71)["message"]
    )
    assert not file.exists()


@pytest.mark.parametrize(
    "words",
    [
        ("--add", "team"),
        ("--group", "private", "--add", "ada"),
        ("--group", "a\nb", "--add", "ada"),
        ("--group", "ops"),
        ("--admin",),
    ],
    ids=" ".join,
)
def test_a_name_that_share_reads_otherwise_and_an_option_without_effect_are_refused(
    team: Team, words: tuple[str, ...]
) -> None:
    team.joined()
    assert team.run("ada", "members", *words, code=64)["fix"]


def test_adding_an_admin_takes_no_right_away_and_says_what_they_are(team: Team, brain: Brain) -> None:
    team.joined("mira")
    assert team.run("ada", "members", "--add", "mira", "--admin")["changed"][0]["role"] == "admin"
    (again,) = team.run("ada", "members", "--add", "mira")["changed"]
    assert (again["before"], again["role"]) == ("admin", "admin")
    said = brain("team", "members", "--add", "mira", "--add", "leo", env={"BRAIN_HOME": team.home("ada").root}).stdout
    assert said.startswith("mira was an admin already\n")
    assert "leo was" not in said


def test_a_grant_to_oneself_is_refused(team: Team) -> None:
    team.joined("mira")
    Shelf(team.home("mira")).put("brain", "a.md", "the amber lamp")
    team.run("mira", "push")
    for words in (("grant", "brain", "--to", "mira"), ("revoke", "brain", "--from", "mira")):
        assert team.run("mira", *words, code=64)["message"] == "'mira' is you, and you always see your own collections"
    assert [each["to"] for each in team.run("mira", "status")["grants"]] == ["team"]


def test_who_was_removed_by_an_admin_can_still_leave(team: Team) -> None:
    team.joined("mira")
    team.run("ada", "members", "--remove", "mira")
    assert team.run("mira", "status", code=65)["fix"].startswith("ask an admin")
    left = team.run("mira", "leave", "--yes")
    assert (left["member"], left["documents"]) == ("mira", 0)
    assert "engine" not in Path(team.home("mira").path(FILE)).read_text()


def test_where_nothing_answers_both_reasons_are_said(team: Team, brain: Brain) -> None:
    team.joined("mira")
    engine = team.place.dsn("mira").replace("host=", "host=/nowhere")
    env = {"BRAIN_HOME": team.home("mira").root, "BRAIN_ENGINE": f"{engine}#{team.place.name}"}
    done = brain("ask", "amber", env=env)
    assert done.returncode == 65
    assert "no index run has ended; without what the team shares: the team's server cannot be reached" in done.stderr


def test_an_admin_who_may_not_make_roles_is_told_so_and_nobody_removes_themselves(team: Team, tmp_path: Path) -> None:
    team.joined("mira")
    team.run("ada", "members", "--add", "mira", "--admin")
    file = tmp_path / "new.pgpass"
    refused = team.run("mira", "members", "--add", "zoe", "--pgpass", str(file), code=71)
    assert refused["message"] == "'mira' may not make roles on the server"
    assert "brain team members --add zoe" in refused["fix"]
    assert not file.exists()
    assert team.run("mira", "members", "--remove", "mira", code=64)["fix"] == "brain team leave --yes"
    assert team.run("mira", "status")["role"] == "admin"
