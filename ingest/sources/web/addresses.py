"""Web addresses made fit to be kept: no credentials, nothing that only served tracking.

A query string is where services put what must not be written down (reset tokens, signed links, session ids). What goes
is decided by the parameter's name and by what its value looks like; the rest stays, since it often is the page.
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING
from urllib.parse import quote, quote_plus, unquote, unquote_plus

if TYPE_CHECKING:
    from collections.abc import Callable

_MAX = 2000
_DEPTH = 2
_ROUNDS = 6

# Parameter names, in words: `accessToken`, `access_token`, `X-Amz-Signature` all hold one of these.
_SECRET_WORDS = frozenset(
    "token tokens secret secrets password passwd passphrase pwd pass pw auth authorization authuser oauth "
    "apikey accesskey key keys credential credentials sig sign signature hmac jwt saml samlrequest "
    "samlresponse relaystate session sessionid sess sid phpsessid jsessionid aspsessionid cfid cftoken sso "
    "ticket otp totp pin csrf xsrf nonce code verifier challenge assertion bearer invite invitation magic "
    "reset cookie private refresh cred idtoken policy expires state hash checksum email mail phone ssn iban".split()
)
# Only these name no page; those of search engines' own go with the search (``ingest.sources.chrome.policy``).
_TRACKING = frozenset(
    "gclid gclsrc dclid gbraid wbraid fbclid msclkid twclid ttclid igshid igsh yclid mc_cid mc_eid _ga _gl "
    "_hsenc _hsmi hsctatracking mkt_tok vero_id oly_anon_id oly_enc_id s_cid icid ncid cmpid ref_src ref_url "
    "ved sca_esv sca_upv gs_lcrp gs_lcp gs_l sxsrf source_ve_path".split()
)
_TRACKING_PREFIXES = ("utm_", "pk_", "piwik_", "mtm_", "matomo_", "hsa_", "__hs", "_hs")
# Words that more often say something harmless: a short plain value is kept (`?code=404`, `?state=open`).
_SOFT = frozenset(
    ("code", "state", "key", "keys", "hash", "checksum", "policy", "reset", "challenge", "expires", "sign")
)
_CODE_DIGITS = 4
_SIGNS = str.maketrans("", "", "-_. []")
_SHORT = 12

# Where browsers see the host: a backslash ends it as a slash does, and of several @ the last one counts.
_PARTS = re.compile(r"\s*([A-Za-z][A-Za-z0-9+.-]*)://(?:[^/?#\\]*@)?(?:\[([^\]/?#\\]*)\]?|([^:/?#\\]*))[^/?#\\]*")
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_JWT = re.compile(r"eyJ[\w-]{8,}\.[\w-]+\.?[\w-]*")
_RANDOM = re.compile(r"[A-Za-z0-9_\-+/=.~%]{20,}")
_HEX = re.compile(r"[0-9a-fA-F-]{32,}")
# After one of these a path goes on with what must be known to no one else.
_ANNOUNCES = (
    r"(?i:(/(?:[\w-]*(?:reset|verify|verification|confirm|confirmation|activate|activation|invite|invitation|magic|token"
    r"|unsubscribe|login|signin|auth|sso|oauth|callback|share|join)[\w-]*)/"
)
_PATH_SECRET = re.compile(_ANNOUNCES + r")([\w\-+=.~%]{16,}))")
# One or two parts later, as in `/reset/password/…`, stand titles with a year, too.
_PATH_LATER = re.compile(_ANNOUNCES + r"(?:[\w-]{1,40}/){1,2})([\w\-+=.~%]{16,}))")
_SESSION_PATH = re.compile(r"(?i);(?:jsessionid|phpsessid|sid)=[^/?#;]*")
_SIMPLE_FRAGMENT = re.compile(r"[\w./!~,:-]{1,120}", re.ASCII)


def clean(address: str, depth: int = _DEPTH) -> str:
    """An http(s) address without user name and password, secrets, tracking and text fragments.

    Cleaning a clean address changes nothing. One that is longer than 2,000 characters loses its query string, then its
    end. Raises nothing; what is no address with ``//`` is only cut.
    """
    address = "".join(address.split())
    if _is_plain(address):
        return address
    # What is left of a mangled address may read otherwise than the whole of it did.
    for _ in range(_ROUNDS):
        cleaned = _clean(address, depth)
        if cleaned == address:
            return cleaned
        address = cleaned
    return address.partition("#")[0].partition("?")[0]


def _is_plain(address: str) -> bool:
    """Whether there is nothing but a scheme, a host and a path of which nothing goes."""
    if len(address) > _MAX or "://" not in address:
        return False
    # One by one: a third of the time of a loop or an expression, for every address there is.
    if "?" in address or "#" in address or "@" in address or ";" in address or "eyJ" in address:
        return False
    # What a path must not say follows a part that announces it, and is long.
    parts = address.split("/")
    if len(parts) < 5 or max(map(len, parts[4:])) < 16:
        return True
    return _PATH_SECRET.search(address) is None and _PATH_LATER.search(address) is None


def _clean(address: str, depth: int) -> str:
    scheme, found, rest = address.partition("://")
    if not found:
        return address[:_MAX]
    rest, _, fragment = rest.partition("#")
    rest, _, query = rest.partition("?")
    authority, slash, path = rest.partition("/")
    if "@" in authority:
        authority = authority.rpartition("@")[2]
    path = _path(slash + path) if slash else ""
    made = f"{scheme}://{authority}{path}"
    kept_query = _query(query, depth) if query else ""
    kept_fragment = _fragment(fragment, depth) if fragment else ""
    whole = f"{made}{'?' + kept_query if kept_query else ''}{'#' + kept_fragment if kept_fragment else ''}"
    return whole if len(whole) <= _MAX else made[:_MAX]


def split(address: str) -> tuple[str, str, str]:
    """(scheme, host, the rest), scheme and host in small letters, without user, port, brackets and closing dot.

    Host is "" where the address has none.
    """
    match = _PARTS.match(address)
    if match is None:
        scheme, found, rest = address.partition(":")
        return scheme.strip().lower() if found else "", "", rest if found else address
    scheme, bracketed, host = match.groups()
    return (
        scheme.lower(),
        (host if bracketed is None else bracketed).strip().rstrip(".").lower(),
        address[match.end() :],
    )


def parameters(query: str) -> list[tuple[str, str]]:
    """(name, value) of a query string's parameters, decoded."""
    found: list[tuple[str, str]] = []
    for piece in query.split("&"):
        name, _, value = piece.partition("=")
        found.append((unquote_plus(name, errors="replace"), unquote_plus(value, errors="replace")))
    return found


