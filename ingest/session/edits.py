"""The text that a tool call replaced and wrote: one function for each form in which tools log an edit.

A call belongs to the first form of ``FORMS`` that knows its arguments. Spans are wanted only when somebody asks what an
edit did, so a parse keeps them only inside ``logged``: a log of all edits would hold every version of every file.

Formats: https://docs.anthropic.com/en/docs/agents-and-tools/tool-use/text-editor-tool (``old_str``, ``file_text``),
https://docs.cline.bot (``------- SEARCH``), https://docs.roocode.com/features/tools/apply-diff (``:start_line:``),
https://aider.chat/docs/more/edit-formats.html, codex-rs/apply-patch (``*** Begin Patch``).
"""

from __future__ import annotations

import json
import re
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from core.tool_kinds import CHANGES, FILE_ARGUMENTS, RUNS
from ingest.session.session import EDIT_LOG
from ingest.session.values import mapping

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from ingest.session.session import Event, SessionBuilder

    Given = dict[str, Any]

_PATHS = (*FILE_ARGUMENTS, "TargetFile", "notebook_path", "file", "filename", "uri")
_OLD = "old_string oldString old_str oldText old_text TargetContent search old before".split()
_NEW = "new_string newString new_str newText new_text ReplacementContent replace new after".split()
_LISTS = "edits replacements ReplacementChunks changes edit".split()
_WHOLE = "content contents file_text fileText CodeContent code_edit newContent new_source code text changes".split()
# Results with the file before the call, as (field of its path, field of its text): Claude Code, Gemini, OpenCode.
_ORIGINALS = (("filePath", "originalFile"), ("fileName", "originalContent"), ("filePath", "originalContent"),
              ("file", "before"))  # fmt: skip
# Names of a text that leaves out what stays.
_PARTS = frozenset(("code_edit", "code", "changes", "new_source"))
_PATCHES = "input patch patchText command cmd".split()
# Spans of one call, and characters of one text: more are no edit of a person's day.
MOST_SPANS, LONGEST = 400, 4_000_000
# Milliseconds from which on a duration is a fault of the log: a month.
_LONGEST_RUN = 30 * 86_400_000

_BEGIN = "*** Begin Patch"
_FILE = re.compile(r"\*\*\* (Update|Add|Delete) File: (.+)")
_MOVE = "*** Move to: "
_BLOCK = re.compile(
    r"^(?:<{5,}|-{5,}) *SEARCH>?[^\n]*\n(?:(?::(?:start|end)_line:[^\n]*\n)*-{5,}\n)?(.*?)^={5,}[ \t]*\n(.*?)"
    r"^(?:>{5,}|\+{5,}) *REPLACE>?[ \t]*$",
    re.DOTALL | re.MULTILINE,
)
_HUNK = re.compile(r"^@@ -\d{1,9}(?:,(\d{1,9}))? \+\d{1,9}(?:,(\d{1,9}))? @@")


class Span(NamedTuple):
    """A stretch of a file that a call replaced: ``before`` is None if the log does not have it; ``after`` is the rest.

    ``is_whole``: the stretch is the whole file.
    """

    path: str
    before: str | None
    after: str
    is_whole: bool = False


class Edit(NamedTuple):
    """The spans of one call in a session's log."""

    session: SessionBuilder
    event: Event
    spans: list[Span]


