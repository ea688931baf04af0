"""The contract of a source: a tool, where it keeps its files, and how one file becomes parts of sessions.

A source is a subclass of ``Source`` in a module of its own, and one entry in the entry point group ``brain.sources``
(``ingest.registry``). ``name``, ``roots`` and ``parse`` are enough for a tool that writes one transcript per file; all
other methods have defaults. A run over a source is ``ingest.pipeline.run``; a source of documents that are not
sessions is an ``ingest.collector.Collector``.

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

    from core.home import Home
    from ingest.pipeline.reading import Reading
    from ingest.pipeline.state import FileRow
    from ingest.raw.store import RawStore, SourceFile
    from ingest.roots import Root

    Composed = tuple[dict[str, object], str] | str
    Progress = Callable[[int, int, str], None]
    OnWritten = Callable[[str, str, bytes, os.stat_result], None]
    Environ = Mapping[str, str]
    # collections.yml as plain data.
    Settings = Mapping[str, Any]


class Source:
    """A tool with files that become sessions.

    ``name`` is the source's name in documents and commands, ``collection`` the folder of its documents, ``prefix``
    begins their names. ``on_request``: True if files are read only when the source is named. ``roots`` is the table of
    the tool's folders (``ingest.roots``), ``suffixes`` are the endings of transcripts' names. ``skip_files``
    and ``skip_folders`` map names below the roots to the reason why they are no transcripts. ``history`` is the name
    of the tool's history of prompts, which lies next to its ``transcript_folders``. ``companion_names`` are the files
    in a transcript's folder that describe its session alone. ``resume`` is the command that a session's id completes,
    and the only ``surface`` (a field of documents) with such sessions, "" for all. ``is_collector``: see
    ``ingest.collector``.
    """

    name = ""
    collection = "brain"
    prefix = ""
    on_request = is_collector = False
    roots: tuple[Root, ...] = ()
    suffixes: tuple[str, ...] = (".jsonl",)
    skip_files: Mapping[str, str] = {}
    skip_folders: Mapping[str, str] = {}
    history = ""
    transcript_folders: tuple[str, ...] = ()
    companion_names: tuple[str, ...] = ()
    resume = ("", "")
    patterns: tuple[str, ...] = ()  # of its files' names, for people, where the endings say too little
    judged_by: tuple[str, ...] = ()  # the sections of ``sources`` in collections.yml that decide what is kept
    # True if ``pieces`` needs the whole file: an earlier line may name the session of a line.
    pieces_need_whole = False
    # True if a unit is a day or a file that goes on growing, not a session.
    grows = False
    # True if the tool names the folder of a project by a digest of the project's path.
    hashes_folders = False
    # The source's own database below ``state/``, "" if it uses the shared one.
    state_file = ""
    # True if a run without roots reads the folders in which sessions worked.
    reads_projects = False
    # True if a source on request is read at each change of its files, once a person has indexed them.
    is_watched = False
    # True if a unit is named after something of a person's, such as a repository: its tombstone may hide the name.
    hides_units = False
    # Days after which the tool deletes a transcript by default, 0 if it keeps them.
    deletes_after_days = 0

    def places(self, environ: Environ | None = None) -> list[str]:
        """Return where the tool keeps its files according to its variables and settings, whether or not they exist."""
        return expand(self.roots, os.environ if environ is None else environ)

    def default_roots(
        self, home: Home | None = None, environ: Environ | None = None, settings: Settings | None = None
    ) -> list[str]:
        """Return the folders, or single files, in which this machine keeps the source's files, those that exist.

        ``sources.<name>.roots`` of collections.yml are added: of ``settings``, or of the file of ``home``. Raises
        BadInput if that file is not valid.
        """
        if settings is None:
            more = [] if home is None else configured(self.name, home)
        else:
            more = added(settings.get("sources") or {}, self.name)
        return existing([*self.places(environ), *more])

    def wants(self, name: str) -> bool:
        """Return True if a file of this name may be a transcript."""
        return name.endswith(self.suffixes)

    def discover(self, roots: Iterable[str]) -> list[SourceFile]:
        """Return every file below the roots that may be a transcript, sorted by path; links to folders not followed.

        The history of prompts is among them, also if it lies next to the roots. A file that cannot be a transcript has
        the reason in ``skip``.
        """
        from ingest.raw.store import walk

        places = list(roots)
        if self.history:
            next_to = (
                join(dirname(place.rstrip("/")), self.history)
                for place in places
                if basename(place) in self.transcript_folders
            )
            places += [path for path in dict.fromkeys(next_to) if isfile(path)]
        return walk(places, self.wants, self.skip_files, self.skip_folders)

    def pending(
        self, files: Sequence[SourceFile], known: Mapping[str, FileRow], *, trust_stat: bool
    ) -> list[SourceFile]:
        """Return those of ``files`` that are new or not what they were when ``known`` was recorded.

        ``trust_stat``: same size, mtime and inode means unchanged; otherwise the bytes must also have the same digest.
        """
        from ingest.raw.store import pending

        return pending(files, known, trust_stat=trust_stat)

    def peek(self, path: str) -> str:
        """Return the unit that a file probably belongs to, cheaply: files of one unit are read together."""
        return path

    def parse(self, path: str, raw: RawStore) -> Iterator[Reading]:
        """Yield the reading of one file of ``raw``: parts of sessions by unit, and what was left out. Raises nothing.

        A file of many units may yield its reading each time that more of them are whole; it is yielded at the end.
        Whether a part is excluded is judged once, when its reading is yielded: its ``cwd`` must be known by then.
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

    def deletes_after(self, root: str) -> int:
        """Return after how many days without a change the tool deletes a transcript below a root, 0 for never."""
        del root
        return self.deletes_after_days

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

    def made_of(self, fields: Mapping[str, Any], body: Callable[[], str]) -> list[str]:
        """Return digests of the content of a document, equal in each copy and clone; none if its unit identifies it."""
        del fields, body
        return []

    def shared_name(self, fields: Mapping[str, Any], path: str) -> str:
        """Return a name that all documents with the same ``made_of`` have, "" for none."""
        del fields, path
        return ""

    def units_named(self, path: str) -> set[str]:
        """Return the units that the path of a document below its collection names, besides the name of its file."""
        del path
        return set()

    def is_restless(self, path: str) -> bool:
        """Return True if the tool writes to a file whatever becomes of its sessions: a change of it is no news."""
        del path
        return False

    def may_hold_any(self, path: str) -> bool:
        """Return True if a file may hold any session, whatever the file's name is."""
        del path
        return False


def configured(name: str, home: Home) -> list[str]:
    """Return the folders that collections.yml adds to a source's own. Raises BadInput if that file is not valid."""
    from core.config import load

    return added(load(home).sources, name)
