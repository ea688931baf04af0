from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import apsw
import pytest

import core.grammars
from core.errors import Internal
from qmd.embedding import embedder, targets
from qmd.embedding.embedder import embed
from qmd.index.semantic import renewal, spaces, vectors
from qmd.index.store import open_index
from qmd.index.update import update
from qmd.vectors import syntax
from tests.qmd.corpus import Folder, write
from tests.qmd.embedding.fake import Fake

MARK = f"python:{syntax.VERSION}"

# Chunks are of ten words, moved back by up to three: the plain rule ends one at any line's end, the other before a def.
CODE = "def alpha():\n    a b c d e\ndef beta():\n    f\ng h\n    i j k l m\ndef gamma():\n    n o p\n"


@pytest.fixture
def world(tmp_path: Path) -> tuple[apsw.Connection, Folder]:
    """An index of a note, a file of code whose cuts the strategy moves, and one too short for any cut."""
    folder = Folder(tmp_path / "notes", pattern="**/*")
    write(
        Path(folder.path),
        {"a.md": "a note of a few words\n" * 4, "long.py": CODE, "short.py": "def only():\n    pass\n"},
    )
    connection = open_index(str(tmp_path / "index.sqlite"), write=True)
    update(connection, [folder])
    return connection, folder


def chunks(connection: apsw.Connection, path: str) -> list[str]:
    rows: Any = connection.execute(
        "SELECT t.id, x.doc FROM brain_cuts t JOIN documents d ON d.hash = t.hash JOIN content x ON x.hash = t.hash"
        " WHERE d.path = ?",
        (path,),
    ).fetchall()
    ((cut, text),) = rows
    return [text[start:end] for start, end, _ in vectors.spans(connection, cut)]


def grammars(connection: apsw.Connection) -> dict[str, str]:
    rows: Any = connection.execute(
        "SELECT d.path, t.grammar FROM brain_cuts t JOIN documents d ON d.hash = t.hash"
    ).fetchall()
    return dict(rows)


def test_going_over_to_another_rule_embeds_only_what_it_moves(world: tuple[apsw.Connection, Folder]) -> None:
    connection, _ = world
    embed(connection, Fake())
    plain = chunks(connection, "long.py")
    assert set(grammars(connection).values()) == {""}
    auto = Fake()
    report = embed(connection, auto, strategy=syntax.AUTO)
    assert report.texts == 1
    assert auto.seen
    cut = chunks(connection, "long.py")
    assert sorted(cut) == sorted(auto.seen)
    assert cut != plain
    assert sum(chunk.startswith("def ") for chunk in cut) > sum(chunk.startswith("def ") for chunk in plain)
    assert grammars(connection) == {"a.md": "", "long.py": MARK, "short.py": MARK}
    back = Fake()
    assert embed(connection, back, strategy=syntax.REGEX).texts == 1
    assert chunks(connection, "long.py") == plain
    assert set(grammars(connection).values()) == {""}
    assert report.pending == {}


@pytest.fixture
def many(world: tuple[apsw.Connection, Folder], monkeypatch: pytest.MonkeyPatch) -> apsw.Connection:
    """Five more files of code, each of several chunks, embedded by the plain rule; four chunks between two commits."""
    connection, folder = world
    write(Path(folder.path), {f"{n}.py": CODE.replace("alpha", f"alpha{n}") for n in range(5)})
    update(connection, [folder])
    embed(connection, Fake())
    monkeypatch.setattr(embedder, "_GROUP", 4)
    return connection


def answering(connection: apsw.Connection) -> tuple[dict[str, int], int, int]:
    """(documents without vectors, documents with all of them, those of these that go over to another cut)."""
    (space,) = spaces.listed(connection)
    vectors.note(connection)
    whole: Any = connection.execute("SELECT value FROM brain_state WHERE key = ?", (f"embedded:{space.name}",)).get
    stored: Any = connection.execute(f'SELECT count(*) FROM "{space.table}"').get
    assert stored == spaces.count(connection, space)
    return vectors.pending(connection, space), whole, sum(renewal.pending(connection, space).values())


