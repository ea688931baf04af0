"""Secrets in places that hold nothing else: lines of settings, pairs of a name and a password, options, addresses."""

from __future__ import annotations

import re

from core.redaction.assignments import ARGUMENT, GIVEN, is_given, is_random
from core.redaction.looks import (
    HEX,
    TECHNICAL,
    entropy,
    is_chosen,
    is_composed,
    is_drawn,
    is_filler,
    is_handed_out,
    is_invented,
    is_key,
    is_leet,
    is_placeholder,
    is_said,
    is_secret,
    is_strong,
    is_worded,
)
from core.redaction.names import is_about
from core.redaction.rule import BREAK, QUOTE, SPACE, Found, Row, made
from core.redaction.shapes import is_any, is_code

# The end of a line, also as JSON has it.
_ENDS = r"[\"']?[ \t]*(?:$|[\r\n#;\"]|\\[rn\"])"
# A line of settings may have before the name: a sign of a difference, a number, a verb of routers.
_STARTS = (
    r"(?:^|\n|\\n|\\r|\")[ \t]*(?:[-+>]|[0-9]+[:→\t])?[ \t]*(?:(?:set|option|config) (?:[\w.@*-]+ ){0,8})?[\w.-]*\Z"
)
# Words of a line that gives somebody's name and password.
_ACCESS = (
    "wi-?fi|wlan|log[ -]?in|inloggen|logon|zugang|cred|access|account|konto|compte|cuenta|conta"
    "|identifiant|ssid|acceso|acesso|accesso"
)
_CUED = rf"(?i)(?:{_ACCESS})[^\n]*(?::|is|=|with|as|met|mit|avec|con) \S+ / [\"'`]?\Z"
_WORDED = "[A-Z][a-z]{2,}(?:[-_.][A-Z]?[a-z]{2,}){0,3}"
_ASKED = "(?:pass(?:w(?:or)?[dt]|phrase|code)?|pwd?|credentials|login|kennwort|mdp|clave)s?"
_SPEAKER = rf"(?:[<*\[]{{1,3}}[\w .@-]{{1,30}}[>*\]]{{1,3}}:?|[\w .@-]{{1,30}}:){SPACE}"
_BARE = r"[^\s\"'`\\|;<>/,()\[\]{}:]"
# Accounts that a colon and a password follow.
_OWNERS = (
    "(?:root|admin(?:istrator)?|user|login|guest|ubuntu|debian|ec2-user|sa|pi|postgres|demo|operator|support|sysadmin"
    "|deploy|relay|backup|service|manager|tomcat)"
)
_PERSON = r"[\w.+-]{1,64}@[\w-]{1,60}(?:\.[\w-]{2,30}){1,4}"


def _is_made_up(value: str) -> bool:
    """Return True for what a person or a program makes up for a password, whatever is around it."""
    return is_strong(value) or is_drawn(value) or is_leet(value)


def is_setting(found: Found) -> int:
    """Accept the value of a line that has nothing but a name and a value."""
    head = re.sub(r"\W+\Z", "", found.before)
    if re.search(r"[a-z]-(?:password|secret|psk|passphrase)(?:-value)?\Z", head):  # of no other place
        return is_flagged(found)
    # The line begins with the name.
    begins = re.search(_STARTS, head) is not None and not is_about(re.split(r"[\s\"]", head)[-1])
    value = found.value
    chosen = is_chosen(value, plain=True) and not (value.islower() and value.isalnum() and not is_leet(value))
    return len(value) if begins and chosen and not is_filler(value) else 0


def is_owned(found: Found) -> int:
    """Accept a password behind the name of its owner and a stroke: ``root / …``."""
    value = found.value.rstrip(".,:;)]*_`")
    if re.search(rf"(?::|is|=|with|as|met|mit|avec|con) (?!{_OWNERS} )\S+ / [\"'`]?\Z", found.before) and not re.search(
        _CUED, found.before
    ):
        return 0
    words = [word.lower() for word in re.findall(r"[^\W\d_]+", value)]
    # Behind a colon a path or a resource follows as often.
    plain = found.before.rstrip("\"'`").endswith("/ ") or (len(words) > 1 and not value.islower())
    chosen = is_strong(value) or (
        plain and (is_leet(value) or ((is_worded(value) or not value.isascii()) and TECHNICAL.isdisjoint(words)))
    )
    return len(value) if chosen and any(map(str.isdigit, value)) and not is_filler(value) else 0


