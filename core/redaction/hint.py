"""The cheapest test, for what a question shows: may there be a secret in these few kilobytes?

On the interactive path neither ``re`` nor the automaton may be loaded for nothing: substrings, looked for by C code,
and a look at what stands behind a telling name. It lets through all that the rules would replace (a test holds the two
together), and little else.
"""

from __future__ import annotations

from core.redaction.languages import needles
from core.redaction.rows import CALLED, CHOSEN, LINES, SPANS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from core.redaction.row import Row

_PLAIN = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ "


# What many marks have in common: where it is missing none of them is looked for.
_COMMON = ("", "-", "_", ".")
_CORES = "pass auth key sess secret token login phrase private basic bearer http sql ssh cred code exp client".split()


def _grouped(marks: list[str] | tuple[str, ...], cores: list[str] = _CORES) -> list[tuple[str, list[str]]]:
    """Marks by what they share, a rare sign or letters in a row: a text without that has none of them."""
    found: dict[str, list[str]] = {}
    for mark in marks:
        sign = mark.lstrip(_PLAIN)[:1]
        shared = sign or mark[0]
        if sign in _COMMON:
            for core in cores:
                if core in mark:
                    shared = core
                    break
        found.setdefault(shared, []).append(mark)
    return list(found.items())


# How tokens begin, or what they cannot be without (``core.redaction.providers``).
_TOKENS = _grouped(
    """
    AKIA ASIA ABIA ACCA ghp_ gho_ ghu_ ghs_ ghr_ github_pat_ glpat- gldt- glrt- glcbt- glptt- glft- glimt-
    glagent- gloas- glsoat- glffct- glrtr- xox xapp- hooks.slack.com/ sk-ant- sk-or- sk-proj- sk-svcacct-
    sk-admin- sk-service- sk-None- sess- AIza GOCSPX- ya29. 1//0 sk_live_ sk_test_ rk_live_ rk_test_
    whsec_ npm_ pypi- hf_ api_org_ SG. SK dop_v1_ doo_v1_ dor_v1_ dapi lin_api_ lin_oauth_ ntn_ secret_
    shpat_ shpca_ shppa_ shpss_ sq0atp- sq0csp- sq0idp- key- -us :AA discord .com/api/webhooks/ hvs. hvb. hvr.
    AGE-SECRET-KEY- dckr_pat_ dckr_oat_ glsa_ glc_ NRAK- NRJS- sntrys_ sntryu_ gsk_ xai- r8_ pplx- fo1_ fm1 fm2
    dp. PMAK- figd_ figo_ figu_ figdr_ figdh_ figor_ figoh_ figur_ figuh_ tskey- nfp_ nfc_ nfo_ nfu_ rubygems_
    cio .atlasv1. ATATT3 ATBB ATCTT3 pscale_ sb_secret_ sbp_ 8Q~ ops_eyJ EAA sl. eyJ sk-
    re_ lsv2_ pcsk_ e2b_ tvly- fc- vercel_blob_rw_ vca_ vcp_ vci_ vcr_ vck_ cfut_ cfat_ cfk_ phx_ phs_ phr_ CFPAT- HRKU-
    AKCp cmVmdGtuOj bkua_ bkct_ bkaj_ CCIPAT_ CCIPRJ_ sk.eyJ napi_ nvapi- jina_ pa- csk- tgp_v1_ sk_ ABSK dt0 pul- pnu_
    pnb_ xkeysib- xsmtpsib- apify_api_ sqp_ squ_ sqa_ sgp_ rpa_ access- rdme_ CLOJARS_ oy2 .webhook.office.com/
    hooks.zapier.com/ LS0tLS1CRUdJTi crsr_ fw_ ctx7sk- AQ. rnd_ tr_ signkey- xaat- xapt- mlsn. pdl_ polar_ pylf_ hca
    sktsec_ BSA st. SWMTKN- K10 oat_ oat- apikey_ apikey- pat_ pat- _live_ _prod_ zpka_ unkey_
    nsec1 ak_ ak- infura.io/ alchemy .office.com/webhook/ .office365.com/webhook/ $2a$ $2b$ $2x$ $2y$ $apr1$ $1$ $5$ $6$
    $argon2 GR1348941 glwt- JQQJ9 A3- sgamp_ dtn_ tfp_ os_v2_ xau_ mdb_sa_ CCDB1_ AstraCS: ico- API- ATTA AQVN
    y0_ y1_ y2_ y3_ FLWSECK ck_ cs_ EZAK EZTK p8e- sha256~ APA91b access_token$ xprv yprv zprv eyJwYXls
    qyapi.weixin maker.ifttt django-insecure- MII MHcCAQ MIG MIH MC4CAQ MEcCAQ b3BlbnNzaC1rZXk
    """.split(),
    [],
)
_NAMES = (
    "wachtwoord senha passw passphrase passcode pwd dbpass _pass _pw rootpw secret token credential x-amz-signature"
    " -key _key key authorization bearer basic sessid sessionid connect.sid bw_session"
    " bindpw pgpass rootpass adminpass userpass requirepass smtppass mailpass ftppass imappass ldappass redispass"
    " sqlpass sshpass sudopass vncpass heslo kennwort salasana adgangskode contrasenya geslo haslo jelszo kodeord"
    " losenord lozinka palavra-passe parola parool passord sifre"
).split()
_ELSE = _grouped(
    (
        "PRIVATE KEY|?code=|&code=|&amp;code=|u0026code=|%26code=|redis-cli|docker login|htpasswd|-stdin|"
        "uth(|uth=(|uth = (|sshpass|mysql|identified by|IDENTIFIED BY| -u| --user|?key=|&key=|&amp;key=|"
        "u0026key=|%26key=|?auth=|&auth=|&amp;auth=|u0026auth=|%26auth=|PAT=|PAT:|PAT =|login(|authenticate(|"
        "ignin(|ign_in(|ignIn|PlainAuth(|?sig=|&sig=|&amp;sig=|u0026sig=|%26sig=|chpasswd|<<<|--with-token|"
        'SecureString|Password(|_password(|ignature=|appid=|access_key=|=key=|"auth"|"kty"|jdbc:oracle:|'
        "@tcp(|@unix(|@udp(|--passphrase-fd|--auth|jwt.|PSK "
    ).split("|")
)
_NAMED = _grouped([*_NAMES, "mot de passe", "kata sandi", "contrase", "_auth"])
_SET = _grouped([*_NAMES, "mot de passe", "kata sandi", "contrase", "pass"])
# Programs that take a password in a form of their own, and calls; in small letters.
_GIVEN = _grouped(
    (
        "ssh-keygen |freerdp|lftp|rabbitmqctl |rclone obscure|vault login|gh secret set|cqlsh |twine |skopeo |influx |"
        "bcp |ipmitool |mosquitto_|cryptsetup|kinit|ssh-add|docker secret|getconnection(|wifi|%3a%2f%2f|bearer%20|"
        "bearer+|basic%20|basic+|http -a|https -a|http --auth|https --auth|sqlplus|sqlldr|impdp|expdp|private-key|"
        "requirepass|masterauth|openssl passwd|/private-|token(|secret(|apikey(|api_key(|bearerauth(|bearer_auth(|"
        "client(|algoliasearch(|seed phrase|recovery phrase|mnemonic|cypher-shell|"
        "unseal key|wandb login|"
        "private-lines|new pdo(|insert into|insert ignore into"
    ).split("|")
)


