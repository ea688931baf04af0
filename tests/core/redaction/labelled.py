"""The labelled set: invented secrets in the places where people leave them, and what only looks like one.

Every secret is put together at test time from a seeded generator, so that no string of this repository is one, and
so that the set is the same on every machine.
"""

from __future__ import annotations

import base64
import json
import random
import re
import string
import uuid
from typing import NamedTuple

from tests.core.redaction import checksums

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
        """A password that people make of a word that names one, or stands for one elsewhere, and of digits."""
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
_GIVEN = (
    "sqlcmd -S db1 -U sa -P '{}'",
    "zip -P {} all.zip notes",
    "unzip -o -P '{}' all.zip",
    "7z a -p{} all.7z notes",
    "mongosh -u root -p {} --authenticationDatabase admin",
    "oc login -u mira -p {}",
    "openssl enc -aes-256-cbc -k {} -in a",
    "nmcli dev wifi connect Home password {}",
    "wpa_passphrase Home {}",
    "net use Z: \\\\files\\all {} /user:mira",
    "smbclient //files/all -U mira%{}",
    "echo 'root:{}' | sudo chpasswd",
    "echo {} | gh auth login --with-token",
    "gh auth login --with-token <<< {}",
    'ConvertTo-SecureString "{}" -AsPlainText -Force',
    "storePassword '{}'",
    "user.set_password('{}')",
    "User.objects.create_superuser('admin', 'a@example.org', '{}')",
    "await page.getByLabel('Password').fill('{}');",
    "cy.get('#password').type('{}')",
    "page.fill('input[type=password]', '{}')",
    'creds = ("mira", "{}")',
    'smtp.PlainAuth("", "mira", "{}", "mail.example.org")',
    "signInWithEmailAndPassword(auth, 'a@example.org', '{}')",
    "imap.login('mira', '{}')",
    "sudo -S <<< '{}' ls",
    "ALTER USER 'root' IDENTIFIED WITH mysql_native_password BY '{}'",
    'psk="{}"',
    "mot de passe : {}",
    "contraseña: {}",
    "wachtwoord: {}",
    "user: mira\npass: {}",
)
# Keys without a kind before them, and those of links.
_KEYED = (
    "STRIPE_KEY={}",
    "GH_PAT={}",
    "https://example.org/feed?auth={}",
    'const mapsKey = "{}";',
    '{{"searchKey": "{}"}}',
    "https://api.example.org/v1?key={}&page=2",
    "https://store.example.org/f.txt?sv=2022&sig={}",
    "webhook secret is {}",
    "The API key is: `{}`",
    "_auth = {}",
    "aws configure set aws_secret_access_key {}",
    "npm config set //registry.example.org/:_authToken {}",
)
_AROUND = (
    "Use {} for the staging account.",
    "export TOKEN={}",
    'headers = {{"X-Key": "{}"}}',
    "curl -H 'X-Auth: {}' https://api.example.com/v1/items",
    "line one\n{}\nline three",
    "    12→{}",
    "(see `{}`)",
    "url?key={}&page=2",
    '{{\\"key\\": \\"{}\\"}}',
    "first\\n{}\\nlast",
)
_PASSWORDS = (
    "DB_PASSWORD={}",
    "export PGPASSWORD='{}'",
    'password = "{}"',
    "password: {}",
    'password: "{}"',
    '{{"user": "app", "password": "{}"}}',
    '{{\\"password\\":\\"{}\\"}}',
    "const dbPassword = '{}';",
    'let password: &str = "{}";',
    "$password = '{}';",
    'os.environ["SMTP_PASSWORD"] = "{}"',
    "conn = connect(host='db', user='app', password='{}')",
    "mysqldump --password={} app > dump.sql",
    "tool login --user mira --password {}",
    "spring.datasource.password={}",
    "<password>{}</password>",
    "Server=db;User Id=app;Password={};Encrypt=yes",
    "machine git.example.org login mira password {}",
    "passphrase: '{}'",
    "sshpass -p {} ssh mira@host",
    "CREATE USER app IDENTIFIED BY '{}'",
    "curl -u mira:{} https://files.example.org/",
    "set -gx GITHUB_PASSWORD {}",
    'redis_pwd := "{}"',
    "password => '{}',",
)
# Written without space, or quoted: what stands there is the value itself.
_TIGHT = (
    "password={}",
    "db.password={}",
    "export PGPASSWORD={}",
    "DB_PASSWORD={}\\nDB_HOST=localhost",
    "Server=db;User Id=app;Password={};Encrypt=yes",
    "redis:6379,password={},ssl=True",
    "mysqldump --password={} app > dump.sql",
    'password = "{}"',
    'password: "{}"',
    '{{"user": "app", "password": "{}"}}',
    "connect(user='app', password='{}')",
    "postgres://app:{}@db.internal:5432/main",
)
# Behind an explicit name, with or without space and quotes.
_CHOSEN = (
    "password = {}",
    "password = {};",
    "password: {}",
    'password: "{}"',
    '{{"password": "{}"}}',
    "DB_PASSWORD={}",
    "ansible_password: {}",
    "The Wi-Fi\\nPassword: {}\\n",
)
# Where no name ends right before the value, or one that says little.
_PLACED = (
    "ENV DB_PASSWORD {}",
    "DB_PASSWORD ?= {}",
    'db_pw: "{}"',
    "rootpw={}",
    '<add key="Password" value="{}" />',
    "docker login -u mira -p {} registry.example.org",
    "redis-cli -h cache -a {} ping",
    "keytool -genkey -storepass {} -alias app",
    "ldapsearch -x -D cn=admin -w {} -b dc=example",
    "htpasswd -cb /etc/nginx/users mira {}",
    "echo '{}' | sudo -S systemctl restart app",
    "echo {} | docker login -u mira --password-stdin",
    "ALTER ROLE app WITH LOGIN PASSWORD '{}';",
    "requests.get(url, auth=('mira', '{}'))",
    "curl -umira:{} https://files.example.org/",
    "mysql -u root -p'{}' app",
    '{{"user": "mira", "pass": "{}"}}',
    "user=mira pass={}",
    'pw = "{}"',
    "https://example.org/login?user=mira\\u0026password={}",
)
_CALLBACKS = (
    "https://example.org/cb?state=up\\u0026code={}",
    "https://example.org/go?to=https%3A%2F%2Fapp.example.org%2F%3Fa%3D1%26code={}",
    "https://app.example.org/callback?code={}&scope=email",
    "[the page](http://localhost:8085/?state=up&code={})",
    "GET /oauth2/cb?state=up&amp;code={} HTTP/1.1",
)
_SECRETS = (
    "API_KEY={}",
    'api_key: "{}"',
    'apiKey = "{}"',
    '{{"client_secret": "{}"}}',
    "AWS_SECRET_ACCESS_KEY={}",
    "aws_secret_access_key = {}",
    "const authToken = '{}'",
    "--api-key {}",
    "set -x API_TOKEN {}",
    "set -Ux --global API_TOKEN '{}'",
    'setx API_KEY "{}"',
    "setenv API_KEY {}",
    "AWS\\_SECRET\\_ACCESS\\_KEY={}",
    "--token={}",
    "x-api-key: {}",
    "SECRET_KEY_BASE={}",
    "https://api.example.com/v1?access_token={}&page=1",
    "signing_key: {}",
    'ENCRYPTION_KEY="{}"',
    "AccountKey={};EndpointSuffix=core.windows.net",
    'process.env.SERVICE_TOKEN = "{}"',
    "webhook_secret => '{}'",
    '{{\\"private_key\\": \\"{}\\"}}',
)
_HEADERS = (
    "Authorization: Bearer {}",
    "-H 'Authorization: Bearer {}'",
    '{{"Authorization": "Bearer {}"}}',
    'headers["authorization"] = "Token {}"',
    "Proxy-Authorization: Basic {}",
    "authorization: Basic {}",
)
_COOKIES = (
    "Cookie: session={}",
    "Cookie: theme=dark; connect.sid=s%3A{}; lang=en",
    "Set-Cookie: sid={}; Path=/; HttpOnly",
    "curl -b 'sessionid={}' https://app.example.org/me",
    "curl -s \\\n  --cookie 'sessionid={}' https://app.example.org/me",
    "curl https://app.example.org/me \\\n  -b 'sessionid={}'",
    '{{"Cookie": "sessionid={}; theme=dark"}}',
)
_SCHEMES = ("postgres", "postgresql+asyncpg", "mysql", "mongodb+srv", "redis", "amqp", "https", "ftp", "smtp")


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


