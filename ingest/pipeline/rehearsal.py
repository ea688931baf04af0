"""Rehearsing a run: files are looked at and read, and nothing is written anywhere.

Copies of one session are not put together: a document counts as one that may change where any file of it would be read,
and as new where one file alone has enough of it.
"""

from __future__ import annotations

from os.path import abspath
from typing import TYPE_CHECKING, Any

from ingest import registry
from ingest.pipeline import run
from ingest.pipeline.ledger import GIVEN, OWN, Ledger
from ingest.pipeline.shadow import Shadow
from ingest.pipeline.state import FileRow, holds, known, known_units, with_hidden
from ingest.policy.exclusions import Withholding
from ingest.raw.store import DISK

if TYPE_CHECKING:
    from collections.abc import Sequence

    from core.home import Home
    from ingest.source import Progress

SHOWN = 50


def rehearse(
    home: Home,
    source_name: str,
    roots: Sequence[str] | None = None,
    *,
    trust_stat: bool,
    rebuild: bool = False,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Return the account that a run over one source would give, and ``would``: files and bytes that it would read,
    documents
    that would be new, may change or stay (of browsing, code and commits: that change, and that go), the names of the
    first 50 of them, and the files that make them.

    Raises BadInput for an unknown source and as its own run does, apsw.Error if what is known cannot be read.
    """
    source = registry.source(source_name)
    if source.is_collector:
        from ingest.collector import Collector, Options

        assert isinstance(source, Collector)
        options = Options(trust_stat=trust_stat, rebuild=rebuild, progress=progress)
        options.shadow = shadow = Shadow(home, source.collection)
        account = source.run(home, roots, options)
        return {**account.as_dict(), "would": shadow.as_dict(account.documents, SHOWN)}
    settings = registry.settings(home)
    places = [abspath(root) for root in roots] if roots else source.default_roots(settings=settings)
    files = source.discover(places)
    rows = with_hidden(known(home, source.name), files)
    readable = [file for file in files if not file.skip]
    new = readable if rebuild else source.pending(files, rows, trust_stat=trust_stat)
    ledger = Ledger(source.name, GIVEN if roots else OWN)
    run.account_for_the_rest(files, new, rows, ledger)
    run.vanished(files, rows, places, ledger)
    units = known_units(home, source.name)
    fresh: set[str] = set()
    changed: set[str] = set()
    none: dict[str, str] = {}  # why a unit, of what was read of it so far, is no document
    rows_read: list[tuple[FileRow, list[str]]] = []
    members: dict[str, set[str]] = {}
    keeping = Withholding(home, source.name, settings, holds=holds)
    keeping.expect(source, [file.path for file in new], units, members, (files, rows))
    new.sort(key=lambda file: source.is_history(file.path))
    total, done = sum(max(1, file.size) for file in new), 0
    for file in new:
        *_, reading = source.parse(file.path, DISK)
        keeping.withhold(reading)
        ledger.bytes += reading.consumed
        for unit, part in reading.parts.items():
            members.setdefault(unit, set()).add(file.path)
            if unit in units:
                changed.add(unit)
            elif unit not in fresh:
                made = source.compose(unit, [part], "", reading.mtime_ns)
                if isinstance(made, str):
                    none.setdefault(unit, made)
                else:
                    fresh.add(unit)
        rows_read.append((_row(reading), sorted(reading.parts)))
        if progress is not None:
            done += max(1, file.size)
            progress(done, total, f"reading {source.name}")
    paths: list[str] = []
    for row, owned in rows_read:
        if row.status == "ingested":
            if all(unit not in fresh and unit not in changed for unit in owned):
                row.status, row.reason = "skipped", none[owned[0]]
            elif len(paths) < SHOWN:
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
        "units": sorted(unit.replace("\t", "/") for unit in fresh | changed)[:SHOWN],
        "files": paths,
    }
    return {**ledger.as_dict(), "would": would}


def _row(reading: Any) -> FileRow:
    from ingest.pipeline.normalise import row_of
    from ingest.pipeline.reading import in_part

    if reading.unknown:
        reading.versions = sorted({part.version for part in reading.parts.values()} - {""})
    status, reason = ("ingested", "") if reading.parts else ("skipped", reading.skipped or "no conversation")
    damage = in_part(reading)
    if reading.failed is not None and damage is None:
        status, reason = "failed", f"{reading.failed.reason}: {reading.failed.detail}"
    return row_of(reading, status, reason, damage)
