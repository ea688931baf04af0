"""What models may cost: tokens and seconds, of a run and of a day (UTC), the day's kept in ``state/distill.json``.

Tokens are booked before they are spent, and corrected afterwards: a run that is killed in the middle has paid, and a
run that dies and is started again and again does not start from nothing each time.
"""

from __future__ import annotations

import json
import math
import time
from os.path import join
from typing import TYPE_CHECKING, Any

from core import clock
from core.files import read_or_none, write_atomic
from runtime.distill.distiller import OutOfBudget

if TYPE_CHECKING:
    from collections.abc import Mapping

    from core.home import Home

# Tokens and seconds of a run and of a day where the configuration names none.
RUN_TOKENS = 200_000
DAY_TOKENS = 1_000_000
RUN_SECONDS = 1_800
DAY_SECONDS = 7_200


class Budget:
    """What is left. ``tokens``, ``seconds`` and ``cost_usd`` are what this run has spent. One run at a time."""

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
        """``day``, and its ``tokens``, ``seconds`` and ``cost_usd`` so far."""
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
        """Seconds that the run may still take. Raises OutOfBudget where there are none."""
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
        # What was booked before midnight is given back to a day that is over.
        today["tokens"] = max(today["tokens"] + tokens, 0)
        today["seconds"] = round(today["seconds"] + seconds, 3)
        today["cost_usd"] = round(today["cost_usd"] + cost_usd, 6)
        write_atomic(self._path, json.dumps(today).encode())


class Booking:
    """Tokens booked; ``settle`` says what it really was. What is not settled stays booked."""

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
        """What the request took; 0 tokens where nobody counted leaves what was booked."""
        self._actual = tokens or self._tokens
        self._cost = cost_usd
