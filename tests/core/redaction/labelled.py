"""The labelled set: invented secrets in the places where people leave them, and what only looks like one.

A seeded generator draws every token at test time: no token is in this repository, and the set is the same on every
machine.
"""

from __future__ import annotations

import base64
import json
import random
import re
import string
import uuid
from pathlib import Path
from typing import NamedTuple

from tests.core.redaction import checksums

# Texts and templates by list (``labelled.jsonl``).
_TEXTS: dict[str, list[str]] = {}
with Path(__file__).with_suffix(".jsonl").open(encoding="utf-8") as _file:
    for _line in map(json.loads, _file):
        _TEXTS.setdefault(_line["list"], []).append(_line["text"])

ALNUM = string.ascii_letters + string.digits
LOWER = string.ascii_lowercase + string.digits
HEX = "0123456789abcdef"
URLSAFE = ALNUM + "-_"


class Case(NamedTuple):
    """A text; the secret in it, or "" where nothing in it may be touched; what kind of place it is, for messages."""

    text: str
    secret: str
    label: str


class Maker:
    """Draws invented values."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def some(self, alphabet: str, length: int) -> str:
        """``length`` characters, with a letter and a digit where the alphabet has both."""
        while True:
            found = "".join(self.random.choices(alphabet, k=length))
            if (
                any(c.isdigit() for c in found)
                and any(c.isalpha() for c in found)
                and found[0] not in "-_"
                and found[-1] not in "-_"
            ):
                return found

    def b64(self, size: int) -> str:
        return base64.b64encode(self.random.randbytes(size)).decode()

    def url64(self, size: int) -> str:
        return base64.urlsafe_b64encode(self.random.randbytes(size)).decode().rstrip("=")

    def password(self) -> str:
        """As a person or a password manager makes them."""
        word = self.random.choice("sunflower gravel Tangerine otter Mistral kobold winter lantern".split())
        return self.random.choice(
            (
                f"{word}{self.random.randint(10, 9999)}!",
                f"{word}-{self.random.choice('falcon pebble harbor'.split())}-{self.random.randint(10, 99)}#",
                self.some(ALNUM, 12),
                self.some(ALNUM + "#%*+!", 16),
                self.some(LOWER, 10),
                f"{word.capitalize()}_{self.random.randint(1000, 9999)}$",
            )
        )

    def worded(self) -> str:
        """Return a password as people make them of a word such as `secret` and of digits."""
        word = self.random.choice("walrus otter hunter brain kobold".split())
        key = self.random.choice("secret token password passwd".split())
        some = self.random.randint
        return self.random.choice(
            (
                f"{word}{some(1, 9)}{key}word",
                f"my{key}{some(100, 999)}",
                f"top{key}{some(1990, 2030)}",
                f"{key}sauce{some(1, 9)}",
                f"{word}{some(1, 9)}{key}",
                f"my{key.capitalize()}{some(1, 9)}",
                f"P{'a'}ssw0rd{some(100, 999)}",
                f"ExampleCorp!{some(1990, 2030)}",
                f"{word}{some(1, 9)}Example{some(1, 9)}",
                f"changeme{some(10, 99)}",
                f"Sample{word.capitalize()}{some(10, 99)}",
                f"my-{word}-{key}{some(100, 999)}",
            )
        )

    def chosen(self) -> str:
        """A password as people make one where a capital and digits are asked for."""
        key = self.random.choice("Secret Password Token Admin Walrus Winter".split())
        some = self.random.randint
        return self.random.choice(
            (
                f"my{key}{some(10, 99)}",
                f"{key}{some(10, 2030)}",
                f"Pass{'word'}{some(1, 9)}",
                f"top{key}{some(100, 999)}",
                f"S3cret{self.some(ALNUM, 6)}x",
            )
        )

    def jwt(self) -> str:
        head = base64.urlsafe_b64encode(json.dumps({"alg": "HS256", "typ": "JWT"}).encode()).decode().rstrip("=")
        body = base64.urlsafe_b64encode(json.dumps({"sub": self.some(LOWER, 12)}).encode()).decode().rstrip("=")
        return f"{head}.{body}.{self.url64(32)}"

    def pem(self, kind: str, lines: int = 12) -> list[str]:
        body = [self.b64(48) for _ in range(lines)] + [self.b64(21)]
        return [f"-----BEGIN {kind}PRIVATE KEY-----", *body, f"-----END {kind}PRIVATE KEY-----"]

    def provider_tokens(self) -> dict[str, str]:
        """Kind → a token of the provider's shape."""
        some = self.some
        return {
            "aws": "AK" + "IA" + some("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", 16),
            "github": self.random.choice("pousr").join(("gh", "_")) + some(ALNUM, 36),
            "github fine": "github" + "_pat_" + some(ALNUM, 22) + "_" + some(ALNUM, 59),
            "gitlab": "gl" + "pat-" + some(URLSAFE, 20),
            "slack": "xo" + "xb-" + some(string.digits + "a", 12) + "-" + some(ALNUM, 24),
            "slack hook": "https://hooks.slack"
            + ".com/services/T"
            + some(LOWER.upper(), 8)
            + "/B0"
            + some(LOWER.upper(), 8)
            + "/"
            + some(ALNUM, 24),
            "anthropic": "sk-" + "ant-api03-" + some(URLSAFE, 93) + "AA",
            "openai": "sk-" + "proj-" + some(URLSAFE, 74),
            "openai old": "sk" + "-" + some(ALNUM, 20) + "T3Blbk" + "FJ" + some(ALNUM, 20),
            "openai plain": "sk" + "-" + some(ALNUM, 48),
            "google": "AI" + "za" + some(URLSAFE, 35),
            "google secret": "GOC" + "SPX-" + some(URLSAFE, 28),
            "stripe": "sk_" + "live_" + some(ALNUM, 24),
            "stripe hook": "wh" + "sec_" + some(ALNUM, 32),
            "npm": "np" + "m_" + some(ALNUM, 36),
            "pypi": "py" + "pi-AgEIcHlwaS5vcmc" + some(URLSAFE, 90),
            "huggingface": "h" + "f_" + some(ALNUM, 34),
            "sendgrid": "S" + "G." + some(URLSAFE, 22) + "." + some(URLSAFE, 43),
            "twilio": "S" + "K" + some(HEX, 32),
            "digitalocean": "do" + "p_v1_" + some(HEX, 64),
            "databricks": "da" + "pi" + some(HEX, 32),
            "linear": "lin" + "_api_" + some(ALNUM, 40),
            "shopify": "shp" + "at_" + some(HEX, 32),
            "telegram": str(self.random.randint(10**9, 10**10 - 1)) + ":A" + "A" + some(URLSAFE, 33),
            "vault": "hv" + "s." + some(ALNUM, 24),
            "docker": "dckr" + "_pat_" + some(URLSAFE, 27),
            "grafana": "gl" + "sa_" + some(ALNUM, 32) + "_" + some(HEX, 8),
            "groq": "gs" + "k_" + some(ALNUM, 52),
            "replicate": "r" + "8_" + some(ALNUM, 37),
            "figma": "fi" + "gd_" + some(URLSAFE, 40),
            "tailscale": "ts" + "key-auth-" + some(ALNUM, 17) + "-" + some(ALNUM, 32),
            "rubygems": "ruby" + "gems_" + some(HEX, 48),
            "airtable": "pa" + "t" + some(ALNUM, 14) + "." + some(HEX, 64),
            "atlassian": "AT" + "ATT3" + some(URLSAFE, 180) + "=" + some(HEX, 8).upper(),
            "supabase": "sb" + "p_" + some(HEX, 40),
            "resend": "r" + "e_" + some(ALNUM, 8) + "_" + some(ALNUM, 24),
            "langsmith": "ls" + "v2_pt_" + some(HEX, 32) + "_" + some(HEX, 10),
            "langfuse": "sk-" + "lf-" + str(uuid.UUID(int=self.random.getrandbits(128))),
            "pinecone": "pc" + "sk_" + some(ALNUM, 6) + "_" + some(ALNUM, 63),
            "e2b": "e2" + "b_" + some(HEX, 40),
            "tavily": "tv" + "ly-dev-" + some(ALNUM, 32),
            "firecrawl": "f" + "c-" + some(HEX, 32),
            "vercel": "vercel" + "_blob_rw_" + some(ALNUM, 16) + "_" + some(ALNUM, 30),
            "cloudflare": "cf" + "ut_" + some(ALNUM, 48),
            "posthog": "ph" + "x_" + some(ALNUM, 43),
            "contentful": "CF" + "PAT-" + some(URLSAFE, 43),
            "heroku": "HR" + "KU-AA" + some(URLSAFE, 58),
            "jfrog": "AK" + "Cp8" + some(ALNUM, 68),
            "buildkite": "bk" + "ua_" + some(HEX, 40),
            "circleci": "CCI" + "PAT_" + some(ALNUM, 22) + "_" + some(HEX, 40),
            "mapbox": "sk." + "eyJ1" + some(ALNUM, 60) + "." + some(ALNUM, 22),
            "neon": "na" + "pi_" + some(LOWER, 64),
            "nvidia": "nv" + "api-" + some(URLSAFE, 64),
            "together": "tgp" + "_v1_" + some(URLSAFE, 43),
            "elevenlabs": "sk" + "_" + some(HEX, 48),
            "hubspot": "pat" + "-eu1-" + str(uuid.UUID(int=self.random.getrandbits(128))),
            "pulumi": "pu" + "l-" + some(HEX, 40),
            "brevo": "xkey" + "sib-" + some(HEX, 64) + "-" + some(ALNUM, 16),
            "sonar": "sq" + "p_" + some(HEX, 40),
            "plaid": "access-" + "sandbox-" + str(uuid.UUID(int=self.random.getrandbits(128))),
            "teams": "acme.webhook"
            + ".office.com/webhookb2/"
            + some(HEX, 36)
            + "@"
            + some(HEX, 36)
            + "/IncomingWebhook/"
            + some(HEX, 32)
            + "/"
            + some(HEX, 36),
            "private-key": base64.b64encode("\n".join(self.pem("RSA ", 3)).encode()).decode().rstrip("="),
            "jwt": self.jwt(),
        }

    def drawn(self, mark: str) -> str:
        """The value of a mark of the pasted lines: an alphabet and a length, or what a person or a program makes."""
        checked = checksums.number(self.random, mark)
        if checked is not None:
            return checked
        alphabet = mark.rstrip(string.digits)
        size = int(mark[len(alphabet) :] or 0)
        if alphabet == "b":
            return self.b64(int(mark[3:]))
        if alphabet == "num":
            return "".join(self.random.choices("123456789", k=size))
        if alphabet in _ALPHABETS:
            return self.some(_ALPHABETS[alphabet], size)
        word = self.random.choice("sunfish granite juniper cobalt lantern".split())
        some = self.random.randint
        if mark == "hum":
            name = word.capitalize()
            return self.random.choice(
                (
                    f"{name}{some(10, 2030)}!",
                    f"{word}{some(100, 9999)}",
                    f"{name}@{some(10, 999)}",
                    f"{name}Otter{some(1, 99)}",
                )
            )
        if mark == "dice":
            return f"{word}-harbor-meadow-nimbus-{some(10, 99)}"
        if mark == "pct":
            return f"{self.some(ALNUM, 7)}%21{self.some(ALNUM, 5)}"
        if mark == "uuid":
            return str(uuid.UUID(int=self.random.getrandbits(128), version=4))
        if mark == "basic":
            return base64.b64encode(f"mira:{self.some(ALNUM, 12)}".encode()).decode()
        return self.jwt() if mark == "jwt" else f"{self.some(ALNUM, 8)}#{self.some(ALNUM, 7)}"


