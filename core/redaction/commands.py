"""Secrets that a command or a call is given: options of single programs, arguments by place, stores of secrets."""

from __future__ import annotations

import re

from core.redaction.assignments import ARGUMENT, GIVEN, is_given, is_random
from core.redaction.looks import (
    HEX,
    is_chosen,
    is_drawn,
    is_filler,
    is_handed_out,
    is_password,
    is_placeholder,
    is_secret,
    is_strong,
)
from core.redaction.mark import MARK
from core.redaction.names import UUID
from core.redaction.rule import Found, Prefilter, Row, Rule, cleaned, each, first, made
from core.redaction.shapes import is_any

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from core.redaction.rule import Cut

# The value behind a place.
VALUE = r"\\*[\"'`]?(?P<value>[^\s\"'`\\;]{3,200})"


def _program(match: re.Match[str]) -> Cut | None:
    value = match["value"]
    return first(
        match,
        "password" if is_password(value, quoted="." in value and any(map(str.isdigit, value)), tight=True) else "",
    )


def _phrase(match: re.Match[str]) -> Cut | None:
    """Accept whatever a program for wireless networks is given: such a passphrase has at least eight characters."""
    return first(match, "" if len(match["value"]) < 8 or is_placeholder(match["value"]) else "password")


def _login(match: re.Match[str]) -> Cut | None:
    value = match["value"]
    # Databases and ports follow `-p`, too.
    found = is_drawn(value) or is_strong(value) or is_handed_out(value) or is_chosen(value, plain=False, odd_signs="/:")
    return first(match, "password" if found and not is_filler(value) else "")


def _call(match: re.Match[str]) -> Cut | None:
    value = match["value"]
    found = any(map(str.isdigit, value)) and is_password(value, quoted=True, tight=False)
    return first(match, "password" if found else "")


