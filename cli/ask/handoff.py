"""``brain handoff``: the state of a session, as a prompt for another agent."""

from __future__ import annotations

import os

from cli.context import Context, warn, write
from cli.spec import Args, Command, Option, text_path, whole
from core import config
from core.errors import OK, BadInput
from core.files import write_new

COMMAND = Command(
    "handoff",
    "hand the state of a session to another agent",
    description=(
        "Print the state of a session as a prompt: the goal and the latest requests in the user's words, decisions,\n"
        "rejections, files and what became of them, commands that worked, open errors, and where the work was left.\n"
        "It has at most 3,000 tokens (four characters each), cites the session's document, and is fenced.\n"
        "Without --session: the session that runs the command, else the newest one in this project, else the newest.\n"
        "--to writes the prompt where that agent reads it in the project. No file is ever overwritten."
    ),
    options=(
        Option("--session", metavar="ID", default="", help="this session: its id, docid or uri, or how the id begins"),
        Option(
            "--to", metavar="AGENT", default="", help="write it where this agent reads it: codex, gemini, claude, …"
        ),
        Option("--out", metavar="FILE", default="", convert=text_path, help="write it to this new file"),
        Option("--tokens", metavar="N", default=3000, convert=whole, help="at most so many tokens (3000)"),
    ),
    examples=(
        "brain handoff",
        "brain handoff --session 5f0c2a1e --json",
        "brain handoff --to codex",
        "brain handoff --out /tmp/handoff.md",
    ),
)


def run(args: Args, context: Context) -> int:
    """Print or write the handoff of one session."""
    from runtime.handover import handoff

    if args.to and args.out:
        raise BadInput("--to and --out exclude each other", "brain handoff --help")
    settings = config.load(context.home)
    session = args.session or context.environ.get("CLAUDE_CODE_SESSION_ID") or ""
    found = handoff.current(context.home, settings, session, os.getcwd(), args.tokens)
    if found["behind"]:
        warn("brain: another index run is not done yet; this handoff is from before it")
    path = handoff.place_of(args.to, found["project"] or "") if args.to else args.out
    if path:
        found["file"] = write_new(path, f"{found['text']}\n", "--out")
    context.given = {} if path else found
    context.fields.update(tokens=found["tokens"])
    if args.json:
        context.emit(found, is_clean=True)
    elif path:
        write(f"{found['file']}: about {found['tokens']:,} tokens. Delete the file once the agent has read it.\n")
    else:
        write(found["text"] + "\n")
    return OK
