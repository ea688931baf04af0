"""Actions of a session, read from its document: what was run, read, changed, decided and refused, and what failed.

docs/documents.md has the grammar of the markdown, docs/work.md what an action is. Reasoning, summaries of what was
compacted and text that only mentions a call give no action. Called for each document that enters the index, so a line
that begins no turn, call or detail costs one comparison.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from core import clock
from core.tool_kinds import CHANGES, CREATES, READS, RUNS
from qmd.index.actions import command_forms, error_forms
from qmd.index.actions.action import (
    COMMAND,
    CREATE,
    DECISION,
    EDIT,
    ERROR,
    FAILED,
    OK,
    READ,
    REJECTION,
    UNKNOWN,
    Action,
    key_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

_SUBJECT, _NOTE = 400, 200
# Actions of one document, and files of one call: more are no work of a person's day.
_MOST, _MOST_FILES = 20_000, 20
_TURN = re.compile(r"^## \[(\d+)\] (\w+)(?: · (\d{4}-\d\d-\d\d) (\d\d:\d\d))?$")
_CALL = re.compile(r"^- ([A-Za-z][\w.-]{0,80})(?: \([^)\n]*\))?(?:: ?(.*))?$")
_SUFFIX = re.compile(r" \((?:lines \d+-\d+|from line \d+|\d+ edits|new|deleted|view)\)$")
_PATCHED = re.compile(r"(?m)^ *\*\*\* (Update|Add|Delete) File: (.+)$")
_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})")
_ANSWER = re.compile(r"^answer(?: to “(.*)”)?: (.+)$")
_MACHINES = frozenset(("assistant", "commentary", "subagent"))
_ASKS, _PLANS = frozenset(("askuserquestion", "ask_user", "question", "request_user_input")), "exitplanmode"
# Details of a call that says nothing of how it ended.
_NO_RESULT = frozenset(
    ("no result", "interrupted by the user", "cancelled by the user", "! Command aborted", "! Operation aborted")
)
# A command with one of these only looks: its success heals nothing.
_LOOKS = ("--help", "--version", "--dry-run", "--collect-only", " -h", "--list")
# Sections of a distillate (runtime/distill/distillate.py writes them) and the kind of their statements.
_SECTIONS = {"## Decisions": DECISION, "## Rejected approaches": REJECTION}
_NOTE_TYPES = {"decision": DECISION, "rejected": REJECTION, "preference": DECISION}
_REASON = " Why: "


def read(text: str, fields: dict[str, Any], date: int) -> Sequence[Action]:
    """Return the actions of a document; none of a document that is no session, distillate or decision.

    Args:
        fields: the frontmatter, as ``brain_facts`` has it.
        date: epoch seconds, for turns without a time.
    """
    if isinstance(fields.get("turns"), int) and isinstance(fields.get("source"), str):
        return _Session(text, fields, date).actions()
    if "distiller" in fields:
        return list(_statements(text, date))
    kind = _NOTE_TYPES.get(str(fields.get("type")))
    if kind and fields.get("source") == "note":
        why = str(fields.get("why") or "")
        return [_spoken(1, 0, date, kind, "", str(fields.get("title") or ""), why, str(fields.get("project") or ""))]
    return ()


def _spoken(line: int, turn: int, at: int, kind: str, name: str, subject: str, why: str, folder: str) -> Action:
    subject, why = subject[:_SUBJECT], why[:_SUBJECT]
    key = key_of(subject.lower())
    return Action(line, turn, at, kind, name, subject, key, 0, folder, OK, None, "", why, None)


def split_citations(text: str) -> tuple[str, str]:
    """Return a text, and the turns that it cites at its end: ``("it holds", " [3] [5]")``.

    A regular expression takes the square of the line's length, and another member of a team may have written the line.
    """
    end = len(text)
    while text.endswith("]", 0, end):
        start = text.rfind(" [", 0, end)
        if start <= 0 or not text[start + 2 : end - 1].isdecimal():
            break
        end = start
    return text[:end], text[end:]


def _statements(text: str, date: int) -> Iterator[Action]:
    """Yield the decisions and rejections of a distillate."""
    kind = ""
    for number, line in enumerate(text.split("\n"), 1):
        if line.startswith("## "):
            kind = _SECTIONS.get(line, "")
        elif kind and line.startswith("- "):
            cited, turns = split_citations(line[2:])
            if not turns:
                continue
            said, _, why = cited.partition(_REASON)
            turn = int(turns.strip(" []").partition("]")[0][:9])
            yield _spoken(number, turn, date, kind, "", said, why, "")


class _Call:
    """A tool call while its details are read."""

    __slots__ = ("details", "given", "line", "tool")

    def __init__(self, line: int, tool: str, given: str) -> None:
        self.line, self.tool, self.given = line, tool, given
        self.details: list[str] = []


class _Outcome:
    """What the lines under a call say came of it."""

    __slots__ = ("errors", "folder", "is_known", "is_refused", "status")

    def __init__(self, call: _Call, *, is_known: bool) -> None:
        self.errors: list[str] = []
        self.status: int | None = None
        self.folder = ""
        self.is_refused = False
        self.is_known = is_known
        for detail in call.details:
            if detail in _NO_RESULT:
                self.is_known = False
            elif detail.startswith("! "):
                status = error_forms.status(detail[2:])
                if status is None:
                    self.errors.append(detail[2:])
                elif self.status is None:
                    self.status = status
                self.is_known = True
            elif detail == "rejected by the user":
                self.is_refused = True
            elif detail.startswith("in "):
                self.folder = detail[3:]

    @property
    def outcome(self) -> str:
        if self.errors or self.status:
            return FAILED
        return OK if self.is_known else UNKNOWN


class _Session:
    """A session's document while its lines are read."""

    def __init__(self, text: str, fields: dict[str, Any], date: int) -> None:
        self._lines = text.split("\n")
        self._project = str(fields.get("project") or "").rstrip("/")
        self._tells_results = fields.get("results") is not False
        self._date = date
        self._found: list[Action] = []
        self._turn, self._at = 0, date
        # What failed and did not succeed since: (kind of key, key) → numbers of the actions.
        self._failing: dict[tuple[str, int], list[int]] = {}
        # The files that were seen, and the refusals that wait for a reason.
        self._seen: set[int] = set()
        self._refused: list[int] = []

    def actions(self) -> list[Action]:
        """Return the actions, in order of their lines."""
        role = fence = ""
        thinking = False
        call: _Call | None = None
        for number, line in enumerate(self._lines, 1):
            head = line[:2]
            if head == "  ":
                if call is not None:
                    call.details.append(line[2:])
                continue
            if head == "- ":
                if fence or thinking:
                    continue
                if call is not None:
                    self._end(call)
                call = self._begin(role, number, line)
            elif head == "##":
                if match := _TURN.match(line):
                    if call is not None:
                        self._end(call)
                    call, fence, thinking, role = None, "", False, match[2]
                    self._begin_turn(match)
                elif line == "### reasoning" and not fence:
                    if call is not None:
                        self._end(call)
                    call, thinking = None, True
            elif line:
                if call is not None:
                    self._end(call)
                    call = None
                if head in ("``", "~~", " `", " ~"):
                    fence = _fenced(line, fence)
                if self._refused and role == "user":
                    self._explain(line)
            elif call is not None:
                call.details.append("")
            if len(self._found) > _MOST:
                return self._found
        if call is not None:
            self._end(call)
        return self._found

    def _begin_turn(self, match: re.Match[str]) -> None:
        self._turn = int(match[1][:9])
        self._at = (clock.parse_iso(f"{match[3]}T{match[4]}:00Z") if match[3] else None) or self._date
        if match[2] != "user":
            self._refused.clear()

    def _begin(self, role: str, number: int, line: str) -> _Call | None:
        if role == "command":
            return _Call(number, "!", line[4:]) if line.startswith("- ! ") else None
        if role not in _MACHINES:
            return None
        match = _CALL.match(line)
        return _Call(number, match[1], match[2] or "") if match else None

    def _explain(self, line: str) -> None:
        """Take a person's first words after a refusal as its reason."""
        for number in self._refused:
            self._found[number].note = line[:_NOTE]
        self._refused.clear()

    def _end(self, call: _Call) -> None:
        """Add the actions of a call."""
        tool = call.tool.lower()
        # Most of a reply's list items look like calls of tools that nobody knows.
        if tool == "!":
            self._run(call, _Outcome(call, is_known=False))
            return
        if tool in RUNS:
            kind = COMMAND
        elif tool in CHANGES:
            kind = EDIT
        elif tool in READS:
            kind = READ
        else:
            self._other(call, tool)
            return
        outcome = _Outcome(call, is_known=self._tells_results)
        if outcome.is_refused:
            self._refuse(call)
        elif kind == COMMAND:
            self._run(call, outcome)
        else:
            self._touch(call, tool, kind, outcome)

    def _run(self, call: _Call, outcome: _Outcome) -> None:
        text = _command(call)
        if not text:
            return
        if "*** Begin Patch" in text:
            for verb, path in _PATCHED.findall(text)[:_MOST_FILES]:
                self._file(call.line, CREATE if verb == "Add" else EDIT, path.strip(), outcome)
            return
        parsed = command_forms.command(text)
        folder = self._folder(parsed.folder, outcome.folder)
        if outcome.status == 1 and not outcome.errors and parsed.tool in command_forms.ANSWERS_WITH_1:
            found, error, note = OK, "", ""
        else:
            found, error, note = outcome.outcome, error_forms.error(outcome.errors), _telling(outcome.errors)
        if found == OK and not parsed.tells:
            found = UNKNOWN
        looks = any(mark in parsed.normal for mark in _LOOKS)
        plain = key_of(parsed.plain) if parsed.plain and not looks else 0
        self._add(
            Action(
                call.line, self._turn, self._at, COMMAND, parsed.tool[:80], " ".join(text.split())[:_SUBJECT],
                key_of(parsed.normal), plain, folder, found, outcome.status, error, note, None,
            )
        )  # fmt: skip
        if found != FAILED:
            for path in parsed.reads:
                at = path if path.startswith(("/", "~")) else f"{folder}/{path}" if folder else path
                self._file(call.line, READ, at, outcome)

    def _touch(self, call: _Call, tool: str, kind: str, outcome: _Outcome) -> None:
        many = tool in ("apply_patch", "applypatch", "read_many_files")
        for given in (call.given.split(", ") if many else [call.given])[:_MOST_FILES]:
            path = _SUFFIX.sub("", given)
            is_new = given.endswith(" (new)") or tool in CREATES
            # One tool of several agents looks at files as well.
            done = READ if given.endswith(" (view)") else CREATE if is_new else kind
            if path and not path.startswith("…"):
                self._file(call.line, done, path, outcome)

    def _file(self, line: int, kind: str, path: str, outcome: _Outcome) -> None:
        whole = path if path.startswith(("/", "~")) or path[1:3] == ":\\" else f"{self._project}/{path}"
        if "/./" in whole or "/../" in whole or "//" in whole:
            whole = _normal_path(whole)
        inside = self._project and whole.startswith(f"{self._project}/")
        subject = whole[len(self._project) + 1 :] if inside else whole
        key = key_of(whole)
        if kind == CREATE and key in self._seen:
            kind = EDIT
        if outcome.outcome != FAILED:
            self._seen.add(key)
        name = path.replace("\\", "/").rstrip("/").rpartition("/")[2]
        self._add(
            Action(
                line, self._turn, self._at, kind, name[:120], subject[:_SUBJECT], key, 0,
                self._project if inside else "", outcome.outcome, None,
                error_forms.error(outcome.errors), _telling(outcome.errors), None,
            )
        )  # fmt: skip

    def _other(self, call: _Call, tool: str) -> None:
        """Add a person's answer to a question or a plan, a refusal, or the failure of any other tool."""
        if not call.details:
            return
        given = call.given.partition(" [")[0]
        plan = next((each.strip("# *") for each in (call.given, *call.details) if each.strip("# *")), "")
        for detail in call.details:
            if tool in _ASKS and (match := _ANSWER.match(detail)):
                self._speak(call.line, DECISION, call.tool, f"{match[1] or given} → {match[2]}")
            elif detail == "approved by the user":
                self._speak(call.line, DECISION, call.tool, plan)
            elif detail == "rejected by the user":
                self._refuse(call, plan if tool.replace("_", "") == _PLANS else "")
        outcome = _Outcome(call, is_known=self._tells_results)
        if outcome.outcome == FAILED:
            error, note = error_forms.error(outcome.errors), _telling(outcome.errors)
            subject = f"{call.tool}: {call.given}"[:_SUBJECT]
            key = key_of(subject)
            self._add(
                Action(
                    call.line, self._turn, self._at, ERROR, call.tool, subject, key, 0, self._project, FAILED,
                    outcome.status, error, note, None,
                )
            )  # fmt: skip

    def _refuse(self, call: _Call, subject: str = "") -> None:
        self._refused.append(len(self._found))
        given = call.given.partition("  # ")[0] if call.tool.lower() in RUNS else call.given
        self._speak(call.line, REJECTION, call.tool, subject or f"{call.tool}: {given or _command(call)}")

    def _speak(self, line: int, kind: str, name: str, subject: str) -> None:
        subject = " ".join(subject.split())
        self._found.append(_spoken(line, self._turn, self._at, kind, name, subject, "", self._project))

    def _folder(self, *steps: str) -> str:
        folder = self._project
        for step in steps[::-1]:
            if step:
                folder = step if step.startswith(("/", "~")) or not folder else _normal_path(f"{folder}/{step}")
        return folder[:_SUBJECT]

    def _add(self, action: Action) -> None:
        """Add an action; a success is the fix of earlier failures of the same."""
        number = len(self._found)
        kind = COMMAND if action.kind == COMMAND else "file"
        keys = [(kind, action.key)] + ([("plain", action.plain)] if action.plain else [])
        if action.kind == READ or action.kind == ERROR:
            keys = [(action.kind, action.key)]
        if action.outcome == FAILED:
            for key in keys:
                self._failing.setdefault(key, []).append(number)
        elif action.outcome == OK and self._failing:
            for key in keys:
                for failed in self._failing.pop(key, ()):
                    if self._found[failed].fix is None:
                        self._found[failed].fix = number
        self._found.append(action)


def _fenced(line: str, fence: str) -> str:
    """Return the fence that is open after a line; ``fence`` was open before."""
    mark = _FENCE.match(line)
    if not mark:
        return fence
    if not fence:
        return mark[1] if mark[1][0] == "~" or "`" not in line[mark.end() :] else ""
    return "" if mark[1].startswith(fence) and not line[mark.end() :].strip() else fence


def _command(call: _Call) -> str:
    """Return the command of a call without its description; of several lines, all."""
    given = call.given
    if given.startswith((" # ", "# ")) or not given.strip():
        given = ""
    elif call.tool != "!":
        given = (given.rpartition("  # ")[0] if "  # " in given else given).strip()
    code: list[str] = []
    fence = ""
    for detail in call.details:
        if fence:
            if detail.strip() == fence:
                break
            code.append(detail)
        elif detail.startswith("```"):
            fence = detail[: len(detail) - len(detail.lstrip("`"))]
        elif call.tool == "!" and detail:
            code.append(detail)
    return "\n".join([given, *code] if given else code).strip()


def _telling(errors: list[str]) -> str:
    return error_forms.telling(errors)[:_NOTE] if errors else ""


def _normal_path(path: str) -> str:
    from posixpath import normpath

    return normpath(path)
