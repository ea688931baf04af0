"""A question starts the resident process by itself where that helps, never where it harms, and waits for nothing."""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psutil
import pytest

from core import clock, telemetry
from core.home import Home, make_private
from runtime.resident import control, starting, thrift
from runtime.resident.encoder import MODEL_BYTES, Model
from runtime.resident.server import Server
from runtime.resident.thrift import Thrift
from tests.conftest import Brain
from tests.runtime.index_fixture import Shelf
from tests.waiting import until

# Of the machine that runs the tests nothing is known: it may be on battery.
SPARING = """
import sys
sys.path.insert(0, sys.argv.pop(1))
import psutil
from types import SimpleNamespace
psutil.sensors_battery = lambda: {battery}
psutil.virtual_memory = lambda: SimpleNamespace(available={available})
import brain; brain.entry()
"""


@pytest.fixture
def shelf(home: Home) -> Shelf:
    shelf = Shelf(home)
    make_private(os.path.dirname(home.socket))  # not the home's own folder where that has a long path
    shelf.put("brain", "a.md", "The walrus swam to the harbour.", session_id="s1", source="claude")
    return shelf


@pytest.fixture
def embedded(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> Iterator[Shelf]:
    """A home that says that it has vectors, on a machine that can spare the process."""
    for name in ("embedded", "embedded_at"):
        shelf.sql("INSERT INTO brain_state VALUES(?, ?)", f"{name}:{shelf.config.space}", clock.now())
    monkeypatch.delenv("BRAIN_SERVE")
    can_spare(monkeypatch, shelf)
    yield shelf
    control.stop(shelf.home)


def can_spare(
    monkeypatch: pytest.MonkeyPatch, shelf: Shelf, *, battery: str = "None", available: int = 8 << 30
) -> None:
    """Let the processes that a question starts believe that the machine is so."""
    code = SPARING.format(battery=battery, available=available)
    # The tests' own processes are forks of this code, so the program is started anew with it.
    path = Path(shelf.home.root, "sparing.py")
    path.write_text(code)
    monkeypatch.setattr(starting, "_CODE", code)


def ask(shelf: Shelf, *words: str, **environ: str) -> dict[str, Any]:
    """Ask by a process of its own, with the same code as the process that it starts; return its telemetry row."""
    code = (
        "import sys; sys.path.insert(0, sys.argv.pop(1))\n"
        "from runtime.resident import starting\n"
        "starting._CODE = open(sys.argv.pop(1)).read()\n"
        "import brain; brain.entry()"
    )
    root = str(Path(__file__).resolve().parents[3])
    done = subprocess.run(
        [sys.executable, "-c", code, root, f"{shelf.home.root}/sparing.py", "ask", "--json", *(words or ("walrus",))],
        env={**os.environ, **environ},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["hits"]
    row = telemetry.last(shelf.home, "ask")
    assert row is not None
    return row


def test_the_first_question_of_an_embedded_home_starts_it_and_the_next_is_answered_by_it(embedded: Shelf) -> None:
    assert ask(embedded)["started"] is True
    until(lambda: control.status(embedded.home)["running"])
    status = control.status(embedded.home)
    assert status["memory_limit_bytes"] == 250 << 20
    assert "thrift" in status["roles"]
    row = ask(embedded)
    assert row["warm"] is True
    assert "started" not in row
    assert control.status(embedded.home)["pid"] == status["pid"], "there is no second one"


def test_it_keeps_no_file_folder_or_terminal_of_the_question(embedded: Shelf, tmp_path: Path) -> None:
    with open(tmp_path / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        os.set_inheritable(lock.fileno(), True)
        root = str(Path(__file__).resolve().parents[3])
        code = Path(embedded.home.root, "sparing.py").read_text()
        child = subprocess.Popen(
            [sys.executable, "-c", code, root, "serve", "--auto", "--detached"], pass_fds=(lock.fileno(),), cwd=tmp_path
        )
    until(lambda: control.status(embedded.home)["running"])
    with open(tmp_path / "lock", "w") as again:
        fcntl.flock(again, fcntl.LOCK_EX | fcntl.LOCK_NB)
    process = psutil.Process(child.pid)
    assert process.cwd() == os.path.realpath(embedded.home.root)
    assert os.getsid(child.pid) == child.pid
    control.stop(embedded.home)
    child.wait(20)


def test_a_home_without_vectors_starts_none(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("BRAIN_SERVE")
    can_spare(monkeypatch, shelf)
    assert "started" not in ask(shelf)
    assert control.holder(shelf.home) is None


def test_the_environment_and_the_configuration_turn_it_off(embedded: Shelf) -> None:
    assert ask(embedded, BRAIN_SERVE="off")["started"] is False
    config = Path(embedded.home.path("collections.yml"))
    config.write_text("collections:\n  brain: {path: brain, trust: session}\nask: {serve: off}\n")
    assert "started" not in ask(embedded)
    assert control.holder(embedded.home) is None


def test_questions_start_one_a_minute(embedded: Shelf) -> None:
    assert ask(embedded)["started"] is True
    until(lambda: control.status(embedded.home)["running"])
    control.stop(embedded.home)
    assert ask(embedded)["started"] is False


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"battery": "SimpleNamespace(power_plugged=False)"}, "on battery"),
        ({"available": 1 << 29}, "less than 1024 MB of memory are available"),
    ],
)
def test_it_does_not_start_where_the_machine_cannot_spare_it(
    embedded: Shelf, monkeypatch: pytest.MonkeyPatch, given: dict[str, Any], why: str
) -> None:
    can_spare(monkeypatch, embedded, **given)
    assert ask(embedded)["started"] is True, "the new process is the one that looks"
    until(lambda: telemetry.last(embedded.home, "serve"))
    row = telemetry.last(embedded.home, "serve")
    assert row is not None
    assert (row["reason"], row["exit_code"]) == (why, 0)
    assert control.holder(embedded.home) is None
    left = os.stat(os.path.join(embedded.home.state, "serve.tried")).st_mtime + starting._AGAIN_S - time.time()
    assert 800 < left <= 900, "questions do not try again for 15 minutes"


