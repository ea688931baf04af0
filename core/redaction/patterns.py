"""The patterns of the precise rules that look for a name, or for a place that tells, and the value behind it."""

from __future__ import annotations

from core.redaction.screen import NAMED, PASSWORD

# Each is compiled once it is needed: what is hinted at in most texts is one of them.
URL = (
    r"(?<![A-Za-z0-9])[A-Za-z][A-Za-z0-9+.-]{1,24}:\\?/\\?/[^\s/:@\"'<>\\]{0,120}:"
    r"(?P<value>[^\s/\"'<>\\]{1,300})@(?=[\w\[.${-])"
)
HEADER = (
    r"(?i)(?P<head>\b(?:proxy-)?authorization\b[\"'\\]{0,6}\]?\s{0,3}[:=]\s{0,3}[\"'\\]{0,6}(?:(?P<scheme>[A-Za-z]\w{2,15})\s{1,3})?"
    r"|\b(?P<bare>bearer|basic)(?:\s{1,3}|\\*[\"'],\s{0,2}\\*[\"']))(?P<value>[A-Za-z0-9._~+/-]{8,4096}={0,2})"
)
_SEPARATOR = (
    r"(?P<shut>\]?\\*[\"'`]?\]?(?:(?<=\])\\*[\"'`])?\)?)(?P<sep>[ \t]{0,40}"
    # Typed (`let password: &str =`), assigned, compared, an entry of a mapping, an argument, an element of XML.
    r"(?:: ?&?[A-Za-z][\w.<>\[\]| ]{0,30}?=(?![=>])|:=|=>|===?|\?=|(?<=[\s\"'])value ?=(?=[\"'])"
    # What is taken where nothing is given.
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
    rf"(?P<tail>(?:[_-]?[A-Za-z0-9]{{1,12}}){{0,2}})|(?P<little>(?<![\w-])(?:pass|pw|psk)))"
    rf"{_SEPARATOR}{_VALUE}"
)
# How what it looks for begins.
NAME = rf"(?i:{PASSWORD}|{NAMED}|_auth|[._-]key|key=|(?-i:Key|PAT)|pass|pw|psk)"
FLAG = (
    rf"(?i)(?:(?<![\w-])--?"
    rf"|\b(?:set(?:x|env|(?:[ \t]{{1,3}}--?[a-z]{{1,12}}){{1,4}})|config(?:ure)?[ \t]set|(?-i:ENV))[ \t]{{1,3}}"
    rf"|(?-i:#[ \t]{{0,3}}define)[ \t]{{1,3}})"
    rf"(?P<name>[\w./:-]{{0,40}}?(?:(?P<pass>{PASSWORD}|pass)|{NAMED})[\w-]{{0,20}})[ \t]{{1,3}}"
    rf"(?:(?P<quote>[\"'])(?P<quoted>[^\"'\n]{{1,4096}})(?P=quote)|(?P<bare>[^\s\"'`,;(){{}}\[\]<>|\\&-][^\s\"'`;|]{{2,4096}}))"
)
# Of options whose names say little, only what looks random.
OPTION = (
    r"(?<![\w-])--(?P<name>[\w-]{0,30}(?:auth|key|pat|bearer))(?:[ \t]{1,3}|=)\\*[\"']?"
    r"(?P<value>[A-Za-z0-9+/_.-]{20,4096}={0,2})(?![\w/.])"
)
# What a server of OAuth hands over to be exchanged for a token; what is longer is a playground's program.
CODE_MOST = 200
# Keys and signatures of links stand there, too.
# The ampersand may be HTML's, JSON's (as Go writes it), or that of an address inside another.
CODE = (
    r"(?:[?&]|&amp;|\\u0026|%26)(?P<name>code|key|sig|auth|[Ss]ignature|appid|access_key)="
    r"(?P<value>[A-Za-z0-9._~%/+-]{8,2048})"
)
# A header, an option of curl, an assignment to document.cookie.
COOKIES = (
    r"(?i)(?:\b(?:set-)?cookie2?[\"'\\]{0,6}\]?[ \t]{0,3}[:=,][ \t]{0,3}[\"'\\]{0,6}|--cookie[ =]{1,3}[\"']?"
    r"|\bcurl(?:[^\n]|\\\n){0,400}?\s-b[ \t]{0,3}[\"']?)"
    r"(?P<pairs>[\w.%$-]{1,64}=[^\s;,\"'\\]{1,4096}(?:;[ \t]?[\w.%$-]{1,64}=[^\s;,\"'\\]{1,4096}){0,60})"
)
COOKIE = r"(?P<name>[\w.%$-]{1,64})=(?P<value>[^\s;]+)"
