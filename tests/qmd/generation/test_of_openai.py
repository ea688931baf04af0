"""A chat endpoint on loopback, well-behaved and not."""

from __future__ import annotations

import json
import logging
import time
from http.server import BaseHTTPRequestHandler
from typing import Any

import pytest

from core.errors import BadInput, BrainError, EngineMissing, EngineTimeout
from qmd.embedding.wire import Nonsense
from qmd.generation.of_openai import OpenAI, message
from tests.qmd.embedding.endpoint import Endpoint, closes, half, hangs, says

KEY = "sk-very-secret-1234567890"


def chat(text: Any = "lex: a b", **more: Any) -> dict[str, Any]:
    return {"choices": [{"message": {"role": "assistant", "content": text, **more}, "finish_reason": "stop"}]}


pytestmark = pytest.mark.usefixtures("direct")


@pytest.fixture
def endpoint(endpoint: Endpoint) -> Endpoint:
    endpoint.always = says(chat())
    return endpoint


def generator(endpoint: Endpoint, slept: list[float] | None = None, **environ: str) -> OpenAI:
    environ = environ or {"QMD_GENERATE_API_KEY": KEY}
    return OpenAI("small", endpoint.url, environ, sleep=(slept if slept is not None else []).append)


def test_one_request_has_the_model_the_prompt_and_the_key_in_its_header(endpoint: Endpoint) -> None:
    assert generator(endpoint).ask("be brief", "what", 30) == "lex: a b"
    ((path, headers, body),) = endpoint.requests
    assert path == "/v1/chat/completions"
    assert headers["authorization"] == f"Bearer {KEY}"
    assert (body["model"], body["stream"]) == ("small", False)
    assert body["messages"] == [{"role": "system", "content": "be brief"}, {"role": "user", "content": "what"}]
    assert KEY not in json.dumps(body)


def test_a_key_of_its_own_goes_before_openais_and_none_is_needed_elsewhere(endpoint: Endpoint) -> None:
    generator(endpoint, OPENAI_API_KEY="other", QMD_GENERATE_API_KEY=KEY).ask("", "", 30)
    generator(endpoint, NOTHING="").ask("", "", 30)
    assert [headers.get("authorization") for _, headers, _ in endpoint.requests] == [f"Bearer {KEY}", None]


def test_the_address_may_come_from_the_environment(endpoint: Endpoint) -> None:
    OpenAI("small", "", {"OPENAI_BASE_URL": endpoint.url}).ask("", "", 30)
    OpenAI("small", "http://127.0.0.1:9/v1", {"QMD_GENERATE_BASE_URL": endpoint.url}).ask("", "", 30)
    assert len(endpoint.requests) == 2


@pytest.mark.parametrize(
    ("base", "environ", "said"),
    [
        ("", {}, "OpenAI wants a key"),
        ("ftp://x", {}, "no address"),
        ("http://me:pw@localhost/v1", {}, "may hold no password"),
        ("http://localhost/v1", {"QMD_GENERATE_API_KEY": "a\nb"}, "holds signs that no key has"),
    ],
)
def test_what_cannot_be_asked_is_refused_before_anything_is_sent(base: str, environ: Any, said: str) -> None:
    with pytest.raises(BadInput, match=said) as refused:
        OpenAI("small", base, environ)
    assert "pw" not in refused.value.message


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_busy_endpoint_is_asked_again_and_then_given_up(endpoint: Endpoint, status: int) -> None:
    slept: list[float] = []
    endpoint.behaviours = [says({"error": {"message": f"no {KEY}"}}, status)]
    assert generator(endpoint, slept).ask("", "", 30) == "lex: a b"
    assert len(slept) == 1
    endpoint.always = says({"error": {"message": f"no {KEY}"}}, status)
    with pytest.raises(BrainError) as failure:
        generator(endpoint, slept).ask("", "", 30)
    assert KEY not in failure.value.message
    assert f"HTTP {status}" in failure.value.message
    assert len(endpoint.requests) == 2 + 3


def test_nobody_waits_longer_than_the_deadline_for_a_busy_endpoint(endpoint: Endpoint) -> None:
    slept: list[float] = []
    endpoint.always = says({}, 429, Retry_After="30")
    with pytest.raises(EngineTimeout):
        generator(endpoint, slept).ask("", "", 5)
    assert slept == []
    assert len(endpoint.requests) == 1


def test_an_endpoint_that_hangs_is_given_up_at_the_deadline(endpoint: Endpoint) -> None:
    endpoint.always = hangs(endpoint.stopped)
    with pytest.raises(EngineTimeout):
        generator(endpoint).ask("", "", 0.3)


