"""``brain hooks``: Claude Code's hooks, put in and taken out."""

from __future__ import annotations

from cli.context import Context, write
from cli.spec import Args, Command, Option, text_path
from core.errors import OK, BadInput

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_WHERE = (
    Option("--user", help="the user's settings (the default)"),
    Option("--project", help="the settings of the project you are in: .claude/settings.json"),
    Option("--settings", metavar="FILE", default="", convert=text_path, help="this settings file"),
)
_EVENTS = Option(
    "--events", metavar="A,B", default="stop", help="which hooks: stop, session-start, prompt, guard (stop)"
)

COMMAND = Command(
    "hooks",
    "let Claude Code report each finished turn",
    description=(
        "Put the brain's hooks into a Claude Code settings file, or take them out. Nothing else in the file changes,\n"
        "and a copy of the old file is kept below state/backup. `stop` indexes a session as each of its turns ends.\n"
        "If a session was left out, the next session gets a notice. `session-start` and `prompt` put recalled memory\n"
        "into the context. `guard` adds one line before a command or an edit, or after its failure, where it is sure."
    ),
    commands=(
        Command(
            "hooks install",
            "put hooks into a settings file",
            options=(_EVENTS, *_WHERE),
            examples=("brain hooks install", "brain hooks install --events stop,prompt --project"),
        ),
        Command(
            "hooks status",
            "which hooks are in force, and whether they fire",
            options=_WHERE,
            examples=("brain hooks status --json",),
        ),
        Command(
            "hooks uninstall",
            "take every hook of the brain out of a settings file",
            options=_WHERE,
            examples=("brain hooks uninstall",),
        ),
    ),
)


def run(args: Args, context: Context) -> int:
    """Install, report or remove."""
    from core.text import printable
    from ops.install import hooks

    if args.user and args.project:
        raise BadInput("--user and --project exclude each other", "brain hooks --help")
    path = hooks.settings_path(context.environ, project=args.project, file=args.settings)
    verb = args.command.verb
    if verb == "status":
        report: dict[str, Any] = hooks.status(context.home, [path], context.environ)
    elif verb == "install":
        names = [name.strip() for name in args.events.split(",") if name.strip()]
        report = hooks.install(context.home, path, names)
    else:
        report = hooks.uninstall(context.home, path)
    report = {"schema": 1, "ok": True, **report}
    if args.json:
        context.emit(report)
    else:
        write(printable(_status(report) if verb == "status" else _change(verb, report)) + "\n")
    return OK


def _change(verb: str, report: dict[str, Any]) -> str:
    if not report["changed"]:
        return f"{report['file']}: nothing to change"
    done = f"installed for {', '.join(report['events'])}" if verb == "install" else "hooks removed"
    kept = f"\nbefore: {report['backup']}" if report["backup"] else ""
    return f"{report['file']}: {done}{kept}"


def _status(report: dict[str, Any]) -> str:
    lines = []
    for file in report["files"]:
        lines.append(f"{file['file']}: {', '.join(file['events']) or 'not installed'}")
        lines += [f"  problem: {problem}" for problem in file["problems"]]
    lines.append(f"last fired: {report['last_fired'] or 'never'}")
    if report["off"]:
        lines.append("BRAIN_HOOKS=off: hooks do nothing in this environment")
    return "\n".join(lines)
