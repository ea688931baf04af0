"""``brain qmd``: qmd itself, with its own configuration and index, or with the brain's."""

from __future__ import annotations

from cli.context import Context, write
from cli.spec import Args, Command, Option
from core.errors import OK, BadInput

_BRAIN = "--brain"

COMMAND = Command(
    "qmd",
    "the retrieval engine alone: qmd's commands, indexes and MCP server",
    description=(
        "Everything after `qmd` is qmd's: its verbs, options, formats and exit codes, its own configuration and index\n"
        "(docs/qmd.md; `brain qmd search --help` lists them all).\n"
        "`brain qmd link DIR` puts a `qmd` command into a folder."
    ),
    words="ARGUMENT",
    words_help="qmd's verb, its options and words; or link DIR [--force]",
    options=(
        Option(_BRAIN, help="with the brain's collections and index instead of qmd's own"),
        Option("--force", help="link although another qmd is installed"),
    ),
    examples=(
        "brain qmd collection add ~/notes",
        'brain qmd search "token refresh" --json',
        "brain qmd --brain status",
        "brain qmd link ~/.local/bin",
    ),
    raw=True,
)


def run(args: Args, context: Context) -> int:
    """Hand the arguments over as they are; the exit code is qmd's."""
    argv = list(args.words)
    if argv[:1] == ["link"]:
        return _link([word for word in argv[1:] if word != "--force"], force="--force" in argv)
    from qmd.app.main import main
    from qmd.settings import of_brain

    ends = argv.index("--") if "--" in argv else len(argv)
    if _BRAIN not in argv[:ends]:
        return main(argv)
    argv.remove(_BRAIN)
    context.home.make()
    from runtime.asking import agents, withholding

    serves = "mcp" in argv[:ends] or context.surface in withholding.AGENTS
    return main(
        argv, of_brain(context.home, withholding.shown_to_agents if serves else withholding.shown, agents.answer)
    )


def _link(words: list[str], *, force: bool) -> int:
    from qmd.launcher import link

    if len(words) != 1:
        raise BadInput("brain qmd link takes one folder", "brain qmd link ~/.local/bin")
    write(f"{link(words[0], force=force)}\n")
    return OK