def test_the_old_cuts_answer_until_the_new_ones_can_and_a_kill_costs_nothing(many: apsw.Connection) -> None:
    killed, seen = Fake(), []
    killed.breaks_at, killed.then = 4, lambda: seen.append(answering(many))
    with pytest.raises(Internal):
        embed(many, killed, strategy=syntax.AUTO)
    seen.append(answering(many))
    assert {(*pending, whole) for pending, whole, _ in seen} == {(8,)}
    assert 0 < seen[-1][2] < seen[0][2] == 6
    rest = Fake()
    report = embed(many, rest)
    assert answering(many) == ({}, 8, 0)
    assert (report.pending, report.renewing) == ({}, {})
    made = [chunk for path in ("long.py", *(f"{n}.py" for n in range(5))) for chunk in chunks(many, path)]
    assert sorted(made) == sorted([text for call in killed.calls[:3] for text in call] + rest.seen)
    assert many.execute("SELECT count(DISTINCT layout) FROM brain_cuts").get == 1


def test_a_budget_goes_over_as_far_as_it_reaches_each_time(many: apsw.Connection) -> None:
    left = [sum(embed(many, Fake(), strategy=syntax.AUTO, deadline=time.monotonic()).renewing.values())]
    for _ in range(50):
        if not left[-1]:
            break
        left.append(sum(embed(many, Fake(), deadline=time.monotonic()).renewing.values()))
        assert answering(many)[:2] == ({}, 8)
    assert left == sorted(left, reverse=True)
    assert len(left) > 4
    assert left[-1] == 0


def test_who_goes_back_halfway_has_the_cuts_of_before(many: apsw.Connection) -> None:
    plain = {path: chunks(many, path) for path in ("0.py", "long.py")}
    for _ in range(3):
        embed(many, Fake(), strategy=syntax.AUTO, deadline=time.monotonic())
    embed(many, Fake(), strategy=syntax.REGEX)
    assert {path: chunks(many, path) for path in plain} == plain
    assert set(grammars(many).values()) == {""}
    assert answering(many) == ({}, 8, 0)
    assert many.execute("SELECT count(DISTINCT layout) FROM brain_cuts").get == 1


@pytest.mark.parametrize("state", ["f", "g"])
def test_another_rule_during_a_renewal_loses_no_vector(many: apsw.Connection, state: str) -> None:
    provider, seen = Fake(fingerprint=state), []
    provider.then = lambda: seen.append(answering(many)[:2])
    report = embed(many, provider, strategy=syntax.AUTO, force=True)
    assert all(found == ({}, 8) for found in seen)
    assert (report.pending, report.renewing) == ({}, {})
    assert set(chunks(many, "long.py")) <= set(provider.seen)
    assert answering(many) == ({}, 8, 0)
    idle = Fake(fingerprint=state)
    embed(many, idle)
    assert idle.calls == []


def test_a_text_that_changes_while_it_goes_over_is_cut_by_the_new_rule(
    many: apsw.Connection, world: tuple[apsw.Connection, Folder]
) -> None:
    embed(many, Fake(), strategy=syntax.AUTO, deadline=time.monotonic())
    folder = world[1]
    write(Path(folder.path), {f"{n}.py": CODE.replace("alpha", f"omega{n}") for n in range(5)}, age_s=30)
    update(many, [folder])
    embed(many, Fake())
    assert answering(many) == ({}, 8, 0)
    assert list(grammars(many).values()).count(MARK) == 7
    assert many.execute("SELECT count(*) FROM brain_cuts").get == 8


