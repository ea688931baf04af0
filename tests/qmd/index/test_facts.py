"""Facts: dates, fields and titles of documents."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.document import render
from core.jsonb import unpack
from qmd.index.derived import read, title
from tests.examples import examples

MTIME = 1_700_000_000


def _read(head: str) -> tuple[int, int, bool]:
    facts = read(f"---\n{head}\n---\nbody", MTIME)
    return facts.date, facts.ended, facts.dated


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        ("date: 2026-04-28T09:14:03Z\nended: 2026-04-28T10:00:00Z", (1777367643, 1777370400, True)),
        ("date: 2026-04-28", (1777334400, 1777334400, True)),
        ("ended: 2026-04-28", (1777334400, 1777334400, True)),
        ("created: 2026-04-28\nupdated: 2026-04-29", (1777334400, 1777420800, True)),
        ("date: 2026-04-28\nended: 2026-04-01", (1777334400, 1777334400, True)),
        ("date: 2026-04-28\ndate_source: mtime", (1777334400, 1777334400, False)),
        ("date: 1970-01-01", (0, 0, True)),
        ("title: x", (MTIME, MTIME, False)),
        ("date: soon", (MTIME, MTIME, False)),
        ("date: 2026-13-45", (MTIME, MTIME, False)),
        ("date: [2026-04-28]", (MTIME, MTIME, False)),
        ("date: 20260428", (MTIME, MTIME, False)),
        ("date: true", (MTIME, MTIME, False)),
    ],
)
def test_a_document_is_dated_by_its_own_frontmatter(head: str, expected: tuple[int, int, bool]) -> None:
    assert _read(head) == expected


def test_a_document_without_frontmatter_has_its_files_time() -> None:
    facts = read("plain text\ndate: 2026-01-01", MTIME)
    assert (facts.date, facts.ended, facts.dated, facts.fields) == (MTIME, MTIME, False, {})


@pytest.mark.parametrize(
    "head",
    [
        "a: !!timestamp x",
        "a: !!int ''",
        "a: !!bool x",
        "a: 0x" + "f" * 5000,
        "a: -0b" + "1" * 20_000,
        "a: 1" + "0" * 5000,
        "a: &a [*a]",
        "a: &a {b: *a}",
        "a: &a [x]\nb: &b [*a, *a]\nc: [*b, *b]",
        "a: " + "[" * 5000,
        'a: "\\ud800"',
        'a: "\\0"',
        "a: .nan\nb: .inf\nc: -.inf\nd: 1e999",
        "a: !!binary aGk=",
        "a: !!set {x}",
        "? {a: b}\n: c",
        "a: 2026-01-01\na: 2027-01-01",
    ],
)
def test_no_frontmatter_stops_the_index(head: str) -> None:
    facts = read(f"---\n{head}\n---\nbody", MTIME)
    assert unpack(facts.packed()) == facts.fields


@settings(max_examples=examples(200))
@given(st.text(st.characters() | st.sampled_from("-:[]{}&*!|>'\"\n #0x1"), max_size=80))
def test_any_frontmatter_has_facts(head: str) -> None:
    facts = read(f"---\n{head}\n---\nbody", MTIME)
    facts.packed()
    assert facts.date <= facts.ended


def test_scalars_and_flat_lists_are_kept_and_nested_values_are_not() -> None:
    meta: dict[str, Any] = {
        "text": "a",
        "number": 5,
        "big": 2**70,
        "real": 1.5,
        "yes": True,
        "flat": ["a", 1],
        "mixed": ["a", ["b"], {"c": "d"}],
        "nested": {"a": "b"},
    }
    fields = read(render(meta, "x").decode(), MTIME).fields
    assert fields == {
        "text": "a",
        "number": 5,
        "big": str(2**70),
        "real": 1.5,
        "yes": True,
        "flat": ["a", 1],
        "mixed": ["a"],
    }


def test_fields_are_bounded() -> None:
    meta: dict[str, Any] = {f"f{number}": "x" * 5000 for number in range(10)} | {"list": ["y"] * 500}
    meta |= {f"s{number}": number for number in range(200)}
    fields = read(render(meta, "x").decode(), MTIME).fields
    assert len(fields) == 64
    assert max(len(value) for value in fields.values() if isinstance(value, str)) == 2000
    assert len(fields["list"]) == 64


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
