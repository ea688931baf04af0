"""A document's title, by qmd 2.8's rules."""

from __future__ import annotations

import re
from posixpath import basename, splitext

_HEADING = re.compile(r"^##?\s+(.+)$", re.MULTILINE)
_SECOND = re.compile(r"^##\s+(.+)$", re.MULTILINE)
_ORG_TITLE = re.compile(r"^#\+TITLE:\s*(.+)$", re.MULTILINE | re.IGNORECASE)
_ORG_HEADING = re.compile(r"^\*+\s+(.+)$", re.MULTILINE)


def title(text: str, path: str) -> str:
    """The first heading of a markdown or org text, else the file name's stem.

    A first heading that only says "Notes" gives way to the first second-level one. Headings inside fences count.
    """
    name = basename(path)
    extension = splitext(name)[1].lower()
    found = ""
    if extension == ".md":
        match = _HEADING.search(text)
        found = match.group(1).strip() if match else ""
        if found in ("Notes", "📝 Notes"):
            second = _SECOND.search(text)
            found = second.group(1).strip() if second else found
    elif extension == ".org":
        match = _ORG_TITLE.search(text) or _ORG_HEADING.search(text)
        found = match.group(1).strip() if match else ""
    return found or (splitext(name)[0] if "." in name[1:] else name)
