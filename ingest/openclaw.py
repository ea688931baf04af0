"""OpenClaw: ``~/.openclaw/agents/<agent>/sessions/<id>.jsonl``, since 2026.7 a database an agent, ``cold/*.jsonl.zst``.

The four parts of every source, in order: ``discover``, ``pending``, ``parse``, ``stats``; ``read`` is what a run calls.
Formats: ``ingest._openclaw``.
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

NAME = "openclaw"
COLLECTION = "brain"
PREFIX = "openclaw__"
SUFFIXES = (".jsonl", ".sqlite", ".zst")

# Named by a transcript and more, but no copy of it; and ``.bak-``, the snapshots that a repair once made each time,
# thousands of one session (openclaw/openclaw issue 80960): every sound line of those stays in the transcript.
_ASIDE = (".codex-app-server", ".bak-", ".lock", ".tmp", ".json.", ".sqlite")
_ENDS = (".json", ".gz", "-wal", "-shm")


def default_roots(home: Home | None = None, environ: Mapping[str, str] | None = None) -> list[str]:
    """The places where this machine keeps them, those that exist."""
    from ingest.sources import roots

    return roots(NAME, home, environ)


def discover(roots: Iterable[str]) -> list[SourceFile]:
    """Every transcript below the roots, archived ones of reset and deleted sessions too, and every agent's database."""
    from ingest.databases import with_logs
    from ingest.files import walk

    files = walk(roots, _is_wanted, {}, {})
    for file in files:
        if file.path.endswith(".trajectory.jsonl"):
            file.skip = file.skip or "trajectory of a run"
        elif ".checkpoint." in file.path.rpartition("/")[2]:
            file.skip = file.skip or "checkpoint of a session"
    return list(with_logs(files))


def _is_wanted(name: str) -> bool:
    if name.endswith((".jsonl", ".jsonl.zst", "-agent.sqlite")):
        return True
    _, found, copy = name.partition(".jsonl.")
    return bool(found) and not name.endswith(_ENDS) and not any(mark in f".{copy}." for mark in _ASIDE)


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
    from ingest._openclaw import read as read_file

    return read_file(path)
