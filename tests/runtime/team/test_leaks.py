"""No member sees, by any surface, query or filter, anything of what nobody shares with them: not even a count."""

from __future__ import annotations

import contextlib
import io
import json
import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest

from bench.postgres import Space
from brain import main
from core.config import load
from qmd.index.semantic.spaces import Space as Vectors
from qmd.team import connection, writing
from runtime.asking.request import Request
from runtime.asking.team import asker
from runtime.team import members
from runtime.team.push import push
from tests.runtime.index_fixture import Shelf
from tests.runtime.team.conftest import Homes

_COMBINATIONS = 2_400
_MEMBERS = ("mira", "leo", "ines")
_COLLECTIONS = ("brain", "notes")
# Words that are their own stems.
_COMMON = ("amber", "cobalt", "lamp", "rollback", "token")
# A word that a single document has, in its text, its title and its name.
_MARK = re.compile(r"zq[a-z]+q\d+")
# What each document did: a failure that ended, a file, and a question that each answered otherwise.
_ERROR = "ValueError: the walrus is gone"
_DID = """

## [1] assistant

- Bash: make {mark}
  ! Exit code 1
  ! ValueError: the walrus is gone
- Edit: src/walrus.py
- Bash: make {mark}
- AskUserQuestion: Which walrus?
  answer: {mark}
"""
# A space of vectors, and the kind of each document's only one.
_VECTORS, _KIND = Vectors(1, "p", "m", 3, "f", "l", "t"), 2
# Documents of others that one question about the work reads at most.
_READ = 20


