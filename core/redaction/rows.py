"""Rules as rows of one table: what is looked for, and by whom a find is judged.

Patterns are in the syntax that RE2 and ``re`` share. ``core.redaction.screen`` makes its automaton of the same
patterns, and ``core.redaction.checks`` has the functions that accept a find.
"""

from __future__ import annotations

from core.redaction.row import BREAK, QUOTE, Row
from core.redaction.rows_given import ASSIGNED, COMMANDS

# What stands between two words of a list.
_GAP = r"(?:[\s,;|*>\"'`-]|\\[nrt]){1,12}"
_HEX = "[0-9a-f]"
_B64 = "[A-Za-z0-9+/]"
_CRYPT = "[./0-9A-Za-z]"
_B58 = "[1-9A-HJ-NP-Za-km-z]"
# What stands before a number that is by itself, and behind it. Encoded bytes have other signs.
_AHEAD = r"(?:^|[\s\"'`=:(<>|*]|\\[nrt])"
_END = r"(?:$|[^0-9A-Za-z.-]|[.-](?:$|[^0-9A-Za-z]))"

# Numbers that carry a checksum, and what people keep with them.
NUMBERS = (
    # Lengths and beginnings: ISO/IEC 7812.
    Row(
        "card",
        "",
        _AHEAD,
        r"(?:[3-6][0-9]|2[2-7])[0-9]{2}(?:[ -]?[0-9]{4}[ -]?[0-9]{4}[ -]?[0-9]{4}(?:[ -]?[0-9]{3})?"
        r"|[ -]?[0-9]{6}[ -]?[0-9]{4}[0-9]?)",
        "is_card",
        tail=_END,
        is_word=False,
    ),
    # ISO 13616; groups of four as on paper.
    Row(
        "iban",
        "",
        _AHEAD,
        r"(?-i:[A-Z]{2}[0-9]{2}(?:[ -]?[0-9A-Z]{4}){2,7}(?:[ -]?[0-9A-Z]{1,3})?)",
        "is_iban",
        is_word=False,
    ),
    Row(
        "ssn",
        "ssn, social, soc sec, itin",
        r"(?:ssn|\bitin|social security|social|soc sec)[^0-9\n]{0,24}",
        "[0-9]{3}[ -]?[0-9]{2}[ -]?[0-9]{4}",
        "is_ssn",
        tail=_END,
        is_word=False,
    ),
    Row(
        "card",
        "cvv, cvc, card verification",
        rf"(?:cvv2?|cvc2?|card verification)(?: ?(?:code|value|number|is|was))*{QUOTE}?[ :=#]{{1,3}}{QUOTE}?",
        "[0-9]{3,4}",
        "is_verification",
    ),
)

