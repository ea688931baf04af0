"""The wire: requests, retries and failures of endpoints, and which key goes where."""

from __future__ import annotations

import socket
import ssl
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from email.utils import formatdate
from typing import Any

import pytest

from core.errors import BadInput, BrainError, EngineMissing, EngineTimeout
from qmd.embedding import wire
from qmd.embedding.remote import GEMINI, Gemini, OpenAI
from qmd.embedding.remote import OpenAI as Embedding
from qmd.embedding.wire import OPENAI, TextRefused, openai_key, same_host, service_key
from qmd.generation.of_openai import OpenAI as Generation
from qmd.reranking.remote import Remote as Reranking
from runtime.distill.models import OpenAI as Distilling
from tests.qmd.embedding.clients import Slept, gemini, openai
from tests.qmd.embedding.endpoint import DIMENSIONS, Endpoint, closes, half_closes, hangs, says

pytestmark = pytest.mark.usefixtures("direct")


def test_an_endpoint_in_clear_is_asked_without_loading_certificates(
    endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded: list[str] = []
    monkeypatch.setattr(ssl.SSLContext, "load_verify_locations", lambda *_, **given: loaded.append(str(given)))
    assert openai(endpoint).embed(["x"]).shape == (1, DIMENSIONS)
    assert loaded == []
    secure = wire.Endpoint("HTTPS://nowhere.invalid/v1", {})
    with secure._open():
        assert len(loaded) == 1, "where it is not in clear, the usual authorities vouch for it"
    secure.close()


def test_nobody_is_asked_again_once_the_time_is_up(endpoint: Endpoint) -> None:
    endpoint.always = says({"error": "busy"}, 503)
    for provider in (openai(endpoint), gemini(endpoint)):
        provider.patient_until(time.monotonic() - 1)
        endpoint.requests.clear()
        with pytest.raises(EngineMissing, match="503"):
            provider.embed(["a"])
        assert len(endpoint.requests) == 1


@pytest.mark.parametrize("status", [429, 500, 502, 503, 529])
def test_an_overloaded_endpoint_is_asked_again_later_and_later(endpoint: Endpoint, status: int) -> None:
    slept = Slept()
    endpoint.behaviours = [says({"error": {"message": "busy"}}, status)] * 3
    assert openai(endpoint, slept).embed(["x"]).shape == (1, DIMENSIONS)
    assert len(slept) == 3
    assert slept[0] < slept[1] < slept[2] < 3


def test_it_waits_as_long_as_the_endpoint_asks(endpoint: Endpoint) -> None:
    slept = Slept()
    soon = formatdate(time.time() + 40, usegmt=True)
    endpoint.behaviours = [
        says({}, 429, Retry_After="7"),
        says({}, 503, Retry_After=soon),
        says({}, 429, Retry_After="?"),
    ]
    openai(endpoint, slept).embed(["x"])
    assert slept[0] == 7
    assert 30 < slept[1] <= 41
    assert slept[2] < 5


def test_it_does_not_wait_an_hour(endpoint: Endpoint) -> None:
    slept = Slept()
    endpoint.always = says({"error": {"message": "quota"}}, 429, Retry_After="3600")
    with pytest.raises(EngineTimeout, match="HTTP 429"):
        openai(endpoint, slept).embed(["x"])
    assert slept == []
    assert len(endpoint.requests) == 1


@pytest.mark.parametrize(("status", "kind"), [(429, EngineTimeout), (503, EngineMissing)])
def test_it_gives_up_after_a_bounded_number_of_attempts(
    endpoint: Endpoint, status: int, kind: type[BrainError]
) -> None:
    slept = Slept()
    endpoint.always = says({"error": "out of order"}, status)
    with pytest.raises(kind, match="out of order"):
        openai(endpoint, slept).embed(["x"])
    assert len(endpoint.requests) == wire.ATTEMPTS
    assert max(slept) <= wire.LONGEST_WAIT_S


def test_who_waits_for_a_question_is_not_kept_waiting_by_one_that_goes_on_failing(endpoint: Endpoint) -> None:
    slept = Slept()
    endpoint.always = says({"error": "busy"}, 503)
    provider = openai(endpoint, slept)
    provider.hurry(30.0)
    with pytest.raises(wire.Overloaded):
        provider.embed(["x"], question=True)
    assert len(endpoint.requests) == 3
    assert sum(slept) < 2


@pytest.mark.parametrize("behaviour", [closes, half_closes, says(b"<html>gateway</html>"), says(b'{"data": [')])
def test_a_broken_connection_or_answer_is_tried_again(endpoint: Endpoint, behaviour: Any) -> None:
    endpoint.behaviours = [behaviour, behaviour]
    assert openai(endpoint).embed(["x"]).shape == (1, DIMENSIONS)
    assert len(endpoint.requests) == 3


@pytest.mark.parametrize(
    ("behaviour", "kind"), [(closes, EngineMissing), (half_closes, EngineMissing), (says(b"\xff\xfe"), wire.Nonsense)]
)
def test_one_that_stays_broken_is_said(endpoint: Endpoint, behaviour: Any, kind: type[BrainError]) -> None:
    endpoint.always = behaviour
    with pytest.raises(kind) as caught:
        openai(endpoint).embed(["x"])
    assert caught.value.fix
    assert len(endpoint.requests) == wire.ATTEMPTS


def test_an_endpoint_that_does_not_answer_is_given_up(endpoint: Endpoint) -> None:
    endpoint.always = hangs(endpoint.stopped)
    with pytest.raises(EngineTimeout, match="in time"):
        openai(endpoint, read_s=0.05).embed(["x"])


@pytest.mark.parametrize("data", [b"X-More: and more\r\n", b"\r\nHTTP/1.1 102 Processing\r\n"])
def test_an_endpoint_with_endless_headers_is_given_up(
    endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch, data: bytes
) -> None:
    def drip(handler: Any, _: Any) -> bool:
        handler.close_connection = True
        handler.wfile.write(b"HTTP/1.1 102 Processing\r\n")
        return endpoint.drips(handler, data)

    monkeypatch.setattr(wire, "_GRACE_S", 0.05)
    endpoint.behaviours = [drip]
    assert openai(endpoint, whole_s=0.2).embed(["x"]).shape == (1, DIMENSIONS), "and asked again by another connection"
    endpoint.always = drip
    with pytest.raises(EngineTimeout, match="in time"):
        openai(endpoint, whole_s=0.2).embed(["x"])


def test_what_is_ended_late_is_not_taken_out_of_its_encryption_first(endpoint: Endpoint) -> None:
    left: list[int] = []

    class Encrypted(socket.socket):
        """As ``ssl.SSLSocket``, whose own method forgets its key before it ends the connection."""

        def shutdown(self, how: int) -> None:
            left.append(how)

    mine, other = socket.socketpair()
    other.settimeout(20)
    encrypted = Encrypted(fileno=mine.detach())
    asked = wire.Endpoint(endpoint.url, {})
    late = threading.Event()
    asked._sockets.add(encrypted)
    with encrypted, other, asked._ended(0.0, late):
        assert other.recv(1) == b""
        assert late.is_set()
    assert left == []


@pytest.mark.parametrize(
    ("error", "kind", "said"),
    [
        ("Unexpected endpoint or method", wire.Nonsense, "an error: Unexpected endpoint"),
        ({"message": "maximum context length", "code": 400}, TextRefused, "maximum context length"),
        ({"message": "no provider is up", "code": 503}, wire.Overloaded, "no provider is up"),
    ],
)
def test_an_error_that_comes_as_a_success_is_read_as_what_it_is(
    endpoint: Endpoint, error: Any, kind: type[BrainError], said: str
) -> None:
    endpoint.always = says({"error": error})
    with pytest.raises(kind, match=said):
        openai(endpoint).embed(["x"])


def test_an_endpoint_that_drips_is_given_up(endpoint: Endpoint) -> None:
    def drip(handler: Any, _: Any) -> bool:
        handler.close_connection = True
        handler.send_response(200)
        handler.send_header("Content-Length", "100000")
        handler.end_headers()
        return endpoint.drips(handler, b" ")

    endpoint.always = drip
    with pytest.raises(EngineTimeout, match="finish"):
        openai(endpoint, whole_s=0.05).embed(["x"])


def test_an_endpoint_that_is_not_there_is_said() -> None:
    provider = OpenAI({"base_url": "http://127.0.0.1:9/v1"}, {}, "m", sleep=Slept())
    with pytest.raises(EngineMissing, match=r"127\.0\.0\.1:9 cannot be reached"):
        provider.embed(["x"])
    provider.close()


def test_neither_text_nor_key_follows_a_redirection_and_it_is_named(endpoint: Endpoint) -> None:
    endpoint.always = says(b"", 307, Location="https://elsewhere.example:8443/v1/embeddings?token=1")
    with pytest.raises(BadInput, match=r"sends on to https://elsewhere\.example:8443 ") as caught:
        openai(endpoint).embed(["x"])
    assert "token" not in caught.value.message
    assert len(endpoint.requests) == 1


def test_a_connection_that_is_closed_while_a_request_is_under_way_is_closed_at_its_end(endpoint: Endpoint) -> None:
    come, go = threading.Event(), threading.Event()

    def wait(*_: Any) -> bool:
        come.set()
        return not go.wait(30)

    endpoint.always = wait
    there = wire.Endpoint(f"{endpoint.url}/embeddings", {})
    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(there.post, {"input": ["x"], "model": "m"})
        assert come.wait(30)
        client = there._client
        there.close()
        assert client is not None
        assert not client.is_closed, "it is not taken from under who reads from it"
        go.set()
        assert answer.result()["model"] == "m"
    assert client.is_closed
    assert there._client is None
    with pytest.raises(EngineTimeout, match="not waited for"):
        there.post({"input": ["x"], "model": "m"})
    assert there._client is None
    assert len(endpoint.requests) == 1


KEY = "sk-very-secret-1234567890"


@pytest.mark.parametrize(
    ("base", "named", "goes"),
    [
        (OPENAI, "", True),
        ("https://API.openai.com:443/v2", "", True),
        ("http://api.openai.com/v1", "", False),
        ("https://api.openai.com.evil.example/v1", "", False),
        ("https://api.openai.com:8443/v1", "", False),
        ("http://localhost:11434/v1", "", False),
        ("http://localhost:11434/v1", "http://localhost:1/v1", False),
        ("http://localhost:11434/other", "http://LOCALHOST:11434/v1", True),
        ("http://localhost/v1", "http://[", False),
        ("http://localhost/v1", "localhost", False),
    ],
)
def test_openais_key_goes_to_openai_and_to_the_host_that_the_environment_names(
    base: str, named: str, goes: bool
) -> None:
    environ = {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": named}
    assert openai_key(base, environ) == (KEY if goes else "")
    assert openai_key(base, {**environ, "OWN": " own "}, "OWN") == "own"
    assert openai_key(base, environ, "OWN") == (KEY if goes else "")


def test_an_address_that_is_none_is_nobodys_host() -> None:
    assert not same_host("", "")
    assert not same_host("http://[", "http://[")


def test_a_key_that_breaks_a_header_is_refused_unshown_where_it_would_go() -> None:
    with pytest.raises(BadInput, match="OPENAI_API_KEY holds signs") as refused:
        openai_key(OPENAI, {"OPENAI_API_KEY": f"{KEY}\nX: y"})
    assert KEY not in str(refused.value.envelope())
    assert openai_key("http://localhost/v1", {"OPENAI_API_KEY": f"{KEY}\nX: y"}) == ""


@pytest.mark.parametrize("what", ["embedding", "generation", "rerank", "distill"])
def test_a_configured_address_is_not_shown_openais_key(what: str, endpoint: Endpoint) -> None:
    chat = {"choices": [{"message": {"content": "lex: a"}, "finish_reason": "stop"}]}
    if what in ("generation", "distill"):
        endpoint.always = says(chat)
    section: Any = {"base_url": endpoint.url, "model": "m"}

    def asked(**environ: str) -> str | None:
        if what == "embedding":
            made: Any = Embedding(section, environ, "m")
            made.embed(["x"])
            made.close()
        elif what == "generation":
            Generation("m", endpoint.url, environ).ask("", "", 30)
        elif what == "rerank":
            made = Reranking("openai", section, environ)
            made.score("x", ["y"], float("inf"))
            made.close()
        else:
            Distilling("m", section, environ).ask("", "", 30)
        return endpoint.requests[-1][1].get("authorization")

    assert asked(OPENAI_API_KEY=KEY) is None
    assert asked(OPENAI_API_KEY=KEY, OPENAI_BASE_URL=endpoint.url) == f"Bearer {KEY}"


def test_geminis_key_is_not_shown_to_an_address_that_a_configuration_names(endpoint: Endpoint) -> None:
    def asked(section: Any, **environ: str) -> str | None:
        made = Gemini(section, {"GOOGLE_API_KEY": f"{KEY} ", **environ}, "g")
        made.embed(["x"])
        made.close()
        return endpoint.requests[-1][1].get("x-goog-api-key")

    assert asked({"base_url": endpoint.url}) is None
    assert asked({"base_url": endpoint.url}, GEMINI_BASE_URL="") is None
    assert asked({}, GEMINI_BASE_URL=endpoint.url) == KEY
    assert asked({}, GEMINI_BASE_URL=endpoint.url, GEMINI_API_KEY="own") == "own"
    assert service_key(GEMINI, {"GEMINI_API_KEY": KEY}, GEMINI, "GEMINI_BASE_URL", ("GEMINI_API_KEY",)) == KEY


@pytest.mark.parametrize(("name", "variable"), [("cohere", "COHERE"), ("jina", "JINA")])
def test_a_reranking_services_key_is_not_shown_to_an_address_that_a_configuration_names(
    endpoint: Endpoint, name: str, variable: str
) -> None:
    def asked(**environ: str) -> str | None:
        made = Reranking(name, {"base_url": endpoint.url}, {f"{variable}_API_KEY": f"{KEY}\r", **environ})
        made.score("x", ["y"], float("inf"))
        made.close()
        return endpoint.requests[-1][1].get("authorization")

    assert asked() is None
    assert asked(**{f"{variable}_BASE_URL": endpoint.url}) == f"Bearer {KEY}"
    assert asked(QMD_RERANK_API_KEY="own") == "Bearer own"
