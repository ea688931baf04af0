"""A team's documents laid over the index."""

from __future__ import annotations

from contextlib import closing

import apsw
import pytest

from core import jsonb
from core.version import REDACTION
from qmd.index import catalogue
from qmd.index.actions import history, table
from qmd.index.catalogue import Filters
from qmd.index.store import open_index
from qmd.search.search import Hit
from qmd.team import overlay
from qmd.team.reading import FIRST_ID
from tests.runtime.index_fixture import Shelf
from tests.runtime.work.sessions import did


def theirs(path: str, digest: str, **fields: object) -> Hit:
    row = (FIRST_ID + 7, "brain", path, "Theirs", digest, 5, 6, True, jsonb.pack(fields), REDACTION)
    hit = Hit(row, 1.0)
    hit.owner, hit.is_clean = "mira", True
    return hit


_SESSION = "## [1] assistant\n\n- Bash: pytest\n  ! Exit code 1\n  ! ValueError: nothing\n- Bash: pytest -x\n"


def test_a_document_of_a_member_never_takes_the_place_of_an_own_one(shelf: Shelf) -> None:
    did(shelf, "a", "- Bash: pytest\n  ! Exit code 1\n  ! ValueError: nothing\n", project="/b/api")
    with closing(open_index(shelf.home.index)) as connection:
        (own,) = catalogue.rows(connection, Filters())
        overlay.lay(connection, [(theirs("a.md", str(own[4]), source="claude", turns=1, project="/m/api"), _SESSION)])
        assert len(catalogue.rows(connection, Filters())) == 2
        assert catalogue.by_path(connection, "brain", "a.md") == own
        assert "/b/api" in (catalogue.text(connection, str(own[4])) or "")
        row = catalogue.by_path(connection, "mira/brain", "a.md")
        assert row is not None
        assert catalogue.text(connection, str(row[4])) == _SESSION
        failures = history.with_error(connection, ("ValueError: nothing",))
        assert {each.document for each in failures} == {own[0], FIRST_ID + 7}
        assert table.within(connection, "*/api") == {own[0], FIRST_ID + 7}


def test_a_line_of_a_million_paths_hides_no_action(shelf: Shelf) -> None:
    did(shelf, "a", "- Bash: pytest\n")
    with closing(open_index(shelf.home.index)) as connection:
        long = f"- Bash: make\n  ! ValueError: {'/a' * 1_000_000}\n"
        overlay.lay(connection, [(theirs("b.md", "0" * 64, source="claude", turns=1), f"{_SESSION}{long}")])
        assert [each.name for each in table.of_documents(connection, (FIRST_ID + 7,), ("command",))] == [
            "pytest", "pytest", "make",
        ]  # fmt: skip


@pytest.mark.parametrize("broken", [False, True])
def test_the_index_stays_closed_to_writes(shelf: Shelf, broken: bool) -> None:
    did(shelf, "a", "- Bash: pytest\n")
    with closing(open_index(shelf.home.index)) as connection:
        hit = theirs("b.md", "0" * 64, source="claude", turns=1)
        if broken:
            hit.title = 1 << 80  # type: ignore[assignment]
            with pytest.raises(OverflowError):
                overlay.lay(connection, [(hit, _SESSION)])
        else:
            overlay.lay(connection, [(hit, _SESSION)])
        with pytest.raises(apsw.ReadOnlyError):
            connection.execute("DELETE FROM main.documents")
