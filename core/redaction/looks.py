"""Does a value look like a secret, or like code, prose or a placeholder?"""

from __future__ import annotations

import math
import re
from collections import Counter

from core.redaction.mark import MARK
from core.redaction.names import VOCABULARY, is_other_key
from core.redaction.rule import made


def _words(kind: str) -> frozenset[str]:
    return frozenset(" ".join(VOCABULARY[kind]).split())


# Placeholders that people write for a secret.
_PLACEHOLDER = r"""(?ix)^(?:
        \[redacted: | [<{\[(*•.…] | \$[A-Za-z_{(\[] | %[A-Za-z_({] | \#\{ | @\{ | \\?$
        | x{3,} | _+$ | -+$ | \?+$ | (.)\1+$ | AAAA(?:[BC]3NzaC1|E2VjZHNh)  # a public key of SSH
        | (?:n?varchar2?|n?char|character|varbinary|binary|decimal|numeric)\(  # a column's type
        | (?:your|my|the|an?|some|any|insert|replace|enter|change|todo|fixme|put|set|add|use|get|read|load|see)
          (?:[-_.\ ]|$)
        | your | changeme | change-?me | replace-?me
    )
    | placeholder | redacted | changeme | change[-_]me | replace[-_]?me | example | dummy | (?<![a-z])fake | sample
    | not[-_]?a[-_]?real | x{4,} | \*{3,} | \.\.\. | …  | <[a-z] | \{\{ | \$\{ | \$\( | ^sha\d{1,3}[-:]
    """
PLACEHOLDERS = _words("placeholders")
# Words that stand for a secret: in a password only where there is nothing else to it.
_FILLER = _words("fillers")
_ASKED = r"(?i)^(?:your|(?:insert|replace|enter|change|todo|fixme|put)(?:[-_.]|$))"
_STRUCTURE = r"""(?ix)^(?:
        \[redacted: | [<{\[(*•.…] | \$[A-Za-z_{(\[] | %[A-Za-z_({] | \#\{ | @\{ | @\w{2,20}\( | \\?$
        | x{3,} | _+$ | -+$ | \?+$ | (.)\1+$ | sha\d{1,3}[-:] | (?:n?var)?char\(
    )
    | x{4,} | \*{3,} | \.\.\. | …  | <[a-z] | \{\{ | \$\{ | \$\(
    """
