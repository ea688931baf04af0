"""``brain blame``: the sessions that changed, read or discussed a file, and which of its lines came from which."""

from __future__ import annotations

import os
import re
from os.path import basename
from typing import TYPE_CHECKING, Any

from core import clock
from core.counting import counted
from core.errors import BadInput, BadQuery
from core.redaction import shown
from core.text import encodable, one_line
from qmd.index import catalogue
from qmd.index.actions import history, table
from qmd.index.actions.action import DECISION, READ, REJECTION, path_of
from qmd.index.catalogue import Filters
from runtime.explaining.file_history import has_name, mentions, spellings
from runtime.work.edits import Edited, given_path, of_file, with_traces
from runtime.work.present import CHANGED, Present, owners, ranges, state
from runtime.work.scope import answer, where

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from core.config import Config
    from core.home import Home
    from qmd.index.actions.action import Action
    from runtime.work.present import Found
    from runtime.work.scope import Scope
    from runtime.work.traces import Trace

SESSIONS = "sessions"
# Documents whose raw records are read: a person waits.
_READ = 25
# Decisions and edits of one session that are shown, ranges of lines, characters of a prompt or a sentence.
_SAID, _EDITS, _RANGES, _TEXT = 3, 5, 6, 220
# Documents that mention the file which are looked through.
_MENTIONS = 30
# Parts of the path by which what a team shares is looked up.
_NAMES = 3
_PLACE = re.compile(r"(.+?):(\d{1,8})(?:-(\d{1,8}))?")
_PEOPLE = ("user", "task")


def place(given: str) -> tuple[str, int, int]:
    """Return the path, the first and the last line of ``PATH[:LINE|:A-B]``, 0 for none.

    A file of that very name has no line. Raises BadInput if the lines are in no order.
    """
    match = _PLACE.fullmatch(given)
    if match is None or os.path.exists(given):
        return given, 0, 0
    first, last = int(match[2]), int(match[3] or match[2])
    if not 0 < first <= last:
        raise BadInput(f"{given!r} names no lines", "brain blame src/a.py:10-20")
    return match[1], first, last


def blame(home: Home, config: Config, given: str, **within: Any) -> dict[str, Any]:
    """Return the envelope of ``brain blame``.

    ``sessions`` are those that changed the file, newest first, then those that read it, then those that name it. Each
    has ``asked``, what was asked for before the change; ``said``, the agent's words before the change; ``decisions``;
    ``lines``, [first, last] of the present file that it wrote last; ``state``, what became of all that it wrote:
    ``unchanged``, ``changed since``, ``gone``, or None if that is unknown. With lines in ``given``, the sessions that
    wrote them come first: ``wrote_line`` is True.
    """
    given = encodable(given)
    path, first, last = place(given)
    if not basename(path.strip().rstrip("/")):
        raise BadQuery("no file is named", "brain blame src/a.py")
    # The last folders tell a file from others of its name.
    about = " ".join(given_path(path).replace("\\", "/").split("/")[-_NAMES:])
    return answer(home, config, lambda scope: _blamed(scope, path, first, last), SESSIONS, about=about, **within)


class _Session:
    """The actions of one session and its subagents on the file, newest first."""

    def __init__(self) -> None:
        self.actions: list[Action] = []
        self.edits: list[tuple[Edited[Trace], list[tuple[Trace, Found]]]] = []
        self.lines: list[int] = []

    @property
    def state(self) -> str | None:
        """Fate of all that the session wrote to the file; None if that is unknown."""
        return state(pair for _, looked in self.edits for pair in looked)

    @property
    def last(self) -> int:
        """When the session changed the file last, or else dealt with it, in epoch seconds."""
        return max((edited.at for edited, _ in self.edits), default=self.actions[0].at)


def _blamed(scope: Scope, path: str, first: int, last: int) -> dict[str, Any]:
    whole = given_path(path)
    actions, is_exact = of_file(scope, path)
    scope.load(each.document for each in actions)
    present = Present(whole)
    sessions: dict[str, _Session] = {}
    for each in actions:
        sessions.setdefault(scope.origin(each.document).session, _Session()).actions.append(each)
    claims: list[tuple[Trace, Found]] = []
    whose: list[_Session] = []
    for edited in with_traces(scope, actions, _READ):
        session = sessions[scope.origin(edited.action.document).session]
        pairs = ((change, present.look(change)) for change in reversed(edited.changes))
        looked = [(change, found) for change, found in pairs if found is not None]
        session.edits.append((edited, looked))
        claims += looked
        whose += [session] * len(looked)
    taken = owners(claims)
    for line, place in taken.items():
        whose[place].lines.append(line)
    wanted = range(first, last + 1)
    ranked = sorted(
        sessions.values(),
        key=lambda each: (not any(line in wanted for line in each.lines), not each.edits, -each.last),
    )
    results = [_result(scope, each, wanted, basename(whole)) for each in ranked[: scope.limit]]
    if len(results) < scope.limit:
        results += _mentions(scope, whole, set(sessions), scope.limit - len(results))
    return {
        "path": shown(whole),
        "line": first or None,
        "last_line": last or None,
        "same_path": is_exact,
        "exists": present.lines is not None,
        "lines": None if present.lines is None else len(present.lines),
        "known_lines": len(taken),
        "different": len(sessions),
        "governing": _governing(scope, whole, {each.document for each in actions}),
        SESSIONS: results,
    }


