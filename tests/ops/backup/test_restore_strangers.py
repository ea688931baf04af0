"""A backup may come from a stranger: it changes the memory of one home and nothing else, and it runs nothing."""

from __future__ import annotations

import hashlib
import json
import os
import time
from pathlib import Path
from typing import Any

import pytest

from core import config
from core.errors import BadInput, BrainError, EngineMissing
from core.home import Home
from ops import teardown
from ops.backup import restore
from ops.checks import recovery
from ops.checks.finding import CheckContext
from ops.install import installed
from runtime.capture.indexing import index
from runtime.team import state as team_state
from tests.conftest import Brain
from tests.ops.backups import forged, make

SHIPPED = ("collections.yml", b"collections: {brain: {path: brain}}\n")


def _tree(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def user(tmp_path: Path) -> Path:
    """A user's folder with a brain in it, and a shell's configuration that must stay."""
    place = tmp_path / "user"
    place.mkdir()
    (place / ".bashrc").write_text("mine\n")
    return place


@pytest.fixture
def target(user: Path) -> Home:
    return Home(str(user / ".brain"))


@pytest.mark.parametrize(
    "name",
    [
        "sync.git/config",
        "sync.git/hooks/pre-push",
        ".restoring.json",
        ".restoring/brain/x.md",
        "backups/x",
        "backups/brain-20260428T091403Z.tar.zst",
        ".bashrc",
        ".ssh/authorized_keys",
        ".git/config",
        ".qmd/index.yml",
        "trusted.json",
        "core/__init__.py",
        "State/sync.json",
        "index.sqlite-journal",
        "brain",
        "raw",
        "collections.yml/x",
        "index.sqlite/x",
        "elsewhere/x.md",
        "a\\b/x.md",
    ],
)
def test_a_name_that_is_no_part_of_a_memory_is_not_restored(
    target: Home, user: Path, tmp_path: Path, name: str
) -> None:
    members = [(name, b"owned"), ("state/x.json", b"owned")]
    path = forged(tmp_path / "x.tar.zst", *(members if name == "collections.yml/x" else [SHIPPED, *members]))
    before = _tree(user)
    with pytest.raises(BadInput) as refused:
        restore.restore(path, target)
    assert repr(name.split("/")[0])[1:-1] in refused.value.message
    assert _tree(user) == before
    assert restore.restore(forged(tmp_path / "good.tar.zst", SHIPPED, ("brain/a.md", b"# A\n")), target)["ok"]


@pytest.mark.parametrize(
    "names",
    [
        ["brain/.git/HEAD", "brain/.git/config"],
        ["brain/2026/.GIT/config"],
        ["brain/.git"],
        ["brain/HEAD", "brain/config", "brain/objects/x", "brain/refs/x"],
    ],
)
def test_no_folder_of_documents_is_restored_as_a_repository(target: Home, tmp_path: Path, names: list[str]) -> None:
    members = [(name, b"[core]\n\tfsmonitor = touch owned\n") for name in names]
    assert restore.restore(forged(tmp_path / "x.tar.zst", SHIPPED, ("brain/a.md", b"# A\n"), *members), target)["ok"]
    kept = {path.name.lower() for path in Path(target.root).rglob("*")}
    assert "a.md" in kept
    assert not kept & {".git", "head"}


@pytest.mark.parametrize(
    ("folder", "name"),
    [
        ("sync.git", "sync.git/config"),
        ("backups", "backups/x"),
        (".ssh", ".ssh/authorized_keys"),
        (".restoring", ".restoring/brain/x.md"),
        ("..", "outside/x.md"),
        (".", "outside/x.md"),
        ("../outside", "outside/x.md"),
        ("/outside", "outside/x.md"),
        ("~", "outside/x.md"),
    ],
)
def test_a_configuration_of_a_backup_cannot_make_a_folder_part_of_the_memory(
    target: Home, user: Path, tmp_path: Path, folder: str, name: str
) -> None:
    text = json.dumps({"collections": {"x": {"path": folder}}}).encode()
    before = _tree(user)
    with pytest.raises(BadInput):
        restore.restore(forged(tmp_path / "x.tar.zst", ("collections.yml", text), (name, b"owned")), target)
    assert _tree(user) == before


def test_a_collection_of_the_users_own_is_restored_where_its_folder_is_free_or_a_collection(
    target: Home, tmp_path: Path
) -> None:
    text = b"collections: {brain: {path: brain}, deep: {path: my/notes}}\n"
    path = forged(tmp_path / "x.tar.zst", ("collections.yml", text), ("my/notes/a.md", b"# A\n"))
    restore.restore(path, target)
    restore.restore(path, target, force=True)
    assert Path(target.path("my", "notes", "a.md")).read_bytes() == b"# A\n"


def test_a_collection_of_a_backup_does_not_replace_a_folder_of_another_use(target: Home, tmp_path: Path) -> None:
    """The checkout may be the home: its code is no collection."""
    text = b"collections: {x: {path: core}}\n"
    code = Path(target.path("core", "__init__.py"))
    code.parent.mkdir(parents=True)
    code.write_text("mine")
    path = forged(tmp_path / "x.tar.zst", ("collections.yml", text), ("core/__init__.py", b"owned"))
    with pytest.raises(BadInput):
        restore.restore(path, target, force=True)
    assert code.read_text() == "mine"


def test_a_backup_of_a_configuration_that_is_no_longer_valid_is_restored(target: Home, tmp_path: Path) -> None:
    path = forged(tmp_path / "x.tar.zst", ("collections.yml", b"collections: [\n"), ("brain/a.md", b"# A\n"))
    assert restore.restore(path, target)["documents"] == 1


_JOURNALS: list[Any] = [
    {"schema": 1, "aside": "HOME/backups/replaced-x", "going": [".bashrc"], "names": [".bashrc", "../.bashrc"]},
    {"schema": 1, "aside": "HOME/backups/replaced-x", "going": [], "names": ["../.bashrc"]},
    {"schema": 1, "aside": "HOME/backups/replaced-x", "going": ["USER/.bashrc"], "names": ["USER/.bashrc"]},
    {"schema": 1, "aside": "USER", "going": ["brain"], "names": ["brain"]},
    {"schema": 1, "aside": "HOME/backups/replaced-x", "going": ["sync.git"], "names": ["sync.git"]},
    {"schema": 1, "aside": "HOME/backups/replaced-x", "going": ["backups"], "names": ["backups"]},
    {"schema": 1, "aside": "HOME/backups/replaced-x", "going": [], "names": [""]},
    {"schema": 1, "aside": "HOME/backups/replaced-x", "going": [], "names": [7]},
    {"schema": 1, "aside": "HOME/backups/replaced-x", "going": 7, "names": []},
    {"schema": 1, "aside": 7, "going": [], "names": []},
    {"schema": 1},
    [],
    None,
]


@pytest.mark.parametrize("planted", _JOURNALS, ids=str)
def test_a_journal_that_restore_did_not_write_moves_nothing_and_is_a_finding(
    target: Home, user: Path, tmp_path: Path, planted: Any
) -> None:
    target.make()
    staged = Path(target.path(".restoring"))
    staged.mkdir()
    (staged / ".bashrc").write_text("owned\n")
    text = json.dumps(planted).replace("HOME", target.root).replace("USER", str(user))
    Path(target.path(".restoring.json")).write_text(text)
    before = _tree(user)
    with pytest.raises(EngineMissing) as damaged:
        restore.finish(target)
    assert f"mv {target.path('.restoring.json')} " in damaged.value.fix
    good = forged(tmp_path / "good.tar.zst", SHIPPED, ("brain/a.md", b"# A\n"))
    with pytest.raises(EngineMissing):
        restore.restore(good, target, force=True)
    (finding,) = [
        each
        for each in recovery.restored_whole(CheckContext(target, os.environ, time.time()))
        if each.id == "restore-unfinished"
    ]
    assert (finding.fix, finding.repair) == (damaged.value.fix, None)
    assert _tree(user) == before
    Path(target.path(".restoring.json")).rename(target.path(".restoring.json.damaged"))
    assert restore.restore(good, target, force=True)["ok"]
    assert (user / ".bashrc").read_text() == "mine\n"


def test_a_journal_that_is_cut_short_is_named(target: Home) -> None:
    target.make()
    Path(target.path(".restoring.json")).write_bytes(b'{"schema": 1, "nam')
    with pytest.raises(EngineMissing):
        restore.finish(target)


def test_a_journal_of_another_version_is_finished_in_this_home(target: Home, tmp_path: Path) -> None:
    """It named the folder of the former state by its whole path."""
    target.make()
    place = Path(target.path("brain"))
    place.mkdir()
    (place / "a.md").write_text("old")
    job = {
        "schema": 1,
        "aside": "/elsewhere/backups/replaced-20260428T091403Z-7",
        "going": ["brain"],
        "names": ["brain"],
    }
    Path(target.path(".restoring.json")).write_text(json.dumps(job))
    assert restore.finish(target)
    assert Path(target.path("backups", "replaced-20260428T091403Z-7", "brain", "a.md")).read_text() == "old"


def test_what_a_backup_says_is_to_be_forgotten_removes_no_file(target: Home, tmp_path: Path) -> None:
    victim = tmp_path / "precious.txt"
    victim.write_text("mine")
    note = {"schema": 1, "documents": [], "marks": [], "files": [str(victim)]}
    path = forged(tmp_path / "x.tar.zst", SHIPPED, ("state/forgetting.json", json.dumps(note).encode()))
    restore.restore(path, target)
    index(target, config.load(target))
    assert victim.read_text() == "mine"
    assert not os.path.exists(os.path.join(target.state, "forgetting.json"))


def test_a_note_of_what_is_to_be_forgotten_removes_only_documents_of_this_home(home: Home, tmp_path: Path) -> None:
    victim = tmp_path / "precious.txt"
    victim.write_text("mine")
    note = {"schema": 1, "documents": [], "marks": [], "files": [str(victim)]}
    Path(home.state, "forgetting.json").write_text(json.dumps(note))
    index(home, config.load(home))
    assert victim.read_text() == "mine"


def test_what_is_installed_is_this_machines_and_no_backups(filled: Home, tmp_path: Path) -> None:
    path = make(filled, verify=False)["path"]
    victim = tmp_path / "victim"
    victim.write_bytes(b"mine")
    installed.add(filled, "completions", "/somewhere", {"sha256": "x"})
    restore.restore(path, filled, force=True)
    assert list(installed.read(filled)["completions"]) == ["/somewhere"]
    record = {
        "completions": {str(victim): {"sha256": hashlib.sha256(b"mine").hexdigest()}},
        "schedules": {str(victim): {}},
    }
    path = forged(tmp_path / "x.tar.zst", SHIPPED, ("state/installed.json", json.dumps(record).encode()))
    copy = Home(str(tmp_path / "copy"))
    restore.restore(path, copy)
    assert installed.read(copy) == {kind: {} for kind in installed.KINDS}
    teardown.carry_out(copy, os.environ, keep_corpus=False)
    assert victim.read_bytes() == b"mine"


def test_a_backup_names_no_team_of_its_own_unseen_and_no_machine_of_a_team(target: Home, tmp_path: Path) -> None:
    text = (
        "collections: {brain: {path: brain, share: team}}\n"
        "engine: {kind: postgres, dsn: 'postgresql://eve@evil.test/x', space: evil}\n"
    )
    state = json.dumps({"schema": 1, "device": "stolen", "pushed_at": 0, "forget": []}).encode()
    path = forged(tmp_path / "x.tar.zst", ("collections.yml", text.encode()), ("state/team.json", state))
    report = restore.restore(path, target)
    assert report["new_settings"] == [
        'engine: {"kind": "postgres", "dsn": "postgresql://eve@evil.test/x", "space": "evil"}',
        "collections.brain.share: team",
    ]
    assert team_state.State(target).device != "stolen"


@pytest.mark.parametrize(
    "record",
    [
        {"skills": {"SKILL": {}}},
        {"skills": {"SKILL": {"sha256": 7}}},
        {"completions": {"SKILL": {}}},
        {"completions": {"SKILL": []}},
        {"schedules": {"SKILL": []}},
        {"hooks": {"SKILL": {"events": 7}}},
        {"hooks": ["SKILL"]},
        {"hooks": 7},
        [],
        7,
    ],
    ids=str,
)
def test_a_damaged_record_of_what_is_installed_removes_nothing_and_is_named(
    home: Home, tmp_path: Path, record: Any
) -> None:
    skill = tmp_path / "skills" / "brain-ask" / "SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text("mine")
    Path(home.state, "installed.json").write_text(json.dumps(record).replace("SKILL", str(skill)))
    with pytest.raises(BrainError) as damaged:
        teardown.carry_out(home, os.environ, keep_corpus=True)
    assert f"mv {home.state}/installed.json " in damaged.value.fix
    assert skill.read_text() == "mine"


def test_settings_of_a_backup_that_reach_out_of_the_home_are_named(target: Home, tmp_path: Path, brain: Brain) -> None:
    text = (
        "collections: {notes: {path: notes, update: touch ran}}\n"
        "embedding: {provider: openai, base_url: 'http://evil.test/v1'}\n"
        f"doctor: {{log: '{tmp_path}/.bashrc', backup_days: 3}}\n"
    )
    path = forged(tmp_path / "x.tar.zst", ("collections.yml", text.encode()), ("notes/a.md", b"# A\n"))
    named = [
        'embedding: {"provider": "openai", "base_url": "http://evil.test/v1"}',
        f'doctor: {{"log": "{tmp_path}/.bashrc"}}',
        "collections.notes.update: touch ran",
    ]
    done = brain("restore", path, "--to", target.root)
    assert [line for line in done.stderr.splitlines() if "its collections.yml sets" in line] == [
        f"brain: its collections.yml sets {each}" for each in named
    ]
    # The home's own settings are no news.
    assert restore.restore(path, target, force=True)["new_settings"] == []
