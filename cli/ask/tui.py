"""``brain tui``: the memory on the terminal, to search, to browse and to read."""

from __future__ import annotations

import gc
import sys

from cli.context import Context, write
from cli.spec import Args, Command, Option
from core import config
from core.errors import OK, BadInput, EngineMissing

THEMES = ("terminal", "light", "dark")
INSTALL = "pip install 'brain-memory[tui]'"

COMMAND = Command(
    "tui",
    "look at your memory on the terminal",
    description=(
        "Search as you type, see a day on one line of time, read sessions, take notes, resume a session. Works over\n"
        "SSH and in 80 × 24. `?` shows the keys. Needs Textual: " + INSTALL
    ),
    words="QUESTION",
    words_help="ask this first",
    prose=True,
    options=(
        Option("--theme", metavar="NAME", default="terminal", choices=THEMES, help="the colours: " + ", ".join(THEMES)),
    ),
    examples=("brain tui", 'brain tui "token refresh"', "brain tui --theme light"),
)


def run(args: Args, context: Context) -> int:
    """Show the screen until the user leaves; then resume the session that the user chose, if any."""
    if args.json:
        raise BadInput("brain tui is for a person at a terminal", "brain ask --json …")
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise BadInput("brain tui needs a terminal for its input and its output", 'brain ask "…"')
    settings = config.load(context.home)
    # Nothing that is imported becomes garbage, and looking for garbage would delay the first frame.
    gc.disable()
    try:
        from tui.app import Brain
    except ImportError as error:
        import shlex

        if (error.name or "").partition(".")[0] != "textual":
            raise
        # The `pip` of a shell may belong to another Python, or be refused by the system.
        fix = f"{shlex.quote(sys.executable)} -m {INSTALL}"
        raise EngineMissing("Textual is not installed, which `brain tui` needs", fix) from None
    from runtime.explaining import resuming
    from tui.memory import Memory

    app = Brain(Memory(context.home, settings, context.environ), question=" ".join(args.words), theme=args.theme)
    app.call_later(_collect)
    chosen = app.run()
    if chosen is None:
        return app.return_code or OK
    write(f"{chosen.line}\n")
    context.fields["resumed"] = True
    return resuming.run(chosen)


def _collect() -> None:
    gc.freeze()
    gc.enable()