# Parts of the names of variables and fields that hold a secret; `my` is rather a person's.
PARTS = _words("name_parts")
TERMS = _words("terms")
# Words that names in programs are made of: `key user-profile-42` is no secret.
TECHNICAL = _words("technical")
# Parts of identifiers in the code of many packages: `inputField` is rather a variable, `saltyDog` is none.
_CODE_WORDS = _words("code")
_PART = r"[A-Z]?[a-z]+\d*|[A-Z]+\d*(?![a-z])|\d+[a-z]*|[A-Z]"
_KEYWORD = r"(?i)passw|secret|token|api[_-]?key|credential|passphrase"
_DOTTED = r"^[A-Za-z_$][\w$]*(?:(?:\.|->|::|\?\.)[A-Za-z_$][\w$]*)+[!?]?$"
_NAME = r"^[A-Za-z_$][A-Za-z_$]*$"
_CALL = r"^[A-Za-z_$][\w$.:]*[(\[]"
_KEBAB = r"^[A-Za-z]+(?:[-_./:@][A-Za-z]+)+\d{0,2}$"
_PATH = (
    r"^(?:~?/|\.{1,2}/|[a-z][a-z0-9+.-]*://|[A-Za-z]:\\)|\.(?:py|js|ts|tsx|go|rs|java|json|ya?ml|toml|txt|md|pem|key|"
    r"crt|env|cfg|conf|ini|sh|sql|html|csv|log)(?::\d+)?$"
)
_DATE = r"(?i)^\d{4}-\d\d-\d\d|^v?\d+(?:\.\d+)+$|^\d+(?:ms|s|m|h|d|px|em|kb|mb|gb|k|%)?$"
_ACCOUNT_LINE = r"^[\w.-]{1,32}:[x*!]{0,2}:\d*:"
_HANDED_OUT = r"[a-z]{4}(?:(?: [a-z]{4}){3}|(?:-[a-z]{4}){3})"
_REGION = r"^[a-z]{2}(?:-[a-z]+)+-\d:\d{12}:"
_SCALE = r"^[a-z]+(?:[.:-](?:[a-z]+|v?\d{1,3}))*[.:-](?:\d{1,4}|[a-z]+)$"
# A word and a number, where it is said to be a password.
WORDED = (
    r"(?=.{8})(?:[A-Za-z]{4,20}[-_.]?\d{3,6}|(?:[A-Za-z]{3,20}[-_.]){1,4}[A-Za-z]{3,20}[-_.]?\d{1,6}|[A-Za-z]{5,20}\d{2})"
    r"[!?@#$%&*]{0,3}"
)
# One word and a digit or more: too short for a password, except where a sentence says so.
_PLAIN_WORD = (
    r"(?i)(?!(?:step|level|stage|part|phase|type|version|option|field|item|line|note|section|table|user|test|file|page|case"
    r"|column|group|mode|day|week|month|year|error|code|port|node|host|http|rfc|utf|ipv|python|java)[-_]?\d)"
    r"[A-Za-z]{4,20}[-_]?\d{1,4}[!?@#$%&*]{0,3}"
)
_DRAWN = r"[A-Za-z0-9+/_-]{12,4096}={0,2}"
# Signs that passwords have and words do not; what they stand in that is none: versions, addresses, code, a question.
_SIGN = r"[!#$%^@]|[&*?~+](?=[^\W_])"
_OTHER_SIGNS = (
    r"^[@$%&*#^:-]|@[\w-]*\.|@\d+\.|^[a-z][a-z0-9_-]*@\d|@\^|://|::|->|=|\\|%[0-9A-Fa-f]{2}|^[A-Za-z.]+#L?\d+$|^[A-Za-z.:]+#[a-z_]\w*$"
    r"|\$[A-Z{(]|!!?\.|\?\.|\.\w{1,4}[?#]"
    r"|^\w+@[A-Za-z][\w.-]*$|\+\+|^[A-Z][A-Za-z]*[+&](?![A-Za-z]+\d{2,}$)"
)
# Words of programs with a digit within: `base64url`, `utf8mb4`, `x86_64`.
_LEET_TERMS = (
    r"(?i)base(?:32|58|64)|utf(?:8|16)|sha\d|md[45]|ipv[46]|ed25519|[a-z]2[a-z]|x509|pkcs|http[123]|h264|log4j|neo4j"
    r"|web3"
)
HEX = r"[0-9a-f]{32}|[0-9a-f]{40}|[0-9a-f]{48}|[0-9a-f]{64}"
# A phrase of words, as lists of words give them, and what sentences are made of.
_PHRASE = (
    r"[a-z]{3,10}(?: [A-Za-z]{3,10}){3,11}(?: \d{1,6})?|[a-z]{2,10}(?: [a-z]{2,10}){1,5} \d{1,6}"
    r"|(?=[A-Za-z ]+ \d{1,6}\b)[A-Za-z]{3,10}(?: (?:[A-Za-z]{2,10}|\d{1,6})){3,11}"
    r"|(?=[a-z ]+ \d{1,6} )[a-z]{3,10}(?: (?:[a-z]{3,10}|\d{1,6})){2,11}"
)
_SENTENCE = _words("sentence")


# Words that speak of a secret, or of a program, or make a sentence.
_SPEAKING = (TECHNICAL, PARTS, _SENTENCE, _FILLER, PLACEHOLDERS)


def entropy(text: str) -> float:
    """Bits a character, by Shannon, of ``text``'s own distribution of characters; 0 for empty text."""
    total = len(text)
    return -sum(count / total * math.log2(count / total) for count in Counter(text).values()) if total else 0.0


