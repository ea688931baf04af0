"""The content of a repository is a stranger's: it writes only where it may, runs nothing, and gets no secret."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from core import git as core_git
from core.errors import BadInput, EngineMissing, Refused
from core.tombstones import Tombstones
from ops.sync import git, pull, sync
from ops.sync.git import Repository
from ops.sync.state import State
from tests.ops.machines import Machine

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="no git here")


def _evil(remote: Path, files: dict[str, bytes], name: str = "evil", *, force: bool = False) -> None:
    """A machine called evil, with whatever names and contents."""
    work = remote.parent / "evil.git"
    repository = Repository(str(work), os.environ)
    repository.make()
    repository.commit(f"refs/heads/{name}", dict(files), "x\n", 1, "")
    ref = f"{'+' if force else ''}refs/heads/{name}"
    subprocess.run(["git", "--git-dir", str(work), "push", "-q", str(remote), ref], check=True)


def test_a_hostile_tree_writes_only_below_its_own_folder(one: Machine, tmp_path: Path) -> None:
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
    converged: tuple[Machine, Machine], tmp_path: Path
) -> None:
    one, _ = converged
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


def test_no_hook_of_any_side_is_run(one: Machine, tmp_path: Path) -> None:
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
def test_an_address_that_is_an_option_or_a_command_is_refused(one: Machine, address: str) -> None:
    with pytest.raises(BadInput):
        sync.sync(one.home, one.config, os.environ, remote=address)


def test_an_unreachable_remote_is_named_without_its_password(one: Machine, tmp_path: Path) -> None:
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


def _trap(tmp_path: Path) -> str:
    """A program that leaves a trace of being run."""
    trap = tmp_path / "trap"
    trap.write_text(f"#!/bin/sh\ntouch {tmp_path}/sprung\nexit 1\n", encoding="utf-8")
    trap.chmod(0o755)
    return str(trap)


def _set(repository: str, **settings: str) -> None:
    for name, value in settings.items():
        subprocess.run(
            ["git", "config", "--file", os.path.join(repository, "config"), name.replace("__", "."), value], check=True
        )


@pytest.mark.parametrize("act", ["sync", "forget"])
def test_no_setting_in_the_homes_repository_starts_a_program(one: Machine, tmp_path: Path, act: str) -> None:
    one.sync()
    repository = one.home.path("sync.git")
    trap = _trap(tmp_path)
    _set(repository, core__sshCommand=trap, core__fsmonitor=trap, credential__helper=f"!{trap}", gpg__program=trap)
    _set(repository, **{f"url.ext::{trap}.insteadOf": one.remote, "protocol.ext.allow": "always"})
    _set(repository, gc__recentObjectsHook=trap, core__alternateRefsCommand=trap, include__path=f"{tmp_path}/evil")
    if act == "sync":
        assert one.sync()["ok"]
        with pytest.raises(BadInput):
            sync.sync(one.home, one.config, os.environ, remote="ssh://127.0.0.1:9/x.git")
    else:
        one.forget("00000001-0000-4000-8000-000000000000")
    assert not (tmp_path / "sprung").exists()
    assert core_git.strange_settings(repository, os.environ) == []
    assert b"drawer2," in one.objects()


@pytest.mark.parametrize("address", ["PLACE", "file://PLACE"])
def test_a_remote_in_a_folder_that_names_a_program_is_refused_and_runs_none(
    one: Machine, tmp_path: Path, address: str
) -> None:
    one.sync()
    trap = _trap(tmp_path)
    other = tmp_path / "other.git"
    shutil.copytree(one.remote, other)
    Path(one.remote, "objects", "info").mkdir(exist_ok=True)
    Path(one.remote, "objects", "info", "alternates").write_text(f"{other}/objects\n")
    _set(one.remote, core__alternateRefsCommand=f"{trap};")
    one.session(21, "lemur")
    with pytest.raises(Refused) as refused:
        sync.sync(one.home, one.config, os.environ, remote=address.replace("PLACE", one.remote))
    assert "core.alternaterefscommand" in refused.value.message
    assert refused.value.fix.startswith(f"git config --file {one.remote}/config --unset-all core.alternaterefscommand")
    assert not (tmp_path / "sprung").exists()
    subprocess.run(refused.value.fix.partition(";")[0], shell=True, check=True)
    assert sync.sync(one.home, one.config, os.environ)["pushed"]


def test_no_hook_of_a_remote_is_run_however_its_folder_is_named(one: Machine, tmp_path: Path) -> None:
    one.sync()
    (Path(one.remote) / "hooks").mkdir(exist_ok=True)
    for name in ("pre-receive", "post-receive", "update", "post-update", "reference-transaction", "proc-receive"):
        shutil.copy(_trap(tmp_path), Path(one.remote) / "hooks" / name)
    one.session(21, "lemur")
    assert sync.sync(one.home, one.config, os.environ, remote=f"file://{one.remote}")["pushed"]
    assert not (tmp_path / "sprung").exists()


def test_the_users_own_ssh_command_reaches_a_remote(
    one: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one.sync()
    Path(os.environ["HOME"], ".gitconfig").write_text(f"[core]\n\tsshCommand = {_trap(tmp_path)}\n")
    with pytest.raises(BadInput):
        sync.sync(one.home, one.config, os.environ, remote="ssh://127.0.0.1:9/x.git")
    assert (tmp_path / "sprung").exists()


_STATES: list[dict[str, Any]] = [
    {"name": "../../x"},
    {"name": "a\nM 100644 inline x"},
    {"remote": "ext::sh -c touch% ran"},
    {"remote": "--upload-pack=touch"},
    {"remote": 7},
    {"former": ["../x"]},
    {"removed": [["a", "b"]]},
    {"removed": [7]},
    {"machines": {"../x": {}}},
    {"machines": {"tower": {"files": {"inbox/../../../precious.md": "0" * 40}}}},
    {"machines": {"tower": {"files": {"inbox/x.md": 7}}}},
    {"machines": {"tower": {"commit": "--output=x"}}},
    {"machines": {"tower": 7}},
    {"machines": []},
    {"purge": "yes"},
]


@pytest.mark.parametrize("held", _STATES, ids=str)
def test_settings_that_sync_does_not_write_are_damaged(one: Machine, held: dict[str, Any]) -> None:
    Path(one.home.state, "sync.json").write_text(json.dumps({"schema": 1, **held}))
    with pytest.raises(EngineMissing) as damaged:
        one.sync()
    assert damaged.value.code == 65
    assert "sync.json is damaged" in damaged.value.message
    assert not os.path.exists("ran")


KEY = "AKIA" + "QYLPMN5HHHFPZAM2"


@pytest.mark.parametrize(
    "body",
    [
        f"# Deploy\n\nThe key is {KEY} of the bucket.\n".encode(),
        f"---\ntitle: the {KEY} of the bucket\nsource: claude\nsession_id: x\n---\n\n# Deploy\n".encode(),
        f"# Deploy\n\nThe key is {KEY}\xff\n".encode("latin-1"),
    ],
    ids=["body", "frontmatter", "no UTF-8"],
)
def test_what_another_machine_sends_is_redacted_before_it_is_written(one: Machine, body: bytes) -> None:
    one.sync()
    rows = b'{"schema":1,"event":"ask","query":"%s"}\n' % KEY.encode()
    _evil(Path(one.remote), {"brain/deploy.md": body, ".brain/usage.jsonl": rows})
    report = one.sync()
    assert report["added"] == 1
    assert sum(report["redacted"].values()) == 2
    place = Path(one.home.path("brain", "machines", "evil", "deploy.md"))
    assert b"[redacted:" in place.read_bytes()
    written = [path for path in Path(one.home.root).rglob("*") if path.is_file() and "sync.git" not in path.parts]
    assert [str(path) for path in written if KEY.encode() in path.read_bytes()] == []
    assert json.loads(Path(one.home.logs, "machines", "evil.jsonl").read_text())["event"] == "ask"
    # The copy is known again: it is no edit of this machine's, it changes and it goes with its original.
    assert (one.sync()["kept"], one.sync()["added"]) == ([], 0)
    _evil(Path(one.remote), {"brain/deploy.md": body + b"more\n"}, force=True)
    assert (one.sync()["kept"], place.read_bytes().endswith(b"more\n")) == ([], True)
    _evil(Path(one.remote), {"brain/other.md": b"x"}, force=True)
    assert (one.sync()["kept"], place.exists()) == ([], False)


def test_a_document_with_a_secret_in_its_name_is_not_written(one: Machine) -> None:
    one.sync()
    _evil(Path(one.remote), {f"brain/{KEY}.md": b"# Deploy\n", f"inbox/{KEY}/x.md": b"x\n", "brain/y.md": b"y\n"})
    report = one.sync()
    assert (report["added"], report["skipped"]) == (1, {"a name that holds a secret": 2})
    inside = [path for path in Path(one.home.root).rglob("*") if "sync.git" not in path.parts]
    assert [
        str(path) for path in inside if KEY in str(path) or (path.is_file() and KEY.encode() in path.read_bytes())
    ] == []


def test_what_was_laid_down_before_there_was_a_policy_is_redacted_by_the_next_sync(one: Machine) -> None:
    one.sync()
    body = f"# Deploy\n\nThe key is {KEY} of the bucket.\n".encode()
    _evil(Path(one.remote), {"brain/deploy.md": body})
    one.sync()
    place = Path(one.home.path("brain", "machines", "evil", "deploy.md"))
    place.write_bytes(body)
    state = State(one.home)
    del state.machines["evil"]["policy"]
    state.save()
    assert one.sync()["added"] == 1
    assert KEY.encode() not in place.read_bytes()


def test_a_tree_that_lists_more_than_a_disk_holds_costs_its_own_machine_alone(
    converged: tuple[Machine, Machine], monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = converged
    monkeypatch.setattr(git, "_TREE_BYTES", 100_000)
    work = Path(one.remote).parent / "bomb.git"
    repository = Repository(str(work), os.environ)
    repository.make()

    def made(*words: str, stdin: bytes) -> str:
        done = subprocess.run(["git", "--git-dir", str(work), *words], input=stdin, capture_output=True, check=True)
        return done.stdout.decode().strip()

    entry = "100644 blob " + made("hash-object", "-w", "--stdin", stdin=b"x")
    for _ in range(7):
        tree = made("mktree", stdin="".join(f"{entry}\td{each}\n" for each in range(10)).encode())
        entry = f"040000 tree {tree}"
    commit = made(
        "-c", "user.name=a", "-c", "user.email=a@b.test", "commit-tree", "-m", "x",
        made("mktree", stdin=f"{entry}\tbrain\n".encode()), stdin=b"",
    )  # fmt: skip
    made("update-ref", "refs/heads/bomb", commit, stdin=b"")
    made("push", "-q", one.remote, "refs/heads/bomb", stdin=b"")
    other.session(31, "lemur")
    other.sync()
    report = one.sync()
    assert (report["added"], report["skipped"]) == (1, {"machine bomb, which lists too many documents": 1})
    assert one.asks("lemur")


def test_documents_that_would_fill_the_disk_are_not_laid_down(one: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    one.sync()
    _evil(Path(one.remote), {f"brain/{number}.md": b"x" * 50_000 for number in range(40)})
    monkeypatch.setattr(os, "statvfs", lambda _: SimpleNamespace(f_blocks=1 << 30, f_bavail=900, f_frsize=4000))
    report = one.sync()
    assert (report["added"], list(report["skipped"])) == (0, ["machine evil, whose documents would fill the disk"])
    assert not Path(one.home.path("brain", "machines", "evil")).exists()
    monkeypatch.undo()


def test_a_blob_that_no_document_can_be_is_not_read(one: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    one.sync()
    _evil(Path(one.remote), {"brain/huge.md": b"vermilion " * 100_000, "brain/small.md": b"cobalt"})
    monkeypatch.setattr(sync, "LARGEST", 900_000)
    monkeypatch.setattr(pull, "LARGEST", 900_000)
    assert one.sync()["skipped"] == {"too large": 1}
    assert not sync.holds(one.home, os.environ, [b"vermilion"])
    assert sync.holds(one.home, os.environ, [b"cobalt"])


@pytest.mark.parametrize(
    "name",
    [
        "brain/" + "/".join(["deep"] * 1200) + "/x.md",
        "brain/" + "/".join(["deep" * 20] * 40) + "/x.md",
        "brain/" + "語" * 120 + ".md",
        "brain/a\u202ex.md",
    ],
    ids=["deep", "long", "long in bytes", "turned round"],
)
def test_a_name_that_a_file_system_may_refuse_costs_its_own_document_alone(one: Machine, name: str) -> None:
    one.sync()
    _evil(Path(one.remote), {name: b"owned", "brain/ok.md": b"# Fine\n"})
    report = one.sync()
    assert (report["added"], sum(report["skipped"].values())) == (1, 1)


def test_names_that_are_one_where_accents_or_case_fold_are_taken_once(one: Machine) -> None:
    one.sync()
    names = ["brain/caf\u00e9.md", "brain/cafe\u0301.md", "brain/CAF\u00c9.md"]
    _evil(Path(one.remote), {name: name.encode() for name in names})
    report = one.sync()
    assert (report["added"], sum(report["skipped"].values())) == (1, 2)


@pytest.mark.parametrize("name", ["UPPER", "a/b", "-x", "x" * 61, "é", "x.y", "x@y"])
def test_a_branch_with_a_name_that_is_no_machines_is_ignored(one: Machine, name: str) -> None:
    one.sync()
    _evil(Path(one.remote), {"brain/ok.md": b"# Fine\n"}, name="evil")
    packed = Path(one.remote) / "packed-refs"
    commit = subprocess.run(
        ["git", "--git-dir", one.remote, "rev-parse", "refs/heads/evil"], capture_output=True, text=True, check=True
    ).stdout.strip()
    subprocess.run(["git", "--git-dir", one.remote, "update-ref", "-d", "refs/heads/evil"], check=True)
    packed.write_text(f"# pack-refs with: peeled fully-peeled sorted \n{commit} refs/heads/{name}\n")
    report = one.sync()
    assert (report["ok"], report["added"], report["machines"]) == (True, 0, {})
    assert not Path(one.home.path("brain", "machines")).exists()