def test_an_endpoint_that_dribbles_is_given_up_at_the_deadline(endpoint: Endpoint) -> None:
    def dribble(handler: BaseHTTPRequestHandler, _: Any) -> bool:
        handler.close_connection = True
        handler.send_response(200)
        handler.send_header("Content-Length", "100000")
        handler.end_headers()
        return endpoint.drips(handler, b" ")

    endpoint.always = dribble
    with pytest.raises(EngineTimeout):
        generator(endpoint).ask("", "", 0.3)


def test_an_endpoint_with_endless_headers_is_given_up_at_the_deadline(endpoint: Endpoint) -> None:
    def dribble(handler: BaseHTTPRequestHandler, _: Any) -> bool:
        handler.close_connection = True
        handler.wfile.write(b"HTTP/1.1 200 OK\r\nX-Long: ")
        return endpoint.drips(handler, b"x")

    endpoint.always = dribble
    with pytest.raises(EngineTimeout, match=r"took too long|did not answer in time"):
        generator(endpoint).ask("", "", 0.3)


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (b"{", "something else than JSON"),
        (b"[" * 100_000, "something else than JSON"),
        ({}, "no message"),
        ([], "no message"),
        ({"choices": []}, "no message"),
        ({"choices": [{"message": "x"}]}, "no message"),
        (chat(None), "no text"),
        (chat([{"type": "text"}]), "no text"),
        (chat("", refusal=f"I \x1b[31mcannot {'x' * 9999}"), "the model refused: I cannot"),
        ({"choices": [{"message": {"content": "lex: a"}, "finish_reason": "length"}]}, "cut short"),
        (b" " * (1 << 18) + b"{}", "does not stop answering"),
    ],
)
def test_an_answer_that_is_none_is_a_failure(endpoint: Endpoint, value: Any, said: str) -> None:
    endpoint.always = says(value)
    with pytest.raises(Nonsense, match=said) as failure:
        generator(endpoint).ask("", "", 30)
    assert len(failure.value.message) < 400


def test_half_an_answer_is_no_answer(endpoint: Endpoint) -> None:
    cut = half(json.dumps(chat()).encode())
    endpoint.behaviours = [cut, closes]
    assert generator(endpoint).ask("", "", 30) == "lex: a b", "asked again"
    endpoint.always = cut
    with pytest.raises(EngineMissing, match="cannot be reached"):
        generator(endpoint).ask("", "", 30)


def test_models_that_take_no_limits_are_asked_without(endpoint: Endpoint) -> None:
    endpoint.behaviours = [says({"error": {"message": "Unsupported parameter: max_tokens"}}, 400)]
    assert generator(endpoint).ask("", "", 30) == "lex: a b"
    assert [set(body) - {"model", "messages", "stream"} for _, _, body in endpoint.requests] == [
        {"max_tokens", "temperature"},
        set(),
    ]


@pytest.mark.parametrize("status", [401, 403])
def test_a_key_that_is_not_taken_is_never_shown(
    endpoint: Endpoint, status: int, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    endpoint.always = says({"error": {"message": f"Incorrect API key {KEY}"}}, status)
    with pytest.raises(BadInput) as failure:
        generator(endpoint).ask("", "", 30)
    assert KEY not in f"{failure.value.message} {failure.value.fix} {caplog.text}"
    assert len(endpoint.requests) == 1


def test_nobody_at_the_address_is_a_failure_within_the_deadline() -> None:
    started = time.monotonic()
    with pytest.raises(EngineMissing, match="cannot be reached"):
        OpenAI("small", "http://127.0.0.1:9/v1", {}, sleep=lambda _: None).ask("", "", 30)
    assert time.monotonic() - started < 30


@pytest.mark.parametrize(
    ("usage", "tokens"),
    [
        ({"total_tokens": 15}, 15),
        ({"prompt_tokens": 10, "completion_tokens": 5}, 15),
        ({"prompt_tokens": 10}, 10),
        ({"prompt_tokens": 10, "completion_tokens": -5}, 0),
        ({"total_tokens": "15"}, 0),
        ({"total_tokens": True}, 0),
        ({}, 0),
        (None, 0),
        ([15], 0),
    ],
)
def test_what_an_answer_took_is_its_total_or_the_sum_of_its_halves(usage: object, tokens: int) -> None:
    assert message({**chat("yes"), "usage": usage})[1] == tokens
