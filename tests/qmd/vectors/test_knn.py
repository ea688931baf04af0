"""What is nearest by vectors: how much is looked at, and which of a text's cuts answers."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from pathlib import Path

import apsw
import numpy as np
import pytest
from numpy.typing import NDArray

from core.errors import Internal
from qmd.embedding import embedder
from qmd.embedding.embedder import embed
from qmd.embedding.provider import quantise
from qmd.index.catalogue import Filters
from qmd.index.schema import SPAN
from qmd.index.semantic import coarse, spaces, vectors
from qmd.index.semantic.spaces import Space
from qmd.index.store import Transaction, open_index
from qmd.index.update import update
from qmd.project import semantic as project
from qmd.search.semantic import Semantic
from qmd.vectors import knn, syntax
from runtime.resident.matrix import Matrix
from tests.qmd.corpus import Folder, indexed, write
from tests.qmd.embedding.fake import Fake

_PART = "def alpha{0}():\n    a b c d e\ndef beta():\n    f\ng h\n    i{0} j{0} k{0} l m\ndef gamma():\n    n o p\n"


class Bags(Fake):
    """A text's vector is the words that it has."""

    def __init__(self) -> None:
        super().__init__(dimensions=256)

    def embed(self, texts: Sequence[str], *, question: bool = False) -> NDArray[np.float32]:
        super().embed(texts, question=question)
        bags = np.zeros((len(texts), self.dimensions), np.float32)
        for row, text in enumerate(texts):
            for word in text.split():
                bags[row, zlib.crc32(word.encode()) % self.dimensions] += 1
        bags /= np.linalg.norm(bags, axis=1, keepdims=True)
        return bags


