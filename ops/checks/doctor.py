"""The doctor: run every check and repair."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from core.errors import BrainError, from_os
from ops.checks import archive, citations, engine, index, machine, recovery, sources, surfaces, team, usage
from ops.checks.finding import FAILING, SEVERITIES, CheckContext, Finding

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from core.home import Home
    from ops.checks.finding import Check

CHECKS: tuple[Check, ...] = (
    *engine.CHECKS,
    *machine.CHECKS,
    *usage.CHECKS,
    *index.CHECKS,
    *sources.CHECKS,
    *archive.CHECKS,
    *surfaces.CHECKS,
    *citations.CHECKS,
    *recovery.CHECKS,
    *team.CHECKS,
)


def examine(
    home: Home,
    environ: Mapping[str, str],
    *,
    deep: bool = False,
    wedge: bool = True,
    fix: bool = False,
    accept_loss: bool = False,
    progress: Callable[[int, int, str], None] | None = None,
) -> dict[str, Any]:
    """Run every check and return the envelope of ``brain doctor``.

    ``healthy`` is false if an error or a warning is left. ``deep`` adds ``ops.checks.deep``; ``wedge`` adds
    ``ops.checks.wedge``, which runs the program on a scratch home. ``fix`` runs each safe repair and checks again.
    ``accept_loss`` accepts what the archive has lost for good. Raises nothing: a check that fails is a finding.
    """
    started = time.perf_counter()
    now = time.time()
    checks = list(CHECKS)
    if wedge:
        from ops.checks import wedge as contract

        checks += contract.CHECKS
    if deep:
        from ops.checks import deep as deeper

        checks += deeper.CHECKS
    findings, took = _round(home, environ, now, checks, deep, progress)
    repaired: list[dict[str, str]] = []
    if fix and any(finding.repair for finding in findings):
        repaired = [{"id": finding.id, "outcome": _repair(finding)} for finding in findings if finding.repair]
    if accept_loss:
        loss = Finding("archive-lost", "notice", "", "", lambda: archive.accept(home))
        repaired.append({"id": loss.id, "outcome": _repair(loss)})
    if repaired:
        findings, took = _round(home, environ, now, checks, deep, None)
    failures = [finding for finding in findings if finding.severity in FAILING]
    return {
        "schema": 1,
        "ok": True,
        "healthy": not failures,
        "checks": len(checks),
        "findings": [finding.as_dict() for finding in findings],
        "mended": repaired,
        "slowest": {name: round(seconds * 1000) for name, seconds in took[:3]},
        "took_ms": round((time.perf_counter() - started) * 1000, 1),
    }


def _round(
    home: Home,
    environ: Mapping[str, str],
    now: float,
    checks: list[Check],
    deep: bool,
    progress: Callable[[int, int, str], None] | None,
) -> tuple[list[Finding], list[tuple[str, float]]]:
    context = CheckContext(home, environ, now, deep=deep)
    found: list[Finding] = []
    took: list[tuple[str, float]] = []
    try:
        for number, check in enumerate(checks, 1):
            name = f"{check.__module__.rpartition('.')[2]}.{check.__name__}"
            began = time.perf_counter()
            try:
                found += check(context)
            except BrainError as error:
                found.append(Finding(name, "error", error.message, error.fix or "brain explain"))
            except Exception as error:  # noqa: BLE001  # one broken check must not hide what the others see
                if isinstance(error, OSError) and (known := from_os(error)):
                    found.append(Finding(name, "error", known.message, known.fix))
                    continue
                said = f"the check itself failed: {type(error).__name__}: {error}"
                found.append(Finding(name, "error", said, "report it"))
            took.append((name, time.perf_counter() - began))
            if progress is not None:
                progress(number, len(checks), f"checking: {name}")
    finally:
        context.close()
    found.sort(key=lambda finding: SEVERITIES.index(finding.severity))
    return list({(finding.id, finding.evidence): finding for finding in found}.values()), sorted(
        took, key=lambda each: -each[1]
    )


def _repair(finding: Finding) -> str:
    assert finding.repair is not None
    try:
        return finding.repair()
    except BrainError as error:
        return f"failed: {error.message}"
    except OSError as error:
        return f"failed: {from_os(error) or error}"
    except Exception as error:  # noqa: BLE001  # the other repairs must still run
        return f"failed: {type(error).__name__}: {error}"
