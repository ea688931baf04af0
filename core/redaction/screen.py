"""The cheap test over whole chunks: can there be anything to redact in these bytes?

One automaton in C++ (RE2: time linear in the input, whatever the patterns). It must let through everything that
``core.redaction.rules`` would replace, in plain text and in JSON's spelling of it (quotes and line ends behind
backslashes); a test holds the two together. What it lets through in vain costs time only.
"""

from __future__ import annotations

import re
from functools import cache

from core.redaction.foreign import ESCAPED, holds_foreign
from core.redaction.plain_signs import plain_signs
from core.redaction.providers import BEGINNINGS, DISTINCT, PROVIDERS, WITHIN
from core.redaction.rows import LINES, SPANS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any

    from core.redaction.row import Row

# Ends of names that hold a secret. `auth` alone stands before too much else.
_PASSES = "admin ftp imap ldap mail pg redis require root smtp sql ssh sudo user vnc".split()
_PASSWORDS = (
    *("_pass", "_pw", "bindpw", "dbpass", "rootpw"),
    *("passcode", "passphrase", "passw(?:or)?d", "passwd", "passwort", "pwd"),
    *(r"contrase(?:ñ|n|\\u00f1)a", "mot de passe", "senha", "wachtwoord"),
)
# Of other languages: so rare elsewhere that whatever follows is worth a look. Letters that are not ASCII's would each
# make every state of the automaton larger.
FOREIGN = (
    "adgangskode|contrasenya|geslo|haslo|heslo|jelszo|kata sandi|kennwort|kodeord|losenord|lozinka|palavra-passe|parola"
    "|parool|passord|salasana|sifre"
)
_KEYS = (
    "access account admin aes api app application auth client crypto deploy encrypt encryption hmac jwt license master"
    " private rsa secret service session shared signature signing ssh storage subscription webhook"
).split()
_OTHERS = (
    *(
        "bw_session",
        r"connect\.sid",
        "credential",
        "jsessionid",
        "phpsessid",
        "secret",
        "token",
        "x-(?:amz|goog)-signature",
    ),
)
PASSWORD = rf"{'|'.join(_PASSWORDS)}|{FOREIGN}|(?:{'|'.join(_PASSES)})pass"
NAMED = rf"{'|'.join(_OTHERS)}|(?-i:sessionid)|(?:{'|'.join(_KEYS)})[ _-]?key"


def _together(alternatives: Iterable[str]) -> str:
    """One pattern of all, in the order of their letters.

    RE2 shares the beginnings of those that stand side by side. Each that is not shared costs at every byte that
    leads to a state not met before.
    """
    return "|".join(sorted(set(alternatives)))


def _each(words: str, behind: str) -> tuple[str, ...]:
    """Each of ``words`` (with bars between them) with what stands behind it, so that its beginning can be shared."""
    return tuple(word + behind for word in words.split("|"))


def alternatives(pattern: str) -> list[str]:
    """``pattern`` taken apart where bars are in it, and in no group."""
    if "|" not in pattern:
        return [pattern]
    depth = start = 0
    found = []
    for piece in re.finditer(r"\\.|\[(?:\\.|[^\]\\])+\]|[()|]", pattern):
        depth += (piece[0] == "(") - (piece[0] == ")")
        if piece[0] == "|" and not depth:
            found.append(pattern[start : piece.start()])
            start = piece.end()
    return [*found, pattern[start:]]


_PASSWORD = _together((*_PASSWORDS, *(f"{word}pass" for word in _PASSES)))
# Of a case that counts one letter is enough: each letter whose case counts takes a place of its own in every state.
_NAMED = _together((*_OTHERS, "session(?-i:i)d", *(f"{word}[ _-]?key" for word in _KEYS)))

_SHUT = (
    r"\]?(?:\\*[\"'`])?[\])]*(?:\\*[\"'`])?(?:[ \t]|\\t)*(?:: ?&?[A-Za-z][\w.<>\[\]| ]*)?(?:value *|\?)?"
    # Behind a comma only what is quoted is a value: prose has many.
    r"(?:[:=>][:=,>]*\**(?:\s|\\[rnt])*|(?:,|(?:\|\||\?\?)=?)(?:\s|\\[rnt])*\\*[\"'])[\"'`\\brfun@]*"
)
_BETWEEN = r"[\w.-]*"
_DIGITS = r"[^\s\"'`\\;]*[0-9][^\s\"'`\\;]*[0-9]"
_STOP = r"\s\\\"'`,;(){}\[\]<>|&"
# Of a value also what JSON writes for a control character.
_INNER = rf"(?:[^{_STOP}]|\\[bfu])"


