"""OpenCode's tree of JSON files is archived and forgotten as a whole; private spans are cut over several files."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from core.home import Home
from core.tombstones import Tombstones
from ingest import forgetting
from ingest.archive import archive
from ingest.pipeline.run import run
from tests.ingest.sources.cases import ingest
from tests.ingest.sources.test_opencode import database
from tests.ingest.transcripts import Record, corpus, from_the_archive_alone

AT = 1_772_000_000_000


class Tree:
    """Writes sessions of a tree in one of the layouts that there were: ``messages`` are numbered from 1."""

    def __init__(self, root: Path, layout: str = "storage") -> None:
        self.root = root / ("storage" if layout == "inner" else layout)
        self.layout = layout

    def session(self, name: str, messages: int, *, directory: str = "/home/me/api", stamped: bool = True) -> None:
        time = {"created": AT} if stamped else {}
        place = f"session/info/{name}" if self.layout == "inner" else f"session/p/{name}"
        self._put(place, {"id": name, "directory": directory, "title": f"About {name}", "version": "1", "time": time})
        for number in range(1, messages + 1):
            self.message(name, number, stamped=stamped)

    def message(self, session: str, number: int, *, stamped: bool = True) -> None:
        time = {"created": AT + number} if stamped else {}
        name = f"msg_{session}_{number}"
        info: Record = {"id": name, "sessionID": session, "role": "assistant" if number % 2 == 0 else "user"}
        part: Record = {"id": f"prt_{number}", "messageID": name, "type": "text", "text": f"{session} said {number}"}
        if self.layout == "inner":
            self._put(f"session/message/{session}/{name}", {**info, "time": time})
            self._put(f"session/part/{session}/{name}/prt_{number}", part)
            return
        # The file need not be called what the message is.
        self._put(f"message/{session}/{number}", {**info, "time": time})
        self._put(f"part/prt_{session}_{number}" if self.layout == "flat" else f"part/{name}/prt_{number}", part)

    def take_back(self, session: str, number: int) -> None:
        """Delete a message with its parts, as a revert does when the session goes on."""
        name = f"msg_{session}_{number}"
        if self.layout == "inner":
            places = [f"session/message/{session}/{name}", f"session/part/{session}/{name}/prt_{number}"]
        else:
            part = f"part/prt_{session}_{number}" if self.layout == "flat" else f"part/{name}/prt_{number}"
            places = [f"message/{session}/{number}", part]
        for place in places:
            (self.root / f"{place}.json").unlink()

    def _put(self, place: str, value: Record) -> None:
        path = self.root / f"{place}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(value), encoding="utf-8")
        os.utime(path, ns=(AT * 10**6, AT * 10**6))


@pytest.fixture
def place(tmp_path: Path) -> Path:
    folder = tmp_path / "opencode"
    folder.mkdir()
    return folder


def held(home: Home) -> dict[str, bytes]:
    """Path → bytes of everything that the archive has."""
    folder = home.path("raw")
    return {
        f"{entry.path} {entry.version}": b"".join(archive.content(folder, segment) for segment in entry.segments)
        for entry in archive.versions(home, "opencode")
    }


LAYOUTS = ("storage", "elsewhere", "flat", "inner")


@pytest.mark.parametrize("stamped", [True, False])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_tree_comes_back_from_the_archive_alone(home: Home, place: Path, layout: str, stamped: bool) -> None:
    tree = Tree(place, layout)
    tree.session("ses_1", 3, stamped=stamped)
    tree.session("ses_2", 2, stamped=stamped)
    assert ingest(home, "opencode", place).ingested == 2
    before = corpus(home)
    assert all(b"ses_1 said %d" % number in before["opencode__ses_1.md"] for number in (1, 2, 3))
    assert from_the_archive_alone(home, "opencode", place) == before


@pytest.mark.parametrize("layout", LAYOUTS)
def test_messages_that_came_with_later_runs_come_back_too(home: Home, place: Path, layout: str) -> None:
    tree = Tree(place, layout)
    tree.session("ses_1", 2)
    ingest(home, "opencode", place)
    tree.message("ses_1", 3)
    ingest(home, "opencode", place)
    # Deleted files stay in the document and in the archive.
    shutil.rmtree(place)
    tree.session("ses_2", 1)
    ingest(home, "opencode", place)
    before = corpus(home)
    assert b"ses_1 said 3" in before["opencode__ses_1.md"]
    assert from_the_archive_alone(home, "opencode", place) == before


@pytest.mark.parametrize("more", [1, 2, 3])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_session_that_was_reverted_and_continued_comes_back_as_its_document_is(
    home: Home, place: Path, layout: str, more: int
) -> None:
    tree = Tree(place, layout)
    tree.session("ses_1", 4)
    tree.session("ses_2", 2)
    ingest(home, "opencode", place)
    for number in (3, 4):
        tree.take_back("ses_1", number)
    for number in range(5, 5 + more):
        tree.message("ses_1", number)
    for path in place.rglob("*.json"):
        os.utime(path)
    ingest(home, "opencode", place)
    before = corpus(home)
    # Where less is left than there was, the longer one is remembered: in the document and in the archive.
    assert (b"ses_1 said 3" in before["opencode__ses_1.md"]) == (more == 1)
    assert (b"ses_1 said 5" in before["opencode__ses_1.md"]) == (more != 1)
    assert from_the_archive_alone(home, "opencode", place) == before


def test_a_session_that_went_back_stays_what_it_was_also_when_all_is_made_anew(home: Home, place: Path) -> None:
    tree = Tree(place)
    tree.session("ses_1", 4)
    ingest(home, "opencode", place)
    for number in (3, 4):
        tree.take_back("ses_1", number)
    run(home, "opencode", [str(place)], trust_stat=False, rebuild=True)
    before = corpus(home)
    assert b"ses_1 said 3" in before["opencode__ses_1.md"]
    assert from_the_archive_alone(home, "opencode", place) == before


def test_the_archive_is_read_and_not_what_lies_there_by_now(home: Home, tmp_path: Path) -> None:
    tree = Tree(tmp_path)
    tree.session("ses_1", 2)
    ingest(home, "opencode", tmp_path / "storage")
    before = corpus(home)
    tree.message("ses_1", 3)
    run(home, "opencode", trust_stat=False, from_archive=True)
    assert corpus(home) == before
    assert ingest(home, "opencode", tmp_path / "storage").ingested == 1
    assert b"ses_1 said 3" in corpus(home)["opencode__ses_1.md"]


def test_a_torn_or_empty_file_of_a_tree_takes_nothing_else_along(home: Home, place: Path) -> None:
    tree = Tree(place)
    tree.session("ses_1", 3)
    (place / "storage/part/msg_ses_1_2/prt_2.json").write_bytes(b"")
    (place / "storage/part/msg_ses_1_3/prt_3.json").write_bytes(b'{"type":')
    ingest(home, "opencode", place)
    before = corpus(home)
    assert b"ses_1 said 1" in before["opencode__ses_1.md"]
    assert from_the_archive_alone(home, "opencode", place) == before


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_forgotten_session_takes_its_messages_and_parts_out_of_the_archive(
    home: Home, place: Path, layout: str
) -> None:
    tree = Tree(place, layout)
    tree.session("ses_1", 3)
    tree.session("ses_2", 2)
    ingest(home, "opencode", place)
    assert forgetting.archived_with(home, lambda data: b"ses_1 said 2" in data) == {("opencode", "ses_1")}
    Tombstones(home).add([("opencode", "ses_1")])
    forgetting.erase(home, "opencode", forgetting.look(home, "opencode", {"ses_1"}))
    left = held(home)
    assert not [path for path, data in left.items() if b"ses_1" in data or "ses_1" in path]
    assert sum(b"ses_2 said" in data for data in left.values()) == 2
    tree.message("ses_1", 4)
    tree.message("ses_2", 3)
    ingest(home, "opencode", place)
    left = held(home)
    assert not [path for path, data in left.items() if b"ses_1" in data or "ses_1" in path]
    assert sum(b"ses_2 said" in data for data in left.values()) == 3


def test_nothing_of_a_session_in_an_excluded_project_is_archived(home: Home, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.mkdir()
    (secret / ".brain-ignore").touch()
    tree = Tree(tmp_path)
    tree.session("ses_1", 2, directory=str(secret))
    tree.session("ses_2", 2)
    ingest(home, "opencode", tmp_path / "storage")
    assert not [path for path in held(home) if "ses_1" in path]
    assert list(corpus(home)) == ["opencode__ses_2.md"]


# A private span covers several parts of one message, each of which is a row or a file of its own

PARTS: list[Record] = [
    {"type": "text", "text": "walrus <private>its name"},
    {"type": "text", "text": "its diagnosis"},
    {"type": "file", "mime": "image/png", "url": "data:image/png;base64,aGlkZGVu"},
    {"type": "text", "text": "its age</private> badger"},
    {"type": "text", "text": "heron"},
]
HIDDEN = (b"its name", b"its diagnosis", b"its age", b"aGlkZGVu")


def shown_of_the_span(home: Home) -> list[bytes]:
    kept = b"\n".join([*corpus(home).values(), *held(home).values()])
    return [hidden for hidden in HIDDEN if hidden in kept]


def shown(home: Home, *words: bytes) -> list[bytes]:
    made = b"\n".join(corpus(home).values())
    return [word for word in words if word in made]


@pytest.mark.parametrize("count", [3, 5])
def test_nothing_of_a_span_over_rows_is_kept(home: Home, place: Path, count: int) -> None:
    """A span without an end hides the rest of its message, and no other message."""
    database(place / "opencode.db", user=[{"id": f"prt_1{n}", **part} for n, part in enumerate(PARTS[:count])])
    assert ingest(home, "opencode", place).unknown == {}
    assert shown_of_the_span(home) == []
    assert shown(home, b"walrus", b"badger", b"heron") == [b"walrus", b"badger", b"heron"][: count - 2]
    assert shown(home, b"Both tabs read it.")
    before = corpus(home)
    assert from_the_archive_alone(home, "opencode", place) == before


@pytest.mark.parametrize("layout", LAYOUTS)
def test_nothing_of_a_span_over_files_is_kept(home: Home, place: Path, layout: str) -> None:
    tree = Tree(place, layout)
    tree.session("ses_1", 2)
    for path in sorted(tree.root.rglob("prt_*1.json")):
        first = json.loads(path.read_text("utf-8"))
        path.unlink()
        for number, part in enumerate(PARTS):
            file = path.with_name(f"{path.stem}_{number}.json")
            file.write_text(json.dumps({**first, "id": f"prt_1_{number}", "text": "", **part}), "utf-8")
    assert ingest(home, "opencode", place).unknown == {}
    assert shown_of_the_span(home) == []
    assert len(shown(home, b"walrus", b"badger", b"heron", b"ses_1 said 2")) == 4
    before = corpus(home)
    assert from_the_archive_alone(home, "opencode", place) == before
