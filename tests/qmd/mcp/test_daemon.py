"""The server in the background: one an index, found again, ended by its name."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from core.home import Home
from qmd.mcp import daemon
from qmd.settings import Settings, locate, of_brain
from runtime.asking import agents, withholding
from tests.qmd.mcp.test_http import JSON, SEARCH
from tests.qmd.mcp.world import Site, World, alive, free_port
from tests.waiting import until


@pytest.fixture
def ending(world: World) -> Iterator[World]:
    """A world that ends its background servers with the test."""
    yield world
    for file in world.cache.glob("mcp*.pid"):
        pid = int(file.read_text())
        if daemon.is_server(pid):
            os.kill(pid, signal.SIGKILL)


def start(world: World, port: int | None = None) -> tuple[int, int, str]:
    """(pid, port, what it said) of a background server."""
    port = port or free_port()
    done = world.run("--http", "--daemon", "--port", str(port))
    assert done.returncode == 0, done.stderr
    found = re.search(r"\(PID (\d+)\)", done.stdout)
    assert found
    return int(found[1]), port, done.stdout


def requests(port: int, world: World) -> Site:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return Site(port, process, world.cache / "mcp.log")


def test_it_starts_despite_a_stale_pid_file_serves_detached_with_a_new_private_log_and_stops(ending: World) -> None:
    log = ending.cache / "mcp.log"
    log.write_text("of an earlier run")
    (ending.cache / "mcp.pid").write_text("999999999")
    pid, port, said = start(ending)
    assert said == f"Started on http://localhost:{port}/mcp (PID {pid})\nLogs: {ending.cache}/mcp.log\n"
    assert (ending.cache / "mcp.pid").read_text() == str(pid)
    assert os.getsid(pid) == pid, "no terminal and no shell ends it"
    assert (log.stat().st_mode & 0o777, "earlier" in log.read_text()) == (0o600, False)
    again = ending.run("--http", "--daemon", "--port", str(free_port()))
    assert (again.returncode, again.stdout) == (1, "")
    assert again.stderr == f"Already running (PID {pid}). Run 'qmd mcp stop' first.\n"
    # It listens when the start command ends.
    status, text = requests(port, ending).request("POST", "/query", SEARCH, JSON)
    assert (status, "knots" in text) == (200, True)
    stopped = ending.run("stop")
    assert (stopped.returncode, stopped.stdout) == (0, f"Stopped QMD MCP server (PID {pid}).\n")
    assert not alive(pid)
    assert not (ending.cache / "mcp.pid").exists()
    assert "Shutting down (SIGTERM)..." in log.read_text()


def test_stopping_what_does_not_run_is_no_error(ending: World) -> None:
    done = ending.run("stop")
    assert (done.returncode, done.stdout, done.stderr) == (0, "Not running (no PID file).\n", "")


@pytest.mark.parametrize("content", ["999999999", "", "abc", "-1", "0", "1", "99999999999999999999999"])
def test_a_stale_pid_file_is_cleaned_up(world: World, content: str, capsys: pytest.CaptureFixture[str]) -> None:
    (world.cache / "mcp.pid").write_text(content)
    assert daemon.stop(world.settings) == 0
    assert capsys.readouterr().out == "Cleaned up stale PID file (server was not running).\n"
    assert not (world.cache / "mcp.pid").exists()


def test_a_pid_that_is_someone_elses_now_is_left_alone(ending: World) -> None:
    other = subprocess.Popen(["sleep", "60"])
    try:
        (ending.cache / "mcp.pid").write_text(str(other.pid))
        assert ending.run("stop").stdout.startswith("Cleaned up stale PID file")
        assert other.poll() is None
    finally:
        other.kill()
        other.wait()


def test_of_several_starts_at_once_one_wins(ending: World) -> None:
    with ThreadPoolExecutor(3) as pool:
        done = list(pool.map(lambda port: ending.run("--http", "--daemon", "--port", str(port)), _ports(3)))
    assert sorted(each.returncode for each in done) == [0, 1, 1]
    assert daemon.running(ending.settings) > 0


def _ports(count: int) -> list[int]:
    ports: set[int] = set()
    while len(ports) < count:
        ports.add(free_port())
    return sorted(ports)


def test_a_server_that_cannot_start_says_why_and_leaves_nothing(ending: World) -> None:
    with ending.http() as site:
        done = ending.run("--http", "--daemon", "--port", str(site.port))
    assert (done.returncode, done.stdout) == (1, "")
    assert f"Port {site.port} already in use." in done.stderr
    assert not (ending.cache / "mcp.pid").exists()


def test_a_server_that_ends_by_itself_takes_its_pid_file_along(ending: World) -> None:
    pid, _, _ = start(ending)
    os.kill(pid, signal.SIGTERM)
    until(lambda: not alive(pid))
    until(lambda: not (ending.cache / "mcp.pid").exists(), 5)


def test_each_named_index_has_files_of_its_own(world: World) -> None:
    default, named = daemon.Files(locate()), daemon.Files(locate("work"))
    assert (Path(default.pid).name, Path(default.log).name) == ("mcp.pid", "mcp.log")
    assert (Path(named.pid).name, Path(named.log).name) == ("mcp-work.pid", "mcp-work.log")


@pytest.mark.parametrize(
    ("line", "is_one"),
    [
        ("node /opt/qmd/dist/cli/qmd.js mcp --http --port 8181", True),
        ("/usr/bin/qmd mcp --http", True),
        ("python -m qmd mcp --http", True),
        ("python /usr/bin/brain qmd mcp --http", True),
        ("qmd update", False),
        ("vim qmd-notes.md mcp", False),
        ("qmdx mcp", False),
        ("sleep 60", False),
        ("", False),
    ],
)
def test_a_server_is_known_by_its_command_line(line: str, is_one: bool) -> None:
    assert daemon.looks_like_server(line) is is_one


def test_a_process_gets_its_settings_from_the_one_that_started_it(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = Settings("/c/index.yml", "/d/index.sqlite", "work", "/c", "/d")
    monkeypatch.setenv("QMD_MCP_SETTINGS", json.dumps(daemon._packed(settings)))
    resumed = daemon.resume()
    assert (resumed.database, resumed.index, resumed.brain) == ("/d/index.sqlite", "work", None)
    assert (resumed.egress, resumed.fence) == (None, None)
    assert "QMD_MCP_SETTINGS" not in os.environ


def test_what_may_leave_is_the_same_in_the_background(monkeypatch: pytest.MonkeyPatch, home: Home) -> None:
    settings = of_brain(home, withholding.shown_to_agents, agents.answer)
    monkeypatch.setenv("QMD_MCP_SETTINGS", json.dumps(daemon._packed(settings)))
    resumed = daemon.resume()
    assert (resumed.egress, resumed.fence) == (withholding.shown_to_agents, agents.answer)
    assert resumed.brain is not None
    assert resumed.brain.root == home.root
