"""Any endpoint of OpenAI's chat protocol: OpenAI, Ollama, LM Studio, vLLM, and what others offer in that form.

https://platform.openai.com/docs/api-reference/chat/create.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from core.errors import BadInput
from core.processes.within import within
from core.text import one_line
from qmd.embedding.wire import OPENAI, Endpoint, Nonsense, TextRefused, check_url, openai_key

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_TOKENS = 700
# Bytes of an answer; what the prompt asks for has less than one percent of it.
_LARGEST = 1 << 18
_ATTEMPTS = 3
_FIX = "check generation: {base_url: …, model: …} and the key in the environment (QMD_GENERATE_API_KEY)"
# The request's own limits end it; this is for what they do not see, such as a name that does not resolve.
_GRACE_S = 0.5


class Unusable(Exception):
    """An answer without a text to use; the text says why. ``tokens`` is what it took, 0 where it does not say."""

    def __init__(self, reason: str, tokens: int = 0) -> None:
        super().__init__(reason)
        self.tokens = tokens


class OpenAI:
    """The key is ``$QMD_GENERATE_API_KEY``, else ``$OPENAI_API_KEY`` where that is the host's (``openai_key``).

    Raises BadInput where OpenAI's own endpoint is meant and there is none.
    """

    def __init__(
        self,
        model: str,
        base_url: str,
        environ: Mapping[str, str],
        *,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        given = environ.get("QMD_GENERATE_BASE_URL") or base_url or environ.get("OPENAI_BASE_URL") or OPENAI
        self._base = check_url(given)
        self._key = openai_key(self._base, environ, "QMD_GENERATE_API_KEY")
        if not self._key and self._base == OPENAI:
            raise BadInput("OpenAI wants a key", "export OPENAI_API_KEY=…; or generation: {base_url: …}")
        self._model = model
        self._sleep = sleep
        self.identity = f"openai:{model}@{self._base}"

    def ask(self, system: str, prompt: str, timeout_s: float) -> str:
        """See ``Generator``."""
        endpoint = Endpoint(
            f"{self._base}/chat/completions",
            {"Authorization": f"Bearer {self._key}"} if self._key else {},
            self._key,
            _FIX,
            read_s=timeout_s,
            whole_s=timeout_s,
            attempts=_ATTEMPTS,
            largest=_LARGEST,
            sleep=self._sleep,
        )
        until = time.monotonic() + timeout_s
        try:
            answer = within(
                timeout_s + _GRACE_S,
                lambda: self._post(endpoint, system, prompt, until),
                f"{endpoint.host} took too long",
            )
        finally:
            endpoint.close()
        try:
            return message(answer)[0]
        except Unusable as reason:
            raise Nonsense(f"{endpoint.host}: {reason}", _FIX) from None

    def _post(self, endpoint: Endpoint, system: str, prompt: str, until: float) -> Any:
        asked = {
            "model": self._model,
            "messages": [{"role": "system", "content": system}, {"role": "user", "content": prompt}],
            "stream": False,
        }
        try:
            return endpoint.post({**asked, "max_tokens": _TOKENS, "temperature": 0}, until)
        except TextRefused:
            # Models that think before they answer know neither of the two.
            return endpoint.post(asked, until)


def message(answer: Any) -> tuple[str, int]:
    """Return the text of a chat completion, and the tokens it took. Raises Unusable."""
    tokens = _tokens(answer)
    try:
        choice = answer["choices"][0]
        said = choice["message"]
        text, refusal = said.get("content"), said.get("refusal")
        ended = choice.get("finish_reason")
    except (KeyError, IndexError, TypeError, AttributeError):
        raise Unusable("the endpoint's answer has no message", tokens) from None
    if refusal:
        raise Unusable(f"the model refused: {one_line(str(refusal), 200)}", tokens)
    if not isinstance(text, str):
        raise Unusable("the endpoint's answer has no text", tokens)
    if ended == "length":
        raise Unusable("the answer was cut short", tokens)
    return text, tokens


def _tokens(answer: Any) -> int:
    """Return the tokens that the answer declares: the total, or the sum of both halves; 0 if they are of no use."""
    usage = answer.get("usage") if isinstance(answer, dict) else None
    if not isinstance(usage, dict):
        return 0
    total = usage.get("total_tokens")
    if total is None:
        halves = [usage.get("prompt_tokens", 0), usage.get("completion_tokens", 0)]
        total = sum(halves) if all(type(half) is int and half >= 0 for half in halves) else 0
    return total if type(total) is int and total > 0 else 0
