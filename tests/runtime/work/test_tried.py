"""Attempts at something, what came of them, and whether that still holds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from core import clock
from core.errors import BadQuery
from core.home import Home
from runtime.capture.capture import capture
from runtime.work.tried import lines, tried
from tests.conftest import Brain
from tests.runtime.explaining.test_trace import git
from tests.runtime.index_fixture import Shelf
from tests.runtime.work.edited import Transcript, remember
from tests.runtime.work.sessions import did


def talk(shelf: Shelf, name: str, *turns: tuple[str, str], ago: int = 1, **meta: Any) -> None:
    """Put a session of several turns, (role, text) each, into the index."""
    date = clock.now() - ago * 86_400
    at = clock.iso(date)
    body = "\n\n".join(
        f"## [{number}] {role} · {at[:10]} {at[11:16]}\n\n{text}" for number, (role, text) in enumerate(turns, 1)
    )
    given = {"session_id": name, "source": "claude", "project": "/u/x/api", "turns": len(turns), **meta}
    shelf.put("brain", f"{name}.md", body, date=date, ended=date, **given)


def told(shelf: Shelf, topic: str, **within: Any) -> list[tuple[str, str, str]]:
    found = tried(shelf.home, shelf.config, topic, **within)["tries"]
    return [(each["outcome"], each["kind"], each["quote"]) for each in found]


REQUEST = ("user", "Please add a connection pool to the sqlite store.")
WORK = ("assistant", "I add the pool.\n\n- Edit: /u/x/api/store.py\n\nThe connection pool is in place.")


@pytest.mark.parametrize(
    ("answer", "outcome"),
    [
        ("Perfect, thanks.", "worked"),
        ("It doesn't work with threads.", "failed"),
        ("No, don't pool anything.", "rejected"),
        ("Now write the changelog.", "not said"),
    ],
)
def test_a_person_says_what_came_of_a_request(shelf: Shelf, answer: str, outcome: str) -> None:
    talk(shelf, "s", REQUEST, WORK, ("user", answer))
    quote = "The connection pool is in place." if outcome == "not said" else answer
    assert (outcome, "request", quote) in told(shelf, "sqlite connection pool")


def test_a_person_says_it_in_their_own_language(shelf: Shelf) -> None:
    request = ("user", "Bitte baue jetzt einen Verbindungspool für sqlite ein, aber nicht mit Threads.")
    work = ("assistant", "Ich baue den Verbindungspool ein.\n\n- Edit: /u/x/api/store.py\n\nDer Pool ist da.")
    talk(shelf, "s", request, work, ("user", "Das geht immer noch nicht."))
    assert ("failed", "request", "Das geht immer noch nicht.") in told(shelf, "sqlite Verbindungspool")
    talk(shelf, "t", request, work, ("user", "Perfekt, danke dir."), ago=0)
    assert ("worked", "request", "Perfekt, danke dir.") in told(shelf, "sqlite Verbindungspool")


@pytest.mark.parametrize("command", ["tried", "files"])
def test_without_a_topic_the_commands_own_form_is_shown(brain: Brain, command: str) -> None:
    done = brain(command, " ", "--json")
    assert done.returncode == 64
    assert json.loads(done.stdout)["fix"].startswith(f'brain {command} "')


def test_the_agents_last_word_counts_if_the_person_says_nothing(shelf: Shelf) -> None:
    talk(shelf, "s", REQUEST, (WORK[0], f"{WORK[1]} All 14 tests pass."))
    assert told(shelf, "sqlite connection pool") == [("worked", "request", "All 14 tests pass.")]


def test_a_request_that_nothing_was_changed_for_is_no_attempt(shelf: Shelf) -> None:
    talk(shelf, "s", ("user", "How would a sqlite connection pool work?"), ("assistant", "It would keep connections."))
    assert told(shelf, "sqlite connection pool") == []


def test_what_was_given_up_on_the_way_is_told_with_its_place(shelf: Shelf) -> None:
    reply = "I tried a connection pool for sqlite first.\n\nI reverted the pool because threads locked each other."
    talk(shelf, "s", ("user", "Make the store faster."), ("assistant", reply))
    (found,) = tried(shelf.home, shelf.config, "sqlite connection pool")["tries"]
    assert (found["outcome"], found["what"]) == ("given up", "I tried a connection pool for sqlite first.")
    assert found["turn"] == 2
    text = Path(shelf.config.collections["brain"].path, "s.md").read_text()
    assert text.split("\n")[found["line"] - 1].startswith("I reverted the pool")


def test_a_later_success_supersedes_a_failure(shelf: Shelf) -> None:
    talk(shelf, "old", REQUEST, WORK, ("user", "It doesn't work with threads."), ago=9)
    talk(shelf, "new", REQUEST, WORK, ("user", "Perfect."), ago=2)
    states = {
        each["outcome"]: each["validity"] for each in tried(shelf.home, shelf.config, "sqlite connection pool")["tries"]
    }
    assert states["failed"]["state"] == "superseded"
    assert states["failed"]["by"][0]["uri"] == "qmd://brain/new.md"
    assert states["worked"]["by"] == []


def test_commands_and_decisions_about_it_count(shelf: Shelf) -> None:
    did(
        shelf,
        "s",
        "Tests of the connection pool.\n\n- Bash: pytest tests/connection_pool.py\n  ! Exit code 1\n  ! E   assert 1\n",
    )
    capture(shelf.home, "No connection pool for sqlite", type="rejected", why="one writer is enough")
    found = told(shelf, "connection pool")
    assert ("rejected", "rejection", "one writer is enough") in found
    assert ("failed", "command", "E assert 1") in found


def test_code_that_changed_since_is_named(home: Home, tmp_path: Path, brain: Brain) -> None:
    folder = tmp_path / "api"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    (folder / "store.py").write_text("pool = 1\n")
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", "first", when=1_777_600_000)
    session = Transcript("s", folder, 3).asked("Add a connection pool to the sqlite store.")
    session.edited(folder / "store.py", "", "pool = 1\n").said("The connection pool is there.").asked("Perfect.")
    remember(home, tmp_path / "claude", session)
    done = brain("tried", "sqlite connection pool", "--json")
    assert json.loads(done.stdout)["tries"][0]["validity"]["state"] == "current"
    (folder / "store.py").write_text("pool = 2\n")
    git(folder, "commit", "-q", "-a", "-m", "second", when=1_780_000_000)
    (found,) = json.loads(brain("tried", "sqlite connection pool", "--json").stdout)["tries"]
    assert found["validity"]["state"] == "code changed"
    assert found["validity"]["files"] == [str(folder / "store.py")]


def test_one_file_of_unknown_state_leaves_an_attempt_unknown(home: Home, tmp_path: Path, brain: Brain) -> None:
    folder, loose = tmp_path / "api", tmp_path / "loose.py"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    (folder / "store.py").write_text("pool = 1\n")
    loose.write_text("pool = 2\n")  # git knows nothing of it, and it was written after the session
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", "first", when=1_777_600_000)
    session = Transcript("s", folder, 3).asked("Add a connection pool to the sqlite store.")
    session.edited(folder / "store.py", "", "pool = 1\n").edited(loose, "", "pool = 1\n")
    session.said("The connection pool is there.").asked("Perfect.")
    remember(home, tmp_path / "claude", session)
    (found,) = json.loads(brain("tried", "sqlite connection pool", "--json").stdout)["tries"]
    assert found["validity"]["state"] == "unknown"


def test_a_plan_is_read_from_stdin(shelf: Shelf, brain: Brain) -> None:
    talk(shelf, "s", REQUEST, WORK, ("user", "Perfect."))
    done = brain("tried", "-", stdin="Add a connection pool to the sqlite store")
    assert done.returncode == 0
    assert "“Perfect.”" in done.stdout
    assert brain("tried", "kubernetes helm chart").returncode == 67


def test_a_secret_in_a_topic_is_not_repeated(shelf: Shelf) -> None:
    talk(shelf, "s", REQUEST, WORK, ("user", "Perfect."))
    assert "hunter2Xy" not in str(tried(shelf.home, shelf.config, "connection pool password=hunter2Xy"))


def test_reasoning_and_quotes_tell_nothing(shelf: Shelf) -> None:
    reply = "### reasoning\n\nI reverted the connection pool of sqlite.\n\n> I reverted the connection pool of sqlite."
    talk(shelf, "s", ("user", "Look at this."), ("assistant", reply))
    assert told(shelf, "sqlite connection pool") == []


def test_a_refusal_whose_reason_alone_has_the_words_is_about_something_else(shelf: Shelf) -> None:
    said = "## [2] user · 2026-05-02 08:00\n\nThe sqlite connection pool fails."
    refused = f"- Bash: git push\n  rejected by the user\n\n{said}"
    did(shelf, "s", f"I push.\n\n{refused}\n")
    assert told(shelf, "sqlite connection pool") == []


def test_a_long_plan_without_spaces_is_cut(shelf: Shelf, brain: Brain) -> None:
    talk(shelf, "s", REQUEST, WORK, ("user", "Perfect."))
    assert brain("tried", "-", stdin="x" * 50_000).returncode == 67


@pytest.mark.parametrize("topic", ["", "  ", "\n"])
def test_an_empty_topic_is_refused(shelf: Shelf, topic: str) -> None:
    with pytest.raises(BadQuery):
        tried(shelf.home, shelf.config, topic)


def test_lines_say_what_came_of_it_and_where(shelf: Shelf) -> None:
    talk(shelf, "s", REQUEST, WORK, ("user", "It doesn't work with threads."))
    said = "\n".join(lines(tried(shelf.home, shelf.config, "sqlite connection pool")))
    assert "failed: Please add a connection pool to the sqlite store." in said
    assert "qmd://brain/s.md" in said


def test_since_leaves_out_what_an_overlapping_session_tried_before(shelf: Shelf) -> None:
    days = [clock.iso(clock.now() - ago * 86_400) for ago in (9, 1)]
    texts = [
        ("user", f"{REQUEST[1]}"),
        ("assistant", f"{WORK[1]}\n\n- Bash: pytest tests/connection_pool.py\n  ! E   assert 1"),
        ("user", "It doesn't work with threads."),
        ("user", "Please add a connection pool to the sqlite store again."),
        ("assistant", WORK[1]),
        ("user", "Perfect, thanks."),
    ]
    body = "\n\n".join(
        f"## [{number}] {role} · {days[number > 3][:10]} {days[number > 3][11:16]}\n\n{text}"
        for number, (role, text) in enumerate(texts, 1)
    )
    given = {"session_id": "s", "source": "claude", "project": "/u/x/api", "turns": len(texts)}
    now = clock.now()
    shelf.put("brain", "s.md", body, date=now - 9 * 86_400, ended=now - 86_400, **given)
    assert {outcome for outcome, *_ in told(shelf, "sqlite connection pool")} == {"failed", "worked"}
    assert {kind for _, kind, _ in told(shelf, "connection pool")} == {"request", "command"}
    assert told(shelf, "sqlite connection pool", since=now - 3 * 86_400) == [("worked", "request", "Perfect, thanks.")]
    assert {kind for _, kind, _ in told(shelf, "connection pool", since=now - 3 * 86_400)} == {"request"}
