"""``brain doctor``: is everything as it should be, and what to do where it is not."""

from __future__ import annotations

from cli.context import Context, shown, write_lines
from cli.spec import Args, Command, Option
from core.errors import OK

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

_FINDINGS = 1


def _page() -> list[str]:
    """Return a table of the checks: each with what holds if it finds nothing, the first line of its docstring.

    The line names the key of ``doctor:`` that sets the check's limit.
    """
    from ops.checks import deep, doctor, wedge

    lines = ["| check | what holds if nothing is found (the key of `doctor:` that sets its limit) |", "|---|---|"]
    for check in (*doctor.CHECKS, *wedge.CHECKS, *deep.CHECKS):
        holds = (check.__doc__ or "").partition("\n")[0].replace("``", "`")
        lines.append(f"| `{check.__module__.rpartition('.')[2]}.{check.__name__}` | {holds} |")
    return lines


COMMAND = Command(
    "doctor",
    "check everything, and repair what can be repaired",
    description=(
        "Runs every check, whatever the others find, and exits 0 where all is well, 1 where something is not. Each "
        "finding\n"
        "has an id, what was seen, and the command that fixes it."
    ),
    options=(
        Option("--fix", help="do what is safe: close permissions, index what waits, rebuild a damaged index"),
        Option("--accept-loss", help="take what the archive has lost for good as known: no alarm from now on"),
        Option("--deep", help="also read every object of the archive, and compare documents with it"),
        Option("--no-wedge", help="without trying the user-facing contract on a scratch home"),
    ),
    examples=("brain doctor", "brain doctor --fix", "brain doctor --deep --json"),
    page=_page,
)


def run(args: Args, context: Context) -> int:
    """Examine; 1 where there are findings."""
    from cli.progress import Bar
    from ops.checks import doctor, reporting

    with Bar() as bar:
        found = doctor.examine(
            context.home,
            context.environ,
            deep=args.deep,
            wedge=not args.no_wedge,
            fix=args.fix,
            accept_loss=args.accept_loss,
            progress=bar,
        )
    reporting.report(context.home, context.environ, context.surface, found)
    context.fields["n_findings"] = len(found["findings"])
    if args.json:
        context.emit(found)
    else:
        write_lines(_lines(shown(found)))
    return OK if found["healthy"] else _FINDINGS


def _lines(found: dict[str, Any]) -> Iterator[str]:
    for mended in found["mended"]:
        yield f"mended   {mended['id']}: {mended['outcome']}"
    for finding in found["findings"]:
        yield f"{finding['severity']:<8} {finding['id']}: {finding['evidence']}"
        yield f"         fix: {finding['fix']}"
    state = "healthy" if found["healthy"] else "not well"
    yield f"{state}: {found['checks']} checks in {found['took_ms'] / 1000:.1f} s"
