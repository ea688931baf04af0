"""``brain rebuild``: the index from the markdown alone."""

from __future__ import annotations

from cli.context import Context, write
from cli.spec import Args, Command
from core import config
from core.counting import counted
from core.errors import OK

COMMAND = Command(
    "rebuild",
    "rebuild the index from the markdown",
    description=(
        "Make the index again from the documents on disk, in a new file that replaces the old one. It repairs a\n"
        "damaged index and reads no source. Vectors that can be read are carried over. Readers see the old index or\n"
        "the new one. Questions drawn from the corpus are asked before and after, and the command counts equal\n"
        "answers. All are equal if the old index was whole and up to date."
    ),
    examples=("brain rebuild", "brain rebuild --json"),
)


def run(args: Args, context: Context) -> int:
    """Rebuild, and say what it changed."""
    from cli.progress import Bar
    from ops.backup import rebuild

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
        write(f"the old index could not be asked: {report['before']}\n")
    if report["unread"]:
        write(f"not read from the old index: {', '.join(report['unread'])}; brain embed computes vectors again\n")
    return OK
