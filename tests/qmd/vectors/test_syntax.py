from __future__ import annotations

import base64
import sys
from types import SimpleNamespace
from typing import Any

import pytest
import tree_sitter
from hypothesis import given
from hypothesis import strategies as st

from core import grammars
from core.grammars import LANGUAGES
from qmd.vectors import chunking, syntax
from tests.hostile_code import HOSTILE

TYPESCRIPT = """import { a } from "./é🎉";
export class Store { get(key: string) { return key; } }
class Bare {}
interface Shape { x: number }
type Id = string;
enum Kind { A }
function plain() {}
const arrow = () => 1;
const old = function () {};
const number = 1;
"""
SAMPLES = {
    "python": (
        "import os\nfrom a import b\n\n@cached\ndef one():\n    def two():\n        pass\n\nclass Three:\n    x = 1\n",
        ["import os", "from a", "@cached", "def one", "def two", "class Three"],
        [60, 60, 90, 90, 90, 100],
    ),
    "typescript": (
        TYPESCRIPT,
        [
            "import",
            "export class",
            "class Store",
            "get(",
            "class Bare",
            "interface",
            "type Id",
            "enum",
            "function plain",
            "const arrow",
            "const old",
        ],
        [60, 90, 100, 90, 100, 100, 80, 80, 90, 90, 90],
    ),
    "javascript": (
        'import "a";\nexport const f = () => <p/>;\nclass A { b() {} }\n',
        ["import", "export", "const f", "class A", "b()"],
        [60, 90, 90, 100, 90],
    ),
    "tsx": ("const F = () => <p/>;\ninterface P { a: string }\n", ["const F", "interface"], [90, 100]),
    "go": (
        'package p\nimport "fmt"\ntype T struct{}\nfunc f() {}\nfunc (t T) m() {}\n',
        ["import", "type T", "func f", "func (t"],
        [60, 80, 90, 90],
    ),
    "rust": (
        "use a::b;\npub struct A;\n/// e\nenum B { C }\ntype T = u32;\ntrait D {}\nimpl D {}\nmod m { fn f() {} }\n",
        ["use", "pub struct", "enum", "type T", "trait", "impl", "mod", "fn f"],
        [60, 100, 80, 80, 100, 100, 100, 90],
    ),
    "java": (
        "import a.B;\nclass A { A() {} int f() { return 1; } }\ninterface I {}\nenum E { X }\nrecord R(int x) {}\n",
        ["import", "class A", "A() {}", "int f", "interface", "enum", "record"],
        [60, 100, 90, 90, 100, 80, 100],
    ),
    "c": (
        "#include <a.h>\nstruct s { int x; };\ntypedef int t;\nenum e { A };\nint f(void) { return 0; }\n",
        ["#include", "struct s", "typedef", "enum", "int f"],
        [60, 100, 80, 80, 90],
    ),
    "cpp": (
        "#include <a>\nnamespace n {\ntemplate <class T> T g(T x) { return x; }\nclass A { void m() {} };\n}\n",
        ["#include", "namespace", "template", "T g", "class A", "void m"],
        [60, 100, 90, 90, 100, 90],
    ),
}


@pytest.mark.parametrize("language", sorted(set(LANGUAGES.values())))
def test_code_breaks_before_its_definitions_with_the_scores_of_their_kinds(language: str) -> None:
    text, starts, scores = SAMPLES[language]
    found = syntax.breaks(text, language)
    assert [place.score for place in found] == scores
    for place, start in zip(found, starts, strict=True):
        assert text[place.pos :].startswith(start)


def test_every_grammar_is_there_and_knows_what_it_is_asked_for() -> None:
    assert list(syntax.languages())[:6] == ["typescript", "tsx", "javascript", "python", "go", "rust"]
    assert set(syntax.languages()) == set(LANGUAGES.values())
    assert set(syntax.languages().values()) == {""}


@pytest.mark.parametrize(("path", "language"), [("a/b.PY", "python"), ("x.tsx", "tsx"), ("a.md", ""), ("Makefile", "")])
def test_only_auto_cuts_code_by_its_grammar(path: str, language: str) -> None:
    assert syntax.language_of(path) == language
    assert syntax.language_of(path, syntax.REGEX) == ""