def _loose(pattern: str) -> str:
    """``pattern`` with counts that cost the automaton few states; what matched before still matches."""
    return re.sub(r"\{(\d+)(?:,\d*)?\}", lambda match: f"{{{min(int(match[1]), 16)},}}", pattern)


# How the body of a private key begins, in base64: PKCS #1, PKCS #8 (RFC 5208), SEC 1 (RFC 5915), OpenSSH.
KEY_BEGINNINGS = (
    r"MII[A-P][A-Za-z0-9+/][AQgw]IBA(?:AKC|DANBgkqhkiG9w0BAQ)|MII[A-P][A-Za-z0-9+/]{2}B[A-Za-z0-9+/]BgkqhkiG9w0BBQ"
    r"|MHcCAQEEI|MIGkAgEBBDA|MIH[bc]AgEBBE|MI(?:GHAgEAMBMG|G2AgEAMBAG|HuAgEAMBAG)ByqGSM49|M[CE][4c]CAQAwBQYDK2V"
    r"|b3BlbnNzaC1rZXktdjEA"
)


def _screened(rows: Sequence[Row], *, is_word: bool) -> tuple[str, ...]:
    """The patterns of ``rows`` for the automaton: those that begin a word, or the others."""
    found: dict[str, list[str]] = {}
    for row in rows:
        if row.is_rare:
            if not is_word:
                found.setdefault("", []).append(row.screened)
        elif row.is_word is is_word:
            # What several begin with is there once.
            shared = row.head if row.screened.startswith(row.head) and row.head else ""
            found.setdefault(shared, []).append(row.screened.removeprefix(shared))
    patterns = (f"{head}(?:{'|'.join(rests)})" if head else "|".join(rests) for head, rests in found.items())
    return tuple(re.sub(r"\{\d+,\d*\}|\{\d\d+\}", lambda count: _loose(count[0]), pattern) for pattern in patterns)


# What may stand before a word, where it is not JSON's escape of that: another escape, an address's, a colour.
_BEFORE = r"(?:^|[^A-Za-z0-9_-]|\\(?:[nrtbf]|x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4})|%[0-9A-Fa-f]{2}|\[[0-9;]*[mK])"
# No token begins within a word: without that, each beginning would cost states at every place in the text.
_BEGINNINGS = (
    *(BEGINNINGS.get(kind) or _loose(pattern) for kind, pattern in PROVIDERS.items() if kind not in WITHIN),
    r"eyJ[A-Za-z0-9_-]{8,}(?:[.\\\"'`]|\s)",
    *_each("ak|sk|pat", r"[_-](?:[a-z][a-z0-9]+[_-])*[A-Za-z0-9]{8}"),
    # Discord's: what stands between points would cost states behind every point.
    r"[MNO][DTjz][AEIMQUYcgk][w-z0-5][A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{6}\.",
)

# Rule of ``core.redaction.rules`` → what follows a name there. The names stand apart, so that the automaton of all
# rules has them once: it pays for each place where one may begin, at every byte that leads to a state not met before.
_BESIDE = (
    # Over lines: a name and a value side by side.
    r"(?:\\*[\"'])?(?:<\\*/(?:key|name)>)?(?:\\[nrt]|[\s,{\\\"'>-])*"
    r"(?:(?:type|sensitive|nullable|description) *= *(?:\w+|\\*\"[^\"\n]*\")(?:\\[nrt]|\s)+)*"
    r"(?:<(?:string|value)>|(?:value|default)\\*[\"']? *[:=])"
)
_ENCODED = r"(?:%5C)*(?:%2[27])?(?:%20|\+)?%3[AD]"
_LABELLED = (
    r"(?:(?:\*\*?|__) ?[:=][*_]*|:(?:\*|__)[*_]*"
    r"|[*_]* (?:\[[^\]\\\n]*\]|\([^)\\\n]*\)) ?[:=][*_]*|[`*]*:?[`*]*(?:[ \t]|\\t)*\|)"
    # What is replaced has a digit.
    r"(?:[ \t]|\\t)*[`*\"'\\]*[^\s|`*\"'\\]*[0-9]"
)
# The head of a table: a bar behind it, a column or the end of the line, and below it a line or fields.
_BREAK = r"(?:\\r|\r)?(?:\n|\\n)"
_DRAWN = rf"[ `*]*\|[^\n\\]*{_BREAK}[ \t]*[|+]?[ :]*--|[ \t]+(?:\xe2\x94|\\u250)"
# What stands in the columns before it: of code that goes on in the next line nothing does.
_FIELD, _PART = r"(?:[!-+.-:<-\[\]-~-]|\\\\?\")", r"(?:  +|\t|\\t|[,;|])"


