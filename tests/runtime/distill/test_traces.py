"""Traces of a session's calls, on both sides: failures of the work, and what only looks like one."""

from __future__ import annotations

import pytest

from runtime.distill.extractive import distil
from tests.cases import cases
from tests.runtime.distill.session import Turns, body

ASKED = ("user", "Please fix the token refresh in the api.")


def found(section: str, *turns: tuple[str, str]) -> list[str]:
    session: Turns = [ASKED, *turns]
    return [each.line() for each in distil(body(session), "/srv/api").sections.get(section, [])]


@pytest.mark.parametrize("calls", cases(__file__, "test_looking_and_the_manners_of_tools_are_no_errors"))
def test_looking_and_the_manners_of_tools_are_no_errors(calls: str) -> None:
    assert found("errors", ("assistant", calls)) == []


def test_an_error_without_its_cure_claims_none() -> None:
    calls = (
        "- Bash: go test ./payments/... -run TestRefund\n  ! --- FAIL: TestRefund\n"
        "- Edit: /srv/api/auth.go (1 edit)\n- Bash: go test ./auth/login -run TestTimeout"
    )
    (error,) = found("errors", ("assistant", calls))
    assert error == "`go test ./payments/... -run TestRefund` failed: --- FAIL: TestRefund [2]"


def test_a_retry_behind_a_pipe_is_listed_but_not_as_a_fix() -> None:
    calls = "- Bash: npm test\n  ! Error: stale token\n- Edit: /srv/api/a.ts (1 edit)\n- Bash: npm test 2>&1 | tail -3"
    (error,) = found("errors", ("assistant", calls))
    assert "then worked" not in error
    assert "Then changed a.ts and ran `npm test 2>&1 | tail -3`." in error


def test_a_diagnosis_belongs_to_the_failure_before_it() -> None:
    calls = (
        "- Bash: npm run build\n  ! Error: no config\n- Bash: npm test\n  ! Error: stale token\n\n"
        "The problem is that both tabs read the old token."
    )
    build, test = found("errors", ("assistant", calls))
    assert "both tabs" not in build
    assert "both tabs read the old token" in test


def test_a_test_that_passed_is_no_error_line() -> None:
    calls = "- Bash: pytest -v\n  ! Exit code 1\n  ! test_error_handling PASSED [ 50%]\n  ! test_refresh FAILED [100%]"
    assert found("errors", ("assistant", calls)) == ["`pytest -v` failed: test_refresh FAILED [100%] [2]"]


def test_only_what_is_known_to_have_worked_is_listed_as_such() -> None:
    calls = "- Bash: npm run lint\n- Bash: npm test 2>&1 | tail -3\n- Bash: make\n  ! *** Error 2\n- Bash: ls && cat x"
    assert found("commands", ("assistant", calls)) == ["`npm run lint` [2]"]
    assert found("ran", ("assistant", calls)) == ["`npm test 2>&1 | tail -3` [2]"]


def test_a_command_that_worked_is_not_listed_again_with_unknown_outcome() -> None:
    calls = "- Bash: npm test\n- Bash: npm test 2>&1 | tail -3\n- Bash: npm test 2>&1 | head -50"
    assert found("ran", ("assistant", calls)) == []


def test_a_file_with_a_failed_change_was_not_touched() -> None:
    calls = "- Edit: /srv/api/a.ts (1 edit)\n  ! String to replace not found in file.\n- Write: /srv/api/b.ts"
    assert found("files", ("assistant", calls)) == ["`b.ts` [2]"]


def test_what_was_refused_at_once_is_one_statement_with_what_was_said_then() -> None:
    calls = "- Edit: a/SKILL.md (1 edit)\n  rejected by the user\n- Edit: b/SKILL.md (1 edit)\n  rejected by the user"
    turns = [("assistant", calls), ("user", "the name will cause issues with the other agent")]
    assert found("rejected", *turns) == [
        "Refused by the user: Edit: a/SKILL.md (1 edit); Edit: b/SKILL.md (1 edit)"
        " — said then: the name will cause issues with the other agent [2] [3]"
    ]


@pytest.mark.parametrize("calls", cases(__file__, "test_what_was_merely_broken_off_rejects_nothing"))
def test_what_was_merely_broken_off_rejects_nothing(calls: str) -> None:
    assert found("rejected", ("assistant", calls), ("user", "sorry, continue")) == []


FAIL = "- Bash: go test ./...\n  ! FAIL: TestQuorum lost two votes\n"


@pytest.mark.parametrize(
    ("calls", "said"),
    [
        (f"{FAIL}- Edit: /a/quorum.go (lines 1-2)\n- Bash: go test ./...\n", "Fixed by changing quorum.go"),
        (f"{FAIL}- Edit: /a/quorum.go (lines 1-2)\n- Bash: go test -v ./...\n", "Fixed by changing quorum.go"),
        (f"{FAIL}- Edit: /a/q.go (lines 1-2)\n- Bash: go test ./... ./votes\n", "Then changed q.go and ran"),
        (f"{FAIL}- Edit: /a/q.go (lines 1-2)\n- Bash: go test ./...\n{FAIL}", "worked, but the failure came back."),
        (
            FAIL + "".join(f"- Edit: /a/q{each}.go (lines 1-2)\n" for each in range(5)) + "- Bash: go test ./...\n",
            "Fixed by changing 5 files",
        ),
        (
            "- Bash: git push\n  ! fatal: The current branch x has no upstream branch.\n- Bash: git push -u origin x\n",
            "Fixed: `git push -u origin x` then worked.",
        ),
    ],
)
def test_a_cure_is_named_only_where_nothing_speaks_against_it(calls: str, said: str) -> None:
    assert said in found("errors", ("assistant", calls))[0]
