"""One settings file of an agent: the parts of ours in it, their record, and the way back to the bytes before them.

``state/installed.json`` keeps for each file the parts, the hash of the bytes after the edit, and how the edit is
undone: [position, what was put there, what it replaced]. A file with that hash gets its former bytes back. From a file
that changed since, each part is taken out by its form.
"""

from __future__ import annotations

import hashlib
from os.path import exists
from typing import TYPE_CHECKING, Any, NamedTuple

from core import clock
from core.errors import BadInput
from ops.install import installed, settings_file
from ops.install.forms import ABSENT, FOREIGN, FORMS, Part, from_record

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from core.home import Home

MISSING, EDITED = "missing", "edited"


class Outcome(NamedTuple):
    """What became of one part: ``wired``, ``unchanged``, ``removed``, ``foreign`` (another entry has its name), or
    ``edited`` (the user changed the file, so it stays).
    """

    part: Part
    outcome: str


def settle(
    home: Home, path: str, wanted: Sequence[Part], *, force: bool = False, dry_run: bool = False, mode: int = 0o600
) -> list[Outcome]:
    """Make a file hold exactly ``wanted`` of ours, and record it; [] takes everything out.

    Without ``force``, an entry of somebody else under the same name stays, and so does a whole file that was edited.
    Raises BadInput if the file has not its documented format, OSError, LockContention.
    """
    record = installed.read(home)["files"].get(path)
    outcomes: list[Outcome] = []
    undo: list[Any] = []
    kept: list[Part] = []

    def edit(before: str | None) -> str | None:
        outcomes.clear()
        kept.clear()
        try:
            after, base = _edited(before, record, wanted, force, outcomes, kept)
        except (ValueError, RecursionError) as error:
            raise BadInput(f"{path} cannot be edited: {error}", "repair it by hand; nothing was changed") from None
        undo[:] = difference(base or "", after or "")
        return after

    if dry_run:
        edit(settings_file.read(path))
        return outcomes
    if record is None and not wanted:
        return []
    folders = record["folders"] if record else settings_file.missing_folders(path)
    made = record["made"] if record else not exists(path)
    settings_file.change(home, path, edit, mode=mode)
    if wanted and any(each.outcome == EDITED for each in outcomes):
        return outcomes  # the record keeps the hash of what was written, which shows the edit
    if kept:
        text = settings_file.read(path) or ""
        since = (record or {}).get("since") or clock.iso(clock.now())
        details = {"sha256": digest(text), "undo": undo, "made": made, "folders": folders, "since": since}
        installed.add(home, "files", path, {**details, "parts": [part.record() for part in kept]})
    else:
        installed.drop(home, "files", path)
        settings_file.remove_folders(folders)
    return outcomes


def state(path: str, part: Part, record: Mapping[str, Any] | None) -> str:
    """Return how one part is in its file: current, outdated, foreign, edited, missing or absent. Raises BadInput."""
    recorded = bool(record) and any(
        (each["agent"], each["kind"]) == (part.agent, part.kind) for each in (record or {})["parts"]
    )
    text = settings_file.read(path)
    if text is None:
        return MISSING if recorded else ABSENT
    try:
        found = FORMS[part.form].state(text, part)
    except (ValueError, RecursionError) as error:
        raise BadInput(f"{path} cannot be read: {error}", "repair it by hand") from None
    if found == FOREIGN and part.form == "file" and record:
        return "outdated" if digest(text) == record["sha256"] else EDITED
    if not recorded:
        return found
    return {ABSENT: MISSING, FOREIGN: EDITED}.get(found, found)


def is_wired(path: str, record: Mapping[str, Any]) -> bool:
    """Return True if a file holds a part of its record, or cannot be read to show that it does not."""
    try:
        found = [state(path, part, record) for part in parts_of(record)]
    except BadInput:
        return True
    return any(each not in (ABSENT, MISSING, FOREIGN) for each in found)


def parts_of(record: Mapping[str, Any]) -> list[Part]:
    """Return the parts that a record of a file lists."""
    return [from_record(each) for each in record["parts"]]


