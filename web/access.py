"""Who may see the page: the address that is spoken to, the token of a link, the cookie, the fresh value of a form.

Loopback is no boundary: other users of the machine reach a port on it, and so does any web page in the browser. So
every request needs a cookie that only the opened link gives; its Host and Origin must be the page's own; and a form is
accepted once, with a value that the page itself wrote into it.
"""

from __future__ import annotations

import hmac
import json
import secrets
import socket
import time
from http import HTTPStatus
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, quote, urlencode

from core.errors import Refused
from qmd.mcp.guard import Guard, is_address, is_loopback, shown

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

TOKEN = "token"  # noqa: S105  # the name of a parameter
# A token in a command line is seen by other users (`ps`), so the browser's works once, and not for long.
_ONCE_S = 120.0
_FORM_S = 3600.0
_MOST_FORMS = 500
PUBLIC = "/static/"
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": _POLICY,
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
    # Nothing goes to other hosts. With "no-referrer", forms would come from the origin "null".
    "referrer-policy": "same-origin",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}
_CLOSED = "Only the link that `brain web` printed opens this page."


class Access:
    """The rules of one server that listens on ``host`` and ``port``.

    ``token`` opens the page; without one, it is drawn. ``on_use`` is called for each request that is let in.
    """

    def __init__(self, host: str, port: int, token: str = "", on_use: Callable[[], object] = lambda: None) -> None:
        self._host, self._port = host, port
        self._token = token or secrets.token_urlsafe(24)
        self._session = secrets.token_urlsafe(32)
        self._guard = Guard(host, {})
        self._names = _own_names()
        self._once: dict[str, float] = {}
        self._forms: dict[str, float] = {}
        self._on_use = on_use
        self._cookie = f"brain_{port}"

    @property
    def address(self) -> str:
        """The page's address, without a token."""
        name = "127.0.0.1" if self._host in ("", "0.0.0.0", "*") else self._host  # noqa: S104  # compared only
        return f"http://{shown(name)}:{self._port}/"

    def link(self, path: str = "") -> str:
        """Return the link that opens the page as often as wanted, while the server runs."""
        return f"{self.address}{path}?{urlencode({TOKEN: self._token})}"

    def link_once(self) -> str:
        """Return a link that opens the page once, within two minutes."""
        token = secrets.token_urlsafe(24)
        self._once[token] = time.monotonic() + _ONCE_S
        return f"{self.address}?{urlencode({TOKEN: token})}"

    def issue(self) -> str:
        """Return a value for a form that is about to be shown; the oldest of too many are forgotten."""
        for value in list(self._forms)[: max(0, len(self._forms) - _MOST_FORMS)]:
            self._forms.pop(value, None)
        value = secrets.token_urlsafe(24)
        self._forms[value] = time.monotonic() + _FORM_S
        return value

    def redeem(self, value: str) -> None:
        """Accept the value of a form, once. Raises Refused if it is not one, too old, or used already."""
        if self._forms.pop(value, 0.0) < time.monotonic():
            raise Refused("the form is not fresh: nothing was changed", "load the page again, and send it from there")

    def refusal(self, scope: Scope) -> str:
        """Return why a request is refused whoever sends it, or "": its Host, its Origin, where it comes from."""
        headers = _headers(scope)
        hosts = headers.get("host", [])
        if len(hosts) != 1 or not hosts[0].strip():
            return "one Host is needed"
        refused = self._guard.refusal((), hosts)
        if refused:
            return refused
        if not self._guard.checks_hosts and not self._is_own(hosts[0].strip().lower()):
            return f"Host not allowed: {hosts[0]}"
        own = f"http://{hosts[0].strip().lower()}"
        for origin in headers.get("origin", []):
            if origin.strip().lower() != own:
                return "Origin not allowed"
        site = headers.get("sec-fetch-site", ["none"])[0]
        opened = scope["method"] in ("GET", "HEAD") and headers.get("sec-fetch-mode", [""])[0] == "navigate"
        if site not in ("same-origin", "none") and not opened:
            return "requests from other pages are not allowed"
        return ""

    def _is_own(self, host: str) -> bool:
        """Return True if a Host is an address, or a name of this machine: for a server on every interface."""
        name = host.rpartition(":")[0] or host
        return is_address(host) or is_loopback(name) or name in self._names

    def knows(self, scope: Scope) -> bool:
        """Return True if a request has the cookie.

        Every port of a host gets the cookies of all of them. So those of other programs come along in any form, or
        under the same name for another path; a parser that stops at one of them would lock the user out.
        """
        wanted = f"{self._cookie}={self._session}".encode()
        pairs = (pair for line in _headers(scope).get("cookie", []) for pair in line.split(";"))
        return any(hmac.compare_digest(pair.strip().encode(), wanted) for pair in pairs)

    def opens(self, token: str) -> bool:
        """Return True if a token opens the page; one that works once has worked then."""
        given = token.encode()
        for once in [each for each in self._once if hmac.compare_digest(each.encode(), given)]:
            return self._once.pop(once, 0.0) >= time.monotonic()
        return hmac.compare_digest(self._token.encode(), given)

    def guarding(self, app: ASGIApp) -> ASGIApp:
        """Return ``app`` behind these rules, with the headers of every answer."""

        async def guarded(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] != "http":
                return  # no web sockets, and nothing to start
            await self._admit(app, scope, receive, _with_headers(send, scope["path"].startswith(PUBLIC)))

        return guarded

    async def _admit(self, app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
        refused = self.refusal(scope)
        if refused:
            await _answer(send, HTTPStatus.FORBIDDEN, f"Forbidden: {refused}")
            return
        is_read = scope["method"] in ("GET", "HEAD")
        if scope["path"].startswith(PUBLIC) and is_read:
            await app(scope, receive, send)
            return
        parameters = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        token = next((value for name, value in parameters if name == TOKEN), None)
        if token is not None and is_read:
            if self.opens(token):
                await self._welcome(scope, send, [pair for pair in parameters if pair[0] != TOKEN])
            else:
                await _closed(scope, send)
            return
        if not self.knows(scope):
            await _closed(scope, send)
            return
        self._on_use()
        await app(scope, receive, send)

    async def _welcome(self, scope: Scope, send: Send, parameters: list[tuple[str, str]]) -> None:
        """Give the cookie, and go on to the same page without the token.

        A redirection would not do: a browser that comes from elsewhere does not send a strict cookie along with it.
        """
        place = "/" + quote(scope["path"].lstrip("/"), safe="/:@-._~")
        place += f"?{urlencode(parameters)}" if parameters else ""
        shown_place = place.replace("&", "&amp;").replace('"', "%22")
        page = (
            '<!doctype html><html lang="en"><meta charset="utf-8"><title>Open · Brain</title>'
            '<link rel="icon" href="/static/icon.svg">'
            f'<meta http-equiv="refresh" content="0;url={shown_place}"><a href="{shown_place}">Go on</a></html>'
        )
        cookie = f"{self._cookie}={self._session}; HttpOnly; SameSite=Strict; Path=/"
        await _answer(send, HTTPStatus.OK, page, "text/html; charset=utf-8", {"set-cookie": cookie})


def _own_names() -> frozenset[str]:
    name = socket.gethostname().lower()
    return frozenset((name, name.partition(".")[0], f"{name.partition('.')[0]}.local"))


def check_host(host: str, token: str) -> str:
    """Return why a server must not listen on ``host``, "" if it may.

    Other machines need a token of 16 characters. A shorter one is refused on loopback, too: other users could guess it.
    """
    if len(token) >= 16 or (is_loopback(host) and not token):
        return ""
    if token:
        return f"the token has {len(token)} characters, at least 16 are needed"
    return f"other machines could reach {host}, so a token is needed"


def _headers(scope: Scope) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name, value in scope["headers"]:
        found.setdefault(name.decode("latin-1").lower(), []).append(value.decode("latin-1"))
    return found


def _with_headers(send: Send, public: bool) -> Send:
    own = {**HEADERS, "cache-control": "no-cache" if public else "no-store"}
    pairs = [(name.encode(), value.encode()) for name, value in own.items()]

    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            message["headers"] = [*message.get("headers", []), *pairs]
        await send(message)

    return sending


async def _closed(scope: Scope, send: Send) -> None:
    if scope["path"].endswith(".json"):
        envelope = json.dumps(Refused(_CLOSED, "brain web").envelope())
        await _answer(send, HTTPStatus.UNAUTHORIZED, envelope, "application/json")
    else:
        await _answer(send, HTTPStatus.UNAUTHORIZED, _CLOSED)


async def _answer(
    send: Send, status: int, text: str, kind: str = "text/plain; charset=utf-8", more: dict[str, str] | None = None
) -> None:
    body = text.encode()
    headers = {"content-type": kind, "content-length": str(len(body)), **(more or {})}
    pairs = [(name.encode(), value.encode("latin-1", "replace")) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": int(status), "headers": pairs})
    await send({"type": "http.response.body", "body": body})