@pytest.mark.parametrize("plugged", [True, None])
def test_a_battery_that_is_charged_or_unknown_is_no_obstacle(
    monkeypatch: pytest.MonkeyPatch, plugged: bool | None
) -> None:
    monkeypatch.setattr(psutil, "sensors_battery", lambda: SimpleNamespace(power_plugged=plugged), raising=False)
    monkeypatch.setattr(psutil, "virtual_memory", lambda: SimpleNamespace(available=8 << 30))
    assert thrift.obstacle() == ""
    monkeypatch.delattr(psutil, "sensors_battery")
    assert thrift.obstacle() == ""


def test_it_ends_when_the_machine_cannot_spare_it_any_more(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch, unsignalled: None
) -> None:
    monkeypatch.setattr(thrift, "obstacle", lambda: "on battery")
    role = Thrift()
    server = Server(shelf.home, [role], memory_bytes=sys.maxsize)
    role.end = server.end
    assert server.run() == "on battery"


def test_a_model_that_loads_is_not_ended_for_what_it_gives_back(shelf: Shelf, unsignalled: None) -> None:
    class Loading(Model):
        def settling(self) -> bool:
            return True

        def relieve(self, why: str) -> None:
            raise AssertionError(why)

    server = Server(shelf.home, [Loading({}, 0, 1.0)], idle_s=0.01, memory_bytes=1)
    assert server.run() == "idle"


def test_the_shipped_model_fits_into_what_an_unasked_process_may_take() -> None:
    assert MODEL_BYTES + (50 << 20) <= thrift.MEMORY_BYTES


def test_no_stale_process_answers_after_forget_rebuild_and_teardown(embedded: Shelf, brain: Brain) -> None:
    assert ask(embedded)["started"] is True
    until(lambda: control.status(embedded.home)["running"])
    embedded.put("brain", "b.md", "A lamp by the river.", session_id="s2", source="claude")
    assert ask(embedded, "river lamp")["warm"] is True
    done = brain("forget", "qmd://brain/b.md", "--yes")
    assert done.returncode == 0, done.stdout + done.stderr
    found = brain("ask", "--json", "river lamp")
    assert found.returncode == 67, found.stdout
    assert brain("rebuild").returncode == 0
    answer = brain("ask", "--json", "walrus")
    assert [hit["uri"] for hit in json.loads(answer.stdout)["hits"]] == ["qmd://brain/a.md"]
    done = brain("teardown", "--yes")
    assert done.returncode == 0, done.stdout + done.stderr
    assert control.holder(embedded.home) is None