def is_answer(found: Found) -> int:
    """Accept the one word that answers a question for a password."""
    value = found.value
    words = re.findall(r"[^\W\d_]{3,}", value)
    said = is_said(value, plain=True) and (len(words) > 1 or not value.islower())
    return len(value) if (_is_made_up(value) or said) and not is_placeholder(value) else 0


def is_flagged(found: Found) -> int:
    """Accept an option's value, which may have points in it."""
    value = found.value
    return len(value) if is_chosen(value, plain=True) or is_given(found) else 0


def is_product(found: Found) -> int:
    """Accept a product's key: groups of one length, of letters and digits."""
    groups = found.value.split("-")
    varied = any(map(str.isdigit, found.value)) and any(map(str.isalpha, found.value))
    return is_any(found) if varied and len({len(group) for group in groups}) == 1 else 0


def is_alone(found: Found) -> int:
    """Accept words with a password's sign between them."""
    return 0 if is_filler(found.value) else len(found.value)


def is_near(found: Found) -> int:
    """Accept words, a sign and a number on a line that speaks of access."""
    line = f"{found.before} {found.after}"
    near = re.search(
        rf"(?i)passw|\bp(?:ass|w|wd)\b|sign[ -]?in|\bauth|secret|vault|kennwort|{_ACCESS}",
        line,
    )
    words = [word.lower() for word in re.findall(r"[A-Za-z]+", found.value)]
    return is_alone(found) if near and TECHNICAL.isdisjoint(words) else 0


def is_line_words(found: Found) -> int:
    """Accept words and a number, if they name no part of a program."""
    return len(found.value) if not found.value.islower() and is_composed(found.value) else 0


def is_base32(found: Found) -> int:
    """Accept what an application for codes is set up with (RFC 4648's base32)."""
    return is_any(found) if entropy(found.value.replace(" ", "")) >= 3 else 0


def is_grant(found: Found) -> int:
    """Accept a number in hexadecimal that is called a token or a key, unless it is that of a page or a cache."""
    other = re.search(
        r"(?i)(?:page|next|cursor|continuation|cancel\w*|sync|design|cache|idempotency|object|session|row|file|primary"
        r"|foreign|public|fencing|lock|trace|request|correlation|build|commit|test|hash|block|tx|transaction)"
        r"[ _-]?[\w-]*\W*\Z",
        re.sub(
            r"(?i)(?:token|key|secret|id|credential)s?\W*(?:(?:is|was|to|=|for [\w-]{1,20})\W*)?\Z", "", found.before
        ),
    )
    return 0 if other or is_placeholder(found.value) else is_any(found)


def is_line_key(found: Found) -> int:
    """Accept the key of a section of settings: random, of both cases and digits."""
    return len(found.value) if is_key("key", found.value) and not found.after[:1].isalnum() else 0


def is_vaulted(found: Found) -> int:
    """Accept what a variable of a vault holds, under any name."""
    return len(found.value) if _is_made_up(found.value) else 0


def is_called_with(found: Found) -> int:
    """Accept a call's argument that looks like a password."""
    value = found.value
    signed = is_chosen(value, plain=True) and re.search(r"[!#$%^&*?~+]", value) is not None
    chosen = _is_made_up(value) or signed or is_invented(value)
    return len(value) if chosen and not is_filler(value) else 0


def is_keyed(found: Found) -> int:
    """Accept what a call enciphers or signs with: no name of a method and no variable of the environment."""
    value = found.value
    kinds = sum(any(map(kind, value)) for kind in (str.isdigit, str.isupper, str.islower))
    kinds += re.search(r"[^\w.-]", value) is not None
    if re.match(r"(?i)(?:aes|des|sha|md5|rsa|chacha|hmac|camellia|id-)[\w-]*\Z", value):
        return 0
    chosen = kinds > 2 or is_secret(value, quoted=True) or is_worded(value) or is_invented(value)
    return len(value) if chosen and not is_filler(value) else 0


def is_app_password(found: Found) -> int:
    """Accept four groups of four letters that are no words."""
    return len(found.value) if is_handed_out(found.value) else 0


