"""``qmd embed`` and ``qmd provider``: compute missing embeddings, and choose their provider."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Any

from core.config import EMBEDDERS, embedder
from core.errors import BadInput
from core.processes.speed import Pace
from qmd import ecma, trust
from qmd.app.projects import trusted
from qmd.app.searching import wanted
from qmd.index import catalogue, collections
from qmd.index.semantic import spaces

if TYPE_CHECKING:
    from qmd.app.session import Session

_HINT = "If qmd still behaves unexpectedly, run 'qmd doctor' for diagnostics."
_MINUTES = 30.0


def section(session: Session) -> dict[str, Any]:
    """Return the section ``embedding``; empty for a project's configuration that is not approved.

    An unapproved section would choose where the user's texts and key are sent.
    """
    return session.config.embedding if trust.is_approved(session.settings, session.config) else {}


def active(session: Session) -> str:
    """Return ``provider/model`` in force: ``--provider`` and ``--model``, else the configuration's, else the local
    model.
    """
    given = session.arguments.text
    return "/".join(embedder(section(session), given.get("provider", ""), given.get("model", "")))


def embed(session: Session) -> None:
    """Compute missing embeddings. Raises Exit for a bad option, BrainError if no provider can embed."""
    arguments, out = session.arguments, session.out
    deadline = _check(session)
    approved = trusted(session)
    connection = session.index_to_write
    names = wanted(session, defaults=False)
    if approved:
        from core.config_yaml import check

        check(session.settings.config_path, "embedding", session.config.embedding)
    if not catalogue.has_any(connection):
        out.line(out.paint("green", "✓ All content hashes already have embeddings."))
        return
    from qmd.embedding import embedder as run
    from qmd.embedding.provider import make

    started = time.monotonic()
    with run.alone(_lock(session)):
        provider = make(
            section(session), os.environ, arguments.text.get("provider", ""), arguments.text.get("model", "")
        )
        try:
            report = run.embed(
                connection,
                provider,
                collections=names,
                force="force" in arguments.flags,
                # Without the option, keep each document's present strategy.
                strategy=arguments.chunk_strategy if "chunk-strategy" in arguments.flags else "",
                deadline=deadline,
                progress=_Bar(session) if out.progress else None,
            )
        finally:
            provider.close()
    if out.progress:
        out.status("\r\x1b[K")
    for digest, reason in report.failed.items():
        out.error(out.paint("yellow", f"⚠ #{digest[:6]} was not embedded: {reason}"))
    renewing = sum(report.renewing.values())
    if not report.chunks and not report.failed and not report.pending and not renewing:
        out.line(out.paint("green", "✓ All content hashes already have embeddings."))
        return
    took = time.monotonic() - started
    done = f"{report.chunks} chunks from {report.texts} documents in {_span(took)} ({report.space.name})"
    out.line(f"{out.paint('green', '✓ Done!')} Embedded {done}")
    waiting = sum(report.pending.values())
    if waiting:
        out.line(f"{waiting} documents still wait: run 'qmd embed' again")
    if renewing:
        out.line(f"{renewing} documents keep their old vectors until they are renewed: run 'qmd embed' again")


def provider(session: Session) -> None:
    """Show or set the embedding provider. Raises BadInput for an unknown one."""
    arguments, out = session.arguments, session.out
    name = arguments.words[0] if arguments.words else _asked(session)
    if name:
        if name not in EMBEDDERS:
            raise BadInput(f"Unknown provider: {name}\nProviders: {', '.join(EMBEDDERS)}")
        model = arguments.text.get("model", "")
        if not (model or EMBEDDERS[name]):
            raise BadInput(f"{name} wants a model: qmd provider {name} --model <name>")
        _set(session, name, model)
    out.line(f"Active: {active(session)}")
    if name:
        return
    for space in spaces.listed(session.index):
        out.line(f"  {space.name}: {spaces.count(session.index, space)} vectors")
    out.line(out.paint("dim", f"qmd provider <name> [--model <model>] sets it; providers: {', '.join(EMBEDDERS)}"))


def _set(session: Session, name: str, model: str) -> None:
    approved = trust.is_approved(session.settings, session.config)

    def edit(data: Any) -> None:
        entry = data.get("embedding")
        if not isinstance(entry, dict):
            data["embedding"] = entry = {}
        if entry.get("provider", "local") != name:
            # These keys belong to the former provider.
            for key in ("base_url", "dimensions", "window", "path"):
                entry.pop(key, None)
        entry["provider"] = name
        entry.pop("model", None)
        if model:
            entry["model"] = model
            entry.pop("path", None)

    collections.change_file(session.settings, edit)
    session.changed()
    if approved:
        # The user's own command needs no second approval.
        trust.approve(session.settings, session.config)


def _asked(session: Session) -> str:
    """Return the provider that a user at a terminal chooses; "" for none."""
    import sys

    out = session.out
    if not (out.terminal and sys.stdin is not None and sys.stdin.isatty()):
        return ""
    out.write(out.shown(f"Provider ({', '.join(EMBEDDERS)}; empty to keep {active(session)}): "))
    out.flush()
    return sys.stdin.readline().strip()


def _check(session: Session) -> float | None:
    """Return the deadline (``time.monotonic()``), None for none. Raises Exit for options that are no numbers."""
    arguments = session.arguments
    for option, name in (("max-docs-per-batch", "maxDocsPerBatch"), ("max-batch-mb", "maxBatchBytes")):
        if option in arguments.flags:
            value = ecma.to_number(arguments.text.get(option, "true"))
            if value is None or not value.is_integer() or value < 1:
                raise session.fail(f"{name} must be a positive integer", _HINT)
    arguments.chunk_strategy  # noqa: B018  # raises for an unknown one
    minutes: float | None = _MINUTES
    if "timeout" in arguments.flags:
        minutes = ecma.to_number(arguments.text.get("timeout", "true"))
        if minutes is None or not 0 <= minutes < float("inf"):
            raise session.fail("--timeout must be a non-negative number of minutes (0 = no limit)", _HINT)
    return time.monotonic() + minutes * 60 if minutes else None


def _lock(session: Session) -> str:
    brain = session.settings.brain
    return os.path.join(brain.state, "embed.lock") if brain else f"{session.settings.database}.embed-lock"


class _Bar:
    """A progress line on a terminal's stderr: share, rate, time left."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._pace = Pace()

    def __call__(self, done: int, total: int, _: str) -> None:
        self._pace.at(done)
        seconds, speed = self._pace.left(total), self._pace.speed()
        left = f" ETA: {_span(seconds)}" if seconds is not None else ""
        rate = f" {speed:,.0f} tokens/s" if speed else ""
        share = round(done / total * 100) if total else 100
        self._session.out.status(f"\r\x1b[KEmbedding: {share}%{rate}{left}")


def _span(seconds: float) -> str:
    if seconds < 60:
        return f"{round(seconds)}s"
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes}m {rest}s" if minutes < 60 else f"{minutes // 60}h {minutes % 60}m"
