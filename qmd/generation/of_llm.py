"""Models of Simon Willison's ``llm``, where it is installed: every plugin of its ecosystem, with its keys.

https://llm.datasette.io/en/stable/python-api.html. In a process of its own, so that a deadline ends it, and through
the Python interface, which keeps no log of prompts and passes no tools.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from typing import TYPE_CHECKING, Any

from core.errors import BadInput, EngineMissing, EngineTimeout, Internal
from core.processes import child
from qmd.embedding import onnx
from qmd.generation import llm_worker

if TYPE_CHECKING:
    from collections.abc import Mapping

_MOST_BYTES = 1 << 18
FIX = "pip install 'brain-memory[llm]'; llm models; llm keys set …"


class Failed(Exception):
    """A request that came to nothing; ``late`` says that its time was up."""

    def __init__(self, reason: str, *, late: bool = False) -> None:
        super().__init__(reason)
        self.late = late


class LlmGenerator:
    """One model by its name in ``llm models``. Raises BadInput without a name."""

    def __init__(self, model: str, environ: Mapping[str, str]) -> None:
        if not model:
            raise BadInput("llm wants a model's name", "generation: {provider: llm, model: …}; llm models lists them")
        self._model = model
        # A plugin may run an agent; its hooks must not record this as a session.
        self._environ = {**environ, "BRAIN_HOOKS": "off"}
        self.identity = f"llm:{model}"

    def ask(self, system: str, prompt: str, timeout_s: float) -> str:
        """See ``Generator``."""
        try:
            return answer(self._model, system, prompt, timeout_s, self._environ, _MOST_BYTES)[0]
        except Failed as failure:
            kind = EngineTimeout if failure.late else Internal
            raise kind(str(failure), f"try it: llm -m {self._model} hello") from None


def answer(
    model: str, system: str, prompt: str, timeout_s: float, environ: Mapping[str, str], most_bytes: int
) -> tuple[str, int]:
    """Return (text, tokens) of one answer. Raises Failed, EngineMissing if no request can succeed."""
    job = json.dumps({"model": model, "system": system, "prompt": prompt})
    argv = [sys.executable, "-I", os.path.abspath(str(llm_worker.__file__))]
    with tempfile.TemporaryDirectory(prefix="brain-llm-") as empty, tempfile.TemporaryFile() as said:
        said.write(job.encode())
        said.seek(0)
        # A plugin may run its models by onnxruntime.
        said_no = {**environ, **onnx.REFUSED}
        done = child.run(argv, timeout_s=timeout_s, environ=said_no, folder=empty, most_bytes=most_bytes, stdin=said)
    if done.timed_out or done.flooded:
        reason = "llm did not answer in time" if done.timed_out else "llm does not stop answering"
        raise Failed(reason, late=done.timed_out)
    try:
        found: Any = json.loads(done.stdout)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise Failed(f"llm ended with {done.code}")
    if found.get("hopeless"):
        raise EngineMissing(str(found["error"]), FIX)
    if "error" in found:
        raise Failed(f"llm's model {model} failed: {found['error']}")
    return str(found["text"]), int(found["tokens"])
