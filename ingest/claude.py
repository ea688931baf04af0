"""Claude Code: ``<config>/projects/<project>/<session-id>.jsonl``, subagents beside them or in ``subagents/``.

The four parts of every source, in order: ``discover``, ``pending``, ``parse``, ``stats``. The format is not
documented by its vendor and changes; what was seen on versions 1.0.24 to 2.1.295 is handled here and in the modules
whose names begin with ``_claude``, what was not is counted. A run with nothing new must not pay for the parser,
which is therefore imported where it is first needed.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import Any

    from core.document import Document, Failure
    from core.home import Home
    from ingest.files import SourceFile
    from ingest.reading import Reading
    from ingest.state import FileRow

NAME = "claude"
COLLECTION = "brain"

_NOT_TRANSCRIPTS = {"journal.jsonl": "workflow journal"}
_NOT_FOLDERS = {"memory": "memory folder", "tool-results": "tool result"}


def default_roots(home: Home | None = None, environ: Mapping[str, str] | None = None) -> list[str]:
    """The places where this machine keeps them, those that exist."""
    from ingest.sources import roots

    return roots(NAME, home, environ)


def discover(roots: Iterable[str]) -> list[SourceFile]:
    """Every ``*.jsonl`` below the roots, sorted by path, whatever the layout; folders' symbolic links not followed.

    The history of prompts is among them, also where it lies beside the roots.

    Files that cannot be transcripts are listed too, with the reason in ``skip``.
    """
    from ingest.files import walk
    from ingest.histories import above

    places = list(roots)
    return walk([*places, *above(NAME, places)], ".jsonl", _NOT_TRANSCRIPTS, _NOT_FOLDERS)


def pending(files: Sequence[SourceFile], known: Mapping[str, FileRow], *, trust_stat: bool) -> list[SourceFile]:
    """Those of ``files`` that are new or not what they were when ``known`` was recorded.

    ``trust_stat``: same size, mtime and inode means unchanged; otherwise the bytes must also have the same digest.
    """
    from ingest.files import pending as not_as_known

    return not_as_known(files, known, trust_stat=trust_stat)


def parse(path: str) -> Iterator[Document | Failure]:
    """The documents of one file taken alone, then what in it could not be read. Raises nothing.

    A run goes through ``read`` and ``compose`` instead, which put the copies of one session together.
    """
    from core.document import Document, Failure
    from ingest.names import stem
    from ingest.sessions import faults

    reading = read(path)
    for unit, part in reading.parts.items():
        composed = compose(unit, [part], mtime_ns=reading.mtime_ns)
        if isinstance(composed, str):
            yield Failure(path, composed)
        else:
            meta, body = composed
            yield Document(f"{stem(unit)}.md", meta, body)
    yield from faults(reading)


def stats(home: Home) -> dict[str, object]:
    """What the last run recorded of this source (see ``ingest.ledger``); empty before the first."""
    from ingest.ledger import read as ledger

    found = ledger(home).get(NAME)
    return found if isinstance(found, dict) else {}


def peek(path: str) -> str:
    """The unit a file probably belongs to, cheaply: files of one unit are then read together."""
    from ingest._claude_read import peek as first_session

    return first_session(path)


def read(path: str) -> Reading:
    """One file as slim events by unit, and the account of what was not kept."""
    from ingest.histories import is_history

    if is_history(NAME, path):
        from ingest._history_read import read as read_history

        return read_history(NAME, path)
    from ingest._claude_read import read as read_file

    return read_file(path)


def compose(unit: str, parts: list[Any], link: str = "", mtime_ns: int = 0) -> tuple[dict[str, object], str] | str:
    """(frontmatter, body) of one unit from all its copies, or the reason why it makes no document.

    ``link``: agent type and task, tab-separated, as the parent's call has them; ``mtime_ns`` dates a unit that has
    no timestamps. The result depends on the set of ``parts`` alone, not on their order.
    """
    if _is_partial(parts):
        from ingest.sessions import compose as session

        return session(unit, parts, link, mtime_ns)
    from ingest._claude_document import compose as document

    return document(unit, _with_earlier(parts), link, mtime_ns)


def links(unit: str, parts: list[Any]) -> dict[str, str]:
    """Unit of each subagent that this unit started → its link: agent type and task, tab-separated."""
    from ingest.units import split_key, unit_key

    if _is_partial(parts):
        return {}
    session = split_key(unit)[0]
    found: dict[str, str] = {}
    for part in sorted(_with_earlier(parts), key=lambda part: (len(part.uuids), part.digest)):
        for agent, link in part.links.items():
            if not agent.startswith("call "):
                found[unit_key(session, agent)] = link
    return found


def _with_earlier(parts: list[Any]) -> list[Any]:
    """A file that was rewritten is a copy of its session for each time that it said something else."""
    return [each for part in parts for each in (part, *getattr(part, "earlier", ()))]


def _is_partial(parts: list[Any]) -> bool:
    """Whether all that is known of a unit is what was typed: a transcript and a history never make one together."""
    return bool(parts) and all(getattr(part, "partial", False) for part in parts)
