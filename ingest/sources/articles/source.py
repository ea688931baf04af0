"""Articles and raw knowledge: files that a person adds, each a document of a collection such as ``kb-raw``.

A file's identity is its address if it has one, else where it lies; a copy of the same bytes is the same article. The
document's name keeps a slug of the first title and the identity's digest, so that adding again updates it.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
from os.path import abspath, basename, isdir, islink, join
from typing import TYPE_CHECKING, Any, NamedTuple

from core import clock, document
from core.document import Timestamp, render
from core.files import open_regular, write_atomic
from core.home import make_private
from core.redaction import clean as redact
from core.text import clean, one_line
from ingest.collector import Collector
from ingest.sources.articles.parser import Article, ArticleReader, Unreadable
from ingest.web import addresses

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

NAME = "article"
ENDINGS = (
    ".md",
    ".markdown",
    ".mdx",
    ".qmd",
    ".org",
    ".rst",
    ".txt",
    ".html",
    ".htm",
    ".xhtml",
    ".pdf",
    ".epub",
    ".docx",
    ".srt",
    ".vtt",
)
MAX_BYTES = 128 * 1024 * 1024
TIMEOUT_S = 120.0
LEADS_OUT = "a link that leads out of the folder"
_MAX_FILES = 100_000
_SLUG = 60
_HEAD = 8192
_TITLE = 200


class Added(NamedTuple):
    """The result of adding a file: ``status`` is added, updated or unchanged; ``path`` is the document's."""

    status: str
    path: str
    title: str
    kind: str


class Articles(Collector):
    """Files that a person adds. They are added by name, so that no run looks for them."""

    name = NAME
    collection = "kb-raw"
    suffixes = ENDINGS

    def made_of(self, fields: Mapping[str, Any], body: Callable[[], str]) -> list[str]:
        """Return the digest of the original file."""
        del body
        return [str(fields["sha256"])] if fields.get("sha256") else []

    def shared_name(self, fields: Mapping[str, Any], path: str) -> str:
        del path
        return str(fields.get("sha256") or "")


SOURCE = Articles()


def files(folder: str, skipped: dict[str, int] | None = None) -> Iterator[str]:
    """Yield the files below a folder that may be articles by their names, in order, without hidden ones.

    Files that are left out though they have such a name are counted in ``skipped``, by reason.
    """
    count = 0
    inside = join(os.path.realpath(folder), "")

    def leads_out(path: str) -> bool:
        # A person who adds a folder means its files; a stranger's archive may have links to anywhere.
        is_out = islink(path) and not join(os.path.realpath(path), "").startswith(inside)
        if is_out and skipped is not None:
            skipped[LEADS_OUT] = skipped.get(LEADS_OUT, 0) + 1
        return is_out

    for place, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and not leads_out(join(place, name)))
        for name in sorted(names):
            if name.lower().endswith(ENDINGS) and not name.startswith(".") and not leads_out(join(place, name)):
                count += 1
                if count > _MAX_FILES:
                    return
                yield join(place, name)


def of_file(path: str) -> str:
    """Return the identity of a file that is added without an address."""
    return _identity(f"file\0{abspath(path)}")


def _identity(named: str) -> str:
    return f"article-{hashlib.sha256(named.encode('utf-8', 'surrogateescape')).hexdigest()[:16]}"


