"""Transcripts that a hook has named and that are not yet known to be indexed: ``state/hooks/due/<key>.json``.

The note is written before anything is tried and taken away once the index has the document, so that whatever is left
there was missed: by a crash, a full disk, a kill. The next session reports them.
"""

from __future__ import annotations

import os
import time
from os.path import join

from core.files import read_or_none, write_atomic

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from core.home import Home

# A hook has seconds; what is due for longer than this was missed.
_GRACE_S = 20
_PATH_LIMIT = 4096


def add(
    home: Home,
    path: str,
    session: str,
    project: str,
    *,
    at: float | None = None,
    beyond: int = -1,
    source: str = "",
) -> str:
    """Note that the transcript at ``path`` is to be indexed; returns the note's key. Raises OSError.

    ``at`` is the note's time in epoch seconds, now if it is None. ``beyond`` is the size in bytes that the transcript
    will outgrow, where its last message is not in it yet. ``source`` reads the transcript, "" for Claude Code's.
    """
    import hashlib
    import json

    key = hashlib.sha256(os.fsencode(path)).hexdigest()[:24]
    note = {"path": path, "session": session[:200], "project": project[:_PATH_LIMIT], "at": at or time.time()}
    if beyond >= 0:
        note["beyond"] = beyond
    if source:
        note["source"] = source
    write_atomic(_place(home, key), json.dumps(note).encode(), sync=False)
    return key


def done(home: Home, key: str, at: float | None = None) -> None:
    """Remove a note, unless (with ``at``, its time) a newer one has replaced it."""
    if at is not None:
        note = read(home, key)
        if note is not None and note["at"] != at:
            return
    import contextlib

    with contextlib.suppress(FileNotFoundError):
        os.unlink(_place(home, key))


def read(home: Home, key: str) -> dict[str, Any] | None:
    """Return one note, None if it is gone or damaged."""
    import json

    data = read_or_none(_place(home, key))
    try:
        note: Any = json.loads(data) if data else None
        if not isinstance(note, dict):
            return None
        found: dict[str, Any] = note
        texts = isinstance(found["path"], str) and isinstance(found.get("source", ""), str)
        return found if texts and isinstance(found["at"], float) else None
    except (ValueError, KeyError):
        return None


def waiting(home: Home) -> list[tuple[str, dict[str, Any]]]:
    """Return (key, note) of all that is due, the oldest first."""
    try:
        names = os.listdir(join(home.state, "hooks", "due"))
    except FileNotFoundError:
        return []
    keys = [name.removesuffix(".json") for name in names if name.endswith(".json") and not name.startswith(".")]
    found = [(key, note) for key in keys if (note := read(home, key)) is not None]
    return sorted(found, key=lambda each: each[1]["at"])


def missed(home: Home, now: float) -> list[dict[str, Any]]:
    """Return the notes that are older than a hook takes."""
    return [note for _, note in waiting(home) if now - note["at"] > _GRACE_S]


def _place(home: Home, key: str) -> str:
    return join(home.state, "hooks", "due", f"{key}.json")
