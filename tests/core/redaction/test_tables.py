"""A table's head, a manifest, or a word of another language names the secrets below or behind it."""

from __future__ import annotations

import json
import re

import pytest

from core.redaction import automaton, excerpt, redact
from core.redaction.looks import is_phrase
from core.redaction.names import holds_foreign

_CHOSEN = "Tig3rMoth!x"
_DRAWN = "kX92mfLq83nZpR47tYvW61pQ"


@pytest.mark.parametrize(
    "text",
    [
        "| Host | Password | Notes |\n|------|:---------|---|\n| db1 | {} | primary |\n| db2 | - | |",
        "Host | Password\n---|---\ndb1 | `{}`",
        " id | password \n----+----------\n  1 | {}\n(1 row)",
        "+----+-------------+\n| id | password    |\n+----+-------------+\n|  1 | {} |\n+----+-------------+",
        "┌──────┬─────────────┐\n│ user │ password    │\n├──────┼─────────────┤\n│ root │ {} │\n└──────┴─────────────┘",
        "┏━━━━━━┳━━━━━━━━━━━┓\n┃ User ┃ Password  ┃\n┡━━━━━━╇━━━━━━━━━━━┩\n│ eve  │ {} │\n└──────┴───────────┘",
        "USER     PASSWORD      ROLE\nadmin    {}   ops\n",
        "user\tpassword\nroot\t{}",
        "username,password,role\nalice,{},admin\n",
        "email;password\na@example.org;{}\n",
        "| Umgebung | Kennwort |\n|---|---|\n| Test | {} |",
    ],
)
@pytest.mark.parametrize("ascii_only", [True, False])
def test_what_stands_in_a_column_of_passwords_goes(text: str, ascii_only: bool) -> None:
    cleaned, counts = redact(text.format(_CHOSEN))
    assert (cleaned, counts) == (text.format("[redacted:password]"), {"password": 1})
    assert automaton.suspects(json.dumps({"text": text.format(_CHOSEN)}, ensure_ascii=ascii_only).encode())


_FORMS = [
    "| id | {n} |\n|---|---|\n| 1 | {v} |",
    "| {n} | id |\n|---|---|\n| {v} | 1 |",
    " id | {n} \n----+-----------\n 1 | {v}\n(1 row)",
    " {n} | id \n-----+----\n {v} | 1\n",
    "+----+------+\n| id | {n} |\n+----+------+\n| 1 | {v} |\n+----+---+",
    "┌──┬──┐\n│ id │ {n} │\n├──┼──┤\n│ 1 │ {v} │\n└──┴──┘",
    "id,{n}\n1,{v}\n",
    "{n},name\n{v},bob\n",
    "a,{n},b\nx,{v},y\n",
    'id,"{n}"\n1,"{v}"\n',
    '"id","{n}","z"\n"1","{v}","q"\n',
    "id;{n}\n1;{v}",
    "id|{n}|z\n1|{v}|q",
    "{n}|id\n{v}|1\n",
    "id\t{n}\n1\t{v}",
    "{n}\tid\n{v}\t1",
    "a\t{n}\tb\nx\t{v}\ty",
    "NAME     {n}\nci-bot   {v}\n",
    "{n}                         NAME\n{v}   ci\n",
]


@pytest.mark.parametrize(
    "name",
    "password|Password|passwd|pwd|DB Password|db_password|Passwort|Kennwort|contraseña|token|TOKEN|api_token|API_KEY"
    "|api key|apiKey|secret|client_secret|access token".split("|"),
)
def test_a_column_is_known_whatever_form_its_table_and_its_name_have(name: str) -> None:
    value = _DRAWN if re.search("token|key|secret", name, re.IGNORECASE) else _CHOSEN
    for form in _FORMS:
        text = form.format(n=name, v=value)
        assert value not in redact(text)[0], text
        assert automaton.suspects(json.dumps(text).encode()), text
        assert automaton.suspects(json.dumps(text, ensure_ascii=False).encode()), text


def test_every_row_below_the_head_is_looked_at_and_none_behind_the_table() -> None:
    rows = "".join(f"| u{number} | Tig3rMoth!{number} |\n" for number in range(40))
    text = f"| user | password |\n|---|---|\n{rows}\nTig3rMoth!1 is a moth | and no row\n"
    cleaned, counts = redact(text)
    assert counts == {"password": 40}
    assert cleaned.endswith("Tig3rMoth!1 is a moth | and no row\n")


def test_in_a_column_of_tokens_only_what_looks_random_goes() -> None:
    text = "| name | token |\n|---|---|\n| ci | {} |\n| words | 120345 |\n| kind | bearer-token-v2 |"
    assert redact(text.format(_DRAWN)) == (text.format("[redacted:secret]"), {"secret": 1})


