"""``qmd://collection/path`` addresses, as qmd 2.8.3 reads and writes them."""

from __future__ import annotations

from qmd.ecma import trim

SCHEME = "qmd://"


class Address:
    """``path`` is empty for the collection itself; ``index`` names an index other than the default, or is empty."""

    __slots__ = ("collection", "index", "path")

    def __init__(self, collection: str, path: str, index: str = "") -> None:
        self.collection = collection
        self.path = path
        self.index = index


class Addressed:
    """A document with an address: its ``hash``, and its ``path`` in ``collection``."""

    __slots__ = ()

    collection: str
    path: str
    hash: str

    @property
    def docid(self) -> str:
        """Return the first six hex digits of the content's hash."""
        return self.hash[:6]

    @property
    def display(self) -> str:
        """Return ``collection/path``."""
        return f"{self.collection}/{self.path}"

    @property
    def uri(self) -> str:
        """Return ``qmd://collection/path``."""
        return f"{SCHEME}{self.display}"


def is_virtual(text: str) -> bool:
    """Return True if ``text`` is meant as such an address: ``qmd:…`` or ``//…``."""
    trimmed = trim(text)
    return trimmed.startswith(("qmd:", "//"))


def parse(text: str) -> Address | None:
    """Return the parts of an address, None if ``text`` is none. Any number of slashes may follow the scheme."""
    rest = trim(text)
    if rest.startswith("qmd:"):
        rest = rest[4:].lstrip("/")
    elif rest.startswith("//"):
        rest = rest.lstrip("/")
    else:
        return None
    rest, _, query = rest.partition("?")
    query = query.partition("?")[0]
    collection, _, path = rest.partition("/")
    if not collection or "\n" in path or "\r" in path:
        return None
    return Address(collection, path, _index(query) if query else "")


def build(collection: str, path: str, index: str = "") -> str:
    """Return the address of a document; ``index`` only if it is not the default one."""
    base = f"{SCHEME}{collection}/{path}"
    if not index:
        return base
    from urllib.parse import quote

    unreserved = "!'()*-._~"  # what encodeURIComponent leaves as it is
    return f"{base}?index={quote(index, safe=unreserved)}"


def on_one_line(name: str) -> str:
    """Return a name for output that is read line by line: line ends as ``%0A`` and ``%0D``, all else as it is."""
    return name.replace("\n", "%0A").replace("\r", "%0D")


def with_line_ends(name: str) -> str:
    """Return ``name`` as it was before ``on_one_line``."""
    return name.replace("%0A", "\n").replace("%0D", "\r")


def _index(query: str) -> str:
    from urllib.parse import parse_qs

    return trim(parse_qs(query, keep_blank_values=True).get("index", [""])[0])
