"""``brain uninstall``: what ``brain install`` wired, taken out of the agents' files."""

from __future__ import annotations

from cli.capture.install import FAILED
from cli.context import Context, write
from cli.spec import Args, Command
from core.errors import OK

COMMAND = Command(
    "uninstall",
    "take out of agents what `brain install` put there",
    description=(
        "Take Brain's entries, skills and hooks out of the named agents, without names out of all of them. Files get\n"
        "their former bytes back; a file that changed since only loses what is Brain's. Files that you edited stay."
    ),
    words="AGENT…",
    words_help="the agents (all of them)",
    examples=("brain uninstall", "brain uninstall codex --json"),
)


def run(args: Args, context: Context) -> int:
    """Take out, and report."""
    from core.redaction import shown
    from ops.install import installing

    rows = installing.uninstall(context.home, args.words, context.environ)
    failed = any(row["outcome"] == "failed" for row in rows)
    if args.json:
        context.emit({"schema": 1, "ok": not failed, "removed": rows})
    else:
        lines = [f"{row['outcome']:<10} {row['kind']:<14} {row['path']}  {row.get('why', '')}".rstrip() for row in rows]
        write("".join(f"{shown(line)}\n" for line in lines or ["nothing was installed"]))
    return FAILED if failed else OK
