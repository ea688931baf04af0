"""In turns: some documents embedded by the product, then the arrays that its model was given run by onnxruntime alone.

    python -m bench.embedding.embed_turns HOME

prints one JSON object: ``chunks``, and the seconds that either took, by the clock and of the processor. A process of
its own, since both load the model.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

from qmd.embedding import embedder, onnx
from qmd.embedding.local import Local
from qmd.index.store import open_index

# More than any benchmark has groups of chunks.
_TURNS = 1_000


class _Recorder:
    """A session that records its inputs and passes them on to the product's session."""

    def __init__(self, session: Any) -> None:
        self._session = session
        self.given: list[dict[str, Any]] = []

    def run(self, names: Any, given: dict[str, Any]) -> Any:
        self.given.append(given)
        return self._session.run(names, given)


def main(home: str) -> int:
    """Embed everything below ``home``; each turn ends when the product has committed."""
    onnxruntime = onnx.load()
    provider = Local()
    provider.embed(["loaded before the clock starts"])
    recorder = _Recorder(provider._session)
    provider._session = recorder
    bare = onnxruntime.InferenceSession(provider._model_path, providers=["CPUExecutionProvider"])
    connection = open_index(str(Path(home, "index.sqlite")), write=True)
    own_s = bare_s = own_cpu_s = bare_cpu_s = 0.0
    chunks = 0
    for _ in range(_TURNS):
        started, spent = time.perf_counter(), time.process_time()
        done = embedder.embed(connection, provider, deadline=time.monotonic())
        own_s += time.perf_counter() - started
        own_cpu_s += time.process_time() - spent
        if not done.chunks:
            break  # the last turn found nothing, which is part of the price
        chunks += done.chunks
        started, spent = time.perf_counter(), time.process_time()
        for given in recorder.given:
            bare.run(None, given)
        bare_s += time.perf_counter() - started
        bare_cpu_s += time.process_time() - spent
        recorder.given.clear()
    connection.close()
    taken = {"own_s": own_s, "bare_s": bare_s, "own_cpu_s": own_cpu_s, "bare_cpu_s": bare_cpu_s}
    sys.stdout.write(json.dumps({"chunks": chunks, **taken}) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
