"""Git starts nothing that a repository names, whatever the repository is and whichever version of git it is."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from core import git

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="no git here")


def _git(place: Path, *words: str) -> str:
    who = ("-c", "user.name=a", "-c", "user.email=a@b.test")
    done = subprocess.run(["git", "-C", str(place), *who, *words], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def _run(*words: str, **options: Any) -> int:
    done = git.run(words, environ=os.environ, timeout_s=30, most_bytes=1 << 20, **options)
    return done.code


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    place = tmp_path / "repository"
    place.mkdir()
    _git(place, "init", "-q")
    for number in range(2):
        (place / f"{number}.md").write_text(f"{number}\n")
        _git(place, "add", "-A")
        _git(place, "commit", "-q", "-m", f"{number}")
    return place


@pytest.mark.parametrize("emulates", ["this git", "a git that knows no GIT_NO_LAZY_FETCH"])
def test_a_missing_object_is_not_fetched_by_a_command_that_the_repository_names(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, emulates: str
) -> None:
    tree = _git(repository, "rev-parse", "HEAD~1^{tree}")
    (repository / ".git" / "objects" / tree[:2] / tree[2:]).unlink()
    for name, value in (
        ("core.repositoryformatversion", "1"),
        ("extensions.partialClone", "origin"),
        ("remote.origin.url", f"ext::sh -c touch% {tmp_path}/ran"),
        ("remote.origin.promisor", "true"),
        ("protocol.ext.allow", "always"),
    ):
        _git(repository, "config", name, value)
    if emulates != "this git":
        monkeypatch.delitem(git._ENVIRON, "GIT_NO_LAZY_FETCH")
    assert _run("log", "--name-only", folder=str(repository)) != 0
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("core.sshCommand", "touch"),
        ("core.hooksPath", "hooks"),
        ("core.fsmonitor", "touch"),
        ("core.alternateRefsCommand", "touch"),
        ("core.worktree", "/"),
        ("credential.helper", "!touch"),
        ("credential.https://x.helper", "!touch"),
        ("url.ext::touch.insteadOf", "https://"),
        ("remote.origin.uploadpack", "touch"),
        ("remote.https://x/y.proxy", "http://evil"),
        ("http.proxy", "http://evil"),
        ("http.sslVerify", "false"),
        ("include.path", "../elsewhere"),
        ("includeIf.gitdir:/.path", "elsewhere"),
        ("gc.recentObjectsHook", "touch"),
        ("extensions.partialClone", "origin"),
        ("extensions.worktreeConfig", "true"),
        ("uploadpack.packObjectsHook", "touch"),
        ("alias.log", "!touch"),
        ("gpg.program", "touch"),
    ],
)
def test_a_setting_that_a_repository_of_documents_does_not_need_is_strange(
    tmp_path: Path, name: str, value: str
) -> None:
    _run("init", "-q", "--bare", str(tmp_path / "r.git"))
    _run("config", "--file", str(tmp_path / "r.git" / "config"), name, value)
    (found,) = git.strange_settings(str(tmp_path / "r.git"), os.environ)
    assert found.lower() == name.lower()


@pytest.mark.parametrize("options", [(), ("--shared=group",)])
def test_a_new_repository_has_nothing_strange(tmp_path: Path, options: tuple[str, ...]) -> None:
    _run("init", "-q", "--bare", *options, str(tmp_path / "r.git"))
    assert git.strange_settings(str(tmp_path / "r.git"), os.environ) == []


def test_a_clone_has_nothing_strange(repository: Path, tmp_path: Path) -> None:
    _git(tmp_path, "clone", "-q", "--mirror", str(repository), "r.git")
    assert git.strange_settings(str(tmp_path / "r.git"), os.environ) == []


@pytest.mark.parametrize("data", [b"\0" * 60, b"[core\n", b"[include]\n\tpath = x\n"])
def test_a_configuration_that_cannot_be_read_or_leads_elsewhere_is_strange(tmp_path: Path, data: bytes) -> None:
    _run("init", "-q", "--bare", str(tmp_path / "r.git"))
    (tmp_path / "r.git" / "config").write_bytes(data)
    assert git.strange_settings(str(tmp_path / "r.git"), os.environ)
    (tmp_path / "r.git" / "config").unlink()
    (tmp_path / "r.git" / "commondir").write_text("../evil")
    assert git.strange_settings(str(tmp_path / "r.git"), os.environ) == ["commondir"]


@pytest.mark.parametrize("address", ["ext::touch ran", "fd::3", "https://127.0.0.1:9/x.git", "PLACE/repository"])
def test_no_transport_is_used_that_its_caller_does_not_name(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    monkeypatch.setenv("GIT_ALLOW_PROTOCOL", "ext:fd:file")
    place = address.replace("PLACE", str(tmp_path))
    assert _run("ls-remote", place, folder=str(tmp_path)) == 128
    assert not (tmp_path / "ran").exists()
    assert _run("ls-remote", str(repository), transports=["file"]) == 0
