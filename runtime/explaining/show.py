"""``brain show``: a hit's document, or the passage around a line of it."""

from __future__ import annotations

import os
import shlex
import subprocess
from typing import TYPE_CHECKING, Any

from core.errors import BadInput, Internal, Refused
from core.files import read_or_none
from core.redaction import excerpt
from qmd.index import catalogue
from runtime.asking import documents, envelope
from runtime.asking.envelope import as_shown
from runtime.asking.recent import item

if TYPE_CHECKING:
    from collections.abc import Mapping

    import apsw

    from core.config import Config

DEFAULT_CONTEXT = 10

# Arguments for a line by the name of the editor's program: `+42 FILE`, `FILE:42`, `--goto FILE:42`.
_PLUS = frozenset((
    "vi", "vim", "nvim", "gvim", "view", "nano", "pico", "emacs", "emacsclient", "micro", "kak", "joe", "jed", "mg",
    "ne",
))  # fmt: skip
_COLON = frozenset(("hx", "helix", "subl", "zed"))
_GOTO = frozenset(("code", "codium", "code-insiders", "cursor", "windsurf"))


class Passage:
    """Lines ``first`` to ``last`` (1-based, counted from the file's first line) of a document of ``total`` lines."""

    __slots__ = ("first", "last", "lines", "total")

    def __init__(self, lines: list[str], first: int, total: int) -> None:
        self.lines = lines
        self.first = first
        self.last = first + len(lines) - 1
        self.total = total


def text_of(connection: apsw.Connection, row: documents.Row) -> str:
    """Return a document's text, from the index, else from its file. Raises Internal if neither has it."""
    found = row.text if row.owner else catalogue.text(connection, row.hash)
    if isinstance(found, str):
        return found
    try:
        data = read_or_none(row.file) if row.file else None
    except OSError as error:
        raise Internal(
            f"cannot read {row.file}: {error.strerror}", f"check its permissions: ls -l {row.file}", quotes=True
        ) from None
    if data is None:
        raise Internal(f"neither the index nor the disk has the text of {row.path}", "brain index", quotes=True)
    return data.decode("utf-8", "replace")


def show(
    connection: apsw.Connection,
    config: Config,
    reference: str,
    *,
    now: int,
    line: int = 0,
    context: int = DEFAULT_CONTEXT,
    full: bool = False,
    redact: bool = False,
) -> dict[str, Any]:
    """Return the envelope of one document; ``text`` is all of it, or ``context`` lines either side of a named line.

    With ``redact`` the envelope is as it may be shown to an agent; without, it holds the text as it is in the document.

    ``line`` counts from the file's first line and beats the one in ``reference``; ``full`` gives all whatever is named.
    ``first_line``, ``last_line`` and ``total_lines`` say what ``text`` is of the document, ``fields`` is its
    frontmatter. Raises what ``documents.resolve`` does, and BadInput where the document has no such line.
    """
    row = documents.resolve(connection, config, reference)
    text = text_of(connection, row)
    wanted = line or row.line
    passage = cut(text, 0 if full else wanted, context)
    if wanted > passage.total:
        fix = f"--line 1 to {passage.total}"
        raise BadInput(f"{row.path} has {passage.total} lines, not {wanted}", fix, quotes=True)
    shown = "\n".join(passage.lines)
    redact = redact or row.owner != ""
    if redact and not row.is_clean:
        start = sum(len(each) + 1 for each in text.split("\n")[: passage.first - 1])
        shown = excerpt(text, start, start + len(shown), is_clean=False)
    found = {
        "schema": 1,
        "ok": True,
        **item(row, config, now),
        "fields": row.fields,
        "line": wanted or None,
        "first_line": passage.first,
        "last_line": passage.last,
        "total_lines": passage.total,
        "text": shown,
    }
    return as_shown(found) if redact and not row.is_clean else found


def verbatim(row: documents.Row, text: str) -> bytes:
    """Return the bytes of the file that ``text`` was read from, or ``text`` in UTF-8 if the file has changed."""
    try:
        data = read_or_none(row.file) if row.file else None
    except OSError:
        data = None
    # Bytes that are no UTF-8 are only in the file: the index has U+FFFD in their place.
    return data if data is not None and data.decode("utf-8", "replace") == text else text.encode()


