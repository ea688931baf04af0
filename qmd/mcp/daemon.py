"""The server in the background: started once an index, found by its pid file, ended by ``qmd mcp stop``.

``mcp.pid`` and ``mcp.log`` (``mcp-NAME`` for a named index) lie in the cache folder. A pid counts only if the process
is alive and its command line is that of a qmd server: after a restart of the machine another process may have it.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import re
import select
import signal
import subprocess
import sys
import time
from os.path import dirname, join
from typing import TYPE_CHECKING, Any

from core.errors import BrainError
from core.files import FileLock
from core.home import Home
from qmd.mcp.guard import OFF, shown, token_line
from qmd.settings import DEFAULT_INDEX, Settings, locate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_READY_S = 20.0
_STOP_S = 8.0
_LOCK_S = 30.0
_SETTINGS = "QMD_MCP_SETTINGS"
_READY = "QMD_MCP_READY"
_QMD = re.compile(r"(?:^|[\s/\\])qmd(?:\.(?:ts|js))?(?:\s|$)", re.IGNORECASE)
_MCP = re.compile(r"(?:^|\s)mcp(?:\s|$)")


class Files:
    """Where the background server of an index keeps its pid and its log."""

    __slots__ = ("lock", "log", "pid")

    def __init__(self, settings: Settings) -> None:
        suffix = f"-{settings.index}" if settings.index not in ("", DEFAULT_INDEX) else ""
        self.pid = join(settings.cache_dir, f"mcp{suffix}.pid")
        self.log = join(settings.cache_dir, f"mcp{suffix}.log")
        self.lock = join(settings.cache_dir, f".mcp{suffix}.lock")


def start(settings: Settings, host: str, port: int, *, aliases: bool = False) -> int:
    """Start the background server, print its address and return 0; 1 if it runs already or cannot start."""
    files = Files(settings)
    try:
        with FileLock(files.lock, _LOCK_S):
            existing = running(settings)
            if existing:
                print(f"Already running (PID {existing}). Run 'qmd mcp stop' first.", file=sys.stderr)
                return 1
            return _start(settings, files, host, port, aliases)
    except BrainError as error:
        print(error.message, file=sys.stderr)
        return 1


def _start(settings: Settings, files: Files, host: str, port: int, aliases: bool) -> int:
    reader, writer = os.pipe()
    root = dirname(dirname(dirname(os.path.abspath(__file__))))
    path = os.environ.get("PYTHONPATH")
    environ = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([root, path]) if path else root,
        _SETTINGS: json.dumps(_packed(settings)),
        _READY: str(writer),
    }
    command = [sys.executable, "-P", "-m", "qmd.mcp.command", "qmd", "mcp"]
    command += ["--http", "--port", str(port), "--host", host, *(["--with-aliases"] if aliases else [])]
    log = os.open(files.log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    try:
        child = subprocess.Popen(  # noqa: S603  # our own interpreter and module, no shell
            command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environ, pass_fds=(writer,),
            start_new_session=True,
        )  # fmt: skip
    finally:
        os.close(log)
        os.close(writer)
    with open(files.pid, "w", encoding="ascii") as stream:
        stream.write(str(child.pid))
    if not _is_ready(reader):
        with contextlib.suppress(ProcessLookupError):
            child.kill()
        child.wait()
        _forget(files)
        with open(files.log, encoding="utf-8", errors="replace") as stream:
            output = stream.read().strip()
        print(output or f"The server did not start; see {files.log}", file=sys.stderr)
        return 1
    # The child outlives this process on purpose: suppress the warning about it.
    child.returncode = 0
    print(f"Started on http://{shown(host)}:{port}/mcp (PID {child.pid})")
    if settings.brain is not None and os.environ.get("QMD_HTTP_TOKEN", "").strip().lower() != OFF:
        print(token_line(settings.brain, os.environ))
    print(f"Logs: {files.log}")
    return 0


def _is_ready(reader: int) -> bool:
    """Return True if the child reports that it listens; False if it closes the pipe or stays silent."""
    try:
        able, _, _ = select.select([reader], [], [], _READY_S)
        return bool(able) and os.read(reader, 1) == b"1"
    finally:
        os.close(reader)


def resume() -> Settings:
    """Return the settings that ``start`` gave to this process, or those that the environment leads to."""
    given = os.environ.pop(_SETTINGS, "")
    if not given:
        return locate()
    packed = json.loads(given)
    brain = packed.pop("brain")
    egress, fence = _function(packed.pop("egress")), _function(packed.pop("fence"))
    return Settings(**packed, brain=Home(brain) if brain else None, egress=egress, fence=fence)


def _function(name: str) -> Any:
    """Return the function that ``_named`` named, None for no name."""
    module, _, function = name.partition(":")
    return getattr(importlib.import_module(module), function) if module else None


def _named(function: Callable[..., Any] | None) -> str:
    return f"{function.__module__}:{function.__qualname__}" if function else ""


def announce() -> None:
    """Signal the process that started this one in the background that the server listens."""
    descriptor = os.environ.pop(_READY, "")
    if descriptor:
        with contextlib.suppress(OSError):
            os.write(int(descriptor), b"1")
            os.close(int(descriptor))


def stop(settings: Settings) -> int:
    """End the background server and return 0."""
    files = Files(settings)
    if not os.path.exists(files.pid):
        print("Not running (no PID file).")
        return 0
    pid = running(settings)
    if pid:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGTERM)
        deadline = time.monotonic() + _STOP_S
        while _lives(pid) and time.monotonic() < deadline:
            time.sleep(0.02)
        if is_server(pid):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
    _forget(files)
    print(f"Stopped QMD MCP server (PID {pid})." if pid else "Cleaned up stale PID file (server was not running).")
    return 0


def running(settings: Settings) -> int:
    """Return the pid of the background server, 0 if none runs; a stale pid file is left as it is."""
    pid = _recorded(Files(settings))
    return pid if is_server(pid) else 0


@contextlib.contextmanager
def owned(settings: Settings) -> Iterator[None]:
    """Remove the pid file on exit if it names this process."""
    try:
        yield
    finally:
        files = Files(settings)
        if _recorded(files) == os.getpid():
            _forget(files)


def is_server(pid: int) -> bool:
    """Return True if process ``pid`` is alive and its command line is that of a qmd MCP server."""
    if pid <= 0:
        return False
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, PermissionError, OverflowError):
        return False
    return looks_like_server(_command_line(pid))


def _lives(pid: int) -> bool:
    """Return True if a process has not ended. An ending process loses its command line a moment earlier."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as stream:
            return stream.read().rpartition(")")[2].split()[0] not in "ZX"
    except (OSError, IndexError):
        return not os.path.isdir("/proc/self")


