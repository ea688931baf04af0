"""The real qmd, where it can be had: named, on PATH, or installed by npm below ``bench/data``."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

from bench.measure import DATA, Failed, environment, run

VERSION = "2.8.3"
_PACKAGE = "@tobilu/qmd"
_LEAST_NODE = 22
_PLACE = DATA / "real-qmd"
_SCRIPT = Path("node_modules") / _PACKAGE / "dist" / "cli" / "qmd.js"


def find() -> list[str] | str:
    """The argv that starts it, or a text that says why there is none.

    ``$BRAIN_REAL_QMD`` is its qmd.js, ``$BRAIN_NODE`` the node that runs it; without the first, npm installs it once.
    """
    node = os.environ.get("BRAIN_NODE") or shutil.which("node")
    if not node:
        return f"no node >= {_LEAST_NODE} on PATH, and no $BRAIN_NODE"
    try:
        said = run([node, "--version"], environment(DATA)).output.decode().strip()
    except (Failed, OSError) as error:
        return f"{node} does not start: {error}"
    major = said.removeprefix("v").partition(".")[0]
    if not major.isdigit() or int(major) < _LEAST_NODE:
        return f"{node} is {said}: node >= {_LEAST_NODE} is needed; $BRAIN_NODE names one"
    named = os.environ.get("BRAIN_REAL_QMD")
    script = Path(named) if named else _PLACE / _SCRIPT
    if not named and not script.is_file() and (why := _install(node)):
        return why
    argv = [node, str(script)]
    try:
        said = run([*argv, "--version"], environment(DATA)).output.decode().strip()
    except Failed as error:
        return f"the real qmd does not start: {error}"
    if not said.startswith(f"qmd {VERSION}") or "brain" in said:
        return f"{script} is {said!r}, not qmd {VERSION}"
    return argv


def _install(node: str) -> str:
    """Install it by npm; returns why that failed, empty where it did not."""
    npm = shutil.which("npm")
    if npm is None:
        return f"no npm to install {_PACKAGE}@{VERSION} with, and no $BRAIN_REAL_QMD"
    sys.stderr.write(f"installing {_PACKAGE}@{VERSION} in {_PLACE}\n")
    _PLACE.mkdir(parents=True, exist_ok=True)
    # Not measured, and reached as the user reaches it: a registry, a proxy, its certificate, the settings in ~/.npmrc.
    environ = {**os.environ, "PATH": f"{os.path.dirname(node)}:{os.environ.get('PATH', os.defpath)}"}
    try:
        quiet = ["--no-audit", "--no-fund", "--loglevel=error"]
        run([npm, "install", "--prefix", str(_PLACE), *quiet, f"{_PACKAGE}@{VERSION}"], environ)
    except (Failed, OSError) as error:
        shutil.rmtree(_PLACE, ignore_errors=True)
        return f"npm could not install {_PACKAGE}@{VERSION}: {' '.join(str(error).split())[-300:]}"
    return ""
