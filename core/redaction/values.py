"""Does what stands behind a name such as ``password`` look like a secret, or like code, prose or a placeholder?"""

from __future__ import annotations

import math
import re
from collections import Counter

from core.redaction.phrases import is_phrase

# What people write where a secret would stand.
_PLACEHOLDER = re.compile(
    r"""^(?:
        \[redacted: | [<{\[(*•.…] | \$[A-Za-z_{(\[] | %[A-Za-z_({] | \#\{ | @\{ | \\?$
        | x{3,} | _+$ | -+$ | \?+$ | (.)\1+$
        | (?:n?varchar2?|n?char|character|varbinary|binary|decimal|numeric)\(  # a column's type
        | (?:your|my|the|an?|some|any|insert|replace|enter|change|todo|fixme|put|set|add|use|get|read|load|see)
          (?:[-_.\ ]|$)
        | your | changeme | change-?me | replace-?me
    )
    | placeholder | redacted | changeme | change[-_]me | replace[-_]?me | example | dummy | (?<![a-z])fake | sample
    | not[-_]?a[-_]?real | x{4,} | \*{3,} | \.\.\. | …  | <[a-z] | \{\{ | \$\{ | \$\( | ^sha\d{1,3}[-:]
    """,
    re.IGNORECASE | re.VERBOSE,
)
_WORDS = frozenset(
    """
    password passwd pass passphrase pwd secret secrets token tokens key apikey api_key credential credentials
    none null nil true false undefined required optional string str bytes bytearray int integer number float
    bool boolean any object dict list map array text varchar char unknown env environ default admin root user
    username test testing tests foo bar baz qux value values empty blank hidden masked encrypted missing invalid
    incorrect wrong valid correct auto manual basic bearer digest oauth oauth2 jwt session cookie self this new
    old current prompt input stdin file vault keychain keyring generated random unset disabled enabled yes no on
    off abc abc123 123456 12345678 1234 12345 password1 password123 mypassword letmein postgres mysql redis
    guest demo local localhost secretstr optional[str] type const let var return await async function field
    label name description error warning info debug reset forgot login logout confirm confirmation strength
    policy manager sensitive never always and or not is are was the for with option options flag flags argument
    arguments parameter parameters switch switches requires
    """.split()
)
# Words that stand for a secret: in a password only where there is nothing else to it.
_FILLER = frozenset("placeholder redacted changeme change replaceme replace me example dummy fake sample".split())
_ASKED = re.compile(r"^(?:your|(?:insert|replace|enter|change|todo|fixme|put)(?:[-_.]|$))", re.IGNORECASE)
_STRUCTURE = re.compile(
    r"""^(?:
        \[redacted: | [<{\[(*•.…] | \$[A-Za-z_{(\[] | %[A-Za-z_({] | \#\{ | @\{ | @\w{2,20}\( | \\?$
        | x{3,} | _+$ | -+$ | \?+$ | (.)\1+$ | sha\d{1,3}[-:] | (?:n?var)?char\(
    )
    | x{4,} | \*{3,} | \.\.\. | …  | <[a-z] | \{\{ | \$\{ | \$\(
    """,
    re.IGNORECASE | re.VERBOSE,
)
# What names of variables and fields that hold a secret are put together from; `my` is rather a person's.
_PARTS = frozenset(
    """
    password passwords passwd passphrase pass pwd pw secret secrets token tokens key keys api credential credentials
    access auth refresh bearer client server service user admin root account login db database app env config default
    new old current previous prev next last first second other original confirm confirmed repeat again verify hash
    hashed salt salted encrypted decrypted encoded decoded plain raw clear input output field value text label name id
    idx index param arg var ref str string bytes const test testing tests valid invalid wrong correct expected actual
    good bad short long weak strong temp tmp reset change update set get is has no generated random master private
    public session cookie csrf jwt oauth webhook signing signature encryption v version alt
    """.split()
)
TERMS = frozenset(
    "2fa sha1 sha256 sha384 sha512 md5 base64 b64 utf8 oauth2 s3 ec2 k8s argon2 pbkdf2 x509 pkcs12 p12 hs256 "
    "argon2id argon2i hs384 hs512 rs256 rs384 rs512 es256 es256k es384 es512 ps256 ps384 ps512 ed25519 ed448".split()
)
_PART = re.compile(r"[A-Z]?[a-z]+\d*|[A-Z]+\d*(?![a-z])|\d+[a-z]*|[A-Z]")
_KEYWORD = re.compile(r"passw|secret|token|api[_-]?key|credential|passphrase", re.IGNORECASE)
_DOTTED = re.compile(r"^[A-Za-z_$][\w$]*(?:(?:\.|->|::|\?\.)[A-Za-z_$][\w$]*)+[!?]?$")
_NAME = re.compile(r"^[A-Za-z_$][A-Za-z_$]*$")
_CALL = re.compile(r"^[A-Za-z_$][\w$.:]*[(\[]")
_KEBAB = re.compile(r"^[A-Za-z]+(?:[-_./:@][A-Za-z]+)+\d{0,2}$")
_PATH = re.compile(
    r"^(?:~?/|\.{1,2}/|[a-z][a-z0-9+.-]*://|[A-Za-z]:\\)|\.(?:py|js|ts|tsx|go|rs|java|json|ya?ml|toml|txt|md|pem|key|"
    r"crt|env|cfg|conf|ini|sh|sql|html|csv|log)(?::\d+)?$"
)
_DATE = re.compile(r"^\d{4}-\d\d-\d\d|^v?\d+(?:\.\d+)+$|^\d+(?:ms|s|m|h|d|px|em|kb|mb|gb|k|%)?$", re.IGNORECASE)
# Names that end so say where a secret is, or how long it may be, not what it is.
_ABOUT = re.compile(
    r"(?:[_-](?:name|file|path|dir|url|uri|type|kind|id|ids|length|len|count|limit|max|min|policy|field|label|title|hint|"
    r"placeholder|ttl|expiry|expires|expiration|expires_?in|expires_?at|ref|arn|version|prefix|suffix|format|pattern|"
    r"regex|env|var|variable|provider|manager|store|storage|class|column|input|prompt|usage|budget|index|idx|error|status|"
    r"strategy|algorithm|alg|schema|message|text|help|required|enabled|strength|rules?|reset|template|scopes?|endpoint|"
    r"example|docs?|command|cmd|model|size|per|rate|cost|price|stream|embedding|ids?|list|map|set|mask|at|by|in|for|from|to))$"
    r"|(?:Name|File|Path|Url|Uri|Type|Kind|Id|Length|Count|Limit|Policy|Field|Label|Hint|Placeholder|Ttl|Expiry|Expires|"
    r"ExpiresIn|ExpiresAt|Ref|Arn|Version|Prefix|Suffix|Format|Pattern|Regex|Env|Var|Provider|Manager|Store|Class|Input|"
    r"Prompt|Usage|Budget|Index|Error|Status|Schema|Message|Required|Enabled|Template|Scopes?|Endpoint|Model|Size)$"
    r"|(?:passwordenv|publicKeyToken|tokenizer|tokenize|tokens|tokenization|secretary|passwordless)"
    r"|(?:^|[_.-])(?:public|next|prev|previous|page|continue|continuation|sync|cancel|cancellation|design|"
    r"color|colour|max|min|num|total|input|output|cache|cached|stop|bos|eos|pad|unk|sep|cls|mask)[_-]?token$"
    r"|(?:next|prev|page|continuation|cancellation|nextPage)Token$",
)


