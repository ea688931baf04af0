"""What a page says of itself for machines: schema.org in JSON-LD, and the authors of its ``<meta>``.

JSON-LD as search engines have it: an object, a list, an ``@graph`` whose parts name each other by ``@id``
(https://developers.google.com/search/docs/appearance/structured-data/article, https://www.w3.org/TR/json-ld11/).
trafilatura reads it too, but takes every person of a graph for an author, follows no ``@id``, and splits a name at
its comma.
"""

from __future__ import annotations

import html
import json
import re
from collections import deque
from typing import Any

from ingest.sources.articles.fields import date_of

# In the order in which they are believed.
_KINDS = (
    frozenset(
        """
        Article AdvertiserContentArticle AnalysisNewsArticle AskPublicNewsArticle BackgroundNewsArticle BlogPosting
        DiscussionForumPosting LiveBlogPosting MedicalScholarlyArticle NewsArticle OpinionNewsArticle Report
        ReportageNewsArticle ReviewNewsArticle SatiricalArticle ScholarlyArticle SocialMediaPosting TechArticle
        """.split()
    ),
    frozenset(
        """
        Book Chapter Course CreativeWork Dataset HowTo LearningResource PodcastEpisode Recipe Review Thesis
        SoftwareSourceCode VideoObject
        """.split()
    ),
)
# Where what a page is about stands within what else is said of it.
_INNER = ("@graph", "mainEntity", "mainEntityOfPage")
_DATES = ("datePublished", "dateCreated", "uploadDate")
_BLOCKS, _BLOCK_MOST, _NODES, _PEOPLE = 30, 1_000_000, 2000, 64
_NAME_MOST = 300
# What hides a script from old readers.
_HEADS = ("<!--", "//<![CDATA[", "// <![CDATA[", "/*<![CDATA[*/", "/* <![CDATA[ */", "<![CDATA[")
_TAILS = ("-->", "//]]>", "// ]]>", "/*]]>*/", "/* ]]> */", "]]>")


def known(text: str) -> dict[str, str]:
    """title, author, date, url and language as a page's JSON-LD has them, where they are there."""
    nodes = _nodes(_blocks(text))
    named = {node["@id"]: node for node in nodes if isinstance(node.get("@id"), str) and len(node) > 1}
    for kinds in _KINDS:
        for node in nodes:
            if not kinds.isdisjoint(_strings(node.get("@type"))):
                return _fields(node, named)
    return {}


def authors(tags: list[tuple[str, str]]) -> str:
    """Who wrote a page by its ``<meta>``, each as (name in small letters, content); "" where they do not say."""
    for names in (("citation_author",), ("dc.creator", "dcterms.creator"), ("author", "article:author")):
        found = [_turned(content) if names[0] != "author" else content for name, content in tags if name in names]
        people = [each for each in found if each and "://" not in each]
        if people:
            return ", ".join(dict.fromkeys(people[:_PEOPLE]))
    return ""


def _turned(name: str) -> str:
    """``Quill, Mira`` as ``Mira Quill``; a name with no comma or several as it is."""
    family, comma, given = name.partition(",")
    return f"{given.strip()} {family.strip()}" if comma and given.strip() and "," not in given else name


def _blocks(text: str) -> list[Any]:
    found: list[Any] = []
    end = 0
    for _ in range(_BLOCKS):
        at = text.find("application/ld+json", end)
        start = text.find(">", at) + 1 if at >= 0 else 0
        end = text.find("</", start) if start else -1
        if end < 0:
            break
        if "<script" not in text[max(0, at - 500) : at].lower() or start - at > 500:
            end = at + 1
            continue
        # A string may hold `</`; a script ends at its own end alone.
        while end >= 0 and text[end : end + 8].lower() != "</script":
            end = text.find("</", end + 2)
        if end < 0:
            break
        if end - start > _BLOCK_MOST:
            continue
        try:
            # Line ends within strings are common, and no JSON.
            found.append(json.loads(_bare(text[start:end]), strict=False))
        except (ValueError, RecursionError):
            continue
    return found


def _bare(block: str) -> str:
    block = block.strip()
    for head in _HEADS:
        block = block.removeprefix(head)
    for tail in _TAILS:
        block = block.removesuffix(tail)
    return block


def _nodes(blocks: list[Any]) -> list[dict[str, Any]]:
    """What the blocks speak of, from without to within; not what is said of comments, reviews and other pages."""
    found: list[dict[str, Any]] = []
    waiting = deque(blocks)
    for _ in range(_NODES):
        if not waiting:
            break
        value = waiting.popleft()
        if isinstance(value, list):
            waiting.extendleft(reversed(value[:_NODES]))
        elif isinstance(value, dict):
            found.append(value)
            waiting += [value[key] for key in _INNER if isinstance(value.get(key), dict | list)]
    return found


def _fields(node: dict[str, Any], named: dict[str, dict[str, Any]]) -> dict[str, str]:
    people = [name for key in ("author", "creator") for name in _people(node.get(key), named, 0)]
    page = node.get("mainEntityOfPage")
    places = (node.get("url"), page, page.get("@id") if isinstance(page, dict) else None)
    language = node.get("inLanguage")
    if isinstance(language, dict):
        language = language.get("alternateName") or language.get("name")
    fields = {
        "title": next(filter(None, (_text(node.get(key)) for key in ("headline", "name"))), ""),
        "author": ", ".join(dict.fromkeys(people[:_PEOPLE])),
        "date": next(filter(None, (date_of(_text(node.get(key))) for key in _DATES)), ""),
        "url": next((place for place in map(_text, places) if re.match(r"https?://[^#]+\Z", place)), ""),
        "language": _text(language),
    }
    return {name: value for name, value in fields.items() if value}


def _people(value: Any, named: dict[str, dict[str, Any]], depth: int) -> list[str]:
    if isinstance(value, list) and depth < 4:
        return [name for each in value[:_PEOPLE] for name in _people(each, named, depth + 1)]
    if isinstance(value, dict):
        if set(value) <= {"@id", "@type"}:
            value = named.get(str(value.get("@id")), {})
        parts = " ".join(filter(None, (_text(value.get("givenName")), _text(value.get("familyName")))))
        return [name for name in _strings(value.get("name")) or [parts] if name]
    return [name for name in _strings(value) if "://" not in name]


def _strings(value: Any) -> list[str]:
    return [text for each in (value if isinstance(value, list) else [value])[:_PEOPLE] if (text := _text(each))]


def _text(value: Any) -> str:
    """A string without tags, entities and needless space; "" for what is none, or is too long for a name."""
    if not isinstance(value, str) or len(value) > 10 * _NAME_MOST:
        return ""
    text = " ".join(re.sub(r"<[^<>]*>", "", html.unescape(value)).split())
    return text if len(text) <= _NAME_MOST else ""
