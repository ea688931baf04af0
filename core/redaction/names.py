"""Words and names for a secret: their patterns, and which kind of secret a name speaks of."""

from __future__ import annotations

import itertools
import json
import os
import re
from functools import cache, lru_cache

from core.redaction.engine import whether
from core.redaction.rule import expanded, loosened, made

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from core.redaction.rule import Prefilter

with open(f"{os.path.dirname(__file__)}/vocabulary.json", encoding="utf-8") as _file:
    VOCABULARY: dict[str, list[str]] = json.load(_file)
# Ends of names that hold a secret. `auth` alone precedes too much else.
_PASSES = (
    "admin ftp git http imap ldap mail nas pg proxy redis require root smb smtp sql ssh sudo svn user vnc vpn wifi"
).split()
_PASSWORDS = (
    *("_pass", "_pw", "bindpw", "dbpass", "rootpw"),
    *("passcode", "passphrase", "passw(?:or)?d", "passwd", "passwort", "pwd", "authtok"),
    *(r"contrase(?:ñ|n|\\u00f1)a", "mot de passe", "senha", "wachtwoord"),
)
# Words of other languages that are rare elsewhere: whatever follows is worth a look.
FOREIGN = (
    "adgangskode|contrasenya|geslo|haslo|heslo|jelszo|kata sandi|kennwort|kodeord|losenord|lozinka|palavra-passe|parola"
    "|parool|passord|salasana|sifre"
)
_KEYS = (
    "access account admin aes api app application auth client crypto deploy encrypt encryption hmac jwt license master"
    " private rsa secret service session shared signature signing ssh storage subscription webhook"
).split()
_OTHERS = (
    *("bw_session", r"connect\.sid", "credential", "jsessionid", "phpsessid", "secret", "token"),
    r"x-(?:amz|goog)-signature",
)
PASSWORD = rf"{'|'.join(_PASSWORDS)}|{FOREIGN}|(?:{'|'.join(_PASSES)})pass"
NAMED = rf"{'|'.join(_OTHERS)}|(?-i:sessionid)|(?:{'|'.join(_KEYS)})[ _-]?key"


def together(alternatives: Iterable[str]) -> str:
    """Return one pattern of all, sorted: RE2 shares the beginnings of neighbours, and each other one costs states."""
    return "|".join(sorted(set(alternatives)))


# The same for the automaton. One letter with its case is enough: each such letter takes a place in every state.
# Identifiers that machines draw hold `pWD` by chance.
SCREENED_PASSWORD = together(
    (
        *(word for word in _PASSWORDS if word != "pwd"),
        *("(?-i:pw)d", "(?-i:P)wd"),
        *(f"{word}pass" for word in _PASSES),
    )
)
SCREENED_NAMED = together((*_OTHERS, "session(?-i:i)d", *(f"{word}[ _-]?key" for word in _KEYS)))

# Before a word: JSON's escape, another escape, an address's, a colour.
_BEFORE = r"(?:^|[^A-Za-z0-9_-]|\\(?:[nrtbf]|x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4})|%[0-9A-Fa-f]{2}|\[[0-9;]*[mK])"


def screened(prefilters: Iterable[Prefilter]) -> str:
    """Return one pattern for the automaton of all ``prefilters``: names and beginnings of words are in it once."""
    return any_of(itertools.chain(*by_kind(prefilters).values()))


def any_of(patterns: Iterable[str]) -> str:
    """Return one pattern for an automaton, of alternatives that ``by_kind`` returns."""
    return f"(?i:{loosened(together(patterns))})"


def by_kind(prefilters: Iterable[Prefilter]) -> dict[str, list[str]]:
    """Return the alternatives of ``prefilters`` by what they begin with: the name of an automaton → patterns.

    The kinds are: a word; a name of a secret, or what comes before a word; anything else. A state of an automaton is a
    set of places in its patterns. Automata of patterns that are alike need far fewer states than one of all.
    """
    prefilters = tuple(prefilters)
    named: list[str] = []
    for words, behind in (
        (SCREENED_PASSWORD, [prefilter.after_passwords for prefilter in prefilters if prefilter.after_passwords]),
        (SCREENED_NAMED, [prefilter.after_names for prefilter in prefilters if prefilter.after_names]),
    ):
        if behind:
            named.append(rf"(?:{words})[\w.-]*(?:{'|'.join(behind)})")
    begun = [pattern for prefilter in prefilters for pattern in prefilter.opening]
    if begun:
        named.append(rf"{_BEFORE}(?:{together(each for pattern in begun for each in expanded(pattern))})")
    rest = [each for prefilter in prefilters for pattern in prefilter.anywhere for each in expanded(pattern)]
    return {
        "words": [pattern for pattern in rest if pattern[0].isalnum()],
        "named": named,
        "others": [pattern for pattern in rest if not pattern[0].isalnum()],
    }


