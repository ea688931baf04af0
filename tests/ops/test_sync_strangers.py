"""What comes from a repository is a stranger's: it writes only where it may, runs nothing, and is told no secret."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from core.errors import BadInput
from core.tombstones import Tombstones
from ops import git, sync
from ops.git import Repository
from tests.ops.machines import Machine, converge

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="no git here")


def _evil(remote: Path, files: dict[str, bytes], environ: Any = os.environ) -> None:
    """A machine called evil, with whatever names and contents."""
    work = remote.parent / "evil.git"
    repository = Repository(str(work), environ)
    repository.make()
    repository.commit("refs/heads/evil", dict(files), "x\n", 1, "")
    subprocess.run(["git", "--git-dir", str(work), "push", "-q", str(remote), "refs/heads/evil"], check=True)


def test_a_hostile_tree_writes_only_below_its_own_folder(pair: tuple[Machine, Machine], tmp_path: Path) -> None:
    one, _ = pair
    one.sync()
    _evil(
        Path(one.remote),
        {
            "brain/ok.md": b"# fine\n",
            "brain/machines/tower/x.md": b"owned",
            "brain/.hidden.md": b"owned",
            "brain/.git/config": b"owned",
            "state/tombstones.json": b"owned",
            "collections.yml": b"owned",
            "logs/x.md": b"owned",
            "brain/a\x1b[2J.md": b"owned",
            "brain/back\\slash.md": b"owned",
            "brain/OK.md": b"owned",
            ".brain/tombstones.json": b'{"forgotten": [["claude", 3], 7, [], ["claude"], {"a": 1}]}',
            ".brain/removed.json": b'[["laptop", "brain", "../../state/sources.sqlite"], ["a", "state", "x"], [1]]',
        },
    )
    before = {path for path in tmp_path.rglob("*") if path.is_file() and "sync.git" not in path.parts}
    report = one.sync()
    assert report["added"] == 1
    after = {path for path in tmp_path.rglob("*") if path.is_file() and "sync.git" not in path.parts}
    came = {path.name for path in after - before if path.suffix == ".md"}
    assert came in ({"OK.md"}, {"ok.md"})
    assert os.path.exists(os.path.join(one.home.state, "sources.sqlite"))
    assert len(Tombstones(one.home)) <= 1


def test_what_another_machine_says_it_removed_can_only_be_a_known_machines_document(
    pair: tuple[Machine, Machine], tmp_path: Path
) -> None:
    one, other = pair
    converge(one, other)
    precious = [
        Path(one.home.path("precious.txt")),
        Path(one.home.path("state", "precious.md")),
        Path(one.home.path("inbox", "precious.txt")),
        Path(one.home.path("logs", "precious.md")),
    ]
    for path in precious:
        path.write_text("mine")
    Path(one.home.path("inbox", "way")).symlink_to(one.home.path("state"))
    rows = [
        ["../../state", "inbox", "precious.md"],
        ["..", "inbox", "precious.txt"],
        ["../../inbox", "inbox", "precious.txt"],
        ["../..", "inbox", "precious.txt"],
        ["", "inbox", "precious.txt"],
        ["nobody", "inbox", "precious.txt"],
        ["laptop", "inbox", "../precious.txt"],
        ["laptop", "inbox", "way/precious.md"],
    ]
    marks = [["chrome", "../state/precious", ""], ["chrome", "../logs/precious", ""], ["code", "../logs/precious", ""]]
    _evil(
        Path(one.remote),
        {
            ".brain/removed.json": json.dumps(rows).encode(),
            ".brain/tombstones.json": json.dumps({"schema": 1, "forgotten": marks}).encode(),
        },
    )
    held = len(one.documents())
    report = one.sync()
    assert [path.read_text() for path in precious] == ["mine"] * 4
    assert (report["forgotten"], len(one.documents())) == (0, held)


def test_a_tombstone_of_a_source_that_is_unknown_here_is_kept_and_stops_nothing(pair: tuple[Machine, Machine]) -> None:
    one, other = pair
    one.sync()
    marks = [["telepathy", "u1", ""], ["claude", "\ud800", ""], ["claude", "00000001-0000-4000-8000-000000000000", ""]]
    _evil(Path(one.remote), {".brain/tombstones.json": json.dumps({"schema": 1, "forgotten": marks}).encode()})
    assert one.sync()["forgotten"] == 1
    assert Tombstones(one.home).covers("telepathy", "u1")
    assert one.asks("walrus") == []
    assert one.sync()["ok"]
    assert other.sync()["ok"]


def test_no_hook_of_any_side_is_run(pair: tuple[Machine, Machine], tmp_path: Path) -> None:
    one, _ = pair
    one.sync()
    template = tmp_path / "template" / "hooks"
    template.mkdir(parents=True)
    for folder in (Path(one.remote) / "hooks", Path(one.home.path("sync.git")) / "hooks", template):
        folder.mkdir(exist_ok=True)
        for name in ("pre-push", "pre-receive", "post-receive", "update", "reference-transaction", "post-update"):
            (folder / name).write_text(f"#!/bin/sh\ntouch {tmp_path}/ran-{name}\n")
            (folder / name).chmod(0o755)
    one.session(21, "lemur")
    assert one.sync()["pushed"]
    assert not list(tmp_path.glob("ran-*"))


@pytest.mark.parametrize("address", ["--upload-pack=touch x", "ext::sh -c touch% x", "a b", "http://x\ny"])
def test_an_address_that_is_an_option_or_a_command_is_refused(pair: tuple[Machine, Machine], address: str) -> None:
    one, _ = pair
    with pytest.raises(BadInput):
        sync.sync(one.home, one.config, os.environ, remote=address)


def test_a_remote_that_cannot_be_reached_is_said_without_its_password(
    pair: tuple[Machine, Machine], tmp_path: Path
) -> None:
    one, _ = pair
    with pytest.raises(BadInput) as failed:
        sync.sync(one.home, one.config, os.environ, remote="https://me:hunter2@127.0.0.1:9/x.git")
    assert "hunter2" not in failed.value.message + failed.value.fix
    assert "127.0.0.1" in failed.value.message


@pytest.mark.parametrize("login", ["me:hun/ter2", "me:hun@ter2/", "hun'ter2", "me:hun://ter2"])
def test_no_part_of_a_password_is_shown_whatever_is_in_it(login: str) -> None:
    address = f"https://{login}@example.org/x.git"
    assert git.masked(address) == "https://…@example.org/x.git"
    assert git.masked(f"fatal: unable to access '{address}/': no") == (
        "fatal: unable to access 'https://…@example.org/x.git/': no"
    )
