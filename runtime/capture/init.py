"""``brain init``: a home, something in it, and a first question, whatever the machine has."""

from __future__ import annotations

import os
from os.path import basename, join
from typing import TYPE_CHECKING, Any

from core import config as configuration
from core.errors import BadInput, BrainError
from core.files import write_atomic
from core.home import PRIVATE_DIR, shipped
from qmd.index import catalogue
from runtime.capture import demo as demo_set

if TYPE_CHECKING:
    from core.config import Config
    from core.home import Home
    from ingest.raw.store import SourceFile
    from runtime.capture.indexing import Progress

DEMO_QUESTION = "why did the permission hook fail"
_COLLECTION = "brain"
_TITLE_WORDS = 8
_HITS = 2


def setup(
    home: Home,
    *,
    demo: bool = False,
    folder: str | None = None,
    index: bool = True,
    write_config: bool = False,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Make the home, index what there is to index, ask a first question; running it again changes nothing.

    Sessions come from ``folder``, else from this machine, else, into a brain that holds nothing yet, from the demo set;
    ``demo`` takes the demo set whatever there is. ``index`` False stops after looking. Returns the envelope of
    ``brain init --json``; its "demo" is True if the demo set was indexed. Raises BadInput, LockContention and
    EngineMissing.
    """
    if demo and folder:
        raise BadInput("--demo and --from name two different sources", "give one of them")
    if folder and not os.path.isdir(folder):
        raise BadInput(f"not a folder: {folder}", "brain init --from ~/old-machine/.claude/projects")
    home.make()
    os.chmod(home.root, PRIVATE_DIR)  # one that somebody made by hand is as open as all folders
    written = _write_config(home) if write_config else False
    config = configuration.load(home)
    sessions = 0 if demo else _sessions(home, folder)
    use_demo = demo or not (sessions or folder or _holds_sessions(home))
    report: dict[str, Any] = {
        "schema": 1,
        "ok": True,
        "home": home.root,
        "config": config.path,
        "config_written": written,
        "sessions": sessions,
        "demo": use_demo and index,
        "demo_left": 0,
        "index": None,
        "documents": {},
        "question": None,
        "answer": None,
    }
    if index:
        _fill(home, config, report, folder, progress)
    return report


def _fill(home: Home, config: Config, report: dict[str, Any], folder: str | None, progress: Progress | None) -> None:
    from runtime.capture.indexing import index

    roots = [demo_set.folder()] if report["demo"] else [folder] if folder else None
    # This machine's sessions are those of every agent that has been at work on it.
    report["index"] = index(home, config, source=demo_set.SOURCE if roots else None, roots=roots, progress=progress)
    report["demo_left"] = report["index"].get("demo_left", 0)
    report["documents"] = _held(home)
    question = DEMO_QUESTION if report["demo"] else _question(home, config)
    if question:
        report["question"] = question
        report["answer"] = _answer(home, config, question)


def _held(home: Home) -> dict[str, int]:
    """Return the number of documents in the index, by collection, most first."""
    from qmd.index.store import open_index

    connection = open_index(home.index)
    try:
        found = catalogue.counts(connection)
        return dict(sorted(found.items(), key=lambda each: (-each[1], each[0])))
    finally:
        connection.close()


def _write_config(home: Home) -> bool:
    """Put the shipped configuration into the home, to be edited; one that is there stays as it is."""
    path = home.path(configuration.FILE)
    if os.path.exists(path):
        return False
    with open(shipped(configuration.FILE), "rb") as stream:
        write_atomic(path, stream.read())
    return True


def _sessions(home: Home, folder: str | None) -> int:
    """Return the number of transcripts to index, without those of Claude Code's subagents."""
    from ingest import registry

    found: list[SourceFile] = []
    for name in (demo_set.SOURCE,) if folder else registry.present(home):
        source = registry.source(name)
        files = source.discover([folder] if folder else source.default_roots(home))
        found += [file for file in files if not source.is_history(file.path)]
    return sum(not file.skip and not basename(file.path).startswith("agent-") for file in found)


def _documents(home: Home) -> list[str]:
    """Return the sessions in the corpus, as paths of markdown files."""
    folder = home.path(_COLLECTION)
    try:
        return [join(folder, name) for name in sorted(os.listdir(folder)) if name.endswith(".md")]
    except FileNotFoundError:
        return []


def _holds_sessions(home: Home) -> bool:
    """Return True if the brain holds sessions other than the demo set's."""
    demo = demo_set.documents()
    return any((_COLLECTION, basename(path)) not in demo for path in _documents(home))


def _question(home: Home, config: Config) -> str | None:
    """Return the words of the newest session's title: a question that this memory must be able to answer."""
    from core import clock
    from runtime.asking.recent import recent

    newest = recent(home, config, since=0, now=clock.now(), collections=(_COLLECTION,), limit=1)["items"]
    title = newest[0]["title"] if newest else ""
    kept = "".join(mark if mark.isalnum() or mark in "-_./'" else " " for mark in title)
    return " ".join(kept.split()[:_TITLE_WORDS]) or None


def _answer(home: Home, config: Config, question: str) -> dict[str, Any]:
    """Return the envelope of the first question; a failure does not undo the set-up."""
    from runtime.asking.ask import Asker, Request

    try:
        with Asker(home, config) as asker:
            return asker.ask(question, Request(limit=_HITS, literal=True, rerank=False))
    except BrainError as error:
        return error.envelope()
