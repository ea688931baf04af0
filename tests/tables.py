"""A table of cases as one test, for checks that are faster than what surrounds each test of pytest."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from typing import Any

import pytest


def every(*tables: Iterable[Any]) -> Callable[[Callable[..., None]], Callable[[], None]]:
    """Make one test of a check: the test checks each case, and names those that fail.

    A case is an argument of the check, or a tuple of its arguments; with several tables, each of every combination.
    """

    def decorate(check: Callable[..., None]) -> Callable[[], None]:
        def test() -> None:
            failed = []
            for combined in itertools.product(*tables):
                case = [each for part in combined for each in (part if type(part) is tuple else (part,))]
                try:
                    check(*case)
                except Exception as error:  # noqa: BLE001  # whatever it is, the other cases are checked as well
                    failed.append(f"{', '.join(map(repr, case))[:300]}\n{type(error).__name__}: {error}")
            if failed:
                pytest.fail("\n\n".join(failed), pytrace=False)

        test.__name__, test.__doc__, test.__module__ = check.__name__, check.__doc__, check.__module__
        return test

    return decorate
