"""The server over HTTP, as a process of its own: endpoints, who is refused, what is bounded, how it ends."""

from __future__ import annotations

import contextlib
import http.client
import itertools
import json
import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from typing import Any

import pytest
from mcp import Client, MCPError

from qmd.app.main import main
from tests.qmd.mcp.world import LIMIT_S, Site, World, talk
from tests.waiting import until

JSON = {"Content-Type": "application/json"}
ACCEPTING = {**JSON, "Accept": "application/json, text/event-stream"}
LEX: dict[str, Any] = {"searches": [{"type": "lex", "query": "ebb"}]}
SEARCH = json.dumps(LEX)
CALL = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "query", "arguments": LEX}})
READ = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "resources/read", "params": {"uri": "qmd://notes/tides.md"}})


@pytest.fixture(scope="module")
def site(shared: World) -> Iterator[Site]:
    """A server for tests that leave it running."""
    with shared.http() as running:
        yield running


@pytest.fixture
def ending(world: World) -> Iterator[Site]:
    """A server for a test that ends it."""
    with world.http() as running:
        yield running


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_both_eras_of_the_protocol_are_spoken(site: Site, mode: str) -> None:
    async def conversation(client: Client) -> None:
        assert client.instructions is not None
        assert "over 5 markdown documents" in client.instructions
        names = [tool.name for tool in (await client.list_tools()).tools]
        assert names == ["query", "get", "multi_get", "status"]
        found = await client.call_tool("query", LEX)
        assert [hit["file"] for hit in found.structured_content["results"]] == ["notes/tides.md"]
        assert "four knots" in str((await client.read_resource("qmd://notes/tides.md")).contents[0])
        with pytest.raises(MCPError) as caught:
            await client.list_prompts()
        assert caught.value.code == -32601

    talk(site.url, conversation, mode)


def test_answers_are_json_and_need_no_session(site: Site) -> None:
    status, text = site.request("POST", "/mcp", CALL, ACCEPTING)
    assert status == 200
    assert json.loads(text)["result"]["structuredContent"]["results"][0]["file"] == "notes/tides.md"


def test_health_says_how_long_it_has_run(site: Site) -> None:
    status, text = site.request("GET", "/health")
    assert (status, json.loads(text)["status"]) == (200, "ok")
    assert isinstance(json.loads(text)["uptime"], int)


def test_a_search_without_the_protocol_has_encoded_addresses(site: Site) -> None:
    for path in ("/query", "/search"):
        status, answer = site.search(path=path, searches=[{"type": "lex", "query": "skiff"}])
        assert status == 200
        assert list(answer) == ["results"]
        assert answer["results"][0]["file"] == "qmd://notes/boats/skiff%20%C3%A9%231.md"


def test_a_search_takes_the_tools_arguments(site: Site) -> None:
    quay = [{"type": "lex", "query": "quay"}]
    assert len(site.search(searches=quay)[1]["results"]) == 4
    assert len(site.search(searches=quay, limit=2)[1]["results"]) == 2
    assert len(site.search(searches=quay, minScore=0.5)[1]["results"]) == 2
    assert len(site.search(searches=quay, collections=["plans"])[1]["results"]) == 1
    assert "no embedding exists" in site.search(searches=[{"type": "vec", "query": "quay"}])[1]["note"]


def test_a_search_that_cannot_be_asked_is_400_and_says_why(site: Site) -> None:
    for body, error in (
        ("{", "The body is not JSON"),
        ("null", "Missing required field: searches (array)"),
        ("{}", "Missing required field: searches (array)"),
        (json.dumps({"searches": LEX["searches"] * 11}), "searches: at most 10"),
        (
            json.dumps({"searches": [{"type": "lex", "query": '"'}]}),
            'Structured search (lex): Lex query has an unmatched double quote ("). Add the closing quote or remove it.',
        ),
    ):
        status, text = site.request("POST", "/query", body, JSON)
        assert (status, json.loads(text)) == (400, {"error": error})


def test_a_body_that_is_no_single_json_message_is_refused_in_words(site: Site) -> None:
    ping = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "ping"})
    both = {"Accept": "application/json, text/event-stream"}
    status, text = site.request("POST", "/mcp", ping, {**both, "Content-Type": "text/plain"})
    assert status == 415
    assert json.loads(text)["error"]["message"] == "Unsupported Media Type: Content-Type must be application/json"
    status, text = site.request("POST", "/mcp", f" [{ping}]", {**both, **JSON})
    assert (status, json.loads(text)["error"]["code"]) == (400, -32600)
    assert site.request("POST", "/mcp", ping, {**both, "Content-Type": "application/json; charset=utf-8"})[0] == 200


