"""One question, answered by the resident process where there is one, else here: the same envelope either way.

``BRAIN_QMD`` may name another program that is to answer instead, as it does for ``brain ask``.
"""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Any

from runtime.query import validate
from runtime.request import DEFAULT_TIMEOUT_S, serving

if TYPE_CHECKING:
    from collections.abc import Mapping

    from core.config import Config
    from core.home import Home
    from runtime.request import Request


BUILTIN = "builtin"


def answer(
    home: Home, config: Config, question: str, request: Request, environ: Mapping[str, str], *, builtin: bool = False
) -> tuple[dict[str, Any], bool]:
    """(the envelope, whether a resident process gave it), within the request's time. Raises as ``Asker.ask``.

    With ``builtin`` this program's engine answers, whatever ``BRAIN_QMD`` says.
    """
    question = validate(question, literal=request.literal)
    section = config.section("ask")
    timeout = request.timeout_s or float(section.get("timeout_s") or DEFAULT_TIMEOUT_S)
    engine = BUILTIN if builtin else environ.get("BRAIN_QMD") or BUILTIN
    if engine != BUILTIN:
        from runtime.foreign import ForeignAsker

        with ForeignAsker(home, config, engine, environ, timeout) as foreign:
            return foreign.ask(question, request), False
    share = serving(request, section)
    started = time.monotonic()
    is_there = bool(share) and os.path.exists(home.socket())
    if is_there and share == "answer":
        from runtime.resident import client

        warm = client.ask(home, question, request, timeout)
        if warm is not None:
            return warm, True
    left = max(0.001, timeout - (time.monotonic() - started))
    if is_there and share == "encode":
        from runtime.resident import served

        envelope, encoded = served.ask(home, config, question, request, left)
        if encoded:
            return envelope, True
    else:
        from runtime.ask import Asker

        request.timeout_s = left
        with Asker(home, config, left) as asker:
            envelope = asker.ask(question, request)
    if section.get("serve") == "on-demand":
        from runtime.resident.control import on_demand

        on_demand(home, environ)
    return envelope, False
