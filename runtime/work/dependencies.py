"""Versions of a project's dependencies, as its lock files and manifests have them now and had them at a moment.

A form is read for the lines that name a version, not parsed: a file of any generation gives what it names.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, NamedTuple

from core.files import read_or_none
from ingest.repositories import NoLog, git, top_of

if TYPE_CHECKING:
    from collections.abc import Iterable

# Characters of one file that are read.
_LONGEST = 8_000_000
# uv lists the project and the members of its workspace as well; Cargo gives these no source.
_TOML = re.compile(r'(?m)^name = "([^"\n]+)"\nversion = "([^"\n]+)"(?!\nsource = \{ (?:editable|virtual) = )')
_CARGO = re.compile(r'(?m)^name = "([^"\n]+)"\nversion = "([^"\n]+)"\nsource = ')
_NPM = re.compile(r'"(?:node_modules/)?((?:@[\w.-]+/)?[\w.-]+)": \{\s*"version": "([^"\n]+)"')
_YARN = re.compile(r'(?m)^"?((?:@[\w.-]+/)?[\w.-]+)@[^\n]*:\n  version:? "?([^"\s]+)"?$')
_PNPM = re.compile(r"(?m)^ {2}'?/?((?:@[\w.-]+/)?[\w.-]+)@(\d[\w.+-]*)[^\n]*:$")
_PINNED = re.compile(r"(?m)^([A-Za-z][\w.-]*)(?:\[[^\]\n]*\])?==([^\s;\\]+)")
_GO = re.compile(r"(?m)^\t?(?:require )?([\w./-]+/[\w.-]+) (v[\w.+-]+)")
_GEMS = re.compile(r"(?m)^    ([\w-]+) \(([\w.-]+)\)$")
# A manifest has the version of its own package.
_RANGES = re.compile(r'"(?!version")((?:@[\w.-]+/)?[\w.-]+)": "([~^]?\d[^"\n]*)"')
_DECLARED = re.compile(r'"([A-Za-z][\w.-]*)(?:\[[^\]"]*\])?((?:[<>=~!]=?|===)[^";\n]+)')
# Names of files, those with exact versions first, and the form of their lines.
_FORMS = (
    ("uv.lock", _TOML), ("poetry.lock", _TOML), ("pdm.lock", _TOML), ("Cargo.lock", _CARGO),
    ("package-lock.json", _NPM), ("yarn.lock", _YARN), ("pnpm-lock.yaml", _PNPM), ("requirements.lock", _PINNED),
    ("requirements.txt", _PINNED), ("requirements-dev.txt", _PINNED), ("go.mod", _GO), ("Gemfile.lock", _GEMS),
    ("package.json", _RANGES), ("pyproject.toml", _DECLARED),
)  # fmt: skip


class Moved(NamedTuple):
    """A dependency whose version in ``file`` is not what it was; "" if it was not there, or is not any more."""

    name: str
    then: str
    now: str
    file: str


class Dependencies:
    """The dependencies of a project's folder; each file and revision is read once."""

    def __init__(self, folder: str) -> None:
        self._top = top_of(folder) if folder.startswith("/") and os.path.isdir(folder) else ""
        self._now: dict[str, dict[str, str]] | None = None
        self._then: dict[tuple[str, str], dict[str, str]] = {}

    def moved(self, words: Iterable[str], moment: int) -> list[Moved] | None:
        """Return the dependencies among ``words`` that have another version than at ``moment`` (epoch seconds).

        None if nothing can be said: no repository, no commit of that time, or no word names a dependency.
        """
        if not self._top:
            return None
        if self._now is None:
            files = ((name, self._read(name), form) for name, form in _FORMS)
            self._now = {name: versions(text, form) for name, text, form in files if text}
        wanted = {_plain(word) for word in words}
        if not self._now:
            return None
        revision = self._revision(moment)
        found: dict[str, Moved] = {}
        is_known = False
        for name, form in _FORMS:
            if not revision or name not in self._now:
                continue
            now = self._now[name]
            if (revision, name) not in self._then:
                self._then[revision, name] = versions(self._shown(revision, name), form)
            then = self._then[revision, name]
            if not then:  # there was no such file yet, or git cannot show it
                continue
            for each in wanted & (now.keys() | then.keys()):
                is_known = True
                if now.get(each, "") != then.get(each, "") and each not in found:
                    found[each] = Moved(each, then.get(each, ""), now.get(each, ""), name)
        return list(found.values()) if is_known else None

    def _read(self, name: str) -> str:
        try:
            data = read_or_none(os.path.join(self._top, name))
        except OSError:
            return ""
        return "" if data is None or len(data) > _LONGEST else data.decode("utf-8", "replace")

    def _revision(self, moment: int) -> str:
        try:
            return git(self._top, "rev-list", "-1", f"--before=@{moment}", "HEAD").decode().strip()
        except NoLog:
            return ""

    def _shown(self, revision: str, name: str) -> str:
        try:
            return git(self._top, "cat-file", "blob", f"{revision}:{name}").decode("utf-8", "replace")
        except NoLog:
            return ""


def versions(text: str, form: re.Pattern[str]) -> dict[str, str]:
    """Return the dependencies that a file names, with their versions; several versions of one are joined."""
    found: dict[str, list[str]] = {}
    for name, version in form.findall(text.replace("\r\n", "\n")):
        each = found.setdefault(_plain(name), [])
        if version.strip() not in each:
            each.append(version.strip())
    return {name: ", ".join(sorted(each)) for name, each in found.items()}


def _plain(name: str) -> str:
    """Return a name as all spellings of it (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name.lower())
