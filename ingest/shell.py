"""The histories of shells: zsh, bash and fish, and Atuin's database; one document a day.

The four parts of every source, in order: ``discover``, ``pending``, ``parse``, ``stats``; ``read`` is what a run calls.
Formats: ``ingest._shell``.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from core.document import Document, Failure
    from core.home import Home
    from ingest._shell import Day
    from ingest.files import SourceFile
    from ingest.reading import Reading
    from ingest.state import FileRow

NAME = "shell"
COLLECTION = "brain"
PREFIX = "shell__"
SUFFIXES = ("_history", ".db", ".histfile")


def default_roots(home: Home | None = None, environ: Mapping[str, str] | None = None) -> list[str]:
    """The places where this machine keeps them, those that exist."""
    from ingest.sources import roots

    return roots(NAME, home, environ)


def discover(roots: Iterable[str]) -> list[SourceFile]:
    """Every history below the roots, sorted by path: a root may be the file itself."""
    from ingest.databases import with_logs
    from ingest.files import walk

    return list(with_logs(walk(roots, _is_wanted, {}, {})))


def _is_wanted(name: str) -> bool:
    return name.endswith(("_history", ".histfile", "-history")) or name in ("history.db", "HISTORY")


def pending(files: Sequence[SourceFile], known: Mapping[str, FileRow], *, trust_stat: bool) -> list[SourceFile]:
    """Those of ``files`` that are new or not what they were when ``known`` was recorded."""
    from ingest.files import pending as not_as_known

    return not_as_known(files, known, trust_stat=trust_stat)


def peek(_path: str) -> str:
    """What groups files: all histories tell of the same days, and are read once, together."""
    return NAME


def parse(path: str) -> Iterator[Document | Failure]:
    """The documents of one file taken alone, then what in it could not be read. Raises nothing."""
    from core.document import Document, Failure
    from ingest.sessions import faults

    reading = read(path)
    for unit, part in reading.parts.items():
        composed = compose(unit, [part], mtime_ns=reading.mtime_ns)
        if isinstance(composed, str):
            yield Failure(path, composed)
        else:
            yield Document(f"{PREFIX}{unit}.md", *composed)
    yield from faults(reading)


def stats(home: Home) -> dict[str, object]:
    """What the last run recorded of this source (see ``ingest.ledger``); empty before the first."""
    from ingest.ledger import of

    return of(home, NAME)


def read(path: str) -> Reading:
    """One file as sessions, and the account of what was not kept."""
    from ingest._shell import read as read_file

    return read_file(path)


def compose(unit: str, parts: list[Day], link: str = "", mtime_ns: int = 0) -> tuple[dict[str, object], str] | str:
    """(frontmatter, body) of one day from all the histories that know of it, or why it makes no document."""
    from ingest._shell import compose as document

    return document(unit, parts, link, mtime_ns)
