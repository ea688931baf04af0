"""The team's store: a password in the configuration is refused, collections are private until they are shared."""

from __future__ import annotations

from pathlib import Path

import pytest

from core import config, config_yaml
from core.engine import is_dsn, is_space
from core.errors import BadInput
from core.home import Home

_ENGINE = "engine: {kind: postgres, dsn: 'postgresql://mira@db/brain', space: platform}\n"


def _config(home: Home, text: str) -> config.Config:
    Path(home.path(config.FILE)).write_text(text)
    return config.load(home)


@pytest.mark.parametrize(
    ("dsn", "accepted"),
    [
        ("postgresql://mira@db/brain", True),
        ("postgres://mira@a:5432,b:5433/brain?sslmode=verify-full", True),
        ("postgresql:///brain?host=/run/postgresql", True),
        ("host=db user=mira dbname=brain", True),
        ("postgresql://mira:hunter2@db/brain", False),
        ("postgresql://mira:@db/brain", True),
        ("postgresql://db/brain?password=hunter2", False),
        ("postgresql://db/brain?sslpassword=hunter2", False),
        ("host=db password=hunter2", False),
        ("host=db PassWord = 'hunter2'", False),
        ("postgresql://mira@db/brain?pass%77ord=hunter2", False),
        ("mysql://mira@db/brain", False),
        ("postgresql://mira@db/\x1b[0m", False),
    ],
)
def test_a_dsn_has_no_password(dsn: str, accepted: bool) -> None:
    assert is_dsn(dsn) is accepted


def test_a_space_has_a_plain_name() -> None:
    names = ("team-1_a", "Team", "1a", "a b", "", "é", "a" * 41)
    assert [name for name in names if is_space(name)] == ["team-1_a"]


def test_a_collection_is_private_until_it_is_shared(home: Home) -> None:
    found = _config(
        home,
        "collections: {a: , b: {share: private}, c: {share: team}, d: {share: [leo, ops]}, e: {share: [team, leo]}}",
    )
    assert [each.share for each in found.collections.values()] == [(), (), ("team",), ("leo", "ops"), ("team", "leo")]
    assert found.engine is None


@pytest.mark.parametrize("share", ["everybody", "[private, leo]", "true", "['']", "[1]", "{leo: true}"])
def test_a_share_that_is_none_is_refused(home: Home, share: str) -> None:
    with pytest.raises(BadInput, match="share must be private, team, or a list"):
        _config(home, f"collections: {{a: {{share: {share}}}}}")


@pytest.mark.parametrize(
    "engine",
    [
        "{kind: mysql, dsn: 'postgresql://db/x', space: a}",
        "{kind: postgres, dsn: 'postgresql://mira:hunter2@db/x', space: a}",
        "{dsn: 'postgresql://db/x'}",
        "{dsn: 'postgresql://db/x', space: A}",
        "{dsn: 'postgresql://db/x', space: a, password: hunter2}",
    ],
)
def test_an_engine_that_is_not_valid_is_refused_without_its_password(home: Home, engine: str) -> None:
    with pytest.raises(BadInput) as refused:
        _config(home, f"collections: {{a: }}\nengine: {engine}")
    assert "hunter2" not in f"{refused.value} {refused.value.fix}"


def test_the_environment_goes_before_the_file(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    text = f"collections: {{a: }}\n{_ENGINE}".replace("platform}", "platform, evidence: [leo]}")
    found = _config(home, text).engine
    assert found is not None
    assert (found.kind, found.dsn) == ("postgres", "postgresql://mira@db/brain")
    assert (found.space, found.member, found.evidence) == ("platform", "mira", ("leo",))
    monkeypatch.setenv("BRAIN_ENGINE", "postgresql://o%27hara@other/brain?host=%2Frun#ops")
    found = config.load(home).engine
    assert found is not None
    assert (found.member, found.space) == ("o'hara", "ops")
    monkeypatch.setenv("BRAIN_ENGINE", "off")
    assert config.load(home).engine is None
    monkeypatch.setenv("BRAIN_ENGINE", "postgresql://mira:hunter2@other/brain#ops")
    with pytest.raises(BadInput) as refused:
        config.load(home)
    assert "hunter2" not in str(refused.value)


def test_the_shipped_configuration_shares_nothing() -> None:
    shipped = config_yaml.parse(str(Path(__file__).resolve().parents[2] / "collections.yml"))
    assert not any((entry or {}).get("share") for entry in shipped["collections"].values())


def test_the_fix_of_a_share_that_is_no_list_shows_the_collection_to_nobody_more(tmp_path: Path) -> None:
    file = tmp_path / "collections.yml"
    file.write_text("collections:\n  brain: {path: brain, share: leo}\n")
    with pytest.raises(BadInput) as refused:
        config_yaml.parse(str(file))
    assert refused.value.fix == "share: [NAME]"
