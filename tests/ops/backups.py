"""A memory to back up, and what is asked of backups."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import zstandard

from core import config
from core.home import Home
from ops import backup, packing, questions
from tests.ingest.transcripts import Script, save, text

WORDS = "harvest ledger valley engineer argument queue token refresh tenant migration index vector heron ocelot".split()


def session(number: int) -> str:
    return f"{number:08x}-0000-4000-8000-000000000000"


def transcript(root: Path, number: int, *, turns: int = 3) -> None:
    script = Script(session(number))
    records = []
    for turn in range(turns):
        words = " ".join(WORDS[(number * 5 + turn * 3 + each) % len(WORDS)] for each in range(6))
        records += [
            script.user(f"Where is secret{number} of turn {turn}: {words}?"),
            script.assistant(text(f"The {words} lies in drawer{number}.")),
        ]
    save(root / "projects" / "-home-me" / f"{session(number)}.jsonl", *records)


def make(home: Home, **options: Any) -> dict[str, Any]:
    return backup.make(home, config.load(home), **options)


def corpus(home: Home) -> dict[str, bytes]:
    return {
        str(path.relative_to(home.root)): path.read_bytes()
        for name in ("brain", "inbox", "raw")
        for path in sorted(Path(home.path(name)).rglob("*"))
        if path.is_file() and path.suffix != ".sqlite" and "sqlite-" not in path.name
    }


def ask(home: Home, asked: list[str]) -> list[Any]:
    return questions.answers(home, config.load(home), asked)


def unpacked(path: str, place: Path) -> bytes:
    """All bytes of a backup, what is packed within it unpacked too."""
    packing.unpack(path, str(place))
    held = []
    for each in sorted(place.rglob("*")):
        if each.is_file():
            data = each.read_bytes()
            held.append(zstandard.ZstdDecompressor().decompress(data) if each.suffix == ".zst" else data)
    return b"\0".join(held)