def is_placeholder(value: str) -> bool:
    """Return True if ``value`` fills the place of a secret."""
    return bool(made(_PLACEHOLDER).search(value)) or value.strip("\"'`.,;:!?").lower() in PLACEHOLDERS


def is_filler(value: str) -> bool:
    """Return True if ``value`` fills the place of a password; unlike in ``is_placeholder``, digits may make it real."""
    if " " in value or not any(map(str.isdigit, value)):
        return is_placeholder(value)
    if made(_STRUCTURE).search(value) or made(_ASKED).match(value):
        return True
    word = value.strip("\"'`.,;:!?")
    # `password1` is a variable or an example; `Password1` is what people choose where a capital is asked for.
    if word.lower() in PLACEHOLDERS and (word.islower() or word.isupper() or word.isdigit()):
        return True
    words = [part.lower().rstrip("0123456789") for part in made(_PART).findall(value)]
    if "placeholder" in words and len(_FILLER.intersection(words)) > 1:
        return True
    if _FILLER.isdisjoint(words) or not re.fullmatch(r"[\w.-]*\d{1,3}[\W_]*", value):
        return False
    # `example_password_12`, but of one word no more than `changeme1`.
    if len(words) == 1 or not re.search(r"[-_.]", value):
        return words[0] in _FILLER and sum(map(str.isdigit, value)) == 1
    return all(word in _FILLER or word in PARTS or not word for word in words)


def is_name(value: str, *, loose: bool) -> bool:
    """Return True if ``value`` is the name of what holds a secret (``secret_key_1``, ``passwordField1``), not a secret.

    ``loose``: where code is likely, one word that speaks of a secret is enough.
    """
    value = value.removesuffix(":")  # the end of `if password == token2:`
    if not re.fullmatch(r"[A-Za-z_$][\w$-]*", value):
        return False
    found = [part.lower() for part in made(_PART).findall(value)]
    words = [part if part in TERMS else re.sub(r"(?<=[a-z])\d{1,2}$|^\d{1,2}$", "", part) for part in found]
    if any(character.isdigit() for word in words if word not in TERMS for character in word):
        return False
    if loose:
        return any(made(_KEYWORD).match(word) and word in PARTS for word in words)
    if not all(not word or word in PARTS or word in TERMS for word in words):
        return False
    if len(found) == 1:
        # `token2`, but `Secret2` and `secret12` are what people choose.
        return sum(map(str.isdigit, value)) == 1 and (value.islower() or value.isupper())
    return value[0].islower() or value[0] in "_$" or value.isupper()


def _is_variable(value: str) -> bool:
    """Return True if ``value``, written without quotes behind a space, is rather a variable of code than a password.

    Names hold one digit at the end or a term such as ``sha256``, and begin with a small letter: `userSecret2`,
    `utf8Bytes`, but `mySecret12` and `Password1` are what people choose.
    """
    if not re.fullmatch(r"[a-z_$][\w$]*", value):
        return False
    if re.fullmatch(r"[a-z]{1,4}\d|[a-z]{2,}(?:[A-Z][a-z]+)+\d", value):
        return True  # `step2`, too short to be one; `useState2`
    words = [part.lower() for part in made(_PART).findall(value)]
    if all(word in TERMS or not any(map(str.isdigit, word)) for word in words):
        return len(words) > 1
    return bool(made(_KEYWORD).search(value)) and sum(map(str.isdigit, value)) == 1 and is_name(value, loose=True)


def is_key(name: str, value: str) -> bool:
    """Return True if ``value`` looks like a key that lets somebody in: a name ``…_key`` alone says too little."""
    if (
        is_other_key(name)
        or is_placeholder(value)
        or not re.fullmatch(r"(?:[a-z]{2,8}[_-])?[A-Za-z0-9+/]{16}[A-Za-z0-9+/_-]{4,4096}={0,2}", value)
    ):
        return False
    signs = (str.isdigit, str.isupper, str.islower)
    return all(sum(map(sign, value)) > 2 for sign in signs) and entropy(value) >= 3.7 and not made(_PATH).search(value)