def _is_said(row: Row) -> bool:
    return row.value == CALLED or CHOSEN in row.value


# The words of rows: those that stand in what is found, and those that stand near it.
_WITHIN = _grouped([word for row in (*LINES, *SPANS) if row.is_one for word in row.words], [])
_NEAR = _grouped([word for row in LINES if not (row.is_one or row.is_named or _is_said(row)) for word in row.words])
_CHOSEN = _grouped([word for row in LINES if _is_said(row) for word in row.words])
_OVER = _grouped([word for row in SPANS if not row.is_one for word in row.words])
_NEAR_MOST = 100
# Numbers by their shapes: digits become 0, capitals A.
_SHAPES = str.maketrans("123456789BCDEFGHIJKLMNOPQRSTUVWXYZ", "000000000" + "A" * 25)
_CARDS = (
    "0" * 14,
    *(f"0000{sign}{rest}" for sign in " -" for rest in (f"0000{sign}0000{sign}00", f"000000{sign}0000")),
)
_SHORTEST_ACCOUNT, _ACCOUNT = 11, 24
_WALLET = 51
_SIGNS = frozenset("!@#$%^&*+?~")
_SAYS = (
    "lautet ",
    " ist ",
    " to ",
    " er ",
    " je ",
    " jest ",
    " on ",
    " adalah ",
    " este ",
    " est ",
    " es ",
    " é ",
    " è ",
)
# Programs whose options of one letter take a password.
_PROGRAMS = _grouped(
    ("sqlcmd ", "zip ", "7z ", "7za ", "7zr ", "mongo", "az login", "oc login", "podman login", "openssl enc")
)
_STORES = _grouped(
    (
        "put-parameter|kv put|kv patch|env add|env set|env:add|env:set|config:set|config set --secret|-password|"
        "openssl rand|wg gen|pwgen|initial-admin-secret|token_hex(|token_urlsafe(|codes|code:|httponly|element|true /|"
        "false /|set-up key|setup key|net user|fill_in|networkcredential|bcrypt|http-basic.|pypi-token.|mariadb|-pw |"
        "openvpn static|secret key|clientv"
    ).split("|")
)
_STORING = tuple("add bulk create edit generic import push put set update upload versions".split())
_SPOKEN = (
    "clave|contrase|creds|mdp|mot de passe|passphrase|passwort|passw|pw|senha|wachtwoord|lautet|heslo|kennwort"
    "|salasana|adgangskode|contrasenya|geslo|haslo|jelszo|kata sandi|kodeord|losenord|lozinka|palavra-passe|parola"
    "|parool|passord|sifre"
).split("|")
_LATIN = ("contrase", "mot de passe", "passwort", "senha", "wachtwoord")
_FOREIGN = _grouped(needles(), [])
# How a name in bold ends, and one with what is there already.
_LABELS = ("*:", "* :", "__:", "__ :", "]:", ":*", ":__", "*=", "* =", "__=", "__ =")
_VERBS = ("is", "was", "to", "has been", "as")
_WITH = (" with ", " as ", " using ", " are ")
# Signs between a name and its value as HTML and East Asian keyboards write them.
_WRITTEN = {
    written: sign
    for sign, forms in {
        '"': "&amp;quot; &quot; &#34; &#034; &#x22;",
        "'": "&apos; &#39; &#039; &#x27;",
        ":": "&colon; &#58; &#x3a; &#x3A; \uff1a \ufe55 \u2236",
        "=": "&equals; &#61; &#x3d; &#x3D; \uff1d",
    }.items()
    for written in forms.split()
}
# What parts the columns of a table's head, which is so long at most.
COLUMNS = ("|", "\u2502", "\u2503", "\u2551", "  ", "\t")
_LETTERS = 'abcdefghijklmnopqrstuvwxyz_0123456789 ".-()'
_HEADS = 1000
_LONG = 12
_HEAD = 120
_SKIPPED = frozenset("\"'`\\])} \t")
_WORD = frozenset("abcdefghijklmnopqrstuvwxyz0123456789_.-")
_OPTION = _WORD | {"/", ":"}


