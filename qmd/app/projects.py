"""``qmd init`` and ``qmd trust``: an index that belongs to a project, and what its configuration may do."""

from __future__ import annotations

import os
from os.path import dirname, exists, join, realpath

from qmd import config_file, settings, trust
from qmd.app.updating import show_gated
from qmd.index.references import home

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


def init(session: Session) -> None:
    """Begin a project's own index in ``.qmd/`` where the user stands. Raises Exit in the user's home."""
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
