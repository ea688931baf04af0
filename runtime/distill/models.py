"""A distiller that asks a model: one request a session, at most three attempts, within the budget.

Models are ``claude -p``, any endpoint of OpenAI's chat protocol (OpenAI, Ollama, LM Studio, vLLM and others;
https://platform.openai.com/docs/api-reference/chat/create), and those of Simon Willison's ``llm``.

``claude -p`` is a fresh process that can only answer (https://code.claude.com/docs/en/cli-reference): no tools, no MCP
servers, no settings and so no hooks, no skills, one turn, and no session that could be resumed or become a memory. Its
working directory is empty and is removed afterwards.
"""

from __future__ import annotations

import json
import shutil
import tempfile
import time
import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from core.errors import BadInput, BrainError, EngineMissing
from core.processes import child
from core.text import one_line
from qmd.embedding.wire import OPENAI, Busy, Endpoint, Overloaded, Unreachable, check_url, openai_key
from qmd.generation import of_llm
from qmd.generation.of_openai import Unusable, message
from runtime.distill import contract
from runtime.distill.central import SentenceReader
from runtime.distill.contract import ANSWER_LIMIT, ANSWER_TOKENS
from runtime.distill.distiller import NAMES, TERMS, Extractive, Made, OutOfBudget, Unfit

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from runtime.distill.distillate import Source
    from runtime.distill.distiller import Budget, Distiller


ATTEMPTS = 3
TIMEOUT_S = 300.0
WINDOW = 100_000
_WAIT_S = 2.0


class Failed(Exception):
    """A request that came to nothing, and may do better when repeated; the text says why."""

    def __init__(self, reason: str, tokens: int = 0, cost_usd: float = 0.0) -> None:
        super().__init__(reason)
        self.tokens = tokens
        self.cost_usd = cost_usd


@dataclass(frozen=True, slots=True)
class Reply:
    """A model's answer; ``tokens`` sent and received and ``cost_usd``, 0 if the provider does not report them."""

    text: str
    model: str
    tokens: int = 0
    cost_usd: float = 0.0


class Model(Protocol):
    """One way to ask a model."""

    def ask(self, system: str, prompt: str, timeout_s: float) -> Reply:
        """Return the answer. Raises Failed for this request, BrainError where no request can succeed."""


