"""Every hostile document, in each place where one has text, stays text on the terminal."""

from __future__ import annotations

from typing import Any

import pytest

from core.config import load
from core.home import Home
from core.text import printable
from runtime.explaining import reading
from tests.runtime.index_fixture import Shelf
from tests.web.hostile import cases

pytest.importorskip("textual", reason="no textual: make dev")

from tests.tui.driving import Keys, drive, pane, plain, screen, until
from tui import lines
from tui.memory import Memory
from tui.reader import Reader

pytestmark = pytest.mark.long
_NOON = 1_773_316_800
_WIDTH = 76
# Documents that are opened on the screen itself.
_OPENED = 12


@pytest.fixture
def hostile(home: Home) -> Shelf:
    shelf = Shelf(home)
    for number, case in enumerate(cases()):
        meta: dict[str, Any] = dict(case.meta)
        shelf.put("brain", case.path, case.body, date=_NOON + number, **meta)
    return shelf


def test_no_line_of_any_document_can_drive_the_terminal(hostile: Shelf) -> None:
    memory = Memory(hostile.home, load(hostile.home), {"BRAIN_SERVE": "off"})
    count = 0
    for case in cases():
        found = memory.document(f"brain/{case.path}")
        text = found["text"].split("\n")
        shown = lines.session(reading.turns(text, reading.cut(text, 0)), _WIDTH, unfolded=True)
        shown += lines.preview(found, memory.passage(found["uri"]), _WIDTH)
        shown += lines.hits({"items": [found]}, _WIDTH)
        for line in shown:
            assert printable(line.plain) == line.plain, case.name
            assert "\n" not in line.plain, case.name
        count += 1
    assert count >= 200


def test_the_screen_shows_markup_as_it_was_written(hostile: Shelf) -> None:
    async def journey(keys: Keys) -> None:
        await until(keys, lambda: plain(keys, "hits"))
        for _ in range(_OPENED):
            title = lines.listed(keys.app.screen.envelope)[pane(keys, "hits").item]["title"]  # type: ignore[attr-defined]
            await keys.press("enter")
            await until(keys, lambda: isinstance(keys.app.screen, Reader) and plain(keys, "text"))
            text = screen(keys)
            assert printable(text) == text
            assert printable(title).split()[0] in text
            await keys.press("q")
            await until(keys, lambda: not isinstance(keys.app.screen, Reader))
            await keys.press("down")

    drive(hostile.home, journey)
