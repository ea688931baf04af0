"""The server on standard input and output, as a process of its own: what it says, and that it always ends."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import time
from typing import Any, TypeVar

import pytest
from mcp import Client, MCPError

from tests.forking import Process
from tests.qmd.mcp.world import LIMIT_S, World, alive, talk
from tests.waiting import until

Server = subprocess.Popen[bytes] | Process
_Server = TypeVar("_Server", subprocess.Popen[bytes], Process)
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}},
}


def send(process: Server, message: Any) -> None:
    assert process.stdin is not None
    data = message if isinstance(message, bytes) else json.dumps(message).encode()
    process.stdin.write(data + b"\n")
    process.stdin.flush()


def receive(process: Server) -> Any:
    assert process.stdout is not None
    ready, _, _ = select.select([process.stdout], [], [], LIMIT_S)
    assert ready, "no answer"
    return json.loads(process.stdout.readline())


def started(process: _Server) -> _Server:
    """Return the server once it has answered."""
    send(process, INITIALIZE)
    assert receive(process)["result"]["serverInfo"]["name"] == "qmd"
    return process


def finished(process: Server) -> tuple[int, str, str]:
    """(exit code, stdout, stderr) of a server that ends by itself; killed, and the test failed, where it does not."""
    try:
        out, err = process.communicate(timeout=LIMIT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        raise
    return process.wait(), out.decode(), err.decode()


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_both_eras_of_the_protocol_are_spoken(shared: World, mode: str) -> None:
    async def conversation(client: Client) -> None:
        assert client.instructions is not None
        assert "over 5 markdown documents" in client.instructions
        assert (await client.list_resources()).resources == []
        found = await client.call_tool("query", {"searches": [{"type": "lex", "query": "ebb"}]})
        assert [hit["file"] for hit in found.structured_content["results"]] == ["notes/tides.md"]
        read = await client.read_resource("qmd://notes/tides.md")
        assert "four knots" in str(read.contents[0])
        with pytest.raises(MCPError) as caught:
            await client.list_prompts()
        assert caught.value.code == -32601

    talk(shared.stdio(), conversation, mode)


def test_a_change_by_another_process_is_seen_by_the_next_call(world: World) -> None:
    async def conversation(client: Client) -> None:
        async def status() -> Any:
            return (await client.call_tool("status", {})).structured_content

        assert (await status())["totalDocuments"] == 5
        world.write("notes/dredger.md", "# Dredger\n\nA dredger keeps the channel deep.\n")
        world.index()
        assert (await status())["totalDocuments"] == 6
        found = await client.call_tool("query", {"searches": [{"type": "lex", "query": "dredger"}]})
        assert [hit["file"] for hit in found.structured_content["results"]] == ["notes/dredger.md"]
        os.rename(world.settings.database, f"{world.settings.database}.old")
        assert (await status())["totalDocuments"] == 0
        os.rename(f"{world.settings.database}.old", world.settings.database)
        assert (await status())["totalDocuments"] == 6

    talk(world.stdio(), conversation)


def test_an_edited_configuration_is_seen_by_the_next_call(world: World) -> None:
    async def conversation(client: Client) -> None:
        await client.call_tool("status", {})
        world.configure("global_context: Another harbour\ncollections:\n  notes: {{path: {root}/notes}}\n")
        document = await client.call_tool("get", {"file": "tides.md"})
        assert "Another harbour" in str(document)

    talk(world.stdio(), conversation)


def test_it_is_small_and_the_end_of_input_ends_it_with_a_word_and_no_log_left(shared: World) -> None:
    process = started(shared.program())
    assert peak_mb(process.pid) < 150
    assert finished(process) == (0, "", "Shutting down (stdin closed)...\n")
    assert not os.path.exists(f"{shared.settings.database}-wal")


def test_without_any_input_it_ends_at_once(shared: World) -> None:
    with open(os.devnull, "rb") as nothing:
        process = shared.process(stdin=nothing)
    assert finished(process)[0] == 0


def test_what_was_asked_before_the_end_of_input_is_answered(shared: World) -> None:
    calls = [
        {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": {"name": "status", "arguments": {}}}
        for number in range(2, 12)
    ]
    ready = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    script = "\n".join(json.dumps(message) for message in [INITIALIZE, ready, *calls])
    process = shared.process()
    out, _ = process.communicate(script.encode(), timeout=LIMIT_S)
    answers = [json.loads(line) for line in out.splitlines()]
    assert sorted(answer["id"] for answer in answers) == list(range(1, 12))
    assert all("result" in answer for answer in answers)
    assert process.returncode == 0


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_signal_ends_it_while_it_waits_for_input(shared: World, number: int, code: int) -> None:
    process = started(shared.process())
    began = time.monotonic()
    process.send_signal(number)
    process.wait(LIMIT_S)
    assert time.monotonic() - began < 5
    returned, out, err = finished(process)
    assert (returned, out) == (code, "")
    assert "Traceback" not in err


def test_a_signal_ends_it_while_its_client_reads_nothing(world: World) -> None:
    world.write("notes/huge.md", "# Huge\n\n" + "a line of the log\n" * 100_000)
    world.index()
    process = started(world.process())
    for number in range(2, 6):
        arguments = {"name": "get", "arguments": {"file": "huge.md"}}
        send(process, {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": arguments})
    time.sleep(1)
    process.send_signal(signal.SIGTERM)
    assert process.wait(5) == 143
    finished(process)


def test_killing_its_parent_ends_it(shared: World) -> None:
    # The parent is a process that starts a server with a pipe, as a client does, and is killed.
    code = (
        "import subprocess, sys, time;"
        " p = subprocess.Popen(sys.argv[2:], stdin=subprocess.PIPE, stdout=subprocess.PIPE);"
        " p.stdin.write(sys.argv[1].encode()); p.stdin.flush(); p.stdout.readline();"
        " print(p.pid, flush=True); time.sleep(600)"
    )
    server = _orphaned(shared, code)
    until(lambda: not alive(server), 10)


def test_killing_its_parent_ends_it_although_another_process_holds_the_pipe(shared: World) -> None:
    code = (
        "import os, subprocess, sys, time; r, w = os.pipe();"
        " p = subprocess.Popen(sys.argv[2:], stdin=r, stdout=subprocess.PIPE);"
        " os.write(w, sys.argv[1].encode()); p.stdout.readline();"
        " h = subprocess.Popen(['sleep', '60'], pass_fds=[w], stdout=subprocess.DEVNULL);"
        " print(p.pid, h.pid, flush=True); time.sleep(600)"
    )
    pids: list[int] = []
    try:
        server = _orphaned(shared, code, pids)
        until(lambda: not alive(server), 10)
    finally:
        for pid in pids[1:]:
            os.kill(pid, signal.SIGKILL)


def _orphaned(world: World, code: str, pids: list[int] | None = None) -> int:
    """The pid of a server after its parent was killed."""
    command = [sys.executable, "-c", code, json.dumps(INITIALIZE) + "\n", *world.command()]
    parent = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=world.environ)
    assert parent.stdout is not None
    found = [int(word) for word in parent.stdout.readline().split()]
    if pids is not None:
        pids += found
    assert alive(found[0])
    parent.kill()
    parent.communicate()
    return found[0]


def test_noise_on_the_wire_does_not_end_it(shared: World) -> None:
    process = started(shared.process())
    for noise in (b"{", b"[]", b"null", b'"text"', b"\xff\xfe", b'{"jsonrpc": "2.0"}', b"", b"[" * 10_000):
        send(process, noise)
    send(process, {"jsonrpc": "2.0", "id": 7, "method": "ping"})
    answer = receive(process)
    while answer.get("id") != 7:
        answer = receive(process)
    assert answer["result"] == {}
    assert finished(process)[0] == 0


def test_a_line_without_end_does_not_fill_the_memory(shared: World) -> None:
    process = started(shared.program())
    assert process.stdin is not None
    for _ in range(40):
        process.stdin.write(b"x" * 1_000_000)
    send(process, b"")
    send(process, {"jsonrpc": "2.0", "id": 8, "method": "ping"})
    assert receive(process)["id"] == 8
    assert peak_mb(process.pid) < 200
    assert finished(process)[0] == 0


def peak_mb(pid: int) -> float:
    """The largest resident size that a process has had."""
    try:
        with open(f"/proc/{pid}/status", encoding="ascii") as stream:
            return next(int(line.split()[1]) / 1024 for line in stream if line.startswith("VmHWM"))
    except FileNotFoundError:
        pytest.skip("there is no /proc here")
