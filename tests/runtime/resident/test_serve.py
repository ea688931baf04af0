from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from core.config import load
from core.errors import Refused
from core.files import FileLock
from core.home import Home, make_private
from runtime.asking.request import Request
from runtime.resident import client, control
from runtime.resident.answer import answer
from runtime.resident.roles import Asking
from runtime.resident.server import Server, resident
from tests.conftest import Brain
from tests.runtime.index_fixture import Shelf
from tests.runtime.resident.conftest import NoModel, Running, Serve
from tests.waiting import until


@pytest.fixture
def shelf(home: Home) -> Shelf:
    shelf = Shelf(home)
    make_private(os.path.dirname(home.socket))  # not the home's own folder where that has a long path
    shelf.put("brain", "a.md", "The walrus swam to the harbour.", session_id="s1", source="claude")
    shelf.put("brain", "b.md", "A lamp by the river.", session_id="s2", source="claude")
    return shelf


@pytest.fixture
def serving(serve: Serve) -> Running:
    return serve()


def ask(brain: Brain, *words: str, code: int = 0) -> dict[str, Any]:
    done = brain("ask", "--json", *words)
    assert done.returncode == code, done.stdout + done.stderr
    envelope: dict[str, Any] = json.loads(done.stdout)
    return envelope


def found(shelf: Shelf, question: str = "walrus", **options: Any) -> tuple[bool, list[str]]:
    """Return whether the resident process answered, and the titles."""
    envelope, warm = answer(shelf.home, shelf.config, question, Request(literal=True, **options), {})
    return warm, [hit["title"] for hit in envelope["hits"]]


def last_row(home: Home) -> dict[str, Any]:
    row: dict[str, Any] = json.loads(Path(home.usage).read_text().splitlines()[-1])
    return row


def without_time(envelope: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in envelope.items() if name != "took_ms"}


def test_a_warm_answer_is_the_cold_one(shelf: Shelf, brain: Brain, serve: Serve) -> None:
    questions = (("walrus",), ("--explain", "-n", "1", "river lamp"), ("--mode", "time", "walrus"), ("--", "-–walrus?"))
    cold = [ask(brain, *words) for words in questions]
    assert "warm" not in last_row(shelf.home)
    serve()
    for words, expected in zip(questions, cold, strict=True):
        assert without_time(ask(brain, *words)) == without_time(expected)
        assert last_row(shelf.home)["warm"] is True
    assert ask(brain, "unheardof", code=67)["error"] == "no_results"
    assert last_row(shelf.home)["warm"] is True
    assert brain("ask", "walrus").stdout.count("walrus") >= 1


def test_a_batch_and_an_explanation_are_asked_of_it_too(shelf: Shelf, serving: Running, brain: Brain) -> None:
    path = Path(shelf.home.path("questions"))
    path.write_text("walrus\nunheardof\nriver lamp\n\n")
    answers = [json.loads(line) for line in brain("ask", "--batch", path).stdout.splitlines()]
    assert [len(each.get("hits", [])) for each in answers] == [1, 0, 1, 0]
    assert answers[3]["error"] == "bad_query"
    assert control.status(shelf.home)["roles"]["ask"]["answered"] == 3
    assert brain("explain", "--hit", "a", "walrus").returncode == 0
    assert control.status(shelf.home)["roles"]["ask"]["answered"] == 4


def test_what_is_written_meanwhile_is_found_at_once(shelf: Shelf, serving: Running) -> None:
    assert found(shelf, "octopus") == (True, [])
    shelf.put("brain", "c.md", "An octopus came by.", session_id="s3", source="claude")
    assert found(shelf, "octopus") == (True, ["c"])
    os.replace(shelf.home.index, shelf.home.index + ".old")
    for end in ("-wal", "-shm"):
        if os.path.exists(shelf.home.index + end):
            os.replace(shelf.home.index + end, shelf.home.index + ".old" + end)
    other = Shelf(shelf.home)
    other.put("brain", "d.md", "A squid came by.", session_id="s4", source="claude")
    assert found(shelf, "squid") == (True, ["d"])


