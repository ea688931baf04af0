"""Where configuration and index lie, and what the configuration says."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core.errors import BadInput, Refused
from qmd import config_file
from qmd.settings import Config, find_local, folder, index_name, is_local, locate
from tests.examples import examples


@pytest.mark.parametrize(
    ("environ", "config", "database"),
    [
        ({}, "~/.config/qmd/index.yml", "~/.cache/qmd/index.sqlite"),
        ({"XDG_CONFIG_HOME": "/c", "XDG_CACHE_HOME": "/k"}, "/c/qmd/index.yml", "/k/qmd/index.sqlite"),
        ({"XDG_CONFIG_HOME": "/c", "QMD_CONFIG_DIR": "/q"}, "/q/index.yml", "~/.cache/qmd/index.sqlite"),
        ({"INDEX_PATH": "/i.db", "XDG_CACHE_HOME": "/k"}, "~/.config/qmd/index.yml", "/i.db"),
    ],
)
def test_the_environment_says_where(
    environ: dict[str, str], config: str, database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", "/home/u")
    monkeypatch.chdir(tmp_path)
    found = locate("", environ)
    assert (found.config_path, found.database) == (config.replace("~", "/home/u"), database.replace("~", "/home/u"))
    assert locate("work", environ).config_path.endswith("/work.yml")


def test_a_projects_folder_is_found_from_below_unless_an_index_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    below = tmp_path / "a" / "b"
    below.mkdir(parents=True)
    (tmp_path / ".qmd").mkdir()
    assert find_local(str(below)) is None
    for name in ("index.yml", "index.yaml"):
        (tmp_path / ".qmd" / name).write_text("")
        assert find_local(str(below)) == str(tmp_path / ".qmd" / name)
    monkeypatch.chdir(below)
    found = locate("", {"INDEX_PATH": "/elsewhere"})
    assert found.local
    assert found.database == str(tmp_path / ".qmd" / "index.sqlite")
    assert folder(found, "doc") == str(tmp_path / "doc")
    assert not locate("work", {}).local
    assert not is_local("/x/qmd/index.yml")


def test_a_path_names_an_index_by_its_absolute_form(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert index_name("a/b") == f"{tmp_path}/a/b".replace("/", "_")[1:]
    assert (index_name(""), index_name("work")) == ("index", "work")


def test_an_editors_template_has_four_names() -> None:
    for key in ("editor_uri", "editor_uri_template", "editorUri", "editor-uri"):
        assert Config({key: " vim://{path} "}).editor_uri == "vim://{path}"
    assert Config({"editor_uri": 3}).editor_uri == ""


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("yes", "yes"),
        ("2024-01-01", "2024-01-01"),
        ("0o17", 15),
        ("017", 17),
        ("12:30", "12:30"),
        ("~", None),
        ("1e3", 1000.0),
    ],
)
def test_values_are_yaml_1_2s(tmp_path: Path, text: str, value: object) -> None:
    (tmp_path / "i.yml").write_text(f"x: {text}\n")
    assert config_file.load(str(tmp_path / "i.yml")) == {"x": value}


@pytest.mark.parametrize("text", ["[", "- a\n", "a: b: c", "\t", "a: 1\na: 2\n", "a: !!python/object:os.system x"])
def test_what_is_no_configuration_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "i.yml").write_text(text)
    with pytest.raises(BadInput, match="Failed to parse"):
        config_file.load(str(tmp_path / "i.yml"))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=examples(60), deadline=None)
@given(name=st.text("ab:#-'\" é{", min_size=1, max_size=8), text=st.text("ab:#-'\" \né{%&*!", max_size=12))
def test_what_is_written_is_read_back(tmp_path: Path, name: str, text: str) -> None:
    path = tmp_path / "i.yml"
    path.unlink(missing_ok=True)

    def edit(data: dict[str, object]) -> None:
        data["collections"] = {name: {"path": config_file.quoted(text), "context": {text: config_file.quoted(name)}}}

    config_file.change(str(path), edit)
    assert config_file.load(str(path)) == {"collections": {name: {"path": text, "context": {text: name}}}}


@pytest.mark.parametrize("name", [".qmd/index.sqlite", ".qmd/index.sqlite-wal"])
def test_a_projects_index_is_no_symlink_unless_the_environment_approves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    for variable in ("QMD_TRUST_LOCAL_CONFIG", "QMD_TRUST_UPDATE_HOOKS"):
        monkeypatch.delenv(variable, raising=False)
    (tmp_path / ".qmd").mkdir()
    (tmp_path / ".qmd" / "index.yml").write_text("collections: {}\n")
    monkeypatch.chdir(tmp_path)
    assert locate().local
    (tmp_path / name).symlink_to("/nowhere/private.sqlite")
    with pytest.raises(Refused, match="is a symlink"):
        locate()
    monkeypatch.setenv("QMD_TRUST_LOCAL_CONFIG", "1")
    assert locate().local
