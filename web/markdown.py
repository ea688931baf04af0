"""Markdown and code of documents as HTML in which nothing of a document runs, loads or opens by itself.

Raw HTML is text, images are their descriptions, links lead to the web or to a mail program only and send no referrer.
Hidden characters are removed first, so that no text is ordered otherwise than it is written.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from markdown_it import MarkdownIt
from markupsafe import Markup, escape
from pygments import highlight
from pygments.formatters.html import HtmlFormatter
from pygments.lexers import get_lexer_by_name

from core.text import printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from markdown_it.renderer import RendererProtocol
    from markdown_it.token import Token
    from markdown_it.utils import OptionsDict

_SCHEMES = ("https://", "http://", "mailto:")
# The languages that are coloured. The text may be anybody's, and some lexers take a time that grows with the square of
# a line, Java's with that of a text: so only these languages, short texts and short lines, at most 0.2 s each.
_LANGUAGES = frozenset(
    """
    bash c cpp css diff dockerfile go html ini javascript js json jsx kotlin make makefile php py python rs ruby rust
    scss sh shell sql swift toml ts tsx typescript xml yaml yml zsh
    """.split()
)
_MOST_COLOURED = 6_000
_LONGEST_COLOURED = 300
# A longer text without a blank line is no prose, and would take seconds as markdown.
_MOST_MARKDOWN = 60_000
_FORMATTER = HtmlFormatter(nowrap=True, classprefix="k-")


def render(text: str, *, first: int = 1, here: int = 0, breaks: bool = False) -> Markup:
    """Return markdown as HTML.

    Args:
        text: the markdown, of which the first line is the document's line ``first``.
        here: the line of the document that a link leads to; its block gets the id ``here``. 0 for none.
        breaks: keep the line ends of paragraphs, as people type them.
    """
    if len(text) > _MOST_MARKDOWN:
        return Markup('<pre tabindex="0">{}</pre>').format(printable(text))
    # Safe: the parser escapes text, and the rules below write every other piece of HTML.
    return Markup(_parser(breaks).render(printable(text), {"first": first, "here": here}))  # noqa: S704


def code(text: str, language: str = "") -> Markup:
    """Return code as HTML within ``<code>``, coloured if the language is known."""
    text = printable(text)
    language = language.lower()
    if language in _LANGUAGES and len(text) <= _MOST_COLOURED and max(map(len, text.split("\n"))) <= _LONGEST_COLOURED:
        return Markup(highlight(text, get_lexer_by_name(language), _FORMATTER))  # noqa: S704  # pygments escapes it
    return escape(text)


@cache
def _parser(breaks: bool) -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False, "breaks": breaks}).enable(["table", "strikethrough"])
    parser.disable(["image", "html_block", "html_inline"])
    parser.validateLink = _is_harmless  # type: ignore[method-assign,assignment]
    parser.core.ruler.push("here", _mark)
    parser.add_render_rule("link_open", _link)
    parser.add_render_rule("fence", _fence)
    parser.add_render_rule("code_block", _fence)
    return parser


def _is_harmless(address: str) -> bool:
    return address.strip().lower().startswith(_SCHEMES)


def _mark(state: Any) -> None:
    """Give the smallest block that has the wanted line the id ``here``."""
    wanted = state.env["here"] - state.env["first"]
    if wanted < 0:
        return
    blocks = [token for token in state.tokens if token.map and token.nesting >= 0 and token.type != "inline"]
    within = [token for token in blocks if token.map[0] <= wanted < token.map[1]]
    if within:
        token = min(reversed(within), key=lambda each: each.map[1] - each.map[0])
        token.attrSet("id", "here")
        token.hidden = False


def _link(
    renderer: RendererProtocol, tokens: Sequence[Token], index: int, options: OptionsDict, env: dict[str, Any]
) -> str:
    token = tokens[index]
    token.attrSet("rel", "noreferrer noopener")
    token.attrSet("target", "_blank")
    return renderer.renderToken(tokens, index, options, env)  # type: ignore[attr-defined,no-any-return]


def _fence(
    _renderer: RendererProtocol, tokens: Sequence[Token], index: int, _options: OptionsDict, _env: dict[str, Any]
) -> str:
    token = tokens[index]
    words = token.info.split()
    here = ' id="here"' if token.attrGet("id") else ""
    return f'<pre{here} tabindex="0"><code>{code(token.content, words[0] if words else "")}</code></pre>\n'