def _columns(value: str) -> str:
    """What follows a name in a table's head where columns are parted by spaces, tabs or signs, to a row's ``value``."""
    fields = rf" *{_FIELD}+{_PART}(?:{_FIELD}*{_PART})*"
    return (
        r"\\*\"?(?:(?:  +|\t|\\t)(?:[\w \t]|\\t)*|(?:[,;|](?:[\w.-]|\\*\")+)+)"
        rf"{_BREAK}(?:{fields})?\\*\"?{value}"
        rf"|\\*\"?[ \t]*{_BREAK}(?:{fields}\\*\"?{value}|[ \t]*-+\+)"
    )


_CHOSEN = _columns(r"[!-+.-:<-\[\]-~-]{4}")
_TABLE = rf"{_DRAWN}|[ \t]*{_BREAK}[ \t]*--|{_CHOSEN}"
_BLOCK = rf"(?:\\*[\"'])?: *[|>][+-]? *(?:#[^\n\\]*)?{_BREAK}"
_AFTER_PASSWORD = {
    "assignment": rf"{_SHUT}[^\s\\\"'`]{{3}}|[\"'`\\\]]*\)\.[a-z]",
    "pair": rf"(?:{_BESIDE}|{_BLOCK}|{_TABLE})",
    "label": _LABELLED,
    "place": _ENCODED,
    "stored": r" -[a-z]",
}
_AFTER_NAMED = {
    # A secret has a letter and a digit; counts (`"tokens": 12`) have not.
    "assignment": rf"{_SHUT}(?:[0-9]+[A-Za-z_+/-]|[^0-9{_STOP}]{_INNER}*[0-9])",
    "pair": (rf"(?:{_BESIDE}|{_BLOCK}|{_DRAWN}|{_columns('[A-Za-z0-9_]{16}')}|_(?:hex|urlsafe)\()"),
    "label": _LABELLED,
    "place": _ENCODED,
    "stored": r"(?: --?[a-z]|[ :](?:add|bulk|create|edit|generic|import|push|put|set|update|upload|versions)\s)",
}


