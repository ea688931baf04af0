"""Git, run so that nothing that a repository names is started.

A repository may come from anybody. Its configuration can name programs (ssh, hooks, monitors, pagers, filters, helpers)
and addresses (git-config(1)). Every call of git goes through ``run``, which overrides the settings that start a program
and allows no transport that its caller does not name. ``strange_settings`` finds everything else.
"""

from __future__ import annotations

import os
from os.path import exists, join
from shlex import quote
from typing import TYPE_CHECKING

from core.processes import child

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import IO

# In force for every call, whatever a repository says.
_SETTINGS = (
    "core.alternateRefsCommand=true",
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "core.pager=cat",
    "diff.external=",
    "fetch.recurseSubmodules=false",
    "gc.autoDetach=false",
    "log.showSignature=false",
    "protocol.ext.allow=never",
    "push.gpgSign=false",
    "push.recurseSubmodules=no",
    "submodule.recurse=false",
)
# In force for a call that reaches no other repository. A call that does uses the user's own ssh and credentials.
_ALONE = ("core.askPass=false", "core.gitProxy=false", "core.sshCommand=false", "credential.helper=")
_ENVIRON = {
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "LC_ALL": "C",
}
# Settings that a bare repository may have: none names a program, a file or an address that git uses by itself.
_PLAIN_SETTINGS = frozenset(
    (
        *("core.bare", "core.compression", "core.filemode", "core.ignorecase", "core.logallrefupdates"),
        *("core.precomposeunicode", "core.repositoryformatversion", "core.sharedrepository", "core.symlinks"),
        *("gc.auto", "gc.pruneexpire", "pack.threads", "pack.windowmemory"),
        *("receive.denycurrentbranch", "receive.denydeletes", "receive.denynonfastforwards"),
        *("remote.origin.fetch", "remote.origin.mirror", "remote.origin.url"),
    )
)
_READING_S = 30.0


def run(
    words: Sequence[str],
    *,
    environ: Mapping[str, str],
    timeout_s: float,
    most_bytes: int,
    settings: Sequence[str] = (),
    transports: Sequence[str] = (),
    folder: str | None = None,
    stdin: IO[bytes] | None = None,
) -> child.Done:
    """Run git with ``words``; ``settings`` are further ``key=value``, ``transports`` the protocols that it may use.

    ``GIT_ALLOW_PROTOCOL`` is needed besides ``protocol.allow``: a repository's `protocol.ext.allow` is more specific.
    Raises OSError if git cannot be started.
    """
    given = (*_SETTINGS, *(() if transports else _ALONE), *settings)
    allowed = {"GIT_ALLOW_PROTOCOL": ":".join(transports) or "none"}
    return child.run(
        ["git", "--no-pager", *(word for setting in given for word in ("-c", setting)), *words],
        timeout_s=timeout_s,
        environ={**environ, **_ENVIRON, **allowed},
        folder=folder,
        most_bytes=most_bytes,
        stdin=stdin,
    )


def serving(command: str) -> str:
    """Return the command line that serves a repository on this machine, for ``--upload-pack`` and ``--receive-pack``.

    Git gives its own settings to no process that serves another repository.
    """
    return " ".join(("git", *(f"-c {quote(setting)}" for setting in _SETTINGS), command))


def strange_settings(repository: str, environ: Mapping[str, str]) -> list[str]:
    """Return the settings of a bare repository that a repository of documents does not need, sorted.

    Any of them may name a program, another repository, or an address. A configuration that git cannot read is one, and
    so is a file that makes git read another configuration. Raises OSError if git cannot be started.
    """
    strange = {"commondir"} if exists(join(repository, "commondir")) else set()
    path = join(repository, "config")
    if exists(path):
        done = run(
            ["config", "--file", path, "--no-includes", "--list", "--name-only", "-z"],
            environ=environ,
            timeout_s=_READING_S,
            most_bytes=1 << 20,
            folder=os.sep,
        )
        names = done.stdout.decode("utf-8", "replace").split("\0") if done.code == 0 else ["config"]
        strange |= {name for name in names if name and name not in _PLAIN_SETTINGS}
    return sorted(strange)
