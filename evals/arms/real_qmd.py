"""The real qmd's keyword search, a whole process a question, as its users run it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from core.errors import Internal
from evals.arms.registry import Unavailable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from evals.arms.registry import Answer, Place

_SECONDS = 120


@contextmanager
def search(place: Place) -> Iterator[Answer]:
    """``qmd search --json`` over the corpus, in a configuration and index of its own below the scratch home."""
    argv = program()
    if place.ids is None:
        raise Unavailable("it would have to index your own documents")
    world = os.path.join(place.home.root, "real-qmd")
    environ = {
        "PATH": os.environ.get("PATH", ""),
        "HOME": world,
        "XDG_CONFIG_HOME": os.path.join(world, "config"),
        "XDG_CACHE_HOME": os.path.join(world, "cache"),
        "TZ": "UTC",
    }
    done = os.path.join(world, "done")
    if not os.path.exists(done):
        shutil.rmtree(world, ignore_errors=True)
        os.makedirs(world, 0o700)
        for name, folder in place.config.collections.items():
            _run([*argv, "collection", "add", folder.path, "--name", name], environ)
        with open(done, "w", encoding="utf-8"):
            pass

    def answer(question: str, limit: int) -> list[str]:
        # A question that begins with a dash would be an option.
        said = _run([*argv, "search", "--json", "-n", str(limit), "--", question], environ)
        found: list[dict[str, Any]] = json.loads(said) if said.lstrip().startswith("[") else []
        return [str(hit["file"]).removeprefix("qmd://").partition("?")[0] for hit in found]

    yield answer


def program() -> list[str]:
    """The argv of the real qmd: ``$BRAIN_REAL_QMD`` (qmd.js, by ``$BRAIN_NODE`` or PATH's node), else PATH's ``qmd``.

    Raises Unavailable where there is none.
    """
    script = os.environ.get("BRAIN_REAL_QMD")
    if script:
        node = os.environ.get("BRAIN_NODE") or shutil.which("node")
        if not node or not os.path.isfile(script):
            raise Unavailable("BRAIN_REAL_QMD names no file, or there is no node")
        argv = [node, script]
    else:
        found = shutil.which("qmd")
        if not found:
            raise Unavailable("no qmd on PATH (BRAIN_REAL_QMD=…/dist/cli/qmd.js names one)")
        argv = [found]
    try:
        version = _run([*argv, "--version"], dict(os.environ))
    except (OSError, Internal) as error:
        raise Unavailable(f"qmd does not start: {error}") from None
    if not version.startswith("qmd ") or "brain" in version:
        raise Unavailable(f"{argv[-1]} is not the real qmd: {version.strip()[:80]}")
    return argv


def _run(argv: list[str], environ: dict[str, str]) -> str:
    try:
        done = subprocess.run(  # noqa: S603  # a program that the user installed and named
            argv, capture_output=True, text=True, env=environ, timeout=_SECONDS, check=False, stdin=subprocess.DEVNULL
        )
    except subprocess.TimeoutExpired:
        raise Internal(f"{argv[-1]!r} took over {_SECONDS} s", "run it by hand") from None
    if done.returncode:
        raise Internal(f"qmd ended with {done.returncode}: {done.stderr.strip()[:200]}", "run it by hand")
    return done.stdout
