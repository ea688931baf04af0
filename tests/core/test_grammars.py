from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core import grammars
from core.grammars import LANGUAGES


@pytest.mark.parametrize(
    "text", ["(" * 60_000, "x = 1\n" + "(" * 60_000, "def f():\n    pass\n\n" + "@(" * 60_000], ids=len
)
def test_a_heap_of_signs_is_a_tangle_wherever_it_stands(text: str) -> None:
    assert grammars.is_tangled(grammars.parser("python").parse(text.encode()).root_node)


@pytest.mark.parametrize(
    "text",
    [
        "(" * 1000,
        "x = [\n" + "1,\n" * 60_000 + "]]\n",
        "def f():\n    return (1\n\n" + "def g():\n    pass\n" * 5000,
        "x = " + "1 + " * 20_000 + "1\n",
        "".join(f"def f{n}(:\n    pass\n" for n in range(5000)),
    ],
    ids=["a few", "a table with an error", "a bracket that is open", "a long sum", "an error in each function"],
)
def test_code_with_errors_is_none(text: str) -> None:
    assert not grammars.is_tangled(grammars.parser("python").parse(text.encode()).root_node)


@given(st.binary(max_size=300), st.sampled_from(sorted(set(LANGUAGES.values()))))
def test_the_bound_counts_what_lies_in_errors_and_nothing_else(data: bytes, language: str) -> None:
    root = grammars.parser(language).parse(data).root_node
    nodes, pairs = [root], 0
    while nodes:
        node = nodes.pop()
        pairs += node.child_count**2 if node.type == "ERROR" else 0
        nodes += node.children
    most, grammars.MOST_TANGLED = grammars.MOST_TANGLED, pairs
    try:
        assert not grammars.is_tangled(root)
        if pairs:
            grammars.MOST_TANGLED = pairs - 1
            assert grammars.is_tangled(root)
    finally:
        grammars.MOST_TANGLED = most
