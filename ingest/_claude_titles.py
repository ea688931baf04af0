"""A session's title: custom-title, ai-title, a summary that describes this session, the first human prompt."""

from __future__ import annotations

from core.text import one_line
from ingest._claude_events import Part
from ingest._claude_turns import ASSISTANT, TASK, USER, Turn
from ingest._claude_vocabulary import HOUSEKEEPING

MAX_TITLE = 120
_PLAN = "Implement the following plan:"


def title(parts: list[Part], turns: list[Turn], task: str = "") -> str:
    """One line of at most 120 characters; ``parts`` in order of time, ``task`` what a subagent was asked for."""
    uuids = set().union(*(part.uuids for part in parts)) if len(parts) > 1 else parts[0].uuids
    resolved = [text for part in parts for leaf, text in part.summaries if leaf in uuids]
    candidates = [
        next((part.custom_title for part in reversed(parts) if part.custom_title), ""),
        next((part.ai_title for part in reversed(parts) if part.ai_title), ""),
        resolved[-1] if resolved else "",
        task,
    ]
    for candidate in candidates:
        line = one_line(candidate[:4000], MAX_TITLE)
        if line:
            return line
    return _from_turns(turns, TASK if task or turns[0].role == TASK else USER) or "Untitled session"


def _from_turns(turns: list[Turn], person: str) -> str:
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
