"""The policy for browsing, ``sources.<browser>`` of collections.yml: a judge of addresses, titles and searches.

A browser's history is mostly what nobody wants to remember, so selecting is part of making documents
(docs/sources.md). Everything dropped is counted by reason and listed nowhere.

Words are compared after decoding and folding (NFKC, case): ``%70orn`` and full-width letters change nothing. Substrings
are used only where no other word contains them; other words must match whole ("Essex" is a county).
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote_plus, unquote_plus

import re2

from core.home import shipped
from core.redaction import clean as redact
from core.redaction.automaton import suspects
from core.text import one_line
from ingest.web import addresses

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

NOT_ALLOWED = "not an allowed domain"
DENIED = "denied domain"
ADULT = "not safe for work"
NOISE = "search noise"
INTERNAL = "the browser's own page"
FILE = "file: address"
DATA = "data: address"
SCHEME = "other address"
DETOUR = "a link's detour"
OWN = "the brain's own page"

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
# Pages of `brain web` end their titles so (web/pages/base.html). Remembered, the memory would repeat itself.
_OWN_TITLE = "· Brain"
_OWN_HOSTS = ("127.0.0.1", "localhost")
_MAX_TITLE = 300
_MAX_TERM = 400
# "(3) Inbox": the number changes by the minute and does not describe the page.
_COUNTER = re.compile(r"^\(\d+\+?\)\s+(?=\S)")

# (host suffix, path of its result pages, query parameter with the search).
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
# Host suffix → paths that only count a click and lead on: nobody visited them.
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

# Adult words that match anywhere in an address, a title or a search.
_ANYWHERE = (
    "porn xvideos xhamster xnxx hentai redtube brazzers chaturbate stripchat livejasmin camsoda spankbang bongacams "
    "onlyfans rule34 xxxvideo sexvideo sexcam camgirl camwhore blowjob handjob cumshot gangbang creampie deepthroat "
    "masturbat motherless.com nhentai eporner tnaflix hqporner literotica adultfriendfinder ashleymadison fapello "
    "порно порнух эротик エロ動画 アダルトビデオ 色情 成人视频 成人電影 야동"
).split()
# Adult words that match as whole words.
_ALONE = (
    "nsfw nude nudes milf bdsm bondage fetish erotic erotica orgasm orgasms dildo dildos vibrator boobs tits pussy "
    "threesome swingers striptease upskirt voyeur incest bukkake futanari ecchi yiff escorts "
    "sexy sexting horny slut sluts whore hardcore-sex xxx-rated sexo секс эро"
).split()
_PAIRS = ("sex video", "sex videos", "sex chat", "sex tape", "sex toy", "sex toys", "sex scene", "live sex", "free sex")
_ZONES = (".xxx", ".porn", ".sex", ".adult", ".sexy", ".cam")

# Searches that advertisers and compromised pages leave behind.
_SPAM = (
    "viagra cialis levitra payday-loan payday-loans online-casino casino-bonus free-spins slot-gacor judi-online "
    "situs-slot togel sbobet replica-watches buy-followers cheap-jerseys crypto-giveaway double-your-bitcoin "
    "call-girl call-girls weight-loss-pills work-from-home-job earn-money-fast click-here-to-claim"
).split()
# Programmers search for `${var}`, `<div>` and "[object Object] in a string": a search is broken if it is nothing else.
_TEMPLATE = re.compile(
    r"\{searchterms\??\}|^(?:%s|[$#]?\{+[\w.? ]*\}+|undefined|null|nan|\[object object\])$",
)
_MARKUP = re.compile(r"</(?:script|iframe|a)\b|<\w+[^>]*\b(?:on\w+|src|href)\s*=|javascript:\S")
_ADDRESS = re.compile(r"^(?:[a-z][a-z0-9+.-]*://|www\.)\S+$")
_COMMANDS = re.compile(
    r"\b(?:ignore|disregard|forget)\b.{0,30}\b(?:previous|above|prior|all)\b.{0,30}\b(?:instruction|prompt|rule|message)"
)
_LONGEST_TERM = 400
_LONGEST_WORD = 80
_REPEATS = 4
_WORDS = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")


def with_lists(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return ``sources.chrome`` of collections.yml, with the shipped lists of domains for those that it lacks."""
    section = dict(given)
    for key in ("allow", "deny"):
        if section.get(key) is None:
            section[key] = list(_shipped_section().get(key) or [])
    return section


