"""A rule covers a folder and all below it, however either is spelled."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.policy.exclusions import Globs


@pytest.mark.parametrize(
    ("rule", "path"),
    [
        ("/c/acme", "/c/acme"),
        ("/c/acme", "/c/acme/"),
        ("/c/acme/", "/c/acme"),
        ("/c/acme", "/c/acme/api/deep"),
        ("/c/acme", "/c/web/../acme/api"),
        ("/c/*", "/c/acme/api"),
        ("/c/a?me/**", "/c/acme/api"),
        ("*/acme", "/c/acme/api"),
        ("acme", "/c/acme/api"),
        ("ac*", "/c/acme/api"),
        ("c/acme", "/home/c/acme/api"),
        ("/c/[id]", "/c/[id]/page"),
        ("/c/[ab]", "/c/a/page"),
        ("acme", "acme"),
    ],
)
def test_a_rule_covers_what_it_names_and_all_below(rule: str, path: str) -> None:
    assert Globs([rule]).covering(path) == (rule.rstrip("/"),)


@pytest.mark.parametrize(
    ("rule", "path"),
    [
        ("/c/acme", "/c/acme-other"),
        ("/c/acme", "/c"),
        ("/c/acme", "/c/ACME"),
        ("/c/acme", ""),
        ("acme", "/c/acme-other/api"),
        ("c/acme", "/home/c/web/acme"),
        ("/", "/c/acme"),
    ],
)
def test_a_rule_covers_nothing_beside_it(rule: str, path: str) -> None:
    assert Globs([rule]).covering(path) == ()


def test_a_link_and_the_folder_it_leads_to_are_one(tmp_path: Path) -> None:
    (tmp_path / "real" / "api").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "real")
    real, link = str(tmp_path / "real"), str(tmp_path / "link")
    assert Globs([link]).covering(f"{real}/api") == (link,)
    assert Globs([real]).covering(f"{link}/gone/deep") == (real,)
    assert Globs([f"{link}/a*"]).covering(f"{real}/api/x") == (f"{link}/a*",)
    assert Globs([f"{link}/api"]).covering(f"{real}/web") == ()


def test_a_home_is_written_with_a_tilde(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/me")
    assert Globs(["~/acme/"]).covering("/home/me/acme/api") == ("/home/me/acme",)


@given(st.text(max_size=40), st.text(max_size=40))
def test_any_rule_is_compared_with_any_path(rule: str, path: str) -> None:
    assert Globs([rule]).covering(path) in ((), Globs([rule]).given)


@pytest.mark.parametrize("path", ["/c/\ud800/x", "/c/\0/x", "/" + "a/" * 100_000])
def test_a_path_that_no_system_has_is_compared_as_written(path: str) -> None:
    assert Globs(["/c", "a"]).covering(path) in (("/c",), ("a",))
