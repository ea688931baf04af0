"""Facts of a document: dates and fields from its frontmatter, which filters test, and its title, by qmd's rules."""

from __future__ import annotations

import re
from posixpath import basename, splitext
from typing import Any

import apsw

from core import clock, document

_MAX_FIELDS = 64
_MAX_TEXT = 2000
_MAX_HEAD = 65_536


class Facts:
    """``date`` and ``ended`` in epoch seconds; ``dated`` is False where they are the file's mtime.

    ``may_tell_work``: ``qmd.index.actions`` may find an action in the text.
    """

    __slots__ = ("date", "dated", "ended", "fields", "may_tell_work")

    def __init__(self, date: int, ended: int, dated: bool, fields: dict[str, Any], may_tell_work: bool) -> None:
        self.date, self.ended, self.dated = date, ended, dated
        self.fields, self.may_tell_work = fields, may_tell_work

    def packed(self) -> bytes:
        """Return the fields as JSONB, as ``brain_facts.fields`` stores them."""
        return apsw.jsonb_encode(self.fields)


def read(text: str, mtime: int) -> Facts:
    """Return the facts of a markdown text; ``mtime`` (epoch seconds) is the date if the text names none."""
    fields: dict[str, Any] = {}
    found = document.bounds(text)
    if found is not None and found[1] - found[0] <= _MAX_HEAD:
        meta = document.fields(text[found[0] : found[1]]) or {}
        fields = {str(key)[:100]: kept for key, value in meta.items() if (kept := _plain(value)) is not None}
        fields = dict(list(fields.items())[:_MAX_FIELDS])
    start = clock.first_written(fields.get("date"), fields.get("created"))
    end = clock.first_written(fields.get("ended"), fields.get("updated"))
    # `date_source: mtime` marks a date that is the file's, not the document's own: it still orders, but does not date.
    dated = (start is not None or end is not None) and fields.get("date_source") != "mtime"
    first = start if start is not None else end if end is not None else mtime
    last = end if end is not None else first
    # A session without a list below its frontmatter has run nothing.
    has_list = text.find("\n- ", found[2] if found else 0) >= 0
    return Facts(first, max(first, last), dated, fields, has_list or "distiller" in fields or "type" in fields)


def _plain(value: Any) -> Any:
    """Scalars and flat lists of them; anything nested (or an alias bomb) is not a field to filter by."""
    if isinstance(value, bool | int):
        if abs(int(value)) < 2**63:
            return value
        # Python refuses to print the longest ones in decimal (sys.set_int_max_str_digits).
        return (str(value) if value.bit_length() < 10_000 else hex(value))[:_MAX_TEXT]
    if isinstance(value, float):
        return value if value == value and abs(value) != float("inf") else str(value)
    if isinstance(value, str):
        return value[:_MAX_TEXT].encode("utf-8", "replace").decode()
    if isinstance(value, list):
        return [_plain(item) for item in value[:_MAX_FIELDS] if isinstance(item, str | int | float)]
    return None


_HEADING = re.compile(r"^##?\s+(.+)$", re.MULTILINE)
_SECOND = re.compile(r"^##\s+(.+)$", re.MULTILINE)
_ORG_TITLE = re.compile(r"^#\+TITLE:\s*(.+)$", re.MULTILINE | re.IGNORECASE)
_ORG_HEADING = re.compile(r"^\*+\s+(.+)$", re.MULTILINE)


def title(text: str, path: str) -> str:
    """Return the first heading of a markdown or org text, else the file name's stem.

    A first heading "Notes" gives way to the first second-level heading. Headings inside fences count.
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