# What the automaton may take for a secret, and the rules must not.
_NEAR = [
    "NTE_INCORRECT_PASSWORD: Final = -2146893773",
    "ERROR_WRONG_PASSWORD = 0x0000052B",
    "_PASSAGES = 13_000",
    "FIELDS = [\n    'password',\n    'fullname',\n    'curl_ftp_weird_227_format',\n]",
    '__all__ = ["GrantToken", "OAuth2Request"]',
    'MovedAttribute("HTTPPasswordMgr", "urllib2", "urllib.request")',
    "readFile('/etc/passwd', 'utf8', callback1)",
    "The --username and --password options can't be used for 1 of them",
    ":type passphrase: :py:data:`bytes1`",
    "private_key: PKCS7PrivateKeyTypes,",
    'processorArchitecture="*" publicKeyToken="1fc8b3b9a1e18e3b"',
    "new URL('https://a:b@host1/')",
    "/etc/passwd:root:x:0:0:root:/root:/bin/bash",
    "arn:aws:secretsmanager:eu-west-1:123456789012:secret:prod/db-AbC123",
    "design token: color.blue.500",
    "mongodb://<user>:<password>@host1",
    "unzip -p all.zip notes1.txt",
    "mongosh --port 27017",
    "zip -r all.zip notes1",
    "az login --use-device-code",
    "openssl enc -d -aes-256-cbc -in a1",
    "<private key 1>",
    "<private-key> <private_ip1>",
    "cache_key = 'aQ7bC9dE1fG2hI3jK4lM5nO6pQ'",
    "publicKey: 'MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8A'",
    "primaryKey: AbCdEfGhIjKlMnOpQrStUvWx",
    "onKey = (event1) => handleKeyPress1(event1)",
    "registerKey(KeyCode1)",
    "https://example.com/list?key=name&sort=asc1",
    "https://example.com/list?key=created_at_descending1",
    "t('password').type('text')",
    "expect(password).type(1)",
    "set_password(new_password1)",
    "user.check_password(raw1)",
    "the token is invalid2",
    "the token is 3600 seconds old",
    "the secret is in vault/prod/app1",
    "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCk1JSUREekNDQWZlZ0F3SUJBZ0lVQTNiQ2RFZkdoSWo=",
    "login('admin', 'dashboard')",
    "t('auth.password.label', 'login.title2')",
    "cat <<< 'hello1 world'",
    "PATH=/usr/local/bin1",
    "class MLKEM768X25519PrivateKey:",
    '__all__ = ["DHKey", "MLKEM768X25519PublicKey", "AI_V4MAPPED"]',
    "private_key: Ed25519PrivateKey | Ed448PrivateKey",
]
# Variables and fields that hold a password, and the forms in which code hands them on.
_NAMES = (
    "token2 secret_key_1 passwordField1 new_password2 password_v2 PASSWORD_2 confirmPassword2 password_sha256 secret1"
).split()
_NAMING = (
    "password={}",
    "    password={},",
    "login(user=user1, password={})",
    "password = {}",
    "password: {},",
    "if password == {}:",
    'password: "{}"',
)
_BENIGN = [
    "pass = true",
    "pass = 100",
    "pass: 12",
    "pass: 3 fail: 0",
    "pass=12 fail=3",
    "--- PASS: TestCheckpointID_Path/#00 (0.00s)",
    "PASS: TestGetOrCreate42 (0.10s)",
    "first pass: analyze2",
    "pw: playwright1",
    "pw=page.width1",
    "const pw = await chromium2",
    "password = utf8Bytes",
    "password = sha256Hash",
    "password = s3Client",
    "password = oauth2Token",
    "password = step2",
    "password = useState2",
    "password = resolvePassword",
    "password = generatePassword1(x)",
    "password = row[2]",
    "password: Mapped[str] = mapped_column(String(255))",
    "password = models.CharField(max_length=128)",
    "password: z.string().min(8)",
    "password: { type: String, required: true }",
    "password = input('Password: ')",
    "password is 8 characters",
    "password is stored in vault1",
    "the password is hashed with sha256",
    "set the password to the one of step2",
    "Password reset email sent",
    "ENV PASSWORD_FILE /run/secrets/x1",
    "ENV NODE_VERSION 18",
    '<add key="PasswordFormat" value="Hashed1" />',
    "docker run -p 8080:80 nginx",
    "docker login -u mira",
    "mysql -P 3306",
    "ssh -p 2222 host",
    "redis-cli -a",
    "tar -a file1",
    "curl -u https://x",
    "git push -u origin main1",
    "python -u script1.py",
    "echo hello1 | sudo tee /etc/motd",
    "https://example.com/?a=1\\u0026code=404",
    "https://example.com/?a=1%26code=not_found_404",
    "a \\u0026\\u0026 b",
    "Authorization: AWS4-HMAC-SHA256",
    "user/pass combination1",
    "passwords = ['a', 'b']",
    "def f(password='', pw=None, **kw2):",
    "password=getPassword()",
    "password=getPassword2(user1)",
    "password = self.password",
    "password=self.password1",
    "password=user1.password",
    "password: str",
    "password: str = Field(min_length=12)",
    "password: constr(min_length=8, max_length=64)",
    'password=os.environ["X"]',
    'password=os.environ["DB_PASSWORD_1"]',
    'password=os.getenv("PASSWORD1")',
    'password=config["password1"]',
    "password=secrets.token_hex(16)",
    "password=process.env.PASSWORD1",
    "password=PASSWORD_FIELD",
    "password=$PASSWORD",
    "password=$PASSWORD1",
    'password="$DB_PASSWORD_2"',
    "password=${DB_PASSWORD_1}",
    "password={{ db_password_1 }}",
    "password=%DB_PASSWORD1%",
    "--password=<password>",
    "--password=<password1>",
    "password=****",
    "password=your_password_1",
    "password=your-password-here",
    "password=my-password-here",
    "password=example_password_12",
    "password=example1",
    "password=xxxx1234",
    "login(user=user1, password=myPassword1)",
    "login(user, password=adminSecret2, retry=3)",
    "password = userSecret2",
    "expect(password).toBe(password2)",
    'password: "Enter 8+ characters, 1 digit!"',
    "setPassword(newPassword1 => hash(newPassword1))",
    'f"password={password1}"',
    "postgres://user:example1@localhost/db",
    "postgres://user:${PASSWORD1}@localhost/db",
    "https://example.com/cb?code=404",
    "https://example.com/cb?code=YOUR_AUTHORIZATION_CODE1",
    "https://example.com/cb?code=authorization_code&state=2",
    "https://example.com/cart?code=SUMMER2026SALE&item=ABC123",
    "https://example.com/errors?code=not_found_error_404",
    "password=<your password>",
    "password=your_password_here",
    "PASSWORD=changeme",
    "password: ${DB_PASSWORD}",
    "token: ${{ secrets.GITHUB_TOKEN }}",
    "TOKEN=$TOKEN",
    'TOKEN="$(cat token.txt)"',
    "API_KEY=${API_KEY:-}",
    "api_key: {{ api_key }}",
    "export API_KEY=xxxxxxxxxxxxxxxx",
    'api_key="sk-..."',
    "OPENAI_API_KEY=sk-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
    "password = get_password()",
    "password = getpass.getpass('Password: ')",
    "self.password = password",
    "password=password",
    "connect(user=user, password=settings.password)",
    "token = request.headers.get('Authorization')",
    "token = os.environ['API_TOKEN']",
    "token = process.env.API_TOKEN",
    'secret := os.Getenv("SECRET_KEY")',
    "def login(username: str, password: str) -> Token:",
    "password: string;",
    "password?: string | null",
    "token: Token | None = None",
    "api_key: Optional[str] = None",
    "password = None",
    "password = ''",
    'password: ""',
    "password VARCHAR(255) NOT NULL",
    "if password == '':",
    "passwords must have at least 12 characters",
    "Password: at least 8 characters, one digit",
    "The password is stored in the keychain.",
    "the token expires after 3600 seconds",
    "secret: my-app-secret",
    "secretName: app-tls",
    "secretKeyRef:\n  name: database-credentials\n  key: password",
    'type="password" placeholder="Password"',
    '<input type="password" name="password" id="password">',
    '{"type": "password", "label": "Password"}',
    "password_file: /run/secrets/db_password",
    "token_url: https://auth.example.com/oauth/token",
    "token_type: bearer",
    "next_page_token: CAUQAA2",
    "tokenizer = AutoTokenizer.from_pretrained('bert-base-uncased')",
    "tokens = tokenizer.encode(text)",
    "token_count = len(tokens)",
    "total_tokens: 15302",
    "postgres://user:password@localhost/db",
    "postgres://user:${PASSWORD}@localhost/db",
    "postgresql://<user>:<password>@<host>/<db>",
    "https://user:pass@example.com",
    "https://example.com:8080/path@v2",
    "http://localhost:3000/@scope/package",
    "git@github.com:org/repo.git",
    "npm install @scope/package@1.2.3",
    "mailto:mira@example.com",
    "Authorization: Bearer <token>",
    "Authorization: Bearer $TOKEN",
    "Authorization: Bearer YOUR_TOKEN",
    "Authorization: `Bearer ${token}`",
    "headers: { Authorization: `Bearer ${accessToken}` }",
    'Authorization", "Bearer " + token',
    "bearer authentication is used here",
    "basic functionality works as expected",
    "Basic authentication",
    "the sk- prefix of the key",
    "skip-this-test-and-go-on-with-the-rest-of-them",
    "task-runner-configuration-and-more-of-the-same",
    "risk-assessment-documentation-for-everybody",
    "ghp_ is the prefix of GitHub's tokens",
    "AKIA is how access keys begin",
    "a key begins with -----BEGIN PRIVATE KEY----- and ends with -----END PRIVATE KEY-----",
    'grep -r "BEGIN RSA PRIVATE KEY" .',
    "eyJ is base64 for an opening brace",
    "cd ~/projects/token-service && npm test -- token.spec.ts",
    "src/auth/token-refresh.test.ts:42",
    "refactor(auth): rotate secret, token and password handling",
    "Bash: grep -rn 'api_key' src/ | head -20",
    "PWD=/home/mira/project",
    "OLDPWD=/home/mira",
    "pwd && ls -la",
    "csrf_token(request)",
    "const token = await getToken(user.id)",
    "const { token } = useAuth();",
    "setToken(response.data.token)",
    "localStorage.getItem('token')",
    "assert token == expected_token",
    "expect(password).toBe(userPassword)",
    "passwordHash: bcrypt.hash(password, 10)",
    "bcrypt.compare(password, user.password)",
    "private_key_path = './keys/server.pem'",
    "public_key = load_public_key()",
    "primary_key=True",
    "foreign_key='users.id'",
    "api_key_header = APIKeyHeader(name='X-API-Key')",
    "access_token_expires = timedelta(minutes=30)",
    "secrets.token_urlsafe(32)",
    "SECRET_KEY = env('SECRET_KEY')",
    "jwt_secret = config.jwt.secret",
    "credentials: 'include'",
    "credentials = service_account.Credentials.from_file(path)",
    "Keychain password for account mira",
    "error: invalid password for user mira",
    "--password-stdin",
    "docker login --username mira --password-stdin",
    "passwd: password updated successfully",
    "--token <TOKEN>",
    "--api-key YOUR_API_KEY",
    "gh auth token",
    "Token: EOF",
    "[redacted:github]",
    "password=[redacted:password]",
    "Authorization: Bearer [redacted:bearer]",
    "postgres://app:[redacted:url]@db.internal/main",
    "example.com/?token=example",
    "uses: actions/checkout@8f4b7f84864484a7bf31766abe9204da3cbe65b3",
    "react@18.2.0 lodash@4.17.21",
    "version = '1.2.3-beta.4+build.567'",
]