# Of what is shown much is shown again: a title by whoever found it and by the envelope, a collection in each hit.
_KNOWN_MOST, _KNOWN_LENGTH = 512, 4096
_known: dict[str, bool] = {}


def plain_signs(text: str) -> str:
    """Return ``text`` with quotes, colons and equals signs in ASCII that are written in another way."""
    if "&" in text or not text.isascii():
        for written, sign in _WRITTEN.items():
            if written in text:
                text = text.replace(written, sign)
    return text


def may_hold(text: str) -> bool:
    """Whether ``text`` may hold something that ``core.redaction.redact`` would replace."""
    found = _known.get(text)
    if found is None:
        if len(_known) >= _KNOWN_MOST:
            _known.clear()
        # A backslash may be markdown's escape, or say that a command goes on in the next line.
        plain = plain_signs(text)
        if "\\" in plain:
            plain = plain.replace("\\\r\n", " ").replace("\\\n", " ").replace("\\", "")
        found = _may_hold(text) or (plain != text and _may_hold(plain))
        if len(text) <= _KNOWN_LENGTH:
            _known[text] = found
    return found


def any_may_hold(texts: list[str]) -> bool:
    """Whether one of ``texts`` may hold something that ``core.redaction.redact`` would replace."""
    unknown = [text for text in texts if _known.get(text) is not False]
    # One look at all of them, for most have nothing; what stands between them is no part of a name or a value.
    if unknown and may_hold("\n\n".join(unknown)):
        return True
    _known.update(dict.fromkeys((text for text in unknown if len(text) <= _KNOWN_LENGTH), False))
    return False


