"""A space on PostgreSQL: made once, brought forward in one transaction; nobody sees what is not theirs."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from bench.postgres import Server, Space
from core.engine import POSTGRES, Engine
from core.errors import BadInput, EngineMissing, Refused
from core.version import REDACTION
from qmd.index.semantic.spaces import Space as Vectors
from qmd.team import connection, failures, schema, writing
from tests.qmd.team import rows


@pytest.fixture
def space(postgres: Server) -> Iterator[Space]:
    made = postgres.space("mira", "leo", "ines")
    yield made
    made.drop()


@pytest.fixture(scope="module")
def refusing(postgres: Server) -> Iterator[Space]:
    """A space with a document of ``mira``: what a test of this space tries is refused or rolled back."""
    made = postgres.space("mira", "leo")
    with connection.open_writer(made.engine("mira"), 10) as mira:
        rows.put(mira, rows.unit(mira), "a.md", "amber lamp")
    yield made
    made.drop()


def _seen(reader: psycopg.Connection) -> list[list[tuple[object, ...]]]:
    """Return what a member sees by every way there is: rows, counts, terms, and the functions of a search."""
    queries = (
        "SELECT text FROM documents ORDER BY 1",
        "SELECT body::text FROM passages ORDER BY 1",
        "SELECT stem, sum(passages)::int FROM terms GROUP BY 1 ORDER BY 1",
        "SELECT collection, documents, passages FROM units ORDER BY 1",
        "SELECT body::text FROM matching_passages('amber | cobalt') ORDER BY 1",
    )
    return [reader.execute(query).fetchall() for query in queries]


_NOTHING: list[list[tuple[object, ...]]] = [[], [], [], [], []]
_ALL = [
    [("amber lamp",)],
    [("'amber':1 'lamp':2",)],
    [("amber", 1), ("lamp", 1)],
    [("brain", 1, 1)],
    [("'amber':1 'lamp':2",)],
]


def test_a_member_sees_nothing_before_it_is_granted_and_nothing_after_it_is_revoked(space: Space) -> None:
    with (
        connection.open_writer(space.engine("mira"), 10) as mira,
        connection.open_reader(space.engine("leo"), 10) as leo,
        connection.open_reader(space.engine("ada"), 10) as admin,
    ):
        unit = rows.unit(mira)
        rows.put(mira, unit, "a.md", "amber lamp")
        assert _seen(mira) == _ALL
        assert _seen(leo) == _seen(admin) == _NOTHING
        rows.share(mira, unit, "member", "leo")
        assert (_seen(leo), _seen(admin)) == (_ALL, _NOTHING)
        rows.share(mira, unit, "team", "team")
        assert _seen(admin) == _ALL
        rows.share(mira, unit, "member", "leo", allowed=False)
        assert (_seen(leo), _seen(admin)) == (_NOTHING, _ALL)


def test_a_group_is_granted_and_left(space: Space) -> None:
    with (
        connection.open_writer(space.engine("mira"), 10) as mira,
        connection.open_writer(space.engine("ada"), 10) as admin,
        connection.open_reader(space.engine("leo"), 10) as leo,
    ):
        unit = rows.unit(mira)
        rows.put(mira, unit, "a.md", "amber lamp")
        rows.share(mira, unit, "group", "ops")
        assert _seen(leo) == _NOTHING
        admin.execute("SELECT group_add('ops', 'leo')")
        assert _seen(leo) == _ALL
        admin.execute("SELECT group_remove('ops', 'leo')")
        assert _seen(leo) == _NOTHING


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE documents SET policy = 99 WHERE unit = {unit}",
        "DELETE FROM documents WHERE unit = {unit}",
        "DELETE FROM passages WHERE unit = {unit}",
        "DELETE FROM units WHERE id = {unit}",
        "INSERT INTO grants (unit, kind, grantee, origin) VALUES ({unit}, 'member', 'leo', 'verb')",
        "INSERT INTO passages SELECT 1, 5, {unit}, 1, '', ''",
        "INSERT INTO units (owner, collection, trust, policy) VALUES ('mira', 'x', 'note', 99)",
        "UPDATE units SET owner = 'leo' WHERE id = {unit}",
        "INSERT INTO terms VALUES ({unit}, 'amber', 5)",
        "INSERT INTO members (name, role) VALUES ('leo', 'admin')",
        "UPDATE members SET role = 'admin'",
        "SELECT admit('leo', 'admin')",
        "SELECT group_add('ops', 'leo')",
        "SELECT expel('mira')",
        "SELECT require_policy(99)",
        "SELECT * FROM proof({unit}, ARRAY['a.md'])",
        "SELECT * FROM miscounted_terms({unit})",
        "SELECT visible_to('mira')",
        "CREATE TABLE other (a int)",
        "CREATE FUNCTION visible_to(name) RETURNS int[] LANGUAGE sql AS $$ SELECT ARRAY[{unit}] $$",
        "SET SESSION AUTHORIZATION mira",
        "SET ROLE mira",
        "UPDATE meta SET value = '0'",
    ],
)
def test_a_member_changes_and_learns_nothing_of_anothers(refusing: Space, statement: str) -> None:
    with (
        connection.open_writer(refusing.engine("mira"), 10) as mira,
        connection.open_writer(refusing.engine("leo"), 10) as leo,
    ):
        ((unit,),) = mira.execute("SELECT id FROM units").fetchall()
        assert rows.attempt(leo, statement.format(unit=unit)) in (0, "42501", "BR003", "23503")
        assert (_seen(leo), _seen(mira)) == (_NOTHING, _ALL)


def test_a_condition_of_the_members_own_sees_no_row_that_is_hidden(space: Space) -> None:
    with (
        connection.open_writer(space.engine("mira"), 10) as mira,
        connection.open_writer(space.engine("leo"), 10) as leo,
    ):
        rows.put(mira, rows.unit(mira), "a.md", "amber lamp")
        leo.execute(
            "CREATE FUNCTION pg_temp.shout(text) RETURNS boolean LANGUAGE plpgsql COST 0.0001 AS"
            " $$ BEGIN RAISE EXCEPTION 'saw %', $1; END $$"
        )
        assert leo.execute("SELECT * FROM documents WHERE pg_temp.shout(text)").fetchall() == []
        assert leo.execute("SELECT * FROM terms WHERE pg_temp.shout(stem)").fetchall() == []


def test_an_older_policy_is_refused_by_the_database(space: Space) -> None:
    with connection.open_writer(space.engine("mira"), 10) as mira:
        with pytest.raises(psycopg.Error, match="older than") as refused:
            rows.unit(mira, policy=REDACTION - 1)
        assert isinstance(failures.translated(refused.value), Refused)
        unit = rows.unit(mira, policy=REDACTION + 1)
        with pytest.raises(psycopg.Error, match="older than"):
            rows.put(mira, unit, "a.md", "amber", policy=REDACTION)
        with pytest.raises(psycopg.Error, match="older than"):
            mira.execute("UPDATE units SET policy = %s", (REDACTION,))
        with connection.open_writer(space.engine("ada"), 10) as admin:
            admin.execute("SELECT require_policy(%s)", (REDACTION + 2,))
        with pytest.raises(psycopg.Error, match="older than"):
            rows.put(mira, unit, "a.md", "amber", policy=REDACTION + 1)
        assert mira.execute("SELECT count(*) FROM documents").fetchone() == (0,)


_DOCUMENT = (
    "INSERT INTO documents (unit, device, path, title, hash, date, ended, dated, fields, policy, text, starts,"
    " passages, tokens, title_terms)"
    " VALUES ({{unit}}, 'd', {path}, {title}, 'h', {date}, {ended}, true, '{fields}', 99, {text}, '{starts}', 1,"
    " {tokens}, '')"
)


_CHOSEN = "OVERRIDING SYSTEM VALUE"


def _document(**given: object) -> str:
    values = {"date": 1, "ended": 2, "fields": "{{}}", "starts": "", "tokens": 0}
    return _DOCUMENT.format(**{**values, "path": "'x'", "title": "'t'", "text": "''", **given})


@pytest.mark.parametrize(
    "statement",
    [
        _document(date=1 << 60),
        _document(ended=-(1 << 60)),
        _document(fields="[]"),
        _document(starts=r"\x01"),
        _document(tokens=-7),
        "INSERT INTO passages VALUES ({bare}, 0, {unit}, -2000000000, '', '')",
        # What is counted for all members is bounded by the text.
        "INSERT INTO passages VALUES ({bare}, 1, {unit}, 0, '', '')",
        "INSERT INTO passages VALUES ({bare}, -1, {unit}, 2000000000, '', '')",
        "INSERT INTO passages VALUES ({bare}, -1, {unit}, 1, 'amber:1,2', '')",
        "INSERT INTO passages VALUES ({bare}, -1, {unit}, 1, 'amber', 'lamp')",
        "INSERT INTO passages VALUES ({bare}, -1, {unit}, 1, 'a', '', 0, 'a b c d e f g h i')",
        "INSERT INTO passages VALUES ({document}, -1, {unit}, 1, 'amber', '')",
        "INSERT INTO vectors VALUES ({space}, {document}, 900000, {unit}, 0, 0, 1, '[1,2,3]')",
        _document(tokens=5_000),
        _document(title="repeat('x', 100000)"),
        _document(path="repeat('x', 3000)"),
        _document(text="repeat('x', 40000000)"),
        _document(fields='{{"a": "' + "x" * 3_000_000 + '"}}'),
        "INSERT INTO units (owner, collection, trust, policy) VALUES ('mira', repeat('x', 300), 'note', 99)",
        "INSERT INTO tombstones (owner, digest) VALUES ('mira', 'x')",
        "INSERT INTO passages VALUES ({bare}, 1048576, {unit}, 1, '', '')",
        "UPDATE units SET code_share = 'NaN'",
        "UPDATE units SET code_share = 7",
        "INSERT INTO vectors VALUES ({space}, {document}, 0, {unit}, 0, 0, 1, '[1,2]')",
        "INSERT INTO vectors VALUES ({space}, {document}, -1, {unit}, 0, 0, 1, '[1,2,3]')",
        "INSERT INTO vectors VALUES ({space}, {document}, 0, {unit}, 0, 9, 1, '[1,2,3]')",
        "INSERT INTO embedded VALUES ({document}, {space}, {unit}, -2147483648)",
    ],
)
def test_no_member_writes_what_breaks_the_questions_of_others(refusing: Space, statement: str) -> None:
    with (
        connection.open_writer(refusing.engine("mira"), 10) as mira,
        mira.transaction(force_rollback=True),
    ):
        unit = rows.unit(mira, "others")
        document, bare = rows.put(mira, unit, "a.md", "amber lamp"), rows.put_bare(mira, unit, "b.md", "amber lamp")
        row = mira.execute(
            "INSERT INTO spaces (provider, model, dimensions, fingerprint, layout) VALUES ('p', 'm', 3, 'f', 'l')"
            " RETURNING id"
        ).fetchone()
        assert row is not None
        refused = rows.attempt(mira, statement.format(unit=unit, document=document, bare=bare, space=row[0]))
        assert refused in ("23514", "BR004")


@pytest.mark.parametrize(
    ("statement", "state"),
    [
        ("INSERT INTO passages VALUES ({document}, 0, {unit}, 1, '', '')", "23503"),
        ("INSERT INTO embedded VALUES ({document}, {space}, {unit}, 1)", "23503"),
        ("INSERT INTO vectors VALUES ({space}, {document}, 0, {unit}, 0, 0, 1, '[1,2,3]')", "23503"),
        (_document().replace("(unit,", "(id, unit,").replace("VALUES (", f"{_CHOSEN} VALUES ({{document}}, "), "42501"),
    ],
)
def test_no_error_says_whether_a_hidden_row_is_there(space: Space, statement: str, state: str) -> None:
    with (
        connection.open_writer(space.engine("mira"), 10) as mira,
        connection.open_writer(space.engine("leo"), 10) as leo,
    ):
        unit = rows.unit(mira)
        hidden, own = rows.put(mira, unit, "a.md", "amber lamp"), rows.unit(leo)
        number = writing.ensure_space(mira, Vectors(1, "p", "m", 3, "f", "l", "t"))
        mira.execute("INSERT INTO embedded VALUES (%s, %s, %s, 1)", (hidden, number, unit))
        mira.execute("INSERT INTO vectors VALUES (%s, %s, 0, %s, 0, 0, 1, '[1,2,3]')", (number, hidden, unit))
        for document in (hidden, hidden + 1_000):
            assert rows.attempt(leo, statement.format(unit=own, document=document, space=number)) == state


def test_no_estimate_says_what_hidden_names_and_words_begin_with(space: Space) -> None:
    def estimate(column: str, table: str) -> list[str]:
        query = f"EXPLAIN SELECT FROM {table} WHERE {column} >= '{{0}}' AND {column} < '{{0}}~'"
        return [str(leo.execute(query.format(each).encode()).fetchall()) for each in ("amber", "cobalt")]

    with (
        connection.open_writer(space.engine("mira"), 10) as mira,
        connection.open_writer(space.engine("leo"), 10) as leo,
    ):
        unit = rows.unit(mira)
        for number in range(50):
            rows.put(mira, unit, f"amber-{number}.md", f"amber{number} lamp")
        leo.execute("SET default_statistics_target = 10000")
        leo.execute("ANALYZE documents, terms")
        for column, table in (("path", "documents"), ("title", "documents"), ("text", "documents"), ("stem", "terms")):
            of_hidden, of_none = estimate(column, table)
            assert of_hidden.replace("amber", "cobalt") == of_none
    with space.superuser() as root:
        root.execute("ANALYZE")
        query = "SELECT attname FROM pg_stats WHERE schemaname = %s AND attname IN ('collection', 'path', 'stem')"
        assert root.execute(query, (schema.schema_name(space.name),)).fetchall() == []


def test_no_error_says_what_another_member_forgot(space: Space) -> None:
    with (
        connection.open_writer(space.engine("mira"), 10) as mira,
        connection.open_writer(space.engine("leo"), 10) as leo,
    ):
        unit = rows.unit(mira, policy=REDACTION + 1)
        mira.execute("INSERT INTO tombstones (owner, digest) VALUES ('mira', tombstone('mira', 'brain', 'a.md'))")
        for path, policy in (("a.md", REDACTION + 1), ("b.md", REDACTION + 1), ("a.md", REDACTION)):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                rows.put_bare(leo, unit, path, "amber", policy)


def test_the_clock_of_the_server_says_when_a_member_pushed(space: Space) -> None:
    with connection.open_writer(space.engine("mira"), 10) as mira:
        rows.unit(mira)
        mira.execute("UPDATE units SET pushed_at = 'infinity'")
        assert mira.execute("SELECT isfinite(pushed_at) FROM units").fetchone() == (True,)


def test_an_admin_who_is_added_stays_one(space: Space) -> None:
    with connection.open_writer(space.engine("ada"), 10) as admin:
        for name, role in (("mira", "admin"), ("ada", "member"), ("mira", "member"), ("leo", "member")):
            admin.execute("SELECT admit(%s, %s)", (name, role))
        found = admin.execute("SELECT name, role FROM members ORDER BY name").fetchall()
        assert found == [("ada", "admin"), ("ines", "member"), ("leo", "member"), ("mira", "admin")]


@pytest.mark.parametrize("sign", ["\n", "\r", "\t", "\x1b", "\x7f", "\x9b", "\u2028"], ids=ascii)
def test_a_name_that_others_are_shown_is_one_line(refusing: Space, sign: str) -> None:
    with (
        connection.open_writer(refusing.engine("ada"), 10) as ada,
        ada.transaction(force_rollback=True),
    ):
        for made in ("Zoë – 動物", f"a{sign}b"):
            refused = "23514" if sign in made else 1
            unit = f"INSERT INTO units (owner, collection, trust, policy) VALUES ('ada', '{made}', 'note', 99)"
            for statement in (unit, f"SELECT group_add('{made}', 'leo')"):
                with ada.transaction(force_rollback=True):
                    assert rows.attempt(ada, statement) == refused


def test_a_model_that_a_member_noted_with_wrong_dimensions_is_kept_from_nobody(space: Space) -> None:
    vectors = Vectors(1, "p", "m", 256, "f", "l", "t")
    with connection.open_writer(space.engine("mira"), 10) as mira:
        wrong = writing.ensure_space(mira, Vectors(1, "p", "m", 3, "f", "l", "t"))
        found = writing.ensure_space(mira, vectors)
        assert found != wrong
        assert mira.execute("SELECT dimensions FROM spaces WHERE id = %s", (found,)).fetchone() == (256,)


def test_a_member_of_one_space_sees_nothing_of_another_in_the_same_database(space: Space) -> None:
    with connection.connect(space.engine("ada"), 10) as admin:
        schema.migrate(admin, "other", REDACTION)
        admin.execute(f"SET search_path = {schema.schema_name('other')}".encode())
        admin.execute("SELECT admit('leo', 'member')")
    other = Engine(POSTGRES, space.dsn("leo"), "other")
    with connection.open_writer(space.engine("mira"), 10) as mira, connection.open_writer(other, 10) as leo:
        rows.share(mira, unit := rows.unit(mira), "team", "team")
        rows.put(mira, unit, "a.md", "amber lamp")
        assert _seen(leo) == _NOTHING
        rows.share(leo, unit := rows.unit(leo), "team", "team")
        rows.put(leo, unit, "b.md", "cobalt")
        assert rows.attempt(mira, f"SELECT * FROM {schema.schema_name('other')}.documents") == "42501"
        assert _seen(mira) == _ALL
    with pytest.raises(EngineMissing, match="no space 'other'"):
        connection.open_reader(Engine(POSTGRES, space.dsn("mira"), "other"), 10)


def test_spaces_of_one_name_in_two_databases_of_a_cluster_leave_each_other_alone(postgres: Server) -> None:
    places = [postgres.database("mira", "leo") for _ in range(2)]
    engines = [{name: Engine(POSTGRES, each.dsn(name), "team") for name in each.members} for each in places]
    for engine in engines:
        with connection.connect(engine["ada"], 10) as admin:
            schema.migrate(admin, "team", REDACTION)
            admin.execute("SET search_path = brain_team")
            admin.execute("SELECT admit(name, 'member') FROM unnest(ARRAY['mira', 'leo']) name")
    first, second = engines
    with connection.open_writer(first["mira"], 10) as here, connection.open_writer(second["mira"], 10) as there:
        units = [rows.unit(each) for each in (here, there)]
        rows.share(there, units[1], "team", "team")
        # A lock of one database is none of the other, whatever the numbers of units are.
        with here.transaction():
            here.execute("SELECT lock_units(%s)", (units,))
            rows.put(there, units[1], "a.md", "amber lamp")
            assert there.execute("SELECT tend(1)").fetchone() == (0,)
    with connection.open_writer(first["ada"], 10) as admin:
        admin.execute("SELECT expel('leo')")
    with pytest.raises(EngineMissing, match="no space"):
        connection.open_reader(first["leo"], 10)
    with connection.open_reader(second["leo"], 10) as leo:
        assert _seen(leo) == _ALL
    # A space that is there keeps the names of its roles.
    with connection.connect(second["ada"], 10) as admin:
        assert schema.migrate(admin, "team", REDACTION) == (schema.latest(), schema.latest())
    for each in places:
        each.drop()


def test_two_who_make_a_space_at_once_make_one(postgres: Server) -> None:
    place = postgres.database()
    found: list[tuple[int | None, int]] = []

    def make() -> None:
        with connection.connect(place.engine("ada"), 10) as one:
            found.append(schema.migrate(one, "team", REDACTION))

    threads = [threading.Thread(target=make) for _ in range(3)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    newest = schema.latest()
    assert sorted(before or 0 for before, _ in found) == [0, newest, newest]
    assert {after for _, after in found} == {newest}
    place.drop()


def test_a_migration_that_fails_leaves_the_space_as_it_was(
    space: Space, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, folder = schema.latest(), tmp_path / "migrations"
    shutil.copytree(schema._FOLDER, folder)
    (folder / "0900.sql").write_text("CREATE TABLE more (a int);")
    (folder / "0901.sql").write_text("CREATE TABLE even_more (a int); SELECT 1 / 0;")
    monkeypatch.setattr(schema, "_FOLDER", folder)
    with connection.connect(space.engine("ada"), 10) as admin:
        with pytest.raises(psycopg.Error, match="division by zero"):
            schema.migrate(admin, space.name, REDACTION)
        assert schema.version(admin, space.name) == before
        (folder / "0901.sql").unlink()
        assert schema.migrate(admin, space.name, REDACTION) == (before, 900)
    # A table of a migration has the rights of all others.
    with connection.open_reader(space.engine("leo"), 10) as leo:
        assert leo.execute("SELECT * FROM more").fetchall() == []
    # The program before it goes on with the space, and leaves it as it is.
    monkeypatch.undo()
    with connection.open_writer(space.engine("mira"), 10) as mira:
        rows.put(mira, rows.unit(mira), "a.md", "amber lamp")
        assert _seen(mira) == _ALL
    with connection.connect(space.engine("ada"), 10) as admin:
        assert schema.migrate(admin, space.name, REDACTION) == (900, 900)


def test_a_space_of_another_form_says_so(space: Space) -> None:
    with space.superuser() as root:
        root.execute("UPDATE meta SET value = '2' WHERE key IN ('needs', 'schema')")
    with pytest.raises(EngineMissing, match="is of version 2"):
        connection.open_writer(space.engine("mira"), 10)
    with connection.connect(space.engine("ada"), 10) as admin, pytest.raises(Refused, match="before the first release"):
        schema.migrate(admin, space.name, REDACTION)


def test_a_space_that_needs_a_newer_program_says_so(space: Space) -> None:
    with space.superuser() as root:
        root.execute("UPDATE meta SET value = '900' WHERE key IN ('needs', 'schema')")
    with pytest.raises(Refused, match="newer version of Brain"):
        connection.open_reader(space.engine("mira"), 10)
    with connection.connect(space.engine("ada"), 10) as admin, pytest.raises(Refused, match="newer version"):
        schema.migrate(admin, space.name, REDACTION)


def test_an_older_pgvector_makes_no_space(postgres: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schema, "LEAST_PGVECTOR", (99, 0))
    place = postgres.database()
    with (
        connection.connect(place.engine("ada"), 10) as ada,
        pytest.raises(EngineMissing, match=r"99\.0 or later is needed"),
    ):
        schema.migrate(ada, "team", REDACTION)
    place.drop()


def test_a_role_without_the_right_makes_no_space(postgres: Server) -> None:
    place = postgres.database("mira")
    with connection.connect(place.engine("mira"), 10) as mira, pytest.raises(BadInput, match="may not make the space"):
        schema.migrate(mira, "team", REDACTION)
    place.drop()


def test_who_did_not_make_the_space_is_told_who_can_change_it(space: Space) -> None:
    with connection.open_writer(space.engine("ada"), 10) as ada:
        ada.execute("SELECT admit('mira', 'admin')")
    for name in ("mira", "leo"):
        with connection.connect(space.engine(name), 10) as other, pytest.raises(BadInput) as refused:
            schema.migrate(other, space.name, REDACTION)
        assert refused.value.message.startswith("only the role that made the space may bring it to this version")
        assert refused.value.fix == "brain team init, as ada"


def test_who_left_sees_nothing_and_leaves_nothing(space: Space) -> None:
    with (
        connection.open_writer(space.engine("mira"), 10) as mira,
        connection.open_reader(space.engine("leo"), 10) as leo,
    ):
        unit = rows.unit(mira)
        rows.put(mira, unit, "a.md", "amber lamp")
        rows.share(mira, unit, "team", "team")
        assert _seen(leo) == _ALL
        assert mira.execute("SELECT expel('mira')").fetchone() == (1,)
        assert _seen(leo) == _NOTHING
        home = f'"{schema.schema_name(space.name)}"'
        assert rows.attempt(mira, f"SELECT * FROM {home}.documents") == "42501"
    with pytest.raises(EngineMissing, match="no space"):
        connection.open_writer(space.engine("mira"), 10)
    with connection.open_writer(space.engine("ada"), 10) as admin, pytest.raises(psycopg.Error, match="last admin"):
        admin.execute("SELECT expel('ada')")
