"""The model of the resident process: a child that starts when a question needs it and ends when idle."""

from __future__ import annotations

import json
import queue
import subprocess
import sys
import threading
import time
from concurrent.futures import Future
from os.path import abspath, dirname
from typing import TYPE_CHECKING, Any, NamedTuple

from core import clock
from core.errors import EngineMissing
from qmd.vectors.static_query import MODEL_LEVEL

if TYPE_CHECKING:
    from collections.abc import Mapping

    from qmd.vectors.knn import Look

_ROOT = dirname(dirname(dirname(abspath(__file__))))
_CODE = "import sys; sys.path.insert(0, sys.argv.pop(1)); from runtime.resident.model import main; main()"
# A model that did not load is not tried again for so long.
_RETRY_S = 60.0
_END_S = 2.0
# The data segment that the shipped model needs to load (320 MB are too little); another model may need more.
_LOADING_BYTES = 340 << 20
# Memory of the process once it has loaded the shipped model: 160 MB, and vectors.
MODEL_BYTES = 200 << 20
# How libraries and the system say that there is no memory to be had.
_NO_MEMORY = ("bad_alloc", "MemoryError", "allocate memory", "out of memory")
# A child that works on one question for longer gets no other one: its asker would wait in vain.
_STUCK_S = 2.0
_WHOSE_LEVEL = ("local", "all-MiniLM-L6-v2")


class Encoded(NamedTuple):
    """The child's answer to a question."""

    vector: bytes
    chunks: list[tuple[int, float]] | None


