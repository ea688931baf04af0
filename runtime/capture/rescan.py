"""A new redaction policy, applied to what was written under an older one or none: documents and the archive.

Files that still exist are read again anyway (``ingest.pipeline.state``); the rest is scanned here: documents of
deleted files, distillates, notes, articles. ``state/redaction`` says which policy the corpus went through, and whether
the
archive did.

Only what this program wrote is rewritten, wherever it lies. A person's own text has no copy: it stays, and is redacted
when it is shown, as a folder of notes outside the home is.
"""

from __future__ import annotations

import errno
import os
import re
from os.path import join
from typing import TYPE_CHECKING, Any

from core import clock
from core.document import Timestamp, render, split
from core.files import FileLock, open_regular, read_or_none, write_atomic
from core.redaction import clean
from core.version import REDACTION
from ingest import registry
from ingest.pipeline.run import LOCK_WAIT_S
from ingest.policy.exclusions import Policy

if TYPE_CHECKING:
    from core.config import Config
    from core.home import Home

FILE = "redaction"
# Documents of ours that no source makes.
_NOTE, _ARTICLE = "note", "article"
# A note is written in the second that its date names; clocks of file systems and of processes may differ a little.
_NOTED_S = 2
# No regular file, gone meanwhile, or nobody's to read.
_NOT_OURS = (errno.EINVAL, errno.ENOENT, errno.EISDIR, errno.ELOOP, errno.EACCES, errno.EPERM)
_INSTANT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")


def rescan(home: Home, config: Config) -> dict[str, int] | None:
    """Apply this redaction policy to the corpus and the archive, if it is new to them; return kind → replaced.

    None if there was nothing to do. Only files below the home that ``is_own`` are changed: the rest is its owner's,
    and is redacted when it is shown. Cut short, it is done once more. Raises OSError, apsw.Error and LockContention.
    """
    policy = Policy(config.data)
    held = (read_or_none(join(home.state, FILE)) or b"").split()
    if held == policy.mark.split():
        return None
    counts: dict[str, int] = {}
    if held[:1] != [str(REDACTION).encode()]:
        _documents(home, config, counts)
    if policy.redact:
        from ingest.archive import archive

        for source in archive.sources(home):
            from ingest.archive import rewriting

            with FileLock(join(home.state, f"ingest-{source}.lock"), wait_s=LOCK_WAIT_S):  # a hook may be adding to it
                rewriting.redact_again(home, source, counts)
    write_atomic(join(home.state, FILE), policy.mark)
    return counts


def _documents(home: Home, config: Config, counts: dict[str, int]) -> None:
    for collection in config.collections.values():
        if not _is_below(home, collection.path):
            continue
        for place, folders, names in os.walk(collection.path):
            folders.sort()
            for name in sorted(names):
                if name.endswith(".md") and not name.startswith("."):
                    _document(join(place, name), counts)


def _document(path: str, counts: dict[str, int]) -> None:
    if os.path.islink(path):
        return  # no document of ours is one
    try:
        with open_regular(path) as stream:
            data = stream.read()
            written = os.fstat(stream.fileno()).st_mtime
    except OSError as error:
        if error.errno not in _NOT_OURS:
            raise
        return  # the index reports it
    if not is_own(data, written):
        return
    cleaned = document(data, counts)
    if cleaned != data:
        write_atomic(path, cleaned)
        os.utime(path, (written, written))  # what nobody else changed is ours under the next policy, too


def is_own(data: bytes, written: float) -> bool:
    """Return True if this program wrote a document as it is; ``written`` is its file's mtime, epoch seconds.

    Its frontmatter says so: a ``source`` of ours and the ``session_id`` there. A note belongs to its user from the
    first change on, which the file's time shows.
    """
    meta, _ = split(data.decode("utf-8", "replace"))
    source = str(meta.get("source") or "")
    if not meta.get("session_id"):
        return False
    if source == _NOTE:
        noted = clock.parse_iso(str(meta.get("date") or ""))
        return noted is not None and abs(written - noted) <= _NOTED_S
    return source == _ARTICLE or source in registry.names()


def document(data: bytes, counts: dict[str, int]) -> bytes:
    """Return a document's bytes without secrets: its fields one by one, so that no replacement can break the
    frontmatter."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return data
    from core.redaction.leaves import clean_leaves  # late, as its rules are: a new home has no document

    meta, body = split(text)
    cleaned_body = clean(body, counts)
    cleaned_meta: dict[str, Any] = clean_leaves(meta, counts)
    if cleaned_meta == meta:
        if cleaned_body == body:
            return data
        return (text[: len(text) - len(body)] + cleaned_body).encode()
    fields = {
        key: Timestamp(value) if isinstance(value, str) and _INSTANT.fullmatch(value) else value
        for key, value in cleaned_meta.items()
    }
    return render(fields, cleaned_body)


def _is_below(home: Home, folder: str) -> bool:
    real = os.path.realpath(folder)
    return any(real.startswith(join(os.path.realpath(root), "")) or real == root for root in (home.root, home.inbox))
