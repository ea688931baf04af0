"""A push sends what is shared, cleaned, once; what breaks it loses and doubles nothing."""

from __future__ import annotations

import itertools
import os
from pathlib import Path
from typing import Any

import psycopg
import pytest

from bench.postgres import Space
from core import config, version
from core.errors import BadInput, EngineMissing, Refused
from core.version import REDACTION
from qmd.index import catalogue
from qmd.index.semantic import vectors
from qmd.index.semantic.spaces import PIECE
from qmd.index.store import open_index
from qmd.team import connection
from runtime.team import push as pushing
from runtime.team.push import push
from tests.runtime.index_fixture import Shelf
from tests.runtime.team.conftest import Homes
from tests.runtime.team.proxy import Proxy

_SECRET = "sk-ant-api03-" + "Ab3xY9" * 15 + "Z-AA"


def _push(shelf: Shelf) -> dict[str, Any]:
    return push(shelf.home, config.load(shelf.home))


def _only(report: dict[str, Any]) -> tuple[int, int, int]:
    (found,) = report["collections"]
    return found["sent"], found["removed"], found["unchanged"]


def _paths(space: Space, member: str) -> list[tuple[str, str]]:
    with connection.open_reader(space.engine(member), 10) as reader:
        query = "SELECT u.owner, d.path FROM documents d JOIN units u ON u.id = d.unit ORDER BY 1, 2"
        return reader.execute(query).fetchall()


def _whole(space: Space) -> list[Any]:
    """Return every row of a space by its content, and the terms that are miscounted."""
    with space.superuser() as root:
        queries = (
            "SELECT path, hash, policy, passages, tokens, md5(text) FROM documents ORDER BY 1",
            "SELECT d.path, p.number, p.tokens, md5(p.body::text || p.words::text) FROM passages p"
            " JOIN documents d ON d.id = p.document ORDER BY 1, 2",
            "SELECT stem, passages FROM terms ORDER BY 1",
            "SELECT collection, documents, document_tokens, passages, passage_tokens FROM units ORDER BY 1",
        )
        return [root.execute(query).fetchall() for query in queries]


def test_only_what_is_shared_is_sent_and_only_who_it_is_shared_with_sees_it(space: Space, member: Homes) -> None:
    mira = member("mira", share={"brain": "team", "notes": "[leo]"})
    for collection in ("brain", "notes", "inbox"):
        mira.put(collection, f"{collection}.md", f"the amber lamp of {collection}")
    report = _push(mira)
    assert [(each["collection"], each["sent"]) for each in report["collections"]] == [("brain", 1), ("notes", 1)]
    assert (report["member"], report["policy"]) == ("mira", REDACTION)
    assert _paths(space, "mira") == _paths(space, "leo") == [("mira", "brain.md"), ("mira", "notes.md")]
    assert _paths(space, "ines") == _paths(space, "ada") == [("mira", "brain.md")]


def test_a_second_push_sends_what_changed_alone(space: Space, member: Homes) -> None:
    mira = member("mira", share={"brain": "team"})
    for name in "abc":
        mira.put("brain", f"{name}.md", f"text of {name}")
    assert _only(_push(mira)) == (3, 0, 0)
    before = _whole(space)
    assert _only(_push(mira)) == (0, 0, 3)
    assert _whole(space) == before
    mira.put("brain", "b.md", "another text, of cobalt")
    mira.sql("UPDATE documents SET active = 0 WHERE path = 'c.md'")
    assert _only(_push(mira)) == (1, 1, 1)
    assert _paths(space, "leo") == [("mira", "a.md"), ("mira", "b.md")]
    with connection.open_reader(space.engine("leo"), 10) as leo:
        assert leo.execute("SELECT passages FROM terms WHERE stem = 'cobalt'").fetchall() == [(1,)]