# Places of passwords: (what the automaton looks for, the place, which the value follows).
_ECHO = r"\b(?:echo|printf)\s{1,3}(?:-n\s{1,3}|[\"']?%s(?:\\\\?n)?[\"']?\s{1,3})?"
_PROGRAMS: tuple[tuple[tuple[str, ...], str], ...] = (
    # Behind the words of SQL and of .netrc.
    ((r"login(?:\s|\\[nrt])+\S+(?:\s|\\[nrt])+password",), r"\blogin\s{1,3}\S{1,100}\s{1,3}password\s{0,3}"),
    (
        (r"dentified (?:with \S+ )?by\s+\\*[\"']",),
        r"\bidentified\s{1,3}(?:with\s\S{1,60}\s)?by(?=\s{1,3}[\"'])\s{0,3}",
    ),
    ((r"password\s+\\*[\"']",), r"\b(?:role|user)\s[^\n;]{0,200}?\bpassword(?=\s{1,3}')\s{0,3}"),
    ((r"[= ]password\(\\*'",), r"[= ]password\((?=')\s{0,3}"),
    (("SecureString ",), r"\bConvertTo-SecureString (?:-String\s{1,3})?(?=[\"'])"),
    ((r"(?:store|key)password\s+\\*[\"']",), r"\b(?:store|key)Password\s{1,3}(?=[\"'])"),
    (("(?-i:P)SK ", '(?-i:EAP|XAUTH) \\\\*"'), r"(?-i:\b(?:PSK|EAP|XAUTH))\s{1,3}(?=\\*[\"'])"),
    ((r"requirepass\s", r"masterauth\s"), r"\b(?:requirepass|masterauth)\s{1,3}"),
    # Options of one letter.
    (("sshpass -p",), r"\bsshpass\s{1,3}-p\s{0,3}"),
    (
        (r"m(?:ysql|ariadb)(?s:.{0,80})(?:\s|\\[nt])-p\S",),
        r"\b(?:mysql|mariadb)[\w-]{0,8}\s[^\n]{0,100}?\s-p(?=\S)\s{0,3}",
    ),
    (("ocker login",), r"\bdocker login\s[^\n]{0,200}?-p\s{1,3}(?=[^\s-])"),
    (("redis-cli",), r"\bredis-cli\s[^\n]{0,200}?-a\s{1,3}(?=[^\s-])"),
    (
        ("ldap(?:search|add|modify|delete|passwd|whoami|modrdn) ", "ds(?:conf|idm) "),
        r"\b(?:ldap(?:search|add|modify|delete|passwd|whoami|modrdn)|dsconf|dsidm)\s[^\n]{0,200}?-w\s{1,3}(?=[^\s-])",
    ),
    (("sqlcmd ", "zip "), r"\b(?:sqlcmd|zip|unzip) (?:[^\n|;&]{0,200}?\s)?(?-i:-P)\s{0,3}(?=[^\s-])"),
    (("7(?-i:z)[ar]? ", r"rar "), r"\b(?:7z[ar]?|rar|unrar) [^\n|;&]{0,200}?\s-h?p(?=[^\s-])"),
    (
        ("mongo(?:sh|dump|restore)? ", *each("az|dman|oc", " login ")),
        r"\b(?:mongo(?:sh|dump|restore)?|(?:az|oc|podman) login) [^\n|;&]{0,200}?\s(?-i:-p)\s{1,3}(?=[^\s-])",
    ),
    (("openssl enc ",), r"\bopenssl enc [^\n|;&]{0,200}?\s(?-i:-k)\s{1,3}(?=[^\s-])"),
    (
        ("cqlsh ", "cypher-sh", "twine ", "skopeo", "influx "),
        r"\b(?:cqlsh|twine|skopeo|influx|cypher-shell) [^\n|;&]{0,200}?\s(?-i:-p)\s{1,3}(?=[^\s-])",
    ),
    (
        ("bcp ", "ipmitoo", "quitto_"),
        r"\b(?:bcp|ipmitool|mosquitto_(?:pub|sub)) [^\n|;&]{0,200}?\s(?-i:-P)\s{0,3}(?=[^\s-])",
    ),
    ((r"(?:\s|\\[nt])-pw ",), r"\b(?:plink|pscp|psftp)\S{0,4}\s[^\n|;&]{0,200}?-pw\s{1,3}"),
    (("ssh-keygen ",), r"\bssh-keygen [^\n|;&]{0,200}?\s(?-i:-P)\s{1,3}"),
    (("sh-keygen ",), r"\bssh-keygen [^\n|;&]{0,200}?\s(?-i:-N)\s{1,3}"),
    (("freerdp",), r"\b[xw]l?freerdp3?\s[^\n|;&]{0,300}?\s(?:/p:|-p\s{1,3})"),
    (("lftp ",), r"\blftp\s[^\n|;&]{0,100}?-u\s{0,3}[\"']?[^\s,\"']{1,60},"),
    (
        ("smb(?:client|get) ", "rpcclient ", "net rpc "),
        r"\b(?:smbclient|smbget|rpcclient|net rpc) [^\n|;&]{0,200}?\s(?-i:-U)[ =]{0,2}[\"']?[\w\\/.@-]{1,80}%",
    ),
    ((r"tps? (?:-a|--auth)[ =]",), r"\bhttps? (?:-a|--auth)[ =]{1,3}[\"']?[^\s:\"']{1,80}:"),
    ((r"-pass(?:in|out|wd|word)?[ =][\"'\\]*pass:",), r"-pass(?:in|out|wd|word)?[ =]{1,3}[\"']?pass:"),
    # Arguments by their place.
    (("radtest ",), r"\bradtest (?:-\w{1,9} ){0,3}\S{1,60}\s{1,3}"),
    (("-setcookie ",), r"(?<!\S)-setcookie\s{1,3}"),
    (
        (r"net use(?:r)? ",),
        r"\bnet use [^\n]{0,100}?\\\S{1,100}\s{1,3}(?=[^\s/]\S{2,100}\s{1,3}/user:)"
        r"|\bnet use [^\n]{0,160}?/user:\S{1,80}\s{1,3}(?=[^\s/*])|\bnet user \S{1,60}\s{1,3}(?=[^\s/*])",
    ),
    (
        ("rabbitmqc",),
        r"\brabbitmqctl (?:add_user|change_password|authenticate_user)\s{1,3}\S{1,60}\s{1,3}",
    ),
    (("openssl passwd ",), r"\bopenssl passwd (?:-\w{1,8}\s{1,3}){0,3}(?=[^\s-])"),
    (("rclone ob",), r"\brclone obscure\s{1,3}"),
    (("vault lo",), r"\bvault login (?:token=)?(?=[\w.-]{20,})"),
    (
        (r"-basic\.", r"i-token\."),
        r"\bconfig (?:--?\w{1,12}\s{1,3}){0,2}(?:http-basic\.\S{1,80}\s{1,3}\S{1,80}|pypi-token\.\S{1,60})"
        r"\s{1,3}(?=[^\s-])",
    ),
    # Printed by another program.
    (
        (
            *(r"\|\s*sudo -", "[-_]stdin", "--with-token", "--passphrase-fd"),
            r"\|\s*(?:sudo\s+)?(?:cryptsetup|kinit|ssh-add|passwd|docker secret)",
        ),
        rf"{_ECHO}(?=[\"']?[^\s|\"']{{3,200}}[\"']?\s{{0,3}}\|\s{{0,3}}"
        r"(?:sudo (?:[^\n|]{0,40}\s)?-S\b|(?:sudo\s{1,3})?(?:cryptsetup|kinit|ssh-add|passwd|docker secret create)\b"
        r"|[^\n|]{0,200}(?:[-_]stdin|--with-token|--passphrase-fd)\b))",
    ),
    (
        ("chpasswd",),
        r"\becho\s{1,3}(?:-n\s{1,3})?[\"']?[\w.$-]{1,32}:"
        r"(?=[^\s|\"']{3,200}[\"']?\s{0,3}\|\s{0,3}(?:sudo\s{1,3})?chpasswd)",
    ),
    (
        ("[^<]<<<[^<]",),
        r"(?:-stdin\w{0,8}|--with-token|\bsecret put \S{1,80}|\bsudo -S|\bsecret-tool store(?: [^\n|;&<]{1,80})?"
        r"|\bpass insert \S{1,80}"
        r"|passwd|\b(?:kinit|cryptsetup|ssh-add|openssl|gpg2?|bw (?:login|unlock)) [^\n|;&<]{1,120}?)"
        r"\s{0,3}<<<\s{0,3}",
    ),
    ((r"ed?-key\s*<\(",), r"(?:private|preshared|shared)-?key\s{0,3}<\(\s{0,3}(?:echo|printf)\s{1,3}"),
    # A pair in a call.
    (
        (r"auth ?= ?\(", r"creds? ?= ?\(", *each("basic|digest", r"auth\(")),
        r"\b(?:(?:auth|creds?) ?= ?|HTTP(?:Basic|Digest)Auth)"
        r"\(\s{0,2}\\*[\"'][^\"'\\\n]{1,80}\\*[\"']\s{0,2},\s{0,2}(?=\\*[\"'])",
    ),
)
# Any program that is given a user's name.
_LOGIN = r"\s-[lu]\s{1,3}[^\s-]\S{0,80}\s{1,3}(?-i:-p)\s{1,3}(?=[^\s-])"
_CURL = r"\bcurl\s[^\n]{0,200}?(?:-u\s{0,3}|--(?:proxy-)?user[\s=]{1,3})[\"']?[^\s:\"']{1,80}:\s{0,3}"
# An argument of a call, where words are names.
_CALLS = (
    r"\b(?:set|make|hash|check|verify|change|reset|update|encrypt)_?password\((?=\\*[\"'])"
    r"|\b(?:login|authenticate|sign_?in|signInWithEmailAndPassword|PlainAuth|(?:set_?)?basic_?auth)"
    r"\((?:(?:\w{1,30}|\\*\"\\*\"),\s{0,2})?\\*[\"'][^\"'\\\n]{1,80}\\*[\"'],\s{0,2}(?=\\*[\"'])"
    r"|\b(?:getConnection|new PDO)\([^\n()]{1,200}?,\s{0,2}\\*[\"'][^\"'\\\n]{1,80}\\*[\"'],\s{0,2}(?=\\*[\"'])"
    r"|\bwifi\w{0,10}\.(?:begin|connect|addAP)\((?:\w{1,30}|\\*[\"'][^\"'\\\n]{1,40}\\*[\"']),\s{0,2}(?=\\*[\"'])"
    r"|(?:\b(?:set|with)_?(?:\w{1,16}_?)?|\.)passw(?:or)?d\((?=\\*[\"'])"
    r"|\bfill_in[\s(]{1,2}:?\\*[\"']?[\w \[\]-]{0,40}passw(?:or)?d\w{0,20}\\*[\"']?,\s{0,2}with:\s{0,2}(?=\\*[\"'])"
    r"|\bNetworkCredential\(\s{0,2}\\*[\"'][^\"'\\\n]{1,80}\\*[\"'],\s{0,2}(?=\\*[\"'])"
    r"|\bbcrypt\.(?:hash|hashSync|hashpw)\(b?(?=\\*[\"'])"
    r"|\bjwt\.(?:sign|verify|encode|decode)\([^\"'\\\n]{1,120}?,\s{0,2}(?=\\*[\"'])"
    r"|\bcreate_(?:super)?user\([^\n()]{0,160}?,\s{0,2}(?=\\*[\"'][^\"'\n]{3,100}[\"']\s{0,2}\))"
)