def is_basic(value: str) -> bool:
    """Return True if ``value`` is ``name:password`` in base64, as in ``Authorization: Basic`` and Docker's files."""
    import base64

    try:
        plain = base64.b64decode(value, validate=True).decode()
    except ValueError:
        return False
    name, _, password = plain.partition(":")
    return bool(re.fullmatch(r"[\w.@$+-]{1,80}", name)) and len(password) > 2 and plain.isprintable()


def is_listed(value: str) -> bool:
    """Return True if a quoted value behind a quoted name and a comma is rather the next name of a list."""
    if not any(map(str.isdigit, value)) or value.lower() in TERMS or value.startswith(("urllib", "python")):
        return True
    named = r"[A-Za-z]+(?:_[A-Za-z0-9]+){2,}|[A-Z]+(?:_[A-Z0-9]+)+|[A-Z]\w*(?:Key|Token|Type|Class|Error)s?"
    return bool(re.fullmatch(named, value)) or _is_camel(value)


def _is_camel(value: str) -> bool:
    """Return True if ``value`` is a type's name: words with capitals, and no more than one number among them."""
    if not re.fullmatch(r"[A-Z][A-Za-z]*\d{1,5}[A-Za-z]+", value):
        return False
    words = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", value)
    return len(words) > 1 and all(len(word) > 2 for word in words[1:]) and any(map(str.islower, value))


def is_password(value: str, *, quoted: bool, tight: bool) -> bool:
    """Return True if ``value`` behind a password's name is one; ``tight``: as in environments, ``name=value``."""
    if len(value) < 4 or is_filler(value) or _is_code(value, quoted=quoted):
        return False
    digit = any(character.isdigit() for character in value)
    if re.fullmatch(r"-\d+|0x[0-9A-Fa-f]{1,8}|[1-9]\d{0,2}(?:_\d{3})+", value) or value.lower() in TERMS:
        return False  # a constant, a term
    if digit and not (quoted or tight) and _is_variable(value):
        return False
    if is_handed_out(value):
        return True
    if " " in value or "\t" in value:
        # A label or a sentence, unless it has what sentences have not.
        if quoted and (is_phrase(value) or is_made_up_phrase(value)):
            return True
        return quoted and digit and len(value) <= 64 and bool(re.search(r"[^\w\s.,:;'\"()?-]", value))
    if made(_KEBAB).match(value) and not (digit and "@" in value and "." not in value):
        if quoted and digit and re.search("[.:]", value) and not value.islower():
            return not made(_PATH).search(value)
        if not digit:
            return (quoted or tight) and (_is_titled(value) or is_invented(value))
        if re.search(r"[./:]", value) or is_name(value, loose=False):
            return False
        # Names of parts and resources are put together in the same way: `user-profile-2`.
        words = [word.lower() for word in re.findall(r"[A-Za-z]+", value)]
        drawn = not value.islower() or sum(map(str.isdigit, value)) > 1
        return (tight and not quoted) or (TECHNICAL.isdisjoint(words) and drawn)
    if made(_KEYWORD).search(value):
        return digit and not is_name(value, loose=False)
    if value.isalpha():
        if not (quoted or tight):
            return False
        return len(value) >= 6 and not value.istitle() and not (value.isupper() and not tight)
    if value.isdigit():
        return len(value) >= 6 and (quoted or tight)
    return True


