"""Secrets behind a name: assignments, options, headers, cookies, addresses, and what a mapping calls its values."""

from __future__ import annotations

import re

from core.redaction.engine import compiled
from core.redaction.looks import (
    HEX,
    WORDED,
    is_basic,
    is_chosen,
    is_composed,
    is_drawn,
    is_filler,
    is_invented,
    is_key,
    is_listed,
    is_name,
    is_password,
    is_placeholder,
    is_pointed,
    is_secret,
    is_worded,
)
from core.redaction.mark import MARK
from core.redaction.names import (
    FOREIGN,
    NAMED,
    PASSWORD,
    SCREENED_NAMED,
    SCREENED_PASSWORD,
    is_about,
    is_granted,
    is_id,
    is_other_key,
    is_variable,
    named,
)
from core.redaction.rule import (
    BREAK,
    END,
    QUOTE,
    SPACE,
    Found,
    Prefilter,
    Row,
    Rule,
    cleaned,
    each,
    first,
    made,
    without,
)
from core.redaction.shapes import is_any, is_code, is_kept

TYPE_CHECKING = False
if TYPE_CHECKING:
    from core.redaction.rule import Cut

_URL = (
    r"(?<![A-Za-z0-9])[A-Za-z][A-Za-z0-9+.-]{1,24}:\\?/\\?/[^\s/:@\"'<>\\]{0,120}:"
    r"(?P<value>[^\s/\"'<>\\]{1,300})@(?=[\w\[.${-])"
)
_HEADER = (
    r"(?i)(?P<head>\b(?:proxy-)?authorization\b[\"'\\]{0,6}\]?\s{0,3}[:=]\s{0,3}[\"'\\]{0,6}(?:(?P<scheme>[A-Za-z]\w{2,15})\s{1,3})?"
    r"|\b(?P<bare>bearer|basic)(?:\s{1,3}|\\*[\"'],\s{0,2}\\*[\"']))(?P<value>[A-Za-z0-9._~+/-]{8,4096}={0,2})"
)
_SEPARATOR = (
    r"(?P<shut>(?:/i?)?\]?\\*[\"'`]?\]?(?:(?<=\])\\*[\"'`])?\){0,2})(?P<sep>[ \t]{0,40}"
    # Typed (`let password: &str =`), assigned, compared, an entry of a mapping, an argument, an element of XML.
    r"(?:: ?&?[A-Za-z][\w.<>\[\]| ]{0,30}?=(?![=>])|:=|=>|===?|\?=|(?<=[\s\"'])value ?=(?=[\"'])"
    # A value for where nothing is given.
    r"|(?:\|\||\?\?)=?(?=\s{0,3}\\*[\"'])|\?:(?=\s{0,3}\\*[\"'])"
    r"|=|:(?!//)|,(?=\s*\\*[\"'])|>(?=[^<\s@])"
    # Typed into a field: `getByLabel('Password').fill('…')`.
    r"|(?<=\))\.(?:fill|type|press_?sequentially|send_?keys|set_?value)\(\s{0,2}(?=\\*[\"']))"
    r"(?:\*\*)?[ \t]{0,8}(?:\\?\n[ \t]{1,8}(?=[\"']))?)"
)
_VALUE = (
    r"(?:[brun@]{0,2}(?P<quote>\\*[\"'`])(?P<quoted>(?:(?!(?P=quote))[^\n]){1,4096})(?P=quote)?"
    r"|(?P<bare>(?:[^\s\"'`,;(){}\[\]<>|\\&]|(?<=[\w!$#*])&(?!amp;|[\w.%-]{1,60}=)(?=\w)){3,4096}(?P<next>[(\[{]?)))"
)
ASSIGNMENT = (
    rf"(?i)(?:(?:(?P<pass>{PASSWORD})|{NAMED}|(?P<auth>(?<![\w.])_auth\b)|(?P<loose>(?<=[A-Za-z0-9])(?:[._-]key|(?-i:Key))\b|(?<==)key(?==)|(?<![A-Za-z0-9])(?-i:PAT)\b))"
    rf"(?P<tail>(?:[_-]?[A-Za-z0-9]{{1,12}}){{0,2}})|(?P<little>(?<![\w-])(?:pass|pw|psk)|(?<=[a-z0-9])(?-i:Pass|Pw)))"
    rf"{_SEPARATOR}{_VALUE}"
)
# The beginnings of an assignment. RE2 finds them; `re` would try all of them at each character.
_NAME = rf"(?i:{PASSWORD}|{NAMED}|_auth|[._-]key|key=|(?-i:Key|PAT)|pass|pw|psk)"
_FLAG = (
    rf"(?i)(?:(?<![\w-])--?"
    rf"|\b(?:set(?:x|env|(?:[ \t]{{1,3}}--?[a-z]{{1,12}}){{1,4}})|config(?:ure)?[ \t]set|(?-i:ENV))[ \t]{{1,3}}"
    rf"|(?-i:#[ \t]{{0,3}}define)[ \t]{{1,3}})"
    rf"(?P<name>[\w./:-]{{0,40}}?(?:(?P<pass>{PASSWORD}|pass)|{NAMED})[\w-]{{0,20}})[ \t]{{1,3}}"
    rf"(?:(?P<quote>[\"'])(?P<quoted>[^\"'\n]{{1,4096}})(?P=quote)|(?P<bare>[^\s\"'`,;(){{}}\[\]<>|\\&-][^\s\"'`;|]{{2,4096}}))"
)
# Behind options with names that say little, only what looks random goes.
_OPTION = (
    r"(?<![\w-])--(?P<name>[\w-]{0,30}(?:auth|key|pat|bearer))(?:[ \t]{1,3}|=)\\*[\"']?"
    r"(?P<value>[A-Za-z0-9+/_.-]{20,4096}={0,2})(?![\w/.])"
)
# A code that a server of OAuth hands over for a token is short; a longer one is a playground's program.
_CODE_MOST = 200
# Codes, keys and signatures of links. The ampersand may be HTML's, JSON's (as Go writes it), or an inner address's.
_CODE = (
    r"(?:[?&]|&amp;|\\u0026|%26)(?P<name>(?:[a-z]{2,12}_)?code|ticket|invite|key|sig|auth|[Ss]ignature|appid|access_key)="
    r"(?P<value>[A-Za-z0-9._~%/+-]{8,2048})"
)
# A header, an option of curl, an assignment to document.cookie.
_COOKIES = (
    r"(?i)(?:\b(?:set-)?cookie2?[\"'\\]{0,6}\]?[ \t]{0,3}[:=,][ \t]{0,3}[\"'\\]{0,6}|--cookie[ =]{1,3}[\"']?"
    r"|\bcurl(?:[^\n]|\\\n){0,400}?\s-b[ \t]{0,3}[\"']?)"
    r"(?P<pairs>[\w.%$-]{1,64}=[^\s;,\"'\\]{1,4096}(?:;[ \t]?[\w.%$-]{1,64}=[^\s;,\"'\\]{1,4096}){0,60})"
)
_COOKIE = r"(?P<name>[\w.%$-]{1,64})=(?P<value>[^\s;]+)"
_SESSION = r"(?i)sess(?:ion)?[-_]?id|^li_at$"
# Names of settings with values that people choose.
_CHOSEN_NAME = r"(?i)(?:secret|credentials?)$"
_LETS_IN = r"(?i)sess|sid\b|auth|token|csrf|xsrf|login|remember|jwt"
# The person who logs in precedes the password.
_USER = r"(?i)\b(?:user(?:name)?|login|e-?mail|benutzer(?:name)?)\\*[\"']?\s?[:=]\s?\S{1,60}\s{1,40}\Z"
_WORD = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.")
# Behind a name: signs of a value for where the name has none.
_ELSE = ("||", "??", "?:")
# Characters of a name, and of another name in the place of its value.
_NAMED_MOST = 120
# ODBC's and ADO's ways to write a value with a semicolon in it
# (https://learn.microsoft.com/sql/odbc/reference/syntax/sqldriverconnect-function).
_BRACED = (
    r"(?im)[;\"']\s{0,3}(?:pwd|password)\s{0,3}=\s{0,3}(?:\{(?P<value>(?:[^{}\n]|\}\}){3,200})\}(?!\})"
    r"|(?P<quote>\\*[\"'])(?P<quoted>(?:(?!(?P=quote))[^\n\\]){3,200})(?P=quote))(?=\s{0,3}(?:[;\"'\\]|$))"
)