class World:
    """What there is and who may see it, as a plain model beside the database."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        # (owner, collection) → mark → the words of the document.
        self.documents: dict[tuple[str, str], dict[str, set[str]]] = {
            (owner, collection): {} for owner in _MEMBERS for collection in _COLLECTIONS
        }
        self.granted: dict[tuple[str, str], set[str]] = {unit: set() for unit in self.documents}
        self.denied: dict[tuple[str, str], set[str]] = {unit: set() for unit in self.documents}
        self.group: set[str] = set()

    def sees(self, member: str, unit: tuple[str, str]) -> bool:
        """Return True if a member may see a unit."""
        if unit[0] == member:
            return True
        names = {member, "team"} | ({"ops"} if member in self.group else set())
        return bool(names & self.granted[unit]) and not names & self.denied[unit]

    def visible(self, member: str) -> dict[tuple[str, str], dict[str, set[str]]]:
        """Return the documents that a member may see, by unit."""
        return {unit: found for unit, found in self.documents.items() if self.sees(member, unit)}


class Asked:
    """One combination: who asks, for which word, through which filter."""

    def __init__(self, world: World, member: str, reader: psycopg.Connection[Any], shelf: Shelf) -> None:
        self.world, self.rng = world, world.rng
        rng = self.rng
        self.member, self.reader, self.shelf = member, reader, shelf
        self.visible = world.visible(member)
        every = [mark for found in world.documents.values() for mark in found]
        self.word = rng.choice([*_COMMON, *rng.sample(every, min(4, len(every)))])
        self.collection = rng.choice([*_COLLECTIONS, None])
        self.since = rng.choice([None, 0, 1_700_000_000, 4_000_000_000])

    def expected(self) -> set[str]:
        """Return the marks of the documents that have the word and pass the filter, among the visible ones."""
        return {
            mark
            for (_, collection), found in self.visible.items()
            if self.collection in (None, collection) and self.since != 4_000_000_000
            for mark, words in found.items()
            if self.word in words
        }

    def sql(self, query: str, *values: object) -> list[Any]:
        """Return the rows of a query, as the member."""
        return self.reader.execute(query.encode(), values).fetchall()

    @property
    def condition(self) -> str:
        """The filter as SQL over ``documents d JOIN units u``."""
        parts = ["true"]
        if self.collection:
            parts.append(f"u.collection = '{self.collection}'")
        if self.since is not None:
            parts.append(f"d.ended >= {self.since}")
        return " AND ".join(parts)


# A surface returns (what it shows, the marks that it must have shown; None: any of the visible ones).
Surface = Callable[[Asked], tuple[Any, "set[str] | None"]]
_JOINED = "documents d JOIN units u ON u.id = d.unit"
_OF_DOCUMENTS = "JOIN documents d ON d.id = {}.document JOIN units u ON u.id = d.unit"


def _texts(asked: Asked) -> tuple[Any, set[str] | None]:
    rows = asked.sql(f"SELECT d.* FROM {_JOINED} WHERE d.text ~ %s AND {asked.condition}", rf"\m{asked.word}\M")
    return rows, asked.expected()


def _passages(asked: Asked) -> tuple[Any, set[str] | None]:
    rows = asked.sql(
        f"SELECT p.body::text, d.path FROM passages p {_OF_DOCUMENTS.format('p')}"
        f" WHERE p.body @@ %s::tsquery AND {asked.condition}",
        asked.word,
    )
    return rows, asked.expected()


def _by_function(asked: Asked) -> tuple[Any, set[str] | None]:
    rows = asked.sql(
        f"SELECT m.body::text, d.path FROM matching_passages(%s) m {_OF_DOCUMENTS.format('m')} WHERE {asked.condition}",
        asked.word,
    )
    return rows, asked.expected()


def _matches(asked: Asked) -> tuple[Any, set[str] | None]:
    return asked.sql("SELECT body::text FROM matching_passages(%s)", asked.word), None


def _titles(asked: Asked) -> tuple[Any, set[str] | None]:
    return asked.sql(f"SELECT d.title FROM matching_titles(%s) m {_OF_DOCUMENTS.format('m')}", asked.word), None


def _candidates(asked: Asked) -> tuple[Any, set[str] | None]:
    everything = [unit for (unit,) in asked.sql("SELECT generate_series(1, 40)")]
    found: list[list[Any]] = []
    # All rows that match, and of as many rows only those that are marked.
    for most, periods, few in ((60, "[[0, 4000000000]]", 10_000), (1, "[]", 0)):
        found += [
            asked.sql(
                "SELECT document, places::text, inner_places::text FROM candidates(%s::int[], NULL, %s::jsonb,"
                " ARRAY[%s], ARRAY[1], 2.0, 0.5, %s, %s, %s, %s::jsonb, %s::jsonb, 500, %s, NULL, '[]'::jsonb, %s,"
                " 200.0, 2000.0)",
                everything,
                json.dumps([[asked.word]]),
                *(asked.word, most, most, asked.word, json.dumps([asked.word]), periods, asked.since, few),
            )
        ]
    shown = [_readable(asked, rows) for rows in found]
    return (found, shown), asked.expected() if asked.collection is None else None


def _nearest(asked: Asked) -> tuple[Any, set[str] | None]:
    everything = [unit for (unit,) in asked.sql("SELECT generate_series(1, 40)")]
    rows = asked.sql(
        "SELECT * FROM nearest(1, 3, '[1,2,3]', %s::int[], 500, 40000, %s, NULL, '[]')", everything, asked.since
    )
    assert all(row[-1] == _KIND for row in rows)
    every = {mark for found in asked.visible.values() for mark in found}
    shown = _readable(asked, rows)
    return (rows, shown), None if asked.collection else every if asked.since != 4_000_000_000 else set()


def _readable(asked: Asked, rows: list[Any]) -> list[Any]:
    """Return the paths of the documents of ``rows``, if any collection may answer: the member can read each of them."""
    ids = [row[0] for row in rows]
    there = asked.sql(f"SELECT d.path FROM {_JOINED} WHERE d.id = ANY(%s)", ids)
    assert len(there) == len(set(ids))
    return [each for each in there if asked.collection is None]


def _terms(asked: Asked) -> tuple[Any, set[str] | None]:
    for unit, counted in asked.sql(
        "SELECT u.owner || '/' || u.collection, t.passages FROM terms t JOIN units u ON u.id = t.unit"
        " WHERE t.stem = %s",
        asked.word,
    ):
        found = asked.visible[tuple(unit.split("/"))]
        assert counted == sum(asked.word in words for words in found.values()), (asked.member, unit, asked.word)
    (total,) = asked.sql("SELECT coalesce(sum(passages), 0)::int FROM terms WHERE stem = %s", asked.word)
    assert total[0] == sum(asked.word in words for found in asked.visible.values() for words in found.values())
    return asked.sql("SELECT stem FROM terms"), None


def _totals(asked: Asked) -> tuple[Any, set[str] | None]:
    rows = asked.sql("SELECT owner, collection, documents, passages FROM units WHERE documents > 0")
    assert {(owner, name): (documents, passages) for owner, name, documents, passages in rows} == {
        unit: (len(found), len(found)) for unit, found in asked.visible.items() if found
    }
    (count,) = asked.sql("SELECT (SELECT count(*) FROM documents), (SELECT count(*) FROM passages WHERE number >= 0)")
    assert count == (sum(map(len, asked.visible.values())),) * 2
    return rows, None


def _plans(asked: Asked) -> tuple[Any, set[str] | None]:
    # An error or a plan may quote a value.
    try:
        return asked.sql("EXPLAIN (ANALYZE, VERBOSE) SELECT * FROM documents WHERE path::int > 0"), None
    except psycopg.Error as error:
        asked.reader.rollback()
        return str(error), None


def _statistics(asked: Asked) -> tuple[Any, set[str] | None]:
    # PostgreSQL's own samples of the columns.
    query = "SELECT most_common_vals::text, histogram_bounds::text, most_common_elems::text FROM pg_stats"
    return asked.sql(f"{query} WHERE schemaname = current_schema()"), None


def _status(asked: Asked) -> tuple[Any, set[str] | None]:
    return members.status(asked.shelf.home, asked.reader), None


def _ask(asked: Asked) -> tuple[Any, set[str] | None]:
    request = Request(limit=50, collections=(asked.collection,) if asked.collection else (), min_score=0.0)
    with asker(asked.shelf.home, load(asked.shelf.home), 30.0) as open_asker:
        answer = open_asker.ask(asked.word, request)
    assert "missing" not in answer["freshness"]["team"], answer["freshness"]
    return {key: value for key, value in answer.items() if key != "query"}, None


def _run(asked: Asked, *words: str) -> tuple[int, str]:
    """Return the exit code and the output of a command of the member."""
    said = io.StringIO()
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        patch.setenv("BRAIN_HOME", asked.shelf.home.root)
        code = main([*words, "--json"])
    assert code in (0, 67), said.getvalue()
    return code, said.getvalue()


def _recent(asked: Asked) -> tuple[Any, set[str] | None]:
    code, said = _run(asked, "recent", "-n", "500", "--all", *(("-c", asked.collection) if asked.collection else ()))
    found = [one for (_, name), one in asked.visible.items() if asked.collection in (None, name)]
    return said, {mark for one in found for mark in one} if code == 0 else set()


def _why(asked: Asked) -> tuple[Any, set[str] | None]:
    return _run(asked, "why", asked.rng.choice(_COMMON)), None


def _brief(asked: Asked) -> tuple[Any, set[str] | None]:
    return _run(asked, "brief"), None


def _worked(asked: Asked, code: int, said: str) -> tuple[Any, set[str] | None]:
    """Return what a command about the work shows: all documents did the same, and each of them is shown."""
    own = {mark for (owner, _), found in asked.visible.items() for mark in found if owner == asked.member}
    every = {mark for found in asked.visible.values() for mark in found}
    shown = set(_MARK.findall(said))
    assert code == (0 if every else 67)
    assert own <= shown
    return said, every if len(every - own) <= _READ else None


def _fix(asked: Asked) -> tuple[Any, set[str] | None]:
    return _worked(asked, *_run(asked, "fix", _ERROR, "-n", "500"))


def _blame(asked: Asked) -> tuple[Any, set[str] | None]:
    return _worked(asked, *_run(asked, "blame", "/w/api/src/walrus.py", "-n", "500"))


def _conflicts(asked: Asked) -> tuple[Any, set[str] | None]:
    return _run(asked, "why", "--conflicts"), None


def _show(asked: Asked) -> tuple[Any, set[str] | None]:
    """Each document answers to its address for those who see it, and for nobody else."""
    return _named(asked, "show")


def _trace(asked: Asked) -> tuple[Any, set[str] | None]:
    return _named(asked, "trace")


def _explain(asked: Asked) -> tuple[Any, set[str] | None]:
    """A document that is out of sight is not indexed, and no count of a question has it."""
    return _named(asked, "explain", asked.rng.choice(_COMMON), "--hit")


def _named(asked: Asked, *words: str) -> tuple[Any, set[str] | None]:
    owner, name = unit = asked.rng.choice(list(asked.world.documents))
    marks = sorted(asked.world.documents[unit])
    if not marks:
        return "", None
    mark = asked.rng.choice(marks)
    scheme = f"qmd://{name}" if owner == asked.member else f"team://{owner}/{name}"
    code, said = _run(asked, *words, f"{scheme}/{mark}.md")
    found = json.loads(said)
    is_there = code == 0 and found.get("verdict") != "not_indexed"
    assert is_there == (mark in asked.visible.get(unit, {})), (asked.member, owner, name, mark, said)
    for term in found.get("terms", ()):
        others = [each for unit, shown in asked.visible.items() if unit[0] != asked.member for each in shown.values()]
        counted = asked.shelf.sql("SELECT coalesce(sum(doc), 0) FROM brain_terms WHERE term = ?", term["term"])
        assert term["passages"] == sum(term["term"] in each for each in others) + int(str(counted[0][0]))
    return said if is_there else said.replace(mark, ""), None


SURFACES: dict[str, Surface] = {
    each.__name__: each
    for each in (
        _texts, _passages, _by_function, _matches, _titles, _candidates, _nearest, _terms, _totals, _plans, _statistics,
        _status, _ask, _recent, _why, _brief, _fix, _blame, _conflicts, _show, _trace, _explain,
    )
}  # fmt: skip
# How often each is drawn: those of the whole program, the last ones, take as long as fifty of the others.
_PROGRAM = 10
_WEIGHTS = [10] * (len(SURFACES) - _PROGRAM) + [2] * _PROGRAM


class _Change:
    """Changes to the world and to the database alike."""

    def __init__(self, world: World, space: Space, shelves: dict[str, Shelf]) -> None:
        self.world, self.space, self.shelves = world, space, shelves
        self._number = 0

    def write(self, owner: str = "") -> None:
        """A member writes two documents and pushes."""
        rng = self.world.rng
        owner = owner or rng.choice(_MEMBERS)
        for _ in range(2):
            collection = rng.choice(_COLLECTIONS)
            self._number += 1
            mark = f"zq{owner}q{self._number}"
            words = set(rng.sample(_COMMON, 2))
            said = f"{' '.join(sorted(words))} {mark}{_DID.format(mark=mark)}"
            given: dict[str, Any] = {
                "title": mark,
                "session_id": mark,
                "source": "claude",
                "turns": 1,
                "project": "/w/api",
            }
            self.shelves[owner].put(collection, f"{mark}.md", said, date=1_750_000_000, **given)
            self.world.documents[owner, collection][mark] = {*words, mark}
        push(self.shelves[owner].home, load(self.shelves[owner].home))
        with connection.open_writer(self.space.engine(owner), 10) as server:
            number = writing.ensure_space(server, _VECTORS)
            bare = server.execute(
                "SELECT d.id, d.unit FROM documents d JOIN units u ON u.id = d.unit WHERE u.owner = session_user"
                " AND NOT EXISTS (SELECT FROM embedded e WHERE e.document = d.id)"
            ).fetchall()
            for document, unit in bare:
                writing.embed(server, unit, number, [(document, [writing.Vector(0, 1, _KIND, b"\1\2\3")])])
        with self.space.superuser() as root:
            root.execute("ANALYZE documents, passages, terms")

    def forget(self) -> None:
        """A member forgets a document at the server."""
        units = [unit for unit, found in self.world.documents.items() if found]
        if units:
            owner, collection = unit = self.world.rng.choice(units)
            mark = self.world.rng.choice(sorted(self.world.documents[unit]))
            with connection.open_writer(self.space.engine(owner), 10) as server:
                removed, proof = writing.forget(server, collection, [f"{mark}.md"])
            assert (removed, proof) == (1, writing.Proof(0, 0, 0, 0, 0))
            own = self.shelves[owner]
            own.sql("UPDATE documents SET active = 0 WHERE path = ?", f"{mark}.md")
            own.sql("DELETE FROM brain_actions WHERE document_id IN (SELECT id FROM documents WHERE active = 0)")
            Path(self.shelves[owner].home.path(collection, f"{mark}.md")).unlink()
            del self.world.documents[unit][mark]

    def grant(self) -> None:
        """A member grants, or revokes."""
        rng = self.world.rng
        pushed = [unit for unit, found in self.world.documents.items() if found]
        if not pushed:
            return
        owner, collection = unit = rng.choice(pushed)
        others = [each for each in _MEMBERS if each != owner]
        name = rng.choice([*others, "ops" if self.world.group else "team", "team"])
        with connection.open_writer(self.space.engine(owner), 10) as server:
            if rng.random() < 0.6:
                members.grant(server, [collection], [name])
                self.world.granted[unit].add(name)
                self.world.denied[unit].discard(name)
            else:
                members.revoke(server, [collection], [name])
                self.world.granted[unit].discard(name)
                self.world.denied[unit].discard(name)
                rows = server.execute(
                    "SELECT grantee FROM grants g JOIN units u ON u.id = g.unit WHERE u.owner = session_user"
                    " AND u.collection = %s AND NOT allowed",
                    (collection,),
                )
                self.world.denied[unit] = {denied for (denied,) in rows}

    def regroup(self) -> None:
        """The admin changes who is in the group."""
        who = self.world.rng.choice(_MEMBERS)
        verb = "remove" if who in self.world.group else "add"
        with connection.open_writer(self.space.engine("ada"), 10) as admin:
            admin.execute(f"SELECT group_{verb}('ops', %s)".encode(), (who,))
        self.world.group ^= {who}


@pytest.mark.long
@pytest.mark.parametrize("seed", [1])
def test_no_combination_shows_what_is_hidden(space: Space, member: Homes, seed: int) -> None:
    world = World(seed)
    with connection.open_writer(space.engine("ada"), 30) as admin:
        admin.execute("SELECT group_add('vault', 'ada')")
    # Pushed, and granted by the configuration to none of those who ask.
    shelves = {name: member(name, share=dict.fromkeys(_COLLECTIONS, "[vault]")) for name in _MEMBERS}
    readers = {name: connection.open_writer(space.engine(name), 30) for name in _MEMBERS}
    change = _Change(world, space, shelves)
    rng, asked = world.rng, 0
    drawn = dict.fromkeys(SURFACES, 0)
    try:
        for each in _MEMBERS:
            change.write(each)
        while asked < _COMBINATIONS:
            rng.choice([change.write, change.forget, change.grant, change.grant, change.grant, change.regroup])()
            for _ in range(30):
                name = rng.choice(_MEMBERS)
                surface = rng.choices(list(SURFACES), _WEIGHTS)[0]
                one = Asked(world, name, readers[name], shelves[name])
                shown, wanted = SURFACES[surface](one)
                seen = set(_MARK.findall(str(shown)))
                allowed = {mark for found in one.visible.values() for mark in found}
                assert seen <= allowed, (asked, name, surface, one.word, one.collection, seen - allowed)
                if wanted is not None:
                    assert seen == wanted, (asked, name, surface, one.word, one.collection, one.since)
                asked, drawn[surface] = asked + 1, drawn[surface] + 1
    finally:
        for reader in readers.values():
            reader.close()
    assert min(drawn.values()) >= 20, drawn
    print(f"{asked} combinations: {drawn}")