def is_invented(value: str) -> bool:
    """Return True if ``value`` is two words or more without a digit, and none is one that programs' names are made of.

    ``saltyDog`` and ``four-candles-burning``, but not ``inputField`` or ``read-only``.
    """
    if len(value) < 8 or not made(r"[A-Za-z]+(?:[-_][A-Za-z]+)*").fullmatch(value):
        return False
    words = [word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", value)]
    long = [word for word in words if len(word) > 2]
    if len(long) < 2 or any(
        form in kind for word in long for form in (word, word.removesuffix("s")) for kind in _SPEAKING
    ):
        return False
    return sum(map(is_code_word, long)) <= len(long) // 3


def is_code_word(word: str) -> bool:
    """Return True if ``word``, in small letters, is often a part of an identifier in programs."""
    return word in _CODE_WORDS or word.removesuffix("s") in _CODE_WORDS


def _is_titled(value: str) -> bool:
    """Return True if ``value`` is words with capitals, as in ``Quiet-Otter-Loom``, and none is a program's."""
    if not made(r"[A-Z][a-z]{2,}(?:[-_.][A-Z][a-z]{2,})+").fullmatch(value):
        return False
    words = [word.lower() for word in re.findall(r"[A-Za-z]+", value)]
    return not any(word in known for word in words for known in (TECHNICAL, PARTS, _SENTENCE, _FILLER, PLACEHOLDERS))


def is_handed_out(value: str) -> bool:
    """Return True if ``value`` is an application's password of Google or Apple: ``abcd efgh ijkl mnop``."""
    if not made(_HANDED_OUT).fullmatch(value):
        return False
    # Each word has a vowel.
    return sum(not re.search(r"[aeiouy]", part) for part in re.split("[ -]", value)) > 0


def is_chosen(value: str, *, plain: bool, odd_signs: str = "/_:#") -> bool:
    """Return True if ``value`` is a password by its looks alone, where its name says little (``pass``, ``pw``).

    ``odd_signs``: what shows that words are rather a name of something else.
    ``plain``: it is in quotes or written ``name=value``, so that it is the value itself; else words may stand there.
    """
    digits = sum(map(str.isdigit, value))
    if not digits:
        return plain and is_invented(value)
    if digits == len(value) or not is_password(value, quoted=plain, tight=plain) or " " in value:
        return False
    mixed = any(map(str.isupper, value)) and any(map(str.islower, value))
    if plain:
        return len(value) >= (6 if mixed else 8) and any(map(str.isalpha, value))
    odd = digits > 2 or not value[-1].isdigit() or not value.isalnum()
    # `PASS: TestPath/#00` is a test that passed.
    return (
        mixed
        and odd
        and 8 <= len(value) <= 64
        and not re.search(rf"[{odd_signs}]|-.*-", value)
        and not made(_DOTTED).match(value)
    )


def is_secret(value: str, *, quoted: bool) -> bool:
    """Return True if ``value`` behind a name such as ``token`` or ``api_key`` is a secret: it has to look random."""
    least = 8 if quoted else 10
    if len(value) < least or len(value) > 4096 or is_placeholder(value) or _is_code(value, quoted=quoted):
        return False
    if " " in value or "\t" in value or not value.isascii():
        return False
    if not quoted and _is_camel(value):
        return False
    if made(_KEBAB).match(value) or made(_DATE).match(value) or made(_SCALE).match(value) or made(_REGION).match(value):
        return False
    digits = sum(character.isdigit() for character in value)
    letters = sum(character.isalpha() for character in value)
    if not letters or not digits:
        return False
    bits = entropy(value)
    if made(_KEYWORD).search(value) and len(value) < 24 and bits < 3.7:
        return False
    return bits >= 2.5 if digits >= 2 else bits >= 2.8 and len(value) >= 10


def _is_code(value: str, *, quoted: bool) -> bool:
    if (made(_PATH).search(value) and not _is_bytes(value)) or made(_ACCOUNT_LINE).match(value):
        return True
    if quoted:
        return value.startswith(("process.env", "os.environ", "env.", "secrets.", "vars.", "env:", "vault:", "file:"))
    return bool((made(_DOTTED).match(value) and not _is_random(value)) or made(_CALL).match(value)) or value.startswith(
        ("&", "*", "!", "(", ":", "function")
    )


def _is_bytes(value: str) -> bool:
    """Return True if what begins like a path is rather base64: no folder has such a name."""
    if not re.fullmatch(r"/[A-Za-z0-9+/]{23,4096}={0,2}", value):
        return False
    longest = max(value.split("/"), key=len)
    signs = (str.isdigit, str.isupper, str.islower)
    return len(longest) >= 12 and all(sum(map(sign, longest)) > 1 for sign in signs) and entropy(value) >= 4


def _is_random(value: str) -> bool:
    """Return True if a short head and a dot precede what no one names a field, as in Vault's ``s.…``."""
    signs = (str.isdigit, str.isupper, str.islower)
    head, _, tail = value.partition(".")
    return len(head) < 4 and len(tail) >= 20 and all(sum(map(sign, tail)) > 2 for sign in signs)


def is_worded(value: str) -> bool:
    """Return True if ``value`` is a word or more and a number, where it is said to be a password: ``Otter-Lamp-42``."""
    return made(WORDED).fullmatch(value) is not None and not is_name(value, loose=False)


def is_composed(value: str) -> bool:
    """Return True if ``value`` is several words and a number, none of which names a part of a program."""
    words = [word.lower() for word in re.findall(r"[A-Za-z]+", value)]
    known = any(word in TECHNICAL or word.removesuffix("s") in TECHNICAL or word in PARTS for word in words)
    return len(words) > 1 and is_worded(value) and not known


def is_plain_word(value: str) -> bool:
    """Return True if ``value`` is a word and a number where nothing but a password is to be expected: ``hunter2``."""
    return (
        len(value) >= 6
        and made(_PLAIN_WORD).fullmatch(value) is not None
        and not is_name(value, loose=False)
        and not is_filler(value)
        and value.lower() not in TERMS
    )


def is_leet(value: str) -> bool:
    """Return True if digits stand for letters in ``value``, as in ``p0stkutsche``, and it is no term."""
    words = [word for word in re.split(r"[\W_]+", value) if re.search(r"[A-Za-z]", word)]
    inner = [word for word in words if re.search(r"[A-Za-z][013457]{1,2}[A-Za-z]|^[013457][A-Za-z]{3}", word)]
    return (
        len(value) >= 8
        and any(len(word) > 4 and sum(map(str.isalpha, word)) > 3 and word.lower() not in TERMS for word in inner)
        and not any(word.lower() in TERMS or word.lower() in TECHNICAL for word in words)
        and not made(_OTHER_SIGNS).search(value)
        and not made(HEX).fullmatch(value)
        and not made(_LEET_TERMS).search(value)
    )


def is_pointed(value: str) -> bool:
    """Return True if a program's argument, with a point in it, is no field of code: one has no digit in the middle."""
    return "." in value and any(map(str.isdigit, value.rstrip("0123456789")))


def is_drawn(value: str) -> bool:
    """Return True if ``value`` looks as if a machine had drawn it: letters of both cases and digits."""
    if not made(_DRAWN).fullmatch(value) or value.count("/") > 3 or value.count("-") + value.count("_") > 3:
        return bool(made(HEX).fullmatch(value))
    signs = (str.isdigit, str.isupper, str.islower)
    return all(sum(map(sign, value)) > 1 for sign in signs) and entropy(value) >= 3.2


def is_strong(value: str) -> bool:
    """Return True if ``value`` is a password by its looks where one is spoken of: both cases, a digit and a sign."""
    if not 8 <= len(value) <= 64 or made(_OTHER_SIGNS).search(value) or "/" in value:
        return False
    kinds = (str.isdigit, str.isupper, str.islower)
    return all(any(map(kind, value)) for kind in kinds) and made(_SIGN).search(value) is not None


def is_phrase(value: str) -> bool:
    """Return True if ``value`` is a password of several words, and no sentence: no word of those is in it."""
    words = value.lower().split()
    is_composed = made(_PHRASE).fullmatch(value) is not None and _SENTENCE.isdisjoint(words)
    return is_composed and (len(words) > 3 or TECHNICAL.isdisjoint(words))


def is_made_up_phrase(value: str) -> bool:
    """Return True if ``value`` is two to five words and numbers, in quotes, that neither prose nor a program joins.

    ``glacier moss 44`` and ``wh4t ever 9``: with a digit, without a word of sentences, and with few words of programs.
    """
    if not made(r"(?=.*\d)[\w!?#&+-]{2,16}(?: [\w!?#&+-]{1,16}){1,4}").fullmatch(value) or len(value) < 8:
        return False
    words = re.findall(r"[^\W\d_]+", value.lower())
    long = [word for word in words if len(word) > 2]
    if not long or any(word in kind for word in words for kind in (_SENTENCE, PARTS, _FILLER, PLACEHOLDERS)):
        return False
    return sum(map(is_code_word, long)) <= len(long) // 2


def is_quoted_word(value: str) -> bool:
    """Return True if ``value``, in quotes behind `password is`, is one: no word of programs, prose or placeholders."""
    if not made(r"[A-Za-z_-]{6,40}[!?#$*]{0,3}").fullmatch(value) or is_placeholder(value):
        return False
    words = [word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", value)]
    if not words or any(word in kind for word in words for kind in (PARTS, _FILLER, PLACEHOLDERS)):
        return False
    return value[-1] in "!?#$*" or not any(is_code_word(word) or word in _SENTENCE for word in words)


# A composed value: words and numbers with signs between them, in any language's letters.
_COMPOSED = r"(?:[^\W_]+[-_.+&!@#$%*=~^?]{1,2}){0,6}[^\W_]+[-_.+&!@#$%*=~^?]{0,3}"
# Terms and measures: `AES-256`, `8-character`, `2FA`, `v1.2`, `12px`.
_TERM = (
    r"[A-Z]{2,}(?:-?[A-Z0-9]+)*|\d+-?[a-z]+|v?\d+(?:\.\d+)*[a-z]{0,3}|[a-z]{1,3}\d{1,3}"
    r"|(?i:(?:[a-z]{1,3}\d{1,2}|utf|sha|aes|rsa)[-_]?\d*)"
)


def is_said(value: str, *, plain: bool) -> bool:
    """Return True if ``value`` is a password where a sentence announces one.

    Args:
        value: The word behind what announces it.
        plain: It follows the word for a password, and only a sign or a verb is between them.
    """
    value = re.sub(r"(?<=\w)[(\[{](\w+)[)\]}](?=[\w!?#])", r"_\1_", value)  # no call goes on behind its arguments
    if (
        not 6 <= len(value) <= 64
        or is_filler(value)
        or made(_OTHER_SIGNS).search(value.replace("+", "_"))
        or "/" in value
        or MARK in value
    ):
        return False
    if not made(_COMPOSED).fullmatch(value) or made(_TERM).fullmatch(value) or value.lower() in TERMS:
        return False
    if made(_PATH).search(value) or made(_DATE).match(value) or is_name(value, loose=False):
        return False
    if made(r"[a-z]{2,}(?:[A-Z][a-z]+)+\d").fullmatch(value):
        return False  # a variable: `useState2`
    words = [word.lower() for word in re.findall(r"[^\W\d_]+", value)]
    if not any(len(word) > 2 for word in words):
        return False
    if not any(map(str.isdigit, value)):
        return (
            plain and len(words) > 2 and _SENTENCE.isdisjoint(words) and TECHNICAL.isdisjoint(words) and value.islower()
        )
    signed = re.search(r"[!@#$%^&*+?~]", value) is not None
    if signed and not made(r"(?i)[a-z_]+#[a-z0-9_]+").fullmatch(value):
        return True
    if any(word in TECHNICAL or word.removesuffix("s") in TECHNICAL for word in words):
        return False
    if sum(map(str.isdigit, value)) < 2 and not _SENTENCE.isdisjoint(words):
        return False
    mixed = any(map(str.isupper, value)) and any(map(str.islower, value))
    return plain or mixed or is_worded(value) or len(words) > 1
