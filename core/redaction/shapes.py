"""Secrets that have a shape of their own: numbers with a checksum, stored forms of passwords, some tokens."""

from __future__ import annotations

import re

from core.redaction.looks import is_drawn, is_placeholder
from core.redaction.rule import AHEAD, END, QUOTE, Found, Row

_HEX = "[0-9a-f]"
_B64 = "[A-Za-z0-9+/]"
_CRYPT = "[./0-9A-Za-z]"
_B58 = "[1-9A-HJ-NP-Za-km-z]"


# Issuer: what the number begins with (first, last), and how long it is.
_ISSUERS = (
    *((4, 4, length) for length in (16, 19)),
    (51, 55, 16),
    (2221, 2720, 16),
    (34, 34, 15),
    (37, 37, 15),
    *((first, last, length) for first, last in ((6011, 6011), (644, 649), (65, 65)) for length in (16, 19)),
    (300, 305, 14),
    (36, 36, 14),
    (38, 39, 14),
    (3528, 3589, 16),
    *((62, 62, length) for length in range(16, 20)),
    *(
        (first, first, length)
        for first in (5018, 5020, 5038, 5893, 6304, 6759, 6761, 6762, 6763)
        for length in (16, 19)
    ),
)
# Numbers that are published for tests have fewer different digits: 4242 4242 4242 4242.
_DIGITS_LEAST = 5
# The others, of https://docs.stripe.com/testing and https://developer.paypal.com/api/rest/sandbox/card-testing
_TEST_CARDS = frozenset(
    "378282246310005 371449635398431 378734493671000 6011000990139424 30569309025904 38520000023237 3566002020360505"
    " 3056930009020004 4012888888881881 5200828282828210 3530111333300000 5105105105105100 6011111111111117".split()
)


def is_card(found: Found) -> int:
    """Accept the number of a payment card: its issuer's length, and Luhn's checksum."""
    value = found.value
    signs = {sign for sign in value if not sign.isdigit()}
    if (
        len(signs) > 1
        or is_part(found)
        or not re.fullmatch(r"\d+|\d{4}(?:\D\d{4}){3}(?:\D\d{3})?|\d{4}\D\d{6}\D\d{4,5}", value)
    ):
        return 0
    digits = re.sub(r"\D", "", value)
    issued = any(
        len(digits) == length and first <= int(digits[: len(str(first))]) <= last for first, last, length in _ISSUERS
    )
    is_real = len(set(digits)) >= _DIGITS_LEAST and digits not in _TEST_CARDS
    return len(value) if issued and is_real and _luhn(digits) else 0


def is_part(found: Found) -> bool:
    """Return True if a number goes on at either side: a fraction, a row of groups, a phone's."""
    return bool(
        re.search(r"(?:[.,+#/]|\d[ -])\Z", found.before)
        or re.match(r"[\w.-]\d|[A-Za-z_]| \d{3,}(?![/\d])", found.after)
    )


def _luhn(digits: str) -> bool:
    """Return True if ISO/IEC 7812-1's checksum holds."""
    doubled = [int(digit) * (1 + place % 2) for place, digit in enumerate(reversed(digits))]
    return sum(number - 9 * (number > 9) for number in doubled) % 10 == 0


# Characters of an IBAN by country: https://www.swift.com/standards/data-standards/iban-international-bank-account-number
_IBANS = {
    int(length): frozenset(countries.split("/"))
    for length, countries in (
        each.split(":")
        for each in (
            "15:NO 16:BE 18:DK/FI/FO/GL/NL/FK/SD 19:MK/SI 20:AT/BA/EE/KZ/LT/LU/XK/MN 21:CH/HR/LI/LV "
            "22:BG/BH/CR/DE/GB/GE/IE/ME/RS/VA 23:AE/GI/IL/IQ/TL/OM/SO 24:AD/CZ/ES/MD/PK/RO/SA/SE/SK/TN/VG "
            "25:LY/PT/ST 26:IS/TR 27:BI/DJ/FR/GR/IT/MC/MR/SM 28:AL/AZ/BY/CY/DO/GT/HN/HU/LB/NI/PL/SV "
            "29:BR/EG/PS/QA/UA 30:JO/KW/MU/YE 31:MT/SC 32:LC 33:RU"
        ).split()
    )
}

