"""What a session is called where nobody named it: by the first thing a person said, else by the first that was."""

from __future__ import annotations

from core.text import one_line
from ingest.session.turns import ASSISTANT, TASK, Turn

MAX_TITLE = 120
UNTITLED = "Untitled session"
_PLAN = "Implement the following plan:"

# Slash commands that say nothing of what a session was about.
HOUSEKEEPING = frozenset(
    """
    /agents /clear /color /compact /config /context /cost /doctor /effort /exit /fast /help /hooks /ide /login /logout
    /mcp /memory /model /permissions /plugin /quit /reload-plugins /rename /resume /skills /status /statusline
    /terminal-setup /theme /usage /vim
    """.split()
)


def first_of(*candidates: str) -> str:
    """The first of the candidates that says something, as one line of at most 120 characters; "" where none does."""
    for candidate in candidates:
        line = one_line(candidate[:4000], MAX_TITLE)
        if line:
            return line
    return ""


def from_turns(turns: list[Turn], person: str) -> str:
    """The headline of the first turn that says something, ``person``'s before commands, machines' last; or ""."""
    for roles in ((person,), ("command",), ("teammate", "compaction", "recap"), (ASSISTANT,), (TASK,)):
        for turn in turns:
            if turn.role not in roles:
                continue
            for item, text in turn.blocks():
                if item and turn.role == "command":
                    text = text.removeprefix("- ").removeprefix("! ")
                    if text.split(" ", 1)[0] in HOUSEKEEPING:
                        continue
                line = _headline(text)
                if line:
                    return line
    return ""


def _headline(text: str) -> str:
    text = text[:4000].strip().removeprefix(_PLAN).lstrip()
    while text.startswith("[Image #") and "]" in text:
        text = text.partition("]")[2].lstrip()
    text = text.replace("\\\n", "\n")  # a line continued in the terminal
    if text.startswith("#"):
        text = text.lstrip("#").lstrip()
        first, _, rest = text.partition("\n")
        text = first if first.strip() else rest
    return one_line(text, MAX_TITLE)
