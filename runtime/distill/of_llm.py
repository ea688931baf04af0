"""Models of Simon Willison's ``llm`` as a distiller's: ``qmd.generation.of_llm`` says how they are asked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.errors import BadInput
from qmd.generation import of_llm
from runtime.distill.contract import ANSWER_LIMIT
from runtime.distill.of_claude import isolated
from runtime.distill.thinking import Failed, Reply

if TYPE_CHECKING:
    from collections.abc import Mapping


class Llm:
    """One model by its name in ``llm models``. Raises BadInput without a name."""

    def __init__(self, model: str, environ: Mapping[str, str]) -> None:
        if not model:
            raise BadInput("llm wants a model's name", "--llm llm:MODEL; llm models lists them")
        self._model = model
        self._environ = isolated(environ)

    def ask(self, system: str, prompt: str, timeout_s: float) -> Reply:
        """See ``Model``."""
        try:
            text, tokens = of_llm.answer(self._model, system, prompt, timeout_s, self._environ, 8 * ANSWER_LIMIT)
        except of_llm.Failed as failure:
            raise Failed(str(failure)) from None
        return Reply(text, self._model, tokens)
