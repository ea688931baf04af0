"""A parser's promises as data: what a tool wrote, and what its document shows.

A line of ``data/<tool>.jsonl`` has a ``promise``, what the tool's test module writes as a file, and what is expected:

| field | meaning |
|---|---|
| ``meta`` | frontmatter; null: the document has no such field |
| ``roles`` | the roles of all turns, in order |
| ``shows`` | texts of the conversation, in order; null: there is no document |
| ``hides`` | texts that are nowhere in the body |
| ``counts`` | text → how often it is in the conversation |
| ``ends`` | the end of the body |
| ``unknown`` | the names that are counted as unknown, or name → count or shape; none by default |
| ``failed`` | how many records could not be read; 0 by default |
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import strategies as st

from core.document import render, split
from core.home import Home
from ingest.pipeline.ledger import Ledger
from ingest.pipeline.reading import Reading
from ingest.pipeline.run import run
from ingest.raw.store import DISK
from ingest.source import Source
from tests.ingest.transcripts import corpus

Case = dict[str, Any]
_DATA = Path(__file__).parent / "data"


def cases(tool: str) -> list[Any]:
    """Return the tool's cases as parameters of a test. A line of ``names`` replaces ``@NAME@`` in those below it."""
    names: dict[str, str] = {}
    found: list[Any] = []
    for line in (_DATA / f"{tool}.jsonl").read_text("utf-8").splitlines():
        for name, value in names.items():
            line = line.replace(f"@{name}@", json.dumps(value)[1:-1])
        row = json.loads(line)
        names |= row.get("names", {})
        if "promise" in row:
            found.append(pytest.param(row, id=row["promise"]))
    return found


class Parsed(NamedTuple):
    """One file as its source reads it: the reading, and (frontmatter, body) of each unit that makes a document."""

    reading: Reading
    documents: dict[str, tuple[dict[str, Any], str]]


def parsed(source: Source, path: Path) -> Parsed:
    """Return one file as its source reads it, without a home."""
    *_, reading = source.parse(str(path), DISK)
    made = {unit: source.compose(unit, [part], mtime_ns=reading.mtime_ns) for unit, part in reading.parts.items()}
    return Parsed(
        reading, {unit: split(render(*found).decode()) for unit, found in made.items() if not isinstance(found, str)}
    )


def check(case: Case, found: Parsed) -> None:
    """Assert what a case says of the only document of a file."""
    unknown = case.get("unknown", ())
    assert set(found.reading.unknown) == set(unknown)
    if isinstance(unknown, dict):
        for what, (count, _, shape) in found.reading.unknown.items():
            assert unknown[what] in (count, shape)
    assert sum(found.reading.failed_reasons.values()) == case.get("failed", 0)
    if case.get("shows", "") is None:
        assert found.documents == {}
        return
    ((meta, body),) = found.documents.values()
    for field, value in case.get("meta", {}).items():
        assert meta.get(field) == value, field
    assert roles(body) == case.get("roles", roles(body))
    conversation = body[body.index("## [1]") :]
    position = 0
    for text in case.get("shows", ()):
        assert text in conversation[position:]
        position = conversation.index(text, position) + len(text)
    for text in case.get("hides", ()):
        assert text not in body
    for text, count in case.get("counts", {}).items():
        assert conversation.count(text) == count, text
    assert body.endswith(case.get("ends", ""))


def roles(body: str) -> list[str]:
    """Return the roles of a document's turns."""
    return re.findall(r"(?m)^## \[\d+\] ([^·\n]+?)(?: ·|$)", body)


def ingest(home: Home, source: str, folder: Path) -> Ledger:
    return run(home, source, [str(folder)], trust_stat=False)


def document(home: Home, name: str) -> tuple[dict[str, Any], str]:
    """Return (frontmatter, body) of one document."""
    return split(corpus(home)[f"{name}.md"].decode())


def odd_values(keys: str, leaves: int = 20) -> st.SearchStrategy[Any]:
    """Return JSON values of any shape, with ``keys`` (words) that a format has."""
    return st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=8),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(keys.split()), inner, max_size=5),
        max_leaves=leaves,
    )