def digest(text: str) -> str:
    """Return the SHA-256 of a text's bytes."""
    return hashlib.sha256(text.encode()).hexdigest()


def difference(before: str, after: str) -> list[Any]:
    """Return [position, text put there, text replaced] that leads from ``before`` to ``after``."""
    least = min(len(before), len(after))
    start = next((at for at in range(least) if before[at] != after[at]), least)
    tail = next((at for at in range(least - start) if before[-1 - at] != after[-1 - at]), least - start)
    return [start, after[start : len(after) - tail], before[start : len(before) - tail]]


def _edited(
    before: str | None,
    record: Mapping[str, Any] | None,
    wanted: Sequence[Part],
    force: bool,
    outcomes: list[Outcome],
    kept: list[Part],
) -> tuple[str | None, str | None]:
    """Return (the text with exactly ``wanted`` of ours, the text without ours); None for no file."""
    form = FORMS[(wanted or parts_of(record or {"parts": []}))[0].form]
    is_ours = record is not None and before is not None and digest(before) == record["sha256"]
    if form is FORMS["file"]:
        return _whole(before, is_ours, wanted, force, outcomes, kept, record)
    old = parts_of(record) if record else []
    if record and is_ours:
        base = _undone(before or "", record)
    elif before:
        base = _taken(before, old)
    else:
        base = form.new if before is None else ""  # an empty file becomes empty again
    text = base or form.new
    for part in wanted:
        found = FORMS[part.form].state(text, part)
        if found == FOREIGN and not force:
            outcomes.append(Outcome(part, FOREIGN))
            continue
        if found == FOREIGN:
            text = _without_foreign(text, part)
        elif found != ABSENT:
            text, base = (FORMS[part.form].take(each, part) for each in (text, base))
        text = FORMS[part.form].put(text, part)
        kept.append(part)
        outcomes.append(Outcome(part, "wired"))
    still = {(part.agent, part.kind) for part in wanted}
    outcomes += [Outcome(part, "removed") for part in old if (part.agent, part.kind) not in still]
    if text == before:
        outcomes[:] = [each._replace(outcome="unchanged") if each.outcome == "wired" else each for each in outcomes]
    was_made = record["made"] if record else before is None
    if not kept and was_made and text.strip() == form.new.strip():
        return None, None
    if not kept and not base and before is not None:
        return "", base
    return (before if before is None and not kept else text), base


def _whole(
    before: str | None,
    is_ours: bool,
    wanted: Sequence[Part],
    force: bool,
    outcomes: list[Outcome],
    kept: list[Part],
    record: Mapping[str, Any] | None,
) -> tuple[str | None, str | None]:
    """Return what ``_edited`` does, for a file that is ours as a whole."""
    is_free = before is None or is_ours or (record is None and any(before == part.value for part in wanted))
    if not is_free and not force:
        parts = wanted or parts_of(record or {"parts": []})
        outcomes += [Outcome(part, EDITED if record else FOREIGN) for part in parts]
        kept += parts_of(record) if record and wanted else []
        return before, None
    if not wanted:
        outcomes += [Outcome(part, "removed") for part in parts_of(record or {"parts": []})]
        return None, None
    kept += wanted
    outcomes += [Outcome(part, "unchanged" if before == part.value else "wired") for part in wanted]
    return str(wanted[0].value), None


def _undone(text: str, record: Mapping[str, Any]) -> str:
    at, put, was = record["undo"]
    return text[:at] + str(was) + text[at + len(put) :]


def _taken(text: str, parts: Sequence[Part]) -> str:
    for part in parts:
        if FORMS[part.form].state(text, part) not in (ABSENT, FOREIGN):
            text = FORMS[part.form].take(text, part)
    return text


def _without_foreign(text: str, part: Part) -> str:
    if part.form != "json":
        raise ValueError(f"another entry has the name {part.key[-1]!r}; rename it")
    return FORMS["json"].take(text, part)