# Examples of the registry's, and of Wikipedia's article.
_PUBLISHED = frozenset(
    "DE89370400440532013000 GB82WEST12345698765432 FR1420041010050500013M02606 NL91ABNA0417164300"
    " CH9300762011623852957 AT611904300234573201 BE68539007547034 ES9121000418450200051332 IT60X0542811101000000123456"
    " PL61109010140000071219812874 SE4550000000058398257466 NO9386011117947 DK5000400440116243"
    " IE29AIBK93115212345678 GB29NWBK60161331926819 SE3550000000054910000003 FI2112345600000785 LU280019400644750000"
    " PT50000201231234567890154 GR1601101250000000012300695 CZ6508000000192000145399 HU42117730161111101800000000"
    " TR330006100519786457841326".split()
)


def is_iban(found: Found) -> int:
    """Accept an IBAN: its country's length, and modulo 97 (ISO 7064)."""
    length = next((length for length, countries in _IBANS.items() if found.value[:2] in countries), 0)
    taken = places = 0
    for sign in found.value:
        if places == length:
            break
        taken += 1
        places += sign.isalnum()
    value = re.sub(r"[ -]", "", found.value[:taken])
    rest = found.value[taken:] + found.after
    if not length or len(value) != length or rest[:1].isalnum() or value in _PUBLISHED:
        return 0
    number = "".join(str(int(sign, 36)) for sign in value[4:] + value[:4])
    return taken if int(number) % 97 == 1 else 0


def is_ssn(found: Found) -> int:
    """Accept a number that the Social Security Administration could have issued: https://www.ssa.gov/employer/randomization.html"""
    digits = re.sub(r"\D", "", found.value)
    issued = digits[:3] not in ("000", "666") and digits[3:5] != "00" and digits[5:] != "0000" and len(set(digits)) > 2
    is_named = not re.search(r"ssn(?!num|val)[a-z]", found.before, re.IGNORECASE)  # no `className`
    return len(found.value) if issued and is_named and not is_part(found) and digits != "123456789" else 0


def is_verification(found: Found) -> int:
    """Accept the three or four digits of a card's back, but no row of them."""
    is_row = found.value in "0123456789" or len(set(found.value)) == 1
    return 0 if is_row or re.match(r"[\w.-]*\w", found.after) else len(found.value)


def is_code(found: Found) -> int:
    """Accept the digits of a code: no row of them, and no part of a date or a longer number."""
    digits = re.sub(r"\D", "", found.value)
    is_row = digits in "01234567890" or digits in "9876543210" or len(set(digits)) == 1
    counts = re.match(
        r" (?:lines?|times|items|bytes|users|rows|char\w*|files|tests|errors|s|ms|sec\w*|min\w*)\b", found.after
    )
    return 0 if is_row or counts or is_part(found) else len(found.value)


def is_any(found: Found) -> int:
    """Accept what is no part of a longer word."""
    return 0 if found.after[:1].isalnum() or is_placeholder(found.value) else len(found.value)


def is_kept(found: Found) -> int:
    """Accept what a password is kept as."""
    varied = len(set(found.value[-32:])) > 5
    return len(found.value) if varied and not found.after[:1].isalnum() and "..." not in found.value else 0


def is_dumped(found: Found) -> int:
    """Accept a line of Windows' passwords: not that of an account without one."""
    return 0 if "31d6cfe0d16ae931b73c59d7e0c089c0" in found.value else len(found.value) - 3


def is_sanctum(found: Found) -> int:
    """Accept a number and forty random characters: no row of a table with a hash in it."""
    return (
        is_any(found) if is_drawn(found.value.partition("|")[2]) and not found.value.partition("|")[2].islower() else 0
    )


_BASE58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"