def is_tagged(folded: str) -> bool:
    """Whether a tag of a private span may stand in a text in small letters, with white space in it or for HTML."""
    if "private" not in folded or ("<" not in folded and "&lt;" not in folded):
        return False
    tight = "".join(folded.split()).replace("\\", "").replace("&lt;", "<")
    return "<private" in tight or "</private" in tight


def _among(marks: list[tuple[str, list[str]]], text: str) -> list[str]:
    """Those that stand in ``text``."""
    return [mark for letter, group in marks if letter in text for mark in group if mark in text]


def _may_hold(text: str) -> bool:
    is_tabbed = "\t" in text and is_headed(text.lower())
    text = text.replace("\t", " ")
    # A terminal's colours may part a name, too; what is made of transcripts has none.
    if "\x1b[" in text or _among(_ELSE, text):
        return True
    if "://" in text and ("@" in text or "hook/" in text or "hooks/" in text):
        return True
    folded = text.lower()
    if ("login" in folded and "passw" in folded) or "/private" in folded or is_tagged(folded) or "identified" in folded:
        return True
    if ("-pass" in folded and "pass:" in folded) or _among(_GIVEN, folded):
        return True
    if (
        _is_authorized(folded)
        or _is_account(text)
        or is_beside(folded)
        or _is_login(folded)
        or _is_file_of_passwords(text)
        or _is_encoded(folded)
        or is_tabbed
        or is_headed(folded)
        or is_manifest(folded)
    ):
        return True
    if not text.isascii() and (_among(_FOREIGN, text) or _among(_FOREIGN, folded)):
        return True
    if _is_parted(text) or "cookie" in folded or ("curl" in folded and "-b" in folded):
        return True
    if " -p " in folded and (" -u " in folded or " -l " in folded):
        return True
    if _among(_PROGRAMS, folded) and ("-p" in folded or "-hp" in folded or "-k" in folded):
        return True
    if "nmcli" in folded or "wpa_passphrase" in folded or ("net" in folded and "/user:" in folded):
        return True
    if "assw" in folded and any(mark in folded for mark in (").", "password(", "epassword", "ypassword")):
        return True
    if "sudo" in text and ("-S" in text or "|" in text):
        return True
    if "smbclient" in folded or "create_user(" in folded or "create_superuser(" in folded or "securestring" in folded:
        return True
    if ("cred" in folded and ("=(" in folded or "= (" in folded)) or _is_told(folded):
        return True
    if (
        "setx" in folded
        or "setenv" in folded
        or "define" in folded
        or ("config" in folded and ("g set" in folded or "e set" in folded))
        or "ENV" in text
        or ("set" in folded and " -" in folded)
    ) and _among(_SET, folded):
        return True
    if (
        _says_little(folded)
        or ("ldap" in folded and "-w" in folded)
        or (any(map(folded.__contains__, ("assw", "passphrase", "passcode", "pwd"))) and _is_prose(folded))
    ):
        return True
    if _is_passed(folded) or _is_stored(folded) or _is_spoken(folded):
        return True
    if any(text[at + 17 : at + 18] == "." and text[at : at + 17].isalnum() for at in _places(text, "pat")):
        return True  # Airtable's: fourteen characters, a point
    # No token is shorter or without a digit: most words are, and the marks are many.
    words = text.replace('"', " ").replace("'", " ").split()
    long = [word for word in words if len(word) > _LONG and any(map(str.isdigit, word))]
    if long and (_among(_TOKENS, " ".join(long)) or _among(_WITHIN, " ".join(long).lower())):
        return True
    if (
        _is_number(text)
        or _is_near(folded)
        or _is_chosen(folded)
        or _among(_OVER, folded)
        or any(map(_is_wallet, long))
    ):
        return True
    named = _among(_NAMED, folded)
    if named and ("|" in text or any(map(text.__contains__, _LABELS))):
        return True
    return any(_is_given(folded, name) or _is_labelled(folded, name) for name in named)