def _result(site: Site, revision: str, method: str, **parameters: Any) -> Any:
    """The result of one request; a ``revision`` without a handshake has what it needs in each request."""
    message: dict[str, Any] = {"jsonrpc": "2.0", "id": 1, "method": method, "params": parameters}
    headers = dict(ACCEPTING)
    if revision:
        headers |= {"MCP-Protocol-Version": revision, "Mcp-Method": method, "Mcp-Name": parameters.get("uri", "")}
        said = {"protocolVersion": revision, "clientInfo": {"name": "t", "version": "1"}, "clientCapabilities": {}}
        parameters["_meta"] = {f"io.modelcontextprotocol/{name}": value for name, value in said.items()}
    status, text = site.request("POST", "/mcp", json.dumps(message), headers)
    assert status == 200, text
    return json.loads(text)["result"]


@pytest.mark.parametrize(
    ("method", "ms"),
    [("server/discover", 60_000), ("tools/list", 60_000), ("resources/list", 0), ("resources/templates/list", 0)],
)
def test_a_client_may_keep_what_qmd_lets_it_keep(site: Site, method: str, ms: int) -> None:
    result = _result(site, "2026-07-28", method)
    assert (result["ttlMs"], result["cacheScope"]) == (ms, "private")


@pytest.mark.parametrize("revision", ["", "2026-07-28"])
def test_a_document_is_read_with_its_names_next_to_its_text(site: Site, revision: str) -> None:
    uri = "qmd://notes/boats/skiff%20%C3%A9%231.md"
    (contents,) = _result(site, revision, "resources/read", uri=uri)["contents"]
    assert (contents["name"], contents["title"]) == ("notes/boats/skiff é#1.md", "Skiff")
    assert contents.keys() == {"uri", "mimeType", "text", "name", "title"}


def test_anything_else_is_not_found_or_not_allowed(site: Site) -> None:
    for method, path, status in (
        ("GET", "/", 404),
        ("GET", "/other", 404),
        ("POST", "/health", 404),
        ("GET", "/health/", 404),
        ("GET", "/query", 404),
        ("GET", "/notes/tides.md", 404),
        ("GET", "/../../etc/passwd", 404),
        ("GET", "/mcp", 405),
        ("DELETE", "/mcp", 405),
        ("OPTIONS", "/mcp", 405),
    ):
        answered, text = site.request(method, path)
        assert (method, path, answered) == (method, path, status)
        assert "root:x:" not in text


def test_a_foreign_origin_or_host_is_refused_everywhere(site: Site) -> None:
    foreign = [
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://localhost.evil.example"},
        {"Host": "evil.example"},
        {"Host": "evil.example:8181", "Origin": "http://evil.example:8181"},
    ]
    for headers, path in itertools.product(foreign, ["/mcp", "/query", "/search", "/health", "/other"]):
        method = "GET" if path == "/health" else "POST"
        status, text = site.request(method, path, SEARCH, {**ACCEPTING, **headers})
        assert (status, "knots" in text) == (403, False)
        error = json.loads(text)["error"]
        assert error["code"] == -32003
        assert error["message"].startswith(("Forbidden: Origin not allowed: ", "Forbidden: Host not allowed: "))


def test_a_local_origin_is_let_in(site: Site) -> None:
    status, text = site.request("POST", "/query", SEARCH, {**JSON, "Origin": "http://localhost:5173"})
    assert (status, "knots" in text) == (200, True)


