"""One request as a view sees it, and the page that the view gives back."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from core import clock
from core.errors import BadInput, BrainError
from qmd.index.store import translate

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import apsw

    from core.config import Config
    from core.home import Home

# The field with the fresh value that a form needs.
FORM = "fresh"
_LONGEST = 2000


def known(error: BrainError | apsw.Error, home: Home) -> BrainError:
    """Return a failure of ours, or one of SQLite with the index of ``home``, as one of ours."""
    return error if isinstance(error, BrainError) else translate(error, home.index)


@dataclass(frozen=True, slots=True)
class Visit:
    """``parameters`` are those of the address, ``path`` the named parts of its path, ``form`` what was sent, if any.

    ``issue`` gives a fresh value for a form that the page shows. ``now`` is epoch seconds.
    """

    home: Home
    config: Config
    environ: Mapping[str, str]
    parameters: Mapping[str, str]
    path: Mapping[str, str]
    issue: Callable[[], str]
    form: Mapping[str, str] | None = None
    now: int = field(default_factory=clock.now)

    def text(self, name: str) -> str:
        """Return a parameter without surrounding space, "" if it is missing. Raises BadInput if it is too long."""
        value = self.parameters.get(name, "").strip()
        if len(value) > _LONGEST:
            raise BadInput(f"{name} has {len(value)} characters, at most {_LONGEST} are taken", "make it shorter")
        return value

    def field(self, name: str) -> str:
        """Return a field of the form as it was written, "" if it is missing."""
        return (self.form or {}).get(name, "")

    def number(self, name: str, default: int, most: int) -> int:
        """Return a parameter as a whole number from 1 to ``most``. Raises BadInput for anything else."""
        given = self.text(name)
        if not given:
            return default
        if not given.isascii() or not given.isdigit() or len(given) > 9 or not 1 <= int(given) <= most:
            raise BadInput(f"{name} is {given!r}", f"a whole number from 1 to {most}")
        return int(given)


@dataclass(slots=True)
class Page:
    """``envelope`` is the JSON of the view, as it may be shown; ``more`` is what only the template needs.

    ``event`` and ``fields`` are the row for the telemetry: the command that answers the same.
    """

    template: str
    title: str
    envelope: dict[str, Any]
    more: dict[str, Any] = field(default_factory=dict)
    event: str = ""
    fields: dict[str, Any] = field(default_factory=dict)
    status: int = 200
    # Where the browser goes on after a form was taken, so that loading the page again sends nothing again.
    then: str = ""
