#!/usr/bin/env python3
"""brain: a local-first second brain. Arguments to one call, its output, its exit code; nothing else lives here."""

from __future__ import annotations

import gc
import os
import sys
import time

from cli.context import Context
from cli.spec import parse
from core import errors
from core.home import make_private, private_process

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_START = time.perf_counter()
# Set for the interpreter of the checkout's environment by the one that starts it.
_STARTED = "_BRAIN_STARTED"

# The commands by purpose, as `brain --help` lists them. The module of a command is cli/<purpose>/<command>.py.
GROUPS = {
    "ask": {
        "brief": "show on one screen what is remembered and what to do next",
        "ask": "ask your memory a question",
        "recent": "list what happened lately, newest first",
        "why": "list decisions and rejections on a topic",
        "show": "print a document, or the passage of a hit",
        "trace": "follow an answer to its raw record, and list what changed since",
        "explain": "show what is installed, indexed and broken, or why a hit ranks where it does",
        "export": "write hits or a collection to files",
        "pack": "pack what is remembered on a topic into a number of tokens, with citations",
        "handoff": "hand the state of a session to another agent",
        "share": "write a session for a colleague: redacted, in one file",
        "resume": "open a session again in its agent, in its folder",
        "injected": "list what agents were given from memory, and reject a line",
        "web": "look at your memory in the browser",
        "tui": "look at your memory on the terminal",
    },
    "work": {
        "how": "show how this machine really runs a program: what succeeded, and how often it failed",
        "fix": "show what was done after an error when it did not come back",
        "tried": "show whether an approach was tried, what came of it, and whether that still holds",
        "blame": "show which sessions changed or discussed a file, why, and which lines are theirs",
        "restore-span": "print the text that an edit replaced, from the session's log or the archive",
        "files": "list the files that the work on a topic touched",
        "friction": "list errors that three or more sessions met, with the fix that held",
        "cost": "add up the tokens of sessions, by project, model, session or day",
    },
    "capture": {
        "inbox": "note a decision, an idea or a preference",
        "add": "add articles, papers, transcripts and notes",
        "install": "wire the agents on this machine into the memory",
        "uninstall": "take out of agents what `brain install` put there",
        "hooks": "let Claude Code report each finished turn",
        "hook": "entry point for installed hooks (reads hook JSON from stdin)",
        "skills": "teach agents when to recall and when to note",
        "mcp": "serve the memory as tools for MCP clients",
    },
    "bring_in": {
        "init": "set up the home",
        "index": "bring sources and collections into the index",
        "embed": "compute missing embeddings for semantic search",
        "distill": "compress sessions to goals, decisions, rejections, errors and fixes",
        "queue": "list what waits to be distilled",
        "watch": "index changes as they happen, embed in quiet times",
    },
    "operate": {
        "doctor": "check everything, and repair what can be repaired",
        "schedule": "let the machine index, embed and check",
        "serve": "keep the model and the index in memory for faster answers",
        "stats": "show how the memory is used: by whom, how fast, how often without a hit",
        "acceptance": "judge a week of use: continue, pivot or teardown",
        "backup": "write the whole memory to one verified file",
        "restore": "put a backup into a home, and keep the former state",
        "rebuild": "rebuild the index from the markdown",
        "sync": "share one memory between machines, by git",
        "team": "share collections with a team, through PostgreSQL",
        "forget": "remove documents, and everything made of them, for good",
        "teardown": "remove hooks, skills, schedules, the index and, if you want, the memory",
        "completion": "complete commands and options in the shell",
    },
    "engine": {
        "qmd": "the retrieval engine alone: qmd's commands, indexes and MCP server",
        "eval": "measure how good the answers are",
    },
}
COMMANDS = {name: summary for group in GROUPS.values() for name, summary in group.items()}


def main(argv: list[str] | None = None) -> int:
    """Run one command; returns its exit code (docs/exit-codes.md)."""
    words = _utf8(sys.argv[1:]) if argv is None else argv
    if words in ([], ["--json"]):
        return _run("brief", words)
    if words[0] in ("-h", "--help", "help"):
        return _overview(words)
    if words[0] in ("-V", "--version"):
        from core.home import checkout
        from core.installation import described
        from core.version import VERSION

        sys.stdout.write(f"brain {VERSION} ({described(checkout(), sys.prefix)})\n")
        return 0
    if words[0].startswith("-"):
        early = errors.BadInput(f"a command comes before {words[0]}", "brain COMMAND --json; brain --help")
        return _report(early, words)
    code = _run(words[0], words[1:])
    # An agent waits for its hooks and acts on their exit codes: a hook always ends with 0 (docs/exit-codes.md).
    return 0 if words[0] == "hook" else code


