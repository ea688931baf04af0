"""The fields that a text or a page has of itself: title, author, date, address, language and tags.

A text has YAML between ``---``, TOML between ``+++``, or plain lines at its top. Obsidian's Web Clipper has ``source``,
``published`` and authors as links (https://obsidian.md/clipper), Hugo and Zola TOML
(https://gohugo.io/content-management/front-matter), Quarto and Jupyter Book mappings with a ``name``.

A page has schema.org in JSON-LD and the authors of its ``<meta>``. JSON-LD as search engines read it: an object, a list
or an ``@graph``, in which parts refer to each other by ``@id``
(https://developers.google.com/search/docs/appearance/structured-data/article, https://www.w3.org/TR/json-ld11/).
trafilatura reads it too, but takes every person of a graph for an author, follows no ``@id``, and splits a name at its
comma.
"""

from __future__ import annotations

import datetime
import html
import json
import re
from collections import deque
from typing import Any

from core import clock, document

_TOML = re.compile(r"\ufeff?\+\+\+[ \t]*\n(.{0,65536}?)^\+\+\+[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)
_LINK = re.compile(r"\[\[(?:[^\[\]|]*\|)?([^\[\]|]*)\]\]")
# The first one that is there counts. A clipper's `created` is the time of clipping.
_DATES = ("date", "published", "publishDate", "pubDate", "publish_date", "published_at", "issued", "created")
_ADDRESSES = ("url", "source", "link", "canonical_url", "canonicalURL")
_WRITTEN = ("%d %B %Y", "%d %b %Y", "%B %d, %Y", "%b %d, %Y", "%B %d %Y", "%Y/%m/%d", "%d.%m.%Y")
_MOST = 64
# Names of lines at the top, as Pelican (https://docs.getpelican.com/en/latest/content.html), MultiMarkdown
# (https://fletcher.github.io/MultiMarkdown-6/syntax/metadata.html), Org
# (https://orgmode.org/manual/Export-Settings.html) and reStructuredText
# (https://docutils.sourceforge.io/docs/ref/rst/restructuredtext.html#bibliographic-fields) have them.
_LINE_MOST, _HEAD_MOST = 2000, 16_384
_PLAIN = re.compile(r"(?P<name>[A-Za-z][A-Za-z _-]{0,30}):(?:[ \t]+(?P<value>\S.*)|[ \t]*)\Z")
_ORG = re.compile(r"#\+(?P<name>[A-Za-z_]{1,30}):[ \t]*(?P<value>\S.*)?\Z")
_FIELD = re.compile(r":(?P<name>[A-Za-z]{1,30}):[ \t]+(?P<value>\S.*)\Z")
_OVER = re.compile(r"([=~^\"'`*+#<>_-])\1{2,}[ \t]*\Z")
_NAMES = {
    "title": "title",
    "author": "author",
    "authors": "author",
    "date": "date",
    "published": "date",
    "url": "url",
    "source": "source",
    "link": "link",
    "lang": "lang",
    "language": "language",
    "tags": "tags",
    "keywords": "tags",
    "filetags": "tags",
}
_KEPT_AS = {"source": "url", "link": "url", "lang": "language"}

# The first kind that is there counts.
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
# The keys that lead to the subject of a page.
_INNER = ("@graph", "mainEntity", "mainEntityOfPage")
_PAGE_DATES = ("datePublished", "dateCreated", "uploadDate")
_BLOCKS, _BLOCK_MOST, _NODES, _MOST_PEOPLE = 30, 1_000_000, 2000, 64
_NAME_MOST = 300
# Marks that hide a script from old browsers.
_HEADS = ("<!--", "//<![CDATA[", "// <![CDATA[", "/*<![CDATA[*/", "/* <![CDATA[ */", "<![CDATA[")
_TAILS = ("-->", "//]]>", "// ]]>", "/*]]>*/", "/* ]]> */", "]]>")


def split(text: str) -> tuple[dict[str, Any], str]:
    """Return (the fields at the top of a markdown text, the rest); ({}, text) if it has none."""
    found = _TOML.match(text)
    if found is None:
        return document.split(text)
    import tomllib

    try:
        return tomllib.loads(found[1]), text[found.end() :].lstrip("\n")
    except (ValueError, RecursionError):  # a number of thousands of digits is no TOMLDecodeError
        return {}, text


def headers(text: str, ending: str) -> tuple[dict[str, Any], str]:
    """Return (the fields in plain lines at the top of a text, the text without these lines).

    ``ending`` is that of the file's name: ``org`` and ``rst`` have forms of their own. Other lines are ``Name: value``,
    and must begin with a title or have a date and an author: a note may begin with ``Remember: …``. Lines without a
    known field stay.
    """
    top = text[:_HEAD_MOST].lstrip("\ufeff")
    if ending == "org":
        return _org(top), text
    if ending == "rst":
        return _rst(top), text
    lines = top.split("\n")
    meta: dict[str, Any] = {}
    named: list[tuple[str, str]] = []
    last = ""
    for at, line in enumerate(lines):
        if not line.strip():
            break
        found = _PLAIN.match(line) if len(line) <= _LINE_MOST else None
        if found is None and (not at or not line[:1].isspace()):
            return {}, text
        if found is not None:
            last = _NAMES.get(found["name"].strip().lower(), "")
            last = "" if last in meta else last
        value = line.strip() if found is None else (found["value"] or "").strip()
        if last:
            meta[last] = f"{meta[last]} {value}" if last in meta else value
        named.append((last, line))
    else:
        return {}, text  # a text of such lines alone has no head
    first = _PLAIN.match(lines[0])
    if first is None or (first["name"].lower() != "title" and not {"date", "author"} <= set(meta)):
        return {}, text
    # A line with an unknown field or an unreadable value stays.
    understood = known(_parted(meta))
    head = "\n".join(line for name, line in named if _KEPT_AS.get(name, name) not in understood)
    rest = text[len(text) - len(text.lstrip("\ufeff")) + sum(len(line) + 1 for line in lines[:at]) :].lstrip("\n")
    return meta, f"{head}\n\n{rest}" if head else rest


def _org(top: str) -> dict[str, Any]:
    meta: dict[str, Any] = {}
    for line in top.split("\n"):
        found = _ORG.match(line.strip()) if len(line) <= _LINE_MOST else None
        if found is None:
            if line.strip() and not line.startswith(("#", ":")):  # comments, a drawer of properties
                break
            continue
        name = _NAMES.get(found["name"].lower(), "")
        value = (found["value"] or "").strip()
        if name == "tags":
            value = ",".join(value.strip(":").split(":"))
        if name and value:
            meta[name] = f"{meta[name]}{',' if name == 'tags' else ' '}{value}" if name in meta else value
    return _parted(meta)


def _rst(top: str) -> dict[str, Any]:
    lines = top.split("\n")
    meta: dict[str, Any] = {}
    at = next((number for number, line in enumerate(lines) if line.strip()), 0)
    at += bool(_OVER.match(lines[at]))  # the title may have a line above it as well
    if at + 1 < len(lines) and _OVER.match(lines[at + 1]) and len(lines[at + 1].strip()) >= len(lines[at].strip()):
        meta["title"] = lines[at].strip()
        at += 2
    for line in lines[at:]:
        found = _FIELD.match(line) if len(line) <= _LINE_MOST else None
        if found is None:
            if line.strip():
                break
            continue
        name = _NAMES.get(found["name"].lower(), "")
        if name and name not in meta:
            meta[name] = found["value"].strip().strip("$").strip()
    return _parted(meta)


def _parted(meta: dict[str, Any]) -> dict[str, Any]:
    """Return fields from lines with their lists and days parsed."""
    if "date" in meta:
        # Org's `<2024-03-05 Tue>`, and the dates that version control writes into reStructuredText.
        day = re.search(r"\d{4}[-/]\d\d[-/]\d\d(?:[T ]\d\d:\d\d(?::\d\d)?(?:Z|[+-]\d\d:?\d\d)?)?", str(meta["date"]))
        if day:
            meta["date"] = day[0].replace("/", "-")
    if ";" in str(meta.get("author", "")):
        meta["author"] = [name.strip() for name in meta["author"].split(";")]
    return meta


def known(meta: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of an article among these: title, author, date, url, language and tags."""
    people = [name for key in ("author", "authors") for name in _names(meta.get(key))]
    fields = {
        "title": _text(meta.get("title")),
        "author": ", ".join(dict.fromkeys(people)),
        "date": next(filter(None, (date_of(meta.get(name)) for name in _DATES)), ""),
        "url": next(filter(_is_address, (_text(meta.get(name)) for name in _ADDRESSES)), ""),
        "language": _text(meta.get("language")) or _text(meta.get("lang")),
        "tags": _tags(meta),
    }
    return {name: value for name, value in fields.items() if value}


def _text(value: Any) -> str:
    """Return a scalar as text; a link of Obsidian's as its label."""
    if isinstance(value, bool) or not isinstance(value, str | int | float | datetime.date | datetime.time):
        return ""
    try:
        text = value.isoformat() if isinstance(value, datetime.date | datetime.time) else str(value)
    except ValueError:  # Python converts no number of more than some thousand digits
        return ""
    return _LINK.sub(r"\1", text).strip()


def _names(value: Any) -> list[str]:
    if isinstance(value, list):
        return [name for each in value[:_MOST] if not isinstance(each, list) for name in _names(each)]
    if isinstance(value, dict):
        name = value.get("name", value.get("literal"))
        parts = name if isinstance(name, dict) else value
        said = _text(name) or " ".join(filter(None, (_text(parts.get("given")), _text(parts.get("family")))))
        return [said] if said else []
    said = _text(value)
    return [said] if said else []


def date_of(value: Any) -> str:
    """Return a readable day or instant, in ISO 8601 if it was written in words; "" for any other value."""
    text = _text(value)
    if not text or clock.parse_iso(text[:40]) is not None:
        return text
    for form in _WRITTEN:
        try:
            return datetime.datetime.strptime(text, form).replace(tzinfo=datetime.UTC).date().isoformat()
        except ValueError:
            continue
    return ""


def _is_address(text: str) -> bool:
    return text.startswith(("http://", "https://"))


def _tags(meta: dict[str, Any]) -> list[str]:
    tables = [meta.get("taxonomies"), meta]
    tags: Any = next((table["tags"] for table in tables if isinstance(table, dict) and table.get("tags")), [])
    if isinstance(tags, str):
        tags = tags.split(",")
    return [text for tag in tags[:_MOST] if (text := _text(tag))] if isinstance(tags, list) else []


def of_page(text: str) -> dict[str, str]:
    """Return title, author, date, url and language from a page's JSON-LD, if they are there."""
    nodes = _nodes(_blocks(text))
    named = {node["@id"]: node for node in nodes if isinstance(node.get("@id"), str) and len(node) > 1}
    for kinds in _KINDS:
        for node in nodes:
            if not kinds.isdisjoint(_strings(node.get("@type"))):
                return _page_fields(node, named)
    return {}


def authors(tags: list[tuple[str, str]]) -> str:
    """Return the authors of a page from its ``<meta>`` tags, given as (name in small letters, content); "" for none."""
    for names in (("citation_author",), ("dc.creator", "dcterms.creator"), ("author", "article:author")):
        found = [_turned(content) if names[0] != "author" else content for name, content in tags if name in names]
        people = [each for each in found if each and "://" not in each]
        if people:
            return ", ".join(dict.fromkeys(people[:_MOST_PEOPLE]))
    return ""


def _turned(name: str) -> str:
    """Return ``Mira Quill`` for ``Quill, Mira``; a name with no comma or several is unchanged."""
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
        # A string may contain `</`; only `</script` ends a script.
        while end >= 0 and text[end : end + 8].lower() != "</script":
            end = text.find("</", end + 2)
        if end < 0:
            break
        if end - start > _BLOCK_MOST:
            continue
        try:
            # Line ends within strings are common, though not valid JSON.
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
    """Return the objects that describe the page, outer ones first, without comments, reviews and other pages."""
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


def _page_fields(node: dict[str, Any], named: dict[str, dict[str, Any]]) -> dict[str, str]:
    people = [name for key in ("author", "creator") for name in _people(node.get(key), named, 0)]
    page = node.get("mainEntityOfPage")
    places = (node.get("url"), page, page.get("@id") if isinstance(page, dict) else None)
    language = node.get("inLanguage")
    if isinstance(language, dict):
        language = language.get("alternateName") or language.get("name")
    fields = {
        "title": next(filter(None, (_plain(node.get(key)) for key in ("headline", "name"))), ""),
        "author": ", ".join(dict.fromkeys(people[:_MOST_PEOPLE])),
        "date": next(filter(None, (date_of(_plain(node.get(key))) for key in _PAGE_DATES)), ""),
        "url": next((place for place in map(_text, places) if re.match(r"https?://[^#]+\Z", place)), ""),
        "language": _plain(language),
    }
    return {name: value for name, value in fields.items() if value}


def _people(value: Any, named: dict[str, dict[str, Any]], depth: int) -> list[str]:
    if isinstance(value, list) and depth < 4:
        return [name for each in value[:_MOST_PEOPLE] for name in _people(each, named, depth + 1)]
    if isinstance(value, dict):
        if set(value) <= {"@id", "@type"}:
            value = named.get(str(value.get("@id")), {})
        parts = " ".join(filter(None, (_plain(value.get("givenName")), _plain(value.get("familyName")))))
        return [name for name in _strings(value.get("name")) or [parts] if name]
    return [name for name in _strings(value) if "://" not in name]


def _strings(value: Any) -> list[str]:
    return [text for each in (value if isinstance(value, list) else [value])[:_MOST_PEOPLE] if (text := _plain(each))]


def _plain(value: Any) -> str:
    """Return a string without tags, entities and extra space; "" for any other value or a text too long for a name."""
    if not isinstance(value, str) or len(value) > 10 * _NAME_MOST:
        return ""
    text = " ".join(re.sub(r"<[^<>]*>", "", html.unescape(value)).split())
    return text if len(text) <= _NAME_MOST else ""