_ALPHABETS = {
    "hex": HEX,
    "HEX": HEX.upper(),
    "a": ALNUM,
    "A": string.ascii_uppercase + string.digits,
    "low": LOWER,
    "u": URLSAFE,
    "aws": string.ascii_uppercase + "234567",
}


def pasted(lines: list[str], seed: int) -> list[Case]:
    """Lines with marks, filled in: a case for each ``⟦mark⟧`` or ``⟦=text⟧``, which is a secret, or one for a line that has none."""
    make = Maker(seed)
    cases: list[Case] = []
    for line in lines:
        secrets: list[str] = []
        text = re.sub("⟪(\\w+)⟫", lambda mark: make.drawn(mark[1]), line)

        def secret(mark: re.Match[str], into: list[str] = secrets) -> str:
            into.append(mark[1][1:] if mark[1].startswith("=") else make.drawn(mark[1]))
            return into[-1]

        text = re.sub("⟦(\\w+|=[^⟧]+)⟧", secret, text)
        cases += [Case(text, value, f"pasted {line}") for value in secrets or [""]]
    return cases


# Where programs, calls and people give one without a name of its own before it.
_GIVEN = _TEXTS["given"]
# Keys without a kind before them, and those of links.
_KEYED = _TEXTS["keyed"]
_AROUND = _TEXTS["around"]
_PASSWORDS = _TEXTS["passwords"]
# Written without space, or quoted: the value itself follows.
_TIGHT = _TEXTS["tight"]
# Behind an explicit name, with or without space and quotes.
_CHOSEN = _TEXTS["chosen"]
# Where no name ends right before the value, or one that says little.
_PLACED = _TEXTS["placed"]
_CALLBACKS = (
    "https://example.org/cb?state=up\\u0026code={}",
    "https://example.org/go?to=https%3A%2F%2Fapp.example.org%2F%3Fa%3D1%26code={}",
    "https://app.example.org/callback?code={}&scope=email",
    "[the page](http://localhost:8085/?state=up&code={})",
    "GET /oauth2/cb?state=up&amp;code={} HTTP/1.1",
)
_SECRETS = _TEXTS["secrets"]
_HEADERS = _TEXTS["headers"]
_COOKIES = _TEXTS["cookies"]
_SCHEMES = _TEXTS["schemes"]