def assigned(name: str, value: str) -> str:
    """Return the kind of secret that ``value`` is under ``name``, as in a mapping; "" if it is none."""
    name = name.replace("\\", "")  # markdown's escapes
    if name == "auth":
        return "basic" if is_basic(value) else ""
    found = named(name)
    if found is None or is_about(name) or is_id(name, value):
        return ""
    if found["pass"]:
        # The value of an environment's variable is plain, as behind `NAME=`.
        plain = name.isupper()
        return "password" if is_password(value, quoted=not plain, tight=plain) else ""
    if found["loose"]:
        return "secret" if is_key(name, value) else ""
    return "secret" if is_secret(value, quoted=True) else ""


def is_session(name: str, value: str) -> bool:
    """Return True if a cookie's value may let somebody in."""
    # `session_id` is no name of something else here.
    if is_placeholder(value.removeprefix(".")) or (is_about(name) and not made(_SESSION).search(name)):
        return False
    is_named = len(value) >= 8 and any(map(str.isdigit, value)) and made(_LETS_IN).search(name)
    return bool(is_named) or is_secret(value.removeprefix("."), quoted=False)


def _url(match: re.Match[str]) -> Cut | None:
    value = match["value"]
    return None if len(value) < 3 or is_filler(value) else first(match, "url")


