"""Secrets that are spoken of in prose: passwords, keys, codes and the words of a wallet."""

from __future__ import annotations

import re

from core.redaction.commands import VALUE
from core.redaction.looks import (
    HEX,
    TECHNICAL,
    is_chosen,
    is_drawn,
    is_filler,
    is_invented,
    is_key,
    is_phrase,
    is_plain_word,
    is_quoted_word,
    is_secret,
    is_strong,
    is_worded,
)
from core.redaction.names import FOREIGN, VOCABULARY, is_other_key
from core.redaction.rule import AHEAD, Found, Prefilter, Row, Rule, cleaned, each, first, made

TYPE_CHECKING = False
if TYPE_CHECKING:
    from core.redaction.rule import Cut

# Words that announce a value, in languages of Latin letters.
_COPULA = "lautet|ist|est|es|este|is|é|è|er|är|to|jest|je|on|adalah"
_LATIN = r"mot de passe|passwort|contrase(?:ñ|n)a|senha|wachtwoord"
# Places of a token or a key in a sentence.
_TOLD = (
    r"(?P<told>\b(?:secret|token|api[ _-]?key)\s(?=\\*[\"'`])"
    r"|(?:\b(?:secret(?: key)?|token|api[ _-]?key|access[ _-]?key)\s{1,2}(?:is|was|to):?"
    r"|\b(?:(?:client|app|api) secret|api[ _-]?key)(?:\s[a-z'’]{1,12}){1,4}(?:\s(?:is|was):?|:)"
    r"|\b(?:secret|token|api[ _-]?key)\s{1,2}for\s[^\n.,:;=]{1,40}?(?:\s(?:is|was|=)|:)"
    r"|\b(?:my|our|your|api)\s(?:(?:api|access|secret|auth)\s)?(?:secret|token|key)\s{0,1}(?:is|was|:|=|–|->))\s{1,2}"
    r"|\bunseal key \d{1,2}:\s{1,3}"
    r"|(?:\b(?:set|with)_?(?:\w{1,16}_?)?|\.\w{0,16}|\bnew \w{0,24})"
    r"(?:token|secret|api_?key|access_?token|bearer_?auth)\((?=\\*[\"'])"
    r"|(?<![\w/.-])(?:(?:add-)?auth(?:token)?|wandb login)\s{1,2}(?=[\"']?[\w-]{20,200}(?![\w-]))"
    r"|(?:client(?:v\d)?|\balgoliasearch)\(\s{0,2}"
    r"(?:\\*[\"'][^\"'\\\n]{1,80}\\*[\"'],\s{0,2})?(?=\\*[\"'][\w-]{24,200}\\*[\"']))"
)
# A password said in words (`prose`), or nothing but its name before it (`bare`).
_SAID = (
    r"(?P<prose>(?:\b|_)(?:passw(?:or)?d|pwd|passcode|passphrase)(?:'s)?\s{1,2}(?:(?:for|of|on)\s[^\n.,:;]{1,40}?\s)?"
    r"(?:(?:has been|was) (?:set|changed|reset) to|is|was|to|as):?\s{1,2}"
    r"|(?:\b|_)(?P<colon>passw(?:or)?d|pwd|passcode|passphrase)\s{1,2}(?:for|of|on)\s[^\n.,:;=]{1,40}?\s?[:=]\s{1,2}"
    rf"|\b(?P<latin>{_LATIN})\s{{1,2}}(?:d[aeiou]s?|d['’]|del|du|para|pour|für|fürs|van|voor)\b\s?[^\n.:;=]{{1,40}}?"
    r"(?:\s?[:=]|\s(?:lautet|ist|est|es|is|é|è))\s{1,2}"
    rf"|\b(?:{FOREIGN}|{_LATIN}|password)(?:et|en|a)?"
    rf"\s{{1,2}}(?:[a-z]{{2,10}}\s{{1,2}}){{0,3}}?(?:{_COPULA})\s{{1,2}}"
    r"|\bpassw(?:or)?d's\s|\|\s{0,8}passw(?:or)?d\s{0,8}\|\s{0,8}(?=[^\s|]{6,60}\s{0,8}\|)"
    r"|\b(?:log[ -]?in|sign[ -]?in|credentials?|creds|account|user(?:name)?)\b\s?(?::|with|as|using|are)\s{1,2}"
    r"[\w.@-]{1,60}(?:\s{0,2}/\s{0,2}|:)(?=\S{6}))"
    r"|(?P<bare>(?:(?P<cue>\b(?:with|use|using|enter|type|new|temporary|temp|initial|default|and|the)\s{1,2}|,\s)?"
    r"\b(?:passw(?:or)?d|passphrase)|(?<![\w-])pw)\s{1,2}(?=[^\s:=]))"
)
# Words that sentences have and lists of words seldom: text with more of them is no wallet's.
_FUNCTION = frozenset(" ".join(VOCABULARY["function"]).split())
_WALLET_WORDS = (12, 15, 18, 21, 24)