def test_a_bad_question_is_refused_warm_as_cold(shelf: Shelf, serving: Running, brain: Brain) -> None:
    for words in (("echo `x`",), ("-c", "nowhere", "walrus"), ("--strict", "--mode", "vec", "x")):
        assert brain("ask", "--json", *words).returncode == 64


def test_another_version_or_environment_is_not_answered_for(shelf: Shelf, serving: Running) -> None:
    def asked(**changes: Any) -> dict[str, Any]:
        caller = client.caller(shelf.home) | changes
        message = {"op": "ask", "question": "walrus", "request": {}, "caller": caller}
        return _say(shelf.home, json.dumps(message).encode() + b"\n")

    for name, value in (("version", "9"), ("zone", 1), ("code", "/elsewhere"), ("inbox", "/other"), ("folder", "/u")):
        assert asked(**{name: value})["error"] == "refused"
    assert asked()["ok"]


def _say(home: Home, data: bytes) -> dict[str, Any]:
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(10)
        connection.connect(home.socket)
        connection.sendall(data)
        received = b""
        while part := connection.recv(1 << 16):
            received += part
    reply: dict[str, Any] = json.loads(received) if received else {}
    return reply


@pytest.mark.parametrize(
    "data",
    [
        b"\n",
        b"[]\n",
        b"{}\n",
        b'{"op":7}\n',
        b'{"op":"ask"}\n',
        b"\xff\xfe\n",
        b"[" * 60_000 + b"\n",
        b"x" * 70_000 + b"\n",
    ],
)
def test_nonsense_is_answered_or_dropped_and_harms_no_later_question(
    shelf: Shelf, serving: Running, data: bytes
) -> None:
    try:
        said = _say(shelf.home, data)
        assert not said or (said["ok"], said["exit_code"] < 99) == (False, True)
    except OSError:
        assert len(data) > 65_536  # it stopped listening
    assert found(shelf)[0]


def test_the_socket_and_its_folder_are_the_users_alone(shelf: Shelf, serving: Running) -> None:
    path = shelf.home.socket
    assert os.lstat(path).st_mode & 0o777 == 0o600
    assert os.stat(os.path.dirname(path)).st_mode & 0o777 == 0o700


def test_a_home_with_a_long_path_gets_a_short_socket(tmp_path: Path, unsignalled: None) -> None:
    home = Home(str(tmp_path / ("long" * 50)))
    path = home.socket
    assert len(os.fsencode(path)) <= 100
    assert path != Home(str(tmp_path / ("lang" * 50))).socket
    home.make()
    shelf = Shelf(home)
    shelf.put("brain", "a.md", "The walrus swam.", session_id="s1", source="claude")
    server = Server(home, [Asking(home, NoModel({}, 0, 1.0))], memory_bytes=sys.maxsize)
    server.end("at once")
    assert server.run() == "at once"
    assert not os.path.exists(path)
    os.rmdir(os.path.dirname(path))


def test_a_folder_that_is_open_to_others_is_refused(shelf: Shelf) -> None:
    folder = os.path.dirname(shelf.home.socket)
    os.chmod(folder, 0o755)  # that it is refused is what is tested
    with pytest.raises(Refused):
        Server(shelf.home, [], idle_s=0.0).run()
    os.chmod(folder, 0o700)


@contextlib.contextmanager
def listening(home: Home, talk: Callable[[socket.socket], object]) -> Iterator[None]:
    """Have a stranger listen on the brain's socket and answer one caller."""
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(home.socket)
    listener.listen(1)

    def run() -> None:
        connection, _ = listener.accept()
        with connection:
            talk(connection)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        yield
    finally:
        listener.close()
        thread.join(10)


_SAYS = {
    "garbage": b"\xff\xfe garbage\n",
    "another protocol": b"HTTP/1.1 200 OK\r\n\r\n",
    "no object": b"[1,2]\n",
    "a failure": b'{"schema":1,"ok":false,"error":"internal"}\n',
    "another question's answer": json.dumps({"schema": 1, "ok": True, "query": "lamp", "hits": []}).encode() + b"\n",
    "hits that are none": json.dumps(
        {"schema": 1, "ok": True, "query": "walrus", "route": {"mode": "lex", "reason": ""}, "took_ms": 1,
         "freshness": {}, "hits": [{"rank": 1}]}
    ).encode() + b"\n",
    "half an answer": b'{"schema":1,',
    "nothing": b"",
    "without end": b"x" * (5 << 20),
}  # fmt: skip


