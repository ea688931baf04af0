"""Forgetting beyond the home's own files: in its backups, in what it shares with other machines, at the team's server.

An interrupted run leaves a note (``runtime.forgetting.forget``). A backup or a sync finishes that run first, as it
would otherwise write the forgotten text again; the doctor reports the note.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.config import load
from ops.backup import backup
from ops.sync import sync
from runtime.forgetting import forget
from runtime.team import forgetting as team

if TYPE_CHECKING:
    from collections.abc import Mapping

    from core.config import Config
    from core.home import Home
    from runtime.forgetting.forget import Elsewhere


def elsewhere(home: Home, config: Config, environ: Mapping[str, str], *, anywhere: bool = False) -> Elsewhere:
    """Return the function that forgets in backups, in the shared history and at the team's server, each by itself.

    ``anywhere``: the probes are a text that no document may hold, not marks of certain documents.
    """

    def act(
        documents: list[tuple[str, str]], marks: list[tuple[str, str]], probes: list[bytes]
    ) -> tuple[list[str], list[str]]:
        beyond: list[str] = []
        own: list[str] = []
        if backup.is_note_damaged(home):
            beyond.append(f"backups beyond {home.path(backup.FOLDER)}: the note of their folders is damaged")
        try:
            failed = backup.forget(home, documents, marks, probes, anywhere=anywhere, own=own)
        finally:
            try:
                # A history may hold a text that no document holds any more.
                if documents or marks or (anywhere and sync.holds(home, environ, probes)):
                    beyond += sync.forget(home, config, environ, documents)
            finally:
                waiting, said = team.carry_out(home, config, documents)
                beyond += said
        if anywhere and sync.holds(home, environ, probes):
            failed = [*failed, sync.FOLDER]
        return [*failed, *waiting], [
            *(f"your own file in a backup says it, and stays: {each}" for each in own),
            *beyond,
        ]

    return act


def go_on(home: Home, environ: Mapping[str, str]) -> list[str]:
    """Finish an interrupted ``brain forget``; return the backups that still hold some of it.

    The user's consent is not asked again. Raises as ``runtime.forgetting.forget.finish_elsewhere``, and BadInput for
    the configuration.
    """
    if not forget.unfinished(home):
        return []
    failed, _ = forget.finish_elsewhere(home, elsewhere(home, load(home), environ))
    return failed
