"""``qmd doctor``: check configuration, models, environment and index. It prints findings; the exit code is 0."""

from __future__ import annotations

import os
from os.path import basename, isdir, isfile, join

from core.errors import BrainError
from qmd.app import semantic
from qmd.app.embedding import active
from qmd.app.output import grouped
from qmd.index import catalogue, damage
from qmd.index.semantic import spaces
from qmd.vectors import models

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    import apsw

    from qmd.app.session import Session
    from qmd.settings import Config, Settings

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
    """Print the findings and the next steps."""
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
        spaces.load(connection)
        findings.add("sqlite-vec", True, str(connection.execute("SELECT vec_version()").get))
    except BrainError as error:
        findings.add("sqlite-vec", False, error.message, error.fix)
    finally:
        connection.close()


def _config(session: Session, findings: _Findings) -> Mapping[str, str]:
    """Return the models that the configuration names; none if it cannot be read."""
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
        findings.add("index config", True, f"{grouped(count)} {noun} configured")
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
    found = list(_overrides(os.environ, configured))
    findings.add("environment overrides", not found, f"{len(found)} set" if found else "none")
    for name, value, meaning in found:
        session.out.line(f"  - {name}={value}: {meaning}")


def _models(session: Session, configured: Mapping[str, str], findings: _Findings) -> None:
    findings.add("model defaults", *_defaults(configured, os.environ))
    findings.add("model cache", *_cache(session.settings, configured, os.environ))
    findings.add("device mode", *_device(os.environ))
    findings.add("device probe", *_probe(os.environ))


def _generator(session: Session, findings: _Findings) -> str:
    """Check query expansion and return its model's name. No generator is fine unless the configuration names one."""
    try:
        choice = semantic.generator(session)
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
    """Check reranking and return its model's name. No reranker is fine unless the configuration names one."""
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
        details = f"{grouped(pending)} active documents need embeddings. Next: `qmd embed`"
        findings.add("embedding freshness", False, details)
    else:
        findings.add("embedding freshness", True, "all active documents match current fingerprint")
    active = models.resolve(session.config.models, os.environ)["embed"]
    for label, good, details in _fingerprints(connection, active):
        findings.add(label, good, details)
    findings.add("embedding vector sample", *_sample(connection, session.config))


_ROLES = {"embed": "embedding", "generate": "generation", "rerank": "reranking"}
_SAMPLE = 3
_AGAIN = "please run qmd embed again"
# A vector of length 1 times 127, each of its numbers rounded (docs/index-schema.md).
_LENGTH = 127
_OFF = 0.05


def _defaults(configured: Mapping[str, str], environ: Mapping[str, str]) -> tuple[bool, str]:
    """Return the models that differ from qmd's defaults, and who chose them."""
    notes = []
    for slot, role in _ROLES.items():
        default, named = models.DEFAULTS[slot], configured.get(slot)
        name = f"QMD_{slot.upper()}_MODEL"
        value = environ.get(name, "").strip()
        if named and value and named != value:
            notes.append(f"{role}: {name} is set to {value}, but the configuration's {named} counts")
        elif named and named != default:
            notes.append(f"{role}: index {named} (default {default}; might be ok)")
        elif value and value != default:
            notes.append(f"{role}: env {name}={value} (default {default}; might be ok)")
    if notes:
        return False, f"non-default model configuration: {'; '.join(notes)}"
    return True, "using QMD codebase defaults"


def _cache(settings: Settings, configured: Mapping[str, str], environ: Mapping[str, str]) -> tuple[bool, str]:
    """Check the GGUF files of the models that the user chose for the real qmd.

    ``hf:OWNER/REPOSITORY/FILE.gguf`` is looked for by its file's name in the real qmd's folder of models. GGUF files
    begin with these four letters (the GGUF specification of ggml, section "File Structure").
    """
    chosen = {uri for slot, uri in models.resolve(configured, environ).items() if uri != models.DEFAULTS[slot]}
    wanted = sorted(basename(uri) for uri in chosen if uri.startswith("hf:") and uri.endswith(".gguf"))
    if not wanted:
        return True, "nothing to download: the built-in model is installed with the program"
    folder = join(settings.cache_dir, "models")
    present = sorted(os.listdir(folder)) if isdir(folder) else []
    valid, invalid, missing = 0, [], []
    for name in wanted:
        faults = [_fault(join(folder, each)) for each in present if each.endswith(".gguf") and name in each]
        if not faults:
            missing.append(name)
        elif all(faults):
            invalid.append(f"{name}: {faults[0]}")
        else:
            valid += 1
    if not invalid and not missing:
        return True, f"{valid} active {'model is' if valid == 1 else 'models are'} downloaded and valid GGUF"
    parts = [f"invalid {len(invalid)}: {'; '.join(invalid)}"] if invalid else []
    parts += [f"missing {len(missing)}/{len(wanted)}: {'; '.join(missing)}"] if missing else []
    command = "qmd pull --refresh" if invalid else "qmd pull"
    return False, f"{'; '.join(parts)}. Next: `{command}` of the real qmd; this one loads no GGUF models"


