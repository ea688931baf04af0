"""One question, answered by the resident process where there is one, else here: the same envelope either way.

``BRAIN_QMD`` may name another program that is to answer instead, as it does for ``brain ask``.
"""

from __future__ import annotations

import os
import time

from runtime.asking.request import other_engine, resident_share, validate

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from core.config import Config
    from core.home import Home
    from runtime.asking.ask import Asker
    from runtime.asking.request import Request


# A resident process that gave no answer for so long is not asked again by a batch.
_HUNG_S = 1.0


def answer(
    home: Home, config: Config, question: str, request: Request, environ: Mapping[str, str], *, builtin: bool = False
) -> tuple[dict[str, Any], bool]:
    """Return (the envelope, True if a resident process gave it), within the request's time. Raises as ``Asker.ask``.

    With ``builtin`` this program's engine answers, whatever ``BRAIN_QMD`` says. A resident process is started for later
    questions, where that helps.
    """
    environ = {**environ, "BRAIN_QMD": ""} if builtin else environ
    question = validate(question, literal=request.literal)
    found, how = find_answer(home, config, question, request, environ)
    if config.serve != "off" and not how.get("warm") and not other_engine(environ):
        from runtime.resident.control import on_demand

        on_demand(home, config, environ, found)
    return found, how.get("warm", False)


def find_answer(
    home: Home, config: Config, question: str, request: Request, environ: Mapping[str, str]
) -> tuple[dict[str, Any], dict[str, bool]]:
    """Return the envelope of a validated question, and ``warm``: True if a resident process gave it.

    ``warm`` is missing if no process was asked. Raises as ``Asker.ask``.
    """
    share = "" if other_engine(environ) else resident_share(request, config)
    found, how = None, dict[str, bool]()
    if share and os.path.exists(home.socket):
        timeout = request.timeout_s or config.timeout_s
        found, how["warm"] = ask_there(home, config, question, request, share, timeout)
    if found is None:
        with open_asker(home, config, request, environ) as asker:
            found = asker.ask(question, request)
    return found, how


def open_asker(home: Home, config: Config, request: Request, environ: Mapping[str, str]) -> Asker:
    """Return this program's engine, or the program that ``BRAIN_QMD`` names. Raises BadInput for what it cannot do."""
    from core import jsonb  # noqa: F401  # so that apsw comes without what it would import besides

    if engine := other_engine(environ):
        from runtime.asking import foreign

        foreign.refuse(request)
        return foreign.ForeignAsker(home, config, engine, environ, request.timeout_s)
    if config.engine is not None and not request.own:
        from runtime.asking.team import TeamAsker

        return TeamAsker(home, config, request.timeout_s)
    from runtime.asking.ask import Asker

    return Asker(home, config, request.timeout_s)


def ask_there(
    home: Home, config: Config, question: str, request: Request, share: str, timeout_s: float
) -> tuple[dict[str, Any] | None, bool]:
    """Ask the resident process, if its socket exists: return (the envelope, True if the process did its ``share``).

    (None, False) if that process gives no answer: ``request`` then has the time that is left. Raises as ``Asker.ask``
    if the rest is done here.
    """
    if share == "encode":
        from runtime.resident import served

        return served.ask(home, config, question, request, timeout_s)
    from runtime.resident import client

    started = time.monotonic()
    envelope = client.ask(home, question, request, timeout_s)
    if envelope is None:
        request.timeout_s = max(0.001, timeout_s - (time.monotonic() - started))
    return envelope, envelope is not None


class Warm:
    """One question after another, by the resident process while it answers, else by ``asker``."""

    def __init__(self, home: Home, config: Config, asker: Asker) -> None:
        self._home = home
        self._config = config
        self._asker = asker
        self._hung = False

    @property
    def path(self) -> str:
        """The index that is asked."""
        return self._home.index

    def ask(self, question: str, request: Request) -> dict[str, Any]:
        """The envelope of one question. Raises as ``Asker.ask``."""
        share = resident_share(request, self._config)
        if self._hung or not share or not os.path.exists(self._home.socket):
            return self._asker.ask(question, request)
        question = validate(question, literal=request.literal)
        given, started = request.timeout_s, time.monotonic()
        timeout = given or self._config.timeout_s
        try:
            envelope, _ = ask_there(self._home, self._config, question, request, share, timeout)
            # One that does not answer is not waited for with each question.
            self._hung = envelope is None and time.monotonic() - started > _HUNG_S
            return self._asker.ask(question, request) if envelope is None else envelope
        finally:
            request.timeout_s = given
