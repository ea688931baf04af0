from __future__ import annotations

import os
from pathlib import Path

import pytest

from core import document
from core.errors import BadInput, LockContention
from core.files import FileLock
from core.home import Home
from core.tombstones import Tombstones
from runtime import distill_queue
from runtime.asking.ask import Asker, Request
from runtime.capture.init import setup
from runtime.distill.distillate import MARKER, Source
from runtime.distill.distiller import Extractive, Made, Unfit
from runtime.distill.extractive import VERSION
from runtime.distill.run import Asked, resolve, run
from runtime.distill_queue import PendingQueue
from tests.runtime.distill.session import REFRESH, body
from tests.runtime.index_fixture import Shelf

TEXT = body(REFRESH).partition("\n\n")[2]


@pytest.fixture
def shelf(home: Home) -> Shelf:
    found = Shelf(home)
    queue = PendingQueue(home)
    for name in ("one.md", "two.md"):
        found.put(
            "brain", name, TEXT, date=1_777_629_600, session_id=name[:-3], source="claude", project="/home/me/api"
        )
        queue.add("brain", name)
    return found


def distilled(home: Home) -> list[str]:
    return sorted(path.name for path in Path(home.path("distilled")).glob("*.md"))


def test_what_waits_is_written_indexed_and_off_the_queue(shelf: Shelf) -> None:
    report = run(shelf.home, shelf.config, Extractive(), Asked(from_pending=True))
    assert (report["distilled"], report["waiting"], report["dead"]) == (2, 0, 0)
    assert distilled(shelf.home) == ["one.md", "two.md"]
    with Asker(shelf.home, shelf.config) as asker:
        hits = asker.ask("HttpOnly cookie", Request(collections=["distilled"]))["hits"]
    assert {hit["uri"] for hit in hits} == {"qmd://distilled/one.md", "qmd://distilled/two.md"}
    assert hits[0]["trust"] == "distilled"
    assert hits[0]["resume"].startswith("claude --resume ")


def test_the_frontmatter_is_the_sources_and_says_what_it_was_made_from(shelf: Shelf) -> None:
    run(shelf.home, shelf.config, Extractive(), Asked(from_pending=True))
    file = Path(shelf.home.path("distilled"), "one.md")
    meta, _ = document.split(file.read_text())
    assert (meta["session_id"], meta["source"], meta["project"]) == ("one", "claude", "/home/me/api")
    assert meta["date"] == "2026-05-01T10:00:00Z"
    assert not {"models", "version", "turns", "slug"} & set(meta)
    assert "date: 2026-05-01T10:00:00Z" in file.read_text(), "as in the source: no quotes"
    assert (meta["distiller"], meta["source_uri"]) == (f"extractive/{VERSION}", "qmd://brain/one.md")
    hashes = shelf.sql("SELECT hash FROM documents WHERE collection = 'brain' AND path = 'one.md'")
    assert hashes == [(meta["source_hash"],)]
    assert (os.stat(file).st_mode & 0o777) == 0o600


def test_a_run_without_names_takes_what_lacks_a_distillate_or_has_a_stale_one(shelf: Shelf) -> None:
    os.mkfifo(shelf.home.path("brain", "pipe.md"))
    run(shelf.home, shelf.config, Extractive(), Asked())
    again = run(shelf.home, shelf.config, Extractive(), Asked())
    assert (again["distilled"], again["unchanged"]) == (0, 2)
    shelf.put("brain", "one.md", TEXT + "\n## [5] user\n\nLet's go with the gateway instead.\n", session_id="one")
    third = run(shelf.home, shelf.config, Extractive(), Asked())
    assert (third["distilled"], third["unchanged"]) == (1, 1)
    assert "gateway" in Path(shelf.home.path("distilled"), "one.md").read_text()


def test_a_document_that_cites_nothing_is_not_written(shelf: Shelf) -> None:
    shelf.put("brain", "empty.md", "nothing here")
    report = run(shelf.home, shelf.config, Extractive(), Asked(keys=[("brain", "empty.md")]))
    assert (report["empty"], report["distilled"], distilled(shelf.home)) == (1, 0, [])


def test_a_dry_run_changes_nothing(shelf: Shelf) -> None:
    report = run(shelf.home, shelf.config, Extractive(), Asked(from_pending=True, dry_run=True, limit=1))
    assert (report["would"], report["waiting"]) == (["qmd://brain/one.md"], 2)
    assert distilled(shelf.home) == []


def test_limit_and_since_leave_the_rest_waiting(shelf: Shelf) -> None:
    assert run(shelf.home, shelf.config, Extractive(), Asked(from_pending=True, limit=1))["waiting"] == 1
    late = run(shelf.home, shelf.config, Extractive(), Asked(from_pending=True, since=1_777_629_601))
    assert (late["distilled"], late["waiting"]) == (0, 1)


def test_what_needs_no_distillate_does_not_count_against_the_limit(shelf: Shelf) -> None:
    shelf.put("brain", "0.md", "nothing here")
    report = run(shelf.home, shelf.config, Extractive(), Asked(limit=1))
    assert (report["empty"], report["distilled"], distilled(shelf.home)) == (1, 1, ["one.md"])
    again = run(shelf.home, shelf.config, Extractive(), Asked(limit=1))
    assert (again["empty"], again["unchanged"], again["distilled"]) == (1, 1, 1)


