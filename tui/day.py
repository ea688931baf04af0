"""A day on one line of time: sessions, commits, commands, pages and notes in the order in which they happened."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, ClassVar

from textual.binding import Binding, BindingType
from textual.content import Content
from textual.message import Message
from textual.screen import Screen
from textual.widgets import Static

from core import clock
from runtime.explaining import activity
from tui import lines
from tui.latest import Latest
from tui.pane import Pane

if TYPE_CHECKING:
    from collections.abc import Mapping

    from textual.app import ComposeResult

    from tui.memory import Memory

_KEYS = "j k move  [ ] other days  Enter read  y copy  o resume  n note  ? help"


def day_of(item: Mapping[str, Any] | None) -> str:
    """Return the local day of an item, "" if it has no date of its own."""
    dated = item is not None and item.get("date") and "date_source" not in item
    at = clock.parse_iso(item["date"]) if item is not None and dated else None
    return time.strftime("%Y-%m-%d", time.localtime(at)) if at else ""


class Day(Screen[None]):
    """One day; "" is the last with anything in it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "app.leave", show=False),
        Binding("left_square_bracket,left,h", "step(-1)", show=False),
        Binding("right_square_bracket,right,l", "step(1)", show=False),
    ]

    class Found(Message):
        """The day, or why there is none."""

        def __init__(self, envelope: dict[str, Any]) -> None:
            self.envelope = envelope
            super().__init__()

    def __init__(self, memory: Memory, day: str) -> None:
        super().__init__()
        self._memory, self._day = memory, day
        self._reading = Latest(self.post_message, lambda error: self.Found(memory.failure(error)))
        self._rows: list[dict[str, Any]] = []

    def compose(self) -> ComposeResult:
        """Build the screen."""
        yield Static(Content(""), id="day", classes="heading")
        yield Static(Content(""), id="counts", classes="bar")
        yield Pane(id="rows")
        yield Static(Content(_KEYS), classes="bar")

    def on_mount(self) -> None:
        """Load the day."""
        self.query_one("#rows", Pane).focus()
        self._load(0)

    def on_unmount(self) -> None:
        """End the thread."""
        self._reading.close()

    @property
    def chosen(self) -> Mapping[str, Any] | None:
        """The document of the chosen entry."""
        place = self.query_one("#rows", Pane).item
        item: Mapping[str, Any] | None = self._rows[place]["item"] if 0 <= place < len(self._rows) else None
        return item

    def _load(self, step: int) -> None:
        """Show the day, or the nearest one before (-1) or after it (1) that has anything."""
        day = self._day
        self._reading.submit(lambda: self.Found(self._memory.near_day(day, step)))

    def action_step(self, step: int) -> None:
        """Go to the nearest earlier or later day."""
        self._load(step)

    def on_day_found(self, event: Found) -> None:
        """Show a day."""
        envelope = event.envelope
        pane = self.query_one("#rows", Pane)
        if not envelope.get("ok"):
            pane.show(lambda width: lines.failure(envelope, width))
            return
        if envelope["day"] == self._day and self._rows:
            self.app.bell()  # there is no such day
            return
        self._day = envelope["day"]
        self._rows = rows = activity.rows(envelope["items"])
        since = envelope["since"]
        year, month, number = map(int, self._day.split("-"))
        noon = time.mktime((year, month, number, 12, 0, 0, 0, 0, -1))
        self.query_one("#day", Static).update(Content(time.strftime("%A, %-d %B %Y", time.localtime(noon))))
        self.query_one("#counts", Static).update(Content(lines.tally(envelope["counts"])))
        pane.show(lambda width: lines.day(rows, width, since), item=0 if rows else -1)

    def on_pane_opened(self, event: Pane.Opened) -> None:
        """Read the document of an entry, from its line."""
        from tui.reader import Reader

        row = self._rows[event.item]
        self.app.push_screen(Reader(self._memory, row["item"], row["line"] or 0, time.perf_counter()))
