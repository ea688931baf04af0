"""Cursor: the editor's ``state.vscdb`` (global, and of each workspace), and agents' transcripts in ``~/.cursor``.

The four parts of every source, in order: ``discover``, ``pending``, ``parse``, ``stats``; ``read`` is what a run calls.
Formats: ``ingest._cursor``.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from core.document import Document, Failure
    from core.home import Home
    from ingest.files import SourceFile
    from ingest.reading import Reading
    from ingest.sessions import Session
    from ingest.state import FileRow

NAME = "cursor"
COLLECTION = "brain"
PREFIX = "cursor__"
SUFFIXES = (".vscdb", ".db", ".jsonl", ".txt")


def default_roots(home: Home | None = None, environ: Mapping[str, str] | None = None) -> list[str]:
    """The places where this machine keeps them, those that exist."""
    from ingest.sources import roots

    return roots(NAME, home, environ)


def discover(roots: Iterable[str]) -> list[SourceFile]:
    """Every database and transcript below the roots, sorted by path; texts only where transcripts lie."""
    from ingest.databases import with_logs
    from ingest.files import walk

    files = walk(roots, (".vscdb", "store.db", ".jsonl", ".txt"), {}, {})
    return list(with_logs([file for file in files if not file.path.endswith(".txt") or _is_transcript(file.path)]))


def _is_transcript(path: str) -> bool:
    return "/agent-transcripts/" in path


def pending(files: Sequence[SourceFile], known: Mapping[str, FileRow], *, trust_stat: bool) -> list[SourceFile]:
    """Those of ``files`` that are new or not what they were when ``known`` was recorded."""
    from ingest.files import pending as not_as_known

    return not_as_known(files, known, trust_stat=trust_stat)


def compose(unit: str, parts: list[Session], link: str = "", mtime_ns: int = 0) -> tuple[dict[str, object], str] | str:
    """As ``ingest.sessions.compose``; what a conversation's transcript repeats of its database stands once."""
    from ingest import sessions
    from ingest._cursor_copies import once

    return sessions.compose(unit, once(parts), link, mtime_ns)


def parse(path: str) -> Iterator[Document | Failure]:
    """The documents of one file taken alone, then what in it could not be read. Raises nothing."""
    from ingest.sessions import documents

    return documents(read(path), PREFIX)


def stats(home: Home) -> dict[str, object]:
    """What the last run recorded of this source (see ``ingest.ledger``); empty before the first."""
    from ingest.ledger import of

    return of(home, NAME)


def stream(path: str) -> Iterator[Reading]:
    """``read``, given out each time that more conversations of a database are whole, and at the end."""
    from ingest._cursor import stream as stream_file

    return stream_file(path)


def read(path: str) -> Reading:
    """One file as sessions, and the account of what was not kept."""
    from ingest._cursor import read as read_file

    return read_file(path)
