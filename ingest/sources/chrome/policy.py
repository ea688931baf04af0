"""What of browsing is kept: ``sources.chrome`` of collections.yml as a judge of addresses, titles and searches.

Selecting is part of making documents (docs/sources.md): a browser's history is mostly what nobody wants to remember.
Everything dropped is counted by reason; none of it is listed anywhere.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote_plus, unquote_plus

from core.redaction import clean as redact
from core.redaction.screen import suspects
from core.text import one_line
from ingest.sources.chrome.words import Noise, Words, fold
from ingest.sources.web import addresses

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

NOT_ALLOWED = "not an allowed domain"
DENIED = "denied domain"
ADULT = "not safe for work"
NOISE = "search noise"
INTERNAL = "the browser's own page"
FILE = "file: address"
DATA = "data: address"
SCHEME = "other address"
DETOUR = "a link's detour"
# A visit in the archive that these apply to is shown no more; the others remove it.
HIDING = frozenset((NOT_ALLOWED,))

_SCHEMES = {
    "file": FILE,
    "data": DATA,
    "blob": DATA,
    "javascript": DATA,
    **dict.fromkeys(
        (
            "chrome chrome-extension chrome-search chrome-devtools chrome-untrusted chrome-native chrome-error "
            "chrome-distiller dom-distiller isolated-app devtools about view-source brave edge arc vivaldi opera opr"
        ).split(),
        INTERNAL,
    ),
}
_MAX_TITLE = 300
_MAX_TERM = 400
# "(3) Inbox": how many wait changes by the minute and says nothing of the page.
_COUNTER = re.compile(r"^\(\d+\+?\)\s+(?=\S)")

# Host suffix → the query parameter that holds what was searched for, and the path its results lie at.
_ENGINES: tuple[tuple[str, str, str], ...] = (
    ("bing.com", "/search", "q"),
    ("duckduckgo.com", "/", "q"),
    ("kagi.com", "/search", "q"),
    ("search.brave.com", "/search", "q"),
    ("ecosia.org", "/search", "q"),
    ("startpage.com", "/sp/search", "query"),
    ("qwant.com", "/", "q"),
    ("search.yahoo.com", "/search", "p"),
    ("baidu.com", "/s", "wd"),
    ("yandex.ru", "/search", "text"),
    ("yandex.com", "/search", "text"),
    ("perplexity.ai", "/search", "q"),
    ("github.com", "/search", "q"),
    ("stackoverflow.com", "/search", "q"),
    ("youtube.com", "/results", "search_query"),
    ("wikipedia.org", "/w/index.php", "search"),
    ("scholar.google.com", "/scholar", "q"),
    ("arxiv.org", "/search", "query"),
    ("npmjs.com", "/search", "q"),
    ("pypi.org", "/search", "q"),
    ("developer.mozilla.org", "/search", "q"),
    ("news.ycombinator.com", "/search", "q"),
    ("hn.algolia.com", "/", "q"),
)
# Where links lead first, so that their clicks are counted: nobody was there.
_DETOURS: dict[str, tuple[str, ...]] = {
    "t.co": ("/",),
    "lnkd.in": ("/",),
    "l.facebook.com": ("/",),
    "lm.facebook.com": ("/",),
    "out.reddit.com": ("/",),
    "safelinks.protection.outlook.com": ("/",),
    "urldefense.com": ("/",),
    "youtube.com": ("/redirect",),
    "duckduckgo.com": ("/l/",),
    "bing.com": ("/ck/a",),
    "linkedin.com": ("/redir/",),
}
_GOOGLE = re.compile(r"(?:www\.)?google\.(?:[a-z]{2,3}\.)?[a-z]{2,3}")


class Page(NamedTuple):
    """An address that passed: cleaned, its host without ``www.``, its title, and what it is a search for or ""."""

    url: str
    domain: str
    title: str
    term: str


class Screened(NamedTuple):
    """``plain``: no secret is in it; ``decent``: nothing adult is. False where that is not known."""

    plain: bool
    decent: bool


# An address of which the host is wanted: the host, the address cleaned, its title and what it was searched for.
Admitted = tuple[str, str, str, str]

_UNKNOWN = Screened(False, False)


class Policy:
    """The judge that ``ingest.sources.chrome.settings.load`` describes; ``redacted`` counts secrets by kind."""

    def __init__(self, section: dict[str, Any]) -> None:
        self.mode: str = section.get("mode") or "allow"
        self._allow = _domains(section.get("allow") or ())
        self._deny = _domains(section.get("deny") or ())
        self._adult = None if section.get("nsfw") is False else Words(section.get("nsfw_words") or ())
        self._noise = Noise(section.get("noise_words") or ())
        self.redacted: dict[str, int] = {}
        self._hosts: dict[str, str] = {}
        self._detours: dict[str, tuple[str, ...]] = {}
        self._places: dict[str, tuple[tuple[str, str], ...]] = {}

    def judge(self, url: str, title: str, term: str) -> Page | str:
        """What is kept of an address, or the reason why nothing is."""
        admitted = self._admit(url, title, term)
        return admitted if isinstance(admitted, str) else self._settle(admitted, _UNKNOWN)

    def judge_all(self, texts: Iterable[tuple[str, str, str]]) -> list[Page | str]:
        """``judge`` of several (address, title, term): what costs most is asked of many at once."""
        verdicts: list[Page | str] = []
        open_: list[int] = []
        admitted: list[Admitted] = []
        for each in texts:
            found = self._admit(*each)
            if not isinstance(found, str):
                open_.append(len(verdicts))
                admitted.append(found)
                found = ""
            verdicts.append(found)
        for place, page in zip(open_, self._settle_all(admitted), strict=True):
            verdicts[place] = page
        return verdicts

    def _settle_all(self, admitted: list[Admitted]) -> Iterator[Page | str]:
        if not admitted:
            return
        screened = self._screen("\n".join([f"{_read(url)}\n{title}\n{term}" for _, url, title, term in admitted]))
        if len(admitted) > 1 and not (screened.plain and screened.decent):
            half = len(admitted) // 2
            yield from self._settle_all(admitted[:half])
            yield from self._settle_all(admitted[half:])
            return
        for each in admitted:
            yield self._settle(each, screened)

    def _screen(self, texts: str) -> Screened:
        """What several texts, one a line, are free of."""
        plain = not suspects(texts.encode("utf-8", "surrogatepass"))
        return Screened(plain, self._adult is None or not self._adult.found(fold(texts)))

    def _admit(self, url: str, title: str, term: str) -> Admitted | str:
        scheme, host, rest = addresses.split(url)
        if scheme not in ("http", "https"):
            return _SCHEMES.get(scheme, SCHEME)
        if not host:
            return SCHEME
        reason = self._hosts.get(host)
        if reason is None:
            reason = self._hosts[host] = self._judge_host(host)
        if reason:
            return reason
        if self._is_detour(host, rest):
            return DETOUR
        # Secrets go before anything is cut.
        return host, addresses.clean(url), title, term

    def _settle(self, admitted: Admitted, screened: Screened) -> Page | str:
        """The verdict on what was admitted; ``screened``: what is known of these texts."""
        host, url, title, term = admitted
        if not screened.plain and suspects(f"{_read(url)}\n{title}\n{term}".encode("utf-8", "surrogatepass")):
            url, title, term = (redact(text, self.redacted) for text in (url, title, term))
            # What was typed stands encoded in it: `my+password+is+…`.
            url = addresses.redacted(url, lambda text: redact(text, self.redacted))
        places = self._places.get(host)
        if places is None:
            places = self._places[host] = _places(host)
        engine = _engine(places, url) if places else None
        if not term and engine is not None:
            term = engine
        if term:
            term = one_line(term, _MAX_TERM)
        title = one_line(title, _MAX_TITLE)
        if title.startswith("("):
            title = _COUNTER.sub("", title)
        if (
            not screened.decent
            and self._adult is not None
            and self._adult.found(f"{fold(url)}\n{fold(title)}\n{fold(term)}")
        ):
            return ADULT
        if term:
            if self._noise.reason(term):
                return NOISE
            if engine is not None:
                url = _results(places, url, engine)
        return Page(url, host.removeprefix("www."), "" if title == url else title, term)

    def allows_term(self, term: str) -> bool:
        """Whether a search may be named."""
        return not self._noise.reason(term) and (self._adult is None or not self._adult.found(fold(term)))

    def _is_detour(self, host: str, rest: str) -> bool:
        starts = self._detours.get(host)
        if starts is None:
            starts = self._detours[host] = _detours(host)
        return bool(starts) and rest.startswith(starts)

    def _judge_host(self, host: str) -> str:
        if _within(host, self._deny):
            return DENIED
        if self._adult is not None and self._adult.is_zone(host):
            return ADULT
        if (
            self.mode == "allow"
            and not _within(host, self._allow)
            and not ("google.com" in self._allow and _GOOGLE.fullmatch(host))
        ):
            return NOT_ALLOWED
        return ""


def _read(url: str) -> str:
    """An address, and what it says decoded where that is something else."""
    if "%" in url:
        return f"{url}\n{unquote_plus(url, errors='replace')}"
    return f"{url}\n{url.replace('+', ' ')}" if "+" in url else url  # most searches; decoding takes ten times as long


def _domains(entries: Iterable[str]) -> frozenset[str]:
    found: set[str] = set()
    for entry in entries:
        domain = str(entry).strip().lower().removeprefix("*.").strip(".")
        if not domain.isascii():
            try:
                domain = domain.encode("idna").decode("ascii")
            except UnicodeError:
                continue
        if domain:
            found.add(domain)
    return frozenset(found)


def _within(host: str, domains: frozenset[str]) -> bool:
    """Whether the host is one of the domains or below one."""
    while host not in domains:
        _, dot, host = host.partition(".")
        if not dot:
            return False
    return True


def _detours(host: str) -> tuple[str, ...]:
    """What the paths of a host begin with that only lead on."""
    if _GOOGLE.fullmatch(host):
        return ("/url?",)
    domain = host
    while domain not in _DETOURS:
        _, dot, domain = domain.partition(".")
        if not dot:
            return ()
    return _DETOURS[domain]


def _places(host: str) -> tuple[tuple[str, str], ...]:
    """(path, name of the parameter with the search) of an engine's pages of results; none for any other host."""
    if _GOOGLE.fullmatch(host):
        return (("/search", "q"), ("/webhp", "q"), ("/", "q"))
    return tuple((path, name) for suffix, path, name in _ENGINES if host == suffix or host.endswith(f".{suffix}"))


