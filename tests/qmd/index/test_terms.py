"""Terms: how texts and questions are cut into words."""

from __future__ import annotations

import time
import unicodedata
from collections.abc import Iterator
from itertools import pairwise

import apsw
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from qmd.index.derived import inner_words
from qmd.index.terms import (
    _IRREGULAR,
    STOP,
    Analyzer,
    Terms,
    count_cjk,
    forms,
    has_cjk,
    humps,
    is_cjk,
    spaced_out,
    without_accents,
)
from tests.examples import examples

_SCRIPTS = ("CJK UNIFIED IDEOGRAPH", "CJK COMPATIBILITY IDEOGRAPH", "HIRAGANA LETTER", "KATAKANA LETTER", "HANGUL")


@pytest.mark.parametrize("text", list("漢字ひらカナ한글𠀋々〇ｶ가"))
def test_the_four_scripts_are_spaced_out(text: str) -> None:
    assert is_cjk(text)
    assert spaced_out(f"a{text}b") == f"a {text} b"


@pytest.mark.parametrize("text", ["a", "é", "ー", "Ａ", "，", "。", "\u200d", "🎉", "א", "\U000e0100"])
def test_other_characters_stay(text: str) -> None:
    assert not is_cjk(text)
    assert spaced_out(f"a{text}b") == f"a{text}b"


def test_every_letter_that_unicode_names_so_is_one() -> None:
    missed = [
        chr(point)
        for point in range(0x1100, 0x31350)
        if unicodedata.name(chr(point), "").startswith(_SCRIPTS) and not is_cjk(chr(point))
    ]
    assert missed == []


def test_letters_lose_their_accents_as_in_the_index() -> None:
    plain = Analyzer(apsw.Connection(":memory:"))
    letters = [chr(point) for point in (*range(0xC0, 0x250), *range(0x1E00, 0x1F00)) if chr(point).isalpha()]
    others = "İſẛ"  # other letters by their meaning, without an accent or with another number of characters
    differ = [each for each in letters if plain.tokens(each)[0][1] != without_accents(each.lower())]
    assert differ == list(others)
    assert without_accents("“漢字” – が й ✅ e\u0301") == "“漢字” – が й ✅ e\u0301"


@given(st.text(st.characters() | st.sampled_from("漢字カナ한ー ")))
def test_spacing_changes_spaces_only(text: str) -> None:
    spaced = spaced_out(text)
    assert spaced.replace(" ", "") == text.replace(" ", "")
    assert has_cjk(text) is any(map(is_cjk, text))
    assert count_cjk(text) == sum(map(is_cjk, text))
    assert (spaced == text) is not has_cjk(text)
    assert not any(is_cjk(a) and is_cjk(b) for a, b in pairwise(spaced))


@pytest.fixture(scope="module")
def table() -> Iterator[apsw.Connection]:
    """An empty full-text table as the index makes it."""
    connection = apsw.Connection(":memory:")
    connection.execute("CREATE VIRTUAL TABLE t USING fts5(body, words, tokenize='porter unicode61')")
    yield connection
    connection.close()


@pytest.fixture(scope="module")
def analyzer(table: apsw.Connection) -> Analyzer:
    """The analyzer over it."""
    return Analyzer(table)


def _phrases(terms: Terms) -> list[str]:
    return [phrase.strip('"') for phrase in terms.phrases]


_QUESTIONS = st.text(
    st.characters(exclude_categories=["Cs"])
    | st.sampled_from("\"'`*^:(){}[]-_./+~|\\ \t\n\x01ABCabc漢字ー\u0301\u202e\U0001f389שa"),
    max_size=200,
)


@settings(max_examples=examples(300), deadline=None)
@given(_QUESTIONS)
@example('" OR "')
@example("\x00")
@example("NEAR(a b) AND NOT * ^c : {d}")
def test_any_question_becomes_phrases_that_fts5_takes(
    table: apsw.Connection, analyzer: Analyzer, question: str
) -> None:
    terms = analyzer.analyze(question)
    for phrase in terms.phrases:
        table.execute("SELECT rowid FROM t WHERE t MATCH ?", (phrase,)).fetchall()
    if terms.phrases:
        table.execute("SELECT rowid FROM t WHERE t MATCH ?", (" OR ".join(terms.phrases),)).fetchall()
    assert len(terms.phrases) == len(terms.stems) == len(terms.term)
    assert len(terms.count) == len(terms.names)
    assert set(terms.term) == set(range(len(terms.count)))
    assert all(count > 0 for count in terms.count)


@settings(max_examples=examples(200), deadline=None)
@given(_QUESTIONS)
def test_a_text_is_found_by_its_own_words(analyzer: Analyzer, text: str) -> None:
    connection = apsw.Connection(":memory:")
    connection.execute("CREATE VIRTUAL TABLE t USING fts5(body, tokenize='porter unicode61')")
    from qmd.index.terms import spaced_out

    connection.execute("INSERT INTO t VALUES(?)", (spaced_out(text),))
    terms = Analyzer(connection).analyze(text)
    firsts = dict(reversed(list(zip(terms.term, terms.phrases, strict=True))))
    for number, phrase in firsts.items():
        if terms.count[number] >= 1:
            assert connection.execute("SELECT count(*) FROM t WHERE t MATCH ?", (phrase,)).get == 1, phrase
    connection.close()


