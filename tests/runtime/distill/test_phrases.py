"""Each kind of statement, on both sides: what is one, and what only reads like one."""

from __future__ import annotations

import pytest

from runtime.distill.extractive import distil
from tests.runtime.distill.session import Turns, body


def found(section: str, *turns: tuple[str, str]) -> list[str]:
    session: Turns = [("user", "Please fix the token refresh in the api."), *turns]
    return [each.text for each in distil(body(session)).sections.get(section, [])]


REJECTS = [
    ("user", "No, don't keep the token in localStorage."),
    ("user", "no just add the entire name to the header"),
    ("user", "Please don't mock the database in these tests."),
    ("user", "let's not change this in the release branch"),
    ("user", "we don't need a second cache for that"),
    ("user", "Stop truncating the transcripts before they are stored."),
    ("user", "can you revert the last change to the parser?"),
    ("user", "That's not what I meant by a relative path."),
    ("user", "No — use the existing UUID library."),
    ("user", "please don't use husky"),
    ("user", "we are not going to use kubernetes, it has too many parts"),
    ("user", "we tried memcached last year and ripped it out"),
    ("assistant", "We decided against Redis because it needs a server."),
    ("assistant", "I tried a BroadcastChannel lock but Safari drops its messages."),
    ("assistant", "A service worker would be overkill for two tabs."),
    ("assistant", "The symlink didn't work because Cursor does not scan that folder."),
    ("assistant", "Reverted the index change, it broke the rebase."),
    ("assistant", "A regular expression won’t work across line breaks."),
]
NOT_REJECTED = [
    ("user", "No problem, take your time with the tests."),
    ("user", "no worries, that was my mistake"),
    ("user", "No, go ahead with the second option."),
    ("user", "no, I don't know why the build is red"),
    ("user", "No data is showing up in the modal now"),
    ("user", "hmm, we made a change to shadow tracking recently"),
    ("user", "uh oh - it just happened again"),
    ("user", "wait, does it only run on main?"),
    ("user", "scrolling back in the terminal still does not work"),
    ("user", "I don't think I have seen this error before."),
    ("user", "don't worry about the warnings"),
    ("assistant", "The helper now takes a writer instead of a command."),
    ("assistant", "Use interface pattern instead of nil checks"),
    ("assistant", "These functions do not touch the worktree index."),
    ("assistant", "The promise was rejected with a timeout."),
    ("assistant", "The push was rejected by the remote."),
    ("assistant", "This function is too complex and has many responsibilities."),
    ("assistant", "You don't need to do anything."),
    ("assistant", "Will that not work?"),
    ("assistant", "### reasoning\n\nWe decided against Redis because it needs a server."),
    ("compaction", "### summary of what was compacted\n\nWe decided against Redis because it needs a server."),
    ("user", "```\nwe decided against Redis\n```"),
]
DECIDES = [
    ("user", "We decided to use an HttpOnly cookie for the token."),
    ("user", "ok, fine, let's use vite for the demo"),
    ("user", "Always run the formatter before a commit."),
    ("user", "the button should be left of the search field"),
    ("user", "from now on every handler logs its agent"),
    ("user", "I prefer one file for all settings."),
    ("assistant", "We agreed to keep the cookie for ninety days."),
    ("assistant", "The simplest fix is to call git status in place of go-git."),
    ("assistant", "I went with an exponential backoff of two seconds."),
]
NOT_DECIDED = [
    ("user", "Have we decided on a name for the table?"),
    ("user", "if we decide to use Redis, what does it cost"),
    ("user", "that should be fine for the release"),
    ("user", "this should never happen in a theme"),
    ("user", "what should be the default here"),
    ("assistant", "We have not decided which cache to use yet."),
    ("assistant", "The cleanest approach would be option one or option two."),
    ("assistant", "I'll use that alias in the next edits."),
    ("assistant", "Let me know which you prefer and I'll go with it."),
    ("assistant", "The files should be in the folder below."),
    ("assistant", "Now that we prefer commit messages, the test needs a change."),
    ("assistant", "The decision is yours."),
]
OPEN = [
    ("assistant", "Still to do: rotate the signing keys in production."),
    ("assistant", "TODO: cover the expired token in a test."),
    ("assistant", "The Windows path is not yet tested."),
    ("assistant", "Next steps: measure the refresh under load."),
    ("assistant", "Should the grace period be thirty seconds?"),
]
NOT_OPEN = [
    ("assistant", "Want me to commit these changes?"),
    ("assistant", "Should I proceed with bumping the version?"),
    ("assistant", "Would you like me to add documentation?"),
    ("assistant", "The todo-app folder holds the complete application."),
    ("assistant", "✅ Toggle todo completion status"),
    ("assistant", "The remaining milliseconds are the hash itself."),
    ("assistant", "Ready to implement?"),
]


@pytest.mark.parametrize(("role", "text"), REJECTS)
def test_what_turns_an_approach_down_is_a_rejection(role: str, text: str) -> None:
    assert found("rejected", (role, text))


@pytest.mark.parametrize(("role", "text"), NOT_REJECTED)
def test_what_only_reads_like_a_rejection_is_none(role: str, text: str) -> None:
    assert found("rejected", (role, text)) == []


@pytest.mark.parametrize(("role", "text"), DECIDES)
def test_what_was_decided_is_a_decision(role: str, text: str) -> None:
    assert found("decisions", (role, text))


@pytest.mark.parametrize(("role", "text"), NOT_DECIDED)
def test_what_is_asked_supposed_or_offered_is_no_decision(role: str, text: str) -> None:
    assert found("decisions", (role, text)) == []


@pytest.mark.parametrize(("role", "text"), OPEN)
def test_what_a_session_ends_without_is_open(role: str, text: str) -> None:
    assert found("questions", (role, text))


@pytest.mark.parametrize(("role", "text"), NOT_OPEN)
def test_an_offer_and_a_name_leave_nothing_open(role: str, text: str) -> None:
    assert found("questions", (role, text)) == []


def test_the_same_said_twice_is_told_once() -> None:
    said = ["We decided to use an HttpOnly cookie for it.", "So we decided to use an HttpOnly cookie for it then."]
    assert len(found("decisions", ("user", said[0]), ("assistant", said[1]))) == 1


def test_a_first_prompt_corrects_nothing_it_says_what_is_wanted() -> None:
    text = "We don't need to check for the file, just open the page of the session."
    sections = distil(body([("user", text), ("assistant", "Done.")])).sections
    assert sections["rejected"] == []
    assert [each.text for each in sections["goals"]] == [text]


def test_a_reason_of_another_turn_is_nobodys_reason() -> None:
    turns = [
        ("user", "We decided to use a cookie for the token."),
        ("assistant", "Because the parser is slow, it fails."),
    ]
    assert all(" Why:" not in each.line() for each in distil(body(turns)).sections["decisions"])


def test_a_line_that_a_terminal_wrapped_is_one_sentence() -> None:
    text = "I want the form to load only the data of the one team that is\nopen, not of all."
    assert distil(body([("user", text)])).sections["goals"][0].text == text.replace("\n", " ")
