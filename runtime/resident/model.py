"""The model's process: questions in, vectors out, one JSON line each; it ends with its parent.

A question may also ask for the nearest vectors of an index (``runtime.resident.matrix``).
"""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING, Any

from core.errors import BrainError

if TYPE_CHECKING:
    from runtime.resident.matrix import Matrix


def main() -> None:
    """Read the configuration, load the model, then answer until the input ends. The first line names the model."""
    # Output of libraries must not mix with the answers.
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)

    def say(value: dict[str, Any]) -> None:
        out.write(json.dumps(value) + "\n")
        out.flush()

    job = json.loads(sys.stdin.readline())
    limit(int(job["memory_bytes"]))
    from qmd.embedding.provider import make, quantise
    from qmd.embedding.remote import Remote
    from qmd.search.semantic import QUESTION_S

    try:
        # One thread: a question is short, and more of them would spin while there is nothing to do.
        source = make(job["embedding"], os.environ, threads=1)
        source.embed(["warm"], question=True)
    except (BrainError, MemoryError) as error:
        say({"error": str(error) or type(error).__name__})
        return
    _give_back()
    say({"provider": source.name, "model": source.model, "fingerprint": source.fingerprint})
    from runtime.resident.matrix import Matrix

    matrix = Matrix()
    for line in sys.stdin:
        asked = json.loads(line)
        if isinstance(source, Remote):
            # Nobody waits this long, but an endpoint may have to load its model for the next question.
            source.hurry(QUESTION_S)
        try:
            (vector,) = quantise(source.embed([asked["text"]], question=True))
            look = asked.get("look")
            say({"id": asked["id"], "vector": vector.hex(), "chunks": look and _nearest(matrix, look, vector)})
        except BrainError as error:
            say({"id": asked["id"], "error": str(error)})
    matrix.close()
    source.close()


def _nearest(matrix: Matrix, look: dict[str, Any], vector: bytes) -> list[tuple[int, float]] | None:
    """Return the nearest chunks, None if the caller must search by itself and report the fault."""
    import apsw

    try:
        return matrix.nearest(look, vector)
    except (BrainError, apsw.Error, OSError, ValueError, MemoryError):
        matrix.close()
        return None


def _give_back() -> None:
    """Return freed memory to the system, where the C library can: loading takes 60 MB more than answering."""
    import ctypes

    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # glibc alone has it
    if trim is not None:
        trim(0)


def limit(most_bytes: int) -> None:
    """Let the kernel refuse this process more data than that, where it can (setrlimit(2): RLIMIT_DATA on Linux).

    The soft limit: what it starts may be freed of it (``runtime.watching.watching``).
    """
    import resource

    if sys.platform == "linux" and most_bytes:
        _, hard = resource.getrlimit(resource.RLIMIT_DATA)
        if hard == resource.RLIM_INFINITY or most_bytes < hard:
            resource.setrlimit(resource.RLIMIT_DATA, (most_bytes, hard))


if __name__ == "__main__":
    main()