def test_a_secret_that_the_index_still_has_does_not_leave(space: Space, member: Homes) -> None:
    mira = member("mira", share={"brain": "team"})
    mira.put("brain", "a.md", f"the key is {_SECRET} and the lamp is amber")
    mira.put("brain", f"ghp_{'aB3dE5' * 6}.md", "a name that is one")
    # As an older policy has left it.
    mira.sql("UPDATE brain_facts SET policy = 1")
    (report,) = _push(mira)["collections"]
    assert (report["sent"], report["withheld"]) == (1, 1)
    with space.superuser() as root:
        for table in ("documents", "passages", "terms"):
            assert _SECRET[:20].lower() not in str(root.execute(f"SELECT * FROM {table}").fetchall()).lower()
        assert root.execute("SELECT policy, text LIKE '%amber%' FROM documents").fetchone() == (REDACTION, True)
    assert _only(_push(mira)) == (0, 0, 1)


def test_an_older_policy_is_refused_before_anything_is_sent(
    space: Space, member: Homes, monkeypatch: pytest.MonkeyPatch
) -> None:
    mira = member("mira", share={"brain": "team"})
    mira.put("brain", "a.md", "amber")
    _push(mira)
    mira.put("brain", "b.md", "cobalt")
    monkeypatch.setattr(pushing, "REDACTION", REDACTION - 1)
    with pytest.raises(Refused, match="refuses the push"):
        _push(mira)
    assert _paths(space, "leo") == [("mira", "a.md")]


def test_a_newer_policy_goes_through_what_the_server_has(
    space: Space, member: Homes, monkeypatch: pytest.MonkeyPatch
) -> None:
    mira = member("mira", share={"brain": "team"})
    mira.put("brain", "a.md", "amber")
    _push(mira)
    for module in (pushing, catalogue, version):
        monkeypatch.setattr(module, "REDACTION", REDACTION + 1)
    assert _only(_push(mira)) == (0, 0, 1)
    with space.superuser() as root:
        assert root.execute("SELECT d.policy, u.policy FROM documents d, units u").fetchall() == [(REDACTION + 1,) * 2]


def test_each_machine_of_a_member_removes_only_what_it_pushed(space: Space, member: Homes) -> None:
    laptop = member("mira", share={"brain": "team"}, machine="laptop")
    desktop = member("mira", share={"brain": "team"}, machine="desktop")
    laptop.put("brain", "a.md", "of the laptop")
    desktop.put("brain", "b.md", "of the desktop")
    desktop.put("brain", "machines/laptop/a.md", "of the laptop")
    _push(laptop)
    assert _only(_push(desktop)) == (1, 0, 0)
    assert _only(_push(laptop)) == (0, 0, 1)
    assert _paths(space, "leo") == [("mira", "a.md"), ("mira", "b.md")]


def test_a_collection_that_is_private_again_leaves_the_server(space: Space, member: Homes) -> None:
    mira = member("mira", share={"brain": "team", "notes": "team"})
    mira.put("brain", "a.md", "amber")
    mira.put("notes", "n.md", "cobalt")
    _push(mira)
    report = _push(member("mira", share={"brain": "team"}))
    assert report["withdrawn"] == [{"collection": "notes", "removed": 1, "elsewhere": 0}]
    assert _paths(space, "leo") == [("mira", "a.md")]
    with space.superuser() as root:
        assert root.execute("SELECT count(*) FROM terms WHERE stem = 'cobalt'").fetchone() == (0,)
        assert root.execute("SELECT collection FROM units").fetchall() == [("brain",)]


def test_a_name_of_nobody_does_not_keep_what_is_private_again_on_the_server(space: Space, member: Homes) -> None:
    mira = member("mira", share={"brain": "team", "notes": "team"})
    mira.put("notes", "n.md", "cobalt")
    _push(mira)
    with pytest.raises(BadInput, match="'brain' was not pushed: share: 'gone' is neither a member nor a group"):
        _push(member("mira", share={"brain": "[gone]"}))
    assert _paths(space, "leo") == []


def test_a_name_of_nobody_keeps_no_other_collection_from_the_team(space: Space, member: Homes) -> None:
    mira = member("mira", share={"brain": "[gone]", "notes": "team"})
    mira.put("notes", "n.md", "cobalt")
    with pytest.raises(BadInput, match="neither a member nor a group"):
        _push(mira)
    assert _paths(space, "leo") == [("mira", "n.md")]


