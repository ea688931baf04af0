"""The types of the doctor: a check, the context it reads, and the findings it yields."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from core.config import load
from ingest.archive.verifier import broken
from qmd.index import damage
from qmd.index.store import open_index
from runtime.explaining.explain import report

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    import apsw

    from core.config import Config
    from core.home import Home
    from ingest.archive.verifier import Broken

    Check = Callable[["CheckContext"], Iterator["Finding"]]

SEVERITIES = ("error", "warning", "notice")
# A notice is work that waits; it is shown, and the doctor is well.
FAILING = frozenset(("error", "warning"))


@dataclass(frozen=True, slots=True)
class Finding:
    """One result of a check.

    ``id`` is stable, because scripts route on it. ``evidence`` says what the check saw. ``fix`` is the command to run.
    ``severity``: an error stops something from working; a warning harms privacy or the truth of answers. A notice is
    work that waits, and leaves the doctor healthy. ``repair`` does safely what ``fix`` does and returns the outcome.
    """

    id: str
    severity: str
    evidence: str
    fix: str
    repair: Callable[[], str] | None = field(default=None, compare=False, repr=False)

    def as_dict(self) -> dict[str, Any]:
        """Plain data for ``--json``."""
        shown = {"id": self.id, "severity": self.severity, "evidence": self.evidence, "fix": self.fix}
        return {**shown, "fixable": self.repair is not None}


class CheckContext:
    """The home under examination. Each property is computed once and shared by the checks."""

    def __init__(self, home: Home, environ: Mapping[str, str], now: float, *, deep: bool = False) -> None:
        self.home = home
        self.environ = environ
        self.now = now
        self.deep = deep

    @cached_property
    def config(self) -> Config:
        """The configuration in force. Raises BadInput."""

        return load(self.home)

    @cached_property
    def report(self) -> dict[str, Any]:
        """The report of ``brain explain --json``."""

        return report(self.home, "launchd", self.environ)

    @cached_property
    def index(self) -> apsw.Connection:
        """The index, open for reading. Raises EngineMissing."""

        return open_index(self.home.index)

    @cached_property
    def index_fault(self) -> str:
        """The first fault of the index, "" if it is sound. Raises EngineMissing, apsw.Error."""

        return damage.first(self.index)

    @cached_property
    def broken(self) -> list[Broken]:
        """The archived files that are missing, or with ``deep`` damaged. Raises BrainError."""

        return broken(self.home, contents=self.deep)

    @property
    def has_index(self) -> bool:
        """True if the index exists."""
        return os.path.exists(self.home.index)

    def threshold(self, name: str, default: float) -> float:
        """Return a limit of collections.yml (``doctor:``), else its default; ``core.config_yaml`` lists the names."""
        try:
            value = self.config.section("doctor").get(name)
        except Exception:  # noqa: BLE001  # an invalid configuration is a finding of its own
            return default
        return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else default

    def close(self) -> None:
        """Close what was opened."""
        if "index" in self.__dict__:
            self.index.close()