@pytest.mark.parametrize("what", _SAYS)
def test_an_answer_is_found_without_a_foreign_process_that_misbehaves(shelf: Shelf, what: str) -> None:
    def talk(connection: socket.socket) -> None:
        try:
            connection.recv(1 << 16)
            connection.sendall(_SAYS[what])
        except OSError:
            return  # the caller had heard enough

    with listening(shelf.home, talk):
        assert found(shelf) == (False, ["a"])


def test_a_silent_process_costs_half_of_the_time_limit(shelf: Shelf) -> None:
    done = threading.Event()
    with listening(shelf.home, lambda _: done.wait(20)):
        try:
            assert found(shelf, timeout_s=8.0) == (False, ["a"])
        finally:
            done.set()


def test_a_socket_that_nobody_listens_on_is_passed_over_and_taken_over(
    shelf: Shelf, brain: Brain, serve: Serve
) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(shelf.home.socket)
    assert ask(brain, "walrus")["hits"]
    assert last_row(shelf.home)["warm"] is False
    running = serve()
    assert found(shelf)[0]
    running.end()
    assert not os.path.lexists(shelf.home.socket)


def test_a_file_in_the_sockets_place_is_not_talked_to(shelf: Shelf) -> None:
    Path(shelf.home.socket).write_text("no socket")
    assert client.call(shelf.home, {"op": "status"}, 1.0) is None
    assert not control.status(shelf.home)["running"]


def set_serve(shelf: Shelf, value: str) -> None:
    """Write ``ask.serve`` into the home's own configuration."""
    config = Path(load(shelf.home).path).read_text()
    assert config.count("\nask:\n") == 1
    Path(shelf.home.path("collections.yml")).write_text(config.replace("\nask:\n", f"\nask:\n  serve: {value}\n"))


def test_where_it_is_off_nobody_is_asked(shelf: Shelf, serving: Running, brain: Brain) -> None:
    set_serve(shelf, "off")
    assert ask(brain, "walrus")["hits"]
    assert "warm" not in last_row(shelf.home)


def test_one_serves_a_home_and_the_second_ends(shelf: Shelf, serving: Running, brain: Brain) -> None:
    done = brain("serve")
    assert done.returncode == 70, done.stderr
    assert f"brain serve runs already for this home (process {os.getpid()})" in done.stderr
    assert found(shelf)[0]


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"idle_s": 0.01, "memory_bytes": sys.maxsize}, "idle"),
        ({"memory_bytes": 1 << 20}, "it takes more memory than it may"),
    ],
)
def test_it_ends_by_itself(shelf: Shelf, unsignalled: None, given: dict[str, Any], why: str) -> None:
    server = Server(shelf.home, [Asking(shelf.home, NoModel({}, 0, 1.0))], **given)
    assert server.run() == why
    assert not os.path.lexists(shelf.home.socket)
    assert control.holder(shelf.home) is None


def test_it_ends_where_its_socket_was_taken_away(shelf: Shelf, serving: Running) -> None:
    os.unlink(shelf.home.socket)
    serving.thread.join(20)
    assert serving.why == "its socket is gone"


