"""The ledger of injections: a budget that all hooks share, nothing twice, nothing that a person rejected."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

import pytest

from core import config
from core.errors import BadInput
from core.home import Home
from runtime.forgetting import verify_erasure
from runtime.injections import ledger
from runtime.injections.ledger import Item

NOW = 1_790_000_000.0


def item(text: str = "Use uv, not pip.", uri: str = "qmd://inbox/a.md", **more: str) -> Item:
    return Item(text, uri=uri, **more)  # type: ignore[arg-type]


def allowance(home: Home, session: str = "s1", now: float = NOW) -> ledger.Allowance:
    return ledger.Allowance(home, config.load(home), session, now)


def test_what_was_given_is_listed_with_its_size_and_reason_and_is_private(home: Home) -> None:
    home.make()
    (ident,) = ledger.add(home, "s1", "hook", "prompt", [item("x" * 41, reason="answers the prompt")], NOW)
    (row,) = ledger.listed(home)
    assert (row["id"], row["tokens"], row["reason"], row["used"]) == (ident, 11, "answers the prompt", None)
    assert stat.S_IMODE(os.stat(ledger.path(home)).st_mode) == 0o600


def test_a_secret_does_not_reach_the_ledger(home: Home) -> None:
    home.make()
    secret = "ghp_" + "a1B2c3D4e5F6" * 3
    ledger.add(home, "s1", "hook", "prompt", [item(f"export GITHUB_TOKEN={secret}", about=secret)], NOW)
    assert secret not in Path(ledger.path(home)).read_text()


def test_an_item_comes_once_a_session_and_again_in_another(home: Home) -> None:
    home.make()
    ledger.add(home, "s1", "hook", "session-start", [item()], NOW)
    assert not allowance(home).permits(item("other words of the same document"))
    assert allowance(home, "s2").permits(item())


def test_the_budget_holds_across_hooks_and_a_compaction_starts_a_new_one(home: Home) -> None:
    home.make()
    ledger.add(home, "s1", "hook", "session-start", [item("x" * 600)], NOW, overhead=100)
    ledger.add(home, "s1", "mcp", "brain_ask", [item("y" * 900, "qmd://inbox/b.md")], NOW)  # asked for: not charged
    assert allowance(home).room() == 800
    assert allowance(home).room(0.5) == 50
    ledger.renew(home, "s1", NOW)
    assert allowance(home).room() == 1_500
    assert allowance(home).permits(item())


def test_a_rejected_text_comes_never_again_and_its_document_less(home: Home) -> None:
    home.make()
    (ident,) = ledger.add(home, "s1", "hook", "prompt", [item("Use pip (3 days ago).")], NOW)
    ledger.wrong(home, ident[:5], NOW)
    ledger.wrong(home, ident, NOW)
    later = allowance(home, "s2")
    assert not later.permits(item("Use pip (9 days ago)."))
    assert later.permits(item("Another line."))
    assert later.rejected(item("Another line.")) == 1
    (second,) = ledger.add(home, "s2", "hook", "prompt", [item("Another line.")], NOW)
    ledger.wrong(home, second, NOW)
    assert not allowance(home, "s3").permits(item("A third line."))
    assert [row["wrong"] for row in ledger.listed(home)] == [True, True]


@pytest.mark.parametrize("ident", ["", "zz"])
def test_an_id_that_names_no_one_injection_is_refused(home: Home, ident: str) -> None:
    home.make()
    ledger.add(home, "s1", "hook", "prompt", [item(), item(uri="qmd://inbox/b.md")], NOW)
    with pytest.raises(BadInput):
        ledger.wrong(home, ident, NOW)


def test_a_kind_that_was_ignored_five_times_is_silent_until_one_is_used_or_a_month_passes(home: Home) -> None:
    home.make()
    lines = [item(f"line {number}", key=f"k{number}", kind="decision") for number in range(5)]
    ledger.add(home, "s1", "hook", "guard", lines, NOW)
    rows = ledger.listed(home)
    ledger.settle(home, [(row, False, "") for row in rows[:4]], NOW)
    assert not allowance(home).is_muted("decision")
    ledger.settle(home, [(rows[4], False, "")], NOW)
    assert allowance(home).is_muted("decision")
    assert not allowance(home).is_muted("fix")
    assert not allowance(home, now=NOW + 31 * 86_400).is_muted("decision")
    ledger.settle(home, [(rows[0], True, "name: x")], NOW)
    assert not allowance(home).is_muted("decision")


def test_the_ledger_stays_small_and_keeps_every_rejection(home: Home) -> None:
    home.make()
    (ident,) = ledger.add(home, "s0", "hook", "prompt", [item("rejected")], NOW - 200 * 86_400)
    ledger.wrong(home, ident, NOW - 200 * 86_400)
    for _ in range(30):
        ledger.add(home, "s1", "mcp", "brain_ask", [item("y" * 1_000, f"qmd://brain/{n}.md") for n in range(40)], NOW)
    assert os.path.getsize(ledger.path(home)) <= 1 << 20
    assert len(ledger.listed(home)) > 200
    assert not allowance(home).permits(item("rejected"))


def test_a_torn_row_hides_no_other(home: Home) -> None:
    home.make()
    ledger.add(home, "s1", "hook", "prompt", [item()], NOW)
    with open(ledger.path(home), "ab") as stream:
        stream.write(b'{"row": "given", "ts": "2026')
    ledger.add(home, "s1", "hook", "prompt", [item(uri="qmd://inbox/b.md")], NOW)
    assert len(ledger.listed(home)) == 2


def test_a_forgotten_document_leaves_the_ledger(home: Home) -> None:
    home.make()
    (ident,) = ledger.add(home, "s1", "hook", "prompt", [item("a phrase of it"), item(uri="qmd://inbox/b.md")], NOW)[:1]
    ledger.wrong(home, ident, NOW)
    verify_erasure.scrub(home, [("inbox", "a.md")], [b"a phrase of it"], [])
    rows = [json.loads(line) for line in Path(ledger.path(home)).read_text().splitlines()]
    assert [row["path"] for row in rows] == ["b.md"]


def test_a_budget_of_zero_is_one(home: Home) -> None:
    home.make()
    Path(home.path("collections.yml")).write_text("collections: {inbox: {}}\ninjected: {budget: 0}\n")
    assert allowance(home).room() == 0


@pytest.mark.parametrize("session", ["s\u00e9ance", 's"1', "s\\1", ""])
def test_any_session_id_finds_its_own_rows(home: Home, session: str) -> None:
    home.make()
    ledger.add(home, session, "hook", "prompt", [item()], NOW)
    assert allowance(home, session).permits(item()) is (session == "")
    assert allowance(home, "other").permits(item())


def test_what_is_old_expires_except_rejections(home: Home) -> None:
    home.make()
    old = NOW - 91 * 86_400
    (ident,) = ledger.add(home, "s0", "hook", "prompt", [item("rejected")], old)
    ledger.wrong(home, ident, old)
    ledger.add(home, "s1", "hook", "prompt", [item(uri="qmd://inbox/b.md")], NOW)
    ledger.expire(home, NOW)
    assert [row["path"] for row in ledger.listed(home)] == ["b.md"]
    assert not allowance(home, "s9").permits(item("rejected"))
    before = Path(ledger.path(home)).read_bytes()
    ledger.expire(home, NOW)
    assert Path(ledger.path(home)).read_bytes() == before


def test_a_rejection_is_taken_back_and_no_other(home: Home) -> None:
    home.make()
    idents = ledger.add(home, "s1", "hook", "prompt", [item("one"), item("two", uri="qmd://inbox/b.md")], NOW)
    for ident in idents:
        ledger.wrong(home, ident, NOW)
    assert ledger.withdraw(home, idents[0])["wrong"] is False
    ledger.withdraw(home, idents[0])
    assert {row["id"]: row["wrong"] for row in ledger.listed(home)} == {idents[0]: False, idents[1]: True}
    assert allowance(home, "s2").permits(item("one"))
    with pytest.raises(BadInput, match="no injection"):
        ledger.withdraw(home, "nothing")
