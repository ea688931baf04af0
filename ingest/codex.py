"""Codex CLI: ``<CODEX_HOME>/sessions/YYYY/MM/DD/rollout-<time>-<id>.jsonl``, or ``.zst``, and ``archived_sessions``.

The four parts of every source, in order: ``discover``, ``pending``, ``parse``, ``stats``; ``read`` is what a run calls.
Formats: ``ingest._codex``.
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

NAME = "codex"
COLLECTION = "brain"
PREFIX = "codex__"
SUFFIXES = (".jsonl", ".jsonl.zst", ".json")


def default_roots(home: Home | None = None, environ: Mapping[str, str] | None = None) -> list[str]:
    """The folders where this machine keeps transcripts, those that exist."""
    from ingest.sources import roots

    return roots(NAME, home, environ)


def discover(roots: Iterable[str]) -> list[SourceFile]:
    """Every transcript below the roots, sorted by path; not a compressed one whose plain form lies beside it.

    The index and the database that name the sessions are among them, and the history of prompts, also where they lie
    above the roots.
    """
    from ingest._codex_names import above
    from ingest.databases import with_logs
    from ingest.files import walk
    from ingest.histories import above as histories

    places = list(roots)
    beside = [index for place in places for index in above(place)] + histories(NAME, places)
    files = list(with_logs(walk([*places, *beside], _is_wanted, {}, {})))
    there = {file.path for file in files}
    for file in files:
        if not file.skip and file.path.endswith(".zst") and file.path.removesuffix(".zst") in there:
            file.skip = "compressed copy of a plain file"
    return files


def _is_wanted(name: str) -> bool:
    return name.endswith(SUFFIXES[:2]) or (name.startswith("rollout-") and name.endswith(".json"))


def pending(files: Sequence[SourceFile], known: Mapping[str, FileRow], *, trust_stat: bool) -> list[SourceFile]:
    """Those of ``files`` that are new or not what they were when ``known`` was recorded, or named otherwise since."""
    from ingest.files import pending as not_as_known

    new = not_as_known(files, known, trust_stat=trust_stat)
    indexes = [file.path for file in new if is_index(file.path)]
    if not indexes:
        return new
    from ingest._codex_names import renamed

    there = {file.path for file in new}
    return new + [file for file in renamed(files, known, indexes) if file.path not in there]


def is_restless(path: str) -> bool:
    """Whether a file is written to whenever Codex runs, whatever it says of sessions: that is no news."""
    return path.endswith(".sqlite")


def is_index(path: str) -> bool:
    """Whether a file is no transcript, but says what the sessions are called."""
    return path.endswith(("/session_index.jsonl", ".sqlite"))


def parse(path: str) -> Iterator[Document | Failure]:
    """The documents of one file taken alone, then what in it could not be read. Raises nothing."""
    from ingest.sessions import documents

    return documents(read(path), PREFIX)


def stats(home: Home) -> dict[str, object]:
    """What the last run recorded of this source (see ``ingest.ledger``); empty before the first."""
    from ingest.ledger import of

    return of(home, NAME)


def peek(path: str) -> str:
    """The unit a file probably belongs to: copies of one session have one file name."""
    from os.path import basename

    return basename(path)


def read(path: str) -> Reading:
    """One file as sessions, and the account of what was not kept."""
    from ingest._codex import read as read_file

    return read_file(path)
