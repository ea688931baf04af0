"""``brain restore-span``: the text that an edit replaced, from the raw record or the archive."""

from __future__ import annotations

from os.path import basename
from typing import TYPE_CHECKING, Any

from core.counting import counted
from core.errors import BadInput, BadQuery
from core.redaction import redact, shown
from core.text import encodable, one_line
from qmd.index.actions.action import path_of
from runtime.work.edits import given_path, of_file, with_spans
from runtime.work.scope import answer, where

if TYPE_CHECKING:
    from core.config import Config
    from core.home import Home
    from ingest.pipeline.edit_log import Change
    from runtime.work.edits import Edited
    from runtime.work.scope import Scope

EDITS = "edits"
# Documents whose raw records are read, newest first.
_READ = 25
# Characters of a text in a list.
_SHOWN = 100


def restore_span(
    home: Home, config: Config, path: str, *, session: str = "", number: int = 0, only_list: bool = False, **within: Any
) -> tuple[dict[str, Any], str | None]:
    """Return the envelope of ``brain restore-span``, and the chosen text as the log has it, secrets replaced.

    ``edits`` has a row for each stretch of the file that was replaced, numbered from 1, newest first. The text is that
    of ``number``, or of the newest stretch with one; None with ``only_list``, or if no log has a text.

    Raises:
        BadQuery: no file is named.
        BadInput: there is no edit of this number, or its log has no text from before it.
    """
    path = encodable(path)
    if not basename(path.strip().rstrip("/")):
        raise BadQuery("no file is named", "brain restore-span src/a.py --list")
    texts: list[str] = []

    def found(scope: Scope) -> dict[str, Any]:
        rows = _rows(scope, path, session)
        chosen = None if only_list else _chosen(rows, number)
        if chosen is not None:
            texts.append(redact(chosen[2].before or "")[0])
        listed = rows if chosen is None else [chosen]
        return {
            "path": shown(given_path(path)),
            "different": len(rows),
            "chosen": chosen[0] if chosen is not None else None,
            "text": texts[0] if texts else None,
            EDITS: [_row(scope, *each) for each in listed[: scope.limit]],
        }

    envelope = answer(home, config, found, EDITS, **within)
    return envelope, texts[0] if texts else None


def _rows(scope: Scope, path: str, session: str) -> list[tuple[int, Edited[Change], Change]]:
    actions, _ = of_file(scope, path)
    scope.load(each.document for each in actions)
    if session:
        actions = [each for each in actions if _is_of(scope, each.document, session)]
    edited = with_spans(scope, actions, _READ)
    changes = [(each, change) for each in edited for change in reversed(each.changes)]
    return [(number, *each) for number, each in enumerate(changes, 1)]


def _is_of(scope: Scope, document: int, session: str) -> bool:
    origin = scope.origin(document)
    name = basename(origin.path).removesuffix(".md")
    return any(each.startswith(session) for each in (origin.session, name, name.partition("__")[2]) if each)


def _chosen(rows: list[tuple[int, Edited[Change], Change]], number: int) -> tuple[int, Edited[Change], Change] | None:
    if not number:
        return next((each for each in rows if each[2].before), None)
    if rows and not 0 < number <= len(rows):
        raise BadInput(f"there is no edit {number}: there are {len(rows)}", "brain restore-span PATH --list")
    if rows and rows[number - 1][2].before is None:
        raise BadInput(f"the log has no text from before edit {number}", "brain restore-span PATH --list")
    return rows[number - 1] if rows else None


def _row(scope: Scope, number: int, edited: Edited[Change], change: Change) -> dict[str, Any]:
    return {
        "number": number,
        "file": path_of(edited.action),
        **change.hashes(),
        "begins": _beginning(change),
        **scope.place(edited.action, edited.at),
    }


def _beginning(change: Change) -> str:
    """Return the first line that the edit replaced and that the text after it has not."""
    after = set((change.after or "").split("\n"))
    lines = [line for line in (change.before or "").split("\n") if line.strip()]
    return one_line(next((line for line in lines if line not in after), lines[0] if lines else ""), _SHOWN)


def lines(envelope: dict[str, Any]) -> list[str]:
    """Return the envelope as lines of text."""
    found = envelope[EDITS]
    if not found:
        return [f"No log has an edit of {envelope['path']}."]
    if envelope.get("output"):
        (one,) = found
        return [f"{envelope['output']}: {counted(one['before']['lines'], 'line')} from before edit {one['number']}"]
    said: list[str] = []
    for each in found:
        kind = "the whole file" if each["whole_file"] else "a stretch"
        before = each["before"]
        if before is None:
            size = "the text before is not in the log"
        elif not before["lines"]:
            size = "inserted, nothing was replaced"
        else:
            size = f"replaced {kind}: {counted(before['lines'], 'line')} → {each['after']['lines']}"
        said.append(f"{each['number']:>3}  {each['date'][:16].replace('T', ' ')}  {size} · {where(each)}")
        if each["begins"]:
            said.append(f"     {each['begins']}")
    if envelope["different"] > len(found) and envelope["chosen"] is None:
        said.append(f"{len(found)} of {envelope['different']} edits; -n shows more")
    if envelope["chosen"] is None and not any(each["before"] and each["before"]["lines"] for each in found):
        said.append("no log has a text that was replaced")
    return said


def shown_lines(envelope: dict[str, Any]) -> list[str]:
    """Return ``lines``, and below them the chosen text."""
    return lines(envelope) + (envelope["text"].split("\n") if envelope["text"] else [])
