"""``brain index``: sources into the corpus, the corpus into the index."""

from __future__ import annotations

import os
import sys

from cli.context import Context, shown, warn, write
from cli.spec import Args, Command, Option, file_path
from core.counting import counted
from core.errors import OK, BadInput

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from runtime.capture.indexing import Progress

# So many failures are shown; --json has more, and the counts have all.
_SHOWN = 5

COMMAND = Command(
    "index",
    "bring sources and collections into the index",
    description=(
        "Normalise new and grown transcripts into markdown, then bring every collection's lexical index up to date.\n"
        "An unchanged file costs a stat (--new) or a hash of the file (the default).\n"
        "Exit code 64 means: of a source that was named, no file could be read."
    ),
    options=(
        Option(
            "--source", metavar="SOURCE", help="only this source: claude, codex, chrome, …; an unknown one lists them"
        ),
        Option(
            "--from",
            metavar="DIR",
            many=True,
            convert=file_path,
            help="read what lies at or below DIR, not the tool's own folders",
        ),
        Option("--new", help="trust size, mtime and inode: an unchanged stat is an unchanged file"),
        Option("--queue", help="append what changed to the distillation queue"),
        Option("--from-archive", help="make the documents again from the archive, not from the tools' files"),
        Option("--dry-run", help="say what would be read and written, and write nothing"),
        Option("--rebuild", help="normalise and index everything again"),
    ),
    examples=(
        "brain index",
        "brain index --new --queue",
        "brain index --source claude --from ~/old-machine/.claude --json",
        "brain index --source chrome",
        "brain index --source codex --dry-run",
        "brain index --source code --from ~/Projects/api",
        "brain index --source git",
    ),
)


# Objects made before the garbage collector looks at them; Python's own number is 700.
_COLLECT = 20_000


def run(args: Args, context: Context) -> int:
    """Index, and print the ledger."""
    import gc

    # Parsed records live until their document is written, and hardly any of them form a cycle.
    gc.set_threshold(_COLLECT, 50, 50)
    roots = [os.path.abspath(os.path.expanduser(root)) for root in getattr(args, "from")]
    if args.dry_run:
        return _rehearse(args, context, roots)
    if sys.stderr.isatty():
        from cli.progress import Bar

        with Bar() as bar:
            report = _index(args, context, roots, bar)
    else:
        report = _index(args, context, roots, None)
    context.fields["settled"] = _settle(context)
    for key, field in (("seen", "n_seen"), ("ingested", "n_ingested"), ("failed_files", "n_failed")):
        context.fields[field] = sum(ledger[key] for ledger in report["sources"].values())
    failure = _nothing_read(report, named=bool(args.source or roots or args.from_archive))
    if roots and (nothing := _nothing_found(report, roots)):
        report["found_nothing"] = nothing
    if args.json:
        context.emit(report if failure is None else {**report, **failure.envelope()})
        return OK if failure is None else failure.code
    _say(report, context)
    return _say_failure(failure)


def _index(args: Args, context: Context, roots: list[str], progress: Progress | None) -> dict[str, Any]:
    from core import config

    settings = config.load(context.home)
    from runtime.capture.indexing import index

    return index(
        context.home,
        settings,
        source=args.source,
        roots=roots or None,
        trust_stat=args.new,
        rebuild=args.rebuild,
        from_archive=args.from_archive,
        enqueue=args.queue,
        progress=progress,
    )


def _settle(context: Context) -> int:
    """Index the transcripts that hooks have left, so that the next session need not report them."""
    if not os.path.isdir(os.path.join(context.home.state, "hooks")):
        return 0  # no hook has ever run
    from runtime.hooks import due

    if not due.waiting(context.home):
        return 0
    from runtime.hooks import hooks

    try:
        return hooks.drain(context.home)
    except Exception as error:  # noqa: BLE001  # the run is done: what a transcript of a hook's meets fails no run
        context.fields["unsettled"] = type(error).__name__
        return 0


def _nothing_read(report: dict[str, Any], *, named: bool) -> BadInput | None:
    """Return a failure if every file of a named source, or of all sources, failed.

    A skipped file does not count (a folder may hold other tools' files), unless it was read and is withheld.
    """
    from ingest.policy.exclusions import EXCLUDED, FORGOTTEN

    failed: list[str] = []
    judged = 0
    for name, ledger in report["sources"].items():
        withheld = any(reason.startswith((FORGOTTEN, EXCLUDED)) for reason in ledger["skipped"])
        judged += bool(ledger["seen"])
        if (ledger["failed_files"] or ledger["partial"]) and not (
            ledger["ingested"] or ledger["unchanged"] or withheld
        ):
            failed.append(name)
    if not failed or not (named or len(failed) == judged):
        return None
    count = sum(report["sources"][name][key] for name in failed for key in ("failed_files", "partial"))
    return BadInput(
        f"no file of {', '.join(failed)} could be read ({counted(count, 'file')} failed); what was there before stays",
        "see the reasons above (--json: failed): repair or move the files, or name what lies there: --source, --from",
    )


def _say(report: dict[str, Any], context: Context) -> None:
    """Write a report for people; what was not read goes to stderr."""
    from core.text import printable

    write("\n".join(_lines(shown(report), printable)) + "\n")
    for sentence in report.get("found_nothing", {}).values():
        warn(f"brain: {sentence}")
    if report.get("unnamed"):
        from ingest.archive import verifier

        warn(f"brain: not read: {verifier.orphans_phrase(report['unnamed'])}")
        warn(f"fix: {verifier.orphans_fix(context.home)}")


