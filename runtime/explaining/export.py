"""``brain export``: documents out of the index, as the markdown they are or as JSON lines.

Stored paths come from an index that other programs write too, so none is trusted: nothing is written outside the
chosen folder, whatever a path or a symlink in the folder says.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator
from os.path import join
from typing import TYPE_CHECKING, Any

from core import clock
from core.errors import BadInput, Refused
from core.files import write_atomic
from core.jsonio import dumps
from runtime.asking.documents import Row
from runtime.asking.envelope import docid, uri_of
from runtime.explaining.show import text_of

if TYPE_CHECKING:
    import apsw

    Redact = Callable[[str], str]

_SHOWN = 3


def as_stored(text: str) -> str:
    """Return the redaction that changes nothing."""
    return text


class Outcome:
    """The result of an export: documents ``written``, ``unchanged`` (there already), and ``refused`` (uri, why)."""

    __slots__ = ("bytes", "refused", "unchanged", "written")

    def __init__(self) -> None:
        self.written = 0
        self.unchanged = 0
        self.bytes = 0
        self.refused: list[tuple[str, str]] = []

    @property
    def found(self) -> int:
        """How many documents were selected."""
        return self.written + self.unchanged + len(self.refused)


def to_folder(
    connection: apsw.Connection,
    rows: Iterable[Row],
    folder: str,
    *,
    force: bool = False,
    redact: Redact = as_stored,
) -> Outcome:
    """Write each document to ``folder/collection/path``.

    Unless ``force``, a file with other content is an error before anything is written. A document is refused and
    counted if its stored path leads out of the folder. Raises BadInput and Refused (nothing could be written).
    """
    outcome = Outcome()
    root = os.path.realpath(folder)
    if os.path.lexists(root) and not os.path.isdir(root):
        raise BadInput(f"{folder} is not a folder", "--out DIR")
    targets: list[tuple[Row, str]] = []
    for row in rows:
        target = _target(root, row, redact)
        if target is None:
            outcome.refused.append((uri_of(row), "its path leads out of the folder"))
        else:
            targets.append((row, target))
    if outcome.refused and not targets:
        place, reason = outcome.refused[0]
        raise Refused(f"nothing was written: {place}: {reason}", "rebuild the index: brain index --rebuild")
    if not force:
        _refuse_to_overwrite(connection, targets, redact)
    for row, target in targets:
        data = redact(text_of(connection, row)).encode("utf-8", "replace")
        if _same(target, data):
            outcome.unchanged += 1
            continue
        if not force and os.path.lexists(target):
            # It came into being since the check: another spelling of one name on a file system that folds case.
            outcome.refused.append((uri_of(row), f"{target} is another document's"))
            continue
        write_atomic(target, data)
        outcome.written += 1
        outcome.bytes += len(data)
    return outcome


def lines(connection: apsw.Connection, rows: Iterable[Row], redact: Redact = as_stored) -> Iterator[str]:
    """Yield one JSON object a document: its identity, dates, frontmatter (``fields``) and whole ``text``."""
    for row in rows:
        yield dumps(
            {
                "schema": 1,
                "docid": docid(row.hash),
                "uri": redact(uri_of(row)),
                "collection": row.collection,
                "path": redact(row.path),
                "title": redact(row.title),
                "date": clock.iso(row.date),
                "ended": clock.iso(row.ended),
                "fields": _redacted(row.fields, redact),
                "text": redact(text_of(connection, row)),
            }
        )


def to_file(
    connection: apsw.Connection,
    rows: Iterable[Row],
    path: str,
    *,
    force: bool = False,
    redact: Redact = as_stored,
) -> Outcome:
    """Write the JSON lines to ``path``, whole or not at all. Raises BadInput if it exists, unless ``force``."""
    path = os.path.abspath(path)
    if os.path.isdir(path):
        raise BadInput(f"{path} is a folder", "--format md, or --out FILE")
    if not force and os.path.lexists(path):
        raise BadInput(f"{path} exists", "choose another --out, or overwrite it: --force")
    outcome = Outcome()
    parts: list[bytes] = []
    for line in lines(connection, rows, redact):
        parts.append(line.encode() + b"\n")
        outcome.written += 1
    data = b"".join(parts)
    write_atomic(path, data)
    outcome.bytes = len(data)
    return outcome


def _target(root: str, row: Row, redact: Redact) -> str | None:
    """Return where a document goes, None if its stored path would lead elsewhere."""
    parts = [row.collection, *row.path.split("/")]
    if any(part in ("", ".", "..") or "\0" in part or os.sep in part for part in parts):
        return None
    named = [redact(part) for part in parts]
    if named != parts:
        # Two names may be one without what was replaced. No name of a file may hold a slash.
        stem, dot, ending = named[-1].replace("/", "-").rpartition(".")
        own = f"-{hashlib.sha256(row.path.encode('utf-8', 'replace')).hexdigest()[:6]}"
        named[-1] = f"{stem}{own}.{ending}" if dot and stem else f"{ending}{own}"
        parts = [part.replace("/", "-") for part in named]
    target = join(root, *parts)
    if os.path.realpath(os.path.dirname(target)) != os.path.dirname(target):
        return None  # a symlink inside the folder leads elsewhere
    return target


def _refuse_to_overwrite(connection: apsw.Connection, targets: list[tuple[Row, str]], redact: Redact) -> None:
    existing = [
        target
        for row, target in targets
        if os.path.lexists(target) and not _same(target, redact(text_of(connection, row)).encode("utf-8", "replace"))
    ]
    if existing:
        some = ", ".join(existing[:_SHOWN]) + (f" and {len(existing) - _SHOWN} more" if len(existing) > _SHOWN else "")
        raise BadInput(f"these files exist with other content: {some}", "choose another --out, or overwrite: --force")


def _same(path: str, data: bytes) -> bool:
    if os.path.islink(path) or not os.path.isfile(path):
        return False
    with open(path, "rb") as stream:
        return stream.read() == data


def _redacted(value: Any, redact: Redact) -> Any:
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, list):
        return [_redacted(entry, redact) for entry in value]
    if isinstance(value, dict):
        return {key: _redacted(entry, redact) for key, entry in value.items()}
    return value
