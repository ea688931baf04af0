"""``claude -p`` as a distiller's model: a fresh process that can do nothing but answer.

https://code.claude.com/docs/en/cli-reference: no tools, no MCP servers, no settings (and so no hooks), no skills, no
session that could be resumed or would come back as a memory, one turn. The working directory is empty and goes with it.
"""

from __future__ import annotations

import json
import shutil
import tempfile
import uuid
from typing import TYPE_CHECKING, Any

from core import child
from core.errors import EngineMissing
from core.text import one_line
from runtime.distill.contract import ANSWER_LIMIT, ANSWER_TOKENS
from runtime.distill.thinking import Failed, Reply

if TYPE_CHECKING:
    from collections.abc import Mapping

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
# Of an agent's session that runs us: the new process is not part of it.
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
# What no request costs: a number beyond it (or none, as NaN) is no price.
_MOST_USD = 10_000
# What every other session would meet as well: by the API's status (versions since 2.1), or by the words.
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
    """The variables of a distiller's process: hooks off, and not a part of any session that runs us."""
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
    """Whether there is an answer all the same: one that was given, and paid for, by a process that did not end then."""
    try:
        return isinstance(json.loads(stdout), dict)
    except (ValueError, RecursionError):
        return False


def _counts(key: str, value: Any) -> bool:
    return key.endswith("_tokens") and type(value) is int and value > 0


def _stop_where_hopeless(said: str, status: object = None) -> None:
    """Raises EngineMissing where no other session would fare better: nothing is then a dead letter."""
    hopeless = isinstance(status, int) and status in _EVERYONES
    if hopeless or any(word in said.lower() for word in _NOT_NOW):
        raise EngineMissing(f"claude cannot be used now: {said}", "claude  (log in), or --llm extractive")