def _told(match: re.Match[str]) -> Cut | None:
    value = match["value"].rstrip(".,:)]*_")
    name = re.sub(r"(?:\sfor\s.*)?\W*(?:is|was)?\W*$", "", match["told"])
    # A key may be a hash, but not that of an API.
    hashed = name.endswith("key") and "api" not in name.lower() and re.fullmatch(r"[0-9a-f-]+", value)
    if is_other_key(name.replace(" ", "_")) or hashed:
        return None
    digits = sum(map(str.isdigit, value))
    if (
        match["told"].rstrip("\\\"' ").endswith("(")
        and "client" in match["told"].lower()
        and not (made(HEX).fullmatch(value) or is_key("", value))
    ):
        return None  # a model, or the name of an account
    if re.fullmatch(r"[a-z-]+(?:\.[\w-]+)+(?:/.*)?", value):
        return None  # a host, a path of names
    random = len(value) >= (16 if digits > 2 else 20) and digits > 1 and is_secret(value, quoted=False)
    # With a sign in it less is enough.
    mixed = any(map(str.isupper, value)) and any(map(str.islower, value)) and re.search(r"[^\w/]", value) is not None
    random = random or (len(value) >= 12 and digits > 2 and mixed and is_secret(value, quoted=True))
    return first(match, "secret" if random else "", len(value))


def _said(match: re.Match[str]) -> Cut | None:
    value = match["value"]
    if match["bare"]:
        # Words follow there as often: a password has a sign, too.
        cue = (
            match["cue"] or match.string[match.start() - 1 : match.start()] == "(" or match["bare"][:2].lower() == "pw"
        )
        value = value.rstrip(".,:;)]*_?\"'" if cue else ".,:;)]*_?!\"'")
        signed = re.search(r"[!@#$%^&*+]", value.strip("*")) is not None
        found = signed and is_chosen(value, plain=False, odd_signs="/_:" if cue else "/_:#")
        found = found or (bool(cue) and (is_worded(value) or is_chosen(value, plain=False)))
        found = found or (signed and is_worded(value))
    else:
        value = value.rstrip(".,:)]*_")
        found = is_chosen(value, plain=bool(match["colon"]), odd_signs="/_:") or is_worded(value)
        found = found or is_plain_word(value) or ("_" in value and is_invented(value))
    return first(match, "password" if found else "", len(value))


_WORDS = (
    r"passw(?:or)?d|passwort|passphrase|pw|kennwort|creds|mdp|mot de passe|clave|contrase(?:ñ|n)a|senha|wachtwoord"
    rf"|{FOREIGN}"
)
# A value that looks like a password on the line of a word for one, behind the word or before it.
_NEAR = rf"(?i)(?<![A-Za-z0-9/+_-])(?:{_WORDS})(?![A-Za-z0-9/+-])(?P<rest>[^\n\\\"]{{2,100}})"
_BEFORE = (
    r"(?i)(?P<rest>(?<![^\s`\"'*(])[^\s`\"']{8,64})[`\"'*]{0,3}"
    rf"\s(?:as(?: the| an?| my| our| its| their| his| her)?|als|comme|como(?: la| el)?|come|som|jako)"
    rf" (?:{_WORDS})(?![A-Za-z0-9-])"
)
_LOOKING = r"(?<![^\s`\"'(：:=*])(?P<value>[^\s`\"'<>{}\[\]|\\;,()：]{8,80})"
# Words and numbers with a sign between or behind them, as names of methods, pages and parts are: `UserV2#create`.
_COMPOSED = r"(?:[A-Z]?[a-z]{2,}|[A-Z]{2,}|[A-Z](?=\d)|[\d\W_])+"
_PHRASE = (
    r"(?i:passw(?:or)?d|passphrase|passcode)[^\n\"'`]{1,30}[\"'`]"
    r"(?P<value>[A-Za-z]{2,10}(?: (?:[A-Za-z]{2,10}|\d{1,6})){1,11})[\"'`]"
)
# The end of what announces a value.
_ANNOUNCED = (
    r"(?i)(?:[:=：]|->|=>|→|(?<=\s)[–—-]|(?<!\w)(?:is|was|be|to|as|ist|est|es|é|è|lautet))"
    r"[*_]{0,2}\s{0,3}[\"'`(]{0,2}\Z"
)


