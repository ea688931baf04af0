"""The application: its themes, the keys that every screen has, and what they do with the chosen document."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from textual.app import App
from textual.binding import Binding, BindingType
from textual.theme import BUILTIN_THEMES, Theme

from core.text import printable
from runtime.explaining.resuming import Resume, missing_program, resume_of, to_multiplexer

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tui.memory import Memory

    class Choosing(Protocol):
        """A screen on which a document is chosen."""

        @property
        def chosen(self) -> Mapping[str, Any] | None: ...


_ANSI = BUILTIN_THEMES["ansi-dark"]
# The terminal's own colours, which suit its background whatever that is; then paper and ink, as `brain web` has them.
THEMES = (
    replace(
        _ANSI, name="terminal", primary="ansi_cyan", accent="ansi_cyan", secondary="ansi_blue",
        variables={
            **_ANSI.variables, "border": "ansi_cyan", "border-blurred": "ansi_bright_black",
            "ansi-background": "ansi_default", "ansi-foreground": "ansi_default",
            "input-cursor-text-style": "reverse", "input-cursor-background": "ansi_default",
            "input-cursor-foreground": "ansi_default",
        },
    ),
    Theme(
        name="light", dark=False, primary="#0b5d56", secondary="#5a3e9b", warning="#7d5200", error="#a3271c",
        success="#23672f", accent="#0b5d56", foreground="#1d1c1a", background="#fdfcf9", surface="#f4f2ec",
        panel="#ebe8e0", variables={"chosen": "#d3e6e1", "here": "#fbe9a8"},
    ),
    Theme(
        name="dark", primary="#74cbbd", secondary="#b7a1f0", warning="#e2b661", error="#f0958a", success="#8fd19b",
        accent="#74cbbd", foreground="#e8e4dc", background="#161513", surface="#201f1c", panel="#37342e",
        variables={"chosen": "#1d443f", "here": "#5c4a0c"},
    ),
)  # fmt: skip
NAMES = tuple(theme.name for theme in THEMES)


class Brain(App[Resume]):
    """Search, a day, a reader. The result is the command that is to run once the screen is given back, if any."""

    TITLE = "brain"
    ENABLE_COMMAND_PALETTE = False
    CSS = """
    Screen { background: $background; color: $foreground; }
    .bar { height: 1; padding: 0 1; text-style: dim; text-wrap: nowrap; text-overflow: ellipsis; }
    .heading { height: 1; padding: 0 1; text-style: bold; text-wrap: nowrap; text-overflow: ellipsis; }
    ModalScreen { align: center middle; background: $background 60%; }
    .box { width: 76; max-width: 96%; height: auto; max-height: 92%; border: round $border; padding: 0 1;
      background: $background; }
    Toast { background: $surface; border: round $border; max-width: 100%; padding: 0 1; }
    Input { border: none; height: 1; padding: 0; background: $background; }
    Input:focus { border: none; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+c,ctrl+q", "quit", priority=True, show=False),
        Binding("q", "leave", show=False),
        Binding("slash", "search", show=False),
        Binding("y", "copy", show=False),
        Binding("o", "resume", show=False),
        Binding("n", "note", show=False),
        Binding("d", "day", show=False),
        Binding("t", "theme", show=False),
        Binding("question_mark", "help", show=False),
    ]

    def __init__(self, memory: Memory, *, question: str = "", theme: str = NAMES[0]) -> None:
        self.memory = memory
        self._question = question
        # Without this, Textual makes colours grey where there are to be none (https://no-color.org).
        super().__init__(ansi_color=True if os.environ.get("NO_COLOR") else None)
        for each in THEMES:
            self.register_theme(each)
        self.theme = theme

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """Return the colours of the chosen line and of the line that answers, for themes without their own."""
        return {"chosen": "ansi_default", "here": "ansi_default"}

    def on_mount(self) -> None:
        """Open the search."""
        from tui.search import Search

        self.push_screen(Search(self.memory, self._question))

    def action_leave(self) -> None:
        """Go back to the screen before; from the search, end."""
        # The first screen of all is Textual's own, and empty.
        if len(self.screen_stack) > 2:
            self.pop_screen()
        else:
            self.exit()

    def action_search(self) -> None:
        """Go to the field of the search."""
        from tui.search import Search

        while len(self.screen_stack) > 2:
            self.pop_screen()
        if isinstance(self.screen, Search):
            self.screen.focus_field()

    @property
    def _chosen(self) -> Mapping[str, Any] | None:
        return getattr(self.screen, "chosen", None)

    def action_copy(self) -> None:
        """Copy the command that resumes the chosen session (OSC 52, which also works over SSH)."""
        resume = self._resume()
        if resume is not None:
            self.copy(resume.line)

    def copy(self, text: str) -> None:
        """Copy a text, and show it: not every terminal takes a copy."""
        self.copy_to_clipboard(text)
        self.run_worker(lambda: to_multiplexer(text, os.environ), thread=True)
        self.say(f"Copied: {text}")

    def action_resume(self) -> None:
        """Ask, then leave and run the command that resumes the chosen session."""
        resume = self._resume()
        if resume is None:
            return
        program = missing_program(resume)
        if program:
            self.say(f"{program} is not installed here. The command: {resume.line}", is_bad=True)
            return
        from tui.dialogs import Confirm

        self.push_screen(Confirm(resume), self._resumed)

    def _resumed(self, resume: Resume | None) -> None:
        if resume is not None:
            self.exit(resume)

    def _resume(self) -> Resume | None:
        chosen = self._chosen
        if chosen is None:
            self.say("No document is chosen.", is_bad=True)
            return None
        resume = resume_of(chosen)
        if resume is None:
            self.say("This document has no session that could be resumed.", is_bad=True)
        return resume

    def action_note(self) -> None:
        """Take a note."""
        from tui.dialogs import Note

        self.push_screen(Note(self.memory))

    def action_day(self) -> None:
        """Show the day of the chosen document, else the last one with anything in it."""
        from tui.day import Day, day_of

        if isinstance(self.screen, Day):
            return
        self.push_screen(Day(self.memory, day_of(self._chosen)))

    def action_theme(self) -> None:
        """Change between the terminal's colours, light and dark."""
        place = NAMES.index(self.theme) if self.theme in NAMES else -1
        self.theme = NAMES[(place + 1) % len(NAMES)]
        self.say(f"Colours: {self.theme}")

    def action_help(self) -> None:
        """Show the keys."""
        from tui.dialogs import Help

        self.push_screen(Help())

    def say(self, text: str, *, is_bad: bool = False) -> None:
        """Show a short message for some seconds."""
        self.notify(printable(text), markup=False, severity="warning" if is_bad else "information", timeout=6)
