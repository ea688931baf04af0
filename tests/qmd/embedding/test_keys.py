from __future__ import annotations

from typing import Any

import pytest

from core.errors import BadInput
from qmd.embedding.remote import GEMINI, Gemini
from qmd.embedding.remote import OpenAI as Embedding
from qmd.embedding.wire import OPENAI, openai_key, same_host, service_key
from qmd.generation.of_openai import OpenAI as Generation
from qmd.reranking.remote import Remote as Reranking
from runtime.distill.models import OpenAI as Distilling
from tests.qmd.embedding.endpoint import Endpoint, says

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
