"""A distiller that asks a model: one request a session, at most three attempts, within the budget."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from runtime.distill import contract
from runtime.distill.distiller import Made, OutOfBudget, Unfit

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from runtime.distill.budget import Budget
    from runtime.distill.source import Source

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
    """What a model said; ``tokens`` sent and received and ``cost_usd``, 0 where the provider does not say."""

    text: str
    model: str
    tokens: int = 0
    cost_usd: float = 0.0


class Model(Protocol):
    """One way to ask a model."""

    def ask(self, system: str, prompt: str, timeout_s: float) -> Reply:
        """The answer. Raises Failed for this request, BrainError where no request can succeed."""


class Thinking:
    """``kind`` is the provider's name; it stands in the frontmatter with the version of the contract."""

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
