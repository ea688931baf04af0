from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from core import document, document_yaml
from core.document import Document, Timestamp, render, split
from core.text import clean, encodable
from tests.examples import examples

_ANY = st.text(st.characters(exclude_categories=[]) | st.sampled_from("-:#\n\r\t\"'|>&*!%@`{}[],? \x85\u2028\ud800"))
_SCALARS = "null ~ yes no on = << 1e3 0x1F 0o7 012 1_000 1:30 190:20:30.15 .inf .nan 2026-01-01 2026-04-28T09:14:03Z"
_SIGNS = "--- ... &a *a | > ' \" \\ !!str %YAML"
_LINES = """--- x
- a
? b
: c
a: b
# c
{a: b}
[a]
!!python/object:os.system x
!!timestamp x
%YAML 1.1"""
_BLOCKS = ("a:\n  b", "\n---\nfake: 1\n---\n", "x\n---\nfake: 1", "|-\n x", " leading", "trailing ", "\ttab", "a\x85b")
_SPECIAL = st.sampled_from(
    [*_SCALARS.split(), *_SIGNS.split(), *_LINES.split("\n"), *_BLOCKS, "a\u2028b", "\ufeffbom", "", "\x1b[31m"]
)
_PAYLOAD = _ANY | _SPECIAL
_VALUE: st.SearchStrategy[Any] = (
    _PAYLOAD | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.lists(_PAYLOAD, max_size=4)
)


def _read_back(meta: dict[str, Any], body: str) -> tuple[dict[str, Any], str]:
    return split(render(meta, body).decode())


def _expected(value: Any) -> Any:
    return (
        [clean(item) for item in value]
        if isinstance(value, list)
        else clean(value)
        if isinstance(value, str)
        else value
    )


@given(st.lists(_VALUE, max_size=6), _PAYLOAD)
@example(["x\n---\nfake: 1"], "---\nfake: 1\n---\nbody")
def test_no_payload_adds_or_changes_a_field(values: list[Any], body: str) -> None:
    meta = {f"field_{number}": value for number, value in enumerate(values)}
    read, text = _read_back({**meta, "last": "end"}, body)
    kept = {name: _expected(value) for name, value in meta.items() if value not in (None, "", [])}
    assert read == {**kept, "last": "end"}
    assert list(read) == [*kept, "last"]
    assert text == encodable(body).rstrip().lstrip("\n") + "\n" or (text == "" and not encodable(body).strip())


@given(_PAYLOAD, _PAYLOAD)
def test_no_key_breaks_out_of_its_field(key: str, value: str) -> None:
    read, _ = _read_back({key: value or "x", "last": "end"}, "body")
    assert set(read) == {clean(key), "last"}


@given(st.dictionaries(st.text(st.characters(categories=["L", "N"]), min_size=1), _VALUE, max_size=5), _PAYLOAD)
def test_the_same_fields_and_body_are_the_same_bytes(meta: dict[str, Any], body: str) -> None:
    assert Document("a.md", meta, body).render() == render(dict(meta), body)


@given(_PAYLOAD)
@settings(max_examples=examples(300))
def test_any_text_can_be_split(text: str) -> None:
    for whole in (text, f"---\n{text}\n---\nbody"):
        meta, body = split(whole)
        assert isinstance(meta, dict)
        assert meta or body == whole or body == whole[8:].lstrip("\n") or "{}" in whole or not text.strip()


@pytest.mark.parametrize(
    "head",
    [
        "a: !!timestamp x",
        "a: !!int ''",
        "a: !!bool x",
        "a: !!float ''",
        "a: &a [*b]",
        "[" * 3000,
        "? [a]\n: b",
        "a: !!python/object:os.system x",
        "- a",
        "a",
        "a: \x00",
        "<<: 1",
    ],
)
def test_frontmatter_that_does_not_hold_is_body(head: str) -> None:
    text = f"---\n{head}\n---\nbody"
    assert split(text) == ({}, text)


def test_instants_stand_unquoted_and_other_text_that_looks_like_one_does_not() -> None:
    text = render({"date": Timestamp("2026-04-28T09:14:03Z"), "title": "2026-04-28T09:14:03Z"}, "").decode()
    assert text.splitlines()[1:3] == ["date: 2026-04-28T09:14:03Z", "title: '2026-04-28T09:14:03Z'"]
    assert split(text)[0] == {"date": "2026-04-28T09:14:03Z", "title": "2026-04-28T09:14:03Z"}