def is_file(found: Found) -> int:
    """Accept the one line of a file with the name of a secret, as ``cat`` shows it."""
    value = found.value
    shown = re.search(
        r"(?:\b(?:cat|less|more|head|type|gc|bat|Get-Content)\s[^\n|;&]*|(?:^|[\n\s])[\w.~-]*/[\w./~-]*)\Z",
        found.before.rstrip("\n\\nr"),
    )
    chosen = _is_made_up(value) or made(rf"(?i){HEX}|{_UUID}").fullmatch(value)
    return len(value) if shown and chosen and not is_placeholder(value) else 0


_UUID = "[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
ROWS = (
    # `bindpw X`, `auth_pass X`, `plain-text-password-value X`: nothing else on the line.
    Row(
        "password",
        "pw, passw, passphrase, pass, psk, secret",
        r"(?:(?:bind|root|admin)pw|passw(?:or)?d(?:[_-]value)?|passphrase|[_-]pass|psk|secret)(?:[ \t]|\\t)+" + GIVEN,
        r"[^\s\"'`\\|;<>(){}\[\]=,]{6,100}",
        is_setting,
        tail=_ENDS,
        is_word=False,
        prefilter=r"(?:(?:bind|root|admin)pw|passw(?:or)?d(?:[_-]value)?|passphrase|[_-]pass|psk|secret)(?:[ \t]|\\t)+"
        rf"{GIVEN}(?:[^\s\"'`\\|;<>(){{}}\[\]=,]*[0-9][^\s\"'`\\|;<>(){{}}\[\]=,]*|[A-Za-z_-]{{8}}[A-Za-z_-]*){_ENDS}",
    ),
    # The registry's of Windows.
    Row("password", "reg_sz", r"passw(?:or)?d(?:[ \t]|\\t)+REG_SZ(?:[ \t]|\\t)+", ARGUMENT, is_given, is_word=False),
    # Options as Windows' programs have them.
    Row(
        "password",
        "/p, /rp, /pw, pw ",
        r"[ \t](?:/(?:p(?:ass(?:word)?|wd|w)?:|rp )|--?[uo]?pw[ =])" + GIVEN,
        r"[^\s\"'`\\|;<>=:/]{6,100}",
        is_flagged,
        is_word=False,
    ),
    # `-u name:password`, of any program.
    Row(
        "password",
        "-u, -auth, --auth, --cred, --login, --basic, --http-",
        r"[ \t](?:-[uU]|--?auth|--(?:proxy-|http-|basic-)?(?:user(?:pass|name)?|auth|creds?|credentials?"
        r"|login))[ =]{1,2}"
        rf"{GIVEN}[\w.@+-]{{1,60}}:",
        r"[^\s\"'`\\|;<>:/@,]{6,200}",
        is_given,
        is_word=False,
        prefilter=r"[ \t](?:-u|--?auth|--(?:proxy-|http-|basic-)?(?:user(?:pass|name)?|auth|creds?|credentials?"
        r"|login))[ =]+"
        rf"{GIVEN}[\w.@+-]+:[^\s\"'`\\|;<>:/@,]*[0-9]",
    ),
    # A person and a password.
    Row(
        "password",
        "/, @, :",
        rf"(?:{_OWNERS}(?: / |:)|\[\+\] [^\n]{{0,120}}?\\{{1,4}}[\w.$-]{{1,40}}:"
        rf"|(?:: |is |= |with |as |met |mit |avec |con ){QUOTE}?[\w.@+-]{{2,40}}{QUOTE}? / {QUOTE}?"
        rf"|{_PERSON}(?: ?[:|,] ?| / ))",
        r"[^\s\"'`\\|;<>/,()\[\]{}:]{8,64}",
        is_owned,
        # No `/ float64`: a sign and a digit, a digit within, or several.
        prefilter=rf"(?:{_OWNERS}:| / [\"'`\\]*|\[\+\] [^\n\\]*\\+[\w.$-]+:|@[\w.-]+\.[a-z]+(?: ?[:|,] ?| / ))"
        rf"{_BARE}*(?:[!#$%^&*+._@-]{_BARE}*[0-9]|[0-9]{_BARE}{{2}})",
        is_word=False,
    ),
    # `log in with mira and …`.
    Row(
        "password",
        "log in, login, log on, logon, sign in",
        r"(?:log ?[io]n|sign in)(?: [a-z]{1,10}){0,3} (?:with|as|using) [\w.@+-]{1,60} "
        r"(?:and|und|et|y|e) [`*\"'\\]{0,3}",
        r"[^\s\"'`\\|;<>,()]{6,64}",
        is_answer,
        prefilter=r"(?:log ?[io]n|sign in)(?: [a-z]+)* (?:with|as|using) [\w.@+-]+ (?:and|und|et|y|e) ",
    ),
    Row(
        "password",
        "user, login, account",
        rf"(?:user(?:name)?|login|account)[ \t]+{QUOTE}?[\w.@+-]{{1,60}}{QUOTE}?[ \t]+(?:with[ \t]+)?"
        rf"(?:passw(?:or)?d|pass|pwd)[ \t]+{QUOTE}?",
        r"[^\s\"'`\\|;<>]{6,200}",
        is_given,
        prefilter=r"[ \t](?:passw(?:or)?d|pass|pwd)[ \t]+[\"'\\]*(?:[A-Za-z]?[0-9][^\s\"'`\\|;<>]{4}"
        r"|[^\s\"'`\\|;<>]{3}[^\s\"'`\\|;<>]*[0-9])",
        is_word=False,
    ),
    # Forms that network devices share.
    Row(
        "password",
        "isakmp key, authentication-key, message-digest-key, chap password, neighbor, auth md5, auth sha, priv aes, "
        "priv des, psk ascii, cwpsk",
        r"(?:isakmp key|(?:authentication|message-digest)-key(?: [0-9]{1,3})?(?: md5)?|chap password|neighbor \S{1,60} "
        r"password|auth (?:md5|sha[0-9-]*)|priv (?:3?des|aes)(?: [0-9]{3})?|psk ascii)(?: [0-9])? " + GIVEN,
        ARGUMENT,
        is_given,
        is_word=False,
        prefilter=r"isakmp key |(?:authentication|message-digest)-key |chap password |neighbor [^\s\\]+ password "
        r"|auth (?:md5|sha[0-9-]*) |priv (?:3?des|aes)(?: [0-9]+)? |psk ascii ",
    ),
    # An element within the one that has the name.
    Row(
        "password",
        "passw, secret, passphrase",
        r"<[\w:.-]{0,30}(?:passw(?:or)?d|passphrase|secret)>(?:[ \t\r\n]|\\[nrt]){0,40}<(?:[\w-]+:)?(?:value|string"
        r"|content)>",
        r"[^\s<>\"'\\]{4,400}",
        is_any,
        tail="<",
        is_word=False,
        prefilter=r"(?:passw(?:or)?d|passphrase|secret)>(?:\s|\\[nrt])*<(?:[\w-]+:)?(?:value|string|content)>",
    ),
    # https://github.com/zxing/zxing/wiki/Barcode-Contents#wi-fi-network-config-android-ios-11
    Row(
        "password",
        "wifi:",
        r"wifi:[^\s\"]{0,120}?(?-i:P):",
        r"(?:[^;\\\s\"]|\\.){4,64}",
        is_any,
        tail=";",
        is_rare=True,
    ),
    Row(
        "otp",
        "totp, otp, 2fa, mfa, authenticator, two-factor",
        r"(?:totp|otp|2fa|mfa|authenticator|two-factor)[^\n\"\\]{0,30}(?:is|was|:|=|->|→|seed|secret"
        r"|key) {0,3}[\"'`(*]{0,3}",
        r"(?-i:[A-Z2-7]{16,64}|[A-Z2-7]{4}(?: [A-Z2-7]{4}){3,15})",
        is_base32,
        prefilter=r"(?:totp|otp|2fa|mfa|authenticator|two-factor)(?:[ _-]*(?:seed|secret|key|set-?up|code|is|was|the"
        r"|my|for|[:=>]|->))*"
        r" ?[\"'`(*\\]*(?-i:[A-Z2-7]{4} ?[A-Z2-7]{4})",
    ),
    # A number of a grant: `agent token 0046…`, `Secret ID = …`.
    Row(
        "secret",
        "token, secret, key",
        r"(?:token|secret(?: ?id)?|(?:api|access|auth|routing|integration|license|service|ingest(?:ion)?|write|admin"
        r"|master"
        rf"|deploy|events?|recovery|activation|product|backup|vault|root|data|cookie|session|tls)[ _-]?key"
        rf"|tls_?psk)(?: (?:is|was|to|for [\w-]{{1,20}}))?{QUOTE}?[ \t]*[:=]?[ \t]*{QUOTE}?",
        rf"(?:{_UUID}|[0-9a-f]{{32}}(?:[0-9a-f]{{32}}|[0-9a-f]{{16}}|[0-9a-f]{{8}})?)",
        is_grant,
        is_word=False,
        prefilter=r"(?:token|secret(?: ?id)?|(?:api|access|auth|routing|integration|license|service|ingest(?:ion)?"
        r"|write|admin"
        r"|master|deploy|events?|recovery|activation|product|backup|vault|root|data|cookie|session|tls)[ _-]?key"
        r"|tls_?psk)(?: (?:is|was|to|for [\w-]+))?[\"'`\\]*[ \t]*[:=]?[ \t]*[\"'`\\]*"
        r"[0-9a-f]{8}-?[0-9a-f]{4}",
    ),
    Row(
        "secret",
        "key",
        rf"(?:^|\n|\\n)[ \t]*key{SPACE}*[=:]{SPACE}*{QUOTE}?",
        r"[A-Za-z0-9+/_-]{20,400}={0,2}",
        is_line_key,
        is_word=False,
        prefilter=r"(?:^|\n|\\n)[ \t]*key[ \t]*[=:][ \t]*[\"'\\]*[A-Za-z+/_-]*[0-9][A-Za-z0-9+/_-]{12}",
    ),
    Row(
        "password",
        "option key, wireless",
        r"(?:\boption key |wireless[\w.@\[\]-]{0,60}\.key=)" + GIVEN,
        r"[^\s\"'`\\|;<>]{8,63}",
        is_given,
        is_word=False,
    ),
    # A call that logs in, or that is given a key.
    *(
        Row(
            "password",
            "connect, mysqli, ftp, imap_open, bind, ssh2_auth, sequelize, credential, logon, usernamepassword",
            rf"(?:\w{{0,20}}connect\w{{0,12}}|mysqli|ftps?|ftp_login|imap_open|\w{{0,12}}bind\w{{0,8}}"
            rf"|ssh2_auth_password|sequelize"
            rf"|\w{{0,24}}credentials?|logon|usernamepassword\w{{0,24}})\((?:(?:{QUOTE}[^\"'\n\\]{{0,80}}{QUOTE}"
            rf"|[\w.$]{{1,30}}), ?){{{arguments}}}{QUOTE}",
            r"[^\s\"'`\\]{6,100}",
            is_called_with,
            tail=QUOTE,
            prefilter=r"(?:connect\w*|mysqli|ftps?|ftp_login|imap_open|bind\w*|ssh2_auth_password|sequelize|credentials?"
            r"|logon"
            r"|usernamepassword\w*)\([^()\n]*[\"'](?:[^\s\"'`\\()]*[0-9][^\s\"'`\\()]*|[A-Za-z_-]{8}[A-Za-z_-]*)\\*[\"']",
            is_word=False,
        )
        # The password may be any of the arguments behind the first.
        for arguments in (1, 2, 3)
    ),
    Row(
        "password",
        "login(, log_in(, signin(, unlock(, decrypt(",
        rf"(?:log_?in|signin|unlock|decrypt)\({QUOTE}",
        r"[^\s\"'`\\]{8,100}",
        is_called_with,
        tail=rf"{QUOTE}\)",
        is_word=False,
        prefilter=r"(?:log_?in|signin|unlock|decrypt)\(\\*[\"'][^\s\"'`\\]*[0-9][^\s\"'`\\]*\\*[\"']\)",
    ),
    # A key that is decoded.
    Row(
        "secret",
        "fromhex, unhexlify, b64decode, buffer.from, decodestring",
        rf"(?:key|secret)\w{{0,20}} ?:?= ?[\w.]{{0,40}}"
        rf"(?:fromhex|unhexlify|b64decode|buffer\.from|decodestring)\(b?{QUOTE}",
        r"(?:[0-9a-f]{32,128}|[A-Za-z0-9+/]{22,90}={0,2})",
        is_any,
        tail=QUOTE,
        is_word=False,
        is_rare=True,
    ),
    Row(
        "secret",
        "cipher, hmac, fernet, aes., secretkeyspec",
        rf"(?:create(?:de)?cipher(?:iv)?|createhmac|hmac\.new|fernet|aes\.(?:new|encrypt|decrypt)|secretkeyspec)"
        rf"\((?:(?:{QUOTE}[\w/-]{{0,40}}{QUOTE}|[\w.$()]{{1,40}}), ?)?b?{QUOTE}",
        r"[^\s\"'`\\]{8,200}",
        is_keyed,
        tail=QUOTE,
        is_word=False,
        prefilter=r"(?:cipher(?:iv)?|createhmac|hmac\.new|fernet|aes\.[a-z]+"
        r"|secretkeyspec)\([^\n\"'\\]*(?:\\*[\"'][\w/-]*\\*[\"'], ?)?"
        r"b?\\*[\"'][^\s\"'`\\]{8}",
    ),
    # WordPress': https://developer.wordpress.org/advanced-administration/wordpress/wp-config/
    Row(
        "secret",
        "define(",
        rf"define\( ?{QUOTE}\w{{0,40}}_(?:key|salt|secret|token|pass){QUOTE}, ?{QUOTE}",
        r"[^\n'\\]{8,200}",
        is_keyed,
        tail=r"'",
        is_word=False,
    ),
    # As Google and Apple hand them out, where a password is spoken of.
    Row(
        "password",
        "passw, pass:",
        r"(?:passw(?:or)?(?:d|t)|app pass|pass)[^\n\"\\]{0,30}?(?: is| was|[:=]) ?[\"'`(]{0,2}",
        r"[a-z]{4}(?: [a-z]{4}){3}",
        is_app_password,
        tail=r"(?:$|[^a-z ]| \(|[ ]?[\r\n])",
        is_word=False,
        prefilter=r"(?:pass|passw(?:or)?[dt])(?: (?:is|was))?[ :=]+[\"'`(\\]*[a-z]{4} [a-z]{4} [a-z]{4} [a-z]{4}\b",
    ),
    # Links that let somebody in.
    Row(
        "secret",
        "/reset, /verif, /magic, /activ, /confirm, /invit, /password-reset, /unlock",
        r"/(?:reset(?:[_-]?password)?|password[_-]?reset|verif(?:y|ication)(?:[_-]email)?|magic(?:[_-]?link)?"
        r"|activat(?:e|ion)"
        r"|confirm(?:ation|[_-]?email)?|invit(?:e|ation)s?|unlock)(?:/[a-z]{2,12})?/",
        r"[A-Za-z0-9_-]{20,200}",
        is_random,
        is_word=False,
    ),
    Row(
        "passport",
        "passport, reisepass, passeport, pasaporte",
        r"(?:passport|reisepass|passeport|pasaporte)(?:[ -]?(?:no|nr|num|number|nummer|id|numéro|número))?\.?(?: is"
        r"| was|:|#)?[ :]{0,2}",
        r"(?-i:[A-Z]{1,2}[0-9][A-Z0-9]{5,7}|[0-9]{9})",
        is_any,
        prefilter=r"(?:passport|reisepass|passeport|pasaporte)(?:[ :#.-]|no|nr|num\w*|is"
        r"|was)*(?-i:[A-Z][A-Z0-9][0-9A-Z]{5}|[0-9]{9})",
    ),
    # SQL Server's procedures: the password comes last.
    Row(
        "password",
        "sp_addl, sp_passw, sp_setappr",
        r"sp_(?:addlogin|addlinkedsrvlogin|password|setapprole)[^\n;]{1,200}, *(?:@\w+ *= *)?N?'",
        r"[^'\n\\]{4,128}",
        is_any,
        is_rare=True,
    ),
    # Ansible's.
    Row(
        "password",
        "vault_",
        rf"vault_\w{{2,60}}{QUOTE}?: ?{QUOTE}?",
        r"[^\s\"'`\\{]{8,200}",
        is_vaulted,
        prefilter=rf"vault_\w+{QUOTE}?: ?{QUOTE}?[^\s\"'`\\{{]*[0-9]",
    ),
    # Redis': https://redis.io/docs/latest/operate/oss_and_stack/management/security/acl/
    Row(
        "password",
        "user , setuser ",
        r"(?:set)?user [\w.-]{1,60} (?:(?:on|off|reset|resetpass|sanitize-payload) ){1,4}>",
        r"[^\s\"'`\\]{4,200}",
        is_any,
        prefilter=r" (?:on|off|reset\w*|sanitize-payload) >[^\s]",
        is_word=False,
    ),
    # Installers': https://pykickstart.readthedocs.io, https://www.debian.org/releases/stable/amd64/apb
    Row(
        "password",
        "rootpw , sshpw , d-i ",
        r"(?:(?:root|ssh)pw (?:--\w+(?:=\w+)? ){0,4}|d-i [\w/-]{0,60}passw(?:or)?d[\w/-]{0,40} (?:password|string) )",
        r"[^\s\"'`\\-][^\s\"'`\\]{5,200}",
        is_given,
        prefilter=r"(?:root|ssh)pw -|d-i [\w/-]*passw",
    ),
    # Words of protocols: `AUTH …`, `PASS …`.
    Row(
        "password",
        "auth , pass ",
        r"(?-i:(?:^|[\n\"> ]|\\n)(?:AUTH(?: PLAIN| LOGIN)?|PASS)) ",
        r"[^\s\"'`\\|;<>]{8,200}",
        is_called_with,
        tail=_ENDS,
        is_word=False,
        prefilter=r"(?-i:AUTH(?: PLAIN| LOGIN)?|PASS) "
        rf"(?:[^\s\"'`\\|;<>/:]*[0-9][^\s\"'`\\|;<>/:]*|[A-Za-z_-]{{8}}[A-Za-z_-]*){_ENDS}",
    ),
    # By its looks alone: `Rost!Braten2`. Methods, types and cells have other signs.
    Row(
        "password",
        "!, %, ^, ~",
        r"(?:^|[\s\"'`(=:,]|\\[nrt])",
        rf"(?-i:{_WORDED}[!%^~]{{1,2}}{_WORDED}[-_]?[0-9]{{1,4}}[!?#]?"
        r"|[A-Z][a-z]{1,}(?:[-_.][A-Z]?[a-z]{2,}){1,3}![0-9]{2,4})",
        is_alone,
        tail=r"(?:$|[\s\"'`),.;:?]|\\[nrt\"])",
        is_word=False,
        prefilter=r"(?-i:[!%^~][A-Z][a-z]{2}[A-Za-z._-]*[0-9])|![0-9]{2}",
    ),
    # Words, a sign and a number on a line that speaks of access.
    Row(
        "password",
        "#, @, ?",
        r"(?:^|[\s\"'`(=:,%/]|\\[nrt])",
        rf"(?-i:{_WORDED}[#@?]{_WORDED}[-_]?[0-9]{{1,4}}[!?#]?)",
        is_near,
        tail=r"(?:$|[\s\"'`),.;:?]|\\[nrt\"])",
        is_word=False,
        prefilter=r"(?-i:[#@?][A-Z][a-z]{2}[A-Za-z._-]*[0-9])",
    ),
    # Bytes of a key, in code.
    Row(
        "secret",
        "getbytes(, encode(",
        rf"key\w{{0,10}} ?= ?b?{QUOTE}",
        r"[A-Za-z0-9+/!@#$%^&*_-]{16,64}",
        is_keyed,
        tail=rf"{QUOTE}\.(?:getbytes|encode)\(",
        is_word=False,
        prefilter=rf"{QUOTE}\.(?:getbytes|encode)\(",
    ),
    Row("otp", "oathtool ", r"oathtool [^\n|;&]{0,100}? [\"']?", "(?-i:[A-Z2-7]{16,64})", is_base32, is_rare=True),
    # Product keys: https://en.wikipedia.org/wiki/Product_key
    Row(
        "secret",
        "key, serial, license, licence, activation",
        r"(?:key|serial|licen[sc]e|activation)(?: ?(?:code|number|no\.?|key|is|was))*[:=]? {0,3}[\"'`(*]{0,3}",
        "(?-i:[A-Z0-9]{4,6}(?:-[A-Z0-9]{4,6}){3,7})",
        is_product,
        is_word=False,
        prefilter=r"(?:key|serial|licen[sc]e|activation)(?: ?(?:code|number|no\.?|key|is|was))*[:=]? *[\"'`(*]*"
        r"(?-i:[A-Z0-9]{4,6}-[A-Z0-9]{4,6}-)",
    ),
    # A line that has the name and nothing but words and a number behind it.
    Row(
        "password",
        "pass, pwd",
        rf"(?:^|\n|\\n)[>\t -]{{0,20}}[\w.-]{{0,40}}(?:passw(?:or)?d|pass|pwd|passphrase): {GIVEN}",
        r"[A-Za-z]{3,20}(?:[._-][A-Za-z]{3,20}){1,4}[0-9]{1,6}[!?#]{0,2}",
        is_line_words,
        tail=_ENDS,
        is_word=False,
        prefilter=r"(?:passw(?:or)?d|pass|pwd|passphrase): [\\\"']*[A-Za-z]+[._-][A-Za-z._-]*[0-9]",
    ),
    # RFC 7616: what is made of the password can be tried against a list.
    Row(
        "authorization",
        "response=",
        r"digest [^\n]{1,400}response=\\*\"",
        "[0-9a-f]{32}(?:[0-9a-f]{32})?",
        is_any,
        prefilter=r"response=\\*\"[0-9a-f]{32}",
        is_word=False,
    ),
    # Codes in the languages that put the possessor first.
    Row(
        "otp",
        "code, kod, cod, código, codice",
        r"(?:votre|ton|tu|su|seu|dein|ihr|euer|tuo|suo|jouw|uw|je|twój|din|senin|vaš|váš)"
        r" (?:code|kode?|código|codigo|codice|codul)"
        r"(?: [^\s:0-9]{1,20}){0,5}?(?: ?:| est| ist| es| é| è| is| to| är| er| jest)? [`*\"'\\]{0,3}",
        "(?:[0-9]{4,8}|[0-9]{3}[ -][0-9]{3})",
        is_code,
        tail=r"(?:$|[.,;!?)\"'`\\\n])",
        prefilter=r"(?:votre|ton|tu|su|seu|dein|ihr|euer|tuo|suo|jouw|uw|je|tw(?:ó|\\u00f3)j|din|senin|va(?:š|\\u0161)"
        r"|v(?:á|\\u00e1)(?:š|\\u0161)) (?:code|kode?|c(?:ó|\\u00f3|o)digo|codice|codul)"
        r"(?: (?:[^\s:0-9\\]|\\u[0-9a-f]{4})+)*:? [`*\"'\\]*[0-9]{3}",
    ),
)
# Finds of these go on over the ends of lines.
SPANS = (
    # A question for a password, and the next line's answer. Without a mark the answer's speaker is named.
    Row(
        "password",
        "pass, pw, credential, login, kennwort, mdp, clave",
        rf"(?:{_ASKED}[^\n\\?]{{0,60}}\?{BREAK}(?:\[?[0-9:., apm]{{3,20}}\]?{SPACE}?)?(?:{_SPEAKER})?"
        rf"|{_ASKED}(?: pl[sz]| please| again)?\.?{BREAK}{_SPEAKER})[`*\"'\\]{{0,3}}",
        r"[^\s\"'`\\|;<>]{6,64}",
        is_answer,
        tail=rf"[`*\"'.]{{0,3}}{SPACE}?(?:$|{BREAK}|\")",
        prefilter=rf"{_ASKED}(?:(?: [\w-]+)?(?: [\w-]+)?\?{BREAK}|(?: pl[sz]| please| again)?\.?{BREAK}"
        r"(?:<|\*\*|\w+: ))",
    ),
    Row(
        "secret",
        "token, secret, passw, .key, psk, api",
        rf"(?:token|secrets?|passw(?:or)?d|passwd|\.key|psk|api[_-]?key)(?:\.(?:txt|key|pw|conf))?{BREAK}",
        r"[!-\[\]-~]{8,200}",
        is_file,
        tail=rf"(?:$|{BREAK}|\\*\")",
        is_word=False,
        prefilter=rf"(?:token|secrets?|passw(?:or)?d|passwd|\.key|psk|api[_-]?key)(?:\.(?:txt|key|pw|conf))?{BREAK}"
        r"[!-\[\]-~]*[0-9][!-\[\]-~]*(?:$|\\*[rn\"]|\n)",
    ),
)