def _fault(path: str) -> str:
    """Return the fault of a model's file, "" for none."""
    try:
        with open(path, "rb") as stream:
            head = stream.read(64)
    except OSError as error:
        return error.strerror or "cannot be read"
    if not isfile(path):
        return "not a file"
    if head.startswith(b"GGUF"):
        return ""
    return "HTML page, not a GGUF model" if head.lstrip()[:1] == b"<" else "not a GGUF model"


def _device(environ: Mapping[str, str]) -> tuple[bool, str]:
    """Return where models run."""
    if environ.get("QMD_FORCE_CPU", "").strip().lower() not in ("", "0", "false", "off", "no"):
        return True, "CPU forced (QMD_FORCE_CPU)"
    return True, "auto: the CPU, which is all that the built-in model uses"


def _probe(environ: Mapping[str, str]) -> tuple[bool, str]:
    """Report that no graphics card is probed: the built-in model does not use one."""
    value = environ.get("QMD_DOCTOR_DEVICE_PROBE", "").strip()
    if value.lower() in ("0", "off", "false", "no"):
        return True, f"skipped by QMD_DOCTOR_DEVICE_PROBE={value}; there is nothing to probe either way"
    return True, "nothing to probe: no graphics card is used"


def _fingerprints(connection: apsw.Connection, active: str) -> list[tuple[str, bool, str]]:
    """Return (label, whether it is well, details) of the vectors that the real qmd has made, by model."""
    current = models.fingerprint(active)
    rows: Any = connection.execute(
        "SELECT model, embed_fingerprint, count(DISTINCT hash), count(*) FROM content_vectors"
        " GROUP BY model, embed_fingerprint ORDER BY count(*) DESC, model"
    ).fetchall()
    if not rows:
        return [("embedding fingerprints", True, f"no vectors yet; current fingerprint {current}")]
    found = []
    named = {fingerprint for _, fingerprint, _, _ in rows if fingerprint}
    if len(named) > 1:
        details = f"content_vectors has {len(named)}: {', '.join(sorted(named))}. Next: `qmd embed` of the real qmd"
        found.append(("mixed named embedding fingerprints", False, details))
    groups = []
    for model, fingerprint, documents, chunks in rows:
        label = "current" if fingerprint == current else fingerprint or "legacy"
        sizes = f"{grouped(documents)} docs/{grouped(chunks)} chunks"
        groups.append(f"{models.short_name(model)}:{label} {sizes}")
    good = all(model == active and fingerprint == current for model, fingerprint, _, _ in rows)
    return [*found, ("embedding fingerprints", good, "; ".join(groups))]


def _sample(connection: apsw.Connection, config: Config) -> tuple[bool, str]:
    """Check that a sample of embedded chunks has vectors of length 1. Raises EngineMissing."""
    from core.config import embedder
    from qmd.index.schema import SPAN
    from qmd.index.semantic import spaces

    if not catalogue.has_any(connection):
        return True, "no active documents indexed"
    active = "/".join(embedder(config.embedding))
    space = next((each for each in spaces.listed(connection) if each.name == active), None)
    if space is None:
        return False, f"no vector table to test; {_AGAIN}"
    rows: Any = connection.execute(
        "SELECT c.id FROM brain_embedded e JOIN brain_chunks c ON c.id = e.cut * ? WHERE e.model = ? AND e.done > 0"
        " ORDER BY random() LIMIT ?",
        (SPAN, space.id, _SAMPLE),
    ).fetchall()
    if not rows:
        return False, f"no current embedded chunks to test; {_AGAIN}"
    spaces.load(connection)
    bad = 0
    for (chunk,) in rows:
        stored: Any = connection.execute(f'SELECT embedding FROM "{space.table}" WHERE rowid = ?', (chunk,)).get
        numbers = memoryview(stored or b"").cast("b")
        length = float(sum(number * number for number in numbers)) ** 0.5
        bad += len(numbers) != space.dimensions or abs(length / _LENGTH - 1) > _OFF
    if bad:
        return False, f"{bad}/{len(rows)} sampled chunks have no sound vector. Next: `qmd embed --force`"
    noun = "chunk has its" if len(rows) == 1 else "chunks have their"
    return True, f"{len(rows)} sampled {noun} {'vector' if len(rows) == 1 else 'vectors'}, of length 1"


