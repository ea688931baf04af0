"""Notes of the user's own: one markdown file an entry, findable at once.

An entry is ``<inbox>/YYYY/MM/<entry_id>.md``, by the UTC date (docs/documents.md). The file is the asset and is written
first; the index follows it and may fail without losing the note.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from os.path import dirname, join

from core import clock, redaction
from core.document import Timestamp, render
from core.errors import BadInput, Internal
from core.files import sync_folder, write_atomic
from core.text import clean, one_line
from runtime.capture import documents

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from core.home import Home

TYPES = ("note", "decision", "rejected", "idea", "todo", "question", "reference", "preference")
SCHEMA = 1
TEXT_LIMIT = 100_000
FIELD_LIMIT = 1_000
_TITLE_LIMIT = 80


@dataclass(frozen=True, slots=True)
class Entry:
    """A note on disk: ``uri`` is empty if no collection holds it, ``warning`` says why it is not ``indexed``."""

    entry_id: str
    path: str
    uri: str
    type: str
    title: str
    indexed: bool
    warning: str = ""
    supersedes: str = ""

    def envelope(self) -> dict[str, object]:
        """Return the entry as every surface reports it."""
        found: dict[str, object] = {"schema": 1, "ok": True, "entry_id": self.entry_id, "path": self.path}
        found |= {"uri": self.uri or None, "type": self.type, "title": self.title, "indexed": self.indexed}
        if self.supersedes:
            found["supersedes"] = self.supersedes
        if self.warning:
            found["warning"] = self.warning
        return found


def write(
    home: Home,
    text: str,
    *,
    type: str = "note",
    title: str = "",
    project: str = "",
    tags: Iterable[str] = (),
    why: str = "",
    alternatives: Iterable[str] = (),
    supersedes: str = "",
    now: float | None = None,
) -> Entry:
    """Write one entry and index it; the time is ``now`` (epoch seconds) or the present.

    ``why`` and ``alternatives`` are what a decision or a rejection rests on; ``supersedes`` is the id of the entry
    that this one replaces. All three stand in the frontmatter, and in the body, where search finds them.

    The body is a heading of type and title (search reads no frontmatter), then ``text``, redacted, else as it is,
    control characters and blank lines around it aside; ``title`` defaults to its first line that says something. Raises
    BadInput if there is nothing to note, where ``text`` is over 100,000 characters or another field over 1,000, and
    Internal if the file cannot be written. A failure to index is no error: it is the entry's ``warning``.
    """
    body = redaction.shown(clean(_checked("text", text, TEXT_LIMIT))).strip("\n").rstrip()
    if not body:
        raise BadInput("there is nothing to note", 'brain inbox "what to remember"')
    if type not in TYPES:
        raise BadInput(f"{type!r} is no type of note", f"one of {', '.join(TYPES)}")
    labels = dict.fromkeys(redaction.shown(one_line(tag)) for tag in tags)
    labels.pop("", None)
    _checked("--tags", ",".join(labels), FIELD_LIMIT)
    title = redaction.shown(one_line(_checked("--title", title, FIELD_LIMIT))) or _title(body)
    why = redaction.shown(clean(_checked("--why", why, FIELD_LIMIT))).strip()
    others = [redaction.shown(other) for other in map(one_line, alternatives) if other]
    _checked("--alternatives", "; ".join(others), FIELD_LIMIT)
    instant = time.time() if now is None else now
    entry_id = new_id(instant)
    path = join(folder(home, instant), f"{entry_id}.md")
    meta = {
        "session_id": entry_id,
        "source": "note",
        "title": title,
        "date": Timestamp(clock.iso(instant)),
        "type": type,
        "project": clean(_checked("--project", project, FIELD_LIMIT)),
        "tags": list(labels),
        "why": one_line(why),
        "alternatives": others,
        "supersedes": supersedes,
        "schema": SCHEMA,
    }
    with documents.writing(home, path) as note:
        try:
            write_atomic(path, render(meta, f"{heading(type, title)}\n\n{body}{_grounds(why, others)}"))
        except OSError as error:
            fix = "free the place or choose another one: export BRAIN_INBOX_DIR=…"
            raise Internal(f"cannot write {path}: {error.strerror}", fix) from None
        sync_folder(dirname(path))
        uri, indexed, warning = index_entry(home, path)
        note.indexed = indexed
    return Entry(entry_id, path, uri, type, title, indexed, warning, supersedes)


def heading(type: str, title: str) -> str:
    """Return the first line of an entry's body: ``# Rejected: title``; a plain note is its title alone."""
    return f"# {title}" if type == "note" else f"# {type.capitalize()}: {title}"


def _grounds(why: str, alternatives: list[str]) -> str:
    """Return the grounds of the entry, as the end of its body."""
    text = f"\n\nWhy: {why}" if why else ""
    if alternatives:
        text += "\n\nAlternatives:\n" + "".join(f"\n- {other}" for other in alternatives)
    return text


def folder(home: Home, instant: float) -> str:
    """Return the folder of an entry of ``instant`` (epoch seconds): the inbox's folder of that UTC month."""
    return join(home.inbox, *time.strftime("%Y %m", time.gmtime(instant)).split())


def new_id(instant: float) -> str:
    """Return an identity such as ``20261121T101500Z-5f0c93ab``, unique without asking anyone.

    The eight hexadecimal digits are the fraction of the second (12 bits, so that names sort by time within a second
    too) and 20 random bits.
    """
    fraction = int(instant % 1 * 4096)
    noise = int.from_bytes(os.urandom(3), "big") & 0xFFFFF
    return f"{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime(instant))}-{fraction:03x}{noise:05x}"


def project_of(start: str) -> str:
    """Return the top of the git work tree around the folder ``start``, or ""."""
    while True:
        # A file in linked work trees and submodules, a folder elsewhere (gitrepository-layout(5)).
        if os.path.lexists(join(start, ".git")):
            return start
        parent = dirname(start)
        if parent == start:
            return ""
        start = parent


def _checked(name: str, value: str, limit: int) -> str:
    if len(value) > limit:
        # How many is not known: what comes from a pipe is read no further than this takes to find out.
        raise BadInput(f"{name}: over {limit:,} characters", "keep the note to what it says")
    return value


def _title(body: str) -> str:
    """Return the first line with a letter or a digit in it (not a rule or a fence), without its heading marks."""
    lines = [line for line in map(one_line, body.splitlines()) if line]
    first = next((line for line in lines if any(map(str.isalnum, line))), lines[0] if lines else "")
    bare = first.lstrip("#")
    if bare.startswith(" ") and len(first) - len(bare) <= 6:
        first = bare.lstrip()
    return one_line(first, _TITLE_LIMIT)


def index_entry(home: Home, path: str) -> tuple[str, bool, str]:
    """Return (uri, indexed, warning) of an entry's file: whatever goes wrong here, the note is on disk."""
    uri = ""
    try:
        from core.config import load

        home.make()
        config = load(home)
        found = documents.place(config, path)
        if found is None:
            return "", False, f"no collection in {config.path} holds {home.inbox}: `ask` will not find this note"
        collection, relative = found
        uri = f"qmd://{collection}/{relative}"
        documents.index_file(home, config, collection, join(config.collections[collection].path, relative))
    except Exception as error:  # noqa: BLE001 - retrying a note that is already kept would make it two
        reason = str(error) or type(error).__name__
        return uri, False, f"the note is kept, but not yet indexed ({reason}): run `brain index`"
    return uri, True, ""
