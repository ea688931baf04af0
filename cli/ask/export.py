"""``brain export``: hits, a collection or everything, out of the index."""

from __future__ import annotations

import sys
from os.path import expanduser

from cli.context import Context, shown, warn, write
from cli.spec import Args, Command, Option, file_path
from core import clock, config, redaction
from core.errors import NO_RESULTS, OK, BadInput, EngineMissing
from qmd.index.store import is_complete
from runtime.asking.documents import Selection, select
from runtime.asking.own_index import open_own
from runtime.asking.request import project_glob
from runtime.dates.day_option import parse_day
from runtime.explaining import export

COMMAND = Command(
    "export",
    "write hits or a collection to files",
    description=(
        "Write documents out: as markdown files below --out DIR (DIR/collection/path), or as JSON lines to a file or\n"
        "to stdout. HITs name the documents; without any, the options select them. Files there with other content\n"
        "are kept without --force. Secrets are replaced. Exit code 67 means: nothing was selected."
    ),
    words="HIT",
    words_help="qmd://collection/path, #docid, an absolute path, or the end of one",
    options=(
        Option("-c", "--collection", metavar="NAME", many=True, help="only this collection; may be repeated"),
        Option("--since", metavar="WHEN", help="only documents that ended then or later (7d, 2026-05-01, monday)"),
        Option("--until", metavar="WHEN", help="only documents that began by the end of then"),
        Option("--source", metavar="S", help="only this source (claude, codex, chrome, …)"),
        Option("--project", metavar="GLOB", help="only this project: a folder's name, a path or a glob"),
        Option(
            "--format", metavar="FORMAT", choices=("md", "jsonl"), help="md or jsonl (md into a folder, else jsonl)"
        ),
        Option(
            "--out",
            metavar="WHERE",
            convert=file_path,
            help="a folder, a file that ends in .jsonl, or - for stdout",
        ),
        Option("--force", help="overwrite what is there"),
    ),
    examples=(
        "brain export -c brain --out ~/sessions",
        "brain export --source claude --since 30d --out month.jsonl",
        'brain export "#a1b2c3" --out - --format jsonl',
    ),
)


def run(args: Args, context: Context) -> int:
    """Return one selection, one destination."""
    where, form = _destination(args)
    now = clock.now()
    chosen = Selection(
        references=args.words,
        collections=args.collection,
        source=args.source or "",
        project=project_glob(args.project) if args.project else "",
        since=parse_day(args.since, now, end=False) if args.since else None,
        until=parse_day(args.until, now, end=True) if args.until else None,
    )
    settings = config.load(context.home)
    connection = open_own(context.home, settings)
    try:
        # One snapshot, whatever others write meanwhile.
        connection.execute("BEGIN")
        rows = select(connection, settings, chosen)
        if not rows and not is_complete(connection):
            raise EngineMissing("nothing was selected: no index run has ended yet", "brain index")
        if not rows:
            outcome = export.Outcome()
        elif form == "md":
            outcome = export.to_folder(connection, rows, where, force=args.force, redact=redaction.shown)
        elif where != "-":
            outcome = export.to_file(connection, rows, where, force=args.force, redact=redaction.shown)
        else:
            outcome = export.Outcome()
            for line in export.lines(connection, rows, redaction.shown):
                write(line + "\n")
                outcome.written += 1
    finally:
        connection.close()
    context.fields.update(n_exported=outcome.written, n_refused=len(outcome.refused), format=form)
    _report(args, context, outcome, where, form)
    return OK if outcome.found else NO_RESULTS


def _destination(args: Args) -> tuple[str, str]:
    """Return (where, format), each guessed from the other where only one is given."""
    if args.words and (args.collection or args.source or args.project or args.since or args.until):
        raise BadInput("HITs are named one by one; the options that select exclude them", COMMAND.examples[0])
    where = args.out or ""
    if not where:
        if args.format == "md" or args.json or sys.stdout.isatty():
            raise BadInput("--out says where to write", COMMAND.examples[0])
        where = "-"
    form = args.format or ("jsonl" if where == "-" or where.endswith((".jsonl", ".ndjson")) else "md")
    if where == "-" and args.json:
        raise BadInput("--json prints one object, and so do not the documents themselves", "--out FILE.jsonl")
    if where == "-" and form == "md":
        raise BadInput("markdown goes into a folder", "--out DIR, or `brain show HIT --full` for one document")
    return expanduser(where), form


def _report(args: Args, context: Context, outcome: export.Outcome, where: str, form: str) -> None:
    for uri, reason in outcome.refused:
        warn(f"brain: refused {shown(uri)}: {reason}")
    if args.json:
        envelope: dict[str, object] = {
            "schema": 1,
            "ok": True,
            "out": where,
            "format": form,
            "written": outcome.written,
            "unchanged": outcome.unchanged,
            "bytes": outcome.bytes,
            "refused": [{"uri": uri, "reason": reason} for uri, reason in outcome.refused],
        }
        if not outcome.found:
            envelope["error"] = "no_results"
        context.emit(envelope)
    elif not outcome.found:
        warn("brain: nothing was selected")
    elif where != "-":
        same = f", {outcome.unchanged} there already" if outcome.unchanged else ""
        write(f"{outcome.written} document{'s' * (outcome.written != 1)} written to {where}{same}\n")