# What is called a key without being a secret.
_OTHER_KEYS = re.compile(
    r"(?:public|publishable|site|cache|primary|foreign|partition|sort|range|hash|row|group|object|item|list|query|"
    r"idempotency|dedupe|dedup|translation|i18n|message|event|state|react|file|registry|lookup|index|unique|composite|"
    r"config|dict|json|data|storage|prop|field|column|sub|node|parent|child|hot|known|host|measurement|blob|image|asset|"
    r"upload|document|doc|project|resource|thread|room|job|task|step|test|batch|chunk|content|s3)s?[_-]?key$",
    re.IGNORECASE,
)
_PASSWD_LINE = re.compile(r"^[\w.-]{1,32}:[x*!]{0,2}:\d*:")
_HANDED_OUT = re.compile(r"[a-z]{4}(?:(?: [a-z]{4}){3}|(?:-[a-z]{4}){3})")
_REGION = re.compile(r"^[a-z]{2}(?:-[a-z]+)+-\d:\d{12}:")
_SCALE = re.compile(r"^[a-z]+(?:[.-][a-z]+)*[.-]\d{1,4}$")


def entropy(text: str) -> float:
    """Bits a character, by Shannon, of ``text``'s own distribution of characters; 0 for empty text."""
    total = len(text)
    return -sum(count / total * math.log2(count / total) for count in Counter(text).values()) if total else 0.0


def is_placeholder(value: str) -> bool:
    """Whether ``value`` stands for a secret without being one."""
    return bool(_PLACEHOLDER.search(value)) or value.strip("\"'`.,;:!?").lower() in _WORDS


