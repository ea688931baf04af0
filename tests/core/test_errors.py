from __future__ import annotations

import pytest

from core import errors


@pytest.mark.parametrize(
    ("kind", "code", "key"),
    [
        (errors.BadQuery, 64, "bad_query"),
        (errors.BadInput, 64, "bad_input"),
        (errors.EngineMissing, 65, "qmd_missing"),
        (errors.EngineTimeout, 66, "qmd_timeout"),
        (errors.LockContention, 70, "lock_contention"),
        (errors.Refused, 71, "refused"),
        (errors.Internal, 99, "internal"),
    ],
)
def test_each_failure_has_its_code_and_key(kind: type[errors.BrainError], code: int, key: str) -> None:
    assert kind("what", "how").envelope() == {
        "schema": 1,
        "ok": False,
        "error": key,
        "message": "what",
        "fix": "how",
        "exit_code": code,
    }


def test_the_message_is_what_a_log_shows() -> None:
    assert str(errors.BadInput("what", "how")) == "what"
