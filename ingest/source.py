"""The contract of a source: a tool, where it keeps its files, and how one file becomes parts of sessions.

A source is a subclass of ``Source`` in a module of its own, and one entry in the entry point group ``brain.sources``
(``ingest.registry``). ``name``, ``roots`` and ``parse`` are enough for a tool that writes one transcript a file; all
other methods have defaults. A run over a source is ``ingest.pipeline.run``; a source whose documents are not made of
sessions is a ``Collector`` with a run of its own.

The module of a source is imported whenever sources are listed: it imports its parser inside its methods.
"""

from __future__ import annotations

import os
from os.path import basename, dirname, isfile, join

from ingest.roots import added, existing, expand

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from typing import Any

    from core.document import Document, Failure
    from core.home import Home
    from ingest.pipeline.ledger import Ledger
    from ingest.pipeline.reading import Reading
    from ingest.pipeline.shadow import Shadow
    from ingest.pipeline.state import FileRow
    from ingest.raw.files import SourceFile
    from ingest.raw.store import RawStore
    from ingest.roots import Root

    Composed = tuple[dict[str, object], str] | str
    Progress = Callable[[int, int, str], None]
    OnWritten = Callable[[str, str, bytes, os.stat_result], None]
    Environ = Mapping[str, str]


class Options:
    """How a run over a source reads: see ``ingest.pipeline.run.run``.

    ``shadow`` takes the changes of a rehearsal (``Collector``).
    """

    __slots__ = ("check_archive", "from_archive", "on_written", "progress", "rebuild", "shadow", "trust_stat")

    def __init__(
        self,
        *,
        trust_stat: bool,
        rebuild: bool = False,
        from_archive: bool = False,
        check_archive: bool = False,
        progress: Progress | None = None,
        on_written: OnWritten | None = None,
    ) -> None:
        self.trust_stat = trust_stat
        self.rebuild = rebuild
        self.from_archive = from_archive
        self.check_archive = check_archive
        self.progress = progress
        self.on_written = on_written
        self.shadow: Shadow | None = None