def _without_said(text: str, counts: dict[str, int]) -> str:
    """Return ``text`` without passwords behind words for one, or near one and known by their looks."""

    def replaced(match: re.Match[str], *, sure: bool) -> str:
        start, end = (place - match.start() for place in match.span("rest"))
        rest = cleaned(_LOOKING, lambda found: _looking(found, sure=sure), match["rest"], counts)
        return match[0][:start] + rest + match[0][end:]

    text = cleaned(rf"(?i)(?:{_SAID}){VALUE}", _said, text, counts)
    text = made(_NEAR).sub(lambda match: replaced(match, sure=False), text)
    text = made(_BEFORE).sub(lambda match: replaced(match, sure=True), text)
    return cleaned(_PHRASE, lambda match: first(match, "password" if is_phrase(match["value"]) else ""), text, counts)


def _looking(match: re.Match[str], *, sure: bool) -> Cut | None:
    value = match["value"].strip("*_").rstrip(".,:)]?")
    value = re.match(r"[\x21-\x7e]*", value)[0]  # type: ignore[index]
    if not is_strong(value) or is_filler(value):
        return None
    if (
        not sure
        and made(_COMPOSED).fullmatch(value)
        and not made(_ANNOUNCED).search(match.string, 0, match.start("value"))
    ):
        return None
    start = match.start("value") + match["value"].index(value)
    return "password", start, start + len(value)


def _words(value: str) -> list[str]:
    return re.findall(r"[a-z]+", value.lower())


def is_called(found: Found) -> int:
    """Accept what is called a key or a token: words and a number that name nothing else, or a password by its looks."""
    value = found.value.rstrip(".,:;)]}*_?!")
    words = _words(value)
    # With points between its words it is a path of names: `color.blue.500`.
    chosen = is_worded(value) and "." not in value and len(words) > 1 and len(re.findall(r"[0-9]", value)) > 1
    chosen = chosen and TECHNICAL.isdisjoint(words) and TECHNICAL.isdisjoint(word.removesuffix("s") for word in words)
    return len(value) if (chosen or is_strong(value)) and not is_filler(value) else 0


def is_drawn_alone(found: Found) -> int:
    """Accept what a machine has drawn, in both cases, if it is no part of a longer word."""
    value = found.value
    # Names have few digits, and hashes no letters behind the sixth.
    lower = (
        re.fullmatch(r"[a-z0-9]{24,64}", value) and len(re.findall("[0-9]", value)) > 3 and re.search("[g-z]", value)
    )
    drawn = (is_drawn(value) or lower) and not made(HEX).fullmatch(value.lower())
    return len(found.value) if drawn and not re.match(r"[./:\w]\w", found.after) else 0


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


# Passwords, keys and codes that are spoken of. A value has a digit.
CHOSEN = r"[^\s\"'`\\<>]+[0-9][^\s\"'`\\<>]*"
# Words and a number, or what has a digit and a sign.
CALLED = (
    r"[A-Za-z](?:[A-Za-z]+(?:[-_.][A-Za-z]+)+[-_.]?[0-9]{1,6}"
    r"|[A-Za-z0-9]*(?:[0-9][A-Za-z0-9]*[!@#$%^&*+?]|[!@#$%^&*+?][^\s\"'`\\<>]{0,60}[0-9]))[^\s\"'`\\<>]{0,40}"
)
# Words behind a secret that name it.
_IS_OURS = (
    r"(?: (?:[(\[-]|—|–|\\u201[34]) ?| (?:is|was|=|as) )(?:our|the|my|your|their|new|old) (?:[\w-]{1,12} )?"
    r"(?:password|passphrase|passcode|(?:signing|client|webhook|shared|app|jwt|session)[ -]secret"
    r"|(?:api|deploy|master|access|auth|signing|bearer) (?:key|token))\b"
)