def test_a_program_starts_asks_looks_at_and_ends_it(shelf: Shelf, brain: Brain) -> None:
    started = json.loads(brain("serve", "--start", "--json").stdout)
    try:
        pid = started["pid"]
        assert started["started"] is True
        again = json.loads(brain("serve", "--start", "--json").stdout)
        assert (again["started"], again["pid"]) == (False, pid)
        assert ask(brain, "walrus")["hits"]
        assert last_row(shelf.home)["warm"] is True
        report = json.loads(brain("serve", "--status", "--json").stdout)
        assert report["roles"]["ask"]["answered"] == 1
        assert 0 < report["memory_bytes"] < report["memory_limit_bytes"]
        children = psutil.Process(pid).children(recursive=True)
    finally:
        ended = json.loads(brain("serve", "--stop", "--json").stdout)
    assert (ended["stopped"], ended["pid"]) == (True, pid)
    _gone, alive = psutil.wait_procs([*children], timeout=20)
    assert not alive
    assert resident(pid) == 0
    assert json.loads(brain("serve", "--stop", "--json").stdout)["stopped"] is False
    assert json.loads(brain("serve", "--status", "--json").stdout)["running"] is False


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_no_signal_leaves_its_model_process_behind(shelf: Shelf, brain: Brain, number: signal.Signals) -> None:
    pid = json.loads(brain("serve", "--start", "--json").stdout)["pid"]
    family = [psutil.Process(pid)]
    family += until(lambda: family[0].children(recursive=True))
    assert len(family) == 2, "the model's process was not started"
    os.kill(pid, number)
    _gone, alive = psutil.wait_procs(family, timeout=30)
    assert not alive
    assert ask(brain, "walrus")["hits"]
    assert os.path.lexists(shelf.home.socket) is (number == signal.SIGKILL)


def test_it_is_started_by_a_question_where_that_is_configured(
    shelf: Shelf, brain: Brain, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("BRAIN_SERVE")
    set_serve(shelf, "on-demand")
    assert ask(brain, "walrus")["hits"]
    assert (last_row(shelf.home)["started"]) is True
    try:
        until(lambda: control.status(shelf.home)["running"])
        assert ask(brain, "walrus")["hits"]
        assert last_row(shelf.home)["warm"] is True
    finally:
        control.stop(shelf.home)
    assert ask(brain, "walrus")["hits"]
    assert last_row(shelf.home)["started"] is False, "within a minute it is not tried again"


def test_without_an_index_there_is_nothing_to_serve(home: Home, brain: Brain) -> None:
    assert brain("serve").returncode == 65
    assert brain("serve", "--start").returncode == 99


def test_options_that_exclude_each_other_are_refused(home: Home, brain: Brain) -> None:
    for words in (("--start", "--stop"), ("--stop", "--idle", "5"), ("--json",), ("--idle", "0"), ("--memory", "x")):
        assert brain("serve", *words).returncode == 64


def test_a_process_that_ended_before_the_first_look_was_stopped(
    shelf: Shelf, serving: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    call = client.call

    def call_and_wait(home: Home, message: dict[str, Any], patience_s: float) -> dict[str, Any] | None:
        reply = call(home, message, patience_s)
        serving.thread.join(20)
        return reply

    monkeypatch.setattr(client, "call", call_and_wait)
    assert control.stop(shelf.home) == {"schema": 1, "ok": True, "stopped": True, "pid": os.getpid()}
    assert control.stop(shelf.home)["stopped"] is False


def test_too_little_memory_is_refused_with_the_least_amount(home: Home, brain: Brain) -> None:
    for words in (("--memory", "5"), ("--start", "--memory", "63")):
        done = brain("serve", *words)
        assert done.returncode == 64
        assert "--memory 64" in done.stderr


def test_a_process_that_holds_the_place_and_does_not_answer_is_ended(shelf: Shelf) -> None:
    code = (
        "import os, sys, time; sys.path.insert(0, sys.argv[1])\n"
        "from core.files import FileLock\n"
        "with FileLock(sys.argv[2] + '/serve.lock', 0):\n"
        "    open(sys.argv[2] + '/serve.pid', 'w').write(str(os.getpid()))\n"
        "    print('held', flush=True); time.sleep(60)\n"
    )
    root = os.path.dirname(os.path.dirname(os.path.abspath(client.__file__)).rstrip("/"))
    held = subprocess.Popen(
        [sys.executable, "-c", code, os.path.dirname(root), shelf.home.state], stdout=subprocess.PIPE
    )
    with held:
        assert held.stdout is not None
        held.stdout.readline()
        try:
            report = control.status(shelf.home)
            assert (report["running"], report["pid"]) == (False, held.pid)
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(control, "_STOP_S", 0.3)
                assert control.stop(shelf.home)["pid"] == held.pid
            assert held.wait(20) == -signal.SIGTERM
        finally:
            held.kill()
    with FileLock(os.path.join(shelf.home.state, "serve.lock"), wait_s=1):
        assert control.status(shelf.home)["running"] is False
