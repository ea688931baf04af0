"""A real browser's history is read, Chromium's and Firefox's while they are open."""

from __future__ import annotations

import http.server
import os
import re
import shutil
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import apsw
import pytest

from core.home import Home
from ingest.pipeline.run import run

pytestmark = pytest.mark.long

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "microsoft-edge", "brave-browser")
_MAC = "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"
# The pages go on by themselves, so that nothing has to drive the browser.
_ON = "<script>setTimeout(() => {{ location.href = '{}' }}, 1000)</script>"
_PAGES = {
    "/start": "<title>Start page</title>" + _ON.format("/moved?token=sekrit"),
    "/tables": "<title>B-tree tables</title>" + _ON.format("/search?q=wal"),
    "/search": "<title>Results</title>" + _ON.format("/log"),
    "/log": "<title>Write-ahead log</title>",
}


class _Site(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        address = urlsplit(self.path)
        if address.path == "/moved":
            self.send_response(302)
            self.send_header("Location", f"/tables?session={parse_qs(address.query)['token'][0]}")
            self.end_headers()
            return
        page = _PAGES.get(address.path)
        self.send_response(200 if page else 404)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.end_headers()
        self.wfile.write((page or "<title>Nothing</title>").encode())

    def log_message(self, *_: object) -> None:
        """Log nothing."""


@pytest.fixture
def site() -> Iterator[str]:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Site)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture
def browser() -> str:
    found = next(filter(None, map(shutil.which, _NAMES)), _MAC if os.path.exists(_MAC) else None)
    if found is None:
        pytest.skip(f"no browser of Chromium's family is installed: {', '.join(_NAMES)}")
    return found


def until(met: Callable[[], bool], seconds: float = 60) -> bool:
    deadline = time.monotonic() + seconds
    while not met():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.25)
    return True


def test_history_is_read_while_the_browser_is_open(home: Home, tmp_path: Path, site: str, browser: str) -> None:
    profile = tmp_path / "profile"
    words = [
        browser,
        "--headless=new",
        f"--user-data-dir={profile}",
        "--no-first-run",
        "--disable-gpu",
        "--no-proxy-server",
    ]
    words += ["--no-sandbox", "--disable-dev-shm-usage", "--password-store=basic", f"{site}/start"]
    with (tmp_path / "said").open("wb") as said, subprocess.Popen(words, stdout=said, stderr=said) as process:
        try:
            history = profile / "Default" / "History"
            assert until(history.is_file), (tmp_path / "said").read_text(encoding="utf-8", errors="replace")[-2000:]
            # It writes its history down in batches: what is there is taken until all of it is.
            assert until(lambda: "Write-ahead log" in ingested(home, profile)), ingested(home, profile)
            assert process.poll() is None, "the browser is still open"
            assert is_locked(str(history)), "and holds its history's lock"
        finally:
            process.terminate()
            process.wait(30)
    told = re.findall(r"- \d\d:\d\d (.*?) · 127.*\n +" + re.escape(site) + r"(\S+)\n", ingested(home, profile))
    assert told == [
        ("Start page", "/start"),
        ("B-tree tables", "/tables"),
        ("Results", "/search?q=wal"),
        ("Write-ahead log", "/log"),
    ]
    assert not any(b"sekrit" in path.read_bytes() for path in Path(home.root).rglob("*") if path.is_file())


def test_firefox_s_history_is_read_while_firefox_is_open(home: Home, tmp_path: Path, site: str) -> None:
    firefox = next(filter(None, map(shutil.which, ("firefox", "firefox-esr"))), None)
    if firefox is None:
        pytest.skip("no Firefox is installed")
    profile = tmp_path / "profile"
    profile.mkdir()
    words = [firefox, "--headless", "--no-remote", "--profile", str(profile), f"{site}/start"]
    environ = {**os.environ, "HOME": str(tmp_path), "MOZ_DISABLE_CONTENT_SANDBOX": "1"}
    with (tmp_path / "said").open("wb") as said, subprocess.Popen(words, stdout=said, stderr=said, env=environ) as one:
        try:
            assert until(lambda: "Write-ahead log" in ingested(home, profile)), (
                ingested(home, profile) + (tmp_path / "said").read_text(encoding="utf-8", errors="replace")[-2000:]
            )
            assert one.poll() is None, "the browser is still open"
        finally:
            one.terminate()
            one.wait(30)
    told = re.findall(r"- \d\d:\d\d (.*?) · 127.*\n +" + re.escape(site) + r"(\S+)\n", ingested(home, profile))
    assert told == [
        ("Start page", "/start"),
        ("B-tree tables", "/tables"),
        ("Results", "/search?q=wal"),
        ("Write-ahead log", "/log"),
    ]
    assert not any(b"sekrit" in path.read_bytes() for path in Path(home.root).rglob("*") if path.is_file())


def ingested(home: Home, profile: Path) -> str:
    """The days of a profile, as they now are."""
    run(home, "chrome", [str(profile)], trust_stat=True)
    folder = Path(home.path("chrome-history"))
    return "\n".join(path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.md")))


def is_locked(path: str) -> bool:
    connection = apsw.Connection(path, flags=apsw.SQLITE_OPEN_READONLY)
    try:
        connection.execute("select count(*) from visits").fetchall()
    except apsw.BusyError:
        return True
    finally:
        connection.close()
    return False
