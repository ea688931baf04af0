from __future__ import annotations

import pytest

from runtime.distill.extractive import distil
from runtime.distill.words import is_english
from tests.runtime.distill.session import Turns, body

GERMAN: Turns = [
    ("user", "Bitte behebe den Fehler beim Refresh des Tokens, wenn zwei Tabs offen sind."),
    ("assistant", "Die Ursache ist, dass beide Tabs das alte Token lesen. Soll ich das committen?"),
    ("user", "Nein, nicht im localStorage speichern, weil XSS das Token sonst lesen kann."),
    ("user", "Und schreib noch einen Test dafür, der zwei Tabs simuliert."),
]
CHINESE: Turns = [
    ("user", "请修复令牌刷新的竞态问题，两个标签页同时打开时会把用户登出。"),
    ("assistant", "根本原因是两个标签页都在写入新令牌之前读取了旧令牌。建议改用 cookie 存储刷新令牌。"),
    ("user", "不要放在 localStorage 里，因为 XSS 可以读取它。"),
]
RUSSIAN: Turns = [
    ("user", "Исправь гонку при обновлении токена, когда открыты две вкладки. Людей выкидывает."),
    ("assistant", "Причина в том, что обе вкладки читают старый токен до записи нового."),
    ("user", "Не храни токен в localStorage, потому что его читает XSS."),
]


@pytest.mark.parametrize("turns", [GERMAN, CHINESE, RUSSIAN])
def test_other_languages_are_distinguished_from_english(turns: Turns) -> None:
    assert not is_english(text for role, text in turns if role == "user")


@pytest.mark.parametrize(
    "text", ["Fix the race in the refresh of the token.", "List files", "", "pnpm test -- --run x"]
)
def test_english_and_very_short_texts_are_english(text: str) -> None:
    assert is_english([text])


@pytest.mark.parametrize("turns", [GERMAN, CHINESE, RUSSIAN])
def test_a_session_in_another_language_claims_nothing_it_does_not_say(turns: Turns) -> None:
    found = distil(body(turns))
    for section in ("decisions", "rejected", "questions", "errors", "commands"):
        assert found.sections[section] == [], section
    prompts = {number for number, (role, _) in enumerate(turns, 1) if role == "user"}
    assert {each.turns[0] for each in found.sections["goals"]} == prompts
    assert found.sections["points"]


@pytest.mark.parametrize("turns", [GERMAN, CHINESE, RUSSIAN])
def test_function_words_and_pieces_of_words_are_no_concepts(turns: Turns) -> None:
    concepts = {each.text for each in distil(body(turns)).sections["concepts"]}
    assert not concepts & {"die", "das", "dass", "nicht", "und", "в", "не", "что", "токена", "页同", "的竞", "因是"}
    assert concepts
