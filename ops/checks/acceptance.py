"""The acceptance gate, caught up with: a laptop that slept through the hour of the verdict still gets it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.errors import BrainError
from ops.checks.finding import CheckContext, Finding
from ops.stats import acceptance

if TYPE_CHECKING:
    from collections.abc import Iterator


def gate(context: CheckContext) -> Iterator[Finding]:
    """Every week that is over has its verdict; one that says no is shown until the next."""
    home = context.home
    try:
        for week in acceptance.owed(home, context.now):
            acceptance.judge(home, week, now=context.now)
        weeks = acceptance.verdicts(home)
        latest = acceptance.verdict(home, weeks[-1]) if weeks else None
    except (BrainError, OSError) as error:
        fix = (error.fix if isinstance(error, BrainError) else "") or "brain acceptance"
        yield Finding("acceptance", "warning", f"the week cannot be judged: {error}", fix)
        return
    if latest is not None and latest["verdict"] != acceptance.CONTINUE:
        failed = [each["id"] for each in latest["criteria"] if each["met"] is False]
        failed = failed or [f"{name} not measured" for name in latest.get("unmeasured") or ()]
        yield Finding(
            f"acceptance:{latest['verdict']}",
            "notice",
            f"the verdict on week {latest['week']} is {latest['verdict']}: {', '.join(failed)}",
            f"brain acceptance --week {latest['week']}",
        )
    elif latest is not None and latest.get("conditional"):
        yield Finding(
            "acceptance:unmeasured",
            "notice",
            f"the verdict on week {latest['week']} is conditional: recall was not measured",
            "brain eval build && brain eval run",
        )


CHECKS = (gate,)