def _run(name: str, argv: list[str]) -> int:
    context = None
    code = errors.INTERNAL
    try:
        if name not in COMMANDS:
            raise errors.BadInput(f"unknown command {name!r}", _nearest(name))
        command = module(name)
        context = Context()
        args = parse(command.COMMAND, argv)
        if args.help:
            from cli.help import text

            sys.stdout.write(text(args.command))
            context = None  # nothing was used: no telemetry row
            code = errors.OK
        else:
            if context.surface != "terminal":
                from runtime.asking import withholding

                if context.surface in withholding.AGENTS and name in withholding.SHOWING:
                    withholding.require_policy(context.home)
            code = command.run(args, context)
            # A person's answers are the usual case, which imports nothing.
            if context.given and (context.surface != "terminal" or "CLAUDECODE" in context.environ):
                _note_given(context, name)
    except errors.BrainError as error:
        if error.code == errors.INTERNAL and not isinstance(error, errors.DiskFull):
            _keep_trace(error, context)
        code = _report(error, _reported(name, argv))
    except KeyboardInterrupt:
        sys.stderr.write("brain: interrupted\n")
        code = 130
    except BrokenPipeError:
        # The reader has gone (`| head`), so there is no failure and nobody to report to.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 0
    except Exception as error:
        code = _report(_known(error, context) or _internal(error, context), _reported(name, argv))
    finally:
        if context is not None and name in COMMANDS:
            from core import telemetry

            latency = round((time.perf_counter() - _START - context.waited_s) * 1000, 1)
            event = context.event or name
            telemetry.record(context.home, event, context.surface, latency_ms=latency, exit_code=code, **context.fields)
    return code


def _note_given(context: Context, name: str) -> None:
    """Record what a command showed if an agent ran it (``runtime.injections``)."""
    from runtime.injections import answers

    if answers.is_agents(context.surface, context.environ):
        answers.record(context.home, context.environ, context.surface, name, context.given)


def module(name: str) -> Any:
    """Import and return the module of a command."""
    purpose = next(purpose for purpose, names in GROUPS.items() if name in names)
    return __import__(f"cli.{purpose}.{name.replace('-', '_')}", fromlist=("COMMAND",))


def _reported(name: str, argv: list[str]) -> list[str]:
    """Return the arguments that decide how a failure is reported: an agent would obey what a hook writes to stdout."""
    return [] if name == "hook" else argv


def _report(error: BaseException, argv: list[str]) -> int:
    failure = error if isinstance(error, errors.BrainError) else errors.Internal(str(error))
    before_dashes = argv[: argv.index("--")] if "--" in argv else argv
    if "--json" in before_dashes and _is_written(failure.envelope()):
        return failure.code
    message, fix = (each.replace("\n", " ") for each in _shown([failure.message, failure.fix]))
    try:
        sys.stderr.write(f"brain: {message}\n" + (f"fix: {fix}\n" if fix else ""))
    except OSError:
        return failure.code  # nothing can be written; the exit code still reports the failure
    return failure.code


def _shown(value: Any) -> Any:
    """Return the text of a failure, which may name documents and what was typed, printable and without secrets."""
    try:
        from core.redaction import shown_value

        return shown_value(value)
    except ImportError:
        from core.text import printable_value

        return printable_value(value)  # an environment without the libraries that redaction takes has read no document


def _is_written(envelope: dict[str, object]) -> bool:
    """Return True if stdout took the envelope. If its disk is full, stderr may lead elsewhere."""
    from core.jsonio import dumps

    line = dumps(_shown(envelope)) + "\n"
    try:
        sys.stdout.write(line.encode(sys.stdout.encoding or "utf-8", "backslashreplace").decode())
        sys.stdout.flush()
    except BrokenPipeError:
        return True  # the reader has gone
    except OSError:
        return False
    return True


def _known(error: Exception, context: object) -> BaseException | None:
    """Return the user's error for a failure of the machine, of SQLite or of a damaged index; None for any other."""
    if isinstance(error, OSError):
        return errors.from_os(error)
    index = getattr(getattr(context, "home", None), "index", "")
    if type(error).__module__ == "apsw":
        from qmd.index.store import translate

        return translate(error, index or "the index")  # type: ignore[arg-type]
    if index and os.path.exists(index):
        from qmd.index.store import damaged

        return damaged(error, index)
    return None


