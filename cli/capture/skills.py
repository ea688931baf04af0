"""``brain skills``: the skills, put where agents look for them."""

from __future__ import annotations

from cli.context import Context, write
from cli.spec import Args, Command, Option, text_path
from core.errors import OK

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_WHERE = (
    Option("--dest", metavar="DIR", default="", convert=text_path, help="below this folder"),
    Option("--agents", help="for other agents: ~/.agents/skills, in the open SKILL.md form"),
)
_FORCE = Option("--force", help="also where the file was edited since")

COMMAND = Command(
    "skills",
    "teach agents when to recall and when to note",
    description="The brain's skills, in Claude Code's folder (the default) or where other agents look.",
    commands=(
        Command(
            "skills install",
            "put them in place, or bring them up to date",
            options=(
                Option(
                    "--scope",
                    metavar="NAME=GLOB",
                    many=True,
                    help="where a skill applies; NAME= for everywhere",
                ),
                *_WHERE,
                _FORCE,
            ),
            examples=(
                "brain skills install",
                "brain skills install --scope ask='~/work/**' --scope recent=",
                "brain skills install --agents",
            ),
        ),
        Command("skills status", "which are there", options=_WHERE, examples=("brain skills status",)),
        Command(
            "skills uninstall", "take them out again", options=(*_WHERE, _FORCE), examples=("brain skills uninstall",)
        ),
    ),
)


def run(args: Args, context: Context) -> int:
    """Install, report or remove."""
    from core.text import printable
    from ops.install import skills

    where = skills.folder(context.environ, dest=args.dest, agents=args.agents)
    verb = args.command.verb
    found: list[dict[str, Any]]
    if verb == "install":
        given = skills.scopes(args.scope)
        found = skills.install(context.home, where, given, agents=args.agents, force=args.force)
    elif verb == "status":
        found = skills.status(context.home, where)
    else:
        found = skills.uninstall(context.home, where, force=args.force)
    if args.json:
        context.emit({"schema": 1, "ok": True, "skills": found})
    else:
        write(printable("\n".join(map(_line, found)) or f"{where}: no skill was installed there") + "\n")
    return OK


def _line(skill: dict[str, Any]) -> str:
    said = skill.get("outcome") or skill["state"]
    if said == "kept":
        said = "kept as edited; --force replaces it"
    scopes = f"  ({', '.join(skill['scopes'])})" if skill.get("scopes") else ""
    return f"{skill['name']:<14} {said}{scopes}  {skill['path']}"
