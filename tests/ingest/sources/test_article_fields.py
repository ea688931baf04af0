"""Fields of a file's own: front matter, lines at the top, JSON-LD."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ingest.sources.articles import fields as article_page
from ingest.sources.articles import parser as reader
from tests.cases import cases


@pytest.mark.parametrize(("text", "body"), cases(__file__, "test_a_line_at_the_top_without_a_field_stays"))
def test_a_line_at_the_top_without_a_field_stays(text: str, body: str) -> None:
    assert reader.read(text.encode(), "x.md").body == body


def _page(said: Any, head: str = "") -> bytes:
    block = said if isinstance(said, str) else json.dumps(said)
    return (
        f'<html><head><title>Site</title>{head}<script type="application/ld+json">{block}</script></head>'
        f"<body><article><h1>Body</h1><p>{'Some long words here. ' * 30}</p></article></body></html>"
    ).encode()


@pytest.mark.parametrize(("said", "fields"), cases(__file__, "test_json_ld_of_a_page_gives_its_fields"))
def test_json_ld_of_a_page_gives_its_fields(said: Any, fields: dict[str, str]) -> None:
    assert reader.read(_page(said), "x.html").fields == fields


@pytest.mark.parametrize(("head", "author"), cases(__file__, "test_the_author_of_a_page_is_whom_its_meta_names"))
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