class Halfway:
    """An index in which ``long.py`` is on its way to other cuts, and a question that is one of its old chunks."""

    def __init__(self, connection: apsw.Connection) -> None:
        self.connection = connection
        (self.space,) = spaces.listed(connection)
        row = connection.execute(
            "SELECT d.id, t.id, x.doc FROM documents d JOIN brain_cuts t ON t.hash = d.hash AND t.layout = ?"
            " JOIN content x ON x.hash = d.hash WHERE d.path = 'long.py'",
            (self.space.layout,),
        ).fetchone()
        assert row
        self.document, self.cut, text = int(str(row[0])), int(str(row[1])), str(row[2])
        start, end, _ = vectors.spans(connection, self.cut)[-2]
        self.question = text[start:end]
        (self.vector,) = quantise(Bags().embed([self.question]))

    def look(self) -> list[tuple[int, float]]:
        """(cut, cosine) of the nearest chunk of ``long.py``, by each way there is to search."""
        answers = [
            knn.nearest(self.connection, self.space, self.vector, Filters(), 10, restricted=restricted)
            for restricted in (False, True)
        ]
        of_all = knn.scan(self.connection, self.space, self.vector, 200)
        answers.append(knn.documents(self.connection, of_all, Filters()))
        look = {
            "index": str(self.connection.filename), "name": self.space.name, "table": self.space.table,
            "dimensions": self.space.dimensions, "among": "", "bindings": [], "limit": 10,
        }  # fmt: skip
        matrix = Matrix()
        found = matrix.nearest(look, self.vector)
        matrix.close()
        if found is not None:
            assert found == knn.chunks(self.connection, self.space, self.vector, Filters(), False, 10)
            answers.append(knn.documents(self.connection, found, Filters()))
        return [(near.chunk // SPAN, near.best) for each in answers for near in [each.documents[self.document]]]


@pytest.fixture
def halfway(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Halfway:
    folder = Folder(tmp_path / "notes", pattern="**/*")
    write(
        Path(folder.path),
        {"long.py": "".join(map(_PART.format, range(12))), **{f"{n}.md": f"def something else {n}" for n in range(9)}},
    )
    connection = open_index(str(tmp_path / "index.sqlite"), write=True)
    update(connection, [folder])
    embed(connection, Bags())
    found = Halfway(connection)
    assert {round(cosine, 2) for _, cosine in found.look()} == {1}
    monkeypatch.setattr(embedder, "_GROUP", 4)
    killed = Bags()
    killed.breaks_at = 5
    with pytest.raises(Internal):
        embed(connection, killed, strategy=syntax.AUTO)
    return found


@pytest.mark.parametrize("signs", [False, True], ids=["plain", "by signs"])
def test_the_old_cut_answers_until_the_new_one_is_whole(halfway: Halfway, signs: bool) -> None:
    under_way = {cut for (cut,) in halfway.connection.execute("SELECT id FROM brain_cuts WHERE layout LIKE '%>'")}
    scanned = {chunk // SPAN for chunk, _ in knn.scan(halfway.connection, halfway.space, halfway.vector, 200)}
    assert under_way < scanned
    if signs:
        assert coarse.keep(halfway.connection, halfway.space, least=1)
    for cut, cosine in halfway.look():
        assert (cut, round(cosine, 2)) == (halfway.cut, 1)
    # Nor where it is nearer, and was found by who had not looked whether it may be.
    of_the_new = halfway.connection.execute(
        f'SELECT embedding FROM "{halfway.space.table}" WHERE rowid = ?', (max(under_way) * SPAN,)
    ).get
    assert isinstance(of_the_new, bytes)
    found = knn.scan(halfway.connection, halfway.space, of_the_new, 200)
    near = knn.documents(halfway.connection, found, Filters()).documents[halfway.document]
    assert near.chunk // SPAN == halfway.cut
    embed(halfway.connection, Bags())
    assert {cut for cut, _ in halfway.look()} == under_way


def test_a_new_cut_that_is_not_whole_takes_the_room_of_no_document(
    halfway: Halfway, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = spaces.count(halfway.connection, halfway.space) - 16
    monkeypatch.setattr(knn, "DEPTH", old)
    found = knn.nearest(halfway.connection, halfway.space, halfway.vector, Filters(), 1, restricted=False)
    assert len(found.documents) == 10


@pytest.mark.parametrize("signs", [False, True], ids=["plain", "by signs"])
def test_a_document_that_is_gone_is_no_answer_while_a_cut_is_under_way(halfway: Halfway, signs: bool) -> None:
    if signs:
        assert coarse.keep(halfway.connection, halfway.space, least=1)
    gone = halfway.connection.execute("SELECT id FROM documents WHERE path = '3.md'").get
    halfway.connection.execute("UPDATE documents SET active = 0 WHERE id = ?", (gone,))
    for cut, cosine in halfway.look():
        assert (cut, round(cosine, 2)) == (halfway.cut, 1)
    for restricted in (False, True):
        found = knn.nearest(
            halfway.connection, halfway.space, halfway.vector, Filters(), 10, restricted=restricted
        ).documents
        assert len(found) == 9
        assert gone not in found


def test_a_projects_search_by_meaning_waits_for_the_new_cut_too(
    halfway: Halfway, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(project, "provider", Bags)
    row = halfway.connection.execute(
        "SELECT t.id, x.doc FROM brain_cuts t JOIN content x USING (hash) WHERE t.layout LIKE '%>'"
    ).fetchone()
    assert row
    ((start, end, _), *_) = vectors.spans(halfway.connection, int(str(row[0])))
    of_the_new = project.search(halfway.connection, str(row[1])[start:end], 3, ["notes"])[0]
    of_the_old = project.search(halfway.connection, halfway.question, 3, ["notes"])[0]
    assert of_the_new.path == of_the_old.path == "long.py"
    assert of_the_new.score < 0.99 < of_the_old.score


@pytest.fixture
def crowded(tmp_path: Path) -> tuple[apsw.Connection, Space]:
    """An index of 100 documents of 20 chunks each, of which the first few have all of the nearest."""
    connection, _ = indexed(tmp_path, {f"{number:03}.md": f"text {number}" for number in range(100)})
    with Transaction(connection):
        space = vectors.ensure(connection, "local", "m", 8, "f", "1")
        for number, each in enumerate(sorted(vectors.waiting(connection, space), key=lambda each: each.path)):
            cut = vectors.put_cut(connection, space, each.hash, [(0, 4, spaces.PIECE)] * 20)
            vectors.add(connection, space, cut, 0, [bytes([127 - number, number, *[0] * 6])] * 20)
    return connection, space


def test_as_many_documents_as_are_wanted_are_found_where_each_has_many_near_chunks(
    crowded: tuple[apsw.Connection, Space],
) -> None:
    connection, space = crowded
    asked = Semantic(connection, space, lambda lines: [bytes([127, *[0] * 7])] * len(lines), lambda: None)
    for collections in ((), ("notes",)):
        assert [each.path for each in asked.search("anything", 80, collections)] == [f"{n:03}.md" for n in range(80)]
        assert len(asked.search("anything", 300, collections)) == 100


@pytest.mark.parametrize("analysed", [False, True])
def test_the_chunks_of_a_restricted_search_are_looked_up_cut_by_cut(
    crowded: tuple[apsw.Connection, Space], analysed: bool
) -> None:
    connection, space = crowded
    if analysed:
        connection.execute("ANALYZE")
    else:
        assert connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'sqlite_stat1'").get is None
    for filters in (Filters(), Filters(collections=("notes",)), Filters(until=1 << 40)):
        among, bindings = vectors.chunk_ids(space, filters)
        plan = [str(step[3]) for step in connection.execute(f"EXPLAIN QUERY PLAN {among}", bindings)]
        assert plan[-1] == "SEARCH c USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)"
        assert len(connection.execute(among, bindings).fetchall()) == 2000


def test_no_more_chunks_are_looked_at_than_it_takes(
    crowded: tuple[apsw.Connection, Space], monkeypatch: pytest.MonkeyPatch
) -> None:
    connection, space = crowded
    depths: list[int] = []
    scan = knn.scan

    def counted(connection: apsw.Connection, space: Space, vector: bytes, limit: int) -> list[tuple[int, float]]:
        depths.append(limit)
        return scan(connection, space, vector, limit)

    monkeypatch.setattr(knn, "scan", counted)
    vector = bytes([127, *[0] * 7])
    for limit, expected in ((10, [200]), (40, [200, 400, 800]), (101, [202, 404, 808, 1616, 3232])):
        depths.clear()
        knn.enough(connection, space, vector, Filters(), limit, restricted=False)
        assert depths == expected
    monkeypatch.setattr(knn, "_MOST", 500)
    depths.clear()
    assert len(knn.enough(connection, space, vector, Filters(), 101, restricted=False).documents) == 25
    assert depths == [202, 404, 500]
