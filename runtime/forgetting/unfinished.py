"""Notes of what is still to be forgotten: names, and nothing of any content."""

from __future__ import annotations

import json
from os.path import join
from shlex import quote
from typing import TYPE_CHECKING, Any

from core.errors import EngineMissing, from_os
from core.files import read_or_none, write_atomic

if TYPE_CHECKING:
    from core.home import Home

JOB = "forgetting.json"


def note(path: str) -> dict[str, Any]:
    """Return the contents of a note, empty if there is none. Raises EngineMissing if it is damaged or empty."""
    try:
        data = read_or_none(path)
        if data is None:
            return {}
        said: dict[str, Any] = json.loads(data)
        # Work that is done here may still wait elsewhere.
        part = said["elsewhere"] if "here" in said else said
        if not all(isinstance(part[key], list) for key in ("documents", "marks")):
            raise ValueError(path)
    except (OSError, ValueError, TypeError, KeyError, RecursionError) as error:
        denied = from_os(error) if isinstance(error, OSError) else None
        raise denied or EngineMissing(
            f"{path} cannot be read: it says what is still to be forgotten",
            f"mv {quote(path)} {quote(f'{path}.damaged')}; then brain forget once more what was to be gone",
        ) from None
    return said


def noted(home: Home) -> dict[str, Any]:
    """Return the remaining work of a ``brain forget``, empty if there is none. Raises as ``note``."""
    return note(join(home.state, JOB))


def keep(home: Home, job: dict[str, Any]) -> None:
    """Note the work to do, and keep what an earlier run has left elsewhere."""
    waiting = noted(home).get("elsewhere")
    if waiting is not None:
        mine = job.get("elsewhere", {"documents": [], "marks": []})
        job["elsewhere"] = {key: [*waiting[key], *mine[key]] for key in ("documents", "marks")}
    write(home, job)


def write(home: Home, job: dict[str, Any]) -> None:
    """Note exactly that. Raises OSError."""
    write_atomic(join(home.state, JOB), json.dumps(job).encode("utf-8", "surrogateescape"))
