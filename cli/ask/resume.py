"""``brain resume``: a session, opened again in its own agent and its own folder."""

from __future__ import annotations

import os
import sys

from cli.context import Context, write
from cli.spec import Args, Command, Option
from core import config
from core.errors import OK, BadInput

COMMAND = Command(
    "resume",
    "open a session again in its agent, in its folder",
    description=(
        "Start the agent that a session was held in, with the session and in its folder. Without a terminal, or with\n"
        "--print, the command is printed. Without HIT: the newest session of the project around you, else the newest."
    ),
    words="HIT",
    words_help="the session: a uri, a #docid, its id, or the beginning of the id",
    options=(Option("--print", help="print the command, and start nothing"),),
    examples=("brain resume", 'brain resume "#a1b2c3"', "brain resume 5f0c2a1e --print"),
)


def run(args: Args, context: Context) -> int:
    """Start the agent in this process's place, or print the command."""
    from runtime.asking.envelope import resume, uri_of
    from runtime.asking.own_index import open_own
    from runtime.explaining import resuming
    from runtime.handover.handoff import session_row

    if len(args.words) > 1:
        raise BadInput(f"one HIT is wanted, {len(args.words)} given", COMMAND.examples[1])
    settings = config.load(context.home)
    connection = open_own(context.home, settings)
    try:
        row = session_row(connection, settings, args.words[0] if args.words else "", os.getcwd())
    finally:
        connection.close()
    place = uri_of(row)
    if row.owner:
        raise BadInput(f"the session is on a machine of {row.owner}: it is opened again there", f"brain show {place}")
    command = resume(row.fields, context.home)
    found = resuming.resume_of({"resume": command, "project": row.fields.get("project")})
    if found is None:
        raise BadInput(f"nothing can open {place} again: its agent has no command for it", f"brain show {place}")
    context.fields["uri"] = place
    if args.json:
        here = found.folder or None
        context.emit({"schema": 1, "ok": True, "uri": place, "command": found.command, "folder": here})
        return OK
    from core.redaction import shown

    line = shown(found.line)
    if args.print or not (sys.stdin.isatty() and sys.stdout.isatty()):
        write(f"{line}\n")
        return OK
    if program := resuming.missing_program(found):
        raise BadInput(f"{program} is not on this machine's PATH", line)
    write(f"{line}\n")
    sys.stdout.flush()
    resuming.become(found)
    return OK
