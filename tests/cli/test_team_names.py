"""Titles and names that another member wrote: none begins a line of a command's output, or drives the terminal."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bench.postgres import Server
from tests.conftest import Brain
from tests.runtime.two_members import PATIENT, Members
from tests.runtime.work.sessions import did

_FORGED = "\nFORGED \x1b[2J\r\x9b2J\u2028FORGED"
_CALLS = (
    "The walrus cache is cold.\n\n- Bash: pytest\n  ! Exit code 1\n  ! OSError: walrus is locked\n"
    "- Edit: walrus.py\n- Bash: pytest\n"
)


@pytest.fixture(scope="module")
def docid(postgres: Server, tmp_path_factory: pytest.TempPathFactory) -> tuple[Members, str]:
    """A member with hostile names, and the docid of a document of theirs."""
    found = Members(postgres, tmp_path_factory.mktemp("named"))
    did(found.theirs, "a", _CALLS, project="/m/api")
    decided: dict[str, Any] = {
        "type": "decision",
        "why": f"walrus{_FORGED}",
        "title": "Keep the walrus",
        "source": "note",
    }
    found.theirs.put("inbox", "d.md", "The walrus stays.", session_id="d", **decided)
    found.share()
    with found.space.superuser() as root:
        root.execute("SET session_replication_role = replica")
        root.execute("UPDATE documents SET title = title || %s, path = path || %s", (_FORGED, f"{_FORGED}.md"))
        root.execute("ALTER TABLE units DROP CONSTRAINT units_named")
        root.execute("UPDATE units SET collection = collection || %s", (_FORGED,))
        row = root.execute("SELECT hash FROM documents WHERE path LIKE 'a.md%'").fetchone()
    assert row is not None
    return found, f"#{row[0][:6]}"


@pytest.mark.parametrize(
    "words",
    [
        ("ask", "walrus"),
        ("recent", "--since", "30d"),
        ("why", "walrus"),
        ("why", "--conflicts"),
        ("fix", "OSError: walrus is locked"),
        ("blame", "walrus.py"),
        ("show", "DOCID"),
        ("trace", "DOCID"),
        ("explain", "--hit", "DOCID", "walrus"),
        ("forget", "DOCID"),
        ("team", "status"),
        ("team", "members"),
    ],
    ids=" ".join,
)
def test_no_name_or_title_of_a_member_begins_a_line(
    docid: tuple[Members, str], brain: Brain, tmp_path: Path, words: tuple[str, ...]
) -> None:
    team, name = docid
    env = {**team.space.env("bob"), "BRAIN_HOME": team.home.root}
    done = brain(*(name if word == "DOCID" else word for word in words), env=env, code=PATIENT, cwd=str(tmp_path))
    assert done.returncode in (0, 67, 71), done.stderr
    said = done.stdout + done.stderr
    assert not [line for line in said.splitlines() if line.strip(" |").startswith("FORGED")], said
    assert not {"\x1b", "\x9b", "\r", "\u2028"}.intersection(said)
    assert words[0] in ("show", "forget") or words[-1] in ("--conflicts", "members") or "FORGED" in said
