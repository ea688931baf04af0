"""Arguments of tools: defaults, and faults said in qmd's words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qmd.mcp.server import check
from qmd.mcp.tools import TOOLS

QUERY = TOOLS["query"].schema
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


def test_what_is_not_given_has_its_default_and_what_is_unknown_is_left_out() -> None:
    values, wrong = check("query", QUERY, {"query": "tide", "colour": "blue"})
    assert wrong == ""
    assert values == {"query": "tide", "limit": 10, "minScore": 0, "rerank": True}


@pytest.mark.parametrize(
    ("given_", "fault"),
    [
        (
            {"searches": [{"type": "x", "query": "a"}]},
            'searches.0.type: Invalid option: expected one of "lex"|"vec"|"hyde"',
        ),
        ({"searches": [{"type": "lex"}]}, "searches.0.query: Invalid input: expected string, received undefined"),
        ({"searches": "a"}, "searches: Invalid input: expected array, received string"),
        ({"searches": [1]}, "searches.0: Invalid input: expected object, received number"),
        ({"searches": [{"type": "lex", "query": "a"}] * 11}, "searches: Too big: expected array to have <=10 items"),
        ({"query": 5}, "query: Invalid input: expected string, received number"),
        ({"query": None}, "query: Invalid input: expected string, received null"),
        ({"limit": True}, "limit: Invalid input: expected number, received boolean"),
    ],
)
def test_a_fault_names_the_argument_and_what_was_expected(given_: dict[str, object], fault: str) -> None:
    assert check("query", QUERY, given_) == ({}, f"Input validation error: Invalid arguments for tool query: {fault}")


def test_every_fault_is_named() -> None:
    _, wrong = check("get", TOOLS["get"].schema, {"maxLines": "1"})
    assert "file: " in wrong
    assert "maxLines: " in wrong


@given(st.sampled_from(sorted(TOOLS)), st.dictionaries(st.sampled_from(["query", "searches", "limit", "file"]), JSON))
def test_no_arguments_make_the_check_fail(tool: str, given_: dict[str, object]) -> None:
    values, wrong = check(tool, TOOLS[tool].schema, given_)
    assert not (values and wrong)
