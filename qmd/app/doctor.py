"""``qmd doctor``: is everything there, and what would help. Findings are printed; the exit code is 0."""

from __future__ import annotations

import os

from core.errors import BrainError
from qmd import models
from qmd.app import expanding, figures

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    import apsw

    from qmd.app.session import Session

# What an environment variable changes here. Those of a native model runtime change nothing, and are not listed.
_OVERRIDES = {
    "INDEX_PATH": "the index is this file",
    "QMD_CONFIG_DIR": "the configuration is read from this folder, whatever XDG_CONFIG_HOME says",
    "XDG_CONFIG_HOME": "the configuration is read from its qmd folder, unless QMD_CONFIG_DIR is set",
    "XDG_CACHE_HOME": "the default index and the MCP server's PID files lie in its qmd folder",
    "QMD_EMBED_MODEL": "the embedding model whose vectors are looked for, unless the configuration names one",
    "QMD_GENERATE_MODEL": "what expands queries (openai:MODEL, llm:MODEL), unless the configuration names it",
    "QMD_RERANK_MODEL": "the model that reranks, unless the configuration names one",
    "QMD_SQLITE_BUSY_TIMEOUT": "how long to wait for another process's lock, in milliseconds",
    "QMD_EDITOR_URI": "the template of links into an editor",
    "QMD_SKILLS_DIR": "where skills are looked for",
    "QMD_TRUST_LOCAL_CONFIG": "approves what every project's configuration asks for",
    "QMD_TRUST_UPDATE_HOOKS": "approves what every project's configuration asks for",
    "NO_COLOR": "no colours",
}
_SHOWN = 96


class _Findings:
    def __init__(self, session: Session) -> None:
        self._session = session
        self.steps: list[str] = []

    def add(self, label: str, good: bool, details: str, step: str = "") -> None:
        out = self._session.out
        mark = out.paint("green", "✓") if good else out.paint("yellow", "⚠")
        out.line(f"{mark} {label}: {details}")
        if step and step not in self.steps:
            self.steps.append(step)


def run(session: Session) -> None:
    """Print the findings, and what to do next."""
    import apsw

    out = session.out
    findings = _Findings(session)
    out.line(f"{out.paint('bold', 'QMD Doctor')}\n")
    out.line(f"Index: {session.settings.database}")
    out.line("Runtime: apsw")
    findings.add("SQLite runtime", True, apsw.sqlite_lib_version())
    _config(session, findings)
    _environment(session, findings)
    try:
        connection = session.index
        _models(session, findings)
        _integrity(connection, findings)
        _vectors(session, connection, findings)
    except (BrainError, apsw.Error) as error:
        failure = error if isinstance(error, BrainError) else session.explain(error)
        findings.add("index", False, failure.message, failure.fix)
    if findings.steps:
        title = "Recommended next step" + ("s" if len(findings.steps) > 1 else "")
        out.line(f"\n{out.paint('bold', title)}")
        for step in findings.steps:
            out.line(f"  - {step}")


def _config(session: Session, findings: _Findings) -> None:
    from qmd import settings

    path = session.settings.config_path
    try:
        count = len(settings.read(session.settings).collections)
    except BrainError as error:
        findings.add(
            "index config",
            False,
            f"invalid index.yml at {path}: {error.message}. Next: fix the YAML and rerun `qmd doctor`",
            f"Fix invalid YAML in {path}, then rerun `qmd doctor`.",
        )
        return
    if count:
        noun = "collection" if count == 1 else "collections"
        findings.add("index config", True, f"{figures.grouped(count)} {noun} configured")
    else:
        findings.add(
            "index config",
            False,
            "no collections configured. Next: `qmd collection add .`",
            "Run `qmd collection add . --name <name>` from the folder you want to index,"
            " or edit .qmd/index.yml manually.",
        )


def _environment(session: Session, findings: _Findings) -> None:
    found = [(name, value) for name in _OVERRIDES if (value := os.environ.get(name, "").strip())]
    findings.add("environment overrides", not found, f"{len(found)} set" if found else "none")
    for name, value in found:
        shown = value if len(value) <= _SHOWN else f"{value[: _SHOWN - 3]}..."
        session.out.line(f"  - {name}={session.out.safe(shown)}: {_OVERRIDES[name]}")


def _models(session: Session, findings: _Findings) -> None:
    active = models.resolve(session.config.models, os.environ)
    notes = [f"{slot}: {uri}" for slot, uri in active.items() if uri != models.DEFAULTS[slot]]
    if notes:
        findings.add("model defaults", False, f"non-default model configuration: {'; '.join(notes)}")
    else:
        findings.add("model defaults", True, "using QMD codebase defaults")
    _generator(session, findings)
    findings.add("model cache", True, "nothing to download: keyword search uses no model")


def _generator(session: Session, findings: _Findings) -> None:
    """Whether questions can be expanded; that none was asked for is no fault."""
    try:
        choice = expanding.chosen(session)
        if not isinstance(choice, str):
            from qmd.generation.generator import make

            make(choice, os.environ)
    except BrainError as error:
        findings.add("query expansion", False, error.message, error.fix)
        return
    if isinstance(choice, str):
        findings.add("query expansion", True, f"plain queries are not expanded: {session.out.safe(choice)}")
    else:
        findings.add("query expansion", True, f"by {session.out.safe(choice.name)}, in {choice.timeout_s:g} s at most")


def _integrity(connection: apsw.Connection, findings: _Findings) -> None:
    problems = [str(problem) for (problem,) in connection.execute("PRAGMA quick_check(3)") if problem != "ok"]
    if problems:
        step = "Move the index away, then run `qmd update` to make it anew from your files."
        findings.add("index integrity", False, "; ".join(problems), step)
    else:
        findings.add("index integrity", True, "ok")


def _vectors(session: Session, connection: apsw.Connection, findings: _Findings) -> None:
    active = models.resolve(session.config.models, os.environ)["embed"]
    current = models.fingerprint(active)
    pending = models.waiting(connection, session.config)
    if pending:
        details = f"{figures.grouped(pending)} active documents need embeddings. Next: `qmd embed`"
        findings.add("embedding freshness", False, details)
    else:
        findings.add("embedding freshness", True, "all active documents match current fingerprint")
    groups = list(_groups(connection, active, current))
    if not groups:
        findings.add("embedding fingerprints", True, f"no vectors yet; current fingerprint {current}")
        return
    good = [group for group in groups if group[0]]
    details = "; ".join(text for _, text in groups)
    findings.add("embedding fingerprints", len(good) == len(groups), details)


def _groups(connection: apsw.Connection, active: str, current: str) -> Iterator[tuple[bool, str]]:
    """(whether they are of the model in force, description) of the vectors that the index has, by model."""
    for model, fingerprint, documents, chunks in connection.execute(
        "SELECT model, embed_fingerprint, count(DISTINCT hash), count(*) FROM content_vectors"
        " GROUP BY model, embed_fingerprint ORDER BY count(*) DESC, model"
    ):
        label = "current" if fingerprint == current else fingerprint or "legacy"
        sizes = f"{figures.grouped(documents)} docs/{figures.grouped(chunks)} chunks"
        yield model == active and fingerprint == current, f"{models.short_name(model)}:{label} {sizes}"