class Model:
    """The child and its state. ``memory_bytes`` bounds it; it ends ``idle_s`` seconds after its last question.

    Any thread may call; one question is encoded at a time.
    """

    name = "model"

    def __init__(self, environ: Mapping[str, str], memory_bytes: int, idle_s: float) -> None:
        self._environ = dict(environ)
        self._memory = memory_bytes
        self._idle_s = idle_s
        self._lock = threading.Lock()
        self._turn = threading.Lock()
        self._child: subprocess.Popen[bytes] | None = None
        self._section: dict[str, Any] = {}
        self._hello: dict[str, Any] | None = None
        self._said: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()
        self._number = 0
        self._used = time.monotonic()
        self._not_before = 0.0
        self._why = ""
        self._fault: dict[str, str] | None = None
        # (the last unanswered question, the time since which the child has answered none)
        self._unanswered: tuple[int, float] | None = None
        self.encoded = 0

    def encoder(self, section: dict[str, Any]) -> Encoder | None:
        """Return an encoder for the model of the section ``embedding``; None while it loads, which this call starts."""
        with self._lock:
            self._used = time.monotonic()
            if self._child is not None and section != self._section:
                self._end()
                self._not_before = 0.0
            if self._child is None and time.monotonic() >= self._not_before:
                self._begin(section)
            hello = self._hello
        return Encoder(self, hello) if hello is not None else None

    def encode(self, text: str, timeout_s: float, look: Look | None = None) -> Encoded:
        """Return the vector of a question, int8, and the chunks that ``look`` asks for, None if it is for others to
        look.

        Raises EngineMissing if the child does not give it in time.
        """
        if not self._turn.acquire(timeout=timeout_s):
            raise EngineMissing("the model is busy")
        try:
            with self._lock:
                child, said = self._child, self._said
                self._number += 1
                number = self._number
                self._used = time.monotonic()
            if child is None or child.stdin is None:
                raise EngineMissing("the model has ended")
            self._catch_up(said, number)
            deadline = time.monotonic() + timeout_s
            try:
                message: dict[str, Any] = {"id": number, "text": text}
                if look is not None:
                    message["look"] = {
                        "index": look.index,
                        "name": look.space.name,
                        "table": look.space.table,
                        "dimensions": look.space.dimensions,
                        "among": look.among,
                        "bindings": look.bindings,
                        "limit": look.limit,
                    }
                child.stdin.write(json.dumps(message).encode() + b"\n")
                child.stdin.flush()
                while True:
                    answer = said.get(timeout=max(0.0, deadline - time.monotonic()))
                    if answer is None:
                        raise EngineMissing("the model has ended")
                    if answer.get("id") == number:  # other ids are late answers
                        self._unanswered = None
                        break
            except (OSError, ValueError, queue.Empty):
                raise EngineMissing("the model does not answer") from None
            if "vector" not in answer:
                raise EngineMissing(f"the model refuses: {answer.get('error')}")
            if look is not None and len(answer["vector"]) != 2 * look.space.dimensions:
                raise EngineMissing(f"the model behind {look.space.name} gives vectors of another length than are kept")
            self.encoded += 1
            chunks = answer.get("chunks")
            return Encoded(
                bytes.fromhex(answer["vector"]),
                None if chunks is None else [(chunk, distance) for chunk, distance in chunks],
            )
        finally:
            self._turn.release()

    def _catch_up(self, said: queue.SimpleQueue[dict[str, Any] | None], number: int) -> None:
        """Read late answers. Raises EngineMissing if the child has worked on an earlier question for long."""
        while self._unanswered is not None and not said.empty():
            answer = said.get()
            if answer is None:
                raise EngineMissing("the model has ended")
            if answer.get("id") == self._unanswered[0]:
                self._unanswered = None
        since = now = time.monotonic()
        if self._unanswered is not None:
            since = self._unanswered[1]
            if now - since > _STUCK_S:
                raise EngineMissing("the model does not answer")
        self._unanswered = (number, since)

    @property
    def operations(self) -> dict[str, Any]:
        """It answers no messages of its own."""
        return {}

    def pids(self) -> list[int]:
        """Return the child's, while there is one."""
        with self._lock:
            return [self._child.pid] if self._child is not None else []

    def busy(self) -> bool:
        """Return a model in memory is no reason to stay."""
        return False

    def settling(self) -> bool:
        """Return True while the model loads, which takes twice as much as answering."""
        with self._lock:
            return self._child is not None and self._hello is None

    def tick(self, now: float) -> None:
        """End an idle child, and record a child that has ended by itself."""
        with self._lock:
            if self._child is not None and (code := self._child.poll()) is not None:
                was_ready = self._hello is not None
                by = f"was ended by signal {-code}" if code < 0 else f"ended with {code}"
                why = f"the model's process {by}"
                if not was_ready:
                    why = self._for_want_of_memory(why, self._memory < MODEL_BYTES)
                self._end(f"{why}; a question starts it again after {_RETRY_S:g} s")
                self._fault = {"message": why, "at": clock.iso(clock.now())}
            elif self._child is not None and now - self._used > self._idle_s:
                self._end()
                self._not_before = 0.0

    def status(self) -> dict[str, Any]:
        """Return ``state`` (none, loading, ready), the model's name, how many questions it encoded, why there is none.

        ``fault`` is how its process last ended by itself, and when; None if it never did.
        """
        with self._lock:
            state = "ready" if self._hello else "loading" if self._child is not None else "none"
            hello = self._hello or {}
            name = f"{hello['provider']}/{hello['model']}" if hello else None
            return {
                "state": state,
                "model": name,
                "encoded": self.encoded,
                "reason": self._why or None,
                "fault": self._fault,
            }

    def start(self) -> None:
        """It starts with the first question that needs it."""

    def relieve(self, why: str) -> None:
        """End the child at once, and start no other for a while."""
        with self._lock:
            self._end(self._for_want_of_memory(why, self._memory < MODEL_BYTES))

    def _for_want_of_memory(self, why: str, is_so: bool) -> str:
        """Return ``why``, with a note on ``--memory`` if the limit ``is_so`` small that the
        model cannot load.
        """
        if not self._memory or not is_so:
            return why
        return (
            f"{why}: --memory {self._memory >> 20} is too little for the model"
            f" ({_WHOSE_LEVEL[1]} takes {MODEL_BYTES >> 20}, the process that asks it some 50 more)"
        )

    def stop(self) -> None:
        """End the child."""
        with self._lock:
            self._end()

    def _begin(self, section: dict[str, Any]) -> None:
        self._why = ""
        self._section = section
        child = subprocess.Popen(  # noqa: S603  # our own interpreter and code
            [sys.executable, "-P", "-c", _CODE, _ROOT],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=self._environ,
        )
        self._child = child
        self._unanswered = None
        self._said = queue.SimpleQueue()
        threading.Thread(target=self._listen, args=(child, self._said), name="model", daemon=True).start()
        try:
            assert child.stdin is not None
            # The server counts what the process takes once it has loaded; the kernel bounds the loading.
            most = self._memory if self._memory < MODEL_BYTES else max(self._memory, _LOADING_BYTES)
            job = {"embedding": section, "memory_bytes": most}
            child.stdin.write(json.dumps(job).encode() + b"\n")
            child.stdin.flush()
        except OSError as error:
            self._end(f"the model's process ended at once: {error.strerror}")

    def _listen(self, child: subprocess.Popen[bytes], said: queue.SimpleQueue[dict[str, Any] | None]) -> None:
        assert child.stdout is not None
        first = True
        for line in child.stdout:
            try:
                value = json.loads(line)
            except ValueError:
                break
            if not first:
                said.put(value)
                continue
            first = False
            with self._lock:
                if self._child is not child:
                    break
                if "error" in value:
                    error = str(value["error"])
                    self._end(self._for_want_of_memory(error, any(said in error for said in _NO_MEMORY)))
                    break
                self._hello = value
        said.put(None)
        child.stdout.close()

    def _end(self, why: str = "") -> None:
        """End the child; the caller holds the lock."""
        child, self._child, self._hello = self._child, None, None
        self._why = why
        self._not_before = time.monotonic() + _RETRY_S
        if child is None:
            return
        try:
            if child.stdin is not None:
                child.stdin.close()
        except OSError:
            child.kill()  # it has ended or does not read: no message reaches it
        try:
            child.wait(_END_S if not why else 0)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()


