"""The interface of all distillers, and the budget of those that ask a model.

A budget limits tokens and seconds, of a run and of a day (UTC); ``state/distill.json`` keeps the day's. Tokens are
booked before they are spent, and corrected afterwards: a run that is killed has paid, and starting it again and again
does not begin with a full budget.
"""

from __future__ import annotations

import json
import math
import time
from dataclasses import dataclass
from os.path import join
from typing import TYPE_CHECKING, Any, Protocol

from core import clock
from core.files import read_or_none, write_atomic

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from core.home import Home
    from runtime.distill.central import SentenceReader
    from runtime.distill.distillate import Distillate, Source


TERMS = "terms"
NAMES = ("extractive", "claude", "openai", "llm:<model>")


class Unfit(Exception):
    """This document could not be distilled; the text says why, and ends as its dead letter's reason.

    ``tokens`` and ``cost_usd`` are what the attempts have cost all the same. ``answered``: whether the model answered
    at all; if it did not, another document may fare the same.
    """

    def __init__(
        self, reason: str, attempts: int = 1, tokens: int = 0, cost_usd: float = 0.0, *, answered: bool = True
    ) -> None:
        super().__init__(reason)
        self.answered = answered
        self.attempts = attempts
        self.tokens = tokens
        self.cost_usd = cost_usd


class OutOfBudget(Exception):
    """The remaining budget does not suffice for this document; the document goes on waiting.

    ``tokens`` and ``cost_usd`` are what attempts at it have cost before.
    """

    def __init__(self, reason: str, tokens: int = 0, cost_usd: float = 0.0) -> None:
        super().__init__(reason)
        self.tokens = tokens
        self.cost_usd = cost_usd


@dataclass(frozen=True, slots=True)
class Made:
    """A distillate, and what it took: tokens sent and received, US dollars where the provider says.

    ``centrality`` is what said which sentences are central: a local model's name, ``terms``, or "" where neither was
    asked.
    """

    found: Distillate
    model: str = ""
    tokens: int = 0
    cost_usd: float = 0.0
    centrality: str = ""


class Distiller(Protocol):
    """``name`` goes into the frontmatter, with the version of the procedure: ``extractive/1``."""

    name: str

    def distil(self, source: Source) -> Made:
        """Return the distillate. Raises Unfit for this document, OutOfBudget, BrainError if none can be distilled."""


class Extractive:
    """The default: no network, nothing to pay; ``reader`` is the local model, None for words alone."""

    def __init__(self, reader: SentenceReader | None = None) -> None:
        from runtime.distill import extractive

        self.name = f"extractive/{extractive.VERSION}"
        self._reader = reader

    def distil(self, source: Source) -> Made:
        """See ``Distiller``."""
        from runtime.distill.extractive import distil

        opened = None if self._reader is None else self._reader.open()
        model, encode = (TERMS, None) if opened is None else opened
        return Made(distil(source.body, str(source.meta.get("project") or ""), encode), centrality=model)


# Tokens and seconds of a run and of a day where the configuration names none.
RUN_TOKENS = 200_000
DAY_TOKENS = 1_000_000
RUN_SECONDS = 1_800
DAY_SECONDS = 7_200


class Budget:
    """The remaining budget. This run has spent ``tokens``, ``seconds`` and ``cost_usd``. One run at a time."""

    def __init__(self, home: Home, section: Mapping[str, Any], run_tokens: int = 0) -> None:
        self._path = join(home.state, "distill.json")
        self._run_tokens = run_tokens or int(section.get("budget_tokens") or RUN_TOKENS)
        self._day_tokens = int(section.get("budget_tokens_day") or DAY_TOKENS)
        self._run_seconds = float(section.get("budget_seconds") or RUN_SECONDS)
        self._day_seconds = float(section.get("budget_seconds_day") or DAY_SECONDS)
        self.tokens = 0
        self.seconds = 0.0
        self.cost_usd = 0.0

    def today(self) -> dict[str, Any]:
        """Return ``day``, and its ``tokens``, ``seconds`` and ``cost_usd`` so far."""
        day = clock.iso(clock.now())[:10]
        try:
            found = json.loads(read_or_none(self._path) or b"{}")
            if isinstance(found, dict) and found.get("day") == day:
                spent = {name: float(found[name]) for name in ("seconds", "cost_usd")}
                if int(found["tokens"]) < 0 or not all(math.isfinite(value) and value >= 0 for value in spent.values()):
                    raise ValueError
                return {"day": day, "tokens": int(found["tokens"]), **spent}
        except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
            # Damaged by hand: better to think that all is spent than that nothing is.
            return {"day": day, "tokens": self._day_tokens, "seconds": 0.0, "cost_usd": 0.0}
        return {"day": day, "tokens": 0, "seconds": 0.0, "cost_usd": 0.0}

    def seconds_left(self) -> float:
        """Return seconds that the run may still take. Raises OutOfBudget if there are none."""
        left = min(self._run_seconds - self.seconds, self._day_seconds - float(self.today()["seconds"]))
        if left <= 0:
            raise OutOfBudget("the budget of time is spent")
        return left

    def book(self, tokens: int) -> Booking:
        """Book so many tokens for one request: ``with budget.book(n) as booking``. Raises OutOfBudget."""
        today = self.today()
        for left, of in ((self._run_tokens - self.tokens, "run"), (self._day_tokens - today["tokens"], "day")):
            if tokens > left:
                raise OutOfBudget(
                    f"the {of}'s budget of tokens: the next needs about {tokens:,}, {max(left, 0):,} are left"
                )
        return Booking(self, tokens)

    def add(self, tokens: int, seconds: float, cost_usd: float) -> None:
        """Add to the run and to the day."""
        today = self.today()
        self.tokens += tokens
        self.seconds += seconds
        self.cost_usd += cost_usd
        # Tokens booked before midnight are given back to a day that is over.
        today["tokens"] = max(today["tokens"] + tokens, 0)
        today["seconds"] = round(today["seconds"] + seconds, 3)
        today["cost_usd"] = round(today["cost_usd"] + cost_usd, 6)
        write_atomic(self._path, json.dumps(today).encode())


class Booking:
    """Booked tokens; ``settle`` corrects their number. Unsettled tokens stay booked."""

    def __init__(self, budget: Budget, tokens: int) -> None:
        self._budget = budget
        self._tokens = tokens
        self._started = 0.0
        self._cost = 0.0
        self._actual = tokens

    def __enter__(self) -> Booking:
        self._started = time.monotonic()
        self._budget.add(self._tokens, 0.0, 0.0)
        return self

    def __exit__(self, *_: object) -> None:
        self._budget.add(self._actual - self._tokens, time.monotonic() - self._started, self._cost)

    def settle(self, tokens: int, cost_usd: float) -> None:
        """Correct the booking to what the request took; 0 tokens, if nobody counted, leaves the booking."""
        self._actual = tokens or self._tokens
        self._cost = cost_usd
