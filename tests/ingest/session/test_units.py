"""Names are a pure function of the set of units."""

from __future__ import annotations

import re
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.session.units import assign, stem

A, B = "5f0c2a1e-aaaa", "7b1d3c2f-bbbb"


def test_a_session_keeps_its_bare_id_and_an_agent_its_files_stem() -> None:
    assert stem("5f0c2a1e-0000-4000-8000-00000000000a") == "5f0c2a1e-0000-4000-8000-00000000000a"
    assert stem("5f0c2a1e\ta881341") == "agent-a881341"


@pytest.mark.parametrize(
    "hostile", ["../../etc/passwd", "a/b", "", ".hidden", "x" * 5000, "naïve", "a\nb", "codex__1", "a."]
)
def test_a_hostile_id_becomes_a_slug_and_twelve_digits(hostile: str) -> None:
    assert re.fullmatch(r"[A-Za-z0-9-]{1,40}-[0-9a-f]{12}", stem(hostile))


def test_the_same_agent_id_under_two_sessions_is_told_apart_by_the_session() -> None:
    names = assign([f"{A}\tx1", f"{B}\tx1", f"{B}\tx2"])
    assert names == {
        f"{A}\tx1": "agent-x1__5f0c2a1e",
        f"{B}\tx1": "agent-x1__7b1d3c2f",
        f"{B}\tx2": "agent-x2",
    }


def test_ids_that_differ_only_in_case_do_not_meet_on_a_folding_file_system() -> None:
    names = assign(["abc", "ABC"])
    assert len({name.casefold() for name in names.values()}) == 2


def test_sessions_whose_first_digits_agree_fall_back_to_a_digest() -> None:
    names = assign(["12345678-a\tx", "12345678-b\tx"])
    assert all(re.fullmatch(r"agent-x-[0-9a-f]{12}", name) for name in names.values())
    assert len(set(names.values())) == 2


@given(st.sets(st.text(alphabet="abAB-_.\t/é1", max_size=12), max_size=12), st.randoms())
def test_names_are_safe_distinct_and_independent_of_order(units: set[str], random: Random) -> None:
    shuffled = list(units)
    random.shuffle(shuffled)
    names = assign(shuffled)
    assert names == assign(sorted(units))
    assert len({name.casefold() for name in names.values()}) == len(units)
    assert all(re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", name) and ".." not in name for name in names.values())
