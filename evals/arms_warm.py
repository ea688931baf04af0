"""The arm that answers as ``brain serve`` does: the resident process's own role and its model, without the socket."""

from __future__ import annotations

import os
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from core.errors import Internal
from evals.arms import Unavailable
from evals.arms_ask import BY_TABLE, embedded, found, options
from runtime.resident.client import caller
from runtime.resident.encoder import Model
from runtime.resident.roles import Asking
from runtime.resident.server import IDLE_S, MEMORY_BYTES

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager

    from evals.arms import Answer, Place

_LOAD_S = 60.0
_POLL_S = 0.02
# Time for a question in which a loaded machine gives the model's vector as well: half of it may be waited for.
_QUESTION_S = 20.0


def warm(place: Place, mode: str = "", min_score: str = "") -> AbstractContextManager[Answer]:
    """``evals.arms_ask.ask``, but encoded by the model. Raises BadInput, Unavailable where there is nothing for it."""
    given = options(mode, min_score)
    embedded(place)
    return _warm(place, given)


@contextmanager
def _warm(place: Place, given: dict[str, Any]) -> Iterator[Answer]:
    model = Model(os.environ, MEMORY_BYTES, IDLE_S)
    asking = Asking(place.home, model)
    operation = asking.operations["ask"]
    me = caller(place.home)
    scope = [place.scope] if place.scope else []
    request = {**given, "literal": True, "collections": scope, "timeout_s": _QUESTION_S}
    try:
        asking.start()
        _wait(model)

        def answer(question: str, limit: int) -> list[str]:
            envelope = operation({"question": question, "request": {**request, "limit": limit}, "caller": me})
            if BY_TABLE in envelope["route"]["reason"]:
                raise Internal(f"the model did not encode {question!r} in time", "run it again on an idle machine")
            return found(place, envelope)

        yield answer
    finally:
        asking.stop()
        model.stop()


def _wait(model: Model) -> None:
    deadline = time.monotonic() + _LOAD_S
    while (state := model.status())["state"] != "ready":
        if state["state"] == "none" or time.monotonic() > deadline:
            raise Unavailable(f"the model did not load: {state['reason'] or 'not in time'}")
        time.sleep(_POLL_S)