# Parsing takes 90 ms, and each file of bookmarks asks.
@cache
def _shipped_section() -> dict[str, Any]:
    from core.config_yaml import parse  # with a YAML library, which most runs do not need

    found: dict[str, Any] = parse(shipped("collections.yml"))["sources"].get("chrome") or {}
    return found


class Page(NamedTuple):
    """An address that passed: cleaned, its host without ``www.``, its title, and its search term or ""."""

    url: str
    domain: str
    title: str
    term: str


class Screened(NamedTuple):
    """``plain``: no secret is in the texts; ``decent``: no adult word. False if that is not known."""

    plain: bool
    decent: bool


# An address on a wanted host: the host, the cleaned address, its title and its search term.
Admitted = tuple[str, str, str, str]


class Policy:
    """A judge of addresses, made from ``sources.<browser>`` of collections.yml; ``redacted`` counts secrets by kind."""

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

    def judge(self, url: str, title: str, term: str, *, is_plain: bool = False) -> Page | str:
        """Return the page that is kept of an address, or the reason why none is. ``is_plain``: no text has a secret."""
        admitted = self._admit(url, title, term)
        return admitted if isinstance(admitted, str) else self._settle(admitted, Screened(is_plain, False))

    def judge_all(self, texts: Iterable[tuple[str, str, str]]) -> list[Page | str]:
        """Return ``judge`` of several (address, title, term). The slow patterns look at many texts at once."""
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
        """Return what is known of several texts, one a line."""
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
        if title.endswith(_OWN_TITLE) and host in _OWN_HOSTS:
            return OWN
        # Secrets are removed before anything is cut.
        return host, addresses.clean(url), title, term

    def _settle(self, admitted: Admitted, screened: Screened) -> Page | str:
        """Return the verdict on an admitted address; ``screened``: what is known of its texts."""
        host, url, title, term = admitted
        if not screened.plain and suspects(f"{_read(url)}\n{title}\n{term}".encode("utf-8", "surrogatepass")):
            url, title, term = (redact(text, self.redacted) for text in (url, title, term))
            # The address repeats the search encoded: `my+password+is+…`.
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

    @staticmethod
    def hides(reason: str) -> bool:
        """Return True if a reason only hides an archived visit; the other reasons remove it."""
        return reason == NOT_ALLOWED

    def allows_term(self, term: str) -> bool:
        """Return True if a search term may be shown."""
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
    """Return an address, followed by its decoded form if that differs."""
    if "%" in url:
        return f"{url}\n{unquote_plus(url, errors='replace')}"
    # Most searches have no "%": decoding them takes ten times as long.
    return f"{url}\n{url.replace('+', ' ')}" if "+" in url else url


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
    """Return True if the host is one of the domains or below one."""
    while host not in domains:
        _, dot, host = host.partition(".")
        if not dot:
            return False
    return True


def _detours(host: str) -> tuple[str, ...]:
    """Return the beginnings of paths of a host that only lead on."""
    if _GOOGLE.fullmatch(host):
        return ("/url?",)
    domain = host
    while domain not in _DETOURS:
        _, dot, domain = domain.partition(".")
        if not dot:
            return ()
    return _DETOURS[domain]


def _places(host: str) -> tuple[tuple[str, str], ...]:
    """Return (path, parameter with the search) of a search engine's result pages; none for any other host."""
    if _GOOGLE.fullmatch(host):
        return (("/search", "q"), ("/webhp", "q"), ("/", "q"))
    return tuple((path, name) for suffix, path, name in _ENGINES if host == suffix or host.endswith(f".{suffix}"))


