"""What stands between tags is taken out, also over the parts of a message."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.redaction import clean_record, may_span, private, redact


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("Keep <private>not this</private> and that.", "Keep  and that."),
        ("Up to <PRIVATE>here\nand all that follows", "Up to "),
        ("<private>a</private>b<private>c</private>", "b"),
        ("x <private>a <private>b</private> c</private> y", "x  y"),
        ("x <private>a <private>b</private> y", "x  y"),
        ("x <private>a</private> y </private> z", "x  y  z"),
        ("begun before</private> y", " y"),
        ("a</private> b</private> y <private>c", " y "),
        ("x <private >a</private > y <private reason='z'>b</PRIVATE>", "x  y "),
        ("x <private>a<\\/private> y", "x  y"),
        ("a <private key> and <privateer>", "a <private key> and <privateer>"),
    ],
)
def test_private_spans_are_taken_out(text: str, kept: str) -> None:
    assert redact(text)[0] == kept


def test_a_private_span_goes_over_the_parts_of_one_message() -> None:
    parts = ["x <private>a", "b", "c</private> y <private>d</private> z", "e"]
    value = {"content": [{"type": "text", "text": part} for part in parts]}
    counts: dict[str, int] = {}
    cleaned = clean_record(json.dumps(value).encode(), value, counts)
    assert [part["text"] for part in cleaned["content"]] == ["x ", "", " y  z", "e"]
    assert counts == {"private": 2}
    assert value["content"][0]["text"] == parts[0]


@pytest.mark.parametrize(
    "parts",
    [
        ["x", "b</private> y"],
        ["x <private>a</private>", "b"],
    ],
)
def test_a_span_of_one_part_leaves_the_others_alone(parts: list[str]) -> None:
    value = [{"type": "text", "text": part} for part in parts]
    cleaned = clean_record(json.dumps(value).encode(), value, {})
    assert [part["text"] for part in cleaned] == [redact(part)[0] for part in parts]


def test_a_span_without_an_end_hides_the_rest_of_its_message_and_no_other_message() -> None:
    parts = [{"type": "text", "text": part} for part in ("x <private>a", "b", "c")]
    other = {"role": "user", "content": [{"type": "text", "text": "d"}]}
    messages = [{"role": "user", "content": parts}, other]
    cleaned = clean_record(json.dumps(messages).encode(), messages, {})
    assert [part["text"] for part in cleaned[0]["content"]] == ["x ", "", ""]
    assert cleaned[1] == other
    texts = [{"text": "x <private>a"}, {"text": "b"}]  # what these are is not known
    assert clean_record(json.dumps(texts).encode(), {"bubbles": texts}, {}) == {
        "bubbles": [{"text": "x "}, {"text": "b"}]
    }


def _across_slowly(texts: list[str], *, to_end: bool) -> list[str]:
    """What ``private.across`` does, each beginning compared with all that follows it."""
    kept = list(texts)
    for start in range(len(kept)):
        tags = list(private.TAG.finditer(kept[start]))
        if not tags or not tags[-1]["open"]:
            continue
        rest = [list(private.TAG.finditer(text)) for text in texts]
        end = next((number for number in range(start + 1, len(texts)) if rest[number]), None)
        if end is None:
            if to_end:
                kept[start + 1 :] = [""] * (len(kept) - start - 1)
        elif not rest[end][0]["open"]:
            kept[start] += "</private>"
            kept[start + 1 : end] = [""] * (end - start - 1)
            kept[end] = texts[end][rest[end][0].end() :]
    return kept


_TAGGED = st.lists(st.sampled_from(["<private>", "</private>", "a", " <PRIVATE >b", "c<\\/private>"]), max_size=4).map(
    "".join
)


@given(st.lists(_TAGGED, max_size=8), st.booleans())
def test_spans_over_parts_are_those_of_a_comparison_of_all_with_all(texts: list[str], to_end: bool) -> None:
    assert (private.across(texts, to_end=to_end) or texts) == _across_slowly(texts, to_end=to_end)


@pytest.mark.parametrize("part", ["<private>", "</private>", "a", "<private>a</private><private>"])
def test_a_message_of_many_parts_is_looked_through_once(part: str, monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[int] = []

    class Counted:
        def finditer(self, text: str) -> Any:
            looked.append(len(text))
            return tag.finditer(text)

    tag = private.TAG
    monkeypatch.setattr(private, "TAG", Counted())
    texts = [part] * 3000
    private.across(texts)
    assert sum(looked) <= 2 * sum(map(len, texts))
    assert len(looked) <= 2 * len(texts)


@pytest.mark.parametrize(
    "document",
    [
        "walrus <PrIvAtE>\nits diagnosis\n</PrIvAtE> ends",
        "walrus <Private reason=1>\nits diagnosis\n</Private > ends",
        "walrus\nits diagnosis\n<\\/pRivate>",
        "PuTTY-User-Key-File-3: ssh-rsa\nPrivate-Lines: 1\n" + "aB3+" * 16 + "\nPrivate-MAC: " + "a1" * 20,
        "env:\n  - name: DB_PASSWORD\n    value: Tr0ub4dor-and-3x\n",
        '{\n"kty": "RSA",\n"d": "' + "aB3dE5" * 12 + '"\n}',
    ],
    ids=["case", "attribute", "end", "putty", "name and value", "jwk"],
)
def test_a_document_of_which_a_piece_may_hide_what_the_whole_tells_is_known(document: str) -> None:
    assert redact(document)[0] != document
    assert may_span(document)


def test_a_document_that_hides_nothing_is_not_cleaned_for_its_pieces() -> None:
    assert not may_span("the private key idea, of 3 < 4 in /private/tmp")
    assert not may_span("name: walrus\nvalue: 7")