def is_said_in_quotes(found: Found) -> int:
    """Accept a word in quotes that a sentence calls a password."""
    return len(found.value) if is_quoted_word(found.value) else 0


ROWS = (
    # `the default password is `…``: a word in quotes.
    Row(
        "password",
        "passw, passcode, passphrase",
        r"(?:passw(?:or)?d|passcode|passphrase)(?:(?: for [\w ]{1,30})? (?:is|was) ['\"`*]{1,2}|\*{0,2}:\*{0,2} `)",
        r"[A-Za-z_-]{6,40}[!?#$*]{0,3}",
        is_said_in_quotes,
        tail="['\"`*]",
        is_word=False,
        prefilter=r"(?:passw(?:or)?d|passcode|passphrase)"
        r"(?:(?: for [\w ]+)? (?:is|was) [\\'\"`*]+|\**:\** `)[A-Za-z_-]{6}",
    ),
    # `the key velvet-mole-3391`, `master key is …`, `use the token …`.
    Row(
        "secret",
        "key, token, secret, credential",
        r"(?:key|token|secret|credentials?)(?: (?:is|was|to|now|be|becomes|called|->|=>|=)|:"
        r"| (?:to|for|of)(?: [a-z'-]{1,12}){1,5} (?:is|was))?"
        r" [`*\"']{0,3}",
        CALLED,
        is_called,
        is_word=False,
        prefilter=r"(?:(?:key|token|secret|credentials?)(?: (?:is|was|to|now|be|becomes|called|->|=>|=)|:)?"
        rf"|key (?:to|for|of)(?: [a-z'-]+)* (?:is|was)) [`*\"'\\]*{CALLED}",
    ),
    # `use api key …`, `the token you asked for: …`.
    Row(
        "secret",
        "key, token, secret",
        r"(?:api[ _-]?key|token|secret|access key)(?:(?: [a-z'-]{1,12}){1,6}(?::| is| was)| (?:is|was))? [`*\"'(]{0,3}",
        "[A-Za-z0-9][A-Za-z0-9_~+-]{19,400}",
        is_drawn_alone,
        prefilter=r"(?:api[ _-]?key|token|secret|access key)(?:(?: [a-z'-]+)*(?::| is| was))? [`*\"'(\\]*"
        r"[0-9]*[a-z_~+-]+[0-9][a-z0-9_~+-]*[0-9]",
        is_word=False,
    ),
    # `Tr0ub4dor-xk (our signing secret)`, `… is the password`.
    Row(
        "secret",
        "secret, password, passphrase, passcode, token, key",
        AHEAD,
        rf"[A-Za-z0-9]{CHOSEN}",
        is_named_behind,
        tail=r"[\"'`*)]{0,3}" + _IS_OURS,
        prefilter=_IS_OURS,
        is_word=False,
    ),
)
# Between two words of a list.
_GAP = r"(?:[\s,;|*>\"'`-]|\\[nrt]){1,12}"
_SEED_HEAD = (
    r"(?:(?:recovery|secret|backup|wallet|metamask|ledger|trezor|phantom)[ _](?:phrase|words?)|mnemonic|bip-?39"
    r"|seed)"
    r"[^\n\\]{0,60}?(?:[:=\s\"'`(\[{>]|\\[nrt]){1,8}"
)
_SEED_WORDS = rf"(?:(?:[0-9]{{1,2}}[.):]?{_GAP})?[a-z]{{3,8}}{_GAP}){{11,23}}(?:[0-9]{{1,2}}[.):]?{_GAP})?[a-z]{{3,8}}"
SPANS = (
    # A wallet's words below what they are called, numbered or one on each line.
    Row(
        "seed",
        "seed, mnemonic, bip39, bip-39, recovery p, recovery w, recovery_p, recovery_w, secret p, secret w, "
        "backup p, backup w, wallet p, wallet w, metamask p, ledger p, trezor p, phantom p",
        _SEED_HEAD,
        _SEED_WORDS,
        is_seed,
        # JSON has quotes and backslashes between the words.
        prefilter=rf"{_SEED_HEAD}{_SEED_WORDS}|(?:(?:recovery|seed|secret) phrase|mnemonic)[\"'\\]*\s?[:=]",
    ),
)
# Prefilters. A secret has two digits.
_DIGITS = r"[^\s\"'`\\;]*[0-9][^\s\"'`\\;]*[0-9]"
RULES = (
    Rule(
        "told",
        Prefilter(
            (
                rf"seal key [0-9]:\s+{_DIGITS}",
                *each("api_?key|bearer_?auth|secret|token", rf"\(\\*[\"']{_DIGITS}"),
                *each(
                    "access[ _-]?key|api[ _-]?key|secret key|secret|token", rf"\s+(?:is|was|to):?\s+[\"'`\\]*{_DIGITS}"
                ),
                r"(?:my|our|your|api)\s(?:(?:api|access|secret|auth)\s)?(?:secret|token|key)\s*"
                rf"(?:is|was|[:=]|–|\\u2013|->)\s+[\"'`\\]*{_DIGITS}",
                *each("api[ _-]?key|secret|token", rf"\s\\*[\"'`]{_DIGITS}"),
                *each(
                    "api[ _-]?key|client secret|app secret|api secret",
                    rf"(?:\s[a-z'’]+)+(?:\s(?:is|was):?|:)\s+[\"'`\\]*{_DIGITS}",
                ),
                *each("api[ _-]?key|secret|token", rf"\s+for\s[^\n\\:,;.=]*(?:is|was|[:=])\s+[\"'`\\]*{_DIGITS}"),
                r"add-auth(?:token)?\s+[\"']?[\w-]{20}",
                *each(r"client(?:v\d)?|iasearch", r"\(\s*\\*[\"'](?:[^\"'\\\n]{1,80}\\*[\"'],\s*\\*[\"'])?[\w-]{24}"),
            ),
            each("auth(?:token)?|wandb login", r"\s+[\"']?[\w-]{20}"),
        ),
        rf"(?i)(?:{_TOLD}){VALUE}",
        _told,
    ),
    Rule(
        "said",
        Prefilter(
            (
                *each(
                    "account|credentials?|creds|log[ -]?in|sign[ -]?in|user(?:name)?",
                    r"\s?(?::|with|as|using|are)\s+[\w.@-]+\s*[/:]\s*[^\s/]",
                ),
                *each(
                    "passcode|passphrase|passw(?:or)?d|pwd",
                    # No `pwd && ls`.
                    r"(?:'s)?\s+(?:(?:for|of|on)\s|[^\s:=\\\"'`(&]*(?:[!@#$%^+0-9]|[&*][^\s&*])|\\*[\"'`])",
                ),
                *each(
                    "passcode|passphrase|passw(?:or)?d|pwd",
                    r"\s+(?:is|was|has been|to|as):?\s+[\"'`\\]*[^\s]*[0-9a-z]",
                ),
                r"passw(?:or)?d\s*\|\s*[^\s|]",
                *each(
                    r"contraseña|contrasena|contrase\\u00f1a|mot de passe|passwort|senha|wachtwoord",
                    r"\s+(?:(?:lautet|ist|est|es|is|é|è|\\u00e[89])\s|[dfpv])",
                ),
                *each(
                    "as|as the|as a|as my|as our|as its|as their|as his|as her|als|comme|como|como la|come|som|jako",
                    " (?:passw|passphr|pw|mot de|mdp|clave|contrase|senha|kennw|wachtw)",
                ),
            ),
            (
                r"pw\s+[^\s:=\\\"'`]*(?:[0-9]|\\u)",
                # Values that look like a password and nothing else.
                *each(
                    r"clave|contraseña|contrasena|contrase\\u00f1a|creds|mdp|mot de passe|passphrase|passwort|password"
                    "|passwd|pw|senha|wachtwoord",
                    r"(?:[^\n\\\"A-Za-z0-9/+-]|\\[tu])(?:[^\n\\\"]|\\[tu])*[!#$%^@&*?~+]",
                ),
                *each(FOREIGN, r"(?:e[nt]|a)?[^A-Za-z0-9\n]"),
            ),
        ),
        clean=_without_said,
    ),
)