def _say_failure(failure: BadInput | None) -> int:
    """Write the failure of a run to stderr; return the exit code."""
    if failure is None:
        return OK
    warn(f"brain: {failure.message}")
    warn(f"fix: {failure.fix}")
    return failure.code


def _nothing_found(report: dict[str, Any], roots: list[str]) -> dict[str, str]:
    """Return a sentence for each source that had nothing at the places that were given: a wrong one looks like a quiet
    one."""
    from core.text import printable
    from ingest import registry
    from ingest.policy.exclusions import EXCLUDED, FORGOTTEN

    found: dict[str, str] = {}
    for name, ledger in report["sources"].items():
        kept_out = any(reason.startswith((FORGOTTEN, EXCLUDED)) for reason in ledger["skipped"])
        # A failure is reported as such: something was found.
        if ledger["ingested"] or ledger["unchanged"] or ledger["failed_files"] or kept_out:
            continue
        source = registry.source(name)
        names = source.patterns or (() if source.is_collector else tuple(f"*{ending}" for ending in source.suffixes))
        reasons = "; ".join(f"{count} × {reason}" for reason, count in ledger["skipped"].items())
        why = reasons or (f"no file there matches: {', '.join(names)}" if names else "")
        places = printable(": ".join(filter(None, (", ".join(shown(roots)), why))))
        found[name] = f"found nothing of {name} to read at {places}; --source names what lies there"
    return found


def _rehearse(args: Args, context: Context, roots: list[str]) -> int:
    from cli.progress import Bar
    from ingest.registry import is_on_request
    from runtime.capture.rehearsing import dry_run

    with Bar() as bar:
        report = dry_run(
            context.home,
            source=args.source,
            roots=roots or None,
            trust_stat=args.new,
            rebuild=args.rebuild,
            progress=bar,
        )
    failure = _nothing_read(report, named=bool(args.source or roots))
    if args.json:
        context.emit(report if failure is None else {**report, **failure.envelope()})
        return OK if failure is None else failure.code
    from core.text import printable

    lines: list[str] = []
    for name, ledger in shown(report["sources"]).items():
        would = ledger["would"]
        lines.append(
            f"{name}: {counted(ledger['seen'], 'file')} seen, {would['read']} would be read"
            f" ({would['bytes'] / 1e6:.1f} MB): {_would_become(would, exact=is_on_request(name))}"
        )
        lines += [f"  skipped: {count} × {reason}" for reason, count in ledger["skipped"].items()]
        lines += [f"  dropped: {count} × {reason}" for reason, count in ledger["dropped"].items()]
        lines += [
            f"  fails: {printable(failure['path'])}: {failure['reason']}" for failure in ledger["failed"][:_SHOWN]
        ]
        lines += [f"  unknown: {printable(kind)} ({seen['count']} ×)" for kind, seen in ledger["unknown"].items()]
        lines += [f"  reads {printable(path)}" for path in would["files"][:_SHOWN]]
    write("\n".join([*lines, "nothing was written"]) + "\n")
    return _say_failure(failure)


def _would_become(would: dict[str, Any], *, exact: bool) -> str:
    """Return what the files of one source would make; ``exact``: the changes are known, not merely possible."""
    said = f"{counted(would['new'], 'document')} new, {would['changed']} that {'change' if exact else 'may change'}"
    gone = f", {would['removed']} that go" if would["removed"] else ""
    return f"{said}, {would['unchanged']} unchanged{gone}"


def _lines(report: dict[str, Any], printable: Callable[[str], str]) -> Iterator[str]:
    for name, ledger in report["sources"].items():
        yield (
            f"{name}: {counted(ledger['seen'], 'file')} seen, {ledger['ingested']} ingested,"
            f" {ledger['unchanged']} unchanged, {sum(ledger['skipped'].values())} skipped,"
            f" {ledger['failed_files']} failed"
            + (f", {ledger['partial']} read only in part" if ledger["partial"] else "")
        )
        for reason, count in ledger["skipped"].items():
            yield f"  skipped: {count} × {reason}"
        for reason, count in ledger["dropped"].items():
            yield f"  dropped: {count} × {reason}"
        for failure in ledger["failed"][:_SHOWN]:
            where = f"{failure['path']}:{failure['line']}" if failure["line"] else failure["path"]
            yield f"  failed: {printable(where)}: {failure['reason']}"
        more = len(ledger["failed"]) - _SHOWN
        if more > 0:
            yield f"  and {more} more: brain explain --json"
        for kind, seen in ledger["unknown"].items():
            yield f"  unknown: {printable(kind)} ({seen['count']} ×)"
    for name, change in report["collections"].items():
        if change["added"] or change["updated"] or change["removed"]:
            yield f"{name}: {change['added']} added, {change['updated']} updated, {change['removed']} removed"
        for failure in change["failures"][:_SHOWN]:
            yield f"  failed: {printable(failure['path'])}: {failure['reason']}"
    if report.get("unread"):
        yield f"not read from the old index: {', '.join(report['unread'])}; brain embed computes vectors again"
    if report.get("demo_left"):
        yield f"demo: {counted(report['demo_left'], 'document')} removed, now that there are documents of yours"
    if report["queued"]:
        yield f"queue: {counted(report['queued'], 'document')} to be distilled"
    yield f"done in {report['took_ms'] / 1000:.1f} s"
