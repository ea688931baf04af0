"""A sync goes on after a killed git, damaged objects and a restored backup, and takes nothing from other machines."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from core import config
from core.errors import BadInput, EngineMissing, LockContention, Refused
from core.home import Home
from ops import forgetting
from ops.backup import backup, restore
from ops.checks import recovery
from ops.checks.finding import CheckContext, Finding
from ops.sync import sync
from ops.sync.state import State
from runtime.forgetting import verify_erasure
from tests.ops.backups import forged
from tests.ops.machines import Machine, converge

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="no git here")


def _findings(home: Home) -> list[Finding]:
    return list(recovery.repository_is_sound(CheckContext(home, os.environ, time.time(), deep=True)))


# --- locks ---


@pytest.mark.parametrize(
    "name",
    [
        "refs/machines/tower.lock",
        "refs/heads/laptop.lock",
        "packed-refs.lock",
        "HEAD.lock",
        "config.lock",
        "shallow.lock",
    ],
)
def test_a_lock_that_a_killed_git_has_left_does_not_stop_the_next_sync(
    converged: tuple[Machine, Machine], name: str
) -> None:
    one, other = converged
    other.session(21, "lemur")
    other.sync()
    one.session(22, "gibbon")
    lock = Path(one.home.path("sync.git", name))
    lock.touch()
    (finding,) = _findings(one.home)
    assert (finding.id, finding.severity) == ("sync-locked", "warning")
    assert str(lock) in finding.evidence
    report = one.sync()
    assert (report["unlocked"], report["added"], report["pushed"]) == ([str(lock)], 1, True)
    assert _findings(one.home) == []


def test_the_doctor_removes_the_lock_of_a_killed_git(one: Machine) -> None:
    one.sync()
    lock = Path(one.home.path("sync.git", "packed-refs.lock"))
    lock.touch()
    (finding,) = _findings(one.home)
    assert finding.repair is not None
    assert str(lock) in finding.repair()
    assert not lock.exists()


def test_a_forget_is_not_stopped_by_the_lock_of_a_killed_git(one: Machine) -> None:
    one.sync()
    Path(one.home.path("sync.git", "packed-refs.lock")).touch()
    Path(one.home.path("sync.git", "refs", "heads", "laptop.lock")).touch()
    one.forget("00000001-0000-4000-8000-000000000000")
    assert b"drawer1," not in one.objects()


def test_the_lock_of_a_git_that_runs_is_left_to_it_and_named(one: Machine) -> None:
    one.sync()
    one.session(22, "gibbon")
    repository = one.home.path("sync.git")
    lock = Path(repository, "refs", "heads", "laptop.lock")
    lock.touch()
    with subprocess.Popen(
        ["git", "--git-dir", repository, "cat-file", "--batch"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as running:
        try:
            assert _findings(one.home) == []
            with pytest.raises(LockContention) as held:
                one.sync()
        finally:
            running.communicate()
    assert str(lock) in held.value.message
    assert held.value.fix.endswith(f"rm {lock}")
    assert one.sync()["unlocked"] == [str(lock)]


def test_an_old_lock_in_a_remote_folder_goes_and_a_young_one_is_named(one: Machine) -> None:
    one.sync()
    one.session(22, "gibbon")
    lock = Path(one.remote, "refs", "heads", "laptop.lock")
    lock.touch()
    with pytest.raises(LockContention) as held:
        sync.sync(one.home, one.config, os.environ)  # a git of another machine may hold it
    assert str(lock) in held.value.message
    os.utime(lock, (time.time() - 3600,) * 2)
    report = sync.sync(one.home, one.config, os.environ)
    assert (report["unlocked"], report["pushed"]) == ([str(lock)], True)


# --- damage ---


def _zero(path: Path) -> None:
    size = path.stat().st_size
    path.chmod(0o600)
    path.write_bytes(bytes(size))


def _zero_objects(repository: Path) -> None:
    for path in (repository / "objects").rglob("*"):
        if path.is_file():
            _zero(path)


def _zero_tip(repository: Path) -> None:
    _zero(repository / "refs" / "heads" / "laptop")


def _zero_head(repository: Path) -> None:
    _zero(repository / "HEAD")


def _lose_packs(repository: Path) -> None:
    shutil.rmtree(repository / "objects")
    (repository / "objects").mkdir()


def _zero_packs(repository: Path) -> None:
    subprocess.run(["git", "--git-dir", str(repository), "repack", "-adq"], check=True)
    _zero_objects(repository)


DAMAGES = [_zero_objects, _zero_tip, _zero_head, _lose_packs, _zero_packs]


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_repository_is_a_finding_and_is_made_again_from_the_documents(
    converged: tuple[Machine, Machine], damage: Callable[[Path], None]
) -> None:
    one, other = converged
    before = one.documents()
    one.session(1, "walrus", turns=7)
    damage(Path(one.home.path("sync.git")))
    (finding,) = _findings(one.home)
    assert (finding.id, finding.severity) == ("sync-damaged", "error")
    assert finding.repair is not None
    assert finding.repair()
    assert _findings(one.home) == []
    assert one.sync()["pushed"]
    report = other.sync()
    assert (report["removed"], report["kept"]) == (0, [])
    assert one.documents() == other.documents()
    assert one.documents().keys() == before.keys()


@pytest.mark.parametrize("damage", [_zero_objects, _zero_tip, _zero_head])
def test_a_sync_names_a_damaged_repository(converged: tuple[Machine, Machine], damage: Callable[[Path], None]) -> None:
    one, _ = converged
    one.session(1, "walrus", turns=7)
    damage(Path(one.home.path("sync.git")))
    with pytest.raises(EngineMissing) as damaged:
        one.sync()
    assert one.home.path("sync.git") in damaged.value.message
    assert damaged.value.fix.startswith("brain doctor --fix")


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_forget_ends_in_a_damaged_repository_and_travels(
    converged: tuple[Machine, Machine], damage: Callable[[Path], None]
) -> None:
    one, other = converged
    damage(Path(one.home.path("sync.git")))
    one.forget("00000001-0000-4000-8000-000000000000")
    assert _findings(one.home) == []
    assert b"drawer1," not in one.objects()
    assert b"drawer2," in one.objects()
    one.sync()
    other.sync()
    assert other.asks("walrus") == []


def test_a_text_is_forgotten_in_a_damaged_repository(one: Machine) -> None:
    one.sync()
    _zero_objects(Path(one.home.path("sync.git")))
    probes = verify_erasure.spellings("vermilion gate")
    failed, beyond = forgetting.elsewhere(one.home, one.config, os.environ, anywhere=True)([], [], probes)
    assert (failed, len(beyond)) == ([], 1)
    assert _findings(one.home) == []


def test_a_damaged_remote_folder_is_named(converged: tuple[Machine, Machine]) -> None:
    one, other = converged
    _zero_objects(Path(one.remote))
    other.session(21, "lemur")
    with pytest.raises(EngineMissing) as damaged:
        other.sync()
    assert one.remote in damaged.value.message
    assert damaged.value.fix.startswith(f"mv {one.remote} {one.remote}.damaged")
    Path(one.remote).rename(one.remote + ".damaged")
    converge(one, other)
    assert one.documents() == other.documents()


def test_a_remote_that_cannot_be_reached_is_no_damage(one: Machine, tmp_path: Path) -> None:
    with pytest.raises(BadInput):
        sync.sync(one.home, one.config, os.environ, remote=str(tmp_path / "gone.git"))
    assert _findings(one.home) == []


# --- restored backups ---


def _backed_up(machine: Machine) -> str:
    path: str = backup.make(machine.home, machine.config, verify=False)["path"]
    return path


@pytest.mark.parametrize("change", ["added", "grown"])
def test_a_home_restored_from_an_old_backup_takes_nothing_from_the_other_machines(
    converged: tuple[Machine, Machine], change: str
) -> None:
    one, other = converged
    path = _backed_up(one)
    if change == "added":
        one.session(21, "lemur")
    else:
        one.session(1, "walrus", turns=7)
    converge(one, other)
    held = other.documents()
    restore.restore(path, one.home, force=True)
    with pytest.raises(Refused) as refused:
        one.sync()
    assert "brain sync --as NEWNAME" in refused.value.fix
    report = other.sync()
    assert (report["removed"], other.documents()) == (0, held)
    one.name = "laptop-2"
    one.sync()
    report = other.sync()
    assert report["removed"] == 0
    assert held.items() <= other.documents().items()
    assert one.asks("lemur" if change == "added" else "walrus")
    # Its former name is refused as well: that branch has what this one lacks.
    one.name = "laptop"
    with pytest.raises(Refused):
        one.sync()


def test_a_backup_that_lacks_nothing_goes_on_under_its_name(converged: tuple[Machine, Machine]) -> None:
    one, other = converged
    path = _backed_up(one)
    restore.restore(path, one.home, force=True)
    one.session(21, "lemur")
    assert one.sync()["pushed"]
    assert other.sync()["added"] == 1
    one.session(1, "walrus", turns=7)
    assert one.sync()["pushed"]


def test_a_purge_that_was_due_when_the_backup_was_made_takes_nothing_from_the_other_machines(
    converged: tuple[Machine, Machine],
) -> None:
    one, other = converged
    one.forget("00000001-0000-4000-8000-000000000000")
    path = _backed_up(one)
    one.session(21, "lemur")
    converge(one, other)
    held = other.documents()
    restore.restore(path, one.home, force=True)
    with pytest.raises(Refused):
        one.sync()
    other.sync()
    assert other.documents() == held


def test_a_restore_without_a_remote_is_refused_once_there_is_one(converged: tuple[Machine, Machine]) -> None:
    one, other = converged
    path = _backed_up(one)
    one.session(21, "lemur")
    converge(one, other)
    held = other.documents()
    copy = Machine(Path(one.home.root).parent, "copy", Path(one.remote))
    assert restore.restore(path, copy.home)["remote_left_out"] == one.remote
    assert State(copy.home).remote == ""
    assert sync.sync(copy.home, copy.config, os.environ)["remote"] == ""
    with pytest.raises(Refused):
        sync.sync(copy.home, copy.config, os.environ, folder=one.remote)
    other.sync()
    assert other.documents() == held


def test_documents_of_others_that_were_forgotten_here_stay_so_after_a_restore(pair: tuple[Machine, Machine]) -> None:
    """A file of the other's own has no tombstone."""
    one, other = pair
    Path(other.home.path("kb-wiki")).mkdir()
    Path(other.home.path("kb-wiki", "zebra.md")).write_text("# Zebra\n\nthe zebra crossing\n")
    converge(one, other)
    path = _backed_up(one)
    (uri,) = one.asks("zebra")
    one.forget(uri)
    assert one.asks("zebra") == []
    restore.restore(path, one.home, force=True)
    assert one.asks("zebra") == []
    one.name = "laptop-2"
    one.sync()
    assert one.asks("zebra") == []


def test_no_address_and_no_name_of_a_backup_replaces_this_homes(one: Machine, tmp_path: Path) -> None:
    one.sync()
    held = {"schema": 1, "name": "evil", "remote": "ssh://evil.test/x.git", "purge": True, "machines": {}}
    path = forged(
        tmp_path / "x.tar.zst",
        ("collections.yml", b"collections: {brain: {path: brain}}\n"),
        ("state/sync.json", json.dumps(held).encode()),
    )
    assert restore.restore(path, one.home, force=True)["remote_left_out"] == "ssh://evil.test/x.git"
    state = State(one.home)
    assert (state.name, state.remote, state.former) == ("laptop", one.remote, ["evil"])
    with pytest.raises(Refused):
        one.sync()


@pytest.mark.parametrize("held", [b"{", b'{"name": "../x"}', b'{"remote": "ext::touch x"}'])
def test_damaged_settings_of_a_backup_are_left_out(home: Home, tmp_path: Path, held: bytes) -> None:
    path = forged(tmp_path / "x.tar.zst", ("brain/a.md", b"# A\n"), ("state/sync.json", held))
    assert restore.restore(path, home)["ok"]
    assert State(home).name == ""
    assert config.load(home)
