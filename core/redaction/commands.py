"""Places where a password follows without a name of its own: arguments of programs and calls, and plain words."""

from __future__ import annotations

import re
from functools import cache

from core.redaction.screen import FOREIGN

_VALUE = r"\\*[\"'`]?(?P<value>[^\s\"'`\\;]{3,200})"


@cache
def made(pattern: str) -> re.Pattern[str]:
    """``pattern`` compiled, once it is needed: all of them would take tens of milliseconds."""
    return re.compile(pattern)


@cache
def before(place: str) -> re.Pattern[str]:
    """``place``, and the value that follows it."""
    return made(rf"(?i)(?:{place}){_VALUE}")


# Apart, and each with a hint of its own (``core.redaction.screen``): together they are tried for a microsecond at
# each character. Arguments of programs, and what is like them.
PROGRAMS = (
    r"(?:\blogin\s{1,3}\S{1,100}\s{1,3}password|\bidentified\s{1,3}(?:with\s\S{1,60}\s)?by(?=\s{1,3}[\"'])|\bsshpass\s{1,3}-p"
    r"|\b(?:mysql|mariadb)[\w-]{0,8}\s[^\n]{0,100}?\s-p(?=\S)|\b(?:role|user)\s[^\n;]{0,200}?\bpassword(?=\s{1,3}')"
    r"|[= ]password\((?='))\s{0,3}"
    r"|\b(?:docker login\s[^\n]{0,200}?-p|redis-cli\s[^\n]{0,200}?-a"
    r"|ldap(?:search|add|modify|delete|passwd|whoami|modrdn)\s[^\n]{0,200}?-w)\s{1,3}(?=[^\s-])"
    r"|\bhtpasswd -\w{0,4}b\w{0,4}\s{1,3}\S{1,200}\s{1,3}\S{1,80}\s{1,3}"
    r"|\b(?:echo|printf)\s{1,3}(?:-n\s{1,3}|[\"']?%s(?:\\\\?n)?[\"']?\s{1,3})?"
    r"(?=[\"']?[^\s|\"']{3,200}[\"']?\s{0,3}\|\s{0,3}"
    r"(?:sudo (?:[^\n|]{0,40}\s)?-S\b|(?:sudo\s{1,3})?(?:cryptsetup|kinit|ssh-add|passwd|docker secret create)\b"
    r"|[^\n|]{0,200}(?:-stdin|--with-token|--passphrase-fd)\b))"
    r"|\b(?:(?:auth|creds?) ?= ?|HTTP(?:Basic|Digest)Auth)"
    r"\(\s{0,2}\\*[\"'][^\"'\\\n]{1,80}\\*[\"']\s{0,2},\s{0,2}(?=\\*[\"'])"
    # Programs with options of one letter: -P is a port elsewhere.
    r"|\b(?:sqlcmd|zip|unzip) (?:[^\n|;&]{0,200}?\s)?(?-i:-P)\s{0,3}(?=[^\s-])"
    r"|\b(?:7z[ar]?) [^\n|;&]{0,200}?\s-h?p(?=[^\s-])"
    r"|\b(?:mongo(?:sh|dump|restore)?|(?:az|oc|podman) login)"
    r" [^\n|;&]{0,200}?\s(?-i:-p)\s{1,3}(?=[^\s-])"
    r"|\bopenssl enc [^\n|;&]{0,200}?\s(?-i:-k)\s{1,3}(?=[^\s-])"
    r"|\bnmcli [^\n|;&]{0,200}?\spassword\s{1,3}|\bwpa_passphrase (?:\"[^\"\n]{1,64}\"|[^\s\"]{1,64})\s{1,3}"
    r"|\bnet use [^\n]{0,100}?\\\S{1,100}\s{1,3}(?=[^\s/]\S{2,100}\s{1,3}/user:)"
    r"|\bnet use [^\n]{0,160}?/user:\S{1,80}\s{1,3}(?=[^\s/*])|\bnet user \S{1,60}\s{1,3}(?=[^\s/*])"
    r"|\bsmbclient [^\n|;&]{0,200}?\s(?-i:-U)[ =]{0,2}[\"']?[\w\\/.@-]{1,80}%"
    r"|\becho\s{1,3}(?:-n\s{1,3})?[\"']?[\w.$-]{1,32}:"
    r"(?=[^\s|\"']{3,200}[\"']?\s{0,3}\|\s{0,3}(?:sudo\s{1,3})?chpasswd)"
    r"|(?:-stdin\w{0,8}|--with-token|\bsecret put \S{1,80}|\bsudo -S|\bsecret-tool store|\bpass insert \S{1,80}|passwd"
    r"|\b(?:kinit|cryptsetup|ssh-add|openssl|gpg2?|bw (?:login|unlock)) [^\n|;&<]{1,120}?)"
    r"\s{0,3}<<<\s{0,3}"
    # Programs that take a name and a password in a form of their own.
    r"|\bhttps? (?:-a|--auth)[ =]{1,3}[\"']?[^\s:\"']{1,80}:"
    r"|-pass(?:in|out|wd|word)?[ =]{1,3}[\"']?pass:"
    r"|\bssh-keygen [^\n|;&]{0,200}?\s(?-i:-[NP])\s{1,3}"
    r"|\b[xw]l?freerdp3?\s[^\n|;&]{0,300}?\s(?:/p:|-p\s{1,3})"
    r"|\blftp\s[^\n|;&]{0,100}?-u\s{0,3}[\"']?[^\s,\"']{1,60},"
    r"|\brabbitmqctl (?:add_user|change_password|authenticate_user)\s{1,3}\S{1,60}\s{1,3}"
    r"|(?-i:\bPSK)\s{1,3}(?=\\*[\"'])"
    r"|\b(?:requirepass|masterauth)\s{1,3}|\bopenssl passwd (?:-\w{1,8}\s{1,3}){0,3}(?=[^\s-])"
    r"|\brclone obscure\s{1,3}|\bvault login (?:token=)?(?=[\w.-]{20,})"
    r"|\bgh secret set [^\n|;&]{0,120}?(?:-b|--body)[ =]{1,3}"
    r"|\b(?:cqlsh|twine|skopeo|influx|cypher-shell)"
    r" [^\n|;&]{0,200}?\s(?-i:-p)\s{1,3}(?=[^\s-])"
    r"|\b(?:bcp|ipmitool|mosquitto_(?:pub|sub)) [^\n|;&]{0,200}?\s(?-i:-P)\s{0,3}(?=[^\s-])"
    r"|\b(?:plink|pscp|psftp)\S{0,4}\s[^\n|;&]{0,200}?-pw\s{1,3}"
    r"|\bconfig (?:--?\w{1,12}\s{1,3}){0,2}(?:http-basic\.\S{1,80}\s{1,3}\S{1,80}|pypi-token\.\S{1,60})"
    r"\s{1,3}(?=[^\s-])"
    r"|private-key\s{0,3}<\(\s{0,3}(?:echo|printf)\s{1,3}"
    r"|\bConvertTo-SecureString (?:-String\s{1,3})?(?=[\"'])|\b(?:store|key)Password\s{1,3}(?=[\"'])"
)
# Of any program that is told who logs in, too.
LOGIN = r"\s-[lu]\s{1,3}[^\s-]\S{0,80}\s{1,3}(?-i:-p)\s{1,3}(?=[^\s-])"
CURL = r"\bcurl\s[^\n]{0,200}?(?:-u\s{0,3}|--(?:proxy-)?user[\s=]{1,3})[\"']?[^\s:\"']{1,80}:\s{0,3}"
# An argument of a call, where words are names.
CALLS = (
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
# What a token or a key is said to be.
TOLD = (
    r"(?P<told>\b(?:secret|token|api[ _-]?key)\s(?=\\*[\"'`])"
    r"|(?:\b(?:secret(?: key)?|token|api[ _-]?key|access[ _-]?key)\s{1,2}(?:is|was|to):?"
    r"|\b(?:secret|token|api[ _-]?key)\s{1,2}for\s[^\n.,:;=]{1,40}?(?:\s(?:is|was|=)|:)"
    r"|\b(?:my|our|your|api)\s(?:(?:api|access|secret|auth)\s)?(?:secret|token|key)\s{0,1}(?:is|was|:|=|–|->))\s{1,2}"
    r"|\bunseal key \d{1,2}:\s{1,3}"
    r"|(?:\b(?:set|with)_?(?:\w{1,16}_?)?|\.\w{0,16}|\bnew \w{0,24})"
    r"(?:token|secret|api_?key|access_?token|bearer_?auth)\((?=\\*[\"'])"
    r"|\b(?:(?:add-)?auth(?:token)?|wandb login)\s{1,2}(?=[\"']?[\w-]{20,200}(?![\w-]))"
    r"|(?:client(?:v\d)?|\balgoliasearch)\(\s{0,2}"
    r"(?:\\*[\"'][^\"'\\\n]{1,80}\\*[\"'],\s{0,2})?(?=\\*[\"'][\w-]{24,200}\\*[\"']))"
)
# What says that the value comes now, in languages of Latin letters.
COPULA = "lautet|ist|est|es|este|is|é|è|er|är|to|jest|je|on|adalah"
LATIN = r"mot de passe|passwort|contrase(?:ñ|n)a|senha|wachtwoord"
# A password said in words (`prose`), or nothing but its name before it (`bare`).
SAID = (
    r"(?P<prose>(?:\b|_)(?:passw(?:or)?d|pwd|passcode|passphrase)(?:'s)?\s{1,2}(?:(?:for|of|on)\s[^\n.,:;]{1,40}?\s)?"
    r"(?:(?:has been|was) (?:set|changed|reset) to|is|was|to|as):?\s{1,2}"
    r"|(?:\b|_)(?P<colon>passw(?:or)?d|pwd|passcode|passphrase)\s{1,2}(?:for|of|on)\s[^\n.,:;=]{1,40}?\s?[:=]\s{1,2}"
    rf"|\b(?P<latin>{LATIN})\s{{1,2}}(?:d[aeiou]s?|d['’]|del|du|para|pour|für|fürs|van|voor)\b\s?[^\n.:;=]{{1,40}}?"
    r"(?:\s?[:=]|\s(?:lautet|ist|est|es|is|é|è))\s{1,2}"
    rf"|\b(?:{FOREIGN}|{LATIN}|password)(?:et|en|a)?"
    rf"\s{{1,2}}(?:[a-z]{{2,10}}\s{{1,2}}){{0,3}}?(?:{COPULA})\s{{1,2}}"
    r"|\bpassw(?:or)?d's\s|\|\s{0,8}passw(?:or)?d\s{0,8}\|\s{0,8}(?=[^\s|]{6,60}\s{0,8}\|)"
    r"|\b(?:log[ -]?in|credentials?|creds|account|user(?:name)?)\b\s?(?::|with|as|using|are)\s{1,2}"
    r"[\w.@-]{1,60}(?:\s{0,2}/\s{0,2}|:)(?=\S{6}))"
    r"|(?P<bare>(?:(?P<cue>\b(?:with|use|using|enter|type|new|temporary|temp|initial|default|and|the)\s{1,2}|,\s)?"
    r"\b(?:passw(?:or)?d|passphrase)|(?<![\w-])pw)\s{1,2}(?=[^\s:=]))"
)