# Some variables concern only the real qmd, which may share this machine's settings and index.
_ELSEWHERE = " (in the real qmd: nothing here reads it)"
_APPROVES = "approves what every project's configuration asks for"
_MEANINGS = {
    "INDEX_PATH": "overrides the SQLite index path: another database is read and written",
    "QMD_CONFIG_DIR": "overrides the QMD config directory, whatever XDG_CONFIG_HOME says",
    "XDG_CONFIG_HOME": "moves the configuration into its qmd folder, unless QMD_CONFIG_DIR is set",
    "XDG_CACHE_HOME": "moves the default index cache and the MCP server's PID files into its qmd folder",
    "QMD_EMBED_MODEL": "",
    "QMD_GENERATE_MODEL": "",
    "QMD_RERANK_MODEL": "",
    "QMD_SQLITE_BUSY_TIMEOUT": "how long to wait for another process's lock, in milliseconds",
    "QMD_FORCE_CPU": f"forces llama.cpp to bypass GPU backends{_ELSEWHERE}",
    "QMD_LLAMA_GPU": f"selects llama.cpp's GPU backend{_ELSEWHERE}",
    "QMD_DOCTOR_DEVICE_PROBE": f"0 skips the probing of graphics cards{_ELSEWHERE}",
    "QMD_EMBED_PARALLELISM": f"how many contexts embed side by side{_ELSEWHERE}",
    "QMD_EXPAND_CONTEXT_SIZE": f"how long a question and its expansions may be{_ELSEWHERE}",
    "QMD_RERANK_CONTEXT_SIZE": f"how much text the reranker sees at once{_ELSEWHERE}",
    "QMD_EMBED_CONTEXT_SIZE": f"how much text the embedding model sees at once{_ELSEWHERE}",
    "QMD_EDITOR_URI": "the template of links into an editor",
    "QMD_SKILLS_DIR": "where skills are looked for",
    "QMD_METAL_KEEP_RESIDENCY": f"keeps memory of Metal resident{_ELSEWHERE}",
    "QMD_TRUST_LOCAL_CONFIG": _APPROVES,
    "QMD_TRUST_UPDATE_HOOKS": _APPROVES,
    "NO_COLOR": "no colours",
    "CI": f"disables real LLM operations{_ELSEWHERE}",
    "HF_ENDPOINT": f"changes Hugging Face download endpoint{_ELSEWHERE}",
    "WSL_DISTRO_NAME": f"paths are taken as the Windows Subsystem for Linux has them{_ELSEWHERE}",
    "WSL_INTEROP": f"paths are taken as the Windows Subsystem for Linux has them{_ELSEWHERE}",
}
_SHOWN = 96


def _overrides(environ: Mapping[str, str], configured: Mapping[str, str]) -> Iterator[tuple[str, str, str]]:
    """Yield (name, value as shown, what it changes) of each that is set; ``configured`` are the
    configuration's models.
    """
    for name, meaning in _MEANINGS.items():
        value = environ.get(name, "").strip()
        if value:
            shown = value if len(value) <= _SHOWN else f"{value[: _SHOWN - 3]}..."
            yield name, shown, meaning or _of_model(name, value, configured)


def _of_model(name: str, value: str, configured: Mapping[str, str]) -> str:
    slot = name.removeprefix("QMD_").removesuffix("_MODEL").lower()
    named = configured.get(slot)
    if named and named != value:
        return f"set but ignored: the configuration's models.{slot} is {named}"
    return f"sets the active {slot} model to {value}"