def test_what_another_machine_pushed_of_a_private_collection_is_not_left_in_silence(
    space: Space, member: Homes
) -> None:
    desktop = member("mira", share={"notes": "team"}, machine="desktop")
    desktop.put("notes", "d.md", "of the desktop")
    _push(desktop)
    laptop = member("mira", share={"notes": "team"}, machine="laptop")
    laptop.put("notes", "l.md", "of the laptop")
    _push(laptop)
    laptop = member("mira", share={}, machine="laptop")
    assert _push(laptop)["withdrawn"] == [{"collection": "notes", "removed": 1, "elsewhere": 1}]
    assert _push(laptop)["withdrawn"] == [{"collection": "notes", "removed": 0, "elsewhere": 1}]
    assert _paths(space, "leo") == [("mira", "d.md")]


def _agreed(report: dict[str, Any]) -> tuple[list[str], str]:
    (found,) = report["collections"]
    return found["unagreed"], found["trust"]


def _grants(space: Space) -> list[str]:
    with space.superuser() as root:
        rows = root.execute("SELECT g.grantee || ' ' || u.trust FROM grants g JOIN units u ON u.id = g.unit ORDER BY 1")
        return [row[0] for row in rows]


def test_two_machines_with_other_settings_show_a_collection_to_those_whom_both_name(
    space: Space, member: Homes
) -> None:
    laptop = member("mira", share={"brain": "[leo, ines]"}, machine="laptop")
    desktop = member("mira", share={"brain": "team"}, machine="desktop")
    file = Path(desktop.home.path(config.FILE))
    file.write_text(file.read_text().replace("trust: session", "trust: article"))
    laptop.put("brain", "l.md", "of the laptop")
    desktop.put("brain", "d.md", "of the desktop")
    for first, second in ((laptop, desktop), (desktop, laptop), (laptop, desktop)):
        _push(first)
        report = _push(second)
        assert _grants(space) == ["ines article", "leo article"]
        assert _agreed(report) == (["team"] if second is desktop else [], "article")
    # It is wider once both say so, and narrower as soon as one does.
    wide = member("mira", share={"brain": "team"}, machine="laptop")
    assert _agreed(_push(wide)) == ([], "article")
    assert _grants(space) == ["team article"]
    _push(member("mira", share={"brain": "[leo]"}, machine="desktop"))
    _push(wide)
    assert _grants(space) == ["leo session"]


def test_a_machine_without_documents_has_no_say(space: Space, member: Homes) -> None:
    laptop = member("mira", share={"brain": "[leo]"}, machine="laptop")
    laptop.put("brain", "l.md", "of the laptop")
    desktop = member("mira", share={"brain": "[ines]"}, machine="desktop")
    for each in (laptop, desktop, laptop, desktop):
        _push(each)
        assert _grants(space) == ["leo session"]
    # Once it has one, both have to agree; and the say of a machine ends with its documents.
    desktop.put("brain", "d.md", "of the desktop")
    _push(desktop)
    assert _grants(space) == []
    laptop.sql("UPDATE documents SET active = 0")
    _push(laptop)
    _push(desktop)
    assert _grants(space) == ["ines session"]


def test_a_document_that_is_too_large_stays_here_and_is_counted(
    space: Space, member: Homes, monkeypatch: pytest.MonkeyPatch
) -> None:
    mira = member("mira", share={"brain": "team"})
    mira.put("brain", "a.md", "amber")
    mira.put("brain", "b.md", "cobalt")
    _push(mira)
    mira.put("brain", "b.md", "cobalt " * 400)
    monkeypatch.setattr("qmd.team.writing.MOST_TEXT", 1_000)
    (found,) = _push(mira)["collections"]
    assert (found["too_large"], found["sent"], found["removed"]) == (1, 0, 1)
    assert _paths(space, "leo") == [("mira", "a.md")]