def cut(text: str, line: int, context: int) -> Passage:
    """Return the lines around ``line``, all of them where it is 0."""
    lines = text.removesuffix("\n").split("\n")
    if not line:
        return Passage(lines, 1, len(lines))
    first = max(1, line - context)
    return Passage(lines[first - 1 : line + context], first, len(lines))


def body_start(lines: list[str]) -> int:
    """Return the index of the first line after the frontmatter and the blank lines behind it; 0 if there is none."""
    if not lines or lines[0].rstrip() != "---":
        return 0
    for index, line in enumerate(lines[1:], 1):
        if line.rstrip() == "---":
            index += 1
            while index < len(lines) and not lines[index].strip():
                index += 1
            return index
    return 0


def editor_command(environ: Mapping[str, str], path: str, line: int) -> list[str]:
    """Return the argv that opens ``path`` in ``$VISUAL``, else ``$EDITOR``, at ``line`` if the editor accepts a line.

    Raises BadInput if neither is set or its quoting is broken.
    """
    name = "VISUAL" if environ.get("VISUAL", "").strip() else "EDITOR"
    value = environ.get(name, "").strip()
    if not value:
        raise BadInput("neither VISUAL nor EDITOR is set", "export EDITOR=vi")
    try:
        command = shlex.split(value)
    except ValueError as error:
        raise BadInput(f"{name} is {value!r}: {error}", "export EDITOR=vi") from None
    program = os.path.basename(command[0])
    if line and program in _PLUS:
        return [*command, f"+{line}", path]
    if line and program in _COLON:
        return [*command, f"{path}:{line}"]
    if line and program in _GOTO:
        return [*command, "--goto", f"{path}:{line}"]
    return [*command, path]


def open_in_editor(
    connection: apsw.Connection, config: Config, reference: str, environ: Mapping[str, str], line: int = 0
) -> documents.Row:
    """Open a document's file in the user's editor and wait for it to end.

    Raises BadInput if there is no file or no editor, Refused where the editor fails.
    """
    row = documents.resolve(connection, config, reference)
    if row.owner:
        raise BadInput(f"the file of {envelope.uri_of(row)} is on another machine", "leave out --open")
    if row.file is None or not os.path.isfile(row.file):
        raise BadInput(f"the file of {envelope.uri(row.collection, row.path)} is gone: {row.file}", "brain index")
    edit(environ, row.file, line or row.line)
    return row


def edit(environ: Mapping[str, str], path: str, line: int = 0) -> None:
    """Open a file in the user's editor and wait for it to end. Raises BadInput without one, Refused where it fails."""
    command = editor_command(environ, path, line)
    try:
        ended = subprocess.run(command, check=False).returncode  # noqa: S603  an argv of the user's own choosing
    except OSError as error:
        raise BadInput(f"cannot run {command[0]}: {error.strerror}", "export EDITOR=vi") from None
    if ended:
        raise Refused(f"{command[0]} ended with exit code {ended}: nothing was changed", "see what it printed above")


def header(envelope: dict[str, Any]) -> list[str]:
    """Return the document's facts in a few lines: what it is, when, where, how to resume it."""
    when = envelope["date"].replace("T", " ")
    ended = envelope["ended"]
    if ended != envelope["date"]:
        same_day = ended[:10] == envelope["date"][:10]
        when += f" to {ended[11:] if same_day else ended.replace('T', ' ')}"
    whose = f"{envelope['owner']} · " if "owner" in envelope else ""
    lines = [f"{envelope['uri']}  {envelope['docid']}", f"{whose}{when}  ({envelope['age']})"]
    fields = envelope["fields"]
    where = [str(fields[name]) for name in ("source", "project", "git_branch") if fields.get(name)]
    if where:
        lines.append("  ".join(where))
    if envelope["resume"]:
        lines.append(envelope["resume"])
    return lines
