"""Two machines share a memory through a third one's ssh, and each knows when the others were heard."""

from __future__ import annotations

import getpass
import json
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from core import clock
from core.errors import BadInput
from core.home import shipped
from ops.checks import recovery
from ops.checks.finding import CheckContext
from ops.sync import sync
from ops.sync.state import State
from ops.sync.status import status
from runtime.explaining.brief import machines as noted
from tests.ops.machines import Machine

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="no git here")
_SSHD = shutil.which("sshd", path="/usr/sbin:/usr/local/sbin:" + os.environ["PATH"])


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, Path]]:
    """(host, a folder on it): this machine, by an ssh server of the test's own."""
    if _SSHD is None or shutil.which("ssh-keygen") is None:
        pytest.skip("no OpenSSH server is installed")
    folder = tmp_path / "ssh"
    folder.mkdir(mode=0o700)
    for name in ("host", "own"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / name], check=True)
    shutil.copy(folder / "own.pub", folder / "authorized")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    (folder / "config").write_text(
        f"Port {port}\nListenAddress 127.0.0.1\nHostKey {folder}/host\nAuthorizedKeysFile {folder}/authorized\n"
        f"PidFile none\nUsePAM no\nStrictModes no\nPasswordAuthentication no\n"
    )
    if os.geteuid() == 0:
        Path("/run/sshd").mkdir(exist_ok=True)
    client = f"ssh -F none -p {port} -i {folder}/own -o BatchMode=yes -o StrictHostKeyChecking=no"
    monkeypatch.setenv("GIT_SSH_COMMAND", f"{client} -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR")
    said = (folder / "said").open("wb")
    with said, subprocess.Popen([_SSHD, "-D", "-e", "-f", folder / "config"], stdout=said, stderr=said) as server:
        try:
            for _ in range(100):
                with socket.socket() as probe:
                    if probe.connect_ex(("127.0.0.1", port)) == 0:
                        break
                time.sleep(0.05)
            else:
                pytest.skip(f"the ssh server does not start: {(folder / 'said').read_text()}")
            yield f"{getpass.getuser()}@127.0.0.1", tmp_path / "there"
        finally:
            server.terminate()
            server.wait(20)


def reach(machine: Machine, place: str) -> dict[str, object]:
    return sync.sync(machine.home, machine.config, os.environ, ssh=place, name=machine.name)


def test_machines_share_a_memory_through_a_host_that_both_reach_by_ssh(
    pair: tuple[Machine, Machine], host: tuple[str, Path]
) -> None:
    one, other = pair
    place = f"{host[0]}:{host[1]}/memory.git"
    first = reach(one, place)
    assert (first["pushed"], first["remote"]) == (True, place)
    assert (host[1] / "memory.git").stat().st_mode & 0o077 == 0
    assert reach(other, place)["added"]
    # The place is remembered.
    assert sync.sync(one.home, one.config, os.environ)["added"]
    assert one.documents() == other.documents()


def test_a_host_that_cannot_be_reached_is_named_with_what_to_try(
    pair: tuple[Machine, Machine], host: tuple[str, Path]
) -> None:
    one, _ = pair
    with pytest.raises(BadInput, match=r"no repository could be made at .*: ") as error:
        reach(one, f"{host[0]}:/proc/nowhere/memory.git")
    assert error.value.fix == f"ssh {host[0]} git --version"


@pytest.mark.parametrize("place", ["-oProxyCommand=x", "host name", "a;b", "host:a b", "host:$(x)", "host:-x", ":x"])
def test_a_place_that_would_steer_ssh_or_a_shell_is_refused(pair: tuple[Machine, Machine], place: str) -> None:
    with pytest.raises(BadInput, match="not a host that ssh can reach"):
        reach(pair[0], place)


def test_only_one_place_at_a_time(pair: tuple[Machine, Machine]) -> None:
    one, _ = pair
    with pytest.raises(BadInput, match="exclude each other"):
        sync.sync(one.home, one.config, os.environ, ssh="host", folder=one.remote)


def test_the_status_says_what_waits_and_when_each_machine_was_heard(converged: tuple[Machine, Machine]) -> None:
    one, other = converged
    known = status(one.home, one.config, os.environ)
    assert (known["machine"], known["waiting"], known["failed"]) == (one.name, 0, None)
    ((name, documents),) = [(each["name"], each["documents"]) for each in known["machines"]]
    assert (name, documents > 0) == (other.name, True)
    assert known["machines"][0]["age_s"] < 3600
    path = Path(one.home.path("inbox")) / "later.md"
    path.write_text("# Later\n")
    os.utime(path, (time.time() + 5, time.time() + 5))
    assert status(one.home, one.config, os.environ)["waiting"] == 1