def _header(match: re.Match[str]) -> Cut | None:
    value, bare = match["value"], match["bare"]
    scheme = (match["scheme"] or bare or "").lower()
    if is_placeholder(value) or value.startswith("AWS4-HMAC-"):
        return None
    if bare or not scheme:
        if len(value) < (16 if bare else 12) or not is_secret(value, quoted=False):
            return None
    elif len(value) < (20 if value.isalpha() else 40) and re.fullmatch(r"[a-z]+(?:[._-][a-z]+)*|[A-Za-z]+", value):
        return None  # `Bearer test-token`
    return first(match, scheme if scheme in ("bearer", "basic") else "authorization")


def _without_cookies(text: str, counts: dict[str, int]) -> str:
    def replaced(match: re.Match[str]) -> str:
        at = match.start("pairs") - match.start()
        return match[0][:at] + cleaned(_COOKIE, _cookie, match["pairs"], counts)

    return made(_COOKIES).sub(replaced, text)


def _cookie(match: re.Match[str]) -> Cut | None:
    return first(match, "cookie") if is_session(match["name"], match["value"]) else None


def _without_assigned(text: str, counts: dict[str, int]) -> str:
    """Return ``text`` without assigned secrets, tried only where a name begins."""
    data = text.encode("utf-8", "surrogatepass")
    find, match_at = compiled(_NAME).search, made(ASSIGNMENT).match
    pieces: list[str] = []
    done = at = 0  # characters
    sought = seen = 0  # bytes
    while (name := find(data, sought)) is not None:
        start = name.start()
        at += len(data[seen:start].decode("utf-8", "surrogatepass"))
        seen, sought = start, start + 1
        match = match_at(text, at)
        if match is None:
            continue
        replaced = without(match, assignment(match), counts)
        followed = text[match.end() : match.end() + 3].lstrip().startswith(_ELSE)
        if replaced == match[0] and len(replaced) < _NAMED_MOST and (replaced[-1] in ":=" or followed):
            continue  # the place of its value holds a name: `credentials: secret_key: …`
        pieces += (text[done:at], replaced)
        done = at = match.end()
        seen = sought = start + len(match[0].encode("utf-8", "surrogatepass"))
    text = "".join((*pieces, text[done:])) if pieces else text
    if ";" in text and any(map(text.__contains__, ("={", '="', "='", '=\\"'))):
        text = cleaned(_BRACED, _braced, text, counts)
    return text