def test_the_rule_stays_until_another_is_asked_for(world: tuple[apsw.Connection, Folder]) -> None:
    connection, folder = world
    embed(connection, Fake(), strategy=syntax.AUTO)
    idle = Fake()
    embed(connection, idle)
    embed(connection, idle, strategy=syntax.AUTO)
    assert idle.calls == []
    write(Path(folder.path), {"new.py": CODE.replace("alpha", "delta")})
    update(connection, [folder])
    embed(connection, idle)
    assert grammars(connection)["new.py"] == MARK
    embed(connection, idle, force=True)
    assert grammars(connection)["long.py"] == MARK


def test_a_text_under_two_names_is_cut_by_the_first_whichever_collection_is_embedded(tmp_path: Path) -> None:
    folders = [Folder(tmp_path / name, name=name, pattern="**/*") for name in ("aa", "bb")]
    for folder, name in zip(folders, ("a.py", "z.txt"), strict=True):
        write(Path(folder.path), {name: CODE})
    connection = open_index(str(tmp_path / "index.sqlite"), write=True)
    update(connection, folders)
    embed(connection, Fake())
    embed(connection, Fake(), strategy=syntax.AUTO, collections=["bb"])
    assert grammars(connection) == {"a.py": MARK, "z.txt": MARK}
    assert chunks(connection, "z.txt")[1].startswith("def ")


def test_models_of_one_layout_share_the_rule(world: tuple[apsw.Connection, Folder]) -> None:
    connection, _ = world
    embed(connection, Fake("one"))
    embed(connection, Fake("two"))
    embed(connection, Fake("one"), strategy=syntax.AUTO)
    second = Fake("two")
    report = embed(connection, second)
    assert (report.texts, report.pending) == (1, {})
    assert sorted(second.seen) == sorted(chunks(connection, "long.py"))


def test_a_change_that_was_cut_short_goes_on_unasked(
    world: tuple[apsw.Connection, Folder], monkeypatch: pytest.MonkeyPatch
) -> None:
    connection, folder = world
    write(Path(folder.path), {f"{n}.py": CODE.replace("alpha", f"alpha{n}") for n in range(5)})
    update(connection, [folder])
    embed(connection, Fake())
    monkeypatch.setattr(targets, "_GROUP", 2)
    embed(connection, Fake(), strategy=syntax.AUTO, deadline=time.monotonic())
    assert 0 < list(grammars(connection).values()).count(MARK) < 7
    embed(connection, Fake())
    assert list(grammars(connection).values()).count(MARK) == 7
    assert grammars(connection)["a.md"] == ""
    idle = Fake()
    embed(connection, idle)
    assert idle.calls == []


def test_a_new_version_of_the_rule_cuts_again(
    world: tuple[apsw.Connection, Folder], monkeypatch: pytest.MonkeyPatch
) -> None:
    connection, _ = world
    embed(connection, Fake(), strategy=syntax.AUTO)
    monkeypatch.setattr(syntax, "VERSION", 99)
    monkeypatch.setattr(syntax, "breaks", lambda text, language: [])
    again = Fake()
    assert embed(connection, again).texts == 1
    assert grammars(connection)["long.py"] == "python:99"


def test_a_grammar_that_is_installed_later_cuts_what_was_cut_without_it(
    world: tuple[apsw.Connection, Folder], monkeypatch: pytest.MonkeyPatch
) -> None:
    connection, _ = world
    with monkeypatch.context() as patch:
        for known in ("_queries", "_parsers", "_languages"):
            patch.setattr(core.grammars, known, {})
        patch.setitem(sys.modules, "tree_sitter_python", None)
        embed(connection, Fake(), strategy=syntax.AUTO)
        plain = chunks(connection, "long.py")
        assert set(grammars(connection).values()) == {""}
        idle = Fake()
        embed(connection, idle)
        assert idle.calls == []
    assert embed(connection, Fake()).texts == 1
    assert grammars(connection) == {"a.md": "", "long.py": MARK, "short.py": MARK}
    assert chunks(connection, "long.py") != plain
    idle = Fake()
    embed(connection, idle)
    assert idle.calls == []
