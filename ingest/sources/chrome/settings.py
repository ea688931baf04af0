"""``sources.chrome`` of collections.yml: the part of the policy that every run needs, also one with nothing new."""

from __future__ import annotations

from core.home import shipped
from core.version import REDACTION

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from core.home import Home

NAME = "chrome"

# Bump when the same configuration judges or cleans otherwise than before: the archive is then judged again.
VERSION = 1

# Databases are read again, and the archive is judged again, when one of these has changed.
_JUDGING = ("mode", "allow", "deny", "nsfw", "nsfw_words", "noise_words", "follow_clears")


def load(home: Home | None) -> dict[str, Any]:
    """What is configured; the lists of domains that it does not name are those shipped. Raises BadInput."""
    section: dict[str, Any] = {}
    if home is not None:
        from core.config import load as load_config

        section = dict(load_config(home).section("sources").get(NAME) or {})
    if section.get("allow") is None or section.get("deny") is None:
        from core.config_yaml import parse

        ours = parse(shipped("collections.yml"))["sources"].get(NAME) or {}
        for key in ("allow", "deny"):
            if section.get(key) is None:
                section[key] = ours.get(key) or []
    return section


def fingerprint(section: dict[str, Any]) -> str:
    """Which policy a configuration is: equal ones keep and clean the same."""
    import hashlib

    judging = [(key, section.get(key)) for key in _JUDGING]
    return hashlib.sha256(repr((VERSION, REDACTION, judging)).encode("utf-8", "replace")).hexdigest()[:16]