def assignment(match: re.Match[str]) -> Cut | None:
    """Return the secret in a match of an assignment, None if it has none."""
    text = match.string
    group = "bare" if match["quoted"] is None else "quoted"
    quoted = group == "quoted"
    value, separator = match[group], match["sep"].strip()
    name = _name(match)
    if separator == ":" and value[0] in "-?+=" and text.endswith("${", 0, match.end("sep") - len(name) - 1):
        return _default(match, name, value)
    if (match["next"] and not quoted) or (separator == "," and not (quoted and match["shut"])):
        return None
    if separator == "," and is_listed(value):
        return None
    if not quoted and separator == ":":
        value = value.rstrip(".:?")
    if match["little"]:
        return first(match, _little(match, value, quoted=quoted), len(value), group)
    if is_about(name) or is_id(name, value):
        return None
    if match["loose"] or match["auth"]:
        sure = is_basic(value) if match["auth"] else is_granted(name) and made(HEX).fullmatch(value)
        return first(match, "secret" if sure or is_key(name, value) else "", len(value), group)
    if not match["pass"]:
        # A secret of an environment is chosen like a password: `JWT_SECRET=keyboard-cat-9`.
        found = (
            is_secret(value, quoted=quoted)
            or (is_variable(name) and is_password(value, quoted=quoted, tight=not quoted))
            or (quoted and name.lower().endswith("secret") and separator in (":", "=") and is_composed(value))
            or (separator == "=" and made(_CHOSEN_NAME).search(name) and is_worded(value) and not value.islower())
        )
        return first(match, "secret" if found else "", len(value), group)
    tight = match["sep"] == "="
    if tight and not quoted and name.startswith("--") and "." in value and any(map(str.isdigit, value)):
        quoted = True  # an option's value is no field of code
    # A number in JSON has no quotes: `"password": 84719203`.
    quoted = quoted or (value.isdigit() and separator == ":" and match["shut"].endswith(('"', "'")))
    quoted = quoted or (separator == ">" and text.startswith("</", match.end()))
    if tight and not quoted:
        after = text[match.end() : match.end() + 2]
        if after[:1] in (",", ")") and value.replace("_", "").isalpha():
            return None  # an argument called by its name, in code
        if (after[:1] == ")" or after in (",", ", ", ",\n")) and is_name(value, loose=True):
            return None
    alone = not (quoted or tight) and _is_alone(match)
    # In YAML a variable of the environment has its plain value, as behind `NAME=`.
    found = is_password(value, quoted=quoted, tight=tight or (alone and name.isupper()))
    found = found or (alone and is_invented(value))
    return first(match, "password" if found else "", len(value), group)


def _is_alone(match: re.Match[str]) -> bool:
    """Return True if an assignment is all that its line has, as in a file of settings."""
    text, start = match.string, match.end("tail") - len(_name(match))
    before = text[text.rfind("\n", 0, start) + 1 : start]
    return not before.strip(" \t-\"'") and text[match.end() : match.end() + 1] in ("", "\r", "\n")


def _little(match: re.Match[str], value: str, *, quoted: bool) -> str:
    """Return the kind of what is assigned to a name that says little: ``pass``, ``pw``, ``psk``."""
    little = match["little"].lower()
    plain = (
        quoted
        or match["sep"] in ("=", ">")
        or little == "psk"
        or made(_USER).search(match.string, max(0, match.start() - 180), match.start()) is not None
    )
    if little == "psk" and quoted:
        return "password" if len(value) >= 8 and not is_placeholder(value) else ""
    # `PASS: TestPath/#00` is a test that passed.
    chosen = is_chosen(value, plain=plain, odd_signs="/_:" if match["little"] == "pw" else "/_:#")
    return (
        "password" if chosen or is_drawn(value) or (match["little"] == "pw" and made(WORDED).fullmatch(value)) else ""
    )


def _default(match: re.Match[str], name: str, value: str) -> Cut | None:
    """Return the value that a shell takes if a variable is not set: ``${DB_PASSWORD:-…}``."""
    default = value[1:]
    if value[0] != "-" or MARK in value or is_about(name):
        return None
    found = is_chosen(default, plain=True) if match["pass"] else is_secret(default, quoted=True)
    if not found:
        return None
    start = match.start("bare") + 1
    return ("password" if match["pass"] else "secret"), start, start + len(default)


def _name(match: re.Match[str]) -> str:
    """Return the whole name of which the end was matched."""
    head = start = match.start()
    while head > 0 and start - head < 60 and match.string[head - 1] in _WORD:
        head -= 1
    return match.string[head : match.end("tail")]


def _braced(match: re.Match[str]) -> Cut | None:
    group = "value" if match["value"] else "quoted"
    value = match[group]
    if " " in value and any(map(str.isdigit, value)) and not is_filler(value):
        found = True
    elif is_filler(value) or not re.search(r"[^\w\s.\[\]()'\"]", value):
        found = is_chosen(value, plain=True)
    else:
        found = any(map(str.isalnum, value)) and not re.search(r"[$%{]\w+[}%]?|\+|\(", value)
    return first(match, "password" if found else "", group=group)


