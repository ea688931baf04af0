"""``qmd doctor``: is everything there, and what would help. Findings are printed; the exit code is 0."""

from __future__ import annotations

import os

from core.errors import BrainError
from qmd.app import environment, expanding, figures, model_checks, semantic
from qmd.app.embedding import active
from qmd.index import damage
from qmd.vectors import models, vec0

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    import apsw

    from qmd.app.session import Session


_NONE = "none"


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
    _sqlite_vec(findings)
    configured = _config(session, findings)
    _environment(session, configured, findings)
    _models(session, configured, findings)
    try:
        connection = session.index
        generator, reranker = _generator(session, findings), _reranker(session, findings)
        findings.add("models", True, f"embed {active(session)}; generate {generator}; rerank {reranker}")
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


def _sqlite_vec(findings: _Findings) -> None:
    import apsw

    connection = apsw.Connection(":memory:")
    try:
        vec0.load(connection)
        findings.add("sqlite-vec", True, str(connection.execute("SELECT vec_version()").get))
    except BrainError as error:
        findings.add("sqlite-vec", False, error.message, error.fix)
    finally:
        connection.close()


def _config(session: Session, findings: _Findings) -> Mapping[str, str]:
    """The models that the configuration names; none where it cannot be read."""
    from qmd import settings

    path = session.settings.config_path
    try:
        config = settings.read(session.settings)
    except BrainError as error:
        findings.add(
            "index config",
            False,
            f"invalid index.yml at {path}: {error.message}. Next: fix the YAML and rerun `qmd doctor`",
            f"Fix invalid YAML in {path}, then rerun `qmd doctor`.",
        )
        return {}
    count = len(config.collections)
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
    return config.models


def _environment(session: Session, configured: Mapping[str, str], findings: _Findings) -> None:
    found = list(environment.overrides(os.environ, configured))
    findings.add("environment overrides", not found, f"{len(found)} set" if found else "none")
    for name, value, meaning in found:
        session.out.line(f"  - {name}={value}: {meaning}")


def _models(session: Session, configured: Mapping[str, str], findings: _Findings) -> None:
    findings.add("model defaults", *model_checks.defaults(configured, os.environ))
    findings.add("model cache", *model_checks.cache(session.settings, configured, os.environ))
    findings.add("device mode", *model_checks.device(os.environ))
    findings.add("device probe", *model_checks.probe(os.environ))


def _generator(session: Session, findings: _Findings) -> str:
    """Find out if questions can be expanded, and return by which model; none is no fault if nobody asked for one."""
    try:
        choice = expanding.chosen(session)
        if not isinstance(choice, str):
            from qmd.generation.generator import make

            make(choice, os.environ)
    except BrainError as error:
        findings.add("query expansion", False, error.message, error.fix)
        return _NONE
    if isinstance(choice, str):
        findings.add("query expansion", True, f"plain queries are not expanded: {choice}")
        return _NONE
    findings.add("query expansion", True, f"by {choice.name}, in {choice.timeout_s:g} s at most")
    return choice.name


def _reranker(session: Session, findings: _Findings) -> str:
    """Find out if the best candidates can be reranked, and return by which model, as ``_generator`` does."""
    try:
        judge = semantic.reranker(session)
    except BrainError as error:
        findings.add("reranking", False, error.message, error.fix)
        return _NONE
    if judge is None:
        findings.add("reranking", True, "there is no reranker: the order is that of the fused ranks")
        return _NONE
    judge.close()
    findings.add("reranking", True, f"by {judge.name}, in {judge.timeout_s:g} s at most")
    return judge.name


def _integrity(connection: apsw.Connection, findings: _Findings) -> None:
    problem = damage.first(connection)
    if problem:
        step = "Move the index away, then run `qmd update` to make it again from your files."
        findings.add("index integrity", False, problem, step)
    else:
        findings.add("index integrity", True, "ok")


def _vectors(session: Session, connection: apsw.Connection, findings: _Findings) -> None:
    pending = models.waiting(connection, session.config)
    if pending:
        details = f"{figures.grouped(pending)} active documents need embeddings. Next: `qmd embed`"
        findings.add("embedding freshness", False, details)
    else:
        findings.add("embedding freshness", True, "all active documents match current fingerprint")
    active = models.resolve(session.config.models, os.environ)["embed"]
    for label, good, details in model_checks.fingerprints(connection, active):
        findings.add(label, good, details)
    findings.add("embedding vector sample", *model_checks.sample(connection, session.config))