def place(name: str, prefilter: Prefilter, where: str, judge: Callable[[re.Match[str]], Cut | None]) -> Rule:
    """Return the rule for the value that follows the place ``where``."""
    return Rule(name, prefilter, rf"(?i)(?:{where}){VALUE}", judge)


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


# Arguments: up to the next one of a command, and its value, which is in quotes or ends with the word.
_ARGUMENTS = r"(?:[^\n|;&]* )?"
_ECHOED = r"(?:echo|printf)(?: -n| [\"']?%s(?:\\{1,2}n)?[\"']?)? "
_READ_BY = (
    r"\| ?(?:sudo )?(?:az devops|op (?:signin|account)|bw (?:unlock|login)|su(?: |$)|cargo login|npm login|keepassxc"
    r"|restic|borg|glab auth|doctl auth|heroku|vault|rclone|steghide|zip|7z|unzip)"
)
ROWS = (
    # Configurations of routers and switches.
    Row(
        "password",
        "enable password, enable secret, username ",
        r"(?:enable|username \S{1,60}(?: privilege [0-9]{1,2})?) (?:password|secret)(?: level [0-9]{1,2})?(?: [0-9])? ",
        ARGUMENT,
        is_given,
        prefilter=r"(?:enable|username [^\s\\]+(?: privilege [0-9]+)?) (?:password|secret) ",
    ),
    Row(
        "password",
        "pre-shared-key, radius, tacacs, key-string, {plain}, {cleartext}",
        r"(?:(?:pre-shared-key(?: (?:ascii-text|local|remote))*|(?:radius|tacacs)[^\n\\]{0,60} key(?: [0-9])?"
        rf"|key-string(?: [0-9])?) {GIVEN}|\{{(?:plain|cleartext)\}})",
        r"[^\s\"'`\\|;:<>]{6,200}",
        is_given,
        is_word=False,
        prefilter=r"pre-shared-key |(?:radius|tacacs)[^\n\\]* key |key-string |\{(?:plain|cleartext)\}",
    ),
    # Postfix's, by server: https://www.postfix.org/SASL_README.html
    Row(
        "password",
        "]:",
        r"\[[\w.-]{3,100}\]:[0-9]{2,5}[ \t]{1,20}[\w.@+-]{1,80}:",
        r"[^\s:\"'`\\]{6,100}",
        is_sent,
        is_word=False,
        prefilter=r"\]:[0-9]+[ \t]+[\w.@+-]+:[^\s:\"'`\\]*[0-9]",
    ),
    Row("password", "snmp-server community", "snmp-server community ", ARGUMENT, is_any, is_rare=True),
    Row(
        "password",
        "htpasswd",
        rf"htpasswd (?:-[a-z]+ )*-[a-zA-Z]*b[a-zA-Z]* {_ARGUMENTS}[\w.@-]{{1,60}} {GIVEN}",
        ARGUMENT,
        is_given,
        tail=rf"{GIVEN}(?:$|[\s;|&>)\\])",
        is_rare=True,
    ),
    # expect(1): what is sent where a password was waited for, or ends with a return.
    Row(
        "password",
        'send ", send \\\\", send --, send \'',
        r"send (?:-- )?\\*[\"']",
        ARGUMENT,
        is_sent,
        tail=r"\\+[rn]\\*[\"']",
    ),
    # Impacket's: `domain/user:password@host`.
    Row(
        "password",
        "impacket-, secretsdump, psexec, wmiexec, smbexec, atexec, dcomexec, getuserspns, getnpusers, gettgt, "
        "getst.py, lookupsid, smbclient.py, rpcdump, samrdump, mssqlclient, ntlmrelayx, getadusers, "
        "addcomputer, smbpasswd.py",
        r"(?:impacket-\w+|[A-Za-z]\w+\.py) " + _ARGUMENTS + r"[\"']?(?:[\w.-]+[/\\]+)?[\w.$-]+:",
        r"[^\s\"'/:]{4,100}",
        is_impacket,
        is_rare=True,
    ),
    Row(
        "secret",
        "sonar.login, sonar.token",
        r"sonar\.(?:login|token)[= :]{1,3}" + GIVEN,
        r"[A-Za-z0-9_-]{20,60}",
        is_random,
        is_word=False,
        is_rare=True,
    ),
    Row(
        "secret",
        "codecov",
        rf"codecov[^\n|;&]* (?:-t|--token)[ =]{GIVEN}",
        r"[0-9A-Za-z-]{20,60}",
        is_random,
        is_word=False,
        is_rare=True,
    ),
    Row(
        "secret",
        "snyk auth, doctl auth, glab auth, fly auth, cargo login, az devops",
        rf"(?:(?:snyk|doctl|glab|fly|flyctl) auth|cargo login|az devops login) {_ARGUMENTS}{GIVEN}",
        r"[A-Za-z0-9_./+=-]{12,400}",
        is_random,
        is_rare=True,
    ),
    # Read by a program from another one.
    Row(
        "password",
        "az devops, op signin, op account, bw unlock, bw login, | su, |su , cargo login, npm login, keepassxc, restic, "
        "borg, glab auth, doctl auth, heroku, vault, rclone, steghide, | zip, | 7z, | unzip",
        _ECHOED + GIVEN,
        ARGUMENT,
        is_given,
        tail=rf"{GIVEN} ?{_READ_BY}",
        is_word=False,
        prefilter=_READ_BY,
    ),
    Row(
        "password",
        "password-command, password_command, passcommand, password-file, passwd-command",
        rf"(?:passw(?:or)?d[-_](?:command|file)|passcommand)[ =]{GIVEN}(?:<\()?{_ECHOED}{GIVEN}",
        r"[^\s\"'`\\|;<>)]{4,200}",
        is_given,
        is_word=False,
        is_rare=True,
    ),
    Row(
        "secret",
        "mc alias set, mc config host, mcli alias set",
        rf"mc(?:li)? (?:alias set|config host add|alias import) \S{{1,60}} \S{{8,200}} {GIVEN}\S{{3,100}} {GIVEN}",
        ARGUMENT,
        is_given,
        is_rare=True,
    ),
    Row(
        "password",
        "bw unlock, bw login, op signin",
        rf"(?:bw unlock|bw login [\w.@+-]{{3,80}}|op signin(?: --?[\w-]{{1,20}}(?:[ =][\w.@-]{{1,40}})?){{0,4}})"
        rf" {GIVEN}",
        ARGUMENT,
        is_given,
        is_rare=True,
    ),
    # One row an option: a command may have all of them.
    *(
        Row(
            "password",
            "snmpwalk, snmpget, snmpset, snmpbulk, snmptable, snmptrap, snmpstatus",
            rf"snmp\w{{2,12}} {_ARGUMENTS}(?-i:-{option}) ?{GIVEN}",
            ARGUMENT,
            is_given,
            is_rare=True,
        )
        for option in "AXc"
    ),
    Row(
        "password",
        "hydra , medusa , crackmapexec, netexec, nxc smb, nxc winrm, nxc ldap, nxc ssh, nxc mssql, "
        "evil-winrm, npm login, helm registry, smbmap, rpcclient",
        rf"(?:hydra|medusa|crackmapexec|netexec|nxc|evil-winrm|npm login|helm registry login|smbmap|rpcclient)"
        rf" {_ARGUMENTS}(?-i:-p) {GIVEN}",
        ARGUMENT,
        is_given,
        is_rare=True,
    ),
    Row(
        "password",
        "rclone config",
        rf"rclone config {_ARGUMENTS}pass(?:word)?[ =]{GIVEN}",
        ARGUMENT,
        is_given,
        is_rare=True,
    ),
    Row(
        "password",
        "vncpasswd, keepassxc-cli, pass insert, op signin, bw unlock",
        rf"(?:vncpasswd|keepassxc-cli|pass insert|op signin|bw unlock)[^\n|;&<]* ?<<< ?{GIVEN}",
        ARGUMENT,
        is_given,
        is_rare=True,
    ),
    # Programs that keep, set or show one.
    Row(
        "password",
        "--plaintext, encrypt_string, secret-set-value, wpa_cli, dscl ",
        r"(?:--plaintext[ =]|ansible-vault encrypt_string (?:--[\w-]+[ =][\w/@.-]+ )*|secret-set-value [^\n|;&]{0,100}?"
        r"--base64 "
        r"|wpa_cli [^\n|;&]{0,60}?(?:psk|password) |dscl [^\n|;&]{0,60}?-passwd \S{1,60} )[\"'\\]{0,4}",
        r"[^\s\"'`\\|;<>-][^\s\"'`\\|;<>]{5,200}",
        is_given,
        is_word=False,
        is_rare=True,
    ),
    # Input and output of programs that crack and audit.
    Row("crypt", "hashcat ", r"hashcat [^\n|;&]{0,200}? ", HEX, is_any, is_rare=True),
    Row("password", "key found! [", r"key found! \[ ?", r"[^\s\"'`\\\]]{8,63}", is_any, is_rare=True),
    Row(
        "password",
        "nickserv",
        r"nickserv:? (?:identify|ghost|recover|release)(?: [\w|-]{2,30})? ",
        r"[^\s\"'`\\]{6,100}",
        is_any,
        is_rare=True,
    ),
    Row(
        "password",
        "keychain",
        rf"(?:(?:unlock|create)-keychain [^\n|;&]{{0,120}}?-p|set-key-partition-list [^\n|;&]{{0,120}}?-k) {GIVEN}",
        ARGUMENT,
        is_any,
        is_rare=True,
    ),
    Row(
        "password",
        "bundle config",
        rf"bundle config (?:set )?(?:--\w+ )?[\w.:/-]{{4,80}} {GIVEN}[\w.@-]{{1,60}}:",
        ARGUMENT,
        is_any,
        is_rare=True,
    ),
)
# Stores of secrets.
_STORING = (
    r"secrets?[ :](?:add|bulk|create|edit|generic|import|push|put|set|update|upload|versions add)"
    r"|(?:add|create|put|set|update)-secret(?:-value|-version)?|ssm put-parameter|\bkv (?:patch|put)"
    r"|\benv[ :](?:add|set)|config:set|config set --secret|add-generic-password|user-secrets set"
)
_STORED = rf"(?i)(?:{_STORING})\s(?P<rest>[^\n|;&<]{{1,1000}})"
# A name and a value, an option and its value, or a value alone; the content of quotes.
_ARGUMENT = (
    r"(?<!\S)(?P<option>--?[A-Za-z][\w-]{0,40}(?:[ \t]{1,3}|=)|-[A-Za-z](?=[\"']))?(?P<name>(?![\"'])[\w.:/-]{1,80}=)?"
    r"(?:\\*(?P<quote>[\"'])(?P<quoted>(?:(?!(?P=quote))[^\n\\]){3,4096})\\*(?P=quote)|(?P<bare>[^\s\"'`\\<>$()]{3,4096}))"
)
_ENTRY = r"[A-Za-z_][\w.-]{0,80}=(?=\S)"
_VALUE_OPTIONS = frozenset("value secret-string secret-value secret-binary string-value data body b w".split())
# `echo … | vercel env add NAME`.
_PIPED = (
    r"(?i)\b(?:echo|printf)\s{1,3}(?:-n\s{1,3}|[\"']?%s(?:\\{1,2}n)?[\"']?\s{1,3})?[\"']?(?P<value>[^\s|\"']{3,4096})[\"']?"
    rf"\s{{0,3}}\|\s{{0,3}}(?=[^\n|;&]{{0,120}}?(?:{_STORING}))"
)
_LINE = r"(?:\r?\n|(?:\\r)?\\n)"
_PRINTING = r"(?:openssl rand|wg gen(?:key|psk)|pwgen|initial-admin-secret)\b|\btoken_(?:hex|urlsafe)\("
_PRINTED = (
    rf"(?i)(?:{_PRINTING})[^\n\\]{{0,200}}(?:\\[^rn\s][^\n\\]{{0,100}}){{0,4}}"
    rf"{_LINE}(?:```\w{{0,10}}{_LINE})?[ \t]{{0,8}}[\"']?"
    r"(?P<value>[^\s\"'`<>$\\]{8,2048})(?=[\"']?[ \t%]{0,4}(?:\Z|[\r\n\\]))"
)