# What passwords are kept as.
HASHES = (
    # RFC 2307 and what servers of LDAP added; as LDIF has it, too, in base64.
    Row(
        "crypt",
        "{s, {md5}, {crypt}, {pbkdf2, {argon2}, {x-",
        r"\{(?:s?sha(?:-?[0-9]{3})?|s?md5|crypt|x-[a-z]+|argon2|pbkdf2[a-z0-9_-]*)\}[A-Za-z0-9+/$]",
        "[A-Za-z0-9+/=$.,_-]{12,400}",
        "is_kept",
        is_word=False,
        is_one=True,
    ),
    Row(
        "crypt",
        "e1ntse, e1niqx, e1nnru, e1nru, e1btse",
        "(?-i:e1(?:NTSE|NIQX|NNRU|NRU|BTSE))",
        f"{_B64}{{24,600}}={{0,2}}",
        "is_kept",
        is_one=True,
    ),
    # Django, passlib, werkzeug, GRUB.
    Row(
        "crypt",
        "pbkdf2, scrypt",
        r"(?:pbkdf2|scrypt)(?:[_:.-]sha-?[0-9]+)?[:$.][0-9a-z]",
        r"[0-9a-z:,=.$]{1,40}[$.][A-Za-z0-9+/=._-]{1,400}\$?[A-Za-z0-9+/=._-]{20,400}",
        "is_kept",
        is_word=False,
        is_one=True,
    ),
    Row(
        "crypt",
        "argon2$, sha1$, md5$",
        r"(?:argon2\$argon2|(?:sha1|md5)\$[A-Za-z0-9]{1,32}\$)",
        rf"(?:[id]{{1,2}}\$v=[0-9a-zA-Z=,+/$]{{40,300}}|{_HEX}{{32,40}})",
        "is_kept",
        is_one=True,
    ),
    # phpass, Drupal, yescrypt, scrypt, Cisco's.
    Row(
        "crypt",
        "$p$, $h$, $s$, $y$, $gy$, $7$, $8$, $9$, $sha1$",
        r"(?-i:\$(?:[PHS789]|g?y|sha1)\$)",
        rf"(?:{_CRYPT}{{1,86}}\$){{0,2}}{_CRYPT}{{28,86}}",
        "is_kept",
        is_word=False,
        is_one=True,
    ),
    # PostgreSQL's: https://www.postgresql.org/docs/current/catalog-pg-authid.html
    Row(
        "crypt",
        "scram-sha-",
        r"scram-sha-(?:1|256|512)\$",
        rf"[0-9]{{3,7}}:{_B64}{{8,80}}={{0,2}}\${_B64}{{20,120}}={{0,2}}:{_B64}{{20,120}}={{0,2}}",
        "is_kept",
        is_one=True,
    ),
    # MySQL's.
    Row(
        "crypt",
        "*",
        r"(?-i:\*[0-9A-F]{8})",
        "[0-9A-F]{32}",
        "is_kept",
        is_word=False,
        is_one=True,
    ),
    Row(
        "crypt",
        "$a$005$",
        r"\$A\$005\$",
        r"[^\s'\"]{20,80}",
        "is_kept",
        is_word=False,
        is_one=True,
    ),
    # SQL Server's, ASP.NET's.
    Row(
        "crypt",
        "0x0100, 0x0200",
        "0x0[12]00[0-9A-F]",
        "[0-9A-F]{47,160}",
        "is_kept",
        is_one=True,
    ),
    Row(
        "crypt",
        "aqaaaa",
        "(?-i:AQAAAA(?:EAAC|IAAY))",
        rf"{_B64}{{70,120}}={{0,2}}",
        "is_kept",
        is_one=True,
    ),
    # Windows': a dump's line (name:number:LM:NT:::), a challenge's answer, what tools are given.
    Row(
        "crypt",
        ":::",
        rf":{_HEX}{{32}}:",
        rf"{_HEX}{{32}}:::",
        "is_dumped",
        is_word=False,
    ),
    Row(
        "crypt",
        "::",
        rf"::[\w.-]{{0,40}}:{_HEX}{{16}}:",
        rf"{_HEX}{{32}}:{_HEX}{{8,1000}}",
        "is_kept",
        is_word=False,
    ),
    Row(
        "crypt",
        "ntlm, nthash, nt hash, nt_hash, lm hash, lmhash, -hashes, rc4:, pass-the-hash",
        rf"(?:ntlm(?:v[12])?|(?:nt|lm)[ _-]?hash|-hashes|/rc4|pass-the-hash)(?: ?(?:hash|is|was|of|for))?{QUOTE}?"
        rf"[ :=]{{1,12}}{QUOTE}?",
        rf"(?:{_HEX}{{32}})?:?{_HEX}{{32}}",
        "is_kept",
        is_word=False,
    ),
    Row(
        "crypt",
        "evil-winrm, nxc smb, nxc winrm, nxc ldap, nxc ssh, nxc mssql, crackmapexec, netexec",
        r"(?:evil-winrm|nxc|crackmapexec|netexec) [^\n|;&]*(?-i: -H) :?",
        rf"(?:{_HEX}{{32}}:)?{_HEX}{{32}}",
        "is_kept",
        is_rare=True,
    ),
    Row(
        "crypt",
        "$krb5",
        r"\$krb5(?:tgs|asrep|pa)\$",
        r"[^\s'\"]{40,1000}",
        "is_kept",
        is_word=False,
        is_one=True,
    ),
)

