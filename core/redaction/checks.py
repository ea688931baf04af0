"""The rows of ``core.redaction.rows`` applied to a text, and the functions that accept a find.

Each of these takes what a pattern found and returns how many characters of it are secret; 0 is none.
"""

from __future__ import annotations

import hashlib
import re
from functools import cache
from typing import NamedTuple

from core.redaction import MARK
from core.redaction.looks import is_drawn, is_strong, is_worded
from core.redaction.screen import compiled
from core.redaction.tokens import is_begun
from core.redaction.values import is_chosen, is_filler, is_password, is_placeholder, is_secret

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from core.redaction.row import Row

# Bytes around a find that its function is given.
_AROUND = 60


class Found(NamedTuple):
    """A match of a row's pattern: the value, and the text before and after it."""

    value: str
    before: str
    after: str


def without_rows(rows: Iterable[Row], text: str, counts: dict[str, int]) -> str:
    """Return ``text`` without what ``rows`` find; ``counts`` (kind → number) is added to."""
    folded = text.lower()
    data = text.encode("utf-8", "surrogatepass")
    for row in rows:
        if not row.words or any(map(folded.__contains__, row.words)):
            data = _without(row, data, counts)
    return data.decode("utf-8", "surrogatepass")


def _without(row: Row, data: bytes, counts: dict[str, int]) -> bytes:
    search, accept = compiled(f"(?i){row.pattern}").search, _accepting(row.accept)
    pieces: list[bytes] = []
    done = at = 0
    while (match := search(data, at)) is not None:
        start, end = match.span(1)
        length = accept(_found(data, start, end)) if not row.is_word or is_begun(data, match.start()) else 0
        if not length:
            at = match.start() + 1
            continue
        pieces += (data[done:start], f"{MARK}{row.kind}]".encode())
        counts[row.kind] = counts.get(row.kind, 0) + 1
        done = at = start + length
    return b"".join((*pieces, data[done:])) if pieces else data


def _found(data: bytes, start: int, end: int) -> Found:
    return Found(
        *(
            part.decode("latin-1")
            for part in (data[start:end], data[max(0, start - _AROUND) : start], data[end : end + _AROUND])
        )
    )


@cache
def _accepting(name: str) -> Callable[[Found], int]:
    found: Callable[[Found], int] = globals()[name]
    return found


def is_any(found: Found) -> int:
    """Accept what is no part of a longer word."""
    return 0 if found.after[:1].isalnum() or is_placeholder(found.value) else len(found.value)


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


def is_card(found: Found) -> int:
    """Accept the number of a payment card: its issuer's length, and Luhn's checksum."""
    value = found.value
    signs = {sign for sign in value if not sign.isdigit()}
    if (
        len(signs) > 1
        or _is_part(found)
        or not re.fullmatch(r"\d+|\d{4}(?:\D\d{4}){3}(?:\D\d{3})?|\d{4}\D\d{6}\D\d{4,5}", value)
    ):
        return 0
    digits = re.sub(r"\D", "", value)
    issued = any(
        len(digits) == length and first <= int(digits[: len(str(first))]) <= last for first, last, length in _ISSUERS
    )
    return len(value) if issued and len(set(digits)) >= _DIGITS_LEAST and _luhn(digits) else 0


def _is_part(found: Found) -> bool:
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
    if not length or len(value) != length or rest[:1].isalnum():
        return 0
    number = "".join(str(int(sign, 36)) for sign in value[4:] + value[:4])
    return taken if int(number) % 97 == 1 else 0


def is_ssn(found: Found) -> int:
    """Accept a number that the Social Security Administration could have issued: https://www.ssa.gov/employer/randomization.html"""
    digits = re.sub(r"\D", "", found.value)
    issued = digits[:3] not in ("000", "666") and digits[3:5] != "00" and digits[5:] != "0000" and len(set(digits)) > 2
    is_named = not re.search(r"ssn(?!num|val)[a-z]", found.before, re.IGNORECASE)  # no `className`
    return len(found.value) if issued and is_named and not _is_part(found) and digits != "123456789" else 0


def is_verification(found: Found) -> int:
    """Accept the three or four digits of a card's back, but no row of them."""
    is_row = found.value in "0123456789" or len(set(found.value)) == 1
    return 0 if is_row or re.match(r"[\w.-]*\w", found.after) else len(found.value)


def is_kept(found: Found) -> int:
    """Accept what a password is kept as."""
    varied = len(set(found.value[-32:])) > 5
    return len(found.value) if varied and not found.after[:1].isalnum() and "..." not in found.value else 0


# Words that names in programs are made of: `key user-profile-42` is no secret.
_TECHNICAL = frozenset(
    """
    access account action address api app array asset auth batch block board branch bucket build button cache card case
    cell chapter chart check child chunk class client cloud cluster code column command commit component composite
    config container content context count counter customer data database date day default dev device dir document
    domain draft entry env error event example experiment export feature feed field file filter flag flow folder form
    frame function group guide handler hash head header hook host hour image import index input instance invoice issue
    item job key label layer layout level library limit line link list load local lock log main map marker mask max
    menu message metric migration min minute mode model module month name network node note number object offset option
    order output package page panel param part partition path pattern payload phase pipeline pixel plan player plugin
    point policy pool port post prefix price primary process prod product profile project prompt property proxy query
    queue range rate record ref region release report request resource response result role room root route row rule
    sample schema screen script search section secret segment sequence server service session set setting shard sheet
    signal site size slot snapshot sort source space stack stage staging state step storage store stream string style
    suffix sum symbol system tab table tag target task template tenant term test text theme thread ticket time token
    topic trace track transaction tree trigger type unit update upload url user uuid value variable version view volume
    web week widget window word worker workspace year zone bert gpt llama claude gemini mistral sonnet opus haiku turbo
    mini large base alpha beta
    """.split()
)