def _without_stored(text: str, counts: dict[str, int]) -> str:
    """Return ``text`` without what commands hand to a store of secrets; ``counts`` is added to."""

    def replaced(match: re.Match[str]) -> str:
        head = match[0][: match.start("rest") - match.start()]
        return head + made(_ARGUMENT).sub(given, match["rest"])

    def given(match: re.Match[str]) -> str:
        group = "bare" if match["quoted"] is None else "quoted"
        value = match[group]
        skipped = 0
        if group == "quoted" and not match["name"] and (whole := made(_ENTRY).match(value)):
            skipped = whole.end()  # `--from-literal='name=value'`
            value = value[skipped:]
        if value.startswith((MARK, "-")) or is_placeholder(value) or not _is_stored(match, value, skipped > 0):
            return match[0]
        counts["secret"] = counts.get("secret", 0) + 1
        start = match.start(group) - match.start() + skipped
        return f"{match[0][:start]}{MARK}secret]{match[0][start + len(value) :]}"

    return cleaned(_PIPED, _piped, made(_STORED).sub(replaced, text), counts)


def _piped(match: re.Match[str]) -> Cut | None:
    return first(match, "" if is_placeholder(match["value"]) or not _is_kept(match["value"]) else "secret")


def _is_kept(value: str) -> bool:
    """Return True if a value that a store is given is more than a setting."""
    return is_drawn(value) or is_strong(value) or is_chosen(value, plain=False) or is_secret(value, quoted=False)


