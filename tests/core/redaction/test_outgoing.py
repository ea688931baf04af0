"""Any piece of a text is one of the clean text."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from core.redaction import redact
from core.redaction.outgoing import NOTHING, Outgoing, outgoing

TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" * 2
PIECES = (
    "one walrus",
    "\n",
    "password: Tr0ub4dor-and-3",
    TOKEN,
    "<private>",
    "the diagnosis",
    "</private>",
    " ",
    "lamp",
)


def test_of_a_text_that_is_all_private_something_is_sent_that_says_nothing() -> None:
    assert outgoing("<private>the diagnosis</private>") == NOTHING
    assert Outgoing("<private>the diagnosis</private> ok").piece(9, 20) == NOTHING
    assert outgoing("one walrus") == "one walrus"


@given(st.lists(st.sampled_from(PIECES), max_size=25).map("".join), st.data())
def test_the_pieces_of_a_text_are_those_of_the_clean_text(text: str, data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(text)))
    cleaned = redact(text)[0]
    whole = Outgoing(text)
    joined = [whole.piece(start, end) for start, end in ((0, at), (at, len(text)))]
    assert "".join(part for part in joined if part != NOTHING).strip() == cleaned.strip() or NOTHING in joined
    assert all(part == NOTHING or part in cleaned for part in joined)
    if cleaned == text:
        assert joined[0] in (text[:at], NOTHING)


def test_places_are_kept_to_the_letter_around_what_is_taken_out() -> None:
    lines = [f"line number {number}\n" for number in range(50)]
    text = "".join([*lines[:20], f"token {TOKEN} here\n", *lines[20:]])
    whole = Outgoing(text)
    for start, end in ((0, 40), (5, len("".join(lines[:18]))), (text.index("line number 30"), len(text) - 3)):
        assert whole.piece(start, end) == text[start:end]
    at = text.index("token")
    assert whole.piece(at, text.index(" here")) == "token [redacted:github]"
