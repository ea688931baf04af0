"""The words that a person typed to Cline, Roo Code or Kilo Code, in what the model is sent.

Sources: cline/cline, src/core/prompts/responses.ts and sdk/packages/shared (``formatUserInputBlock``); the marks of
Roo Code are Cline's.
"""

from __future__ import annotations

import re

from core.text import clean
from ingest.session.user_text import NOTHING, UserText, command, cut_blocks, prompt
from ingest.session.values import Vocabulary

KNOWN = Vocabulary(__file__)

_ASIDES = KNOWN.texts("asides")
_HARNESS = KNOWN.pattern("harness")
_NOTICE = r"(?:<mode_notice>[^<>\n]{0,200}</mode_notice>)?"
_WRAPPED = re.compile(rf"^[ \t]*{_NOTICE}<({'|'.join(KNOWN.texts('wrappers'))})(?: [^<>\n]{{0,200}})?>", re.MULTILINE)
_COMMAND = re.compile(r'<user_command slash="([^"<>\n]{1,100})">')
_FOLDER = re.compile(r"^# Current (?:Working|Workspace) Directory \(([^\n]{1,4000}?)\) Files", re.MULTILINE)


def extract_user_text(text: str) -> UserText:
    """Return a person's words in one text of a message, and the folder that its environment names."""
    text = clean(text).strip()
    folder = named_folder(text)
    rest = _unwrapped(text)
    if rest is None:
        if _HARNESS.match(text):
            return NOTHING._replace(directory=folder)
        rest = cut_blocks(text, _ASIDES).strip()
    if found := _COMMAND.match(rest):
        said = rest[found.end() :].removesuffix("</user_command>").strip()
        return command(f"/{found[1]} {said}".strip())._replace(directory=folder)
    return prompt(rest)._replace(directory=folder)


def named_folder(text: str) -> str:
    """Return the folder of the session that an environment names, or ""."""
    found = _FOLDER.search(text) if "# Current Work" in text else None
    return found[1] if found else ""


def _unwrapped(text: str) -> str | None:
    """Return the words in the block for a person's words that begins a line, None if there is no such block.

    The last closing tag ends the block: words may quote the tag.
    """
    ends: dict[str, int] = {}
    for found in _WRAPPED.finditer(text):
        closing = f"</{found[1]}>"
        if closing not in ends:
            ends[closing] = text.rfind(closing)
        if ends[closing] >= found.end():
            return cut_blocks(text[found.end() : ends[closing]].strip(), _ASIDES).strip()
    return None