class Log:
    """The edits of the calls that a parse meets, in their order; ``before``: call → path → the file before the call.

    ``runs`` are the calls that ran a command; ``ends``: call → (when it ended, ms that it took or None).
    """

    def __init__(self) -> None:
        self.edits: list[Edit] = []
        self.before: dict[str, dict[str, str]] = {}
        self.runs: list[tuple[SessionBuilder, Event]] = []
        self.ends: dict[str, tuple[str, int | None]] = {}

    def record(self, session: SessionBuilder, event: Event, name: str, given: Any) -> None:
        """Keep the spans of a call, and the call if it ran a command."""
        if name.lower().rpartition(".")[2] in RUNS:
            self.runs.append((session, event))
        if found := spans(name, given):
            self.edits.append(Edit(session, event, found))

    def record_end(self, call_id: str, at: str, ms: object) -> None:
        """Keep when a call ended. Of two ends of one call the first counts."""
        if call_id:
            is_known = isinstance(ms, int | float) and type(ms) is not bool and 0 <= ms < _LONGEST_RUN
            self.ends.setdefault(call_id, (at, round(ms) if is_known else None))  # type: ignore[call-overload]

    def record_result(self, call_id: str, details: object) -> None:
        """Keep the whole files that the result of a call has from before it."""
        if not call_id or type(details) is not dict:
            return
        found = [(details.get(path), details.get(text)) for path, text in _ORIGINALS]
        # Codex: the content of a deleted file, by its path.
        deleted = ((path, each) for path, each in details.items() if mapping(each).get("type") == "delete")
        found += [(path, each.get("content")) for path, each in deleted]
        for path, text in found:
            if type(path) is str and type(text) is str and len(text) <= LONGEST:
                self.before.setdefault(call_id, {}).setdefault(path, text)


@contextmanager
def logged() -> Iterator[Log]:
    """Keep the edits of all sessions that are parsed inside ``with`` (``ingest.session.session.EDIT_LOG``)."""
    log = Log()
    token = EDIT_LOG.set(log)
    try:
        yield log
    finally:
        EDIT_LOG.reset(token)


def spans(name: str, given: Any) -> list[Span]:
    """Return what a call of a tool replaced and wrote; nothing if the tool changes no file, or its log has no text."""
    tool = name.lower().rpartition(".")[2]
    if type(given) is str and given.lstrip()[:1] == "{":
        try:
            given = json.loads(given, strict=False)
        except (ValueError, RecursionError):
            return []
    if type(given) is str:
        given = {"input": given}
    if type(given) is not dict or not (tool in CHANGES or tool in RUNS):
        return []
    for form in FORMS if tool in CHANGES else (_patch,):
        found = form(given)
        if found:
            return [each for each in found if _is_kept(each)][:MOST_SPANS]
    return []


def _is_kept(span: Span) -> bool:
    is_short = len(span.before or "") <= LONGEST and len(span.after) <= LONGEST
    return is_short and bool(span.path) and span.before != span.after


def _first(given: Given, names: Sequence[str]) -> str | None:
    return next((given[name] for name in names if type(given.get(name)) is str), None)


def _path(given: Given) -> str:
    return _first(given, _PATHS) or ""


def _patch_of(given: Given) -> str:
    for name in _PATCHES:
        value = given.get(name)
        if type(value) is list:
            value = next((each for each in value if type(each) is str and _BEGIN in each), "")
        if type(value) is str and _BEGIN in value:
            return value
    return ""


def _patch(given: Given) -> list[Span]:
    """``*** Begin Patch``: files, and in each hunks of lines with a space, a minus or a plus in front."""
    text = _patch_of(given)
    found: list[Span] = []
    path = kind = ""
    before: list[str] = []
    after: list[str] = []

    def end() -> None:
        if kind == "Delete":
            found.append(Span(path, None, "", is_whole=True))
        elif before or after:
            old = None if kind == "Add" else _joined(before)
            found.append(Span(path, old, _joined(after), is_whole=kind == "Add"))
        before.clear()
        after.clear()

    for line in text[text.find(_BEGIN) :].split("\n")[1:] if text else ():
        mark = line[:1]
        if line.startswith("*** "):
            end()
            kind = kind if line.startswith((_MOVE, "*** End of File")) else ""
            if match := _FILE.match(line):
                kind, path = match[1], match[2].strip()
        elif kind == "Update" and line.startswith("@@"):
            end()
        elif kind and kind != "Delete":
            # An empty line is one of the context whose space was lost.
            if mark in "- ":
                before.append(line[1:])
            if mark in "+ ":
                after.append(line[1:])
    end()
    return found


