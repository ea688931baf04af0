"""The providers that ask an endpoint, with a key that must appear nowhere."""

from __future__ import annotations

from typing import Any

from qmd.embedding.remote import Gemini, OpenAI
from tests.qmd.embedding.endpoint import Endpoint

KEY = "sk-very-secret-1234567890"


class Slept(list[float]):
    """Stands for sleeping."""

    def __call__(self, seconds: float) -> None:
        self.append(seconds)


def openai(endpoint: Endpoint, slept: Slept | None = None, model: str = "m", **options: Any) -> OpenAI:
    section = {"base_url": endpoint.url, **options.pop("section", {})}
    sleep = slept if slept is not None else Slept()
    provider = OpenAI(section, {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": endpoint.url}, model, sleep=sleep, **options)
    endpoint.clients.append(provider)
    return provider


def gemini(endpoint: Endpoint, **section: Any) -> Gemini:
    environ = {"GEMINI_API_KEY": f" {KEY}\r", "GEMINI_BASE_URL": endpoint.url}
    provider = Gemini(section, environ, "g", sleep=Slept())
    endpoint.clients.append(provider)
    return provider
