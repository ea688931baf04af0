"""``brain init``: from nothing to a first answer."""

from __future__ import annotations

import os
import shutil
import sys
from os.path import abspath, basename, dirname, expanduser, join, relpath
from shlex import quote
from typing import TYPE_CHECKING, Any

from cli.context import Context, write
from cli.spec import Args, Command, Option, file_path
from core.errors import OK
from core.text import printable
from runtime.capture.init import setup

if TYPE_CHECKING:
    from collections.abc import Iterator

COMMAND = Command(
    "init",
    "set up the home",
    description=(
        "Make the home, index this machine's Claude Code sessions, or the demo set where there are none, and ask a\n"
        "first question. Running it again changes nothing that is there."
    ),
    options=(
        Option("--demo", help="index the demo set, whatever this machine has"),
        Option(
            "--from",
            metavar="DIR",
            convert=file_path,
            help="index the transcripts below DIR instead of this machine's",
        ),
        Option("--no-index", help="make the home and look, but index nothing"),
        Option("--config", help="write the default collections.yml into the home, to be edited; never over one"),
    ),
    examples=(
        "brain init",
        "brain init --demo",
        "brain init --from ~/old-machine/.claude/projects --json",
        "brain init --config --no-index",
    ),
)


def run(args: Args, context: Context) -> int:
    """Set up, show the first answer, and say what to type next."""
    from cli.progress import Bar

    given = getattr(args, "from")
    with Bar() as bar:
        report = setup(
            context.home,
            demo=args.demo,
            folder=abspath(expanduser(given)) if given else None,
            index=not args.no_index,
            write_config=args.config,
            progress=bar,
        )
    context.fields.update(demo=report["demo"], n_sessions=report["sessions"])
    if args.json:
        context.emit(report)
        return OK
    write("\n".join(_state(report)) + "\n")
    command = _command()
    if report["answer"]:
        write(f'\n$ {command} ask "{printable(report["question"])}"\n')
        _show(report["answer"], context)
    again = [command, "init", *(["--demo"] if args.demo else []), *(["--from", quote(given)] if given else [])]
    write("\n".join(_next(report, command, " ".join(again))) + "\n")
    return OK


def _state(report: dict[str, Any]) -> Iterator[str]:
    yield f"home     {printable(report['home'])}"
    if report["config_written"]:
        yield f"config   written, to be edited: {printable(report['config'])}"
    if report["demo"]:
        yield "source   the demo set: invented sessions of an invented project, not yours"
    else:
        yield f"source   {_many(report['sessions'], 'session')}" + ("" if report["index"] else ", not indexed")
    if report["demo_left"]:
        yield f"demo     removed: its {report['demo_left']} documents gave way to yours"
    if report["index"]:
        yield _indexed(list(report["index"]["sources"].values()), report["index"]["took_ms"] / 1000)
        held = report["documents"]
        each = ", ".join(f"{printable(name)} {count:,}" for name, count in held.items())
        yield f"holds    {_many(sum(held.values()), 'document')}" + (f" ({each})" if len(held) > 1 else "")


def _indexed(ledgers: list[dict[str, Any]], seconds: float) -> str:
    """Return how many transcripts there were, and what became of each: fewer documents than files need a reason."""
    figures = ("seen", "ingested", "unchanged", "failed_files", "documents")
    seen, ingested, unchanged, failed, documents = (sum(ledger[key] for ledger in ledgers) for key in figures)
    skipped: dict[str, int] = {}
    for ledger in ledgers:
        for reason, count in ledger["skipped"].items():
            skipped[reason] = skipped.get(reason, 0) + count
    parts = []
    read = ingested + unchanged
    if read:
        # Copies of one session, and its parts, are one document; those of files that are gone are counted too.
        count = f"{_many(documents, 'document')}, a session's copies and parts being one" if documents < read else ""
        known = f" ({ingested:,} of them new or grown)" if unchanged else ""
        parts.append(f"{read:,} became {count or 'documents'}{known}")
    if skipped:
        reasons = ", ".join(
            f"{count:,} × {reason}" for reason, count in sorted(skipped.items(), key=lambda item: -item[1])
        )
        parts.append(f"{sum(skipped.values()):,} left out ({reasons})")
    if failed:
        parts.append(f"{failed:,} failed (`brain explain` says why)")
    what = f": {'; '.join(parts)}" if parts else ""
    return f"indexed  {_many(seen, 'transcript')} in {seconds:.1f} s{what}"


def _show(answer: dict[str, Any], context: Context) -> None:
    if answer["ok"]:
        from cli.ask_output import render

        render(answer, context)
    else:
        write(f"{printable(answer['message'])}\nfix: {printable(answer['fix'])}\n")


def _next(report: dict[str, Any], command: str, again: str) -> Iterator[str]:
    yield ""
    yield "Next:"
    if not report["index"]:
        yield f"  {again}"
    if report["demo"]:
        yield f'  {command} ask "did we reject redis, and why"'
        yield f"  {command} recent --since 2026-03-01"
    else:
        yield f'  {command} ask "what did I decide about …"'
        yield f"  {command} recent --since 7d"
    yield f'  {command} inbox --type decision "what was decided, and why"'
    yield f"  {command} explain"
    if report["demo"]:
        yield ""
        yield f"This is the demo set. It goes as soon as `{command} index` or a hook reads anything of yours;"
        yield f"`{command} init --from DIR` takes a folder of sessions."


def _command() -> str:
    """How to type this command from here: ``brain`` where the shell finds it, else its path, quoted for a shell."""
    own = join(dirname(sys.executable), "brain")
    found = shutil.which("brain")
    if found and (os.path.realpath(found) == os.path.realpath(own) or not os.path.exists(own)):
        return "brain"
    if not os.path.exists(own):
        return basename(own)
    try:
        here = os.getcwd()
    except FileNotFoundError:  # the folder has been removed under our feet
        return quote(own)
    # From the root everything lies below: a path without its slash would be no shorter, only wrong elsewhere.
    near = relpath(own, here) if here != os.sep else own
    if near.startswith(".."):
        near = own
    return quote(near if os.sep in near else join(os.curdir, near))


def _many(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
