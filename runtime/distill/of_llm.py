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

from core import child
from core.errors import BadInput, EngineMissing
from runtime.distill import llm_worker
from runtime.distill.contract import ANSWER_LIMIT
from runtime.distill.of_claude import isolated
from runtime.distill.thinking import Failed, Reply

if TYPE_CHECKING:
    from collections.abc import Mapping


class Llm:
    """One model by its name in ``llm models``. Raises BadInput without a name."""

    def __init__(self, model: str, environ: Mapping[str, str]) -> None:
        if not model:
            raise BadInput("llm wants a model's name", "--llm llm:MODEL; llm models lists them")
        self._model = model
        self._environ = isolated(environ)

    def ask(self, system: str, prompt: str, timeout_s: float) -> Reply:
        """See ``Model``."""
        job = json.dumps({"model": self._model, "system": system, "prompt": prompt})
        argv = [sys.executable, "-I", os.path.abspath(str(llm_worker.__file__))]
        with tempfile.TemporaryDirectory(prefix="brain-distill-") as empty, tempfile.TemporaryFile() as said:
            said.write(job.encode())
            said.seek(0)
            done = child.run(
                argv,
                timeout_s=timeout_s,
                environ=self._environ,
                folder=empty,
                most_bytes=8 * ANSWER_LIMIT,
                stdin=said,
            )
        if done.timed_out or done.flooded:
            raise Failed("llm did not answer in time" if done.timed_out else "llm does not stop answering")
        try:
            answer: Any = json.loads(done.stdout)
        except (ValueError, RecursionError):
            answer = None
        if not isinstance(answer, dict):
            raise Failed(f"llm ended with {done.code}")
        if answer.get("hopeless"):
            raise EngineMissing(str(answer["error"]), "pip install 'brain-memory[llm]'; llm models; llm keys set …")
        if "error" in answer:
            raise Failed(f"llm's model {self._model} failed: {answer['error']}")
        return Reply(str(answer["text"]), self._model, int(answer["tokens"]))
