"""Mailboxes in the form mbox, and single messages.

In a mailbox, a line ``From <sender> <date>`` begins a message, after an empty line; such a line of a message's own has
``>`` in front (RFC 4155, https://www.loc.gov/preservation/digital/formats/fdd/fdd000385.shtml). A conversation is named
by the first message that its messages refer to (``References``, ``In-Reply-To``: RFC 5322, 3.6.4). Shown are sender,
receivers, names of attached files, and the text; lines that a reply quotes are in the message that they quote.

Messages are parsed without the modern policy of the standard library: that one parses each header by a grammar, which
takes quadratic time for a hostile one. So do parameters of a long header, and each line is compared with the boundaries
of all parts around it: headers and depth are bounded.
"""

from __future__ import annotations

import hashlib
import re
from email.errors import MessageError
from email.feedparser import FeedParser
from email.header import decode_header
from email.message import Message
from email.policy import Compat32
from email.utils import getaddresses, parsedate_to_datetime
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from core.text import one_line
from ingest.pipeline.reading import BROKEN

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ingest.pipeline.reading import Reading

    Record = dict[str, Any]

FOREIGN = "no mail in it"
_BROKEN = (*BROKEN, LookupError, MessageError, OverflowError)
_FROM = b"From "
# Bytes of the line that begins a message.
_LINE = 500
_ESCAPED = re.compile(rb"(?m)^>(>*From )")
_HEADER = re.compile(rb"\A(?:[!-9;-~]+:[^\n]*\n(?:[ \t][^\n]*\n)*){2}")
_REFERENCE = re.compile(r"<([^<>\s]{1,900})>")
_ANSWER = re.compile(r"\A(?:\s*(?:re|aw|fwd?|wg|sv|antw|tr|rv)\s*(?:\[\d+\])?\s*:)+\s*", re.IGNORECASE)
_QUOTED = re.compile(r"(?m)^>.*(?:\n|\Z)")
# Characters of one header; receivers; files; parts of one message.
_LONGEST, _RECEIVERS, _FILES, _PARTS = 10_000, 20, 50, 500
# Characters of a header that describes a part (Content-…), and parts within parts.
_DESCRIPTION, _DEEPEST = 2_000, 20
# Bytes of one message that are parsed; the rest of it is a file that was sent along.
_MESSAGE = 32 << 20
# Characters of a page that are parsed.
_PAGE = 1 << 20
_BLOCKS = frozenset("p div br tr li h1 h2 h3 h4 h5 h6 table blockquote pre ul ol section article header footer".split())
_SILENT = frozenset(("script", "style", "head", "title", "template"))


class _Bounded(Compat32):
    """A policy that cuts long headers when they are read."""

    def header_source_parse(self, sourcelines: list[str]) -> tuple[str, str]:
        name, value = super().header_source_parse(sourcelines)
        if len(value) > _DESCRIPTION:
            value = value[: _DESCRIPTION if name.lower().startswith("content-") else _LONGEST]
        return name, value


_POLICY = _Bounded()


class _Part(Message):
    """A message or a part of one, which knows how many parts it is in, and its headers by name once they are read."""

    depth = 0
    _named: dict[str, tuple[str, str]] | None = None

    def get(self, name: str, failobj: Any = None) -> Any:
        """Return the first header of a name. (The library looks through all of them, each time.)"""
        if self._named is None:
            self._named = {}
            for key, value in self.raw_items():
                self._named.setdefault(key.lower(), (key, value))
        found = self._named.get(name.lower())
        return failobj if found is None else self.policy.header_fetch_parse(*found)

    def attach(self, payload: Any) -> None:
        payload.depth = self.depth + 1
        super().attach(payload)

    def get_content_maintype(self) -> str:
        """Return the main type; what is too deep has one that has no parts."""
        return super().get_content_maintype() if self.depth < _DEEPEST else "application"


def messages(data: bytes, reading: Reading) -> Iterator[Record]:
    """Yield a record for each message in a mailbox, or for the one message of a file."""
    starts = list(_begins(data))
    if not starts or starts[0][0] != 0:
        if not _HEADER.match(data[:65536].lstrip(b"\r\n").replace(b"\r\n", b"\n")):
            return
        starts = [(0, 0)]
    ends = [*(begin for begin, _ in starts[1:]), len(data)]
    for number, ((_, start), end) in enumerate(zip(starts, ends, strict=True)):
        if not data[start:end].strip():
            continue
        whole = data[start : min(end, start + _MESSAGE)]
        try:
            yield _record(_ESCAPED.sub(rb"\1", whole) if start and b"\n>" in whole else whole)
        except _BROKEN as error:
            reading.broken(error, number + 1)


