"""The contract of a source of documents that are not sessions: it has a run of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ingest.source import Source

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from core.errors import BrainError
    from core.home import Home
    from ingest.pipeline.ledger import Ledger
    from ingest.pipeline.reading import Reading
    from ingest.pipeline.shadow import Shadow
    from ingest.raw.store import RawStore
    from ingest.source import OnWritten, Progress


class Daily(NamedTuple):
    """A scheduled run once a day, at ``hour`` and ``minute`` of the machine's local time."""

    summary: str
    hour: int
    minute: int


class Loss(NamedTuple):
    """Something that a collector's own archive has lost, or a fault of it, as the doctor reports it.

    ``id`` never changes (``ops.checks.finding``); ``fix`` is a command.
    """

    id: str
    severity: str
    evidence: str
    fix: str


class Options:
    """How a collector reads: see ``ingest.pipeline.run.run``. ``shadow`` takes the changes of a rehearsal."""

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


class Collector(Source):
    """A source with a ``run`` of its own; read only when it is named."""

    on_request = is_collector = grows = True
    # When `brain schedule` runs the source, None for never.
    daily: Daily | None = None
    # The collector's own archive, a database below ``raw/``; "" for none.
    own_archive = ""

    def examine(self, home: Home, path: str) -> None:
        """Raise ``damaged`` if the collector's own archive at ``path`` is damaged."""
        del home, path

    def damaged(self, path: str, error: object) -> BrainError:
        """Return the failure of a collector's own archive that SQLite cannot read."""
        from core.errors import Internal

        return Internal(f"{path} is damaged: {error}", "brain doctor")

    def losses(self, home: Home) -> Iterator[Loss]:
        """Yield the losses and faults of the collector's own archive."""
        del home
        return iter(())

    def parse(self, path: str, raw: RawStore) -> Iterator[Reading]:
        """Collectors read nothing as sessions."""
        raise NotImplementedError(f"{self.name} has no sessions: {path}")

    def is_archived(self, home: Home) -> bool:
        """Return True if the collector's own archive can make documents without the tool's files."""
        del home
        return False

    def archived_with(self, home: Home, test: Callable[[bytes], bool]) -> set[str]:
        """Return the units of which something in the collector's own archive passes ``test``."""
        del home, test
        return set()

    def names_of(self, units: Iterable[str]) -> list[str]:
        """Return the names of the documents of these units, none if a name depends on more than the unit."""
        del units
        return []

    def forget(self, home: Home, units: Iterable[str], names: Iterable[str]) -> None:
        """Remove units, and documents by their names, from the collector's own archive and state."""
        raise NotImplementedError

    def run(self, home: Home, roots: Sequence[str] | None, options: Options) -> Ledger:
        """Bring the corpus up to date with this source.

        If ``options`` has a ``shadow``, nothing is written, and the shadow records the changes.
        """
        raise NotImplementedError
