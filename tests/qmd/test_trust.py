"""Approval of what a checked-in configuration asks for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from qmd import trust
from qmd.settings import Config, Settings
from qmd.vectors.models import DEFAULTS


@pytest.fixture
def local(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    for name in ("QMD_TRUST_LOCAL_CONFIG", "QMD_TRUST_UPDATE_HOOKS"):
        monkeypatch.delenv(name, raising=False)
    project = tmp_path / "project" / ".qmd"
    project.mkdir(parents=True)
    return Settings(str(project / "index.yml"), "", "index", str(tmp_path / "config"), "")


def config(**entry: Any) -> Config:
    return Config({"collections": {"docs": {"path": "doc", **entry}}})


@pytest.mark.parametrize(
    "entry", [{"update": "make"}, {"path": "/etc"}, {"path": "../other"}, {"path": "~/x"}, {"path": "doc/../../other"}]
)
def test_what_reaches_out_of_the_project_needs_approval(local: Settings, entry: dict[str, str]) -> None:
    asked = config(**entry)
    assert not trust.is_approved(local, asked)
    trust.approve(local, asked)
    assert trust.is_approved(local, asked)
    assert trust.revoke(local)
    assert not trust.revoke(local)
    assert not trust.is_approved(local, asked)


def test_what_stays_inside_needs_none(local: Settings) -> None:
    assert trust.is_approved(local, config())
    assert trust.is_approved(local, Config({"collections": {}, "models": dict(DEFAULTS)}))
    assert not trust.is_approved(local, Config({"models": {"embed": "hf:someone/else/m.gguf"}}))


def test_any_change_asks_again(local: Settings) -> None:
    trust.approve(local, config(update="make"))
    assert trust.is_approved(local, config(update="make", pattern="*.txt"))
    assert not trust.is_approved(local, config(update="make; rm -rf /"))
    assert not trust.is_approved(local, config(update="make", path="/"))


def test_a_symlink_inside_may_lead_out(local: Settings, tmp_path: Path) -> None:
    (tmp_path / "project" / "doc").symlink_to("/etc")
    assert not trust.is_approved(local, config())


def test_the_users_own_configuration_is_never_gated(tmp_path: Path) -> None:
    own = Settings(str(tmp_path / "qmd" / "index.yml"), "", "index", str(tmp_path), "")
    assert trust.is_approved(own, config(update="make", path="/etc"))
    trust.approve(own, config(update="make"))
    assert trust.approved(own) == []


@pytest.mark.parametrize(
    ("name", "value", "approved"),
    [
        ("QMD_TRUST_LOCAL_CONFIG", "1", True),
        ("QMD_TRUST_UPDATE_HOOKS", "yes", True),
        ("QMD_TRUST_LOCAL_CONFIG", "0", False),
        ("QMD_TRUST_LOCAL_CONFIG", "No", False),
        ("QMD_TRUST_LOCAL_CONFIG", "", False),
    ],
)
def test_the_environment_may_approve_of_everything(
    local: Settings, monkeypatch: pytest.MonkeyPatch, name: str, value: str, approved: bool
) -> None:
    monkeypatch.setenv(name, value)
    assert trust.is_approved(local, config(update="make")) == approved


@pytest.mark.parametrize("record", ["", "[]", "{", '{"x": 1}'])
def test_a_record_that_cannot_be_read_approves_nothing(local: Settings, record: str) -> None:
    Path(local.config_dir).mkdir()
    (Path(local.config_dir) / trust.FILE).write_text(record.replace("x", local.config_path))
    assert not trust.is_approved(local, config(update="make"))
    trust.approve(local, config(update="make"))
    assert trust.is_approved(local, config(update="make"))
