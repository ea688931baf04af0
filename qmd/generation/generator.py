"""Generators: the configured one, what each offers, and how it is made.

The section ``generation``, qmd's ``models.generate`` or the environment names one; without a name there is none. The
real qmd's models are files that this program does not run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping


TIMEOUT_S = 10.0
# The providers of generators and the default model of each.
GENERATORS = {"openai": "gpt-4.1-mini", "llm": ""}
NONE = "there is no generator"


class Choice:
    """``provider/model``; ``base_url`` is "" for the provider's own; ``timeout_s`` bounds what a question may wait."""

    __slots__ = ("base_url", "model", "provider", "timeout_s")

    def __init__(self, provider: str, model: str, base_url: str = "", timeout_s: float = TIMEOUT_S) -> None:
        self.provider = provider
        self.model = model
        self.base_url = base_url
        self.timeout_s = timeout_s

    @property
    def name(self) -> str:
        return f"{self.provider}/{self.model}"


def choose(section: Mapping[str, Any], models: Mapping[str, str], environ: Mapping[str, str]) -> Choice | str:
    """Return the configured generator, or why there is none. Raises BadInput if the section is invalid.

    ``section`` goes before ``models`` (``generate: openai:MODEL`` or ``llm:MODEL``), and that before
    ``$QMD_GENERATE_MODEL`` in the same form.
    """
    if section:
        from core.config_yaml import check

        check("the configuration", "generation", section)
    provider, model = str(section.get("provider") or ""), str(section.get("model") or "")
    strange = ""
    for given in () if model else (models.get("generate", ""), environ.get("QMD_GENERATE_MODEL", "")):
        kind, colon, rest = given.strip().partition(":")
        if colon and rest and kind in GENERATORS and provider in ("", kind):
            provider, model = kind, rest
            break
        strange = strange or given.strip()
    if not (provider or model or section.get("base_url")):
        return f"{NONE} ({strange} is none that this program runs: openai:MODEL and llm:MODEL are)" if strange else NONE
    provider = provider or "openai"
    return Choice(
        provider,
        model or GENERATORS[provider],
        str(section.get("base_url") or ""),
        float(section.get("timeout_s") or TIMEOUT_S),
    )


class Generator(Protocol):
    """A model that writes. Its answers are kept under its ``identity``, which no other model has."""

    identity: str

    def ask(self, system: str, prompt: str, timeout_s: float) -> str:
        """Return the model's whole answer. Raises BrainError: EngineTimeout past ``timeout_s``."""
        ...


def make(choice: Choice, environ: Mapping[str, str]) -> Generator:
    """Return the generator of a choice. Keys come from ``environ``. Raises BadInput if something is missing."""
    if choice.provider == "llm":
        from qmd.generation.of_llm import LlmGenerator

        return LlmGenerator(choice.model, environ)
    from qmd.generation.of_openai import OpenAI

    return OpenAI(choice.model, choice.base_url, environ)
