"""``brain rebuild``: the index from the markdown alone."""

from __future__ import annotations

from cli.context import Context, write
from cli.spec import Args, Command
from core import config
from core.counting import counted
from core.errors import OK

COMMAND = Command(
    "rebuild",
    "make the index anew from the markdown alone",
    description=(
        "Make the lexical index anew from the documents on disk, reading no source; vectors are keyed by content and\n"
        "stay. Readers see the old index or the new one. Questions drawn from the corpus are asked before and after,\n"
        "and it says how many were answered alike: all, where the index was whole and up to date."
    ),
    examples=("brain rebuild", "brain rebuild --json"),
)


def run(args: Args, context: Context) -> int:
    """Rebuild, and say what it changed."""
    from cli.progress import Bar
    from ops import rebuild

    with Bar() as bar:
        report = rebuild.rebuild(context.home, config.load(context.home), bar)
    context.fields.update(n_documents=report["documents"], n_alike=report["alike"])
    if args.json:
        context.emit(report)
        return OK
    write(f"{counted(report['documents'], 'document')} indexed in {report['took_ms'] / 1000:.1f} s\n")
    if report["questions"]:
        write(f"{report['alike']} of {report['questions']} questions answered as before\n")
    elif report["before"]:
        write(f"before it there was nothing to ask: {report['before']}\n")
    return OK