def positives(seed: int = 5) -> list[Case]:
    """Texts that hold one secret each."""
    make = Maker(seed)
    cases: list[Case] = []
    for around in _AROUND:
        for kind, token in make.provider_tokens().items():
            cases.append(Case(around.format(token), token, kind))
    for place in _PASSWORDS:
        for _ in range(8):
            value = make.password()
            cases.append(Case(place.format(value), value, f"password in {place}"))
    for place in _SECRETS:
        for value in (
            make.some(ALNUM, 24),
            make.some(HEX, 40),
            make.b64(30),
            make.url64(32),
            make.some(LOWER, 20),
            make.some(ALNUM, 16),
        ):
            cases.append(Case(place.format(value), value, f"secret in {place}"))
    for place in _HEADERS:
        for value in (make.some(ALNUM, 32), make.b64(30), make.some(HEX, 40), make.url64(40)):
            cases.append(Case(place.format(value), value, f"header {place}"))
    for place in _COOKIES:
        for value in (make.some(ALNUM, 32), make.some(HEX, 40), make.url64(32)):
            cases.append(Case(place.format(value), value, f"cookie in {place}"))
    for scheme in _SCHEMES:
        for value in (
            make.some(ALNUM, 14),
            make.some(LOWER, 9),
            f"{make.some(ALNUM, 6)}%40{make.some(ALNUM, 4)}",
            "winter" + make.some(LOWER, 4),
        ):
            cases.append(Case(f"{scheme}://app:{value}@db.internal:5432/main", value, f"url {scheme}"))
    for kind in ("", "RSA ", "EC ", "OPENSSH ", "ENCRYPTED "):
        lines = make.pem(kind)
        inner = lines[5]
        for text in (
            "\n".join(lines),
            "key = '" + "\\n".join(lines) + "'",
            json.dumps({"private_key": "\n".join(lines)}),
            "\n".join(lines[:8]),
            "\\n".join(lines[:8]) + " … (cut)",
            "\n".join(f"    {number}→{line}" for number, line in enumerate(lines, 1)),
            "\n".join(f"+  {line}" for line in lines),
            "\r\n".join(lines),
            "\n".join(lines[3:]),
        ):
            cases.append(Case(text, inner, f"pem {kind}{text[:12]!r}"))
    for place in _TIGHT:
        for _ in range(8):
            value = make.worded()
            cases.append(Case(place.format(value), value, f"worded password {value} in {place}"))
    for place in _CHOSEN:
        for _ in range(8):
            value = make.chosen()
            cases.append(Case(place.format(value), value, f"chosen password {value} in {place}"))
    for place in _PLACED:
        for _ in range(6):
            value = make.some(ALNUM, 11) + make.random.choice("xQ!")
            cases.append(Case(place.format(value), value, f"placed password {value} in {place}"))
    for place in _GIVEN:
        for _ in range(3):
            value = make.some(ALNUM, 11) + "xQ9" + make.random.choice("!aZ")
            cases.append(Case(place.format(value), value, f"given password {value} in {place}"))
    for place in _KEYED:
        for _ in range(3):
            value = "aQ7" + make.some(ALNUM, 16) + "3Zt" + make.some(ALNUM, 14)
            cases.append(Case(place.format(value), value, f"keyed secret in {place}"))
    for value in ("S3cret" + make.some(ALNUM, 5) + "x", "Walrus" + make.some(string.digits + "a", 4) + "!"):
        cases.append(Case(f"The password is {value}.", value, f"spoken password {value}"))
    for place in _CALLBACKS:
        for value in ("4/0A" + make.some(URLSAFE, 16), "4%2F0A" + make.some(URLSAFE, 60), make.some(ALNUM, 24)):
            cases.append(Case(place.format(value), value, f"code {value} in {place}"))
    return cases


