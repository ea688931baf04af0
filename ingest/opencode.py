"""OpenCode: ``~/.local/share/opencode/``: ``opencode.db``; before it a tree of JSON files; exported sessions.

The four parts of every source, in order: ``discover``, ``pending``, ``parse``, ``stats``; ``read`` is what a run calls.
Formats: ``ingest._opencode``.
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

NAME = "opencode"
COLLECTION = "brain"
PREFIX = "opencode__"
SUFFIXES = (".db", ".json", ".jsonl")


def default_roots(home: Home | None = None, environ: Mapping[str, str] | None = None) -> list[str]:
    """The places where this machine keeps them, those that exist."""
    from ingest.sources import roots

    return roots(NAME, home, environ)


def discover(roots: Iterable[str]) -> list[SourceFile]:
    """Databases, exported sessions, and the sessions of a tree of JSON files, which stand for their messages."""
    from ingest._opencode_tree import fold
    from ingest.databases import with_logs
    from ingest.files import walk

    return fold(list(with_logs(walk(roots, SUFFIXES, {}, {}))))


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


def may_hold_any(path: str) -> bool:
    """Whether a file may hold any session, whatever it is called: a person names what is exported."""
    from ingest._opencode_tree import storage

    return path.endswith((".json", ".jsonl")) and not storage(path)


def stream(path: str) -> Iterator[Reading]:
    """``read``, given out each time that more sessions of a database are whole, and at the end."""
    from ingest._opencode import stream as stream_file

    return stream_file(path)


def read(path: str) -> Reading:
    """One file as sessions, and the account of what was not kept."""
    from ingest._opencode import read as read_file

    return read_file(path)
