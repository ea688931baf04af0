"""The resident process watches on request, and is still the only one of its home."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from cli.bring_in.watch import COMMAND, run
from cli.context import Context
from cli.spec import parse
from core.config import load
from core.errors import LOCKED, LockContention
from core.files import FileLock
from core.home import Home
from runtime.resident import client, control, roles, starting
from runtime.resident.roles import Watching
from runtime.resident.server import LOCK, Server
from runtime.watching.watching import LONGEST_STOP_S, Watcher
from tests.conftest import Brain
from tests.waiting import until

MOST_BYTES = 80 << 20


def said(brain: Brain, *words: str, code: int = 0) -> dict[str, Any]:
    done = brain(*words, "--json")
    assert done.returncode == code, done.stdout + done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def role(home: Home) -> dict[str, Any]:
    found: dict[str, Any] = control.status(home)["roles"]["watch"]
    return found


def ended(home: Home, family: list[psutil.Process]) -> None:
    assert control.holder(home) is None
    _gone, alive = psutil.wait_procs(family, timeout=30)
    assert not alive
    assert not os.path.lexists(home.socket)


@pytest.fixture
def watched(home: Home, brain: Brain) -> Iterator[Home]:
    yield home
    control.stop(home)


def test_one_process_watches_answers_and_ends(watched: Home, brain: Brain) -> None:
    report = said(brain, "watch", "--start")
    assert (report["watching"], report["started"]) == (True, True)
    pid = report["pid"]
    again = said(brain, "watch")
    assert (again["pid"], again["started"], again["watching"]) == (pid, False, True)
    assert said(brain, "serve", "--start")["pid"] == pid
    until(lambda: role(watched)["last"])
    assert brain("serve").returncode == 70
    assert role(watched)["last"]["exit_code"] == 0

    said(brain, "inbox", "the walrus swam to the harbour at noon")
    found = said(brain, "ask", "walrus harbour")
    assert found["hits"]
    row = json.loads(Path(watched.usage).read_text().splitlines()[-1])
    assert row["warm"] is True, "the process that watches answers as well"

    process = psutil.Process(pid)
    family = [process, *process.children(recursive=True)]
    stopped = said(brain, "serve", "--stop")
    assert (stopped["stopped"], stopped["pid"]) == (True, pid)
    ended(watched, family)
    assert said(brain, "watch", "--status")["watching"] is False


def test_what_is_written_is_indexed_without_being_asked_for(watched: Home, brain: Brain, tmp_path: Path) -> None:
    folder = Path(load(watched).collections["kb-wiki"].path)
    folder.mkdir(parents=True)
    said(brain, "watch", "--start")
    until(lambda: role(watched)["last"] and str(folder) in role(watched)["watched"])
    (folder / "lamp.md").write_text("# Lamp\n\nThe lighthouse keeper paints on Sundays.\n")
    until(lambda: brain("ask", "lighthouse keeper").returncode == 0)


def test_a_process_that_serves_takes_the_role_and_gives_it_up(watched: Home, brain: Brain) -> None:
    assert brain("index").returncode == 0
    pid = said(brain, "serve", "--start")["pid"]
    assert role(watched)["watching"] is False
    assert said(brain, "watch")["pid"] == pid
    assert role(watched)["watching"] is True
    assert said(brain, "watch", "--stop")["stopped"] is True
    assert role(watched)["watching"] is False
    assert said(brain, "watch", "--stop")["stopped"] is False
    assert said(brain, "serve", "--start", "--watch")["pid"] == pid
    assert role(watched)["watching"] is True


def test_configuration_turns_it_on(watched: Home, brain: Brain) -> None:
    Path(watched.path("collections.yml")).write_text(Path(load(watched).path).read_text() + "\nserve: {watch: true}\n")
    said(brain, "serve", "--start")
    assert role(watched)["watching"] is True


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_in_the_foreground_it_says_what_was_done_when_it_is_ended(home: Home, number: signal.Signals) -> None:
    child = subprocess.Popen(
        [*starting.command(), "watch", "--json"],
        stdout=subprocess.PIPE,
        env={**os.environ, "BRAIN_HOME": home.root},
    )
    try:
        until(lambda: control.status(home)["running"])
        until(lambda: role(home)["index"])
        child.send_signal(number)
        out, _ = child.communicate(timeout=30)
    finally:
        child.kill()
    report = json.loads(out)
    assert (report["ok"], report["reason"]) == (True, number.name)
    assert report["index"] >= 1
    assert child.returncode == 0
    ended(home, [])


def test_a_process_that_watches_does_not_end_idle(home: Home, unsignalled: None) -> None:
    home.make()
    watching = Watching(home, [sys.executable, "-c", "pass"], taken=True)
    server = Server(home, [watching], idle_s=0.01, memory_bytes=sys.maxsize)  # this process runs other tests, too
    looked = 0

    class Looking(Watching):
        def tick(self, now: float) -> None:
            nonlocal looked
            looked += 1
            if looked == 3:
                watching.stop()

    server._roles = [watching, Looking(home, [])]
    assert server.run() == "idle"
    assert looked >= 3, "it stayed as long as it watched"


def test_a_process_that_does_not_answer_is_not_described(home: Home, brain: Brain) -> None:
    home.make()
    with FileLock(os.path.join(home.state, LOCK), 0):
        Path(home.state, "serve.pid").write_text("4711")
        for words in (("watch", "--stop"), ("watch",)):
            refused = said(brain, *words, code=LOCKED)
            assert refused["fix"] == "brain serve --stop"
            assert "4711" in refused["message"]
        report = said(brain, "watch", "--status")
        assert (report["pid"], report["watching"]) == (4711, None)
        assert "process 4711 serves this home and does not answer" in brain("watch", "--status").stdout
    assert said(brain, "watch", "--stop")["stopped"] is False
    assert said(brain, "watch", "--status")["watching"] is False


def test_a_process_that_ends_when_it_was_just_asked_is_asked_again(
    home: Home, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    gone = {"schema": 1, "ok": True, "running": False, "pid": None, "socket": home.socket, "started": False}
    role = {"watching": True, "watched": [], "index": 0, "embed": 0, "failed": 0, "last": None, "problems": {}}
    here = {**gone, "running": True, "pid": 7, "roles": {"watch": role}}
    answers = iter((gone, here))
    monkeypatch.setattr(control, "watch", lambda _: next(answers))
    assert run(parse(COMMAND, ["--json"]), Context({**os.environ, "BRAIN_HOME": home.root})) == 0
    assert json.loads(capsys.readouterr().out)["pid"] == 7


def test_while_folders_are_looked_through_others_are_answered(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    home.make()
    monkeypatch.setattr(roles, "_FOLLOW_S", 0.0)
    looked, go_on = threading.Event(), threading.Event()

    def endless(_: Watcher) -> None:
        looked.set()
        assert go_on.wait(60)

    monkeypatch.setattr(Watcher, "tick", endless)
    role = Watching(home, [sys.executable, "-c", "pass"], taken=True)
    role.start()
    try:
        assert looked.wait(60)
        role.tick(0.0)  # the thread that lets callers in goes on
        assert role.status()["watching"] is True
    finally:
        go_on.set()
        role.stop()
    assert role.status() == {"watching": False}
    assert role.done()["index"] == 0


def test_nothing_is_started_by_a_watch_that_ends(home: Home, tmp_path: Path) -> None:
    watcher = Watcher(home, [sys.executable, "-c", "import time; time.sleep(60)"])
    before = set(psutil.Process().children())
    watcher._files.at_once()
    watcher.ending.set()
    watcher.tick()
    assert watcher.counts["index"] == 0
    watcher._run(("index",), 0.0)  # it was about to when that was said
    assert watcher.status()["running"] is None
    assert not set(psutil.Process().children()) - before


def test_a_process_that_does_not_say_who_it_is_is_not_waited_for(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    home.make()
    asked: list[str] = []

    def silent(_: Home, message: dict[str, Any], patience_s: float) -> None:
        assert patience_s < control._PATIENCE_S
        asked.append(message["op"])

    monkeypatch.setattr(client, "call", silent)
    with FileLock(os.path.join(home.state, LOCK), 0):
        for told in (control.watch, control.unwatch):
            with pytest.raises(LockContention):
                told(home)
    assert asked == ["status", "status"]


def test_a_watch_that_gets_no_thread_leaves_none(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    home.make()
    stopped: list[Watcher] = []
    monkeypatch.setattr(Watcher, "start", lambda _: None)
    monkeypatch.setattr(Watcher, "stop", lambda self: stopped.append(self))

    really = threading.Thread.start

    def full(thread: threading.Thread) -> None:
        if type(thread) is threading.Thread:  # not those of the library that listens, which has some from its beginning
            raise RuntimeError("can't start new thread")
        really(thread)

    role = Watching(home, [], taken=True)
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", full)
        with pytest.raises(RuntimeError):
            role.start()
    assert len(stopped) == 1
    assert role.status() == {"watching": False}


def test_giving_up_a_watch_is_waited_for_as_long_as_it_may_take() -> None:
    assert control._PATIENCE_S > LONGEST_STOP_S


def test_a_process_of_another_version_is_not_asked_to_watch(watched: Home, brain: Brain) -> None:
    said(brain, "watch", "--start")
    assert said(brain, "watch", "--stop")["stopped"]
    done = brain("watch", "--json", env={"BRAIN_INBOX_DIR": watched.path("elsewhere")})
    assert done.returncode == 71, done.stdout
    assert json.loads(done.stdout)["fix"] == "brain serve --stop"
    assert role(watched)["watching"] is False


def test_teardown_ends_it_and_proves_it(home: Home, brain: Brain) -> None:
    pid = said(brain, "watch", "--start")["pid"]
    process = psutil.Process(pid)
    family = [process, *process.children(recursive=True)]
    report = said(brain, "teardown", "--yes", "--keep-corpus")
    assert report["left"] == []
    ended(home, family)


def test_nothing_of_what_watching_needs_is_loaded_before_it_watches(home: Home) -> None:
    code = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from core.home import Home\nfrom runtime.resident.roles import Watching\n"
        "Watching(Home(sys.argv[2]), []); sys.exit('watchdog' in sys.modules or 'numpy' in sys.modules)"
    )
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(client.__file__))))
    assert subprocess.run([sys.executable, "-c", code, root, home.root], check=False).returncode == 0


@pytest.mark.skipif(sys.platform != "linux", reason="resident memory is counted otherwise elsewhere")
def test_an_idle_watch_takes_little_memory(watched: Home, brain: Brain) -> None:
    pid = said(brain, "watch", "--start")["pid"]
    until(lambda: role(watched)["last"] and role(watched)["running"] is None)
    process = psutil.Process(pid)
    family = [process, *process.children(recursive=True)]
    assert sum(each.memory_info().rss for each in family) <= MOST_BYTES