def _is_stored(match: re.Match[str], value: str, is_entry: bool) -> bool:
    option = (match["option"] or "").strip(" \t=-").lower()
    if option in _VALUE_OPTIONS or (
        (match["name"] or is_entry) and option in ("", "from-literal", "set", "secret", "plaintext")
    ):
        return _is_kept(value)
    if option and option not in ("secret", "plaintext", "prod", "yes", "force"):
        return False  # a name, a place
    return is_drawn(value) and not made(UUID).fullmatch(value)


def _printed(match: re.Match[str]) -> Cut | None:
    value = match["value"]
    drawn = (
        is_drawn(value) or made(HEX).fullmatch(value) or made(UUID).fullmatch(value) or is_chosen(value, plain=False)
    )
    return first(match, "secret" if drawn and not is_placeholder(value) else "")


PRINTED = Rule(
    "printed",
    Prefilter(("ssl rand", "wg gen", "pwgen ", "-admin-sec"), after_names=r"_(?:hex|urlsafe)\("),
    _PRINTED,
    _printed,
)
PROGRAMS = (
    # Folders of Claude's are called `-Users-…`, and `date -u +%H:%M` gives no user.
    place(
        "curl",
        Prefilter((r"(?:\s|\\[nt])(?:-u[ =]*|--(?:proxy-)?user[ =]+)[\"'\\]*[^\s:\"'%\\]+:[^\s/]",)),
        _CURL,
        _program,
    ),
    *(place(f"program {words[0]}", Prefilter(words), where, _program) for words, where in _PROGRAMS),
    place(
        "wireless",
        Prefilter(("nmcli ", "wpa_passphrase ", "iwctl ")),
        r"\bnmcli [^\n|;&]{0,200}?\spassword\s{1,3}|\biwctl [^\n|;&]{0,200}?--passphrase[ =]"
        r"|\bwpa_passphrase (?:\"[^\"\n]{1,64}\"|[^\s\"]{1,64})\s{1,3}",
        _phrase,
    ),
    place("login", Prefilter(opening=(r"-[lu]\s+[^\s-]\S*\s+-p",)), _LOGIN, _login),
    place(
        "call",
        Prefilter(
            (
                *each(r"authenticate|basic_?auth|login|PlainAuth|sign_?in\w*", r"\((?:\w+,\s*)?\\*[\"']"),
                *(r"password\(\\*[\"']", r"create_(?:super)?user\(", r"jwt\.(?:sign|verify|encode|decode)\("),
                *(r"getConnection\(", r"PDO\(", r"wifi\w*\.[a-z]+\("),
                *(r"ll_in[ (]", "kCredential\\(", r"crypt\.hash\w*\(b?\\*[\"']"),
            )
        ),
        _CALLS,
        _call,
    ),
)
STORED = Rule(
    "stored",
    Prefilter(
        ("config set --secret", r"config:set\s", r"env[ :](?:add|set)\s", r"kv (?:patch|put)\s", "put-parameter "),
        after_passwords=r" -[a-z]",
        after_names=r"(?: --?[a-z]|[ :](?:add|bulk|create|edit|generic|import|push|put|set|update|upload|versions)\s)",
    ),
    clean=_without_stored,
)
