"""Text can be read: the contrast of each colour with what is behind it, from the stylesheet, in both schemes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import web

CSS = Path(web.__file__).with_name("static").joinpath("page.css").read_text(encoding="utf-8")
_TEXT, _GRAPHIC = 4.5, 3.0  # WCAG 2.2: 1.4.3 of text, 1.4.11 of what a drawing needs to be understood
_DARK = "@media (prefers-color-scheme: dark)"
INKS = ("ink", "soft", "accent", "bad", "warn", "good", "commit", "shell")
BEHIND = ("paper", "raised", "card", "wash")
DRAWN = ("session", "commit", "shell", "browsing", "note", "article", "l3", "l4")


def _blocks(dark: bool) -> list[str]:
    """Return the rules that hold for a scheme, later ones last."""
    pieces = CSS.split(_DARK)
    light = [pieces[0], *(piece[_end(piece) :] for piece in pieces[1:])]
    return [*light, *(piece[: _end(piece)] for piece in pieces[1:])] if dark else light


def _end(piece: str) -> int:
    """Return where the block that a piece begins with ends."""
    depth = 0
    for index, character in enumerate(piece):
        depth += (character == "{") - (character == "}")
        if character == "}" and not depth:
            return index + 1
    raise AssertionError("a block is not closed")


def _variables(dark: bool) -> dict[str, str]:
    found: dict[str, str] = {}
    for block in _blocks(dark):
        found.update(re.findall(r"--(\w+):\s*(#[0-9a-fA-F]{6})", block))
    return found


def _code(dark: bool) -> dict[str, str]:
    """Return the colours of code, by selector."""
    found: dict[str, str] = {}
    for block in _blocks(dark):
        for selectors, colour in re.findall(r"((?:\.k-\w+(?:,\s*)?)+)\s*\{\s*color:\s*(#[0-9a-fA-F]{6})", block):
            found.update(dict.fromkeys(re.findall(r"\.k-\w+", selectors), colour))
    return found


def _light(colour: str) -> float:
    parts = [int(colour[start : start + 2], 16) / 255 for start in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    """Return the contrast of two colours, from 1 to 21 (https://www.w3.org/TR/WCAG22/#dfn-contrast-ratio)."""
    darker, lighter = sorted((_light(one), _light(other)))
    return (lighter + 0.05) / (darker + 0.05)


def test_the_formula_is_wcags() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#767676", "#ffffff") == pytest.approx(4.54, abs=0.01)


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_text_has_the_contrast_that_aa_asks_for(dark: bool) -> None:
    colours = _variables(dark)
    pairs = [(ink, behind) for ink in INKS for behind in BEHIND]
    low = {
        pair: contrast(colours[pair[0]], colours[pair[1]])
        for pair in [*pairs, ("ink", "mark"), ("accent", "mark"), ("onaccent", "accent")]
    }
    assert {pair: round(value, 2) for pair, value in low.items() if value < _TEXT} == {}


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_code_can_be_read_in_its_colours(dark: bool) -> None:
    raised = _variables(dark)["raised"]
    colours = _code(dark)
    assert len(colours) > 15
    assert {name: colour for name, colour in colours.items() if contrast(colour, raised) < _TEXT} == {}


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_drawings_can_be_told_from_the_paper(dark: bool) -> None:
    colours = _variables(dark)
    assert {name for name in DRAWN if contrast(colours[name], colours["paper"]) < _GRAPHIC} == set()


def test_nothing_moves_for_those_who_asked_for_stillness() -> None:
    still = CSS[CSS.index("@media (prefers-reduced-motion: no-preference)") :]
    still = still[: _end(still)]
    for moving in ("transition", "scroll-behavior", "animation"):
        assert CSS.count(moving) == still.count(moving)


def test_every_colour_of_a_rule_is_a_variable_or_of_code() -> None:
    """A colour that is written into a rule would be the same in both schemes."""
    for block in (*_blocks(dark=False), *_blocks(dark=True)):
        rules = re.sub(r"--\w+:[^;]*;|\.k-[^{]*\{[^}]*\}", "", block)
        assert re.findall(r"#[0-9a-fA-F]{3,6}\b(?![^{};]*\{)", rules) == []