def _result(scope: Scope, session: _Session, wanted: range, name: str) -> dict[str, Any]:
    mine = [
        edited for edited, looked in session.edits if any(line in wanted for _, each in looked for line in each.lines)
    ]
    chosen = (mine or [edited for edited, _ in session.edits] or session.actions)[0]
    action, at = (chosen.action, chosen.at) if isinstance(chosen, Edited) else (chosen, chosen.at)
    lines = sorted(session.lines)
    return {
        "wrote_line": any(line in wanted for line in lines),
        "deed": "changed" if session.edits else "read",
        "edits": len(session.edits),
        "reads": sum(each.kind == READ for each in session.actions),
        "file": path_of(action),
        **_words(scope, action),
        "state": session.state,
        "lines": ranges(lines),
        "changes": [_change(scope, *each) for each in session.edits[:_EDITS]],
        "decisions": _decisions(scope, session, action, name),
        **scope.place(action, at),
    }


def _change(scope: Scope, edited: Edited[Trace], looked: Sequence[tuple[Trace, Found]]) -> dict[str, Any]:
    states = {found.state for _, found in looked}
    return {
        "uri": scope.uri(edited.action.document),
        "line": edited.action.line,
        "turn": edited.action.turn,
        "date": clock.iso(edited.at),
        "state": (states.pop() if len(states) == 1 else CHANGED) if states else None,
        "lines": ranges(sorted({line for _, found in looked for line in found.lines})),
        "spans": [each.spans for each in edited.changes[:_EDITS]],
    }


def _words(scope: Scope, action: Action) -> dict[str, str]:
    """Return what was asked for before an action (``asked``), and the agent's last words before it (``said``)."""
    origin = scope.origin(action.document)
    row = catalogue.by_path(scope.connection, origin.collection, origin.path)
    text = catalogue.text(scope.connection, catalogue.Document(row).hash) if row is not None else None
    lines = (text or "").split("\n")[: max(action.line - 1, 0)]
    said: list[str] = []
    is_turn = True
    is_code = False
    for at in range(len(lines) - 1, -1, -1):
        line = lines[at]
        if line.startswith("## ["):
            if line.partition("] ")[2].partition(" ")[0] in _PEOPLE:
                after = lines[at + 1 :]
                end = next((number for number, each in enumerate(after) if each.startswith("## [")), len(after))
                return {"asked": one_line(" ".join(after[:end][:12]), _TEXT), "said": _one_sentence(said)}
            is_turn = False
        elif line.lstrip().startswith(("```", "~~~")):
            is_code = not is_code
        elif is_turn and not is_code and (said or not line.startswith(("- ", "  "))):
            # The paragraph before the call, and before calls that came between.
            if said and (not line or line.startswith(("- ", "  "))):
                is_turn = False
            elif line and not line.startswith("### "):
                said.insert(0, line)
    return {"asked": "", "said": _one_sentence(said)}


def _one_sentence(lines: list[str]) -> str:
    return one_line(" ".join(lines), _TEXT)


def _decisions(scope: Scope, session: _Session, change: Action, name: str) -> list[dict[str, Any]]:
    """Return what was decided and refused in a session: first what names the file, then the last before the change."""
    documents = {each.document for each in session.actions}
    said = table.of_documents(scope.connection, documents, (DECISION, REJECTION))
    said.sort(key=lambda each: (each.at, each.document, each.number))
    naming = [each for each in said if _names(each, name)]
    # A refused call of something else says nothing of this file.
    others = [each for each in said if each.kind == DECISION and each not in naming and _is_before(each, change)]
    kept = naming[-_SAID:]
    kept += others[max(0, len(others) + len(kept) - _SAID) :]
    return [_statement(scope, each) for each in kept]


def _names(each: Action, name: str) -> bool:
    return has_name(each.subject, name) or has_name(each.note, name)


def _is_before(each: Action, change: Action) -> bool:
    """Return True if something was said before a change; a subagent's document has only the minutes in common."""
    is_same = each.document == change.document
    return each.number < change.number if is_same else each.at <= change.at


