"""What every generator offers, and how the chosen one is made."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping

    from qmd.generation.choice import Choice


class Generator(Protocol):
    """A model that writes. Answers are kept under its ``identity``, which tells it from every other."""

    identity: str

    def ask(self, system: str, prompt: str, timeout_s: float) -> str:
        """The model's answer, all of it. Raises BrainError: EngineTimeout past ``timeout_s``."""
        ...


def make(choice: Choice, environ: Mapping[str, str]) -> Generator:
    """The generator of a choice. Keys come from ``environ``. Raises BadInput where what it needs is missing."""
    if choice.provider == "llm":
        from qmd.generation.of_llm import Llm

        return Llm(choice.model, environ)
    from qmd.generation.of_openai import OpenAI

    return OpenAI(choice.model, choice.base_url, environ)