def test_what_is_gone_waits_no_longer(shelf: Shelf) -> None:
    Path(shelf.home.path("brain"), "one.md").unlink()
    report = run(shelf.home, shelf.config, Extractive(), Asked(from_pending=True))
    assert (report["gone"], report["distilled"], report["waiting"]) == (1, 1, 0)


def test_sessions_that_no_person_had_are_not_distilled(shelf: Shelf) -> None:
    shelf.put("brain", "own.md", f"## [1] user\n\n{MARKER}\n\nPlease use this.\n")
    shelf.put("brain", "bench.md", TEXT, synthetic=True)
    report = run(shelf.home, shelf.config, Extractive(), Asked(keys=[("brain", "own.md"), ("brain", "bench.md")]))
    assert (report["synthetic"], report["distilled"]) == (2, 0)


class Failing:
    """Distils nothing that is called one."""

    name = "failing/1"

    def distil(self, source: Source) -> Made:
        if source.path == "one.md":
            raise Unfit("no JSON in it", attempts=3, tokens=40, cost_usd=0.5)
        return Extractive().distil(source)


def test_what_fails_becomes_a_dead_letter_and_keeps_no_other_waiting(shelf: Shelf) -> None:
    report = run(shelf.home, shelf.config, Failing(), Asked(from_pending=True))
    assert (report["distilled"], report["dead"], report["waiting"]) == (1, 1, 0)
    assert (report["tokens"], report["cost_usd"]) == (40, 0.5), "what failed has cost all the same"
    (letter,) = distill_queue.dead(shelf.home)
    assert (letter["path"], letter["reason"], letter["attempts"]) == ("one.md", "no JSON in it", 3)


class Killed:
    """Ends the process, as far as a run can tell, at the second document."""

    name = "extractive/5"

    def distil(self, source: Source) -> Made:
        if source.path == "two.md":
            raise KeyboardInterrupt
        return Extractive().distil(source)


def test_an_interrupted_run_goes_on_where_it_was(shelf: Shelf) -> None:
    with pytest.raises(KeyboardInterrupt):
        run(shelf.home, shelf.config, Killed(), Asked(from_pending=True))
    assert [row["path"] for row in distill_queue.read(shelf.home)] == ["two.md"]
    report = run(shelf.home, shelf.config, Extractive(), Asked(from_pending=True))
    assert (report["distilled"], report["waiting"]) == (1, 0)


def test_a_session_that_grows_while_it_is_distilled_goes_on_waiting(shelf: Shelf) -> None:
    class Slow:
        name = "slow/1"

        def distil(self, source: Source) -> Made:
            if source.path == "one.md":
                with Path(shelf.home.path("brain"), "one.md").open("a") as stream:
                    stream.write("\n## [5] user\n\nand one thing more\n")
            return Extractive().distil(source)

    run(shelf.home, shelf.config, Slow(), Asked(from_pending=True))
    assert [row["path"] for row in distill_queue.read(shelf.home)] == ["one.md"]


@pytest.mark.parametrize("is_marked", [True, False])
def test_a_session_that_is_forgotten_while_it_is_distilled_leaves_no_distillate(shelf: Shelf, is_marked: bool) -> None:
    class Slow:
        name = "slow/1"

        def distil(self, source: Source) -> Made:
            made = Extractive().distil(source)
            if source.path == "one.md" and is_marked:
                Tombstones(shelf.home).add([("claude", "one")])
            elif source.path == "one.md":
                Path(shelf.home.path("brain"), "one.md").unlink()
            return made

    run(shelf.home, shelf.config, Extractive(), Asked(keys=[("brain", "one.md")]))
    assert "one.md" in distilled(shelf.home)
    PendingQueue(shelf.home).add("brain", "one.md")
    report = run(shelf.home, shelf.config, Slow(), Asked(from_pending=True))
    assert report["gone"] == 1
    assert "one.md" not in distilled(shelf.home)
    rows = shelf.sql("select path from documents where collection = 'distilled' and active and path = 'one.md'")
    assert (rows, distill_queue.read(shelf.home)) == ([], [])


def test_two_runs_at_once_are_one_too_many(shelf: Shelf) -> None:
    with FileLock(os.path.join(shelf.home.state, "distill.lock"), 0), pytest.raises(LockContention):
        run(shelf.home, shelf.config, Extractive(), Asked(from_pending=True))


def test_a_distillate_names_its_session_and_a_note_none(shelf: Shelf) -> None:
    run(shelf.home, shelf.config, Extractive(), Asked())
    shelf.put("inbox", "2026/05/note.md", "a note")
    names = ["qmd://distilled/one.md", "qmd://brain/two.md"]
    assert resolve(shelf.home, shelf.config, names) == [("brain", "one.md"), ("brain", "two.md")]
    with pytest.raises(BadInput):
        resolve(shelf.home, shelf.config, ["qmd://inbox/2026/05/note.md"])


def test_a_distillate_has_at_most_two_fifths_of_its_session(home: Home) -> None:
    setup(home, demo=True)
    config = Shelf(home).config
    for each in run(home, config, Extractive(), Asked())["written"]:
        assert 0 < each["bytes"] <= 0.4 * each["source_bytes"], each["uri"]
        name = each["uri"].rpartition("/")[2]
        sizes = [os.path.getsize(home.path(folder, name)) for folder in ("distilled", "brain")]
        assert sizes[0] < sizes[1], name