def redacted(address: str, redact: Callable[[str], str]) -> str:
    """``address`` whose parts of the path, parameters and place ``redact`` was asked of, each as it reads decoded."""
    rest, mark, fragment = address.partition("#")
    path, asks, query = rest.partition("?")

    def part(text: str) -> str:
        return _as_decoded(text, redact, unquote, lambda plain: quote(plain, safe=""))

    def pairs(text: str) -> str:
        split = [piece.partition("=") for piece in text.split("&")]
        return "&".join(
            f"{name}{equals}{_as_decoded(value, redact, unquote_plus, quote_plus)}" if equals else part(name)
            for name, equals, value in split
        )

    return f"{'/'.join(map(part, path.split('/')))}{asks}{pairs(query)}{mark}{pairs(fragment)}"


def _as_decoded(
    text: str, redact: Callable[[str], str], decode: Callable[..., str], encode: Callable[[str], str]
) -> str:
    if "%" not in text and "+" not in text:
        return text
    plain = decode(text, errors="replace")
    cleaned = redact(plain)
    return text if cleaned == plain else encode(cleaned)


def is_secret(name: str, value: str) -> bool:
    """Whether a parameter must not be kept, by its name or by the look of its value."""
    hits = _secret_words(name)
    if hits:
        harmless = hits <= _SOFT and len(value) < _SHORT and not _mixed(value)
        if not harmless or ("code" in hits and value.isdigit() and len(value) >= _CODE_DIGITS):
            return True
    return _looks_random(value)


