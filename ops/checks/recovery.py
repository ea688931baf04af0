"""Every restore, forget and sync has ended; the last backup is young, if the configuration asks for that."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from core import clock
from core.config import SILENT_S
from core.errors import BrainError, EngineMissing, Refused
from core.tombstones import Tombstones
from ingest import registry
from ingest.pipeline import remade
from ingest.policy.withheld import Withheld
from ops import forgetting
from ops.backup import backup, restore
from ops.checks.finding import CheckContext, Finding
from ops.sync import sync
from ops.sync.git import Repository
from ops.sync.state import State
from ops.sync.status import silent
from runtime.capture import demo
from runtime.forgetting import forget

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator

    from core.home import Home

_DAY = 86_400


def restored_whole(context: CheckContext) -> Iterator[Finding]:
    """No restore was killed between the folders that it moves."""
    if os.path.exists(context.home.path(restore.MOVES)) and not (
        yield from _damaged(context, "restore-unfinished", restore.journal)
    ):
        yield Finding(
            "restore-unfinished",
            "error",
            "a restore was killed while it moved folders: the home is part old, part new",
            "brain restore FILE --force finishes it first",
            lambda: "finished the restore" if restore.finish(context.home) else "",
        )


def forgotten_in_backups(context: CheckContext) -> Iterator[Finding]:
    """No backup holds forgotten text."""
    if backup.forgetting(context.home) and not (yield from _damaged(context, "backup-forgetting", backup.job)):
        yield Finding(
            "backup-forgetting", "warning", "backups may still hold what was forgotten", "brain backup finishes that"
        )


def forgotten_whole(context: CheckContext) -> Iterator[Finding]:
    """No ``brain forget`` was interrupted before it reached backups and histories."""
    if forget.unfinished(context.home) and not (yield from _damaged(context, "forget-unfinished", forget.pending)):
        yield Finding(
            "forget-unfinished",
            "warning",
            "a `brain forget` was cut short: backups or the shared history may still hold what was to be gone",
            "brain doctor --fix",
            lambda: _go_on(context),
        )


def _damaged(context: CheckContext, name: str, read: Callable[[Home], object]) -> Generator[Finding, None, bool]:
    """Yield a finding and return True if the note cannot be read."""
    try:
        read(context.home)
    except EngineMissing as error:
        yield Finding(name, "error", error.message, error.fix)
        return True
    return False


def tombstones_known(context: CheckContext) -> Iterator[Finding]:
    """The tombstones can be read: no run reads a source without them."""
    try:
        Tombstones(context.home)
    except EngineMissing as error:
        yield Finding("tombstones", "error", error.message, error.fix)


def exclusions_known(context: CheckContext) -> Iterator[Finding]:
    """The exclusions can be read: no run reads a source without them."""
    try:
        Withheld(context.home).check()
    except EngineMissing as error:
        yield Finding("excluded", "error", error.message, error.fix)


def _go_on(context: CheckContext) -> str:
    left = forgetting.go_on(context.home, context.environ)
    if left:
        raise Refused(f"still held by {', '.join(left)}", "brain backup, when that is in reach")
    return "what was to be forgotten is gone from backups and histories"


def backup_is_young(context: CheckContext) -> Iterator[Finding]:
    """The last backup is no older than ``doctor: {backup_days: N}``; without the setting there is no check."""
    days = context.threshold("backup_days", 0)
    if not days:
        return
    last = backup.last(context.home)
    if last is None:
        yield Finding(
            "backup-missing", "warning", f"there is no backup; one every {days:g} days is asked for", "brain backup"
        )
    elif context.now - last[0] > days * _DAY:
        age = (context.now - last[0]) / _DAY
        yield Finding("backup-old", "warning", f"the last backup is {age:.0f} days old: {last[1]}", "brain backup")


def state_is_sound(context: CheckContext) -> Iterator[Finding]:
    """The state of sources, other machines and backups can be read; a file that was set aside is reported."""
    home = context.home
    has_demo = demo.is_there(home)  # its days of commits were made of no repository
    for name in remade.FILES:
        path = os.path.join(home.state, name)
        source = next((each.name for each in registry.collectors() if each.state_file == name), "")
        again = f"brain index --source {source} --from REPOSITORY" if source else "brain index"
        if fault := remade.fault(path):
            fix = f"brain doctor --fix moves it aside; {again} makes it again"
            yield Finding(f"state-damaged:{name}", "error", f"{path} is damaged: {fault}", fix, _setting_aside(path))
        elif source and not has_demo and remade.knows_nothing(home, source, registry.source(source).collection):
            said = f"{path} knows of no document of {source}, and there are some: they are not brought up to date"
            yield Finding(f"state-emptied:{name}", "warning", said, f"{again}, for each")
    for name in remade.aside(home):
        path = os.path.join(home.state, name)
        said = f"{path.removesuffix(remade.ASIDE)} was damaged; what it knew is made again as far as that can be"
        yield Finding(f"state-aside:{name}", "notice", said, f"rm {path}*, once nothing in it is wanted")
    try:
        State(home)
    except BrainError as error:
        yield Finding("sync-state", "error", error.message, error.fix)
    if backup.is_note_damaged(home):
        yield Finding(
            "backup-note",
            "warning",
            "state/last-backup.json cannot be read: of folders that took backups only backups/ is known, and brain"
            " forget reaches into no other",
            f"take it out of a backup: tar --zstd -xf FILE -C {home.root} state/last-backup.json; or brain backup --to"
            " FOLDER, once for each that has some",
        )


def repository_is_sound(context: CheckContext) -> Iterator[Finding]:
    """The repository of ``brain sync`` can be read, and no killed git has left a lock in it."""
    home = context.home
    if not sync.configured(home):
        return
    repository = Repository(home.path(sync.FOLDER), context.environ)
    if locks := repository.locks():
        more = f" (and {len(locks) - 1} more)" if len(locks) > 1 else ""
        yield Finding(
            "sync-locked",
            "warning",
            f"a git that was killed has left its lock: {locks[0]}{more}",
            "brain sync removes it",
            lambda: f"removed {', '.join(sync.unlock(home, context.environ))}",
        )
    if fault := repository.fault(deep=context.deep):
        yield Finding(
            "sync-damaged",
            "error",
            f"{repository.path} is damaged: {fault}",
            "brain doctor --fix makes it again from the documents: its history restarts",
            lambda: sync.restart(home, context.environ),
        )


def machines_are_heard(context: CheckContext) -> Iterator[Finding]:
    """Each machine that shares this memory was heard within a week, and the last synchronisation reached the remote."""
    try:
        state = State(context.home)
    except BrainError:
        return  # a finding of ``state_is_sound``
    if not state.remote:
        return
    now = int(context.now)
    for name, heard in silent(state, now):
        said = f"nothing was heard of the machine {name} since {clock.iso(heard)[:10]}"
        fix = "brain sync, there and here; a machine that is gone for good: remove its branch from the remote"
        yield Finding(f"sync-silent:{name}", "notice", said, fix)
    if state.failed and now - state.synced > SILENT_S:
        since = f"since {clock.iso(state.synced)[:10]}" if state.synced else "ever"
        yield Finding("sync-late", "warning", f"no synchronisation has reached the remote {since}", "brain sync")


def _setting_aside(path: str) -> Callable[[], str]:
    def repair() -> str:
        remade.set_aside(path)
        return f"moved it to {path}{remade.ASIDE}"

    return repair


CHECKS = (
    restored_whole,
    forgotten_whole,
    forgotten_in_backups,
    tombstones_known,
    exclusions_known,
    state_is_sound,
    repository_is_sound,
    machines_are_heard,
    backup_is_young,
)
