"""Markdown and code of documents: what is kept, what is shown as text, and what is too much."""

from __future__ import annotations

import time

import pytest

from web import markdown


@pytest.mark.parametrize("language", sorted(markdown._LANGUAGES))
def test_a_language_is_coloured(language: str) -> None:
    assert 'class="k-' in markdown.code("import x from 'y' # 1\n- name: \"<b>\"\n+a = 1\n", language)
    assert "<b>" not in markdown.code('"<b>"', language)


@pytest.mark.parametrize("language", ["", "java", "patch", "nonsense", "<script>"])
def test_another_language_is_text(language: str) -> None:
    assert markdown.code("if (a < b)", language) == "if (a &lt; b)"


def test_code_that_would_take_long_is_text() -> None:
    assert "k-" not in markdown.code("a = 1\n" * 1_001, "python")
    assert "k-" not in markdown.code("a = " + "1" * 300, "python")


@pytest.mark.parametrize("piece", ["[", "![", "*a ", "`a", "|a", "> ", "- ", "<a ", "&a", "[a](", "\\", "a\n"])
def test_no_text_takes_long(piece: str) -> None:
    before = time.process_time()
    markdown.render(piece * (1_000_000 // len(piece)))
    markdown.render(piece * (20_000 // len(piece)))
    assert time.process_time() - before < 5


def test_what_is_too_long_for_markdown_is_text() -> None:
    shown = markdown.render("**a** <b>\u202e" * 10_000)
    assert shown.startswith('<pre tabindex="0">**a** &lt;b&gt;**a**')


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("[a](https://x.example)", '<a href="https://x.example" rel="noreferrer noopener" target="_blank">a</a>'),
        ("[a](http://x.example)", 'href="http://x.example"'),
        ("[a](mailto:a@x.example)", 'href="mailto:a@x.example"'),
        ("[a](javascript:1)", "[a](javascript:1)"),
        ("[a](/forget)", "[a](/forget)"),
        ("[a](//x.example)", "[a](//x.example)"),
        ("![a](https://x.example/y.png)", "!<a"),
        ("<b>a</b>", "&lt;b&gt;a&lt;/b&gt;"),
        ("a\nb", "<p>a\nb</p>"),
        ("- a\n- ~~b~~", "<s>b</s>"),
    ],
)
def test_markdown_is_harmless_html(text: str, shown: str) -> None:
    assert shown in markdown.render(text)


def test_the_block_of_a_line_is_marked() -> None:
    text = "one\n\n- two\n- three\n\n```\nfour\n```"
    for line, marked in ((10, '<p id="here">one'), (13, 'id="here">three'), (16, '<pre id="here"')):
        shown = markdown.render(text, first=10, here=line)
        assert marked in shown
        assert shown.count('id="here"') == 1
    assert "here" not in markdown.render(text, first=10, here=9)
