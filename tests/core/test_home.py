from __future__ import annotations

import os
from pathlib import Path

import pytest

from core import home as homes
from core.errors import BadInput
from core.home import Home, checkout, make_private, resolve, shipped


def test_the_default_lies_in_the_users_folder() -> None:
    assert resolve({}).root == os.path.expanduser("~/.brain")
    assert resolve({"BRAIN_HOME": ""}).root == resolve({}).root


def test_the_environment_names_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert resolve({"BRAIN_HOME": str(tmp_path / "b")}).root == str(tmp_path / "b")
    assert resolve({"BRAIN_HOME": "~/b"}).root == os.path.expanduser("~/b")
    monkeypatch.chdir(tmp_path)
    assert resolve({"BRAIN_HOME": "b/../c"}).root == str(tmp_path / "c")
    assert resolve({"BRAIN_INBOX_DIR": "~/notes"}).inbox == os.path.expanduser("~/notes")


def test_every_path_lies_below_the_root(tmp_path: Path) -> None:
    home = Home(str(tmp_path))
    for path in (home.index, home.state, home.logs, home.usage, home.inbox, home.path("a", "b")):
        assert path.startswith(f"{tmp_path}/")


def test_a_home_relative_to_a_folder_that_is_gone_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    with pytest.raises(BadInput, match="BRAIN_HOME is relative"):
        resolve({"BRAIN_HOME": "b"})
    with pytest.raises(BadInput, match="BRAIN_INBOX_DIR is relative"):
        resolve({"BRAIN_HOME": "/b", "BRAIN_INBOX_DIR": "i"})
    assert resolve({"BRAIN_HOME": "/b"}).root == "/b"


def test_a_home_of_no_user_is_refused() -> None:
    with pytest.raises(BadInput, match="names no user's folder"):
        resolve({"BRAIN_HOME": "~no-such-user-here/b"})


@pytest.mark.parametrize("path", ["file", "/dev/null"])
def test_a_home_that_is_no_folder_is_refused(tmp_path: Path, path: str) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(BadInput, match="is a file") as failure:
        resolve({"BRAIN_HOME": str(tmp_path / path)})
    assert failure.value.fix


def test_making_a_home_is_private_and_can_be_repeated(tmp_path: Path) -> None:
    home = Home(str(tmp_path / "deep" / "home"))
    before = os.umask(0)
    try:
        home.make()
        home.make()
    finally:
        os.umask(before)
    for folder in (tmp_path / "deep", home.root, home.state, home.logs):
        assert os.stat(folder).st_mode & 0o777 == 0o700


def test_a_folder_that_exists_keeps_its_mode(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a").chmod(0o755)
    make_private(str(tmp_path / "a" / "b"))
    assert (tmp_path / "a").stat().st_mode & 0o777 == 0o755


def test_a_place_that_cannot_be_written_is_an_input_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: str, mode: int = 0o777) -> None:
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr(os, "mkdir", refuse)
    with pytest.raises(BadInput, match="Permission denied") as failure:
        Home(str(tmp_path / "home")).make()
    assert "BRAIN_HOME" in failure.value.fix


def test_a_link_to_nowhere_in_the_way_is_named(tmp_path: Path) -> None:
    (tmp_path / "home").symlink_to(tmp_path / "nowhere")
    with pytest.raises(BadInput, match="not a folder"):
        Home(str(tmp_path / "home")).make()


def test_two_processes_may_make_one_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.mkdir

    def late(path: str, mode: int = 0o777) -> None:
        real(path, mode)
        raise FileExistsError(17, "File exists", path)

    monkeypatch.setattr(os, "mkdir", late)
    make_private(str(tmp_path / "home"))
    assert (tmp_path / "home").is_dir()


def test_what_ships_is_found_and_what_does_not_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert os.path.isfile(shipped("collections.yml"))
    with pytest.raises(BadInput, match="no-such-file"):
        shipped("no-such-file")
    monkeypatch.setattr(homes, "_ROOT", str(tmp_path))
    (tmp_path / "core" / "shipped").mkdir(parents=True)
    (tmp_path / "core" / "shipped" / "collections.yml").write_text("")
    assert shipped("collections.yml") == str(tmp_path / "core" / "shipped" / "collections.yml")
    assert checkout() is None