def _is_number(text: str) -> bool:
    """Return True if ``text`` may hold the number of a card or an account."""
    shape = text.translate(_SHAPES)
    for card in _CARDS:
        for at in _places(shape, card):
            before = shape[at - 1 : at]
            # A UUID's groups have hyphens before them, too.
            if not (before.isalnum() or before == "-") or shape[at - 2 : at - 1] == "\\":
                return True
    return any(
        all(sign in "A0" for sign in rest) and len(rest) == _SHORTEST_ACCOUNT
        for at in _places(shape, "AA00")
        if (rest := shape[at + 4 : at + _ACCOUNT].replace(" ", "").replace("-", "")[:_SHORTEST_ACCOUNT])
    )


def _is_wallet(word: str) -> bool:
    """Return True if ``word`` may hold a wallet's key: by its beginning and its length."""
    if len(word) < _WALLET:
        return False
    return any(
        word[at : at + _WALLET].isalnum() and len(word) >= at + _WALLET and not word[at - 1 : at].isalnum()
        for mark in "5KL"
        for at in _places(word, mark)
    )


def _is_near(folded: str) -> bool:
    """Return True if a digit is near a word of a row."""
    return any(
        any(map(str.isdigit, folded[max(0, at - _NEAR_MOST) : at + _NEAR_MOST]))
        for word in _among(_NEAR, folded)
        for at in _places(folded, word)
    )


def _is_chosen(folded: str) -> bool:
    """Return True if near a word of a row stands what may be a password: letters and a digit, of a key a sign, too."""
    for word in _among(_CHOSEN, folded):
        for at in _places(folded, word):
            behind = folded[at + len(word) : at + len(word) + 1]
            if word != "passw" and (behind.isalnum() or behind == "-"):
                continue  # a longer word: `tokens`, `key1`
            for near in folded[max(0, at - _NEAR_MOST) : at + _NEAR_MOST].replace('"', " ").replace("'", " ").split():
                value = near.strip("`*_.,:;()[]{}=\\")
                is_mixed = any(map(str.isdigit, value)) and any(map(str.isalpha, value))
                if is_mixed and (word.startswith("p") or not value.isalnum()):
                    return True
    return False


def _places(text: str, word: str) -> Iterator[int]:
    at = text.find(word)
    while at >= 0:
        yield at
        at = text.find(word, at + 1)


def _is_passed(text: str) -> bool:
    """Whether an option's name holds ``pass``: ``-storepass``."""
    return any(at and _is_flag(text, at) for at in _places(text, "pass"))


def _is_stored(text: str) -> bool:
    """Whether a command hands something to a store, or prints it, or what is listed are codes."""
    if _among(_STORES, text):
        return True
    for at in _places(text, "secret"):
        end = at + 6
        stop = min(len(text), end + _HEAD)
        while end < stop and text[end] in _WORD:
            end += 1
        if end - at - 6 == _HEAD:
            return True  # no name is longer: for the rules to tell
        if text[end : end + 3] == " --" or text[end : end + 2] == " -" or text[end + 1 : end + 10].startswith(_STORING):
            return True
    return False