def is_wif(found: Found) -> int:
    """Accept a private key of Bitcoin's; its checksum is the beginning of SHA-256 taken twice."""
    import hashlib  # late: loading it takes longer than most texts

    number = 0
    for sign in found.value:
        number = number * 58 + _BASE58.index(sign)
    data = number.to_bytes((number.bit_length() + 7) // 8, "big")
    checksum = hashlib.sha256(hashlib.sha256(data[:-4]).digest()).digest()[:4]
    return is_any(found) if data[:1] == b"\x80" and data[-4:] == checksum else 0


# Numbers that carry a checksum, and what people keep with them.
NUMBERS = (
    # Lengths and beginnings: ISO/IEC 7812.
    Row(
        "card",
        "",
        AHEAD,
        r"(?:[3-6][0-9]|2[2-7])[0-9]{2}(?:[ -]?[0-9]{4}[ -]?[0-9]{4}[ -]?[0-9]{4}(?:[ -]?[0-9]{3})?"
        r"|[ -]?[0-9]{6}[ -]?[0-9]{4}[0-9]?)",
        is_card,
        tail=END,
        is_word=False,
    ),
    # ISO 13616; groups of four as on paper.
    Row(
        "iban",
        "",
        AHEAD,
        r"(?-i:[A-Z]{2}[0-9]{2}(?:[ -]?[0-9A-Z]{4}){2,7}(?:[ -]?[0-9A-Z]{1,3})?)",
        is_iban,
        is_word=False,
    ),
    Row(
        "ssn",
        "ssn, social, soc sec, itin",
        r"(?:ssn|\bitin|social security|social|soc sec)[^0-9\n]{0,24}",
        "[0-9]{3}[ -]?[0-9]{2}[ -]?[0-9]{4}",
        is_ssn,
        tail=END,
        prefilter=r"(?:ssn|\bitin|social|soc sec)[^0-9\n]*[0-9]{3}[ -]?[0-9]{2}[ -]?[0-9]",
        is_word=False,
    ),
    Row(
        "card",
        "cvv, cvc, card verification",
        rf"(?:cvv2?|cvc2?|card verification)(?: ?(?:code|value|number|is|was))*{QUOTE}?[ :=#]{{1,3}}{QUOTE}?",
        "[0-9]{3,4}",
        is_verification,
    ),
)

# Stored forms of passwords.
HASHES = (
    # RFC 2307 and what servers of LDAP added; as LDIF has it, too, in base64.
    Row(
        "crypt",
        "{s, {md5}, {crypt}, {pbkdf2, {argon2}, {x-",
        r"\{(?:s?sha(?:-?[0-9]{3})?|s?md5|crypt|x-[a-z]+|argon2|pbkdf2[a-z0-9_-]*)\}[A-Za-z0-9+/$]",
        "[A-Za-z0-9+/=$.,_-]{12,400}",
        is_kept,
        is_word=False,
        is_one=True,
    ),
    Row(
        "crypt",
        "e1ntse, e1niqx, e1nnru, e1nru, e1btse",
        "(?-i:e1(?:NTSE|NIQX|NNRU|NRU|BTSE))",
        f"{_B64}{{24,600}}={{0,2}}",
        is_kept,
        is_one=True,
    ),
    # Django, passlib, werkzeug, GRUB.
    Row(
        "crypt",
        "pbkdf2, scrypt",
        r"(?:pbkdf2|scrypt)(?:[_:.-]sha-?[0-9]+)?[:$.][0-9a-z]",
        r"[0-9a-z:,=.$]{1,40}[$.][A-Za-z0-9+/=._-]{1,400}\$?[A-Za-z0-9+/=._-]{20,400}",
        is_kept,
        is_word=False,
        is_one=True,
    ),
    Row(
        "crypt",
        "argon2$, sha1$, md5$",
        r"(?:argon2\$argon2|(?:sha1|md5)\$[A-Za-z0-9]{1,32}\$)",
        rf"(?:[id]{{1,2}}\$v=[0-9a-zA-Z=,+/$]{{40,300}}|{_HEX}{{32,40}})",
        is_kept,
        is_one=True,
    ),
    # PostgreSQL's older form.
    Row("crypt", "md5", f"md5{_HEX}{{8}}", f"{_HEX}{{24}}", is_kept, is_one=True),
    # phpass, Drupal, yescrypt, scrypt, Cisco's.
    Row(
        "crypt",
        "$p$, $h$, $s$, $y$, $gy$, $7$, $8$, $9$, $sha1$",
        r"(?-i:\$(?:[PHS789]|g?y|sha1)\$)",
        rf"(?:{_CRYPT}{{1,86}}\$){{0,2}}{_CRYPT}{{28,86}}",
        is_kept,
        is_word=False,
        is_one=True,
    ),
    # PostgreSQL's: https://www.postgresql.org/docs/current/catalog-pg-authid.html
    Row(
        "crypt",
        "scram-sha-",
        r"scram-sha-(?:1|256|512)\$",
        rf"[0-9]{{3,7}}:{_B64}{{8,80}}={{0,2}}\${_B64}{{20,120}}={{0,2}}:{_B64}{{20,120}}={{0,2}}",
        is_kept,
        is_one=True,
    ),
    # MySQL's.
    Row(
        "crypt",
        "*",
        r"(?-i:\*[0-9A-F]{8})",
        "[0-9A-F]{32}",
        is_kept,
        is_word=False,
        is_one=True,
    ),
    Row(
        "crypt",
        "$a$005$",
        r"\$A\$005\$",
        r"[^\s'\"]{20,80}",
        is_kept,
        is_word=False,
        is_one=True,
    ),
    # SQL Server's, ASP.NET's.
    Row(
        "crypt",
        "0x0100, 0x0200",
        "0x0[12]00[0-9A-F]",
        "[0-9A-F]{47,160}",
        is_kept,
        is_one=True,
    ),
    Row(
        "crypt",
        "aqaaaa",
        "(?-i:AQAAAA(?:EAAC|IAAY))",
        rf"{_B64}{{70,120}}={{0,2}}",
        is_kept,
        is_one=True,
    ),
    # Windows': a dump's line (name:number:LM:NT:::), a challenge's answer, what tools are given.
    Row(
        "crypt",
        ":::",
        ":",
        rf"{_HEX}{{32}}:{_HEX}{{32}}:::",
        is_dumped,
        is_word=False,
    ),
    Row(
        "crypt",
        "::",
        rf"::[\w.-]{{0,40}}:{_HEX}{{16}}:",
        rf"{_HEX}{{32}}:{_HEX}{{8,1000}}",
        is_kept,
        is_word=False,
    ),
    Row(
        "crypt",
        "ntlm, nthash, nt hash, nt_hash, lm hash, lmhash, -hashes, rc4:, pass-the-hash",
        rf"(?:ntlm(?:v[12])?|(?:nt|lm)[ _-]?hash|-hashes|/rc4|pass-the-hash)(?: ?(?:hash|is|was|of|for))?{QUOTE}?"
        rf"[ :=]{{1,12}}{QUOTE}?",
        rf"(?:{_HEX}{{32}})?:?{_HEX}{{32}}",
        is_kept,
        is_word=False,
    ),
    Row(
        "crypt",
        "evil-winrm, nxc smb, nxc winrm, nxc ldap, nxc ssh, nxc mssql, crackmapexec, netexec",
        r"(?:evil-winrm|nxc|crackmapexec|netexec) [^\n|;&]*(?-i: -H) :?",
        rf"(?:{_HEX}{{32}}:)?{_HEX}{{32}}",
        is_kept,
        is_rare=True,
    ),
    Row(
        "crypt",
        "$krb5, $dcc2",
        r"\$(?:krb5(?:tgs|asrep|pa)|dcc2)\$",
        r"[^\s'\"]{40,1000}",
        is_kept,
        is_word=False,
        is_one=True,
    ),
)

TOKENS = (
    # Laravel's: https://laravel.com/docs/sanctum
    Row(
        "laravel",
        "|",
        AHEAD,
        r"[0-9]{1,8}\|[A-Za-z0-9]{40}(?:[0-9a-f]{8})?",
        is_sanctum,
        tail=END,
        is_word=False,
    ),
    # https://developers.cloudflare.com/fundamentals/api/get-started/ca-keys/
    Row(
        "cloudflare",
        "v1.0-",
        rf"v1\.0-{_HEX}{{8}}",
        rf"{_HEX}{{8,32}}-{_HEX}{{60,300}}",
        is_any,
        is_one=True,
    ),
    Row(
        "cursor",
        "key_",
        rf"key_{_HEX}{{16}}",
        rf"{_HEX}{{48}}",
        is_any,
        is_one=True,
    ),
    # https://en.bitcoin.it/wiki/Wallet_import_format
    Row(
        "wallet",
        "",
        AHEAD,
        rf"(?-i:5[HJK]{_B58}{{49}}|(?:K[w-z]|L[1-5]){_B58}{{50}})",
        is_wif,
        tail=END,
        is_word=False,
    ),
    Row(
        "wallet",
        "wallet, priv, signingkey, from_key, importaccount, importrawkey",
        r"(?:wallet|signingkey|priv(?:ate)?[ _]?key|from_key|importaccount|importrawkey)\w{0,20}"
        rf"(?: (?:is|was))?{QUOTE}?\)?[ :=(,]{{1,4}}{QUOTE}?",
        rf"(?:0x)?{_HEX}{{64}}",
        is_any,
        is_word=False,
        prefilter=r"(?:wallet|signingkey|priv(?:ate)?[ _]?key|from_key|importaccount|importrawkey)\w*[^\w]+"
        rf"(?:(?:is|was)[^\w]+)?(?:0x)?{_HEX}{{16}}",
    ),
)

ROWS = (*NUMBERS, *HASHES, *TOKENS)