def test_share_is_for_those_it_names_and_a_denial_outlives_it(space: Space, member: Homes) -> None:
    mira = member("mira", share={"brain": "[leo, ines]"})
    mira.put("brain", "a.md", "amber")
    _push(mira)
    with connection.open_writer(space.engine("mira"), 10) as writer:
        writer.execute("UPDATE grants SET allowed = false, origin = 'verb' WHERE grantee = 'leo'")
    _push(mira)
    assert (_paths(space, "leo"), _paths(space, "ines")) == ([], [("mira", "a.md")])
    _push(member("mira", share={"brain": "[leo]"}))
    assert _paths(space, "ines") == []
    with pytest.raises(BadInput, match="'nobody' is neither"):
        _push(member("mira", share={"brain": "[nobody]"}))


def test_vectors_go_along_and_go_away_with_their_text(space: Space, member: Homes) -> None:
    mira = member("mira", share={"brain": "team"})
    mira.put("brain", "a.md", "amber")
    mira.put("brain", "b.md", "cobalt")
    _push(mira)
    index = open_index(mira.home.index, write=True)
    provider, _, model = mira.config.space.partition("/")
    with index:
        local = vectors.ensure(index, provider, model, 8, "f", "l")
        for name in "ab":
            row = catalogue.by_path(index, "brain", f"{name}.md")
            assert row is not None
            cut = vectors.put_cut(index, local, row[4], [(0, 3, PIECE), (3, 9, PIECE)])
            assert vectors.add(index, local, cut, 0, [bytes([1, 2, 255, 4, 5, 6, 7, 128])] * (1 + (name == "a")))
    index.close()
    # The second text waits for one of its vectors.
    assert _push(mira)["collections"][0]["embedded"] == 1
    with connection.open_reader(space.engine("leo"), 10) as leo:
        rows = leo.execute('SELECT seq, kind, start, "end", embedding::text FROM vectors ORDER BY seq').fetchall()
        assert rows == [(0, 0, 0, 3, "[1,2,-1,4,5,6,7,-128]"), (1, 0, 3, 9, "[1,2,-1,4,5,6,7,-128]")]
        assert leo.execute("SELECT chunks FROM embedded").fetchall() == [(2,)]
    assert _push(mira)["collections"][0]["embedded"] == 0
    mira.put("brain", "a.md", "another text")
    _push(mira)
    with space.superuser() as root:
        assert root.execute("SELECT (SELECT count(*) FROM vectors), (SELECT count(*) FROM embedded)").fetchone() == (
            0,
            0,
        )


@pytest.mark.parametrize("of_client", [True, False])
def test_a_connection_that_breaks_loses_and_doubles_nothing(
    space: Space, member: Homes, monkeypatch: pytest.MonkeyPatch, of_client: bool
) -> None:
    monkeypatch.setattr(pushing, "_DOCUMENTS", 3)
    monkeypatch.setattr(pushing, "_PAUSE_S", 0.0)
    monkeypatch.setattr(pushing, "_ATTEMPTS", 40)
    plain = member("mira", share={"brain": "team"})
    for number in range(14):
        plain.put("brain", f"{number}.md", f"amber lamp number {number} " * 30)
    _push(plain)
    expected = _whole(space)
    with connection.open_writer(space.engine("mira"), 10) as writer:
        writer.execute("DELETE FROM units")
    # Each connection breaks a little later, up to one that is whole: in the handshake, in a batch, at a commit.
    step = 600 if of_client else 300
    cuts = itertools.chain((step * turn + turn for turn in range(1, 30)), itertools.repeat(-1))
    monkeypatch.setattr(pushing, "_is_there", lambda _: True)
    proxy = Proxy(space.server.socket / ".s.PGSQL.5432", cuts, of_client=of_client)
    Path(plain.home.path(config.FILE)).write_text(
        Path(plain.home.path(config.FILE))
        .read_text()
        .replace(space.dsn("mira"), space.dsn("mira", "127.0.0.1", proxy.port))
    )
    try:
        report = _push(plain)
        assert proxy.broken >= 10
        assert _whole(space) == expected
        assert _only(report)[2] + _only(report)[0] == 14
    finally:
        proxy.close()
    with connection.open_writer(space.engine("mira"), 10) as writer:
        unit = writer.execute("SELECT id FROM units").fetchone()
        assert unit is not None
        assert writer.execute("SELECT * FROM miscounted_terms(%s)", unit).fetchall() == []


