"""What a markdown file says of itself at its top: YAML between ``---`` or TOML between ``+++``, as tools write it.

Obsidian's Web Clipper has ``source``, ``published`` and authors as links (https://obsidian.md/clipper), Hugo and Zola
TOML (https://gohugo.io/content-management/front-matter), Quarto and Jupyter Book mappings with a ``name``.
"""

from __future__ import annotations

import datetime
import re
from typing import Any

_TOML = re.compile(r"\ufeff?\+\+\+[ \t]*\n(.{0,65536}?)^\+\+\+[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)
_LINK = re.compile(r"\[\[(?:[^\[\]|]*\|)?([^\[\]|]*)\]\]")
# In the order in which they are believed; what a clipper calls `created` is when it was kept.
_DATES = ("date", "published", "publishDate", "pubDate", "publish_date", "published_at", "issued", "created")
_ADDRESSES = ("url", "source", "link", "canonical_url", "canonicalURL")
_WRITTEN = ("%d %B %Y", "%d %b %Y", "%B %d, %Y", "%b %d, %Y", "%B %d %Y", "%Y/%m/%d", "%d.%m.%Y")
_MOST = 64


def split(text: str) -> tuple[dict[str, Any], str]:
    """(what stands at the top of a markdown text, the rest); ({}, text) where nothing does."""
    found = _TOML.match(text)
    if found is None:
        from core import document

        return document.split(text)
    import tomllib

    try:
        return tomllib.loads(found[1]), text[found.end() :].lstrip("\n")
    except (tomllib.TOMLDecodeError, RecursionError):
        return {}, text


def known(meta: dict[str, Any]) -> dict[str, Any]:
    """Of these the fields of an article: title, author, date, url, language and tags, where they are there."""
    people = [name for key in ("author", "authors") for name in _names(meta.get(key))]
    fields = {
        "title": _text(meta.get("title")),
        "author": ", ".join(dict.fromkeys(people)),
        "date": next(filter(None, (_date(meta.get(name)) for name in _DATES)), ""),
        "url": next(filter(_is_address, (_text(meta.get(name)) for name in _ADDRESSES)), ""),
        "language": _text(meta.get("language")) or _text(meta.get("lang")),
        "tags": _tags(meta),
    }
    return {name: value for name, value in fields.items() if value}


def _text(value: Any) -> str:
    """A value that is one, as text; a link of Obsidian's as what it shows."""
    if isinstance(value, bool) or not isinstance(value, str | int | float | datetime.date | datetime.time):
        return ""
    text = value.isoformat() if isinstance(value, datetime.date | datetime.time) else str(value)
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


def _date(value: Any) -> str:
    from core import clock

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
