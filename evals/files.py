"""The files of a set, as they are or packed by gzip (``.gz`` after their name)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.errors import BadInput

if TYPE_CHECKING:
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
    """What is in a file, packed or not, in UTF-8. Raises BadInput where it cannot be read."""
    import gzip
    import zlib

    try:
        raw = path.read_bytes()
        return (gzip.decompress(raw) if path.suffix == PACKED else raw).decode("utf-8-sig")
    except (OSError, EOFError, zlib.error, UnicodeDecodeError) as error:
        raise BadInput(f"cannot read {path}: {error}", f"check it: file {path}") from None
