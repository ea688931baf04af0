"""A forgotten unit stays known whatever other processes write; a damaged file never counts as an empty one."""

from __future__ import annotations

import multiprocessing
import shutil
import subprocess
from pathlib import Path

import pytest

from core import config
from core.errors import EngineMissing
from core.home import Home
from core.tombstones import FILE, MARK, Tombstones, by_content, digests, is_by_content
from ingest.policy import FORGETTING
from ops.backup import backup, packing
from ops.sync import sync
from runtime.capture.indexing import index
from tests import damaged
from tests.ingest.transcripts import SESSION, Script, corpus, save

_DAMAGED = (
    *damaged.JSON,
    b'{"schema": 1, "forgotten": null}',
    b'{"forgotten": {}}',
    b'{"forgotten": ["abc"]}',
    b'{"forgotten": [["claude", "s"]]}',
    b'{"forgotten": [["claude", "s", null]]}',
    b'{"forgotten": [["claude", ["s"], "now"]]}',
)


@pytest.mark.parametrize("data", _DAMAGED)
def test_nothing_is_read_while_what_was_forgotten_cannot_be(home: Home, claude_root: Path, data: bytes) -> None:
    save(claude_root / "projects" / "-p" / f"{SESSION}.jsonl", Script().user("forgotten"))
    Tombstones(home).add([("claude", SESSION)])
    kept = Path(home.state, FILE).read_bytes()
    Path(home.state, FILE).write_bytes(data)
    with pytest.raises(EngineMissing, match="what was forgotten") as failure:
        index(home, config.load(home))
    assert corpus(home) == {}
    assert "state/tombstones.json" in failure.value.fix
    Path(home.state, FILE).write_bytes(kept)
    index(home, config.load(home))
    assert corpus(home) == {}


def test_a_file_that_is_gone_is_missed_where_something_was_forgotten(home: Home) -> None:
    assert not Tombstones(home)
    Tombstones(home).add([("claude", SESSION)])
    Path(home.state, FILE).unlink()
    with pytest.raises(EngineMissing, match="what was forgotten") as failure:
        Tombstones(home)
    way_out = failure.value.fix.rpartition("forgotten: ")[2]
    subprocess.run(["/bin/sh", "-c", way_out], check=False, stderr=subprocess.DEVNULL)
    assert not Tombstones(home)


def test_a_backup_that_cannot_be_made_names_the_homes_own(home: Home) -> None:
    home.make()
    Path(home.state, FILE).touch()
    with pytest.raises(EngineMissing, match=f"^{Path(home.state, FILE)} cannot be read"):
        backup.make(home, config.load(home))


def test_nor_is_anything_sent(home: Home) -> None:
    home.make()
    Path(home.state, FILE).touch()
    with pytest.raises(EngineMissing, match="what was forgotten"):
        sync.sync(home, config.load(home), {})
    assert not Path(home.path(sync.FOLDER)).exists()


def test_a_backup_gives_it_back(home: Home, tmp_path: Path) -> None:
    Tombstones(home).add([("claude", SESSION)])
    path = backup.make(home, config.load(home), verify=False)["path"]
    Path(home.state, FILE).write_bytes(b"")
    packing.unpack(path, str(tmp_path))
    shutil.copy(tmp_path / "state" / FILE, home.state)
    assert Tombstones(home).covers("claude", SESSION)


def test_what_was_added_and_lifted_by_two_at_once_is_so(home: Home) -> None:
    Tombstones(home).add([("claude", "a"), ("claude", "b")])
    one, other = Tombstones(home), Tombstones(home)
    one.add([("claude", "c")])
    assert other.lift([("claude", "a")]) == 1
    one.add([("claude", "d")])
    assert Tombstones(home).of("claude") == {"b", "c", "d"}


def _add(root: str, name: str) -> None:
    for number in range(20):
        Tombstones(Home(root)).add([("claude", f"{name}{number}")])


def test_nothing_is_lost_between_processes(home: Home) -> None:
    home.make()
    context = multiprocessing.get_context("spawn")
    both = [context.Process(target=_add, args=(home.root, name)) for name in "ab"]
    for each in both:
        each.start()
    for each in both:
        each.join()
    assert [each.exitcode for each in both] == [0, 0]
    assert len(Tombstones(home)) == 40


def test_a_tombstone_by_content_is_known_for_any_source() -> None:
    mark = by_content("toy", "u1", ["abc", "def"])
    assert is_by_content(mark)
    assert digests([mark, ("toy", "u2"), ("toy", "session\tagent")], "toy") == {"abc", "def"}
    assert not is_by_content(("toy", "session\tagent"))


def test_a_run_looks_for_the_files_that_say_that_something_was_forgotten(home: Home) -> None:
    Tombstones(home).add([("claude", "a")])
    assert set(FORGETTING) == {FILE, MARK}
    assert all(Path(home.state, name).exists() for name in FORGETTING)
