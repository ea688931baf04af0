"""Whose key goes where: in a header of a request to the host that it is for, and to nobody else."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

OPENAI = "https://api.openai.com/v1"


def openai_key(base: str, environ: Mapping[str, str], own: str = "") -> str:
    """The key for an endpoint of OpenAI's protocol at ``base``, "" where there is none.

    The variable ``own`` is for whatever endpoint is configured. ``OPENAI_API_KEY`` is OpenAI's, or belongs to the host
    that ``OPENAI_BASE_URL`` names: an address in a configuration file does not make it another's. Raises BadInput for a
    key that cannot stand in a header.
    """
    if own and environ.get(own):
        return header(environ[own], own)
    return service_key(base, environ, OPENAI, "OPENAI_BASE_URL", ("OPENAI_API_KEY",))


def service_key(base: str, environ: Mapping[str, str], service: str, variable: str, names: Sequence[str]) -> str:
    """A service's key for an endpoint at ``base``: the first of the variables ``names``, "" where there is none.

    It is for the service's own host, or for that which ``variable`` names: an address in a configuration file does not
    make it another's. Raises BadInput for a key that cannot stand in a header.
    """
    if not same_host(base, service) and not same_host(base, environ.get(variable) or ""):
        return ""
    return next((key for name in names if (key := header(environ.get(name) or "", name))), "")


def same_host(one: str, other: str) -> bool:
    """Whether two addresses lead to one host, at one port, by one scheme."""
    first, second = _place(one), _place(other)
    return first is not None and first == second


def header(key: str, name: str) -> str:
    """A key that can stand in a header. Raises BadInput otherwise, without the key."""
    key = key.strip()
    if not key.isascii() or not key.isprintable():
        raise BadInput(f"{name} holds signs that no key has", f"export {name} anew")
    return key


def _place(url: str) -> tuple[str, str, int] | None:
    from urllib.parse import urlsplit

    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return None
    if not parts.hostname:
        return None
    return parts.scheme, parts.hostname, port or (443 if parts.scheme == "https" else 80)
