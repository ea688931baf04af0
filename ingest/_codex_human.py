"""Telling what a person typed to Codex from what its harness put into the same ``user`` messages."""

from __future__ import annotations

from core.text import clean
from ingest._codex_vocabulary import INJECTED
from ingest.markup import between

# The desktop and editor extensions put what they know of the screen before what was typed.
_REQUEST = "## My request for Codex:"
_SURROUNDINGS = (
    "# Context from my IDE setup",
    "# Files mentioned by the user",
    "# In app browser",
    "<",
    "This block is",
)


def typed(text: str) -> str:
    """What of a text a person typed; "" where the harness wrote all of it."""
    text = clean(text).strip()
    if _REQUEST in text and text.startswith(_SURROUNDINGS):
        return text.partition(_REQUEST)[2].strip()
    if text.startswith(INJECTED) or _is_one_block(text):
        return ""
    return text


def shell_command(text: str) -> str:
    """The shell command that a person ran inside the session, or "" where the text records none."""
    if not text.lstrip().startswith("<user_shell_command>"):
        return ""
    return clean(between(text, "command")).strip()


def directory(text: str) -> str:
    """The working directory that an injected environment names, or ""; before 0.30 nothing else records it."""
    text = text.lstrip()
    if not text.startswith("<environment_context>"):
        return ""
    found = between(text, "cwd").strip()
    if not found:
        found = text.partition("Current working directory:")[2].partition("\n")[0].strip()
    return found


def _is_one_block(text: str) -> bool:
    """Whether a text is one ``<snake_case …>…</snake_case>`` block: nobody types that, and new ones appear."""
    if not text.startswith("<") or not text.endswith(">"):
        return False
    name = text[1:80].partition(">")[0].partition(" ")[0]
    return "_" in name and name.replace("_", "").isalnum() and name.islower() and text.endswith(f"</{name}>")
