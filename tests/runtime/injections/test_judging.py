"""An injection counts as used if the agent then did or said something of it that came up nowhere before."""

from __future__ import annotations

from pathlib import Path

import pytest

from core import clock, config
from core.home import Home
from runtime.injections import judging, ledger
from runtime.injections.ledger import Item

AT = float(clock.parse_iso("2026-05-02T08:05:20Z") or 0)
TEXT = "Rejected on 1 May: the retry loop in src/net/retry.py; run `make check-net` instead"
BEFORE = "# A session\n\n## [1] user · 2026-05-02 08:00\n\nMake the client sturdier.\n\n"


def session(home: Home, *turns: str, name: str = "s1") -> None:
    path = Path(home.path("brain", f"{name}.md"))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(BEFORE + "".join(turns))


def verdict(home: Home, text: str = TEXT, session_id: str = "s1") -> tuple[object, str]:
    ledger.add(home, session_id, "hook", "guard", [Item(text, uri="qmd://brain/old.md", about="vim client.py")], AT)
    judging.judge(home, config.load(home), [("brain", "s1.md")], AT)
    (row,) = ledger.listed(home)
    return row["used"], row["by"]


@pytest.mark.parametrize(
    ("turn", "used"),
    [
        ("I run the check.\n\n- Bash make check-net\n", "command: make check-net"),
        ("- Edit src/net/retry.py (lines 3-9)\n", "name: src/net/retry.py"),
        ("As the retry loop was rejected, no: the loop in question goes.\n", ""),
        ("Something else entirely.\n", ""),
    ],
)
def test_what_the_agent_did_afterwards_decides(home: Home, turn: str, used: str) -> None:
    session(home, f"## [2] assistant · 2026-05-02 08:06\n\n{turn}\n")
    assert verdict(home) == (bool(used), used)


def test_two_pairs_of_words_are_a_sign(home: Home) -> None:
    session(home, "## [2] assistant · 2026-05-02 08:06\n\nThe token refresh belongs behind the circuit breaker then.\n")
    assert verdict(home, "Decision: token refresh lives behind the circuit breaker")[0] is True


def test_what_came_up_before_or_what_a_person_says_is_no_sign(home: Home) -> None:
    session(
        home,
        "## [2] assistant · 2026-05-02 08:01\n\n- Edit src/net/retry.py (lines 3-9)\n\n",
        "## [3] user · 2026-05-02 08:05\n\nPlease use make check-net.\n\n",
        "## [4] assistant · 2026-05-02 08:06\n\n- Edit src/net/retry.py (lines 3-9)\n- Bash make check-net\n",
    )
    assert verdict(home) == (False, "")


def test_a_session_that_has_not_gone_on_is_not_judged(home: Home) -> None:
    session(home)
    assert verdict(home) == (None, "")


def test_a_verdict_of_ignored_may_change_once_the_session_goes_on(home: Home) -> None:
    session(home, "## [2] assistant · 2026-05-02 08:06\n\nLet me see.\n\n")
    assert verdict(home) == (False, "")
    session(home, "## [2] assistant · 2026-05-02 08:06\n\nLet me see.\n\n- Bash make check-net\n")
    assert judging.judge(home, config.load(home), [("brain", "s1.md")], AT) == 1
    assert ledger.listed(home)[0]["used"] is True


def test_an_answer_without_a_session_is_found_by_time(home: Home) -> None:
    session(
        home,
        "## [2] assistant · 2026-05-02 08:04\n\n- mcp__brain__brain_why net\n- Bash make check-net\n",
    )
    assert verdict(home, session_id="")[0] is True
    assert ledger.listed(home)[0]["session"] == "s1"