def _blocks(given: Given) -> list[Span]:
    """Blocks of ``<<<<<<< SEARCH``, ``=======`` and ``>>>>>>> REPLACE``: Cline, Roo Code, Aider."""
    path = _path(given)
    found = []
    for text in _diffs(given):
        found += [Span(path, match[1], match[2]) for match in _BLOCK.finditer(text.replace("\r\n", "\n"))]
    return found


def _diffs(given: Given) -> Iterator[str]:
    for name in ("diff", "content", "changes"):
        value = given.get(name)
        for each in value if type(value) is list else [value]:
            text = each.get("content") if type(each) is dict else each
            if type(text) is str and len(text) <= LONGEST:
                yield text


def _unified(given: Given) -> list[Span]:
    """A unified diff of one file.

    A hunk has as many lines as its header says. Models miscount, so the lines that follow belong to the hunk as well,
    up to the head of another file.
    """
    path, found = _path(given), []
    for text in _diffs(given):
        before: list[str] = []
        after: list[str] = []
        # Lines of the hunk that are still to come.
        old = new = 0
        inside = False
        for line in [*text.removesuffix("\n").split("\n"), "@@ -0 +0 @@"]:
            mark = line[:1]
            if match := _HUNK.match(line):
                if before or after:
                    found.append(Span(path, _joined(before), _joined(after)))
                before, after, inside = [], [], True
                old, new = (int(each or 1) for each in match.groups())
            elif not inside:
                continue
            elif mark == "-" and (old > 0 or not line.startswith("--- ")):
                before.append(line[1:])
                old -= 1
            elif mark == "+" and (new > 0 or not line.startswith("+++ ")):
                after.append(line[1:])
                new -= 1
            elif mark == " " or (line in ("", "\r") and old > 0 and new > 0):
                # An empty line is one of the context whose space was lost.
                context = line.removeprefix(" ")
                before.append(context)
                after.append(context)
                old, new = old - 1, new - 1
    return found


def _several(given: Given) -> list[Span]:
    """A list of edits, each a pair or a text, with a path of its own or the call's."""
    path = _path(given)
    for name in _LISTS:
        listed = given.get(name)
        if type(listed) is str and listed.lstrip()[:1] == "[":
            try:
                listed = json.loads(listed, strict=False)
            except (ValueError, RecursionError):
                continue
        listed = [listed] if type(listed) is dict else listed
        if type(listed) is list:
            edits = [each for each in listed[:MOST_SPANS] if type(each) is dict]
            return [span for each in edits for span in _pair({**each, "path": _path(each) or path})]
    return []


def _pair(given: Given) -> list[Span]:
    """An old text and a new one; a tool that only inserts or deletes leaves one of them out."""
    path, old, new = _path(given), _first(given, _OLD), _first(given, _NEW)
    if old is not None and (new is not None or "command" in given):
        return [Span(path, old, new or "")]
    return []


def _insertion(given: Given) -> list[Span]:
    """A text that is put after a line."""
    number = given.get("insert_line", given.get("line"))
    text = _first(given, ["new_str", "insert_text", "content", "text"])
    has_place = type(number) is int or (type(number) is str and number.isdigit())
    return [Span(_path(given), "", text)] if has_place and text is not None else []


def _whole(given: Given) -> list[Span]:
    """The whole new text of a file; the text before is known only if the tool logs it with the result."""
    name = next((each for each in _WHOLE if type(given.get(each)) is str), "")
    return [Span(_path(given), None, given[name], is_whole=name not in _PARTS)] if name else []


# The forms in which tools log an edit, the most telling first.
FORMS: tuple[Callable[[Given], list[Span]], ...] = (_patch, _blocks, _unified, _several, _pair, _insertion, _whole)


def _joined(lines: list[str]) -> str:
    return "\n".join(lines) + "\n" if lines else ""
