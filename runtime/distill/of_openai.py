"""Any endpoint of OpenAI's chat protocol as a distiller's model: OpenAI, Ollama, LM Studio, vLLM and others.

https://platform.openai.com/docs/api-reference/chat/create.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from core.errors import BadInput, BrainError
from qmd.embedding.wire import OPENAI, Busy, Endpoint, Overloaded, Unreachable, check_url, openai_key
from qmd.generation.of_openai import Unusable, message
from runtime.distill.contract import ANSWER_LIMIT, ANSWER_TOKENS
from runtime.distill.thinking import Failed, Reply

if TYPE_CHECKING:
    from collections.abc import Mapping

_MODEL = "gpt-4.1-mini"


class OpenAI:
    """``section`` is the configuration's ``distill:``. Raises BadInput where a key is needed and not there."""

    def __init__(self, model: str, section: Mapping[str, Any], environ: Mapping[str, str]) -> None:
        url = check_url(str(section.get("base_url") or environ.get("OPENAI_BASE_URL") or OPENAI))
        key = openai_key(url, environ)
        if not key and url == OPENAI:
            raise BadInput("OPENAI_API_KEY is not set", "export OPENAI_API_KEY=…, or --llm extractive")
        self._model = model or _MODEL
        self._url = f"{url}/chat/completions"
        self._key = key

    def ask(self, system: str, prompt: str, timeout_s: float) -> Reply:
        """See ``Model``."""
        headers = {"Authorization": f"Bearer {self._key}"} if self._key else {}
        endpoint = Endpoint(
            self._url,
            headers,
            self._key,
            "check distill: {base_url: …, model: …}, OPENAI_API_KEY and OPENAI_BASE_URL (the host that it is for)",
            read_s=timeout_s,
            whole_s=timeout_s,
            attempts=1,
            largest=8 * ANSWER_LIMIT,
        )
        body = {
            "model": self._model,
            "messages": [{"role": "system", "content": system}, {"role": "user", "content": prompt}],
            "max_tokens": ANSWER_TOKENS,
            "temperature": 0,
            "stream": False,
        }
        try:
            answer = endpoint.post(body)
        except (Busy, Overloaded, Unreachable, BadInput):
            raise  # every other session would fare the same: nothing is then a dead letter
        except BrainError as error:
            raise Failed(error.message) from None
        finally:
            endpoint.close()
        return self._reply(answer)

    def _reply(self, answer: Any) -> Reply:
        try:
            text, tokens = message(answer)
        except Unusable as reason:
            raise Failed(str(reason), reason.tokens) from None
        return Reply(text, self._model, tokens)