UUID = r"(?i)[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
# Names with these ends tell where a secret is, or how long it may be.
_ABOUT = (
    r"(?i:[_-](?:name|encryption|method|scheme|mode|plugin|file|path|dir|url|uri|type|kind|id|ids|length|len|count|limit|max|min|policy|field|label|title|hint|"
    r"placeholder|ttl|expiry|expires|expiration|expires_?in|expires_?at|ref|arn|version|prefix|suffix|format|pattern|"
    r"regex|env|var|variable|provider|manager|store|storage|class|column|input|prompt|usage|budget|index|idx|error|status|"
    r"strategy|algorithm|alg|schema|message|text|help|required|enabled|strength|rules?|reset|template|scopes?|endpoint|"
    r"example|docs?|timeout|age|days|hours|minutes|seconds|attempts|retries|history|grace|interval|command|cmd|model|size|per|rate|cost|price|stream|embedding|ids?|list|map|set|mask|at|by|in|for|from|to))$"
    r"|(?:Name|File|Path|Url|Uri|Type|Kind|Id|Length|Count|Limit|Policy|Field|Label|Hint|Placeholder|Ttl|Expiry|Expires|"
    r"ExpiresIn|ExpiresAt|Ref|Arn|Version|Prefix|Suffix|Format|Pattern|Regex|Env|Var|Provider|Manager|Store|Class|Input|"
    r"Prompt|Usage|Budget|Index|Error|Status|Schema|Message|Required|Enabled|Template|Scopes?|Endpoint|Model|Size)$"
    r"|(?:passwordenv|[pP]ublicKeyToken|tokenizer|tokenize|tokens|tokenization|secretary|passwordless)"
    r"|(?:^|[_.-])(?:public|next|prev|previous|page|continue|continuation|sync|cancel|cancellation|design|"
    r"color|colour|max|min|num|total|input|output|cache|cached|stop|bos|eos|pad|unk|sep|cls|mask)[_-]?token$"
    r"|(?:next|prev|page|continuation|cancellation|nextPage)Token$"
)
# Keys that are no secret.
_OTHER_KEYS = (
    r"(?i)(?:public|publishable|site|cache|primary|foreign|partition|sort|range|hash|row|group|object|item|list|query|"
    r"idempotency|dedupe|dedup|translation|i18n|message|event|state|react|file|registry|lookup|index|unique|composite|"
    r"config|dict|json|data|storage|prop|field|column|sub|node|parent|child|hot|known|host|measurement|blob|image|asset|"
    r"upload|document|doc|project|resource|thread|room|job|task|step|test|batch|chunk|content|s3)s?[_-]?key$"
)


@lru_cache(1024)
def named(name: str) -> re.Match[str] | None:
    """Return the match in a name that speaks of a secret (groups ``pass``, ``sure``, ``loose``), or None."""
    return _names().search(name)


@cache
def _names() -> re.Pattern[str]:
    return re.compile(
        rf"(?:(?P<pass>{PASSWORD}|^pass$)|(?P<sure>{NAMED})|(?P<loose>(?<=[a-z0-9])(?:[_-]key|(?-i:Key))$))"
        r"(?(loose)|[\w.-]{0,30}$)",
        re.IGNORECASE,
    )


def is_about(name: str) -> bool:
    """Return True if a name speaks of a secret (its length, file, kind) without holding the secret."""
    return bool(made(_ABOUT).search(name)) and not name.endswith("secret_id")  # Vault's AppRole has a secret_id


def is_other_key(name: str) -> bool:
    """Return True if the key called ``name`` lets nobody in: a cache's, a table's."""
    return bool(made(_OTHER_KEYS).search(name))


def is_id(name: str, value: str) -> bool:
    """Return True if ``value`` only numbers a session, as agents do."""
    return name.endswith("sessionid") and made(UUID).fullmatch(value) is not None


def is_granted(name: str) -> bool:
    """Return True if the name of an environment's variable is that of a grant: ``…PAT``, ``FASTLY_KEY``."""
    return name.endswith("PAT") or bool(re.fullmatch(r"[A-Z][A-Z0-9_]*_KEY", name) and not is_other_key(name))


def is_variable(name: str) -> bool:
    """Return True if a name is that of an environment's secret: ``JWT_SECRET``."""
    return re.fullmatch(r"(?:[A-Z][A-Z0-9_]*_)?SECRET(?:_KEY)?", name) is not None


# Words in letters that are not ASCII's have no place in the automaton: each such letter would make every state larger.
# A second automaton looks for them in texts that are not ASCII.
def _needles() -> tuple[str, ...]:
    """Return what each of the words has, whatever the case of its first letter."""
    found = []
    for word in (
        word for kind in ("passwords", "keys", "codes", "spoken", "spoken_codes") for word in VOCABULARY[kind]
    ):
        if word.isascii():
            continue  # the automaton looks for it
        rest = word[1:]
        if word[0] == word[0].upper():
            found.append(word)
        elif rest.isascii():
            found += [word, word[0].upper() + rest]
        else:
            found.append(rest)
    return tuple(dict.fromkeys(found))


def _first(needle: str) -> int:
    """Return the place of the first letter that is not ASCII's."""
    return next(place for place, letter in enumerate(needle) if not letter.isascii())


_NEEDLES = _needles()
_ESCAPED_MOST = 3
# Their beginnings as JSON in ASCII has them: patterns for the automaton.
ESCAPED = tuple(
    dict.fromkeys(
        "".join(
            f"\\\\u{ord(each):04x}" if ord(each) > 127 else each for each in needle[_first(needle) :][:_ESCAPED_MOST]
        )
        for needle in _NEEDLES
    )
)


# ASCII, the bytes behind the first of a character, and first bytes of signs: quotes, dashes, arrows, emoji.
_NO_LETTERS = bytes((*range(0xC0), 0xC2, 0xE2, 0xEF, *range(0xF0, 0x100)))


def holds_foreign(data: bytes) -> bool:
    """Return True if one of the words may be in ``data``, UTF-8."""
    # Most texts that are not ASCII have only signs beyond it, which this finds ten times faster than RE2.
    if not data.translate(None, _NO_LETTERS):
        return False
    return bool(whether("|".join(_NEEDLES))(data))