def test_a_text_that_no_grammar_can_read_is_cut_by_the_plain_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "def a():\n    pass\n" * 3
    assert syntax.breaks(text, "python")
    assert syntax.breaks(text, "") == []
    assert syntax.breaks("x = 1\n" * (grammars.MAX_TEXT // 6 + 1), "python") == []
    monkeypatch.setattr(grammars, "_queries", {})
    monkeypatch.setattr(grammars, "_parsers", {})
    monkeypatch.setattr(grammars, "_languages", {})
    monkeypatch.setitem(sys.modules, "tree_sitter_python", None)
    assert syntax.breaks(text, "python") == []
    assert syntax.languages()["python"]
    assert not syntax.languages()["go"]
    assert (syntax.mark("python"), syntax.mark("go")) == ("", f"go:{syntax.VERSION}")


@pytest.mark.parametrize("module", [{}, {"language": lambda: "a grammar"}, {"language": lambda: None}, {"language": 7}])
def test_a_package_of_a_grammars_name_and_another_make_is_none(
    monkeypatch: pytest.MonkeyPatch, module: dict[str, Any]
) -> None:
    for known in ("_queries", "_parsers", "_languages"):
        monkeypatch.setattr(grammars, known, {})
    monkeypatch.setitem(sys.modules, "tree_sitter_python", SimpleNamespace(**module))
    assert syntax.breaks("def a():\n    pass\n", "python") == []
    assert syntax.languages()["python"]
    assert syntax.mark("python") == ""


@pytest.mark.parametrize(("sign", "language"), [("(", "python"), ("{", "c"), ("<", "rust"), ("[]", "go")])
def test_a_tangle_is_cut_by_the_plain_rule_and_no_query_is_run(
    monkeypatch: pytest.MonkeyPatch, sign: str, language: str
) -> None:
    runs: list[Any] = []

    cursor = tree_sitter.QueryCursor

    def counting(query: Any) -> Any:
        runs.append(query)
        return cursor(query)

    def found(text: str) -> list[tuple[int, str]]:
        return syntax.answer({"text": base64.b64encode(text.encode()).decode(), "language": language})

    monkeypatch.setattr(tree_sitter, "QueryCursor", counting)
    assert found(sign * 60_000) == []
    assert runs == []
    text, starts, _ = SAMPLES[language]
    assert len(found(f"{text}\n{sign * 9}\n")) >= len(starts) - 1
    assert len(runs) == 1


@pytest.mark.parametrize(("text", "language"), HOSTILE)
def test_a_text_that_stalls_its_grammar_is_cut_by_the_plain_rule(
    monkeypatch: pytest.MonkeyPatch, text: str, language: str
) -> None:
    monkeypatch.setattr(grammars, "cpu_s", lambda _: 1)
    assert syntax.breaks(text, language) == []
    sample, starts, _ = SAMPLES[language]
    assert len(syntax.breaks(sample, language)) >= len(starts) - 1


@given(
    st.lists(st.sampled_from(["def f():\n", "    x = '🎉é'\n", "class A:\n", "\n", "```\n", "'''", "\x00", "(", "海"]))
    .map("".join)
    .filter(bool),
    st.sampled_from(sorted(set(LANGUAGES.values()))),
)
def test_breaks_lie_within_any_text_in_order(text: str, language: str) -> None:
    places = [place.pos for place in syntax.breaks(text, language)]
    assert places == sorted(set(places))
    assert all(0 <= place < len(text) for place in places)


def test_chunks_begin_where_functions_do_also_behind_characters_of_two_units() -> None:
    # No blank lines, no headings: the plain rule knows no better place than the last line's end.
    functions = [f"def f{number}():\n    '🎉 é'\n" + "    x = 1\n" * 9 for number in range(30)]
    text = "".join(functions)
    plain = chunking.chunk(text, 1000, 0, 300)
    cut = chunking.chunk(text, 1000, 0, 300, syntax.breaks(text, "python"))
    assert "".join(chunk.text for chunk in cut) == text
    assert all(chunk.text.startswith("def ") for chunk in cut)
    assert not all(chunk.text.startswith("def ") for chunk in plain)