@pytest.mark.parametrize("path", ["/mcp", "/query"])
def test_a_body_of_more_than_a_megabyte_is_413_declared_or_not(site: Site, path: str) -> None:
    large = json.dumps({"searches": [{"type": "lex", "query": "x" * 1_100_000}]}).encode()
    try:
        assert site.request("POST", path, large, ACCEPTING)[0] == 413
    except (BrokenPipeError, ConnectionResetError):
        # It may close before all of it was sent; that it read no more is what counts.
        assert site.request("GET", "/health")[0] == 200
    with socket.create_connection(("127.0.0.1", site.port), timeout=LIMIT_S) as raw:
        raw.sendall(f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2000000\r\n\r\n".encode())
        assert b" 413 " in raw.recv(200)
    with socket.create_connection(("127.0.0.1", site.port), timeout=LIMIT_S) as raw:
        raw.sendall(f"POST {path} HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n".encode())
        chunk = b"10000\r\n" + b"x" * 0x10000 + b"\r\n"
        try:
            for _ in range(40):
                raw.sendall(chunk)
        except (BrokenPipeError, ConnectionResetError):
            return
        assert b" 413 " in raw.recv(200)


def test_a_search_over_http_leaves_no_words_of_it_in_the_log(site: Site) -> None:
    site.request("POST", "/mcp", CALL, ACCEPTING)
    site.request("POST", "/query", SEARCH, JSON)
    log = site.log.read_text()
    assert "tools/call query 200" in log
    assert "ebb" not in log


def test_nothing_of_a_client_forges_the_log(site: Site) -> None:
    site.request("GET", "/%0a00:00:00%20forged%1b[31m")
    lines = site.log.read_text().splitlines()
    assert not any(line.startswith("00:00:00") for line in lines)
    assert "\x1b" not in site.log.read_text()


def test_no_address_over_http_leads_out_of_the_index(shared: World, site: Site) -> None:
    shared.write("secret.md", "the safe is 7-31-4")
    for uri in ("qmd://notes/../secret.md", "qmd://../../etc/passwd", "qmd://%2e%2e/secret.md", "qmd:///etc/passwd"):
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "resources/read", "params": {"uri": uri}})
        status, text = site.request("POST", "/mcp", body, ACCEPTING)
        assert status == 200
        assert "7-31-4" not in text
        assert "root:x:" not in text


def test_a_token_is_asked_for_where_one_is_set(world: World) -> None:
    world.environ["QMD_HTTP_TOKEN"] = "secret"
    with world.http() as site:
        assert site.request("POST", "/query", SEARCH, JSON)[0] == 401
        assert site.request("POST", "/mcp", CALL, {**ACCEPTING, "Authorization": "Bearer wrong"})[0] == 401
        status, text = site.request("POST", "/query", SEARCH, {**JSON, "Authorization": "Bearer secret"})
        assert (status, "knots" in text) == (200, True)
        assert site.request("GET", "/health")[0] == 200


def test_it_listens_on_loopback_and_nowhere_else(shared: World, site: Site) -> None:
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((own_address(), site.port), timeout=5)


def test_a_wider_bind_serves_this_machine_under_its_address(world: World) -> None:
    own = own_address()
    with world.http("--host", "0.0.0.0") as site:
        connection = http.client.HTTPConnection(own, site.port, timeout=LIMIT_S)
        connection.request("POST", "/query", SEARCH, JSON)
        response = connection.getresponse()
        assert (response.status, b"knots" in response.read()) == (200, True)
        connection.close()


