from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from core.processes import child

ROOT = Path(__file__).resolve().parents[3]


def _script(code: str, *words: str) -> list[str]:
    return [sys.executable, "-c", code, *words]


def _gone(pid: int, within_s: float = 10) -> bool:
    """Return True if a process ends (or is a zombie) within a while."""
    deadline = time.monotonic() + within_s
    while time.monotonic() < deadline:
        try:
            if psutil.Process(pid).status() == psutil.STATUS_ZOMBIE:
                return True
        except psutil.NoSuchProcess:
            return True
        time.sleep(0.02)
    return False


def _wait_for(file: Path, within_s: float = 20) -> str:
    deadline = time.monotonic() + within_s
    while time.monotonic() < deadline:
        if file.exists() and file.read_text().endswith("\n"):
            return file.read_text()
        time.sleep(0.02)
    raise AssertionError(f"{file} was not written")


# Starts two children, one in a session of its own and one in a group of its own, notes all pids, and sleeps.
_FAMILY = """
import os, subprocess, sys, time
sleep = [sys.executable, "-c", "import time; time.sleep(300)"]
pids = [os.getpid(), subprocess.Popen(sleep).pid, subprocess.Popen(sleep, start_new_session=True).pid]
pids.append(subprocess.Popen(sleep, process_group=0).pid)
print("started", flush=True)
with open(sys.argv[1] + ".part", "w") as out:
    out.write(" ".join(map(str, pids)) + chr(10))
os.rename(sys.argv[1] + ".part", sys.argv[1])
time.sleep(300)
"""


def test_what_it_says_and_its_exit_code_come_back() -> None:
    code = "import sys; print(sys.argv[1]); print('no', file=sys.stderr); sys.stdin.read(); sys.exit(3)"
    done = child.run(_script(code, "$(touch x); `a` 'b'"), timeout_s=60)
    assert (done.code, done.stdout, done.stderr) == (3, b"$(touch x); `a` 'b'\n", b"no\n")
    assert not done.timed_out
    assert not done.flooded


def test_much_of_both_streams_is_read_without_a_standstill() -> None:
    code = "import sys\nfor _ in range(300): sys.stdout.write('o' * 4096); sys.stderr.write('e' * 4096)"
    done = child.run(_script(code), timeout_s=60)
    assert (done.code, len(done.stdout), len(done.stderr)) == (0, 300 * 4096, 300 * 4096)


def test_past_its_time_it_and_all_it_started_are_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "pids"
    clock = time.monotonic
    # However slow the machine is: its time is up once it has started them all.
    monkeypatch.setattr(child, "_now", lambda: clock() + (3600 if file.exists() else 0))
    done = child.run(_script(_FAMILY, str(file)), timeout_s=600)
    assert done.timed_out
    assert done.stdout == b"started\n"
    pids = [int(pid) for pid in _wait_for(file).split()]
    assert len(pids) == 4
    assert all(_gone(pid) for pid in pids)


def test_a_killed_process_that_its_parent_has_not_reaped_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    dead = subprocess.Popen([sys.executable, "-c", ""])
    process = psutil.Process(dead.pid)
    while process.status() != psutil.STATUS_ZOMBIE:
        time.sleep(0.01)
    slept: list[float] = []
    monkeypatch.setattr(time, "sleep", slept.append)
    child._await_end([process])
    assert slept == []
    dead.wait()


def test_a_program_that_ended_is_not_waited_for_because_something_holds_its_pipes(tmp_path: Path) -> None:
    code = (
        "import subprocess, sys\n"
        "held = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(300)'])\n"
        "print(held.pid)"
    )
    done = child.run(_script(code), timeout_s=120)
    assert (done.code, done.timed_out) == (0, False)
    assert _gone(int(done.stdout))


def test_one_that_closes_its_streams_and_goes_on_is_ended_in_time() -> None:
    done = child.run(_script("import os, time; os.close(1); os.close(2); time.sleep(300)"), timeout_s=1)
    assert done.timed_out


def test_one_that_never_stops_writing_is_stopped() -> None:
    done = child.run(_script("while True: print('y' * 4096)"), timeout_s=60, most_bytes=1 << 20)
    assert done.flooded
    assert not done.timed_out
    assert len(done.stdout) < 2 << 20


def test_a_signal_that_ended_it_is_told() -> None:
    done = child.run(_script("import os; os.kill(os.getpid(), 9)"), timeout_s=60)
    assert (done.code, done.timed_out) == (-9, False)


def test_what_cannot_be_started_says_why(tmp_path: Path) -> None:
    file = tmp_path / "no-program"
    file.write_text("text\n")
    file.chmod(0o755)
    with pytest.raises(OSError, match="format error"):
        child.run([str(file)], timeout_s=5)
    with pytest.raises(FileNotFoundError):
        child.run([str(tmp_path / "none")], timeout_s=5)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_signal_ends_the_whole_family(tmp_path: Path, number: signal.Signals) -> None:
    file = tmp_path / "pids"
    run = "from core.processes.child import run; run([sys.executable, '-c', *sys.argv[1:]], timeout_s=300)"
    code = f"import sys; {run}"
    with subprocess.Popen(
        _script(code, _FAMILY, str(file)), cwd=ROOT, stderr=subprocess.DEVNULL, env={**os.environ}
    ) as ours:
        pids = [int(pid) for pid in _wait_for(file).split()]
        ours.send_signal(number)
        assert ours.wait(timeout=30) == -number
    assert all(_gone(pid) for pid in pids)


def test_a_handler_that_somebody_set_up_stays(tmp_path: Path) -> None:
    seen: list[int] = []
    before = signal.signal(signal.SIGTERM, lambda number, _: seen.append(number))
    try:
        child.run(_script("import os, signal; os.kill(os.getppid(), signal.SIGTERM)"), timeout_s=60)
    finally:
        signal.signal(signal.SIGTERM, before)
    assert seen == [signal.SIGTERM]
    assert signal.getsignal(signal.SIGTERM) is before