def _flag(match: re.Match[str]) -> Cut | None:
    group = "bare" if match["quoted"] is None else "quoted"
    value = match[group]
    quoted = group == "quoted" or is_pointed(value)
    if is_about(match["name"]):
        return None
    if match["pass"]:
        kind = "password" if is_password(value, quoted=quoted, tight=True) else ""
    else:
        kind = "secret" if is_secret(value, quoted=quoted) else ""
    return first(match, kind, group=group)


def _option(match: re.Match[str]) -> Cut | None:
    name, value = match["name"], match["value"]
    if is_about(name) or is_other_key(name) or not (is_key(name, value) or made(HEX).fullmatch(value)):
        return None
    return first(match, "secret")


def _code(match: re.Match[str]) -> Cut | None:
    value = match["value"]
    if not value.startswith(("4/0", "4%2F0", "4%2f0")):
        mixed = any(map(str.isupper, value)) and any(map(str.islower, value))
        mixed |= match["name"] in ("appid", "access_key")
        if not 16 <= len(value) <= _CODE_MOST or not mixed or not is_secret(value, quoted=False):
            return None
    elif is_placeholder(value):
        return None
    return first(match, "secret")


def is_given(found: Found) -> int:
    """Accept a password as a program's argument."""
    value = found.value.rstrip(")")
    number = value.isdigit() or not (any(map(str.isdigit, value)) or is_invented(value))
    return len(value) if not number and value[:1] not in "-$/." and is_password(value, quoted=False, tight=True) else 0


def is_random(found: Found) -> int:
    """Accept a token as machines draw it: letters and digits in some number."""
    value = found.value
    drawn = is_secret(value, quoted=True) and sum(map(str.isdigit, value)) > 1
    return len(value) if drawn and not is_placeholder(value) and not found.after[:1].isalnum() else 0


def is_assigned(found: Found) -> int:
    """Accept a password behind a name of the environment that says little."""
    return len(found.value) if is_chosen(found.value, plain=True) and not is_filler(found.value) else 0


def is_bracketed(found: Found) -> int:
    """Accept a password with brackets in it: no call has a digit or a sign before them, and nothing in them."""
    value = found.value.rstrip(",")
    parts = re.fullmatch(r"(.*?)[({\[](.*?)[)}\]](.*)", value)
    if parts is None or re.search(r"[\"',=]", parts[2]) or not any(map(str.isdigit, value)):
        return 0
    is_call = (
        re.fullmatch(r"[A-Za-z_][\w.]*", parts[1]) and not re.match(r"\w", parts[3]) and re.search(r"\w|^$", parts[2])
    )
    return 0 if is_call or is_filler(value) else len(value)


