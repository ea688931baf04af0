"""One file of a source at once: what a hook has time for.

A run looks at everything that the source has; this reads a single transcript and the few units it bears on, under the
same lock and with the same code, so that the next run finds nothing left to do.
"""

from __future__ import annotations

from os.path import join
from typing import TYPE_CHECKING

from core.locks import FileLock
from ingest import registry
from ingest.archive.keeping import Keeping
from ingest.pipeline import pulse
from ingest.pipeline.ledger import GIVEN, Ledger
from ingest.pipeline.state import State
from ingest.pipeline.units import split_key
from ingest.policy import hashed_paths
from ingest.raw import files

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from core.home import Home
    from ingest.pipeline.state import UnitRow
    from ingest.source import OnWritten


def one(
    home: Home,
    source_name: str,
    path: str,
    *,
    wait_s: float,
    on_written: OnWritten,
    settle: Callable[[list[tuple[str, str, str]]], None],
) -> Ledger | None:
    """Bring the corpus up to date with the file at ``path``; None where only a whole run can do that.

    That is so before the first run and after a change of parser or document format. ``on_written`` as in
    ``ingest.pipeline.run.run``; ``settle`` is then given (collection, file name, SHA-256) of every document that the
    file has a part in. Both are called under the source's lock: whoever forgets a document holds it too. Raises
    LockContention where a run holds on for over ``wait_s`` seconds, BadInput for an unknown source, OSError where
    the home cannot be written.
    """
    source = registry.source(source_name)
    ledger = Ledger(source_name, GIVEN)
    (file,) = files.walk([path], "", {}, {})
    with FileLock(join(home.state, f"ingest-{source_name}.lock"), wait_s=wait_s):
        state = State(home)
        state.hasten()
        try:
            if not state.is_current(source_name):
                return None
            ledger.seen = 1
            if file.skip:
                ledger.fail(file.path, "unreadable", file.skip)
                return ledger
            scope = _Scope(state, source_name, file.path, source.peek(file.path))
            if files.changed(file, scope.file, trust_stat=False):
                from ingest.pipeline.normalise import Normaliser

                keeping = Keeping(home, source_name, hasty=True)
                job = Normaliser(
                    home, source, scope, ledger, keeping, stale=False, progress=None, on_written=on_written, sweep=False
                )
                try:
                    job.go([file], {file.path}, verify=False)
                finally:
                    keeping.close()
            if scope.file is None or not scope.file.path.startswith(hashed_paths.MARK):
                pulse.touch(home, source_name, file)
            rows = state.units(source_name, state.units_of(source_name, path)).values()
            settle([(source.collection, row.name, row.hash) for row in rows])
        finally:
            state.close()
    return ledger


class _Scope:
    """The part of the state that one file bears on: its session, that one's agents, and whoever shares their names."""

    def __init__(self, state: State, source: str, path: str, unit: str) -> None:
        self._state = state
        self.file = state.file(source, path)
        owned = state.units_of(source, path)
        sessions = {split_key(each)[0] for each in (unit, *owned)}
        near = state.unit_keys(source, sessions)
        # A name is taken by the session of that id, and by the agents of that id of every session
        # (ingest.pipeline.names).
        ids = {part.casefold() for each in (unit, *near) for part in _ids(each)}
        known = state.like(source, ids | {each.removeprefix("agent-") for each in ids})
        self._near = [each for each in known if not ids.isdisjoint(part.casefold() for part in _ids(each))]

    def units(self, source: str) -> dict[str, UnitRow]:
        """As ``State.units``."""
        return self._state.units(source, self._near)

    def members(self, source: str) -> dict[str, set[str]]:
        """As ``State.members``."""
        return self._state.members(source, self._near)

    def links(self, source: str) -> dict[str, str]:
        """As ``State.links``."""
        return self._state.links(source)

    def mark(self, source: str, mark: str) -> None:
        """Nothing: that one file is in the archive says nothing of the others."""

    def save(self, source: str, *batch: Any, **named: Any) -> None:
        """As ``State.save``."""
        self._state.save(source, *batch, **named)


def _ids(unit: str) -> tuple[str, ...]:
    session, agent = split_key(unit)
    return (agent, f"agent-{agent}") if agent else (session,)