TOKENS = (
    # Laravel's: https://laravel.com/docs/sanctum
    Row(
        "laravel",
        "|",
        _AHEAD,
        r"[0-9]{1,8}\|[A-Za-z0-9]{40}(?:[0-9a-f]{8})?",
        "is_sanctum",
        tail=_END,
        is_word=False,
    ),
    # https://developers.cloudflare.com/fundamentals/api/get-started/ca-keys/
    Row(
        "cloudflare",
        "v1.0-",
        rf"v1\.0-{_HEX}{{8}}",
        rf"{_HEX}{{8,32}}-{_HEX}{{60,300}}",
        "is_any",
        is_one=True,
    ),
    Row(
        "cursor",
        "key_",
        rf"key_{_HEX}{{16}}",
        rf"{_HEX}{{48}}",
        "is_any",
        is_one=True,
    ),
    # https://en.bitcoin.it/wiki/Wallet_import_format
    Row(
        "wallet",
        "",
        _AHEAD,
        rf"(?-i:5{_B58 * 50}|[KL]{_B58 * 51})",
        "is_wif",
        tail=_END,
        is_word=False,
    ),
    Row(
        "wallet",
        "wallet, private key, private_key, privatekey, privkey, signingkey, from_key, importaccount, importrawkey",
        r"(?:wallet|signingkey|private[ _]?key|privkey|from_key|importaccount|importrawkey)\w{0,20}"
        rf"(?: (?:is|was))?{QUOTE}?\)?[ :=(,]{{1,4}}{QUOTE}?",
        rf"(?:0x)?{_HEX}{{64}}",
        "is_any",
        is_word=False,
    ),
)

# Passwords, keys and codes that are spoken of. What is taken has a digit.
_OPEN = r"[ \"'`*_:=\\]{1,6}"
CHOSEN = r"[^\s\"'`\\<>]+[0-9][^\s\"'`\\<>]*"
# Words and a number, or what has a digit and a sign.
CALLED = (
    r"[A-Za-z](?:[A-Za-z]+(?:[-_.][A-Za-z]+)+[-_.]?[0-9]{1,6}"
    r"|[A-Za-z0-9]*(?:[0-9][A-Za-z0-9]*[!@#$%^&*+?]|[!@#$%^&*+?][^\s\"'`\\<>]{0,60}[0-9]))[^\s\"'`\\<>]{0,40}"
)
_DIGITS = r"(?:[A-Z]-)?(?:[0-9]{4,8}|[0-9]{3}[ -][0-9]{3,4})"
_CODE = (
    r"(?:sms|verification|security|confirmation|authentication|auth|login|log-in|sign-in|2fa|mfa|otp|access|activation"
    r"|unlock|one-time|single-use)[ -](?:pass)?code|one[- ]time (?:pass)?(?:code|word|password|pin)|otp|passcode"
)
SAID = (
    # `the key velvet-mole-3391`, `master key is …`, `use the token …`.
    Row(
        "secret",
        "key, token, secret, credential",
        r"(?:key|token|secret|credentials?)(?: (?:is|was|to|now|be|becomes|called|->|=>|=)|:)? [`*\"']{0,3}",
        CALLED,
        "is_called",
        is_word=False,
    ),
    Row(
        "password",
        "passw, passphrase, passcode, login",
        r"(?:passw(?:or)?d|passphrase|passcode|login) [`*\"']{0,3}",
        CALLED,
        "is_called",
        is_word=False,
    ),
    Row(
        "password",
        "passw, passcode, passphrase, pwd, pw",
        r"(?:passw(?:or)?d|passcode|passphrase|pwd|pw)(?: [a-z@.'-]{1,20}){0,5} "
        r"(?:(?:re)?set to|(?:is|was|are) (?:now|currently|still|just|actually|really|simply|probably)|now|currently"
        r"|(?:chang|updat|rotat|switch|revert)ed (?:back )?(?:to|from)|be|became|becomes|equals|back to|remains|stays)"
        + _OPEN,
        CHOSEN,
        "is_spoken",
        is_word=False,
    ),
    Row(
        "password",
        "pwd, pw ",
        r"(?:pwd|pw) " + _OPEN.replace("1,6", "0,5"),
        CHOSEN,
        "is_spoken",
    ),
    # `Tr0ub4dor-xk (our signing secret)`, `… is the password`.
    Row(
        "secret",
        "secret, password, passphrase, passcode, token, key",
        _AHEAD,
        rf"[A-Za-z0-9]{CHOSEN}",
        "is_named_behind",
        tail=r"[\"'`*)]{0,3}(?: (?:[(\[-]|—|–|\\u201[34]) ?| (?:is|was|=|as) )"
        r"(?:our|the|my|your|their|new|old) (?:[\w-]{1,12} ){0,2}"
        r"(?:password|passphrase|passcode|(?:signing|client|webhook|shared|app|jwt|session)[ -]secret"
        r"|(?:api|deploy|master|access|auth|signing|bearer) (?:key|token))\b",
        is_behind=True,
        is_word=False,
    ),
    Row(
        "otp",
        " code, -code, passcode, otp, one-time, one time",
        rf"(?:{_CODE}|(?:your|my) code)(?: (?:is|was|for [\w.]{{1,20}} (?:is|was)|sent|i got|received))?{_OPEN}"
        r"(?:is )?",
        _DIGITS,
        "is_pin",
        tail=_END,
    ),
    Row(
        "otp",
        "is your, is my",
        _AHEAD,
        _DIGITS,
        "is_pin",
        tail=rf" is (?:your|my) (?:[\w.-]{{1,20}} ){{0,3}}(?:{_CODE}|code|pin)",
        is_word=False,
        is_behind=True,
    ),
    Row(
        "otp",
        "pin",
        r"(?:pin|puk|pin[ -]?code|pin number)(?: (?:for|of|to) [\w ]{1,30})?"
        r"(?: (?:is|was|code|number|now|still|=|est|ist|es|jest))*" + _OPEN,
        "[0-9]{4,8}",
        "is_pin",
        tail=_END,
    ),
)

