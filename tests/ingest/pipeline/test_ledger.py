"""The account that is kept is of what the brain holds, and says where and when it was taken."""

from __future__ import annotations

import time
from pathlib import Path

import apsw
import pytest

from core.home import Home
from ingest.pipeline import ledger
from ingest.pipeline.run import run
from ingest.pipeline.state import FILE
from tests.ingest.transcripts import OTHER, SESSION, Script, ingest, save


@pytest.fixture
def given(tmp_path: Path) -> Path:
    """A folder that is not the source's own, with one session."""
    save(tmp_path / "given/a.jsonl", Script().user("x"))
    return tmp_path / "given"


def test_a_run_over_nothing_leaves_the_account_of_what_is_held(home: Home, given: Path, claude_root: Path) -> None:
    counted = ingest(home, given).as_dict()
    assert (counted["roots"], counted["seen"], counted["documents"]) == ("--from", 1, 1)
    assert abs(int(str(counted["finished"])) - time.time()) < 60
    assert run(home, "claude", trust_stat=True).seen == 0
    assert ledger.read(home) == {"claude": counted}
    save(claude_root / "projects/-p/b.jsonl", Script(OTHER).user("y"))
    own = run(home, "claude", trust_stat=True).as_dict()
    assert (own["roots"], own["seen"], own["documents"]) == ("own folders", 1, 2)
    assert ledger.read(home) == {"claude": own}
    (given / "empty").mkdir()
    ingest(home, given / "empty")
    assert ledger.read(home) == {"claude": own}


def test_a_run_whose_files_are_all_gone_is_kept(home: Home, claude_root: Path) -> None:
    path = save(claude_root / "projects/-p/a.jsonl", Script().user("x"))
    run(home, "claude", trust_stat=True)
    path.unlink()
    run(home, "claude", trust_stat=True)
    kept = ledger.read(home)["claude"]
    assert (kept["seen"], kept["vanished"], kept["documents"]) == (0, 1, 1)


def test_the_first_account_is_kept_whatever_it_found(home: Home) -> None:
    run(home, "claude", trust_stat=True)
    assert ledger.read(home)["claude"]["seen"] == 0


def test_what_was_not_understood_stays_known_when_a_run_looks_elsewhere(
    home: Home, given: Path, claude_root: Path
) -> None:
    strange = save(given / "strange.jsonl", Script("c" * 8 + SESSION[8:]).user("z"))
    with strange.open("a") as stream:
        stream.write('{"type": "hologram", "sessionId": "' + "c" * 8 + SESSION[8:] + '"}\n')
    counted = ingest(home, given)
    (what,) = counted.unknown
    save(claude_root / "projects/-p/b.jsonl", Script(OTHER).user("y"))
    own = run(home, "claude", trust_stat=True)
    assert own.unknown == {}
    assert ledger.of(home, "claude")["unknown"] == counted.unknown
    strange.unlink()
    ingest(home, given)
    assert ledger.of(home, "claude")["unknown"] == counted.unknown
    connection = apsw.Connection(f"{home.state}/{FILE}")
    connection.execute("update files set size = -1")  # as a new parser does, until it has read them again
    connection.close()
    run(home, "claude", trust_stat=True)
    assert "hologram" in what
    assert ledger.of(home, "claude")["unknown"] == {}
