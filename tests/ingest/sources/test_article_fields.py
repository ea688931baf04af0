"""Fields of a file's own: front matter, lines at the top, JSON-LD."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ingest.sources.articles import fields as article_page
from ingest.sources.articles import parser as reader


@pytest.mark.parametrize(
    ("text", "body"),
    [
        ("Remember: buy milk\nTodo: call Bo\n\nrest", "Remember: buy milk\nTodo: call Bo\n\nrest"),
        ("Ann: hello\nBo: hi\n\nmore", "Ann: hello\nBo: hi\n\nmore"),
        ("Title: X\nthis is prose\n\nx", "Title: X\nthis is prose\n\nx"),
        ("Title: X\nDate: next Tuesday\nSummary: Short\n\nrest", "Date: next Tuesday\nSummary: Short\n\nrest"),
        ("Title: X\nSource: a letter\nDate: 2024-03-05\n\nrest", "Source: a letter\n\nrest"),
    ],
)
def test_no_line_at_the_top_is_lost_that_is_no_field_of_the_document(text: str, body: str) -> None:
    assert reader.read(text.encode(), "x.md").body == body


_BOTH = "Ann Lee, Bo Ray"
_LD: dict[str, Any] = {
    "@context": "https://schema.org",
    "@type": "Article",
    "headline": "Walruses &amp; ice",
    "datePublished": "2025-03-04T08:00:00+01:00",
    "author": {"@type": "Person", "name": "Ann Lee"},
}
_SAID = {"title": "Walruses & ice", "author": "Ann Lee", "date": "2025-03-04T08:00:00+01:00"}


def _page(said: Any, head: str = "") -> bytes:
    block = said if isinstance(said, str) else json.dumps(said)
    return (
        f'<html><head><title>Site</title>{head}<script type="application/ld+json">{block}</script></head>'
        f"<body><article><h1>Body</h1><p>{'Some long words here. ' * 30}</p></article></body></html>"
    ).encode()


@pytest.mark.parametrize(
    ("said", "fields"),
    [
        (_LD, _SAID),
        ([_LD], _SAID),
        ({**_LD, "@type": ["Thing", "TechArticle"]}, _SAID),
        ({"@graph": [{"@type": "WebSite", "name": "S"}, _LD, {"@type": "Person", "@id": "#b", "name": "Bo"}]}, _SAID),
        ({"@graph": [{**_LD, "author": {"@id": "#a"}}, {"@type": "Person", "@id": "#a", "name": "Ann Lee"}]}, _SAID),
        ({**_LD, "author": "Ann Lee"}, _SAID),
        (
            {**_LD, "author": [{"name": "Ann Lee"}, "Bo Ray", {"@type": "Organization", "name": "Sea"}]},
            {**_SAID, "author": "Ann Lee, Bo Ray, Sea"},
        ),
        ({**_LD, "author": {"givenName": "Ann", "familyName": "Lee", "url": "https://a.example"}}, _SAID),
        ({**_LD, "comment": [{"author": "Cy", "datePublished": "2026-01-01"}]}, _SAID),
        ({"@type": "WebPage", "mainEntity": _LD}, _SAID),
        ("//<![CDATA[\n" + json.dumps(_LD) + "\n//]]>", _SAID),
        (json.dumps(_LD).replace("ice", "i\nce"), {**_SAID, "title": "Walruses & i ce"}),
        (
            {**_LD, "inLanguage": {"@type": "Language", "alternateName": "de"}, "mainEntityOfPage": "https://e.org/w"},
            {**_SAID, "language": "de", "url": "https://e.org/w"},
        ),
        ({"@type": "WebSite", "name": "S", "author": "Owner"}, {"title": "Body"}),
        ({"@type": "Article", "headline": 5, "author": [[{"name": {}}]], "datePublished": "soon"}, {"title": "Body"}),
    ],
)
def test_json_ld_of_a_page_gives_its_fields(said: Any, fields: dict[str, str]) -> None:
    assert reader.read(_page(said), "x.html").fields == fields


@pytest.mark.parametrize(
    ("head", "author"),
    [
        ('<meta name="citation_author" content="Lee, Ann"><meta name="citation_author" content="Ray, Bo">', _BOTH),
        ('<meta name="DC.creator" content="Lee, Ann">', "Ann Lee"),
        ('<meta property="article:author" content="Madonna">', "Madonna"),
        ('<meta property="article:author" content="https://social.example/ann">', None),
    ],
)
def test_the_author_of_a_page_is_whom_its_meta_names(head: str, author: str | None) -> None:
    assert reader.read(_page({}, head), "x.html").fields.get("author") == author


def test_hostile_json_ld_takes_time_in_proportion_to_its_length() -> None:
    tag = '<script type="application/ld+json">'
    for text in (
        tag * 20_000,
        f"{tag}{' ' * 900_000}</script>",
        f"{tag}{'[' * 400_000}</script>",
        f"{tag}{'</' * 400_000}",
        f"{tag}[{'[],' * 300_000}[]]</script>",
    ):
        assert article_page.of_page(f"<html>{text}<p>x") == {}


@pytest.mark.parametrize("value", ["1" * 5000, "0x" + "1" * 5000])
def test_a_number_of_thousands_of_digits_is_no_field_and_stops_nothing(value: str) -> None:
    assert "title" not in reader.read(f"+++\ntitle = {value}\n+++\nx".encode(), "x.md").fields
    assert "title" not in reader.read(f"---\ntitle: {value}\n---\nx".encode(), "x.md").fields
