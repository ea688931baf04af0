"""The text output of commands is redacted like their JSON, on every surface."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from core import clock
from core.home import Home
from qmd.index.store import mark_complete, open_index
from qmd.index.writer import put
from runtime.capture import inbox
from runtime.distill_queue import PendingQueue
from tests.conftest import Brain
from tests.runtime.index_fixture import Shelf

TOKEN = "gh" + "p_" + "a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6q7R8"
NAME = f"{TOKEN}.md"
URI = f"qmd://inbox/{NAME}"


@pytest.fixture
def shelf(home: Home) -> Shelf:
    """Notes of the user's own, indexed as they are: the token is in a title, in a name, in what was decided."""
    shelf = Shelf(home)
    entry = inbox.write(home, "use flock for the writer lock", type="decision", title="Locks", why="pids are reused")
    noted = Path(entry.path)
    noted.write_text(noted.read_text("utf-8").replace("Locks", f"Locks {TOKEN}").replace("reused", TOKEN), "utf-8")
    shelf.put(
        "inbox", NAME, f"the lock {TOKEN}", title=f"Lock {TOKEN}", type="decision", why=TOKEN, date=clock.now() - 60
    )
    connection = open_index(home.index, write=True)
    try:
        put(connection, "inbox", "/".join(noted.parts[-3:]), noted.read_bytes(), noted.stat())
        mark_complete(connection, shelf.config)
    finally:
        connection.close()
    PendingQueue(home).add("inbox", NAME)
    Path(home.usage).parent.mkdir(parents=True, exist_ok=True)
    row = {"ts": clock.iso(clock.now()), "event": "ask", "exit_code": 67, "query": f"lock {TOKEN}"}
    Path(home.usage).write_text(2 * (json.dumps(row) + "\n"), "utf-8")
    return shelf


@pytest.mark.parametrize("surface", ["claude-code", "terminal"])
@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("ask", "lock"), "[redacted:github]"),
        (("recent",), "[redacted:github]"),
        (("trace", URI), "[redacted:github]"),
        (("explain", "--hit", URI, "lock"), "[redacted:github]"),
        (("why", "lock"), "[redacted:github]"),
        (("inbox", "list"), "[redacted:github]"),
        (("queue", "list"), "[redacted:github]"),
        (("stats",), "[redacted:github]"),
        (("forget", "--dry-run", URI), "[redacted:github]"),
        (("export", "-c", "inbox", "--out", "-"), "[redacted:github]"),
        (("show", f"qmd://inbox/x.{TOKEN}.md"), "[redacted:github]"),
        (("explain",), "inbox"),
    ],
    ids=lambda each: "-".join(each[:2]) if isinstance(each, tuple) else "",
)
def test_no_command_prints_a_secret_of_a_note_as_text(
    shelf: Shelf, brain: Brain, words: tuple[str, ...], says: str, surface: str
) -> None:
    done = brain(*words, env={"BRAIN_SURFACE": surface})
    assert TOKEN not in done.stdout + done.stderr
    assert says in done.stdout + done.stderr


def test_a_failure_shows_no_secret_in_json_either(shelf: Shelf, brain: Brain) -> None:
    done = brain("show", f"qmd://inbox/x.{TOKEN}.md", "--json")
    assert TOKEN not in done.stdout + done.stderr
    assert "[redacted:github]" in json.loads(done.stdout)["message"]


def test_an_entry_that_was_changed_by_hand_is_shown_listed_and_removed_without_its_secrets(
    shelf: Shelf, brain: Brain
) -> None:
    (listed,) = [line for line in brain("inbox", "list").stdout.splitlines() if "Locks" in line]
    shown = brain("inbox", "show", listed.split()[0])
    removed = brain("inbox", "rm", listed.split()[0], "--yes")
    assert (shown.returncode, removed.returncode) == (0, 0)
    assert "removed: Locks [redacted:github]" in removed.stdout
    assert TOKEN not in shown.stdout + removed.stdout


def test_exported_files_are_named_without_secrets_and_none_takes_anothers_place(
    shelf: Shelf, brain: Brain, tmp_path: Path
) -> None:
    other = TOKEN[:-1] + "9"
    shelf.put("inbox", f"{other}.md", "another", title="Another")
    done = brain("export", "-c", "inbox", "--out", str(tmp_path / "out"))
    assert done.returncode == 0
    names = [file.name for file in (tmp_path / "out").rglob("*.md")]
    assert len(names) == 3
    assert sum("redacted" in name for name in names) == 2
    assert not any(TOKEN in name or other in name for name in names)


def test_the_record_of_what_was_asked_names_no_document_by_its_secret(shelf: Shelf, brain: Brain) -> None:
    usage = Path(shelf.home.usage)
    usage.unlink()
    for words in (("ask", "lock"), ("show", URI), ("show", URI, "--full"), ("recent",), ("trace", URI)):
        assert brain(*words).returncode == 0
    assert "[redacted:github].md" in usage.read_text("utf-8")
    assert TOKEN not in usage.read_text("utf-8")


def test_no_backup_restore_or_sync_prints_a_secret_of_a_folder(home: Home, brain: Brain, tmp_path: Path) -> None:
    inbox.write(home, "use flock for the writer lock")
    folder, other = tmp_path / TOKEN, tmp_path / "other" / TOKEN
    made = brain("backup", "--to", str(folder), "--no-verify")
    (file,) = folder.glob("*.tar.zst")
    for done in (
        made,
        brain("restore", str(file), "--to", str(other)),
        brain("sync", "--dir", str(tmp_path / (TOKEN[:-1] + "9"))),
    ):
        assert done.returncode == 0, done.stderr
        assert TOKEN[:-1] not in done.stdout + done.stderr
        assert "[redacted:github]" in done.stdout