# Rule → what it looks for where a word begins: apart, so that what comes before is there once.
_OPENING: dict[str, tuple[str, ...]] = {
    "row": _screened(LINES, is_word=True),
    "span": _screened(SPANS, is_word=True),
    "token": tuple(f"(?-i:{each})" for pattern in _BEGINNINGS for each in alternatives(pattern)),
    "key": tuple(f"(?-i:{each})" for each in alternatives(KEY_BEGINNINGS)),
    # Names that say little: the value has to say the rest.
    "assignment": (
        *_each(
            "pass|psk|pw",
            r"(?:\\*[\"'`])?[ \t]*[:=]+[ \t]*[\"'`\\]*" rf"(?:[0-9]+[A-Za-z]|[^0-9{_STOP}]{_INNER}*[0-9])",
        ),
        *_each(FOREIGN, r"[^A-Za-z0-9\n]"),
    ),
    "flag": (
        rf"-[\w./:-]*(?:(?:{_PASSWORD}|pass)[\w-]*(?:[ =\t]|\\t)(?:\s|\\t)*[^\s-]"
        rf"|(?:{_NAMED})[\w-]*(?:[ =\t]|\\t)(?:\s|\\t)*[\"'\\]*[^\s-]\S*[0-9])",
        r"--[\w./:-]*(?:auth|bearer|key|pat)(?:[ =\t]|\\t)(?:[\s\"'\\]|\\t)*[A-Za-z0-9+/_.-]{16}",
    ),
    "pair": (rf"(?:{FOREIGN})(?:{_TABLE})", rf"pass(?:{_DRAWN}|[ \t]*{_BREAK}[ \t]*-+\+)"),
    # Of curl's only the option: a line that goes on would double the states.
    "cookie": (r"-b\s*[\"'\\]*[\w.%$-]+=",),
    "program": (r"-[lu]\s+[^\s-]\S*\s+-p", "-pw "),
    "told": _each("auth(?:token)?|wandb login", r"\s+[\"']?[\w-]{20}"),
    "said": (
        r"pw\s+[^\s:=\\\"'`]*[0-9]",
        # What looks like one and nothing else.
        *_each(
            r"clave|contraseña|contrasena|contrase\\u00f1a|creds|mdp|mot de passe|passphrase|passwort|password"
            "|passwd|pw|senha|wachtwoord",
            r"(?:[^\n\\\"A-Za-z0-9/+-]|\\[tu])(?:[^\n\\\"]|\\[tu])*[!#$%^@&*?~+]",
        ),
        *_each(FOREIGN, r"(?:e[nt]|a)?[^A-Za-z0-9\n]"),
    ),
}
# Rule → what else it needs to be there: each beginning that can be shared by itself.
_OWN: dict[str, tuple[str, ...]] = {
    "row": _screened(LINES, is_word=False),
    "span": _screened(SPANS, is_word=False),
    # Apart from other places, whose patterns are slow, and which few texts need.
    "label": (),
    "token": (
        *(each for pattern in WITHIN.values() for each in alternatives(pattern)),
        *(f"(?-i:[_-]{each})" for pattern in DISTINCT.values() for each in alternatives(pattern)),
    ),
    "key": ("----[ -](?:BEGIN|END)[A-Z0-9 ]*(?:PRIVATE KEY|OpenVPN Static)", "Private-Lines: "),
    "private": (r"(?:<|&lt;)[\s\\/nrt]*private(?:\\|\s|>|&gt;)",),
    "url": (r":\\*/\\*/[^\s/:@\"'<>\\]*:[^\s/\"'<>\\]+@",),
    "header": (
        *_each("basic|bearer", r"(?:\s+|\\*[\"'],\s*\\*[\"'])[A-Za-z0-9._~+/=-]{16}"),
        r"authorization[\"'\\]*\]?\s*[:=]\s*[\"'\\]*(?:\w+\s+)?[A-Za-z0-9._~+/=-]{8}",
    ),
    "assignment": (
        # Names of keys of no known kind, too.
        *_each(
            r"[._=-]key|_auth|(?-i:K)ey|(?-i:P)AT",
            r"(?:\\*[\"'`])?\]?[ \t]*[:=]+>?(?:\s|\\[rnt])*[\"'`\\]*(?:[a-z]{2,8}[_-])?[A-Za-z0-9+/]{16}",
        ),
    ),
    "flag": (
        # fish, Windows, csh: `set -gx NAME VALUE`; Docker's and C's.
        r"(?:config(?:ure)?[ \t]set|set(?:x|env|(?:[ \t]+--?[a-z]+)+)|ENV|#[ \t]*define)[ \t]+"
        rf"[\w./:-]*(?:{_PASSWORD}|pass|{_NAMED})[\w-]*[ \t]+[^\s-]",
    ),
    "cookie": (
        r"cookie[\"'\\]*\]?\s*[:=,]\s*[\"'\\]*[\w.%$-]+=",
        r"--cookie[ =]",
    ),
    "code": (
        r"(?:[?&]|&amp;|u0026|%26)(?:code|key|sig|auth|signature|appid|access_key)"
        r"=(?:4\\*(?:/|%2F)0|[A-Za-z0-9._~%/+\\-]{16})",
    ),
    # A JSON Web Key.
    "pair": (
        r"\"kty\\*\"",
        r"ttpOnly\\*\"",
        rf"[,;](?-i:p)ass(?:{_CHOSEN})",
        rf"insert(?:\s|\\[nrt])+(?:ignore )?into [^(\n]*\([^()]*(?:{_PASSWORD}|pass|{_NAMED})[^()"
        rf"]*\)(?:\s|\\[nrt])*values",
        # A manifest of Kubernetes'.
        r"ind(?:\\*\")?:\s*\\*[\"']?(?-i:S)ecret",
        # Typed into a field by an agent's browser.
        r"lement\\*\"\s*:\s*\\*\"[^\"\\]*passw",
        # What prints a secret in the line below, and lists of codes.
        *("ssl rand", "wg gen", "pwgen ", "-admin-sec"),
        r"(?:ckup|covery|gency|ratch|scue)[ _-]code",
    ),
    "stored": (
        "config set --secret",
        r"config:set\s",
        r"env[ :](?:add|set)\s",
        r"kv (?:patch|put)\s",
        "put-parameter ",
    ),
    "place": (
        *_each("basic|bearer", r"(?:%20|\+)"),
        r"%3A%2F%2F[\w.~-]*%3A[\w.~*!$()%-]+%40",
        *_each("[dy] phrase|mnemonic", r"[\"'\\]*\s?[:=]"),
        r"\"auth\\*\"\s*:\s*\\*\"[A-Za-z0-9+/]",
        r"/private-[0-9a-f]{8}",
        r"hooks?\\*/(?:[\w.-]+\\*/)*[A-Za-z_-]*[0-9][A-Za-z0-9_-]{8}",
        r"(?-i:A)C[0-9a-f]{32}",
        r"jdbc:oracle:",
        *_each("expdp|impdp|sqlldr|sqlplus", r"\s"),
        r"@(?:tcp|unix|udp)\(",
        r":(?:[0-9]{4,5}|\*):[\w.*-]+:[\w.*-]+:[^\s:]",
        r":\\*/\\*/[A-Za-z0-9_-]+(?::[\w-]*)?@",
        r"(?-i:TRUE|FALSE)(?:\t|\\t)/",
        r"tup key[^A-Za-z]",
    ),
    # Folders of Claude's are called `-Users-…`.
    "curl": (r"(?:\s|\\[nt])(?:-u[ =]*|--(?:proxy-)?user[ =]+)[^\s:]+:[^\s/]",),
    "program": (
        r"login(?:\s|\\[nrt])+\S+(?:\s|\\[nrt])+password",
        r"dentified (?:with \S+ )?by\s+\\*[\"']",
        *("sshpass -p", "tps? (?:-a|--auth)[ =]", "tpasswd -", r"\|\s*sudo -", "-stdin", r"password\s+\\*[\"']"),
        *(r"[= ]password\(\\*'", r"auth ?= ?\(", r"creds? ?= ?\(", *_each("basic|digest", r"auth\(")),
        # Words so rare that what follows is left to the rule: it would cost states.
        *(r"m(?:ysql|ariadb)(?s:.{0,80})(?:\s|\\[nt])-p\S", "ocker login", "redis-cli"),
        r"ldap(?:search|add|modify|delete|passwd|whoami|modrdn) ",
        *("chpasswd", "--with-token", "SecureString ", "[^<]<<<[^<]", r"-pass(?:in|out|wd|word)?[ =][\"'\\]*pass:"),
        *(r"private-key\s*<\(", r"\|\s*(?:sudo\s+)?(?:cryptsetup|kinit|ssh-add|passwd|docker secret)"),
        *("--passphrase-fd", r"requirepass\s", r"masterauth\s", "openssl passwd "),
        *_each("az|dman|oc", " login "),
        *(
            "sqlcmd ",
            "zip ",
            "7(?-i:z)[ar]? ",
            "mongo(?:sh|dump|restore)? ",
            "openssl enc ",
            "nmcli ",
            "wpa_passphrase ",
        ),
        *("smbclient ", "secret put ", r"net use(?:r)? ", "ssh-keyg", "freerdp", "lftp ", "rabbitmqc", "rclone ob"),
        *("vault lo", "gh secret", "cqlsh ", "cypher-sh", "(?-i:P)SK ", "twine ", "skopeo", "influx ", "bcp "),
        *("ipmitoo", "quitto_", r"-basic\.", r"i-token\."),
    ),
    "call": (
        *_each(r"authenticate|basic_?auth|login|PlainAuth|sign_?in\w*", r"\((?:\w+,\s*)?\\*[\"']"),
        *(r"password\(\\*[\"']", r"create_(?:super)?user\(", r"jwt\.(?:sign|verify|encode|decode)\("),
        *(r"getConnection\(", r"PDO\(", r"wifi\w*\.[a-z]+\("),
        *(r"ll_in[ (]", "kCredential\\(", r"crypt\.hash\w*\(b?\\*[\"']"),
    ),
    # What is replaced has two digits.
    "told": (
        rf"seal key [0-9]:\s+{_DIGITS}",
        *_each("api_?key|bearer_?auth|secret|token", rf"\(\\*[\"']{_DIGITS}"),
        *_each("access[ _-]?key|api[ _-]?key|secret key|secret|token", rf"\s+(?:is|was|to):?\s+[\"'`\\]*{_DIGITS}"),
        r"(?:my|our|your|api)\s(?:(?:api|access|secret|auth)\s)?(?:secret|token|key)\s*"
        rf"(?:is|was|[:=]|–|\\u2013|->)\s+[\"'`\\]*{_DIGITS}",
        *_each("api[ _-]?key|secret|token", rf"\s\\*[\"'`]{_DIGITS}"),
        *_each("api[ _-]?key|secret|token", rf"\s+for\s[^\n\\:,;.=]*(?:is|was|[:=])\s+[\"'`\\]*{_DIGITS}"),
        r"add-auth(?:token)?\s+[\"']?[\w-]{20}",
        *_each(r"client(?:v\d)?|iasearch", r"\(\s*\\*[\"'](?:[^\"'\\\n]{1,80}\\*[\"'],\s*\\*[\"'])?[\w-]{24}"),
    ),
    "said": (
        *_each(
            "account|credentials?|creds|log[ -]?in|user(?:name)?",
            r"\s?(?::|with|as|using|are)\s+[\w.@-]+\s*[/:]\s*[^\s/]",
        ),
        *_each(
            "passcode|passphrase|passw(?:or)?d|pwd",
            r"(?:'s)?\s+(?:(?:for|of|on)\s|[^\s:=\\\"'`(]*(?:[!@#$%^&+0-9]|\*[^\s*])|\\*[\"'`])",
        ),
        *_each("passcode|passphrase|passw(?:or)?d|pwd", r"\s+(?:is|was|has been|to|as):?\s+[\"'`\\]*[^\s]*[0-9a-z]"),
        r"passw(?:or)?d\s*\|\s*[^\s|]",
        *_each(
            r"contraseña|contrasena|contrase\\u00f1a|mot de passe|passwort|senha|wachtwoord",
            r"\s+(?:(?:lautet|ist|est|es|is|é|è|\\u00e[89])\s|[dfpv])",
        ),
        "as the passw",
    ),
}