class Source:
    """A tool whose files become sessions.

    ``name`` is the source's name in documents and commands, ``collection`` the folder of its documents, ``prefix``
    begins their names. ``roots`` says where the tool keeps its files, ``suffixes`` how the names of transcripts end.
    ``skip_files`` and ``skip_folders`` map names below the roots to the reason why they are no transcripts.
    ``history`` is the name of the tool's history of prompts, which lies beside the folders of transcripts named in
    ``beside``. ``companion_names`` are the files in a transcript's folder that describe its session alone.
    """

    name = ""
    collection = "brain"
    prefix = ""
    # Whether files are read only when the source is named: whoever indexes sessions has not asked for browsing or code.
    on_request = False
    roots: tuple[Root, ...] = ()
    suffixes: tuple[str, ...] = (".jsonl",)
    skip_files: Mapping[str, str] = {}
    skip_folders: Mapping[str, str] = {}
    history = ""
    beside: tuple[str, ...] = ()
    companion_names: tuple[str, ...] = ()
    # True if ``pieces`` needs the whole file: an earlier line may name the session of a line.
    pieces_need_whole = False

    def places(self, environ: Environ | None = None) -> list[str]:
        """Return where the tool keeps its files according to its variables and settings, whether or not they exist."""
        return expand(self.roots, os.environ if environ is None else environ)

    def default_roots(self, home: Home | None = None, environ: Environ | None = None) -> list[str]:
        """Return the folders, or single files, in which this machine keeps the source's files, those that exist.

        With ``home``, ``sources.<name>.roots`` of collections.yml are added. Raises BadInput if that file is not valid.
        """
        return existing([*self.places(environ), *(configured(self.name, home) if home is not None else [])])

    def wants(self, name: str) -> bool:
        """Return True if a file of this name may be a transcript."""
        return name.endswith(self.suffixes)

    def discover(self, roots: Iterable[str]) -> list[SourceFile]:
        """Return every file below the roots that may be a transcript, sorted by path; links to folders not followed.

        The history of prompts is among them, also if it lies beside the roots. A file that cannot be a transcript has
        the reason in ``skip``.
        """
        from ingest.raw.files import walk

        places = list(roots)
        return walk([*places, *self.histories(places)], self.wants, self.skip_files, self.skip_folders)

    def histories(self, places: Iterable[str]) -> list[str]:
        """Return the histories of prompts that lie beside the folders of transcripts in ``places``."""
        if not self.history:
            return []
        beside = (join(dirname(place.rstrip("/")), self.history) for place in places if basename(place) in self.beside)
        return [path for path in dict.fromkeys(beside) if isfile(path)]

    def pending(
        self, files: Sequence[SourceFile], known: Mapping[str, FileRow], *, trust_stat: bool
    ) -> list[SourceFile]:
        """Return those of ``files`` that are new or not what they were when ``known`` was recorded.

        ``trust_stat``: same size, mtime and inode means unchanged; otherwise the bytes must also have the same digest.
        """
        from ingest.raw.files import pending

        return pending(files, known, trust_stat=trust_stat)

    def peek(self, path: str) -> str:
        """Return the unit that a file probably belongs to, cheaply: files of one unit are read together."""
        return path

    def parse(self, path: str, raw: RawStore) -> Iterator[Reading]:
        """Yield the reading of one file of ``raw``: parts of sessions by unit, and what was left out. Raises nothing.

        A file of many units may yield its reading each time that more of them are whole; it is yielded at the end.
        """
        raise NotImplementedError

    def compose(self, unit: str, parts: list[Any], link: str = "", mtime_ns: int = 0) -> Composed:
        """Return (frontmatter, body) of one unit from all its copies, or the reason why it makes no document.

        ``link``: agent type and task, tab-separated, as the parent's call has them; ``mtime_ns`` dates a unit without
        timestamps. The result depends on the set of ``parts`` alone, not on their order.
        """
        from ingest.session.document import compose

        return compose(unit, parts, link, mtime_ns)

    def links(self, unit: str, parts: list[Any]) -> dict[str, str]:
        """Return for each subagent that this unit started its unit → agent type and task, tab-separated."""
        from ingest.session.document import links

        return links(unit, parts)

    def documents(self, path: str) -> Iterator[Document | Failure]:
        """Yield the documents of one file taken alone, then its failures. Raises nothing.

        A run uses ``parse`` and ``compose`` instead, which put the copies of one session together.
        """
        from core.document import Document, Failure
        from ingest.pipeline.units import stem
        from ingest.raw.store import DISK
        from ingest.session.document import faults

        *_, reading = self.parse(path, DISK)
        for unit, part in reading.parts.items():
            composed = self.compose(unit, [part], mtime_ns=reading.mtime_ns)
            if isinstance(composed, str):
                yield Failure(path, composed)
            else:
                yield Document(f"{self.prefix}{stem(unit)}.md", *composed)
        yield from faults(reading)

    def stats(self, home: Home) -> dict[str, object]:
        """Return what the last run recorded of this source (see ``ingest.pipeline.ledger``); empty before the first
        run.
        """
        from ingest.pipeline.ledger import of

        return of(home, self.name)

    def is_history(self, path: str) -> bool:
        """Return True if a file is the tool's history of prompts."""
        return bool(self.history) and basename(path) == self.history

    def companions(self, path: str, raw: RawStore) -> list[str]:
        """Return the paths that may describe the session of a transcript and no other; they are forgotten with it.

        A transcript that names its companions is read from ``raw``.
        """
        del raw
        return [join(dirname(path), name) for name in self.companion_names]

    def pieces(self, path: str, data: bytes) -> Iterable[tuple[str, bytes]] | None:
        """Return (unit, bytes) of the pieces of an archived file that units share, together ``data``.

        The unit is "" if it is uncertain. None means that the file cannot be taken apart.
        """
        del path, data
        return None

    def dropped(self, path: str, held: bytes, before: bytes, now: bytes, read: bytes) -> bytes:
        """Return the content that a file has dropped: ``held``, and the pieces of ``before`` that ``now`` lacks.

        ``held`` was dropped earlier; ``now`` is the kept form of the bytes that were ``read``.
        """
        del path, before, now, read
        return held

    def redacted(self, path: str, data: bytes, counts: dict[str, int]) -> bytes:
        """Return an archived text without secrets; replacements are added to ``counts``, by kind."""
        from core.redaction import clean_document

        del path
        return clean_document(data, counts)

    def is_restless(self, path: str) -> bool:
        """Return True if the tool writes to a file whatever becomes of its sessions: a change of it is no news."""
        del path
        return False

    def may_hold_any(self, path: str) -> bool:
        """Return True if a file may hold any session, whatever the file's name is."""
        del path
        return False

    def run(self, home: Home, roots: Sequence[str] | None, options: Options) -> Ledger:
        """Bring the corpus up to date with this source: see ``ingest.pipeline.run.run``."""
        from ingest.pipeline.run import over

        return over(self, home, roots, options)

    def rehearse(self, home: Home, roots: Sequence[str] | None, options: Options) -> dict[str, Any]:
        """Return the account that ``run`` would give: see ``ingest.pipeline.rehearsal.rehearse``."""
        from ingest.pipeline.rehearsal import over

        return over(self, home, roots, options)


class Collector(Source):
    """A source whose documents are not made of sessions, with a ``run`` of its own; read only when it is named.

    ``run`` writes nothing if ``options`` has a ``shadow``, which records the changes.
    """

    on_request = True

    def parse(self, path: str, raw: RawStore) -> Iterator[Reading]:
        """Collectors read nothing as sessions."""
        raise NotImplementedError(f"{self.name} has no sessions: {path}")

    def run(self, home: Home, roots: Sequence[str] | None, options: Options) -> Ledger:
        """Bring the corpus up to date with this source."""
        raise NotImplementedError

    def rehearse(self, home: Home, roots: Sequence[str] | None, options: Options) -> dict[str, Any]:
        """Return the account that ``run`` would give, made with copies in memory of what the run would write to."""
        from ingest.pipeline.rehearsal import SHOWN
        from ingest.pipeline.shadow import Shadow

        options.shadow = shadow = Shadow(home, self.collection)
        ledger = self.run(home, roots, options)
        return {**ledger.as_dict(), "would": shadow.as_dict(ledger.documents, SHOWN)}


def configured(name: str, home: Home) -> list[str]:
    """Return the folders that collections.yml adds to a source's own. Raises BadInput if that file is not valid."""
    from core.config import load

    return added(load(home), name)
