"""Input and output pairs observed on the real qmd 2.8.3."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from qmd.index import facts, terms, walk
from qmd.search import lex

_OURS: dict[str, Callable[..., Any]] = {
    "buildFTS5Query": lex.match_expression,
    "extractTitle": facts.title,
    "normalizeCjkForFTS": terms.spaced_out,
    "splitGlobMask": walk.split_mask,
}

# qmd 2.8.3 deletes the marks between words that were typed apart and asks for one long word, which FTS5's tokenizer,
# which splits at the same marks, has never put into the index: no document can match. Ours asks for the words in order.
_DIFFERENT = {
    "e-mail@x.com": '"e mail x com"',
    "path/to/file.md": '"path to file md"',
    "NEAR(a b)": '"near a" AND "b"*',
    "col:val": '"col val"',
    "1.2.": '"1 2"',
    '"multi-agent"': '"multi agent"',
}


@pytest.fixture(scope="module")
def pairs(shared: Path) -> dict[str, list[dict[str, Any]]]:
    """The pairs by function."""
    found: dict[str, list[dict[str, Any]]] = json.loads((shared / "reference" / "qmd-vectors.json").read_text())
    return found


@pytest.mark.parametrize("name", _OURS)
def test_what_qmd_answers_is_what_we_answer(pairs: dict[str, list[dict[str, Any]]], name: str) -> None:
    assert pairs[name]
    for pair in pairs[name]:
        ours = _OURS[name](*pair["in"])
        if name == "buildFTS5Query" and pair["in"][0] in _DIFFERENT:
            assert ours == _DIFFERENT[pair["in"][0]] != pair["out"]
        else:
            assert ours == pair["out"], pair["in"]


def test_every_difference_is_one_that_qmd_was_asked_about(pairs: dict[str, list[dict[str, Any]]]) -> None:
    assert set(_DIFFERENT) <= {pair["in"][0] for pair in pairs["buildFTS5Query"]}
