"""A new redaction policy, applied to what was written under an older one or none: documents and the archive.

Sources whose files are there are read again anyway (``ingest.state``); here are those whose files are gone, what was
distilled, notes, articles. ``state/redaction`` says which policy the corpus went through, and whether the archive did.
"""

from __future__ import annotations

import os
import re
from os.path import join
from typing import TYPE_CHECKING, Any

from core.document import Timestamp, render, split
from core.files import read_or_none, write_atomic
from core.locks import FileLock
from core.redaction import clean
from core.version import REDACTION
from ingest.keeping import Policy
from ingest.run import LOCK_WAIT_S

if TYPE_CHECKING:
    from core.config import Config
    from core.home import Home

FILE = "redaction"
_INSTANT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")


def rescan(home: Home, config: Config) -> dict[str, int] | None:
    """Go through the corpus and the archive if they have not been under this policy; returns kind → replaced.

    None where there was nothing to do. Only files below the home are changed: what lies elsewhere is its owner's, and
    is redacted when it is shown. Cut short, it is done once more. Raises OSError, apsw.Error and LockContention.
    """
    policy = Policy(home)
    held = (read_or_none(join(home.state, FILE)) or b"").split()
    if held == policy.gone_through.split():
        return None
    counts: dict[str, int] = {}
    if held[:1] != [str(REDACTION).encode()]:
        _documents(home, config, counts)
    if policy.redact:
        from ingest import archive, rewriting

        for source in archive.sources(home):
            with FileLock(join(home.state, f"ingest-{source}.lock"), wait_s=LOCK_WAIT_S):  # a hook may be adding to it
                rewriting.redact_again(home, source, counts)
    write_atomic(join(home.state, FILE), policy.gone_through)
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
    data = read_or_none(path)
    if data is None:
        return
    cleaned = document(data, counts)
    if cleaned != data:
        write_atomic(path, cleaned)


def document(data: bytes, counts: dict[str, int]) -> bytes:
    """A document's bytes without secrets: its fields one by one, so that no replacement can break the frontmatter."""
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
