"""Files are read in a child process: a hostile one may crash, flood or stall it, and nothing else.

The parent sends one JSON line a file, ``{"path", "name", "url"}``, and takes one back. What takes too long is killed
with the process, and the next file gets a new one.
"""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

from ingest._article_read import MAX_CHARACTERS, Article, Unreadable, read

if TYPE_CHECKING:
    from types import TracebackType

_MEMORY = 3 << 30
_MAX_ANSWER = 64 << 20
_ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


class Worker:
    """Reads files in a process of its own, which starts with the first and is gone when the ``with`` ends."""

    def __init__(self, timeout_s: float) -> None:
        self._timeout_s = timeout_s
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Worker:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end()

    def read(self, path: str, name: str, url: str) -> Article:
        """The article of the file at ``path``; ``name`` is what it is called. Raises Unreadable."""
        asked = json.dumps({"path": path, "name": name, "url": url}).encode() + b"\n"
        try:
            line = self._answer(self._ask(asked))
        except TimeoutError:
            self._end()
            reason = f"not read within {self._timeout_s:g} s"
            raise Unreadable(reason, "convert it to text with another program, then add that") from None
        if not line:
            self._end()
            raise Unreadable("damaged: the reader ended", "convert it to text with another program, then add that")
        answer: Any = json.loads(line)
        if "reason" in answer:
            raise Unreadable(answer["reason"], answer["fix"])
        return Article(answer["kind"], answer["body"], **answer["fields"])

    def _ask(self, asked: bytes) -> subprocess.Popen[bytes]:
        """Send a file to the process, to a new one where it has ended since the last."""
        if self._process is not None and self._process.poll() is not None:
            self._end()
        process = self._process or self._start()
        assert process.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # it ends now: there will be no answer either
            process.stdin.write(asked)
            process.stdin.flush()
        return process

    def _start(self) -> subprocess.Popen[bytes]:
        code = "import sys; sys.path.insert(0, sys.argv.pop(1)); from ingest._article_worker import serve; serve()"
        self._process = subprocess.Popen(  # noqa: S603  # this interpreter, and no shell
            [sys.executable, "-c", code, _ROOT],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        return self._process

    def _answer(self, process: subprocess.Popen[bytes]) -> bytes:
        """One line, or what came before the end. Raises TimeoutError."""
        assert process.stdout is not None
        deadline = time.monotonic() + self._timeout_s
        kept = bytearray()
        with selectors.DefaultSelector() as selector:
            selector.register(process.stdout, selectors.EVENT_READ)
            while not kept.endswith(b"\n") and len(kept) < _MAX_ANSWER:
                if not selector.select(max(0.0, deadline - time.monotonic())):
                    raise TimeoutError
                piece = os.read(process.stdout.fileno(), 1 << 16)
                if not piece:
                    return b""
                kept += piece
        return bytes(kept)

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()
            for stream in (process.stdin, process.stdout):
                if stream is not None:
                    with contextlib.suppress(BrokenPipeError):
                        stream.close()


def serve() -> None:
    """The child: answers until its input ends."""
    import logging
    import warnings

    _bound_memory()
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    answers = os.dup(1)
    os.dup2(2, 1)  # what a library prints is no answer
    for line in sys.stdin.buffer:
        asked = json.loads(line)
        with os.fdopen(os.dup(answers), "wb") as stream:
            stream.write(json.dumps(_answer(asked)).encode() + b"\n")


def _answer(asked: dict[str, str]) -> dict[str, Any]:
    try:
        with open(asked["path"], "rb") as stream:
            article = read(stream.read(), asked["name"], asked["url"])
    except Unreadable as error:
        return {"reason": error.reason, "fix": error.fix}
    except OSError as error:
        return {"reason": f"unreadable: {error.strerror}", "fix": "check its permissions"}
    except MemoryError:
        return {"reason": "needs too much memory", "fix": "convert it to text with another program, then add that"}
    except Exception as error:  # noqa: BLE001  # libraries stumble over hostile files in ways of their own
        return {"reason": f"damaged: {type(error).__name__}", "fix": "get the file again"}
    body = article.body
    left_out = len(body) - MAX_CHARACTERS
    fields = dict(article.fields)
    if left_out > 0:
        body, fields["truncated"] = body[:MAX_CHARACTERS], left_out
    return {"kind": article.kind, "body": body, "fields": fields}


def _bound_memory() -> None:
    if sys.platform == "linux":
        import resource

        _, hard = resource.getrlimit(resource.RLIMIT_AS)
        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY if hard < 0 else min(_MEMORY, hard), hard))
