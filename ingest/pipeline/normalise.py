"""The part of a run that reads and writes: files grouped by unit, units composed from all their copies."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from operator import attrgetter
from typing import TYPE_CHECKING

from core.document import render
from core.home import Home
from ingest.pipeline.corpus import Corpus
from ingest.pipeline.ledger import Ledger
from ingest.pipeline.reading import in_part
from ingest.pipeline.state import Changes, FileRow, UnitRow
from ingest.session.units import assign, is_agent, stem

if TYPE_CHECKING:
    from typing import Any

    from ingest.pipeline.databases import Damage
    from ingest.pipeline.reading import Reading
    from ingest.pipeline.state import State
    from ingest.policy.exclusions import Withholding
    from ingest.raw.store import SourceFile
    from ingest.session.session import Part
    from ingest.source import Source

# What a reading has in common with the row and the notes of its file.
_READ = attrgetter("path", "size", "mtime_ns", "inode", "consumed", "digest")
_NOTED = ("unknown", "recovered", "redacted", "dropped", "marks")
_COUNTS = attrgetter(*_NOTED)
_DOCUMENT = "document"
_BATCH = 128
# Files of many units (databases, histories) that are kept in memory while late units are composed.
_HELD = 4
_KEPT = "its document is kept"
# Prompts alone are fewer records than any transcript: see ``ingest.sources.prompts``.
_PARTIAL = 1 << 31


class Normaliser:
    """Reads the pending files of one source, writes the documents of the units they belong to.

    Files that probably belong together are read together, so that no more than one unit's events are held; a unit
    that turns out to have files elsewhere is composed at the end, from all of them.

    ``only``: the units that the files bear on, if it is not a whole run. ``seen``: the files that are there and the
    rows of the last run, if more than one file was looked at.
    ``stale``: every document may lose content; otherwise those of outdated units alone may (``State.outdated``).
    ``damaged``: of files that are read from the archive, how the last reading of their own ended.
    """

    def __init__(
        self,
        home: Home,
        source: Source,
        state: State,
        ledger: Ledger,
        keeping: Withholding,
        *,
        stale: bool = False,
        progress: Callable[[int, int, str], None] | None = None,
        on_written: Callable[[str, str, bytes, os.stat_result], None] | None = None,
        only: list[str] | None = None,
        seen: tuple[list[SourceFile], Mapping[str, FileRow]] | None = None,
        damaged: Mapping[str, Damage] | None = None,
    ) -> None:
        self._source, self._state, self._ledger, self._keeping = source, state, ledger, keeping
        self._stale, self._progress, self._on_written = stale, progress, on_written
        self._is_whole, self._seen, self._damaged = only is None, seen, damaged or {}
        self._corpus = Corpus(home, source.collection, self._landed, sweep=self._is_whole)
        self._units, self._members = state.units(source.name, only), state.members(source.name, only)
        self._links, self._outdated = state.links(source.name), state.outdated(source.name)
        self._owned: dict[str, set[str]] = {}
        for unit, paths in self._members.items():
            for path in paths:
                self._owned.setdefault(path, set()).add(unit)
        self._stems: dict[str, set[str]] = {}
        for unit in self._units:
            self._stems.setdefault(stem(unit).casefold(), set()).add(unit)
        self._outcome: dict[str, str] = {}
        self._written, self._late = set[str](), set[str]()
        self._waiting: list[Reading] = []
        self._changes = Changes()
        # Bytes, because a transcript has a few kilobytes or hundreds of megabytes.
        self._sizes: dict[str, int] = {}
        self._done = 0

    def go(self, new: list[SourceFile], readable: set[str], *, verify: bool) -> None:
        """Normalise ``new``; restore documents that are missing or, with ``verify``, not as they were written."""
        paths = None if self._keeping.from_archive else [file.path for file in new]
        self._keeping.expect(self._source, paths, self._units, self._members, self._seen)
        with self._corpus:
            if self._units:
                self._find_damaged(readable, verify)
            self._read(new)
            if self._late:
                self._finish_late()
            for reading in self._waiting:
                self._row(reading)
            if self._stale or self._outdated:
                self._drop_orphans()
            self._save()
            if self._rename():
                self._save()

    def _read(self, new: list[SourceFile]) -> None:
        groups: dict[str, list[str]] = {}
        self._sizes = {file.path: max(1, file.size) for file in new}
        total = sum(self._sizes.values())
        alone = {file.path for file in new if self._source.is_history(file.path)}
        for file in new:
            is_alone = len(new) == 1 or file.path in alone
            groups.setdefault(file.path if is_alone else self._source.peek(file.path), []).append(file.path)
        # Sessions before the agents they started: an agent's document says what its parent asked for. Histories come
        # last: a session with a transcript is made of that.
        for key in sorted(groups, key=lambda key: (key in alone, is_agent(key), key)):
            self._group(groups[key], total)
            if len(self._changes.files) + len(self._changes.units) >= _BATCH:
                self._save()

    def _find_damaged(self, readable: set[str], verify: bool) -> None:
        there = self._corpus.there([row.name for row in self._units.values()])
        for unit, row in self._units.items():
            # A run cut short may have learnt of a link and not yet have written the document that shows it.
            damaged = row.name not in there or self._links.get(unit, "") != row.link
            damaged = damaged or (verify and self._corpus.digest(row.name) != row.hash)
            if damaged and not readable.isdisjoint(self._members.get(unit, ())):
                self._late.add(unit)

    def _group(self, paths: list[str], total: int) -> None:
        parts: dict[str, list[tuple[Any, int]]] = {}
        for path in paths:
            versions: set[str] = set()
            for reading in self._source.parse(path, self._keeping):
                self._keeping.remove(reading)
                for unit, part in reading.hand_over().items():
                    self._leave_histories(unit, part)
                    self._members.setdefault(unit, set()).add(path)
                    parts.setdefault(unit, []).append((part, reading.mtime_ns))
                    versions.add(part.version)
                if len(paths) == 1:
                    self._compose_all(parts)  # there are no others to wait for
            self._keeping.withhold(reading)
            self._ledger.bytes += reading.consumed
            before = self._owned.get(path, set())
            if reading.taken or self._leaves_nothing(reading, before):
                # Content after the damage of a database may still be there; documents from before a rule stay.
                gone = before - reading.taken - reading.excluded if reading.failed is None else set()
                self._ledger.kept += len((before & reading.excluded) - reading.taken)
                self._owned[path] = (before | reading.taken) - gone
                for unit in gone:
                    self._members[unit].discard(path)
                    self._late.add(unit)
            elif before:
                # It had a conversation and now has none: what is remembered of it stays.
                self._ledger.kept += 1
                if reading.skipped:
                    reading.skipped = f"{reading.skipped}, {_KEPT}"
            if reading.unknown:
                reading.versions = sorted(versions - {""})
            self._waiting.append(reading)
            self._done += self._sizes.get(path, 0)
            if self._progress is not None:
                self._progress(self._done, total, f"reading {self._source.name}")
        self._compose_all(parts)
        settled = [reading for reading in self._waiting if self._settled(reading)]
        if settled:
            self._waiting = [reading for reading in self._waiting if not self._settled(reading)]
            for reading in settled:
                self._row(reading)

    def _leaves_nothing(self, reading: Reading, before: set[str]) -> bool:
        """Return True if a file has nothing any more because a changed policy drops it, not because it was emptied."""
        return bool(
            self._source.judged_by
            and before
            and reading.dropped
            and reading.failed is None
            and all(map(self._may_lose, before))
        )

    def _leave_histories(self, unit: str, part: Any) -> None:
        """Let a session that has a transcript now be made of that alone."""
        if part.partial:
            return
        for path in [path for path in self._members.get(unit, ()) if self._source.is_history(path)]:
            self._members[unit].discard(path)
            self._owned[path].discard(unit)
            self._changes.left.append((unit, path))

    def _compose_all(self, parts: dict[str, list[tuple[Any, int]]]) -> None:
        """Compose the units with all parts present; the others are read again, and composed at the end."""
        for unit in sorted(parts):
            if len(parts[unit]) == len(self._members[unit]):
                self._compose(unit, parts.pop(unit), complete=True)
                self._late.discard(unit)
            else:
                self._late.add(unit)
        parts.clear()

    def _settled(self, reading: Reading) -> bool:
        owned = self._owned.get(reading.path, ())
        return not self._late.intersection(owned) and all(unit in self._outcome for unit in owned)

    def _finish_late(self) -> None:
        # An agent may start agents, and their documents then mention it: each round settles links one level deeper.
        # A database holds many units: it is read once for all of those that are late, not once for each.
        held: dict[str, Reading] = {}
        for _ in range(8):
            late = sorted(self._late, key=lambda unit: (is_agent(unit), unit))
            self._late.clear()
            for unit in late:
                parts: list[tuple[Any, int]] = []
                members = sorted(self._members.get(unit, ()))
                for path in members:
                    reading = held.get(path)
                    if reading is None:
                        *_, reading = self._source.parse(path, self._keeping)
                        self._keeping.withhold(reading)
                    if len(self._owned.get(path, ())) > 1 and len(held) < _HELD:
                        held[path] = reading
                    part = reading.parts.get(unit)
                    if part is not None:
                        parts.append((part, reading.mtime_ns))
                if parts:
                    self._compose(unit, parts, complete=len(parts) == len(members))
            if not self._late:
                return

    def _compose(self, unit: str, copies: list[tuple[Any, int]], *, complete: bool) -> None:
        parts = [part for part, _ in copies]
        link = self._links.get(unit, "")
        for agent, said in self._source.links(unit, parts).items():
            if self._links.get(agent) != said:
                self._links[agent] = self._changes.links[agent] = said
                if agent in self._units and self._units[agent].link != said:
                    self._late.add(agent)
        known = self._units.get(unit)
        may_lose = complete and self._may_lose(unit)
        if may_lose:
            self._changes.current.add(unit)
        made = self._source.compose(unit, parts, link, min(mtime for _, mtime in copies))
        if isinstance(made, str):
            self._outcome[unit] = made
            if known is not None and may_lose:
                self._remove(unit)
            elif known is not None:
                self._outcome[unit] = _DOCUMENT
                self._ledger.kept += 1
            return
        self._outcome[unit] = _DOCUMENT
        records = _distinct(parts)
        if all(part.partial for part in parts):
            records -= _PARTIAL
        shorter = known is not None and records < known.records and not may_lose
        if known is not None and shorter and self._corpus.digest(known.name):
            # The longest copy is gone, or was cut short where it stood: neither may take what it said along.
            self._ledger.kept += 1
            return
        name = known.name if known is not None else self._name(unit)
        meta, body = made
        if self._keeping.rules.is_synthetic(str(meta.get("project") or ""), body):
            meta["synthetic"] = True
        try:
            digest = self._corpus.put(name, render(meta, body))
        except (IsADirectoryError, NotADirectoryError) as error:
            self._ledger.fail(os.path.join(self._corpus.folder, name), "not a file", str(error.strerror))
            return
        truncated = meta.get("truncated")
        row = UnitRow(unit, name, digest, records, link, truncated if isinstance(truncated, int) else 0)
        self._units[unit] = self._changes.units[unit] = row

    def _landed(self, name: str, data: bytes, status: os.stat_result) -> None:
        if name not in self._written:  # one of several files may be written when the first of them has been read
            self._written.add(name)
            self._ledger.written += 1
        if self._on_written is not None:
            self._on_written(self._source.collection, name, data, status)

    def _name(self, unit: str) -> str:
        group = self._stems.setdefault(stem(unit).casefold(), set())
        group.add(unit)
        return f"{self._source.prefix}{assign(group)[unit]}.md"

    def _row(self, reading: Reading) -> None:
        """Remember a file that was read, and account for it."""
        status, reason = "skipped", reading.skipped
        damage = in_part(reading)
        if reading.failed is not None and damage is None:
            status = "unreadable" if reading.failed.reason == "unreadable" else "failed"
            reason = f"{reading.failed.reason}: {reading.failed.detail}"
            if reading.path in self._owned:
                reason += f", {_KEPT}"
        elif not reason:
            outcomes = [self._outcome.get(unit, _DOCUMENT) for unit in sorted(self._owned.get(reading.path, ()))]
            if _DOCUMENT in outcomes:
                status = "ingested"
            else:
                reason = outcomes[0] if outcomes else "no conversation"
        row = row_of(reading, status, reason, damage or self._damaged.get(reading.path))
        self._changes.files.append(row)
        self._changes.members[row.path] = self._owned.get(row.path, set())
        self._ledger.account(row, fresh=True)

    def _drop_orphans(self) -> None:
        """Remove documents of units that their files, read again by a new parser, no longer hold."""
        for unit in [unit for unit in self._units if unit not in self._outcome and unit in self._members]:
            if not self._members[unit] and self._may_lose(unit):
                self._remove(unit)

    def _may_lose(self, unit: str) -> bool:
        return self._stale or unit in self._outdated

    def _remove(self, unit: str) -> None:
        row = self._units.pop(unit)
        self._changes.units.pop(unit, None)
        self._corpus.remove(row.name)
        self._changes.gone.add(unit)
        self._ledger.removed += 1

    def _rename(self) -> bool:
        """Give every document the name that the set of units gives it (``ingest.session.units``); whether any had
        another.
        """
        before = self._ledger.renamed
        for unit, name in assign(self._units).items():
            row = self._units[unit]
            name = f"{self._source.prefix}{name}.md"
            if row.name == name:
                continue
            moved = self._corpus.rename(row.name, name)
            row.name = name
            self._changes.units[unit] = row
            self._ledger.renamed += 1
            if moved is not None and self._on_written is not None:
                self._on_written(self._source.collection, row.name, *moved)
        return self._ledger.renamed > before

    def _save(self) -> None:
        self._keeping.commit()
        mark = self._keeping.mark() if self._is_whole else ""
        if mark:  # one archived file says nothing about the others
            self._state.mark(self._source.name, mark)
        self._corpus.flush()  # the documents must be on disk before the state says so
        self._state.save(self._source.name, self._changes)
        self._changes = Changes()


def _distinct(parts: list[Part]) -> int:
    """Return the number of distinct records; a part with very many counts them itself."""
    copies = [each for part in parts for each in part.copies()]
    if len(copies) > 1:
        return len(set().union(*(each.uuids for each in copies))) + sum(each.hidden for each in copies)
    return copies[0].distinct


def row_of(reading: Reading, status: str, reason: str, damage: Damage | None) -> FileRow:
    """Return the state row of a file that was read; ``damage``: the fault that ended the reading."""
    values: list[Any] = [*_READ(reading), status, reason, notes(reading, damage)]
    return FileRow(*values)


def notes(reading: Reading, damage: Damage | None = None) -> str | None:
    """Return a file's part of the ledger, as JSON; None if it is empty. ``damage``: the fault that ended the
    reading."""
    said: dict[str, object] = {name: held for name, held in zip(_NOTED, _COUNTS(reading), strict=True) if held}
    if damage is not None:
        said["partial"] = damage
    if reading.unknown:
        said["versions"] = reading.versions
    if reading.failed_reasons and reading.failed is None:
        said["failed"] = reading.failed_reasons
        said["failures"] = [(failure.reason, failure.detail[:200], failure.line) for failure in reading.failures]
    return json.dumps(said) if said else None
