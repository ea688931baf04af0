"""Whether a browser's database, with the journals beside it, is what it was."""

from __future__ import annotations

import hashlib

from ingest.raw.sqlite_copy import parts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ingest.pipeline.state import FileRow
    from ingest.raw.files import SourceFile

_CHUNK = 1024 * 1024


def changed(file: SourceFile, known: FileRow | None, *, trust_stat: bool) -> bool:
    """Whether a database must be read again; see ``ingest.raw.files.changed``."""
    if known is None or known.status in ("vanished", "unreadable"):
        return True
    if (known.size, known.mtime_ns, known.inode) != (file.size, file.mtime_ns, file.inode):
        return True
    if trust_stat:
        return False
    try:
        return digest_of(file.path) != known.digest
    except OSError:
        return True


def digest_of(path: str) -> str:
    """SHA-256 of a database and the journals beside it, hex. Raises OSError."""
    total = hashlib.sha256()
    for part in parts(path):
        total.update(f"{part.suffix}\0{part.size}\0".encode())
        try:
            with open(path + part.suffix, "rb") as stream:
                while chunk := stream.read(_CHUNK):
                    total.update(chunk)
        except FileNotFoundError:
            if not part.suffix:
                raise
    return total.hexdigest()
