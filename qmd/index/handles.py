"""The paths that qmd stored before it stored them literally: marks became dashes, pictures their code points."""

from __future__ import annotations

import re
from itertools import groupby
from unicodedata import category

import apsw

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

_EXTENSION = re.compile(r"\.[a-z0-9]+$", re.IGNORECASE)


def handle(path: str) -> str:
    """Return ``path`` as an older qmd stored it. Raises ValueError if nothing of the name would be left."""
    if not path.strip():
        raise ValueError("handelize: path cannot be empty")
    named = [segment for segment in path.split("/") if segment]
    stem = re.sub(r"\.[^.]+$", "", named[-1]) if named else ""
    if not any(_is_kept(character) or _is_picture(character) for character in stem):
        raise ValueError(f'handelize: path "{path}" has no valid filename content')
    segments = path.replace("___", "/").split("/")
    cleaned = [_dashed(_spelled(segment)) for segment in segments[:-1]]
    last = _spelled(segments[-1])
    extension = _EXTENSION.search(last)
    tail = extension.group() if extension else ""
    cleaned.append(_dashed(last.removesuffix(tail)) + tail)
    result = "/".join(segment for segment in cleaned if segment)
    if not result:
        raise ValueError(f'handelize: path "{path}" resulted in empty string after processing')
    return result


def _spelled(segment: str) -> str:
    """Return ``segment`` with each run of pictures as hexadecimal code points."""
    out = ""
    for picture, run in groupby(segment, _is_picture):
        characters = list(run)
        out += "-".join(f"{ord(character):x}" for character in characters) if picture else "".join(characters)
    return out


def _dashed(segment: str) -> str:
    """Letters, digits and ``$`` as they are, a dash for each run of anything else, none at the ends."""
    return "-".join("".join(run) for kept, run in groupby(segment, _is_kept) if kept)


def _is_kept(character: str) -> bool:
    return character == "$" or category(character)[0] in "LN"


def _is_picture(character: str) -> bool:
    return category(character) in ("So", "Sk")


def adopt(connection: apsw.Connection, collection: str, live: Iterable[str]) -> int:
    """Give documents that have such a path the literal path of their file; return how many.

    ``live`` are the paths of the collection's files. A document with a live path of its own is left alone.
    """
    stored = {
        path: (identity, known)
        for path, identity, known in connection.execute(
            "SELECT d.path, d.id, f.document_id FROM documents d LEFT JOIN brain_files f ON f.document_id = d.id"
            " WHERE d.collection = ? AND d.active = 1",
            (collection,),
        )
    }
    paths = set(live)
    stale = {path: identity for path, (identity, known) in stored.items() if known is None and path not in paths}
    adopted = 0
    for path in sorted(paths - stored.keys()) if stale else ():
        try:
            old = handle(path)
        except ValueError:
            continue
        if old in stale:
            connection.execute("UPDATE OR IGNORE documents SET path = ? WHERE id = ?", (path, stale.pop(old)))
            adopted += connection.changes()
    return adopted
