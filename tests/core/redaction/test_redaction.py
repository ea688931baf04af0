"""The policy replaces secrets, leaves look-alikes, and its prefilters let through all that the rules replace."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from core import redaction
from core.redaction import assignments, automaton, clean_record, redact, replacing
from core.redaction.rule import cleaned
from tests.core.redaction import classes
from tests.core.redaction.lines import (
    FRESH_OTHERS,
    FRESH_SECRETS,
    OTHERS,
    SECRETS,
    STRANGER_OTHERS,
    STRANGER_SECRETS,
    UNFORESEEN_OTHERS,
    UNFORESEEN_SECRETS,
)
from tests.tables import every


def _labelled() -> ModuleType:
    spec = importlib.util.spec_from_file_location("labelled", Path(__file__).with_name("labelled.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["labelled"] = module
    spec.loader.exec_module(module)
    return module


LABELLED: Any = _labelled()
POSITIVES = LABELLED.positives() + LABELLED.pasted(
    SECRETS + FRESH_SECRETS + UNFORESEEN_SECRETS + STRANGER_SECRETS + classes.SECRETS, 15
)
# The last ones follow the names of secrets on purpose.
_NAMED_OTHERS = [*STRANGER_OTHERS, *classes.OTHERS]
NEGATIVES = LABELLED.negatives() + LABELLED.pasted(OTHERS + FRESH_OTHERS + UNFORESEEN_OTHERS + _NAMED_OTHERS, 16)


def test_the_labelled_set_meets_the_bars() -> None:
    missed = [case for case in POSITIVES if case.secret in redact(case.text)[0]]
    touched = [case for case in NEGATIVES if redact(case.text)[0] != case.text]
    found = len(POSITIVES) - len(missed)
    recall = found / len(POSITIVES)
    precision = found / (found + len(touched))
    assert recall >= 0.95, [case.label for case in missed]
    assert precision >= 0.98, [case.text for case in touched]


@pytest.mark.parametrize(
    ("secrets", "others", "seed", "most_missed", "most_touched"),
    [
        (SECRETS, OTHERS, 78, 0.09, 0.02),
        (FRESH_SECRETS, FRESH_OTHERS, 80, 0.1, 0.01),
        (UNFORESEEN_SECRETS, UNFORESEEN_OTHERS, 82, 0.05, 0.01),
        (STRANGER_SECRETS, STRANGER_OTHERS, 84, 0.03, 0.005),
    ],
    ids=["pasted", "fresh", "unforeseen", "stranger"],
)
def test_lines_as_people_paste_them_meet_them_nearly(
    secrets: Any, others: Any, seed: int, most_missed: float, most_touched: float
) -> None:
    cases = LABELLED.pasted(secrets, seed)
    missed = [case for case in cases if case.secret in redact(case.text)[0]]
    assert len(missed) / len(cases) <= most_missed, [case.label for case in missed]
    touched = [case.text for case in LABELLED.pasted(others, seed + 1) if redact(case.text)[0] != case.text]
    assert len(touched) / (len(cases) - len(missed) + len(touched)) <= most_touched, touched


def test_a_second_seed_meets_them_too() -> None:
    cases = LABELLED.positives(77)
    missed = [case for case in cases if case.secret in redact(case.text)[0]]
    assert len(missed) / len(cases) <= 0.05, [case.label for case in missed]


@every(LABELLED.Maker(1).provider_tokens())
def test_each_provider_is_named(kind: str) -> None:
    token = LABELLED.Maker(2).provider_tokens()[kind]
    text, counts = redact(f"It is {token} now.")
    assert text == f"It is [redacted:{kind.split()[0]}] now."
    assert counts == {kind.split()[0]: 1}


def test_the_screens_let_through_what_the_rules_replace() -> None:
    for case in POSITIVES:
        if redact_with_rules(case.text) != case.text:
            assert automaton.suspects(case.text.encode()), case.label
            for ascii_only in (True, False):
                line = json.dumps({"message": {"content": case.text}}, ensure_ascii=ascii_only).encode()
                assert automaton.suspects(line), case.label


def redact_with_rules(text: str) -> str:
    return replacing.replace(text, {})


def test_a_secret_is_found_wherever_in_a_long_line_it_stands() -> None:
    secret = "export DB_" + "PASSWORD=" + "Zx9!kqLw33vTn"
    for length in (*range(16_340, 16_400, 7), *range(24_560, 24_600, 7), 40_000):
        text = f"{'é text and' * (length // 11)} {secret} {'and more' * 9_000}"
        assert redact(text)[0] == text.replace(secret[19:], "[redacted:password]")


def test_names_are_found_where_a_pattern_of_all_of_them_would() -> None:
    rule = next(rule for rule in assignments.RULES if rule.name == "assignment")
    for case in POSITIVES[::3] + NEGATIVES[::3]:
        text = f"é {case.text}"
        found: dict[str, int] = {}
        plain: dict[str, int] = {}
        assigned = rule.clean(text, found)
        alone = cleaned(assignments.ASSIGNMENT, assignments.assignment, text, plain)
        # A value that the pattern passes over may be a name itself, or a setting in braces.
        assert sum(found.values()) > sum(plain.values()) or assigned == alone


def test_the_screens_let_little_else_through() -> None:
    # Assignments of code look like those of secrets to a prefilter.
    named = {form.format(name) for form in LABELLED._NAMING for name in LABELLED._NAMES} | set(LABELLED._NEAR)
    others = [case.text for case in LABELLED.negatives() + LABELLED.pasted(OTHERS, 16) if case.text not in named]
    suspicions = [automaton.suspicion(text.encode()) for text in others]
    assert suspicions.count(2) / len(others) < 0.25
    # Of these the rule of likely secrets looks at single lines, no other rule is loaded.
    assert suspicions.count(1) / len(others) < 0.15


_PIECES = st.sampled_from(
    [case.text for case in POSITIVES[::7]]
    + [case.text for case in NEGATIVES[::9]]
    + [
        "password=",
        "token: ",
        "'",
        '"',
        "\\n",
        "\n",
        " ",
        "[redacted:",
        "]",
        "<private>",
        "</private>",
        "@",
        "://",
        "Bearer ",
    ]
)


@given(st.lists(_PIECES | st.text(max_size=12), max_size=6).map("".join))
def test_redacting_twice_changes_nothing(text: str) -> None:
    once, _ = redact(text)
    assert redact(once) == (once, {})


@example("\x1fAUTH_PROVIDER=auth0-us-2AUTH_PROVIDER=auth0-us-2")
@example("\u2014AUTH_PROVIDER=auth0-us-2")
@given(st.lists(_PIECES | st.text(max_size=12), max_size=6).map("".join))
def test_what_the_rules_replace_passes_every_screen(text: str) -> None:
    if redact_with_rules(text) != text:
        data = text.encode("utf-8", "surrogatepass")
        assert automaton.suspects(data)
        assert automaton.suspects(json.dumps(text).encode())


@given(
    st.text("ab.9/:-_S", max_size=9),
    st.sampled_from(["password", "pass", "storepass", "secret-access-key", "auth-token", "client_secret", "db-passwd"]),
    st.text("x9-_", max_size=3),
    st.text(" \t", min_size=1, max_size=3),
)
def test_an_option_is_seen_whatever_its_name_begins_and_ends_with(
    before: str, said: str, after: str, space: str
) -> None:
    text = f"serve --{before}{said}{after}{space}Tangerine42xQ9vLm3RtW8 -x"
    if redact_with_rules(text) != text:
        assert redact(text)[0] == redact_with_rules(text)
        assert automaton.suspects(json.dumps(text).encode())


def test_options_with_dots_slashes_and_colons_and_a_tab_behind_them_are_found() -> None:
    for option in (
        "--ruler-storage.s3.secret-access-key ",
        "--auth.client-secret ",
        "--vault:db-token ",
        "-storepass\t",
    ):
        assert redact(f"serve {option}Tangerine42xQ9vLm3RtW8")[1] != {}, option


@pytest.mark.parametrize(
    "text",
    [
        "machine h.example\tlogin mira\tpassword\tTangerine42x",
        "machine h.example\nlogin mira\n\tpassword\tTangerine42x",
        "npm\tset\nauth Zq81mPw0RtYxLk29Vb7N4c",
        "cd train\nwandb login 8f2c61d09be74a35f1c2d8e6a07b94c3d5e6f718",
    ],
)
def test_white_space_that_json_escapes_hides_nothing(text: str) -> None:
    value = {"content": text}
    assert clean_record(json.dumps(value).encode(), value, {})["content"] == redact(text)[0] != text
    assert redaction.shown(text) == redact(text)[0]


@pytest.mark.parametrize("before", ["\n", "\t", "\f", "\b", "\x0b", "→"])
def test_a_name_behind_an_escape_of_json_is_seen(before: str) -> None:
    text = f'{before}psk="Tangerine42x"'
    assert redact(text)[0] == f'{before}psk="[redacted:password]"'
    assert automaton.suspects(json.dumps(text).encode())


@given(st.text())
def test_any_text_is_taken(text: str) -> None:
    redact(text)


def test_a_value_is_judged_by_the_key_it_stands_under() -> None:
    make = LABELLED.Maker(3)
    secret, word = make.some(LABELLED.ALNUM, 24), "Tangerine" + "42!"
    value = {"env": {"API_KEY": secret, "PATH": "/usr/bin"}, "login": [{"user": "mira", "password": word}]}
    counts: dict[str, int] = {}
    cleaned = clean_record(json.dumps(value).encode(), value, counts)
    assert cleaned == {
        "env": {"API_KEY": "[redacted:secret]", "PATH": "/usr/bin"},
        "login": [{"user": "mira", "password": "[redacted:password]"}],
    }
    assert counts == {"secret": 1, "password": 1}
    assert json.dumps(value).count(secret) == 1


def test_a_harmless_record_is_handed_on_as_it_is() -> None:
    value = {"message": {"content": "Nothing to hide."}}
    assert clean_record(json.dumps(value).encode(), value, {}) is value


def test_a_secret_in_json_escapes_is_found() -> None:
    token = LABELLED.Maker(4).provider_tokens()["github"]
    raw = '{"text": "\\u0067' + token[1:] + '"}'
    value = json.loads(raw)
    assert clean_record(raw.encode(), value, {}) == {"text": "[redacted:github]"}


def test_a_command_that_cannot_be_joined_costs_no_other_its_secrets_and_what_is_replaced_is_counted_once() -> None:
    taken = "a\tb\vc\fd \\\n  e\n"
    text = taken + "docker login \\\n  -u me \\\n  -p Sup3rDuper9x reg.example"
    assert redact(text) == (text.replace("Sup3rDuper9x", "[redacted:password]"), {"password": 1})


@given(st.text("ab\\\r\n \t", max_size=40))
def test_lines_are_put_together_as_they_were(text: str) -> None:
    assert "\n".join(replacing.runs(text)) == text
    assert redact(text) == (text, {})


@pytest.mark.parametrize("name", ["RS256", "ES512", "PS384", "EdDSA", "Ed25519", "ES256K"])
def test_the_name_of_an_algorithm_is_no_secret(name: str) -> None:
    for call in ("jwt.encode(claim, key, {!r})", "jwt.verify(token, secretKey, {!r})"):
        assert redact(call.format(name))[1] == {}


def test_several_kinds_are_counted() -> None:
    make = LABELLED.Maker(8)
    tokens = make.provider_tokens()
    text = f"{tokens['github']} {tokens['npm']} {make.provider_tokens()['npm']}"
    assert redact(text)[1] == {"github": 1, "npm": 2}


def test_what_is_shown_is_redacted_too() -> None:
    token = LABELLED.Maker(9).provider_tokens()["stripe"]
    assert redaction.shown(f"key {token}") == "key [redacted:stripe]"
    assert redaction.shown("plain words") == "plain words"


@pytest.mark.parametrize("kind", ["github", "stripe", "npm", "docker", "figma", "supabase"])
@pytest.mark.parametrize("escape", ["\\", "\\\\"])
def test_a_token_behind_markdowns_escapes_is_found(kind: str, escape: str) -> None:
    token = LABELLED.Maker(6).provider_tokens()[kind].replace("_", f"{escape}_")
    text = f"Use a\\_name.\nPush with {token} now.\nKeep C:\\_dir\\*.md"
    assert redact(text) == (
        f"Use a\\_name.\nPush with [redacted:{kind}] now.\nKeep C:\\_dir\\*.md",
        {kind: 1},
    )
    assert redaction.shown(text) == redact(text)[0]
    assert automaton.suspects(json.dumps(text).encode())


def test_the_whole_of_an_escaped_value_goes() -> None:
    value = "wJalrXUtn1FEMI\\+K7MDENG\\_bPxRfi9CY\\*zz"
    assert redact(f"AWS\\_SECRET\\_ACCESS\\_KEY\\={value}")[0] == "AWS_SECRET_ACCESS_KEY=[redacted:secret]"


def test_escapes_beside_a_secret_stay_where_they_hid_nothing() -> None:
    token = LABELLED.Maker(6).provider_tokens()["npm"]
    assert redact(f"grep 'a\\_b\\.c' # {token}")[0] == "grep 'a\\_b\\.c' # [redacted:npm]"


def test_the_token_in_an_address_of_telegrams_api_is_found() -> None:
    token = LABELLED.Maker(7).provider_tokens()["telegram"]
    assert redact(f"https://api.telegram.org/bot{token}/getMe")[0] == (
        "https://api.telegram.org/bot[redacted:telegram]/getMe"
    )


def test_of_cookies_only_what_may_let_somebody_in_goes() -> None:
    text = "Cookie: theme=dark; lang=en-GB; session=a8f93bc1d7e2; sizes=12"
    assert redact(text)[0] == "Cookie: theme=dark; lang=en-GB; session=[redacted:cookie]; sizes=12"
    for harmless in (
        "Set-Cookie: theme=dark; Path=/; Expires=Wed, 21 Oct 2026 07:28:00 GMT; Max-Age=31536000",
        "Cookie: session=<your session>",
        "Cookie: session=$SESSION_ID1",
        "set -e API_TOKEN",
        "set -x; echo token done",
        "set -o pipefail",
    ):
        assert redact(harmless) == (harmless, {})


def test_every_place_of_a_cookie_is_known() -> None:
    cases = [case for case in POSITIVES if case.label.startswith("cookie")]
    assert len(cases) == 21
    assert [case.text for case in cases if case.secret in redact(case.text)[0]] == []
    assert [case.text for case in cases if case.secret in redaction.shown(case.text)] == []


def test_a_password_that_holds_a_telling_word_is_found() -> None:
    cases = [case for case in LABELLED.positives(41) if case.label.startswith("worded")]
    assert len(cases) == 96
    assert [case.label for case in cases if case.secret in redact(case.text)[0]] == []
    assert [case.label for case in cases if case.secret in redaction.shown(case.text)] == []


def test_the_name_of_a_variable_is_no_password() -> None:
    texts = [form.format(name) for form in LABELLED._NAMING for name in LABELLED._NAMES]
    assert [text for text in texts if redact(text)[0] != text] == []


def test_a_code_of_an_address_is_found_and_a_program_in_one_stays() -> None:
    cases = [case for case in POSITIVES if case.label.startswith("code ")]
    assert len(cases) == 15
    assert [case.label for case in cases if case.secret in redact(case.text)[0]] == []
    assert [case.label for case in cases if case.secret in redaction.shown(case.text)] == []
    program = f"https://play.example.org/?code={LABELLED.Maker(11).some(LABELLED.ALNUM, 400)}"
    assert redact(program) == (program, {})


@pytest.mark.parametrize("label", ["chosen", "placed", "spoken", "given", "keyed"])
def test_a_password_is_found_where_people_leave_one(label: str) -> None:
    cases = [case for case in LABELLED.positives(12) if case.label.startswith(label)]
    assert [case.text for case in cases if case.secret in redact(case.text)[0]] == []
    assert [case.text for case in cases if case.secret in redaction.shown(case.text)] == []


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("password = mySecret12", "password = [redacted:password]"),
        ("password = userSecret2", "password = userSecret2"),
        ("password: Password1", "password: [redacted:password]"),
        ("password=password1", "password=password1"),
        ("go?a=1\\u0026code=4/0AeaYSHBx8Kd", "go?a=1\\u0026code=[redacted:secret]"),
        ("curl -u 'mira:S3cretPw' https://x", "curl -u 'mira:[redacted:password]' https://x"),
        ('{\\"password\\": \\"Sup3rSecret\\"}', '{\\"password\\": \\"[redacted:password]\\"}'),
        ("helm upgrade --set auth.password=Salmon&Dill7", "helm upgrade --set auth.password=[redacted:password]"),
        ("user=mira&password=Salmon42&next=a1", "user=mira&password=[redacted:password]&next=a1"),
        ("DB_PASSWORD=Salmon42&&make", "DB_PASSWORD=[redacted:password]&&make"),
        ("{ user: 'u', password: 'J@zzHands88' }", "{ user: 'u', password: '[redacted:password]' }"),
        ("password: mira@example.org", "password: mira@example.org"),
        ("redis-cli -a L1brary.Card ping", "redis-cli -a [redacted:password] ping"),
        ("keytool -storepass L1brary.Card -list", "keytool -storepass [redacted:password] -list"),
        ("my password is Kestrel#2023", "my password is [redacted:password]"),
        ("the password is S3cretPw!9.", "the password is [redacted:password]."),
    ],
)
def test_what_is_left_beside_a_password_is_left(text: str, left: str) -> None:
    assert redact(text)[0] == left
    assert redaction.shown(text) == left
    assert redact(left) == (left, {})


def test_a_name_that_stands_where_a_value_would_has_its_own() -> None:
    assert redact("credentials: secret_access_key: Zq81mPw0RtYxLk29Vb7N")[0] == (
        "credentials: secret_access_key: [redacted:secret]"
    )


@pytest.mark.parametrize("end", ["\n", "\n  ", "\n\t", "\r\n  "])
@pytest.mark.parametrize(
    "command",
    [
        "curl @ -u admin:{} @ https://x.example",
        "curl https://x.example @ -H 'Accept: a/b' @ --user admin:{}",
        "docker login @ -u me @ -p {} registry.example",
        "mysql -u root @-p{} shop",
        "serve @ --admin-password {} @ --port 80",
        "serve --admin-password @ {}",
        "kubectl create secret generic db @ --from-literal=password={} @ -n shop",
    ],
)
def test_a_command_that_goes_on_in_the_next_line_is_one_command(command: str, end: str) -> None:
    text = f"Run this:\n{command}\nthen wait".replace("@", "\\" + end)
    assert redact(text.format("Sup3rDuper9x")) == (text.format("[redacted:password]"), {"password": 1})
    assert automaton.suspects(json.dumps(text.format("Sup3rDuper9x")).encode())


@pytest.mark.parametrize(
    "end", [" \\\r\n\t", *(pytest.param(end, marks=pytest.mark.long) for end in ("\\\n", " \\\n  "))]
)
def test_what_is_found_in_one_line_is_found_where_it_goes_on_in_the_next(end: str) -> None:
    wanted = missed = 0
    for case in POSITIVES:
        before, space, after = case.text.rpartition(" ")
        text = f"{before}{end}{after}"
        if "\n" in case.text or not space or redact_with_rules(text) == text:
            continue
        wanted += 1
        missed += redact(text)[0] == text
        assert automaton.suspects(json.dumps(text).encode()), text
    assert wanted > 500
    assert missed == 0


def test_lines_that_go_on_stay_as_they_are_where_nothing_is_found_and_where_all_marks_are_taken() -> None:
    text = "make \\\n\t all \\\n  -j2\nexport A=1\\\r\n && run"
    assert redact(text) == (text, {})
    taken = "a\tb\vc\fd \\\n curl -u admin:Sup3rDuper9x x"
    assert redact(taken)[1] == {"password": 1}


def test_a_line_that_goes_on_in_the_next_is_looked_at_with_it() -> None:
    cookie = LABELLED.Maker(13).some(LABELLED.ALNUM, 32)
    text = f"curl https://app.example.org/me \\\n  -b 'sessionid={cookie}'\npassword =\n  'Tangerine42!'\n"
    for before in range(900, 1100):
        assert redact("x" * before + "\n" + text)[1] == {"cookie": 1, "password": 1}


@pytest.mark.parametrize(
    "raw",
    [
        '{{"a":1,"password":"{}","password":"changeme"}}',
        '{{"message":{{"content":"{}","content":"hi"}}}}',
        '{{"message":{{"content":[{{"text":"use {}"}}],"content":"hi"}}}}',
        '{{"input":{{"env":{{"x":"{}"}}}},"input":{{"env":{{}}}}}}',
        '{{"a":"{}","a":"b","a":"c"}}',
    ],
)
def test_a_secret_that_a_later_field_of_the_same_name_hides_is_replaced_and_counted(raw: str) -> None:
    token = "gh" + "p_" + "a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6q7R8"
    text = raw.format(token).encode()
    value = json.loads(text)
    counts: dict[str, int] = {}

    assert clean_record(text, value, counts) == value
    assert sum(counts.values()) == 1
    assert token.encode() not in redaction.clean_document(text, {})
    harmless = raw.format("words").encode()
    assert redaction.clean_document(harmless, {}) == harmless


def test_a_text_that_is_logged_twice_is_cleaned_once(monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[str] = []
    once = replacing._once

    def counted(text: str, counts: dict[str, int]) -> str:
        looked.append(text)
        return once(text, counts)

    monkeypatch.setattr(replacing, "_once", counted)
    text = "export DB_PASSWORD=Quartz-4417-lantern\nlogged twice"
    cleaned, counts = redact(text)
    assert counts == {"password": 1}
    looked.clear()
    assert redact(text) == (cleaned, counts)
    assert not looked
