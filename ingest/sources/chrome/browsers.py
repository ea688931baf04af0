"""Where browsers of Chromium's family keep their profiles: a table, one line a browser and system.

Sources: each browser's ``chrome://version`` page ("Profile Path"), chromium's page on the "User Data Directory", and
the manifests of the snap and flatpak packages.
"""

from __future__ import annotations

import os
from os.path import expanduser, join

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

HISTORY = "History"
# What lies beside the profiles of every browser of the family, and in each of them; Opera has both in one folder.
_OF_BROWSER, _OF_PROFILE = "Local State", "Preferences"
_SUFFIXES = (".sqlite", ".sqlite3", ".db")
_COMPANIONS = ("-journal", "-wal", "-shm")

_MAC = "~/Library/Application Support"
_FLATPAK = "~/.var/app"

# Browser → folders of profiles by system. A Linux package's channel has a folder of its own.
BROWSERS: dict[str, dict[str, tuple[str, ...]]] = {
    "chrome": {
        "darwin": tuple(f"{_MAC}/Google/Chrome{channel}" for channel in ("", " Beta", " Dev", " Canary")),
        "linux": (
            *(f"{{config}}/google-chrome{channel}" for channel in ("", "-beta", "-unstable")),
            f"{_FLATPAK}/com.google.Chrome/config/google-chrome",
        ),
        "windows": tuple(f"{{local}}/Google/Chrome{channel}/User Data" for channel in ("", " Beta", " Dev", " SxS")),
    },
    "chromium": {
        "darwin": (f"{_MAC}/Chromium",),
        "linux": (
            "{config}/chromium",
            "~/snap/chromium/common/chromium",
            "~/snap/chromium/current/.config/chromium",
            f"{_FLATPAK}/org.chromium.Chromium/config/chromium",
            f"{_FLATPAK}/io.github.ungoogled_software.ungoogled_chromium/config/chromium",
        ),
        "windows": ("{local}/Chromium/User Data",),
    },
    "brave": {
        "darwin": tuple(f"{_MAC}/BraveSoftware/Brave-Browser{channel}" for channel in ("", "-Beta", "-Nightly")),
        "linux": (
            *(f"{{config}}/BraveSoftware/Brave-Browser{channel}" for channel in ("", "-Beta", "-Nightly")),
            "~/snap/brave/current/.config/BraveSoftware/Brave-Browser",
            f"{_FLATPAK}/com.brave.Browser/config/BraveSoftware/Brave-Browser",
        ),
        "windows": tuple(
            f"{{local}}/BraveSoftware/Brave-Browser{channel}/User Data" for channel in ("", "-Beta", "-Nightly")
        ),
    },
    "edge": {
        "darwin": tuple(f"{_MAC}/Microsoft Edge{channel}" for channel in ("", " Beta", " Dev", " Canary")),
        "linux": (
            *(f"{{config}}/microsoft-edge{channel}" for channel in ("", "-beta", "-dev")),
            f"{_FLATPAK}/com.microsoft.Edge/config/microsoft-edge",
        ),
        "windows": tuple(f"{{local}}/Microsoft/Edge{channel}/User Data" for channel in ("", " Beta", " Dev", " SxS")),
    },
    "arc": {
        "darwin": (f"{_MAC}/Arc/User Data",),
        "windows": ("{local}/Packages/TheBrowserCompany.Arc_ttt1ap7aakyb4/LocalCache/Local/Arc/User Data",),
    },
    "vivaldi": {
        "darwin": (f"{_MAC}/Vivaldi", f"{_MAC}/Vivaldi Snapshot"),
        "linux": (
            "{config}/vivaldi",
            "{config}/vivaldi-snapshot",
            "~/snap/vivaldi/current/.config/vivaldi",
            f"{_FLATPAK}/com.vivaldi.Vivaldi/config/vivaldi",
        ),
        "windows": ("{local}/Vivaldi/User Data",),
    },
    "opera": {
        "darwin": tuple(f"{_MAC}/com.operasoftware.Opera{channel}" for channel in ("", "GX", "Next", "Developer")),
        "linux": (
            *(f"{{config}}/opera{channel}" for channel in ("", "-beta", "-developer")),
            "~/snap/opera/current/.config/opera",
            f"{_FLATPAK}/com.opera.Opera/config/opera",
        ),
        "windows": tuple(f"{{roaming}}/Opera Software/Opera{channel} Stable" for channel in ("", " GX")),
    },
}

# Below Windows' own folder of a user, seen from WSL.
_WSL_USERS = "/mnt/c/Users"
_WSL_NOBODY = frozenset(("All Users", "Default", "Default User", "Public", "desktop.ini"))
# Chromium's own profiles that are nobody's.
_NO_PROFILES = frozenset(("System Profile", "Guest Profile", "Snapshots"))


def folders(system: str, environ: Mapping[str, str] | None = None, wsl_users: str = _WSL_USERS) -> list[str]:
    """The folders of profiles that the table names for ``system`` (``sys.platform``'s word), whether they exist or not.

    Under Linux those of Windows' users are added where WSL shows them.
    """
    env = os.environ if environ is None else environ
    found: list[str] = []
    if system == "win32":
        home = expanduser("~")
        local = env.get("LOCALAPPDATA") or join(home, "AppData", "Local")
        found += _filled("windows", "", local, env.get("APPDATA") or join(home, "AppData", "Roaming"))
    elif system == "darwin":
        found += _filled("darwin", "", "", "")
    else:
        found += _filled("linux", env.get("XDG_CONFIG_HOME") or "~/.config", "", "")
        for user in _wsl(wsl_users):
            found += _filled("windows", "", join(user, "AppData", "Local"), join(user, "AppData", "Roaming"))
    return list(dict.fromkeys(found))


def histories(root: str) -> list[str]:
    """The histories below a folder: of browsers, of profiles (Opera's own lies beside others), or of copies.

    ``History`` is one wherever it lies. A copy may be called otherwise, beginning so or ending as databases do, where
    no browser is: those are full of databases. A profile is looked into no further, since caches lie in it.
    """
    found: list[str] = []
    waiting = [(root, False)]
    while waiting:
        folder, is_browsers = waiting.pop()
        try:
            entries = list(os.scandir(folder))
        except OSError:
            continue
        names = {entry.name for entry in entries}
        is_browsers = is_browsers or not names.isdisjoint((_OF_BROWSER, _OF_PROFILE))
        ends_here = _OF_PROFILE in names and _OF_BROWSER not in names
        for entry in entries:
            name = entry.name
            if entry.is_dir(follow_symlinks=False):
                if not (ends_here or name in _NO_PROFILES):
                    waiting.append((entry.path, is_browsers))
            elif folder == root and entry.is_dir():
                # A profile may be a link to where it lies; others are not followed, so that there are no loops.
                if name not in _NO_PROFILES and os.path.isfile(join(entry.path, HISTORY)):
                    found.append(join(entry.path, HISTORY))
            elif name == HISTORY or (not is_browsers and _may_be_copy(name)):
                found.append(entry.path)
    return found


def _may_be_copy(name: str) -> bool:
    return (name.startswith(HISTORY) and not name.endswith(_COMPANIONS)) or name.endswith(_SUFFIXES)


def _filled(system: str, config: str, local: str, roaming: str) -> list[str]:
    return [
        expanduser(path.format(config=config, local=local, roaming=roaming))
        for systems in BROWSERS.values()
        for path in systems.get(system, ())
    ]


def _wsl(users: str) -> list[str]:
    try:
        return [join(users, name) for name in sorted(os.listdir(users)) if name not in _WSL_NOBODY]
    except OSError:
        return []
