"""The search: a field, what it finds while somebody types, and a preview of the chosen hit."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, ClassVar

from textual.binding import Binding, BindingType
from textual.containers import Container, Horizontal
from textual.content import Content
from textual.message import Message
from textual.screen import Screen
from textual.widgets import Input, Static

from core import clock
from core.counting import counted
from runtime.asking.wording import behind, how
from tui import lines
from tui.latest import Latest
from tui.pane import Pane

if TYPE_CHECKING:
    from collections.abc import Mapping

    from textual import events
    from textual.app import ComposeResult

    from tui.memory import Memory

# From so many columns on, the preview is beside the hits.
_WIDE = 110
_TYPING = "↑ ↓ choose   Enter read   Esc keys   Ctrl+C quit"
_MOVING = "j k move  Enter read  y copy  o resume  n note  d day  / ask  ? help  q quit"


class Search(Screen[None]):
    """Hits of a question; without one, the latest documents."""

    CSS = """
    #ask { height: 1; padding: 0 1; }
    #prompt { width: 2; color: $accent; text-style: bold; }
    #field { width: 1fr; }
    #panes { layout: vertical; border-top: solid $border-blurred; }
    #panes.wide { layout: horizontal; }
    #preview { border-top: solid $border-blurred; }
    #panes.wide #preview { border-top: none; border-left: solid $border-blurred; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down", "choose(1)", show=False),
        Binding("up", "choose(-1)", show=False),
        Binding("pagedown", "page(1)", show=False),
        Binding("pageup", "page(-1)", show=False),
        Binding("escape", "leave_field", show=False),
        Binding("r", "again", show=False),
    ]

    class Answered(Message):
        """The answer to what is in the field."""

        def __init__(self, envelope: dict[str, Any]) -> None:
            self.envelope = envelope
            super().__init__()

    class Previewed(Message):
        """The passage of the chosen hit; None if it cannot be read."""

        def __init__(self, passage: dict[str, Any] | None) -> None:
            self.passage = passage
            super().__init__()

    def __init__(self, memory: Memory, question: str = "") -> None:
        super().__init__()
        self._memory, self._first = memory, question
        self._asking = Latest(self.post_message, lambda error: self.Answered(memory.failure(error)))
        self._reading = Latest(self.post_message, lambda _: self.Previewed(None))
        self.envelope: dict[str, Any] = {}
        self._recorded = ""

    def compose(self) -> ComposeResult:
        """Build the screen."""
        with Horizontal(id="ask"):
            yield Static(Content("› "), id="prompt")
            yield Input(self._first, placeholder="Ask your memory", id="field", select_on_focus=False, max_length=2000)
        with Container(id="panes"):
            yield Pane(id="hits")
            yield Pane(id="preview")
        yield Static(id="status", classes="bar")
        yield Static(Content(_TYPING), id="keys", classes="bar")

    def on_mount(self) -> None:
        """Ask what the program was started with, else what happened lately."""
        self.query_one("#preview", Pane).can_focus = False
        self.focus_field()
        self._ask(self._first)

    def on_unmount(self) -> None:
        """End the threads."""
        self._asking.close()
        self._reading.close()

    def on_resize(self, event: events.Resize) -> None:
        """Put the preview beside the hits or below them."""
        self.query_one("#panes").set_class(event.size.width >= _WIDE, "wide")

    def focus_field(self) -> None:
        """Go to the field."""
        self.query_one("#field", Input).focus()

    @property
    def question(self) -> str:
        """The text in the field."""
        return self.query_one("#field", Input).value.strip()

    @property
    def chosen(self) -> Mapping[str, Any] | None:
        """The chosen hit."""
        items = lines.listed(self.envelope)
        place = self.query_one("#hits", Pane).item
        return items[place] if 0 <= place < len(items) else None

    def on_input_changed(self, event: Input.Changed) -> None:
        """Ask as somebody types."""
        self._ask(event.value)

    def _ask(self, question: str) -> None:
        self._asking.submit(lambda: self.Answered(self._memory.ask(question)))

    def action_again(self) -> None:
        """Ask the same once more: the index may have changed."""
        self._ask(self.question)

    def on_search_answered(self, event: Answered) -> None:
        """Show what was found."""
        self.envelope = envelope = event.envelope
        items = lines.listed(envelope)
        hits = self.query_one("#hits", Pane)
        if envelope.get("ok"):
            hits.show(lambda width: lines.hits(envelope, width), item=0 if items else -1)
        else:
            hits.show(lambda width: lines.failure(envelope, width))
        self.query_one("#status", Static).update(Content(_status(envelope)))
        self._preview()

    def on_pane_chosen(self, _: Pane.Chosen) -> None:
        """Show the chosen hit."""
        self._preview()

    def _preview(self) -> None:
        item = self.chosen
        if item is None:
            self._reading.cancel()
            self.query_one("#preview", Pane).show(lambda _: ())
            return
        self._show_preview(item, None)
        self._reading.submit(lambda: self.Previewed(self._memory.passage(item["uri"], item.get("line") or 0)))

    def on_search_previewed(self, event: Previewed) -> None:
        """Add the passage to the preview."""
        if self.chosen is not None and event.passage is not None:
            self._show_preview(self.chosen, event.passage)

    def _show_preview(self, item: Mapping[str, Any], passage: Mapping[str, Any] | None) -> None:
        preview = self.query_one("#preview", Pane)
        preview.show(lambda width: lines.preview(item, passage, width), keep=passage is not None)

    def on_input_submitted(self, _: Input.Submitted) -> None:
        """Open the chosen hit."""
        self.query_one("#hits", Pane).action_open()

    def on_pane_opened(self, _: Pane.Opened) -> None:
        """Read the chosen hit, from the line that answers."""
        item = self.chosen
        if item is None:
            return
        if self.question and self.question != self._recorded and "hits" in self.envelope:
            self._recorded = self.question
            self._memory.record_question(self.question, self.envelope)
        from tui.reader import Reader

        self.app.push_screen(Reader(self._memory, item, item.get("line") or 0, time.perf_counter()))

    def action_choose(self, step: int) -> None:
        """Choose another hit while the field keeps the focus."""
        self.query_one("#hits", Pane).action_move(step)

    def action_page(self, step: int) -> None:
        """Choose a hit a screen further."""
        self.query_one("#hits", Pane).action_turn(step)

    def action_leave_field(self) -> None:
        """Change between the field and the keys."""
        hits = self.query_one("#hits", Pane)
        if hits.has_focus:
            self.focus_field()
        else:
            hits.focus()

    def on_descendant_focus(self, _: events.DescendantFocus) -> None:
        """Say which keys there are."""
        is_typing = self.query_one("#field", Input).has_focus
        self.query_one("#keys", Static).update(Content(_TYPING if is_typing else _MOVING))


def _status(envelope: dict[str, Any]) -> str:
    """Return how far the index is behind, how many were found, and how the question was read, in one line."""
    if not envelope.get("ok"):
        return ""
    said = behind(envelope["freshness"], "brain index")
    if "hits" in envelope:
        count = counted(len(envelope["hits"]), "hit")
        return "  ·  ".join([*said, f"{count} in {envelope['took_ms']:.0f} ms", how(envelope)])
    as_of = clock.parse_iso(envelope["freshness"]["lexical"]["as_of"] or "")
    indexed = time.strftime("index of %-d %b %Y, %H:%M", time.localtime(as_of)) if as_of else ""
    return "  ·  ".join(["Lately", *(said or [indexed])])
