from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qmd.index.facts import title


@pytest.mark.parametrize(
    ("text", "path", "expected"),
    [
        ("# One\n# Two", "a.md", "One"),
        ("intro\n## Second level\n# First level", "a.md", "Second level"),
        ("### Third level", "folder/stem.md", "stem"),
        ("# Notes\n## Real", "a.md", "Real"),
        ("# Notes", "a.md", "Notes"),
        ("#+title: Org\n", "a.org", "Org"),
        ("** Head\n", "a.org", "Head"),
        ("# Heading", "a.txt", "a"),
        ("", ".hidden", ".hidden"),
        ("", "a/b.c/noext", "noext"),
    ],
)
def test_a_title_is_the_first_heading_or_the_stem(text: str, path: str, expected: str) -> None:
    assert title(text, path) == expected


@given(st.text(), st.sampled_from(["a.md", "a.org", "a.txt", "a"]))
def test_every_document_has_a_title_of_one_line(text: str, path: str) -> None:
    found = title(text, path)
    assert found
    assert "\n" not in found
    assert found == found.strip()
