"""The end of a transcript, as a hook may read it before the transcript is indexed."""

from __future__ import annotations

import json
import os

from core.redaction import shown
from core.text import clean

_TAIL = 1 << 20


def last_summary(path: str) -> str:
    """Return the summary of the last compaction in the transcript at ``path``, "" if its end has none.

    Claude Code marks the record: ``{"isCompactSummary": true, "message": {"content": …}}``.
    """
    try:
        with open(path, "rb") as stream:
            stream.seek(max(0, stream.seek(0, os.SEEK_END) - _TAIL))
            lines = stream.read().splitlines()
    except (OSError, ValueError):
        return ""
    for line in reversed(lines):
        if b"isCompactSummary" not in line:
            continue
        try:
            record = json.loads(line)
            content = record["message"]["content"] if record.get("isCompactSummary") is True else None
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            continue
        if isinstance(content, list):
            content = "\n".join(str(each.get("text") or "") for each in content if isinstance(each, dict))
        if isinstance(content, str) and content:
            return clean(shown(content))
    return ""
