"""Dialogs on top of a screen: help, a note, and the question before a session is resumed."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, ClassVar

from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.message import Message
from textual.screen import ModalScreen
from textual.widgets import Input, Static, TextArea

from core.text import printable
from runtime.capture.inbox import TYPES, project_of
from runtime.explaining.resuming import Resume
from tui.latest import Latest

if TYPE_CHECKING:
    from textual.app import ComposeResult

    from tui.memory import Memory

HELP = """\
/       ask: results come as you type    Esc    leave the field, go back
j k     move (or the arrows)             g G    first, last
Space   a screen further                 Enter  read
y       copy the command that resumes a session (also over SSH)
o       leave, and resume the session on this terminal
n       take a note; the gate says whether it is worth keeping
d       the day of the chosen document, on one line of time
[ ]     in a document: previous, next prompt; on a day: other days
c       in a document: unfold calls and reasoning
r       ask again                        t      other colours
q       back, quit                       Ctrl+C quit

Answers, ages and freshness are those of `brain ask`."""


class Help(ModalScreen[None]):
    """The keys."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q,question_mark,enter", "dismiss", show=False)]

    def compose(self) -> ComposeResult:
        """Build the dialog."""
        with Vertical(classes="box"):
            yield Static(Content(HELP))


class Confirm(ModalScreen[Resume]):
    """Leave and run a command: yes gives the command back."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter,o", "yes", show=False),
        Binding("y", "copy", show=False),
        Binding("escape,q", "dismiss", show=False),
    ]

    def __init__(self, resume: Resume) -> None:
        super().__init__()
        self._resume = resume

    def compose(self) -> ComposeResult:
        """Build the dialog."""
        where = f"in {self._resume.folder}" if self._resume.folder else "in this folder"
        with Vertical(classes="box"):
            yield Static(Content(f"Leave, and run {where}:"))
            yield Static(Content(printable(f"\n  {self._resume.command}\n")))
            yield Static(Content("Enter run   y copy   Esc stay"), classes="bar")

    def action_yes(self) -> None:
        """Run it."""
        self.dismiss(self._resume)

    def action_copy(self) -> None:
        """Copy it instead."""
        self.dismiss(None)
        copy: Any = self.app
        copy.copy(self._resume.line)


class Note(ModalScreen[None]):
    """A note, its grounds, its type and project; the gate's verdict stays below it until the note is kept."""

    CSS = """
    Note TextArea { height: 7; border: solid $border-blurred; padding: 0; background: $background; }
    Note TextArea:focus { border: solid $border; }
    Note .field { height: 1; }
    Note .label { width: 9; text-style: dim; }
    Note Input { width: 1fr; }
    Note #verdict { height: auto; max-height: 5; color: $error; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+s,f2", "keep", show=False, priority=True),
        Binding("ctrl+f,f3", "keep(True)", show=False, priority=True),
        Binding("ctrl+t,f4", "type", show=False, priority=True),
        Binding("escape", "dismiss", show=False, priority=True),
    ]

    class Judged(Message):
        """The verdict: ``message`` and ``fix`` of a refusal, or the entry that was kept as ``kept``."""

        def __init__(self, *, message: str = "", fix: str = "", kept: str = "") -> None:
            self.message, self.fix, self.kept = message, fix, kept
            super().__init__()

    def __init__(self, memory: Memory) -> None:
        super().__init__()
        self._memory = memory
        self._type = "note"
        self._writing = Latest(self.post_message, self._refused)

    def compose(self) -> ComposeResult:
        """Build the dialog."""
        with Vertical(classes="box"):
            yield Static(Content(""), id="type")
            yield TextArea(id="text", tab_behavior="focus")
            with Horizontal(classes="field"):
                yield Static(Content("why"), classes="label")
                yield Input(id="why", placeholder="what a decision or a rejection rests on")
            with Horizontal(classes="field"):
                yield Static(Content("project"), classes="label")
                yield Input(_here(), id="project")
            yield Static(Content(""), id="verdict")
            yield Static(Content("Ctrl+S keep   Ctrl+T type   Tab next field   Esc leave"), classes="bar")

    def on_mount(self) -> None:
        """Begin with the text."""
        self._say_type()
        self.query_one("#text", TextArea).focus()

    def on_unmount(self) -> None:
        """End the thread; a note that is being kept is kept."""
        self._writing.close()

    def action_type(self) -> None:
        """Choose the next type."""
        self._type = TYPES[(TYPES.index(self._type) + 1) % len(TYPES)]
        self._say_type()

    def _say_type(self) -> None:
        self.query_one("#type", Static).update(Content(f"Remember this as: {self._type}"))

    def action_keep(self, force: bool = False) -> None:
        """Keep the note, if the gate lets it in; with ``force`` whatever it says, but for secrets."""
        text = self.query_one("#text", TextArea).text
        why, project = (self.query_one(f"#{name}", Input).value.strip() for name in ("why", "project"))
        kind = self._type

        def keep() -> Message:
            entry = self._memory.note(text, why=why, type=kind, project=project, force=force)
            warning = f" ({entry.warning})" if entry.warning else ""
            return self.Judged(kept=f"{entry.type} kept: {entry.title}{warning}")

        self._writing.submit(keep)

    def _refused(self, error: Exception) -> Message:
        envelope = self._memory.failure(error)
        return self.Judged(message=str(envelope["message"]), fix=str(envelope["fix"]))

    def on_note_judged(self, event: Judged) -> None:
        """Show the verdict, or leave once the note is kept."""
        if event.kept:
            said: Any = self.app
            said.say(event.kept)
            self.dismiss()
            return
        force = "\nCtrl+F keeps it nevertheless." if "--force" in event.fix else ""
        self.query_one("#verdict", Static).update(Content(f"{event.message}\n{event.fix}{force}"))


def _here() -> str:
    """Return the git work tree that the program was started in, "" for none."""
    try:
        return printable(project_of(os.getcwd()))
    except FileNotFoundError:
        return ""