def _name(places: tuple[tuple[str, str], ...], url: str) -> str | None:
    """Return the parameter that holds the search, None if this is no page of results."""
    path = url[url.find("/", 8) :].partition("?")[0].partition("#")[0]
    return next((name for prefix, name in places if (path == "/" if prefix == "/" else path.startswith(prefix))), None)


def _engine(places: tuple[tuple[str, str], ...], url: str) -> str | None:
    """Return the search term of a page of results; None for any other page."""
    mark = url.find("?")
    fragment = url.find("#")
    wanted = _name(places, url) if mark >= 0 or fragment >= 0 else None
    if wanted is None:
        return None
    # Google once kept the search in the fragment; it is newer than the one in the query.
    for start in (fragment, mark):
        if start >= 0:
            piece = url[start + 1 :] if start == fragment else url[start + 1 :].partition("#")[0]
            for name, value in addresses.parameters(piece):
                if name == wanted and value.strip():
                    return value
    return None


def _results(places: tuple[tuple[str, str], ...], url: str, term: str) -> str:
    """Return the address of a page of results with the search alone."""
    base = url.partition("#")[0].partition("?")[0]
    if base.endswith("/webhp"):
        base = base.removesuffix("webhp") + "search"
    return f"{base}?{_name(places, url)}={quote_plus(term)}"


def fold(text: str) -> str:
    """Return ``text`` decoded once, in compatibility form and small letters."""
    if "%" in text or "+" in text:
        text = unquote_plus(text, errors="replace")
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
    return text.casefold()


class Words:
    """A compiled list of words not safe for work: the shipped ones and ``more``."""

    def __init__(self, more: Iterable[str] = ()) -> None:
        own = [fold(word).strip() for word in more]
        alone = [
            re.escape(word).replace(r"\-", r"\W").replace(r"\ ", r"\W+") for word in (*_ALONE, *_PAIRS, *own) if word
        ]
        anywhere = "|".join(map(re.escape, _ANYWHERE))
        # RE2, because re tries every word at every letter. It has no look-around: the bounds of a word are matched.
        self._find = re2.compile(rf"{anywhere}|(?:^|[^\pL\pN])(?:{'|'.join(sorted(alone))})(?:[^\pL\pN]|$)").search

    def found(self, text: str) -> bool:
        """Return True if a folded text contains one of the words."""
        return self._find(text) is not None

    def is_zone(self, host: str) -> bool:
        """Return True if a host is in a top-level domain for adults."""
        return host.endswith(_ZONES)


class Noise:
    """Separates searches that a person made from injected, mangled and spam ones."""

    def __init__(self, more: Iterable[str] = ()) -> None:
        spam = [fold(word).strip() for word in (*_SPAM, *more)]
        words = "|".join(sorted(re.escape(word).replace(r"\-", r"\W").replace(r"\ ", r"\W+") for word in spam if word))
        self._spam = re.compile(rf"(?<![^\W_])(?:{words})(?![^\W_])").search

    def reason(self, term: str) -> str:
        """Return the reason why a person did not make a search, "" if a person did."""
        folded = fold(term).strip()
        words = _WORDS.findall(folded)
        if not words:
            return "no words"
        if len(folded) > _LONGEST_TERM:
            return "too long"
        if _TEMPLATE.search(folded) or _MARKUP.search(folded):
            return "template or markup"
        if _ADDRESS.match(folded):
            return "an address"
        if max(map(len, words)) > _LONGEST_WORD:
            return "no language"
        most = max(map(words.count, set(words)))
        if most > _REPEATS and 2 * most > len(words):
            return "repetition"
        if self._spam(folded):
            return "spam"
        if _COMMANDS.search(folded):
            return "instructions to a model"
        return ""