def _internal(error: Exception, context: object) -> BaseException:
    """Return the unexpected as an error of one line; its trace goes to ``logs/crash.log``."""
    return errors.Internal(f"{type(error).__name__}: {error}", _keep_trace(error, context))


def _keep_trace(error: Exception, context: object) -> str:
    """Add an error's trace to ``logs/crash.log`` and return where it is, or why there is none."""
    import traceback

    home = getattr(context, "home", None)
    if home is None:
        return "run it again; if it persists, report the trace"
    log = os.path.join(home.logs, "crash.log")
    try:
        make_private(home.logs)
        descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        with open(descriptor, "a", encoding="utf-8", errors="backslashreplace") as stream:
            stream.write(_shown("".join(traceback.format_exception(error))) + "\n")
    except (OSError, errors.BrainError) as failure:
        return f"the trace could not be kept ({getattr(failure, 'strerror', None) or failure})"
    return f"the trace is in {log}"


def _utf8(words: list[str]) -> list[str]:
    """Return the arguments as UTF-8, also if the locale made Python read them as something else."""
    if all(word.isascii() for word in words):
        return words
    return [os.fsencode(word).decode("utf-8", "surrogateescape") for word in words]


# Names of commands in other tools.
_ALSO = {"status": "explain", "search": "ask", "query": "ask"}


def _nearest(name: str) -> str:
    import difflib

    near = [_ALSO[name]] if name in _ALSO else difflib.get_close_matches(name, COMMANDS, n=1)
    return f"did you mean `brain {near[0]}`?" if near else "brain --help"


def _overview(words: list[str]) -> int:
    if len(words) > 1 and not words[1].startswith("-"):
        return _run(words[1], ["--help"])
    lines = [
        "usage: brain [COMMAND] [options]",
        "",
        "A second brain that answers from your own sessions and notes.",
        "",
    ]
    for purpose, commands in GROUPS.items():
        lines += [f"{purpose.replace('_', ' ').capitalize()}:"]
        lines += [*(f"  {name:<10} {summary}" for name, summary in commands.items()), ""]
    lines += ["`brain COMMAND --help` shows options and examples.", ""]
    sys.stdout.write("\n".join(lines))
    return 0


def _in_its_environment() -> None:
    """Start again under the checkout's ``.venv`` if another interpreter runs; end with 65 if there is none."""
    root = os.path.dirname(os.path.realpath(__file__))
    if not os.path.isfile(os.path.join(root, "pyproject.toml")):
        return  # an installed wheel runs under the interpreter that it was installed for
    own = os.path.join(root, ".venv")
    again = os.environ.pop(_STARTED, None)
    if os.path.realpath(sys.prefix) == os.path.realpath(own):
        return
    failure = errors.EngineMissing(f"{root} has no environment yet", f"make venv  (in {root})")
    python = os.path.join(own, "bin", "python")
    if again:  # the interpreter in .venv does not take .venv as its prefix, and would start itself for ever
        failure = errors.EngineMissing(f"{own} is damaged", f"rm -r .venv && make venv  (in {root})")
    elif os.access(python, os.X_OK):
        os.environ[_STARTED] = "1"
        try:
            os.execv(python, [python, os.path.join(root, "brain.py"), *sys.argv[1:]])
        except OSError as error:
            fix = f"rm -r .venv && make venv  (in {root})"
            failure = errors.EngineMissing(f"cannot run {python}: {error.strerror}", fix)
    sys.exit(_report(failure, sys.argv[1:]))


def entry() -> None:
    """Run ``main`` and end the process at once, without the interpreter's slow clean-up."""
    private_process()
    # Python has no stream object where the caller closed the descriptor (`>&-`).
    sys.stdout = sys.stdout or open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115  # open until the process ends
    sys.stderr = sys.stderr or open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]  # a locale may lack a character
    if sys.argv[1:2] == ["ask"] or sys.argv[1:3] in (["hook", "stop"], ["hook", "guard"]):
        gc.disable()  # one answer or one small transcript, and it ends: collecting would cost a tenth of it
    try:
        if "_ARGCOMPLETE" in os.environ:
            from cli.operate.completion import answer

            answer(COMMANDS, lambda name: module(name).COMMAND)
        code = main()
        sys.stdout.flush()
        sys.stderr.flush()
    except BrokenPipeError:
        code = 0
    except OSError as error:
        code = _report(_known(error, None) or error, [])
    os._exit(code)


if __name__ == "__main__":
    _in_its_environment()
    entry()
