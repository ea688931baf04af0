"""One file of any kind → an article: title, author, date and markdown. Runs in a child process (``_article_worker``).

Each reader takes bytes and gives an ``Article``, or raises ``Unreadable`` with what is wrong and what to do. Nothing
is fetched from anywhere.
"""

from __future__ import annotations

import io
import re
from typing import Any

# Of text, so much is kept: as of sessions (docs/documents.md).
MAX_CHARACTERS = 4_194_304
# A packed file may become so much, of so many members, and one member so many times its packed size.
_MAX_UNPACKED = 256 * 1024 * 1024
_MAX_MEMBERS = 10_000
_MAX_RATIO = 300
_RATIO_FROM = 4 * 1024 * 1024

_OLD_WORD = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
# Of a page, where its fields stand.
_HEAD_CHARACTERS = 262_144
_METAS = 500
_TIMING = re.compile(r"\d\d:\d\d[:,.]\d\d.{0,8}-->")

# A heading, or fields between lines of their own.
_MARKED = re.compile(r"\ufeff?\s*(?:#{1,6}[ \t]+\S|(?:---|\+\+\+)[ \t]*\r?\n[^\n]*[:=])")


class Unreadable(Exception):
    """A file that makes no article: ``reason``, and in ``fix`` what to do about it."""

    def __init__(self, reason: str, fix: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self.fix = fix


class Article:
    """``fields`` are those of the frontmatter that the file itself has: title, author, date, url, language, …"""

    __slots__ = ("body", "fields", "kind")

    def __init__(self, kind: str, body: str, **fields: Any) -> None:
        self.kind = kind
        self.body = body
        self.fields = {name: value for name, value in fields.items() if value}


def read(data: bytes, name: str, url: str = "") -> Article:
    """The article that a file is, told by its first bytes and else by the ending of its name. Raises Unreadable."""
    kind = kind_of(data, name)
    if kind == "pdf":
        return _pdf(data)
    if kind in ("epub", "docx"):
        return _epub(data) if kind == "epub" else _docx(data)
    if kind == "word":
        raise Unreadable("an encrypted or an old Word file", "save it as .docx without a password, then add that")
    text = decode(data)
    if kind == "html":
        return _html(text, url)
    if kind in ("srt", "vtt"):
        return _captions(text, kind)
    return _markdown(text, kind, name.rpartition(".")[2].lower())


def kind_of(data: bytes, name: str) -> str:
    """pdf, epub, docx, word, html, srt, vtt, markdown or text. Raises Unreadable for what is none of these."""
    start = data[:4096].lstrip(b"\xef\xbb\xbf \t\r\n")
    if data[:1024].find(b"%PDF-") >= 0:
        return "pdf"
    if data.startswith(_OLD_WORD):
        return "word"
    if data.startswith(b"PK\x03\x04"):
        return _packed(data)
    ending = name.rpartition(".")[2].lower() if "." in name else ""
    if ending in ("pdf", "epub", "docx"):
        raise Unreadable(f"damaged: no {ending.upper()} file", "get the file again")
    if start.startswith(b"WEBVTT"):
        return "vtt"
    lowered = start[:512].lower()
    if lowered.startswith((b"<!doctype html", b"<html", b"<?xml")) or ending in ("html", "htm", "xhtml"):
        return "html"
    if ending == "srt" or (ending in ("", "txt") and _TIMING.search(start[:200].decode("utf-8", "replace"))):
        return "srt"
    if b"\0" in data[:65536] and not data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise Unreadable("not a kind of file that is known", "markdown, text, HTML, PDF, EPUB, DOCX, SRT or VTT")
    # What has no ending, such as what was piped in, is told by its first line.
    marked = not ending and _MARKED.match(data[:4096].decode("utf-8", "replace"))
    return "markdown" if marked or ending in ("md", "markdown", "mdx", "qmd") else "text"


def decode(data: bytes) -> str:
    """Text of whatever encoding: by its mark, else UTF-8, else Windows-1252."""
    for mark, encoding in ((b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16")):
        if data.startswith(mark):
            return data.decode(encoding, "replace")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data.decode("cp1252", "replace")


def _markdown(text: str, kind: str, ending: str) -> Article:
    from ingest.sources.articles import fields as article_fields

    meta, body = article_fields.split(text.replace("\r\n", "\n")) if kind == "markdown" else ({}, text)
    if (kind == "markdown" and not meta) or ending in ("org", "rst"):
        meta, body = article_fields.headers(body.replace("\r\n", "\n"), ending)
    kept = article_fields.known(meta)
    heading = re.search(r"(?m)^#{1,2}\s+(\S.*)$", body) or re.match(r"\s*#{3,6}[ \t]+(\S.*)", body)
    if heading and "title" not in kept and kind == "markdown":
        kept["title"] = heading[1].strip()
    return Article(kind, body, **kept)


def _html(text: str, url: str) -> Article:
    import trafilatura

    from ingest.sources.articles import page as article_page

    said = article_page.known(text)
    found = trafilatura.extract_metadata(text, default_url=url or None)
    body = trafilatura.extract(
        text,
        url=url or None,
        output_format="markdown",
        include_formatting=True,
        include_tables=True,
        include_links=False,
    )
    body = _unescaped(body or "")
    if not body:
        # Short pages are taken for no article: all of their text, then.
        body = plain(text)
    if not body.strip():
        raise Unreadable("no text in it", "is it a page that a script fills? save it from the browser as a whole")
    return Article(
        "html",
        body,
        title=said.get("title") or getattr(found, "title", None),
        author=said.get("author") or article_page.authors(_metas(text)) or getattr(found, "author", None),
        date=said.get("date") or getattr(found, "date", None),
        url=getattr(found, "url", None) or said.get("url"),
        language=getattr(found, "language", None) or said.get("language"),
    )


def _metas(text: str) -> list[tuple[str, str]]:
    """(name, content) of each ``<meta>``: trafilatura takes an author of one word for none, and splits at commas."""
    from html.parser import HTMLParser

    found: list[tuple[str, str]] = []

    class Head(HTMLParser):
        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            given = dict(attrs)
            name = (given.get("name") or given.get("property") or "").lower()
            if tag == "meta" and name and len(found) < _METAS:
                found.append((name, " ".join((given.get("content") or "").split())))

    # Each tag by itself: what a hostile page makes of the rest costs nothing.
    Head().feed("".join(re.findall(r"(?i)<meta\s[^<>]{1,2000}>", text[:_HEAD_CHARACTERS])))
    return found


def _unescaped(text: str) -> str:
    """``text`` without the backslashes that trafilatura puts before ``_ * ~ <`` outside code, and has no option for.

    It writes 2n + 1 for the n that were there (``trafilatura.xml._escape_inline_specials``).
    """
    parts = re.split(r"(```.*?```|`[^`\n]+`)", text, flags=re.DOTALL)
    parts[::2] = [
        re.sub(r"(\\+)([_*~<])", lambda run: run[1][: len(run[1]) // 2] + run[2], part) for part in parts[::2]
    ]
    return "".join(parts)


def plain(text: str) -> str:
    """All that a page or a chapter says, as markdown."""
    import markdownify

    text = re.sub(r"(?is)<(script|style|template|noscript|head)\b.*?(?:</\1\s*>|\Z)", "", text)
    # Nothing is escaped: what is searched, quoted and looked through for secrets is what the page says.
    made: str = markdownify.markdownify(
        text,
        heading_style="ATX",
        strip=["img", "a"],
        escape_underscores=False,
        escape_asterisks=False,
        escape_misc=False,
    )
    return re.sub(r"\n{3,}", "\n\n", made).strip()


def _pdf(data: bytes) -> Article:
    import pypdf
    from pypdf import errors

    try:
        reader = pypdf.PdfReader(io.BytesIO(data))
        if reader.is_encrypted and not reader.decrypt(""):
            raise Unreadable("encrypted", "qpdf --decrypt --password=… IN.pdf OUT.pdf, then add that")
        texts: list[str] = []
        size = 0
        for number, page in enumerate(reader.pages, 1):
            text = page.extract_text().strip()
            if text:
                texts.append(f"## Page {number}\n\n{text}")
                size += len(text)
            if size > MAX_CHARACTERS:
                break
        meta = reader.metadata
        created = meta.creation_date if meta is not None else None
        fields = {
            "title": meta.title if meta is not None else "",
            "author": meta.author if meta is not None else "",
            "date": created.isoformat() if created is not None else "",
            "pages": len(reader.pages),
        }
    except errors.DependencyError:
        raise Unreadable("encrypted", "qpdf --decrypt --password=… IN.pdf OUT.pdf, then add that") from None
    except Unreadable:
        raise
    except Exception as error:  # noqa: BLE001  # what a damaged file makes the library stumble over has no end
        raise Unreadable(f"damaged: {_said(error)}", "qpdf IN.pdf OUT.pdf may mend it; or get the file again") from None
    if not texts:
        raise Unreadable("no text in it: pages are pictures", "ocrmypdf IN.pdf OUT.pdf, then add that")
    return Article("pdf", "\n\n".join(texts), **fields)


def _epub(data: bytes) -> Article:
    from posixpath import dirname, join, normpath
    from urllib.parse import unquote

    members = _Members(data)
    container = members.tree("META-INF/container.xml")
    root = next((node.get("full-path") for node in container.iter() if _tag(node) == "rootfile"), None)
    if not root:
        raise Unreadable("damaged: names no book", "get the file again")
    package = members.tree(root)
    fields: dict[str, str] = {}
    items: dict[str, str] = {}
    spine: list[str] = []
    for node in package.iter():
        tag = _tag(node)
        if tag in ("title", "creator", "date", "language", "source") and (node.text or "").strip():
            name = {"creator": "author", "source": "url"}.get(tag, tag)
            text = node.text.strip()
            fields[name] = f"{fields[name]}, {text}" if name == "author" and name in fields else fields.get(name, text)
        elif tag == "item" and node.get("id") and node.get("href"):
            items[node.get("id")] = normpath(join(dirname(root), unquote(node.get("href"))))
        elif tag == "itemref" and node.get("idref"):
            spine.append(node.get("idref"))
    chapters = [items[one] for one in dict.fromkeys(spine) if one in items]
    if "META-INF/encryption.xml" in members.names:
        locked = {unquote(node.get("URI") or "") for node in members.tree("META-INF/encryption.xml").iter()}
        if locked.intersection(chapters):
            raise Unreadable("encrypted", "add a copy without copy protection")
    body = "\n\n".join(filter(None, (plain(decode(members.read(name))) for name in chapters if name in members.names)))
    if not body:
        raise Unreadable("no text in it", "get the file again")
    if not fields.get("url", "").startswith(("http://", "https://")):
        fields.pop("url", None)
    return Article("epub", body, **fields)


def _docx(data: bytes) -> Article:
    import mammoth

    members = _Members(data)
    # No Word file declares entities; a bomb does.
    if b"<!DOCTYPE" in members.read("word/document.xml")[:65536]:
        raise Unreadable("damaged: declares entities", "get the file again")
    try:
        html = mammoth.convert_to_html(io.BytesIO(data)).value
    except Exception as error:  # noqa: BLE001  # as with PDF
        raise Unreadable(f"damaged: {_said(error)}", "open it in a word processor and save it anew") from None
    fields: dict[str, str] = {}
    if "docProps/core.xml" in members.names:
        names = {"title": "title", "creator": "author", "created": "date", "language": "language"}
        for node in members.tree("docProps/core.xml").iter():
            if _tag(node) in names and (node.text or "").strip():
                fields[names[_tag(node)]] = node.text.strip()
    body = plain(html)
    if not body:
        raise Unreadable("no text in it", "open it in a word processor: is it empty?")
    heading = re.search(r"(?m)^#\s+(\S.*)$", body)
    if heading:
        fields.setdefault("title", heading[1].strip())
    return Article("docx", body, **fields)


def _captions(text: str, kind: str) -> Article:
    from ingest.sources.articles import captions

    said = captions.of_srt(_srt(text)) if kind == "srt" else captions.of_vtt(_vtt(text))
    body = "\n\n".join(captions.paragraphs(said))
    if not body:
        raise Unreadable("no captions in it", "get the file again")
    return Article(kind, body)


def _srt(text: str) -> list[tuple[float, str]]:
    import srt

    try:
        return [(line.start.total_seconds(), line.content) for line in srt.parse(text, ignore_errors=True)]
    except (srt.SRTParseError, ValueError, OverflowError) as error:
        raise Unreadable(f"damaged: {_said(error)}", "get the file again") from None


def _vtt(text: str) -> list[tuple[float, str]]:
    import webvtt

    try:
        return [(line.start_in_seconds, line.raw_text) for line in webvtt.from_string(text).captions]
    except (webvtt.errors.MalformedFileError, webvtt.errors.MalformedCaptionError, ValueError) as error:
        raise Unreadable(f"damaged: {_said(error)}", "get the file again") from None


class _Members:
    """The members of a packed file, within bounds. Raises Unreadable for what exceeds them or is damaged."""

    def __init__(self, data: bytes) -> None:
        import zipfile

        try:
            self._file = zipfile.ZipFile(io.BytesIO(data))
            listed = self._file.infolist()
        except (zipfile.BadZipFile, ValueError, OSError, EOFError, NotImplementedError) as error:
            raise Unreadable(f"damaged: {_said(error)}", "get the file again") from None
        # What is declared bounds what is read: zipfile stops there.
        bomb = len(listed) > _MAX_MEMBERS or sum(one.file_size for one in listed) > _MAX_UNPACKED
        bomb = bomb or any(
            one.file_size > _RATIO_FROM and one.file_size > _MAX_RATIO * max(1, one.compress_size) for one in listed
        )
        if bomb:
            raise Unreadable("unpacks to more than a book can be", "is it what it claims to be? it is left alone")
        if any(one.flag_bits & 1 for one in listed):
            raise Unreadable("encrypted", "add a copy without a password")
        self.names = {one.filename for one in listed}

    def read(self, name: str) -> bytes:
        import zlib
        from zipfile import BadZipFile

        try:
            return self._file.read(name)
        except (KeyError, BadZipFile, zlib.error, EOFError, OSError, NotImplementedError, RuntimeError) as error:
            raise Unreadable(f"damaged: {_said(error)}", "get the file again") from None

    def tree(self, name: str) -> Any:
        from lxml import etree

        parser = etree.XMLParser(resolve_entities=False, no_network=True, huge_tree=False, recover=True)
        root = etree.fromstring(self.read(name), parser)
        if root is None:
            raise Unreadable(f"damaged: {name} is no XML", "get the file again")
        return root


def _packed(data: bytes) -> str:
    members = _Members(data)
    if "META-INF/container.xml" in members.names:
        return "epub"
    if "word/document.xml" in members.names:
        return "docx"
    raise Unreadable("a packed file that is neither EPUB nor DOCX", "unpack it and add what is in it")


def _tag(node: Any) -> str:
    tag = node.tag
    return tag.rpartition("}")[2] if isinstance(tag, str) else ""


def _said(error: Exception) -> str:
    return " ".join(str(error).split())[:120] or type(error).__name__