def test_a_server_that_is_away_is_named_at_once(member: Homes) -> None:
    mira = member("mira", share={"brain": "team"}, dsn="postgresql://mira@127.0.0.1:1/none")
    with pytest.raises(EngineMissing, match="cannot be reached"):
        _push(mira)


def test_without_an_engine_there_is_nothing_to_push_to(shelf: Shelf) -> None:
    with pytest.raises(EngineMissing, match="no team is configured") as missing:
        _push(shelf)
    assert "brain team join" in missing.value.fix


def test_hostile_texts_and_names_arrive_as_they_are(space: Space, member: Homes) -> None:
    mira = member("mira", share={"brain": "team"})
    text = "'; DROP TABLE documents; -- \\ ' \" $$ %s %(x)s \x00 東京タワー " + "é" * 3000 + " " + "x" * 9000
    mira.put("brain", "a'b %s {x}.md", text)
    _push(mira)
    assert _only(_push(mira)) == (0, 0, 1)
    with connection.open_reader(space.engine("leo"), 10) as leo:
        row = leo.execute("SELECT path, text FROM documents").fetchone()
        assert row is not None
        assert row[0] == "a'b %s {x}.md"
        assert text.replace("\0", "\ufffd") in row[1]
        assert leo.execute("SELECT count(*) FROM matching_passages('''東'' <-> ''京''')").fetchone() == (1,)
    assert psycopg.__version__
    assert os.path.exists(mira.home.path("state", "team.json"))


def test_whom_share_no_longer_names_sees_nothing_also_if_another_name_is_wrong(space: Space, member: Homes) -> None:
    mira = member("mira", share={"brain": "[leo, ines]"})
    mira.put("brain", "a.md", "amber")
    _push(mira)
    narrowed = member("mira", share={"brain": "[ines, lio]"})
    narrowed.put("brain", "b.md", "bronze")
    with pytest.raises(BadInput, match="'lio' is neither a member nor a group"):
        _push(narrowed)
    assert (_paths(space, "leo"), _paths(space, "ines")) == ([], [("mira", "a.md")])


def test_a_list_with_a_wrong_name_lets_nobody_in(space: Space, member: Homes) -> None:
    mira = member("mira", share={"brain": "[leo]"})
    mira.put("brain", "a.md", "amber")
    _push(mira)
    with pytest.raises(BadInput, match="'nobody' is neither"):
        _push(member("mira", share={"brain": "[leo, ines, nobody]"}))
    assert (_paths(space, "leo"), _paths(space, "ines")) == ([("mira", "a.md")], [])


def test_a_wrong_name_is_noticed_next_to_team_and_team_covers_the_others(space: Space, member: Homes) -> None:
    mira = member("mira", share={"brain": "[team, nobody]"})
    mira.put("brain", "a.md", "amber")
    with pytest.raises(BadInput, match="'nobody' is neither"):
        _push(mira)
    assert _paths(space, "ines") == []
    _push(member("mira", share={"brain": "[leo, team]"}))
    (found,) = _push(member("mira", share={"brain": "team"}))["collections"]
    assert (found["unagreed"], _paths(space, "ines")) == ([], [("mira", "a.md")])


def test_a_collection_without_documents_is_not_said_to_be_hidden_by_another_machine(
    space: Space, member: Homes
) -> None:
    mira = member("mira", share={"brain": "team"})
    mira.put("brain", "a.md", "amber")
    _push(mira)
    mira.sql("UPDATE documents SET active = 0")
    (found,) = _push(mira)["collections"]
    assert (found["removed"], found["unagreed"]) == (1, [])
    (found,) = _push(mira)["collections"]
    assert (found["removed"], found["unagreed"]) == (0, [])
