"""The reader: a document as turns, from the line that answers; long ones come in pieces as somebody reads on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from textual.binding import Binding, BindingType
from textual.content import Content
from textual.message import Message
from textual.screen import Screen
from textual.widgets import Static

from core.errors import OK
from runtime.asking.wording import about, line
from runtime.explaining import reading
from tui import lines
from tui.latest import Latest
from tui.pane import Pane

if TYPE_CHECKING:
    from collections.abc import Mapping

    from textual.app import ComposeResult

    from tui.memory import Memory

_KEYS = "j k scroll  [ ] prompts  c calls  y copy  o resume  n note  d day  ? help"


class Reader(Screen[None]):
    """One document. ``item`` is what listed it, ``at`` the line to begin with, 0 for the first."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,left,h", "app.leave", show=False),
        Binding("c", "unfold", show=False),
        Binding("left_square_bracket", "prompt(-1)", show=False),
        Binding("right_square_bracket", "prompt(1)", show=False),
    ]

    class Read(Message):
        """The document, or why there is none."""

        def __init__(self, envelope: dict[str, Any]) -> None:
            self.envelope = envelope
            super().__init__()

    def __init__(self, memory: Memory, item: Mapping[str, Any], at: int, started: float) -> None:
        super().__init__()
        self.chosen: Mapping[str, Any] = item
        self._memory, self._at, self._started = memory, at, started
        self._reading = Latest(self.post_message, lambda error: self.Read(memory.failure(error)))
        self._text: list[str] = []
        self._pieces: list[reading.Piece] = []
        self._prompts: list[int] = []
        self._unfolded = False

    def compose(self) -> ComposeResult:
        """Build the screen."""
        yield Static(Content(line(self.chosen["title"])), classes="heading")
        yield Static(Content(about(dict(self.chosen))), classes="bar")
        yield Pane(id="text")
        yield Static(Content(""), id="status", classes="bar")
        yield Static(Content(_KEYS), classes="bar")

    def on_mount(self) -> None:
        """Load the document."""
        self.query_one("#text", Pane).focus()
        self._reading.submit(lambda: self.Read(self._memory.document(self.chosen["uri"])))

    def on_unmount(self) -> None:
        """End the thread."""
        self._reading.close()

    def on_reader_read(self, event: Read) -> None:
        """Show the piece that holds the line."""
        envelope = event.envelope
        pane = self.query_one("#text", Pane)
        if not envelope.get("ok"):
            pane.show(lambda width: lines.failure(envelope, width))
            return
        self._memory.record("show", self._started, OK, uri=envelope["uri"])
        self._text = envelope["text"].split("\n")
        self._prompts = [number for number, _, _ in reading.prompts(self._text, most=len(self._text))]
        self._pieces = [reading.cut(self._text, self._at)]
        pane.show(self._lines)
        if self._at:
            pane.reveal_line(self._at)
        self._say()

    def _lines(self, width: int) -> list[lines.Line]:
        found: list[lines.Line] = []
        for piece in self._pieces:
            turns = reading.turns(self._text, piece, self.chosen["title"] if piece.number == 1 else "")
            found += lines.session(turns, width, here=self._at, unfolded=self._unfolded)
        return found

    def on_pane_edge(self, event: Pane.Edge) -> None:
        """Add the piece before or behind what is shown; go to the first or last one if that is wanted."""
        if not self._pieces:
            return
        pane = event.pane
        if event.wants:
            self._pieces = [reading.cut(self._text, 0 if event.step < 0 else len(self._text))]
            pane.show(self._lines)
            if event.step > 0:
                pane.scroll_to(y=len(pane.lines), animate=False)
            self._say()
            return
        wanted = self._pieces[0].previous if event.step < 0 else self._pieces[-1].next
        if wanted is None:
            return
        piece = reading.cut(self._text, wanted)
        top, before = pane.scroll_offset.y, len(pane.lines)
        self._pieces = [piece, *self._pieces] if event.step < 0 else [*self._pieces, piece]
        pane.show(self._lines, keep=True)
        if event.step < 0:
            pane.scroll_to(y=top + len(pane.lines) - before, animate=False)
        self._say()

    def action_unfold(self) -> None:
        """Fold or unfold every call and thought."""
        self._unfolded = not self._unfolded
        pane = self.query_one("#text", Pane)
        here = self._top(pane)
        pane.show(self._lines, keep=True)
        pane.reveal_line(here, margin=0)

    def action_prompt(self, step: int) -> None:
        """Go to the next or the previous prompt of a person."""
        pane = self.query_one("#text", Pane)
        here = self._top(pane)
        places = [number for number in self._prompts if (number > here if step > 0 else number < here)]
        if not places:
            return
        wanted = places[0] if step > 0 else places[-1]
        while self._pieces[-1].last < wanted and self._pieces[-1].next is not None:
            self._pieces.append(reading.cut(self._text, self._pieces[-1].next))
        while self._pieces[0].first > wanted and self._pieces[0].previous is not None:
            self._pieces.insert(0, reading.cut(self._text, self._pieces[0].previous))
        pane.show(self._lines, keep=True)
        pane.reveal_line(wanted, margin=0)
        self._say()

    def _top(self, pane: Pane) -> int:
        """Return the document's line at the top of the pane."""
        return next((each.number for each in pane.lines[pane.scroll_offset.y :] if each.number), 0)

    def _say(self) -> None:
        first, last = self._pieces[0], self._pieces[-1]
        said = f"lines {first.first:,} to {last.last:,} of {len(self._text):,}"
        if last.of > 1:
            said += f"  ·  part {first.number}" + (f" to {last.number}" if last is not first else "") + f" of {last.of}"
        prompts = len(self._prompts)
        said += f"  ·  {prompts:,} prompts" if prompts > 1 else ""
        self.query_one("#status", Static).update(Content(said))