LINES: tuple[Row, ...] = (*NUMBERS, *HASHES, *TOKENS, *SAID, *COMMANDS, *ASSIGNED)
# Finds of these go on over lines' ends.
SPANS: tuple[Row, ...] = (
    # A wallet's words below what they are called, numbered or one on each line.
    Row(
        "seed",
        "seed, mnemonic, bip39, bip-39, recovery p, recovery w, recovery_p, recovery_w, secret p, secret w, "
        "backup p, backup w, wallet p, wallet w",
        r"(?:(?:recovery|secret|backup|wallet)[ _](?:phrase|words?)|mnemonic|bip-?39|seed)"
        r"[^\n\\]{0,60}?(?:[:=\s\"'`(\[{>]|\\[nrt]){1,8}",
        rf"(?:(?:[0-9]{{1,2}}[.):]?{_GAP})?[a-z]{{3,8}}{_GAP}){{11,23}}(?:[0-9]{{1,2}}[.):]?{_GAP})?[a-z]{{3,8}}",
        "is_seed",
    ),
    # CloudFormation's in YAML.
    Row(
        "password",
        "default",
        rf"(?:passw(?:or)?d|secret|token)\w{{0,20}}:{BREAK} {{1,8}}(?:(?:Type|NoEcho|Description|MinLength|"
        rf"MaxLength): [^\n\\]{{1,80}}{BREAK} {{1,8}}){{0,5}}Default: {QUOTE}?",
        r"[^\s\"'`\\|;<>]{4,200}",
        "is_given",
        is_word=False,
    ),
    # OpenVPN's: https://build.openvpn.net/man/openvpn-2.6/openvpn.8.html
    Row(
        "password",
        "auth-user-pass",
        rf"<auth-user-pass>{BREAK}[^\n\\]{{1,80}}{BREAK}",
        r"[^\n\\<]{4,200}",
        "is_any",
        is_word=False,
        is_rare=True,
    ),
)
