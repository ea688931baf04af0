"""Private spans are taken out, also over the parts of a message."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.redaction import clean_record, policy_of, private, redact


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("Keep <private>not this</private> and that.", "Keep  and that."),
        ("Up to <PRIVATE>here\nand all that follows", "Up to "),
        ("<private>a</private>b<private>c</private>", "b"),
        ("x <private>a <private>b</private> c</private> y", "x  y"),
        ("x <private>a <private>b</private> y", "x "),
        ("x <private>a</private> y </private> z", "x  y  z"),
        ("begun before</private> y", " y"),
        ("a</private> b</private> y <private>c", " y "),
        ("x <private >a</private > y <private reason='z'>b</PRIVATE>", "x  y "),
        ("x <private>a<\\/private> y", "x  y"),
        ("x < private >a</ private > y", "x  y"),
        ("x <\nPrivate\n>a<\n/private> y", "x  y"),
        ("x &lt;private&gt;a&lt;/private&gt; y", "x  y"),
        ("x &lt;private why=b&gt;a&lt;/private&gt; y&lt;/p&gt;", "x  y&lt;/p&gt;"),
        ("a <private key> and <privateer>", "a <private key> and <privateer>"),
        ("a < private key > and &lt;private key&gt;", "a < private key > and &lt;private key&gt;"),
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


_PIECES = st.lists(st.sampled_from(["<private>", "</private>", "a", "&LT;PRIVATE >", "< \\/private>"]), max_size=4)


def _hidden(parts: list[list[str]], *, to_end: bool) -> list[bool]:
    """Return, for each letter, True if a span covers it, by walking on from each beginning."""
    flat = [(number, piece) for number, part in enumerate(parts) for piece in part]
    hidden = [False] * len(flat)
    for start, (part, piece) in enumerate(flat):
        if not ("/" not in piece and "rivate" in piece.lower()):
            continue
        depth, end = 0, -1
        for place in range(start, len(flat)):
            if "rivate" in flat[place][1].lower():
                depth += -1 if "/" in flat[place][1] else 1
            if not depth:
                end = place
                break
        if end < 0:
            end = len(flat) if to_end else max(at for at, (number, _) in enumerate(flat) if number == part) + 1
        hidden[start:end] = [True] * (end - start)
    return [hides for hides, (_, piece) in zip(hidden, flat, strict=True) if piece == "a"]


@given(st.lists(_PIECES, max_size=6), st.booleans())
def test_what_lies_in_a_span_over_parts_is_hidden_and_what_lies_in_none_is_not(
    parts: list[list[str]], to_end: bool
) -> None:
    letters = iter("bcdefghjklmnoqsuwxyzBCDEFGHJKLMNOQSUWXYZ")
    lettered = [[next(letters) if piece == "a" else piece for piece in part] for part in parts]
    texts = ["".join(part) for part in lettered]
    cut = private.across(texts, to_end=to_end)
    left = "".join(private.without_private(text)[0] for text in (cut[0] if cut else texts))
    inside = _hidden(parts, to_end=to_end)
    said = [piece for part in lettered for piece in part if len(piece) == 1]
    # An end of what begins in no part hides its own part up to it.
    stray = any("/" in piece for part in parts for piece in part)
    for letter, hides in zip(said, inside, strict=True):
        assert letter not in left if hides else (stray or letter in left)


def test_an_image_or_a_file_in_a_span_goes_with_it() -> None:
    image = {"type": "image", "source": {"data": "aGk="}}
    inline = {"inlineData": {"data": "aGk="}}
    call = {"type": "tool_use", "name": "Bash"}
    parts = [image, {"text": "x <private>a"}, image, inline, call, {"text": "b</private> y"}, image]
    value = {"content": parts}
    cleaned = clean_record(json.dumps(value).encode(), value, {})
    assert cleaned["content"] == [image, {"text": "x "}, call, {"text": " y"}, image]
    open_end = {"content": [{"type": "text", "text": "x <private>see"}, {"type": "input_image", "image_url": "data:"}]}
    assert clean_record(json.dumps(open_end).encode(), open_end, {})["content"] == [{"type": "text", "text": "x "}]


def test_of_a_message_with_a_span_no_image_is_kept_that_stands_beside_its_text() -> None:
    value = {
        "type": "user_message",
        "message": "x <private>a b</private> y",
        "images": ["data:"],
        "local_images": ["/p"],
    }
    cleaned = clean_record(json.dumps(value).encode(), value, {})
    assert cleaned == {"type": "user_message", "message": "x  y", "images": [], "local_images": []}
    other = {"type": "user_message", "message": "a password: hunter2Tr0ub", "images": ["data:"]}
    assert clean_record(json.dumps(other).encode(), other, {})["images"] == ["data:"]


def test_a_span_whose_inner_one_alone_ends_goes_over_the_parts_to_the_end() -> None:
    value = {"content": [{"text": "x <private>a <private>b</private>"}, {"text": "c"}]}
    assert clean_record(json.dumps(value).encode(), value, {}) == {"content": [{"text": "x "}, {"text": ""}]}


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
    assert policy_of(document, "notes/x.md") < 0


def test_a_document_that_hides_nothing_is_not_cleaned_for_its_pieces() -> None:
    assert policy_of("the private key idea, of 3 < 4 in /private/tmp", "notes/x.md") > 0
    assert policy_of("name: walrus\nvalue: 7", "notes/x.md") > 0


def test_an_end_that_nothing_begins_hides_the_parts_before_it_in_its_message() -> None:
    def text(words: str) -> Any:
        return {"type": "text", "text": words}

    image, call = {"type": "image", "source": {"data": "aGlk"}}, {"type": "tool_use", "name": "Bash"}
    value = {"message": {"role": "user", "content": [text("one"), image, call, text("two</private> after")]}}
    cleaned = clean_record(json.dumps(value).encode(), value, {})
    assert cleaned["message"]["content"] == [text(""), call, text(" after")]


def test_what_is_nothing_in_a_list_stays_where_a_record_is_looked_through() -> None:
    value = {"parts": [None, 1, None], "-PW ": None}
    assert clean_record(b"password = Sup3rDuper9x", value, {}) == value


def test_a_type_of_code_is_no_tag_and_a_tag_right_behind_a_word_is() -> None:
    assert redact("fn open(map: Map<Private>) -> u8 and so on") == ("fn open(map: Map<Private>) -> u8 and so on", {})
    assert redact("it is<private>mine</private> there")[0] == "it is there"
    assert redact("a <Private>mine</Private> b")[0] == "a  b"
