"""Places where a password follows without a name of its own: arguments of programs and calls, and plain words."""

from __future__ import annotations

import re

# `prose`: said in words; `told`: so of a token or key; `called`: an argument of a call, where words are names.
SPOKEN = re.compile(
    r"(?:(?:\blogin\s{1,3}\S{1,100}\s{1,3}password|\bidentified\s{1,3}(?:with\s\S{1,60}\s)?by(?=\s{1,3}[\"'])|\bsshpass\s{1,3}-p"
    r"|\bmysql\w{0,8}\s[^\n]{0,100}?\s-p|\b(?:role|user)\s[^\n;]{0,200}?\bpassword(?=\s{1,3}')"
    r"|[= ]password\((?='))\s{0,3}"
    r"|\bcurl\s[^\n]{0,200}?(?:-u\s{0,3}|--user[\s=]{1,3})[\"']?[^\s:\"']{1,80}:"
    r"|\b(?:docker login\s[^\n]{0,200}?-p|redis-cli\s[^\n]{0,200}?-a"
    r"|ldap(?:search|add|modify|delete|passwd|whoami|modrdn)\s[^\n]{0,200}?-w)\s{1,3}(?=[^\s-])"
    r"|\bhtpasswd -\w{0,4}b\w{0,4}\s{1,3}\S{1,200}\s{1,3}\S{1,80}\s{1,3}"
    r"|\becho\s{1,3}(?:-n\s{1,3})?"
    r"(?=[\"']?[^\s|\"']{3,200}[\"']?\s{0,3}\|\s{0,3}"
    r"(?:sudo (?:[^\n|]{0,40}\s)?-S\b|[^\n|]{0,200}(?:-stdin|--with-token)\b))"
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
    r"|\bsmbclient [^\n|;&]{0,200}?\s(?-i:-U)[ =]{0,2}[\"']?[\w\\/.@-]{1,80}%"
    r"|\becho\s{1,3}(?:-n\s{1,3})?[\"']?[\w.$-]{1,32}:"
    r"(?=[^\s|\"']{3,200}[\"']?\s{0,3}\|\s{0,3}(?:sudo\s{1,3})?chpasswd)"
    r"|(?:-stdin\w{0,8}|--with-token|\bsecret put \S{1,80}|\bsudo -S|\bsecret-tool store|\bpass insert \S{1,80}|passwd)"
    r"\s{0,3}<<<\s{0,3}"
    r"|\bConvertTo-SecureString (?:-String\s{1,3})?(?=[\"'])|\b(?:store|key)Password\s{1,3}(?=[\"'])"
    r"|(?P<called>\b(?:set|make|hash|check|verify|change|reset|update|encrypt)_?password\((?=\\*[\"'])"
    r"|\b(?:login|authenticate|sign_?in|signInWithEmailAndPassword|PlainAuth)"
    r"\((?:(?:\w{1,30}|\\*\"\\*\"),\s{0,2})?\\*[\"'][^\"'\\\n]{1,80}\\*[\"'],\s{0,2}(?=\\*[\"'])"
    r"|\bcreate_(?:super)?user\([^\n()]{0,160}?,\s{0,2}(?=\\*[\"'][^\"'\n]{3,100}[\"']\s{0,2}\)))"
    r"|(?P<told>\b(?:secret|token|api[ _-]?key|access[ _-]?key)\s{1,2}(?:is|was):?\s{1,2})"
    r"|(?P<prose>\bpassw(?:or)?d\s{1,2}(?:is|was|to):?\s{1,2}))"
    r"\\*[\"'`]?(?P<value>[^\s\"'`\\;]{3,200})",
    re.IGNORECASE,
)
