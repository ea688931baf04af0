"""What a run would do, without doing it: files are looked at and read, and nothing is written anywhere.

Copies of one session are not put together: a document counts as one that may change where any file of it would be read,
and as new where one file alone has enough of it.
"""

from __future__ import annotations

from os.path import abspath
from typing import TYPE_CHECKING, Any

from ingest import run, sessions, sources, unnamed
from ingest.histories import Transcripts, is_history
from ingest.keeping import Keeping
from ingest.ledger import GIVEN, OWN, Ledger
from ingest.lineage import Lineage
from ingest.shadow import Shadow
from ingest.state import FileRow, known, known_units
from ingest.waiting import standing

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from core.home import Home

_SHOWN = 50


def rehearse(
    home: Home,
    source_name: str,
    roots: Sequence[str] | None = None,
    *,
    trust_stat: bool,
    rebuild: bool = False,
    progress: Callable[[int, int, str], None] | None = None,
) -> dict[str, Any]:
    """The account that a run over one source would give, and ``would``: files and bytes that it would read, documents
    that would be new, may change or stay (of browsing, code and commits: that change, and that go), the names of the
    first 50 of them, and the files that make them.

    Raises BadInput for an unknown source and as its own run does, apsw.Error where what is known cannot be read.
    """
    source = sources.module(source_name)
    if hasattr(source, "run"):
        # It is run as it is, with copies in memory of what it would write to.
        shadow = Shadow(home, source.COLLECTION)
        own: Ledger = source.run(home, roots, trust_stat=trust_stat, rebuild=rebuild, progress=progress, shadow=shadow)
        return {**own.as_dict(), "would": shadow.as_dict(own.documents, _SHOWN)}
    places = [abspath(root) for root in roots] if roots else standing(source, home)
    files = source.discover(places)
    rows = unnamed.found(known(home, source_name), files)
    readable = [file for file in files if not file.skip]
    new = readable if rebuild else source.pending(files, rows, trust_stat=trust_stat)
    ledger = Ledger(source_name, GIVEN if roots else OWN)
    run.account_for_the_rest(files, new, rows, ledger)
    run.vanished(files, rows, places, ledger)
    units = known_units(home, source_name)
    fresh: set[str] = set()
    changed: set[str] = set()
    compose = getattr(source, "compose", sessions.compose)
    none: dict[str, str] = {}  # why a unit, of what was read of it so far, is no document
    rows_read: list[tuple[FileRow, list[str]]] = []
    keeping = Keeping(home, source_name)  # of which nothing is asked but what it withholds
    keeping.transcripts = transcripts = Transcripts(source_name, files, rows)
    keeping.lineage = Lineage(source, (file.path for file in new), units)
    members: dict[str, set[str]] = {}
    transcripts.units, transcripts.members = units, members
    new.sort(key=lambda file: is_history(source_name, file.path))
    total, done = sum(max(1, file.size) for file in new), 0
    for file in new:
        reading = source.read(file.path)
        keeping.withhold(reading)
        ledger.bytes += reading.consumed
        for unit, part in reading.parts.items():
            members.setdefault(unit, set()).add(file.path)
            if unit in units:
                changed.add(unit)
            elif unit not in fresh:
                made = compose(unit, [part], "", reading.mtime_ns)
                if isinstance(made, str):
                    none.setdefault(unit, made)
                else:
                    fresh.add(unit)
        rows_read.append((_row(reading), sorted(reading.parts)))
        if progress is not None:
            done += max(1, file.size)
            progress(done, total, f"reading {source.NAME}")
    paths: list[str] = []
    for row, owned in rows_read:
        if row.status == "ingested":
            if all(unit not in fresh and unit not in changed for unit in owned):
                row.status, row.reason = "skipped", none[owned[0]]
            elif len(paths) < _SHOWN:
                paths.append(row.path)
        ledger.account(row, fresh=True)
    ledger.documents = len(units.keys() | fresh)
    would = {
        "read": len(new),
        "bytes": sum(file.size for file in new),
        "new": len(fresh),
        "changed": len(changed),
        "unchanged": ledger.documents - len(fresh) - len(changed),
        "removed": 0,
        "units": sorted(unit.replace("\t", "/") for unit in fresh | changed)[:_SHOWN],
        "files": paths,
    }
    return {**ledger.as_dict(), "would": would}


def _row(reading: Any) -> FileRow:
    from ingest._normalise import row_of
    from ingest.databases import in_part

    if reading.unknown:
        reading.versions = sorted({getattr(part, "version", "") for part in reading.parts.values()} - {""})
    status, reason = ("ingested", "") if reading.parts else ("skipped", reading.skipped or "no conversation")
    damage = in_part(reading)
    if reading.failed is not None and damage is None:
        status, reason = "failed", f"{reading.failed.reason}: {reading.failed.detail}"
    return row_of(reading, status, reason, damage)