@pytest.mark.parametrize(
    ("question", "phrases"),
    [
        ("What did I decide about the walrus?", ["decide", "decision", "walrus"]),
        ("the penguin and the penguin", ["penguin"]),
        ("to be or not to be", ["to", "be", "or", "not"]),
        ("--no-verify", ["verify", "no verify"]),
        ("src/auth/token.py", ["src", "auth", "token", "py", "src auth token py"]),
        ("ECONNREFUSED", ["econnrefused"]),
        ("foo_bar", ["foo", "bar", "foo bar"]),
        ("the.of", ["the of"]),
        ("漢字", ["漢", "字", "漢 字"]),
        ("漢字abc検", ["漢", "字", "abc", "検", "漢 字"]),
        ("C++", ["c"]),
        ("'quoted', (bracketed).", ["quoted", "bracketed"]),
        ("\U0001f389", []),
        ("?!", []),
        ("", []),
    ],
)
def test_a_question_is_cut_into_its_terms(analyzer: Analyzer, question: str, phrases: list[str]) -> None:
    assert _phrases(analyzer.analyze(question)) == phrases


def test_the_words_inside_an_identifier_count_half(analyzer: Analyzer) -> None:
    terms = analyzer.analyze("getUserName HTTPServer")
    weights = dict(zip(terms.names, terms.count, strict=True))
    assert weights == {
        "getusername": 1,
        "get": 0.5,
        "user": 0.5,
        "name": 0.5,
        "httpserver": 1,
        "http": 0.5,
        "server": 0.5,
    }


def test_repeated_words_count_again(analyzer: Analyzer) -> None:
    terms = analyzer.analyze("token penguin tokens")
    assert dict(zip(terms.names, terms.count, strict=True)) == {"token": 2, "penguin": 1}


def test_irregular_forms_have_the_stems_of_the_tokenizer(analyzer: Analyzer) -> None:
    for written in _IRREGULAR.split("|"):
        words = [form.partition(":")[0] for form in written.split()]
        stems = [stem for stem, _ in analyzer.tokens(" ".join(words))]
        for stem in stems:
            assert forms(stem) == dict(zip(stems, words, strict=True))
    assert forms("walrus") == forms("oes") == {}


def test_irregular_forms_are_phrases_of_one_term(analyzer: Analyzer) -> None:
    terms = analyzer.analyze("went")
    assert len(terms.count) == 1
    assert set(_phrases(terms)) == {"went", "going", "goes", "gone"}


def test_the_words_that_named_the_date_are_dropped(analyzer: Analyzer) -> None:
    assert _phrases(analyzer.analyze("the walrus last Tuesday", "last Tuesday")) == ["walrus"]
    assert "tuesday" in _phrases(analyzer.analyze("the walrus last Tuesday"))


def test_a_stop_word_alone_is_asked_for(analyzer: Analyzer) -> None:
    for word in sorted(STOP):
        assert _phrases(analyzer.analyze(word))[0] == word
        assert _phrases(analyzer.analyze(f"{word} walrus")) == ["walrus"], word


@pytest.mark.parametrize(
    "question",
    [
        "".join(chr(0x4E00 + number) for number in range(2000)),
        " ".join(f"w{number}" for number in range(400)),
        "/".join(f"w{number}" for number in range(400)),
        "aB" * 1000,
        "a" * 2000,
        "-" * 2000,
        "Ab/" * 666,
    ],
    ids=lambda question: question[:6],
)
def test_a_pasted_log_is_a_bounded_question(table: apsw.Connection, analyzer: Analyzer, question: str) -> None:
    started = time.process_time()
    terms = analyzer.analyze(question)
    assert time.process_time() - started < 2
    assert len(terms.count) <= 200
    if terms.phrases:
        table.execute("SELECT rowid FROM t WHERE t MATCH ?", (" OR ".join(terms.phrases),)).fetchall()


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=80))
def test_offsets_are_the_bytes_of_the_words(analyzer: Analyzer, text: str) -> None:
    raw = text.encode()
    end = 0
    for first, past, _ in analyzer.offsets(text):
        assert end <= first < past <= len(raw)
        raw[first:past].decode()
        end = past


@pytest.mark.parametrize("word", ["getUserName", "HTTPServer", "parseJSONFile", "sha256Sum", "MacBook", "i18nKeys"])
def test_camel_case_is_cut_as_it_is_indexed(word: str) -> None:
    assert humps(word) == inner_words(word).split()


@given(st.text("aBcD1", min_size=1, max_size=12))
def test_whatever_the_index_cuts_a_question_finds(word: str) -> None:
    assert set(inner_words(word).split()) <= {word, *humps(word)}
