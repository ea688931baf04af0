"""The files of a set: reading them, also compressed by gzip, and writing their documents as markdown."""

from __future__ import annotations

import hashlib
import os
import re
from typing import TYPE_CHECKING, Any

from core.document import render
from core.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

PACKED = ".gz"


def there(folder: Path, name: str) -> Path | None:
    """The file of that name in ``folder``, else the packed one, None where there is neither."""
    return next((path for path in (folder / name, folder / f"{name}{PACKED}") if path.is_file()), None)


def plain(path: Path) -> str:
    """A file's name without ``.gz``."""
    return path.name.removesuffix(PACKED)


def stem(path: Path) -> str:
    """A file's name without its ending, and without ``.gz`` after that."""
    return plain(path).rpartition(".")[0]


def text(path: Path) -> str:
    """Return the text of a file, compressed or not, in UTF-8. Raises BadInput."""
    import gzip
    import zlib

    try:
        raw = path.read_bytes()
        return (gzip.decompress(raw) if path.suffix == PACKED else raw).decode("utf-8-sig")
    except (OSError, EOFError, zlib.error, UnicodeDecodeError) as error:
        raise BadInput(f"cannot read {path}: {error}", f"check it: file {path}") from None


_SAFE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,99}")
# 2020-01-01: the same for every corpus, so that an undated document's date is no accident of the day it was written.
_MTIME = 1_577_836_800


def write_records(records: Sequence[Mapping[str, Any]], folder: Path) -> dict[str, str]:
    """A file a record: its title as heading, its date and tags as frontmatter. Returns id by file name."""
    names: dict[str, str] = {}
    taken: set[str] = set()
    for record in records:
        identity = str(record["id"])
        name = f"{identity}.md"
        # An id is data: what is no plain file name, or differs from another in case alone, is called by its digest.
        if not _SAFE.fullmatch(identity) or name.casefold() in taken:
            name = f"{hashlib.sha256(identity.encode('utf-8', 'surrogatepass')).hexdigest()[:20]}.md"
        taken.add(name.casefold())
        title = " ".join(str(record.get("title") or "").split())
        body = str(record.get("body") or record.get("text") or "")
        meta = {"date": record.get("date"), "tags": record.get("tags")}
        text = f"# {title}\n\n{body}" if title and not body.lstrip().startswith(f"# {title}\n") else body
        has_meta = any(value not in (None, "", []) for value in meta.values())
        write(folder / name, render(meta, text) if has_meta else f"{text.rstrip()}\n".encode("utf-8", "replace"))
        names[name] = identity
    return names


def write_files(data: Mapping[str, Path], folder: Path) -> dict[str, str]:
    """Copies of files, by their paths below ``folder``; a path is its own id."""
    for relative, path in data.items():
        target = folder / relative
        target.parent.mkdir(parents=True, exist_ok=True)
        write(target, path.read_bytes())
    return {relative: relative for relative in data}


def write(path: Path, data: bytes) -> None:
    """A file of ``data``, as old as every other of a corpus."""
    path.write_bytes(data)
    os.utime(path, (_MTIME, _MTIME))
