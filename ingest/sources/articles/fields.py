"""What a text file says of itself at its top: YAML between ``---``, TOML between ``+++``, or plain lines.

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


def split(text: str) -> tuple[dict[str, Any], str]:
    """(what stands at the top of a markdown text, the rest); ({}, text) where nothing does."""
    found = _TOML.match(text)
    if found is None:
        from core import document

        return document.split(text)
    import tomllib

    try:
        return tomllib.loads(found[1]), text[found.end() :].lstrip("\n")
    except (ValueError, RecursionError):  # a number of thousands of digits is no TOMLDecodeError
        return {}, text


def headers(text: str, ending: str) -> tuple[dict[str, Any], str]:
    """(what plain lines at the top of a text say, the text without those): nothing is lost that names no known field.

    ``ending`` is that of the file's name: ``org`` and ``rst`` have forms of their own; else ``Name: value``, which has
    to begin with a title, or to have a date and an author, so that a note that begins ``Remember: …`` is left alone.
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
        return {}, text  # nothing but such lines is no head
    first = _PLAIN.match(lines[0])
    if first is None or (first["name"].lower() != "title" and not {"date", "author"} <= set(meta)):
        return {}, text
    # A line whose field is not understood, or is none, stays where it is.
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
    at += bool(_OVER.match(lines[at]))  # a line above the title, too
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
    """Lists and days that stand in a line as the lists and days that they are."""
    if "date" in meta:
        # Org's `<2024-03-05 Tue>`, and what reStructuredText takes out of a version's control.
        day = re.search(r"\d{4}[-/]\d\d[-/]\d\d(?:[T ]\d\d:\d\d(?::\d\d)?(?:Z|[+-]\d\d:?\d\d)?)?", str(meta["date"]))
        if day:
            meta["date"] = day[0].replace("/", "-")
    if ";" in str(meta.get("author", "")):
        meta["author"] = [name.strip() for name in meta["author"].split(";")]
    return meta


def known(meta: dict[str, Any]) -> dict[str, Any]:
    """Of these the fields of an article: title, author, date, url, language and tags, where they are there."""
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
    """A value that is one, as text; a link of Obsidian's as what it shows."""
    if isinstance(value, bool) or not isinstance(value, str | int | float | datetime.date | datetime.time):
        return ""
    try:
        text = value.isoformat() if isinstance(value, datetime.date | datetime.time) else str(value)
    except ValueError:  # Python writes no number of more than some thousand digits
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
    """A day or an instant that can be read as one, in ISO 8601 where it was written in words; "" for what is none."""
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
