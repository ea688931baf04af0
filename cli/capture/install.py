"""``brain install``: the agents on this machine, wired into the memory in one command."""

from __future__ import annotations

from cli.context import Context, write
from cli.spec import Args, Command, Option
from core.errors import OK, BadInput
from core.text import at_home

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

FAILED = 1
# What a wiring is called on the screen.
_TITLES = {"mcp": "tools (MCP)", "skills": "skills", "guidance": "rule", "recall": "hooks"}
_WORDS = {
    "foreign": "left alone: another entry has the name brain; --force replaces it",
    "kept": "left alone: edited since; --force replaces it",
    "edited": "edited since; --force replaces it",
    "missing": "was installed, and is gone",
    "gone": "names a program that is not there any more",
    "absent": "not installed",
}
_OTHER_PROGRAM = "left alone: another program has the name brain; --force writes ~/.local/bin/brain"

COMMAND = Command(
    "install",
    "wire the agents on this machine into the memory",
    description=(
        "Find the agents on this machine and give each what it can take: the MCP server, skills, hooks that recall.\n"
        "Only documented files are edited, everything else in them stays byte for byte, and `brain uninstall` and\n"
        "`brain teardown` take it back. Without an agent, --auto or --all, the command shows what it would do."
    ),
    words="AGENT…",
    words_help="the agents, by the names that --all lists",
    options=(
        Option("--auto", help="the agents that are on this machine"),
        Option("--all", help="every agent that Brain knows"),
        Option("--dry-run", help="show what would be written, and write nothing"),
        Option("--force", help="also replace another entry of the same name, and files edited since"),
        Option("--status", help="show what is installed, and what was edited, lost or moved since"),
    ),
    examples=("brain install", "brain install --auto", "brain install codex zed --dry-run", "brain install --status"),
)


def run(args: Args, context: Context) -> int:
    """Wire, or report."""
    from ops.install import installing

    if sum(map(bool, (args.words, args.auto, args.all))) > 1:
        raise BadInput("agents, --auto and --all exclude each other", "brain install --help")
    which = installing.chosen(args.words, context.environ, everything=args.all)
    if args.status:
        found = installing.status(context.home, which, context.environ)
        report: dict[str, Any] = {
            "agents": found,
            "launcher": installing.launcher_status(context.home, context.environ),
        }
    else:
        is_dry = args.dry_run or not (args.words or args.auto or args.all)
        report = installing.install(context.home, which, context.environ, force=args.force, dry_run=is_dry)
        report["dry_run"] = is_dry
    rows = [report["launcher"], *(row for agent in report["agents"] for row in agent["wired"])]
    failed = any(row["outcome"] == "failed" for row in rows)
    report = {"schema": 1, "ok": not failed, **report}
    if args.json:
        context.emit(report)
    else:
        from core.redaction import shown

        write("".join(f"{shown(line)}\n" for line in _lines(report, args)))
    return FAILED if failed else OK


def _lines(report: dict[str, Any], args: Args) -> Iterator[str]:
    words = {**_WORDS, **({"wired": "would be wired"} if report.get("dry_run") else {})}
    for agent in report["agents"]:
        yield f"{agent['title']}  ({at_home(agent['found']) or 'not found on this machine'})"
        for row in agent["wired"]:
            outcome = row["outcome"]
            yield f"  {_TITLES[row['kind']]:<12} {words.get(outcome, outcome)}  {at_home(row['path'])}"
            if outcome == "failed":
                yield f"  {'':<12} {row['why']}"
        if agent["lacks"]:
            yield f"  {'cannot':<12} {agent['lacks']}"
        if agent["then"] and not args.status:
            yield f"  {'next':<12} {agent['then']}"
    if not report["agents"]:
        yield "no agent was found on this machine; `brain install --all --dry-run` lists those that Brain knows"
    if "launcher" in report:
        launcher = report["launcher"]
        hint = "" if launcher["on_path"] else "  (its folder is not on your PATH)"
        what = {**words, "foreign": _OTHER_PROGRAM}.get(launcher["outcome"], launcher["outcome"])
        yield f"Launcher\n  {'brain':<12} {what}  {at_home(launcher['path'])}{hint}"
        if launcher["outcome"] == "failed":
            yield f"  {'':<12} {launcher['why']}"
    if report.get("dry_run") and not args.dry_run:
        yield "nothing was written; to do it: brain install --auto"