def _begins(data: bytes) -> Iterator[tuple[int, int]]:
    """Yield the span of each line that begins a message: the first one, and those after an empty line."""
    at = 0 if data.startswith(_FROM) else data.find(b"\n" + _FROM) + 1
    while at or data.startswith(_FROM):
        end = data.find(b"\n", at, at + _LINE) + 1
        if end and (not at or data[max(0, at - 4) : at].endswith((b"\n\n", b"\r\n\r\n"))):
            yield at, end
        at = data.find(b"\n" + _FROM, max(at, end - 1)) + 1
        if not at:
            return


def plain_subject(subject: str) -> str:
    """Return a subject without the marks of replies."""
    return _ANSWER.sub("", subject).strip()


def _record(data: bytes) -> Record:
    feed = FeedParser(_Part, policy=_POLICY)
    feed.feed(data.decode("ascii", "surrogateescape"))  # as the library's parser of bytes does, by a slower way
    message = feed.close()
    own = next(iter(_REFERENCE.findall(_header(message, "Message-ID"))), "")
    above = _REFERENCE.findall(f"{_header(message, 'References')} {_header(message, 'In-Reply-To')}")
    key = own or hashlib.sha256(data).hexdigest()[:32]
    text, files = _content(message)
    if above and ">" in text:
        text = re.sub(r"\n{3,}", "\n\n", _QUOTED.sub("", text))
    sent = [_people(_header(message, name)) for name in ("From", "To", "Cc")]
    head = [f"{name}: {people}" for name, people in zip(("from", "to", "copy"), sent, strict=True) if people]
    if files:
        head.append(f"files: {', '.join(files)}")
    unit = hashlib.sha256((above[0] if above else key).encode("utf-8", "replace")).hexdigest()[:16]
    return {"unit": unit, "key": key, "at": _time(message), "title": _header(message, "Subject"), "head": head,
            "text": text}  # fmt: skip


def _header(message: Message, name: str) -> str:
    """Return a header as one line, its encoded words decoded; "" if the message has none."""
    given = message.get(name)
    if given is None:
        return ""
    text = str(given)[:_LONGEST]
    if "=?" not in text:
        return one_line(text, _LONGEST)
    pieces: list[str] = []
    for piece, charset in decode_header(text):
        pieces.append(piece if isinstance(piece, str) else _decoded(piece, charset or "utf-8"))
    return one_line("".join(pieces), _LONGEST)


@lru_cache(256)  # the library reads a character at a time, and the same people write again and again
def _people(header: str) -> str:
    found = getaddresses([header])
    names = [f"{person} <{address}>" if person and address else person or address for person, address in found]
    more = f" and {len(names) - _RECEIVERS} more" if len(names) > _RECEIVERS else ""
    return ", ".join(filter(None, names[:_RECEIVERS])) + more


def _time(message: Message) -> str:
    try:
        return parsedate_to_datetime(_header(message, "Date")).isoformat()
    except (ValueError, TypeError, OverflowError, IndexError):
        return ""


def _content(message: Message) -> tuple[str, list[str]]:
    """Return the text of a message, plain rather than HTML, and the names of attached files."""
    plain: list[str] = []
    formatted: list[str] = []
    files: list[str] = []
    for number, part in enumerate(message.walk()):
        if number == _PARTS:
            break
        name = part.get_filename()
        if name or part.get_content_disposition() == "attachment":
            if len(files) < _FILES:
                files.append(one_line(_header(part, "Content-Description") or str(name or "unnamed"), 200))
        elif part.get_content_type() in ("text/plain", "text/html"):
            data = part.get_payload(decode=True)
            if isinstance(data, bytes):
                text = _decoded(data, part.get_content_charset() or "utf-8").replace("\r\n", "\n")
                (plain if part.get_content_subtype() == "plain" else formatted).append(text)
    found = "\n\n".join(filter(None, (each.strip() for each in plain)))
    return found or "\n\n".join(_words(each[:_PAGE]) for each in formatted), files


def _decoded(data: bytes, charset: str) -> str:
    try:
        return data.decode(charset, "replace")
    except (LookupError, ValueError):
        return data.decode("utf-8", "replace")


def _words(page: str) -> str:
    """Return the words of a page, with a line for each block. (The standard library's parser takes quadratic time.)"""
    from lxml import etree

    parser = etree.HTMLParser(encoding="utf-8", no_network=True, remove_comments=True, remove_pis=True)
    try:
        root: Any = etree.fromstring(page.encode("utf-8", "replace"), parser)
    except (etree.LxmlError, AssertionError):
        return ""
    pieces: list[str] = []
    silent = 0
    for event, element in etree.iterwalk(root, events=("start", "end")) if root is not None else ():
        is_start, tag = event == "start", element.tag
        silent += (tag in _SILENT) * (1 if is_start else -1)
        if tag in _BLOCKS:
            pieces.append("\n")
        if not silent:
            pieces.append(((element.text if is_start else element.tail) or "").replace("\n", " "))
    lines = (" ".join(line.split()) for line in "".join(pieces).split("\n"))
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()