def looks_like_server(command_line: str) -> bool:
    """Return True if a command line has a bare ``qmd`` (or a path that ends in one) and ``mcp``."""
    return bool(_QMD.search(command_line) and _MCP.search(command_line))


def _command_line(pid: int) -> str:
    """Return the words of a process's command line; empty if it cannot be read, as a process's that
    has ended cannot.
    """
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as stream:
            return stream.read().replace(b"\0", b" ").decode("utf-8", "replace").strip()
    except OSError:
        if os.path.isdir("/proc/self"):
            return ""
    listed = subprocess.run(  # noqa: S603  # a number, no shell
        ["/bin/ps", "-p", str(pid), "-o", "args="], capture_output=True, text=True, timeout=5, check=False
    )
    return listed.stdout.strip()


def _recorded(files: Files) -> int:
    try:
        with open(files.pid, encoding="ascii", errors="replace") as stream:
            digits = stream.read(32).strip()
    except OSError:
        return 0
    return int(digits) if digits.isdecimal() else 0


def _forget(files: Files) -> None:
    with contextlib.suppress(FileNotFoundError):
        os.unlink(files.pid)


def _packed(settings: Settings) -> dict[str, str]:
    names = ("config_path", "database", "index", "config_dir", "cache_dir")
    packed = {name: str(getattr(settings, name)) for name in names}
    packed |= {"egress": _named(settings.egress), "fence": _named(settings.fence)}
    return {**packed, "brain": settings.brain.root if settings.brain else ""}
