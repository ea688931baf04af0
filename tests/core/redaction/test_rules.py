"""The table of rules: each finds its own examples, its prefilter admits them, and every class of secrets is found."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from core import redaction
from core.redaction import automaton, clean_record, cues, redact, rule, screen, spoken
from core.redaction.engine import compiled, whether
from core.redaction.likely import without_likely
from core.redaction.names import holds_foreign, screened
from core.redaction.rule import Prefilter, Row, Rule, cleaned, prefilter_of, without_rows
from core.redaction.tokens import PROVIDERS, TOKENS, Provider
from tests.core.redaction import classes
from tests.core.redaction.test_redaction import LABELLED
from tests.tables import every

ROWS = (*screen.LINES, *screen.SPANS)
_EXAMPLES: dict[str, list[str]] = {}
for _line in map(json.loads, Path(__file__).with_name("examples.jsonl").read_text(encoding="utf-8").splitlines()):
    _EXAMPLES.setdefault(_line["rule"], []).append(_line["text"])

_HERE = Path(__file__).parent
_BLIND = [json.loads(line) for line in (_HERE / "blind.jsonl").read_text(encoding="utf-8").splitlines()]
_STAYS = [json.loads(line) for line in (_HERE / "stays.jsonl").read_text(encoding="utf-8").splitlines()]

Clean = Callable[[str], str]


def _of_rows(row: Row) -> Clean:
    return lambda text: without_rows([row], text, {})


# Name → how each of the rules with that name cleans a text, and what the automaton looks for.
_RULES: dict[str, list[tuple[Clean, Prefilter]]] = {}
for _rule in screen.RULES:
    if _rule.name not in ("row", "span"):
        _RULES.setdefault(_rule.name, []).append((lambda text, rule=_rule: rule.clean(text, {}), _rule.prefilter))  # type: ignore[misc]
for _row in ROWS:
    _RULES.setdefault(f"{_row.kind} {_row.words[0] if _row.words else 'number'}", []).append(
        (_of_rows(_row), prefilter_of([_row]))
    )
# What no grammar covers is judged after the rules, behind a prefilter of its own.
_RULES["likely"] = [(lambda text: without_likely(text, {}), Prefilter())]


def test_each_rule_has_examples() -> None:
    assert set(_RULES) == set(_EXAMPLES)


@every(_RULES)
def test_a_rule_finds_its_examples_and_its_prefilter_admits_them(name: str) -> None:
    for case in LABELLED.pasted(_EXAMPLES[name], 15):
        finding = [prefilter for clean, prefilter in _RULES[name] if case.secret not in clean(case.text)]
        assert finding, case.text
        for data in (case.text.encode(), json.dumps({"content": case.text}).encode()):
            assert any(_admits(prefilter, data) for prefilter in finding), data


def _admits(prefilter: Prefilter, data: bytes) -> bool:
    if not prefilter:
        return holds_foreign(data) or automaton.suspects(data)
    return bool(whether(screened([prefilter]))(data))


_PRINTABLE = "".join(map(chr, range(33, 127)))


def _drawn(parsed: Any, draw: random.Random) -> str:
    """Return a text that a parsed pattern matches, drawn by ``draw``."""
    found = ""
    for operation, argument in parsed:
        match str(operation):
            case "LITERAL":
                found += chr(argument)
            case "IN":
                found += draw.choice(re.findall(_class(argument), _PRINTABLE))
            case "MAX_REPEAT":
                least, most, inner = argument
                count = draw.randint(least, min(most, least + 3))
                found += "".join(_drawn(inner, draw) for _ in range(count))
            case "SUBPATTERN":
                found += _drawn(argument[3], draw)
            case "BRANCH":
                found += _drawn(draw.choice(argument[1]), draw)
            case other:
                raise AssertionError(other)
    return found


def _class(parts: Any) -> str:
    """Return the pattern of a class of characters from its parsed form."""
    found = ""
    for operation, argument in parts:
        match str(operation):
            case "LITERAL":
                found += re.escape(chr(argument))
            case "RANGE":
                found += f"{re.escape(chr(argument[0]))}-{re.escape(chr(argument[1]))}"
            case "CATEGORY":
                found += r"\d"
    return f"[{found}]"


@every(PROVIDERS)
def test_a_provider_admits_tokens_of_its_shape(provider: Provider) -> None:
    draw = random.Random(provider.kind)
    for pattern in [*provider.pattern] * 5:
        token = _drawn(re._parser.parse(pattern), draw)  # type: ignore[attr-defined]
        assert _admits(TOKENS.prefilter, f"see {token} there".encode()), token
        assert any(literal in token.encode() for literal in provider.needed())


@pytest.mark.parametrize("kind", classes.KINDS)
@pytest.mark.parametrize("seed", [21, 22])
def test_each_class_is_found_and_what_looks_like_it_stays(kind: str, seed: int) -> None:
    cases = LABELLED.pasted(classes.lines(kind, secret=True), seed)
    assert cases
    assert [case.text for case in cases if case.secret in redact(case.text)[0]] == []
    others = LABELLED.pasted(classes.lines(kind, secret=False), seed + 1)
    assert [case.text for case in others if redact(case.text)[0] != case.text] == []


@pytest.mark.parametrize("kind", classes.KINDS)
def test_each_class_is_found_where_it_is_shown_and_where_json_holds_it(kind: str) -> None:
    for case in LABELLED.pasted(classes.lines(kind, secret=True), 23):
        assert redaction.shown(case.text) == redact(case.text)[0]
        for ascii_only in (True, False):
            value = {"message": {"content": case.text}}
            raw = json.dumps(value, ensure_ascii=ascii_only).encode()
            assert automaton.suspects(raw), case.text
            assert case.secret not in clean_record(raw, value, {})["message"]["content"], case.text


@every(ROWS)
def test_a_row_is_whole(row: Row) -> None:
    assert compiled(f"(?i){row.pattern}").groups == 1
    assert all(word == word.lower() for word in row.words)


@pytest.mark.parametrize(
    ("name", "missed_most", "touched_most"),
    [
        ("first", 0.06, 0),
        ("second", 0.06, 0),
        ("third", 0.06, 0),
        ("fourth", 0.06, 0),
        ("fifth", 0.06, 0),
        ("sixth", 0.04, 0),
        ("seventh", 0.04, 0),
        ("eighth", 0.04, 0),
        # The weights of likely secrets are made of these as well, but few rules are.
        ("ninth", 0.16, 0),
        ("tenth", 0.19, 0),
        ("eleventh", 0.04, 0),
        ("twelfth", 0.08, 0),
        ("thirteenth", 0.14, 0),
        ("fourteenth", 0.13, 1),
        # No weights are made of the last two.
        ("fifteenth", 0.15, 0),
        ("sixteenth", 0.03, 0),
    ],
)
def test_the_lists_that_were_written_without_a_look_at_the_rules_are_nearly_found(
    name: str, missed_most: float, touched_most: int
) -> None:
    lines = [line["text"] for line in _BLIND if line["list"] == name]
    secrets = LABELLED.pasted([text for text in lines if "⟦" in text], 31)
    missed = [case.text for case in secrets if case.secret in redact(case.text)[0]]
    assert len(missed) / len(secrets) <= missed_most, missed
    others = LABELLED.pasted([text for text in lines if "⟦" not in text], 32)
    touched = [case.text for case in others if redact(case.text)[0] != case.text]
    assert len(touched) <= touched_most, touched
    for case in secrets:
        if case.text not in missed:
            assert automaton.suspects(json.dumps(case.text).encode()), case.text


def test_a_number_in_json_is_judged_by_its_key() -> None:
    value = {"password": 84719203, "accessCode": 58213, "port": 58213, "exit_code": 4444}
    counts: dict[str, int] = {}
    cleaned = clean_record(json.dumps(value).encode(), value, counts)
    assert cleaned == {**value, "password": "[redacted:password]", "accessCode": "[redacted:otp]"}
    assert counts == {"password": 1, "otp": 1}


@pytest.mark.parametrize("line", _STAYS, ids=lambda line: line["about"])
def test_a_text_that_only_speaks_of_secrets_stays(line: dict[str, str]) -> None:
    assert redact(line["text"]) == (line["text"], {})


def test_the_automaton_is_generated_from_the_table() -> None:
    stored = json.loads(Path(automaton.FILE).read_text(encoding="utf-8"))
    assert stored == screen.patterns(), "python -m core.redaction.screen"


def test_automata_that_tell_rules_apart_are_made_for_the_kinds_a_text_has(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []

    def by_group(_rules: tuple[Rule, ...], kind: str) -> list[Any]:
        made.append(kind)
        return []

    monkeypatch.setattr(screen, "_by_group", by_group)
    names = [rule.name for rule in screen.RULES]
    screen.suspected(b"nothing but words", names)
    assert not made
    screen.suspected(b"redis-cli -a x", names)
    assert set(made) == {"words"}


def test_a_long_line_is_looked_through_for_its_digit_once(monkeypatch: pytest.MonkeyPatch) -> None:
    heads, starts = rule._heads, list[int]()

    class Searched:
        def search(self, data: bytes, at: int) -> Any:
            starts.append(at)
            return heads(r"[\n0-9]").search(data, at)

    monkeypatch.setattr(rule, "_heads", lambda pattern: Searched() if pattern == r"[\n0-9]" else heads(pattern))
    text = "the plan is my own code and your pin " * 500 + "4"
    assert spoken._without_codes(text, {}) == text
    assert len(starts) == 1


@pytest.mark.parametrize(
    "word", ["password", "passwords", "passphrase", "kennwort", "api key", "log-in", "otp", "path"]
)
def test_a_cue_has_the_kind_that_the_patterns_of_its_words_give(word: str) -> None:
    def by_pattern(kind: str) -> bool:
        words = "|".join(cues._spelled(dict(cues._KINDS)[kind], wide=False))
        return re.fullmatch(f"(?:{words})" + (r"\w{0,4}" if kind == "P" else ""), word) is not None

    assert cues._kind_of(word) == next((kind for kind, _ in cues._KINDS if by_pattern(kind)), "")


@pytest.mark.parametrize(
    "text",
    [
        "пароль Zx9-Quartz_41 для базы",
        "слово ПАРОЛЬ Zx9-Quartz_41",
        "ŞİFRE: Zx9-Quartz_41 ve door code is 8305",
        "der Zugangscode lautet 48213, und das Passwort ist Zx9-Quartz_41",
        "café · the door code is 8305, your code 482 193",
        "482913 is your sign-in code, 17 apples, 4821 as the PIN",
        "Enter the code 48213 to confirm, or use 482-193 to log in; type 48-21-39 and verify",
        "backup code: K7QX-92MF-4TZB, back-up key is k7qx-92mf, recovery code A1B2C3D4-E5F6G7H8",
        "my 2nd door code: 8305\nthe pin\n4821, pin the version to 8305",
    ],
)
def test_the_beginnings_that_re2_finds_lose_no_match(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    quick = spoken._without_codes(spoken._without_said(text, {}), {})
    monkeypatch.setattr(spoken, "cleaned_at", lambda _, *given, **_more: cleaned(*given))
    assert quick == spoken._without_codes(spoken._without_said(text, {}), {}) != text


def test_the_cues_of_several_spans_are_those_of_each() -> None:
    line = "password, see (the token) / -p x, dbPassword: пароль, DB_PASS=1, words. more words, login (key, code) PIN"
    begins = [0, *(place + 1 for place, sign in enumerate(line) if sign in cues.APART)]
    spans = [(begin, begin + 7) for begin in begins[::2]]

    def found(spans: list[tuple[int, int]]) -> list[tuple[str, int, int]]:
        return [(cue.kind, cue.start, cue.end) for cue in cues.cues(line, spans)]

    assert found(spans) == [each for span in spans for each in found([span])]
    assert len(found(spans)) > 4
