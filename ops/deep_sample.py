"""A sample of the corpus made again from the archive, in a scratch home, and compared byte by byte."""

from __future__ import annotations

import os
import random
import tempfile
from os.path import join
from typing import TYPE_CHECKING

import apsw

from core.files import read_or_none
from core.home import Home
from core.sqlite import connect
from ingest import registry
from ingest.archive import archive
from ingest.pipeline import state as known

if TYPE_CHECKING:
    from collections.abc import Iterator


def remade(home: Home, count: int, now: float, broken: set[str]) -> Iterator[tuple[str, str, str]]:
    """(source, document, what differs) of sampled documents that the archive does not make again as they are.

    Sampled are, for each source, up to ``count`` documents of which every raw file is archived and not ``broken``;
    which ones changes with the day, so that in time all of them are looked at.
    """
    for name in archive.sources(home):
        collection = registry.source(name).collection
        sample = _sample(home, name, broken, count, random.Random(int(now // 86_400)))  # noqa: S311  # nothing secret is drawn
        if not sample:
            continue
        with tempfile.TemporaryDirectory(prefix="brain-deep-") as folder:
            scratch = Home(join(folder, "home"))
            _shelve(home, scratch, name, {path for paths in sample.values() for path in paths})
            from ingest.pipeline.run import run

            run(scratch, name, trust_stat=True, rebuild=True, from_archive=True)
            for document in sorted(sample):
                there = read_or_none(home.path(collection, document))
                again = read_or_none(scratch.path(collection, document))
                if again is None:
                    yield name, document, "the archive makes no such document"
                elif there is not None and there != again:
                    yield name, document, f"{len(there)} bytes here, {len(again)} from the archive"


def _sample(home: Home, source: str, broken: set[str], count: int, draw: random.Random) -> dict[str, set[str]]:
    """Document → its raw files, of some whose files are all in the archive as they were last read."""
    archived = set(archive.read(home, source)) - broken
    state = known.State(home)
    try:
        rows = {row.name: row.unit for row in state.units(source).values()}
        members = state.members(source)
    finally:
        state.close()
    whole = sorted(name for name, unit in rows.items() if members.get(unit) and members[unit] <= archived)
    return {name: members[rows[name]] for name in draw.sample(whole, min(count, len(whole)))}


def _shelve(home: Home, scratch: Home, source: str, paths: set[str]) -> None:
    """An archive that names only ``paths``, over the objects of the real one."""
    raw, shelf = home.path(archive.FOLDER), scratch.path(archive.FOLDER)
    os.makedirs(shelf, 0o700)
    for entry in os.scandir(raw):
        if not entry.name.startswith(archive.CATALOGUE):
            os.symlink(entry.path, join(shelf, entry.name))
    real = connect(join(raw, archive.CATALOGUE), apsw.SQLITE_OPEN_READWRITE)
    copy = connect(join(shelf, archive.CATALOGUE))
    try:
        with copy.backup("main", real, "main") as backup:
            backup.step()
        kept = [(source, os.fsencode(path)) for path in paths]
        copy.execute("create temp table kept(source, path, primary key(source, path))")
        copy.executemany("insert or ignore into kept values(?, ?)", kept)
        copy.execute("delete from files where (source, path) not in (select source, path from kept)")
    finally:
        copy.close()
        real.close()
