from __future__ import annotations

import unicodedata
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qmd.index.terms import count_cjk, has_cjk, is_cjk, spaced_out

_SCRIPTS = ("CJK UNIFIED IDEOGRAPH", "CJK COMPATIBILITY IDEOGRAPH", "HIRAGANA LETTER", "KATAKANA LETTER", "HANGUL")


@pytest.mark.parametrize("text", list("漢字ひらカナ한글𠀋々〇ｶ가"))
def test_the_four_scripts_are_spaced_out(text: str) -> None:
    assert is_cjk(text)
    assert spaced_out(f"a{text}b") == f"a {text} b"


@pytest.mark.parametrize("text", ["a", "é", "ー", "Ａ", "，", "。", "\u200d", "🎉", "א", "\U000e0100"])
def test_other_characters_stay(text: str) -> None:
    assert not is_cjk(text)
    assert spaced_out(f"a{text}b") == f"a{text}b"


def test_every_letter_that_unicode_names_so_is_one() -> None:
    missed = [
        chr(point)
        for point in range(0x1100, 0x31350)
        if unicodedata.name(chr(point), "").startswith(_SCRIPTS) and not is_cjk(chr(point))
    ]
    assert missed == []


@given(st.text(st.characters() | st.sampled_from("漢字カナ한ー ")))
def test_spacing_changes_spaces_only(text: str) -> None:
    spaced = spaced_out(text)
    assert spaced.replace(" ", "") == text.replace(" ", "")
    assert has_cjk(text) is any(map(is_cjk, text))
    assert count_cjk(text) == sum(map(is_cjk, text))
    assert (spaced == text) is not has_cjk(text)
    assert not any(is_cjk(a) and is_cjk(b) for a, b in pairwise(spaced))