def is_filler(value: str) -> bool:
    """Whether ``value`` stands for a password: as ``is_placeholder``, but words beside digits may be a real one."""
    if " " in value or not any(map(str.isdigit, value)):
        return is_placeholder(value)
    if _STRUCTURE.search(value) or _ASKED.match(value):
        return True
    word = value.strip("\"'`.,;:!?")
    # `password1` is a variable or an example; `Password1` is what people choose where a capital is asked for.
    if word.lower() in _WORDS and (word.islower() or word.isupper() or word.isdigit()):
        return True
    words = [part.lower().rstrip("0123456789") for part in _PART.findall(value)]
    if _FILLER.isdisjoint(words) or not re.fullmatch(r"[\w.-]*\d{1,3}[\W_]*", value):
        return False
    # `example_password_12`, but of one word no more than `changeme1`.
    if len(words) == 1 or not re.search(r"[-_.]", value):
        return words[0] in _FILLER and sum(map(str.isdigit, value)) == 1
    return all(word in _FILLER or word in _PARTS or not word for word in words)


def is_name(value: str, *, loose: bool) -> bool:
    """Whether ``value`` is the name of what holds a secret (``secret_key_1``, ``passwordField1``), not a secret.

    ``loose``: where code is likely, other words beside one that speaks of a secret do.
    """
    value = value.removesuffix(":")  # the end of `if password == token2:`
    if not re.fullmatch(r"[A-Za-z_$][\w$-]*", value):
        return False
    found = [part.lower() for part in _PART.findall(value)]
    words = [part if part in TERMS else re.sub(r"(?<=[a-z])\d{1,2}$|^\d{1,2}$", "", part) for part in found]
    if any(character.isdigit() for word in words if word not in TERMS for character in word):
        return False
    if loose:
        return any(_KEYWORD.match(word) and word in _PARTS for word in words)
    if not all(not word or word in _PARTS or word in TERMS for word in words):
        return False
    if len(found) == 1:
        # `token2`, but `Secret2` and `secret12` are what people choose.
        return sum(map(str.isdigit, value)) == 1 and (value.islower() or value.isupper())
    return value[0].islower() or value[0] in "_$" or value.isupper()


def _is_variable(value: str) -> bool:
    """Whether ``value``, written without quotes behind a space, is rather a variable of code than a password.

    Names hold one digit at the end or a term such as ``sha256``, and begin with a small letter: `userSecret2`,
    `utf8Bytes`, but `mySecret12` and `Password1` are what people choose.
    """
    if not re.fullmatch(r"[a-z_$][\w$]*", value):
        return False
    if re.fullmatch(r"[a-z]{1,4}\d|[a-z]{2,}(?:[A-Z][a-z]+)+\d", value):
        return True  # `step2`, too short to be one; `useState2`
    words = [part.lower() for part in _PART.findall(value)]
    if all(word in TERMS or not any(map(str.isdigit, word)) for word in words):
        return len(words) > 1
    return bool(_KEYWORD.search(value)) and sum(map(str.isdigit, value)) == 1 and is_name(value, loose=True)


def is_key(name: str, value: str) -> bool:
    """Whether ``value`` is a key that lets somebody in: so much is named ``…_key`` that it has to look it, too."""
    if (
        _OTHER_KEYS.search(name)
        or is_placeholder(value)
        or not re.fullmatch(r"(?:[a-z]{2,8}[_-])?[A-Za-z0-9+/]{16}[A-Za-z0-9+/_-]{4,4096}={0,2}", value)
    ):
        return False
    signs = (str.isdigit, str.isupper, str.islower)
    return all(sum(map(sign, value)) > 2 for sign in signs) and entropy(value) >= 3.7 and not _PATH.search(value)


def is_other_key(name: str) -> bool:
    """Whether what ``name`` calls a key lets nobody in: a cache's, a table's."""
    return bool(_OTHER_KEYS.search(name))


def is_basic(value: str) -> bool:
    """Whether ``value`` is ``name:password`` in base64, as in ``Authorization: Basic`` and Docker's configuration."""
    import base64

    try:
        plain = base64.b64decode(value, validate=True).decode()
    except ValueError:
        return False
    name, _, password = plain.partition(":")
    return bool(re.fullmatch(r"[\w.@$+-]{1,80}", name)) and len(password) > 2 and plain.isprintable()


def is_listed(value: str) -> bool:
    """Whether a quoted value behind a quoted name and a comma is rather the next name of a list than what is given."""
    if not any(map(str.isdigit, value)) or value.lower() in TERMS or value.startswith(("urllib", "python")):
        return True
    named = r"[A-Za-z]+(?:_[A-Za-z0-9]+){2,}|[A-Z]+(?:_[A-Z0-9]+)+|[A-Z]\w*(?:Key|Token|Type|Class|Error)s?"
    return bool(re.fullmatch(named, value)) or _is_camel(value)