@cache
def _apart() -> str:
    return _parts(_APART)


def _parts(rules: Iterable[str]) -> str:
    """What any of ``rules`` needs to be there."""
    found = [each for rule in rules for each in _OWN[rule]]
    behind = [rule for rule in rules if rule in _AFTER_NAMED]
    if behind:
        after_password = "|".join(_AFTER_PASSWORD[rule] for rule in behind)
        after_named = "|".join(_AFTER_NAMED[rule] for rule in behind)
        found.append(rf"(?:{_PASSWORD}){_BETWEEN}(?:{after_password})")
        found.append(rf"(?:{_NAMED}){_BETWEEN}(?:{after_named})")
    opening = [each for rule in rules for each in _OPENING.get(rule, ())]
    if opening:
        found.append(rf"{_BEFORE}(?:{_together(opening)})")
    return f"(?i:{_together(found)})"


# Rule → what it needs to be there.
PARTS = {rule: _parts([rule]) for rule in _OWN}
RULES = (*PARTS, "foreign")
# Rule → what is in all that it looks for, in small letters: without, its automaton need not be made.
_NEEDED = {"private": b"private", "url": b"@", "curl": b"curl"}
# What a markdown escape looks like in a word: `API\_KEY`, `ghp\_…`. Looked at without its backslash.
ESCAPE = r"[A-Za-z0-9]\\+[_=+~*:-]"
# A character that could have been written plainly was not: looked at once it is decoded.
_ESCAPED = r"\\u(?:00[2-7]|[fF][fF]1[aAdD]|[fF][eE]55|2236)"

