"""Small hand-made Claude Code transcripts: the shapes of the format with nothing of anybody's sessions in them."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from core.document import Document, Failure, split
from core.home import Home
from ingest.pipeline.ledger import Ledger
from ingest.pipeline.run import run
from ingest.raw.store import DISK
from ingest.session.document import faults
from ingest.session.units import stem

SESSION = "5f0c2a1e-0000-4000-8000-00000000000a"
OTHER = "7b1d3c2f-0000-4000-8000-00000000000b"

Record = dict[str, Any]


class Script:
    """Makes records of one session, a second apart, each with the next uuid."""

    def __init__(self, session: str = SESSION, *, prefix: str = "u", **common: Any) -> None:
        self.session = session
        self.common = {"cwd": "/home/me/api", "version": "2.1.100", "gitBranch": "main", **common}
        self.prefix = prefix
        self.count = 0

    def record(self, kind: str, **fields: Any) -> Record:
        self.count += 1
        record: Record = {
            "type": kind,
            "uuid": f"{self.prefix}{self.count}",
            "parentUuid": f"{self.prefix}{self.count - 1}" if self.count > 1 else None,
            "isSidechain": False,
            "sessionId": self.session,
            "timestamp": f"2026-04-28T09:{self.count // 60:02}:{self.count % 60:02}.000Z",
            **self.common,
        }
        record.update(fields)
        return {key: value for key, value in record.items() if value != "<absent>"}

    def user(self, content: Any, **fields: Any) -> Record:
        return self.record("user", message={"role": "user", "content": content}, **fields)

    def assistant(self, *blocks: Record, message: str = "", model: str = "claude-opus-4-6", **fields: Any) -> Record:
        inner: Record = {"role": "assistant", "model": model, "content": list(blocks)}
        inner["id"] = message or f"msg_{self.session}_{self.count}"
        inner["usage"] = fields.pop("usage", {"output_tokens": 1})
        return self.record("assistant", message=inner, **fields)

    def result(
        self, call: str, content: Any = "ok", *, outcome: Any = None, error: bool = False, **fields: Any
    ) -> Record:
        block: Record = {"type": "tool_result", "tool_use_id": call, "content": content}
        if error:
            block["is_error"] = True
        return self.user([block], toolUseResult={} if outcome is None else outcome, **fields)


def text(words: str) -> Record:
    return {"type": "text", "text": words}


def thinking(words: str) -> Record:
    return {"type": "thinking", "thinking": words, "signature": "x"}


def tool(name: str, call: str = "t1", **given: Any) -> Record:
    return {"type": "tool_use", "id": call, "name": name, "input": given}


def lines(*records: Record) -> bytes:
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)


def save(path: Path, *records: Record) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(lines(*records))
    return path


def ingest(home: Home, folder: Path, *, trust_stat: bool = False, **options: Any) -> Ledger:
    return run(home, "claude", [str(folder)], trust_stat=trust_stat, **options)


def corpus(home: Home) -> dict[str, bytes]:
    """Name → bytes of every document."""
    return {path.name: path.read_bytes() for path in sorted(Path(home.path("brain")).glob("*.md"))}


def from_the_archive_alone(home: Home, source: str, originals: Path) -> dict[str, bytes]:
    """The corpus that is made when the originals, the documents and the state are gone."""
    shutil.rmtree(originals)
    shutil.rmtree(home.path("brain"))
    shutil.rmtree(home.state)
    home.make()
    ledger = run(home, source, trust_stat=False, from_archive=True)
    assert ledger.failed_files == 0
    return corpus(home)


def document(home: Home, name: str = f"{SESSION}.md") -> tuple[dict[str, Any], str]:
    """(frontmatter, body) of one document."""
    return split(Path(home.path("brain"), name).read_text(encoding="utf-8"))


def body(home: Home, folder: Path, *records: Record) -> str:
    """The body that the session's records make."""
    save(folder / "projects" / "-home-me-api" / f"{SESSION}.jsonl", *records)
    ingest(home, folder)
    return document(home)[1]


def documents(source: Any, path: str | Path) -> Iterator[Document | Failure]:
    """Yield the documents of one file taken alone, then its failures."""
    *_, reading = source.parse(str(path), DISK)
    for unit, part in reading.parts.items():
        composed = source.compose(unit, [part], mtime_ns=reading.mtime_ns)
        yield (
            Failure(str(path), composed)
            if isinstance(composed, str)
            else Document(f"{source.prefix}{stem(unit)}.md", *composed)
        )
    yield from faults(reading)