def _is_spoken(text: str) -> bool:
    """Whether near a word for a password there are a digit and a sign, or one of another language says what it is."""
    for name in _SPOKEN:
        for at in _places(text, name):
            near = text[max(0, at - 100) : at + 140]
            if any(map(str.isdigit, near)) and (" is " in near or not _SIGNS.isdisjoint(near)):
                return True
            if any(map(near.__contains__, _SAYS)):
                return True
            if name in _LATIN and any(map(str.isdigit, near)) and (":" in near or "=" in near):
                return True
    return False


def _is_authorized(text: str) -> bool:
    """Whether what looks like a token follows ``auth`` or ``authtoken``."""
    for at in _places(text, "auth"):
        words = text[at + 4 : at + 300].split(None, 2)
        if words and any(len(word) >= 20 and any(map(str.isdigit, word)) for word in words[:2]):
            return True
    return False


def _is_account(text: str) -> bool:
    """Whether an account of Twilio's is named, whose token may stand beside it."""
    for at in _places(text, "AC"):
        if len(text) >= at + 34 and all(letter in "0123456789abcdef" for letter in text[at + 2 : at + 34]):
            return True
    return False


def _is_told(text: str) -> bool:
    """Whether a secret, token or key is said to be something that has a digit."""
    for name in ("secret", "token", "key"):
        for at in _places(text, name):
            said = text[at + len(name) : at + len(name) + 240]
            rest = said.lstrip()
            told = said[:1].isspace() and rest.startswith(("is", "was", "to", "for ", '"', "'", "`"))
            if not told and rest.startswith((":", "=", "–", "->", "is", "was")):
                before = text[max(0, at - 16) : at]
                told = any(mine in before for mine in ("my", "our", "your", "api"))
            if told and any(map(str.isdigit, said)):
                return True
    return False


def _says_little(text: str) -> bool:
    """Whether ``pass``, ``pw`` or ``psk`` stands alone, and something that has a digit is given to it."""
    for name in ("pass", "pw", "psk"):
        for at in _places(text, name):
            end = at + len(name)
            while end < len(text) and text[end] in _SKIPPED:
                end += 1
            alone = (not at or text[at - 1] not in _WORD) and end < len(text) and text[end] in ":=,>v?"
            if alone and any(map(str.isdigit, text[end : end + 200])):
                return True
            # `pw kangaroo88!`
            said = text[at + 2 : at + 200].split(None, 1)[:1] if name == "pw" else []
            if said and text[at + 2].isspace() and any(map(str.isdigit, said[0])):
                return True
    return False


def is_beside(text: str) -> bool:
    """Whether ``value`` or ``default`` is given, and the name of a secret stands right before."""
    if "<string>" in text:
        return True
    for word in ("value", "default"):
        for at in _places(text, word):
            if text[at + len(word) : at + len(word) + 8].lstrip("\"'\\ ")[:1] in (":", "=") and _among(
                _SET, text[max(0, at - 400) : at]
            ):
                return True
    return False


def is_manifest(folded: str) -> bool:
    """Whether a text in small letters may be a manifest of Kubernetes that holds a secret."""
    return "kind" in folded and "secret" in folded and "data" in folded and "\n" in folded


def is_headed(folded: str) -> bool:
    """Whether of a text in small letters a table's head may name a secret."""
    if "\n" not in folded:
        return False
    for name in _among(_SET, folded):
        for at in _places(folded, name):
            start, end = folded.rfind("\n", 0, at) + 1, folded.find("\n", at)
            line = folded[start:end] if end >= 0 else ""
            if len(line) >= _HEADS:
                continue
            at -= start
            if any(map(line.__contains__, COLUMNS)):
                return True
            # As CSV: no spaces behind the signs.
            before, after = line[:at].rstrip(_LETTERS)[-1:], line[at:].lstrip(_LETTERS)[:1]
            if (before in (",", ";") and f"{before} " not in line) or (after in (",", ";") and f"{after} " not in line):
                return True
    return False