# The rules whose finds go on over lines' ends.
OVER_LINES = ("private", "key", "span", "pair")
# Bytes that a long text is looked through in, and more than any rule goes on behind where it begins.
PIECE = 1 << 14
OVER = 1 << 13
# Bytes that a thread is worth.
_MUCH = 1 << 20

# Where a command goes on in the next line: in text, and in JSON.
_GOES_ON = r"\\(?:\r?\n|\\(?:\\r)?\\n)(?:[ \t]|\\t)*"
# What colours a terminal's text, which may part a name from its value.
COLOUR = r"\x1b\[[0-9;]*[mK]"
# Signs that HTML and East Asian keyboards write in another way (`core.redaction.plain_signs`).
_SIGN = r"&(?:amp;)?(?:quot|apos|colon|equals|#[0x][0-9a-zA-Z]+|#[0-9]+);|\xef\xbc[\x9a\x9d]|\xef\xb9\x95|\xe2\x88\xb6"
_COLOUR = rf"(?:{COLOUR}|\\u001[bB]\[[0-9;]*[mK])"

_match: Callable[[bytes], list[int] | None] | None = None
# The rows of ``core.redaction.rows``, which have an automaton of their own: in one with all others each pattern
# multiplies the states, and what a state costs is more than a second look at the bytes.
_APART = ("row", "span")


