"""One file of any kind becomes an article: title, author, date and markdown.

Files are read in a child process: a hostile file may crash, flood or stall it, and nothing else. Each kind has a
function that takes bytes and returns an ``Article``, or raises ``Unreadable`` with the fault and its fix. Nothing is
fetched.

Captions become paragraphs of about a minute with their speakers. A speaker is in WebVTT's voice tags, ``<v Name>``
(https://www.w3.org/TR/webvtt1/#webvtt-cue-voice-span), or before a colon at the start of a line.
"""

from __future__ import annotations

import html
import io
import re
import zipfile
import zlib
from posixpath import dirname, join, normpath
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import unquote

from core.processes.worker import Ended, Exceeded, Worker
from ingest.sources.articles import fields as article_fields

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

# The greatest length of a document (docs/documents.md).
MAX_CHARACTERS = 4_194_304
# Bounds of a packed file: its unpacked size, its members, and the ratio of one member to its packed size.
_MAX_UNPACKED = 256 * 1024 * 1024
_MAX_MEMBERS = 10_000
_MAX_RATIO = 300
_RATIO_FROM = 4 * 1024 * 1024

# Errors of zipfile for a damaged file.
_BROKEN = (zipfile.BadZipFile, OSError, EOFError, NotImplementedError)

_OLD_WORD = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
# The fields of a page are in its first characters.
_HEAD_CHARACTERS = 262_144
_METAS = 500
_TIMING = re.compile(r"\d\d:\d\d[:,.]\d\d.{0,8}-->")

# Markdown begins with a heading, or with fields between marks.
_MARKED = re.compile(r"\ufeff?\s*(?:#{1,6}[ \t]+\S|(?:---|\+\+\+)[ \t]*\r?\n[^\n]*[:=])")
_MEMORY = 3 << 30
_OTHERWISE = "convert it to text with another program, then add that"

# The length of a paragraph of captions, in seconds.
_PARAGRAPH_S = 60
_TAG = re.compile(r"(<[^<>]*>)")
# A tag's classes may follow its name: <v.loud Ann>.
_VOICE = re.compile(r"<v(?:\.[^\s>]*)?[ \t\n]+([^>]+)>")
_WORD = r"[(\[]?[^\W\d_][\w.'’&/-]*[)\]]?|\(?\d{1,3}\)?"
_SPOKEN = re.compile(rf"(?:>>\s*|[-–]\s*)?((?:{_WORD})(?: (?:{_WORD})){{0,4}}):(?:\s+|$)")
_LONGEST_NAME = 60
# Particles that names have in small letters.
_PARTICLES = frozenset("al bin da de del den der di do dos du el la le of ten ter the van von y".split())