class Thinking:
    """``kind`` is the provider's name; it goes into the frontmatter with the version of the contract."""

    def __init__(
        self,
        kind: str,
        model: Model,
        section: Mapping[str, Any],
        budget: Budget,
        *,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.name = f"{kind}/{contract.VERSION}"
        self._model = model
        self._budget = budget
        self._window = int(section.get("window") or WINDOW)
        self._timeout_s = float(section.get("timeout_s") or TIMEOUT_S)
        self._sleep = sleep

    def distil(self, source: Source) -> Made:
        """See ``Distiller``."""
        prompt, turns = contract.prompt(source, self._window)
        before = self._budget.tokens, self._budget.cost_usd
        reason = ""
        answered = False
        for attempt in range(ATTEMPTS):
            if attempt:
                self._sleep(_WAIT_S * attempt)
            asked = prompt if not reason else f"{prompt}\n\nYour last answer was not usable: {reason}."
            try:
                reply = self._ask(asked)
                found = contract.read(reply.text, source, turns)
            except Failed as failure:
                reason = ""
                last = str(failure)
                continue
            except contract.Malformed as failure:
                reason = last = str(failure)
                answered = True
                continue
            except OutOfBudget as spent:
                raise OutOfBudget(str(spent), *self._spent(before)) from None
            tokens, cost = self._spent(before)
            return Made(found, reply.model, tokens, cost)
        raise Unfit(last, ATTEMPTS, *self._spent(before), answered=answered)

    def _ask(self, prompt: str) -> Reply:
        seconds = min(self._timeout_s, self._budget.seconds_left())
        with self._budget.book(contract.tokens(prompt) + contract.ANSWER_TOKENS) as booking:
            try:
                reply = self._model.ask(contract.SYSTEM, prompt, seconds)
            except Failed as failure:
                booking.settle(failure.tokens, failure.cost_usd)
                raise
            booking.settle(reply.tokens, reply.cost_usd)
        return reply

    def _spent(self, before: tuple[int, float]) -> tuple[int, float]:
        return self._budget.tokens - before[0], self._budget.cost_usd - before[1]


_FLAGS = (
    "--print",
    "--output-format",
    "json",
    "--tools",
    "",
    "--strict-mcp-config",
    "--setting-sources",
    "",
    "--settings",
    # Claude Code deletes transcripts at its start, after 30 days where no settings say otherwise; and we show it none.
    '{"disableAllHooks": true, "cleanupPeriodDays": 36500}',
    "--disable-slash-commands",
    "--no-session-persistence",
    "--max-turns",
    "1",
)
# Variables of an agent's session that runs us: the new process is not part of that session.
_SESSION = (
    "CLAUDECODE",
    "CLAUDE_CODE_ENTRYPOINT",
    "CLAUDE_CODE_SSE_PORT",
    "CLAUDE_CODE_SESSION_ID",
    "CLAUDE_CODE_CHILD_SESSION",
    "CLAUDE_PROJECT_DIR",
    "CLAUDE_ENV_FILE",
    "CLAUDE_EFFORT",
    "AI_AGENT",
)
# https://code.claude.com/docs/en/settings#environment-variables. An answer four times as long as one is booked for, no
# thinking, and no ten retries over minutes of what will not get better: we ask again ourselves.
_BOUNDS = {
    "CLAUDE_CODE_MAX_OUTPUT_TOKENS": str(4 * ANSWER_TOKENS),
    "CLAUDE_CODE_MAX_RETRIES": "3",
    "MAX_THINKING_TOKENS": "0",
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "CLAUDE_CODE_DISABLE_CLAUDE_MDS": "1",
    "CLAUDE_CODE_DISABLE_AUTO_MEMORY": "1",
}
# No request costs more: a larger number, or NaN, is no price.
_MOST_USD = 10_000
# Failures that every other session would meet, too: by the API's status (versions since 2.1), or by the words.
_EVERYONES = frozenset((401, 402, 403, 404, 429, 502, 503, 504, 529))
_NOT_NOW = (
    "login",
    "api key",
    "authenticat",
    "credit balance",
    "usage limit",
    "rate limit",
    "unknown option",
    "unable to connect",
    "overloaded",
    "selected model",
)


class Claude:
    """``model`` is what ``--model`` takes, "" for Claude Code's own choice. Raises EngineMissing without ``claude``."""

    def __init__(self, model: str, environ: Mapping[str, str]) -> None:
        found = shutil.which("claude", path=environ.get("PATH"))
        if found is None:
            raise EngineMissing("there is no `claude` on the PATH", "install Claude Code, or --llm extractive")
        self._program = found
        self._model = model
        self._environ = isolated(environ) | _BOUNDS

    def ask(self, system: str, prompt: str, timeout_s: float) -> Reply:
        """See ``Model``."""
        argv = [self._program, *_FLAGS, "--system-prompt", system, *(("--model", self._model) if self._model else ())]
        with tempfile.TemporaryDirectory(prefix="brain-distill-") as empty, tempfile.TemporaryFile() as said:
            said.write(prompt.encode("utf-8", "replace"))
            said.seek(0)
            done = child.run(
                argv,
                timeout_s=timeout_s,
                environ=self._environ,
                folder=empty,
                most_bytes=8 * ANSWER_LIMIT,
                stdin=said,
                mark=uuid.uuid4().hex,
            )
        if done.timed_out and not _is_whole(done.stdout):
            raise Failed(f"claude did not answer within {timeout_s:g} s")
        if done.flooded:
            raise Failed("claude does not stop answering")
        return _reply(done.code, done.stdout, done.stderr, self._model)


def isolated(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the variables of a distiller's process: hooks off, and not a part of any session that runs us."""
    kept = {name: value for name, value in environ.items() if name not in _SESSION}
    return {**kept, "BRAIN_HOOKS": "off", "BRAIN_DISTILLING": "1"}


def _reply(code: int, stdout: bytes, stderr: bytes, model: str) -> Reply:
    try:
        answer: Any = json.loads(stdout)
    except (ValueError, RecursionError):
        answer = None
    if not isinstance(answer, dict):
        said = one_line((stderr or stdout).decode("utf-8", "replace"), 200)
        _stop_where_hopeless(said)
        raise Failed(f"claude ended with {code} and no JSON: {said}")
    usage = answer.get("usage")
    tokens = sum(value for key, value in usage.items() if _counts(key, value)) if isinstance(usage, dict) else 0
    cost = answer.get("total_cost_usd")
    is_price = isinstance(cost, int | float) and not isinstance(cost, bool) and 0 < cost < _MOST_USD
    cost = float(cost) if cost is not None and is_price else 0.0
    text = answer.get("result")
    if answer.get("is_error") or answer.get("subtype") not in (None, "success") or not isinstance(text, str):
        said = one_line(str(text or answer.get("subtype") or "no result"), 200)
        _stop_where_hopeless(said, answer.get("api_error_status"))
        raise Failed(f"claude failed: {said}", tokens, cost)
    used = answer.get("modelUsage")
    return Reply(text, model or (next(iter(used), "") if isinstance(used, dict) else ""), tokens, cost)


def _is_whole(stdout: bytes) -> bool:
    """Return True if a process that did not end in time has given an answer, which is paid for."""
    try:
        return isinstance(json.loads(stdout), dict)
    except (ValueError, RecursionError):
        return False


def _counts(key: str, value: Any) -> bool:
    return key.endswith("_tokens") and type(value) is int and value > 0


def _stop_where_hopeless(said: str, status: object = None) -> None:
    """Raises EngineMissing if no other session would fare better: nothing is then a dead letter."""
    hopeless = isinstance(status, int) and status in _EVERYONES
    if hopeless or any(word in said.lower() for word in _NOT_NOW):
        raise EngineMissing(f"claude cannot be used now: {said}", "claude  (log in), or --llm extractive")


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


class LlmModel:
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


def choose(
    name: str,
    section: Mapping[str, Any],
    environ: Mapping[str, str],
    budget: Budget,
    embedding: Mapping[str, Any] | None = None,
) -> Distiller:
    """Return the distiller of that name, its model the one of ``section`` (the configuration's ``distill:``).

    ``embedding`` is the section of that name; the extractive distiller uses its local model. Raises BadInput, and
    EngineMissing if the distiller needs a program or library that is not installed.
    """
    if name == "extractive":
        return Extractive(None if section.get("centrality") == TERMS else SentenceReader(embedding or {}))
    kind, _, given = name.partition(":")
    if kind not in ("claude", "openai", "llm") or (given and kind != "llm") or name == "llm:":
        raise BadInput(f"there is no distiller {name!r}", f"one of: {', '.join(NAMES)}")
    # The configured model belongs to the configured distiller.
    configured = str(section.get("llm") or "").partition(":")[0] == kind
    model = given or (str(section.get("model") or "") if configured else "")
    chosen: Model
    if kind == "claude":
        chosen = Claude(model, environ)
    elif kind == "openai":
        chosen = OpenAI(model, section, environ)
    else:
        chosen = LlmModel(model, environ)
    return Thinking(kind, chosen, section, budget)