def _words(value: str) -> list[str]:
    return re.findall(r"[a-z]+", value.lower())


def is_called(found: Found) -> int:
    """Accept what is called a key or a token: words and a number that name nothing else, or a password by its looks."""
    value = found.value.rstrip(".,:;)]}*_?!")
    words = _words(value)
    # With points between its words it is a path of names: `color.blue.500`.
    chosen = is_worded(value) and "." not in value and len(words) > 1 and len(re.findall(r"[0-9]", value)) > 1
    chosen = chosen and _TECHNICAL.isdisjoint(words) and _TECHNICAL.isdisjoint(word.removesuffix("s") for word in words)
    return len(value) if (chosen or is_strong(value)) and not is_filler(value) else 0


def is_spoken(found: Found) -> int:
    """Accept a password behind words that say that it comes now."""
    value = found.value.strip("*_").rstrip(".,:;)]}*_?")
    chosen = is_strong(value) or is_worded(value) or is_chosen(value, plain=False)
    return found.value.index(value) + len(value) if chosen and not is_filler(value) and value[:1] != "-" else 0


def is_named_behind(found: Found) -> int:
    """Accept a secret that precedes the words that name it, if it is no part of a longer word."""
    value = found.value.lstrip("*_(")
    chosen = is_strong(value) or (is_drawn(value) and not value.islower()) or is_called(found) or _is_mixed(value)
    alone = re.search(r"(?:^|[\s\"'`*(:=])\Z", found.before) is not None
    return len(found.value) if chosen and alone and not is_filler(value) else 0


def _is_mixed(value: str) -> bool:
    """Return True if digits stand before letters, of both cases, as in ``Tr0ub4dor-xk92``."""
    inner = re.search(r"[0-9][A-Za-z]", value) is not None
    return inner and is_chosen(value, plain=False) and re.fullmatch(r"[\w!@#$%^&*+-]+", value) is not None


def is_pin(found: Found) -> int:
    """Accept the digits of a code: no row of them, and no part of a date or a longer number."""
    digits = re.sub(r"\D", "", found.value)
    is_row = digits in "01234567890" or digits in "9876543210" or len(set(digits)) == 1
    counts = re.match(
        r" (?:lines?|times|items|bytes|users|rows|char\w*|files|tests|errors|s|ms|sec\w*|min\w*)\b", found.after
    )
    return 0 if is_row or counts or _is_part(found) else len(found.value)


def is_given(found: Found) -> int:
    """Accept a password as a program's argument."""
    value = found.value.rstrip(")")
    number = value.isdigit() or not any(map(str.isdigit, value))
    return len(value) if not number and value[:1] not in "-$/." and is_password(value, quoted=False, tight=True) else 0


def is_sent(found: Found) -> int:
    """Accept what expect(1) sends as a password."""
    return len(found.value) if is_chosen(found.value, plain=True) and not is_filler(found.value) else 0


def is_impacket(found: Found) -> int:
    """Accept the password of ``user:password@host``, or what ends the argument of such a tool."""
    value = (
        found.value.partition("@")[0] if found.value.count("@") == 1 else found.value.rpartition("@")[0] or found.value
    )
    is_target = "@" in found.value or "impacket" in found.before or "-dc-ip" in found.after or "-target" in found.after
    return len(value) if is_target and is_chosen(value, plain=True) and not is_filler(value) else 0


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


def is_dumped(found: Found) -> int:
    """Accept a line of Windows' passwords: not that of an account without one."""
    return 0 if found.value.startswith("31d6cfe0d16ae931b73c59d7e0c089c0") else len(found.value) - 3


def is_sanctum(found: Found) -> int:
    """Accept a number and forty random characters: no row of a table with a hash in it."""
    return (
        is_any(found) if is_drawn(found.value.partition("|")[2]) and not found.value.partition("|")[2].islower() else 0
    )


# Words that sentences have and lists of words seldom: more of them are no wallet's.
_FUNCTION = frozenset(
    "the and for are was were you your that this these those with from not have has had will would can could should "
    "into its but our out then than they them their there here what when which while who how all any been just "
    "only also let use used run set get see new one two add".split()
)
_WALLET_WORDS = (12, 15, 18, 21, 24)


def is_seed(found: Found) -> int:
    """Accept the words of a wallet (BIP 39), unless they are published ones, most of which are the same."""
    words = list(re.finditer(r"[a-z]+", re.sub(r"\\[nrt]", "  ", found.value), re.IGNORECASE))
    plain = [word[0].lower() for word in words]
    size = max((size for size in _WALLET_WORDS if size <= len(words)), default=0)
    if not size or len(set(plain)) <= 6 or sum(word in _FUNCTION for word in plain[:size]) > 2:
        return 0
    if sum(map(str.isdigit, found.value)) >= len(words):
        return words[size - 1].end()
    # Without numbers they end where a line does.
    whole = found.value + found.after
    ends = (words[size - 1].end() for size in reversed(_WALLET_WORDS) if size <= len(words))
    return next((end for end in ends if re.match(r"[ \t]*(?:\Z|[\r\n\\\"'`.)])", whole[end:])), 0)


_BASE58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"


def is_wif(found: Found) -> int:
    """Accept a private key of Bitcoin's, whose checksum is the beginning of SHA-256 taken twice."""
    number = 0
    for sign in found.value:
        number = number * 58 + _BASE58.index(sign)
    data = number.to_bytes((number.bit_length() + 7) // 8, "big")
    checksum = hashlib.sha256(hashlib.sha256(data[:-4]).digest()).digest()[:4]
    return is_any(found) if data[:1] == b"\x80" and data[-4:] == checksum else 0