def negatives(seed: int = 6) -> list[Case]:
    """Texts in which nothing may be touched."""
    make = Maker(seed)
    texts: list[str] = []
    for _ in range(12):
        sha = make.some(HEX, 40)
        texts += [
            f"commit {sha}",
            f"git checkout {sha[:12]}",
            f"session_id: {uuid.UUID(int=make.random.getrandbits(128))}",
            f'{{"uuid": "{uuid.UUID(int=make.random.getrandbits(128))}", "sessionId": "{uuid.UUID(int=make.random.getrandbits(128))}"}}',
            f"data:image/png;base64,{make.b64(400)}",
            f'"integrity": "sha512-{make.b64(64)}",',
            f'checksum = "{make.some(HEX, 64)}"',
            f"    --hash=sha256:{make.some(HEX, 64)} \\",
            f"sha256:{make.some(HEX, 64)}",
            f'etag: W/"{make.some(HEX, 32)}"',
            f"toolu_01{make.some(ALNUM, 22)}",
            f"msg_01{make.some(ALNUM, 22)}",
            f"req_01{make.some(ALNUM, 22)}",
            f"https://github.com/org/repo/blob/{sha}/src/main.py#L10",
            f'"input_tokens":{make.random.randint(1, 99999)},"output_tokens":{make.random.randint(1, 99999)}',
            f"max_tokens={make.random.randint(1000, 99999)}",
            f"build-{make.some(LOWER, 12)} finished",
            f'"cache_key": "{make.some(HEX, 32)}"',
            f"docker.io/library/redis@sha256:{make.some(HEX, 64)}",
            f"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAA{make.b64(33)} mira@laptop",
            f"-----BEGIN CERTIFICATE-----\n{make.b64(48)}\n-----END CERTIFICATE-----",
            f"-----BEGIN PUBLIC KEY-----\n{make.b64(48)}\n-----END PUBLIC KEY-----",
            f"Received token count: {make.random.randint(1, 99999)}",
            f'"signature":"{make.b64(90)}"',
        ]
    texts += _BENIGN
    texts += _NEAR
    texts += [form.format(name) for form in _NAMING for name in _NAMES]
    return [Case(text, "", text[:60]) for text in texts]


# Texts that the automaton may let through, and the rules must not touch.
_NEAR = _TEXTS["near"]
# Variables and fields that hold a password, and the forms in which code hands them on.
_NAMES = (
    "token2 secret_key_1 passwordField1 new_password2 password_v2 PASSWORD_2 confirmPassword2 password_sha256 secret1"
).split()
_NAMING = _TEXTS["naming"]
_BENIGN = _TEXTS["benign"]