class Encoder:
    """Questions through the child's model (``qmd.vectors.static_query.Encoder``)."""

    __slots__ = ("_model", "fingerprint", "kind", "level", "timeout_s")

    def __init__(self, model: Model, hello: Mapping[str, Any]) -> None:
        self._model = model
        self.kind = "model"
        self.fingerprint = str(hello["fingerprint"])
        # The level is measured for this model only.
        known = (hello["provider"], hello["model"]) == _WHOSE_LEVEL
        self.level: float | None = MODEL_LEVEL if known else None
        self.timeout_s = 1.0

    def begin(self, question: str, look: Look | None = None) -> Encoding:
        """Encode the question, and look up its nearest chunks, while keywords are searched."""
        found: Future[Encoded] = Future()

        def encode() -> None:
            try:
                found.set_result(self._model.encode(question, self.timeout_s, look))
            except BaseException as error:  # noqa: BLE001  # it is whoever waits for the vector that is to know
                found.set_exception(error)

        threading.Thread(target=encode, name="encode", daemon=True).start()
        return Encoding(found)


class Encoding:
    """A pending question. Both methods wait for the child and raise EngineMissing if it does not answer in time."""

    __slots__ = ("_found",)

    def __init__(self, found: Future[Encoded]) -> None:
        self._found = found

    def vector(self) -> bytes:
        """Return the vector, int8 of length 127."""
        return self._found.result().vector

    def chunks(self) -> list[tuple[int, float]] | None:
        """Return the nearest chunks, as ``qmd.vectors.knn.chunks`` gives them; None if the child has not looked."""
        return self._found.result().chunks
