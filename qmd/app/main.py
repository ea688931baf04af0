"""The ``qmd`` command: find the verb, run it, and turn every outcome into an exit code."""

from __future__ import annotations

import os
import sys

import apsw

from core.errors import BrainError
from core.home import private_process
from qmd import COMPATIBLE
from qmd.app.arguments import Arguments
from qmd.app.output import Exit, Output
from qmd.app.session import Session

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from qmd.settings import Settings

# Verb: (module of qmd.app, function).
_VERBS = {
    "search": ("searching", "search"),
    "query": ("semantic", "query"),
    "deep-search": ("semantic", "query"),
    "vsearch": ("semantic", "vsearch"),
    "vector-search": ("semantic", "vsearch"),
    "embed": ("embedding", "embed"),
    "provider": ("embedding", "provider"),
    "pull": ("semantic", "pull"),
    "get": ("getting", "get"),
    "multi-get": ("getting", "multi_get"),
    "ls": ("folders", "ls"),
    "collection": ("folders", "collection"),
    "context": ("folders", "context"),
    "update": ("updating", "run"),
    "status": ("status", "status"),
    "cleanup": ("status", "cleanup"),
    "init": ("projects", "init"),
    "trust": ("projects", "manage"),
    "doctor": ("doctor", "run"),
    "bench": ("bench", "bench"),
    "skills": ("skills", "skills"),
    "skill": ("skills", "skill"),
    "mcp": ("main", "mcp"),
}
_INTERRUPTED = 130


def main(argv: Sequence[str] | None = None, settings: Settings | None = None) -> int:
    """Run one command and return its exit code: 0, 1, an update command's own, or 130 and 143 for signals.

    ``settings`` replaces the settings of the environment and ``--index``.
    """
    out = Output()
    session: Session | None = None
    code = 1
    try:
        arguments = Arguments(sys.argv[1:] if argv is None else argv)
        session = Session(arguments, out, settings or _locate(arguments))
        code = _run(session)
        out.flush()
    except Exit as way:
        code = way.code
    except BrainError as error:
        out.error(error.message)
    except apsw.Error as error:
        out.error(session.explain(error).message if session else str(error))
    except UnicodeEncodeError as error:
        bad = error.object.encode("utf-8", "backslashreplace").decode()
        out.error(f"Not valid UTF-8: {bad[:200]}")
    except KeyboardInterrupt:
        code = _INTERRUPTED
    except BrokenPipeError:
        # The reader has gone (`| head`): nobody reads further output.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 0
    except OSError as error:
        code = 1
        where = f": {error.filename}" if error.filename else ""
        out.error(f"{error.strerror or error}{where}")
    except Exception as error:
        failure = session.damaged(error) if session else None
        if failure is None:
            raise
        out.error(failure.message)
    finally:
        if session is not None:
            session.close()
    return _flushed(out, code)


def mcp(session: Session) -> None:
    """Run the MCP server, or stop the background server. Raises Exit with the exit code."""
    from qmd.mcp.command import main as serve

    arguments = session.arguments
    argv = list(arguments.words)
    argv += [f"--{name}" for name in ("http", "daemon", "with-aliases") if name in arguments.flags]
    for name in ("port", "host"):
        if name in arguments.text:
            argv += [f"--{name}", arguments.text[name]]
    session.out.flush()
    session.close()
    raise Exit(serve(argv, session.settings))


def _locate(arguments: Arguments) -> Settings:
    from qmd.settings import locate

    return locate(arguments.index)


def _run(session: Session) -> int:
    arguments, out = session.arguments, session.out
    flags, verb = arguments.flags, arguments.verb
    arguments.format  # noqa: B018  # an unknown format is refused whatever the verb
    arguments.chunk_strategy  # noqa: B018  # likewise
    if "version" in flags:
        from core.version import VERSION

        out.line(f"qmd {COMPATIBLE} (brain {VERSION})")
        return 0
    if "skill" in flags:
        from qmd.app import skills

        skills.show(session)
        return 0
    if "help" in flags and verb == "skill":
        from qmd.app import skills

        out.line(skills.SKILL_HELP)
        return 0
    if not verb or "help" in flags:
        from qmd.app import help as page

        page.show(session)
        return 0 if "help" in flags else 1
    if verb not in _VERBS:
        raise session.fail(
            f"Unknown command: {verb}",
            "Run 'qmd --help' for usage.",
            "If qmd still behaves unexpectedly, run 'qmd doctor' for diagnostics.",
        )
    module, function = _VERBS[verb]
    # Import only the verb's own module: a search must not wait for the imports of other verbs.
    action: Callable[[Session], None] = getattr(__import__(f"qmd.app.{module}", fromlist=[function]), function)
    action(session)
    return 0


def _flushed(out: Output, code: int) -> int:
    try:
        out.flush()
        # The MCP server prints by itself, and `entry` ends without the interpreter's own flush.
        sys.stdout.flush()
        sys.stderr.flush()
    except (OSError, ValueError):
        return code or 1
    return code


def entry() -> None:
    """Run ``main`` and exit without the interpreter's slow shutdown."""
    private_process()
    # Python has no stream object where the caller closed the descriptor (`>&-`).
    sys.stdout = sys.stdout or open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    sys.stderr = sys.stderr or open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    os._exit(main())