def own_address() -> str:
    """An address of this machine that is not loopback; no packet is sent to find it."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
        except OSError:
            pytest.skip("this machine has loopback only")
        address = str(probe.getsockname()[0])
    if address.startswith("127."):
        pytest.skip("this machine has loopback only")
    return address


def test_a_wider_bind_is_warned_of(world: World) -> None:
    with world.http("--host", "0.0.0.0") as site:
        until(lambda: "Warning" in site.log.read_text())
        assert "QMD_HTTP_TOKEN" in site.log.read_text()
        assert site.request("GET", "/health", headers={"Host": "container:8181"})[0] == 200


def test_the_host_may_come_from_the_environment(world: World) -> None:
    world.environ["QMD_HOST"] = "127.0.0.1"
    with world.http() as site:
        assert f"listening on http://127.0.0.1:{site.port}/mcp" in site.log.read_text()
        assert site.request("GET", "/health")[0] == 200


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_ends_it_with_a_word(ending: Site, number: signal.Signals) -> None:
    ending.process.send_signal(number)
    assert ending.process.wait(LIMIT_S) == 0
    assert f"Shutting down ({number.name})..." in ending.log.read_text()
    assert "Traceback" not in ending.log.read_text()


def test_a_client_that_never_finishes_its_request_does_not_hold_up_the_end(ending: Site) -> None:
    with socket.create_connection(("127.0.0.1", ending.port), timeout=LIMIT_S) as raw:
        raw.sendall(b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 500\r\n\r\n{")
        time.sleep(0.2)
        began = time.monotonic()
        ending.process.send_signal(signal.SIGTERM)
        assert ending.process.wait(LIMIT_S) == 0
        assert time.monotonic() - began < 10


@pytest.mark.parametrize(
    "said",
    [
        b"",
        b"POST /query HTTP/1.1\r\nHost: localhost\r\n",
        b"POST /query HTTP/1.1\r\nHost: localhost\r\nContent-Length: 500\r\n\r\n{",
        b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\nGET /health HTTP/1.1\r\n",
    ],
    ids=["silence", "a head", "a body", "an idle connection", "a second head"],
)
def test_slow_clients_do_not_keep_others_out(site: Site, said: bytes) -> None:
    slow = []
    try:
        for _ in range(800):
            raw = socket.create_connection(("127.0.0.1", site.port), timeout=LIMIT_S)
            slow.append(raw)
            with contextlib.suppress(ConnectionError):  # given up already
                raw.sendall(said)
        for _ in range(3):
            assert site.search(**LEX)[0] == 200
    finally:
        for raw in slow:
            raw.close()


@pytest.mark.long
def test_clients_that_do_not_read_do_not_keep_others_out(world: World) -> None:
    world.write("plans/long.md", "# Long\n\n" + "lorem ipsum " * 500_000)
    world.index()
    with world.http() as site:
        call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call"}
        body = json.dumps({**call, "params": {"name": "get", "arguments": {"file": "plans/long.md"}}}).encode()
        head = "".join(f"{name}: {value}\r\n" for name, value in ACCEPTING.items())
        said = f"POST /mcp HTTP/1.1\r\nHost: localhost\r\n{head}Content-Length: {len(body)}\r\n\r\n".encode() + body
        deaf = []
        try:
            for _ in range(140):
                raw = socket.create_connection(("127.0.0.1", site.port), timeout=LIMIT_S)
                deaf.append(raw)
                with contextlib.suppress(ConnectionError):
                    raw.sendall(said)
                    raw.recv(1)  # the answer has begun
            assert site.search(**LEX)[0] == 200
        finally:
            for raw in deaf:
                raw.close()


@pytest.mark.long
def test_a_client_that_is_too_slow_is_dropped(site: Site) -> None:
    with (
        socket.create_connection(("127.0.0.1", site.port), timeout=LIMIT_S) as headless,
        socket.create_connection(("127.0.0.1", site.port), timeout=LIMIT_S) as bodiless,
    ):
        headless.sendall(b"POST /query HTTP/1.1\r\n")
        bodiless.sendall(b"POST /query HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\n{")
        assert headless.recv(100) == b""
        assert b" 408 " in bodiless.recv(200)


Capture = pytest.CaptureFixture[str]


def refusal(capfd: Capture, world: World, *words: str) -> str:
    """Return what a server says that cannot listen; it never starts, so this process can be the one."""
    capfd.readouterr()
    assert main(["mcp", "--http", *words], world.settings) == 1
    return capfd.readouterr().err


def test_a_taken_port_is_named(shared: World, site: Site, capfd: Capture) -> None:
    said = refusal(capfd, shared, "--port", str(site.port))
    assert said == f"Port {site.port} already in use. Try a different port with --port.\n"


def test_an_impossible_port_is_an_error(shared: World, capfd: Capture) -> None:
    said = refusal(capfd, shared, "--port", "70000")
    assert "Cannot listen on localhost:70000" in said
    assert "Traceback" not in said


@pytest.mark.parametrize("host", ["9" * 400, "a..b", "../x"])
def test_an_impossible_host_is_an_error(shared: World, capfd: Capture, host: str) -> None:
    said = refusal(capfd, shared, "--host", host)
    assert said.startswith("Cannot listen on ")
    assert "Traceback" not in said


def test_many_clients_at_once_are_all_answered(site: Site) -> None:
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(lambda _: site.request("POST", "/mcp", CALL, ACCEPTING)[0], range(80)))
    assert answers == [200] * 80


def test_no_child_is_left(site: Site) -> None:
    site.search(**LEX)
    if not os.path.exists(f"/proc/{site.process.pid}/task"):
        pytest.skip("there is no /proc here")
    children = subprocess.run(
        ["cat", f"/proc/{site.process.pid}/task/{site.process.pid}/children"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert children.stdout.strip() == ""