def _statement(scope: Scope, each: Action) -> dict[str, Any]:
    return {"kind": each.kind, "text": each.subject, "why": each.note, **scope.place(each)}


def _governing(scope: Scope, whole: str, seen: Iterable[int]) -> list[dict[str, Any]]:
    """Return the newest decisions and rejections elsewhere that name the file: in notes and distillates."""
    name = basename(whole)
    found = [
        each
        for each in history.statements_about(scope.connection, [name], scope.since, most=-1)
        if _names(each, name) and each.document not in seen and scope.holds(each.document)
    ]
    scope.load(each.document for each in found[:_SAID])
    return [_statement(scope, each) for each in found[:_SAID]]


def _mentions(scope: Scope, whole: str, seen: set[str], most: int) -> list[dict[str, Any]]:
    """Return sessions that name the file and did nothing to it, those that ended last first."""
    kept = scope.config.trusting("session")
    name = basename(whole)
    phrase = name.replace('"', '""')
    if not kept or not any(map(str.isalnum, name)):
        return []
    filters = Filters(kept, since=scope.since or None)
    rows = catalogue.mentioning(scope.connection, f'"{phrase}"', filters, _MENTIONS)
    if scope.shared:
        # The full-text tables have the user's own documents alone.
        theirs = [document for document, hit in scope.shared.items() if hit.trust == "session"]
        rows += catalogue.rows(scope.connection, Filters(since=scope.since or None), theirs)
        rows.sort(key=lambda row: -row[6])
    documents = [catalogue.Document(row) for row in rows]
    scope.load(each.id for each in documents)
    found: list[dict[str, Any]] = []
    for each in documents:
        origin = scope.origin(each.id)
        if origin.session in seen or not scope.holds(each.id):
            continue
        names = spellings(whole, origin.project)
        line, text = mentions(catalogue.text(scope.connection, each.hash) or "", names)
        if not line:
            continue
        seen.add(origin.session)
        found.append(
            {
                "wrote_line": False, "deed": "mentioned", "edits": 0, "reads": 0, "file": whole, "asked": "",
                "said": one_line(text, _TEXT), "state": None, "lines": [], "changes": [], "decisions": [],
                **scope.place_of(each.id, each.ended, line),
            }
        )  # fmt: skip
        if len(found) == most:
            break
    return found


def lines(envelope: dict[str, Any]) -> list[str]:
    """Return the envelope as lines of text."""
    found = envelope[SESSIONS]
    if not found:
        return [f"No session read, changed or named {envelope['path']}."]
    first, last = envelope["line"], envelope["last_line"]
    at = "" if not first else f":{first}" if first == last else f":{first}-{last}"
    said = [f"{envelope['path']}{at}{_head(envelope)}"]
    if not envelope["same_path"] and envelope["different"]:
        said.append("no session had this path; these had files that end like it:")
    if first and not found[0]["wrote_line"]:
        said.append("no session is known to have written this as it is; all that dealt with the file:")
    said += [f"{each['kind']}: {_statement_line(each)}" for each in envelope["governing"]]
    said.append("")
    for each in found:
        said += _session_lines(each, same_path=envelope["same_path"])
    if envelope["different"] > len(found):
        said += ["", f"{len(found)} of {envelope['different']} sessions; -n shows more"]
    return said


def _head(envelope: dict[str, Any]) -> str:
    if not envelope["exists"]:
        return "  (no such file here: what became of the edits is not known)"
    return f"  ({envelope['known_lines']} of {counted(envelope['lines'], 'line')} from sessions)"


def _session_lines(each: dict[str, Any], *, same_path: bool) -> list[str]:
    deeds = {"changed": counted(each["edits"], "edit"), "read": f"read {each['reads']}×", "mentioned": "named only"}
    said = [" · ".join(filter(None, (one_line(each["title"], 90), deeds[each["deed"]], each["state"])))]
    said.append(f"   {where(each)}")
    if not same_path and each["deed"] != "mentioned":
        said.append(f"   file: {each['file']}")
    if each["lines"]:
        places = ", ".join(str(low) if low == high else f"{low}-{high}" for low, high in each["lines"][:_RANGES])
        more = f", and {len(each['lines']) - _RANGES} more" if len(each["lines"]) > _RANGES else ""
        said.append(f"   lines: {places}{more}")
    if each["asked"]:
        said.append(f"   asked: {each['asked']}")
    if each["said"]:
        said.append(f"   said: {each['said']}")
    said += [f"   {one['kind']}: {_statement_line(one)}" for one in each["decisions"]]
    return said


def _statement_line(one: dict[str, Any]) -> str:
    why = f" — {one_line(one['why'], 120)}" if one["why"] else ""
    return f"{one_line(one['text'], 160)}{why} · {where({**one, 'project': ''})}"
