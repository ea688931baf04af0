"""Answers that an agent asked for, by MCP or by a command: what the ledger keeps of them."""

from __future__ import annotations

import contextlib

from core.errors import BrainError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from core.home import Home
    from runtime.injections.ledger import Item

# The fields of a result that are its text, the fullest first; a result about the work has a command or an error.
_TEXTS = ("text", "snippet", "why", "command", "error")
# Claude Code names the session for the commands and servers that it starts.
_SESSION = "CLAUDE_CODE_SESSION_ID"
_AGENTS = ("claude-code", "mcp")


def is_agents(surface: str, environ: Mapping[str, str]) -> bool:
    """Return True if an agent asks: by its surface, or because Claude Code started the command."""
    return surface in _AGENTS or (surface == "terminal" and bool(environ.get(_SESSION) or environ.get("CLAUDECODE")))


def record(home: Home, environ: Mapping[str, str], surface: str, event: str, envelope: Mapping[str, Any]) -> None:
    """Record the documents that an answer showed; a ledger that cannot be written fails no answer."""
    from runtime.injections import ledger

    items = list(_items(envelope, event))
    if items:
        with contextlib.suppress(OSError, BrainError):
            ledger.add(home, environ.get(_SESSION) or "", surface, event, items)


def _items(envelope: Mapping[str, Any], event: str) -> Iterator[Item]:
    from runtime.injections.ledger import Item

    lists = [each for each in envelope.values() if isinstance(each, list)]
    documents = [each for listed in lists for each in listed if isinstance(each, dict)]
    if not documents and isinstance(envelope.get("text"), str):
        documents = [dict(envelope)]
    for each in documents:
        uri = each.get("uri")
        if not isinstance(uri, str):
            continue
        said = next((str(each[name]) for name in _TEXTS if each.get(name)), "")
        text = f"{each.get('title') or ''}\n{said}".strip()
        line, docid = each.get("line"), each.get("docid")
        yield Item(
            text, uri=uri, line=line if isinstance(line, int) else 0, docid=str(docid or ""), reason=f"asked: {event}"
        )
