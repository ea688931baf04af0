"""``brain web``: the memory as a page in the browser."""

from __future__ import annotations

import os
import sys

from cli.context import Context, write
from cli.spec import Args, Command, Option, duration, file_path
from core.errors import OK, BadInput
from core.home import resolve

TYPE_CHECKING = False
if TYPE_CHECKING:
    from web.access import Access

_PORT = 7717
_TOKEN = "BRAIN_WEB_TOKEN"  # noqa: S105  # the name of a variable


def _port(text: str) -> int:
    if not text.isascii() or not text.isdigit() or len(text) > 5 or int(text) > 65_535:
        raise ValueError("a port from 0 to 65535")
    return int(text)


COMMAND = Command(
    "web",
    "look at your memory in the browser",
    description=(
        "Serve a page on this machine alone: search as you type, a year and a day on one line of time, sessions to\n"
        "read, decisions, projects, health. The link that it prints opens the page; nobody else can. Ends after an\n"
        "hour in which nobody looked."
    ),
    options=(
        Option("--port", metavar="PORT", default=_PORT, convert=_port, help="the port, 0 for a free one (7717)"),
        Option("--open", help="open the page in the browser"),
        Option("--home", metavar="DIR", default="", convert=file_path, help="another home than BRAIN_HOME"),
        Option("--idle", metavar="TIME", default=3600.0, convert=duration, help="end after so long unused (1h)"),
        Option(
            "--host", metavar="ADDRESS", default="127.0.0.1", help="another address; needs a token in BRAIN_WEB_TOKEN"
        ),
    ),
    examples=("brain web --open", "brain web --port 0 --json", "brain web --home ~/other-brain --idle 8h"),
)


def run(args: Args, context: Context) -> int:
    """Serve until a signal comes or nobody looks any more."""
    environ = dict(context.environ)
    if args.home:
        # Only the other home's own inbox is meant with it.
        environ.pop("BRAIN_INBOX_DIR", None)
        environ["BRAIN_HOME"] = os.path.abspath(os.path.expanduser(args.home))
        context.home = resolve(environ)
        if not os.path.isdir(context.home.root):
            raise BadInput(f"there is no home {context.home.root}", "brain web, without --home")
    from web.access import check_host
    from web.server import serve

    token = environ.get(_TOKEN, "").strip()
    refused = check_host(args.host, token)
    if refused:
        raise BadInput(refused, f"export {_TOKEN}=… (16 characters or more), or leave --host out")

    def ready(access: Access) -> None:
        _announce(args, context, access)

    context.fields["reason"] = serve(
        context.home, environ, host=args.host, port=args.port, token=token, idle_s=args.idle, ready=ready
    )
    return OK


def _announce(args: Args, context: Context, access: Access) -> None:
    if args.json:
        context.emit({"schema": 1, "ok": True, "url": access.link(), "pid": os.getpid()}, is_clean=True)
    else:
        write(f"{access.link()}\nOnly this link opens the page. Ctrl-C ends it.\n")
    if args.open:
        from threading import Thread

        # A browser of the terminal stays until it is left; the page has to be served meanwhile.
        Thread(target=_open, args=(access.link_once(),), daemon=True).start()


def _open(link: str) -> None:
    import webbrowser

    if not webbrowser.open(link):
        sys.stderr.write("brain: no browser could be started; open the link above\n")
