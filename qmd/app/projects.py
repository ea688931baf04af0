"""``qmd init`` and ``qmd trust``: an index that belongs to a project, and what its configuration may do."""

from __future__ import annotations

import os
from os.path import dirname, exists, join, realpath
from typing import NamedTuple

from qmd import settings, trust
from qmd.settings import home

TYPE_CHECKING = False
if TYPE_CHECKING:
    from qmd.app.session import Session

# The models in force are not written down: they would then count more than the environment, for ever.
_NEW = b"""\
collections: {}
# Unless named here, the environment's (QMD_EMBED_MODEL, QMD_GENERATE_MODEL, QMD_RERANK_MODEL) or the built-in ones:
# models:
#   embed:
#   generate:
#   rerank:
"""
_HINT = "If qmd still behaves unexpectedly, run 'qmd doctor' for diagnostics."


class _Words(NamedTuple):
    """The words by which the approval prompt names a configuration."""

    title: str
    origin: str
    asked: str
    rest: str
    verb: str


_PROJECT = _Words(
    "This project's config",
    "Config that came with a checkout",
    "this project's .qmd config",
    "Indexing of this project",
    "qmd trust",
)
_BRAIN = _Words(
    "collections.yml",
    "A command that may have come out of a backup or a checkout",
    "the commands of collections.yml",
    "Indexing",
    "brain qmd --brain trust",
)


def init(session: Session) -> None:
    """Create a project's own index in ``.qmd/`` of the working directory. Raises Exit in the user's home."""
    from qmd import config_file

    here = settings.working_directory()
    if realpath(here) == realpath(home()):
        raise session.fail(
            "Refusing to initialize a local index in $HOME. The global index is automatically created; run"
            " `qmd collection add <path>` for the global index, or run `qmd init` inside a project folder.",
            _HINT,
        )
    place = join(here, settings.LOCAL_FOLDER)
    path = join(place, "index.yaml")
    path = path if exists(path) else join(place, "index.yml")
    os.makedirs(place, exist_ok=True)
    session.close()
    found = session.settings
    session.settings = settings.Settings(
        path, join(dirname(path), "index.sqlite"), settings.DEFAULT_INDEX, found.config_dir, found.cache_dir
    )
    if not exists(path):
        config_file.write(path, _NEW)
    session.changed()
    session.index_to_write  # noqa: B018  # makes it
    session.out.line("ready to go with new local index")


def manage(session: Session) -> None:
    """``trust``: approve the configuration in scope; ``trust list``, ``trust revoke``. Raises Exit for other words."""
    words, out, scope = session.arguments.words, session.out, session.settings
    verb = words[0] if words else ""
    if verb == "list":
        records = trust.approved(scope)
        if not records:
            out.line(out.paint("dim", "No trusted project configs."))
        for path, since in records:
            out.line(f"{path} {out.paint('dim', f'(trusted {since})')}")
    elif verb == "revoke":
        _revoke(session)
    elif verb:
        raise session.fail("Usage: qmd trust [list|revoke]")
    elif not trust.is_gated(scope):
        out.line(out.paint("dim", f"{scope.config_path} is your own config — it is never gated. Nothing to trust."))
    else:
        _approve(session)


def _approve(session: Session) -> None:
    out, scope = session.out, session.settings
    found = trust.gated(scope, session.config)
    if not found:
        none = "defines no update commands, out-of-project collection paths, or custom models. Nothing to trust."
        out.line(out.paint("dim", f"{scope.config_path} {none}"))
        return
    show_gated(session, found)
    trust.approve(scope, session.config)
    out.line(out.paint("green", f"✓ Trusted {scope.config_path}"))
    again = "Editing a hook, out-of-project path, or custom model will ask again. Revoke with 'qmd trust revoke'."
    out.line(out.paint("dim", again))


def _revoke(session: Session) -> None:
    out, scope = session.out, session.settings
    if not trust.is_gated(scope):
        own = f"No project-local .qmd config in scope — {scope.config_path} is your own config and is never gated."
        out.line(out.paint("dim", own))
        out.line(out.paint("dim", "Run this from inside the project, or see 'qmd trust list'."))
    elif trust.revoke(scope):
        out.line(out.paint("green", f"✓ Revoked trust for {scope.config_path}"))
    else:
        out.line(out.paint("dim", f"{scope.config_path} was not trusted."))


def trusted(session: Session) -> bool:
    """Return True if the configuration may run its commands and leave its project; on a terminal, ask the user."""
    settings, config, out = session.settings, session.config, session.out
    if trust.may_run_commands(settings, config):
        return True
    words = _PROJECT if settings.local else _BRAIN
    show_gated(session, trust.gated(settings, config))
    out.line(out.paint("dim", f"{words.origin} is not trusted by default."))
    import sys

    if not (out.terminal and sys.stdin is not None and sys.stdin.isatty()):
        out.line(out.paint("yellow", f"Skipping them — no terminal to confirm on. {words.rest} continues."))
        advice = f"Approve with '{words.verb}', or set QMD_TRUST_LOCAL_CONFIG=1 for unattended runs."
        out.line(f"{out.paint('dim', advice)}\n")
        return False
    out.write(f"Trust {words.asked}? [y/N] ")
    out.flush()
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        out.line(f"{out.paint('yellow', f'Skipped. {words.rest} continues.')}\n")
        return False
    trust.approve(settings, config)
    done = out.paint("green", f"Trusted {settings.config_path}.")
    out.line(f"{done} {out.paint('dim', 'Editing a hook, path, or model will ask again.')}\n")
    return True


def show_gated(session: Session, found: trust.Gated) -> None:
    """Print the parts of the configuration that need approval."""
    out = session.out
    words = _PROJECT if session.settings.local else _BRAIN
    for title, rows in (
        (f"{words.title} defines update commands:", found.hooks),
        ("Collection paths outside this project:", found.paths),
        ("Custom models:", found.models),
    ):
        if rows:
            out.line(out.paint("yellow", title))
            for name, value in rows:
                out.line(f"  {out.paint('bold', name)}: {value}")
