"""Scratch homes: a corpus indexed by the product itself, below ``state/eval/cache`` and never the user's own.

A home is named by its content and by the versions of parser and index, so a second run finds it. The home records the
modules that built it; when one of them changes, the index is rebuilt.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from core.errors import Internal
from core.files import FileLock, write_atomic
from core.home import make_private
from core.version import INDEX, PARSER
from evals.arms import child
from evals.sets.dataset import digest

if TYPE_CHECKING:
    from collections.abc import Callable

    from core.home import Home
    from evals.sets.dataset import Corpus, Question

    Progress = Callable[[int, int, str], None]

_LAYOUT = 1  # of the scratch homes themselves
_WAIT_S = 600
_KEPT_S = 60 * 86_400
_STAMP = "built.json"
_IDS = "ids.json"
_MADE = "made.json"
_CONFIG = {
    "transcripts": "collections:\n  brain:\n    path: brain\n    trust: session\n",
    "documents": "collections:\n  docs:\n    path: docs\n    trust: note\n",
    "files": "collections:\n  docs:\n    path: docs\n    pattern: '**/*'\n    trust: note\n",
    "raw files": "",  # as a new brain is configured
}


class Built(NamedTuple):
    """An indexed corpus: its home, the file of its ids ("" where the documents are the user's own), its documents."""

    corpus: Corpus
    root: str
    ids: str
    inbox: str
    documents: int

    @property
    def is_scratch(self) -> bool:
        """Return True if the home may be written to."""
        return bool(self.ids)

    def spec(self) -> dict[str, Any]:
        """For ``evals.arms.worker``."""
        return {"home": self.root, "ids": self.ids, "scope": self.corpus.scope, "inbox": self.inbox}

    def resolve(self, question: Question) -> Question:
        """Return the question with the documents made of its raw files; a file without any stays and is missed."""
        if self.corpus.layout != "raw files" or not question.relevant:
            return question
        with open(os.path.join(self.root, _MADE), encoding="utf-8") as stream:
            made: dict[str, list[str]] = json.load(stream)
        grades = {name: grade for path, grade in question.relevant.items() for name in made.get(path, [path])}
        return replace(question, relevant=grades)

    def environment(self) -> dict[str, str]:
        """The variables of a process that works on it."""
        return child.environment(self.root, scratch=self.is_scratch)


def cache(home: Home) -> str:
    """The folder of all scratch homes."""
    return os.path.join(home.state, "eval", "cache")


def build(home: Home, corpus: Corpus, *, vectors: bool = False, progress: Progress | None = None) -> Built:
    """The corpus, indexed, and with ``vectors`` embedded too; ``progress`` hears (bytes done, bytes in all, what).

    Raises LockContention where another run is building it for over ten minutes.
    """
    if corpus.layout == "home":
        from evals.sets.own import documents_of

        return Built(corpus, home.root, "", home.inbox, len(documents_of(home, corpus.scope)))
    key = digest([corpus.key, corpus.layout, str(_LAYOUT), str(PARSER), str(INDEX)])
    root = os.path.join(cache(home), key)
    make_private(cache(home))
    with FileLock(f"{root}.lock", _WAIT_S):
        stamp = _stamp(root)
        if stamp is None:
            shutil.rmtree(root, ignore_errors=True)
            _write(corpus, root)
        if stamp is None or _modules(stamp["modules"]) != stamp["modules"]:
            stamp = _index(root, corpus, rebuild=stamp is not None)
        if vectors and _modules(stamp.get("embedded", {"": ""})) != stamp.get("embedded"):
            _share_models(home, root)
            _embed(root, stamp, corpus.name, progress)
        os.utime(os.path.join(root, _STAMP))
    return Built(corpus, root, os.path.join(root, _IDS), os.path.join(root, "inbox"), int(stamp["documents"]))


def without_table(built: Built) -> str:
    """Why a cold question of this corpus finds nothing by meaning; "" where a query table encodes it.

    A table is fitted from ``qmd.vectors.static_fit.LEAST`` chunks on. Raises apsw.Error.
    """
    from core import config
    from core.config import embedder
    from core.home import Home
    from qmd.index.semantic import spaces
    from qmd.index.store import open_index
    from qmd.vectors import static_query
    from qmd.vectors.static_fit import LEAST

    home = Home(built.root, built.inbox)
    connection = open_index(home.index)
    try:
        provider, model = embedder(config.load(home).section("embedding"))
        space = spaces.find(connection, provider, model)
        if space is None:
            return f"nothing is embedded by {provider}/{model}"
        table = static_query.table_of(connection, space)
        chunks = spaces.count(connection, space)
    finally:
        connection.close()
    if not isinstance(table, str):
        return ""
    return f"{table} (it has fewer than {LEAST} chunks)" if chunks < LEAST else table


def sweep(home: Home) -> int:
    """Remove scratch homes that nothing has used for 60 days; returns how many went."""
    gone = 0
    for stamp in Path(cache(home)).glob(f"*/{_STAMP}"):
        if time.time() - stamp.stat().st_mtime > _KEPT_S:
            stamp.unlink()
            shutil.rmtree(stamp.parent, ignore_errors=True)
            gone += 1
    return gone


def _write(corpus: Corpus, root: str) -> None:
    folder = os.path.join(root, "docs" if corpus.layout in ("documents", "files") else "transcripts")
    make_private(folder)
    make_private(os.path.join(root, "transcripts"))
    ids = corpus.write(Path(folder))
    write_atomic(os.path.join(root, _IDS), json.dumps(ids).encode())
    if configuration := _CONFIG[corpus.layout]:
        write_atomic(os.path.join(root, "collections.yml"), configuration.encode())


def _index(root: str, corpus: Corpus, *, rebuild: bool) -> dict[str, Any]:
    job = {"op": "index", "home": root, "rebuild": rebuild, "sources": corpus.sources, "base": corpus.base}
    said = list(child.work(job, child.environment(root)))
    # Real files may have damaged records; what the set itself wrote has none.
    if not said or not said[-1]["documents"] or (said[-1]["failed"] and not corpus.sources):
        counts = f"{said[-1]['documents']} documents, {said[-1]['failed']} failures" if said else "no word of it"
        raise Internal(f"the corpus in {root} was not indexed whole: {counts}", f"rm -r {root}")
    write_atomic(os.path.join(root, _MADE), json.dumps(said[-1]["made"]).encode())
    stamp = {"documents": said[-1]["documents"], "modules": _modules(said[-1]["modules"])}
    write_atomic(os.path.join(root, _STAMP), json.dumps(stamp).encode())
    return stamp


def _share_models(home: Home, root: str) -> None:
    """Share fitted models between homes: they are the same in all homes and take a minute to fit."""
    mine, own = os.path.join(root, "state", "models"), os.path.join(home.state, "models")
    make_private(own)
    make_private(os.path.dirname(mine))
    if not os.path.lexists(mine):
        os.symlink(os.path.abspath(own), mine)


def _embed(root: str, stamp: dict[str, Any], name: str, progress: Progress | None) -> None:
    """Vectors for what lacks them; what a run that was cut short embedded stays."""
    said: dict[str, Any] = {}
    for said in child.work({"op": "embed", "home": root}, child.environment(root)):
        if progress is not None and "done" in said:
            progress(said["done"], said["total"], f"{name}: embedding")
    if said.get("pending") != 0:
        raise Internal(f"the corpus in {root} was not embedded whole: {said.get('pending')} pending", "run it again")
    stamp["embedded"] = _modules(said["modules"])
    write_atomic(os.path.join(root, _STAMP), json.dumps(stamp).encode())


def _stamp(root: str) -> dict[str, Any] | None:
    try:
        with open(os.path.join(root, _STAMP), encoding="utf-8") as stream:
            stamp: dict[str, Any] = json.load(stream)
    except (OSError, ValueError):
        return None
    return stamp


def _modules(files: Any) -> dict[str, str]:
    """The digest of each source file, "" for one that is gone. Paths are relative to the checkout's root."""
    found = {}
    for file in files:
        relative = os.path.relpath(file, child.ROOT) if os.path.isabs(file) else file
        try:
            raw = Path(child.ROOT, relative).read_bytes()
        except OSError:
            found[relative] = ""
        else:
            found[relative] = hashlib.sha256(raw).hexdigest()[:16]
    return found
