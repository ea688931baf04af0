"""What ``qmd doctor`` finds of models and vectors. Each function returns (whether it is well, details)."""

from __future__ import annotations

import os
from os.path import basename, isdir, isfile, join

from qmd.app import figures
from qmd.vectors import models

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    import apsw

    from qmd.settings import Config, Settings

_ROLES = {"embed": "embedding", "generate": "generation", "rerank": "reranking"}
_SAMPLE = 3
_AGAIN = "please run qmd embed again"
# A vector of length 1 times 127, each of its numbers rounded (docs/index-schema.md).
_LENGTH = 127
_OFF = 0.05


def defaults(configured: Mapping[str, str], environ: Mapping[str, str]) -> tuple[bool, str]:
    """Which models are not qmd's own, and who chose them."""
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


def cache(settings: Settings, configured: Mapping[str, str], environ: Mapping[str, str]) -> tuple[bool, str]:
    """Whether the models that somebody chose and the real qmd would load are what they should be, where they are here.

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
    """What is wrong with a model's file, empty where nothing is."""
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


def device(environ: Mapping[str, str]) -> tuple[bool, str]:
    """Where models run."""
    if environ.get("QMD_FORCE_CPU", "").strip().lower() not in ("", "0", "false", "off", "no"):
        return True, "CPU forced (QMD_FORCE_CPU)"
    return True, "auto: the CPU, which is all that the built-in model uses"


def probe(environ: Mapping[str, str]) -> tuple[bool, str]:
    """Whether a graphics card was looked for: never, which is well unless somebody asked."""
    value = environ.get("QMD_DOCTOR_DEVICE_PROBE", "").strip()
    if value.lower() in ("0", "off", "false", "no"):
        return True, f"skipped by QMD_DOCTOR_DEVICE_PROBE={value}; there is nothing to probe either way"
    return True, "nothing to probe: no graphics card is used"


def fingerprints(connection: apsw.Connection, active: str) -> list[tuple[str, bool, str]]:
    """(label, whether it is well, details) of the vectors that the real qmd has made, by model."""
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
        sizes = f"{figures.grouped(documents)} docs/{figures.grouped(chunks)} chunks"
        groups.append(f"{models.short_name(model)}:{label} {sizes}")
    good = all(model == active and fingerprint == current for model, fingerprint, _, _ in rows)
    return [*found, ("embedding fingerprints", good, "; ".join(groups))]


def sample(connection: apsw.Connection, config: Config) -> tuple[bool, str]:
    """Whether a few texts that count as embedded have vectors, and such as a model makes. Raises EngineMissing."""
    from core.config import embedder
    from qmd.index.schema import SPAN
    from qmd.vectors import vectors

    if not connection.execute("SELECT 1 FROM documents WHERE active = 1 LIMIT 1").get:
        return True, "no active documents indexed"
    active = "/".join(embedder(config.embedding))
    space = next((each for each in vectors.spaces(connection) if each.name == active), None)
    if space is None:
        return False, f"no vector table to test; {_AGAIN}"
    rows: Any = connection.execute(
        "SELECT c.id FROM brain_embedded e JOIN brain_chunks c ON c.id = e.cut * ? WHERE e.model = ? AND e.done > 0"
        " ORDER BY random() LIMIT ?",
        (SPAN, space.id, _SAMPLE),
    ).fetchall()
    if not rows:
        return False, f"no current embedded chunks to test; {_AGAIN}"
    vectors.load(connection)
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
