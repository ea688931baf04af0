"""``brain add``: an article, a paper, a transcript, a folder of notes."""

from __future__ import annotations

import os
import sys

from cli.context import Context, shown, warn, write
from cli.spec import Args, Command, Option
from core import config
from core.errors import OK, BadInput

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

COMMAND = Command(
    "add",
    "add articles, papers, transcripts and notes",
    description=(
        "Bring files into a collection, as markdown that `brain ask` finds at once: markdown, text, HTML, PDF, EPUB,\n"
        "DOCX, and captions (SRT, VTT). Adding a file again updates its document. Nothing is fetched.\n"
        "Exit code 64 means: of a file or folder that was named, nothing could be read."
    ),
    words="FILE",
    words_help="files, folders of them, or - for stdin",
    options=(
        Option("-c", "--collection", metavar="NAME", default="kb-raw", help="where to (kb-raw)"),
        Option("--title", metavar="TITLE", default="", help="default: the file's own, else its name"),
        Option("--url", metavar="URL", default="", help="where it came from; it is then the article's identity"),
    ),
    examples=(
        "brain add paper.pdf ~/Downloads/book.epub",
        "brain add ~/notes/wiki --collection kb-wiki",
        "curl -s https://example.com/post | brain add - --url https://example.com/post",
    ),
)


def run(args: Args, context: Context) -> int:
    """Add, index, and say what became of each."""
    from cli.progress import Bar
    from runtime.capture.articles import add

    if not args.words:
        raise BadInput("nothing to add", "brain add FILE, a folder, or - for stdin")
    places = [word if word == "-" else os.path.abspath(os.path.expanduser(word)) for word in args.words]
    if places.count("-") > 1:
        raise BadInput("stdin can be read once", "brain add -")
    with Bar() as bar:
        report = add(
            context.home,
            config.load(context.home),
            places,
            collection=args.collection,
            title=args.title,
            url=args.url,
            stream=sys.stdin.buffer if "-" in places else None,
            progress=bar,
        )
    for name in ("added", "updated", "failed"):
        context.fields[f"n_{name}"] = report[name]
    failure = _unread(report)
    if args.json:
        context.emit(report if failure is None else {**report, **failure.envelope()})
        return OK if failure is None else failure.code
    from core.text import printable

    report = shown(report)
    lines = [f"{one['status']}: {printable(one['title'])}\n  {printable(one['path'])}" for one in report["documents"]]
    lines += [f"failed: {printable(one['path'])}: {printable(one['reason'])}" for one in report["failures"]]
    lines += [f"skipped: {count} × {reason}" for reason, count in report["skipped"].items()]
    said = ", ".join(
        f"{report[name]} {name}" for name in ("added", "updated", "unchanged", "failed", "forgotten") if report[name]
    )
    write("\n".join([*lines, said]) + "\n")
    if failure is None:
        return OK
    warn(printable(f"brain: {failure.message}"))
    warn(f"fix: {failure.fix}")
    return failure.code


def _unread(report: dict[str, Any]) -> BadInput | None:
    """Return the failure that it is where nothing of a place that was named could be read, whatever else was added."""
    if not report["unread"]:
        return None
    return BadInput(
        f"nothing could be read of {', '.join(report['unread'])}; the rest was added",
        "see the reasons above (--json: failures): repair those files, or leave them out",
    )