def suspects(data: bytes) -> bool:
    """Whether ``data`` (UTF-8 text, or JSON in UTF-8) may hold something to redact."""
    global _match
    if _match is None:
        anything = "|".join((_parts([rule for rule in _OWN if rule not in _APART]), ESCAPE, _ESCAPED, *ESCAPED))
        _match = _set(anything, rf"{_GOES_ON}|{_COLOUR}|{_SIGN}")
    found = _match(data)
    apart = whether(_apart())
    plain = data
    if found == [1]:
        # The rules take a command that goes on in the next line for one, and a text in colours for one without.
        plain = re.sub(_GOES_ON.encode(), b" ", data)
        plain = re.sub(_COLOUR.encode(), b"", plain) if b"\x1b" in data or b"u001" in data else plain
        plain = plain_signs(plain.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")
        found = _match(plain)
    if (found and found != [1]) or apart(data) or (plain is not data and apart(plain)):
        return True
    return not data.isascii() and holds_foreign(data)


def ahead(data: bytes, places: Sequence[slice]) -> Callable[[], tuple[list[bool], set[str]]]:
    """Have much ``data`` looked through on a thread while the caller goes on: RE2 works without Python's lock.

    What is returned waits for it, and gives of each of ``places``, which are ``data`` in pieces of whole lines, whether
    it may hold something to redact, and those of ``OVER_LINES`` that may find something in all of it.
    """

    def look() -> tuple[list[bool], set[str]]:
        if not suspects(data):
            return [False] * len(places), set()
        return [suspects(data[place]) for place in places], suspected(data, OVER_LINES)

    if len(data) < _MUCH:
        return look
    import threading

    found: list[tuple[list[bool], set[str]]] = []
    thread = threading.Thread(target=lambda: found.append(look()), name="redaction", daemon=True)
    try:
        thread.start()
    except RuntimeError:  # there is none to be had
        return look

    def told() -> tuple[list[bool], set[str]]:
        thread.join()
        return found[0] if found else look()

    return told


def suspected(data: bytes, rules: Iterable[str] = RULES) -> set[str]:
    """Those of ``rules`` that may find something in ``data``, UTF-8 text."""
    if len(data) <= PIECE:
        return _suspected(data, rules)
    # Of a long text little is suspicious: only that is worth the states of one automaton a rule.
    found: set[str] = set()
    for start in range(0, len(data), PIECE):
        found |= _suspected(data[start : start + PIECE + OVER], [rule for rule in rules if rule not in found])
    return found


def _suspected(data: bytes, rules: Iterable[str]) -> set[str]:
    if not suspects(data):
        return set()  # one automaton instead of one a rule
    folded = data.lower()
    return {
        rule
        for rule in rules
        if (
            holds_foreign(data)
            if rule == "foreign"
            else _NEEDED.get(rule, b"") in folded and whether(PARTS[rule])(data)
        )
    }


@cache
def whether(pattern: str) -> Callable[[bytes], object]:
    """What says whether ``pattern`` is in bytes, and not where: a set of one, whose automaton has fewer states."""
    return _set(pattern)


def _set(*patterns: str) -> Callable[[bytes], list[int] | None]:
    """What says which of ``patterns`` are in bytes, by their numbers; None where none is."""
    import re2

    whole = re2.Set.SearchSet(_options())
    for pattern in patterns:
        whole.Add(pattern.encode())
    whole.Compile()
    found: Callable[[bytes], list[int] | None] = whole.Match
    return found


@cache
def compiled(pattern: str) -> Any:
    """A pattern for bytes: RE2's object, with the methods of ``re.Pattern``."""
    import re2

    return re2.compile(pattern.encode(), options=_options())


def _options() -> Any:
    import re2

    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1  # bytes as they come; all patterns are ASCII
    options.max_mem = 64 << 20  # of the automaton's states, made as they are met
    return options
