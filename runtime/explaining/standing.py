"""Check if decisions, statements and fixes still hold: their words against later ones, their files against the disk.

``runtime.validity`` decides. This module collects what it decides by: the claims of results, and the files that a text
names, if the session or the project has them.
"""

from __future__ import annotations

from os.path import isabs, isdir, isfile, join
from typing import TYPE_CHECKING, Any

from core import clock
from qmd.index.actions import table
from qmd.index.actions.action import FAILED, FILE_KINDS
from runtime.validity import validity
from runtime.validity.file_changes import changed_files
from runtime.validity.statements import tokenize
from runtime.validity.validity import Claim

if TYPE_CHECKING:
    import apsw

# Files of one claim that are looked at: each may cost a call of git.
_MOST_FILES = 5


def judge_reasons(connection: apsw.Connection, envelope: dict[str, Any], ids: dict[str, int]) -> None:
    """Give each decision and each statement of ``brain why`` its ``validity``. Raises apsw.Error.

    ``ids`` has the documents of the evidence by their uris.
    """
    claims: list[Claim] = []
    for at, found in enumerate(envelope["decisions"]):
        successor = "" if found["standing"] else found["superseded_by"] or ""
        lines = [(found["line"] or 1, found["title"])]
        own = {"entry": found["entry_id"] or "", "successor": successor, "holds_with": found["holds_with"]}
        claims.append(_claim(("decision", at), found, found, lines, **own))
    for at, found in enumerate(envelope["evidence"]):
        for number, said in enumerate(found["statements"]):
            lines = [(found["line"], said["text"])]
            claims.append(_claim(("evidence", at, number), found, said, lines))
    sides = validity.judge(claims)
    known = {claim.key: claim for claim in claims}

    def verdict(key: object, text: str, found: dict[str, Any], at: int) -> Any:
        # Files of another member are on another machine.
        is_here = "owner" not in found
        paths = named_files(connection, text, found["project"] or "", ids.get(found["uri"], 0)) if is_here else []
        changed, looked_at = changed_files(paths, at)
        claim = known[key]
        is_known = looked_at or claim.is_said
        return validity.verdict(sides.get(key, ()), changed, successor=claim.successor, known=is_known)

    for at, found in enumerate(envelope["decisions"]):
        text = f"{found['title']} {found['why'] or ''}"
        found["validity"] = verdict(("decision", at), text, found, known["decision", at].at)
    for at, found in enumerate(envelope["evidence"]):
        for number, said in enumerate(found["statements"]):
            key = ("evidence", at, number)
            said["validity"] = verdict(key, f"{said['text']} {said['why'] or ''}", found, known[key].at)
        found["validity"] = validity.verdict()


def _claim(
    key: object, found: dict[str, Any], said: dict[str, Any], lines: list[tuple[int, str]], **more: Any
) -> Claim:
    """Return a claim of a result ``found``; ``said`` has its type, and by whom and when it was said."""
    date = clock.parse_iso(_iso(said.get("date") or "")) or clock.parse_iso(found["date"]) or 0
    by_agent = said.get("by") == "agent"
    return Claim(
        key,
        found["uri"],
        date,
        () if by_agent else lines,
        heard=lines if by_agent else (),
        # Sessions without a project have none in common. A note without one holds everywhere.
        project=found["project"] or ("" if "entry" in more else found["uri"]),
        negative=said["type"] == "rejected",
        owner=found.get("owner", ""),
        **more,
    )


def _iso(date: str) -> str:
    """Return the time of a turn ("2026-05-01 08:00") as ISO 8601, other texts as they are."""
    return f"{date.replace(' ', 'T')}:00Z" if len(date) == len("2026-05-01 08:00") else date


def named_files(connection: apsw.Connection, text: str, project: str, document: int = 0) -> list[str]:
    """Return the absolute paths of files that a text names, if they are in the project or the session touched them.

    Raises apsw.Error.
    """
    names = [word for word in tokenize(text) if "." in word.strip(".") and not word[0].isdigit() and ":" not in word]
    if not names or (project and not isdir(project)):
        return []  # on another machine's paths nothing can be said
    found: dict[str, None] = {}
    if document:
        touched = table.of_documents(connection, (document,), FILE_KINDS)
        for each in touched:
            if each.outcome != FAILED and any(_is_named(each.subject.lower(), name) for name in names):
                found[each.subject if isabs(each.subject) else join(each.folder or project, each.subject)] = None
    for name in names:
        for spelled in (name, _as_written(text, name)):
            path = spelled if isabs(spelled) else join(project, spelled) if project else ""
            if path and isfile(path):
                found[path] = None
    return [path for path in found if isabs(path)][:_MOST_FILES]


def _is_named(subject: str, name: str) -> bool:
    return subject == name or subject.endswith(f"/{name}") or name.endswith(f"/{subject}")


def _as_written(text: str, name: str) -> str:
    at = text.lower().find(name)
    return text[at : at + len(name)] if at >= 0 else name
