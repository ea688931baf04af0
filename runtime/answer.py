"""One question, answered by the resident process where there is one, else here: the same envelope either way.

``BRAIN_QMD`` may name another program that is to answer instead, as it does for ``brain ask``.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from runtime.query import validate
from runtime.request import DEFAULT_TIMEOUT_S, ask_there, serving

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
    found = None
    if share and os.path.exists(home.socket()):
        found, warm = ask_there(home, config, question, request, share, timeout)
        if found is not None and warm:
            return found, True
    if found is None:
        from runtime.ask import Asker

        with Asker(home, config, request.timeout_s or timeout) as asker:
            found = asker.ask(question, request)
    if section.get("serve") == "on-demand":
        from runtime.resident.control import on_demand

        on_demand(home, environ)
    return found, False
