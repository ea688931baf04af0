"""Web addresses that are safe to keep: without credentials and without tracking.

Services put secrets into query strings: reset tokens, signed links, session ids. A parameter is removed because of its
name or because its value looks random; the others stay, since they often name the page.
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
# Parameters that name no page. Search engines have more, which ``ingest.web.policy`` removes.
_TRACKING = frozenset(
    "gclid gclsrc dclid gbraid wbraid fbclid msclkid twclid ttclid igshid igsh yclid mc_cid mc_eid _ga _gl "
    "_hsenc _hsmi hsctatracking mkt_tok vero_id oly_anon_id oly_enc_id s_cid icid ncid cmpid ref_src ref_url "
    "ved sca_esv sca_upv gs_lcrp gs_lcp gs_l sxsrf source_ve_path".split()
)
_TRACKING_PREFIXES = ("utm_", "pk_", "piwik_", "mtm_", "matomo_", "hsa_", "__hs", "_hs")
# Words that are more often harmless: a short plain value is kept (`?code=404`, `?state=open`).
_SOFT = frozenset(
    ("code", "state", "key", "keys", "hash", "checksum", "policy", "reset", "challenge", "expires", "sign")
)
_CODE_DIGITS = 4
_SIGNS = str.maketrans("", "", "-_. []")
_SHORT = 12

# The host as browsers see it: a backslash ends it as a slash does; the last of several @ counts.
_PARTS = re.compile(r"\s*([A-Za-z][A-Za-z0-9+.-]*)://(?:[^/?#\\]*@)?(?:\[([^\]/?#\\]*)\]?|([^:/?#\\]*))[^/?#\\]*")
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_JWT = re.compile(r"eyJ[\w-]{8,}\.[\w-]+\.?[\w-]*")
_RANDOM = re.compile(r"[A-Za-z0-9_\-+/=.~%]{20,}")
_HEX = re.compile(r"[0-9a-fA-F-]{32,}")
# A secret follows one of these in a path.
_ANNOUNCES = (
    r"(?i:(/(?:[\w-]*(?:reset|verify|verification|confirm|confirmation|activate|activation|invite|invitation|magic|token"
    r"|unsubscribe|login|signin|auth|sso|oauth|callback|share|join)[\w-]*)/"
)
_PATH_SECRET = re.compile(_ANNOUNCES + r")([\w\-+=.~%]{16,}))")
# One or two parts later, as in `/reset/password/…`, there may also be a title with a year.
_PATH_LATER = re.compile(_ANNOUNCES + r"(?:[\w-]{1,40}/){1,2})([\w\-+=.~%]{16,}))")
_SESSION_PATH = re.compile(r"(?i);(?:jsessionid|phpsessid|sid)=[^/?#;]*")
_SIMPLE_FRAGMENT = re.compile(r"[\w./!~,:-]{1,120}", re.ASCII)


def clean(address: str, depth: int = _DEPTH) -> str:
    """Return an http(s) address without user name, password, secrets, tracking and text fragment.

    Cleaning a clean address changes nothing. An address of more than 2,000 characters loses its query string, then its
    end. A text without ``//`` is only cut.
    """
    address = "".join(address.split())
    if _is_plain(address):
        return address
    # The rest of a mangled address may read otherwise than the whole address did.
    for _ in range(_ROUNDS):
        cleaned = _clean(address, depth)
        if cleaned == address:
            return cleaned
        address = cleaned
    return address.partition("#")[0].partition("?")[0]


def _is_plain(address: str) -> bool:
    """Return True if an address is a scheme, a host and a path without secrets."""
    if len(address) > _MAX or "://" not in address:
        return False
    # Written out: a loop or a regular expression takes three times as long for every address.
    if "?" in address or "#" in address or "@" in address or ";" in address or "eyJ" in address:
        return False
    # A secret in a path is long and follows a part that announces it.
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
    """Return (scheme, host, rest) of an address.

    Scheme and host are in small letters, without user, port, brackets and closing dot; an absent host is "".
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
    """Return the decoded (name, value) of each parameter of a query string."""
    found: list[tuple[str, str]] = []
    for piece in query.split("&"):
        name, _, value = piece.partition("=")
        found.append((unquote_plus(name, errors="replace"), unquote_plus(value, errors="replace")))
    return found


def redacted(address: str, redact: Callable[[str], str]) -> str:
    """Return an address after ``redact`` looked at each decoded part of its path, query and fragment."""
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
    """Return True if the name or the look of the value says that a parameter is a secret."""
    hits = _secret_words(name)
    if hits:
        harmless = hits <= _SOFT and len(value) < _SHORT and not _mixed(value)
        if not harmless or ("code" in hits and value.isdigit() and len(value) >= _CODE_DIGITS):
            return True
    return _looks_random(value)


@lru_cache(1024)
def _secret_words(name: str) -> frozenset[str]:
    """Return the words in a parameter's name that announce a secret. Cached: a few names repeat."""
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
            # A nested address or query string has secrets of its own.
            nested = _nested(plain, depth)
            if nested is None:
                continue
            if nested != plain:
                piece = f"{name}={quote_plus(nested)}"
        kept.append(piece)
    return "&".join(kept)


def _nested(value: str, depth: int) -> str | None:
    """Return a value without the secrets of its own parameters; None if it nests too deep."""
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
    """Return the place within a page or the route within an application, never a login's answer."""
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
    """Return True if letters and digits are mixed as in a generated value."""
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
    # Words joined by signs are a name; long runs of mixed letters and digits, or of mixed case, are not.
    return _is_made(value) or any(len(run) >= 16 and _shuffled(run) for run in re.split(r"[-_./+~%=]", value))


def _shuffled(run: str) -> bool:
    changes = sum(left.isupper() != right.isupper() for left, right in pairwise(run))
    return changes * 3 > len(run)
