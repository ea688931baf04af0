"""Access to the HTTP server: the Origin and Host of a request, its source address, its token.

A web page can have its own name resolve to 127.0.0.1 and then reach a server that listens on loopback only; what gives
such a request away is its Origin or its Host (https://modelcontextprotocol.io/specification, Streamable HTTP).
"""

from __future__ import annotations

import hmac
import ipaddress
import re
from typing import TYPE_CHECKING

from core import access_token

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from core.home import Home

# The value of QMD_HTTP_TOKEN that asks for none.
OFF = "off"
NEEDED = "a bearer token is needed: the server's first lines say which"
_EVERY_INTERFACE = frozenset(("", "0.0.0.0", "::", "[::]", "*"))  # noqa: S104  # compared with, not bound to
_ORIGIN = re.compile(r"([a-z][a-z0-9+.-]*)://(\[[0-9a-f:.]+\]|[^\[\]:/?#@\\\s]+)(:[0-9]+)?")
_HOST = re.compile(r"(\[[0-9a-f:.]+\]|[^\[\]:/?#@\\\s,]+)(:[0-9]*)?")


class Guard:
    """The rules of a server bound to ``host``.

    ``QMD_ALLOWED_ORIGINS`` and ``QMD_ALLOWED_HOSTS`` are lists with commas; the origin ``*`` switches every rule off
    but the token. If there is a token, everyone needs it: ``QMD_HTTP_TOKEN``, else ``token``; ``off`` means none.
    Without one, other machines are refused. A bind to every interface knows none of its names: there, hosts are checked
    only against an explicit list, and without a token a name that is not listed reads no document.
    """

    __slots__ = ("_hosts", "_origins", "_token", "checks_hosts", "disabled", "loopback")

    @property
    def asks_token(self) -> bool:
        """True if requests need a token."""
        return bool(self._token)

    def __init__(self, host: str, environ: Mapping[str, str], token: str = "") -> None:
        origins = _listed(environ.get("QMD_ALLOWED_ORIGINS"))
        self.disabled = "*" in origins
        self._origins = {origin.rstrip("/") for origin in origins}
        self._hosts = set(_listed(environ.get("QMD_ALLOWED_HOSTS")))
        chosen = environ.get("QMD_HTTP_TOKEN", "").strip() or token
        self._token = b"" if chosen.lower() == OFF else chosen.encode()
        bound = host.strip().lower()
        self.loopback = is_loopback(bound)
        if bound not in _EVERY_INTERFACE and not self.loopback:
            self._hosts.add(bound.strip("[]"))
        self.checks_hosts = bound not in _EVERY_INTERFACE or bool(self._hosts)

    def refusal(self, origins: Iterable[str], hosts: Iterable[str]) -> str:
        """Return why a request with these headers is refused, or nothing. No Origin is fine: programs send none."""
        if self.disabled:
            return ""
        for origin in map(str.strip, origins):
            if origin and not self._origin_allowed(origin.lower()):
                return f"Origin not allowed: {origin}"
        for host in map(str.strip, hosts):
            if host and self.checks_hosts and not self._host_allowed(host.lower()):
                return f"Host not allowed: {host}"
        return ""

    def stranger(self, peer: str, own: str, authorization: str, hosts: Iterable[str] = ()) -> str:
        """Return why a request from address ``peer`` to our address ``own`` may not read documents, or nothing."""
        if self._token:
            kind, _, token = authorization.partition(" ")
            known = kind.lower() == "bearer" and hmac.compare_digest(token.strip().encode(), self._token)
            return "" if known else NEEDED
        if self.disabled:
            return ""
        if not is_loopback(peer) and not (peer and peer == own):
            return "requests from other machines need a bearer token, and QMD_HTTP_TOKEN is not set"
        for host in map(str.strip, hosts):
            # The owner of a name can point it at this machine; nobody owns an address.
            if host and not self._host_allowed(host.lower()) and not is_address(host):
                return f"Host not allowed: {host} (a bearer token is needed, or QMD_ALLOWED_HOSTS)"
        return ""

    def _origin_allowed(self, origin: str) -> bool:
        if origin in self._origins:
            return True
        parts = _ORIGIN.fullmatch(origin)
        return bool(parts) and parts[1] in ("http", "https") and is_loopback(parts[2])  # type: ignore[index]

    def _host_allowed(self, host: str) -> bool:
        parts = _HOST.fullmatch(host)
        if parts is None:
            return False
        return is_loopback(parts[1]) or host in self._hosts or parts[1].strip("[]") in self._hosts


def is_loopback(name: str) -> bool:
    """Return True if a host name or address means only this machine. 0.0.0.0 does not count: browsers reach it."""
    name = name.strip().lower().strip("[]")
    if name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        address = ipaddress.ip_address(name.partition("%")[0])
    except ValueError:
        return False
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return (mapped or address).is_loopback


def is_address(host: str) -> bool:
    """Return True if a Host header names an IP address: no web page can have its own name resolve to one."""
    parts = _HOST.fullmatch(host.lower())
    try:
        return parts is not None and bool(ipaddress.ip_address(parts[1].strip("[]")))
    except ValueError:
        return False


def shown(host: str) -> str:
    """Return a host for a URL: an IPv6 address in brackets."""
    return f"[{host}]" if ":" in host and not host.startswith("[") else host


def token_line(home: Home | None, environ: Mapping[str, str]) -> str:
    """Return the line that names the token's place."""
    chosen = environ.get("QMD_HTTP_TOKEN", "").strip() or home is None
    where = "QMD_HTTP_TOKEN" if chosen or home is None else access_token.path(home)
    return f"Clients need the header `Authorization: Bearer TOKEN`; the token is in {where}"


def _listed(value: str | None) -> list[str]:
    return [item.strip().lower() for item in (value or "").split(",") if item.strip()]
