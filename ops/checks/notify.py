"""One desktop notification, by what the system has for it; none where it has nothing."""

from __future__ import annotations

import shutil
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

_TIMEOUT_S = 5.0


def command(title: str, text: str, platform: str = sys.platform) -> list[str]:
    """The argv that shows a notification, [] where there is no program for it.

    The texts are arguments of the script and no part of it: a file's name must not become a command.
    """
    if platform == "darwin":
        script = "on run argv\ndisplay notification (item 2 of argv) with title (item 1 of argv)\nend run"
        return ["/usr/bin/osascript", "-e", script, title, text]
    found = shutil.which("notify-send")
    return [found, "--app-name=brain", "--", title, text] if found else []


def send(title: str, text: str, environ: Mapping[str, str]) -> bool:
    """Show a notification; whether it was handed over. ``BRAIN_NOTIFY=off`` shows none."""
    argv = command(title, text)
    if not argv or environ.get("BRAIN_NOTIFY") == "off":
        return False
    from core.child import run

    try:
        done = run(argv, timeout_s=_TIMEOUT_S, environ=dict(environ))
    except OSError:
        return False
    return done.code == 0 and not done.timed_out
