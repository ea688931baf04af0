"""``brain acceptance``: the verdict on a week."""

from __future__ import annotations

from cli.context import Context, write
from cli.spec import Args, Command, Option, whole
from core.errors import OK

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

_FINDINGS = 1

COMMAND = Command(
    "acceptance",
    "judge a week of use: continue, pivot or teardown",
    description=(
        "Judge a week by what was recorded. Was the memory used enough? Did latency stay within the budget? Did the\n"
        "agents' surface earn its complexity? Did recall on your own questions hold? Each answer has its figure and\n"
        "its threshold (collections.yml). The verdict is written once. Exit 0: continue; 1: pivot or teardown; 71:\n"
        "the week is not over."
    ),
    options=(
        Option("--week", metavar="N", convert=whole, help="this week, counted from the first use (the latest over)"),
        Option("--force", help="judge a week that is not over, and write nothing"),
    ),
    examples=("brain acceptance", "brain acceptance --week 1 --json", "brain acceptance --force"),
)


def run(args: Args, context: Context) -> int:
    """Judge; 1 for any verdict but continue."""
    from core.text import printable
    from ops.stats import acceptance

    found = acceptance.judge(context.home, args.week, force=args.force)
    context.fields.update(week=found["week"], verdict=found["verdict"])
    if args.json:
        context.emit(found)
    else:
        write("".join(f"{printable(line)}\n" for line in _lines(found)))
    return OK if found["verdict"] == acceptance.CONTINUE else _FINDINGS


def _lines(found: dict[str, Any]) -> Iterator[str]:
    state = ", provisional" if found["provisional"] else ""
    condition = ", on the condition that recall is measured" if found.get("conditional") else ""
    yield f"week {found['week']} ({found['from'][:10]} to {found['to'][:10]}{state}): {found['verdict']}{condition}"
    for each in found["criteria"]:
        mark = {True: "yes", False: "no", None: "not measured"}[each["met"]]
        bound = "at most" if each["id"] == "recall_drop" else "at least"
        figure = "" if each["figure"] is None else f"{each['figure']:g}, "
        yield f"  {mark:<12} {each['question']}  ({figure}{bound} {each['threshold']:g})"
        if why := each["evidence"].get("not_measured"):
            yield f"               {why}"
        if not each["met"]:
            yield f"               fix: {each['fix']}"