class Unreadable(Exception):
    """A file that makes no article: the ``reason``, and a ``fix`` for the user."""

    def __init__(self, reason: str, fix: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self.fix = fix


class Article:
    """The text of a file; ``fields``: its own title, author, date, url, language and so on."""

    __slots__ = ("body", "fields", "kind")

    def __init__(self, kind: str, body: str, **fields: Any) -> None:
        self.kind = kind
        self.body = body
        self.fields = {name: value for name, value in fields.items() if value}


def read(data: bytes, name: str, url: str = "") -> Article:
    """Return the article in a file, recognised by its first bytes, else by its name. Raises Unreadable."""
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
    """Return pdf, epub, docx, word, html, srt, vtt, markdown or text. Raises Unreadable for any other kind."""
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
    # A file without an ending, such as piped text, is recognised by its first line.
    marked = not ending and _MARKED.match(data[:4096].decode("utf-8", "replace"))
    return "markdown" if marked or ending in ("md", "markdown", "mdx", "qmd") else "text"


def decode(data: bytes) -> str:
    """Return a text by the encoding of its mark, else UTF-8, else Windows-1252."""
    for mark, encoding in ((b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16")):
        if data.startswith(mark):
            return data.decode(encoding, "replace")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data.decode("cp1252", "replace")


def _markdown(text: str, kind: str, ending: str) -> Article:
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

    own = article_fields.of_page(text)
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
        # trafilatura finds no article in a short page: use all its text.
        body = plain(text)
    if not body.strip():
        raise Unreadable("no text in it", "is it a page that a script fills? save it from the browser as a whole")
    return Article(
        "html",
        body,
        title=own.get("title") or getattr(found, "title", None),
        author=own.get("author") or article_fields.authors(_metas(text)) or getattr(found, "author", None),
        date=own.get("date") or getattr(found, "date", None),
        url=getattr(found, "url", None) or own.get("url"),
        language=getattr(found, "language", None) or own.get("language"),
    )


def _metas(text: str) -> list[tuple[str, str]]:
    """Return (name, content) of each ``<meta>``: trafilatura ignores authors of one word and splits names at commas."""
    from html.parser import HTMLParser

    found: list[tuple[str, str]] = []

    class Head(HTMLParser):
        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            given = dict(attrs)
            name = (given.get("name") or given.get("property") or "").lower()
            if tag == "meta" and name and len(found) < _METAS:
                found.append((name, " ".join((given.get("content") or "").split())))

    # Only the tags are parsed: the rest of a hostile page costs nothing.
    Head().feed("".join(re.findall(r"(?i)<meta\s[^<>]{1,2000}>", text[:_HEAD_CHARACTERS])))
    return found


def _unescaped(text: str) -> str:
    """Return ``text`` without the backslashes that trafilatura always writes before ``_ * ~ <`` outside code.

    It writes 2n + 1 for n of the page's (``trafilatura.xml._escape_inline_specials``).
    """
    parts = re.split(r"(```.*?```|`[^`\n]+`)", text, flags=re.DOTALL)
    parts[::2] = [
        re.sub(r"(\\+)([_*~<])", lambda run: run[1][: len(run[1]) // 2] + run[2], part) for part in parts[::2]
    ]
    return "".join(parts)


def plain(text: str) -> str:
    """Return the whole text of a page or a chapter as markdown."""
    import markdownify

    text = re.sub(r"(?is)<(script|style|template|noscript|head)\b.*?(?:</\1\s*>|\Z)", "", text)
    # Nothing is escaped, so that search, quotes and redaction see the page's own text.
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
    except Exception as error:  # noqa: BLE001  # a damaged file may raise anything in the library
        raise Unreadable(
            f"damaged: {_detail(error)}", "qpdf IN.pdf OUT.pdf may mend it; or get the file again"
        ) from None
    if not texts:
        raise Unreadable("no text in it: pages are pictures", "ocrmypdf IN.pdf OUT.pdf, then add that")
    return Article("pdf", "\n\n".join(texts), **fields)


def _epub(data: bytes) -> Article:
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
    except Exception as error:  # noqa: BLE001  # as for PDF
        raise Unreadable(f"damaged: {_detail(error)}", "open it in a word processor and save it again") from None
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
    lines = lines_of_srt(_srt(text)) if kind == "srt" else lines_of_vtt(_vtt(text))
    body = "\n\n".join(paragraphs(lines))
    if not body:
        raise Unreadable("no captions in it", "get the file again")
    return Article(kind, body)


def _srt(text: str) -> list[tuple[float, str]]:
    import srt

    try:
        return [(line.start.total_seconds(), line.content) for line in srt.parse(text, ignore_errors=True)]
    except (srt.SRTParseError, ValueError, OverflowError) as error:
        raise Unreadable(f"damaged: {_detail(error)}", "get the file again") from None


def _vtt(text: str) -> list[tuple[float, str]]:
    import webvtt

    try:
        return [(line.start_in_seconds, line.raw_text) for line in webvtt.from_string(text).captions]
    except (webvtt.errors.MalformedFileError, webvtt.errors.MalformedCaptionError, ValueError) as error:
        raise Unreadable(f"damaged: {_detail(error)}", "get the file again") from None


class _Members:
    """The members of a packed file. Raises Unreadable for a file that exceeds the bounds or is damaged."""

    def __init__(self, data: bytes) -> None:
        try:
            self._file = zipfile.ZipFile(io.BytesIO(data))
            listed = self._file.infolist()
        except (*_BROKEN, ValueError) as error:
            raise Unreadable(f"damaged: {_detail(error)}", "get the file again") from None
        # zipfile reads no more than the declared sizes.
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
        try:
            return self._file.read(name)
        except (*_BROKEN, KeyError, zlib.error, RuntimeError) as error:
            raise Unreadable(f"damaged: {_detail(error)}", "get the file again") from None

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


def _detail(error: Exception) -> str:
    return " ".join(str(error).split())[:120] or type(error).__name__


class CaptionLine(NamedTuple):
    """A line of a caption: seconds from the beginning, the speaker or "", the words."""

    start: float
    speaker: str
    words: str


def lines_of_srt(captions: Iterable[tuple[float, str]]) -> Iterator[CaptionLine]:
    """Yield the lines of captions, given as (seconds, text)."""
    for start, text in captions:
        for line in "".join(_TAG.split(text)[::2]).splitlines():
            yield CaptionLine(start, "", " ".join(line.split()))


def lines_of_vtt(captions: Iterable[tuple[float, str]]) -> Iterator[CaptionLine]:
    """Yield the lines of captions, given as (seconds, text); a voice lasts to its end tag or the next one."""
    for start, text in captions:
        spans: list[tuple[str, list[str]]] = [("", [])]
        for number, piece in enumerate(_TAG.split(text)):
            if number % 2 == 0:
                spans[-1][1].append(piece)
            elif (voice := _VOICE.fullmatch(piece)) is not None or piece == "</v>":
                spans.append((_words(voice[1]) if voice is not None else "", []))
        for speaker, words in spans:
            for line in "".join(words).splitlines():
                yield CaptionLine(start, speaker if line.strip() else "", _words(line))


def paragraphs(lines: Iterable[CaptionLine]) -> Iterator[str]:
    """Yield ``[hh:mm:ss] Name: words``, a paragraph for each turn and about each minute. Repeated lines appear once.

    A line without a name continues the paragraph of the line before.
    """
    began = 0.0
    held: list[str] = []
    who = ""
    last = ("", "")
    for start, voice, line in lines:
        named = None if voice else _SPOKEN.match(line)
        speaker = voice or (named[1] if named is not None and _is_name(named[1]) else "")
        words = line[named.end() :] if named is not None and speaker else line
        # A speaker continues until another is named. A name alone on a line is not repeated.
        is_other = bool(speaker) and speaker != who
        if (not words and not is_other) or (words and (speaker or who, words) == last):
            continue
        last = (speaker or who, words)
        if held and (is_other or start - began >= _PARAGRAPH_S):
            yield f"[{_clock(began)}] {' '.join(held)}"
            held = []
        if not held:
            began = start
            if speaker:
                held.append(f"{speaker}:")
        who = speaker or who
        if words:
            held.append(words)
    if held:
        yield f"[{_clock(began)}] {' '.join(held)}"


def _is_name(text: str) -> bool:
    """Return True if the text before a colon looks like a name: its words have capitals, or a script without them."""
    words = [word.strip("()[]") for word in text.split()]
    return len(text) <= _LONGEST_NAME and all(
        not word[:1].islower() or (number > 0 and word in _PARTICLES) for number, word in enumerate(words)
    )


def _words(text: str) -> str:
    return " ".join(html.unescape(text).split())


def _clock(seconds: float) -> str:
    whole = int(seconds)
    return f"{whole // 3600:02d}:{whole // 60 % 60:02d}:{whole % 60:02d}"


class ArticleReader:
    """Reads files in a child process, which ``worker.close`` ends."""

    def __init__(self, timeout_s: float) -> None:
        self.worker = Worker("ingest.sources.articles.parser:answer", memory=_MEMORY, timeout_s=timeout_s)
        self._timeout_s = timeout_s

    def read(self, path: str, name: str, url: str) -> Article:
        """Return the article of the file at ``path``, named ``name``. Raises Unreadable."""
        try:
            found: Any = self.worker.ask({"path": path, "name": name, "url": url})
        except Exceeded:
            raise Unreadable(f"not read within {self._timeout_s:g} s", _OTHERWISE) from None
        except Ended:
            raise Unreadable("damaged: the reader ended", _OTHERWISE) from None
        if "reason" in found:
            raise Unreadable(found["reason"], found["fix"])
        return Article(found["kind"], found["body"], **found["fields"])


def answer(asked: dict[str, str]) -> dict[str, Any]:
    """Read a file, in the child: {"path", "name", "url"} → {"kind", "body", "fields"}, or {"reason", "fix"}."""
    try:
        with open(asked["path"], "rb") as stream:
            article = read(stream.read(), asked["name"], asked["url"])
    except Unreadable as error:
        return {"reason": error.reason, "fix": error.fix}
    except OSError as error:
        return {"reason": f"unreadable: {error.strerror}", "fix": "check its permissions"}
    except MemoryError:
        return {"reason": "needs too much memory", "fix": _OTHERWISE}
    except Exception as error:  # noqa: BLE001  # a hostile file may raise anything in a library
        return {"reason": f"damaged: {type(error).__name__}", "fix": "get the file again"}
    body = article.body
    left_out = len(body) - MAX_CHARACTERS
    fields = dict(article.fields)
    if left_out > 0:
        body, fields["truncated"] = body[:MAX_CHARACTERS], left_out
    return {"kind": article.kind, "body": body, "fields": fields}