class Shelf:
    """A collection's folder, to which files are added. ``with`` ends the process that reads them."""

    def __init__(self, folder: str, reader: ArticleReader | None = None) -> None:
        self.folder = folder
        make_private(folder)
        self.redacted: dict[str, int] = {}
        self._reader = reader or ArticleReader(TIMEOUT_S)
        self._by_id: dict[str, str] = {}
        self._by_digest: dict[str, str] = {}
        self._by_place: dict[str, str] = {}
        # If several documents came from one place, the latest has it.
        for name in sorted(os.listdir(folder), key=lambda name: (_written(join(folder, name)), name)):
            if name.endswith(".md"):
                self._learn(name)

    def __enter__(self) -> Shelf:
        return self

    def __exit__(self, *_: object) -> None:
        self._reader.worker.close()

    def add(self, path: str, *, called: str = "", title: str = "", url: str = "") -> Added:
        """Make or update the document of one file; ``called``: its name if that of ``path`` is another.

        ``title`` and ``url`` replace the file's own, also when the file is added again without them.
        Raises Unreadable, and OSError if the document cannot be written.
        """
        path = abspath(path)
        digest, mtime = sha256_of(path)
        url = addresses.clean(url) if url else ""
        name = called or basename(path)
        place = "" if called else of_file(path)
        # Piped text has no place: its bytes identify it.
        session = _identity(f"url\0{url}") if url else place or _identity(f"text\0{digest}")
        known = self._by_id.get(session) or self._by_digest.get(digest)
        if known is None and not url:
            known = self._by_place.get(place)
        if known is not None and not url:
            session = self._session(known) or session
        if known is not None and known == self._by_digest.get(digest) and not title and not url:
            # For the same bytes, the document stays, even if somebody corrected it.
            return Added("unchanged", join(self.folder, known), self._title(known), "")
        given = self._given(known)
        title, url = title or given.get("title", ""), url or given.get("url", "")
        article = self._reader.read(path, name, url)
        # The place of a file with an address is kept: it may be added again without the address.
        meta, body = self._document(article, session, name, digest, mtime, title, url)
        meta["given"] = [what for what, said in (("title", title), ("url", url)) if said]
        meta["place"] = place if url else ""
        data = render(meta, body)
        shown = str(meta["title"])
        target = known or f"{_slug(shown)}-{session[-8:]}.md"
        there = join(self.folder, target)
        before = _bytes(there)
        if before == data:
            return Added("unchanged", there, shown, article.kind)
        write_atomic(there, data)
        self._by_digest = {held: one for held, one in self._by_digest.items() if one != target}
        self._by_id[session] = self._by_digest[digest] = target
        if meta["place"]:
            self._by_place[place] = target
        return Added("added" if before is None else "updated", there, shown, article.kind)

    def _document(
        self, article: Article, session: str, name: str, digest: str, mtime: int, title: str, url: str
    ) -> tuple[dict[str, Any], str]:
        own = article.fields
        safe = self._safe
        when = clock.parse_iso(str(own.get("date") or "")[:40])
        stem = name.rpartition(".")[0] or name
        called = safe(title) or safe(str(own.get("title") or "")) or safe(_first_line(article)) or safe(stem)
        origin = url or addresses.clean(str(own.get("url") or ""))
        meta: dict[str, Any] = {
            "session_id": session,
            "source": NAME,
            "title": one_line(called, _TITLE) or "Untitled article",
            "date": Timestamp(clock.iso(mtime if when is None else when)),
            "date_source": "mtime" if when is None else None,
            "author": one_line(safe(str(own.get("author") or "")), _TITLE),
            "url": safe(origin) if origin.startswith(("http://", "https://")) else "",
            "language": one_line(str(own.get("language") or ""), 20),
            "kind": article.kind,
            "pages": own.get("pages"),
            "tags": [one_line(safe(str(tag)), 60) for tag in own.get("tags") or []],
            "original": one_line(safe(name), _TITLE),
            "sha256": digest,
            "truncated": own.get("truncated"),
        }
        body = safe(article.body).strip("\n")
        first = re.match(r"\s*#{1,2}\s+(.*)", body)
        if first is None or one_line(first[1]) != meta["title"]:
            body = f"# {meta['title']}\n\n{body}"
        return meta, body

    def _safe(self, text: str) -> str:
        return redact(clean(text), self.redacted)

    def _learn(self, name: str) -> None:
        fields = self._fields(name)
        if fields.get("source") == NAME:
            self._by_id[str(fields.get("session_id"))] = name
            self._by_digest[str(fields.get("sha256"))] = name
            if fields.get("place"):
                self._by_place[str(fields["place"])] = name

    def _fields(self, name: str) -> dict[str, Any]:
        head = (_bytes(join(self.folder, name), _HEAD) or b"").decode("utf-8", "replace")
        found = document.bounds(head)
        return (document.fields(head[found[0] : found[1]]) or {}) if found is not None else {}

    def _title(self, name: str) -> str:
        return str(self._fields(name).get("title") or name)

    def _given(self, name: str | None) -> dict[str, str]:
        """Return the title and the address that a person gave to the document ``name``."""
        fields = self._fields(name) if name is not None else {}
        given = fields.get("given")
        return {what: str(fields.get(what) or "") for what in given} if isinstance(given, list) else {}

    def _session(self, name: str) -> str:
        return next((session for session, known in self._by_id.items() if known == name), "")


def sha256_of(path: str) -> tuple[str, int]:
    """Return (SHA-256, mtime in seconds) of a regular file within the bounds. Raises Unreadable."""
    try:
        status = os.stat(path)
        if isdir(path) or not stat.S_ISREG(status.st_mode):
            raise Unreadable("not a regular file", "add a file or a folder")
        if status.st_size > MAX_BYTES:
            raise Unreadable(f"over {MAX_BYTES >> 20} MB", "split it, or convert it to text")
        if not status.st_size:
            raise Unreadable("empty", "is it the right file?")
        with open(path, "rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest(), int(status.st_mtime)
    except OSError as error:
        raise Unreadable(f"unreadable: {error.strerror}", "check its name and permissions") from None


def _written(path: str) -> int:
    try:
        return os.stat(path).st_mtime_ns
    except OSError:
        return 0


def _bytes(path: str, most: int = -1) -> bytes | None:
    try:
        with open_regular(path) as stream:
            return stream.read(most)
    except OSError:
        return None


def _first_line(article: Article) -> str:
    """Return the first line of a text if it can be a title, else ""."""
    if article.kind != "text":
        return ""
    first = next((line.strip() for line in article.body.splitlines() if line.strip()), "")
    return re.sub(r"^#{1,6}\s+", "", first) if len(first) <= 120 else ""


def _slug(title: str) -> str:
    plain = "-".join(re.findall(r"[a-z0-9]+", title.casefold()))
    return plain[:_SLUG].strip("-") or "article"