def test_empty_fields_are_left_out_and_falsy_ones_are_not() -> None:
    assert split(render({"a": None, "b": "", "c": [], "d": 0, "e": False}, "x").decode())[0] == {"d": 0, "e": False}


def test_a_long_title_stays_on_its_line() -> None:
    text = render({"title": "word " * 2000 + "end"}, "x").decode()
    assert text.count("\n") == 5
    assert len(split(text)[0]["title"]) == 10_003


@pytest.mark.parametrize("text", ["---\r\na: 1\r\n---\r\nbody", "---  \na: 1\n---  \nbody", "---\na: 1\n---\n\n\nbody"])
def test_frontmatter_of_other_editors_is_read(text: str) -> None:
    assert split(text) == ({"a": 1}, "body")


@pytest.mark.parametrize(
    "text", ["", "---", "--- x\na: 1\n---\n", "----\na: 1\n----\n", "---\na: 1\n", "\n---\na: 1\n---\n"]
)
def test_what_is_no_frontmatter_is_body(text: str) -> None:
    assert split(text) == ({}, text)


@pytest.mark.parametrize("line", ["---x\n", "--- a\n", "a: b\n", "\n", "----\n", f"---{' ' * 1000}x\n"])
def test_looking_for_frontmatter_is_linear_in_the_text(line: str) -> None:
    text = "---\n" + line * (2_000_000 // len(line))
    started = time.process_time()
    assert document.bounds(text) is None
    assert time.process_time() - started < 2  # 50 ms; the square of the length would take hours


_PLAIN = st.text("ab eno79-.:#'/_,?(é“中", min_size=1, max_size=12)


@given(
    st.dictionaries(
        st.text("abon_19:", min_size=1, max_size=5) | _PAYLOAD,
        _VALUE
        | _PLAIN
        | st.lists(_PLAIN, max_size=3)
        | st.builds(Timestamp, st.just("2026-04-28T09:14:03Z") | _PAYLOAD),
        max_size=4,
    )
)
@settings(max_examples=examples(1000))
def test_what_is_written_without_the_yaml_library_is_what_it_writes(fields: dict[str, Any]) -> None:
    written = document.block(fields)
    assert written is None or written == document_yaml.dump(fields)


_FIELD = st.builds("{}: {}".format, st.text("abon_19:", min_size=1, max_size=5), _PLAIN | _PAYLOAD)
_LINE = _FIELD | st.builds("- {}".format, _PLAIN | _PAYLOAD) | st.sampled_from(["a:", "b:", "", "  c: d", "- ", "x"])


@given(st.lists(_LINE, max_size=5), st.sampled_from(["", "\n"]))
@settings(max_examples=examples(1000))
@example(["a: '' 'b'"], "")
@example(["a: '"], "")
@example(["a: ''"], "")
@example(["a: '''"], "")
@example(["a: ''''"], "")
@example(["a: 'b"], "")
@example(["a: ²"], "")
@example(["a: \u0661"], "")
@example(["a:", "- b", "a: c"], "")
def test_what_is_read_without_the_yaml_library_is_what_it_reads(lines: list[str], end: str) -> None:
    head = "\n".join(lines) + end
    found = document.read(head)
    assert found is None or repr(found) == repr(document_yaml.load(head))


@given(st.sampled_from([*_SCALARS.split(), *_SIGNS.split(), *_LINES.split("\n"), *_BLOCKS]), _PLAIN)
def test_nor_do_words_that_mean_something_to_yaml_differ(word: str, more: str) -> None:
    for value in (word, word.upper(), word.title(), f"{word}{more}", f"{more} {word}", f"{word}: {more}", f"{word} #x"):
        written = document.block({"field": value})
        assert written is None or written == document_yaml.dump({"field": value})
        for head in (f"field: {value}", f"field: '{value}'", f"field:\n- {value}"):
            found = document.read(head)
            assert found is None or repr(found) == repr(document_yaml.load(head))


@pytest.mark.parametrize(
    "value",
    [
        "5f0c1c2e-0000-4000-8000-000000000000",
        "2.1.98",
        "2026-04-28",
        "26/85802/45555/10",
        "20261128T020201Z-23752e31",
        "/home/me/a b",
        "Fix: the gate",
        "Wie geht’s?",
        "3 things",
        7,
    ],
)
def test_common_fields_need_no_yaml_library(value: object) -> None:
    written = document.block({"field": value, "list": [value]})
    assert written == document_yaml.dump({"field": value, "list": [value]})
    assert document.read(written) == {"field": value, "list": [value]}