def _is_parted(text: str) -> bool:
    """Whether something has the three parts of a token of Discord's: by their lengths."""
    return any(
        at > 19 and text[at + 7 : at + 8] == "." and text[at - 20 : at].replace("-", "").replace("_", "").isalnum()
        for at in _places(text, ".")
    )


def _is_labelled(text: str, name: str) -> bool:
    """Whether brackets stand between a name and its colon: ``password (staging): …``."""
    for at in _places(text, name):
        end = at + len(name)
        stop = min(len(text), end + _HEAD)
        while end < stop and text[end] in _WORD:
            end += 1
        rest = text[end : end + 60].lstrip("*_")
        if rest[:2] in (" (", " [") and rest.partition("]" if rest[1] == "[" else ")")[2].lstrip(" *_")[:1] in (
            ":",
            "=",
        ):
            return True
    return False


def _is_login(text: str) -> bool:
    """Whether who logs in is said with what they log in with: ``login: mira / …``."""
    for word in ("login", "log-in", "log in", "credential", "creds", "account", "user"):
        for at in _places(text, word):
            said = text[at : at + 120]
            colon = said.find(":")
            if len(word) <= colon < len(word) + 6 and "/" in said[colon:]:
                return True
            if any(0 <= said.find(mark) < len(word) + 2 for mark in _WITH) and ("/" in said or ":" in said):
                return True
    return False


def _is_file_of_passwords(text: str) -> bool:
    """Whether a line has the five fields of ``.pgpass``."""
    if text.count(":") < 4:
        return False
    lines = [line.split(":") for line in text.split("\n") if line.count(":") == 4]
    return any(fields[1] == "*" or (fields[1].isdigit() and len(fields[1]) > 3) for fields in lines)


def _is_encoded(text: str) -> bool:
    """Whether the name of a secret may stand in text that is encoded for an address."""
    return ("%3a" in text or "%3d" in text) and any(name in text for name in _NAMES)


def _is_prose(text: str) -> bool:
    if "passphrase" in text or "passcode" in text or "pwd" in text or "'s " in text or "|" in text:
        return True
    for word in text.split("passw")[1:]:
        after = word[:200].split(None, 2)[1:2]
        if after and (after[0][0] in "\"'`" or after[0] in ("for", "of", "on") or any(map(str.isdigit, after[0]))):
            return True
    return any(f"{name} {verb}" in " ".join(text.split()) for name in ("password", "passwd") for verb in _VERBS) or (
        "role" in text or "user" in text or "password(" in text
    )


def _is_given(text: str, name: str) -> bool:
    """Whether one of the places where ``name`` stands is followed by what could be its value."""
    for at in _places(text, name):
        end = at + len(name)
        if name == "token" and text[end : end + 1] == "s":
            continue  # `tokens` counts something (``core.redaction.values.is_about``)
        stop = min(len(text), end + 40)
        while end < stop and (text[end] in _WORD or text[end] == "ñ"):
            end += 1
        while end < stop and text[end] in _SKIPPED:
            end += 1
        if end < len(text) and (text[end] in ":=,>?v" or name in ("bearer", "basic", "authorization")):
            return True
        if at and (_is_flag(text, at) or (name == "key" and text[at - 1] == " " and _is_flag(text, at - 2))):
            return True
    return False


def _is_flag(text: str, at: int) -> bool:
    """Whether the name that goes on at ``at`` begins with a hyphen, as options do."""
    start = at
    while start > 0 and text[start - 1] in _OPTION:
        if at - start > _HEAD:
            return True  # no option's name is longer: for the rules to tell
        start -= 1
    return any(
        text[place] == "-" and (not place or not (text[place - 1].isalnum() or text[place - 1] in "_-"))
        for place in range(start, at + 1)
    )
