"""Transcripts of Claude Code with edits, read by a run of the source, for tests that need the raw record."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from core.config import load
from core.home import Home
from runtime.capture.indexing import index


class Transcript:
    """A session that is written record by record; ``day`` is of May 2026."""

    def __init__(self, session: str, project: Path, day: int) -> None:
        self.session, self.project, self.day = session, project, day
        self.records: list[dict[str, Any]] = []

    def add(self, kind: str, message: dict[str, Any], **more: Any) -> Transcript:
        number = len(self.records)
        self.records.append(
            {
                "type": kind, "uuid": f"{self.session}-{number}", "sessionId": self.session, "cwd": str(self.project),
                "timestamp": f"2026-05-{self.day:02}T08:{number:02}:00.000Z",
                "message": {"role": kind, **message}, **more,
            }
        )  # fmt: skip
        return self

    def asked(self, words: str) -> Transcript:
        return self.add("user", {"content": words})

    def said(self, words: str) -> Transcript:
        name = f"m{len(self.records)}"
        return self.add("assistant", {"id": name, "content": [{"type": "text", "text": words}]})

    def called(
        self, name: str, result: str = "ok", *, details: Any = None, failed: bool = False, **given: Any
    ) -> Transcript:
        call = f"{self.session}-c{len(self.records)}"
        block = {"type": "tool_use", "id": call, "name": name, "input": given}
        self.add("assistant", {"id": f"m{len(self.records)}", "content": [block]})
        answer = {"type": "tool_result", "tool_use_id": call, "content": result, "is_error": failed}
        return self.add("user", {"content": [answer]}, **({"toolUseResult": details} if details is not None else {}))

    def edited(self, path: Path | str, old: str, new: str, **more: Any) -> Transcript:
        return self.called("Edit", file_path=str(path), old_string=old, new_string=new, **more)

    def write(self, root: Path) -> Path:
        path = root / "-project" / f"{self.session}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(json.dumps(each) + "\n" for each in self.records), encoding="utf-8")
        return path


def remember(home: Home, root: Path, *transcripts: Transcript) -> list[Path]:
    """Write transcripts below a root and index them."""
    paths = [each.write(root) for each in transcripts]
    index(home, load(home), source="claude", roots=[str(root)])
    return paths
