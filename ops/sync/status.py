"""Known state of the machines that share a memory, without asking any of them."""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING, Any

from core import clock
from core.config import SILENT_S
from ops.sync.git import Repository, masked, oid
from ops.sync.state import State
from ops.sync.sync import BRANCHES, FOLDER, OTHERS, configured, own_files

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from core.config import Config
    from core.home import Home


def status(home: Home, config: Config, environ: Mapping[str, str]) -> dict[str, Any]:
    """Return the envelope of ``brain sync --status --json``.

    ``waiting``: documents here that changed after the last commit, or all if that was not pushed. Raises EngineMissing
    if the state is damaged or there is no git, Damaged, and OSError.
    """
    state = State(home)
    now = clock.now()
    return {
        "schema": 1,
        "ok": True,
        "machine": state.name or None,
        "remote": masked(state.remote) or None,
        "synced": clock.iso(state.synced) if state.synced else None,
        "failed": clock.iso(state.failed) if state.remote and state.failed else None,
        "waiting": _waiting(home, config, environ, state) if configured(home) else len(own_files(home, config)),
        "machines": [
            {
                "name": name,
                "heard": clock.iso(held["heard"]) if held.get("heard") else None,
                "age_s": now - held["heard"] if held.get("heard") else None,
                "silent": _is_silent(held, now),
                "documents": len(held.get("files") or {}),
                "coming": len(held.get("coming") or {}),
                "not_taken": held.get("lacking") or {},
            }
            for name, held in sorted(state.machines.items())
        ],
    }


def silent(state: State, now: int) -> Iterator[tuple[str, int]]:
    """Yield (name, epoch seconds when it was last heard) of each machine that is silent."""
    for name, held in sorted(state.machines.items()):
        if _is_silent(held, now):
            yield name, int(held["heard"])


def _is_silent(held: Mapping[str, Any], now: int) -> bool:
    return bool(held.get("heard")) and now - int(held["heard"]) > SILENT_S


def _waiting(home: Home, config: Config, environ: Mapping[str, str], state: State) -> int:
    repository = Repository(home.path(FOLDER), environ)
    # After a run that failed, what the remote had before it counts.
    branch = (OTHERS if state.remote and state.failed else BRANCHES) + state.name
    since = repository.times(branch).get("", 0)
    known = repository.tree(branch) if since else {}
    count = 0
    for path, place in own_files(home, config).items():
        with contextlib.suppress(FileNotFoundError):
            # Commits have whole seconds: what was written in the same one is compared.
            if int(os.stat(place).st_mtime) >= since:
                with open(place, "rb") as stream:
                    data = stream.read()
                held = known.get(path)
                count += held is None or held.oid != oid(data)
    return count
