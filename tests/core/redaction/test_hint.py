"""What is shown is looked at as cheaply as can be, and everything that the rules would replace is seen."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from core import redaction
from core.redaction import hint, screen
from core.redaction.hint import may_hold
from tests.core.redaction.test_redaction import NEGATIVES, POSITIVES, redact_with_rules


def test_names_without_end_are_looked_at_a_bounded_number_of_times() -> None:
    looked: list[int] = []

    class Counted(str):
        def __getitem__(self, place: Any) -> str:
            looked.append(1)
            return str.__getitem__(self, place)

    assert may_hold("--" + "password" * 500)
    text = Counted("password" * 500)
    assert hint._is_flag(text, 3_000)
    assert len(looked) < 500


def test_names_of_stores_without_end_are_looked_at_a_bounded_number_of_times() -> None:
    looked: list[int] = []

    class Counted(str):
        def __getitem__(self, place: Any) -> str:
            looked.append(1)
            return str.__getitem__(self, place)

    assert hint._is_stored(Counted("secret" * 500))
    assert len(looked) < 500


_FORMS = """
my{0}=hunterhunter2Zx | {0}: hunterhunter2Zx | '{0}' => 'hunterhunter2Zx' | {0} = 'correcthorsebattery'
the {0} Xy12345zQ | the {0} is Xy12345zQ | <{0}>hunterhunter2</{0}> | "{0}", "hunterhunter2Zx"
set {0} hunterhunter2Zx | {0} -> hunterhunter2Zx | **{0}**: Xy12345zQ | --{0} hunterhunter2Zx
"""


def test_what_is_shown_is_looked_at_whatever_a_secret_is_called() -> None:
    passes = [f"{word}pass" for word in screen._PASSES]
    names = [name.replace("(?:or)?", "or") for name in screen._PASSWORDS if "\\" not in name]
    others = ["credential", "secret", "token", "connect.sid", "jsessionid", "phpsessid", "api_key", "client key"]
    replaced = 0
    for name in (*passes, *names, *screen.FOREIGN.split("|"), "contraseña", *others):
        for form in (form.strip() for line in _FORMS.strip().splitlines() for form in line.split(" | ")):
            for text in (form.format(name), form.format(name.upper())):
                if redact_with_rules(text) != text:
                    assert may_hold(text), text
                    assert screen.suspects(text.encode()), text
                    replaced += 1
    assert replaced > 200


@given(st.lists(st.sampled_from([case.text for case in POSITIVES[::5] + NEGATIVES[::5]]), max_size=4))
def test_texts_are_looked_at_together_as_each_alone(texts: list[str]) -> None:
    # What a whole answer may hold is asked once: no text of it may hide what another has.
    if any(map(may_hold, texts)):
        assert hint.may_hold("\n\n".join(texts))


def test_values_that_are_shown_lose_their_secrets_and_nothing_else() -> None:
    answer = {"hits": [{"title": "Deploy", "score": 1.5, "tags": ("a", None)}], "note": "PASSWORD=Zq81mPw0RtYx"}
    assert redaction.shown_value(answer) == {
        "hits": [{"title": "Deploy", "score": 1.5, "tags": ["a", None]}],
        "note": "PASSWORD=[redacted:password]",
    }
    assert redaction.shown_value(answer["hits"]) == answer["hits"]
