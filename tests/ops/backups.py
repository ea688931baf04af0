"""A memory to back up, and what is asked of backups."""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
from pathlib import Path
from typing import Any

import zstandard

from core import config
from core.home import Home
from ops.backup import backup, packing, questions
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


def member(name: str, kind: bytes = tarfile.REGTYPE, link: str = "") -> tarfile.TarInfo:
    """The head of one entry of a tar."""
    info = tarfile.TarInfo(name)
    info.type = kind
    info.linkname = link
    return info


def forged(path: Path, *members: tuple[tarfile.TarInfo | str, bytes], files: Any = None) -> str:
    """Write an archive of ``members`` to ``path``; its manifest lists them, or ``files`` instead."""
    entries = [(member(head) if isinstance(head, str) else head, data) for head, data in members]
    listed = [[info.name, len(data), hashlib.sha256(data).hexdigest()] for info, data in entries]
    manifest = {
        "schema": 1,
        "kind": "brain-backup",
        "made_at": "2026-04-28T09:14:03Z",
        "index": False,
        "files": listed if files is None else files,
    }
    with (
        path.open("wb") as raw,
        zstandard.ZstdCompressor().stream_writer(raw, closefd=False) as packed,
        tarfile.open(fileobj=packed, mode="w|") as tar,
    ):
        for info, data in [*entries, (member("manifest.json"), json.dumps(manifest).encode())]:
            info.size = len(data) if info.isreg() else 0
            tar.addfile(info, io.BytesIO(data))
    return str(path)


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
