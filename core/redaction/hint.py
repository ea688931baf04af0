"""The cheapest test, for what a question shows: may there be a secret in these few kilobytes?

On the interactive path neither ``re`` nor the automaton may be loaded for nothing: substrings, looked for by C code,
and a look at what stands behind a telling name. It lets through all that the rules would replace (a test holds the two
together), and little else.
"""

from __future__ import annotations

# How tokens begin, or what they cannot be without (``core.redaction.providers``).
_TOKENS = (
    """
    AKIA ASIA ABIA ACCA ghp_ gho_ ghu_ ghs_ ghr_ github_pat_ glpat- gldt- glrt- glcbt- glptt- glft- glimt-
    glagent- gloas- glsoat- glffct- glrtr- xox xapp- hooks.slack.com/ sk-ant- sk-or- sk-proj- sk-svcacct-
    sk-admin- sk-service- sk-None- sess- AIza GOCSPX- ya29. 1//0 sk_live_ sk_test_ rk_live_ rk_test_ pk_live_
    pk_test_ whsec_ npm_ pypi- hf_ api_org_ SG. SK dop_v1_ doo_v1_ dor_v1_ dapi lin_api_ lin_oauth_ ntn_ secret_
    shpat_ shpca_ shppa_ shpss_ sq0atp- sq0csp- sq0idp- key- -us :AA discord .com/api/webhooks/ hvs. hvb. hvr.
    AGE-SECRET-KEY- dckr_pat_ dckr_oat_ glsa_ glc_ NRAK- NRJS- sntrys_ sntryu_ gsk_ xai- r8_ pplx- fo1_ fm1 fm2
    dp. PMAK- figd_ figo_ figu_ figdr_ figdh_ figor_ figoh_ figur_ figuh_ tskey- nfp_ nfc_ nfo_ nfu_ rubygems_
    cio .atlasv1. pat ATATT3 ATBB ATCTT3 pscale_ sb_secret_ sbp_ 8Q~ ops_eyJ EAA sl. eyJ sk-
    """
).split()
_NAMES = (
    "passw passphrase passcode pwd dbpass _pass _pw rootpw secret token credential x-amz-signature -key _key key"
    " authorization bearer basic"
).split()
_ELSE = (
    "PRIVATE KEY",
    "?code=",
    "&code=",
    "&amp;code=",
    "u0026code=",
    "%26code=",
    "redis-cli",
    "docker login",
    "htpasswd",
    "-stdin",
    "sudo",
    "uth(",
    "uth=(",
    "uth = (",
    "<private>",
    "<PRIVATE>",
    "sshpass",
    "mysql",
    "identified by",
    "IDENTIFIED BY",
    " -u",
    " --user",
)
_VERBS = ("is", "was", "to")
_LONG = 12
_SKIPPED = frozenset("\"'`\\])} \t")
_WORD = frozenset("abcdefghijklmnopqrstuvwxyz0123456789_.-")


def may_hold(text: str) -> bool:
    """Whether ``text`` may hold something that ``core.redaction.redact`` would replace."""
    return _may_hold(text) or ("\\" in text and _may_hold(text.replace("\\", "")))


def _may_hold(text: str) -> bool:
    if any(mark in text for mark in _ELSE):
        return True
    if "://" in text and "@" in text:
        return True
    folded = text.lower()
    if ("login" in folded and "passw" in folded) or "<private>" in folded or "identified" in folded:
        return True
    if "cookie" in folded or ("curl" in folded and "-b" in folded):
        return True
    if ("setx" in folded or "setenv" in folded or "ENV" in text or ("set" in folded and " -" in folded)) and any(
        name in folded for name in (*_NAMES, "pass")
    ):
        return True
    if _says_little(folded) or ("ldap" in folded and "-w" in folded) or ("assw" in folded and _is_prose(folded)):
        return True
    marks = [mark for mark in _TOKENS if mark in text]
    for word in text.replace('"', " ").replace("'", " ").split() if marks else ():
        # No token is shorter, and most words are: what is left is worth a closer look.
        if len(word) > _LONG and any(mark in word for mark in marks) and any(map(str.isdigit, word)):
            return True
    return any(_is_given(folded, name) for name in _NAMES if name in folded)


def _says_little(text: str) -> bool:
    """Whether ``pass`` or ``pw`` stands alone, and something that has a digit is given to it."""
    for name in ("pass", "pw"):
        at = text.find(name)
        while at >= 0:
            end = at + len(name)
            while end < len(text) and text[end] in _SKIPPED:
                end += 1
            alone = (not at or text[at - 1] not in _WORD) and end < len(text) and text[end] in ":=,>v?"
            if alone and any(map(str.isdigit, text[end : end + 200])):
                return True
            at = text.find(name, at + 1)
    return False


def _is_prose(text: str) -> bool:
    return any(f"{name} {verb}" in " ".join(text.split()) for name in ("password", "passwd") for verb in _VERBS) or (
        "role" in text or "user" in text or "password(" in text
    )


def _is_given(text: str, name: str) -> bool:
    """Whether one of the places where ``name`` stands is followed by what could be its value."""
    at = text.find(name)
    while at >= 0:
        end = at + len(name)
        stop = min(len(text), end + 40)
        while end < stop and text[end] in _WORD:
            end += 1
        while end < stop and text[end] in _SKIPPED:
            end += 1
        if end < len(text) and (text[end] in ":=,>?v" or name in ("bearer", "basic", "authorization")):
            return True
        if at and _is_flag(text, at):
            return True
        at = text.find(name, at + 1)
    return False


def _is_flag(text: str, at: int) -> bool:
    """Whether the name that goes on at ``at`` begins with a hyphen, as options do."""
    while at > 0 and text[at - 1] in _WORD:
        at -= 1
    return text[at] == "-"
