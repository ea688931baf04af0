"""JSON Lines as they are found on disk: appended to while we read, torn by crashes, sometimes not JSON at all.

Nothing here knows of any source. Whatever the bytes, iterating never raises; a line that cannot be read is a
``Failure``, a line that was repaired is counted in ``recovered``. Records are redacted here: no source sees a secret.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, BinaryIO

from core.document import Failure
from core.redaction import clean, clean_record, may_hold_secrets

if TYPE_CHECKING:
    from core.redaction.carried import Carried

# One API request is at most 32 MB; more than this in one line is damage, and decoding it takes three times its size.
MAX_LINE = 48 * 1024 * 1024
_SNIFF = 8192
_CHUNK = 1024 * 1024

BINARY = "binary"
MALFORMED = "malformed line"
MALFORMED_DOCUMENT = "malformed document"
NOT_OBJECT = "not a JSON object"
TOO_DEEP = "nested too deeply"
TOO_LONG = "line too long"
UNREADABLE = "unreadable"
REPLACED = "invalid UTF-8 replaced"
HOLES = "NUL bytes removed"

# Power loss leaves runs of NUL where a block was allocated and never written: a text with such a hole is a text. In
# UTF-16 and UTF-32 there are up to three between two characters.
_HOLE = re.compile(rb"\0{4,}")
_NULS = re.compile(rb"\0+")
# SQLite, ELF, zip, PNG, UTF-16: formats with a beginning that may be text for the most part.
_FORMATS = (b"SQLite format 3\0", b"\x7fELF", b"PK\x03\x04", b"\x89PNG\r\n", b"\xff\xfe", b"\xfe\xff")
# Control characters that no text has.
_STRANGE = bytes(code for code in range(32) if code not in b"\a\b\t\n\v\f\r\x1b")

# strict=False: a raw control character inside a string is damage we can live with.
_decode = json.JSONDecoder(strict=False).raw_decode


Sink = Callable[[bytes], None]


class Records:
    """Iterates over one stream: ``(line number, record)`` or ``Failure``; afterwards its fields tell what was read.

    ``consumed``: bytes up to the end of the last complete line; ``digest()``: SHA-256 of exactly those bytes, hex;
    ``tail``: bytes of a last line that is still being written, left for next time; ``size``: all bytes read;
    ``recovered``: reason → records that were saved; ``redacted``: kind → secrets that were replaced; ``found``: how
    many records there were; ``head``: how the stream begins; ``opens_block``: its first line is a lone bracket, as in
    one JSON text over many lines; ``is_settled``: all bytes but those of ``tail`` were read, and end with a whole line.
    ``sink`` is given each whole line in the form that is parsed, or, without ``redact``, with its secrets.
    """

    def __init__(
        self, stream: BinaryIO, path: str, limit: int = MAX_LINE, sink: Sink | None = None, redact: bool = True
    ) -> None:
        self._stream, self._path, self._limit = stream, path, limit
        self._sink, self._redact = sink, redact
        # Made with the first record that may hold a secret: most files have none.
        self._carried: Carried | None = None
        self._hash = hashlib.sha256()
        self._number = self.found = self.consumed = self.size = self.tail = 0
        self.head, self.opens_block, self.is_settled = b"", False, False
        self.recovered, self.redacted = dict[str, int](), dict[str, int]()

    def digest(self) -> str:
        """Return the SHA-256 of the ``consumed`` bytes, hexadecimal."""
        return self._hash.hexdigest()

    def state(self) -> tuple[Any, ...]:
        """Return what ``go_on`` needs of the lines that were read, if they are settled."""
        return self._number, self.found, dict(self.recovered), dict(self.redacted), self._carried

    def go_on(self, state: tuple[Any, ...], digest: Any, consumed: int, head: bytes) -> None:
        """Take the lines before the stream's position as read, with the ``state`` after them.

        Args:
            digest: the SHA-256 object of these lines.
            consumed: how many bytes they have.
            head: the beginning of the first of them, and more.
        """
        self._number, self.found, self.recovered, self.redacted, self._carried = state
        self._hash, self.consumed, self.size = digest, consumed, consumed
        self._begin(head[: head.find(b"\n") + 1] or head)

    def _begin(self, line: bytes) -> None:
        """Take the first line."""
        self.head = line[:_SNIFF]
        self.opens_block = line.strip() in (b"{", b"[")

    def __iter__(self) -> Iterator[tuple[int, dict[str, Any]] | Failure]:
        readline = self._stream.readline
        limit = self._limit
        whole = True
        while True:
            try:
                line = readline(limit)
            except OSError as error:
                yield self._failure(UNREADABLE, error.strerror or str(error), self._number + 1)
                return
            if not line:
                self.is_settled = whole
                return
            self._number = number = self._number + 1
            self.size += len(line)
            whole = line.endswith(b"\n")
            if number == 1:
                self._begin(line)
                if b"\0" in self.head and not line.lstrip(b"\0\r\n ").startswith(b"{") and is_binary(self.head):
                    self._keep(line)
                    yield self._failure(BINARY, "NUL bytes where a record should be", 1)
                    return
            if not whole and len(line) >= limit:
                yield self._pass_over(line, number)
                continue
            try:
                text = line.decode()
                record, end = _decode(text)
                plain = type(record) is dict and (end == len(text) or text[end:].isspace())
                if plain:
                    record = self._cleaned(line, record)
            except (ValueError, RecursionError):
                plain = False
            if plain:
                self.found += 1
                self._keep(line)
                yield number, record
                continue
            yield from self._repair(line, number, whole)
            if self.tail:
                return

    def _repair(self, line: bytes, number: int, whole: bool) -> Iterator[tuple[int, dict[str, Any]] | Failure]:
        recovered = dict(self.recovered)
        text = self._text(line, number)
        position, count, begun, problem = 0, 0, 0, None
        while position < len(text) and problem is None:
            try:
                begun = position
                record, position = _decode(text, position)
                record = self._cleaned(text[begun:position].encode("utf-8", "surrogatepass"), record)
            except RecursionError:
                problem = self._failure(TOO_DEEP, "", number)
            except ValueError as error:
                if not whole and text[position] == "{":
                    self.tail = len(line)
                    self.is_settled = not count and self.recovered == recovered
                    self._number -= 1
                    return  # still being written: not a failure, and not consumed
                problem = self._failure(MALFORMED, str(error), number)
            else:
                if type(record) is dict:
                    count += 1
                    self.found += 1
                    yield number, record
                else:
                    problem = self._failure(NOT_OBJECT, type(record).__name__, number)
                while position < len(text) and text[position].isspace():
                    position += 1
        if problem is not None and self._sink is not None:
            rest = clean(text[begun:], self.redacted) if self._redact else text[begun:]
            self._sink(_ended(rest.encode("utf-8", "surrogatepass")))
        self._keep(line)
        if count > 1:
            self._recover("records joined on one line", count)
        if problem is not None:
            yield problem

    def _cleaned(self, raw: bytes, record: Any) -> Any:
        """Return the record without secrets, and give its bytes to the sink."""
        if self._carried is not None or may_hold_secrets(raw):
            before = sum(self.redacted.values())
            if self._carried is None:
                from core.redaction.carried import Carried

                self._carried = Carried()
            record = clean_record(raw, record, self.redacted, self._carried)
            if self._redact and sum(self.redacted.values()) != before:
                raw = json.dumps(record, separators=(",", ":")).encode()
        if self._sink is not None and type(record) is dict:
            self._sink(_ended(raw))
        return record

    def _text(self, line: bytes, number: int) -> str:
        try:
            text = line.decode()
        except UnicodeDecodeError:
            text = line.decode("utf-8", "replace")
            self._recover(REPLACED, 1)
        if number == 1 and text.startswith("\ufeff"):
            text = text[1:]
            self._recover("byte order mark removed", 1)
        if "\0" in text:
            # Power loss leaves runs of NUL where a block was allocated and never written.
            text = text.replace("\0", "")
            self._recover(HOLES, 1)
        return text.strip()

    def _pass_over(self, line: bytes, number: int) -> Failure:
        length = 0
        while line:
            length += len(line)
            self._keep(line)
            if line.endswith(b"\n"):
                break
            line = self._stream.readline(_CHUNK)
            self.size += len(line)
        return self._failure(TOO_LONG, f"{length} bytes", number)

    def _keep(self, line: bytes) -> None:
        self.consumed += len(line)
        self._hash.update(line)

    def _recover(self, reason: str, count: int) -> None:
        self.recovered[reason] = self.recovered.get(reason, 0) + count

    def _failure(self, reason: str, detail: str, line: int) -> Failure:
        return Failure(self._path, reason, detail, line)


def without_tail(data: bytes) -> bytes:
    """Return a text without the NUL bytes that a crash leaves at its end; a text of NUL bytes alone stays."""
    return data.rstrip(b"\0") or data


def is_utf8(data: bytes) -> bool:
    """Return True if data is valid UTF-8."""
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def is_binary(data: bytes) -> bool:
    """Return True if data with this beginning is no text of any kind; UTF-16 is no text here."""
    if data.startswith(_FORMATS) and b"\0" in data[:_SNIFF]:
        return True
    text = data.lstrip(b"\0") if data.startswith(b"\0") else data
    # The cut may end within a hole.
    head, nuls = text[:_SNIFF].rstrip(b"\0"), 0
    if b"\0" in head:
        head = _HOLE.sub(b"", head)
        # One short hole may be damage in a text that is short, too.
        nuls = max(len(_NULS.findall(head)) - 1, 0)
        head = head.replace(b"\0", b"")
    strange = nuls + len(head) - len(head.translate(None, _STRANGE))
    return strange * 20 > len(head) + nuls


def value(text: str | bytes, redacted: dict[str, int] | None) -> Any:
    """Return one JSON value, of a database's cell or of a whole file, redacted like every record.

    ``redacted`` is added to (kind → secrets replaced); None if there is known to be none. Raises ValueError and
    RecursionError if it is no JSON.
    """
    raw = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    plain = text if isinstance(text, str) else raw.decode("utf-8", "replace").removeprefix("\ufeff")
    plain = plain.strip()
    found, end = _decode(plain)
    if end != len(plain):
        raise ValueError("more than one value")
    return found if redacted is None else clean_record(raw, found, redacted)


def _ended(line: bytes) -> bytes:
    return line if line.endswith(b"\n") else line + b"\n"


def prefix_digest(path: str, length: int) -> str | None:
    """Return the SHA-256 of the first ``length`` bytes of ``path``, hex, or None if the file is shorter. Raises
    OSError."""
    digest = hashlib.sha256()
    with open(path, "rb") as stream:
        while length:
            block = stream.read(min(length, _CHUNK))
            if not block:
                return None
            digest.update(block)
            length -= len(block)
    return digest.hexdigest()
