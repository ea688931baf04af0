"""``brain forget``: documents gone for good, with all that was made of them."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

from cli.context import Context, shown, warn, write
from cli.spec import Args, Command, Option
from core import clock, config
from core.counting import counted
from core.errors import NO_RESULTS, OK, REFUSED, BadInput, Refused

if TYPE_CHECKING:
    from collections.abc import Sequence

COMMAND = Command(
    "forget",
    "remove documents, and everything made of them, for good",
    description=(
        "Remove whole documents: the markdown, what index, caches, queue and archive hold of them, and what was made\n"
        "from them. A tombstone without content keeps them from coming back. Shows what will go, and\n"
        "asks. Afterwards the bytes of every file below the home are searched for what must not be there.\n"
        "Exit code 67 means: nothing was selected; 71: something of it is still there, and where. If a file\n"
        "that you wrote yourself (collections.yml) mentions what goes, that text is named, and stays."
    ),
    words="HIT",
    words_help="a uri, docid, path or session id",
    options=(
        Option("--project", metavar="GLOB", help="what was begun in or below such a folder, as exclude: projects"),
        Option("--since", metavar="WHEN", help="documents that ended then or later (7d, 2026-05-01, monday)"),
        Option("--until", metavar="WHEN", help="documents that began by the end of then"),
        Option("--match", metavar="TEXT", help="documents with TEXT in them or in their raw files, in any case"),
        Option("--dry-run", help="only show what would go"),
        Option("--yes", help="do not ask"),
        Option("--unforget", help="lift the tombstones of HITs; without any, list what is forgotten"),
    ),
    examples=(
        'brain forget "#a1b2c3"',
        'brain forget --match "some phrase" --dry-run',
        "brain forget --project ~/clients/acme --yes",
        "brain forget --unforget 5f0c2a1e-0000-4000-8000-00000000000a",
    ),
)
_SHOWN = 20
_QUESTIONS = "the questions of `brain eval run` name some of it; brain eval build draws others"
_GROWING = 5


def run(args: Args, context: Context) -> int:
    """Forget what the words and options select."""
    if args.unforget:
        return _unforget(args, context)
    from ops import forgetting
    from runtime.forgetting import forget, verify_erasure

    settings = config.load(context.home)
    selection = _selection(args)
    elsewhere = forgetting.elsewhere(context.home, settings, context.environ, anywhere=bool(args.match))
    late: list[str] = []
    if not args.dry_run and forget.pending(context.home):
        # An earlier run was cut short. The user has already agreed to it.
        probes = verify_erasure.spellings(args.match) if args.match else []
        late, _ = forget.finish_elsewhere(context.home, elsewhere, probes)
    if os.path.exists(context.home.index):
        from runtime.capture.indexing import index

        # Documents on disk that are not indexed yet (from another machine, or copied by hand) must be found, too.
        index(context.home, settings, markdown_only=True, trust_stat=True)
    found = forget.plan(context.home, settings, selection, args.match or "")
    context.fields.update(n_documents=len(found.rows), dry_run=bool(args.dry_run))
    if args.dry_run:
        _show(args, context, found, None)
        return OK if found.rows or found.marks else NO_RESULTS
    if not found.rows and not found.marks:
        beyond: list[str] = []
        left, own = forget.sweep(context.home, args.match, for_good=args.yes) if args.match else ([], [])
        if args.match and args.yes:
            # Backups and the history of what is synchronised may hold what no document holds any more.
            probes = verify_erasure.spellings(args.match)
            failed, beyond = elsewhere([], [], probes)
            left, own = verify_erasure.search(context.home, probes)
            left = failed + left
        left = late + left
        beyond += verify_erasure.unsettled(context.home) if left else []
        if not left and not beyond:
            _show(args, context, found, None, swept=True, own=own)
            return NO_RESULTS
        _show(args, context, found, forget.Outcome(0, left, beyond, own))
        return REFUSED if left else OK
    if not args.yes:
        _ask(args, found)
    outcome = forget.carry_out(context.home, found, elsewhere)
    outcome.left = late + outcome.left
    _show(args, context, found, outcome)
    return REFUSED if outcome.left or found.outside else OK


def _selection(args: Args) -> Any:
    from runtime.asking.documents import Selection
    from runtime.dates.day_option import parse_day

    filters = [name for name in ("project", "since", "until") if getattr(args, name)]
    ways = [*(["HIT"] if args.words else []), *(f"--{name}" for name in filters), *(["--match"] if args.match else [])]
    if sum((bool(args.words), bool(filters), bool(args.match))) > 1:
        raise BadInput(
            f"{' and '.join(ways)} cannot be combined: HITs, --project with --since and --until, or --match",
            f"{COMMAND.examples[1]}, then name the HITs that are meant",
        )
    if not ways:
        raise BadInput(
            "name documents, or select them by --project/--since/--until, or by --match", COMMAND.examples[0]
        )
    if args.match is not None and len(args.match.strip()) < 3:
        raise BadInput("--match needs at least three characters", COMMAND.examples[1])
    now = clock.now()
    return Selection(
        references=args.words,
        within=_rule(args.project) if args.project else "",
        since=parse_day(args.since, now, end=False) if args.since else None,
        until=parse_day(args.until, now, end=True) if args.until else None,
    )


def _rule(project: str) -> str:
    """Return a rule as in ``exclude: projects``; a path relative to the current folder becomes absolute."""
    is_relative = project in (".", "..") or project.startswith(("./", "../"))
    return os.path.abspath(project) if is_relative else project


def _ask(args: Args, found: Any) -> None:
    if args.json:
        raise Refused("what is forgotten is gone for good: say so", "look first with --dry-run, then add --yes")
    write("\n".join(_lines(found)) + "\n")
    if not sys.stdin.isatty():
        raise Refused("there is no terminal to ask at", "add --yes; --dry-run only looks")
    sys.stderr.write(f"forget {counted(len(found.rows), 'document')} for good? [y/N] ")
    sys.stderr.flush()
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise Refused("nothing was forgotten", "answer y, or add --yes")


def _lines(found: Any) -> list[str]:
    from core.text import printable
    from runtime.asking.envelope import uri

    lines = [
        printable(f"{shown(uri(row.collection, row.path))}  {clock.iso(row.date)[:10]}  {shown(row.title)}")
        for row in found.rows[:_SHOWN]
    ]
    if len(found.rows) > _SHOWN:
        lines.append(f"and {len(found.rows) - _SHOWN} more: --json lists all")
    if found.unseen:
        lines.append(f"and {found.unseen} raw files of which there is no document")
    if found.shared:
        lines.append(f"{found.shared} other sessions lie in the same raw files; their documents stay")
    lines += [printable(f"not the brain's to delete: {each}") for each in shown(found.outside)]
    if found.questions:
        lines.append(f"{found.questions}, whole: {_QUESTIONS}")
    return lines + _growing(found)


def _growing(found: Any) -> list[str]:
    """Return what will be excluded from now on, with the command that lifts the exclusion."""
    from core.text import printable
    from runtime.forgetting.forget import growing
    from runtime.forgetting.report import lifting

    marks = growing(found)
    lines = [
        printable(f"left out from now on as well: what comes later of {source} {unit}; to let it in: {lifting(unit)}")
        for source, unit in shown(marks[:_GROWING])
    ]
    if len(marks) > _GROWING:
        lines.append(f"and so of {len(marks) - _GROWING} more: brain forget --unforget lists them")
    return lines


def _show(
    args: Args, context: Context, found: Any, outcome: Any, *, swept: bool = False, own: Sequence[str] = ()
) -> None:
    if args.json:
        from runtime.forgetting.report import report

        context.emit(report(found, outcome, dry_run=bool(args.dry_run), own=own))
        return
    if outcome is None:
        if found.rows or found.marks:
            write("\n".join(_lines(found)) + "\n")
        else:
            also = "" if own else ", and nothing else holds it"
            warn("brain: nothing was selected" + (also if swept else ""))
            _show_own(own)
        return
    write(f"{counted(outcome.documents, 'document')} forgotten\n")
    if found.questions:
        write(f"{found.questions} went along: {_QUESTIONS}\n")
    write("".join(f"{line}\n" for line in _growing(found)))
    for each in shown(found.outside):
        warn(f"brain: not the brain's to delete: {each}")
    for each in shown(outcome.left):
        warn(f"brain: still holds some of it: {each}")
    _show_own(outcome.own)
    for each in shown(outcome.beyond):
        write(f"- {each}\n")


def _show_own(own: Sequence[str]) -> None:
    from core.text import printable

    for each in shown(list(own[:_SHOWN])):
        warn(printable(f"brain: it is also in your own {each}, which forget does not touch"))
    if len(own) > _SHOWN:
        warn(f"brain: and in {len(own) - _SHOWN} more of your own: --json lists all")


def _unforget(args: Args, context: Context) -> int:
    from runtime.forgetting import forget

    if not args.words:
        held = forget.forgotten(context.home)
        if args.json:
            context.emit({"schema": 1, "ok": True, "forgotten": [{"source": s, "unit": u} for s, u in held]})
        else:
            write("".join(f"{source}  {unit.replace(chr(9), ' ')}\n" for source, unit in shown(held)))
        return OK
    lifted = forget.unforget(context.home, args.words)
    again = list(dict.fromkeys(_again(source) for source, _ in sorted(lifted)))
    if args.json:
        context.emit(
            {"schema": 1, "ok": True, "lifted": [{"source": s, "unit": u} for s, u in lifted], "read_by": again}
        )
    else:
        write(f"{len(lifted)} lifted; {' and '.join(again)} to have what is still there\n")
        if len(lifted) > len(args.words):  # documents made of the same are lifted with them
            write("".join(f"{source}  {unit.replace(chr(9), ' ')}\n" for source, unit in shown(lifted)))
    return OK


def _again(source: str) -> str:
    """Return the command that brings in a document of this source again once its tombstone is lifted."""
    from ingest import registry

    if registry.find(source) is not None:
        if not registry.is_on_request(source):
            return "brain index"
        return f"brain index --source {source}{' --from REPOSITORY' * registry.source(source).reads_projects}"
    return "brain add FILE" if source == "article" else "brain restore --to ELSEWHERE FILE"