# An argument in quotes, or one that ends with the word.
GIVEN = r"\\*[\"']?"
ARGUMENT = r"[^\s\"'`\\|;<>]{4,200}"
# Names that the rule of assignments does not know, and values that it would cut short.
ROWS = (
    # `"accessCode": 58213`, `verification_code=482913`.
    Row(
        "otp",
        "code, pin, puk, otp",
        r"(?:(?:access|door|gate|alarm|entry|lock|unlock|verification|confirmation|auth|sms|otp|mfa|2fa)"
        r"[ _-]?(?:code|pin)"
        r"|\b(?:pin(?:[ _-]?code)?|puk|otp|passcode))"
        rf"{QUOTE}?{SPACE}?[:=]{SPACE}?{QUOTE}?",
        "[0-9]{4,8}",
        is_code,
        is_word=False,
        tail=END,
    ),
    # Keys of wireless networks are often numbers.
    Row(
        "password",
        "wlan, wifi, wi-fi, wpa",
        r"(?:wlan|wi-?fi|wpa[23]?)[ _-]?"
        r"(?:schl(?:ü|ue|\\u00fc)ssel|key|password|passwort|kennwort|passphrase|psk|code|pass)"
        rf"{QUOTE}?(?: (?:is|ist|lautet|est|es))?[ :=]{{1,3}}{QUOTE}?",
        "(?:[0-9]{4}(?:-[0-9]{4}){1,4}|[0-9]{8,20})",
        is_any,
    ),
    # The key that members of Consul and Serf share.
    Row(
        "secret",
        "encrypt",
        rf"encrypt(?:_key)?{QUOTE}?{SPACE}?[:=]{SPACE}?{QUOTE}",
        r"(?:[A-Za-z0-9+/]{22}==|[A-Za-z0-9+/]{43}=)",
        is_kept,
    ),
    Row(
        "password",
        "_auth",
        rf"(?-i:_AUTH){QUOTE}?{SPACE}?[:=]{SPACE}?{QUOTE}?",
        r"[^\s\"'`\\,;:<>@]{6,200}",
        is_assigned,
        is_word=False,
    ),
    Row(
        "secret",
        "sending, write, read, ingest, app_key, appkey",
        rf"(?:sending|write|read|ingest(?:ion)?|app)_?key{QUOTE}?{SPACE}?[:=]{SPACE}?{QUOTE}?",
        r"[A-Za-z0-9][A-Za-z0-9_-]{19,120}",
        is_random,
        is_word=False,
    ),
    # With brackets in it.
    Row(
        "password",
        "pass, pwd, secret",
        rf"(?:passw(?:or)?d|passphrase|_pass|pwd|_secret)(?:=|: ){GIVEN}",
        r"[^\s\"'`\\|;<>(){}\[\]$]{1,60}[({\[][^\s\"'`\\|;<>(){}\[\]$]{0,40}[)}\]][^\s\"'`\\|;<>]{0,60}",
        is_bracketed,
        is_word=False,
    ),
    # CloudFormation's parameters.
    Row(
        "password",
        "default",
        rf"(?:passw(?:or)?d|secret|token)\w{{0,20}}{QUOTE}?: ?\{{ ?(?:{QUOTE}(?:Type|NoEcho|Description|MinLength|"
        rf"MaxLength){QUOTE}: ?(?:true|"
        rf"[0-9]{{1,4}}|{QUOTE}[^\"\n\\]{{0,80}}{QUOTE}), ?){{0,5}}{QUOTE}Default{QUOTE}: ?{QUOTE}",
        ARGUMENT,
        is_given,
        is_word=False,
    ),
    # Maven's: https://maven.apache.org/guides/mini/guide-encryption.html
    Row(
        "password",
        "<pass, <master",
        r"<(?:password|passphrase|master)>",
        r"\{[A-Za-z0-9+/]{12,200}={0,2}\}",
        is_kept,
        tail="<",
        is_word=False,
    ),
)
# Finds of these go on over the ends of lines.
SPANS = (
    # CloudFormation's in YAML.
    Row(
        "password",
        "default",
        rf"(?:passw(?:or)?d|secret|token)\w{{0,20}}:{BREAK} {{1,8}}(?:(?:Type|NoEcho|Description|MinLength|"
        rf"MaxLength): [^\n\\]{{1,80}}{BREAK} {{1,8}}){{0,5}}Default: {QUOTE}?",
        r"[^\s\"'`\\|;<>]{4,200}",
        is_given,
        is_word=False,
    ),
    # OpenVPN's: https://build.openvpn.net/man/openvpn-2.6/openvpn.8.html
    Row(
        "password",
        "auth-user-pass",
        rf"<auth-user-pass>{BREAK}[^\n\\]{{1,80}}{BREAK}",
        r"[^\n\\<]{4,200}",
        is_any,
        is_word=False,
        is_rare=True,
    ),
)
# Prefilters: the end of a name, and the sign between name and value.
_SHUT = (
    r"(?:/i?)?\]?(?:\\*[\"'`])?[\])]*(?:\\*[\"'`])?(?:[ \t]|\\t)*(?:: ?&?[A-Za-z][\w.<>\[\]| ]*)?(?:value *|\?)?"
    # Behind a comma only what is quoted is a value: prose has many.
    r"(?:[:=>][:=,>]*\**(?:\s|\\[rnt])*|(?:,|(?:\|\||\?\?)=?)(?:\s|\\[rnt])*\\*[\"'])[\"'`\\brfun@]*"
)
STOP = r"\s\\\"'`,;(){}\[\]<>|&"
# Signs of a value, and what JSON writes for a control character.
INNER = rf"(?:[^{STOP}]|\\[bfu])"
URL_RULES = (
    Rule("url", Prefilter((r":\\*/\\*/[^\s/:@\"'<>\\]*:[^\s/\"'<>\\]+@",)), _URL, _url),
    Rule(
        "header",
        Prefilter(
            (
                *each("basic|bearer", r"(?:\s+|\\*[\"'],\s*\\*[\"'])[A-Za-z0-9._~+/=-]{16}"),
                r"authorization[\"'\\]*\]?\s*[:=]\s*[\"'\\]*(?:\w+\s+)?[A-Za-z0-9._~+/=-]{8}",
            )
        ),
        _HEADER,
        _header,
    ),
    Rule(
        "cookie",
        Prefilter(
            (r"cookie[\"'\\]*\]?\s*[:=,]\s*[\"'\\]*[\w.%$-]+=", r"--cookie[ =]"),
            # Only curl's option: a line that goes on would double the states.
            (r"-b\s*[\"'\\]*[\w.%$-]+=",),
        ),
        clean=_without_cookies,
    ),
)
RULES = (
    *URL_RULES,
    Rule(
        "assignment",
        Prefilter(
            # Names of keys of no known kind, too.
            (
                rf"[a-z0-9](?-i:Pass|Pw)(?:\\*[\"'`])?[ \t]*[:=]+[ \t]*[\"'`\\]*[^{STOP}]*[0-9]",
                *each(
                    r"[._=-]key|_auth|(?-i:K)ey|(?-i:P)AT",
                    r"(?:\\*[\"'`])?\]?[ \t]*[:=]+>?(?:\s|\\[rnt])*[\"'`\\]*(?:[a-z]{2,8}[_-])?[A-Za-z0-9+/]{16}",
                ),
            ),
            # Behind names that say little the value has to say the rest.
            (
                *each(
                    "pass|psk|pw",
                    rf"(?:\\*[\"'`])?[ \t]*[:=>]+[ \t]*[\"'`\\]*(?:[0-9]+[A-Za-z]|[^0-9{STOP}]{INNER}*[0-9])",
                ),
                r"psk[ \t]*=[ \t]*\\*[\"']",
                *each(FOREIGN, r"[^A-Za-z0-9\n]"),
            ),
            after_passwords=rf"{_SHUT}[^\s\\\"'`]{{3}}|[\"'`\\\]]*\)+\.[a-z]",
            # A secret has a letter and a digit; counts (`"tokens": 12`) have not.
            after_names=rf"{_SHUT}(?:[0-9]+[A-Za-z_+/-]|[^0-9{STOP}]{INNER}*[0-9])",
        ),
        clean=_without_assigned,
    ),
    Rule(
        "flag",
        Prefilter(
            # fish, Windows, csh: `set -gx NAME VALUE`; Docker's and C's.
            (
                r"(?:config(?:ure)?[ \t]set|set(?:x|env|(?:[ \t]+--?[a-z]+)+)|ENV|#[ \t]*define)[ \t]+"
                rf"[\w./:-]*(?:{SCREENED_PASSWORD}|pass|{SCREENED_NAMED})[\w-]*[ \t]+[^\s-]",
            ),
            (
                rf"-[\w./:-]*(?:(?:{SCREENED_PASSWORD}|pass)[\w-]*(?:[ =\t]|\\t)(?:\s|\\t)*[^\s-]"
                rf"|(?:{SCREENED_NAMED})[\w-]*(?:[ =\t]|\\t)(?:\s|\\t)*[\"'\\]*[^\s-]\S*[0-9])",
            ),
        ),
        _FLAG,
        _flag,
    ),
    Rule(
        "option",
        Prefilter(opening=(r"--[\w./:-]*(?:auth|bearer|key|pat)(?:[ =\t]|\\t)(?:[\s\"'\\]|\\t)*[A-Za-z0-9+/_.-]{16}",)),
        _OPTION,
        _option,
    ),
    Rule(
        "code",
        Prefilter(
            (
                r"(?:[?&]|&amp;|u0026|%26)(?:(?:[a-z]+_)?code|ticket|invite|key|sig|auth|signature|appid|access_key)"
                r"=(?:4\\*(?:/|%2F)0|[A-Za-z0-9._~%/+\\-]{16})",
            )
        ),
        _CODE,
        _code,
    ),
)