def _is_camel(value: str) -> bool:
    """Whether ``value`` is a type's name: words with capitals, and no more than one number among them."""
    if not re.fullmatch(r"[A-Z][A-Za-z]*\d{1,5}[A-Za-z]+", value):
        return False
    words = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", value)
    return len(words) > 1 and all(len(word) > 2 for word in words[1:]) and any(map(str.islower, value))


def is_about(name: str) -> bool:
    """Whether a name speaks of a secret (its length, file, kind) without holding it."""
    return bool(_ABOUT.search(name)) and not name.endswith("secret_id")  # of Vault's AppRole


def is_password(value: str, *, quoted: bool, tight: bool) -> bool:
    """Whether ``value`` behind a name of a password is one; ``tight``: written ``name=value``, as in environments."""
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
        if quoted and is_phrase(value):
            return True
        return quoted and digit and len(value) <= 64 and bool(re.search(r"[^\w\s.,:;'\"()?-]", value))
    if _KEBAB.match(value) and not (digit and "@" in value and "." not in value):
        if quoted and digit and "." in value and not value.islower():
            return not _PATH.search(value)
        return digit and tight and not quoted and not re.search(r"[./:]", value) and not is_name(value, loose=False)
    if _KEYWORD.search(value):
        return digit and not is_name(value, loose=False)
    if value.isalpha():
        if not (quoted or tight):
            return False
        return len(value) >= 6 and not value.istitle() and not (value.isupper() and not tight)
    if value.isdigit():
        return len(value) >= 6 and (quoted or tight)
    return True


def is_handed_out(value: str) -> bool:
    """Whether ``value`` is a password for one application, as Google and Apple hand out: ``abcd efgh ijkl mnop``."""
    if not _HANDED_OUT.fullmatch(value):
        return False
    # Of words each has a vowel.
    return sum(not re.search(r"[aeiouy]", part) for part in re.split("[ -]", value)) > 0


def is_chosen(value: str, *, plain: bool, odd_signs: str = "/_:#") -> bool:
    """Whether ``value`` is a password by its looks alone, where its name says little (``pass``, ``pw``).

    ``odd_signs``: what shows that words are rather a name of something else.
    ``plain``: it is in quotes or written ``name=value``, so that it is the value itself; else words may stand there.
    """
    digits = sum(map(str.isdigit, value))
    if not digits or digits == len(value) or not is_password(value, quoted=plain, tight=plain) or " " in value:
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
        and not _DOTTED.match(value)
    )


def is_secret(value: str, *, quoted: bool) -> bool:
    """Whether ``value`` behind a name such as ``token`` or ``api_key`` is a secret: it has to look random."""
    least = 8 if quoted else 10
    if len(value) < least or len(value) > 4096 or is_placeholder(value) or _is_code(value, quoted=quoted):
        return False
    if " " in value or "\t" in value or not value.isascii():
        return False
    if not quoted and _is_camel(value):
        return False
    if _KEBAB.match(value) or _DATE.match(value) or _SCALE.match(value) or _REGION.match(value):
        return False
    digits = sum(character.isdigit() for character in value)
    letters = sum(character.isalpha() for character in value)
    if not letters or not digits:
        return False
    bits = entropy(value)
    if _KEYWORD.search(value) and len(value) < 24 and bits < 3.7:
        return False
    return bits >= 2.5 if digits >= 2 else bits >= 2.8 and len(value) >= 10


def _is_code(value: str, *, quoted: bool) -> bool:
    if (_PATH.search(value) and not _is_bytes(value)) or _PASSWD_LINE.match(value):
        return True
    if quoted:
        return value.startswith(("process.env", "os.environ", "env.", "secrets.", "vars.", "env:", "vault:", "file:"))
    return bool((_DOTTED.match(value) and not _is_random(value)) or _CALL.match(value)) or value.startswith(
        ("&", "*", "!", "(", ":", "function")
    )


def _is_bytes(value: str) -> bool:
    """Whether what begins like a path is rather base64: no folder has such a name."""
    if not re.fullmatch(r"/[A-Za-z0-9+/]{23,4096}={0,2}", value):
        return False
    longest = max(value.split("/"), key=len)
    signs = (str.isdigit, str.isupper, str.islower)
    return len(longest) >= 12 and all(sum(map(sign, longest)) > 1 for sign in signs) and entropy(value) >= 4


def _is_random(value: str) -> bool:
    """Whether behind a short head and a dot stands what no one names a field, as in Vault's ``s.…``."""
    signs = (str.isdigit, str.isupper, str.islower)
    head, _, tail = value.partition(".")
    return len(head) < 4 and len(tail) >= 20 and all(sum(map(sign, tail)) > 2 for sign in signs)
