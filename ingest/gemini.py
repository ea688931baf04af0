"""Gemini CLI: ``~/.gemini/tmp/<project>/chats/session-*.json``, and since 2026 ``.jsonl``, a journal.

The four parts of every source, in order: ``discover``, ``pending``, ``parse``, ``stats``; ``read`` is what a run calls.
Formats: ``ingest._gemini``.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from core.document import Document, Failure
    from core.home import Home
    from ingest.files import SourceFile
    from ingest.reading import Reading
    from ingest.state import FileRow

NAME = "gemini"
COLLECTION = "brain"
PREFIX = "gemini__"
SUFFIXES = (".json", ".jsonl")

_NOT_SESSIONS = {
    "projects.json": "names of projects",
    "settings.json": "settings",
    "state.json": "settings",
    "mcp-oauth-tokens.json": "credentials",
    "oauth_creds.json": "credentials",
    "google_accounts.json": "credentials",
}
_NOT_FOLDERS = {"checkpoints": "tool checkpoint", "logs": "activity log", "tool-outputs": "tool output"}


def default_roots(home: Home | None = None, environ: Mapping[str, str] | None = None) -> list[str]:
    """The places where this machine keeps them, those that exist."""
    from ingest.sources import roots

    return roots(NAME, home, environ)


def discover(roots: Iterable[str]) -> list[SourceFile]:
    """Every session below the roots, what was saved of some, and each project's history of prompts, sorted by path."""
    from ingest.files import walk

    return walk(roots, SUFFIXES, _NOT_SESSIONS, _NOT_FOLDERS)


def pending(files: Sequence[SourceFile], known: Mapping[str, FileRow], *, trust_stat: bool) -> list[SourceFile]:
    """Those of ``files`` that are new or not what they were when ``known`` was recorded."""
    from ingest.files import pending as not_as_known

    return not_as_known(files, known, trust_stat=trust_stat)


def parse(path: str) -> Iterator[Document | Failure]:
    """The documents of one file taken alone, then what in it could not be read. Raises nothing."""
    from ingest.sessions import documents

    return documents(read(path), PREFIX)


def stats(home: Home) -> dict[str, object]:
    """What the last run recorded of this source (see ``ingest.ledger``); empty before the first."""
    from ingest.ledger import of

    return of(home, NAME)


def read(path: str) -> Reading:
    """One file as sessions, and the account of what was not kept."""
    from ingest._gemini import read as read_file

    return read_file(path)