@lru_cache(1024)
def _secret_words(name: str) -> frozenset[str]:
    """The words of a parameter's name that say that it holds a secret; the same few names come again and again."""
    words = {word.lower() for word in _WORD.findall(name)}
    words.add(name.lower().translate(_SIGNS))
    return _SECRET_WORDS & words


def _query(query: str, depth: int) -> str:
    kept: list[str] = []
    for piece in query.replace(";", "&").split("&") if "&" not in query else query.split("&"):
        name, has_value, value = piece.partition("=")
        plain_name = unquote_plus(name, errors="replace") if "%" in name or "+" in name else name
        if not plain_name or plain_name.lower() in _TRACKING or plain_name.lower().startswith(_TRACKING_PREFIXES):
            continue
        plain = unquote_plus(value, errors="replace") if "%" in value or "+" in value else value
        if is_secret(plain_name, plain) or (not has_value and _looks_random(plain_name)):
            continue
        if "://" in plain or "=" in plain:
            # An address within the address, or another query string, has secrets of its own.
            nested = _nested(plain, depth)
            if nested is None:
                continue
            if nested != plain:
                piece = f"{name}={quote_plus(nested)}"
        kept.append(piece)
    return "&".join(kept)


def _nested(value: str, depth: int) -> str | None:
    """A parameter's value without what its own parameters hold; None where it nests too deep to be looked through."""
    if depth <= 0:
        return None
    if "://" in value:
        return clean(value, depth - 1)
    head, mark, query = value.partition("?")
    if mark:
        kept = _query(query, depth - 1)
        return f"{head}?{kept}" if kept else head
    return _query(value, depth - 1) if "&" in value or _is_pair(value) else value


def _is_pair(value: str) -> bool:
    name, _, rest = value.partition("=")
    return bool(rest.strip("=")) and name.isascii() and name.replace("_", "").replace("-", "").isalnum()


def _fragment(fragment: str, depth: int) -> str:
    """The place within a page, or the route within an application; never a login's answer."""
    fragment = fragment.partition(":~:")[0]
    head, mark, query = fragment.partition("?")
    if not mark and "=" in fragment:
        head, mark, query = "", "", fragment
    if head and (not _SIMPLE_FRAGMENT.fullmatch(unquote(head, errors="replace")) or _looks_random(head)):
        head = ""
    kept = _query(query, depth) if query else ""
    return f"{head}{mark}{kept}" if kept else head


def _path(path: str) -> str:
    if ";" in path:
        path = _SESSION_PATH.sub("", path)
    if len(path) > _SHORT:
        path = _PATH_LATER.sub(_hide_made, _PATH_SECRET.sub(_hide, path))
        if "eyJ" in path:
            path = _JWT.sub("-", path)
    return path


def _hide(match: re.Match[str]) -> str:
    return match[1] + "-" if _mixed(match[2]) else match[0]


def _hide_made(match: re.Match[str]) -> str:
    return match[1] + "-" if _is_made(match[2]) else match[0]


def _is_made(value: str) -> bool:
    return any(len(run) >= 16 and _mixed(run) for run in re.split(r"[-_./+~%=]", value))


def _mixed(value: str) -> bool:
    """Whether letters and digits are mixed as in what a machine made up."""
    digits = sum(character.isdigit() for character in value)
    letters = sum(character.isalpha() for character in value)
    return digits >= 3 and letters >= 3


def _looks_random(value: str) -> bool:
    if len(value) < 20:
        return False
    if _JWT.search(value):
        return True
    if " " in value or "://" in value:
        return False
    if _HEX.fullmatch(value):
        return True
    if not _RANDOM.fullmatch(value):
        return False
    # Words joined by signs are a name; long runs that mix letters and digits, or cases without order, are none.
    return _is_made(value) or any(len(run) >= 16 and _shuffled(run) for run in re.split(r"[-_./+~%=]", value))


def _shuffled(run: str) -> bool:
    changes = sum(left.isupper() != right.isupper() for left, right in pairwise(run))
    return changes * 3 > len(run)
