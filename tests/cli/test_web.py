"""``brain web``: one process on loopback, opened by its link, ended by a signal or by nobody looking."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from core import telemetry
from core.home import Home
from tests.conftest import ROOT, Brain
from tests.runtime.index_fixture import Shelf

CODE = "import sys; sys.path.insert(0, sys.argv.pop(1)); import brain; brain.entry()"


@contextmanager
def serving(*options: str) -> Iterator[tuple[subprocess.Popen[str], Any]]:
    """Run ``brain web`` on a free port; give the process, and what it printed."""
    words = [sys.executable, "-c", CODE, str(ROOT), "web", "--port", "0", "--json", *options]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            assert line, process.stderr.read() if process.stderr else ""
            yield process, json.loads(line)
        finally:
            process.kill()


def get(url: str, cookie: str = "") -> tuple[int, dict[str, str], str]:
    """Return (status, headers, body) of one request."""
    parts = urlsplit(url)
    connection = HTTPConnection(parts.hostname or "", parts.port, timeout=20)
    try:
        path = parts.path + (f"?{parts.query}" if parts.query else "")
        connection.request("GET", path, headers={"cookie": cookie} if cookie else {})
        answer = connection.getresponse()
        return answer.status, dict(answer.getheaders()), answer.read().decode()
    finally:
        connection.close()


def test_the_printed_link_opens_the_page_and_a_signal_ends_it(home: Home) -> None:
    Shelf(home).put("brain", "tide.md", "the tide table is kept", date=1_773_316_800)
    with serving() as (process, said):
        assert (said["ok"], said["pid"]) == (True, process.pid)
        assert urlsplit(said["url"]).hostname == "127.0.0.1"
        status, headers, _ = get(said["url"])
        cookie = headers["set-cookie"].partition(";")[0]
        assert status == 200
        place = said["url"].partition("?")[0]
        assert get(place)[0] == 401
        assert "tide" in get(f"{place}s/brain/tide.md", cookie)[2]
        assert "tide.md" in get(f"{place}search.json?q=tide", cookie)[2]
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0
    row = telemetry.last(home, "web")
    assert row is not None
    assert row["reason"] == "SIGTERM"


def test_the_browser_gets_a_link_that_works_once(home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Shelf(home)
    told, script = tmp_path / "told", tmp_path / "browser"
    script.write_text(f'#!/bin/sh\nprintf %s "$1" > {told}.part && mv {told}.part {told}\n')
    script.chmod(0o700)
    monkeypatch.setenv("BROWSER", f"{script} %s")
    with serving("--open") as (_, said):
        until = time.monotonic() + 30
        while not told.exists() and time.monotonic() < until:
            time.sleep(0.05)
        link = told.read_text()
        assert link != said["url"]
        assert [get(link)[0], get(link)[0], get(said["url"])[0]] == [200, 401, 200]


def test_it_ends_when_nobody_looks(home: Home) -> None:
    Shelf(home)
    with serving("--idle", "1") as (process, said):
        time.sleep(0.5)
        get(said["url"].partition("?")[0])  # who has no cookie does not look
        assert process.wait(30) == 0


def test_it_serves_another_home(home: Home, tmp_path: Path) -> None:
    del home
    other = Home(str(tmp_path / "other"))
    other.make()
    Shelf(other).put("brain", "tide.md", "the tide table", date=1_773_316_800)
    with serving("--home", other.root) as (_, said):
        cookie = get(said["url"])[1]["set-cookie"].partition(";")[0]
        assert get(f"{said['url'].partition('?')[0]}s/brain/tide.md", cookie)[0] == 200


@pytest.mark.parametrize(
    ("words", "fix"),
    [
        (("--host", "0.0.0.0"), "BRAIN_WEB_TOKEN"),
        (("--host", "nobody.invalid"), "BRAIN_WEB_TOKEN"),
        (("--port", "70000"), "brain web --help"),
        (("--home", "/nowhere/at/all"), "without --home"),
    ],
)
def test_what_cannot_be_served_says_why(brain: Brain, words: tuple[str, ...], fix: str) -> None:
    done = brain("web", *words)
    assert done.returncode == 64
    assert fix in done.stderr


def test_a_port_in_use_is_named(brain: Brain) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        done = brain("web", "--port", str(taken.getsockname()[1]))
    assert done.returncode == 64
    assert "is in use" in done.stderr
    assert "--port 0" in done.stderr


def test_a_page_does_not_load_the_sdk_of_mcp() -> None:
    code = "import sys, web.server; print([name for name in ('mcp', 'numpy', 'onnxruntime') if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
