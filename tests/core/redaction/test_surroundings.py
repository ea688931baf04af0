"""Escapes, colours, labels and rows around a value hide it from no rule; hostile texts cost time by their length."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from core.redaction import automaton, clean, clean_record, likely, redact
from core.redaction.cues import APART, cues
from core.redaction.names import _NEEDLES, holds_foreign
from qmd.search.snippets import around
from tests.core.redaction.test_redaction import LABELLED, POSITIVES


@pytest.mark.parametrize(
    "before",
    [
        "\\x27",
        "\\u003d",
        "\\033[32m",
        "\\x1B[31m",
        "[31m",
        "^[[0;31m",
        "x%3D",
        "%22",
        "\x1b[32m",
        "\x1b[01;31m\x1b[K",
        "build-",
        "r_",
    ],
)
@pytest.mark.parametrize("kind", ["github", "anthropic", "aws", "slack", "google", "gitlab", "npm", "jwt"])
def test_a_token_is_found_behind_whatever_is_no_part_of_its_word(before: str, kind: str) -> None:
    token = next(case.secret for case in POSITIVES if redact(case.secret)[0] == f"[redacted:{kind}]")
    text = f"see {before}{token} there"

    assert token[-12:] not in redact(text)[0]
    assert automaton.suspects(json.dumps(text).encode())


def test_a_word_goes_on_as_it_is_where_a_token_would_begin_within_it() -> None:
    text = "the risk-ant-hill, my-AKIAS, a_hf_b, gh-pages-npm_config_cache and x-xoxo"
    assert redact(text) == (text, {})


@pytest.mark.parametrize("text", ["\x1b[33mDB_PASSWORD\x1b[0m=\x1b[32m{}\x1b[0m", "\x1b[1mpassword\x1b[0m: {}\x1b[K"])
def test_colours_between_a_name_and_its_value_hide_neither(text: str) -> None:
    text = f"$ docker compose config\n{text}\n"
    secret = "Sup3rDuper9x"

    assert secret not in redact(text.format(secret))[0]
    assert automaton.suspects(json.dumps(text.format(secret)).encode())
    assert redact("\x1b[33mplain\x1b[0m words") == ("\x1b[33mplain\x1b[0m words", {})


def test_a_list_of_codes_is_told_by_what_stands_above_it() -> None:
    codes = "\n".join(f"{number:05x}-{number * 7919 % 99991:05d}" for number in range(40, 48))
    text = f"# Mine\n\nRecovery codes:\n\n{codes}\n"
    assert redact(text) == ("# Mine\n\nRecovery codes:\n\n[redacted:otp]\n", {"otp": 1})
    assert codes[:11] not in around(text, 0, text.index(codes[12:23]), is_clean=False)[1]
    assert redact(f"Backup codes\n```\n{codes}\n```")[1] == {"otp": 1}
    for told in ("recovery codes E1001 E1002 E1003 E1004 E1005", "rescue codes 40404, 50305, 50406, 60507"):
        assert redact(told) == (told, {})


def test_what_an_agents_browser_types_into_a_field_is_judged_by_the_field() -> None:
    word = "Tangerine" + "42x"
    for name, kept in (("Password field", "[redacted:password]"), ("Name field", word)):
        value = {"input": {"element": name, "ref": "e3", "text": word}}
        assert clean_record(json.dumps(value).encode(), value, {})["input"]["text"] == kept


def test_of_cookies_that_a_browser_exported_only_what_may_let_somebody_in_goes() -> None:
    token = LABELLED.Maker(5).some(LABELLED.ALNUM, 40)
    value = [
        {"name": "auth_token", "value": token, "httpOnly": True},
        {"name": "theme", "value": "dark-2", "httpOnly": True},
    ]
    counts: dict[str, int] = {}
    cleaned = clean_record(json.dumps(value).encode(), value, counts)
    assert [cookie["value"] for cookie in cleaned] == ["[redacted:cookie]", "dark-2"]
    assert counts == {"cookie": 1}


@pytest.mark.parametrize(
    "text",
    [
        "- **Password**: {}",
        "**API key**: `{}`",
        "AWS Secret Access Key [None]: {}",
        "AWS Secret Access Key [****************ABCD]: {}",
        "| Name | Value |\n|---|---|\n| API_KEY | {} | of staging |",
        "| `DB_PASSWORD` | `{}` |",
        "stringData:\n  password: |\n    {}\n  user: me",
        "**Password** : {}",
        "*Password*: {}",
        "__Password:__ {}",
        "| **Password:** | {} |",
        "| db password | {} |",
        "password: |\r\n  {}\r\n",
        "password: |  # of staging\n  {}\n",
        "<name>db.password</name>\n<value>{}</value>",
        "kubectl create secret generic a --from-literal='a={}'",
        'gh secret set A -b"{}"',
        "Cookie: theme=dark; session_id={}",
        "curl -b 'ASP.NET_SessionId={}' https://x.example",
        "API key for staging = {}",
    ],
)
def test_a_value_is_told_by_its_name_in_a_list_a_table_a_prompt_and_a_block(text: str) -> None:
    secret = "kX92mfLq83nZpR47tYvW61pQ"
    text = text.format(secret)
    cleaned, counts = redact(text)

    assert secret not in cleaned
    assert sum(counts.values()) == 1
    assert automaton.suspects(json.dumps(text).encode())


@pytest.mark.parametrize(
    "text",
    [
        "password reset in UserV2#create fails",
        "the creds page shows Error500! please look",
        "my passphrase idea: see Notes2024!Draft",
        "password field in Login2~Form",
    ],
)
def test_names_made_of_words_stay_beside_a_word_for_a_password(text: str) -> None:
    assert redact(text) == (text, {})
    assert redact("the password of the printer: Summer2024!")[1] == {"password": 1}


@pytest.mark.parametrize(
    "text",
    [
        "POSTGRES_PASSWORD: ${POSTGRES_PASSWORD:-@}",
        "const pw = process.env.DB_PASSWORD || '@';",
        'password: process.env.PW_PASSWORD ?? "@"',
        "$password = getenv('DB_PASSWORD') ?: '@';",
        "ENV['DB_PASSWORD'] ||= '@'",
    ],
)
def test_what_is_taken_where_no_password_is_given_is_one(text: str) -> None:
    given = text.replace("@", "Tig3rMoth!x")
    assert redact(given) == (text.replace("@", "[redacted:password]"), {"password": 1})
    assert automaton.suspects(json.dumps(given).encode())
    for default in ("", "postgres", "changeme1"):
        assert redact(text.replace("@", default))[1] == {}


def test_hostile_texts_cost_what_they_are_long() -> None:
    nested: Any = "x" * 100_000
    for _ in range(300):
        nested = {"element": nested}
    assert clean_record(b"password = Sup3rDuper9x", nested, {}) == nested
    for text in ("wg gen x\n" + "\\" * 100_000, '"kty"' + "\\" * 100_000):
        assert redact(text) == (text, {})
    end = "-----END " + "PRIVATE KEY-----"
    for text in (
        "A" * 24 + "+" + "AAAA+" * 100 + "!" + end,
        ("A" * 24 + " ") * 800 + "ab " + end,
        ("\\" * 9000 + end) * 9,
    ):
        assert redact(text) == (text, {})
    for text in ("&lt;private a=" * 14 + "\\" * 200_000, "<private a=" * 20_000):
        assert redact(text) == (text, {})
    coloured = "export PASSWORD=Sup3rDuper9x " + "\x1b" * 5000 + "[0m" * 5000
    assert redact(coloured)[1] == {"password": 1}


@pytest.mark.parametrize("between", ["\n...\n", "…\n", " . . .\n", "\\n...\\n"])
def test_the_last_lines_of_a_key_are_no_longer_there_also_where_dots_follow(between: str) -> None:
    lines = "\n".join(("MIIEvQIBADANBgkq+hkiG9w0BAQEFAASCBKcwggSjAgEA" + "x+/" * 6, "Zq81mPw0RtYxLk29Vb7Nq+a/q" * 2))
    text = f"tail:\n{lines}{between}-----END " + "PRIVATE KEY-----\nafter"
    assert redact(text) == ("tail:\n[redacted:private-key]\nafter", {"private-key": 1})


@pytest.mark.parametrize(
    "text",
    [
        "{{&quot;password&quot;: &quot;{}&quot;}}",
        "{{&quot;password&quot;:&quot;{}&quot;,&quot;user&quot;:&quot;mira&quot;}}",
        "&lt;div data-x=&quot;{{&amp;quot;password&amp;quot;:&amp;quot;{}&amp;quot;}}&quot;&gt;",
        "{{&#34;password&#34;: &#34;{}&#34;}}",
        "{{&#39;password&#39;: &#39;{}&#39;}}",
        "DB_PASSWORD&#x3D;{}",
        "password：{}",
        "password： {}",
        "Password：`{}`",
        "DB_PASSWORD＝{}",
        "password﹕{}",
        "api_key：{}",
    ],
)
def test_signs_that_are_written_in_another_way_hide_no_value(text: str) -> None:
    secret = "Sup3rDuper9xKq7Lm2Pz"
    for given in (text.format(secret), f"before\n{text.format(secret)}\nafter &quot;x&quot; 中：y"):
        cleaned, counts = redact(given)
        assert secret not in cleaned
        assert sum(counts.values()) == 1
        assert redact(cleaned) == (cleaned, {})
        assert cleaned.endswith("&quot;x&quot; 中：y") or cleaned == redact(text.format(secret))[0]
        for ascii_only in (True, False):
            assert automaton.suspects(json.dumps({"content": given}, ensure_ascii=ascii_only).encode())


def test_lines_of_a_log_are_judged_a_few_times_and_a_secret_behind_them_is_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lines = [f"INFO api user=ann login token accepted request_id={number:016x} took 7ms" for number in range(500)]
    judged: list[str] = []

    def counted(line: str, *given: Any) -> list[str]:
        judged.append(line)
        return features(line, *given)

    features = likely.features
    monkeypatch.setattr(likely, "features", counted)
    text = "\n".join([*lines, "the staging password is hunter2-Velvet9"])
    cleaned = clean(text, {})
    assert cleaned.startswith("\n".join(lines))
    assert "hunter2-Velvet9" not in cleaned
    assert len(judged) < 50


@pytest.mark.parametrize("key", ["field", "question", "prompt", "label"])
@pytest.mark.parametrize("given", ["value", "text", "answer"])
def test_an_answer_is_redacted_in_a_record_as_in_a_text(key: str, given: str) -> None:
    value = {key: "Database password?", given: "Quiet-Otter-77x"}
    text = json.dumps(value)
    assert "Quiet-Otter" not in clean(text, {})
    assert clean_record(text.encode(), value, {}) == {key: "Database password?", given: "[redacted:password]"}


def test_an_answer_to_a_question_about_a_token_stays() -> None:
    for value in (
        {"label": "Token limit", "value": "128000-max"},
        {"question": "Which token counter?", "answer": "v2"},
    ):
        assert clean_record(json.dumps(value).encode(), value, {}) == value


def test_a_line_keeps_its_escapes_if_its_secret_is_seen_with_them() -> None:
    cleaned = clean(r"login bob T4k!9zQq2 now \*now\* a\_b", {})
    assert cleaned.endswith(r" now \*now\* a\_b")
    assert "T4k" not in cleaned


def test_a_short_likely_secret_is_redacted_in_a_record_as_in_a_text() -> None:
    assert "T4k!9z" not in clean("jwt=T4k!9z", {})
    assert clean_record(b'["jwt=T4k!9z"]', ["jwt=T4k!9z"], {}) != ["jwt=T4k!9z"]


@pytest.mark.parametrize(
    "text",
    [
        "RESTIC_PASSWORD=@ restic snapshots",
        "  admin_password: @\n  user: app",
        "admin_password = @",
        "conn = pymysql.connect('localhost', 'root', '@', 'shop')",
        "set system root-authentication plain-text-password-value @",
        "d-i passwd/user-password password @",
        "the default password is `@`.",
    ],
)
@pytest.mark.parametrize("value", ["saltyDogs", "grumpy-walrus"])
def test_a_password_of_words_alone_is_found_where_no_name_of_code_is_made_of_them(text: str, value: str) -> None:
    given = text.replace("@", value)
    assert redact(given) == (text.replace("@", "[redacted:password]"), {"password": 1})
    assert automaton.suspects(json.dumps(given).encode())
    for name in ("inputField", "read-only", "newValue"):
        # What an environment's variable is set to is plain.
        assert text.startswith("RESTIC") or name in redact(text.replace("@", name))[0]


def test_each_argument_of_a_call_that_logs_in_is_judged() -> None:
    assert redact('new mysqli("localhost", "shop", "Bask3tcase", "data")')[1] == {"password": 1}
    assert redact('new mysqli("localhost", "shop", "Bask3tcase")')[1] == {"password": 1}


@pytest.mark.parametrize("length", range(4))
def test_a_find_that_ends_within_a_letter_takes_the_whole_letter(length: int) -> None:
    # The pattern counts bytes, and takes 64 of them at most.
    text = "admin:Kl1nge!9" + "x" * length + "€" * 40
    cleaned, counts = redact(text)
    assert counts == {"password": 1}
    assert "Kl1nge" not in cleaned


def test_a_line_is_judged_once_for_a_record_and_its_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    judged: list[str] = []

    def counted(line: str, *given: Any) -> list[str]:
        judged.append(line)
        return features(line, *given)

    features = likely.features
    monkeypatch.setattr(likely, "features", counted)
    likely._secrets.cache_clear()
    line = "the staging password is hunter2-Velvet9 as of the nineteenth rehearsal"
    value = {"text": line}
    assert "Velvet9" not in str(clean_record(json.dumps(value).encode(), value, {}))
    assert len([each for each in judged if each == line]) <= 1


@pytest.mark.parametrize(
    "text",
    [
        "The API token below is shown once\n\n{}",
        "UPDATE settings SET value='{}' WHERE name='mailer_api_token';",
    ],
)
def test_a_value_is_seen_before_its_word_and_below_it(text: str) -> None:
    given = text.format("kX92mfLq83nZpR47tYvW61pQ76dfZTPtLLKjAyS9")
    assert "kX92mfLq" not in redact(given)[0]
    assert automaton.suspects(json.dumps({"content": given}).encode())


def test_signs_beyond_ascii_are_passed_quickly_and_letters_are_not() -> None:
    assert not holds_foreign("“password” — it’s → there… ✓ 🙂 °".encode())
    for word in _NEEDLES:
        assert holds_foreign(f"— {word} —".encode())


def test_what_is_passed_over_on_a_line_has_no_candidate_and_no_cue() -> None:
    lines = [line for case in POSITIVES for line in case.text.split("\n")]

    for line in lines:
        passed = {run[0] for run in re.finditer(rf"{likely._OF_RUN}{{5,400}}", line)}
        passed -= {run[1] for run in re.finditer(likely._RUN, line) if run[1]}
        assert not [run for run in passed if likely._values(run)]
        found = [(cue.kind, cue.start, cue.end) for cue in cues(line)]
        assert not [start for _, start, end in found if any(sign in line[start:end] for sign in APART)]
        begin = max(line.rfind(sign, 0, len(line) // 2) for sign in APART) + 1
        near = [(cue.kind, cue.start, cue.end) for cue in cues(line, [(begin, begin + 40)])]
        assert near == [cue for cue in found if begin <= cue[1] < begin + 40]
