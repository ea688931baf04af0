"""A pane of lines: one widget for lists, previews and readers, which draws only the lines that are on the screen."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from rich.segment import Segment
from rich.style import Style
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from tui.lines import Line

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from textual import events

# Lines that stay visible above and below the chosen one.
_MARGIN = 2


class Pane(ScrollView):
    """Lines that are built for the pane's width, again for each width; with items, one of them is chosen."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        f"pane--{name}"
        for name in (
            "title", "soft", "good", "warn", "bad", "person", "agent", "code", "added", "removed", "here", "chosen",
        )
    }  # fmt: skip
    DEFAULT_CSS = """
    Pane { height: 1fr; width: 1fr; padding: 0 1; scrollbar-size-vertical: 1; overflow-x: hidden;
      & > .pane--title { text-style: bold; }
      & > .pane--soft { text-style: dim; }
      & > .pane--good { color: $success; }
      & > .pane--warn { color: $warning; }
      & > .pane--bad { color: $error; }
      & > .pane--person { color: $primary; text-style: bold; }
      & > .pane--agent { color: $secondary; text-style: bold; }
      & > .pane--code { color: $secondary; }
      & > .pane--added { color: $success; }
      & > .pane--removed { color: $error; }
      & > .pane--here { background: $here; }
      & > .pane--chosen { background: $chosen; }
      &:ansi > .pane--here { background: ansi_default; text-style: reverse; }
      &:ansi > .pane--chosen { background: ansi_default; text-style: reverse; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j,down", "move(1)", show=False),
        Binding("k,up", "move(-1)", show=False),
        Binding("space,pagedown,ctrl+f", "turn(1)", show=False),
        Binding("pageup,ctrl+b", "turn(-1)", show=False),
        Binding("g,home", "edge(-1)", show=False),
        Binding("G,end", "edge(1)", show=False),
        Binding("enter", "open", show=False),
    ]

    class Chosen(Message):
        """Another item was chosen."""

        def __init__(self, pane: Pane, item: int) -> None:
            self.pane, self.item = pane, item
            super().__init__()

        @property
        def control(self) -> Pane:
            """The pane whose item it is."""
            return self.pane

    class Opened(Chosen):
        """The chosen item is to be opened."""

    class Edge(Message):
        """The reader came close to the first line (``step`` -1) or the last one (1), or ``wants`` to be there."""

        def __init__(self, pane: Pane, step: int, *, wants: bool = False) -> None:
            self.pane, self.step, self.wants = pane, step, wants
            super().__init__()

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.lines: Sequence[Line] = ()
        self.item = -1
        self._build: Callable[[int], Sequence[Line]] = lambda _: ()
        self._built_for = 0

    def show(self, build: Callable[[int], Sequence[Line]], *, item: int = -1, keep: bool = False) -> None:
        """Show the lines that ``build`` gives for a width, from the first; with ``keep`` the place stays."""
        self._build = build
        self._built_for = 0
        self.item = item
        self._rebuild()
        if not keep:
            self.scroll_to(y=0, animate=False)
        if item >= 0:
            self._reveal()

    @property
    def columns(self) -> int:
        """The columns that a line may take; the scrollbar's is left free."""
        return max(1, self.size.width - self.styles.scrollbar_size_vertical)

    def on_resize(self, _: events.Resize) -> None:
        """Build the lines for the new width."""
        self._rebuild()

    def _rebuild(self) -> None:
        width = self.columns
        if width == self._built_for or self.size.width == 0:
            return
        self._built_for = width
        self.lines = self._build(width)
        self.virtual_size = Size(width, len(self.lines))
        self.refresh()

    def render_line(self, y: int) -> Strip:
        """Draw one line of the screen."""
        index = y + self.scroll_offset.y
        width = self.size.width
        base = self.rich_style
        if index >= len(self.lines):
            return Strip.blank(width, base)
        line = self.lines[index]
        chosen = self._style("chosen") if line.item >= 0 and line.item == self.item else Style()
        segments = [Segment(text, base + self._style(style) + chosen) for text, style in line.pieces if text]
        return Strip(segments).adjust_cell_length(width, base + chosen)

    def _style(self, name: str) -> Style:
        return self.get_component_rich_style(f"pane--{name}", partial=True) if name else Style()

    def action_move(self, step: int) -> None:
        """Choose the next or the previous item; without items, go on by a line."""
        items = sorted({line.item for line in self.lines if line.item >= 0})
        if not items:
            self.scroll_relative(y=step, animate=False)
            self._near_edge(step)
        elif self.item not in items:
            self.choose(items[0])
        else:
            self.choose(items[min(max(items.index(self.item) + step, 0), len(items) - 1)])

    def action_turn(self, step: int) -> None:
        """Go on by a screen."""
        rows = max(1, self.size.height - 1)
        if self.item >= 0:
            per_item = max(1, sum(line.item == self.item for line in self.lines))
            for _ in range(max(1, rows // per_item)):
                self.action_move(step)
            return
        self.scroll_relative(y=step * rows, animate=False)
        self._near_edge(step)

    def action_edge(self, step: int) -> None:
        """Go to the first or the last line or item."""
        items = [line.item for line in self.lines if line.item >= 0]
        if items:
            self.choose(items[0] if step < 0 else items[-1])
        elif step < 0:
            self.scroll_to(y=0, animate=False)
        else:
            self.scroll_to(y=len(self.lines), animate=False)
        self.post_message(self.Edge(self, step, wants=True))

    def action_open(self) -> None:
        """Open the chosen item."""
        if self.item >= 0:
            self.post_message(self.Opened(self, self.item))

    def choose(self, item: int) -> None:
        """Choose an item and bring its lines into view."""
        if item != self.item:
            self.item = item
            self.post_message(self.Chosen(self, item))
        self._reveal()
        self.refresh()

    def reveal_line(self, number: int, margin: int | None = None) -> None:
        """Bring a document's line into view, ``margin`` lines from the top (a third of the pane)."""
        places = [index for index, line in enumerate(self.lines) if line.number and line.number <= number]
        if places:
            above = self.size.height // 3 if margin is None else margin
            first = next(index for index in places if self.lines[index].number == self.lines[places[-1]].number)
            self.scroll_to(y=max(0, first - above), animate=False)

    def _reveal(self) -> None:
        places = [index for index, line in enumerate(self.lines) if line.item == self.item]
        if not places:
            return
        top, height = self.scroll_offset.y, self.size.height
        if places[0] - _MARGIN < top:
            self.scroll_to(y=max(0, places[0] - _MARGIN), animate=False)
        elif places[-1] + _MARGIN >= top + height:
            self.scroll_to(y=places[-1] + _MARGIN + 1 - height, animate=False)

    def _near_edge(self, step: int) -> None:
        top, height = self.scroll_offset.y, self.size.height
        if step < 0 and top <= 0:
            self.post_message(self.Edge(self, -1))
        if step > 0 and top + 2 * height >= len(self.lines):
            self.post_message(self.Edge(self, 1))

    def on_mouse_scroll_down(self, _: events.MouseScrollDown) -> None:
        """Say that the end is near; the scrolling itself is Textual's."""
        self._near_edge(1)

    def on_mouse_scroll_up(self, _: events.MouseScrollUp) -> None:
        """Say that the beginning is near."""
        self._near_edge(-1)

    def on_click(self, event: events.Click) -> None:
        """Choose the item under the pointer; a second click opens it."""
        offset = event.get_content_offset(self)
        index = (offset.y if offset else -1) + self.scroll_offset.y
        if offset is None or not 0 <= index < len(self.lines) or self.lines[index].item < 0:
            return
        if self.lines[index].item == self.item and event.chain > 1:
            self.action_open()
        self.choose(self.lines[index].item)