def test_manifests_without_end_cost_what_they_are_long() -> None:
    for line in ("a:bbbbbb" * 30_000, "HOSTS: " + "host-1:8080," * 20_000 + " # comment"):
        text = f"kind: Secret\ndata:\n {line}\n"
        assert redact(text)[0].startswith("kind: Secret")


def test_of_a_table_a_piece_without_its_head_shows_no_password() -> None:
    rows = "".join(f"| user{number} | Tig3rMoth!{number} |\n" for number in range(60))
    text = f"# Accounts\n\n| user | password |\n|---|---|\n{rows}"
    at = text.index("| user50")
    assert "Tig3rMoth" not in excerpt(text, at, at + 60, is_clean=False)


_MANIFEST = "apiVersion: v1\nkind: {}\nmetadata:\n  name: app\ndata:\n  RELAY: {}\n  username: YWRtaW4=\n"
_ENCODED = "cmVsYXk6a1g5Mm1mTHE4M25acFI0N3RZdlc="


def test_what_a_manifest_of_kubernetes_holds_goes_whatever_it_is_called() -> None:
    text = _MANIFEST.format("Secret", _ENCODED)
    cleaned, counts = redact(text)
    assert (cleaned, counts) == (_MANIFEST.format("Secret", "[redacted:secret]"), {"secret": 1})
    assert automaton.suspects(json.dumps(text).encode())
    value = json.dumps({"data": {"relay": _ENCODED}, "kind": "Secret"})
    assert redact(value)[0] == value.replace(_ENCODED, "[redacted:secret]")
    plain = f"kind: Secret\nstringData:\n  relay: {_DRAWN}\n"
    assert redact(plain)[0] == plain.replace(_DRAWN, "[redacted:secret]")


@pytest.mark.parametrize("kind", ["ConfigMap", "SecretStore"])
def test_what_another_manifest_holds_stays(kind: str) -> None:
    text = _MANIFEST.format(kind, _ENCODED)
    assert redact(text) == (text, {})


def test_certificates_and_names_of_a_manifest_stay() -> None:
    text = "kind: Secret\ndata:\n  tls.crt: LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCk1JSUQ=\n  host: ZGIuaW50ZXJuYWw=\n"
    assert redact(text) == (text, {})


@pytest.mark.parametrize(
    "text",
    [
        "Пароль от базы: {}",
        "пароль — {}",
        "密码是{}",
        "初始密码：`{}`",
        "パスワードは「{}」です",
        "비밀번호: {}",
        "Hasło do bazy: {}",
        "şifre: {}",
    ],
)
@pytest.mark.parametrize("ascii_only", [True, False])
def test_a_password_said_in_letters_that_are_not_ascii_goes(text: str, ascii_only: bool) -> None:
    assert redact(text.format(_CHOSEN)) == (text.format("[redacted:password]"), {"password": 1})
    assert automaton.suspects(json.dumps({"text": text.format(_CHOSEN)}, ensure_ascii=ascii_only).encode())


@pytest.mark.parametrize(
    "text",
    [
        "Пароль должен содержать 8 символов",
        "密码长度为8-20位",
        "パスワードの長さは12",
        "пароль хешируется через SHA256",
    ],
)
def test_what_is_said_of_passwords_in_such_letters_stays(text: str) -> None:
    assert holds_foreign(text.encode())
    assert redact(text) == (text, {})


def test_a_password_of_several_words_is_told_from_a_label_and_a_sentence() -> None:
    assert redact('password: "velvet canyon orbit ladder"')[1] == {"password": 1}
    assert redact("the wallet's passphrase is 'timber flute magnet ocean river'")[1] == {"password": 1}
    for said in ("enter your new password here", "at least eight characters", "passwords do not match"):
        assert not is_phrase(said)
        assert redact(f'password: "{said}"')[1] == {}


@pytest.mark.parametrize(
    "text", ["Password (staging): {}", "DB password (read only) = `{}`", "**Password** (prod): {}"]
)
def test_brackets_between_a_name_and_its_colon_hide_no_value(text: str) -> None:
    assert redact(text.format(_CHOSEN)) == (text.format("[redacted:password]"), {"password": 1})
    assert redact("Password (min 8 characters): required")[1] == {}


def test_a_publishable_key_stays_and_its_secret_one_goes() -> None:
    key = "live_" + _DRAWN
    assert redact(f"pk_{key}")[1] == {}
    assert redact(f"sk_{key}")[1] == {"stripe": 1}


def test_hostile_tables_and_manifests_cost_what_they_are_long() -> None:
    for text in (
        "kind: Secret\ndata:\n" + " " * 200_000,
        "kind: Secret\n" + "data:\n" * 30_000,
        "| password |" + " |" * 20_000 + "\n" + "|" * 50_000,
        "user,password\n" * 20_000,
        "пароль " * 20_000,
        '"kind":"Secret"' + '"data":{' * 20_000,
    ):
        assert redact(text) == (text, {})
