"""Approval of the commands, paths and models of a configuration that somebody else may have written.

A ``.qmd/`` travels with a checkout. Its update commands, its collections outside the project and its models are
somebody else's choice until the user approves them; any change asks again. A brain's configuration may come out of a
backup or a checkout, so its update commands need approval as well. The record, ``trusted.json`` in the configuration's
folder, is the one that qmd 2.8.3 keeps.
"""

from __future__ import annotations

import os
import time
from os.path import abspath, dirname, isabs, join, normpath, realpath

from core import clock
from core.files import write_atomic
from qmd.settings import home, opted_in
from qmd.vectors.models import DEFAULTS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from qmd.settings import Config, Settings

FILE = "trusted.json"


class Gated:
    """The parts that need approval: (collection, command), (collection, path as written), (slot, model's URI)."""

    __slots__ = ("hooks", "models", "paths")

    def __init__(
        self, hooks: list[tuple[str, str]], paths: list[tuple[str, str]], models: list[tuple[str, str]]
    ) -> None:
        self.hooks = hooks
        self.paths = paths
        self.models = models

    def __bool__(self) -> bool:
        return bool(self.hooks or self.paths or self.models)


def gated(settings: Settings, config: Config) -> Gated:
    """Return the parts of ``config`` that need approval: only update commands for a brain, nothing
    for the user's own.
    """
    hooks = [(each.name, each.update) for each in config.collections.values() if each.update]
    if not settings.local:
        return Gated(hooks if settings.brain is not None else [], [], [])
    return Gated(
        hooks,
        [
            (each.name, each.path)
            for each in config.collections.values()
            if not inside_project(settings.config_path, each.path)
        ],
        [
            (slot, config.models[slot])
            for slot, default in DEFAULTS.items()
            if slot in config.models and config.models[slot] != default
        ]
        # Which endpoint documents and questions are sent to, with the user's key; which model file is loaded.
        + [(f"embedding.{key}", str(value)) for key, value in sorted(config.embedding.items())]
        + [(f"generation.{key}", str(value)) for key, value in sorted(config.generation.items())]
        + [(f"rerank.{key}", str(value)) for key, value in sorted(config.reranking.items())],
    )


def is_gated(settings: Settings) -> bool:
    """Return True if the configuration may come from elsewhere: a project's, or a brain's."""
    return settings.local or settings.brain is not None


def digest(settings: Settings, found: Gated) -> str:
    """Return the hash that an approval is recorded under."""
    import hashlib
    import json

    canonical = {
        "hooks": sorted(map(list, found.hooks), key=lambda pair: pair[0]),
        "paths": sorted(
            ([name, _resolved(settings.config_path, path)] for name, path in found.paths), key=lambda pair: pair[0]
        ),
        "models": sorted(map(list, found.models), key=lambda pair: pair[0]),
    }
    packed = json.dumps(canonical, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(packed.encode("utf-8", "replace")).hexdigest()


def is_approved(settings: Settings, config: Config) -> bool:
    """Return True if the models of ``config``, and its collections outside the project, may be used."""
    return not settings.local or may_run_commands(settings, config)


def may_run_commands(settings: Settings, config: Config) -> bool:
    """Return True if everything that ``config`` asks for is approved, its update commands included."""
    if opted_in():
        return True
    found = gated(settings, config)
    if not found:
        return True
    record = _records(settings).get(abspath(settings.config_path))
    return isinstance(record, dict) and record.get("hooks") == digest(settings, found)


def approve(settings: Settings, config: Config) -> None:
    """Record that what the configuration asks for now is approved; nothing for the user's own."""
    if not is_gated(settings):
        return
    now = time.time()
    stamp = f"{clock.iso(now)[:-1]}.{int(now * 1000) % 1000:03d}Z"
    records = _records(settings)
    records[abspath(settings.config_path)] = {"hooks": digest(settings, gated(settings, config)), "trustedAt": stamp}
    _save(settings, records)


def revoke(settings: Settings) -> bool:
    """Remove the approval; return True if there was one."""
    records = _records(settings)
    if records.pop(abspath(settings.config_path), None) is None:
        return False
    _save(settings, records)
    return True


def approved(settings: Settings) -> list[tuple[str, str]]:
    """Return (path, when) of every approved configuration."""
    return [
        (path, str(record.get("trustedAt", "")))
        for path, record in _records(settings).items()
        if isinstance(record, dict)
    ]


def inside_project(config_path: str, path: str) -> bool:
    """Return True if a collection's path, with symlinks resolved, lies in the project of the configuration."""
    root = realpath(_project(config_path))
    target = realpath(_resolved(config_path, path))
    return target == root or target.startswith(join(root, ""))


def _project(config_path: str) -> str:
    return dirname(dirname(abspath(config_path)))


def _resolved(config_path: str, path: str) -> str:
    text = path.strip()
    if text == "~" or text.startswith(("~/", "~\\")):
        text = join(home(), text[2:])
    return normpath(text) if isabs(text) else normpath(join(_project(config_path), text))


def _records(settings: Settings) -> dict[str, Any]:
    import json

    try:
        with open(join(settings.config_dir, FILE), encoding="utf-8") as stream:
            records = json.load(stream)
    except (OSError, ValueError):
        return {}
    return records if isinstance(records, dict) else {}


def _save(settings: Settings, records: dict[str, Any]) -> None:
    import json

    os.makedirs(settings.config_dir, exist_ok=True)
    text = json.dumps(records, ensure_ascii=False, indent=2)
    write_atomic(join(settings.config_dir, FILE), f"{text}\n".encode("utf-8", "replace"))
