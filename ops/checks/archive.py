"""The archive has what its catalogue names; with ``--deep``, byte for byte."""

from __future__ import annotations

import functools
import os
from typing import TYPE_CHECKING

from core.counting import counted
from core.errors import BrainError, EngineMissing, Refused
from core.text import one_line
from ingest import registry
from ingest.archive import verifier
from ingest.archive.archive import CATALOGUE, FOLDER
from ingest.pipeline import remade
from ingest.policy.exclusions import Policy
from ops.backup import backup, packing
from ops.checks.finding import CheckContext, Finding
from runtime.capture.indexing import index

if TYPE_CHECKING:
    from collections.abc import Iterator

    from core.home import Home
    from ingest.archive.verifier import Broken


def whole(context: CheckContext) -> Iterator[Finding]:
    """No object of the archive is missing, or with ``deep`` damaged. An object can be stored again from its file."""
    try:
        broken = context.broken
    except EngineMissing as error:
        yield Finding("archive.whole", "error", error.message, error.fix, lambda: _renew_catalogue(context))
        return
    if context.deep:
        still = {*(each.name for each in broken), *map(verifier.object_name, verifier.orphan_objects(context.home))}
        verifier.withdraw_losses(context.home, verifier.accepted_losses(context.home).keys() - still)
    for source in dict.fromkeys(each.source for each in broken):
        held = [each for each in broken if each.source == source]
        there = {each.name for each in held if _is_there(context.home, each)}
        repairable = [each for each in held if each.name in there]
        known = verifier.accepted_losses(context.home)
        lost = [each for each in held if each.name not in there and each.name not in known]
        if repairable:
            fix = "brain doctor --deep --fix" if context.deep else "brain doctor --fix"
            said = f"{_said(repairable)}; the files they were made of are still there"
            yield Finding(f"archive-broken:{source}", "warning", said, fix, functools.partial(_repair, context, source))
        if lost:
            yield Finding(
                f"archive-lost:{source}",
                "warning",
                f"{_said(lost)}; what they were made of is gone, or says something else by now",
                f"{_out_of_a_backup(context, lost)}; where none has: brain doctor --accept-loss",
            )


def _renew_catalogue(context: CheckContext) -> str:
    """Move the damaged catalogue aside, take the newest one out of a backup, and index what it lacks."""

    path = context.home.path(FOLDER, CATALOGUE)
    remade.set_aside(path)
    said = "no backup has one"
    temporary = f"{path}.new"
    for kept in sorted(backup.known(context.home), key=os.path.basename, reverse=True):
        try:
            if packing.take(kept, f"{FOLDER}/{CATALOGUE}", temporary) and not remade.fault(temporary):
                os.rename(temporary, path)
                said = f"took it out of {kept}"
                break
        except (BrainError, OSError):
            continue  # an older backup may be sound
        finally:
            if os.path.exists(temporary):
                os.unlink(temporary)
    index(context.home, context.config)
    return f"moved the catalogue to {path}{remade.ASIDE}, {said}, and indexed"


def all_named(context: CheckContext) -> Iterator[Finding]:
    """The catalogue names every object, except a few that killed runs left."""
    found = verifier.count_orphans(context.home)
    out = verifier.orphans_fix(context.home)
    if found.new:
        yield Finding(
            "archive-unnamed",
            "warning" if found.is_lost else "notice",
            f"{verifier.orphans_phrase(found.new)}: nothing can read {'it' if found.new == 1 else 'them'}",
            f"{out}; where none has: brain doctor --accept-loss",
        )


def accept(home: Home) -> str:
    """Accept the archive's permanent losses, objects without a catalogue entry included; return how many were new.

    It reads every object. Raises BrainError if the catalogue cannot be read, OSError, LockContention.
    """
    found = verifier.broken(home, contents=True)
    there = {each.name for each in found if _is_there(home, each)}
    lost = {each.name for each in found if each.name not in there}
    count = verifier.accept_losses(home, lost.union(map(verifier.object_name, verifier.orphan_objects(home))))
    return f"accepted the loss of {counted(count, 'object')}"


def _out_of_a_backup(context: CheckContext, broken: list[Broken]) -> str:
    name = broken[0].name
    return (
        f"take them out of a backup, if one has them: tar --zstd -xf FILE -C {context.home.root}"
        f" raw/{name[:2]}/{name}.zst"
    )


def _is_there(home: Home, each: Broken) -> bool:
    return each.version <= 0 and os.path.exists(each.path) and Policy(registry.settings(home)).enabled


def _said(broken: list[Broken]) -> str:
    names = {each.name: each.reason for each in broken}
    reasons = " or ".join(sorted(set(names.values()), reverse=True))
    first = broken[0]
    return (
        f"{counted(len(names), 'object')} of the archive {'is' if len(names) == 1 else 'are'} {reasons}, such as"
        f" raw/{first.name[:2]}/{first.name}.zst of {one_line(first.path)}"
    )


def _repair(context: CheckContext, source: str) -> str:
    """Index the files again: those in the tool's own folders, then those elsewhere."""
    from ingest.archive.archive import FOLDER, object_path

    def left() -> list[Broken]:
        return [each for each in verifier.broken(context.home, (source,), contents=context.deep) if each.version <= 0]

    before = {each.name for each in left()}
    index(context.home, context.config, source=source, check_archive=context.deep)
    elsewhere = sorted({each.path for each in left() if os.path.exists(each.path)})
    if elsewhere:
        index(context.home, context.config, source=source, roots=elsewhere, check_archive=context.deep)
    # If a file has changed since, the lost object is an older version now and no longer listed as broken.
    lost = {each.name for each in verifier.broken(context.home, contents=context.deep)}
    folder = context.home.path(FOLDER)
    stored = {name for name in before - lost if os.path.exists(object_path(folder, name))}
    if not stored:
        raise Refused("none of them could be stored again: their files have changed")
    more = f"; {len(before - stored)} could not be" if before - stored else ""
    return f"stored {counted(len(stored), 'object')} again{more}"


def visits(context: CheckContext) -> Iterator[Finding]:
    """The archives that sources keep themselves, such as the visits of browsers, are whole."""
    for source in registry.collectors():
        for loss in source.losses(context.home):
            yield Finding(loss.id, loss.severity, loss.evidence, loss.fix)


CHECKS = (whole, all_named, visits)