def _name(places: tuple[tuple[str, str], ...], url: str) -> str | None:
    """The name of the parameter that holds the search, where this is a page of results."""
    path = url[url.find("/", 8) :].partition("?")[0].partition("#")[0]
    return next((name for prefix, name in places if (path == "/" if prefix == "/" else path.startswith(prefix))), None)


def _engine(places: tuple[tuple[str, str], ...], url: str) -> str | None:
    """What a results page was asked for; None where it is none."""
    mark = url.find("?")
    fragment = url.find("#")
    wanted = _name(places, url) if mark >= 0 or fragment >= 0 else None
    if wanted is None:
        return None
    # Google once kept the search in the fragment, which then is the newer one.
    for start in (fragment, mark):
        if start >= 0:
            piece = url[start + 1 :] if start == fragment else url[start + 1 :].partition("#")[0]
            for name, value in addresses.parameters(piece):
                if name == wanted and value.strip():
                    return value
    return None


def _results(places: tuple[tuple[str, str], ...], url: str, term: str) -> str:
    """A results page's address with what was searched for and nothing of how."""
    base = url.partition("#")[0].partition("?")[0]
    if base.endswith("/webhp"):
        base = base.removesuffix("webhp") + "search"
    return f"{base}?{_name(places, url)}={quote_plus(term)}"
