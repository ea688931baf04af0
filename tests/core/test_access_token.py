"""The token of a home's HTTP servers: one for all of them, and for its user alone."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from core import access_token
from core.home import Home


def test_a_home_has_one_token_that_only_its_user_can_read(home: Home) -> None:
    token = access_token.of(home)
    place = Path(access_token.path(home))
    assert len(token) > 40
    assert access_token.of(home) == token
    assert (place.stat().st_mode & 0o777, place.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    assert os.listdir(home.state) == [access_token.NAME]


def test_two_homes_have_different_tokens(home: Home, tmp_path: Path) -> None:
    assert access_token.of(home) != access_token.of(Home(str(tmp_path / "other")))


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o644])
def test_a_token_that_others_could_read_is_replaced(home: Home, mode: int) -> None:
    token = access_token.of(home)
    os.chmod(access_token.path(home), mode)
    assert access_token.of(home) != token
    assert os.stat(access_token.path(home)).st_mode & 0o777 == 0o600


def test_an_empty_file_is_no_token(home: Home) -> None:
    access_token.of(home)
    Path(access_token.path(home)).write_text("\n")
    assert len(access_token.of(home)) > 40


def test_servers_that_start_at_once_have_the_same_token(home: Home) -> None:
    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(lambda _: access_token.of(home), range(40)))) == 1