def test_what_a_failed_run_did_not_send_waits(converged: tuple[Machine, Machine], tmp_path: Path) -> None:
    one, _ = converged
    moved = shutil.move(one.remote, tmp_path / "gone.git")
    one.session(7, "narwhal", turns=2)
    with pytest.raises(BadInput):
        sync.sync(one.home, one.config, os.environ)
    known = status(one.home, one.config, os.environ)
    assert known["failed"]
    assert known["waiting"]
    shutil.move(moved, one.remote)


def test_what_did_not_arrive_is_said_until_it_does(pair: tuple[Machine, Machine]) -> None:
    one, other = pair
    for name in ("note.md", "Note.md"):
        (Path(one.home.path("inbox")) / name).write_text(f"# {name}\n")
    if len(os.listdir(one.home.path("inbox"))) < 2:
        pytest.skip("this file system folds case")
    one.sync()
    other.sync()
    other.sync()
    (known,) = status(other.home, other.config, os.environ)["machines"]
    assert known["not_taken"] == {"a name that another one has, but for case or accents": 1}


def test_a_machine_that_is_silent_for_a_week_is_a_finding_and_a_line_of_the_brief(
    converged: tuple[Machine, Machine],
) -> None:
    one, other = converged
    assert list(recovery.machines_are_heard(CheckContext(one.home, os.environ, time.time()))) == []
    later = time.time() + 8 * clock.DAY
    (finding,) = recovery.machines_are_heard(CheckContext(one.home, os.environ, later))
    assert (finding.id, finding.severity) == (f"sync-silent:{other.name}", "notice")
    found = noted(one.home)
    assert found is not None
    assert list(found["heard"]) == [other.name]
    assert (found["failed"], found["lacking"]) == (False, 0)


def test_a_week_without_a_run_that_reached_the_remote_is_a_warning(converged: tuple[Machine, Machine]) -> None:
    one, _ = converged
    state = State(one.home)
    state.failed = state.synced + 1
    state.save()
    findings = recovery.machines_are_heard(CheckContext(one.home, os.environ, time.time() + 9 * clock.DAY))
    assert ("sync-late", "warning") in [(each.id, each.severity) for each in findings]


def test_a_brief_without_other_machines_has_no_line_of_them(pair: tuple[Machine, Machine]) -> None:
    one, _ = pair
    assert noted(one.home) is None
    Path(one.home.state, "sync.json").write_text(json.dumps({"remote": "x", "machines": {"a": 7}}))
    assert noted(one.home) is None


def test_a_machine_that_writes_nothing_is_heard_once_a_day(
    converged: tuple[Machine, Machine], monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = converged
    assert not one.sync()["committed"]
    later = clock.now() + 9 * clock.DAY
    monkeypatch.setattr(clock, "now", lambda: later)
    assert one.sync()["committed"]
    other.sync()
    (known,) = status(other.home, other.config, os.environ)["machines"]
    assert (known["age_s"], known["silent"]) == (0, False)


def test_a_run_that_is_under_way_has_not_failed(
    converged: tuple[Machine, Machine], monkeypatch: pytest.MonkeyPatch
) -> None:
    one, _ = converged
    seen: list[bool] = []
    push = sync._push

    def looked(*given: object) -> bool:
        found = noted(one.home)
        seen.append(found is not None and found["failed"])
        return push(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(sync, "_push", looked)
    one.sync()
    assert seen == [False]


def test_documents_that_would_fill_the_disk_have_not_arrived(
    pair: tuple[Machine, Machine], monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = pair
    one.sync()
    monkeypatch.setattr("ops.sync.pull._room", lambda home: 0)
    other.sync()
    (known,) = status(other.home, other.config, os.environ)["machines"]
    assert known["not_taken"] == {f"machine {one.name}, whose documents would fill the disk": 1}


@pytest.mark.parametrize("name", ["no", "007", "Friend"])
def test_a_machine_s_name_that_would_not_be_limited_is_refused(pair: tuple[Machine, Machine], name: str) -> None:
    one, _ = pair
    own = Path(shipped("collections.yml")).read_text(encoding="utf-8")
    Path(one.home.path("collections.yml")).write_text(
        f"{own}\nsync:\n  trust: {{{name}: evidence}}\n", encoding="utf-8"
    )
    with pytest.raises(BadInput, match="in quotes and small letters"):
        _ = one.config
