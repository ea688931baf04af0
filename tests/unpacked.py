"""All that a home keeps, for tests that look for a text that must be nowhere."""

from __future__ import annotations

from pathlib import Path

import zstandard

from core.home import Home


def everything(home: Home) -> bytes:
    """Return the names and the bytes of all files below the home, the archive unpacked."""
    held: list[bytes] = []
    for path in sorted(Path(home.root).rglob("*")):
        if path.is_file():
            data = path.read_bytes()
            held.append(str(path.relative_to(home.root)).encode())
            held.append(zstandard.ZstdDecompressor().decompress(data) if path.suffix == ".zst" else data)
    return b"\0".join(held)
